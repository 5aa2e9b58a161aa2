/*
 * What a word is. Text of messages and of searches is cut into words by the same rule, in both
 * stores: letters and digits of any script, case folded and accents removed ("Größe" is "grosse";
 * vowel signs and the voicing of kana make another letter and stay); everything else separates, so
 * ik_store_open is three words. Han, kana and other writing without spaces is one word per
 * character. A stored index depends on this rule: whoever changes it raises
 * IK_SEARCH_WORDS_VERSION, and indexes are built anew.
 */
#pragma once

#include "base/buffer.h"
#include "store/store.h"

enum { IK_SEARCH_WORDS_VERSION = 1, IK_SEARCH_WORD_MAX = 64, IK_SEARCH_TEXT_MAX = 128 * 1024 };

/* One word of a text: its normal form (at most IK_SEARCH_WORD_MAX bytes, cut between characters)
 * and where it stood. Valid inside the callback only. */
typedef struct {
    const char *word;
    size_t len;
    size_t offset;
    size_t source_len;
} ik_search_word_t;

typedef bool (*ik_search_word_fn)(void *data, const ik_search_word_t *word); /* false: enough */

/* Bytes that are not UTF-8 separate. */
void ik_search_words(const char *text, size_t len, ik_search_word_fn on_word, void *data);
/* Appends the words with a space between them. */
void ik_search_words_append(ik_buffer_t *out, const char *text, size_t len);

/* Appends what of an event is searched, as people read it: the text of user and assistant, a call's
 * name and arguments, a result's output without its JSON around it. Nothing for the system prompt
 * and compactions. At most IK_SEARCH_TEXT_MAX bytes, cut between characters. */
void ik_search_text_append(ik_buffer_t *out, const ik_store_event_t *event);
