#include "undo/undo_log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "conversation/delegation.h"

/* How long a call runs at most, as far as sessions of other processes are concerned. */
#define CALL_MAX_US (24 * 3600 * INT64_C(1000000))

typedef enum { MESSAGE, JOINED, BEFORE, AFTER, UNDO, REDO, MODE, NAMES, WROTE, CALL, END } kind_t;

/* An event, as far as undo reads it. */
typedef struct {
    kind_t kind;
    int64_t agent;
    int64_t seq;
    int64_t created_us;
    const char *text;          /* MESSAGE: the prompt; MODE: its name; NAMES: a file; CALL: id */
    const char *call_id;       /* NAMES, WROTE */
    const char *const *before; /* BEFORE and AFTER: the states; UNDO, REDO: NULL without files */
    const char *const *after;  /* UNDO, REDO */
    bool next;               /* BEFORE, AFTER: part of the turn that begins with the next MESSAGE */
    bool late;               /* AFTER: recorded after a crash */
    bool in_place;           /* UNDO, REDO: the conversation stayed */
    bool finishes;           /* UNDO */
    ik_undo_record_t record; /* UNDO, REDO: without restores */
} entry_t;

typedef struct {
    int64_t agent;
    int64_t parent;
    const char *call_id;
} subagent_t;

struct ik_undo_log {
    char *session_id;
    ik_store_agents_t *agents;
    subagent_t *subagents;
    size_t subagent_count;
    entry_t *entries; /* by agent, then seq */
    size_t count;
    size_t capacity;
};

/* --- reading events ---------------------------------------------------------------------- */

/* Decodes an array of strings, NULL-terminated; NULL when it is not one. */
static const char *const *read_states(const void *ctx, ik_json_span_t array)
{
    ik_json_span_t state;
    size_t position = 0;
    size_t count = 0;
    if (!ik_json_is(array, IK_JSON_ARRAY)) {
        return NULL;
    }
    const char **states = ik_new_array(ctx, const char *, 1);
    while (ik_json_next_element(array, &position, &state)) {
        if (!ik_json_is(state, IK_JSON_STRING)) {
            return NULL;
        }
        states = ik_resize_array(ctx, states, const char *, count + 2);
        states[count++] = ik_json_decode(states, state, NULL);
    }
    states[count] = NULL;
    return states;
}

static int64_t read_number(ik_json_span_t value)
{
    return ik_json_is(value, IK_JSON_NUMBER) ? strtoll(value.text, NULL, 10) : 0;
}

static void read_record(const void *ctx, ik_json_span_t data, entry_t *entry)
{
    enum { AGENT, FROM, UNTIL, TURNS, PROMPT, RESTRICTED, FINISHES, WAS, IS, CONFLICTS, COUNT };
    static const char *const names[COUNT] = {"agent",  "message",    "until",    "turns",
                                             "prompt", "restricted", "finishes", "before",
                                             "after",  "conflicts"};
    ik_json_span_t values[COUNT];
    size_t position = 0;
    ik_json_span_t conflict;
    ik_json_find_members(data, names, COUNT, values);
    bool has_conflicts = ik_json_is(values[CONFLICTS], IK_JSON_ARRAY) &&
                         ik_json_next_element(values[CONFLICTS], &position, &conflict);
    entry->in_place = values[AGENT].len == 0;
    entry->finishes = ik_json_is(values[FINISHES], IK_JSON_BOOLEAN);
    entry->before = read_states(ctx, values[WAS]);
    entry->after = read_states(ctx, values[IS]);
    entry->record = (ik_undo_record_t){
        .agent = read_number(values[AGENT]),
        .message = read_number(values[FROM]),
        .until = read_number(values[UNTIL]),
        .turns = read_number(values[TURNS]),
        .prompt = ik_json_is(values[PROMPT], IK_JSON_STRING)
                      ? ik_json_decode(ctx, values[PROMPT], NULL)
                      : "",
        .restricted = ik_json_is(values[RESTRICTED], IK_JSON_BOOLEAN),
        .conflicts =
            has_conflicts ? ik_strndup(ctx, values[CONFLICTS].text, values[CONFLICTS].len) : NULL,
    };
}

