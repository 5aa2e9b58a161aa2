/*
 * Long pastes of one draft. In the draft each is one character, its mark: a code point from
 * U+10FF00 on, which no sanitised text contains (base/sanitiser.h), so a mark always means one of
 * these. It may stand in the draft several times, and in what undo and the kill ring remember.
 */
#pragma once

#include "base/buffer.h"

typedef struct ik_pastes ik_pastes_t;

enum { IK_PASTES_MARK_LEN = 4, IK_PASTES_MAX = 250 };

ik_pastes_t *ik_pastes_create(const void *ctx);
/* Marks that are still anywhere mean nothing from now on. */
void ik_pastes_clear(ik_pastes_t *pastes);

/* Keeps a clean text under a number that its label shows, and writes its mark. False: there are too
 * many already. */
bool ik_pastes_add(ik_pastes_t *pastes, const char *text, size_t len, size_t number,
                   char mark[IK_PASTES_MARK_LEN]);

/* Whether a mark stands at text. */
bool ik_pastes_is_mark(const char *text, size_t len);
/* The first mark in text, or len. */
size_t ik_pastes_find_mark(const char *text, size_t len);
/* Behind the last mark in text, or 0. */
size_t ik_pastes_behind_last_mark(const char *text, size_t len);

/* Of a mark: what is shown for it, and the number in it. */
const char *ik_pastes_label(const ik_pastes_t *pastes, const char *mark);
size_t ik_pastes_number(const ik_pastes_t *pastes, const char *mark);

/* Bytes that the marks in text stand for. */
size_t ik_pastes_weigh(const ik_pastes_t *pastes, const char *text, size_t len);
/* text with each mark replaced by what was pasted. */
void ik_pastes_append_expanded(const ik_pastes_t *pastes, ik_buffer_t *out, const char *text,
                               size_t len);

/* How much text it is, for people and for the limits. */
typedef struct {
    size_t lines;
    size_t characters;
} ik_pastes_size_t;
ik_pastes_size_t ik_pastes_measure(const char *text, size_t len);
