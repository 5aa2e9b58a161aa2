#include "checkpoint/taker.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int64_t ik_taker_start_time(int64_t pid)
{
    char path[64];
    char text[1024];
    snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0) {
        close(fd);
    }
    if (len <= 0) {
        return 0;
    }
    text[len] = '\0';
    /* The name in parentheses may contain anything; the start time is the twentieth field after it.
     */
    char *at = strrchr(text, ')');
    for (int field = 0; field < 20 && at != NULL; field++) {
        at = strchr(at + 1, ' ');
    }
    return at == NULL ? 0 : strtoll(at, NULL, 10);
}
