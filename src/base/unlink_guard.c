#include "base/unlink_guard.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* False when the other side is gone. */
static bool send_byte(int socket)
{
    ssize_t sent;
    do {
        sent = send(socket, "", 1, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == 1;
}

/* False when the other side is gone without having sent a byte. */
static bool receive_byte(int socket)
{
    char byte;
    ssize_t got;
    do {
        got = recv(socket, &byte, 1, 0);
    } while (got < 0 && errno == EINTR);
    return got == 1;
}

/* Blocks all signals and starts a new session, so that a signal that ends the tool's whole group
 * does not end the guard as well. Closes the standard descriptors, so that a reader of the tool's
 * output does not wait for the guard. */
static _Noreturn void watch(int ours, int theirs, int folder, const char *name)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    close(theirs);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fd != ours && fd != folder) {
            close(fd);
        }
    }
    if (send_byte(ours) && !receive_byte(ours)) {
        unlinkat(folder, name, 0);
    }
    _exit(0);
}

bool ik_unlink_guard_start(ik_unlink_guard_t *guard, int folder, const char *name)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        watch(ends[0], ends[1], folder, name);
    }
    int error = errno;
    close(ends[0]);
    if (pid < 0) {
        close(ends[1]);
        errno = error;
        return false;
    }
    *guard = (ik_unlink_guard_t){.pid = pid, .socket = ends[1]};
    if (!receive_byte(guard->socket)) {
        ik_unlink_guard_stop(guard);
        errno = EIO;
        return false;
    }
    return true;
}

void ik_unlink_guard_stop(ik_unlink_guard_t *guard)
{
    if (guard->pid == 0) {
        return;
    }
    send_byte(guard->socket); /* if this fails, the guard unlinks a name that is gone */
    close(guard->socket);
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    guard->pid = 0;
}