static bool read_checkpoint(const void *ctx, const ik_store_event_t *event, entry_t *entry)
{
    ik_msg_checkpoint_t checkpoint;
    if (!ik_msg_parse_checkpoint(ctx, event->data_json, &checkpoint)) {
        return false;
    }
    entry->kind = checkpoint.phase == IK_MSG_BEFORE ? BEFORE : AFTER;
    entry->next = checkpoint.next;
    entry->late = checkpoint.late;
    entry->before = checkpoint.states;
    return true;
}

static bool changes_named_file(ik_json_span_t tool)
{
    return ik_json_is_text(tool, "file_write") || ik_json_is_text(tool, "file_edit");
}

/* A call of a tool that names the file it changes. */
static bool read_call(const void *ctx, const ik_store_event_t *event, ik_json_span_t data,
                      entry_t *entry)
{
    ik_json_span_t function;
    ik_json_span_t name;
    ik_json_span_t literal;
    ik_json_span_t arguments;
    ik_json_span_t path;
    ik_json_span_t id;
    size_t len;
    if (strcmp(event->kind, IK_MSG_TOOL_CALL) != 0 ||
        !ik_json_find_kind(data, "function", IK_JSON_OBJECT, &function) ||
        !ik_json_find(function, "name", &name) || !changes_named_file(name) ||
        !ik_json_find_kind(function, "arguments", IK_JSON_STRING, &literal)) {
        return false;
    }
    char *text = ik_json_decode(NULL, literal, &len);
    bool named = ik_json_scan(text, len, &arguments, NULL) &&
                 ik_json_find_kind(arguments, "file_path", IK_JSON_STRING, &path);
    entry->kind = NAMES;
    entry->text = named ? ik_json_decode(ctx, path, NULL) : NULL;
    entry->call_id =
        ik_json_find_kind(data, "id", IK_JSON_STRING, &id) ? ik_json_decode(ctx, id, NULL) : NULL;
    talloc_free(text);
    return named;
}

/* The result of such a call that succeeded: {"tool_success":true,"result":{…}} without "error". */
static bool read_result(const void *ctx, const ik_store_event_t *event, ik_json_span_t data,
                        entry_t *entry)
{
    enum { ID, NAME, OUTPUT, COUNT };
    static const char *const names[COUNT] = {"tool_call_id", "name", "output"};
    ik_json_span_t values[COUNT];
    ik_json_span_t envelope;
    ik_json_span_t result;
    ik_json_span_t error;
    size_t len;
    if (strcmp(event->kind, IK_MSG_TOOL_RESULT) != 0) {
        return false;
    }
    ik_json_find_members(data, names, COUNT, values);
    if (!changes_named_file(values[NAME]) || !ik_json_is(values[ID], IK_JSON_STRING) ||
        !ik_json_is(values[OUTPUT], IK_JSON_STRING)) {
        return false;
    }
    char *text = ik_json_decode(NULL, values[OUTPUT], &len);
    bool wrote = ik_json_scan(text, len, &envelope, NULL) &&
                 ik_json_find_kind(envelope, "result", IK_JSON_OBJECT, &result) &&
                 !ik_json_find(result, "error", &error);
    entry->kind = WROTE;
    entry->call_id = wrote ? ik_json_decode(ctx, values[ID], NULL) : NULL;
    talloc_free(text);
    return wrote;
}

