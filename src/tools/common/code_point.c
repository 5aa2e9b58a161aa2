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
