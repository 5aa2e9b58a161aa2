/*
 * The state shared by all layers while the configuration is loaded: which layer is being read, how
 * to report errors with file and line, and how to store a checked value together with its source.
 */
#pragma once

#include "base/config.h"
#include "base/json.h"

/* The model one layer names. The choice between layers is made when all providers are known. */
typedef struct {
    const char *model; /* NULL: this layer names none */
    const char *place; /* "FILE:LINE", variable or option */
} ik_config_model_t;

typedef struct {
    ik_config_t *config; /* owns whatever outlives the loader */
    void *scratch;       /* freed after loading */
    res_t error;         /* the first one */
    ik_config_model_t models[IK_CONFIG_SOURCE_COUNT];
    const char *theme_place; /* "FILE:LINE" that names the theme; NULL: none does */

    ik_config_source_t source; /* of the layer being read */
    const char *origin;        /* its file, variable or option */
    const char *text;          /* the file's bytes; NULL when the layer is not a file */
} ik_config_loader_t;

/* at points to the fault in text; NULL leaves out the line number. fail keeps the first error and
 * turns later ones into warnings. Errors of a project's file are always warnings: other people's
 * files must not keep the user from starting. */
void ik_config_loader_warn(ik_config_loader_t *loader, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void ik_config_loader_fail(ik_config_loader_t *loader, ik_error_code_t code, const char *at,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));
/* As warn and fail, with the result of an earlier ik_config_loader_place; NULL: the message names
 * its place. */
void ik_config_loader_warn_at(ik_config_loader_t *loader, const char *place, const char *message);
void ik_config_loader_fail_at(ik_config_loader_t *loader, const char *place, const res_t *error);
/* For a file that cannot be read. */
void ik_config_loader_fail_file(ik_config_loader_t *loader, const char *path, const res_t *error);
/* "FILE:LINE", or the name of the variable or option. */
char *ik_config_loader_place(const ik_config_loader_t *loader, const char *at);

/* Makes a name from a file fit for a message: shortened, without control characters. */
const char *ik_config_loader_show(const ik_config_loader_t *loader, const char *name);

/* Store a value that passes the key's checks, or report why not. label is the full name for
 * messages. */
void ik_config_loader_set_text(ik_config_loader_t *loader, const ik_config_key_t *key, void *data,
                               const char *label, const char *at, const char *value);
void ik_config_loader_set_integer(ik_config_loader_t *loader, const ik_config_key_t *key,
                                  void *data, const char *label, const char *at, long value);
/* Stores a JSON value after checking its type and, for a project's file, whether the key is
 * allowed. */
void ik_config_loader_set_json(ik_config_loader_t *loader, const ik_config_key_t *key, void *data,
                               const char *label, ik_json_span_t value);

/* --- config_theme.c: */

/* Fills the colours of the theme that the files name. */
void ik_config_theme_settle(ik_config_loader_t *loader);

/* --- config_tool.c, config_hook.c: */

/* The tool or hook of that name, created if new; at points to the name in the file. Report an
 * invalid name or too many entries and return NULL. */
ik_config_tool_t *ik_config_tool_open(ik_config_loader_t *loader, const char *name, const char *at);
ik_config_hook_t *ik_config_hook_open(ik_config_loader_t *loader, const char *name, const char *at);
