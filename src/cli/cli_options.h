/*
 * The command line when no command stands on it: talking to a model. One table names every option;
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
    ik_cli_asked_t asked; /* to be shown instead of anything else */
    bool headless;        /* -p */
    bool plain;
    bool json;
    ik_workspace_start_t wish;
    ik_config_flags_t flags;
} ik_cli_options_t;

/* Options and the words of a prompt, in any order; "--" ends the options. What could be a command
 * instead, because it is misspelt or stands behind options, is refused. Says what is wrong on
 * stderr and returns false. The prompt is on ctx. */
bool ik_cli_options_parse(const void *ctx, ik_cli_options_t *options, int argc, char **argv);
/* The options in the order of help; NULL behind the last one. */
const ik_cli_option_t *ik_cli_options_at(size_t index);
/* One line per option. */
void ik_cli_options_print_help(void);
