/*
 * Questions to the user. One about a tool call, or of a tool, is shown above the draft until it is
 * answered, and a key answers it. Any other question is printed, and a line answers it. While the
 * user is typing, keys still go to the message or the search.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/sanitiser.h"
#include "base/width.h"
#include "conversation/tool_fields.h"
#include "repl/repl_running.h"
#include "repl/repl_state.h"

enum {
    TYPING_MS = 500,     /* since the last key: the user is typing */
    ROWS_MAX = 200,      /* kept of a call; the pager shows all */
    LINE_COLUMNS = 1000, /* of the arguments in plain mode */
    REASON_ROWS = 2,     /* at most, where there is little room */
    SHOWN_FIRST = 3,     /* rows of the call that are shown before the reason */
    RESERVED = 4,        /* rows in a low window: title, call, how much more there is, keys */
    TITLE_ROWS = 4,      /* of the first line of a tool's question */
    KEYS_MAX = 9,        /* choices that a digit takes */
};

struct ik_repl_question {
    ik_timer_t *pause; /* until the user has stopped typing */
    bool due;          /* it has to be opened */
    bool open;         /* keys answer it */
    int64_t key_ms;    /* when the last key came that answered a question */

    /* the call that is asked about, or the question of a tool; NULL: none */
    void *copy;
    const ik_question_t *asked; /* of a tool; NULL: a call is asked about */
    ik_repl_call_t call;
    const char *reason;
    const char *wants;
    const char *rule;
    int64_t agent;

    /* its rows, rendered for this width; 0: not yet */
    int columns;
    ik_buffer_t rows;
    size_t ends[ROWS_MAX];
    size_t count; /* also of rows beyond ROWS_MAX */
};

/* --- what is shown ----------------------------------------------------------------------- */

static void keep_row(void *data, const char *bytes, size_t len)
{
    ik_repl_question_t *question = data;
    if (question->count < ROWS_MAX) {
        ik_buffer_append(&question->rows, bytes, len);
        question->ends[question->count] = question->rows.len;
    }
    question->count++;
}

/* The user decides about all bytes of a call, so control characters and NUL are shown, too. */
static char *write_out_value(const void *ctx, const ik_tool_field_t *field)
{
    size_t len;
    const char *value = ik_tool_fields_format_value(ctx, field, &len);
    return ik_sanitise_write_out(ctx, value, len);
}

static char *write_out_name(const void *ctx, const ik_tool_field_t *field)
{
    const ik_tool_field_t name = {.value = field->key};
    return write_out_value(ctx, &name);
}

static void add_argument(const ik_rows_t *rows, const ik_tool_field_t *field)
{
    void *scratch = talloc_new(NULL);
    const char *at = write_out_value(scratch, field);
    char *name = write_out_name(scratch, field);
    for (bool first = true; first || *at != '\0'; first = false) {
        size_t line = strcspn(at, "\n");
        ik_rows_say(
            rows, IK_ROLE_TEXT,
            ik_sprintf(scratch, "  %s%s%.*s", first ? name : "", first ? ": " : "", (int)line, at));
        at += line;
        at += *at == '\n';
    }
    talloc_free(scratch);
}

/* Every argument with its whole value, wrapped. A command comes first, because there may be room
 * for one row only; the reason is shown by itself. */
static void add_arguments(const ik_repl_question_t *question, const ik_rows_t *rows)
{
    ik_tool_fields_t fields;
    if (!ik_tool_fields_of_arguments(question->call.arguments, question->call.arguments_len,
                                     &fields)) {
        ik_rows_say(rows, IK_ROLE_TEXT, question->call.arguments);
        return;
    }
    const ik_tool_field_t *command = ik_tool_fields_find(&fields, "command");
    if (command != NULL) {
        add_argument(rows, command);
    }
    for (size_t i = 0; i < fields.count; i++) {
        const ik_tool_field_t *field = &fields.fields[i];
        bool is_reason = question->reason != NULL && ik_json_key_is(field->key, "reason");
        if (field != command && !is_reason) {
            add_argument(rows, field);
        }
    }
}

