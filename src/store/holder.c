#include "store/holder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fields of /proc/PID/stat, counted from 1 as proc(5) does. */
enum { STATE_FIELD = 3, STARTED_FIELD = 22 };

typedef struct {
    char state;
    int64_t started;
} process_t;

/* Skips count fields and the spaces after them. NULL: there are not that many. */
static const char *skip_fields(const char *at, int count)
{
    for (int i = 0; i < count && at != NULL; i++) {
        at = strchr(at, ' ');
        at = at == NULL ? NULL : at + 1;
    }
    return at;
}

/* The second field is the program's name in parentheses. The name may contain spaces and
 * parentheses, so fields are counted from the last ')'. */
static bool parse_stat(const char *text, process_t *process)
{
    const char *name_end = strrchr(text, ')');
    const char *state = name_end == NULL ? NULL : skip_fields(name_end, 1);
    const char *started = state == NULL ? NULL : skip_fields(state, STARTED_FIELD - STATE_FIELD);
    if (started == NULL) {
        return false;
    }
    *process = (process_t){.state = *state, .started = strtoll(started, NULL, 10)};
    return true;
}

static bool read_process(int64_t pid, process_t *process)
{
    char path[48];
    char text[1024];
    snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t len = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (len <= 0) {
        return false;
    }
    text[len] = '\0';
    return parse_stat(text, process);
}

ik_holder_t ik_holder_self(void)
{
    ik_holder_t self = {.pid = getpid()};
    process_t process;
    if (read_process(self.pid, &process)) {
        self.started = process.started;
    }
    /* A name that is too long is truncated, possibly without a terminating NUL. */
    if (gethostname(self.host, sizeof(self.host) - 1) != 0 && errno != ENAMETOOLONG) {
        self.host[0] = '\0';
    }
    return self;
}

bool ik_holder_equal(const ik_holder_t *a, const ik_holder_t *b)
{
    return a->pid == b->pid && a->started == b->started && strcmp(a->host, b->host) == 0;
}

bool ik_holder_may_live(const ik_holder_t *holder)
{
    ik_holder_t self = ik_holder_self();
    if (strcmp(holder->host, self.host) != 0) {
        return true;
    }
    if (holder->pid <= 0 || holder->pid > INT_MAX ||
        (kill((pid_t)holder->pid, 0) != 0 && errno == ESRCH)) {
        return false;
    }
    process_t process;
    if (!read_process(holder->pid, &process)) {
        return true; /* it exists, but this user may not inspect it */
    }
    bool ended = process.state == 'Z' || process.state == 'X';
    bool other = holder->started != 0 && process.started != 0 && holder->started != process.started;
    return !ended && !other;
}

ik_holder_use_t ik_holder_describe_use(const ik_holder_t *holder)
{
    ik_holder_use_t use = {"in use"};
    if (holder->pid != 0) {
        snprintf(use.text, sizeof(use.text), "in use by pid %" PRId64 " on %s", holder->pid,
                 holder->host);
    }
    return use;
}
