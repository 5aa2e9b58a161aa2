#include "base/random.h"

#include <sys/random.h>

#include "base/error.h"

uint64_t ik_random(void)
{
    uint64_t number;
    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number)) {
        PANIC("no random bytes");
    }
    return number;
}

void ik_random_name(char *out, int len)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    uint64_t number = 0;
    for (int i = 0; i < len; i++) {
        number = number < 62 * 62 ? ik_random() : number;
        out[i] = digits[number % 62];
        number /= 62;
    }
    out[len] = '\0';
}
