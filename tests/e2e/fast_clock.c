/*
 * Makes time pass faster for the program it is preloaded into (LD_PRELOAD): IKIGAI_FAST_CLOCK=60
 * turns a minute into an hour. The monotonic clock runs that much faster, and what waits for events
 * with a timeout waits that much shorter. Everything else takes the time it takes.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SECOND = 1000000000 };

static long speed(void)
{
    static long factor;
    if (factor == 0) {
        const char *text = getenv("IKIGAI_FAST_CLOCK");
        long number = text == NULL ? 1 : strtol(text, NULL, 10);
        factor = number < 1 ? 1 : number;
    }
    return factor;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    long failed = syscall(SYS_clock_gettime, clock, now);
    if (failed == 0 && (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE)) {
        long fraction = now->tv_nsec * speed();
        now->tv_sec = now->tv_sec * speed() + fraction / SECOND;
        now->tv_nsec = fraction % SECOND;
    }
    return (int)failed;
}

/* Rounded up, so that a timer is due when the wait for it is over. */
static int shorten(int timeout)
{
    return timeout <= 0 ? timeout : (int)((timeout + speed() - 1) / speed());
}

int epoll_pwait(int epoll, struct epoll_event *events, int max, int timeout, const sigset_t *mask)
{
    return (int)syscall(SYS_epoll_pwait, epoll, events, max, shorten(timeout), mask, _NSIG / 8);
}

/* A sleep until a time of the fast clock. */
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *left)
{
    struct timespec real = *until;
    if (clock == CLOCK_MONOTONIC && (flags & TIMER_ABSTIME) != 0) {
        long seconds = until->tv_sec % speed();
        real.tv_sec = until->tv_sec / speed();
        real.tv_nsec = (seconds * SECOND + until->tv_nsec) / speed();
    }
    return syscall(SYS_clock_nanosleep, clock, flags, &real, left) == 0 ? 0 : errno;
}

int epoll_wait(int epoll, struct epoll_event *events, int max, int timeout)
{
    return epoll_pwait(epoll, events, max, timeout, NULL);
}
