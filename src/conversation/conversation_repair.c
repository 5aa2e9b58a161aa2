/*
 * Repair works in place. First, unusable messages are dropped one by one. Then results are paired
 * with calls by id (the k-th result of an id belongs to its k-th call, wherever it is), and calls
 * that cannot stay are rebuilt. Last, everything is put in order, with the results right after
 * their step.
 *
 * A long session has a hundred thousand messages, and nearly all of them are kept: these are
 * neither copied nor decoded, dropped messages are freed at once, and each message costs one small
 * entry.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/json_clean.h"
#include "base/utf8.h"
#include "conversation/conversation.h"

static const char missing_begin[] = "(The beginning of this conversation is missing.)";
static const char interrupted[] =
    "{\"tool_success\":false,\"error\":\"The call was interrupted before it had a result.\","
    "\"error_code\":\"INTERRUPTED\",\"exit_code\":null,\"stdout\":\"\",\"stderr\":\"\"}";

typedef enum { GONE, SYSTEM, COMPACTION, USER, ANSWER, CALL, RESULT } role_t;

#define NO_PARTNER UINT32_MAX

/* A message under repair. */
typedef struct {
    ik_msg_t *message; /* NULL: dropped, or a result that is written already */
    const char *id;    /* of a call or result, decoded; otherwise NULL */
    size_t id_len;
    uint32_t partner; /* index of the result of a call */
    role_t role : 8;
    bool begins_step : 1;
    bool has_private : 1; /* it begins a step and has private data of its provider */
    bool refused : 1;
    bool renamed : 1; /* the call needs another id */
    bool rebuilt : 1; /* the call is to be rebuilt, without private data */
} entry_t;

typedef struct {
    void *scratch;
    ik_conversation_t *conversation;
    entry_t *entries;
    size_t count;
    size_t step_from;  /* first entry whose result may be due */
    size_t open_calls; /* number of results that are due */
    size_t step_left;  /* messages still to come in the current step, by its own count */
    bool begun;        /* a message of the user is written */
} repair_t;

/* --- entries ----------------------------------------------------------------------------- */

static role_t role_of(const ik_msg_t *message)
{
    static const struct {
        const char *kind;
        role_t role;
    } roles[] = {
        {IK_MSG_TOOL_RESULT, RESULT}, {IK_MSG_TOOL_CALL, CALL}, {IK_MSG_ASSISTANT, ANSWER},
        {IK_MSG_USER, USER},          {IK_MSG_SYSTEM, SYSTEM},  {IK_MSG_COMPACTION, COMPACTION},
    };
    for (size_t i = 0; i < IK_LENGTH(roles); i++) {
        if (ik_msg_is(message, roles[i].kind)) {
            return roles[i].role;
        }
    }
    return GONE;
}

static bool is_answer(const entry_t *entry)
{
    return entry->role == ANSWER || entry->role == CALL;
}

static void drop(entry_t *entry)
{
    talloc_free(entry->message);
    *entry = (entry_t){.role = GONE};
}

static void replace(entry_t *entry, ik_msg_t *message)
{
    talloc_free(entry->message);
    entry->message = message;
}

/* --- texts ------------------------------------------------------------------------------- */

/* Decodes a string literal of any length. */
static const char *decode(const void *ctx, ik_json_span_t literal, size_t *len)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED); /* bounded by the literal */
    ik_json_append_decoded(&text, literal);
    *len = text.len;
    return text.data;
}

/* Returns the text of a string without NUL; NULL for other values. */
static const char *text_of(const void *ctx, ik_json_span_t value)
{
    size_t len;
    if (!ik_json_is(value, IK_JSON_STRING)) {
        return NULL;
    }
    const char *text = decode(ctx, value, &len);
    return strlen(text) == len ? text : NULL;
}

static const char *field_text(const void *ctx, const ik_msg_t *message, const char *name)
{
    ik_json_span_t value;
    return ik_msg_field(message, name, &value) ? text_of(ctx, value) : NULL;
}

static bool is_equal(ik_json_span_t a, ik_json_span_t b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.text, b.text, a.len) == 0);
}

/* --- data -------------------------------------------------------------------------------- */

/* Keeps valid data, cleans what is sent to providers byte for byte, and drops what is no object.
 * Returns whether the data was kept. */
