/*
 * The answer, written to stdout while the search goes on: {"output":"…","count":N}. Text beyond the
 * call's limit is counted, not written. One thread at a time may use it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tools/common/tool_program.h"
#include "tools/common/warning_list.h"

/* A part of the output, in JSON's escapes, every line beginning with its \n. */
typedef struct {
    ik_buffer_t text;
    uint64_t bytes; /* that the text stands for, or would where it was only measured */
    uint64_t lines;
} ik_grep_part_t;

typedef struct {
    ik_tool_call_t *call;
    ik_buffer_t pending;
    uint64_t bytes; /* of the whole output */
    uint64_t kept;
    uint64_t lines;
    bool full;   /* the limit is reached: text need not be formatted any more */
    bool broken; /* nobody reads us */
} ik_grep_answer_t;

void ik_grep_answer_begin(ik_grep_answer_t *answer, ik_tool_call_t *call);
/* Takes over what is in part and empties it. */
void ik_grep_answer_add(ik_grep_answer_t *answer, ik_grep_part_t *part);
/* note may be NULL. */
void ik_grep_answer_end(ik_grep_answer_t *answer, const char *note,
                        const ik_warning_list_t *warnings);
