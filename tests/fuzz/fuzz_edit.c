/*
 * Finding, replacing and hinting on random bytes, against the plainest possible search: the matches
 * are where it finds them, every other byte stays, and a hint is always a short text. The input is
 * the wanted text, its replacement and the file, the first two with a length byte before them.
 */
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "pieces.h"
#include "tools/file_edit/edit_hint.h"
#include "tools/file_edit/edit_match.h"

static ik_edit_text_t take(const char **data, size_t *size)
{
    size_t len = *size == 0 ? 0 : (unsigned char)**data;
    *data += *size == 0 ? 0 : 1;
    *size -= *size == 0 ? 0 : 1;
    len = len < *size ? len : *size;
    ik_edit_text_t text = {.bytes = *data, .len = len};
    *data += len;
    *size -= len;
    return text;
}

static bool stands_at(ik_edit_text_t file, ik_edit_text_t wanted, size_t at)
{
    return file.len - at >= wanted.len && memcmp(file.bytes + at, wanted.bytes, wanted.len) == 0;
}

/* Walks the file and the edited text side by side; returns the number of replacements seen. */
static size_t compare(ik_edit_text_t file, ik_edit_text_t wanted, ik_edit_text_t replacement,
                      const ik_buffer_t *edited)
{
    size_t count = 0;
    size_t to = 0;
    for (size_t at = 0; at < file.len;) {
        if (stands_at(file, wanted, at)) {
            REQUIRE(edited->len - to >= replacement.len);
            REQUIRE(memcmp(edited->data + to, replacement.bytes, replacement.len) == 0);
            to += replacement.len;
            at += wanted.len;
            count++;
        } else {
            REQUIRE(to < edited->len && edited->data[to] == file.bytes[at]);
            to++;
            at++;
        }
    }
    REQUIRE(to == edited->len);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *data = (const char *)bytes;
    ik_edit_text_t wanted = take(&data, &size);
    ik_edit_text_t replacement = take(&data, &size);
    ik_edit_text_t file = {.bytes = data, .len = size};
    if (wanted.len == 0) {
        return 0;
    }
    void *ctx = talloc_new(NULL);
    size_t count = ik_edit_match_count(file, wanted);
    ik_buffer_t edited;
    ik_buffer_init(&edited, ctx, IK_BUFFER_UNLIMITED);
    ik_edit_match_replace(&edited, file, wanted, replacement, count);
    REQUIRE(compare(file, wanted, replacement, &edited) == count);
    if (count == 0) {
        const char *hint = ik_edit_hint_find(ctx, file, wanted);
        REQUIRE(hint[0] != '\0' && strlen(hint) < 1024);
    }
    talloc_free(ctx);
    return 0;
}
