/*
 * Repair works in three passes over copies of the messages. First each message by itself: what
 * cannot be used goes. Then results find their calls by id (the k-th result of an id belongs to
 * its k-th call, wherever it stands). Last, everything is written down in order, results right
 * behind the step that called.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "conversation/conversation.h"

static const char missing_begin[] = "(The beginning of this conversation is missing.)";
static const char interrupted[] =
    "{\"tool_success\":false,\"error\":\"The call was interrupted before it had a result.\","
    "\"error_code\":\"INTERRUPTED\",\"exit_code\":null,\"stdout\":\"\",\"stderr\":\"\"}";

/* A message under repair. */
typedef struct {
    const ik_msg_t *message; /* NULL: dropped */
    char *id;                /* of a call or result */
    size_t partner;          /* of a call: its result; SIZE_MAX: none */
    bool is_call;
    bool is_result;
    bool rebuilt; /* the id or name in data_json cannot be used: made anew, without private data */
} entry_t;

typedef struct {
    void *scratch;
    entry_t *entries;
    size_t count;
    ik_conversation_t *out;
    size_t *open_calls; /* of the step being written: entries whose results are due */
    size_t open_count;
    size_t step_left; /* messages the step still has, by its own count */
    size_t renames;
} repair_t;

/* --- each message by itself -------------------------------------------------------------- */

static bool is_object(const char *json)
{
    ik_json_span_t value;
    return ik_json_scan(json, strlen(json), &value, NULL) && ik_json_kind(value) == IK_JSON_OBJECT;
}

static bool is_blank(const char *text)
{
    return text == NULL || text[strspn(text, " \t\r\n\f\v")] == '\0';
}

static bool has_field(const ik_msg_t *message, const char *name)
{
    ik_json_span_t value;
    return ik_msg_field(message, name, &value);
}

static bool is_usable_call(const ik_msg_t *message)
{
    ik_json_span_t literal;
    return ik_msg_call_field(message, "name", &literal) && literal.len > 2 &&
           ik_msg_call_field(message, "arguments", &literal);
}

static bool is_usable_result(const ik_msg_t *message)
{
    ik_json_span_t output;
    return ik_msg_field(message, "output", &output) && ik_json_kind(output) == IK_JSON_STRING;
}

/* An answer without text stays only for what its provider wants back. */
static bool is_usable_answer(const ik_msg_t *message)
{
    return !is_blank(message->content) || has_field(message, "step");
}

static bool is_usable(const ik_msg_t *message)
{
    if (ik_msg_is(message, IK_MSG_TOOL_CALL)) {
        return is_usable_call(message);
    }
    if (ik_msg_is(message, IK_MSG_TOOL_RESULT)) {
        return is_usable_result(message);
    }
    if (ik_msg_is(message, IK_MSG_ASSISTANT)) {
        return is_usable_answer(message);
    }
    if (ik_msg_is(message, IK_MSG_COMPACTION)) {
        return ik_msg_field_number(message, "trimmed_results", -1) >= 0;
    }
    return (ik_msg_is(message, IK_MSG_USER) || ik_msg_is(message, IK_MSG_SYSTEM)) &&
           !is_blank(message->content);
}

static bool has_usable_name(const ik_msg_t *call)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    static const char others[] = "0123456789-";
    ik_json_span_t name;
    ik_msg_call_field(call, "name", &name);
    bool usable = name.len <= 66 && strchr(letters, name.text[1]) != NULL;
    for (size_t i = 1; usable && i < name.len - 1; i++) {
        usable = strchr(letters, name.text[i]) != NULL || strchr(others, name.text[i]) != NULL;
    }
    return usable;
}

static void take_in(repair_t *repair, entry_t *entry, const ik_msg_t *message)
{
    entry->partner = SIZE_MAX;
    if (message->data_json != NULL && !is_object(message->data_json)) {
        message = ik_msg_create(repair->scratch, message->kind, message->content, NULL);
    }
    if (!is_usable(message)) {
        return;
    }
    entry->message = message;
    entry->is_call = ik_msg_is(message, IK_MSG_TOOL_CALL);
    entry->is_result = ik_msg_is(message, IK_MSG_TOOL_RESULT);
    if (entry->is_call || entry->is_result) {
        const char *name = entry->is_call ? "id" : "tool_call_id";
        entry->id = ik_msg_field_text(repair->scratch, message, name);
        entry->id = entry->id == NULL ? ik_strdup(repair->scratch, "") : entry->id;
        entry->rebuilt = entry->is_call && !has_usable_name(message);
    }
}

