#include "base/url_encode.h"

#include <stdbool.h>
#include <string.h>

void ik_url_encode(ik_buffer_t *out, const char *text, const char *kept)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     strchr("-._~", c) != NULL || strchr(kept, c) != NULL;
        ik_buffer_append_format(out, plain ? "%c" : "%%%02X", c);
    }
}
