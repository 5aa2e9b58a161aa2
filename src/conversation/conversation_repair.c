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
#include "base/hash.h"
#include "base/json_clean.h"
#include "base/utf8.h"
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
    bool renamed; /* needs another id */
} entry_t;

typedef struct {
    void *scratch;
    entry_t *entries;
    size_t count;
    ik_conversation_t *out;
    size_t *open_calls; /* of the step being written: entries whose results are due */
    size_t open_count;
    size_t step_left; /* messages the step still has, by its own count */
} repair_t;

/* --- each message by itself -------------------------------------------------------------- */

static bool is_object(const char *json, size_t len, ik_json_span_t *value)
{
    return ik_json_scan(json, len, value, NULL) && ik_json_kind(*value) == IK_JSON_OBJECT;
}

/* Whether it must be looked at more closely, for what is no character: most data is plain, and
 * looking takes time. */
static bool looks_odd(ik_json_span_t data)
{
    const char *end = data.text + data.len;
    const char *at = data.text;
    while ((at = memchr(at, '\\', (size_t)(end - at))) != NULL) {
        if (at[1] == 'u' && (at[2] | 0x20) == 'd') {
            return true;
        }
        at += 2; /* an escape is never the end */
    }
    return !ik_utf8_valid(data.text, data.len);
}

/* The message, its data as it is, cleaned (what stands in it goes out byte for byte), or gone. */
static const ik_msg_t *with_usable_data(repair_t *repair, const ik_msg_t *message)
{
    ik_json_span_t data;
    size_t len = message->data_json == NULL ? 0 : message->data_len;
    bool usable = len > 0 && is_object(message->data_json, len, &data);
    bool plain = usable && (!looks_odd(data) || ik_json_is_clean(data));
    if (message->data_json == NULL || plain) {
        return message;
    }
    ik_buffer_t clean;
    ik_buffer_init(&clean, repair->scratch, IK_BUFFER_UNLIMITED);
    usable = usable && ik_json_append_clean(&clean, data);
    return ik_msg_create(repair->scratch, message->kind, message->content,
                         usable ? clean.data : NULL);
}

static bool has_field(const ik_msg_t *message, const char *name)
{
    ik_json_span_t value;
    return ik_msg_field(message, name, &value);
}

/* A member that is text, and not cut short by a NUL; else NULL. */
static char *text_of(repair_t *repair, const ik_msg_t *message, const char *name)
{
    ik_json_span_t value;
    size_t len;
    if (!ik_msg_field(message, name, &value) || ik_json_kind(value) != IK_JSON_STRING) {
        return NULL;
    }
    char *text = ik_json_decode(repair->scratch, value, &len);
    return strlen(text) == len ? text : NULL;
}

/* The first message of a step says which model made it. */
static bool begins_step(const ik_msg_t *message)
{
    ik_json_span_t model;
    return ik_msg_field(message, "model", &model) && ik_json_kind(model) == IK_JSON_STRING;
}

