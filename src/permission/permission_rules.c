#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/config_loader.h"
#include "base/file.h"
#include "base/json.h"
#include "base/ownership.h"
#include "base/utf8.h"
#include "permission/permission_rules_state.h"

const char *ik_permission_rules_list_name(ik_permission_effect_t effect)
{
    return effect == IK_PERMISSION_DENY ? "deny" : effect == IK_PERMISSION_ASK ? "ask" : "allow";
}

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
static bool parse_rule(const void *ctx, const char *text, ik_permission_entry_t *rule)
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
    ik_permission_entry_t rule = {0};
    void *scratch = talloc_new(NULL);
    bool valid = parse_rule(scratch, text, &rule);
    talloc_free(scratch);
    if (!valid) {
        *fault =
            ik_sprintf(ctx, "'%.100s' is not a rule: write TOOL, TOOL(pattern) or network", text);
    }
    return valid;
}

void ik_permission_rules_append(ik_permission_rules_t *rules, const char *text,
                                const ik_permission_entry_t *model)
{
    ik_permission_entry_t rule = *model;
    if (!parse_rule(rules, text, &rule)) {
        return;
    }
    rule.text = ik_strdup(rules, text);
    rules->list = ik_resize_array(rules, rules->list, ik_permission_entry_t, rules->count + 1);
    rules->list[rules->count++] = rule;
}

bool ik_permission_rules_at(const ik_permission_rules_t *rules, size_t index,
                            ik_permission_rule_t *out)
{
    if (index >= rules->count) {
        return false;
    }
    const ik_permission_entry_t *rule = &rules->list[index];
    *out = (ik_permission_rule_t){.effect = rule->effect,
                                  .rule = rule->text,
                                  .tool = rule->tool,
                                  .source = rule->source,
                                  .removable = rule->in_user_file};
    return true;
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
                      const ik_permission_entry_t *model)
{
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
        char *text = ik_json_kind(value) == IK_JSON_STRING
                         ? ik_json_decode(loader->scratch, value, &len)
                         : NULL;
        if (text == NULL || strlen(text) != len) {
            ik_config_loader_fail(loader, IK_ERR_INVALID, value.text,
                                  "%s contains a value that is not a string", label);
        } else if (!ik_permission_rules_check(loader->scratch, text, &fault)) {
            ik_config_loader_fail(loader, IK_ERR_INVALID, value.text, "%s: %s", label, fault);
        } else if (model != NULL) {
            ik_permission_rules_append(reading->rules, text, model);
        }
    }
}

/* Reads those of the three lists that the object has. label names the object in messages, with a
 * colon, or is "". */
static void read_lists(reading_t *reading, ik_json_span_t object, const char *label,
                       const ik_permission_entry_t *model)
{
    static const ik_permission_effect_t effects[] = {IK_PERMISSION_DENY, IK_PERMISSION_ASK,
                                                     IK_PERMISSION_ALLOW};
    for (size_t i = 0; i < IK_LENGTH(effects); i++) {
        const char *name = ik_permission_rules_list_name(effects[i]);
        ik_json_span_t list;
        bool usable = reading->is_users || effects[i] != IK_PERMISSION_ALLOW;
        if (usable && ik_json_find(object, name, &list)) {
            ik_permission_entry_t rule = model == NULL ? (ik_permission_entry_t){0} : *model;
            rule.effect = effects[i];
            read_list(reading, list, ik_sprintf(reading->loader.scratch, "%s%s", label, name),
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

bool ik_permission_rules_is_here(const ik_permission_rules_t *rules, const char *path)
{
    char resolved[PATH_MAX];
    return strcmp(path, rules->project) == 0 ||
           (realpath(path, resolved) != NULL && strcmp(resolved, rules->project) == 0);
}

static void read_projects(reading_t *reading, ik_json_span_t projects)
{
    static const char *const known[] = {"deny", "ask", "allow", NULL};
    static const ik_permission_entry_t model = {
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
            bool counts = ik_permission_rules_is_here(reading->rules, path) &&
                          ik_json_find(projects, path, &last) && last.text == project.text;
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
               &(ik_permission_entry_t){.source = reading->is_users ? "user" : "project",
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
    res_t read = ik_file_read(rules, file, IK_PERMISSION_FILE_MAX, &text, &len);
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
        if (strcmp(allowed[i], "all") != 0) {
            ik_permission_rules_append(
                rules, allowed[i],
                &(ik_permission_entry_t){.effect = IK_PERMISSION_ALLOW, .source = "--allow"});
        }
    }
    return OK;
}
