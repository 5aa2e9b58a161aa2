#include "undo/checkpointer.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json.h"
#include "conversation/figure.h"
#include "store/history.h"
#include "undo/checkpoint_run.h"

enum {
    TAKE_MS = 20000, /* limit for recording one state */
    FRESH_MS = 1000, /* a state that was recorded longer ago is recorded again */
    NAMED_MAX = 8,   /* files in one notice */
    LARGE_SHARE = 8, /* a file that takes more than this part of undo_max_bytes is left out */
    STATES_MAX = 2,  /* the folder, and files that calls name */
};

typedef struct take take_t;

/* A state that is being recorded because a call is expected. */
typedef struct {
    int64_t agent;
    take_t *take;
} expected_t;

struct ik_checkpointer {
    ik_checkpointer_options_t options;
    ik_checkpoints_t checkpoints;
    char *last;    /* the last state of the folder; NULL: none */
    bool seen;     /* the folder was recorded in this session, or could not be */
    bool beyond;   /* a limit: only files that calls name are recorded */
    bool too_slow; /* nothing is recorded any more */
    char *notice;  /* for the user, not delivered yet; NULL: none */
    json_t *told;  /* what the user was told in this session: keys and names of files */
    expected_t *expected;
    size_t expected_count;
    size_t running;
    int64_t since_ms; /* when running was last 0 */
};

/* One run of the program for one state. */
struct take {
    ik_checkpointer_t *checkpointer;
    ik_checkpoint_run_t *run; /* NULL: it has ended */
    bool whole;               /* the folder and not only named files */
    bool named;               /* there are named files */
    bool limited;             /* the folder is beyond a limit */
    int64_t started_ms;
    bool outdated; /* files were changed meanwhile */
    res_t result;
    char *state; /* NULL: none */
    void (*on_end)(void *data);
    void *data;
};

/* The calls of a step that may write. */
typedef struct {
    ik_checkpointer_t *checkpointer;
    bool whole;    /* calls may change any file of the folder */
    json_t *files; /* that calls name, absolute paths */
    take_t *take;
    ik_timer_t *later;
    const char *states[STATES_MAX];
    size_t count;
    ik_checkpoint_fn on_taken;
    void *data;
} segment_t;

/* --- telling the user ---------------------------------------------------------------------- */

/* Remembers what; true when the user was not told before. */
static bool is_new(ik_checkpointer_t *checkpointer, const char *what)
{
    bool told = json_object_get(checkpointer->told, what) != NULL;
    json_object_set_new(checkpointer->told, what, json_true());
    return !told;
}

static void add_notice(ik_checkpointer_t *checkpointer, const char *text)
{
    char *before = checkpointer->notice;
    checkpointer->notice = before == NULL ? ik_strdup(checkpointer, text)
                                          : ik_sprintf(checkpointer, "%s %s", before, text);
    talloc_free(before);
}

static void tell_limit(ik_checkpointer_t *checkpointer, const char *key)
{
    const ik_config_t *config = checkpointer->options.config;
    char *limit = ik_sprintf(NULL, "limit %s", key);
    bool told = !is_new(checkpointer, limit);
    talloc_free(limit);
    if (told) {
        return;
    }
    bool files = strcmp(key, "undo_max_files") == 0;
    char *what = files ? ik_sprintf(NULL, "more than %ld files", config->undo_max_files)
                       : ik_sprintf(NULL, "more than %s",
                                    ik_figure_of_size((size_t)config->undo_max_bytes).text);
    char *text = ik_sprintf(NULL,
                            "This folder has %s (%s): only changes by file_write and file_edit "
                            "can be undone.",
                            what, key);
    add_notice(checkpointer, text);
    talloc_free(text);
    talloc_free(what);
}

/* Names files whose contents were not kept, each once: they are too large or cannot be read. So are
 * folders that cannot be read, whose paths end in a slash. */
