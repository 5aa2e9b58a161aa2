#include "permission/permission_rules.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/config_loader.h"
#include "base/file.h"
#include "base/glob_match.h"
#include "base/json.h"
#include "base/json_file.h"
#include "base/ownership.h"
#include "base/utf8.h"
#include "permission/shell_words.h"

enum { FILE_MAX = 1024 * 1024, LINKS_MAX = 40 };

typedef struct {
    ik_permission_effect_t effect;
    char *text;
    char *tool;    /* NULL: the rule is "network" */
    char *pattern; /* NULL: every call of the tool */
    const char *source;
    bool in_user_file;
    bool of_project; /* in projects.PATH of the user's file */
} rule_t;

struct ik_permission_rules {
    char *user_file;
    char *folder;  /* the project as it was entered */
    char *project; /* the same without symbolic links */
    rule_t *list;
    size_t count;
    const char **warnings;
    size_t warning_count;
};

static const struct {
    const char *key;
    ik_permission_effect_t effect;
} lists[] = {
    {"deny", IK_PERMISSION_DENY},
    {"ask", IK_PERMISSION_ASK},
    {"allow", IK_PERMISSION_ALLOW},
};

/* --- reading ----------------------------------------------------------------------------- */

static void warn(ik_permission_rules_t *rules, char *text)
{
    rules->warnings =
        ik_resize_array(rules, rules->warnings, const char *, rules->warning_count + 1);
    rules->warnings[rules->warning_count++] = text;
}

size_t ik_permission_rules_warnings(const ik_permission_rules_t *rules, const char *const **out)
{
    *out = rules->warnings;
    return rules->warning_count;
}

/* Splits TOOL(pattern). False when the text is not a rule. */
static bool parse_rule(const void *ctx, const char *text, rule_t *rule)
{
    if (strcmp(text, "network") == 0) {
        return true;
    }
    size_t len = strlen(text);
    size_t name_len = strcspn(text, "(");
    rule->tool = ik_strndup(ctx, text, name_len);
    if (!ik_tool_schema_valid_name(rule->tool)) {
        return false;
    }
    if (name_len == len) {
        return true;
    }
    if (text[len - 1] != ')' || len - name_len < 3) {
        return false;
    }
    rule->pattern = ik_strndup(ctx, text + name_len + 1, len - name_len - 2);
    return true;
}

bool ik_permission_rules_check(const void *ctx, const char *text, char **fault)
{
    rule_t rule = {0};
    void *scratch = talloc_new(NULL);
    bool valid = parse_rule(scratch, text, &rule);
    talloc_free(scratch);
    if (!valid) {
        *fault =
            ik_sprintf(ctx, "'%.100s' is not a rule: write TOOL, TOOL(pattern) or network", text);
    }
    return valid;
}

static void add_rule(ik_permission_rules_t *rules, const rule_t *rule)
{
    rules->list = ik_resize_array(rules, rules->list, rule_t, rules->count + 1);
    rules->list[rules->count++] = *rule;
}

/* A file of rules that is read. It is checked as configuration is: faults are reported with their
 * lines, and those of a project's file are warnings. */
typedef struct {
    ik_permission_rules_t *rules;
    ik_config_loader_t loader;
    bool is_users;
} reading_t;

/* model has the source and place of the rules in the list; NULL: they are only checked. */
static void read_list(reading_t *reading, ik_json_span_t list, const char *label,
                      const rule_t *model)
{
    ik_permission_rules_t *rules = reading->rules;
    ik_config_loader_t *loader = &reading->loader;
    size_t position = 0;
    ik_json_span_t value;
    if (ik_json_kind(list) != IK_JSON_ARRAY) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, list.text, "%s is not a list of rules",
                              label);
        return;
    }
    while (ik_json_next_element(list, &position, &value)) {
        size_t len = 0;
        char *fault;
        char *text =
            ik_json_kind(value) == IK_JSON_STRING ? ik_json_decode(rules, value, &len) : NULL;
        if (text == NULL || strlen(text) != len) {
            ik_config_loader_fail(loader, IK_ERR_INVALID, value.text,
                                  "%s contains a value that is not a string", label);
        } else if (!ik_permission_rules_check(loader->scratch, text, &fault)) {
            ik_config_loader_fail(loader, IK_ERR_INVALID, value.text, "%s: %s", label, fault);
        } else if (model != NULL) {
            rule_t rule = *model;
            parse_rule(rules, text, &rule);
            rule.text = text;
            add_rule(rules, &rule);
        }
    }
}

/* Reads those of the three lists that the object has. label names the object in messages, with a
 * colon, or is "". */
