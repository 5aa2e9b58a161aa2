#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

#include "base/error.h"

/* The length of the ASCII run at the start. */
static size_t ascii_run(const char *bytes, size_t len)
{
    size_t i = 0;
    for (; i + 8 <= len; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, 8);
        if (word & UINT64_C(0x8080808080808080)) {
            break;
        }
    }
    while (i < len && (unsigned char)bytes[i] < 0x80) {
        i++;
    }
    return i;
}

size_t ik_utf8_step(const char *bytes, size_t len, bool *valid)
{
    const unsigned char *p = (const unsigned char *)bytes;
    *valid = true;
    if (p[0] < 0x80) {
        return 1;
    }
    /* The range of the second byte depends on the first; this excludes overlong forms, surrogates
     * and everything above U+10FFFF. */
    size_t need = 0;
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    if (p[0] >= 0xc2 && p[0] <= 0xdf) {
        need = 2;
    } else if (p[0] >= 0xe0 && p[0] <= 0xef) {
        need = 3;
        low = p[0] == 0xe0 ? 0xa0 : 0x80;
        high = p[0] == 0xed ? 0x9f : 0xbf;
    } else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
        need = 4;
        low = p[0] == 0xf0 ? 0x90 : 0x80;
        high = p[0] == 0xf4 ? 0x8f : 0xbf;
    }
    size_t have = 1;
    while (have < need && have < len && p[have] >= low && p[have] <= high) {
        have++;
        low = 0x80;
        high = 0xbf;
    }
    *valid = need != 0 && have == need;
    return have;
}

int32_t ik_utf8_decode(const char *bytes, size_t len)
{
    static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    int32_t code = bytes[0] & first_bits[len];
    for (size_t i = 1; i < len; i++) {
        code = code << 6 | (bytes[i] & 0x3f);
    }
    return code;
}

size_t ik_utf8_encode(char *out, uint32_t code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t len = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    out[0] = (char)((0xf00U >> len & 0xffU) | code);
    return len;
}

bool ik_utf8_valid(const char *bytes, size_t len)
{
    size_t i = 0;
    while ((i += ascii_run(bytes + i, len - i)) < len) {
        bool valid;
        i += ik_utf8_step(bytes + i, len - i, &valid);
        if (!valid) {
            return false;
        }
    }
    return true;
}

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

size_t ik_utf8_cut(const char *bytes, size_t len, size_t max)
{
    if (len <= max) {
        return len;
    }
    size_t cut = max;
    /* A character has at most three continuation bytes. */
    while (cut > 0 && max - cut < 3 && is_continuation(bytes[cut])) {
        cut--;
    }
    /* With stray continuation bytes, the character at cut may end before max. */
    bool valid;
    size_t step = ik_utf8_step(bytes + cut, len - cut, &valid);
    return cut + step <= max ? max : cut;
}

size_t ik_utf8_cut_front(const char *bytes, size_t len, size_t max)
{
    if (len <= max) {
        return 0;
    }
    size_t start = len - max;
    size_t limit = start + 3 < len ? start + 3 : len;
    while (start < limit && is_continuation(bytes[start])) {
        start++;
    }
    return start;
}

void ik_utf8_append_clean(ik_buffer_t *buffer, const char *bytes, size_t len)
{
    size_t done = 0;
    size_t i = 0;
    while ((i += ascii_run(bytes + i, len - i)) < len) {
        bool valid;
        size_t step = ik_utf8_step(bytes + i, len - i, &valid);
        if (!valid) {
            ik_buffer_append(buffer, bytes + done, i - done);
            ik_buffer_append_text(buffer, IK_UTF8_REPLACEMENT);
            done = i + step;
        }
        i += step;
    }
    ik_buffer_append(buffer, bytes + done, len - done);
}

void ik_utf8_append_string(ik_buffer_t *buffer, const char *bytes, size_t len)
{
    while (len > 0) {
        const char *nul = memchr(bytes, '\0', len);
        size_t part = nul == NULL ? len : (size_t)(nul - bytes);
        ik_utf8_append_clean(buffer, bytes, part);
        if (nul != NULL) {
            ik_buffer_append_text(buffer, IK_UTF8_REPLACEMENT);
            part++;
        }
        bytes += part;
        len -= part;
    }
}

/* First moves the bytes up by the growth, so that writing never overtakes reading. */
void ik_utf8_clean(ik_buffer_t *buffer)
{
    size_t growth = 0;
    bool all_valid = true;
    if (buffer->len == 0) { /* data may be NULL */
        return;
    }
    for (size_t i = 0; (i += ascii_run(buffer->data + i, buffer->len - i)) < buffer->len;) {
        bool valid;
        size_t step = ik_utf8_step(buffer->data + i, buffer->len - i, &valid);
        growth += valid ? 0 : strlen(IK_UTF8_REPLACEMENT) - step;
        all_valid = all_valid && valid;
        i += step;
    }
    if (all_valid) {
        return;
    }
    if (ik_buffer_reserve(buffer, growth) < growth) {
        PANIC("no room to clean %zu bytes in a buffer of %zu", buffer->len, buffer->max);
    }
    memmove(buffer->data + growth, buffer->data, buffer->len);
    const char *in = buffer->data + growth;
    const char *end = in + buffer->len;
    char *out = buffer->data;
    while (in < end) {
        bool valid;
        size_t step = ik_utf8_step(in, (size_t)(end - in), &valid);
        memmove(out, valid ? in : IK_UTF8_REPLACEMENT, valid ? step : strlen(IK_UTF8_REPLACEMENT));
        out += valid ? step : strlen(IK_UTF8_REPLACEMENT);
        in += step;
    }
    buffer->len = (size_t)(out - buffer->data);
    buffer->data[buffer->len] = '\0';
}