static void tell_left_out(ik_checkpointer_t *checkpointer, const json_t *left_out)
{
    const json_int_t large = checkpointer->options.config->undo_max_bytes / LARGE_SHARE;
    size_t index;
    json_t *file;
    size_t count = 0;
    ik_buffer_t names;
    ik_buffer_init(&names, NULL, IK_BUFFER_UNLIMITED); /* NAMED_MAX paths */
    json_array_foreach(left_out, index, file)
    {
        const char *path = json_string_value(json_object_get(file, "path"));
        json_int_t bytes = json_integer_value(json_object_get(file, "bytes"));
        path = path == NULL ? "a file whose name is not UTF-8" : path;
        if (is_new(checkpointer, path) && count++ < NAMED_MAX) {
            bool folder = *path != '\0' && path[strlen(path) - 1] == '/';
            ik_buffer_append_format(&names, "%s%s (%s%s)", names.len == 0 ? "" : ", ", path,
                                    folder ? "not readable" : ik_figure_of_size((size_t)bytes).text,
                                    bytes > large ? ", undo_max_bytes" : "");
        }
    }
    if (count > NAMED_MAX) {
        ik_buffer_append_format(&names, " and %zu more", count - NAMED_MAX);
    }
    if (count > 0) {
        char *text = ik_sprintf(NULL, "Changes of these files cannot be undone: %s.", names.data);
        add_notice(checkpointer, text);
        talloc_free(text);
    }
    ik_buffer_reset(&names);
}

/* --- recording a state --------------------------------------------------------------------- */

static int stop_take(take_t *take)
{
    take->checkpointer->running -= take->run != NULL;
    return 0;
}

static void on_run_end(void *data, const res_t *result, const json_t *answer)
{
    take_t *take = data;
    ik_checkpointer_t *checkpointer = take->checkpointer;
    const char *state = json_string_value(json_object_get(answer, "state"));
    const char *limit = json_string_value(json_object_get(answer, "limit"));
    take->run = NULL;
    take->result = *result;
    checkpointer->seen = checkpointer->seen || take->whole;
    checkpointer->running--;
    checkpointer->too_slow = checkpointer->too_slow || result->code == IK_ERR_LIMIT;
    if (limit != NULL) {
        take->limited = checkpointer->beyond = true;
        tell_limit(checkpointer, limit);
    }
    tell_left_out(checkpointer, json_object_get(answer, "left_out"));
    if (state != NULL) {
        take->state = ik_strdup(take, state);
    }
    if (state != NULL && take->whole && limit == NULL) {
        talloc_free(checkpointer->last);
        checkpointer->last = ik_strdup(checkpointer, state);
    }
    if (take->on_end != NULL) {
        take->on_end(take->data);
    }
}

static take_t *start_take(const void *ctx, ik_checkpointer_t *checkpointer, bool whole,
                          json_t *files)
{
    const ik_checkpointer_options_t *options = &checkpointer->options;
    take_t *take = ik_new(ctx, take_t);
    take->checkpointer = checkpointer;
    take->whole = whole;
    take->named = json_array_size(files) > 0;
    take->started_ms = ik_clock_now_ms();
    if (checkpointer->running++ == 0) {
        checkpointer->since_ms = take->started_ms;
    }
    talloc_set_destructor(take, stop_take);
    /* For a few files, reading them is less work than loading a state of the folder. */
    json_t *previous =
        !whole || checkpointer->last == NULL ? json_null() : json_pack("[s]", checkpointer->last);
    json_t *request =
        json_pack("{s:s, s:o, s:b, s:O, s:I, s:I}", "op", "take", "previous", previous, "tree",
                  whole, "paths", files, "max_files", (json_int_t)options->config->undo_max_files,
                  "max_bytes", (json_int_t)options->config->undo_max_bytes);
    take->run = ik_checkpoint_run_start(
        take, &(ik_checkpoint_run_options_t){
                  .host = options->host,
                  .paths = options->paths,
                  .request = request,
                  .folder = options->paths->cwd,
                  .database = ik_history_local_file(options->config->db, options->paths->database),
                  .max_ms = TAKE_MS,
                  .on_end = on_run_end,
                  .data = take});
    json_decref(request);
    return take;
}

static bool is_fresh(const take_t *take)
{
    return !take->outdated && *take->checkpointer->options.others == 0 &&
           ik_clock_now_ms() - take->started_ms <= FRESH_MS;
}

/* --- segments ------------------------------------------------------------------------------ */

static int free_segment(segment_t *segment)
{
    json_decref(segment->files);
    return 0;
}

/* The last thing that is done with a segment: on_taken may free it. */
static void deliver(segment_t *segment, const res_t *result)
{
    ik_checkpointer_t *checkpointer = segment->checkpointer;
    if (is_err(result)) {
        char *text = ik_sprintf(NULL, "This turn cannot be undone: %s.", result->message);
        add_notice(checkpointer, text);
        talloc_free(text);
    }
    char *notice = ik_alloc_take(checkpointer->notice);
    checkpointer->notice = NULL;
    segment->on_taken(segment->data, &(ik_checkpoint_t){.states = segment->states,
                                                        .count = segment->count,
                                                        .notice = notice,
                                                        .failed = is_err(result)});
    talloc_free(notice);
}

