#include "command/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/nearest.h"
#include "command/command_list.h"
#include "extend/argument_words.h"

static const ik_command_t *const table[] = {
    &ik_command_agents,   &ik_command_clear,       &ik_command_compact, &ik_command_copy,
    &ik_command_diff,     &ik_command_exit,        &ik_command_export,  &ik_command_fork,
    &ik_command_help,     &ik_command_init,        &ik_command_jobs,    &ik_command_kill,
    &ik_command_login,    &ik_command_logout,      &ik_command_mode,    &ik_command_model,
    &ik_command_pager,    &ik_command_permissions, &ik_command_redo,    &ik_command_refresh,
    &ik_command_remember, &ik_command_resume,      &ik_command_rewind,  &ik_command_search,
    &ik_command_sessions, &ik_command_show,        &ik_command_skills,  &ik_command_status,
    &ik_command_switch,   &ik_command_system,      &ik_command_tool,    &ik_command_trust,
    &ik_command_undo,     &ik_command_usage,
};

enum { COMMAND_COUNT = IK_LENGTH(table) };

static const char blanks[] = " \t\r\n";

/* --- finding ----------------------------------------------------------------------------- */

const ik_command_t *const *ik_command_table(size_t *count)
{
    *count = COMMAND_COUNT;
    return table;
}

static void skip_slash(const char **name, size_t *len)
{
    if (*len > 0 && **name == '/') {
        (*name)++;
        (*len)--;
    }
}

static bool is_named(const char *known, const char *name, size_t len)
{
    return known != NULL && strncmp(known, name, len) == 0 && known[len] == '\0';
}

const ik_command_t *ik_command_find(const char *name, size_t len)
{
    skip_slash(&name, &len);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (is_named(table[i]->name, name, len) || is_named(table[i]->alias, name, len)) {
            return table[i];
        }
    }
    return NULL;
}

bool ik_command_is_built_in(const char *name)
{
    return ik_command_find(name, strlen(name)) != NULL;
}

const ik_extensions_t *ik_command_find_extensions(const void *ctx, const ik_command_host_t *host,
                                                  ik_extension_kind_t kind)
{
    ik_extension_options_t options = ik_workspace_extension_options(host->workspace);
    options.is_built_in = ik_command_is_built_in;
    return ik_extensions_find(ctx, &options, kind);
}

const ik_extensions_t *ik_command_find_custom(const void *ctx, const ik_command_host_t *host)
{
    ik_extensions_t *found = ik_new(ctx, ik_extensions_t);
    const ik_extensions_t *commands = ik_command_find_extensions(found, host, IK_EXTENSION_COMMAND);
    const ik_extensions_t *skills = ik_command_find_extensions(found, host, IK_EXTENSION_SKILL);
    found->items = ik_new_array(found, ik_extension_t, commands->count + skills->count);
    for (size_t i = 0; i < commands->count + skills->count; i++) {
        bool is_skill = i >= commands->count;
        const ik_extension_t *item =
            is_skill ? &skills->items[i - commands->count] : &commands->items[i];
        const ik_extension_t *other =
            is_skill ? ik_extensions_lookup(commands, item->name, strlen(item->name)) : NULL;
        if (item->used && !ik_command_is_built_in(item->name) && (other == NULL || !other->used)) {
            found->items[found->count++] = *item;
        }
    }
    return found;
}

/* The text of "# TEXT", a line to remember; NULL: another line. A Markdown document has more lines.
 */
static const char *find_memo(const char *line)
{
    const char *text = line[0] == '#' ? line + 1 + strspn(line + 1, " \t") : line;
    bool memo = text > line + 1 && *text != '\0' && strpbrk(text, "\r\n") == NULL;
    return memo ? text : NULL;
}

bool ik_command_is_line(const char *line)
{
    return find_memo(line) != NULL ||
           (line[0] == '/' && line[1 + strcspn(line + 1, "/ \t\r\n")] != '/');
}

/* Commands of other programs that ikigai does not have. */
static const struct {
    const char *name;
    const char *instead;
} elsewhere[] = {
    {"approvals", "/mode sets how far the agent may go, and /permissions lists the rules."},
    {"compress", "/compact has the conversation summarised."},
    {"config", "the settings are in ~/.ikigai/config.json (ikigai help configuration), and /model "
               "changes the model."},
    {"context", "/usage shows how full the context is."},
    {"doctor", "run ikigai doctor in a shell."},
    {"hooks", "/status lists them."},
    {"mcp", "ikigai mcp list shows the servers, and /tool the tools."},
    {"memory", "# TEXT and /remember add to AGENTS.md, and /system shows what the model is told."},
    {"stats", "/usage shows tokens and cost."},
    {"summarize", "/compact has the conversation summarised."},
    {"tokens", "/usage shows tokens and cost."},
    {"vim", "\"keys\": \"vi\" in ~/.ikigai/config.json chooses vi keys."},
};

