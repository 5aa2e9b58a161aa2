#include "base/random.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/error.h"

/* For kernels without getrandom. */
static bool read_device(uint64_t *number)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    bool whole = fd >= 0 && read(fd, number, sizeof(*number)) == (ssize_t)sizeof(*number);
    if (fd >= 0) {
        close(fd);
    }
    return whole;
}

uint64_t ik_random(void)
{
    uint64_t number;
    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number) && !read_device(&number)) {
        PANIC("neither getrandom nor /dev/urandom works");
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
