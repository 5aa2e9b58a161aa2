#include "repl/repl_running.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "conversation/tool_fields.h"
#include "terminal/code_rows.h"

enum {
    TAIL_ROWS = 3,
    WAITING_ROWS = 3,
    TAIL_BYTES = 4096,
    BEFORE_MAX = 256 * 1024, /* bytes of a file that a call changes */
};

typedef struct {
    char *id;
    ik_repl_call_t call;
    bool parallel;
    int64_t started_ms;    /* 0: waiting */
    char tail[TAIL_BYTES]; /* the end of its progress output */
    size_t tail_len;
} run_t;

struct ik_repl_running {
    run_t **runs;
    size_t count;
};

ik_repl_running_t *ik_repl_running_create(const void *ctx)
{
    return ik_new(ctx, ik_repl_running_t);
}

bool ik_repl_running_is_change(const ik_repl_call_t *call)
{
    const char *name = call->name == NULL ? "" : call->name;
    return strcmp(name, "file_write") == 0 || strcmp(name, "file_edit") == 0;
}

void ik_repl_running_read_file(const void *ctx, ik_repl_call_t *call, const char *folder)
{
    ik_tool_fields_t arguments;
    if (!ik_repl_running_is_change(call) || call->arguments == NULL ||
        !ik_tool_fields_of_arguments(call->arguments, call->arguments_len, &arguments)) {
        return;
    }
    const ik_tool_field_t *field = ik_tool_fields_find(&arguments, "file_path");
    size_t len;
    char *path = field == NULL ? NULL : ik_tool_fields_format_value(ctx, field, &len);
    if (path == NULL) {
        return;
    }
    if (*path != '/') {
        path = ik_sprintf(ctx, "%s/%s", folder, path);
    }
    char *bytes;
    res_t read = ik_file_read(ctx, path, BEFORE_MAX, &bytes, &call->before_len);
    if (is_ok(&read)) {
        call->before = bytes;
    } else if (read.code == IK_ERR_NOT_FOUND) {
        call->before = ""; /* a new file */
    }
}

static size_t find(const ik_repl_running_t *running, const ik_msg_t *message, const char *field)
{
    char *id = ik_msg_field_text(NULL, message, field);
    size_t i = 0;
    while (i < running->count &&
           (id == NULL || running->runs[i]->id == NULL || strcmp(running->runs[i]->id, id) != 0)) {
        i++;
    }
    talloc_free(id);
    return i;
}

static run_t *add(ik_repl_running_t *running, const ik_shared_ctx_t *shared, const ik_msg_t *call)
{
    run_t *run = ik_new(running, run_t);
    run->id = ik_msg_field_text(run, call, "id");
    ik_repl_rows_fill_call(run, call, &run->call);
    const ik_tool_registry_entry_t *entry =
        shared->tool_registry == NULL || run->call.name == NULL
            ? NULL
            : ik_tool_registry_lookup(shared->tool_registry, run->call.name);
    run->parallel = entry != NULL && entry->schema->parallel;
    run->call.source = entry == NULL || entry->source == IK_TOOL_SYSTEM
                           ? NULL
                           : ik_tool_source_name(entry->source);
    running->runs = ik_resize_array(running, running->runs, run_t *, running->count + 1);
    running->runs[running->count++] = run;
    return run;
}

void ik_repl_running_wait(ik_repl_running_t *running, const ik_shared_ctx_t *shared,
                          const ik_msg_t *call)
{
    add(running, shared, call);
}

void ik_repl_running_start(ik_repl_running_t *running, const ik_shared_ctx_t *shared,
                           const ik_msg_t *call)
{
    size_t i = find(running, call, "id");
    run_t *run = i < running->count ? running->runs[i] : add(running, shared, call);
    run->started_ms = ik_clock_now_ms();
    ik_repl_running_read_file(run, &run->call, shared->tool_context.folder);
}

/* Keeps the last TAIL_BYTES bytes of the progress output. */
static void keep_tail(run_t *run, const char *text, size_t len)
{
    if (len > TAIL_BYTES) {
        text += len - TAIL_BYTES;
        len = TAIL_BYTES;
    }
    size_t over = run->tail_len + len > TAIL_BYTES ? run->tail_len + len - TAIL_BYTES : 0;
    memmove(run->tail, run->tail + over, run->tail_len - over);
    memcpy(run->tail + run->tail_len - over, text, len);
    run->tail_len += len - over;
}

void ik_repl_running_progress(ik_repl_running_t *running, const ik_msg_t *call, const char *text,
                              size_t len)
{
    size_t i = find(running, call, "id");
    if (i < running->count) {
        keep_tail(running->runs[i], text, len);
    }
}

