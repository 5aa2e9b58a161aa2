/*
 * What the layers of the configuration share while it is being loaded: which layer is being read,
 * how to complain with file and line, and how to store a checked value together with its source.
 */
#pragma once

#include "base/config.h"
#include "base/json.h"

/* A model somebody asked for. Which one counts is settled when all providers are known. */
typedef struct {
    const char *model;
    const char *place;
} ik_config_wish_t;

typedef struct {
    ik_config_t *config; /* also owns what the loader allocates for keeps */
    void *scratch;       /* freed after loading */
    res_t error;         /* the first one */
    ik_config_wish_t wishes[IK_CONFIG_SOURCE_COUNT];

    ik_config_source_t source; /* of the layer being read */
    const char *origin;        /* its file, variable or option */
    const char *text;          /* the file's bytes; NULL when it is no file */
} ik_config_loader_t;

/* at is where in text the trouble is; NULL leaves the line out. fail keeps the first error and
 * turns the others into warnings; all errors of a project's file are warnings, because the files of
 * other people must not keep the user from starting. */
void ik_config_loader_warn(ik_config_loader_t *loader, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void ik_config_loader_fail(ik_config_loader_t *loader, ik_error_code_t code, const char *at,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The same with a place that was kept from earlier. */
void ik_config_loader_warn_at(ik_config_loader_t *loader, const char *place, const char *message);
void ik_config_loader_fail_at(ik_config_loader_t *loader, const char *place, const res_t *error);
/* "FILE:LINE", or what else the layer is called. */
char *ik_config_loader_place(const ik_config_loader_t *loader, const char *at);

/* A foreign name fit to be part of a message: shortened, no control characters. */
const char *ik_config_loader_show(const ik_config_loader_t *loader, const char *name);

/* Store a value that passes the key's checks, or complain. label is the full name for messages. */
void ik_config_loader_set_text(ik_config_loader_t *loader, const ik_config_key_t *key, void *data,
                               const char *label, const char *at, const char *value);
void ik_config_loader_set_integer(ik_config_loader_t *loader, const ik_config_key_t *key,
                                  void *data, const char *label, const char *at, long value);
/* The same from JSON, with the type checked and a project's limits kept. */
void ik_config_loader_set_json(ik_config_loader_t *loader, const ik_config_key_t *key, void *data,
                               const char *label, ik_json_span_t value);