/* False for events that undo does not read. */
static bool read_event(const void *ctx, const ik_store_event_t *event, entry_t *entry)
{
    ik_json_span_t data = {0};
    ik_json_span_t mode;
    size_t len = event->data_json == NULL ? 0 : strlen(event->data_json);
    bool has_data = len > 0 && ik_json_scan(event->data_json, len, &data, NULL) &&
                    ik_json_is(data, IK_JSON_OBJECT);
    if (strcmp(event->kind, IK_MSG_CHECKPOINT) == 0) {
        return read_checkpoint(ctx, event, entry);
    }
    if (strcmp(event->kind, IK_MSG_USER) == 0) {
        ik_msg_t message = {.kind = IK_MSG_USER,
                            .content = event->content == NULL ? "" : event->content,
                            .data_json = has_data ? event->data_json : NULL,
                            .data_len = has_data ? len : 0};
        bool joined = has_data && (ik_msg_is_shell_note(&message) || ik_msg_is_steering(&message));
        entry->kind = joined ? JOINED : MESSAGE;
        entry->text = joined ? NULL : ik_strndup(ctx, message.content, ik_msg_typed_len(&message));
        return true;
    }
    if (strcmp(event->kind, IK_MSG_UNDO) == 0 || strcmp(event->kind, IK_MSG_REDO) == 0) {
        entry->kind = strcmp(event->kind, IK_MSG_UNDO) == 0 ? UNDO : REDO;
        read_record(ctx, data, entry);
        return has_data;
    }
    if (strcmp(event->kind, IK_MSG_MODE) == 0) {
        entry->kind = MODE;
        bool named = has_data && ik_json_find_kind(data, "mode", IK_JSON_STRING, &mode);
        entry->text = named ? ik_json_decode(ctx, mode, NULL) : NULL;
        return named;
    }
    if (has_data && (read_call(ctx, event, data, entry) || read_result(ctx, event, data, entry))) {
        return true;
    }
    entry->kind = END;
    return strcmp(event->kind, IK_MSG_END) == 0;
}

/* A call that started a sub-agent. */
static bool read_delegation(const ik_undo_log_t *log, const ik_store_event_t *event, entry_t *entry)
{
    ik_json_span_t data;
    ik_json_span_t id;
    if (log->subagent_count == 0 || strcmp(event->kind, IK_MSG_TOOL_CALL) != 0 ||
        event->data_json == NULL ||
        !ik_json_scan(event->data_json, strlen(event->data_json), &data, NULL) ||
        !ik_json_find_kind(data, "id", IK_JSON_STRING, &id)) {
        return false;
    }
    for (size_t i = 0; i < log->subagent_count; i++) {
        const subagent_t *subagent = &log->subagents[i];
        if (subagent->parent == event->agent && ik_json_is_text(id, subagent->call_id)) {
            entry->kind = CALL;
            entry->text = subagent->call_id;
            return true;
        }
    }
    return false;
}

/* The agent that an undo or redo replaced need not exist in an imported log. */
static bool names_missing_agent(const ik_undo_log_t *log, const entry_t *entry)
{
    return (entry->kind == UNDO || entry->kind == REDO) && entry->record.agent != 0 &&
           ik_store_find_agent(log->agents, entry->record.agent) == NULL;
}

static res_t on_event(void *data, const ik_store_event_t *event)
{
    ik_undo_log_t *log = data;
    entry_t entry = {.agent = event->agent, .seq = event->seq, .created_us = event->created_us};
    if ((read_delegation(log, event, &entry) || read_event(log, event, &entry)) &&
        !names_missing_agent(log, &entry)) {
        if (log->count == log->capacity) {
            log->capacity = log->capacity == 0 ? 64 : 2 * log->capacity;
            log->entries = ik_resize_array(log, log->entries, entry_t, log->capacity);
        }
        log->entries[log->count++] = entry;
    }
    return OK;
}

static res_t on_first_event(void *data, const ik_store_event_t *event)
{
    ik_undo_log_t *log = data;
    const ik_delegation_t *delegation = ik_delegation_parse(log, event->kind, event->data_json);
    const ik_store_agent_t *agent = ik_store_find_agent(log->agents, event->agent);
    if (delegation != NULL && agent != NULL) {
        log->subagents = ik_resize_array(log, log->subagents, subagent_t, log->subagent_count + 1);
        log->subagents[log->subagent_count++] =
            (subagent_t){agent->number, agent->parent, delegation->call_id};
    }
    return ERR(LIMIT, "enough"); /* ends the reading */
}