static void read_lists(reading_t *reading, ik_json_span_t object, const char *label,
                       const rule_t *model)
{
    for (size_t i = 0; i < IK_LENGTH(lists); i++) {
        ik_json_span_t list;
        bool usable = reading->is_users || lists[i].effect != IK_PERMISSION_ALLOW;
        if (usable && ik_json_find(object, lists[i].key, &list)) {
            rule_t rule = model == NULL ? (rule_t){0} : *model;
            rule.effect = lists[i].effect;
            read_list(reading, list,
                      ik_sprintf(reading->loader.scratch, "%s%s", label, lists[i].key),
                      model == NULL ? NULL : &rule);
        }
    }
}

/* Warns about members that are none of these names, which end with NULL, and about those that a
 * later one of the same name replaces. */
static void check_keys(reading_t *reading, ik_json_span_t object, const char *label,
                       const char *const *known)
{
    enum { KNOWN_MAX = 8 };
    ik_config_loader_t *loader = &reading->loader;
    ik_json_span_t last[KNOWN_MAX] = {0};
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t value;
    for (size_t i = 0; known[i] != NULL; i++) {
        ik_json_find(object, known[i], &last[i]);
    }
    while (ik_json_next_member(object, &position, &key, &value)) {
        size_t i = 0;
        while (known[i] != NULL && !ik_json_key_is(key, known[i])) {
            i++;
        }
        if (known[i] == NULL) {
            char *name = ik_json_decode(loader->scratch, key, NULL);
            ik_config_loader_warn(loader, key.text, "%s%s '%s'", label,
                                  reading->is_users ? "unknown key" : "a project cannot set",
                                  ik_config_loader_show(loader, name));
        } else if (last[i].text != value.text) {
            ik_config_loader_warn(loader, key.text,
                                  "%s'%s' appears more than once; the last one counts", label,
                                  known[i]);
        }
    }
}

/* Whether a path names this project. */
static bool is_here(const ik_permission_rules_t *rules, const char *path)
{
    char resolved[PATH_MAX];
    return strcmp(path, rules->project) == 0 ||
           (realpath(path, resolved) != NULL && strcmp(resolved, rules->project) == 0);
}

static void read_projects(reading_t *reading, ik_json_span_t projects)
{
    static const char *const known[] = {"deny", "ask", "allow", NULL};
    static const rule_t model = {
        .source = "user, for this project", .in_user_file = true, .of_project = true};
    ik_config_loader_t *loader = &reading->loader;
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t project;
    if (ik_json_kind(projects) != IK_JSON_OBJECT) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, projects.text, "projects is not an object");
        return;
    }
    while (ik_json_next_member(projects, &position, &key, &project)) {
        char *path = ik_json_decode(loader->scratch, key, NULL);
        char *label =
            ik_sprintf(loader->scratch, "projects: %s: ", ik_config_loader_show(loader, path));
        if (ik_json_kind(project) != IK_JSON_OBJECT) {
            ik_config_loader_fail(loader, IK_ERR_INVALID, project.text, "%sit is not an object",
                                  label);
        } else {
            ik_json_span_t last; /* of the entries of this name, it counts */
            bool counts = is_here(reading->rules, path) && ik_json_find(projects, path, &last) &&
                          last.text == project.text;
            read_lists(reading, project, label, counts ? &model : NULL);
            check_keys(reading, project, label, known);
        }
    }
}

/* base/key_host reads the addresses; they are only checked here. */
static void check_hosts(reading_t *reading, ik_json_span_t hosts)
{
    ik_config_loader_t *loader = &reading->loader;
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t list;
    if (ik_json_kind(hosts) != IK_JSON_OBJECT) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, hosts.text, "hosts is not an object");
        return;
    }
    while (ik_json_next_member(hosts, &position, &key, &list)) {
        bool valid = ik_json_kind(list) == IK_JSON_ARRAY;
        size_t inner = 0;
        ik_json_span_t address;
        while (valid && ik_json_next_element(list, &inner, &address)) {
            valid = ik_json_kind(address) == IK_JSON_STRING;
        }
        if (!valid) {
            char *name = ik_json_decode(loader->scratch, key, NULL);
            ik_config_loader_fail(loader, IK_ERR_INVALID, list.text,
                                  "hosts: %s is not a list of addresses",
                                  ik_config_loader_show(loader, name));
        }
    }
}

static void read_root(reading_t *reading, ik_json_span_t root)
{
    static const char *const of_users[] = {"deny", "ask", "allow", "projects", "hosts", NULL};
    static const char *const of_projects[] = {"deny", "ask", NULL};
    ik_json_span_t value;
    read_lists(reading, root, "",
               &(rule_t){.source = reading->is_users ? "user" : "project",
                         .in_user_file = reading->is_users});
    if (reading->is_users && ik_json_find(root, "projects", &value)) {
        read_projects(reading, value);
    }
    if (reading->is_users && ik_json_find(root, "hosts", &value)) {
        check_hosts(reading, value);
    }
    check_keys(reading, root, "", reading->is_users ? of_users : of_projects);
}

