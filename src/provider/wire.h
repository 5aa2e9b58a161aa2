/*
 * The serialised form of one conversation for one target. What was serialised is kept: building
 * request n+1 costs what is new in it. A change of what was already sent (compaction, dropped
 * reasoning, refused fields and tools) starts over by itself; another target or other tools need
 * another ik_wire_t.
 *
 * The body is handed out in parts that point into the wire, so that nothing is copied to send it.
 */
#pragma once

#include "io/http.h"
#include "provider/request.h"

enum { IK_WIRE_PARTS_MAX = 8 };

typedef struct {
    ik_http_part_t parts[IK_WIRE_PARTS_MAX];
    size_t count;
    size_t total;
} ik_wire_body_t;

struct ik_wire {
    ik_buffer_t tools;    /* of format_tools */
    ik_buffer_t head;     /* of the last request */
    ik_buffer_t messages; /* elements with commas between them */
    ik_buffer_t unmasked; /* private data of a step that has the key in it */

    /* with what tools and messages were written: when it changes, they are written anew */
    const ik_conversation_t *conversation;
    size_t trimmed_results;
    size_t drop_reasoning;
    size_t calls_as_text;
    size_t tool_count;
    unsigned refused;
    bool begun;

    size_t done;           /* messages of the conversation that are in */
    bool rests;            /* they were, and are to be written again */
    size_t results;        /* tool results among them */
    size_t reasoning_from; /* steps before this message are sent without their private data */
    /* The last group: it is written anew when it has grown. */
    ik_msg_t **group;
    size_t *group_index; /* of its messages in the conversation */
    size_t group_count;
    size_t group_offset;  /* where it begins in messages */
    size_t group_results; /* results before it */

    /* Offsets in messages where the object that ends there could take another member: where a
     * provider marks the end of what a cache should hold. format_group sets mark. SIZE_MAX: none.
     */
    size_t mark;
    size_t previous_mark;    /* the mark of the request before */
    const char *mark_member; /* what to insert at the marks, with its comma; NULL: nothing */
};

ik_wire_t *ik_wire_create(const void *ctx);

/* The body of the request, valid until the next call or until the conversation grows. */
void ik_wire_format(ik_wire_t *wire, const ik_request_t *request, ik_wire_body_t *body);

/* No request follows for a while. A long text is let go, since the conversation is there as well;
 * the next request writes it again, to the byte and the mark as it was. */
void ik_wire_rest(ik_wire_t *wire);

/* --- for format_group ---------------------------------------------------------------------- */

/* A comma where one is needed; returns the buffer to append the element to. */
ik_buffer_t *ik_wire_begin_element(ik_wire_t *wire);

/* Messages of a group that came in one answer, or a single one of which nothing is known. */
typedef struct {
    ik_msg_t *const *messages;
    size_t count;
    ik_json_span_t private_json; /* what the provider left for itself; len 0: none, or void */
} ik_wire_step_t;

/* Walks the steps of a group of the model's side; start with position 0, false at the end. A step
 * is valid until the next one. */
bool ik_wire_next_step(ik_wire_t *wire, const ik_request_t *request, ik_msg_t *const *messages,
                       size_t count, size_t *position, ik_wire_step_t *step);
/* The next call of a step; start with position 0, NULL: there are no more. */
const ik_msg_t *ik_wire_next_call(const ik_wire_step_t *step, size_t *position);

/* Whether a message of the group, given by its place in it, is one whose calls and results are sent
 * as text (ik_request_t.calls_as_text). */
bool ik_wire_tells_calls(const ik_wire_t *wire, const ik_request_t *request,
                         ik_msg_t *const *message);

/* The id of a call or result as this target gets it, as a JSON string literal: its own ids
 * unchanged, those of others as nine letters and digits, which everyone accepts. nine: even its
 * own. */
void ik_wire_append_id(ik_buffer_t *out, const ik_request_t *request, const ik_msg_t *message,
                       bool nine);
/* Whether the id was given by this very provider (not by another, and not made up by us). */
bool ik_wire_is_own_id(const ik_request_t *request, const ik_msg_t *message);

/* A call's arguments as a JSON object ({} when the model wrote none or rubbish). */
void ik_wire_append_arguments(ik_buffer_t *out, const ik_msg_t *call);
/* The same as a string literal that holds such an object. */
void ik_wire_append_arguments_text(ik_buffer_t *out, const ik_msg_t *call);

/* A result's envelope, cleaned (words.h), as a string literal, or the marker when it is trimmed;
 * call it, or the next, exactly once for each result of a group, in order. */
void ik_wire_append_output_text(ik_wire_t *wire, const ik_request_t *request, ik_buffer_t *out,
                                const ik_msg_t *result);
/* The same as the JSON object it is. */
void ik_wire_append_output(ik_wire_t *wire, const ik_request_t *request, ik_buffer_t *out,
                           const ik_msg_t *result);
