/*
 * An error of a provider, in one form for all vendors: its class, a message, whether and when to
 * retry, and which field or tool was refused. Pure: made from a status, headers and a body, or from
 * an error object inside a stream.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "provider/provider.h"

typedef enum {
    IK_FAULT_NONE,
    IK_FAULT_AUTH,       /* key missing, wrong, or not allowed */
    IK_FAULT_QUOTA,      /* no credit, or a limit that a short wait does not lift */
    IK_FAULT_RATE_LIMIT, /* too many requests or tokens in a short time */
    IK_FAULT_SERVER,     /* overloaded, internal, gateway, timeout */
    IK_FAULT_NOT_FOUND,  /* no such model or path */
    IK_FAULT_TOO_LARGE,  /* the body has too many bytes */
    IK_FAULT_OVERFLOW,   /* the conversation exceeds the context window */
    IK_FAULT_REASONING,  /* the server refuses the reasoning that was sent back to it */
    IK_FAULT_FIELD,      /* an optional field is refused: see field */
    IK_FAULT_TOOL,       /* the definition of a tool is refused: see tool */
    IK_FAULT_IMAGE,      /* an image is refused: see place */
    IK_FAULT_IMAGES,     /* the model or server takes no images */
    IK_FAULT_INVALID,    /* any other fault of the request */
    IK_FAULT_NETWORK,    /* no answer: connection, TLS, timeout; set by the agent */
} ik_fault_t;

typedef struct {
    ik_fault_t fault;
    int status;        /* HTTP status; 0 when the error came inside a stream */
    char code[64];     /* the vendor's own code or type; "" when there was none */
    char message[512]; /* for people, one line; never empty */
    bool retryable;
    int64_t retry_after_ms; /* -1: no hint */
    unsigned field;         /* ik_field_t bits */
    char place[128]; /* of an image in the request, as the vendor writes it; "": in message */
    int tool;        /* index of the refused tool in the request; -1: no index is given */
} ik_provider_error_t;

/* header(data, name) returns a response header or NULL. The body may be JSON of any vendor, HTML,
 * other text or empty. now is the wall clock in seconds, for HTTP dates. */
void ik_provider_error_parse(ik_provider_error_t *error, int status, const char *body, size_t len,
                             const char *(*header)(void *data, const char *name), void *data,
                             int64_t now);
/* Reads an error inside a stream: {"error":{…}}, {"type":"error",…}, the inner object alone, or a
 * string. */
void ik_provider_error_from_event(ik_provider_error_t *error, ik_json_span_t value);
/* An answer that is not in the provider's format: message says so, and what text begins with is
 * added to it. A page is reduced to its title. */
void ik_provider_error_from_text(ik_provider_error_t *error, const char *message, const char *text,
                                 size_t len);

/* "auth", "quota", "rate_limit", "server", …: the name in machine-readable output. */
const char *ik_fault_name(ik_fault_t fault);
