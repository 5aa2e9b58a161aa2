/*
 * The frame every shipped tool runs in. A tool is a table (name, description, parameters) and one
 * function; from the table come --schema, --help, --version and the checking of what arrives on
 * stdin, so that no tool parses or prints a protocol of its own.
 *
 * run() is called with checked parameters and answers exactly once. The answer goes out in one or
 * few writes; a tool that streams a long answer writes it with ik_tool_answer_write_part() and
 * calls ik_tool_answer_done().
 *
 * When memory runs out, whatever the tool was doing, the answer is the error OUT_OF_MEMORY.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* Arguments longer than this are refused, output longer than this is cut. */
#define IK_TOOL_ARGUMENTS_MAX ((size_t)1 << 30)
#define IK_TOOL_OUTPUT_MAX ((size_t)1 << 30)

typedef enum {
    IK_TOOL_PARAM_STRING,
    IK_TOOL_PARAM_INTEGER,
    IK_TOOL_PARAM_BOOLEAN,
} ik_tool_param_type_t;

typedef struct {
    const char *name; /* NULL ends the list: {0} */
    ik_tool_param_type_t type;
    bool required;
    const char *description;
    /* Integers outside [min, max] are refused; both 0 means any. Strings: see text. */
    int64_t min;
    int64_t max;
    bool text; /* a string handed to the operating system: NUL bytes are refused */
} ik_tool_param_t;

typedef struct ik_tool_call ik_tool_call_t;

typedef struct {
    const char *name;
    const char *description;
    const ik_tool_param_t *params;
    const char *returns; /* JSON Schema of the answer, as JSON text */
    bool parallel;       /* calls may overlap */
    const char *limits;  /* how much memory a call takes at most, for --help */
    void (*run)(ik_tool_call_t *call);
    /* NULL, or ends what the call started; run before the answer OUT_OF_MEMORY, allocates nothing
     */
    void (*abandon)(void);
} ik_tool_program_t;

struct ik_tool_call {
    void *ctx; /* owns whatever the call allocates */
    const ik_tool_program_t *program;
    json_t *params;     /* checked; null members removed */
    size_t max_output;  /* IKIGAI_MAX_OUTPUT, at most IK_TOOL_OUTPUT_MAX */
    ik_buffer_t answer; /* for tools that build their answer */
    bool answered;
};

/* main() of every tool: returns the exit status. */
int ik_tool_program_main(const ik_tool_program_t *program, int argc, char **argv);

/* Checked parameters; the fallback is for absent ones. Strings live as long as the call. */
const char *ik_tool_param_string(const ik_tool_call_t *call, const char *name, size_t *len,
                                 const char *fallback);
int64_t ik_tool_param_integer(const ik_tool_call_t *call, const char *name, int64_t fallback);
bool ik_tool_param_boolean(const ik_tool_call_t *call, const char *name);
bool ik_tool_param_given(const ik_tool_call_t *call, const char *name);

/* Answers {"error":…,"error_code":…}. */
void ik_tool_answer_error(ik_tool_call_t *call, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with one more member. */
void ik_tool_answer_error_with(ik_tool_call_t *call, const char *code, const char *error,
                               const char *key, const char *value);
/* The same without closing the object: members and ik_tool_answer_send() follow. */
void ik_tool_answer_begin_error(ik_tool_call_t *call, const char *code, const char *error);

/* Makes room for an answer, or for the rest of one, so that short members are added without
 * allocating: for tools whose work must not end in OUT_OF_MEMORY once it is done. */
void ik_tool_answer_reserve(ik_tool_call_t *call);
/* Forgets the members added so far. */
void ik_tool_answer_restart(ik_tool_call_t *call);

/* Adds "output": the text cleaned to UTF-8 and cut at max_output, with the flags truncated and
 * total_bytes behind it when it was cut. */
void ik_tool_answer_output(ik_tool_call_t *call, const char *text, size_t len);
void ik_tool_answer_integer(ik_tool_call_t *call, const char *key, int64_t value);
void ik_tool_answer_boolean(ik_tool_call_t *call, const char *key, bool value);
void ik_tool_answer_string(ik_tool_call_t *call, const char *key, const char *value);
/* Closes the object and writes it. */
void ik_tool_answer_send(ik_tool_call_t *call);
/* Writes a part of an answer whose first part begins {"output":" and whose parts, the last one
 * excepted, end inside that string: an answer that ends for want of memory is closed there. */
bool ik_tool_answer_write_part(const char *bytes, size_t len, bool last);
/* For tools that wrote their answer in parts. */
void ik_tool_answer_done(ik_tool_call_t *call);
