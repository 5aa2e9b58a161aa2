#include "cli/cli_manual_reference.h"

#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/config.h"
#include "base/environment.h"
#include "base/paths.h"
#include "cli/cli.h"
#include "cli/cli_options.h"
#include "command/command.h"
#include "terminal/key_help.h"

typedef ik_cli_manual_reference_t reference_t;
typedef ik_cli_manual_group_t group_t;
typedef ik_cli_manual_row_t row_t;

/* A topic under construction; everything is on ctx. */
typedef struct {
    const void *ctx;
    reference_t *topic;
} maker_t;

/* --- making ------------------------------------------------------------------------------ */

static void begin_group(const maker_t *maker, group_t group)
{
    reference_t *topic = maker->topic;
    topic->groups = ik_resize_array(maker->ctx, topic->groups, group_t, topic->count + 1);
    topic->groups[topic->count++] = group;
}

/* Adds a row to the last group. */
static void add_row(const maker_t *maker, row_t row)
{
    group_t *group = &maker->topic->groups[maker->topic->count - 1];
    group->rows = ik_resize_array(maker->ctx, group->rows, row_t, group->count + 1);
    group->rows[group->count++] = row;
}

static const char *join(const maker_t *maker, const char *help, const char *more)
{
    return more == NULL ? help : ik_sprintf(maker->ctx, "%s; %s", help, more);
}

/* --- the command line -------------------------------------------------------------------- */

static void add_option(const maker_t *maker, const ik_cli_option_t *option)
{
    const char *names = option->long_name == NULL
                            ? option->name
                            : ik_sprintf(maker->ctx, "%s\n%s", option->name, option->long_name);
    add_row(maker, (row_t){.names = names,
                           .term = ik_cli_format_option(maker->ctx, option),
                           .text = join(maker, option->help, option->more)});
}

static void fill_options(const maker_t *maker)
{
    const ik_cli_option_t *option;
    begin_group(maker, (group_t){.head = "option"});
    for (size_t i = 0; (option = ik_cli_options_at(i)) != NULL; i++) {
        add_option(maker, option);
    }
}

static void fill_commands(const maker_t *maker)
{
    size_t count;
    const ik_cli_command_t *const *commands = ik_cli_commands(&count);
    for (size_t i = 0; i < count; i++) {
        const ik_cli_command_t *command = commands[i];
        const char *more = command->more == NULL ? "" : command->more;
        char *usage = ik_cli_format_usage(maker->ctx, command);
        begin_group(maker,
                    (group_t){.name = command->name,
                              .title = ik_sprintf(maker->ctx, "ikigai %s", command->name),
                              .intro = ik_sprintf(maker->ctx, "`ikigai %s`\n\n%s%s%s", usage,
                                                  command->help, *more == '\0' ? "" : " ", more),
                              .head = "option"});
        for (const ik_cli_option_t *o = command->options; o != NULL && o->name != NULL; o++) {
            add_option(maker, o);
        }
    }
}

/* --- the terminal program ---------------------------------------------------------------- */

static void fill_slash(const maker_t *maker)
{
    size_t count;
    const ik_command_t *const *commands = ik_command_table(&count);
    begin_group(maker, (group_t){.head = "command"});
    for (size_t i = 0; i < count; i++) {
        const char *name = commands[i]->name;
        const char *other = commands[i]->alias == NULL ? name : commands[i]->alias;
        add_row(maker, (row_t){.names = ik_sprintf(maker->ctx, "/%s\n%s\n/%s\n%s", name, name,
                                                   other, other),
                               .term = ik_command_format_usage(maker->ctx, commands[i]),
                               .text = ik_command_format_help(maker->ctx, commands[i])});
    }
}

/* Splits "Ctrl-A, Home" into lines. */
static char *split_keys(const void *ctx, const char *keys)
{
    ik_buffer_t names;
    ik_buffer_init(&names, ctx, IK_BUFFER_UNLIMITED); /* bounded by the table */
    for (const char *comma; (comma = strstr(keys, ", ")) != NULL; keys = comma + 2) {
        ik_buffer_append(&names, keys, (size_t)(comma - keys));
        ik_buffer_append_byte(&names, '\n');
    }
    ik_buffer_append_text(&names, keys);
    return ik_buffer_finish(&names);
}

static void fill_keys(const maker_t *maker)
{
    size_t count;
    const ik_key_help_t *tables = ik_key_help_create(maker->ctx, &count);
    for (size_t i = 0; i < count; i++) {
        begin_group(maker, (group_t){.name = ik_sprintf(maker->ctx, "keys %s", tables[i].name),
                                     .title = tables[i].title,
                                     .head = "key"});
        for (size_t k = 0; k < tables[i].count; k++) {
            const ik_key_help_row_t *row = &tables[i].rows[k];
            add_row(maker, (row_t){.names = split_keys(maker->ctx, row->keys),
                                   .term = row->keys,
                                   .text = row->does});
        }
    }
}

