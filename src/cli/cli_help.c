/* `ikigai help`: the manual on the screen, as Markdown, and as manual pages. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/cli_manual.h"
#include "cli/cli_manual_fit.h"
#include "cli/cli_roff.h"
#include "cli/cli_terminal.h"
#include "terminal/markdown.h"

enum {
    PIPE_COLUMNS = 80,
    MOST_COLUMNS = 100, /* longer lines are hard to read */
    PAGE_MAX = 16 * 1024 * 1024,
};

/* --- on the screen ----------------------------------------------------------------------- */

static void on_row(void *data, const char *bytes, size_t len)
{
    (void)data;
    fwrite(bytes, 1, len, stdout);
    putchar('\n');
}

static size_t choose_columns(void)
{
    size_t columns = ik_cli_terminal_columns();
    columns = columns == 0 ? PIPE_COLUMNS : columns;
    return columns < MOST_COLUMNS ? columns : MOST_COLUMNS;
}

static void print_rendered(const void *ctx, const char *markdown)
{
    ik_theme_t theme;
    size_t columns = choose_columns();
    bool styles = ik_cli_terminal_has_styles();
    ik_theme_init(&theme, IK_BACKGROUND_UNKNOWN, styles, styles);
    ik_markdown_options_t options = {
        .theme = &theme, .columns = (int)columns, .max_open = INT_MAX, .on_row = on_row};
    ik_markdown_t *rows = ik_markdown_create(ctx, &options);
    char *text = ik_cli_manual_fit(ctx, markdown, columns);
    ik_markdown_feed(rows, text, strlen(text));
    ik_markdown_end(rows);
}

static void print_overview(ik_cli_t *cli)
{
    size_t count;
    const ik_cli_topic_t *topics = ik_cli_manual_topics(cli->ctx, cli->paths, &count);
    ik_cli_print_help();
    puts("\nTopics:");
    for (size_t i = 0; i < count; i++) {
        printf("  %-15s %s\n", topics[i].name, topics[i].help);
    }
    puts("\nEvery command, option, key, variable, file and key of the configuration is a topic, "
         "too:\n"
         "ikigai help tool run, ikigai help -m, ikigai help /fork, ikigai help Ctrl-R.");
}

/* --- topics ------------------------------------------------------------------------------ */

static char *join_words(const void *ctx, const ik_cli_args_t *args)
{
    ik_buffer_t words;
    ik_buffer_init(&words, ctx, IK_BUFFER_UNLIMITED);
    for (int i = 0; i < args->count; i++) {
        ik_buffer_append_format(&words, "%s%s", i == 0 ? "" : " ", args->args[i]);
    }
    return ik_buffer_finish(&words);
}

static int show_topic(ik_cli_t *cli, const ik_cli_args_t *args)
{
    char *markdown;
    res_t found = ik_cli_manual_format(cli->ctx, cli->paths, join_words(cli->ctx, args), &markdown);
    if (is_err(&found)) {
        ik_cli_fail(found.message);
        return found.code == IK_ERR_NOT_FOUND ? IK_CLI_USAGE : IK_CLI_FAILED;
    }
    if (ik_cli_args_has(args, "--markdown")) {
        fputs(markdown, stdout);
    } else {
        print_rendered(cli->ctx, markdown);
    }
    return IK_CLI_DONE;
}

/* --- manual pages ------------------------------------------------------------------------ */

static const char *today(const void *ctx)
{
    char text[sizeof("2026-11-15")];
    time_t now = time(NULL);
    struct tm day;
    strftime(text, sizeof(text), "%Y-%m-%d", gmtime_r(&now, &day));
    return ik_strdup(ctx, text);
}

static res_t format_page(ik_cli_t *cli, const char *path, const char *date, char **page)
{
    char *text;
    size_t len;
    TRY(ik_file_read(cli->ctx, path, PAGE_MAX, &text, &len));
    TRY(ik_cli_manual_expand(cli->ctx, cli->paths, text, &text));
    return ik_cli_roff_format(cli->ctx, text, strlen(text), date, page);
}

static int print_page(ik_cli_t *cli, const char *path, const char *date)
{
    char *page;
    res_t made = format_page(cli, path, date == NULL ? today(cli->ctx) : date, &page);
    if (is_err(&made)) {
        return ik_cli_fail(made.message);
    }
    fputs(page, stdout);
    return IK_CLI_DONE;
}

static const char *find_misuse(const ik_cli_args_t *args)
{
    bool roff = ik_cli_args_has(args, "--roff");
    if (roff && (args->count > 0 || ik_cli_args_has(args, "--markdown"))) {
        return "--roff takes a file and no topic";
    }
    if (!roff && ik_cli_args_has(args, "--date")) {
        return "--date goes with --roff";
    }
    if (args->count == 0 && ik_cli_args_has(args, "--markdown")) {
        return "--markdown needs a topic";
    }
    return NULL;
}

static int run_help(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const char *misuse = find_misuse(args);
    if (misuse != NULL) {
        return ik_cli_misuse(args->command, misuse);
    }
    const char *page = ik_cli_args_value(args, "--roff");
    if (page != NULL) {
        return print_page(cli, page, ik_cli_args_value(args, "--date"));
    }
    if (args->count > 0) {
        return show_topic(cli, args);
    }
    print_overview(cli);
    return IK_CLI_DONE;
}

const ik_cli_command_t ik_cli_help = {
    .name = "help",
    .args = "[TOPIC...]",
    .help = "Shows the manual: a topic, or what there is.",
    .options =
        (const ik_cli_option_t[]){
            {.name = "--markdown", .help = "print the topic as Markdown"},
            {.name = "--roff",
             .value = "FILE",
             .help = "print a manual page made of a Markdown file",
             .more = "each line `<!-- topic: NAME -->` in it becomes that topic"},
            {.name = "--date", .value = "DATE", .help = "with --roff: the date of the page"},
            {0}},
    .max_args = IK_CLI_ANY_NUMBER,
    .takes_dashes = true,
    .without_config = true,
    .run = run_help,
};
