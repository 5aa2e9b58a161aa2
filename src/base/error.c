#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

res_t ik_error_make(ik_error_code_t code, const char *format, ...)
{
    res_t result = {.code = code};
    va_list args;
    va_start(args, format);
    vsnprintf(result.message, sizeof(result.message), format, args);
    va_end(args);
    return result;
}

void ik_error_panic(const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "panic at %s:%d: ", file, line);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}
