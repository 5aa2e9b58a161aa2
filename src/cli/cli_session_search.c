/* `ikigai session search`: where something was said, the best places first. */
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
    const char *session; /* NULL: all of them */
    size_t limit;
    bool json;
} wish_t;

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

static void print_hit(const ik_store_hit_t *hit, bool highlight)
{
    char *line = ik_session_lines_hit(NULL, hit, ik_cli_terminal_columns());
    ik_print_line(stdout, line);
    talloc_free(line);
    print_snippet(&hit->snippet, highlight);
}

static void print_hits(const ik_store_hits_t *hits)
{
    bool highlight = ik_cli_terminal_has_styles();
    for (size_t i = 0; i < hits->count; i++) {
        print_hit(&hits->hits[i], highlight);
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
    ik_buffer_init(&line, hits, IK_BUFFER_UNLIMITED);
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
    const wish_t *wish = data;
    ik_store_search_t wanted = {.text = wish->text, .limit = wish->limit};
    ik_store_session_t session;
    ik_store_hits_t *hits;
    if (wish->session != NULL) {
        TRY(ik_history_find(cli->ctx, history, wish->session, &session));
        wanted.session_id = session.id;
    }
    TRY(ik_history_search(cli->ctx, history, &wanted, &hits));
    if (wish->json) {
        print_json(hits);
    } else {
        print_hits(hits);
    }
    return OK;
}

static const char *join(const void *ctx, const ik_cli_args_t *args)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    for (int i = 0; i < args->count; i++) {
        ik_buffer_append_format(&text, "%s%s", i == 0 ? "" : " ", args->args[i]);
    }
    return ik_buffer_finish(&text);
}

static int run_search(ik_cli_t *cli, const ik_cli_args_t *args)
{
    wish_t wish = {.text = join(cli->ctx, args),
                   .session = ik_cli_args_value(args, "--session"),
                   .limit = LIMIT,
                   .json = ik_cli_args_has(args, "--json")};
    res_t valid = ik_cli_args_number(args, "--limit", &wish.limit);
    if (is_err(&valid)) {
        return ik_cli_misuse(args->command, valid.message);
    }
    return ik_cli_history_run(cli, args, search, &wish);
}

const ik_cli_command_t ik_cli_session_search = {
    .name = "session search",
    .args = "TEXT...",
    .help =
        "Finds where all these words were said; \"words in quotes\" together, word* a beginning.",
    .options =
        (const ik_cli_option_t[]){
            {.name = "--session", .value = "ID", .help = "only in this session"},
            {.name = "--limit", .value = "N", .help = "at most so many places; 20 unless given"},
            IK_CLI_JSON_OPTION,
            IK_CLI_DB_OPTION,
            {0}},
    .min_args = 1,
    .max_args = IK_CLI_ANY_NUMBER,
    .run = run_search,
};
