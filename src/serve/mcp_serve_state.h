/* The state of the server and of its calls, private to this folder. */
#pragma once

#include "io/duplex.h"
#include "permission/single_call.h"
#include "rpc/rpc.h"
#include "serve/mcp_serve.h"

enum {
    IK_MCP_SERVE_GRANTS_MAX = 64, /* questions of the modern era that were not answered yet */
    IK_MCP_SERVE_STATE_LEN = 32,
};

typedef struct ik_mcp_serve ik_mcp_serve_t;
typedef struct ik_mcp_serve_call ik_mcp_serve_call_t;
/* A question of a tool that is open. */
typedef struct ik_mcp_serve_question ik_mcp_serve_question_t;

/* A question of the modern era, which has no state: the client sends the call again with the
 * answer. The state that it returns leads to this, so that an answer counts for one call of this
 * tool with these arguments and for nothing else. */
typedef struct {
    char state[IK_MCP_SERVE_STATE_LEN + 1]; /* empty: unused */
    const char *tool;
    json_t *arguments;
    int granted; /* answers that were given before, and this one */
    int64_t number;
    ik_mcp_serve_call_t *call; /* runs and waits for the answer; NULL: it has not begun */
} ik_mcp_serve_grant_t;

struct ik_mcp_serve {
    const ik_mcp_serve_options_t *options;
    ik_tool_context_t context;
    ik_host_operations_t operations;
    ik_duplex_t *duplex;
    ik_rpc_t *rpc;
    const ik_call_gate_t *asking;     /* for clients that can ask their user */
    const ik_call_gate_t *unattended; /* for others */
    bool initialized;
    bool client_asks; /* what the client of the legacy era can do */
    ik_mcp_serve_call_t *calls;
    int64_t last_number;
    ik_mcp_serve_grant_t grants[IK_MCP_SERVE_GRANTS_MAX];
    bool done;
    int signal; /* that ends the program; 0: none */
};

struct ik_mcp_serve_call {
    ik_mcp_serve_t *server;
    ik_mcp_serve_call_t *next;
    ik_mcp_serve_call_t **link;
    ik_rpc_request_t *request; /* NULL: answered or cancelled */
    char *id;                  /* of this call, for gate and tool */
    char *name;
    char *arguments;
    bool modern;
    bool asks;      /* the client can ask its user */
    int granted;    /* permissions that the client's user has given already */
    char *token;    /* JSON text of the progress token; NULL: no progress is wanted */
    int64_t steps;  /* of progress */
    int64_t due_ms; /* no progress is sent before */
    ik_single_call_t *run;

    /* --- questions of the tool in the modern era */
    ik_mcp_serve_question_t *questions; /* that are open, in order */
    ik_mcp_serve_question_t *posed;     /* the one that the client has; NULL: none, or withdrawn */
    ik_mcp_serve_grant_t *grant;        /* the client has to come back with; NULL: not */
    ik_timer_t *patience;               /* for that; NULL: never needed */
    char *result;                       /* waits until the client comes back; NULL: none */
};

/* --- mcp_serve_call.c: */

/* Begins a call of a tool that exists; arguments of length 0: none. */
ik_mcp_serve_call_t *ik_mcp_serve_call_create(ik_mcp_serve_t *server, ik_rpc_request_t *request,
                                              const char *name, ik_json_span_t arguments,
                                              bool modern, bool asks);
void ik_mcp_serve_call_start(ik_mcp_serve_call_t *call);
/* Another request waits for the result of the call, whose own one was answered. */
void ik_mcp_serve_call_adopt(ik_mcp_serve_call_t *call, ik_rpc_request_t *request);
/* Answers the request, unless the client has cancelled it, and frees the call. */
void ik_mcp_serve_call_end(ik_mcp_serve_call_t *call, const char *result);
/* Ends a call that was not allowed. */
void ik_mcp_serve_call_refuse(ik_mcp_serve_call_t *call, const char *why);
/* The client does not want it any more. */
void ik_mcp_serve_call_cancel(ik_mcp_serve_call_t *call);
/* NULL: there is none. */
ik_mcp_serve_call_t *ik_mcp_serve_call_find(const ik_mcp_serve_t *server, const char *id);

/* --- mcp_serve_question.c: */

/* Asks for permission; as ask of ik_permission_gate_options_t. */
void *ik_mcp_serve_question_permit(void *server, const void *ctx,
                                   const ik_permission_question_t *asked,
                                   ik_permission_answer_fn on_answer, void *answer_data);
/* What tools can ask for over their host channel. */
extern const ik_host_operation_t ik_mcp_serve_question_operations[];
/* The question that the params of a call answer; NULL: none, or another call's. */
ik_mcp_serve_grant_t *ik_mcp_serve_question_find(ik_mcp_serve_t *server, ik_json_span_t params,
                                                 const char *tool, ik_json_span_t arguments);
/* Takes the user's permission for a call that has not begun; false: it was not given. */
bool ik_mcp_serve_question_take(ik_mcp_serve_grant_t *grant, ik_json_span_t params, int *granted);
/* The client is back with the answer to a question of a tool. */
void ik_mcp_serve_question_resume(ik_mcp_serve_grant_t *grant, ik_rpc_request_t *request);
/* Forgets the question; its call, if it has begun, does not wait for the client any more. */
void ik_mcp_serve_question_forget(ik_mcp_serve_grant_t *grant);