void ik_command_fail_unknown(ik_command_host_t *host, const char *name, size_t len)
{
    skip_slash(&name, &len);
    for (size_t i = 0; i < IK_LENGTH(elsewhere); i++) {
        if (is_named(elsewhere[i].name, name, len)) {
            char *text =
                ik_sprintf(NULL, "There is no /%s: %s", elsewhere[i].name, elsewhere[i].instead);
            host->screen->fail(host, text);
            talloc_free(text);
            return;
        }
    }
    void *scratch = talloc_new(NULL);
    const ik_extensions_t *custom = ik_command_find_custom(scratch, host);
    ik_nearest_t nearest;
    ik_nearest_init(&nearest, name, len);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        ik_nearest_offer(&nearest, table[i]->name);
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (table[i]->alias != NULL) {
            ik_nearest_offer(&nearest, table[i]->alias);
        }
    }
    for (size_t i = 0; i < custom->count; i++) {
        ik_nearest_offer(&nearest, custom->items[i].name);
    }
    char *text =
        nearest.found == NULL
            ? ik_sprintf(scratch, "There is no command /%.*s. /help lists all.", (int)len, name)
            : ik_sprintf(scratch, "There is no command /%.*s. Did you mean /%s?", (int)len, name,
                         nearest.found);
    host->screen->fail(host, text);
    talloc_free(scratch);
}

/* --- arguments --------------------------------------------------------------------------- */

static ik_command_args_t *parse_args(const void *ctx, const char *text)
{
    ik_command_args_t *args = ik_new(ctx, ik_command_args_t);
    text += strspn(text, blanks);
    size_t len = strlen(text);
    while (len > 0 && strchr(blanks, text[len - 1]) != NULL) {
        len--;
    }
    args->rest = ik_strndup(args, text, len);
    args->words = ik_argument_words_split(args, args->rest, &args->count);
    return args;
}

bool ik_command_parse_number(ik_command_host_t *host, const ik_command_t *command, const char *word,
                             int64_t *out)
{
    char *end;
    errno = 0;
    long long number = strtoll(word, &end, 10);
    bool valid = strspn(word, "0123456789") == strlen(word) && errno == 0 && number > 0;
    if (valid) {
        *out = number;
    } else {
        char *why = ik_sprintf(NULL, "'%s' is not a positive number.", word);
        ik_command_misuse(host, command, why);
        talloc_free(why);
    }
    return valid;
}

void ik_command_words_add(ik_command_words_t *words, const char *text, const char *note)
{
    size_t count = words->count + 1;
    words->texts = ik_resize_array(words->ctx, words->texts, const char *, count);
    words->notes = ik_resize_array(words->ctx, words->notes, const char *, count);
    words->texts[words->count] = ik_strdup(words->texts, text);
    words->notes[words->count] = note == NULL ? NULL : ik_strdup(words->texts, note);
    words->count = count;
}

/* --- running ----------------------------------------------------------------------------- */

char *ik_command_format_usage(const void *ctx, const ik_command_t *command)
{
    return ik_sprintf(ctx, "/%s%s%s", command->name, *command->usage == '\0' ? "" : " ",
                      command->usage);
}

char *ik_command_format_custom(const void *ctx, const ik_extension_t *custom)
{
    return ik_sprintf(ctx, "/%s%s%s", custom->name, custom->hint == NULL ? "" : " ",
                      custom->hint == NULL ? "" : custom->hint);
}

char *ik_command_format_help(const void *ctx, const ik_command_t *command)
{
    return command->alias == NULL ? ik_strdup(ctx, command->help)
                                  : ik_sprintf(ctx, "%s Also: /%s", command->help, command->alias);
}

void ik_command_misuse(ik_command_host_t *host, const ik_command_t *command, const char *why)
{
    void *scratch = talloc_new(NULL);
    host->screen->fail(host, ik_sprintf(scratch, "%s%sUsage: %s", why == NULL ? "" : why,
                                        why == NULL ? "" : " ",
                                        ik_command_format_usage(scratch, command)));
    talloc_free(scratch);
}

