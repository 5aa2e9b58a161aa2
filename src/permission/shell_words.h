/*
 * Splits a shell command into its simple commands and their words, for rules. Redirections are not
 * words. It does not expand anything; what a shell would expand makes a command not plain.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    char **words; /* without quotes */
    size_t count;
} ik_shell_command_words_t;

typedef struct {
    ik_shell_command_words_t *commands;
    size_t count;
    /* One command, without operators, redirections, substitutions, variables or assignments: it
     * does exactly what its words say. */
    bool plain;
} ik_shell_words_t;

/* On ctx. */
ik_shell_words_t *ik_shell_words_split(const void *ctx, const char *text, size_t len);