static bool is_refused(const ik_msg_t *message)
{
    ik_json_span_t value;
    return ik_msg_field(message, "refused", &value) && ik_json_kind(value) == IK_JSON_BOOLEAN &&
           value.text[0] == 't';
}

/* The turn that ends in the entry, back to the words of the user that began it. */
static void drop_turn(repair_t *repair, size_t end)
{
    for (size_t i = end + 1; i > 0; i--) {
        entry_t *entry = &repair->entries[i - 1];
        if (entry->message == NULL) {
            continue;
        }
        bool begins = ik_msg_is(entry->message, IK_MSG_USER);
        if (!ik_msg_is(entry->message, IK_MSG_SYSTEM) &&
            !ik_msg_is(entry->message, IK_MSG_COMPACTION)) {
            *entry = (entry_t){.partner = SIZE_MAX};
        }
        if (begins) {
            return;
        }
    }
}

static void drop_refused_turns(repair_t *repair)
{
    for (size_t i = 0; i < repair->count; i++) {
        if (repair->entries[i].message != NULL && is_refused(repair->entries[i].message)) {
            drop_turn(repair, i);
        }
    }
}

static int compare_data(const void *a, const void *b)
{
    const entry_t *left = *(entry_t *const *)a;
    const entry_t *right = *(entry_t *const *)b;
    int order = strcmp(left->message->data_json, right->message->data_json);
    return order != 0 ? order : (left > right) - (left < right);
}

/* A provider does not take the same reasoning twice. */
static void strip(repair_t *repair, entry_t *entry)
{
    if (entry->is_call) {
        entry->rebuilt = true;
    } else if (is_blank(entry->message->content)) {
        *entry = (entry_t){.partner = SIZE_MAX};
    } else {
        entry->message =
            ik_msg_create(repair->scratch, entry->message->kind, entry->message->content, NULL);
    }
}

static void strip_doubled_private_data(repair_t *repair)
{
    entry_t **steps = ik_new_array(repair->scratch, entry_t *, repair->count + 1);
    size_t count = 0;
    for (size_t i = 0; i < repair->count; i++) {
        if (repair->entries[i].message != NULL && has_field(repair->entries[i].message, "step")) {
            steps[count++] = &repair->entries[i];
        }
    }
    qsort(steps, count, sizeof(*steps), compare_data);
    for (size_t i = count; i > 1; i--) {
        if (strcmp(steps[i - 1]->message->data_json, steps[i - 2]->message->data_json) == 0) {
            strip(repair, steps[i - 1]);
        }
    }
}

/* --- results to calls -------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    const entry_t *left = *(entry_t *const *)a;
    const entry_t *right = *(entry_t *const *)b;
    int order = strcmp(left->id, right->id);
    return order != 0 ? order : (left > right) - (left < right);
}

static entry_t **sort_by_id(repair_t *repair, size_t *count)
{
    entry_t **sorted = ik_new_array(repair->scratch, entry_t *, repair->count + 1);
    *count = 0;
    for (size_t i = 0; i < repair->count; i++) {
        if (repair->entries[i].id != NULL) {
            sorted[(*count)++] = &repair->entries[i];
        }
    }
    qsort(sorted, *count, sizeof(*sorted), compare_ids);
    return sorted;
}

/* An id that nothing else has: the old one would be ambiguous, or is empty. */
static void rename_call(repair_t *repair, entry_t *call)
{
    size_t number = (size_t)(call - repair->entries);
    call->id = ik_sprintf(repair->scratch, "ik_r%zu_%zu", number, ++repair->renames);
    call->rebuilt = true;
}

/* All calls and results of one id, in the order of the conversation. */
static void pair_up(repair_t *repair, entry_t **same, size_t count)
{
    size_t next_result = 0;
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        if (!same[i]->is_call) {
            continue;
        }
        while (next_result < count && !same[next_result]->is_result) {
            next_result++;
        }
        if (next_result < count) {
            same[i]->partner = (size_t)(same[next_result++] - repair->entries);
        }
        if (!first || same[i]->id[0] == '\0') {
            rename_call(repair, same[i]);
        }
        first = false;
    }
}

static void pair_results(repair_t *repair)
{
    size_t count;
    entry_t **sorted = sort_by_id(repair, &count);
    for (size_t begin = 0; begin < count;) {
        size_t end = begin + 1;
        const char *id = sorted[begin]->id;
        while (end < count && strcmp(sorted[end]->id, id) == 0) {
            end++;
        }
        pair_up(repair, sorted + begin, end - begin);
        begin = end;
    }
}

/* --- writing ----------------------------------------------------------------------------- */

