/*
 * A provider is a wire format: a pair of pure transforms, request to bytes and stream bytes to
 * events, with no I/O. One const entry per format; provider.c chooses by configuration.
 *
 * To add one:
 *   1. write provider/NAME/NAME_format.c and NAME_stream.c with `const ik_provider_t
 *      ik_provider_NAME`,
 *   2. declare it below and choose it in provider.c,
 *   3. record streams in tests/provider and teach tests/fake_llm the format.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/config.h"
#include "base/json.h"
#include "conversation/conversation.h"
#include "provider/models.h"

typedef struct ik_provider ik_provider_t;
typedef struct ik_request ik_request_t;
typedef struct ik_stream ik_stream_t;
typedef struct ik_wire ik_wire_t;

/* Whom a request goes to. Everything in it outlives the agent's use of it. */
typedef struct {
    const ik_config_provider_t *config;
    const ik_provider_t *provider;
    const char *name;        /* provider/model, as the user writes it */
    const char *model;       /* without the provider */
    const ik_model_t *facts; /* never NULL; what is unknown is zero */
} ik_target_t;

/* Fields that a server may refuse: such a field is left out from then on (bits of
 * ik_request_t.refused). */
typedef enum {
    IK_FIELD_STREAM_OPTIONS = 1 << 0,
    IK_FIELD_PARALLEL_TOOL_CALLS = 1 << 1,
    IK_FIELD_STRICT = 1 << 2,
    IK_FIELD_EFFORT = 1 << 3, /* reasoning_effort, reasoning.effort, output_config, thinkingLevel */
    IK_FIELD_SUMMARY = 1 << 4,  /* reasoning.summary */
    IK_FIELD_THINKING = 1 << 5, /* thinking, thinkingConfig, reasoning as a whole */
    IK_FIELD_TOOL_CHOICE = 1 << 6,
    IK_FIELD_MAX_TOKENS = 1 << 7, /* chat: the other spelling is used */
    IK_FIELD_CACHE_KEY = 1 << 8,  /* prompt_cache_key */
    IK_FIELD_INCLUDE = 1 << 9,    /* include: reasoning.encrypted_content */
    IK_FIELD_STORE = 1 << 10,
    IK_FIELD_CACHE_CONTROL = 1 << 11,
    IK_FIELD_REASONING_CONTENT = 1 << 12, /* chat: reasoning in the history */
    IK_FIELD_JSON_SCHEMA = 1 << 13,       /* google: parametersJsonSchema */
} ik_field_t;

struct ik_provider {
    const char *name; /* "chat", "responses", "anthropic", "google", "offline" */
    /* Reasoning is void once anything before it has changed: it is dropped at a compaction. */
    bool reasoning_is_bound;
    /* Every step with calls has reasoning: one of this model that has none stored lost it, and
     * what stands before is sent without. */
    bool reasons_for_every_call;
    /* Can write calls and results as text (ik_request_t.calls_as_text). */
    bool tells_calls;
    /* Ids have no set form: its own go back as they came, whatever they look like. */
    bool takes_any_id;

    /* --- request to bytes. The body is an object whose last member is the list of messages: */

    /* URL on ctx. */
    char *(*format_url)(const void *ctx, const ik_request_t *request);
    /* NULL-terminated "Name: value" on ctx, content-type and authorisation among them. */
    char **(*format_headers)(const void *ctx, const ik_request_t *request);
    /* The value of the member that holds the tools, as JSON; asked once per ik_wire_t. */
    void (*format_tools)(ik_buffer_t *out, const ik_request_t *request);
    /* From "{" up to and with the "[" of the messages. tools is what format_tools wrote, empty when
     * there are none. */
    void (*format_head)(ik_buffer_t *out, const ik_request_t *request, ik_json_span_t tools);
    /* Messages that stand together: all from the user's side (user, tool_result) or all from the
     * model's (assistant, tool_call). Appends one or more elements (ik_wire_begin_element). */
    void (*format_group)(ik_wire_t *wire, const ik_request_t *request, ik_msg_t *const *messages,
                         size_t count);

    /* Undoes what format_tools changed in a tool's parameters, so that arguments are as the tool's
     * author described them. Appends them to out and returns true when they differ. NULL: they
     * always come as described. */
    bool (*restore_arguments)(ik_buffer_t *out, const ik_target_t *target, json_t *parameters,
                              ik_json_span_t arguments);

    /* --- stream bytes to events: */

    /* The state of one stream, a talloc child of it. */
    void *(*stream_begin)(ik_stream_t *stream);
    /* One event of the stream, or a whole body that came as application/json: a scanned value. */
    void (*stream_event)(ik_stream_t *stream, ik_json_span_t data);
    /* The stream is over: close what is open, set stream->private_json. Not asked when the stream
     * is incomplete or failed. May be NULL. */
    void (*stream_end)(ik_stream_t *stream);

    /* A provider without a server makes its answer itself, by the functions of stream.h; the
     * members above but name are then NULL. */
    void (*answer)(ik_stream_t *stream, const ik_request_t *request);
};

extern const ik_provider_t ik_provider_chat;
extern const ik_provider_t ik_provider_responses;
extern const ik_provider_t ik_provider_anthropic;
extern const ik_provider_t ik_provider_google;
extern const ik_provider_t ik_provider_offline;

/* Resolves provider/model. IK_ERR_DENIED when the provider has no key: the message says which
 * variable to set. models may be NULL. */
res_t ik_target_create(const void *ctx, const ik_config_t *config, const ik_models_t *models,
                       const char *model, const ik_target_t **out);
/* The model to use when nobody chose one: the default of the first provider that has a key, else
 * offline/offline. */
const char *ik_target_default(const ik_config_t *config, const ik_models_t *models);
