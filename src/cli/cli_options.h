/*
 * The command line when no command stands on it: talking to a model. One table names every option;
 * parsing and --help read it.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "agent/wish.h"
#include "base/config.h"
#include "cli/cli.h"

typedef enum { IK_CLI_ASKED_NOTHING, IK_CLI_ASKED_HELP, IK_CLI_ASKED_VERSION } ik_cli_asked_t;

typedef struct {
    ik_cli_asked_t asked; /* to be shown instead of anything else */
    bool headless;        /* -p */
    bool plain;
    bool json;
    ik_wish_t wish;
    ik_config_flags_t flags;
} ik_cli_options_t;

/* Whether the words are options, or a prompt with or without options, and no command. A prompt is
 * one word of the command line; one that has no space in it could be a command misspelt and is
 * taken for one when it looks so, or when nobody sits at a terminal. */
bool ik_cli_options_are_meant(int argc, char **argv);
/* Says what is wrong on stderr and returns false. */
bool ik_cli_options_parse(ik_cli_options_t *options, int argc, char **argv);
/* The options in the order of help; NULL behind the last one. */
const ik_cli_option_t *ik_cli_options_at(size_t index);
/* One line per option. */
void ik_cli_options_print_help(void);