bool ik_repl_running_show(ik_repl_running_t *running, const ik_rows_t *rows,
                          const ik_msg_t *message, size_t number)
{
    ik_json_span_t output;
    size_t i = find(running, message, "tool_call_id");
    if (i == running->count || !ik_msg_field(message, "output", &output) ||
        !ik_json_is(output, IK_JSON_STRING)) {
        return false;
    }
    ik_repl_result_t result = {.number = number,
                               .wall_ms = ik_msg_field_number(message, "wall_ms", -1)};
    char *text = ik_json_decode(running, output, &result.output_len);
    result.display = ik_display_parse(ik_msg_field_text(text, message, "display"));
    result.output = text;
    ik_repl_rows_tool(rows, &running->runs[i]->call, &result);
    ik_repl_rows_images(rows, message);
    talloc_free(text);
    return true;
}

void ik_repl_running_end(ik_repl_running_t *running, const ik_msg_t *result)
{
    size_t i = find(running, result, "tool_call_id");
    if (i < running->count) {
        talloc_free(running->runs[i]);
        running->count--;
        memmove(running->runs + i, running->runs + i + 1,
                (running->count - i) * sizeof(*running->runs));
    }
}

void ik_repl_running_clear(ik_repl_running_t *running)
{
    talloc_free_children(running);
    running->runs = NULL;
    running->count = 0;
}

size_t ik_repl_running_count(const ik_repl_running_t *running)
{
    size_t count = 0;
    for (size_t i = 0; i < running->count; i++) {
        count += running->runs[i]->started_ms != 0;
    }
    return count;
}

/* --- the live area ----------------------------------------------------------------------- */

static void draw_run(const run_t *run, const ik_view_t *view, int tail_rows, ik_rows_fn on_row,
                     void *data)
{
    void *scratch = talloc_new(NULL);
    ik_row_t row;
    int64_t seconds = (ik_clock_now_ms() - run->started_ms) / 1000;
    ik_row_init(&row, scratch, ik_view_theme(view));
    ik_row_add_format(&row, IK_ROLE_DIM, "%llds ", (long long)seconds);
    ik_repl_rows_call_line(&row, &run->call);
    ik_row_end(&row);
    on_row(data, row.bytes.data, row.bytes.len);
    if (tail_rows > 0 && run->tail_len > 0) {
        size_t begin = ik_rows_find_tail(run->tail, run->tail_len, tail_rows);
        ik_code_rows_output(row.theme, run->tail + begin, run->tail_len - begin, (size_t)tail_rows,
                            0, on_row, data);
    }
    talloc_free(scratch);
}

/* Says why a call waits: calls start in order, and only adjacent parallel ones overlap. */
static void add_reason(ik_row_t *row, const run_t *run, const run_t *before)
{
    const run_t *alone = !run->parallel ? run : before != NULL && !before->parallel ? before : NULL;
    if (alone != NULL && alone->call.name != NULL) {
        ik_row_add_role(row, IK_ROLE_DIM, "waiting, ");
        ik_row_add_role(row, IK_ROLE_DIM, alone->call.name);
        ik_row_add_role(row, IK_ROLE_DIM, " runs alone: ");
    } else {
        ik_row_add_role(row, IK_ROLE_DIM, "waiting for its turn: ");
    }
}

static void draw_waiting(const ik_repl_running_t *running, const ik_view_t *view, int most,
                         ik_rows_fn on_row, void *data)
{
    void *scratch = talloc_new(NULL);
    ik_row_t row;
    size_t left = running->count - ik_repl_running_count(running);
    ik_row_init(&row, scratch, ik_view_theme(view));
    for (size_t i = 0; i < running->count && most > 0; i++) {
        const run_t *run = running->runs[i];
        if (run->started_ms != 0) {
            continue;
        }
        if (most == 1 && left > 1) {
            ik_row_add_format(&row, IK_ROLE_DIM, "… %zu more calls waiting", left);
        } else {
            add_reason(&row, run, i == 0 ? NULL : running->runs[i - 1]);
            ik_repl_rows_call_line(&row, &run->call);
        }
        ik_row_end(&row);
        on_row(data, row.bytes.data, row.bytes.len);
        ik_row_clear(&row);
        most--;
        left--;
    }
    talloc_free(scratch);
}

void ik_repl_running_draw(const ik_repl_running_t *running, const ik_view_t *view, int max_rows,
                          ik_rows_fn on_row, void *data)
{
    int active = (int)ik_repl_running_count(running);
    int waiting = (int)running->count - active;
    waiting = waiting > WAITING_ROWS ? WAITING_ROWS : waiting;
    int room = max_rows - active - waiting;
    waiting = room < 0 ? waiting + room : waiting;
    int tail = active == 0 ? 0 : room / active;
    for (size_t i = 0; i < running->count; i++) {
        if (running->runs[i]->started_ms != 0) {
            draw_run(running->runs[i], view, tail > TAIL_ROWS ? TAIL_ROWS : tail, on_row, data);
        }
    }
    draw_waiting(running, view, waiting, on_row, data);
}
