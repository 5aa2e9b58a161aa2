/*
 * Cuts text into words, for the full-text index, for queries and for snippets, in both stores.
 *
 * A word is a run of letters and digits of any script. Its normal form is case-folded and without
 * accents ("Größe" becomes "grosse"); marks that make another letter, such as vowel signs and the
 * voicing of kana, stay. Everything else separates words: ik_store_open is three. In scripts that
 * are written without spaces (Han, kana, Thai …) each character is a word.
 *
 * The index on disk depends on this rule. A change to it must raise IK_TEXT_WORDS_VERSION, which
 * makes the stores rebuild their indexes.
 */
#pragma once

#include "base/buffer.h"

enum { IK_TEXT_WORDS_VERSION = 1, IK_TEXT_WORD_MAX = 64 };

/* One word of a text. Valid inside the callback only. */
typedef struct {
    const char *word; /* normal form, at most IK_TEXT_WORD_MAX bytes, cut between characters */
    size_t len;
    size_t offset; /* of the original in the text */
    size_t source_len;
} ik_text_word_t;

/* Returns false to stop. */
typedef bool (*ik_text_word_fn)(void *data, const ik_text_word_t *word);

/* Calls on_word for each word in order. Bytes that are not UTF-8 separate words. */
void ik_text_words(const char *text, size_t len, ik_text_word_fn on_word, void *data);
/* Appends the normal forms, separated by spaces, also from what out holds already. */
void ik_text_words_append(ik_buffer_t *out, const char *text, size_t len);
