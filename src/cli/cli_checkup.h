/* How the parts of `ikigai doctor` speak: lines on standard output, of which problems are counted.
 */
#pragma once

#include "cli/cli.h"

typedef struct {
    ik_cli_t *cli;
    size_t problems;
} ik_cli_checkup_t;

/* The headline of a part. */
void ik_cli_checkup_begin(const char *title);
/* One line, whatever is in it. */
void ik_cli_checkup_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void ik_cli_checkup_complain(ik_cli_checkup_t *checkup, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