/* The lines of a tool's question after the first one, and its choices. */
static void add_question(const ik_question_t *asked, const ik_rows_t *rows)
{
    void *scratch = talloc_new(NULL);
    const char *at = asked->text + strcspn(asked->text, "\n");
    while (*at == '\n') {
        size_t line = strcspn(++at, "\n");
        ik_rows_say(rows, IK_ROLE_TEXT, ik_sprintf(scratch, "  %.*s", (int)line, at));
        at += line;
    }
    for (size_t i = 0; asked->choices != NULL && asked->choices[i] != NULL; i++) {
        char *choice = ik_sanitise_line(scratch, asked->choices[i]);
        ik_rows_say(rows, IK_ROLE_TEXT, ik_sprintf(scratch, "  %zu  %s", i + 1, choice));
    }
    talloc_free(scratch);
}

static void add_body(const ik_repl_question_t *question, const ik_rows_t *rows)
{
    if (question->asked != NULL) {
        add_question(question->asked, rows);
    } else if (ik_repl_running_is_change(&question->call)) {
        ik_repl_rows_tool(rows, &question->call, NULL);
    } else {
        add_arguments(question, rows);
    }
}

static void render(ik_repl_question_t *question, ik_view_t *view)
{
    ik_rows_t rows = ik_view_rows(view);
    if (question->columns == rows.columns) {
        return;
    }
    question->columns = rows.columns;
    question->rows.len = 0;
    question->count = 0;
    rows.folder = NULL;
    rows.backlog = NULL;
    rows.brief = false;
    rows.on_row = keep_row;
    rows.data = question;
    add_body(question, &rows);
}

/* "Allow bash? (agent 2) allows: network. 1 more question waits."; "deploy asks (agent 2): Where?"
 */
static char *format_title(const void *ctx, const ik_repl_t *repl, int columns)
{
    const ik_repl_question_t *question = repl->question;
    size_t waiting = ik_workspace_questions_waiting(repl->workspace);
    bool several = ik_workspace_agent_count(repl->workspace) > 1;
    const char *name = ik_workspace_agent_name(repl->workspace, question->agent);
    char *who = several ? ik_sprintf(ctx, " (agent %lld%s%s%s)", (long long)question->agent,
                                     name == NULL ? "" : " ",
                                     name == NULL ? "" : ik_sanitise_line(ctx, name),
                                     question->agent == ik_workspace_focus(repl->workspace)
                                         ? ""
                                         : ", in the background")
                        : ik_strdup(ctx, "");
    char *more = waiting == 0 ? ik_strdup(ctx, "")
                              : ik_sprintf(ctx, ". %zu more question%s.", waiting,
                                           waiting == 1 ? " waits" : "s wait");
    if (question->asked != NULL) {
        const char *text = question->asked->text;
        ik_buffer_t fit;
        ik_buffer_init(&fit, ctx, IK_BUFFER_UNLIMITED); /* bounded by the columns */
        ik_width_append(&fit, ik_strndup(ctx, text, strcspn(text, "\n")),
                        (size_t)columns * TITLE_ROWS, IK_WIDTH_KEEP_START);
        return ik_sprintf(ctx, "%s asks%s: %s%s", question->asked->tool, who,
                          ik_buffer_finish(&fit),
                          waiting == 0 ? "" : ik_sprintf(ctx, " (%zu more)", waiting));
    }
    return ik_sprintf(ctx, "Allow %s?%s allows: %s%s", question->call.name, who, question->wants,
                      more);
}

/* "1-3 choose · or type an answer · Enter: staging · Esc declines" */
static char *format_choice_keys(const void *ctx, const ik_question_t *asked, size_t columns,
                                bool plain)
{
    size_t count = 0;
    while (asked->choices != NULL && asked->choices[count] != NULL) {
        count++;
    }
    ik_buffer_t keys;
    ik_buffer_init(&keys, ctx, IK_BUFFER_UNLIMITED); /* bounded by the columns */
    if (count == 1) {
        ik_buffer_append_text(&keys, "1 chooses · or ");
    } else if (count > 0) {
        ik_buffer_append_format(&keys, "1-%zu%s chooses · or ", count,
                                count > KEYS_MAX ? " and Enter" : "");
    }
    ik_buffer_append_text(&keys, "type an answer");
    if (asked->fallback_text != NULL) {
        ik_buffer_append_text(&keys, " · Enter: ");
        ik_width_append(&keys, ik_sanitise_line(ctx, asked->fallback_text), columns / 2,
                        IK_WIDTH_KEEP_START);
    }
    ik_buffer_append_text(&keys, plain ? " · Esc and Enter declines" : " · Esc declines");
    return ik_buffer_finish(&keys);
}