static bool make_data_usable(repair_t *repair, entry_t *entry)
{
    const ik_msg_t *message = entry->message;
    ik_json_span_t data;
    if (message->data_json == NULL) {
        return true;
    }
    bool plain;
    bool usable = ik_json_scan_plain(message->data_json, message->data_len, &data, &plain) &&
                  ik_json_kind(data) == IK_JSON_OBJECT;
    if (usable && (plain || ik_json_is_clean(data))) { /* the second check is slow */
        return true;
    }
    ik_buffer_t clean;
    ik_buffer_init(&clean, NULL, IK_BUFFER_UNLIMITED); /* bounded by the data */
    usable = usable && ik_json_append_clean(&clean, data);
    replace(entry, ik_msg_create(repair->conversation, message->kind, message->content,
                                 usable ? clean.data : NULL));
    ik_buffer_reset(&clean);
    return false;
}

/* The members that repair needs, read in one walk over data that may be long. */
enum { ID, MODEL, STEP, REFUSED, FUNCTION, OUTPUT, NAME, ARGUMENTS, FACT_COUNT };

static void read_facts(const entry_t *entry, ik_json_span_t facts[FACT_COUNT])
{
    enum { OF_DATA = NAME, OF_FUNCTION = FACT_COUNT - NAME };
    static const char *const names[][OF_DATA] = {
        [ANSWER] = {[MODEL] = "model", [STEP] = "step", [REFUSED] = "refused"},
        [CALL] = {"id", "model", "step", "refused", "function"},
        [RESULT] = {[ID] = "tool_call_id", [OUTPUT] = "output"},
    };
    static const char *const function_names[OF_FUNCTION] = {"name", "arguments"};
    ik_json_span_t data = {entry->message->data_json, entry->message->data_len};
    ik_msg_find_fields(data, names[entry->role], OF_DATA, facts);
    ik_json_span_t function =
        ik_json_is(facts[FUNCTION], IK_JSON_OBJECT) ? facts[FUNCTION] : (ik_json_span_t){0};
    ik_msg_find_fields(function, function_names, OF_FUNCTION, facts + NAME);
}

/* --- each message by itself -------------------------------------------------------------- */

static bool has_images(const ik_msg_t *message)
{
    void *scratch = talloc_new(NULL);
    ik_msg_image_t *images;
    bool any = ik_msg_images(scratch, message, &images) > 0;
    talloc_free(scratch);
    return any;
}

static bool is_usable(const entry_t *entry, const ik_json_span_t facts[FACT_COUNT])
{
    bool blank = ik_msg_text_is_blank(entry->message->content);
    switch (entry->role) {
    case CALL:
        return ik_json_has_text(facts[NAME]) && ik_json_is(facts[ARGUMENTS], IK_JSON_STRING);
    case RESULT:
        return ik_json_is(facts[OUTPUT], IK_JSON_STRING);
    case ANSWER: /* without text it is kept only for its private data */
        return !blank || facts[STEP].len > 0 || facts[REFUSED].len > 0;
    case COMPACTION:
        return ik_msg_field_number(entry->message, "trimmed_results", -1) >= 0 ||
               ik_msg_is_summary(entry->message);
    case USER: /* images need no text */
        return !blank || has_images(entry->message);
    case SYSTEM:
        return !blank;
    default:
        return false;
    }
}

/* Whether ik_msg_create_call would write the name unchanged. */
static bool is_usable_name(ik_json_span_t name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    static const char others[] = "0123456789-";
    bool usable = name.len - 2 <= IK_MSG_NAME_MAX && strchr(letters, name.text[1]) != NULL;
    for (size_t i = 1; usable && i < name.len - 1; i++) {
        usable = strchr(letters, name.text[i]) != NULL || strchr(others, name.text[i]) != NULL;
    }
    return usable;
}

/* The id points into the data where it has no escapes; "" when there is none. */
static void set_id(repair_t *repair, entry_t *entry, ik_json_span_t literal)
{
    bool is_text = ik_json_is(literal, IK_JSON_STRING);
    if (is_text && memchr(literal.text, '\\', literal.len) == NULL) {
        entry->id = literal.text + 1;
        entry->id_len = literal.len - 2;
    } else {
        const char *id = text_of(repair->scratch, literal);
        entry->id = id == NULL ? "" : id;
        entry->id_len = strlen(entry->id);
    }
}

/* What a step says about itself without its private data. */
static ik_msg_step_t bare_step(const void *ctx, const ik_msg_t *message)
{
    return (ik_msg_step_t){
        .model = field_text(ctx, message, "model"),
        .usage = IK_USAGE_NONE,
    };
}

