#include "store/postgres/pq_wait.h"

#include <limits.h>
#include <poll.h>

#include "base/clock.h"

ik_pq_wait_t ik_pq_wait(int fd, short events, const ik_pq_patience_t *patience)
{
    for (;;) {
        struct pollfd fds[] = {{.fd = fd, .events = events},
                               {.fd = patience->wake_fd, .events = POLLIN}};
        int64_t left = patience->deadline_ms - ik_clock_now_ms();
        int timeout = left <= 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
        int ready = poll(fds, 2, timeout);
        if (ready > 0) {
            return fds[1].revents != 0 ? IK_PQ_WAIT_WOKEN : IK_PQ_WAIT_READY;
        }
        if (timeout == 0) {
            return IK_PQ_WAIT_LATE;
        }
    }
}
