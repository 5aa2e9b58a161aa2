/*
 * Cleans text before it is sent to a model: escape sequences and control characters are removed
 * (ik_sanitise_append_for_reader), and text that would become blank is replaced by U+FFFD. Messages
 * and tool results are cleaned; arguments, ids and reasoning go back as they came. A quick scan
 * tells whether there is anything to clean.
 */
#pragma once

#include "base/json.h"

/* Appends the cleaned text as the inside of a JSON string. */
void ik_words_append(ik_buffer_t *out, const char *text);

/* A quick scan of JSON, or of a string literal that holds JSON or text: false when there is nothing
 * to clean, true when there may be something. */
bool ik_words_may_be_unclean(const char *json, size_t len);

/* Appends scanned JSON with all its strings cleaned. */
void ik_words_append_json(ik_buffer_t *out, ik_json_span_t value);
/* Decodes and cleans a string literal that holds JSON or text; returned on ctx, or appended as a
 * literal again. */
char *ik_words_decode(const void *ctx, ik_json_span_t literal, size_t *len);
void ik_words_append_literal(ik_buffer_t *out, ik_json_span_t literal);
