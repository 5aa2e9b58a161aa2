#include "tools/common/code_point.h"

#include "base/utf8.h"

uint32_t ik_code_point_take(const char **at, const char *end)
{
    const unsigned char *p = (const unsigned char *)*at;
    bool valid = false;
    size_t step = *p < 0x80 ? 1 : ik_utf8_step(*at, (size_t)(end - *at), &valid);
    if (!valid) {
        *at += 1;
        return *p;
    }
    *at += step;
    uint32_t code = p[0] & (0x7fU >> step);
    for (size_t i = 1; i < step; i++) {
        code = code << 6 | (p[i] & 0x3fU);
    }
    return code;
}

size_t ik_code_point_put(char *out, uint32_t code)
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
