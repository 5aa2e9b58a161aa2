/*
 * What people, models and tools said, as a model gets it: without escape sequences and control
 * characters (ik_sanitise_append_for_reader); U+FFFD where nothing would be left. Words and results
 * pass here; arguments, ids and reasoning go back as they came. What has nothing to clean costs a
 * look.
 */
#pragma once

#include "base/json.h"

/* Appends the inside of a JSON string. */
void ik_words_append(ik_buffer_t *out, const char *text);

/* A quick look at JSON, or at a string literal that holds JSON or words: false when there is
 * nothing to clean, true when there may be something. */
bool ik_words_may_be_unclean(const char *json, size_t len);

/* Appends scanned JSON, all strings in it cleaned. */
void ik_words_append_json(ik_buffer_t *out, ik_json_span_t value);
/* A string literal that holds JSON or words: decoded and clean, or as a literal again. */
char *ik_words_decode(const void *ctx, ik_json_span_t literal, size_t *len);
void ik_words_append_literal(ik_buffer_t *out, ik_json_span_t literal);
