/* What must hold of every conversation that went through ik_conversation_take_repaired, whatever it
 * was made of: shared by the promise and the fuzzer. */
#pragma once

#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "conversation/conversation.h"

static inline bool repaired_same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static inline ik_conversation_t *repaired_copy(const void *ctx, const ik_conversation_t *of)
{
    ik_conversation_t *copy = ik_conversation_create(ctx);
    for (size_t i = 0; i < of->count; i++) {
        ik_conversation_append(copy, ik_msg_copy(copy, of->messages[i]));
    }
    return copy;
}

static inline bool repaired_is_equal(const ik_conversation_t *a, const ik_conversation_t *b)
{
    bool equal = a->count == b->count;
    for (size_t i = 0; equal && i < a->count; i++) {
        equal = repaired_same_text(a->messages[i]->kind, b->messages[i]->kind) &&
                repaired_same_text(a->messages[i]->content, b->messages[i]->content) &&
                repaired_same_text(a->messages[i]->data_json, b->messages[i]->data_json);
    }
    return equal;
}

static inline bool repaired_is_answer(const ik_msg_t *message)
{
    return ik_msg_is(message, IK_MSG_ASSISTANT) || ik_msg_is(message, IK_MSG_TOOL_CALL);
}

static inline bool repaired_is_known(const ik_msg_t *message)
{
    return repaired_is_answer(message) || ik_msg_is(message, IK_MSG_USER) ||
           ik_msg_is(message, IK_MSG_TOOL_RESULT) || ik_msg_is(message, IK_MSG_SYSTEM) ||
           ik_msg_is(message, IK_MSG_COMPACTION);
}

/* What is wrong with a message by itself, or NULL. */
static inline const char *repaired_message_fault(const ik_msg_t *message)
{
    ik_json_span_t value;
    if (!repaired_is_known(message)) {
        return "a kind is unknown";
    }
    if (message->data_json != NULL &&
        (!ik_json_scan(message->data_json, strlen(message->data_json), &value, NULL) ||
         ik_json_kind(value) != IK_JSON_OBJECT)) {
        return "data is no object";
    }
    return NULL;
}

static inline const char *repaired_name_fault(const ik_msg_t *call)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789-";
    ik_json_span_t name;
    if (!ik_msg_call_field(call, "name", &name) || name.len < 3 || name.len > 66 ||
        strchr(letters, name.text[1]) == NULL || strspn(name.text + 1, all) != name.len - 2) {
        return "a name can be no tool's";
    }
    return NULL;
}

/* A member that is text and has no NUL in it; else NULL. */
static inline const char *repaired_text(const void *ctx, const ik_msg_t *message, const char *name)
{
    ik_json_span_t value;
    size_t len;
    if (!ik_msg_field(message, name, &value) || ik_json_kind(value) != IK_JSON_STRING) {
        return NULL;
    }
    char *text = ik_json_decode(ctx, value, &len);
    return strlen(text) == len ? text : NULL;
}

/* What a result says of its call must be what the call says. */
static inline bool repaired_is_result_of(const void *ctx, const ik_msg_t *result,
                                         const ik_msg_t *call)
{
    ik_json_span_t name;
    ik_json_span_t repeated;
    return ik_msg_is(result, IK_MSG_TOOL_RESULT) &&
           repaired_same_text(repaired_text(ctx, call, "id"),
                              repaired_text(ctx, result, "tool_call_id")) &&
           repaired_same_text(repaired_text(ctx, call, "provider"),
                              repaired_text(ctx, result, "provider")) &&
           ik_msg_call_field(call, "name", &name) && ik_msg_field(result, "name", &repeated) &&
           name.len == repeated.len && memcmp(name.text, repeated.text, name.len) == 0;
}

/* A step begins with the message that names its model. */
static inline bool repaired_begins_step(const ik_msg_t *message)
{
    ik_json_span_t model;
    return ik_msg_field(message, "model", &model) && ik_json_kind(model) == IK_JSON_STRING;
}

/* The calls from *at on, those of one step, and right behind the step their results. */
static inline const char *repaired_step_fault(const void *ctx, const ik_conversation_t *repaired,
                                              size_t *at)
{
    size_t first = *at;
    size_t end = first;
    while (end < repaired->count && repaired_is_answer(repaired->messages[end]) &&
           (end == first || !repaired_begins_step(repaired->messages[end]))) {
        end++;
    }
    size_t result = end;
    for (size_t i = first; i < end; i++) {
        if (!ik_msg_is(repaired->messages[i], IK_MSG_TOOL_CALL)) {
            continue;
        }
        if (result == repaired->count ||
            !repaired_is_result_of(ctx, repaired->messages[result], repaired->messages[i])) {
            return "a call has no result right behind its step";
        }
        result++;
    }
    *at = result;
    return NULL;
}

static inline const char *repaired_ids_fault(const void *ctx, const ik_conversation_t *repaired)
{
    for (size_t i = 0; i < repaired->count; i++) {
        if (!ik_msg_is(repaired->messages[i], IK_MSG_TOOL_CALL)) {
            continue;
        }
        const char *id = repaired_text(ctx, repaired->messages[i], "id");
        if (id == NULL || *id == '\0') {
            return "a call has no id";
        }
        for (size_t j = 0; j < i; j++) {
            if (ik_msg_is(repaired->messages[j], IK_MSG_TOOL_CALL) &&
                repaired_same_text(id, repaired_text(ctx, repaired->messages[j], "id"))) {
                return "two calls have one id";
            }
        }
    }
    return NULL;
}

static inline const char *repaired_order_fault(const void *ctx, const ik_conversation_t *repaired)
{
    bool begun = false;
    for (size_t i = 0; i < repaired->count;) {
        const ik_msg_t *message = repaired->messages[i];
        bool user = ik_msg_is(message, IK_MSG_USER);
        if (ik_msg_is(message, IK_MSG_TOOL_RESULT)) {
            return "a result has no call";
        }
        if (!begun && !user && repaired_is_answer(message)) {
            return "the first message is not the user's";
        }
        begun = begun || user;
        if (repaired_is_answer(message)) {
            const char *fault = repaired_step_fault(ctx, repaired, &i);
            if (fault != NULL) {
                return fault;
            }
        } else {
            i++;
        }
    }
    return NULL;
}

static inline bool repaired_is_stable(const void *ctx, const ik_conversation_t *repaired)
{
    ik_conversation_t *copy = repaired_copy(ctx, repaired);
    return repaired_is_equal(ik_conversation_take_repaired(ctx, copy), repaired);
}

static inline const char *repaired_fault(const ik_conversation_t *repaired)
{
    void *scratch = talloc_new(NULL);
    const char *fault = NULL;
    for (size_t i = 0; fault == NULL && i < repaired->count; i++) {
        fault = repaired_message_fault(repaired->messages[i]);
        if (fault == NULL && ik_msg_is(repaired->messages[i], IK_MSG_TOOL_CALL)) {
            fault = repaired_name_fault(repaired->messages[i]);
        }
    }
    fault = fault == NULL ? repaired_ids_fault(scratch, repaired) : fault;
    fault = fault == NULL ? repaired_order_fault(scratch, repaired) : fault;
    if (fault == NULL && !repaired_is_stable(scratch, repaired)) {
        fault = "repairing it again changes it";
    }
    talloc_free(scratch);
    return fault;
}