/* --- configuration ----------------------------------------------------------------------- */

/* Keys of a provider, tool or hook have no default: a file has to name it first. */
static const char *format_default(const void *ctx, const ik_config_key_t *key,
                                  const ik_config_t *defaults)
{
    char *value = key->section == IK_CONFIG_TOP ? ik_config_format_key(ctx, key, defaults)
                                                : ik_strdup(ctx, "");
    return *value == '\0' ? value : ik_sprintf(ctx, "`%s`", value);
}

static char *describe_key(const void *ctx, const ik_config_key_t *key)
{
    static const char *const projects[] = {
        [IK_CONFIG_FORBID] = "",
        [IK_CONFIG_ALLOW] = "; a project may set it",
        [IK_CONFIG_LOWER] = "; a project may lower it",
        [IK_CONFIG_FALSE] = "; a project may say `false`",
    };
    ik_buffer_t text;
    size_t first = strcspn(key->help, ";");          /* the choices follow what the key is */
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED); /* bounded by the table */
    ik_buffer_append(&text, key->help, first);
    if (key->type == IK_CONFIG_CHOICE) {
        for (size_t i = 0; key->choices[i] != NULL; i++) {
            const char *between = i == 0 ? ": " : key->choices[i + 1] == NULL ? " or " : ", ";
            ik_buffer_append_format(&text, "%s`%s`", between, key->choices[i]);
        }
    }
    ik_buffer_append_text(&text, key->help + first);
    ik_buffer_append_text(&text, projects[key->project]);
    return ik_buffer_finish(&text);
}

static void fill_config(const maker_t *maker)
{
    static const char *const sections[] = {[IK_CONFIG_TOP] = "",
                                           [IK_CONFIG_PROVIDER] = "providers.NAME.",
                                           [IK_CONFIG_TOOL] = "tools.NAME.",
                                           [IK_CONFIG_HOOK] = "hooks.FILE."};
    const ik_config_t *defaults =
        ik_config_create_built_in(maker->ctx, ik_paths_create_shown(maker->ctx));
    begin_group(maker, (group_t){.head = "key", .middle = "default"});
    for (size_t i = 0; i < IK_CONFIG_KEY_COUNT; i++) {
        const ik_config_key_t *key = &ik_config_keys[i];
        char *term = ik_sprintf(maker->ctx, "%s%s", sections[key->section], key->name);
        add_row(maker, (row_t){.names = ik_sprintf(maker->ctx, "%s\n%s", term, key->name),
                               .term = term,
                               .middle = format_default(maker->ctx, key, defaults),
                               .text = describe_key(maker->ctx, key)});
    }
    add_row(maker, (row_t){.names = "mcpServers",
                           .term = "mcpServers",
                           .middle = "",
                           .text = "MCP servers, an object of names and entries; see `ikigai help "
                                   "servers`"});
}

/* --- environment, files, exit statuses --------------------------------------------------- */

static void fill_environment(const maker_t *maker)
{
    static const struct {
        const char *name;
        const char *title;
    } groups[IK_ENVIRONMENT_GROUP_COUNT] = {
        [IK_ENVIRONMENT_USER] = {"environment user", "How ikigai behaves"},
        [IK_ENVIRONMENT_PROVIDER] = {"environment providers", "Keys and addresses of providers"},
        [IK_ENVIRONMENT_NETWORK] = {"environment network", "How servers are reached"},
        [IK_ENVIRONMENT_TOOL] = {"environment tools", "What tools are given"},
    };
    size_t count;
    const ik_environment_t *table = ik_environment_table(&count);
    for (size_t g = 0; g < IK_LENGTH(groups); g++) {
        begin_group(
            maker, (group_t){.name = groups[g].name, .title = groups[g].title, .head = "variable"});
        for (size_t i = 0; i < count; i++) {
            if (table[i].group == g) {
                add_row(
                    maker,
                    (row_t){.names = table[i].name, .term = table[i].name, .text = table[i].help});
            }
        }
    }
}

static void fill_files(const maker_t *maker)
{
    size_t count;
    const ik_paths_entry_t *entries = ik_paths_entries(&count);
    begin_group(maker, (group_t){.head = "path"});
    for (size_t i = 0; i < count; i++) {
        const char *term = ik_paths_show(maker->ctx, &entries[i]);
        const char *slash = strrchr(term, '/');
        const char *last = slash == NULL ? term : slash + 1;
        add_row(maker, (row_t){.names = ik_sprintf(maker->ctx, "%s\n%s", term, last),
                               .term = term,
                               .text = entries[i].help});
    }
}

