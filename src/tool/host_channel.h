/*
 * The host channel of one tool call: reads the tool's requests (base/host_protocol.h), keeps those
 * that are open and writes the answers. What a request does is up to an op of a table, which the
 * workspace gives (workspace/workspace_host.c).
 *
 * Whatever a tool does costs only its own call: lines, answers and the number of open requests are
 * bounded, and nothing is read while the tool does not read its answers. A line that is wrong is
 * answered with an error and never closes the channel.
 *
 * To add an op:
 *   1. add its name to base/host_protocol.c, if tools may declare it,
 *   2. write its start function and list it in the table in workspace/workspace_host.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/host_protocol.h"
#include "base/json.h"
#include "conversation/usage.h"
#include "io/process.h"

typedef struct ik_host_channel ik_host_channel_t;

/* The call that a request comes from. */
typedef struct {
    int64_t agent; /* its number in the session */
    const char *tool;
    const char *call_id;
    /* How the call runs, for a process that is to run in the same way; they live as long as the
     * channel. env is that of the call without its descriptors. Only for tools that declare job. */
    ik_process_host_t *host;
    const char *path;
    const char *folder;
    const char *const *env;
    const uint64_t *limits; /* IK_KEEPER_LIMITS */
    const char *confined;   /* what the call is confined to; NULL: it is not */
} ik_host_caller_t;

/* An open request. It is a talloc context, which is freed when the request is answered, cancelled
 * by the tool, or when its call ends: what an op keeps for a request is a child of it, and the
 * destructor of that child stops what the op has started. */
typedef struct {
    const ik_host_caller_t *caller;
    ik_json_span_t params; /* the whole object of the request */
    ik_host_channel_t *channel;
} ik_host_request_t;

typedef struct {
    const char *name;
    /* Begins the request, and answers it exactly once: here or later from the loop. */
    void (*start)(void *data, ik_host_request_t *request);
} ik_host_operation_t;

typedef struct {
    const ik_host_operation_t *operations; /* ends with a row without a name */
    void *data;                            /* for start */
} ik_host_operations_t;

/* For calls outside of a session, where no user and no model could answer. */
void ik_host_refuse_question(void *data, ik_host_request_t *request);
void ik_host_refuse_model(void *data, ik_host_request_t *request);
extern const ik_host_operations_t ik_host_operations_absent;

/* --- for the ops -------------------------------------------------------------------------- */

/* Each answers the request and frees it. result is a JSON object; a result that is longer than a
 * line may be becomes the error TOO_LARGE. */
void ik_host_request_succeed(ik_host_request_t *request, const char *result, size_t len);
void ik_host_request_fail(ik_host_request_t *request, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Sends {"progress": {"text": …}}; left out while the tool does not read. */
void ik_host_request_progress(ik_host_request_t *request, const char *text);

/* Adds what a model cost for the request to the result of the call. model is "provider/model". */
void ik_host_request_charge(ik_host_request_t *request, const char *model, const ik_usage_t *usage,
                            double cost);

/* The answer tells of a process that was confined to this, so that the result of the call says this
 * and not what the call itself is confined to. NULL: the process is not confined. */
void ik_host_request_confine(ik_host_request_t *request, const char *confined);

/* Read a parameter; a missing or null one leaves *out as it is. False: the parameter is wrong, or
 * missing and required; the request was answered with INVALID_REQUEST and is gone. Texts are on
 * request and contain no NUL. */
bool ik_host_request_text(ik_host_request_t *request, const char *name, bool required,
                          const char **out);
/* A list of strings that are not empty, NULL-terminated. */
bool ik_host_request_texts(ik_host_request_t *request, const char *name, size_t max,
                           const char *const **out);
/* The parameters of ask; texts are on request. */
typedef struct {
    const char *text;           /* sanitised, and cut if it is very long */
    const char *const *choices; /* NULL: any text is an answer */
    const char *fallback;       /* NULL: there is no default */
} ik_host_question_t;
bool ik_host_request_question(ik_host_request_t *request, ik_host_question_t *out);
/* Answers ask and frees the request; NULL: the user declined. */
void ik_host_request_answer(ik_host_request_t *request, const char *text);
/* An object as JSON text. */
bool ik_host_request_object(ik_host_request_t *request, const char *name, const char **out);
bool ik_host_request_number(ik_host_request_t *request, const char *name, int64_t min, int64_t max,
                            int64_t *out);

/* --- for the runner of tools -------------------------------------------------------------- */

typedef struct {
    ik_loop_t *loop;
    const ik_host_operations_t *operations; /* outlives the channel */
    unsigned declared;                      /* the ops that the tool may use */
    ik_host_caller_t caller;                /* texts are copied */
    /* The first request was opened, or the last one has ended. */
    void (*on_open)(void *data, bool open);
    /* See ik_host_request_charge. */
    void (*on_charge)(void *data, const char *model, const ik_usage_t *usage, double cost);
    /* See ik_host_request_confine. */
    void (*on_confined)(void *data, const char *confined);
    void *data;
} ik_host_channel_options_t;

/* *tool_end is the socket for the tool; the caller closes it when the tool has it. Freeing the
 * channel cancels the open requests. */
res_t ik_host_channel_create(const void *ctx, const ik_host_channel_options_t *options,
                             int *tool_end, ik_host_channel_t **out);
