/* `ikigai doctor`: lines on standard output, in sections. Problems are counted. */
#pragma once

#include "cli/cli.h"
#include "provider/models.h"

typedef struct {
    ik_cli_t *cli;
    size_t problems;
    const ik_models_t *models;
    res_t models_error;
} ik_cli_doctor_t;

/* Prints the heading of a section. */
void ik_cli_doctor_begin(const char *title);
/* Prints exactly one line, with control characters escaped. */
void ik_cli_doctor_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void ik_cli_doctor_complain(ik_cli_doctor_t *doctor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Reports on the stores of sessions (cli_doctor_sessions.c). db is a file or a URL. A damaged file
 * is salvaged. */
void ik_cli_doctor_sessions(ik_cli_doctor_t *doctor, const char *db);