static bool is_answer(const ik_msg_t *message)
{
    return ik_msg_is(message, IK_MSG_ASSISTANT) || ik_msg_is(message, IK_MSG_TOOL_CALL);
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
    return !ik_msg_text_is_blank(message->content) || has_field(message, "step") ||
           has_field(message, "refused");
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
           !ik_msg_text_is_blank(message->content);
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

/* What is left of a step's own words about itself when its private data must go. */
static ik_msg_step_t bare_step(repair_t *repair, const ik_msg_t *message)
{
    return (ik_msg_step_t){
        .model = text_of(repair, message, "model"),
        .usage = IK_USAGE_NONE,
    };
}

/* Takes what only its provider can use from a message that begins a step. */
static void strip(repair_t *repair, entry_t *entry)
{
    const ik_msg_step_t step = bare_step(repair, entry->message);
    if (entry->is_call) {
        entry->rebuilt = true;
    } else if (ik_msg_text_is_blank(entry->message->content)) {
        *entry = (entry_t){.partner = SIZE_MAX};
    } else {
        entry->message = ik_msg_create_assistant(repair->scratch, entry->message->content, &step);
    }
}

static void take_in(repair_t *repair, entry_t *entry, const ik_msg_t *message)
{
    entry->partner = SIZE_MAX;
    const ik_msg_t *usable = with_usable_data(repair, message);
    if (!is_usable(usable)) {
        return;
    }
    entry->message = usable;
    entry->is_call = ik_msg_is(usable, IK_MSG_TOOL_CALL);
    entry->is_result = ik_msg_is(usable, IK_MSG_TOOL_RESULT);
    if (entry->is_call || entry->is_result) {
        entry->id = text_of(repair, usable, entry->is_call ? "id" : "tool_call_id");
        entry->id = entry->id == NULL ? ik_strdup(repair->scratch, "") : entry->id;
        entry->rebuilt = entry->is_call && !has_usable_name(usable);
    }
    if (usable != message && is_answer(usable)) {
        strip(repair, entry); /* what was cleaned is not what the provider knows */
    }
}

static bool is_refused(const ik_msg_t *message)
{
    ik_json_span_t value;
    return is_answer(message) && ik_msg_field(message, "refused", &value) &&
           ik_json_kind(value) == IK_JSON_BOOLEAN && value.text[0] == 't';
}

/* The last message of the step that begins here. */
static size_t end_of_step(const repair_t *repair, size_t index)
{
    size_t end = index;
    for (size_t i = index + 1; i < repair->count; i++) {
        const ik_msg_t *message = repair->entries[i].message;
        if (message != NULL && (!is_answer(message) || begins_step(message))) {
            break;
        }
        end = i;
    }
    return end;
}

/* The turn that ends in this step, back to the words of the user that began it. */
static void drop_turn(repair_t *repair, size_t step)
{
    for (size_t i = end_of_step(repair, step) + 1; i > 0; i--) {
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

/* --- doubled steps ----------------------------------------------------------------------- */

/* A step and what its private data amounts to. */
typedef struct {
    entry_t *entry;
    uint64_t sum;
} step_t;

static uint64_t sum_of_text(ik_json_span_t value)
{
    if (ik_json_kind(value) != IK_JSON_STRING) {
        return ik_hash_bytes(value.text, value.len);
    }
    size_t len;
    char *text = ik_json_decode(NULL, value, &len);
    uint64_t sum = ik_hash_bytes(text, len);
    talloc_free(text);
    return sum;
}

/* The same for the same value, in whichever order and with whatever white space a database or an
 * export has written it. */
static uint64_t sum_of(ik_json_span_t value)
{
    size_t position = 0;
    uint64_t sum = 1;
    ik_json_span_t key;
    ik_json_span_t item;
    switch (ik_json_kind(value)) {
    case IK_JSON_OBJECT:
        while (ik_json_next_member(value, &position, &key, &item)) {
            sum += (sum_of_text(key) | 1) * sum_of(item);
        }
        return sum;
    case IK_JSON_ARRAY:
        while (ik_json_next_element(value, &position, &item)) {
            sum = 31 * sum + sum_of(item);
        }
        return sum;
    default:
        return sum_of_text(value);
    }
}

/* What the step's provider left, under its name; the model's begins with that. */
static bool find_private(repair_t *repair, const ik_msg_t *first, ik_json_span_t *value)
{
    char *model = text_of(repair, first, "model");
    if (model == NULL || !is_answer(first) || !has_field(first, "step")) {
        return false;
    }
    model[strcspn(model, "/")] = '\0';
    return ik_msg_field(first, model, value);
}

static int compare_steps(const void *a, const void *b)
{
    const step_t *left = a;
    const step_t *right = b;
    if (left->sum != right->sum) {
        return left->sum < right->sum ? -1 : 1;
    }
    return (left->entry > right->entry) - (left->entry < right->entry);
}

/* A provider does not take the same reasoning twice. Very little may be the same by chance. */
static void strip_doubled_private_data(repair_t *repair)
{
    enum { BY_CHANCE = 64 };
    step_t *steps = ik_new_array(repair->scratch, step_t, repair->count + 1);
    size_t count = 0;
    for (size_t i = 0; i < repair->count; i++) {
        entry_t *entry = &repair->entries[i];
        ik_json_span_t value;
        if (entry->message != NULL && find_private(repair, entry->message, &value) &&
            value.len > BY_CHANCE) {
            steps[count++] = (step_t){entry, sum_of(value)};
        }
    }
    qsort(steps, count, sizeof(*steps), compare_steps);
    for (size_t i = 1; i < count; i++) {
        if (steps[i].sum == steps[i - 1].sum) {
            strip(repair, steps[i].entry);
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
        /* the old id would be ambiguous, or is none */
        same[i]->renamed = !first || same[i]->id[0] == '\0';
        first = false;
    }
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* An id made of the place, which stays when the conversation grows. */
static void rename_call(repair_t *repair, entry_t *call, const char *const *taken, size_t count)
{
    size_t number = (size_t)(call - repair->entries);
    call->id = ik_sprintf(repair->scratch, "ik_r%zu", number);
    while (bsearch(&call->id, taken, count, sizeof(*taken), compare_texts) != NULL) {
        call->id = ik_sprintf(repair->scratch, "%s_", call->id);
    }
    call->rebuilt = true;
}

static void rename_calls(repair_t *repair, entry_t **sorted, size_t count)
{
    const char **taken = ik_new_array(repair->scratch, const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        taken[i] = sorted[i]->id;
    }
    for (size_t i = 0; i < count; i++) {
        if (sorted[i]->renamed) {
            rename_call(repair, sorted[i], taken, count);
        }
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
    rename_calls(repair, sorted, count);
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
    const ik_msg_step_t step = bare_step(repair, entry->message);
    ik_conversation_append(repair->out, ik_msg_create_call(repair->out, &call, &step));
}

/* Whether both have that member, byte for byte the same, or neither has it. */
static bool is_same(const ik_msg_t *a, const char *name_in_a, const ik_msg_t *b,
                    const char *name_in_b)
{
    ik_json_span_t left;
    ik_json_span_t right;
    bool in_a = ik_msg_field(a, name_in_a, &left);
    bool in_b = ik_msg_field(b, name_in_b, &right);
    return in_a == in_b &&
           (!in_a || (left.len == right.len && memcmp(left.text, right.text, left.len) == 0));
}

/* Whether a stored result says of its call what the call says of itself. */
static bool result_fits(const entry_t *call, const ik_msg_t *result)
{
    ik_json_span_t name;
    ik_json_span_t repeated;
    ik_msg_call_field(call->message, "name", &name);
    return !call->rebuilt && is_same(call->message, "id", result, "tool_call_id") &&
           is_same(call->message, "provider", result, "provider") &&
           ik_msg_field(result, "name", &repeated) && repeated.len == name.len &&
           memcmp(repeated.text, name.text, name.len) == 0;
}

/* A result for the call, of what is stored of one (NULL: nothing). */
static void append_rebuilt_result(repair_t *repair, const entry_t *call, const ik_msg_t *stored)
{
    static const ik_msg_t nothing = {0};
    bool found = stored != NULL;
    stored = found ? stored : &nothing;
    ik_json_span_t name;
    ik_json_span_t success;
    ik_msg_call_field(call->message, "name", &name);
    ik_msg_result_t result = {
        .call_id = call->id,
        .name = ik_json_decode(repair->scratch, name, NULL),
        .output = found ? ik_msg_field_text(repair->scratch, stored, "output") : interrupted,
        .provider = call->rebuilt ? NULL : text_of(repair, call->message, "provider"),
        .success = ik_msg_field(stored, "success", &success) && success.text[0] == 't',
        .wall_ms = ik_msg_field_number(stored, "wall_ms", -1),
        .cpu_us = ik_msg_field_number(stored, "cpu_us", -1),
        .max_rss_kb = ik_msg_field_number(stored, "max_rss_kb", -1),
    };
    ik_conversation_append(repair->out, ik_msg_create_result(repair->out, &result));
}

static void append_result(repair_t *repair, const entry_t *call)
{
    bool found = call->partner != SIZE_MAX;
    const ik_msg_t *stored = found ? repair->entries[call->partner].message : NULL;
    if (found && result_fits(call, stored)) {
        append(repair, stored);
    } else {
        append_rebuilt_result(repair, call, stored);
    }
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

/* How many messages the step that begins here has, as far as it is known. */
static size_t count_of_step(const entry_t *entry)
{
    int64_t count = entry->rebuilt ? 0 : ik_msg_field_number(entry->message, "step", 0);
    return count < 0 ? 0 : (size_t)count;
}

/* A message of the model's side: part of the step being written, or the first of another. */
static void append_answer(repair_t *repair, size_t index)
{
    const entry_t *entry = &repair->entries[index];
    bool first = begins_step(entry->message);
    if (repair->open_count > 0 && (first || (!entry->is_call && repair->step_left == 0))) {
        close_step(repair);
    }
    append_begin_if_missing(repair);
    if (first) {
        repair->step_left = count_of_step(entry);
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
    } else if (is_answer(entry->message)) {
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
