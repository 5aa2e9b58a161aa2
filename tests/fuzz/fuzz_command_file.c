/* Custom commands: any file, any arguments. Input: what was typed, NUL, the file without NUL. */
#include <stdint.h>

#include "base/alloc.h"
#include "extend/command_template.h"
#include "extend/front_matter.h"
#include "pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    size_t typed_len = pieces_find(bytes, len, '\0');
    if (typed_len == len || memchr(bytes + typed_len + 1, '\0', len - typed_len - 1) != NULL) {
        return 0;
    }
    void *ctx = talloc_new(NULL);
    size_t text_len = len - typed_len - 1;
    char *text = pieces_copy(bytes + typed_len + 1, text_len);
    char *typed = ik_strndup(ctx, (const char *)bytes, typed_len);
    ik_front_matter_t *matter = ik_front_matter_parse(ctx, text, text_len);
    REQUIRE(matter->body >= text && matter->body + matter->body_len == text + text_len);
    REQUIRE(!matter->unclosed || matter->count == 0);
    REQUIRE(matter->count <= IK_FRONT_MATTER_MAX_KEYS);
    for (size_t i = 0; i < matter->count; i++) {
        ik_front_matter_text(matter, matter->entries[i].key);
        REQUIRE(matter->entries[i].text == NULL || matter->entries[i].item_count == 0);
    }
    ik_template_t *filled;
    res_t result = ik_command_template_fill(ctx, matter->body, matter->body_len, typed, &filled);
    for (size_t i = 0; is_ok(&result) && i < filled->count; i++) {
        REQUIRE(strlen(filled->parts[i].text) == filled->parts[i].len);
    }
    talloc_free(ctx);
    free(text);
    return 0;
}
