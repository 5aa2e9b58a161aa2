/* `ikigai help`: shows the manual on the screen or as Markdown. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/cli_manual.h"
#include "cli/cli_manual_fit.h"
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

static void print_rendered(const void *ctx, const char *markdown)
{
    ik_theme_t theme;
    size_t columns = ik_cli_terminal_columns();
    columns = columns == 0 ? PIPE_COLUMNS : columns < MOST_COLUMNS ? columns : MOST_COLUMNS;
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
    puts("\nEvery command, option, key, variable, file and configuration key is also a topic:\n"
         "ikigai help tool run, ikigai help -m, ikigai help /fork, ikigai help Ctrl-R.");
}

/* --- topics ------------------------------------------------------------------------------ */

static char *join_words(const void *ctx, const ik_cli_args_t *args)
{
    ik_buffer_t words;
    ik_buffer_init(&words, ctx, IK_BUFFER_UNLIMITED); /* bounded by argv */
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

/* --- documents with topics in them ------------------------------------------------------- */

static int print_expanded(ik_cli_t *cli, const char *path)
{
    char *text;
    size_t len;
    res_t expanded = ik_file_read(cli->ctx, path, PAGE_MAX, &text, &len);
    if (is_ok(&expanded)) {
        expanded = ik_cli_manual_expand(cli->ctx, cli->paths, text, &text);
    }
    if (is_err(&expanded)) {
        return ik_cli_fail(expanded.message);
    }
    fputs(ik_cli_manual_define(cli->ctx, text), stdout);
    return IK_CLI_DONE;
}

static int run_help(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const char *page = ik_cli_args_value(args, "--expand");
    if (page != NULL && (args->count > 0 || ik_cli_args_has(args, "--markdown"))) {
        return ik_cli_misuse(args->command, "--expand cannot be used with a topic or --markdown");
    }
    if (args->count == 0 && ik_cli_args_has(args, "--markdown")) {
        return ik_cli_misuse(args->command, "--markdown needs a topic");
    }
    if (page != NULL) {
        return print_expanded(cli, page);
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
    .help = "Shows a topic of the manual, or lists the topics.",
    .options =
        (const ik_cli_option_t[]){
            {.name = "--markdown", .help = "print the topic as Markdown"},
            {.name = "--expand",
             .value = "FILE",
             .help = "print a Markdown file with its topics filled in, ready for lowdown",
             .more = "replaces each line `<!-- topic: NAME -->` by that topic and each table by a "
                     "definition list"},
            {0}},
    .max_args = IK_CLI_ANY_NUMBER,
    .takes_dashes = true,
    .without_config = true,
    .run = run_help,
};
