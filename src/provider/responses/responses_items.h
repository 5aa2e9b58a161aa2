/*
 * The output items of a Responses stream: messages, calls and reasoning, each opened, filled by
 * deltas and closed with its final form. The final forms go back to the server as they are.
 */
#pragma once

#include "provider/stream.h"

enum { IK_RESPONSES_ITEMS_MAX = 4096 }; /* of one answer */

typedef struct ik_responses_items ik_responses_items_t;

/* Where a delta belongs; missing members have length 0. */
typedef struct {
    ik_json_span_t output_index;
    ik_json_span_t item_id;
    ik_json_span_t part; /* content_index or summary_index */
} ik_responses_place_t;

ik_responses_items_t *ik_responses_items_create(ik_stream_t *stream);

void ik_responses_items_open(ik_responses_items_t *items, const ik_responses_place_t *place,
                             ik_json_span_t item);
/* The final form; what no delta brought is taken from it. */
void ik_responses_items_close(ik_responses_items_t *items, const ik_responses_place_t *place,
                              ik_json_span_t item);

/* A piece of text (whole false), or the whole text of a part, which counts when no piece came. */
void ik_responses_items_text(ik_responses_items_t *items, const ik_responses_place_t *place,
                             ik_json_span_t literal, bool whole);
void ik_responses_items_reasoning(ik_responses_items_t *items, const ik_responses_place_t *place,
                                  ik_json_span_t literal, bool whole);
/* A piece of arguments, or all of them, which replace the pieces. */
void ik_responses_items_arguments(ik_responses_items_t *items, const ik_responses_place_t *place,
                                  ik_json_span_t literal, bool whole);

/* Whether any item has come in its final form. */
bool ik_responses_items_has_closed(const ik_responses_items_t *items);
/* Whether a refusal is among the messages. */
bool ik_responses_items_has_incomplete(const ik_responses_items_t *items);
bool ik_responses_items_has_refusal(const ik_responses_items_t *items);
/* One came. */
void ik_responses_items_add_refusal(ik_responses_items_t *items);

/* Appends the array of final items; nothing when the server could not take them back. */
void ik_responses_items_format(const ik_responses_items_t *items, ik_buffer_t *out);