res_t ik_undo_log_read(const void *ctx, ik_store_t *store, const char *session_id,
                       ik_undo_log_t **out)
{
    ik_undo_log_t *log = ik_new(ctx, ik_undo_log_t);
    log->session_id = ik_strdup(log, session_id);
    res_t read = ik_store_agents(log, store, session_id, &log->agents);
    for (size_t i = 0; is_ok(&read) && i < log->agents->count; i++) {
        const ik_store_agent_t *agent = &log->agents->agents[i];
        if (agent->parent != 0 && agent->forked_at == 0) {
            (void)ik_store_read(store, agent, 0, on_first_event, log);
        }
    }
    for (size_t i = 0; is_ok(&read) && i < log->agents->count; i++) {
        const ik_store_agent_t *agent = &log->agents->agents[i];
        read = ik_store_read(store, agent, agent->forked_at, on_event, log);
    }
    if (is_err(&read)) {
        talloc_free(log);
        return read;
    }
    *out = log;
    return OK;
}

/* --- agents ------------------------------------------------------------------------------ */

bool ik_undo_log_is_replaced(const ik_undo_log_t *log, int64_t agent)
{
    for (size_t i = 0; i < log->count; i++) {
        const entry_t *entry = &log->entries[i];
        if ((entry->kind == UNDO || entry->kind == REDO) && !entry->in_place &&
            entry->record.agent == agent) {
            return true;
        }
    }
    return false;
}

/* Whether another agent took its place, or its last event ended it. */
static bool is_over(const ik_undo_log_t *log, const ik_store_agent_t *agent)
{
    bool over = ik_undo_log_is_replaced(log, agent->number);
    for (size_t i = 0; i < log->count; i++) {
        const entry_t *entry = &log->entries[i];
        over = over || (entry->kind == END && entry->agent == agent->number &&
                        entry->seq == agent->last_seq);
    }
    return over;
}

static bool is_subagent(const ik_undo_log_t *log, int64_t agent)
{
    size_t i = 0;
    while (i < log->subagent_count && log->subagents[i].agent != agent) {
        i++;
    }
    return i < log->subagent_count;
}

int64_t ik_undo_log_last_agent(const ik_undo_log_t *log)
{
    const ik_store_agent_t *last = NULL;
    for (size_t i = 0; i < log->agents->count; i++) {
        const ik_store_agent_t *agent = &log->agents->agents[i];
        if ((last == NULL || agent->updated_us > last->updated_us) && !is_over(log, agent) &&
            !is_subagent(log, agent->number)) {
            last = agent;
        }
    }
    return last == NULL ? IK_STORE_ROOT_AGENT : last->number;
}

/* --- segments ---------------------------------------------------------------------------- */

static void add_segment(const void *ctx, ik_undo_segments_t *segments,
                        const ik_undo_segment_t *segment)
{
    segments->items = ik_resize_array(ctx, segments->items, ik_undo_segment_t, segments->count + 1);
    segments->items[segments->count++] = *segment;
}

/* Restoring is over when its event is written. */
static void add_restore(const void *ctx, ik_undo_segments_t *segments, const entry_t *entry)
{
    if (entry->before != NULL && entry->after != NULL) {
        add_segment(ctx, segments,
                    &(ik_undo_segment_t){.agent = entry->agent,
                                         .seq = entry->seq,
                                         .at = entry->seq,
                                         .begun_us = entry->created_us,
                                         .ended_us = entry->created_us,
                                         .before = entry->before,
                                         .after = entry->after});
    }
}

static ik_undo_segment_t begin_segment(const entry_t *before)
{
    return (ik_undo_segment_t){.agent = before->agent,
                               .seq = before->seq,
                               .at = before->seq,
                               .begun_us = before->created_us,
                               .ended_us = INT64_MAX,
                               .before = before->before,
                               .unsure = true};
}

/* "after" without states: they could not be recorded, and the user was told so. */
static void end_segment(ik_undo_segment_t *segment, const entry_t *after)
{
    segment->ended_us = after->created_us;
    segment->after = after->before[0] == NULL ? NULL : after->before;
    segment->unsure = segment->after == NULL || after->late;
}

static int compare_begin(const void *a, const void *b)
{
    const ik_undo_segment_t *one = a;
    const ik_undo_segment_t *two = b;
    return one->begun_us != two->begun_us ? (one->begun_us < two->begun_us ? -1 : 1)
           : one->agent != two->agent     ? (one->agent < two->agent ? -1 : 1)
           : one->seq != two->seq         ? (one->seq < two->seq ? -1 : 1)
                                          : 0;
}