/* Removes the private data from a message that begins a step. */
static void strip(repair_t *repair, entry_t *entry)
{
    if (entry->role == CALL) {
        entry->rebuilt = true;
    } else if (ik_msg_text_is_blank(entry->message->content)) {
        drop(entry);
    } else {
        void *scratch = talloc_new(NULL);
        ik_msg_step_t step = bare_step(scratch, entry->message);
        replace(entry,
                ik_msg_create_assistant(repair->conversation, entry->message->content, &step));
        entry->begins_step = step.model != NULL;
        entry->has_private = entry->refused = false;
        talloc_free(scratch);
    }
}

static void take_in(repair_t *repair, entry_t *entry, ik_msg_t *message)
{
    ik_json_span_t facts[FACT_COUNT];
    entry->message = message;
    bool as_stored = make_data_usable(repair, entry);
    entry->role = role_of(entry->message);
    read_facts(entry, facts);
    if (!is_usable(entry, facts)) {
        drop(entry);
        return;
    }
    entry->partner = NO_PARTNER;
    /* the first message of a step says which model made it */
    entry->begins_step = ik_json_is(facts[MODEL], IK_JSON_STRING);
    entry->has_private = entry->begins_step && facts[STEP].len > 0;
    entry->refused = ik_json_is(facts[REFUSED], IK_JSON_BOOLEAN) && facts[REFUSED].text[0] == 't';
    entry->rebuilt = entry->role == CALL && !is_usable_name(facts[NAME]);
    if (entry->role == CALL || entry->role == RESULT) {
        set_id(repair, entry, facts[ID]);
    }
    if (is_answer(entry) && !as_stored) {
        strip(repair, entry); /* cleaned data is not what the provider sent */
    }
}

/* --- refused turns ----------------------------------------------------------------------- */

/* Returns the index after the last message of the step that begins at index. */
static size_t end_of_step(const repair_t *repair, size_t index)
{
    size_t end = index + 1;
    while (end < repair->count) {
        const entry_t *entry = &repair->entries[end];
        if (entry->role != GONE && (!is_answer(entry) || entry->begins_step)) {
            break;
        }
        end++;
    }
    return end;
}

/* Drops the turn that ends at end, back to the message of the user that began it. */
static void drop_turn(repair_t *repair, size_t from, size_t end)
{
    bool begins = false;
    for (size_t i = end; i > from && !begins; i--) {
        entry_t *entry = &repair->entries[i - 1];
        begins = entry->role == USER;
        if (entry->role != GONE && entry->role != SYSTEM && entry->role != COMPACTION) {
            drop(entry);
        }
    }
}

static void drop_refused_turns(repair_t *repair)
{
    size_t end = 0; /* of the last one: turns do not overlap */
    for (size_t i = 0; i < repair->count; i++) {
        if (repair->entries[i].refused) {
            size_t from = end;
            end = end_of_step(repair, i);
            drop_turn(repair, from, end);
        }
    }
}

/* --- duplicate steps --------------------------------------------------------------------- */

/* A step and a hash of its private data. */
typedef struct {
    entry_t *entry;
    uint64_t hash;
} step_t;

static uint64_t hash_text(ik_json_span_t value)
{
    if (ik_json_kind(value) != IK_JSON_STRING) {
        return ik_hash_bytes(value.text, value.len);
    }
    if (memchr(value.text, '\\', value.len) == NULL) {
        return ik_hash_bytes(value.text + 1, value.len - 2);
    }
    void *scratch = talloc_new(NULL);
    size_t len;
    const char *text = decode(scratch, value, &len);
    uint64_t hash = ik_hash_bytes(text, len);
    talloc_free(scratch);
    return hash;
}

/* Hashes a value independently of white space and of the order of members, which a database or an
 * export may have changed. */
static uint64_t hash_value(ik_json_span_t value)
{
    size_t position = 0;
    uint64_t hash = 1;
    ik_json_span_t key;
    ik_json_span_t item;
    switch (ik_json_kind(value)) {
    case IK_JSON_OBJECT:
        while (ik_json_next_member(value, &position, &key, &item)) {
            hash += (hash_text(key) | 1) * hash_value(item);
        }
        return hash;
    case IK_JSON_ARRAY:
        while (ik_json_next_element(value, &position, &item)) {
            hash = 31 * hash + hash_value(item);
        }
        return hash;
    default:
        return hash_text(value);
    }
}

