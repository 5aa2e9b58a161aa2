/*
 * The command line without a command: a conversation with a model. One table lists the options;
 * parsing and --help read it.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/config.h"
#include "cli/cli.h"
#include "workspace/workspace.h"

typedef enum { IK_CLI_ASKED_NOTHING, IK_CLI_ASKED_HELP, IK_CLI_ASKED_VERSION } ik_cli_asked_t;

typedef struct {
    ik_cli_asked_t asked; /* shown instead of running anything */
    bool headless;        /* -p */
    bool plain;
    bool json;
    const char **allowed; /* start.allowed */
    const char **images;  /* start.images */
    ik_workspace_start_t start;
    ik_config_flags_t flags;
} ik_cli_options_t;

/* Parses options and the words of a prompt, in any order; "--" ends the options. Words that could
 * be a command, misspelt or after options, are refused. Prints errors on stderr and returns false.
 * The prompt is on ctx. */
bool ik_cli_options_parse(const void *ctx, ik_cli_options_t *options, int argc, char **argv);
/* The option at index, in the order of help; NULL after the last one. */
const ik_cli_option_t *ik_cli_options_at(size_t index);
/* Prints the options with their help. */
void ik_cli_options_print_help(void);