/* A long rule is cut: it repeats the command, and the pager shows it. */
static char *format_keys(const void *ctx, const ik_repl_question_t *question, int columns)
{
    if (question->asked != NULL) {
        return format_choice_keys(ctx, question->asked, (size_t)columns, false);
    }
    ik_buffer_t always;
    ik_buffer_init(&always, ctx, IK_BUFFER_UNLIMITED); /* bounded by the columns */
    ik_buffer_append_text(&always, question->rule == NULL ? "" : " · a always: ");
    if (question->rule != NULL) {
        ik_width_append(&always, ik_sanitise_line(ctx, question->rule), (size_t)columns / 2,
                        IK_WIDTH_KEEP_START);
    }
    return ik_sprintf(ctx, "y once%s · n no · Esc stop · or type what to do instead",
                      ik_buffer_finish(&always));
}

/* A long reason is cut. */
static void add_reason(const ik_repl_question_t *question, const ik_rows_t *rows)
{
    void *scratch = talloc_new(NULL);
    if (question->reason != NULL) {
        char *reason = ik_sprintf(scratch, "  reason: %s", question->reason);
        ik_buffer_t fit;
        ik_buffer_init(&fit, scratch, IK_BUFFER_UNLIMITED); /* bounded by the columns */
        reason = ik_sanitise_line(scratch, reason);
        ik_width_append(&fit, reason, (size_t)rows->columns * REASON_ROWS - REASON_ROWS,
                        IK_WIDTH_KEEP_START);
        ik_rows_say(rows, IK_ROLE_DIM, ik_buffer_finish(&fit));
    }
    talloc_free(scratch);
}

/* The parts of a question, from top to bottom. */
typedef enum { TITLE, BODY, MORE, REASON, KEYS, PARTS } part_t;

/* How many rows each part has, or how many of them are shown. */
typedef struct {
    int rows[PARTS];
} plan_t;

static void add_part(ik_repl_t *repl, part_t part, int hidden, const ik_rows_t *rows)
{
    const ik_repl_question_t *question = repl->question;
    void *scratch = talloc_new(NULL);
    switch (part) {
    case TITLE:
        ik_rows_say(rows, IK_ROLE_WARNING, format_title(scratch, repl, rows->columns));
        break;
    case BODY:
        for (size_t i = 0; i < question->count && i < ROWS_MAX; i++) {
            size_t begin = i == 0 ? 0 : question->ends[i - 1];
            rows->on_row(rows->data, question->rows.data + begin, question->ends[i] - begin);
        }
        break;
    case MORE:
        ik_rows_say(
            rows, IK_ROLE_DIM,
            ik_sprintf(scratch, "  … %d more row%s, Ctrl-O", hidden, hidden == 1 ? "" : "s"));
        break;
    case REASON:
        add_reason(question, rows);
        break;
    case KEYS:
        ik_rows_say(rows, IK_ROLE_DIM, format_keys(scratch, question, rows->columns));
        break;
    case PARTS:
        break;
    }
    talloc_free(scratch);
}

/* Passes on the first rows. */
typedef struct {
    int left;
    int count; /* of all rows */
    ik_rows_fn on_row;
    void *data;
} first_rows_t;

static void on_first_row(void *data, const char *bytes, size_t len)
{
    first_rows_t *first = data;
    if (first->count++ < first->left) {
        first->on_row(first->data, bytes, len);
    }
}

static void show_more(plan_t *shown, const plan_t *whole, part_t part, int wanted, int *room)
{
    int most = whole->rows[part] - shown->rows[part];
    int added = wanted < most ? wanted : most;
    added = added < *room ? added : *room;
    shown->rows[part] += added;
    *room -= added;
}

/* Shares the rows among the parts. The beginning of the call comes first and much of it before the
 * reason, which the model writes. What is missing of the title and the keys is in the hint. */
static plan_t share_rows(const plan_t *whole, int room)
{
    plan_t shown = {0};
    /* a single row is better used for a call of one row than for how much more there is */
    show_more(&shown, whole, MORE, room > 1 || whole->rows[BODY] != 1, &room);
    show_more(&shown, whole, BODY, 1, &room);
    show_more(&shown, whole, TITLE, room, &room);
    show_more(&shown, whole, KEYS, room, &room);
    show_more(&shown, whole, BODY, SHOWN_FIRST - 1, &room);
    show_more(&shown, whole, REASON, whole->rows[REASON] <= room ? room : 0, &room);
    show_more(&shown, whole, BODY, ROWS_MAX - SHOWN_FIRST, &room);
    return shown;
}

