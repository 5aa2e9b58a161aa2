/*
 * Runs a command with /bin/sh in its own process group. Its stdin is /dev/null; stdout and stderr
 * share one pipe, which keeps their order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct {
    pid_t pid;
    int exit_fd; /* a pidfd, readable when the shell has ended; -1 if the kernel has none */
    int output;  /* the pipe's read end, non-blocking; -1 after end of file */
} ik_shell_command_t;

/* Replaces this process by the shell, with stdin /dev/null and without the other things above.
 * Returns an errno value if that failed. */
int ik_shell_command_become(const char *text, size_t len);

/* Returns 0, or an errno value if the shell could not be started. */
int ik_shell_command_start(ik_shell_command_t *command, const char *text, size_t len);
/* Whether the shell has ended. It stays a zombie, so that its process group id is not reused. */
bool ik_shell_command_ended(const ik_shell_command_t *command);
/* Signals the whole process group. */
void ik_shell_command_signal(const ik_shell_command_t *command, int signal);
/* Reaps the shell, closes the descriptors and returns the exit code, 128+N for signal N. */
int ik_shell_command_finish(ik_shell_command_t *command);