static void append(repair_t *repair, const ik_msg_t *message)
{
    ik_conversation_append(repair->out, ik_msg_create(repair->out, message->kind, message->content,
                                                      message->data_json));
}

/* The call by itself, without what its provider knew of it. */
static void append_rebuilt_call(repair_t *repair, const entry_t *entry)
{
    ik_json_span_t name;
    ik_json_span_t arguments;
    ik_msg_call_field(entry->message, "name", &name);
    ik_msg_call_field(entry->message, "arguments", &arguments);
    ik_msg_call_t call = {.id = entry->id, .name = ik_json_decode(repair->scratch, name, NULL)};
    call.arguments = ik_json_decode(repair->scratch, arguments, &call.arguments_len);
    ik_conversation_append(repair->out, ik_msg_create_call(repair->out, &call, NULL));
}

static void append_result(repair_t *repair, const entry_t *call)
{
    bool found = call->partner != SIZE_MAX;
    const ik_msg_t *stored = found ? repair->entries[call->partner].message : NULL;
    if (found && !call->rebuilt) {
        append(repair, stored);
        return;
    }
    ik_json_span_t name;
    ik_json_span_t success;
    ik_msg_call_field(call->message, "name", &name);
    ik_msg_result_t result = {
        .call_id = call->id,
        .name = ik_json_decode(repair->scratch, name, NULL),
        .output = found ? ik_msg_field_text(repair->scratch, stored, "output") : interrupted,
        .provider =
            call->rebuilt ? NULL : ik_msg_field_text(repair->scratch, call->message, "provider"),
        .success = found && ik_msg_field(stored, "success", &success) && success.text[0] == 't',
        .wall_ms = -1,
        .cpu_us = -1,
        .max_rss_kb = -1,
    };
    ik_conversation_append(repair->out, ik_msg_create_result(repair->out, &result));
}

/* The step being written is over: its results follow, in the order of its calls. */
static void close_step(repair_t *repair)
{
    for (size_t i = 0; i < repair->open_count; i++) {
        append_result(repair, &repair->entries[repair->open_calls[i]]);
    }
    repair->open_count = 0;
    repair->step_left = 0;
}

static void append_begin_if_missing(repair_t *repair)
{
    for (size_t i = 0; i < repair->out->count; i++) {
        if (!ik_msg_is(repair->out->messages[i], IK_MSG_SYSTEM) &&
            !ik_msg_is(repair->out->messages[i], IK_MSG_COMPACTION)) {
            return;
        }
    }
    ik_conversation_append(repair->out,
                           ik_msg_create(repair->out, IK_MSG_USER, missing_begin, NULL));
}

/* A message of the model's side: part of the step being written, or the first of another. */
static void append_answer(repair_t *repair, size_t index)
{
    const entry_t *entry = &repair->entries[index];
    bool first = has_field(entry->message, "model");
    if (repair->open_count > 0 && (first || (!entry->is_call && repair->step_left == 0))) {
        close_step(repair);
    }
    append_begin_if_missing(repair);
    if (first) {
        repair->step_left = (size_t)ik_msg_field_number(entry->message, "step", 0);
    }
    repair->step_left -= repair->step_left > 0;
    if (entry->rebuilt) {
        append_rebuilt_call(repair, entry);
    } else {
        append(repair, entry->message);
    }
    if (entry->is_call) {
        repair->open_calls[repair->open_count++] = index;
    }
}

static void append_entry(repair_t *repair, size_t index)
{
    const entry_t *entry = &repair->entries[index];
    if (entry->message == NULL) {
        return;
    }
    if (entry->is_result) {
        close_step(repair);
    } else if (entry->is_call || ik_msg_is(entry->message, IK_MSG_ASSISTANT)) {
        append_answer(repair, index);
    } else {
        close_step(repair);
        append(repair, entry->message);
    }
}

ik_conversation_t *ik_conversation_repair(const void *ctx, const ik_conversation_t *stored)
{
    repair_t repair = {.scratch = talloc_new(NULL), .count = stored->count};
    repair.entries = ik_new_array(repair.scratch, entry_t, stored->count + 1);
    repair.open_calls = ik_new_array(repair.scratch, size_t, stored->count + 1);
    repair.out = ik_conversation_create(ctx);
    for (size_t i = 0; i < stored->count; i++) {
        take_in(&repair, &repair.entries[i], stored->messages[i]);
    }
    drop_refused_turns(&repair);
    strip_doubled_private_data(&repair);
    pair_results(&repair);
    for (size_t i = 0; i < stored->count; i++) {
        append_entry(&repair, i);
    }
    close_step(&repair);
    talloc_free(repair.scratch);
    return repair.out;
}
