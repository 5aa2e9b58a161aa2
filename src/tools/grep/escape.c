#include "tools/grep/escape.h"

#include "base/json.h"
#include "base/utf8.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
    CHUNK = 4096, /* bytes escaped between two calls of ik_buffer_reserve */
    ROOM = 6 * CHUNK /* \u0000, the longest escape */ + 64,
};

/* Copies characters that need no escape from *at to *out. May overwrite up to 16 bytes after *out,
 * which ROOM allows for. */
static void copy_plain(const char **at, const char *end, char **out)
{
#ifdef __SSE2__
    const __m128i space = _mm_set1_epi8(0x20);
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    while (end - *at >= 16) {
        __m128i text = _mm_loadu_si128((const __m128i *)(const void *)*at);
        /* The comparison is signed, so it also finds bytes beyond ASCII. */
        __m128i special = _mm_or_si128(
            _mm_cmplt_epi8(text, space),
            _mm_or_si128(_mm_cmpeq_epi8(text, quote), _mm_cmpeq_epi8(text, backslash)));
        _mm_storeu_si128((__m128i *)(void *)*out, text);
        int mask = _mm_movemask_epi8(special);
        int plain = mask == 0 ? 16 : __builtin_ctz((unsigned)mask);
        *at += plain;
        *out += plain;
        if (mask != 0) {
            return;
        }
    }
#endif
    while (*at < end && (unsigned char)**at >= 0x20 && (unsigned char)**at < 0x80 && **at != '"' &&
           **at != '\\') {
        *(*out)++ = *(*at)++;
    }
}

/* Escapes the character at bytes; returns its length and adds its unescaped length to *text. */
static size_t append_special(ik_buffer_t *buffer, const char *bytes, size_t len, size_t *text)
{
    if (*bytes == '\t' || *bytes == '"' || *bytes == '\\') {
        buffer->data[buffer->len++] = '\\';
        buffer->data[buffer->len++] = *bytes == '\t' ? 't' : *bytes;
        *text += 1;
        return 1;
    }
    bool valid;
    size_t step = ik_utf8_step(bytes, len, &valid);
    ik_json_append_escaped(buffer, bytes, step);
    *text += valid ? step : sizeof(IK_UTF8_REPLACEMENT) - 1;
    return step;
}

size_t ik_escape_append(ik_buffer_t *buffer, const char *bytes, size_t len)
{
    const char *end = bytes + len;
    size_t text = 0;
    while (bytes < end) {
        ik_buffer_reserve(buffer, ROOM);
        const char *stop = end - bytes > CHUNK ? bytes + CHUNK : end;
        while (bytes < stop) {
            const char *start = bytes;
            char *out = buffer->data + buffer->len;
            copy_plain(&bytes, stop, &out);
            buffer->len = (size_t)(out - buffer->data);
            text += (size_t)(bytes - start);
            if (bytes < stop) {
                bytes += append_special(buffer, bytes, (size_t)(end - bytes), &text);
            }
        }
    }
    return text;
}

size_t ik_escape_measure(const char *bytes, size_t len)
{
    if (ik_utf8_valid(bytes, len)) {
        return len;
    }
    size_t text = 0;
    for (size_t i = 0; i < len;) {
        bool valid;
        size_t step = ik_utf8_step(bytes + i, len - i, &valid);
        text += valid ? step : sizeof(IK_UTF8_REPLACEMENT) - 1;
        i += step;
    }
    return text;
}

size_t ik_escape_cut(const char *escaped, size_t len, size_t max, size_t *kept)
{
    size_t i = 0;
    *kept = 0;
    while (i < len) {
        bool valid;
        size_t step = escaped[i] != '\\'      ? ik_utf8_step(escaped + i, len - i, &valid)
                      : escaped[i + 1] == 'u' ? 6
                                              : 2;
        size_t text = escaped[i] == '\\' ? 1 : step;
        if (*kept + text > max) {
            break;
        }
        *kept += text;
        i += step;
    }
    return i;
}