static res_t read_file(ik_permission_rules_t *rules, const char *file, bool is_users)
{
    char *text;
    size_t len;
    ik_json_span_t root;
    ik_json_fault_t fault = {0};
    res_t read = ik_file_read(rules, file, FILE_MAX, &text, &len);
    if (is_err(&read)) {
        return read.code == IK_ERR_NOT_FOUND ? OK : read;
    }
    /* What another user wrote there would be allowed. */
    res_t owned = is_users ? ik_ownership_check_file(file) : OK;
    if (is_err(&owned)) {
        return ik_error_make(owned.code, "refused: %s", owned.message);
    }
    ik_config_t *messages = ik_new(rules, ik_config_t);
    reading_t reading = {.rules = rules,
                         .is_users = is_users,
                         .loader = {.config = messages,
                                    .scratch = talloc_new(messages),
                                    .error = OK,
                                    .source = is_users ? IK_CONFIG_USER : IK_CONFIG_PROJECT,
                                    .origin = file,
                                    .text = text}};
    if (!ik_json_scan(text, len, &root, &fault)) {
        ik_config_loader_fail(&reading.loader, IK_ERR_INVALID, text + fault.offset,
                              "not a JSON object: %s", fault.reason);
    } else if (!ik_utf8_valid(text, len)) {
        ik_config_loader_fail(&reading.loader, IK_ERR_INVALID, NULL, "it is not UTF-8");
    } else if (ik_json_kind(root) != IK_JSON_OBJECT) {
        ik_config_loader_fail(&reading.loader, IK_ERR_INVALID, root.text, "not a JSON object");
    } else {
        read_root(&reading, root);
    }
    for (size_t i = 0; i < messages->warning_count; i++) {
        warn(rules, ik_strdup(rules, messages->warnings[i]));
    }
    talloc_free(messages);
    talloc_free(text);
    return reading.loader.error;
}

res_t ik_permission_rules_load(const void *ctx, const ik_paths_t *paths, const char *const *allowed,
                               ik_permission_rules_t **out)
{
    char resolved[PATH_MAX];
    ik_permission_rules_t *rules = ik_new(ctx, ik_permission_rules_t);
    rules->user_file = ik_strdup(rules, paths->permissions);
    rules->folder = ik_strdup(rules, paths->cwd);
    rules->project =
        ik_strdup(rules, realpath(paths->cwd, resolved) == NULL ? paths->cwd : resolved);
    *out = rules;
    TRY(read_file(rules, rules->user_file, true));
    if (paths->project_config != NULL) {
        char *folder = ik_file_folder(rules, paths->project_config);
        res_t project = read_file(rules, ik_sprintf(rules, "%s/permissions.json", folder), false);
        if (is_err(&project)) { /* other people's files do not keep the user from starting */
            warn(rules, ik_strdup(rules, project.message));
        }
    }
    for (size_t i = 0; allowed != NULL && allowed[i] != NULL; i++) {
        rule_t rule = {.effect = IK_PERMISSION_ALLOW, .source = "--allow"};
        if (strcmp(allowed[i], "all") != 0 && parse_rule(rules, allowed[i], &rule)) {
            rule.text = ik_strdup(rules, allowed[i]);
            add_rule(rules, &rule);
        }
    }
    return OK;
}

/* --- matching ---------------------------------------------------------------------------- */

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
    ik_buffer_append_byte(&quoted, '\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            ik_buffer_append_text(&quoted, "'\\''");
        } else {
            ik_buffer_append_byte(&quoted, *word);
        }
    }
    ik_buffer_append_byte(&quoted, '\'');
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
static bool is_about_tool(const rule_t *rule, const ik_permission_call_t *call)
{
    return rule->effect == IK_PERMISSION_ALLOW ? strcmp(rule->tool, call->entry->name) == 0
                                               : strcasecmp(rule->tool, call->entry->name) == 0;
}