static bool fits_usage(const ik_command_t *command, const ik_command_args_t *args)
{
    size_t count = args->count;
    if (command->flags & IK_COMMAND_TAKES_REST) {
        count = *args->rest == '\0' ? 0 : 1;
    }
    return count >= command->min_args && count <= command->max_args;
}

/* Prints which agent works; false if none does. */
static bool fail_working(ik_command_host_t *host, const ik_command_args_t *args)
{
    const ik_workspace_t *workspace = host->workspace;
    for (size_t i = 0; i < ik_workspace_agent_count(workspace); i++) {
        int64_t number = ik_workspace_agent_number(workspace, i);
        if (ik_workspace_is_busy(workspace, number)) {
            host->screen->fail(host,
                               ik_sprintf(args,
                                          "Agent %" PRId64
                                          " is still working: wait for it, or /kill %" PRId64 ".",
                                          number, number));
            return true;
        }
    }
    return false;
}

static void run(ik_command_host_t *host, const ik_command_t *command, const ik_command_args_t *args,
                bool busy)
{
    if (!fits_usage(command, args)) {
        ik_command_misuse(host, command, NULL);
    } else if (busy && (command->flags & IK_COMMAND_NEEDS_IDLE) &&
               !((command->flags & IK_COMMAND_JOINS_TURN) &&
                 ik_workspace_is_busy(host->workspace, ik_workspace_focus(host->workspace)))) {
        host->screen->fail(
            host, ik_sprintf(args, "/%s has to wait until the turn has ended; Esc interrupts it.",
                             command->name));
    } else if (!(command->flags & IK_COMMAND_NEEDS_ALL_IDLE) || !fail_working(host, args)) {
        command->run(host, args);
    }
}

bool ik_command_must_wait(const ik_command_host_t *host, const char *line)
{
    if (ik_workspace_is_undoing(host->workspace)) {
        return true;
    }
    size_t len = strcspn(line, blanks);
    const ik_command_t *command = ik_command_find(line, len);
    if (command == NULL) {
        void *scratch = talloc_new(NULL);
        bool custom = ik_workspace_find_custom(scratch, host->workspace, line) != NULL;
        talloc_free(scratch);
        return custom;
    }
    if (!(command->flags & IK_COMMAND_NEEDS_TOOLS) ||
        ik_workspace_shared(host->workspace)->tool_scan_state != TOOL_SCAN_IN_PROGRESS) {
        return false;
    }
    ik_command_args_t *args = parse_args(NULL, line + len);
    bool valid = fits_usage(command, args); /* wrong use is reported at once */
    talloc_free(args);
    return valid;
}

size_t ik_command_public_length(ik_command_host_t *host, const char *line)
{
    size_t name = strcspn(line, blanks);
    const ik_command_t *command = ik_command_is_line(line) ? ik_command_find(line, name) : NULL;
    if (command == NULL || command->is_public == NULL) {
        return strlen(line);
    }
    size_t begin = name + strspn(line + name, blanks);
    size_t end = begin + strcspn(line + begin, blanks);
    char *word = ik_strndup(NULL, line + begin, end - begin);
    bool public = command->is_public(host, word);
    talloc_free(word);
    return public ? end : name;
}

static void run_custom(ik_command_host_t *host, const char *line, size_t len)
{
    void *scratch = talloc_new(NULL);
    if (ik_workspace_find_custom(scratch, host->workspace, line) == NULL) {
        ik_command_fail_unknown(host, line, len);
    } else {
        res_t started = ik_workspace_run_custom(host->workspace, line, NULL, NULL);
        if (is_err(&started)) {
            host->screen->fail(host, started.message);
        }
    }
    talloc_free(scratch);
}

void ik_command_run(ik_command_host_t *host, const char *line, bool busy)
{
    const char *memo = find_memo(line);
    if (memo != NULL) {
        char *command = ik_sprintf(NULL, "/remember -- %s", memo);
        ik_command_run(host, command, busy);
        talloc_free(command);
        return;
    }
    size_t len = strcspn(line, blanks);
    const ik_command_t *command = ik_command_find(line, len);
    if (command == NULL) {
        run_custom(host, line, len);
        return;
    }
    ik_command_args_t *args = parse_args(NULL, line + len);
    run(host, command, args, busy);
    talloc_free(args);
}