static void fill_exit(const maker_t *maker)
{
    size_t count;
    const ik_cli_exit_t *exits = ik_cli_exits(&count);
    begin_group(maker, (group_t){.head = "status"});
    for (size_t i = 0; i < count; i++) {
        char *term = ik_sprintf(maker->ctx, "%d", exits[i].status);
        add_row(maker, (row_t){.names = term,
                               .term = term,
                               .text = join(maker, exits[i].help, exits[i].more)});
    }
}

/* --- the topics -------------------------------------------------------------------------- */

/* To add one: a function that fills it from a table, and a row here. */
static const struct {
    reference_t topic;
    void (*fill)(const maker_t *maker);
} topics[] = {
    {{.name = "options", .title = "Options", .help = "options of ikigai and ikigai -p"},
     fill_options},
    {{.name = "commands",
      .title = "Commands",
      .help = "commands of the command line, with their options"},
     fill_commands},
    {{.name = "slash", .title = "Slash commands", .help = "commands of the terminal program"},
     fill_slash},
    {{.name = "keys", .title = "Keys", .help = "keys of the terminal program"}, fill_keys},
    {{.name = "config", .title = "Configuration", .help = "the keys of config.json"}, fill_config},
    {{.name = "environment",
      .title = "Environment",
      .help = "the environment variables that ikigai reads"},
     fill_environment},
    {{.name = "files",
      .title = "Files",
      .help = "the files that ikigai uses",
      .intro = "`PREFIX` is where ikigai is installed (`ikigai doctor` says where), `IKIGAI_HOME` "
               "replaces `~/.ikigai`, and relative paths are in the current folder."},
     fill_files},
    {{.name = "exit", .title = "Exit status", .help = "what the exit statuses mean"}, fill_exit},
};

ik_cli_manual_reference_t *ik_cli_manual_reference_create(const void *ctx, size_t *count)
{
    reference_t *all = ik_new_array(ctx, reference_t, IK_LENGTH(topics));
    for (size_t i = 0; i < IK_LENGTH(topics); i++) {
        all[i] = topics[i].topic;
        topics[i].fill(&(maker_t){.ctx = all, .topic = &all[i]});
    }
    *count = IK_LENGTH(topics);
    return all;
}

/* --- as Markdown ------------------------------------------------------------------------- */

/* A bar would end the cell, even inside code. */
static void append_cell(ik_buffer_t *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '|') {
            ik_buffer_append_byte(out, '\\');
        }
        ik_buffer_append_byte(out, *text);
    }
}

static void append_row(ik_buffer_t *out, const group_t *group, const row_t *row)
{
    ik_buffer_append_text(out, "| `");
    append_cell(out, row->term);
    ik_buffer_append_text(out, "` | ");
    if (group->middle != NULL) {
        append_cell(out, row->middle);
        ik_buffer_append_text(out, " | ");
    }
    append_cell(out, row->text);
    ik_buffer_append_text(out, " |\n");
}

static void append_head(ik_buffer_t *out, const group_t *group)
{
    if (group->middle == NULL) {
        ik_buffer_append_format(out, "| %s | meaning |\n|---|---|\n", group->head);
    } else {
        ik_buffer_append_format(out, "| %s | %s | meaning |\n|---|---|---|\n", group->head,
                                group->middle);
    }
}

void ik_cli_manual_reference_append_group(ik_buffer_t *out, const ik_cli_manual_group_t *group)
{
    if (group->intro != NULL) {
        ik_buffer_append_format(out, "\n%s\n", group->intro);
    }
    if (group->count > 0) {
        ik_buffer_append_byte(out, '\n');
        append_head(out, group);
    }
    for (size_t i = 0; i < group->count; i++) {
        append_row(out, group, &group->rows[i]);
    }
}

void ik_cli_manual_reference_append(ik_buffer_t *out, const ik_cli_manual_reference_t *topic)
{
    if (topic->intro != NULL) {
        ik_buffer_append_format(out, "\n%s\n", topic->intro);
    }
    for (size_t i = 0; i < topic->count; i++) {
        if (topic->groups[i].name != NULL) {
            ik_buffer_append_format(out, "\n## %s\n", topic->groups[i].title);
        }
        ik_cli_manual_reference_append_group(out, &topic->groups[i]);
    }
}

/* --- names ------------------------------------------------------------------------------- */

bool ik_cli_manual_reference_is_named(const char *names, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = names; *at != '\0';) {
        size_t name = strcspn(at, "\n");
        if (name == len && strncasecmp(at, word, len) == 0) {
            return true;
        }
        at += name + (at[name] == '\n');
    }
    return false;
}
