/*
 * The list of models that a server offers: where to ask and how to read the answer. All vendors
 * have such a list; it needs the key, so it also tests a key. Pure.
 */
#pragma once

#include "provider/provider.h"

enum {
    IK_MODEL_LIST_MAX = 5000,     /* models of one server; the rest is ignored */
    IK_MODEL_LIST_NAME_MAX = 200, /* bytes of a name; a longer one is ignored */
};

typedef struct {
    const char *name; /* without the provider; one line of clean UTF-8, no white space */
    int64_t context;  /* tokens; 0: the server does not tell */
    double input;     /* USD per million tokens; negative: the server does not tell */
    double output;
} ik_model_list_entry_t;

typedef struct {
    ik_model_list_entry_t *entries;
    size_t count;
} ik_model_list_t;

/* The URL and the headers ("Name: value", NULL-terminated) of the request, on ctx. */
char *ik_model_list_format_url(const void *ctx, const ik_config_provider_t *provider);
char **ik_model_list_format_headers(const void *ctx, const ik_config_provider_t *provider);

/* Reads the body of an answer of any vendor, in the server's order, each name once. Entries that
 * are not models for conversations, or that contain the key, are left out. IK_ERR_INVALID when it
 * is not a list of models; *out is then empty. */
res_t ik_model_list_parse(const void *ctx, const ik_config_provider_t *provider, const char *body,
                          size_t len, ik_model_list_t *out);
