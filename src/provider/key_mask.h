/*
 * Hides an API key in text from outside: a server may quote the key it refuses, a model may repeat
 * it. Every byte of the key becomes a '*'. The text may come in pieces, and the key may be spread
 * over several of them. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/json.h"

typedef struct {
    const char *key; /* NULL: nothing is hidden */
    size_t len;
    ik_buffer_t held; /* the end of the text so far, where it may begin the key */
    bool found;       /* the key was in the text */
} ik_key_mask_t;

/* key is borrowed and may be NULL. A key of fewer than eight bytes ("none") is not hidden: it is no
 * secret and could be part of any word. */
void ik_key_mask_init(ik_key_mask_t *mask, const void *ctx, const char *key);
/* Appends to out the text that can be shown: everything except an end that may begin the key. */
void ik_key_mask_add(ik_key_mask_t *mask, const char *text, size_t len, ik_buffer_t *out);
/* Ends the text: appends the end that was held back, hidden when it is long enough to be part of
 * the key. */
void ik_key_mask_finish(ik_key_mask_t *mask, ik_buffer_t *out);

/* For JSON that its provider gets back unchanged: appends it to out with a stand-in for the key.
 * Returns false when JSON could write the key with escapes, so that it may not have been found. */
bool ik_key_mask_json(ik_buffer_t *out, ik_json_span_t json, const char *key);
/* Puts the key back: *json points into out afterwards, unless it held no stand-in. */
void ik_key_unmask_json(ik_buffer_t *out, ik_json_span_t *json, const char *key);

/* Hides the key in a line whose end may have been cut, perhaps inside the key. */
void ik_key_mask_line(char *line, const char *key);
/* As ik_key_mask_line, however short the key is: for a line about the key itself. */
void ik_key_mask_line_always(char *line, const char *key);
