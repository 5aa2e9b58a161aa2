#include "io/tty_restore.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

enum {
    PATIENCE_MS = 200, /* for a terminal that accepts no output */
    CRASH_STACK = 64 * 1024,
    TEXT_MAX = 256,
};

/* Ends a hyperlink, and a control string that may have been cut off. */
#define BEGIN "\x1b]8;;\x1b\\"
/* Each screen has its own stack of kitty keyboard flags. */
#define END_KITTY "\x1b[<u"
#define WRAP_ROWS "\x1b[?7h"
#define END_SHAPE "\x1b[0 q"
#define END_TITLE "\x1b[23;2t"
#define END_ALTERNATE "\x1b[?1049l"
#define END_MODES "\x1b[?2026l\x1b[?2004l\x1b[?1004l\x1b[>4;0m\x1b[?25h\x1b[0m"

/* Signals that end the program, except SIGTERM and others that the loop handles. */
static const int deadly[] = {SIGSEGV, SIGBUS,  SIGILL,  SIGFPE,   SIGABRT,   SIGTRAP,
                             SIGSYS,  SIGALRM, SIGUSR1, SIGUSR2,  SIGVTALRM, SIGPROF,
                             SIGXCPU, SIGIO,   SIGPWR,  SIGSTKFLT};
enum { DEADLY_COUNT = IK_LENGTH(deadly) };

/* How much to restore. SETTINGS: the terminal was left, and another program that uses it meanwhile
 * may not restore its settings. */
typedef enum { NOTHING, SETTINGS, EVERYTHING } extent_t;

static struct {
    volatile sig_atomic_t extent;
    volatile sig_atomic_t kitty;
    volatile sig_atomic_t alternate;
    volatile sig_atomic_t shape; /* of the cursor */
    volatile sig_atomic_t title;
    volatile sig_atomic_t wrapping;
    ik_tty_found_t found;
    struct sigaction before[_NSIG]; /* previous actions of the deadly signals */
} state;

/* --- restoring ----------------------------------------------------------------------------- */

static void add(char *text, size_t *len, const char *part)
{
    size_t part_len = strlen(part);
    memcpy(text + *len, part, part_len);
    *len += part_len;
}

static size_t compose(char *text, const char *farewell)
{
    size_t len = 0;
    add(text, &len, BEGIN);
    if (state.alternate) {
        add(text, &len, state.kitty ? END_KITTY END_ALTERNATE : END_ALTERNATE);
    }
    if (state.kitty) {
        add(text, &len, END_KITTY);
    }
    if (state.shape) {
        add(text, &len, END_SHAPE);
    }
    if (state.title) {
        add(text, &len, END_TITLE);
    }
    if (state.wrapping) {
        add(text, &len, WRAP_ROWS);
    }
    add(text, &len, END_MODES);
    add(text, &len, farewell);
    return len;
}

static void write_all(const char *text, size_t len)
{
    struct pollfd room = {.fd = state.found.out, .events = POLLOUT};
    while (len > 0) {
        ssize_t put = write(state.found.out, text, len);
        if (put > 0) {
            text += put;
            len -= (size_t)put;
        } else if (errno == EAGAIN ? poll(&room, 1, PATIENCE_MS) <= 0 : errno != EINTR) {
            return;
        }
    }
}

static void restore_flags(int fd, int flags)
{
    if (flags != -1) {
        fcntl(fd, F_SETFL, flags);
    }
}

static void restore(const char *farewell)
{
    const ik_tty_found_t *found = &state.found;
    char text[TEXT_MAX];
    sigset_t stopping;
    sigset_t before;
    int error = errno;
    if (state.extent == NOTHING) {
        return;
    }
    sigemptyset(&stopping);
    sigaddset(&stopping, SIGTTOU); /* would stop us in the background */
    pthread_sigmask(SIG_BLOCK, &stopping, &before);
    pid_t group = tcgetpgrp(found->in);
    bool ours = group < 0 || group == getpgrp();
    if (ours && state.extent == EVERYTHING) {
        write_all(text, compose(text, farewell));
        state.title = false;
    }
    if (ours) {
        tcsetattr(found->in, TCSANOW, &found->settings);
    }
    restore_flags(found->in, found->in_flags);
    restore_flags(found->out, found->out_flags);
    state.extent = SETTINGS;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
}

void ik_tty_restore_run(void)
{
    restore("");
}

void ik_tty_restore_arm(const ik_tty_found_t *found)
{
    state.extent = NOTHING;
    state.found = *found;
    state.extent = EVERYTHING;
}

void ik_tty_restore_set_modes(bool kitty, bool alternate, bool shape)
{
    state.kitty = kitty;
    state.alternate = alternate;
    state.shape = shape;
}

void ik_tty_restore_owe_wrapping(void)
{
    state.wrapping = true;
}

bool ik_tty_restore_owe_title(void)
{
    bool owed = state.title;
    state.title = true;
    return !owed;
}

void ik_tty_restore_disarm(void)
{
    state.extent = NOTHING;
}

/* --- deadly signals ------------------------------------------------------------------------ */

static void on_deadly(int number, siginfo_t *info, void *context)
{
    (void)context;
    restore("\r\n"); /* the cursor may still be within the drawing */
    sigaction(number, &state.before[number], NULL);
    /* A fault happens again when this handler returns, with the facts that a debugger or sanitizer
     * needs. */
    bool is_fault = info->si_code > 0 &&
                    (number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE);
    if (!is_fault) {
        raise(number);
    }
}

static void install(int number)
{
    struct sigaction action = {.sa_sigaction = on_deadly,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    struct sigaction *before = &state.before[number];
    if (sigaction(number, NULL, before) == 0 && before->sa_handler != SIG_IGN) {
        sigaction(number, &action, NULL);
    }
}

static void uninstall(int number)
{
    struct sigaction action;
    if (sigaction(number, NULL, &action) == 0 && action.sa_sigaction == on_deadly) {
        sigaction(number, &state.before[number], NULL);
    }
}

static void for_all_deadly(void (*apply)(int number))
{
    for (size_t i = 0; i < DEADLY_COUNT; i++) {
        apply(deadly[i]);
    }
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        apply(number);
    }
}

/* After a stack overflow a handler needs a stack of its own. */
static void provide_stack(void)
{
    static char stack[CRASH_STACK];
    stack_t before;
    stack_t own = {.ss_sp = stack, .ss_size = sizeof(stack)};
    if (sigaltstack(NULL, &before) == 0 && (before.ss_flags & SS_DISABLE) != 0) {
        sigaltstack(&own, NULL);
    }
}

void ik_tty_restore_install(void)
{
    provide_stack();
    for_all_deadly(install);
}

void ik_tty_restore_uninstall(void)
{
    for_all_deadly(uninstall);
}
