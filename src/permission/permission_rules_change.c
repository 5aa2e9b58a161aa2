#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_file.h"
#include "base/utf8.h"
#include "permission/permission_rules_state.h"

/* The user's file as it is now, a new reference; an empty object when there is none. */
static res_t load_user_file(const ik_permission_rules_t *rules, json_t **root)
{
    char *text;
    size_t len;
    json_error_t error;
    void *scratch = talloc_new(NULL);
    res_t read = ik_file_read(scratch, rules->user_file, IK_PERMISSION_FILE_MAX, &text, &len);
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
    static const ik_permission_entry_t model = {.effect = IK_PERMISSION_ALLOW,
                                                .source = "user, for this project",
                                                .in_user_file = true,
                                                .of_project = true};
    json_t *root = NULL;
    for (size_t i = 0; i < rules->count; i++) {
        const ik_permission_entry_t *known = &rules->list[i];
        if (known->effect == model.effect && known->of_project && strcmp(known->text, text) == 0) {
            return OK;
        }
    }
    ik_permission_rules_append(rules, text, &model); /* in force even if it cannot be kept */
    res_t changed = load_user_file(rules, &root);
    if (is_ok(&changed)) {
        changed = keep_rule(rules, root, text);
    }
    json_decref(root);
    return changed;
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
    ik_permission_entry_t rule = rules->list[index];
    json_t *root = NULL;
    const char *key = ik_permission_rules_list_name(rule.effect);
    res_t changed = load_user_file(rules, &root);
    if (is_ok(&changed)) {
        json_t *projects = json_object_get(root, "projects");
        const char *path;
        json_t *project;
        json_object_foreach(projects, path, project)
        {
            if (is_ok(&changed) && rule.of_project && ik_permission_rules_is_here(rules, path)) {
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
