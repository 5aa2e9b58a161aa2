/*
 * JSON-RPC 2.0 between two equal peers, without I/O of its own: bytes go in, messages come out by
 * callbacks, and what is to be sent goes to a writer. Both sides may ask: calls are our requests,
 * requests are the peer's. A line is one message; whole messages, as HTTP carries them, can be
 * given as well.
 *
 * Memory is bounded: a line beyond max_line is dropped, and at most IK_RPC_OPEN_MAX requests of the
 * peer are open at a time. Batches are refused. An answer that no call waits for is dropped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

enum {
    IK_RPC_PARSE_ERROR = -32700,
    IK_RPC_INVALID_REQUEST = -32600,
    IK_RPC_METHOD_NOT_FOUND = -32601,
    IK_RPC_INVALID_PARAMS = -32602,
    IK_RPC_INTERNAL_ERROR = -32603,

    IK_RPC_OPEN_MAX = 256,
};

typedef struct ik_rpc ik_rpc_t;
typedef struct ik_rpc_call ik_rpc_call_t;

/* A request of the peer, until it is answered. Freeing it answers nothing, which is right for one
 * that the peer has cancelled. */
typedef struct {
    ik_rpc_t *rpc;
    const char *id; /* JSON text, as the peer wrote it */
    const char *method;
    ik_json_span_t params; /* an object, or length 0; valid until on_request returns */
    void *data;            /* of the callee */
} ik_rpc_request_t;

/* The answer to a call; its spans are valid inside the callback only. */
typedef struct {
    bool closed;           /* there will be no answer: ik_rpc_close */
    bool failed;           /* the peer reports an error */
    ik_json_span_t result; /* null if the answer has none */
    int64_t code;          /* of an error; 0 if it has none */
    ik_json_span_t text;   /* the message of an error, a string; length 0: none */
    ik_json_span_t detail; /* the data of an error; length 0: none */
} ik_rpc_answer_t;

typedef void (*ik_rpc_answer_fn)(void *data, const ik_rpc_answer_t *answer);

typedef struct {
    size_t max_line;
    /* Tells the peer of lines that are no message with PARSE_ERROR or INVALID_REQUEST, as a server
     * does. A client must not: a program may print anything on its standard output. */
    bool answers_junk;
    /* Sends one message, which ends with a newline. It may close the rpc but not free it. */
    void (*write)(void *data, const char *line, size_t len);
    /* Returns false if it does not know the method, which answers METHOD_NOT_FOUND and frees the
     * request. Otherwise the callee answers or frees it, now or later. */
    bool (*on_request)(void *data, ik_rpc_request_t *request);
    void (*on_notification)(void *data, const char *method, ik_json_span_t params);
    /* A line that is not a message; line is not terminated and NULL if it was too long. May be
     * NULL.
     */
    void (*on_junk)(void *data, const char *line, size_t len);
    void *data;
} ik_rpc_options_t;

/* The object may be freed from inside its callbacks, except from write. */
ik_rpc_t *ik_rpc_create(const void *ctx, const ik_rpc_options_t *options);

/* Takes bytes of the peer, cut anywhere. */
void ik_rpc_feed(ik_rpc_t *rpc, const char *bytes, size_t len);
/* Takes one whole message, without regard to lines. */
void ik_rpc_take(ik_rpc_t *rpc, const char *text, size_t len);
/* The peer is gone: every call ends with closed, and nothing more is written or taken. */
void ik_rpc_close(ik_rpc_t *rpc);

/* Sends a request. params is JSON text of an object; NULL: none. on_answer is called once, never
 * before this returns unless the writer closes the rpc; the call is freed afterwards. Freeing it
 * earlier gives it up: a late answer is dropped. On a closed rpc it returns NULL, and on_answer is
 * not called. */
ik_rpc_call_t *ik_rpc_call(ik_rpc_t *rpc, const char *method, const char *params,
                           ik_rpc_answer_fn on_answer, void *data);
/* The id that the next call will have, and that of a call. */
int64_t ik_rpc_next_id(const ik_rpc_t *rpc);
int64_t ik_rpc_call_id(const ik_rpc_call_t *call);
void ik_rpc_notify(ik_rpc_t *rpc, const char *method, const char *params);

/* Answers a request and frees it. result is JSON text. */
void ik_rpc_respond(ik_rpc_request_t *request, const char *result, size_t len);
/* Answers with an error and frees the request. detail is JSON text or NULL. */
void ik_rpc_refuse(ik_rpc_request_t *request, int code, const char *message, const char *detail);
/* The open request of the peer with that id, for its cancellation; NULL: there is none. */
ik_rpc_request_t *ik_rpc_find_request(const ik_rpc_t *rpc, ik_json_span_t id);
