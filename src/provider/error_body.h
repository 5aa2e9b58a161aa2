/*
 * Reads the error body of any vendor into one set of facts. The forms it knows:
 *
 *   OpenAI       {"error":{"message","type","param","code"}}
 *   Anthropic    {"type":"error","error":{"type","message","details":{"error_code"}}}
 *   Gemini       {"error":{"code":429,"message","status","details":[…]}}, also inside [ ]
 *   Mistral      {"object":"error","message": a string or {"detail":[{"loc","msg","type"}]}}
 *   xAI          {"code":"…","error":"text"}
 *   OpenRouter   {"error":{"code":502,"message","metadata":{"raw"}}}
 *   FastAPI      {"detail": a string or [{"loc","msg","type"}]}
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

enum { IK_ERROR_BODY_NAMES_MAX = 16 };

typedef struct {
    const char *code;    /* the vendor's most specific code; NULL: none */
    const char *message; /* NULL: none */
    const char *param;   /* the part of the request it complains about; NULL: none is named */
    /* Everything that could be a code: code, status, type, the reasons among the details. */
    const char *names[IK_ERROR_BODY_NAMES_MAX];
    size_t name_count;
    int status;              /* the HTTP status that the body itself gives; 0: none */
    bool per_day;            /* a daily quota is exhausted */
    const char *retry_delay; /* "34s"; NULL: none */
    ik_json_span_t headers;  /* an object of headers inside the body; len 0: none */
} ik_error_body_t;

/* value is scanned JSON of any shape. Strings are allocated on ctx. */
void ik_error_body_read(const void *ctx, ik_json_span_t value, ik_error_body_t *body);
bool ik_error_body_has_name(const ik_error_body_t *body, const char *name);
