/*
 * A request to a model, independent of wire formats. ik_request_build_from_conversation
 * (agent/agent_request.h) fills one for each request; ik_wire_format serialises it.
 */
#pragma once

#include <jansson.h>

#include "provider/provider.h"

typedef struct {
    const char *name;
    const char *description;
    json_t *parameters; /* a JSON Schema object */
    json_t *returns;    /* the schema of its result's envelope; may be NULL */
} ik_request_tool_t;

/* How the images of the conversation are sent. */
typedef struct {
    bool blind;                    /* the model sees none: markers are sent */
    size_t dropped;                /* markers are sent for those of the first N messages */
    const ik_blob_name_t *refused; /* and for these */
    size_t refused_count;
    /* Reads the contents, on ctx; false when they are not there. NULL: none are. */
    bool (*read)(void *data, const void *ctx, const char *sha256, char **bytes, size_t *len);
    void *data;
} ik_request_images_t;

struct ik_request {
    const ik_target_t *target;
    const char *system; /* NULL: none */
    ik_request_tool_t *tools;
    size_t tool_count;
    uint64_t tool_key; /* differs when the tools do */
    bool
        forbid_tools; /* tools are listed, so that prompt caches stay valid, but must not be used */
    bool results_shown; /* the user sees tool results; only the offline provider needs to know */
    const ik_conversation_t *conversation; /* repaired; ends on the user's side */
    /* A user's message that is sent after the conversation without being part of it: it asks for a
     * summary. NULL: none. */
    ik_msg_t *closing;
    size_t trimmed_results; /* the first N tool results are replaced by a marker */
    size_t drop_reasoning;  /* the first N messages are sent without reasoning */
    ik_request_images_t images;
    size_t calls_as_text;     /* the calls and results of the first N messages are sent as text */
    const char *effort;       /* NULL: the model's default */
    long max_output_tokens;   /* 0: the model's own limit, or none */
    const char *cache_key;    /* the session's id, which routes requests to one prompt cache */
    const char *continuation; /* google: the token that resumes a cut answer; NULL: none */
    unsigned refused;         /* ik_field_t bits */
};

ik_request_t *ik_request_create(const void *ctx, const ik_target_t *target);
/* name, description and schemas are borrowed from the registry. */
void ik_request_add_tool(ik_request_t *request, const char *name, const char *description,
                         json_t *parameters_schema, json_t *returns_schema);
/* Sorts the tools by name, so that the same tools give the same bytes. */
void ik_request_sort_tools(ik_request_t *request);
static inline bool ik_request_may_send(const ik_request_t *request, ik_field_t field)
{
    return (request->refused & field) == 0;
}
