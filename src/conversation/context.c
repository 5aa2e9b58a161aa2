#include "conversation/context.h"

#include <string.h>

#include "base/alloc.h"
#include "base/image.h"
#include "base/utf8.h"
#include "conversation/todo.h"

static const char after_words[] =
    "[Summary of the conversation so far, apart from the user's messages above]\n\n";
static const char after_cut_words[] = "[Summary of the conversation so far, apart from the user's "
                                      "latest messages above]\n\n";
static const char without_words[] = "[Summary of the conversation so far]\n\n";

enum { LEFT_PART = 8 }; /* of the limit: what long messages that are kept leave of it */

/* --- sizes ------------------------------------------------------------------------------- */

static size_t length(const char *text)
{
    return text == NULL ? 0 : strlen(text);
}

static size_t size_of_text(const ik_msg_t *message, bool trimmed)
{
    ik_json_span_t value;
    if (ik_msg_is(message, IK_MSG_TOOL_CALL)) {
        return ik_msg_call_field(message, "arguments", &value) ? value.len : 0;
    }
    if (ik_msg_is(message, IK_MSG_TOOL_RESULT)) {
        return trimmed                                   ? strlen(ik_conversation_trimmed_envelope)
               : ik_msg_field(message, "output", &value) ? value.len
                                                         : 0;
    }
    return ik_msg_side(message) == IK_MSG_NEITHER ? 0 : length(message->content);
}

/* An image counts as the text of as many tokens. */
static size_t size_of_images(const ik_msg_t *message)
{
    enum { BYTES_PER_TOKEN = 4 };
    ik_json_span_t list;
    ik_json_span_t image;
    size_t position = 0;
    size_t size = 0;
    if (ik_msg_side(message) == IK_MSG_USER_SIDE && ik_msg_field(message, "images", &list) &&
        ik_json_is(list, IK_JSON_ARRAY)) {
        while (ik_json_next_element(list, &position, &image)) {
            size += (size_t)IK_IMAGE_TOKENS * BYTES_PER_TOKEN;
        }
    }
    return size;
}

size_t ik_context_size_of(const ik_msg_t *message, bool trimmed)
{
    return size_of_text(message, trimmed) + (trimmed ? 0 : size_of_images(message));
}

size_t ik_context_trimmed_results(const ik_context_t *context)
{
    size_t trimmed = ik_conversation_trimmed_results(context->conversation);
    return trimmed > context->skipped_results ? trimmed - context->skipped_results : 0;
}

size_t ik_context_size(const ik_context_t *context)
{
    size_t trimmed = ik_context_trimmed_results(context);
    size_t results = 0;
    size_t size = 0;
    for (size_t i = 0; i < context->sent->count; i++) {
        const ik_msg_t *message = context->sent->messages[i];
        results += ik_msg_is(message, IK_MSG_TOOL_RESULT);
        bool is_trimmed = ik_msg_is(message, IK_MSG_TOOL_RESULT) && results <= trimmed;
        size += i < context->at ? size_of_text(message, false) /* without images */
                                : ik_context_size_of(message, is_trimmed);
    }
    return size;
}

/* --- what a summary covers --------------------------------------------------------------- */

bool ik_context_may_begin(const ik_conversation_t *conversation, size_t index)
{
    const ik_msg_t *message = conversation->messages[index];
    if (ik_msg_is(message, IK_MSG_USER) || ik_msg_begins_step(message)) {
        return true;
    }
    if (ik_msg_side(message) != IK_MSG_MODEL_SIDE) {
        return false;
    }
    while (index > 0 && ik_msg_side(conversation->messages[index - 1]) == IK_MSG_NEITHER) {
        index--;
    }
    return index == 0 || ik_msg_side(conversation->messages[index - 1]) == IK_MSG_USER_SIDE;
}

/* The index after the messages that the summary covers. In a damaged log it may be inside a step,
 * which is then kept as a whole. */
static size_t find_from(const ik_conversation_t *conversation, const ik_msg_t *summary,
                        size_t limit)
{
    int64_t covers = ik_msg_field_number(summary, "covers", INT64_MAX);
    size_t from = 0;
    for (; from < limit; from++) {
        if (ik_msg_side(conversation->messages[from]) == IK_MSG_NEITHER) {
            continue;
        }
        if (covers-- <= 0) {
            break;
        }
    }
    while (from < limit && from > 0 && !ik_context_may_begin(conversation, from)) {
        from--;
    }
    return from;
}

/* --- the user's words -------------------------------------------------------------------- */

/* What a command of the user's own printed is not something the user said. */
static bool is_said(const ik_msg_t *message)
{
    return ik_msg_is(message, IK_MSG_USER) && !ik_msg_is_shell_note(message);
}

/* The beginning of a message that does not fit as a whole. */
static void add_cut(ik_conversation_t *own, const ik_msg_t *message, size_t room)
{
    size_t len = strlen(message->content);
    size_t kept = ik_utf8_cut(message->content, len, room);
    if (kept > 0) {
        char *text = ik_sprintf(NULL, "%.*s\n[cut: %zu more bytes]", (int)kept, message->content,
                                len - kept);
        ik_conversation_append(own, ik_msg_create(NULL, IK_MSG_USER, text, NULL));
        talloc_free(text);
    }
}