/* Adds the state of the take that has ended. Beyond a limit it has only files that were named. */
static void keep_state(segment_t *segment)
{
    const take_t *take = segment->take;
    if (take->state != NULL && !(take->limited && !take->named)) {
        segment->states[segment->count++] = ik_strdup(segment, take->state);
    }
    TALLOC_FREE(segment->take);
}

static void on_taken(void *data)
{
    segment_t *segment = data;
    res_t result = segment->take->result;
    keep_state(segment);
    deliver(segment, &result);
}

static void start(segment_t *segment, bool whole)
{
    segment->take = start_take(segment, segment->checkpointer, whole, segment->files);
    segment->take->on_end = on_taken;
    segment->take->data = segment;
}

/* Beyond a limit, calls that name no file are not recorded. */
static void start_or_deliver(segment_t *segment)
{
    segment->whole = segment->whole && !segment->checkpointer->beyond;
    if (segment->whole || json_array_size(segment->files) > 0) {
        start(segment, segment->whole);
    } else {
        deliver(segment, &OK);
    }
}

/* The folder was recorded while the model wrote the call. This counts unless it is too long ago,
 * because others may have changed files meanwhile. */
static void on_expected(void *data)
{
    segment_t *segment = data;
    take_t *take = segment->take;
    ik_checkpointer_t *checkpointer = segment->checkpointer;
    bool fresh = is_ok(&take->result) && is_fresh(take);
    bool named = json_array_size(segment->files) > 0;
    if (checkpointer->too_slow) {
        on_taken(segment);
    } else if (!fresh) {
        TALLOC_FREE(segment->take);
        start_or_deliver(segment);
    } else if (named) {
        keep_state(segment);
        start(segment, false);
    } else {
        on_taken(segment);
    }
}

static void on_later(void *data)
{
    segment_t *segment = data;
    if (segment->take != NULL) {
        on_expected(segment);
    } else if (segment->checkpointer->too_slow) {
        deliver(segment, &OK);
    } else {
        start_or_deliver(segment);
    }
}

/* Calls back from the loop, as a run does. */
static void continue_later(segment_t *segment)
{
    const ik_checkpointer_t *checkpointer = segment->checkpointer;
    segment->later = ik_timer_create(segment, ik_process_host_loop(checkpointer->options.host),
                                     on_later, segment);
    ik_timer_start(segment->later, 0);
}

/* --- what calls may change ----------------------------------------------------------------- */

static bool is_file_tool(const char *name)
{
    return strcmp(name, "file_write") == 0 || strcmp(name, "file_edit") == 0;
}

static void add_file(segment_t *segment, const ik_call_t *call)
{
    ik_json_span_t arguments;
    ik_json_span_t path;
    if (!ik_json_scan(call->arguments, call->arguments_len, &arguments, NULL) ||
        !ik_json_find_kind(arguments, "file_path", IK_JSON_STRING, &path)) {
        return;
    }
    char *name = ik_json_decode(NULL, path, NULL);
    char *file = *name == '/'
                     ? ik_strdup(NULL, name)
                     : ik_sprintf(NULL, "%s/%s", segment->checkpointer->options.paths->cwd, name);
    if (*name != '\0') {
        json_array_append_new(segment->files, ik_checkpoint_run_path(file));
    }
    talloc_free(file);
    talloc_free(name);
}

/* Whether a call may change files that it does not name. A tool of the user that has the name of
 * a shipped one need not do what that one does. */
static bool may_change_any(const ik_tool_registry_entry_t *entry)
{
    ik_effects_t effects;
    if (entry == NULL) {
        return false;
    }
    bool shipped = entry->source == IK_TOOL_SYSTEM;
    bool reads = ik_tool_registry_effects(entry, &effects) && effects.write == IK_WRITE_NONE;
    return !shipped || !(reads || is_file_tool(entry->name));
}

static segment_t *create_segment(const void *ctx, ik_checkpointer_t *checkpointer,
                                 const ik_call_t *calls, size_t count)
{
    segment_t *segment = ik_new(ctx, segment_t);
    segment->checkpointer = checkpointer;
    segment->files = json_array();
    talloc_set_destructor(segment, free_segment);
    /* The first time the folder is recorded in any case, so that a limit is reported early. */
    segment->whole = !checkpointer->seen;
    for (size_t i = 0; i < count; i++) {
        segment->whole = segment->whole || calls[i].followed || may_change_any(calls[i].entry);
        if (is_file_tool(calls[i].name)) {
            add_file(segment, &calls[i]);
        }
    }
    segment->whole = segment->whole && !checkpointer->beyond;
    return segment;
}