/* Rows of the call and the reason that are left out. */
static int count_hidden(const plan_t *whole, const plan_t *shown)
{
    return whole->rows[BODY] - shown->rows[BODY] + whole->rows[REASON] - shown->rows[REASON];
}

void ik_repl_question_draw(ik_repl_t *repl, int max_rows, ik_rows_fn on_row, void *data)
{
    ik_repl_question_t *question = repl->question;
    if (question->copy == NULL || ik_view_prompt(repl->view) == NULL) {
        return;
    }
    ik_rows_t rows = ik_view_rows(repl->view);
    first_rows_t first = {.on_row = on_row, .data = data};
    plan_t whole = {0};
    rows.backlog = NULL;
    rows.on_row = on_first_row;
    rows.data = &first;
    render(question, repl->view);
    for (part_t part = TITLE; part < PARTS; part++) {
        first.count = 0;
        add_part(repl, part, 0, &rows);
        whole.rows[part] = first.count;
    }
    whole.rows[BODY] = (int)question->count;
    whole.rows[MORE] = 0;
    plan_t shown = share_rows(&whole, max_rows);
    if (count_hidden(&whole, &shown) > 0) {
        whole.rows[MORE] = 1;
        shown = share_rows(&whole, max_rows);
    }
    for (part_t part = TITLE; part < PARTS; part++) {
        first.count = 0;
        first.left = shown.rows[part];
        add_part(repl, part, count_hidden(&whole, &shown), &rows);
    }
}

static void render_page(void *data, size_t part, int columns, ik_pager_row_fn on_row,
                        void *row_data)
{
    const ik_repl_t *repl = data;
    const ik_repl_question_t *question = repl->question;
    ik_rows_t rows = ik_view_rows(repl->view);
    (void)part;
    rows.columns = columns;
    rows.full = true;
    rows.folder = NULL;
    rows.backlog = NULL;
    rows.on_row = on_row;
    rows.data = row_data;
    void *scratch = talloc_new(NULL);
    ik_rows_say(&rows, IK_ROLE_WARNING, format_title(scratch, repl, rows.columns));
    add_body(question, &rows);
    if (question->reason != NULL) {
        ik_rows_say(&rows, IK_ROLE_DIM, ik_sprintf(scratch, "  reason: %s", question->reason));
    }
    if (question->rule != NULL) {
        ik_rows_say(&rows, IK_ROLE_DIM, ik_sprintf(scratch, "  rule: %s", question->rule));
    }
    talloc_free(scratch);
}

bool ik_repl_question_open_pager(ik_repl_t *repl)
{
    if (repl->question->copy == NULL) {
        return false;
    }
    ik_pager_source_t source = {
        .count = 1, .render = render_page, .data = repl, .from_start = true};
    ik_view_open_pager(repl->view, &source, "question");
    return true;
}

/* --- plain mode -------------------------------------------------------------------------- */

/* A tool's question, its choices, and the keys as the mark of the line. */
static void ask_question(ik_repl_t *repl)
{
    const ik_repl_question_t *question = repl->question;
    void *scratch = talloc_new(NULL);
    ik_rows_t rows = ik_view_rows(repl->view);
    ik_rows_say(&rows, IK_ROLE_WARNING, format_title(scratch, repl, LINE_COLUMNS));
    add_question(question->asked, &rows);
    ik_view_ask(repl->view,
                ik_sprintf(scratch, "[%s] ",
                           format_choice_keys(scratch, question->asked, LINE_COLUMNS, true)));
    talloc_free(scratch);
}

