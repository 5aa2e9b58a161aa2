/*
 * Hides an API key in text that others wrote: a server that quotes the key it refuses, a model that
 * repeats it. Every byte of the key becomes a '*'. Text may come in pieces, and the key be spread
 * over them. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/json.h"

typedef struct {
    const char *key; /* NULL: nothing is hidden */
    size_t len;
    ik_buffer_t held; /* the end of what came, which may be the beginning of the key */
    bool found;       /* the key was in the text */
} ik_key_mask_t;

/* key is borrowed and may be NULL; one of fewer than eight bytes is not a secret ("none") but could
 * be any word, and is not hidden. */
void ik_key_mask_init(ik_key_mask_t *mask, const void *ctx, const char *key);
/* Appends to out what can be shown: everything except an end that may begin the key. */
void ik_key_mask_add(ik_key_mask_t *mask, const char *text, size_t len, ik_buffer_t *out);
/* The text is over: appends the end that was held back, hidden when it is most likely a part of the
 * key. */
void ik_key_mask_finish(ik_key_mask_t *mask, ik_buffer_t *out);

/* JSON that its provider wants back as it was: a word that stands for the key is put in its place,
 * and the key back in the place of the word. False when the key is not written plainly in JSON, so
 * that it cannot be found. */
bool ik_key_mask_json(ik_buffer_t *out, ik_json_span_t json, const char *key);
/* *json is the same, or stands in out. */
void ik_key_unmask_json(ik_buffer_t *out, ik_json_span_t *json, const char *key);

/* Hides it in a line that may have been cut at its end, perhaps inside the key. */
void ik_key_mask_line(char *line, const char *key);
