/*
 * A provider is a wire format: a pair of pure transforms, from a request to bytes and from the
 * bytes of a stream to events, without I/O. Each format is one constant ik_provider_t; provider.c
 * chooses among them by configuration.
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

/* Where a request goes. Everything it points to outlives the agent's use of it. */
typedef struct {
    const ik_config_provider_t *config;
    const ik_provider_t *provider;
    const char *name;        /* provider/model, as the user writes it */
    const char *model;       /* without the provider */
    const ik_model_t *facts; /* never NULL; unknown figures are zero or negative */
} ik_target_t;

/* Optional fields that a server may refuse. A refused field is left out of later requests (bits of
 * ik_request_t.refused). */
typedef enum {
    IK_FIELD_STREAM_OPTIONS = 1 << 0,
    IK_FIELD_PARALLEL_TOOL_CALLS = 1 << 1,
    IK_FIELD_STRICT = 1 << 2,
    IK_FIELD_EFFORT = 1 << 3, /* reasoning_effort, reasoning.effort, output_config, thinkingLevel */
    IK_FIELD_SUMMARY = 1 << 4,  /* reasoning.summary */
    IK_FIELD_THINKING = 1 << 5, /* thinking, thinkingConfig, reasoning as a whole */
    IK_FIELD_TOOL_CHOICE = 1 << 6,
    IK_FIELD_MAX_TOKENS = 1 << 7, /* chat: the other spelling is sent instead */
    IK_FIELD_CACHE_KEY = 1 << 8,  /* prompt_cache_key */
    IK_FIELD_INCLUDE = 1 << 9,    /* include: reasoning.encrypted_content */
    IK_FIELD_STORE = 1 << 10,
    IK_FIELD_CACHE_CONTROL = 1 << 11,
    IK_FIELD_REASONING_CONTENT = 1 << 12, /* chat: reasoning of earlier steps */
    IK_FIELD_JSON_SCHEMA = 1 << 13,       /* google: parametersJsonSchema */
    /* chat: answers without reasoning_content; after a refusal they are sent with an empty one */
    IK_FIELD_NO_REASONING_CONTENT = 1 << 14,
} ik_field_t;

struct ik_provider {
    const char *name; /* "chat", "responses", "anthropic", "google", "offline" */
    /* Reasoning becomes invalid when anything before it changes: a compaction drops it. */
    bool reasoning_is_bound;
    /* Every step with calls has reasoning. A step of this model without any has lost it, and
     * reasoning before such a step is not sent. */
    bool reasons_for_every_call;
    /* The reasoning of a step does not depend on other steps: it goes back to the model that wrote
     * it, whatever other models wrote in between. */
    bool reasoning_is_separate;
    /* Implements ik_request_t.calls_as_text. */
    bool can_send_calls_as_text;
    /* Ids have no fixed form: the provider gets its own ids back, whatever they look like. */
    bool takes_any_id;
    /* Its private data holds or signs the ids of calls: it is of no use where one was replaced. */
    bool private_has_ids;
    /* No gif may be sent, or none that is animated. */
    bool refuses_gif;
    /* Its private data signs the arguments of calls: a step whose calls hooks have changed goes
     * back without it. */
    bool signs_calls;
    bool refuses_animation;
    /* [DONE] is its terminal marker. Proxies add it to streams of the others, even to one that was
     * cut off. */
    bool ends_with_done;

    /* --- request to bytes. The body is an object whose last member is the list of messages: */

    /* Returns the URL, on ctx. */
    char *(*format_url)(const void *ctx, const ik_request_t *request);
    /* Returns a NULL-terminated list of "Name: value" on ctx, content type and key included. */
    char **(*format_headers)(const void *ctx, const ik_request_t *request);
    /* Appends the JSON value of the member that holds the tools. Called when a wire starts over. */
    void (*format_tools)(ik_buffer_t *out, const ik_request_t *request);
    /* Appends the body from "{" up to and including the "[" of the messages. tools is what
     * format_tools wrote, empty when there are no tools. */
    void (*format_head)(ik_buffer_t *out, const ik_request_t *request, ik_json_span_t tools);
    /* Appends a group as one or more elements (ik_wire_begin_element). The messages of a group are
     * all from the user's side (user, tool_result) or all from the model's (assistant,
     * tool_call). */
    void (*format_group)(ik_wire_t *wire, const ik_request_t *request, ik_msg_t *const *messages,
                         size_t count);

    /* Undoes in a call's arguments what format_tools changed in the tool's schema, so that they
     * follow the schema of the tool's author. Appends them to out and returns true when they
     * differ. NULL: format_tools changes no schema. */
    bool (*restore_arguments)(ik_buffer_t *out, const ik_target_t *target, json_t *parameters,
                              ik_json_span_t arguments);

    /* --- stream bytes to events: */

    /* Returns the format's state for one stream, a talloc child of the stream. */
    void *(*stream_begin)(ik_stream_t *stream);
    /* Reads one event of the stream, or the whole body of an answer that came as application/json:
     * data is a scanned value. */
    void (*stream_event)(ik_stream_t *stream, ik_json_span_t data);
    /* Ends the stream: closes what is open and sets stream->private_json. Not called when the
     * stream is incomplete or failed. May be NULL. */
    void (*stream_end)(ik_stream_t *stream);

    /* A provider without a server writes its answer itself, with the functions of stream.h; all
     * members above except name are then NULL. */
    void (*answer)(ik_stream_t *stream, const ik_request_t *request);
};

extern const ik_provider_t ik_provider_chat;
extern const ik_provider_t ik_provider_responses;
extern const ik_provider_t ik_provider_anthropic;
extern const ik_provider_t ik_provider_google;
extern const ik_provider_t ik_provider_offline;

/* The wire format of a configured provider. */
const ik_provider_t *ik_provider_of(const ik_config_provider_t *config);

/* Resolves a name of the form provider/model. IK_ERR_DENIED when the provider has no key; the
 * message names the variable to set. models may be NULL. */
res_t ik_target_create(const void *ctx, const ik_config_t *config, const ik_models_t *models,
                       const char *model, const ik_target_t **out);
/* The model to use when none is chosen: the default model of the first provider that has a key, or
 * offline/offline. */
const char *ik_target_default(const ik_config_t *config, const ik_models_t *models);