/* Adds what the user said before index, in order: the latest messages up to the limit. Returns
 * whether all of it fits. */
static bool add_words(ik_conversation_t *own, const ik_conversation_t *conversation, size_t index,
                      size_t limit)
{
    size_t first = index;
    size_t used = 0;
    bool fits = true;
    while (first > 0 && fits) {
        const ik_msg_t *message = conversation->messages[first - 1];
        size_t len = is_said(message) ? length(message->content) : 0;
        fits = len <= limit - used;
        if (fits) {
            used += len;
            first--;
        } else {
            add_cut(own, message, limit - used);
        }
    }
    for (size_t i = first; i < index; i++) {
        if (is_said(conversation->messages[i])) {
            ik_conversation_share(own, conversation->messages[i]);
        }
    }
    return fits;
}

/* --- contexts ---------------------------------------------------------------------------- */

/* Makes own from the words, the todo list, the summary and the messages of the conversation from
 * `from` on. Texts that are to survive word for word besides the user's are added here, before the
 * summary. */
static void rebuild(ik_context_t *context, const ik_msg_t *summary, size_t limit)
{
    const ik_conversation_t *conversation = context->conversation;
    int64_t words = ik_msg_field_number(summary, "words_limit", IK_CONTEXT_WORDS_MAX);
    talloc_free(context->own);
    context->own = ik_conversation_create(context);
    context->summary = summary;
    context->from = find_from(conversation, summary, limit);
    context->skipped_results = 0;
    for (size_t i = 0; i < context->from; i++) {
        context->skipped_results += ik_msg_is(conversation->messages[i], IK_MSG_TOOL_RESULT);
    }
    size_t most = words < 0                      ? 0
                  : words > IK_CONTEXT_WORDS_MAX ? IK_CONTEXT_WORDS_MAX
                                                 : (size_t)words;
    size_t room = most;
    for (size_t i = context->from; i < limit; i++) { /* these are sent in any case */
        const ik_msg_t *message = conversation->messages[i];
        size_t len = is_said(message) ? length(message->content) : 0;
        room -= len < room ? len : room;
    }
    room = room > most / LEFT_PART ? room : most / LEFT_PART;
    bool fits = add_words(context->own, conversation, context->from, room);
    const char *heading = context->own->count == 0 ? without_words
                          : fits                   ? after_words
                                                   : after_cut_words;
    size_t todo = ik_todo_find(conversation, 0, limit);
    char *todos = todo == 0 || todo > context->from
                      ? NULL /* none, or it is sent in any case */
                      : ik_todo_format(NULL, conversation->messages[todo - 1]);
    if (todos != NULL) {
        ik_conversation_append(context->own, ik_msg_create(NULL, IK_MSG_USER, todos, NULL));
        talloc_free(todos);
    }
    char *said = ik_msg_field_text(NULL, summary, "summary");
    char *text = ik_sprintf(NULL, "%s%s", heading, said);
    ik_conversation_append(context->own, ik_msg_create(NULL, IK_MSG_USER, text, NULL));
    talloc_free(text);
    talloc_free(said);
    context->at = context->own->count;
    for (size_t i = context->from; i < conversation->count; i++) {
        ik_conversation_share(context->own, conversation->messages[i]);
    }
    context->seen = conversation->count;
    context->sent = context->own;
}

bool ik_context_update(ik_context_t *context)
{
    const ik_conversation_t *conversation = context->conversation;
    for (size_t i = conversation->count; i > context->seen; i--) {
        if (ik_msg_is_summary(conversation->messages[i - 1])) {
            rebuild(context, conversation->messages[i - 1], i - 1);
            return true;
        }
    }
    for (size_t i = context->seen; context->own != NULL && i < conversation->count; i++) {
        ik_conversation_share(context->own, conversation->messages[i]);
    }
    context->seen = conversation->count;
    return false;
}

ik_context_t *ik_context_create(const void *ctx, const ik_conversation_t *conversation)
{
    ik_context_t *context = ik_new(ctx, ik_context_t);
    context->conversation = context->sent = conversation;
    ik_context_update(context);
    return context;
}

ik_context_t *ik_context_preview(const void *ctx, const ik_conversation_t *conversation,
                                 const ik_msg_t *summary)
{
    ik_context_t *context = ik_new(ctx, ik_context_t);
    context->conversation = conversation;
    rebuild(context, summary, conversation->count);
    return context;
}

ik_conversation_t *ik_context_older(const void *ctx, const ik_context_t *context, size_t index)
{
    ik_conversation_t *older = ik_conversation_create(ctx);
    const ik_conversation_t *sent = context->sent;
    size_t begin = context->at + index - context->from;
    for (size_t i = 0; i < sent->count; i++) {
        if (i < begin || ik_msg_side(sent->messages[i]) == IK_MSG_NEITHER) {
            ik_conversation_share(older, sent->messages[i]);
        }
    }
    return older;
}
