/* `ikigai doctor`: lines on standard output, in sections, or with --json all of them as one JSON
 * object. Problems are counted. */
#pragma once

#include "cli/cli.h"
#include "permission/permission_rules.h"
#include "provider/models.h"

typedef struct {
    ik_cli_t *cli;
    size_t problems;
    json_t *report; /* NULL: lines */
    const ik_models_t *models;
    res_t models_error;
    const ik_permission_rules_t *rules; /* NULL: they cannot be read */
} ik_cli_doctor_t;

/* Begins a section. */
void ik_cli_doctor_begin(ik_cli_doctor_t *doctor, const char *title);
/* Adds exactly one line, with control characters escaped. */
void ik_cli_doctor_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void ik_cli_doctor_complain(ik_cli_doctor_t *doctor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Reports on what confines tools here, and on what is held back from them
 * (cli_doctor_confinement.c). */
void ik_cli_doctor_confinement(ik_cli_doctor_t *doctor);
/* Reports on the stores of sessions (cli_doctor_sessions.c). db is a file or a URL. A damaged file
 * is salvaged. */
void ik_cli_doctor_sessions(ik_cli_doctor_t *doctor, const char *db);
