/* `ikigai session search`: finds messages, the best match first. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/print.h"
#include "cli/cli_history.h"
#include "cli/cli_session.h"
#include "cli/cli_terminal.h"
#include "store/session_lines.h"

enum { LIMIT = 20 };

typedef struct {
    const char *text;
    const char *session; /* NULL: all sessions */
    size_t limit;
    bool json;
} options_t;

/* --- for people -------------------------------------------------------------------------- */

static void print_snippet(const ik_store_snippet_t *snippet, bool highlight)
{
    size_t at = 0;
    fputs("    ", stdout);
    for (size_t i = 0; highlight && i < snippet->count; i++) {
        const ik_store_mark_t *mark = &snippet->marks[i];
        ik_print(stdout, snippet->text + at, mark->offset - at);
        fputs("\033[1m", stdout);
        ik_print(stdout, snippet->text + mark->offset, mark->len);
        fputs("\033[22m", stdout);
        at = mark->offset + mark->len;
    }
    ik_print_line(stdout, snippet->text + at);
}

static void print_hits(const ik_store_hits_t *hits)
{
    bool highlight = ik_cli_terminal_has_styles();
    for (size_t i = 0; i < hits->count; i++) {
        char *line = ik_session_lines_hit(NULL, &hits->hits[i], ik_cli_terminal_columns());
        ik_print_line(stdout, line);
        talloc_free(line);
        print_snippet(&hits->hits[i].snippet, highlight);
    }
    if (hits->count == 0) {
        fputs("No match.\n", stderr);
    }
}

/* --- for programs ------------------------------------------------------------------------ */

static void add_marks(ik_buffer_t *object, const ik_store_snippet_t *snippet)
{
    ik_json_begin_member(object, "marks");
    ik_buffer_append_byte(object, '[');
    for (size_t i = 0; i < snippet->count; i++) {
        ik_buffer_append_format(object, "%s[%zu,%zu]", i == 0 ? "" : ",", snippet->marks[i].offset,
                                snippet->marks[i].len);
    }
    ik_buffer_append_byte(object, ']');
}

static void print_json(const ik_store_hits_t *hits)
{
    ik_buffer_t line;
    ik_buffer_init(&line, hits, IK_BUFFER_UNLIMITED); /* bounded by the title */
    puts("[");
    for (size_t i = 0; i < hits->count; i++) {
        const ik_store_hit_t *hit = &hits->hits[i];
        line.len = 0;
        ik_json_add_text(&line, "session_id", hit->session_id);
        ik_json_add_text(&line, "title", hit->title);
        ik_json_add_text(&line, "cwd", hit->cwd);
        ik_json_add_number(&line, "agent", hit->agent);
        ik_json_add_number(&line, "seq", hit->seq);
        ik_cli_session_add_time(&line, "created", hit->created_us);
        ik_json_add_text(&line, "kind", hit->kind);
        ik_json_add_text(&line, "snippet", hit->snippet.text);
        add_marks(&line, &hit->snippet);
        ik_buffer_append_text(&line, i + 1 < hits->count ? "}," : "}");
        ik_print_json(stdout, line.data, line.len);
    }
    puts("]");
}

/* --- the command ------------------------------------------------------------------------- */

static res_t search(ik_cli_t *cli, ik_history_t *history, void *data)
{
    const options_t *options = data;
    ik_store_search_t wanted = {.text = options->text, .limit = options->limit};
    ik_store_session_t session;
    ik_store_hits_t *hits;
    if (options->session != NULL) {
        TRY(ik_history_find(cli->ctx, history, options->session, &session));
        wanted.session_id = session.id;
    }
    TRY(ik_history_search(cli->ctx, history, &wanted, &hits));
    if (options->json) {
        print_json(hits);
    } else {
        print_hits(hits);
    }
    return OK;
}

static const char *join(const void *ctx, const ik_cli_args_t *args)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED); /* bounded by argv */
    for (int i = 0; i < args->count; i++) {
        ik_buffer_append_format(&text, "%s%s", i == 0 ? "" : " ", args->args[i]);
    }
    return ik_buffer_finish(&text);
}

static int run_search(ik_cli_t *cli, const ik_cli_args_t *args)
{
    options_t options = {.text = join(cli->ctx, args),
                         .session = ik_cli_args_value(args, "--session"),
                         .limit = LIMIT,
                         .json = ik_cli_args_has(args, "--json")};
    res_t valid = ik_cli_args_number(args, "--limit", &options.limit);
    if (is_err(&valid)) {
        return ik_cli_misuse(args->command, valid.message);
    }
    return ik_cli_history_run(cli, args, search, &options);
}

const ik_cli_command_t ik_cli_session_search = {
    .name = "session search",
    .args = "TEXT...",
    .help =
        "Finds messages that contain all words; \"quoted words\" match a phrase, word* a prefix.",
    .options =
        (const ik_cli_option_t[]){
            {.name = "--session", .value = "ID", .help = "only in this session"},
            {.name = "--limit",
             .value = "N",
             .help = "the maximum number of matches; 20 by default"},
            IK_CLI_JSON_OPTION,
            IK_CLI_DB_OPTION,
            {0}},
    .min_args = 1,
    .max_args = IK_CLI_ANY_NUMBER,
    .run = run_search,
};
