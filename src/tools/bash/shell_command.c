#include "tools/bash/shell_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "tools/common/tool_program.h"

/* The kernel's limit for one argument, including its NUL (MAX_ARG_STRLEN). */
enum { ARGUMENT_MAX = 128 * 1024 };

/* Writes a command that is too long for an argument to a memory file, and a command that sources
 * the file to source; sourcing keeps $0 as "sh". Returns the descriptor, which the shell must
 * inherit, or -1. */
static int write_script(const char *text, size_t len, char *source, size_t source_size)
{
    int fd = ik_file_open_anonymous("command", false);
    if (fd < 0) {
        return -1;
    }
    if (!ik_file_write_all(fd, text, len)) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    snprintf(source, source_size, ". /proc/self/fd/%d", fd);
    return fd;
}

/* This tool ignores SIGPIPE and blocks SIGTERM (main.c); both must work in the command. */
static void prepare_attributes(posix_spawnattr_t *attributes)
{
    sigset_t defaults;
    sigset_t none;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_init(attributes);
    posix_spawnattr_setpgroup(attributes, 0);
    posix_spawnattr_setsigdefault(attributes, &defaults);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                             POSIX_SPAWN_SETSIGMASK);
}

static int spawn_shell(pid_t *pid, const char *command, int output)
{
    /* "--": a command may begin with a hyphen. */
    char *const arguments[] = {"sh", "-c", "--", (char *)command, NULL};
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    prepare_attributes(&attributes);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    int error = posix_spawn(pid, "/bin/sh", &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

int ik_shell_command_become(const char *text, size_t len)
{
    char source[32];
    int null = open("/dev/null", O_RDONLY);
    if (len >= ARGUMENT_MAX) {
        if (write_script(text, len, source, sizeof(source)) < 0) {
            return errno;
        }
        text = source;
    }
    dup2(null, STDIN_FILENO);
    if (null > STDIN_FILENO) {
        close(null);
    }
    signal(SIGPIPE, SIG_DFL);
    char *const arguments[] = {"sh", "-c", "--", (char *)text, NULL};
    execve("/bin/sh", arguments, environ);
    return errno;
}

int ik_shell_command_start(ik_shell_command_t *command, const char *text, size_t len)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) {
        return errno;
    }
    char source[32];
    int script = -1;
    int error = 0;
    if (len >= ARGUMENT_MAX) {
        script = write_script(text, len, source, sizeof(source));
        error = script < 0 ? errno : 0;
        text = source;
    }
    if (error == 0) {
        error = spawn_shell(&command->pid, text, ends[1]);
    }
    if (script >= 0) {
        close(script);
    }
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
        return error;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    command->output = ends[0];
    command->exit_fd = (int)syscall(SYS_pidfd_open, command->pid, 0);
    return 0;
}

bool ik_shell_command_ended(const ik_shell_command_t *command)
{
    siginfo_t info = {0};
    int options = WEXITED | WNOHANG | WNOWAIT;
    return waitid(P_PID, (id_t)command->pid, &info, options) == 0 && info.si_pid != 0;
}

void ik_shell_command_signal(const ik_shell_command_t *command, int signal)
{
    kill(-command->pid, signal);
}

int ik_shell_command_finish(ik_shell_command_t *command)
{
    if (command->output >= 0) {
        close(command->output);
    }
    if (command->exit_fd >= 0) {
        close(command->exit_fd);
    }
    int status = 0;
    if (waitpid(command->pid, &status, WNOHANG) != command->pid) {
        return 128 + SIGKILL; /* killed, but stuck in the kernel */
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
