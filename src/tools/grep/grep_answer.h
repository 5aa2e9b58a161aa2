/*
 * The answer {"output":"…","count":N}, written to stdout during the search. Text beyond the limit
 * of the call is counted but not written. Only one thread at a time may use it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tools/common/tool_program.h"
#include "tools/common/warning_list.h"

/* A part of the output, escaped for JSON. Every line begins with \n. */
typedef struct {
    ik_buffer_t text;
    uint64_t bytes; /* length of the unescaped text, including what was only measured */
    uint64_t lines;
} ik_grep_part_t;

typedef struct {
    ik_tool_call_t *call;
    ik_buffer_t pending;
    uint64_t bytes; /* of the whole output */
    uint64_t kept;
    uint64_t lines;
    bool full;   /* the limit is reached: only counts are needed */
    bool broken; /* stdout cannot be written */
} ik_grep_answer_t;

void ik_grep_answer_begin(ik_grep_answer_t *answer, ik_tool_call_t *call);
/* Adds a part and empties it. */
void ik_grep_answer_add(ik_grep_answer_t *answer, ik_grep_part_t *part);
/* note may be NULL. */
void ik_grep_answer_end(ik_grep_answer_t *answer, const char *note,
                        const ik_warning_list_t *warnings);
