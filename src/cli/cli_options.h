/*
 * The command line when no command stands on it: talking to a model. One table names every option;
 * parsing and --help read it.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/config.h"

typedef struct {
    bool headless;      /* -p */
    const char *prompt; /* NULL: it comes from standard input */
    bool json;
    bool without_tools;
    bool trust;
    bool continue_last; /* -c */
    const char *resume; /* -r: an id or the beginning of one; NULL: none */
    bool fork;          /* go on in a copy of that session */
    ik_config_flags_t flags;
} ik_cli_options_t;

/* Says what is wrong on stderr and returns false. */
bool ik_cli_options_parse(ik_cli_options_t *options, int argc, char **argv);
void ik_cli_options_print_usage(FILE *stream);
/* One line per option. */
void ik_cli_options_print_help(void);