/* The whole question as one line; a change to a file is printed before it. */
static void ask_line(ik_repl_t *repl)
{
    const ik_repl_question_t *question = repl->question;
    void *scratch = talloc_new(NULL);
    ik_tool_fields_t fields;
    ik_buffer_t line;
    ik_buffer_init(&line, scratch, IK_BUFFER_UNLIMITED); /* bounded by LINE_COLUMNS */
    if (ik_repl_running_is_change(&question->call)) {
        ik_rows_t rows = ik_view_rows(repl->view);
        ik_repl_rows_tool(&rows, &question->call, NULL);
    } else if (ik_tool_fields_of_arguments(question->call.arguments, question->call.arguments_len,
                                           &fields)) {
        for (size_t i = 0; i < fields.count; i++) {
            const ik_tool_field_t *field = &fields.fields[i];
            if (!(question->reason != NULL && ik_json_key_is(field->key, "reason"))) {
                ik_buffer_append_format(&line, " %s: %s;", write_out_name(scratch, field),
                                        write_out_value(scratch, field));
            }
        }
    }
    ik_buffer_append_text(&line, "");
    ik_buffer_t cut;
    ik_buffer_init(&cut, scratch, IK_BUFFER_UNLIMITED); /* bounded by LINE_COLUMNS */
    ik_width_append(&cut, ik_sanitise_line(scratch, ik_buffer_finish(&line)), LINE_COLUMNS,
                    IK_WIDTH_KEEP_START);
    ik_buffer_append_text(&cut, "");
    char *always = question->rule == NULL ? ik_strdup(scratch, "")
                                          : ik_sprintf(scratch, ", a always (%s)",
                                                       ik_sanitise_line(scratch, question->rule));
    char *reason =
        question->reason == NULL
            ? ik_strdup(scratch, "")
            : ik_sprintf(scratch, " reason: %s;", ik_sanitise_line(scratch, question->reason));
    ik_view_ask(repl->view, ik_sprintf(scratch, "%s;%s%s [y once%s, n no, or what to do instead] ",
                                       format_title(scratch, repl, LINE_COLUMNS),
                                       ik_buffer_finish(&cut), reason, always));
    talloc_free(scratch);
}

/* --- asking ------------------------------------------------------------------------------ */

/* A message is being typed, or the pattern of a search or a list. */
static bool is_typing(const ik_repl_t *repl)
{
    const ik_prompt_t *prompt = ik_view_prompt(repl->view);
    int64_t last = ik_view_key_ms(repl->view);
    return (!ik_prompt_is_empty(prompt) || ik_prompt_has_list(prompt)) &&
           last > repl->question->key_ms && ik_clock_now_ms() - last < TYPING_MS;
}

static char *first_letters(const void *ctx, const char *const *choices)
{
    ik_buffer_t letters;
    ik_buffer_init(&letters, ctx, IK_BUFFER_UNLIMITED); /* a letter per choice */
    for (size_t i = 0; choices[i] != NULL; i++) {
        ik_buffer_append_byte(&letters, choices[i][0]);
    }
    return ik_buffer_finish(&letters);
}

/* Gives the input line to a question that was printed. */
static void open_printed(ik_repl_t *repl, const ik_question_t *asked)
{
    char *hint = ik_workspace_question_hint(repl, asked);
    if (asked->secret) {
        ik_view_ask_secret(repl->view, "> ");
    } else if (asked->keys) {
        char *keys = first_letters(repl, asked->choices);
        ik_view_ask_keys(repl->view, hint, keys);
        talloc_free(keys);
    } else {
        ik_view_ask(repl->view, hint);
    }
    repl->question->open =
        ik_view_prompt(repl->view) != NULL && repl->setup == NULL && !asked->secret;
    talloc_free(hint);
}

/* Gives the keys to the question, unless the user is typing. */
static void open_when_ready(ik_repl_t *repl)
{
    ik_repl_question_t *question = repl->question;
    if (!question->due) {
        return;
    }
    if (is_typing(repl)) {
        ik_timer_start(question->pause, ik_view_key_ms(repl->view) + TYPING_MS - ik_clock_now_ms());
        return;
    }
    ik_timer_stop(question->pause);
    question->due = false;
    if (question->copy == NULL) {
        open_printed(repl, ik_workspace_question(repl->workspace));
        return;
    }
    question->open = true;
    /* in a window without room for the question above, the hint is all there is */
    char *hint;
    if (question->asked != NULL) {
        static const char digits[] = "123456789";
        char *keys = ik_strdup(NULL, "");
        size_t count = 0;
        while (question->asked->choices != NULL && question->asked->choices[count] != NULL) {
            count++;
        }
        if (count <= KEYS_MAX) {
            talloc_free(keys);
            keys = ik_strndup(NULL, digits, count);
        }
        ik_view_ask_keys(repl->view, "> ", keys);
        hint = ik_sanitise_line(NULL, question->asked->text);
        talloc_free(keys);
    } else {
        ik_view_ask_keys(repl->view, "> ", question->rule == NULL ? "yn" : "yan");
        hint = ik_sprintf(NULL, "Allow %s (%s)? %s", question->call.name, question->wants,
                          question->rule == NULL ? "y, n" : "y, a, n");
    }
    ik_prompt_set_hint(ik_view_prompt(repl->view), hint);
    talloc_free(hint);
    ik_view_touch(repl->view);
}