ik_undo_segments_t ik_undo_log_everything(ik_undo_log_t *log)
{
    ik_undo_segments_t all = {0};
    ik_undo_segment_t *open = NULL;
    for (size_t i = 0; i < log->count; i++) {
        const entry_t *entry = &log->entries[i];
        if (entry->kind == BEFORE) {
            ik_undo_segment_t segment = begin_segment(entry);
            add_segment(log, &all, &segment);
            open = &all.items[all.count - 1];
        } else if (entry->kind == AFTER && open != NULL && open->agent == entry->agent) {
            end_segment(open, entry);
            open = NULL;
        } else if (entry->kind == UNDO || entry->kind == REDO) {
            add_restore(log, &all, entry);
            open = NULL;
        }
    }
    if (all.count > 0) {
        qsort(all.items, all.count, sizeof(*all.items), compare_begin);
    }
    return all;
}

ik_undo_segments_t ik_undo_log_between(const ik_undo_line_t *line, int64_t from, int64_t until)
{
    ik_undo_segments_t part = {0};
    for (size_t i = 0; i < line->segments.count; i++) {
        int64_t at = line->segments.items[i].at;
        if (at >= from && at <= until) {
            add_segment(line, &part, &line->segments.items[i]);
        }
    }
    return part;
}

static int compare_end(const void *a, const void *b)
{
    const ik_undo_segment_t *one = a;
    const ik_undo_segment_t *two = b;
    return (one->ended_us > two->ended_us) - (one->ended_us < two->ended_us);
}

static void add_states(const void *ctx, const char ***to, size_t *count, const char *const *states)
{
    for (; *states != NULL; states++) {
        *to = ik_resize_array(ctx, *to, const char *, *count + 2);
        (*to)[(*count)++] = *states;
        (*to)[*count] = NULL;
    }
}

/* Of a list of states a later one overrides the earlier ones: of the states before, that of the
 * segment that began first comes last; of the states after, that of the one that ended last. */
static ik_undo_segment_t join(const void *ctx, const ik_undo_segment_t *items, size_t count)
{
    ik_undo_segment_t joined = items[0];
    if (count == 1) {
        return joined;
    }
    const char **before = NULL;
    const char **after = NULL;
    size_t before_count = 0;
    size_t after_count = 0;
    ik_undo_segment_t *by_end = ik_new_array(ctx, ik_undo_segment_t, count);
    memcpy(by_end, items, count * sizeof(*by_end));
    qsort(by_end, count, sizeof(*by_end), compare_end);
    for (size_t i = 0; i < count; i++) {
        add_states(ctx, &before, &before_count, items[count - 1 - i].before);
        add_states(ctx, &after, &after_count, by_end[i].after);
    }
    joined.before = before;
    joined.after = after;
    joined.ended_us = by_end[count - 1].ended_us;
    talloc_free(by_end);
    return joined;
}

ik_undo_segments_t ik_undo_log_join(const void *ctx, const ik_undo_segments_t *segments)
{
    ik_undo_segments_t joined = {0};
    bool several = false;
    for (size_t i = 1; i < segments->count; i++) {
        several = several || segments->items[i].agent != segments->items[0].agent;
    }
    if (!several) { /* they follow each other, whatever the clock said */
        return *segments;
    }
    ik_undo_segment_t *items = ik_new_array(ctx, ik_undo_segment_t, segments->count);
    memcpy(items, segments->items, segments->count * sizeof(*items));
    qsort(items, segments->count, sizeof(*items), compare_begin);
    for (size_t i = 0; i < segments->count;) {
        size_t count = 1;
        int64_t end = items[i].ended_us;
        while (items[i].after != NULL && i + count < segments->count &&
               items[i + count].after != NULL && items[i + count].begun_us <= end) {
            end = items[i + count].ended_us > end ? items[i + count].ended_us : end;
            count++;
        }
        ik_undo_segment_t one = join(ctx, items + i, count);
        add_segment(ctx, &joined, &one);
        i += count;
    }
    return joined;
}

