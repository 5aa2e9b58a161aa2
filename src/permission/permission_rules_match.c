#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/glob_match.h"
#include "base/json.h"
#include "base/nearest.h"
#include "base/shell_quote.h"
#include "permission/permission_rules_state.h"
#include "permission/shell_words.h"

enum { LINKS_MAX = 40 };

static bool glob_matches(const char *pattern, const char *text, unsigned flags)
{
    ik_glob_t glob;
    void *scratch = talloc_new(NULL);
    ik_glob_prepare(&glob, scratch, pattern, strlen(pattern), flags);
    bool matches = ik_glob_matches(&glob, text, strlen(text));
    talloc_free(scratch);
    return matches;
}

/* A word of a pattern: literal parts, with any characters between one and the next. A '*' is never
 * a byte among others, so that no byte of a command can become one. */
typedef struct {
    char **parts;
    size_t count;
} pattern_word_t;

typedef struct {
    pattern_word_t *words;
    size_t count;
} pattern_t;

/* The first part begins the word and the last one ends it; each of the others may be taken where it
 * comes first. */
static bool word_matches(const pattern_word_t *pattern, const char *word)
{
    const char *first = pattern->parts[0];
    const char *last = pattern->parts[pattern->count - 1];
    if (pattern->count == 1 || strncmp(word, first, strlen(first)) != 0) {
        return pattern->count == 1 && strcmp(word, first) == 0;
    }
    const char *rest = word + strlen(first);
    for (size_t i = 1; i + 1 < pattern->count; i++) {
        rest = strstr(rest, pattern->parts[i]);
        if (rest == NULL) {
            return false;
        }
        rest += strlen(pattern->parts[i]);
    }
    size_t len = strlen(rest);
    return len >= strlen(last) && strcmp(rest + len - strlen(last), last) == 0;
}

/* The word "*". */
static bool is_any(const pattern_word_t *word)
{
    return word->count == 2 && word->parts[0][0] == '\0' && word->parts[1][0] == '\0';
}

static bool command_matches(const pattern_t *pattern, const ik_shell_command_words_t *command)
{
    bool open = is_any(&pattern->words[pattern->count - 1]);
    size_t fixed = pattern->count - (open ? 1 : 0);
    if (command->count < fixed || (!open && command->count != fixed)) {
        return false;
    }
    for (size_t i = 0; i < fixed; i++) {
        if (!word_matches(&pattern->words[i], command->words[i])) {
            return false;
        }
    }
    return true;
}

static void end_part(const void *ctx, pattern_word_t *word, ik_buffer_t *part)
{
    word->parts = ik_resize_array(ctx, word->parts, char *, word->count + 1);
    word->parts[word->count++] = ik_buffer_finish(part);
}

/* Reads a word up to a space. What is in single quotes is taken literally, as suggest_word writes
 * it; a quote that is not closed is a character. */
static pattern_word_t split_word(const void *ctx, const char **at)
{
    pattern_word_t word = {0};
    ik_buffer_t part;
    ik_buffer_init(&part, ctx, IK_BUFFER_UNLIMITED); /* bounded by the pattern */
    const char *c = *at;
    for (; *c != ' ' && *c != '\0'; c++) {
        const char *close = *c == '\'' ? strchr(c + 1, '\'') : NULL;
        if (close != NULL) {
            ik_buffer_append(&part, c + 1, (size_t)(close - c - 1));
            c = close;
        } else if (*c == '*') {
            end_part(ctx, &word, &part);
        } else {
            c += *c == '\\' && c[1] == '\'' ? 1 : 0;
            ik_buffer_append_byte(&part, *c);
        }
    }
    end_part(ctx, &word, &part);
    *at = c;
    return word;
}

static pattern_t split_pattern(const void *ctx, const char *pattern)
{
    pattern_t out = {0};
    const char *at = pattern;
    while (*(at += strspn(at, " ")) != '\0') {
        out.words = ik_resize_array(ctx, out.words, pattern_word_t, out.count + 1);
        out.words[out.count++] = split_word(ctx, &at);
    }
    return out;
}

/* A word as a pattern that matches only this word. */
static char *suggest_word(const void *ctx, const char *word)
{
    if (*word != '\0' && strpbrk(word, " *'\\\t\n") == NULL) {
        return ik_strdup(ctx, word);
    }
    ik_buffer_t quoted;
    ik_buffer_init(&quoted, ctx, IK_BUFFER_UNLIMITED); /* bounded by the word */
    ik_shell_quote(&quoted, word);
    return ik_buffer_finish(&quoted);
}

static bool shell_matches(const char *pattern, const char *command, bool must_be_plain)
{
    void *scratch = talloc_new(NULL);
    ik_shell_words_t *split = ik_shell_words_split(scratch, command, strlen(command));
    pattern_t wanted = split_pattern(scratch, pattern);
    bool matches = false;
    for (size_t i = 0; i < split->count && (split->plain || !must_be_plain); i++) {
        matches = matches || (split->commands[i].count > 0 && wanted.count > 0 &&
                              command_matches(&wanted, &split->commands[i]));
    }
    talloc_free(scratch);
    return matches;
}

