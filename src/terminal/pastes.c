#include "terminal/pastes.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "terminal/editor.h"

/* U+10FF00 to U+10FFF9: F4 8F BC 80 to F4 8F BF B9. */
enum { FIRST_CODE = 0x10ff00, FIRST_BYTE = 0xf4, SECOND_BYTE = 0x8f };

typedef struct {
    char *text;
    size_t len;
    char *label;
    size_t number;
} paste_t;

struct ik_pastes {
    paste_t *list;
    size_t count;
    size_t capacity;
};

ik_pastes_t *ik_pastes_create(const void *ctx)
{
    return ik_new(ctx, ik_pastes_t);
}

void ik_pastes_clear(ik_pastes_t *pastes)
{
    for (size_t i = 0; i < pastes->count; i++) {
        talloc_free(pastes->list[i].text);
        talloc_free(pastes->list[i].label);
    }
    pastes->count = 0;
}

/* --- labels ------------------------------------------------------------------------------ */

ik_pastes_size_t ik_pastes_measure(const char *text, size_t len)
{
    ik_pastes_size_t size = {.lines = len > 0};
    for (size_t i = 0; i < len; i++) {
        size.lines += text[i] == '\n' && i + 1 < len;
        size.characters += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return size;
}

/* "[pasted 1,234 lines #1]" */
static char *format_label(const void *ctx, const char *text, size_t len, size_t number)
{
    ik_pastes_size_t size = ik_pastes_measure(text, len);
    bool by_lines = size.lines > IK_EDITOR_PASTE_LINES;
    char digits[32];
    int count = snprintf(digits, sizeof(digits), "%zu", by_lines ? size.lines : size.characters);
    ik_buffer_t label;
    ik_buffer_init(&label, ctx, IK_BUFFER_UNLIMITED); /* bounded by the digits */
    ik_buffer_append_text(&label, "[pasted ");
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0) {
            ik_buffer_append_byte(&label, ',');
        }
        ik_buffer_append_byte(&label, digits[i]);
    }
    ik_buffer_append_format(&label, " %s #%zu]", by_lines ? "lines" : "characters", number);
    return ik_buffer_finish(&label);
}

/* --- marks ------------------------------------------------------------------------------- */

bool ik_pastes_is_mark(const char *text, size_t len)
{
    const unsigned char *p = (const unsigned char *)text;
    return len >= IK_PASTES_MARK_LEN && p[0] == FIRST_BYTE && p[1] == SECOND_BYTE && p[2] >= 0xbc;
}

/* The low eight bits of a mark are the index. Returns NULL if the mark is stale. */
static const paste_t *paste_of(const ik_pastes_t *pastes, const char *mark)
{
    size_t index = ((unsigned char)mark[2] & 0x03U) << 6 | ((unsigned char)mark[3] & 0x3fU);
    return index < pastes->count ? &pastes->list[index] : NULL;
}

size_t ik_pastes_find_mark(const char *text, size_t len)
{
    for (size_t at = 0; at < len; at++) {
        const char *found = memchr(text + at, FIRST_BYTE, len - at);
        if (found == NULL) {
            return len;
        }
        at = (size_t)(found - text);
        if (ik_pastes_is_mark(found, len - at)) {
            return at;
        }
    }
    return len;
}

size_t ik_pastes_after_last_mark(const char *text, size_t len)
{
    for (size_t end = len; end > 0;) {
        const char *found = memrchr(text, FIRST_BYTE, end);
        if (found == NULL) {
            return 0;
        }
        end = (size_t)(found - text);
        if (ik_pastes_is_mark(found, len - end)) {
            return end + IK_PASTES_MARK_LEN;
        }
    }
    return 0;
}

bool ik_pastes_add(ik_pastes_t *pastes, const char *text, size_t len, size_t number,
                   char mark[IK_PASTES_MARK_LEN])
{
    if (pastes->count == IK_PASTES_MAX) {
        return false;
    }
    if (pastes->count == pastes->capacity) {
        pastes->capacity = pastes->capacity == 0 ? 8 : 2 * pastes->capacity;
        pastes->list = ik_resize_array(pastes, pastes->list, paste_t, pastes->capacity);
    }
    ik_utf8_encode(mark, (uint32_t)(FIRST_CODE + pastes->count));
    pastes->list[pastes->count++] = (paste_t){
        .text = ik_strndup(pastes, text, len),
        .len = len,
        .label = format_label(pastes, text, len, number),
        .number = number,
    };
    return true;
}

const char *ik_pastes_label(const ik_pastes_t *pastes, const char *mark)
{
    const paste_t *paste = paste_of(pastes, mark);
    return paste == NULL ? IK_UTF8_REPLACEMENT : paste->label;
}

size_t ik_pastes_number(const ik_pastes_t *pastes, const char *mark)
{
    const paste_t *paste = paste_of(pastes, mark);
    return paste == NULL ? 0 : paste->number;
}

/* --- texts with marks -------------------------------------------------------------------- */

size_t ik_pastes_count_bytes(const ik_pastes_t *pastes, const char *text, size_t len)
{
    size_t bytes = 0;
    size_t at = pastes->count == 0 ? len : ik_pastes_find_mark(text, len);
    while (at < len) {
        const paste_t *paste = paste_of(pastes, text + at);
        bytes += paste == NULL ? 0 : paste->len;
        at += IK_PASTES_MARK_LEN;
        at += ik_pastes_find_mark(text + at, len - at);
    }
    return bytes;
}

void ik_pastes_append_expanded(const ik_pastes_t *pastes, ik_buffer_t *out, const char *text,
                               size_t len)
{
    while (len > 0) {
        size_t plain = ik_pastes_find_mark(text, len);
        ik_buffer_append(out, text, plain);
        if (plain == len) {
            return;
        }
        const paste_t *paste = paste_of(pastes, text + plain);
        if (paste != NULL) {
            ik_buffer_append(out, paste->text, paste->len);
        }
        text += plain + IK_PASTES_MARK_LEN;
        len -= plain + IK_PASTES_MARK_LEN;
    }
}
