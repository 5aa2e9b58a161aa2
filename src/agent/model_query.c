#include "agent/model_query.h"

#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/config_secret.h"
#include "provider/key_mask.h"
#include "provider/provider_error.h"

enum {
    ANSWER_MAX = 8 * 1024 * 1024, /* lists of hundreds of models have about one megabyte */
    LIMIT_MS = 10 * 1000,
};

struct ik_model_query {
    ik_model_query_options_t options;
    ik_config_provider_t asked; /* the provider with the key to use */
    char *key;
    ik_http_request_t *http;
    const ik_http_head_t *head; /* NULL until it arrives */
    ik_buffer_t body;
    ik_timer_t *limit;
    int64_t started_ms;
    ik_model_query_answer_t answer;
};

/* --- the end ------------------------------------------------------------------------------- */

static void end(ik_model_query_t *query)
{
    query->answer.provider = query->options.provider;
    query->answer.elapsed_ms = ik_clock_now_ms() - query->started_ms;
    ik_key_mask_line_always(query->answer.result.message, query->key);
    ik_timer_stop(query->limit);
    query->options.on_end(query->options.data, &query->answer);
}

static const char *header(void *data, const char *name)
{
    return ik_http_head_value(data, name);
}

/* What the head of a response says holds whatever becomes of its body. */
static bool is_refusal(const ik_model_query_t *query)
{
    int status = query->head == NULL ? 200 : ik_http_head_status(query->head);
    return status < 200 || status >= 300;
}

static void read_error(ik_model_query_t *query)
{
    ik_provider_error_t error = {0};
    int status = ik_http_head_status(query->head);
    ik_provider_error_parse(&error, status, query->body.len > 0 ? query->body.data : "",
                            query->body.len, header, (void *)query->head, (int64_t)time(NULL));
    query->answer.refused = error.fault == IK_FAULT_AUTH;
    query->answer.unsupported = status == 404 || status == 405 || status == 501;
    query->answer.result = ERR(DENIED, "%s", error.message);
}

static void on_end(void *data, const ik_http_end_t *http_end)
{
    ik_model_query_t *query = data;
    query->http = NULL; /* it frees itself */
    if (is_refusal(query)) {
        read_error(query);
    } else if (query->body.dropped > 0) {
        query->answer.result =
            ERR(LIMIT, "the answer has more than %d MB", ANSWER_MAX / 1024 / 1024);
    } else if (http_end->outcome != IK_HTTP_DONE) {
        query->answer.result = ERR(GONE, "%s", http_end->message);
    } else {
        query->answer.result =
            ik_model_list_parse(query, &query->asked, query->body.len > 0 ? query->body.data : "",
                                query->body.len, &query->answer.models);
    }
    end(query);
}

static void on_limit(void *data)
{
    ik_model_query_t *query = data;
    if (is_refusal(query)) {
        read_error(query); /* before the request goes, and its head with it */
    } else {
        query->answer.result = ERR(GONE, "no answer within %lld s",
                                   (long long)((query->options.limit_ms + 999) / 1000));
    }
    TALLOC_FREE(query->http);
    end(query);
}

/* --- the request --------------------------------------------------------------------------- */

static void on_head(void *data, const ik_http_head_t *head)
{
    ((ik_model_query_t *)data)->head = head;
}

static bool on_body(void *data, const char *bytes, size_t len)
{
    ik_model_query_t *query = data;
    ik_buffer_append(&query->body, bytes, len);
    return query->body.dropped == 0;
}

static int destroy(ik_model_query_t *query)
{
    if (query->key != NULL) {
        explicit_bzero(query->key, strlen(query->key));
    }
    return 0;
}

ik_model_query_t *ik_model_query_start(const void *ctx, const ik_model_query_options_t *options)
{
    const ik_config_provider_t *provider = options->provider;
    const char *own = provider->key_held ? NULL : provider->api_key;
    const char *key = options->key != NULL ? options->key : own;
    ik_model_query_t *query = ik_new(ctx, ik_model_query_t);
    query->options = *options;
    query->options.limit_ms = options->limit_ms > 0 ? options->limit_ms : LIMIT_MS;
    query->key = key == NULL ? NULL : ik_config_secret_clean(query, key);
    talloc_set_destructor(query, destroy);
    query->asked = *provider;
    query->asked.api_key = query->key != NULL && query->key[0] != '\0' ? query->key : NULL;
    query->started_ms = ik_clock_now_ms();
    ik_buffer_init(&query->body, query, ANSWER_MAX);
    query->limit = ik_timer_create(query, options->loop, on_limit, query);
    ik_timer_start(query->limit, query->options.limit_ms);
    ik_http_options_t http = {
        .url = ik_model_list_format_url(query, &query->asked),
        .headers = (const char *const *)ik_model_list_format_headers(query, &query->asked),
        .connect_ms = query->options.limit_ms,
        .silence_ms = query->options.limit_ms,
        .on_head = on_head,
        .on_body = on_body,
        .on_end = on_end,
        .data = query,
    };
    query->http = ik_http_start(query, options->http, &http);
    return query;
}

const ik_model_query_answer_t *ik_model_query_answer(const ik_model_query_t *query)
{
    return &query->answer;
}
