/*
 * The serialised form of one conversation for one target. It is kept from request to request, so
 * that each request serialises only the messages added since the last one. When something already
 * serialised changes (compaction, dropped reasoning, refused fields or tools), ik_wire_format
 * starts over by itself; another target or another set of tools needs another ik_wire_t.
 *
 * The body is a list of parts that point into the wire, so that sending copies nothing.
 */
#pragma once

#include "io/http.h"
#include "provider/request.h"

enum { IK_WIRE_PARTS_MAX = 8 };

typedef struct {
    ik_http_part_t parts[IK_WIRE_PARTS_MAX];
    size_t count;
    size_t total;
    size_t text; /* as total, but an image counts as the text of as many tokens */
} ik_wire_body_t;

typedef struct ik_wire_image ik_wire_image_t; /* wire_image.h */

struct ik_wire {
    ik_buffer_t tools;    /* written by format_tools */
    ik_buffer_t head;     /* written by format_head for the last request */
    ik_buffer_t messages; /* elements with commas between them */
    ik_buffer_t unmasked; /* a step's private data with the API key put back into it */

    /* What tools and messages depend on: a change of any of these starts over. */
    const ik_conversation_t *conversation;
    size_t trimmed_results;
    size_t drop_reasoning;
    size_t calls_as_text;
    size_t tool_count;
    uint64_t tool_key;
    unsigned refused;
    /* A hash of tools and system prompt, if the model binds its reasoning to them; else 0. A step
     * that was made with another prefix is sent without its private data. */
    int64_t prefix;
    uint64_t tools_hash;
    bool begun;

    size_t done;           /* how many messages of the conversation were serialised */
    bool dropped;          /* their text was freed, or a closing message was written behind it; the
                              next request serialises them again */
    size_t results;        /* tool results among them */
    size_t reasoning_from; /* steps before this message are sent without their private data */
    bool calls_renamed;    /* the calls of the last step that has some got other ids; kept by
                              format_group for their results */
    /* The last group of messages, which is written again when messages join it. */
    ik_msg_t **group;
    size_t *group_index; /* the position of each of its messages in the conversation */
    size_t group_count;
    size_t group_offset;  /* where its text begins in messages */
    size_t group_results; /* tool results before it */
    size_t group_images;  /* index of the first image that may be in it */

    /* The images of the conversation, in order (wire_image.h). */
    ik_wire_image_t *images;
    size_t image_count;
    size_t image_results; /* tool results among the messages that were looked at for images */
    size_t images_seen;   /* number of these messages */

    /* Cache marks: offsets in messages, each just before the closing brace of an object, where a
     * member is inserted that marks the end of a cacheable prefix. format_group sets mark.
     * SIZE_MAX: no mark. */
    size_t mark;
    size_t previous_mark;    /* the mark of the previous request */
    const char *mark_member; /* the member to insert, with its comma; NULL: insert nothing */
};

ik_wire_t *ik_wire_create(const void *ctx);

/* Serialises the request. The body is valid until the next call or until the conversation grows. */
void ik_wire_format(ik_wire_t *wire, const ik_request_t *request, ik_wire_body_t *body);

/* Frees the serialised messages if they are large: call it between turns. The next request rebuilds
 * the same bytes and the same mark from the conversation. */
void ik_wire_drop(ik_wire_t *wire);

/* --- for format_group ---------------------------------------------------------------------- */

/* Appends a comma where one is needed; returns the buffer to append the element to. */
ik_buffer_t *ik_wire_begin_element(ik_wire_t *wire);

/* A step: the messages of a group that came in one answer. A message that does not say which answer
 * it came in begins a step as well. */
typedef struct {
    ik_msg_t *const *messages;
    size_t count;
    ik_json_span_t
        private_json; /* the provider's own form of the step; len 0: none that is valid */
} ik_wire_step_t;

/* Walks the steps of a group from the model's side: start with position 0; false at the end. A step
 * is valid until the next call. */
bool ik_wire_next_step(ik_wire_t *wire, const ik_request_t *request, ik_msg_t *const *messages,
                       size_t count, size_t *position, ik_wire_step_t *step);
/* The next tool call of a step: start with position 0; NULL at the end. */
const ik_msg_t *ik_wire_next_call(const ik_wire_step_t *step, size_t *position);

/* Whether calls and results are sent as text (ik_request_t.calls_as_text) in this message, an
 * element of the array that format_group was given. */
bool ik_wire_has_calls_as_text(const ik_wire_t *wire, const ik_request_t *request,
                               ik_msg_t *const *message);
/* Whether the provider has refused the reasoning of this message. */
bool ik_wire_has_refused_reasoning(const ik_wire_t *wire, const ik_request_t *request,
                                   ik_msg_t *const *message);

/* Appends the id of a call or result as a JSON string literal: an id that this provider gave
 * unchanged, any other one replaced by nine letters and digits derived from it, which every server
 * accepts. nine: replaces the provider's own ids as well. */
void ik_wire_append_id(ik_buffer_t *out, const ik_request_t *request, const ik_msg_t *message,
                       bool nine);
/* Whether this provider gave the id: not another provider, and not ik_stream_finish. */
bool ik_wire_is_own_id(const ik_request_t *request, const ik_msg_t *message);

/* Appends a call's arguments as a JSON object: {} when the model wrote none, or no object. */
void ik_wire_append_arguments(ik_buffer_t *out, const ik_msg_t *call);
/* Appends them as a string literal that holds the object. */
void ik_wire_append_arguments_text(ik_buffer_t *out, const ik_msg_t *call);

/* Appends a result's envelope as a string literal, with its text cleaned (words.h); a trimmed
 * result is replaced by a marker. Results are counted here: call this function or the next one
 * exactly once for each result of a group, in order. */
void ik_wire_append_output_text(ik_wire_t *wire, const ik_request_t *request, ik_buffer_t *out,
                                const ik_msg_t *result);
/* Appends the envelope as a JSON object. */
void ik_wire_append_output(ik_wire_t *wire, const ik_request_t *request, ik_buffer_t *out,
                           const ik_msg_t *result);
