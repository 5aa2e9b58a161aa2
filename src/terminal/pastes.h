/*
 * The long pastes of one draft. Each is one character in the draft, its mark: a code point from
 * U+10FF00 on, which sanitised text never contains (base/sanitiser.h). The same mark may occur in
 * the draft several times, and in the undo list and the kill ring.
 */
#pragma once

#include "base/buffer.h"

typedef struct ik_pastes ik_pastes_t;

enum { IK_PASTES_MARK_LEN = 4, IK_PASTES_MAX = 250 };

ik_pastes_t *ik_pastes_create(const void *ctx);
/* Invalidates all marks. */
void ik_pastes_clear(ik_pastes_t *pastes);

/* Adds a sanitised text and writes its mark. number is shown in the label. Returns false if there
 * are IK_PASTES_MAX already. */
bool ik_pastes_add(ik_pastes_t *pastes, const char *text, size_t len, size_t number,
                   char mark[IK_PASTES_MARK_LEN]);

/* Whether text starts with a mark. */
bool ik_pastes_is_mark(const char *text, size_t len);
/* The offset of the first mark in text, or len. */
size_t ik_pastes_find_mark(const char *text, size_t len);
/* The offset after the last mark in text, or 0. */
size_t ik_pastes_after_last_mark(const char *text, size_t len);

const char *ik_pastes_label(const ik_pastes_t *pastes, const char *mark);
size_t ik_pastes_number(const ik_pastes_t *pastes, const char *mark);

/* The bytes of all pastes whose marks are in text. */
size_t ik_pastes_count_bytes(const ik_pastes_t *pastes, const char *text, size_t len);
/* Appends text with each mark replaced by its paste. */
void ik_pastes_append_expanded(const ik_pastes_t *pastes, ik_buffer_t *out, const char *text,
                               size_t len);

typedef struct {
    size_t lines;
    size_t characters;
} ik_pastes_size_t;
ik_pastes_size_t ik_pastes_measure(const char *text, size_t len);