/* --- the line of an agent ---------------------------------------------------------------- */

/* What is collected while the events of a line are read in order. */
typedef struct {
    ik_undo_log_t *log;
    ik_undo_line_t *line;
    bool open;                /* the last segment has no end yet */
    int64_t turn_seq;         /* where the next turn begins; 0: with its message */
    ik_undo_record_t *undone; /* a stack: undos that can be redone */
    size_t undone_count;
    bool *in_place; /* of each of undone */
} reading_t;

static void begin_turn(reading_t *reading, const entry_t *entry)
{
    ik_undo_line_t *line = reading->line;
    line->turns = ik_resize_array(line, line->turns, ik_undo_turn_t, line->turn_count + 1);
    line->turns[line->turn_count++] = (ik_undo_turn_t){
        .seq = reading->turn_seq != 0 ? reading->turn_seq : entry->seq,
        .prompt = entry->text,
        .mode = line->mode,
    };
    reading->turn_seq = 0;
}

static void push_undone(reading_t *reading, const entry_t *entry)
{
    size_t count = reading->undone_count + 1;
    reading->undone = ik_resize_array(reading->line, reading->undone, ik_undo_record_t, count);
    reading->in_place = ik_resize_array(reading->line, reading->in_place, bool, count);
    reading->in_place[count - 1] = entry->in_place;
    reading->undone[count - 1] = entry->record;
    reading->undone_count = count;
}

/* Restoring that left the conversation as it was belongs to the turn before it. When an agent took
 * the place of another one, the turns that were taken back are not in this line, and neither is
 * their restoring. */
static void read_undo(reading_t *reading, const entry_t *entry)
{
    ik_undo_record_t *last =
        reading->undone_count == 0 ? NULL : &reading->undone[reading->undone_count - 1];
    if (!entry->finishes || last == NULL) {
        push_undone(reading, entry);
        last = &reading->undone[reading->undone_count - 1];
    } else {
        last->conflicts = entry->record.conflicts;
    }
    add_restore(reading->line, &last->restores, entry);
    if (reading->in_place[reading->undone_count - 1]) {
        add_restore(reading->line, &reading->line->segments, entry);
    }
}

static void read_redo(reading_t *reading, const entry_t *entry)
{
    if (entry->in_place) {
        add_restore(reading->line, &reading->line->segments, entry);
        reading->undone_count -= reading->undone_count > 0;
    }
}

static void add_named(ik_undo_line_t *line, int64_t seq, const entry_t *entry)
{
    line->named = ik_resize_array(line, line->named, ik_undo_named_t, line->named_count + 1);
    line->named[line->named_count++] =
        (ik_undo_named_t){.seq = seq, .path = entry->text, .call_id = entry->call_id};
}

/* The states before a call are recorded earlier than its result. A release without undo recorded
 * none, and neither did a program whose user had switched undo off. */
static void read_wrote(ik_undo_line_t *line, const entry_t *entry)
{
    int64_t begin = line->turn_count == 0 ? 0 : line->turns[line->turn_count - 1].seq;
    size_t count = line->segments.count;
    bool recorded = count > 0 && line->segments.items[count - 1].at >= begin;
    size_t i = line->named_count;
    while (i > 0 && (line->named[i - 1].call_id == NULL ||
                     strcmp(line->named[i - 1].call_id, entry->call_id) != 0)) {
        i--;
    }
    if (i > 0) {
        line->named[i - 1].unrecorded = !recorded;
    }
}