/* The characters of a path that are special in a glob, escaped. */
static char *escape_glob(const void *ctx, const char *path)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the path */
    ik_buffer_append_text(&out, "");
    for (; *path != '\0'; path++) {
        ik_buffer_append_text(&out, strchr("*?[]\\{}", *path) == NULL ? "" : "\\");
        ik_buffer_append_byte(&out, *path);
    }
    return ik_buffer_finish(&out);
}

/* What a path or pattern that begins with ~/ may mean, on ctx; NULL for others. */
static char *expand_home(const void *ctx, const char *path, bool is_pattern)
{
    const char *home = getenv("HOME");
    if (home == NULL || strncmp(path, "~/", 2) != 0) {
        return NULL;
    }
    return ik_sprintf(ctx, "%s%s", is_pattern ? escape_glob(ctx, home) : home, path + 1);
}

/* The project may be named by a path with links. */
static char *make_absolute(const void *ctx, const ik_permission_rules_t *rules, const char *path,
                           bool is_pattern)
{
    const char *project = is_pattern ? escape_glob(ctx, rules->project) : rules->project;
    const char *folder = is_pattern ? escape_glob(ctx, rules->folder) : rules->folder;
    size_t len = strlen(folder);
    bool below = strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
    char *at_home = is_pattern ? expand_home(ctx, path, true) : NULL;
    return below             ? ik_sprintf(ctx, "%s%s", project, path + len)
           : path[0] == '/'  ? ik_strdup(ctx, path)
           : at_home != NULL ? at_home
                             : ik_sprintf(ctx, "%s/%s", project, path);
}

/* An absolute path without "." and "..". */
static char *normalise_path(const void *ctx, const char *path)
{
    char *whole = ik_strdup(ctx, path);
    char *out = ik_strdup(ctx, "");
    char *rest = NULL;
    for (char *part = strtok_r(whole, "/", &rest); part != NULL;
         part = strtok_r(NULL, "/", &rest)) {
        if (strcmp(part, "..") == 0) {
            char *slash = strrchr(out, '/');
            if (slash != NULL) {
                *slash = '\0';
            }
        } else if (strcmp(part, ".") != 0) {
            out = ik_sprintf(ctx, "%s/%s", out, part);
        }
    }
    return out[0] == '\0' ? ik_strdup(ctx, "/") : out;
}

/* What an absolute path leads to, on ctx. A file that does not exist yet is in the folder that its
 * path leads to, or where the last link points. */
static char *follow_links(const void *ctx, const char *path)
{
    char resolved[PATH_MAX];
    char target[PATH_MAX];
    for (int links = 0; links < LINKS_MAX; links++) {
        if (realpath(path, resolved) != NULL) {
            return ik_strdup(ctx, resolved);
        }
        ssize_t len = readlink(path, target, sizeof(target) - 1);
        const char *slash = strrchr(path, '/');
        char *folder = ik_strndup(ctx, path, (size_t)(slash - path) + 1);
        if (len < 0) {
            bool exists = realpath(folder, resolved) != NULL;
            return normalise_path(ctx, exists ? ik_sprintf(ctx, "%s%s", resolved, slash) : path);
        }
        target[len] = '\0';
        path = target[0] == '/' ? ik_strdup(ctx, target) : ik_sprintf(ctx, "%s%s", folder, target);
    }
    return normalise_path(ctx, path);
}

/* Rules that deny or ask are about the file, too, whichever link leads to it. A path whose ".."
 * follows a link leads elsewhere than it reads, so that it is not what was allowed. For the shipped
 * tools ~ is a name like others; another tool may take it for the home. */
static bool path_matches(const ik_permission_rules_t *rules, const char *pattern, const char *path,
                         bool allows)
{
    void *scratch = talloc_new(NULL);
    char *glob = normalise_path(scratch, make_absolute(scratch, rules, pattern, true));
    char *whole = make_absolute(scratch, rules, path, false);
    char *named = normalise_path(scratch, whole);
    char *file = follow_links(scratch, whole);
    char *at_home = expand_home(scratch, path, false);
    bool matches = glob_matches(glob, named, IK_GLOB_PATH);
    if (allows) {
        matches = matches && strcmp(file, follow_links(scratch, named)) == 0;
    } else {
        matches =
            matches || glob_matches(glob, file, IK_GLOB_PATH) ||
            (at_home != NULL && glob_matches(glob, normalise_path(scratch, at_home), IK_GLOB_PATH));
    }
    talloc_free(scratch);
    return matches;
}

static bool is_shell(const ik_tool_registry_entry_t *entry)
{
    return strcmp(entry->name, "bash") == 0;
}

static bool is_file_tool(const ik_tool_registry_entry_t *entry)
{
    return strncmp(entry->name, "file_", 5) == 0;
}

/* The parameter that patterns are compared with, the first required one; NULL: there is none. */
static const char *name_subject(const ik_permission_call_t *call)
{
    json_t *required = json_object_get(call->entry->schema->parameters, "required");
    return json_string_value(json_array_get(required, 0));
}

