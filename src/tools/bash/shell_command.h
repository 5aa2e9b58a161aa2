/*
 * A command run by /bin/sh in a process group of its own, with nothing on its stdin and stdout and
 * stderr in one pipe, so that their order is kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct {
    pid_t pid;
    int exit_fd; /* readable when the shell has ended; -1: ask ik_shell_command_ended */
    int output;  /* read end, does not block; -1 after its end */
} ik_shell_command_t;

/* 0, or the errno value that says why no shell could be started. */
int ik_shell_command_start(ik_shell_command_t *command, const char *text, size_t len);
/* The shell has ended (it stays a zombie, so its group's number stays its own). */
bool ik_shell_command_ended(const ik_shell_command_t *command);
/* To the whole process group. */
void ik_shell_command_signal(const ik_shell_command_t *command, int signal);
/* Reaps the ended shell, closes, and returns its exit code; a signal N is 128+N. */
int ik_shell_command_finish(ik_shell_command_t *command);
