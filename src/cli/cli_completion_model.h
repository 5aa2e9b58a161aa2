/*
 * What may stand where on the command line, worked out once from the tables of options and
 * commands, for the scripts of all shells (cli_completion.h).
 *
 * A node is a command as far as it is written: "" is the beginning of the line, and talking to a
 * model when no command stands there; "tool" wants another word; "tool run" is whole. Everything
 * in a node is on the model or static.
 */
#pragma once

#include "cli/cli.h"

/* What can be offered in a place. */
typedef enum {
    IK_CLI_COMPLETION_TEXT,    /* nothing: it is the user's own words */
    IK_CLI_COMPLETION_WORDS,   /* one of some words */
    IK_CLI_COMPLETION_FILES,   /* files and folders */
    IK_CLI_COMPLETION_FOLDERS, /* folders only */
    IK_CLI_COMPLETION_LIST,    /* what `ikigai completion --list` knows */
} ik_cli_completion_kind_t;

/* The value of an option, or an argument. */
typedef struct {
    const char *name; /* as the usage has it, without brackets and dots: "ID", "bash|zsh|fish" */
    ik_cli_completion_kind_t kind;
    const char *words; /* WORDS: "bash zsh fish"; LIST: which one; else "" */
    bool optional;
    bool repeats; /* as often as one likes */
} ik_cli_completion_place_t;

/* A word of a command's name, or an option. */
typedef struct {
    const char *name;
    const char *help;
    const ik_cli_completion_place_t *value; /* NULL: it takes none */
} ik_cli_completion_word_t;

typedef struct {
    const char *name;
    ik_cli_completion_word_t *next; /* words that may go on with the name */
    size_t next_count;
    ik_cli_completion_word_t *options;
    size_t option_count;
    ik_cli_completion_place_t *arguments;
    size_t argument_count;
} ik_cli_completion_node_t;

typedef struct {
    ik_cli_completion_node_t **nodes; /* "" first */
    size_t count;
} ik_cli_completion_model_t;

ik_cli_completion_model_t *ik_cli_completion_model_create(const void *ctx);