/* Its value, on ctx; NULL: it is missing or not a string. Read with the scanner, which takes all
 * that a tool may get: jansson refuses large numbers and half a surrogate pair. */
static char *read_subject(const void *ctx, const ik_permission_call_t *call, size_t *len)
{
    const char *name = name_subject(call);
    ik_json_span_t arguments;
    ik_json_span_t value;
    bool found = name != NULL &&
                 ik_json_scan(call->arguments, call->arguments_len, &arguments, NULL) &&
                 ik_json_find_kind(arguments, name, IK_JSON_STRING, &value);
    return found ? ik_json_decode(ctx, value, len) : NULL;
}

/* A rule that denies or asks must not be void because of a capital letter, as in Bash(rm *). */
static bool names_tool(ik_permission_effect_t effect, const char *name, const char *tool)
{
    return effect == IK_PERMISSION_ALLOW ? strcmp(name, tool) == 0 : strcasecmp(name, tool) == 0;
}

static bool rule_matches(const ik_permission_rules_t *rules, const ik_permission_entry_t *rule,
                         const ik_permission_call_t *call)
{
    bool allows = rule->effect == IK_PERMISSION_ALLOW;
    if (rule->tool == NULL) {
        return call->extra == IK_PERMISSION_NETWORK ||
               (!allows && call->extra == IK_PERMISSION_ALL);
    }
    if (!names_tool(rule->effect, rule->tool, call->entry->name)) {
        return false;
    }
    if (rule->pattern == NULL) {
        return true;
    }
    size_t len;
    char *text = read_subject(NULL, call, &len);
    bool matches = text != NULL && strlen(text) == len &&
                   (is_shell(call->entry)       ? shell_matches(rule->pattern, text, allows)
                    : is_file_tool(call->entry) ? path_matches(rules, rule->pattern, text, allows)
                                                : glob_matches(rule->pattern, text, 0));
    talloc_free(text);
    return matches;
}

const char *ik_permission_rules_unchecked(const ik_permission_rules_t *rules,
                                          const ik_permission_call_t *call)
{
    bool checked = false;
    for (size_t i = 0; i < rules->count; i++) {
        const ik_permission_entry_t *rule = &rules->list[i];
        checked = checked || (rule->effect != IK_PERMISSION_ALLOW && rule->pattern != NULL &&
                              names_tool(rule->effect, rule->tool, call->entry->name));
    }
    size_t len;
    char *text = checked ? read_subject(NULL, call, &len) : NULL;
    bool whole = text == NULL || strlen(text) == len;
    talloc_free(text);
    return whole ? NULL : name_subject(call);
}

ik_permission_effect_t ik_permission_rules_match(const ik_permission_rules_t *rules,
                                                 const ik_permission_call_t *call,
                                                 const char **rule)
{
    ik_permission_effect_t strongest = IK_PERMISSION_NO_RULE;
    for (size_t i = 0; i < rules->count; i++) {
        const ik_permission_entry_t *each = &rules->list[i];
        if (each->effect > strongest && rule_matches(rules, each, call)) {
            strongest = each->effect;
            if (rule != NULL) {
                *rule = each->text;
            }
        }
    }
    return strongest;
}

char *ik_permission_rules_suggest(const void *ctx, const ik_permission_call_t *call)
{
    if (!is_shell(call->entry)) {
        return ik_strdup(ctx, call->entry->name);
    }
    size_t len;
    const char *text = read_subject(ctx, call, &len);
    if (text == NULL || strlen(text) != len) {
        return NULL;
    }
    ik_shell_words_t *split = ik_shell_words_split(ctx, text, len);
    char *rule = NULL;
    if (split->plain) {
        rule = ik_sprintf(ctx, "%s(", call->entry->name);
        for (size_t i = 0; i < split->commands[0].count; i++) {
            const char *word = split->commands[0].words[i];
            rule = ik_sprintf(ctx, "%s%s%s", rule, i == 0 ? "" : " ", suggest_word(ctx, word));
        }
        rule = ik_sprintf(ctx, "%s)", rule);
    }
    return rule;
}

char *ik_permission_rules_doubt(const void *ctx, const ik_permission_rule_t *rule,
                                const ik_tool_registry_t *registry)
{
    ik_nearest_t nearest;
    if (rule->tool == NULL || strstr(rule->tool, "__") != NULL) {
        return NULL;
    }
    ik_nearest_init(&nearest, rule->tool, strlen(rule->tool));
    for (size_t i = 0; i < registry->count; i++) {
        const char *name = registry->entries[i]->name;
        if (names_tool(rule->effect, rule->tool, name)) {
            return NULL;
        }
        ik_nearest_offer(&nearest, name);
    }
    return ik_sprintf(ctx, "there is no tool %s here%s%s%s", rule->tool,
                      nearest.found == NULL ? "" : "; did you mean ",
                      nearest.found == NULL ? "" : nearest.found, nearest.found == NULL ? "" : "?");
}