/* Finds the private data: the member with the name of the provider, the first part of the model. */
static bool find_private(const ik_msg_t *first, ik_json_span_t *value)
{
    void *scratch = talloc_new(NULL);
    const char *model = field_text(scratch, first, "model");
    bool found = model != NULL &&
                 ik_msg_field(first, ik_strndup(scratch, model, strcspn(model, "/")), value);
    talloc_free(scratch);
    return found;
}

static int compare_steps(const void *a, const void *b)
{
    const step_t *left = a;
    const step_t *right = b;
    if (left->hash != right->hash) {
        return left->hash < right->hash ? -1 : 1;
    }
    return (left->entry > right->entry) - (left->entry < right->entry);
}

/* Steps with little private data are left out: it may be equal by chance. */
static step_t *sort_steps(repair_t *repair, size_t *count)
{
    enum { BY_CHANCE = 64 };
    size_t capacity = 1;
    for (size_t i = 0; i < repair->count; i++) {
        capacity += repair->entries[i].has_private;
    }
    step_t *steps = ik_new_array(repair->scratch, step_t, capacity);
    *count = 0;
    for (size_t i = 0; i < repair->count; i++) {
        entry_t *entry = &repair->entries[i];
        ik_json_span_t value;
        if (entry->has_private && find_private(entry->message, &value) && value.len > BY_CHANCE) {
            steps[(*count)++] = (step_t){entry, hash_value(value)};
        }
    }
    qsort(steps, *count, sizeof(*steps), compare_steps);
    return steps;
}

/* Providers refuse the same reasoning twice. */
static void strip_duplicate_private_data(repair_t *repair)
{
    size_t count;
    step_t *steps = sort_steps(repair, &count);
    for (size_t i = 1; i < count; i++) {
        if (steps[i].hash == steps[i - 1].hash) {
            strip(repair, steps[i].entry);
        }
    }
    talloc_free(steps);
}

/* --- pairing calls and results ----------------------------------------------------------- */

/* A call or result. The hash of its id saves looking at ids, which are all over memory. */
typedef struct {
    uint64_t hash;
    entry_t *entry;
} bearer_t;

static int compare_hashes(const void *a, const void *b)
{
    const bearer_t *left = a;
    const bearer_t *right = b;
    return (left->hash > right->hash) - (left->hash < right->hash);
}

static int compare_ids(const bearer_t *left, const bearer_t *right)
{
    const entry_t *a = left->entry;
    const entry_t *b = right->entry;
    if (left->hash != right->hash) {
        return compare_hashes(left, right);
    }
    return a->id_len == b->id_len  ? memcmp(a->id, b->id, a->id_len)
           : a->id_len < b->id_len ? -1
                                   : 1;
}

/* Equal ids are in the order of the conversation. */
static int compare_bearers(const void *a, const void *b)
{
    const bearer_t *left = a;
    const bearer_t *right = b;
    int order = compare_ids(left, right);
    return order != 0 ? order : (left->entry > right->entry) - (left->entry < right->entry);
}

static bearer_t *sort_by_id(repair_t *repair, size_t *count)
{
    size_t capacity = 1;
    for (size_t i = 0; i < repair->count; i++) {
        capacity += repair->entries[i].id != NULL;
    }
    bearer_t *sorted = ik_new_array(repair->scratch, bearer_t, capacity);
    *count = 0;
    for (size_t i = 0; i < repair->count; i++) {
        entry_t *entry = &repair->entries[i];
        if (entry->id != NULL) {
            sorted[(*count)++] = (bearer_t){ik_hash_bytes(entry->id, entry->id_len), entry};
        }
    }
    qsort(sorted, *count, sizeof(*sorted), compare_bearers);
    return sorted;
}

/* same holds all calls and results of one id, in the order of the conversation. */
static void pair_up(repair_t *repair, const bearer_t *same, size_t count)
{
    size_t next_result = 0;
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        entry_t *call = same[i].entry;
        if (call->role != CALL) {
            continue;
        }
        while (next_result < count && same[next_result].entry->role != RESULT) {
            next_result++;
        }
        if (next_result < count) {
            call->partner = (uint32_t)(same[next_result++].entry - repair->entries);
        }
        /* A second call of that id needs another one, and so does an empty id. */
        call->renamed = !first || call->id_len == 0;
        first = false;
    }
}

/* Compares hashes only: they stay sorted while ids change. */
static bool is_taken(const char *id, const bearer_t *taken, size_t count)
{
    bearer_t wanted = {.hash = ik_hash_bytes(id, strlen(id))};
    return bsearch(&wanted, taken, count, sizeof(*taken), compare_hashes) != NULL;
}

