/* /help: formats the table of commands and the tables of keys. */
#include <string.h>

#include "base/alloc.h"
#include "command/command_list.h"
#include "terminal/key_help.h"
#include "terminal/sheet.h"

enum {
    COLUMNS = 80, /* if the width is unknown */
    MARGIN = 2,
    USAGE_WIDTH = 18, /* a longer usage gets its own line */
    KEYS_WIDTH = 23,
    TEXT_MIN = 16,
};

/* Rows of two cells. Widths are in columns. */
typedef struct {
    ik_buffer_t out;
    size_t left;
    size_t gap;
    size_t right;
} page_t;

static void init_page(page_t *page, const void *ctx, size_t columns, size_t left, size_t gap)
{
    size_t taken = MARGIN + left + gap + 1;               /* the last column stays free */
    ik_buffer_init(&page->out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the tables */
    page->left = left;
    page->gap = gap;
    page->right = columns > taken + TEXT_MIN ? columns - taken : TEXT_MIN;
}

static void append_row(page_t *page, const char *left, const char *right)
{
    ik_sheet_t sheet = {.left = left, .right = right};
    ik_sheet_line_t line;
    while (ik_sheet_next(&sheet, page->left, page->right, &line)) {
        size_t padded = line.right_len == 0 ? 0 : page->left + page->gap;
        ik_buffer_append_format(&page->out, "%*s%-*.*s%.*s\n", MARGIN, "", (int)padded,
                                line.left_len, line.left, line.right_len, line.right);
    }
}

static void append_commands(page_t *page)
{
    size_t count;
    const ik_command_t *const *table = ik_command_table(&count);
    ik_buffer_append_text(&page->out, "Commands:\n");
    for (size_t i = 0; i < count; i++) {
        char *usage = ik_command_format_usage(page->out.ctx, table[i]);
        char *help = ik_command_format_help(page->out.ctx, table[i]);
        append_row(page, usage, help);
        talloc_free(help);
        talloc_free(usage);
    }
}

static void append_custom(page_t *page, const ik_command_host_t *host)
{
    const ik_extensions_t *custom = ik_command_find_custom(page->out.ctx, host);
    for (size_t i = 0; i < custom->count; i++) {
        const ik_extension_t *item = &custom->items[i];
        ik_buffer_append_text(&page->out, i == 0 ? "\nCustom commands and skills:\n" : "");
        append_row(page, ik_command_format_custom(page->out.ctx, item), item->description);
    }
}

static void append_keys(page_t *page, const ik_key_help_t *table, const char *title)
{
    ik_buffer_append_format(&page->out, "%s%s:\n", page->out.len == 0 ? "" : "\n", title);
    for (size_t i = 0; i < table->count; i++) {
        append_row(page, table->rows[i].keys, table->rows[i].does);
    }
}

static size_t columns_of(const ik_command_host_t *host)
{
    return host->columns == 0 ? COLUMNS : host->columns;
}

/* Prints the commands and the most important keys, which fit on a screen. */
static void print_overview(ik_command_host_t *host, const ik_command_args_t *args)
{
    size_t count;
    const ik_key_help_t *tables = ik_key_help_create(args, &count);
    page_t page;
    init_page(&page, args, columns_of(host), USAGE_WIDTH, 1);
    append_commands(&page);
    append_custom(&page, host);
    append_keys(&page, &tables[IK_BINDING_PROMPT], "Keys");
    ik_buffer_append_text(&page.out, "\n/help keys lists all keys.\n");
    host->screen->print(host, page.out.data);
}

static void print_keys(ik_command_host_t *host, const ik_command_args_t *args)
{
    size_t count;
    const ik_key_help_t *tables = ik_key_help_create(args, &count);
    size_t columns = columns_of(host);
    page_t page;
    init_page(&page, args, columns, columns < COLUMNS ? USAGE_WIDTH : KEYS_WIDTH, 2);
    for (size_t i = 0; i < count; i++) {
        append_keys(&page, &tables[i], tables[i].title);
    }
    host->screen->print(host, page.out.data);
}

static void print_command(ik_command_host_t *host, const ik_command_args_t *args)
{
    size_t len = strlen(args->words[0]);
    const ik_command_t *command = ik_command_find(args->words[0], len);
    const char *slash = args->words[0][0] == '/' ? "" : "/";
    const ik_extension_t *custom = ik_workspace_find_custom(
        args, host->workspace, ik_sprintf(args, "%s%s", slash, args->words[0]));
    if (command == NULL && custom == NULL) {
        ik_command_fail_unknown(host, args->words[0], len);
        return;
    }
    if (command == NULL) {
        host->screen->print(host,
                            ik_sprintf(args, "Usage: %s\n%s\n%s%s%s\n",
                                       ik_command_format_custom(args, custom), custom->description,
                                       custom->path, custom->used ? "" : ": not used, ",
                                       custom->used ? "" : custom->reason));
        return;
    }
    host->screen->print(host,
                        ik_sprintf(args, "Usage: %s\n%s\n", ik_command_format_usage(args, command),
                                   ik_command_format_help(args, command)));
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    if (args->count == 0) {
        print_overview(host, args);
    } else if (strcmp(args->words[0], "keys") == 0) {
        print_keys(host, args);
    } else {
        print_command(host, args);
    }
}

static void complete(ik_command_host_t *host, int word, ik_command_words_t *out)
{
    (void)host;
    size_t count;
    const ik_command_t *const *table = ik_command_table(&count);
    if (word != 1) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        ik_command_words_add(out, table[i]->name, table[i]->help);
    }
    ik_command_words_add(out, "keys", "Lists all keys.");
}

const ik_command_t ik_command_help = {
    .name = "help",
    .usage = "[NAME|keys]",
    .help = "Lists the commands and keys, or explains one command.",
    .max_args = 1,
    .run = run,
    .complete = complete,
};