/* Adds what the sub-agents did that a call of parent started, and those that they started. */
static void add_subagents(reading_t *reading, int64_t parent, const char *call_id, int64_t at)
{
    const ik_undo_log_t *log = reading->log;
    ik_undo_segments_t *segments = &reading->line->segments;
    for (size_t i = 0; i < log->count; i++) {
        const entry_t *entry = &log->entries[i];
        size_t k = 0;
        while (k < log->subagent_count &&
               (log->subagents[k].agent != entry->agent || log->subagents[k].parent != parent ||
                strcmp(log->subagents[k].call_id, call_id) != 0)) {
            k++;
        }
        if (k == log->subagent_count) {
            continue;
        }
        ik_undo_segment_t *last =
            segments->count == 0 ? NULL : &segments->items[segments->count - 1];
        if (entry->kind == BEFORE) {
            ik_undo_segment_t segment = begin_segment(entry);
            segment.at = at;
            add_segment(reading->line, segments, &segment);
        } else if (entry->kind == AFTER && last != NULL && last->agent == entry->agent &&
                   last->ended_us == INT64_MAX) {
            end_segment(last, entry);
        } else if (entry->kind == NAMES) {
            add_named(reading->line, at, entry);
        } else if (entry->kind == CALL) {
            add_subagents(reading, entry->agent, entry->text, at);
        }
    }
}

static void read_entry(reading_t *reading, const entry_t *entry)
{
    ik_undo_line_t *line = reading->line;
    ik_undo_segments_t *segments = &line->segments;
    ik_undo_segment_t segment;
    switch (entry->kind) {
    case MESSAGE:
        begin_turn(reading, entry);
        reading->undone_count = 0;
        reading->open = false;
        break;
    case JOINED:
        reading->undone_count = 0;
        break;
    case BEFORE:
        segment = begin_segment(entry);
        add_segment(line, segments, &segment);
        reading->open = true;
        reading->turn_seq = !entry->next             ? 0
                            : reading->turn_seq == 0 ? entry->seq
                                                     : reading->turn_seq;
        break;
    case AFTER:
        if (reading->open) {
            end_segment(&segments->items[segments->count - 1], entry);
            reading->open = false;
        }
        break;
    case UNDO:
        reading->open = false;
        read_undo(reading, entry);
        break;
    case REDO:
        reading->open = false;
        read_redo(reading, entry);
        break;
    case MODE:
        line->mode = entry->text;
        break;
    case NAMES:
        add_named(line, entry->seq, entry);
        break;
    case WROTE:
        read_wrote(line, entry);
        break;
    case CALL:
        add_subagents(reading, entry->agent, entry->text, entry->seq);
        break;
    case END:
        break;
    }
}

/* Whether a segment that is open at event `last` of the agent ends later in the agent's log: then a
 * fork left out the calls that it belongs to. */
static bool ends_later(const ik_undo_log_t *log, int64_t agent, int64_t last)
{
    for (size_t i = 0; i < log->count; i++) {
        const entry_t *entry = &log->entries[i];
        if (entry->agent == agent && entry->seq > last && entry->kind == AFTER) {
            return true;
        }
    }
    return false;
}

/* Reads the events of the agent's ancestors, then its own, up to event `last`. Numbers grow from
 * parent to child, so there are no cycles. */
static void read_up_to(reading_t *reading, const ik_store_agent_t *agent, int64_t last)
{
    const ik_undo_log_t *log = reading->log;
    const ik_store_agent_t *parent = ik_store_find_agent(log->agents, agent->parent);
    if (parent != NULL && parent->number < agent->number) {
        read_up_to(reading, parent, agent->forked_at < last ? agent->forked_at : last);
    }
    for (size_t i = 0; i < log->count; i++) {
        const entry_t *entry = &log->entries[i];
        if (entry->agent == agent->number && entry->seq <= last) {
            read_entry(reading, entry);
        }
    }
    if (reading->open && ends_later(log, agent->number, last)) {
        reading->line->segments.count--;
        reading->open = false;
    }
}

const ik_undo_line_t *ik_undo_log_line(ik_undo_log_t *log, int64_t agent)
{
    ik_undo_line_t *line = ik_new(log, ik_undo_line_t);
    const ik_store_agent_t *stored = ik_store_find_agent(log->agents, agent);
    reading_t reading = {.log = log, .line = line};
    line->agent = agent;
    if (stored != NULL) {
        line->last_seq = stored->last_seq;
        read_up_to(&reading, stored, INT64_MAX);
    }
    line->undone = reading.undone_count == 0 ? NULL : &reading.undone[reading.undone_count - 1];
    return line;
}

