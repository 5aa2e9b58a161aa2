/*
 * Asks a server for its models: one GET request, bounded in size and time, whatever the server
 * does. It also tests a key. No message contains the key, even if the server quotes it.
 */
#pragma once

#include "io/http.h"
#include "provider/model_list.h"

typedef struct ik_model_query ik_model_query_t;

/* Lives as long as the query. */
typedef struct {
    const ik_config_provider_t *provider; /* as given */
    res_t result;                         /* the server's words, or why there are none */
    bool refused;                         /* the server does not accept the key, or wants one */
    bool unsupported;                     /* the server has no list of models */
    int64_t elapsed_ms;
    ik_model_list_t models;
} ik_model_query_answer_t;

typedef struct {
    const ik_config_provider_t *provider; /* not offline; outlives the query */
    const char *key;                      /* copied; NULL: the provider's own, if any */
    ik_loop_t *loop;
    ik_http_t *http;
    int64_t limit_ms; /* for everything; 0: ten seconds */
    void (*on_end)(void *data, const ik_model_query_answer_t *answer);
    void *data;
} ik_model_query_options_t;

/* on_end is called exactly once, later, from the loop; it may free the query. Freeing it earlier
 * cancels it without on_end. */
ik_model_query_t *ik_model_query_start(const void *ctx, const ik_model_query_options_t *options);
/* The answer, which is complete after on_end. */
const ik_model_query_answer_t *ik_model_query_answer(const ik_model_query_t *query);
