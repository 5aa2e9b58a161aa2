/*
 * The main program of every shipped tool. A tool is a table (name, description, parameters) and one
 * function. The table defines --schema, --help, --version and how the arguments on stdin are
 * checked, so no tool implements the protocol itself.
 *
 * run() gets checked parameters and answers exactly once. Most tools build the answer in
 * call->answer and send it; a tool that streams a long answer calls ik_tool_answer_write_part()
 * for each part and then ik_tool_answer_done().
 *
 * If memory runs out at any point, the call is answered with the error OUT_OF_MEMORY.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/display.h"
#include "base/effects.h"
#include "base/host_protocol.h"

/* Arguments longer than this are refused, output longer than this is cut. */
#define IK_TOOL_ARGUMENTS_MAX ((size_t)1 << 30)
#define IK_TOOL_OUTPUT_MAX ((size_t)1 << 30)

typedef enum {
    IK_TOOL_PARAM_STRING,
    IK_TOOL_PARAM_INTEGER,
    IK_TOOL_PARAM_BOOLEAN,
    IK_TOOL_PARAM_ARRAY,
} ik_tool_param_type_t;

typedef struct {
    const char *name; /* NULL ends the list: {0} */
    ik_tool_param_type_t type;
    bool required;
    const char *description;
    int64_t min; /* integers outside [min, max] are refused; both 0: no limits */
    int64_t max;
    bool text;         /* a string that goes to the operating system: NUL bytes are refused */
    const char *items; /* of an array: the JSON Schema of its elements, which run() checks */
} ik_tool_param_t;

typedef struct ik_tool_call ik_tool_call_t;

typedef struct {
    const char *name;
    const char *description;
    const ik_tool_param_t *params;
    const char *returns;    /* JSON Schema of the answer, as JSON text */
    bool parallel;          /* calls may overlap */
    ik_effects_t effects;   /* what it does besides reading; ikigai confines it to that */
    const char *escalation; /* the parameter that asks for more; NULL: there is none */
    unsigned host;          /* what it asks ikigai for (ik_host_op_t); see host_relay.h */
    const char *limits;     /* sizes and memory, for --help */
    ik_display_t display;   /* how the answer is best shown */
    void (*run)(ik_tool_call_t *call);
    /* May be NULL. Runs the call as a job (--job): what it prints is the output, and it returns the
     * exit status. */
    int (*job)(ik_tool_call_t *call);
    /* May be NULL. Ends what the call started; called when memory has run out, before the answer,
     * so it must not allocate. */
    void (*abandon)(void);
} ik_tool_program_t;

struct ik_tool_call {
    void *ctx; /* owns everything the call allocates */
    const ik_tool_program_t *program;
    json_t *params;     /* checked; null members removed */
    size_t max_output;  /* IKIGAI_MAX_OUTPUT, at most IK_TOOL_OUTPUT_MAX */
    ik_buffer_t answer; /* the JSON object so far */
    bool answered;
};

/* The body of every tool's main(); returns the exit status. */
int ik_tool_program_main(const ik_tool_program_t *program, int argc, char **argv);

/* These return the fallback if the parameter is absent. Strings live as long as the call. */
const char *ik_tool_param_string(const ik_tool_call_t *call, const char *name, size_t *len,
                                 const char *fallback);
int64_t ik_tool_param_integer(const ik_tool_call_t *call, const char *name, int64_t fallback);
bool ik_tool_param_boolean(const ik_tool_call_t *call, const char *name);
bool ik_tool_param_given(const ik_tool_call_t *call, const char *name);

/* Answers {"error":…,"error_code":…}. */
void ik_tool_answer_error(ik_tool_call_t *call, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Answers with an error that has one more member. */
void ik_tool_answer_error_with(ik_tool_call_t *call, const char *code, const char *error,
                               const char *key, const char *value);
/* Begins an answer with an error; members and ik_tool_answer_send() follow. */
void ik_tool_answer_begin_error(ik_tool_call_t *call, const char *code, const char *error);

/* Reserves room for short members, so that adding them does not allocate. For tools that must not
 * answer OUT_OF_MEMORY after their work is done. */
void ik_tool_answer_reserve(ik_tool_call_t *call);
/* Removes all members added so far. */
void ik_tool_answer_restart(ik_tool_call_t *call);

/* Adds "output": the text as valid UTF-8, cut at max_output. If it was cut, adds "truncated" and
 * "total_bytes" too. */
void ik_tool_answer_output(ik_tool_call_t *call, const char *text, size_t len);
void ik_tool_answer_integer(ik_tool_call_t *call, const char *key, int64_t value);
void ik_tool_answer_boolean(ik_tool_call_t *call, const char *key, bool value);
void ik_tool_answer_string(ik_tool_call_t *call, const char *key, const char *value);
/* Closes the object and writes it. */
void ik_tool_answer_send(ik_tool_call_t *call);
/* Writes a part of an answer. The first part must begin {"output":" and every part but the last
 * must end inside that string: if memory runs out, the string is closed there and the error
 * follows. */
bool ik_tool_answer_write_part(const char *bytes, size_t len, bool last);
/* Marks the call as answered, after its last part was written. */
void ik_tool_answer_done(ik_tool_call_t *call);