/* The new id is made from the index, which stays the same as the conversation grows. */
static void rename_call(repair_t *repair, entry_t *call, const bearer_t *taken, size_t count)
{
    char *id = ik_sprintf(repair->scratch, "ik_r%zu", (size_t)(call - repair->entries));
    while (is_taken(id, taken, count)) {
        id = ik_sprintf(repair->scratch, "%s_", id);
    }
    call->id = id;
    call->id_len = strlen(id);
    call->rebuilt = true;
}

static void pair_results(repair_t *repair)
{
    size_t count;
    bearer_t *sorted = sort_by_id(repair, &count);
    for (size_t begin = 0; begin < count;) {
        size_t end = begin + 1;
        while (end < count && compare_ids(&sorted[begin], &sorted[end]) == 0) {
            end++;
        }
        pair_up(repair, sorted + begin, end - begin);
        begin = end;
    }
    for (size_t i = 0; i < count; i++) {
        if (sorted[i].entry->renamed) {
            rename_call(repair, sorted[i].entry, sorted, count);
        }
    }
    talloc_free(sorted);
}

/* --- rebuilding -------------------------------------------------------------------------- */

/* Rebuilds a call without the private data of its provider. */
static void rebuild_call(repair_t *repair, entry_t *entry)
{
    void *scratch = talloc_new(NULL);
    ik_json_span_t name;
    ik_json_span_t arguments;
    size_t len;
    ik_msg_call_field(entry->message, "name", &name);
    ik_msg_call_field(entry->message, "arguments", &arguments);
    ik_msg_call_t call = {
        .id = ik_strndup(scratch, entry->id, entry->id_len),
        .name = decode(scratch, name, &len),
        .arguments = decode(scratch, arguments, &len),
    };
    call.arguments_len = len;
    ik_msg_step_t step = bare_step(scratch, entry->message);
    replace(entry, ik_msg_create_call(repair->conversation, &call, &step));
    entry->id = NULL; /* it may point into the old message */
    talloc_free(scratch);
}

/* Whether a stored result repeats id, provider and name of the call byte for byte. */
static bool result_fits(const ik_msg_t *call, const ik_msg_t *result)
{
    enum { CALL_ID, CALL_PROVIDER, CALL_NAME, SAID };
    static const char *const in_call[SAID] = {"id", "provider"};
    static const char *const in_result[SAID] = {"tool_call_id", "provider", "name"};
    ik_json_span_t said[SAID];
    ik_json_span_t repeated[SAID];
    ik_msg_find_fields((ik_json_span_t){call->data_json, call->data_len}, in_call, SAID, said);
    ik_msg_find_fields((ik_json_span_t){result->data_json, result->data_len}, in_result, SAID,
                       repeated);
    ik_msg_call_field(call, "name", &said[CALL_NAME]);
    return is_equal(said[CALL_ID], repeated[CALL_ID]) &&
           is_equal(said[CALL_PROVIDER], repeated[CALL_PROVIDER]) &&
           is_equal(said[CALL_NAME], repeated[CALL_NAME]);
}

/* Makes a result for the call from a stored one, or INTERRUPTED when stored is NULL. */
static ik_msg_t *rebuild_result(repair_t *repair, const ik_msg_t *call, const ik_msg_t *stored)
{
    static const ik_msg_t nothing = {0};
    void *scratch = talloc_new(NULL);
    ik_json_span_t name;
    ik_json_span_t output;
    ik_json_span_t success;
    size_t len;
    bool found = stored != NULL && ik_msg_field(stored, "output", &output);
    ik_msg_image_t *images = NULL;
    size_t image_count = found ? ik_msg_images(scratch, stored, &images) : 0;
    stored = found ? stored : &nothing;
    ik_msg_call_field(call, "name", &name);
    ik_msg_result_t result = {
        .call_id = field_text(scratch, call, "id"),
        .name = decode(scratch, name, &len),
        .output = found ? decode(scratch, output, &len) : interrupted,
        .provider = field_text(scratch, call, "provider"),
        .success = ik_msg_field(stored, "success", &success) && success.text[0] == 't',
        .images = images,
        .image_count = image_count,
        .err = ik_msg_field_text(scratch, stored, "stderr"),
        .wall_ms = ik_msg_field_number(stored, "wall_ms", -1),
        .cpu_us = ik_msg_field_number(stored, "cpu_us", -1),
        .max_rss_kb = ik_msg_field_number(stored, "max_rss_kb", -1),
        .display = ik_display_parse(ik_msg_field_text(scratch, stored, "display")),
    };
    ik_msg_t *message = ik_msg_create_result(repair->conversation, &result);
    talloc_free(scratch);
    return message;
}

