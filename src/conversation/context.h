/*
 * The messages of a conversation that requests contain. Without a summary these are all of them.
 * After the last compaction with a summary (ik_msg_is_summary) they are, in this order: what the
 * user said in the messages that the summary covers, word for word; the list of the tool todo, if
 * items are open and the summary covers it; the summary; every later message as it is. They follow
 * from the log alone, so that every request begins with the same bytes, also after a resume.
 */
#pragma once

#include "conversation/conversation.h"

/* The user's own words that survive a summary, in bytes: the newest messages come first, those that
 * the summary does not cover included. */
enum { IK_CONTEXT_WORDS_MAX = 32 * 1024 };

typedef struct {
    const ik_conversation_t *conversation;
    /* What is sent: the conversation itself, or own and borrowed messages. */
    const ik_conversation_t *sent;
    size_t from;             /* index in conversation of the first message that is sent as it is */
    size_t at;               /* its index in sent; the summary is before it, if there is one */
    size_t skipped_results;  /* tool results before it */
    const ik_msg_t *summary; /* the compaction; NULL: none */

    size_t seen;            /* messages of the conversation that sent is made from */
    ik_conversation_t *own; /* sent, where it is not the conversation */
} ik_context_t;

/* The conversation must outlive the context, and only grow. */
ik_context_t *ik_context_create(const void *ctx, const ik_conversation_t *conversation);
/* Adds the messages that the conversation got since. True when a summary was among them: sent
 * begins with other messages now, and a wire made from it is no longer valid. */
bool ik_context_update(ik_context_t *context);
/* What the context would be with this summary, which is not in the conversation yet. */
ik_context_t *ik_context_preview(const void *ctx, const ik_conversation_t *conversation,
                                 const ik_msg_t *summary);
/* What is sent up to the message at index, which is not before context->from; later messages that
 * are not sent stay, because they say how the earlier ones are sent. On ctx. */
ik_conversation_t *ik_context_older(const void *ctx, const ik_context_t *context, size_t index);

/* The number of tool results in sent, from the first, that are sent as a marker. */
size_t ik_context_trimmed_results(const ik_context_t *context);
/* The bytes of all messages in sent. */
size_t ik_context_size(const ik_context_t *context);
/* The bytes of one message, where an image counts as the text of as many tokens; trimmed: a marker
 * is sent instead of the result. */
size_t ik_context_size_of(const ik_msg_t *message, bool trimmed);

/* Whether a message may be the first one after those that a summary covers: it is the user's or
 * begins a step, so that no call is sent without its result. */
bool ik_context_may_begin(const ik_conversation_t *conversation, size_t index);