static void on_pause(void *data)
{
    open_when_ready(data);
}

void ik_repl_question_draft_changed(ik_repl_t *repl)
{
    if (ik_view_prompt(repl->view) != NULL) {
        open_when_ready(repl);
    }
}

/* Its texts live as long as the question is open. */
static void copy_question(ik_repl_t *repl, const ik_question_t *asked)
{
    ik_repl_question_t *question = repl->question;
    ik_question_t *copy = ik_new(question, ik_question_t);
    *copy = *asked;
    question->copy = copy;
    question->asked = copy;
    question->agent = asked->agent;
    question->reason = question->rule = NULL;
    question->columns = 0;
    ik_view_reserve_activity(repl->view, RESERVED);
}

static void copy_call(ik_repl_t *repl, const ik_permission_question_t *asked)
{
    ik_repl_question_t *question = repl->question;
    void *copy = talloc_new(question);
    question->copy = copy;
    question->agent = asked->agent;
    question->reason = asked->reason == NULL ? NULL : ik_strdup(copy, asked->reason);
    question->wants = ik_strdup(copy, asked->wants);
    question->rule = asked->rule == NULL ? NULL : ik_strdup(copy, asked->rule);
    question->call =
        (ik_repl_call_t){.name = ik_strdup(copy, asked->tool),
                         .arguments = ik_strndup(copy, asked->arguments, asked->arguments_len),
                         .arguments_len = asked->arguments_len};
    question->columns = 0;
    ik_view_reserve_activity(repl->view, RESERVED);
    ik_repl_running_read_file(copy, &question->call, repl->options->paths->cwd);
}

/* Ends what was asked before. Text that was typed as an answer returns to the draft. */
static void forget(ik_repl_t *repl)
{
    ik_repl_question_t *question = repl->question;
    ik_prompt_t *prompt = ik_view_prompt(repl->view);
    char *text =
        question->open && !ik_prompt_is_empty(prompt) ? ik_prompt_take(NULL, prompt) : NULL;
    if (question->open) {
        ik_prompt_set_hint(prompt, NULL);
    }
    if (question->open && text == NULL) { /* else the user is still typing */
        question->key_ms = ik_view_key_ms(repl->view);
    }
    if (question->copy != NULL) {
        ik_view_close_pager(repl->view); /* it may show the call */
    }
    ik_timer_stop(question->pause);
    question->due = false;
    TALLOC_FREE(question->copy);
    question->asked = NULL;
    ik_view_reserve_activity(repl->view, 0);
    if (text != NULL) {
        ik_prompt_prepend_text(prompt, text);
    }
    talloc_free(text);
}

void ik_repl_question_show(ik_repl_t *repl)
{
    const ik_question_t *asked = ik_workspace_question(repl->workspace);
    forget(repl);
    bool call = asked != NULL && (asked->call != NULL || asked->tool != NULL);
    if (!call || ik_view_prompt(repl->view) != NULL) {
        repl->question->open = false;
        if (asked == NULL || call) {
            ik_view_ask(repl->view, NULL); /* the draft returns */
        }
    }
    if (repl->setup != NULL && asked == NULL) {
        ik_setup_resume(repl->setup);
    } else if (repl->setup != NULL) {
        ik_setup_pause(repl->setup);
    }
    if (asked == NULL) {
        return;
    }
    if (call) {
        bool of_tool = asked->tool != NULL;
        if (of_tool) {
            copy_question(repl, asked);
        } else {
            copy_call(repl, asked->call);
        }
        if (ik_view_prompt(repl->view) != NULL) {
            repl->question->due = true;
            open_when_ready(repl);
        } else if (of_tool) {
            ask_question(repl);
        } else {
            ask_line(repl);
        }
    } else {
        if (asked->secret) {
            ik_view_hide_input(repl->view);
        }
        ik_repl_say(repl, IK_ROLE_WARNING, asked->text);
        if (ik_view_prompt(repl->view) != NULL && repl->setup == NULL) {
            repl->question->due = true;
            open_when_ready(repl);
        } else {
            open_printed(repl, asked);
        }
    }
    ik_view_notify(repl->view, asked->text);
}