/* --- the interface ------------------------------------------------------------------------- */

/* The state that is being recorded for the agent, on ctx from now on; NULL: none. */
static take_t *take_expected(const void *ctx, ik_checkpointer_t *checkpointer, int64_t agent)
{
    for (size_t i = 0; i < checkpointer->expected_count; i++) {
        if (checkpointer->expected[i].agent == agent) {
            take_t *take = checkpointer->expected[i].take;
            checkpointer->expected[i] = checkpointer->expected[--checkpointer->expected_count];
            return talloc_steal(ctx, take);
        }
    }
    return NULL;
}

static void expect(void *data, int64_t agent, const ik_tool_registry_entry_t *entry)
{
    ik_checkpointer_t *checkpointer = data;
    if (checkpointer->too_slow || checkpointer->beyond ||
        (checkpointer->seen && !may_change_any(entry))) {
        return;
    }
    take_t *take = take_expected(checkpointer, checkpointer, agent);
    bool serves =
        take != NULL && (take->run != NULL || ik_clock_now_ms() - take->started_ms <= FRESH_MS);
    if (!serves) {
        talloc_free(take);
        json_t *files = json_array();
        take = start_take(checkpointer, checkpointer, true, files);
        json_decref(files);
    }
    checkpointer->expected = ik_resize_array(checkpointer, checkpointer->expected, expected_t,
                                             checkpointer->expected_count + 1);
    checkpointer->expected[checkpointer->expected_count++] = (expected_t){agent, take};
}

static void *begin(void *data, const void *ctx, const ik_call_t *calls, size_t count,
                   ik_checkpoint_fn on_begun, void *begun_data)
{
    ik_checkpointer_t *checkpointer = data;
    segment_t *segment = create_segment(ctx, checkpointer, calls, count);
    take_t *take = count == 0 ? NULL : take_expected(segment, checkpointer, calls[0].agent);
    segment->on_taken = on_begun;
    segment->data = begun_data;
    if (segment->whole && take != NULL) {
        segment->take = take;
        take->on_end = on_expected;
        take->data = segment;
    } else {
        talloc_free(take);
    }
    if (segment->take == NULL || segment->take->run == NULL) {
        continue_later(segment);
    }
    return segment;
}

static void end(void *data, ik_checkpoint_fn on_ended, void *ended_data)
{
    segment_t *segment = data;
    segment->on_taken = on_ended;
    segment->data = ended_data;
    segment->count = 0;
    continue_later(segment);
}

void ik_checkpointer_end(ik_checkpointer_t *checkpointer, const void *ctx, const ik_call_t *calls,
                         size_t count, ik_checkpoint_fn on_ended, void *data)
{
    segment_t *segment = create_segment(ctx, checkpointer, calls, count);
    segment->whole = true;
    end(segment, on_ended, data);
}

/* --- life ---------------------------------------------------------------------------------- */

static int close_checkpointer(ik_checkpointer_t *checkpointer)
{
    json_decref(checkpointer->told);
    return 0;
}

ik_checkpointer_t *ik_checkpointer_create(const void *ctx, const ik_checkpointer_options_t *options)
{
    ik_checkpointer_t *checkpointer = ik_new(ctx, ik_checkpointer_t);
    checkpointer->options = *options;
    checkpointer->told = json_object();
    checkpointer->checkpoints = (ik_checkpoints_t){
        .expect = expect, .begin = begin, .end = end, .checkpoints = checkpointer};
    talloc_set_destructor(checkpointer, close_checkpointer);
    return checkpointer;
}

const ik_checkpoints_t *ik_checkpointer_checkpoints(ik_checkpointer_t *checkpointer)
{
    return &checkpointer->checkpoints;
}

void ik_checkpointer_discard(ik_checkpointer_t *checkpointer)
{
    for (size_t i = 0; i < checkpointer->expected_count; i++) {
        checkpointer->expected[i].take->outdated = true;
    }
}

void ik_checkpointer_restart(ik_checkpointer_t *checkpointer)
{
    for (size_t i = 0; i < checkpointer->expected_count; i++) {
        talloc_free(checkpointer->expected[i].take);
    }
    checkpointer->expected_count = 0;
    json_object_clear(checkpointer->told);
    checkpointer->seen = checkpointer->beyond = checkpointer->too_slow = false;
    TALLOC_FREE(checkpointer->notice);
}

int64_t ik_checkpointer_busy_ms(const ik_checkpointer_t *checkpointer)
{
    return checkpointer->running == 0 ? -1 : ik_clock_now_ms() - checkpointer->since_ms;
}