/* --- other agents ------------------------------------------------------------------------ */

static bool has_states(const char *const *a, const char *const *b)
{
    size_t i = 0;
    while (a[i] != NULL && b[i] != NULL && strcmp(a[i], b[i]) == 0) {
        i++;
    }
    return a[i] == NULL && b[i] == NULL;
}

/* Whether this is one of the segments; in the copy of a session it has the same time and states. */
static bool is_among(const ik_undo_segments_t *segments, const ik_undo_segment_t *wanted)
{
    for (size_t i = 0; i < segments->count; i++) {
        const ik_undo_segment_t *segment = &segments->items[i];
        if (segment->begun_us == wanted->begun_us && segment->seq == wanted->seq &&
            has_states(segment->before, wanted->before)) {
            return true;
        }
    }
    return false;
}

static bool overlaps(const ik_undo_segments_t *segments, int64_t begun_us, int64_t ended_us)
{
    for (size_t i = 0; i < segments->count; i++) {
        const ik_undo_segment_t *segment = &segments->items[i];
        if (segment->begun_us <= ended_us && begun_us <= segment->ended_us) {
            return true;
        }
    }
    return false;
}

/* Adds the segments of a log that overlap, except those that are known. live: its process still
 * runs, and so may its calls. Otherwise calls without a recorded end were over with the last event
 * of their agent. */
static void add_overlapping(ik_undo_log_t *to, ik_undo_log_t *from, bool live,
                            const ik_undo_segments_t *known, const ik_undo_segments_t *segments,
                            ik_undo_segments_t *out)
{
    ik_undo_segments_t all = ik_undo_log_everything(from);
    for (size_t i = 0; i < all.count; i++) {
        ik_undo_segment_t segment = all.items[i];
        const ik_store_agent_t *agent = ik_store_find_agent(from->agents, segment.agent);
        if (segment.ended_us == INT64_MAX && !live && agent != NULL) {
            segment.ended_us = agent->updated_us;
        }
        if (!is_among(known, &segment) && overlaps(segments, segment.begun_us, segment.ended_us)) {
            add_segment(to, out, &segment);
        }
    }
}

static bool is_live(ik_store_t *store, const char *session_id)
{
    ik_holder_t self = ik_holder_self();
    ik_holder_t other = {0};
    res_t claimed = ik_store_claim(store, session_id, &self, &other);
    if (is_ok(&claimed)) {
        (void)ik_store_release(store, session_id, &self);
    }
    return claimed.code == IK_ERR_CONFLICT;
}

res_t ik_undo_log_find_others(ik_undo_log_t *log, ik_store_t *store, const char *folder,
                              const ik_undo_line_t *line, const ik_undo_segments_t *segments,
                              ik_undo_segments_t *out)
{
    ik_store_list_t *list;
    *out = (ik_undo_segments_t){0};
    if (segments->count == 0) {
        return OK;
    }
    for (size_t i = 0; i < segments->count; i++) {
        if (segments->items[i].unsure) {
            add_segment(log, out, &segments->items[i]);
        }
    }
    ik_undo_segments_t own = ik_undo_log_everything(log);
    add_overlapping(log, log, false, &line->segments, segments, out);
    TRY(ik_store_list(log, store, &(ik_store_filter_t){.uncounted = true}, &list));
    for (size_t i = 0; i < list->count; i++) {
        const ik_store_session_t *session = &list->sessions[i];
        ik_undo_log_t *other;
        bool near =
            ik_file_is_within(session->cwd, folder) || ik_file_is_within(folder, session->cwd);
        if (!near || strcmp(session->id, log->session_id) == 0) {
            continue;
        }
        bool recent = overlaps(segments, session->created_us, session->updated_us + CALL_MAX_US);
        bool live = recent && is_live(store, session->id);
        if (overlaps(segments, session->created_us, live ? INT64_MAX : session->updated_us)) {
            res_t read = ik_undo_log_read(log, store, session->id, &other);
            if (is_ok(&read)) { /* one that is deleted meanwhile has no segments */
                add_overlapping(log, other, live, &own, segments, out);
            }
        }
    }
    return OK;
}