/* --- answering --------------------------------------------------------------------------- */

/* Whether the row of the call shows the question and its answer. */
static bool shows_question(const ik_repl_t *repl, const char *tool)
{
    const ik_tool_registry_entry_t *entry =
        ik_tool_registry_lookup(ik_workspace_shared(repl->workspace)->tool_registry, tool);
    return entry != NULL && entry->source == IK_TOOL_SYSTEM && strcmp(tool, "ask_user") == 0;
}

/* Prints the question with its answer, which leave the live area. */
static void answer_tool(ik_repl_t *repl, const char *text)
{
    const ik_question_t *asked = ik_workspace_question(repl->workspace);
    void *scratch = talloc_new(NULL);
    const char *answer = ik_workspace_resolve_answer(asked, text);
    bool plain = ik_view_prompt(repl->view) == NULL;
    if (answer != NULL && !plain && !shows_question(repl, asked->tool)) {
        char *line = ik_strndup(scratch, asked->text, strcspn(asked->text, "\n"));
        ik_view_begin_block(repl->view);
        ik_repl_say(repl, IK_ROLE_DIM,
                    ik_sprintf(scratch, "%s asked: %s %s", asked->tool, line,
                               ik_sanitise_line(scratch, answer)));
    }
    char *copy = ik_strdup(scratch, text);
    ik_workspace_answer(repl->workspace, copy);
    if (answer == NULL && plain) {
        ask_question(repl);
    }
    talloc_free(scratch);
}

void ik_repl_question_answer(ik_repl_t *repl)
{
    char key = ik_prompt_answer(ik_view_prompt(repl->view));
    if (repl->question->asked != NULL) {
        answer_tool(repl, (char[]){key, '\0'});
        return;
    }
    if (ik_workspace_question(repl->workspace)->call == NULL) {
        ik_workspace_answer(repl->workspace, (char[]){key, '\0'});
        return;
    }
    if (key == 'a') {
        char *line = ik_sprintf(repl,
                                "Allowed in this project from now on: %s. /permissions lists "
                                "the rules.",
                                repl->question->rule);
        ik_view_begin_block(repl->view);
        ik_repl_say(repl, IK_ROLE_DIM, line);
        talloc_free(line);
    }
    ik_workspace_answer_call(repl->workspace,
                             key == 'y'   ? IK_PERMISSION_YES
                             : key == 'a' ? IK_PERMISSION_ALWAYS
                                          : IK_PERMISSION_NO,
                             NULL);
}

bool ik_repl_question_submit(ik_repl_t *repl, const char *text)
{
    const ik_question_t *asked = ik_workspace_question(repl->workspace);
    if (asked == NULL || repl->done) {
        return false;
    }
    bool plain = ik_view_prompt(repl->view) == NULL;
    if (repl->question->due) {
        return false; /* a message that was being typed */
    }
    if (asked->tool == NULL && (asked->call == NULL || plain)) {
        ik_workspace_answer(repl->workspace, text);
        return true;
    }
    if (asked->tool != NULL && plain && strcmp(text, "\x1b") == 0) {
        ik_workspace_decline(repl->workspace); /* the key is part of the line */
        return true;
    }
    if (asked->tool != NULL) {
        answer_tool(repl, text);
        return true;
    }
    const char *trimmed = text + strspn(text, " \t\n");
    if (*trimmed != '\0') {
        char *copy = ik_strdup(NULL, trimmed);
        ik_workspace_answer_call(repl->workspace, IK_PERMISSION_NO, copy);
        talloc_free(copy);
    }
    return true;
}

ik_repl_question_t *ik_repl_question_create(ik_repl_t *repl)
{
    ik_repl_question_t *question = ik_new(repl, ik_repl_question_t);
    question->pause = ik_timer_create(question, repl->options->loop, on_pause, repl);
    ik_buffer_init(&question->rows, question, IK_BUFFER_UNLIMITED); /* bounded by ROWS_MAX rows */
    return question;
}
