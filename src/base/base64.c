#include "base/base64.h"

#include <stdint.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* One to three bytes as four characters. */
static void append_group(ik_buffer_t *out, const unsigned char *bytes, size_t len)
{
    uint32_t word = (uint32_t)bytes[0] << 16;
    word |= len > 1 ? (uint32_t)bytes[1] << 8 : 0;
    word |= len > 2 ? bytes[2] : 0;
    char group[4] = {
        digits[word >> 18],
        digits[word >> 12 & 63],
        len > 1 ? digits[word >> 6 & 63] : '=',
        len > 2 ? digits[word & 63] : '=',
    };
    ik_buffer_append(out, group, sizeof(group));
}

void ik_base64_append(ik_buffer_t *out, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    for (; len > 3; at += 3, len -= 3) {
        append_group(out, at, 3);
    }
    if (len > 0) {
        append_group(out, at, len);
    }
}

/* The value of a digit, or -1. */
static int value_of(char digit)
{
    const char *found = digit == '\0' ? NULL : strchr(digits, digit);
    return found == NULL ? -1 : (int)(found - digits);
}

/* Four characters, of which padding may end the last group only. */
static bool append_decoded_group(ik_buffer_t *out, const char *group, bool last)
{
    size_t padding = last && group[3] == '=' ? (group[2] == '=' ? 2 : 1) : 0;
    uint32_t word = 0;
    for (size_t i = 0; i < 4; i++) {
        int value = i < 4 - padding ? value_of(group[i]) : 0;
        if (value < 0) {
            return false;
        }
        word = word << 6 | (uint32_t)value;
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
