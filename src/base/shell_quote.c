#include "base/shell_quote.h"

void ik_shell_quote(ik_buffer_t *out, const char *text)
{
    ik_buffer_append_byte(out, '\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            ik_buffer_append_text(out, "'\\''");
        } else {
            ik_buffer_append_byte(out, *text);
        }
    }
    ik_buffer_append_byte(out, '\'');
}
