#include "tools/file_edit/edit_match.h"

#include <string.h>

/* The offset of the first match at or after from; file.len if there is none. */
static size_t find_next(ik_edit_text_t file, ik_edit_text_t wanted, size_t from)
{
    const char *found = memmem(file.bytes + from, file.len - from, wanted.bytes, wanted.len);
    return found == NULL ? file.len : (size_t)(found - file.bytes);
}

size_t ik_edit_match_count(ik_edit_text_t file, ik_edit_text_t wanted)
{
    size_t count = 0;
    size_t at = find_next(file, wanted, 0);
    while (at < file.len) {
        count++;
        at = find_next(file, wanted, at + wanted.len);
    }
    return count;
}

void ik_edit_match_replace(ik_buffer_t *out, ik_edit_text_t file, ik_edit_text_t wanted,
                           ik_edit_text_t replacement, size_t count)
{
    ik_buffer_reserve(out, file.len - count * wanted.len + count * replacement.len);
    size_t copied = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = find_next(file, wanted, copied);
        ik_buffer_append(out, file.bytes + copied, at - copied);
        ik_buffer_append(out, replacement.bytes, replacement.len);
        copied = at + wanted.len;
    }
    ik_buffer_append(out, file.bytes + copied, file.len - copied);
}