static bool rule_matches(const ik_permission_rules_t *rules, const rule_t *rule,
                         const ik_permission_call_t *call)
{
    bool allows = rule->effect == IK_PERMISSION_ALLOW;
    if (rule->tool == NULL) {
        return call->extra == IK_PERMISSION_NETWORK ||
               (!allows && call->extra == IK_PERMISSION_ALL);
    }
    if (!is_about_tool(rule, call)) {
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
        const rule_t *rule = &rules->list[i];
        checked = checked || (rule->effect != IK_PERMISSION_ALLOW && rule->pattern != NULL &&
                              is_about_tool(rule, call));
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
        const rule_t *each = &rules->list[i];
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

/* --- changing ---------------------------------------------------------------------------- */

/* The user's file as it is now, a new reference; an empty object when there is none. */
static res_t load_user_file(const ik_permission_rules_t *rules, json_t **root)
{
    char *text;
    size_t len;
    json_error_t error;
    void *scratch = talloc_new(NULL);
    res_t read = ik_file_read(scratch, rules->user_file, FILE_MAX, &text, &len);
    *root = is_ok(&read) ? ik_json_parse(text, len, &error) : json_object();
    talloc_free(scratch);
    if (is_err(&read) && read.code != IK_ERR_NOT_FOUND) {
        return read;
    }
    return json_is_object(*root) ? OK : ERR(INVALID, "%s is not a JSON object", rules->user_file);
}

/* project: the name of a member of "projects"; NULL: the list is for all projects. */
static res_t save_list(const ik_permission_rules_t *rules, const char *project, const char *key,
                       const json_t *list)
{
    const char *const path[] = {"projects", project, key, NULL};
    char *text = json_dumps(list, 0);
    res_t saved = ik_json_file_set(rules->user_file, project == NULL ? path + 2 : path, text);
    free(text);
    return saved;
}

/* Adds the rule to the project's list in the user's file, which is root. */
static res_t keep_rule(const ik_permission_rules_t *rules, const json_t *root, const char *text)
{
    json_t *projects = json_object_get(root, "projects");
    json_t *project = json_object_get(projects, rules->project);
    json_t *list = json_object_get(project, "allow");
    bool usable = (projects == NULL || json_is_object(projects)) &&
                  (project == NULL || json_is_object(project)) &&
                  (list == NULL || json_is_array(list));
    if (!usable || !ik_utf8_valid(rules->project, strlen(rules->project))) {
        return ERR(INVALID, "The rule holds until you leave, and is not kept: %s",
                   usable ? "the path of this project is not UTF-8"
                          : "projects in permissions.json has another form");
    }
    list = list == NULL ? json_array() : json_incref(list);
    json_array_append_new(list, json_string(text));
    res_t saved = save_list(rules, rules->project, "allow", list);
    json_decref(list);
    return saved;
}

res_t ik_permission_rules_add(ik_permission_rules_t *rules, const char *text)
{
    json_t *root = NULL;
    rule_t rule = {.effect = IK_PERMISSION_ALLOW,
                   .source = "user, for this project",
                   .in_user_file = true,
                   .of_project = true};
    for (size_t i = 0; i < rules->count; i++) {
        const rule_t *known = &rules->list[i];
        if (known->effect == rule.effect && known->of_project && strcmp(known->text, text) == 0) {
            return OK;
        }
    }
    parse_rule(rules, text, &rule);
    rule.text = ik_strdup(rules, text);
    add_rule(rules, &rule); /* in force even if it cannot be kept */
    res_t changed = load_user_file(rules, &root);
    if (is_ok(&changed)) {
        changed = keep_rule(rules, root, text);
    }
    json_decref(root);
    return changed;
}

bool ik_permission_rules_at(const ik_permission_rules_t *rules, size_t index,
                            ik_permission_rule_t *out)
{
    if (index >= rules->count) {
        return false;
    }
    const rule_t *rule = &rules->list[index];
    *out = (ik_permission_rule_t){.effect = rule->effect,
                                  .rule = rule->text,
                                  .source = rule->source,
                                  .removable = rule->in_user_file};
    return true;
}

/* Removes the rule from a list of the user's file, if it is there. */
static res_t remove_from(const ik_permission_rules_t *rules, const char *project, const char *key,
                         json_t *list, const char *text)
{
    size_t i;
    json_t *value;
    json_array_foreach(list, i, value)
    {
        if (json_is_string(value) && strcmp(json_string_value(value), text) == 0) {
            json_array_remove(list, i);
            return save_list(rules, project, key, list);
        }
    }
    return OK;
}

res_t ik_permission_rules_remove(ik_permission_rules_t *rules, size_t index)
{
    rule_t rule = rules->list[index];
    json_t *root = NULL;
    const char *key = NULL;
    for (size_t i = 0; i < IK_LENGTH(lists); i++) {
        key = lists[i].effect == rule.effect ? lists[i].key : key;
    }
    res_t changed = load_user_file(rules, &root);
    if (is_ok(&changed)) {
        json_t *projects = json_object_get(root, "projects");
        const char *path;
        json_t *project;
        json_object_foreach(projects, path, project)
        {
            if (is_ok(&changed) && rule.of_project && is_here(rules, path)) {
                changed = remove_from(rules, path, key, json_object_get(project, key), rule.text);
            }
        }
        if (!rule.of_project) {
            changed = remove_from(rules, NULL, key, json_object_get(root, key), rule.text);
        }
    }
    json_decref(root);
    if (is_ok(&changed)) {
        memmove(rules->list + index, rules->list + index + 1,
                (--rules->count - index) * sizeof(*rules->list));
    }
    return changed;
}
