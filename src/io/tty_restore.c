#include "io/tty_restore.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

enum {
    PATIENCE_MS = 200, /* for a terminal that takes nothing */
    CRASH_STACK = 64 * 1024,
    TEXT_MAX = 256,
};

/* The end of a link, and of a string that may have been cut off. */
#define BEGIN "\x1b]8;;\x1b\\"
/* Every screen has its own stack of kitty's keyboard flags. */
#define END_KITTY "\x1b[<u"
#define END_TITLE "\x1b[23;2t"
#define END_ALTERNATE "\x1b[?1049l"
#define END_MODES "\x1b[?2026l\x1b[?2004l\x1b[?1004l\x1b[>4;0m\x1b[?25h\x1b[0m"

/* The end of the program, but for SIGTERM and its like, which are handled from the loop. */
static const int deadly[] = {SIGSEGV, SIGBUS,  SIGILL,  SIGFPE,   SIGABRT,   SIGTRAP,
                             SIGSYS,  SIGALRM, SIGUSR1, SIGUSR2,  SIGVTALRM, SIGPROF,
                             SIGXCPU, SIGIO,   SIGPWR,  SIGSTKFLT};
enum { DEADLY_COUNT = IK_LENGTH(deadly) };

/* What there is to put back: while another program has the terminal, its settings only, should that
 * program leave them as they are. */
typedef enum { NOTHING, SETTINGS, EVERYTHING } extent_t;

static struct {
    volatile sig_atomic_t extent;
    volatile sig_atomic_t kitty;
    volatile sig_atomic_t alternate;
    volatile sig_atomic_t title;
    ik_tty_found_t found;
    struct sigaction before[_NSIG]; /* what a deadly signal did */
} state;

/* --- putting back -------------------------------------------------------------------------- */

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
    if (state.title) {
        add(text, &len, END_TITLE);
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

static void block_stopping(sigset_t *before)
{
    sigset_t stopping;
    sigemptyset(&stopping);
    sigaddset(&stopping, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &stopping, before);
}

static bool is_ours(void)
{
    pid_t group = tcgetpgrp(state.found.in);
    return group < 0 || group == getpgrp();
}

static void put_flags_back(int fd, int flags)
{
    if (flags != -1) {
        fcntl(fd, F_SETFL, flags);
    }
}

static void put_back(const char *farewell)
{
    const ik_tty_found_t *found = &state.found;
    char text[TEXT_MAX];
    sigset_t before;
    int error = errno;
    if (state.extent == NOTHING) {
        return;
    }
    block_stopping(&before);
    bool ours = is_ours();
    if (ours && state.extent == EVERYTHING) {
        write_all(text, compose(text, farewell));
        state.title = false;
    }
    if (ours) {
        tcsetattr(found->in, TCSANOW, &found->settings);
    }
    put_flags_back(found->in, found->in_flags);
    put_flags_back(found->out, found->out_flags);
    state.extent = SETTINGS;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
}

void ik_tty_restore_run(void)
{
    put_back("");
}

void ik_tty_restore_arm(const ik_tty_found_t *found)
{
    state.extent = NOTHING;
    state.found = *found;
    state.extent = EVERYTHING;
}

void ik_tty_restore_set_modes(bool kitty, bool alternate)
{
    state.kitty = kitty;
    state.alternate = alternate;
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

/* Happens again when its handler returns, with all that a debugger or sanitizer wants to know. */
static bool is_fault(int number, const siginfo_t *info)
{
    return info->si_code > 0 &&
           (number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE);
}

static void on_deadly(int number, siginfo_t *info, void *context)
{
    (void)context;
    put_back("\r\n"); /* nobody has moved the cursor below what was drawn */
    sigaction(number, &state.before[number], NULL);
    if (!is_fault(number, info)) {
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

/* A stack that has overflown is no place for a handler. */
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