/* --- order ------------------------------------------------------------------------------- */

/* Makes room for all messages, a result for each call, and a beginning. */
static void make_room(repair_t *repair)
{
    ik_conversation_t *conversation = repair->conversation;
    size_t room = 1;
    for (size_t i = 0; i < repair->count; i++) {
        role_t role = repair->entries[i].role;
        room += role == GONE || role == RESULT ? 0 : role == CALL ? 2 : 1;
    }
    if (room > conversation->capacity) {
        conversation->messages =
            ik_resize_array(conversation, conversation->messages, ik_msg_t *, room);
        conversation->capacity = room;
    }
    conversation->count = 0;
}

static void put(repair_t *repair, ik_msg_t *message)
{
    repair->conversation->messages[repair->conversation->count++] = message;
}

static void put_result(repair_t *repair, const entry_t *call)
{
    if (call->partner == NO_PARTNER) {
        put(repair, rebuild_result(repair, call->message, NULL));
        return;
    }
    entry_t *stored = &repair->entries[call->partner];
    if (!result_fits(call->message, stored->message)) {
        replace(stored, rebuild_result(repair, call->message, stored->message));
    }
    put(repair, stored->message);
    stored->message = NULL;
}

/* Ends the current step: writes its results in the order of its calls. */
static void close_step(repair_t *repair, size_t end)
{
    for (size_t i = repair->step_from; repair->open_calls > 0; i++) {
        if (repair->entries[i].role == CALL) {
            put_result(repair, &repair->entries[i]);
            repair->open_calls--;
        }
    }
    repair->step_from = end;
    repair->step_left = 0;
}

/* Writes a message of the model: part of the current step, or the first of another. */
static void put_answer(repair_t *repair, size_t index)
{
    const entry_t *entry = &repair->entries[index];
    bool is_other = entry->begins_step || (entry->role == ANSWER && repair->step_left == 0);
    if (repair->open_calls > 0 && is_other) {
        close_step(repair, index);
    }
    if (!repair->begun) {
        put(repair, ik_msg_create(repair->conversation, IK_MSG_USER, missing_begin, NULL));
        repair->begun = true;
    }
    if (entry->begins_step) {
        bool known = entry->has_private && !entry->rebuilt;
        int64_t count = known ? ik_msg_field_number(entry->message, "step", 0) : 0;
        repair->step_left = count < 0 ? 0 : (size_t)count;
    }
    repair->step_left -= repair->step_left > 0;
    repair->open_calls += entry->role == CALL;
    put(repair, entry->message);
}

static void put_entry(repair_t *repair, size_t index)
{
    const entry_t *entry = &repair->entries[index];
    if (entry->role == GONE) {
        return;
    }
    if (is_answer(entry)) {
        put_answer(repair, index);
        return;
    }
    close_step(repair, index);
    if (entry->role != RESULT) {
        put(repair, entry->message);
        repair->begun = repair->begun || entry->role == USER;
    }
}

ik_conversation_t *ik_conversation_take_repaired(const void *ctx, ik_conversation_t *stored)
{
    repair_t repair = {.scratch = talloc_new(NULL), .conversation = stored, .count = stored->count};
    repair.entries = ik_new_array(repair.scratch, entry_t, repair.count + 1);
    for (size_t i = 0; i < repair.count; i++) {
        take_in(&repair, &repair.entries[i], stored->messages[i]);
    }
    drop_refused_turns(&repair);
    strip_duplicate_private_data(&repair);
    pair_results(&repair);
    for (size_t i = 0; i < repair.count; i++) {
        if (repair.entries[i].rebuilt) {
            rebuild_call(&repair, &repair.entries[i]);
        }
    }
    make_room(&repair);
    for (size_t i = 0; i < repair.count; i++) {
        put_entry(&repair, i);
    }
    close_step(&repair, repair.count);
    for (size_t i = 0; i < repair.count; i++) {
        if (repair.entries[i].role == RESULT) {
            drop(
                &repair
                     .entries[i]); /* results without a call; the others have no message any more */
        }
    }
    talloc_free(repair.scratch);
    return talloc_steal(ctx, stored);
}
