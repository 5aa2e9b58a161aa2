/*
 * Words that only the running program knows (tools, sessions, models, topics), for the scripts of
 * cli_completion.h, which ask for them while somebody types. So it is quick and silent: nothing is
 * executed, made or asked over a network, and what cannot be read is as if it were not there.
 */
#pragma once

#include "cli/cli.h"

/* The kinds there are, as an option's value: "tools|sessions|…". */
#define IK_CLI_COMPLETION_LISTS "models|sessions|tools|topics"

/* One word per line, most with a tab and a note behind; false: there is no such kind. Words that
 * a terminal could obey are left out, notes are cleaned. */
bool ik_cli_completion_words_print(ik_cli_t *cli, const char *kind);
