#include "base/base64.h"

#include <stdint.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Encodes one to three bytes as four characters. */
static void encode_group(char group[4], const unsigned char *bytes, size_t len)
{
    uint32_t word = (uint32_t)bytes[0] << 16;
    word |= len > 1 ? (uint32_t)bytes[1] << 8 : 0;
    word |= len > 2 ? bytes[2] : 0;
    group[0] = digits[word >> 18];
    group[1] = digits[word >> 12 & 63];
    group[2] = len > 1 ? digits[word >> 6 & 63] : '=';
    group[3] = len > 2 ? digits[word & 63] : '=';
}

void ik_base64_append(ik_buffer_t *out, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    while (len > 0) {
        char groups[4096]; /* an image has a million groups: they are appended many at once */
        size_t used = 0;
        for (; len > 0 && used < sizeof(groups); used += 4) {
            size_t taken = len < 3 ? len : 3;
            encode_group(groups + used, at, taken);
            at += taken;
            len -= taken;
        }
        ik_buffer_append(out, groups, used);
    }
}

/* Decodes four characters. Only the last group may be padded. */
static bool append_decoded_group(ik_buffer_t *out, const char *group, bool last)
{
    size_t padding = last && group[3] == '=' ? (group[2] == '=' ? 2 : 1) : 0;
    uint32_t word = 0;
    for (size_t i = 0; i < 4; i++) {
        bool padded = i >= 4 - padding;
        const char *found = padded ? digits : memchr(digits, group[i], sizeof(digits) - 1);
        if (found == NULL) {
            return false;
        }
        word = word << 6 | (uint32_t)(found - digits);
    }
    char bytes[3] = {(char)(word >> 16), (char)(word >> 8), (char)word};
    ik_buffer_append(out, bytes, 3 - padding);
    return true;
}

bool ik_base64_append_decoded(ik_buffer_t *out, const char *text, size_t len)
{
    bool valid = len % 4 == 0;
    for (size_t at = 0; valid && at < len; at += 4) {
        valid = append_decoded_group(out, text + at, at + 4 == len);
    }
    return valid;
}
