#include "base/code_point.h"

#include "base/utf8.h"

uint32_t ik_code_point_take(const char **at, const char *end)
{
    const char *start = *at;
    bool valid = false;
    size_t step =
        (unsigned char)*start < 0x80 ? 1 : ik_utf8_step(start, (size_t)(end - start), &valid);
    *at += valid ? step : 1;
    return valid ? (uint32_t)ik_utf8_decode(start, step) : (unsigned char)*start;
}
