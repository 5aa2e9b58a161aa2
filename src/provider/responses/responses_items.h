/*
 * The output items of a Responses stream: messages, calls and reasoning. Each item is opened,
 * filled by deltas and closed with its final form; the final forms go back to the server unchanged.
 */
#pragma once

#include "provider/stream.h"

enum { IK_RESPONSES_ITEMS_MAX = 4096 }; /* of one answer */

typedef struct ik_responses_items ik_responses_items_t;

/* Names the item and part to which an event belongs; missing members have length 0. */
typedef struct {
    ik_json_span_t output_index;
    ik_json_span_t item_id;
    ik_json_span_t part; /* content_index or summary_index */
} ik_responses_place_t;

ik_responses_items_t *ik_responses_items_create(ik_stream_t *stream);

void ik_responses_items_open(ik_responses_items_t *items, const ik_responses_place_t *place,
                             ik_json_span_t item);
/* Closes the item with its final form, from which everything is taken that no delta brought. */
void ik_responses_items_close(ik_responses_items_t *items, const ik_responses_place_t *place,
                              ik_json_span_t item);

/* Adds a piece of text or, with whole, the whole text of a part, which is ignored when a piece of
 * that part came before. */
void ik_responses_items_text(ik_responses_items_t *items, const ik_responses_place_t *place,
                             ik_json_span_t literal, bool whole);
void ik_responses_items_reasoning(ik_responses_items_t *items, const ik_responses_place_t *place,
                                  ik_json_span_t literal, bool whole);
/* Adds a piece of arguments or, with whole, replaces all pieces by the whole arguments. */
void ik_responses_items_arguments(ik_responses_items_t *items, const ik_responses_place_t *place,
                                  ik_json_span_t literal, bool whole);

/* Whether any item was closed. */
bool ik_responses_items_has_closed(const ik_responses_items_t *items);
/* Whether the status of any item is "incomplete". */
bool ik_responses_items_has_incomplete(const ik_responses_items_t *items);
/* Whether a message contains a refusal, or ik_responses_items_add_refusal was called. */
bool ik_responses_items_has_refusal(const ik_responses_items_t *items);
void ik_responses_items_add_refusal(ik_responses_items_t *items);

/* Appends the array of final items; nothing when the server would refuse one of them. */
void ik_responses_items_format(const ik_responses_items_t *items, ik_buffer_t *out);
