#include "base/config_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/config_provider.h"
#include "base/config_server.h"
#include "base/file.h"
#include "base/ownership.h"
#include "base/utf8.h"

/* --- members of an object ---------------------------------------------------------------- */

typedef struct {
    const char *name;
    size_t name_len;
    ik_json_span_t key;
    ik_json_span_t value;
    bool superseded; /* a later member has the same name */
} member_t;

static size_t collect_members(const void *ctx, ik_json_span_t object, member_t **out)
{
    member_t *members = ik_new_array(ctx, member_t, 1);
    size_t capacity = 1;
    size_t count = 0;
    size_t position = 0;
    member_t member = {0};
    while (ik_json_next_member(object, &position, &member.key, &member.value)) {
        if (count == capacity) {
            capacity *= 2;
            members = ik_resize_array(ctx, members, member_t, capacity);
        }
        member.name = ik_json_decode(ctx, member.key, &member.name_len);
        members[count++] = member;
    }
    *out = members;
    return count;
}

static bool is_same_name(const member_t *a, const member_t *b)
{
    return a->name_len == b->name_len && memcmp(a->name, b->name, a->name_len) == 0;
}

static int compare_members(const void *left, const void *right)
{
    const member_t *a = *(const member_t *const *)left;
    const member_t *b = *(const member_t *const *)right;
    if (!is_same_name(a, b)) {
        size_t shorter = a->name_len < b->name_len ? a->name_len : b->name_len;
        int order = memcmp(a->name, b->name, shorter);
        return order != 0 ? order : (a->name_len > b->name_len) - (a->name_len < b->name_len);
    }
    return (a > b) - (a < b);
}

/* By sorting, because comparing every pair would take seconds for a hundred thousand keys. */
static void mark_superseded(const void *ctx, member_t *members, size_t count)
{
    member_t **sorted = ik_new_array(ctx, member_t *, count);
    for (size_t i = 0; i < count; i++) {
        sorted[i] = &members[i];
    }
    qsort(sorted, count, sizeof(sorted[0]), compare_members);
    for (size_t i = 0; i + 1 < count; i++) {
        sorted[i]->superseded = is_same_name(sorted[i], sorted[i + 1]);
    }
}

typedef void member_function_t(ik_config_loader_t *loader, const member_t *member, void *data);

/* Calls visit for the members that are not superseded; label names the object in messages. */
static void visit_members(ik_config_loader_t *loader, ik_json_span_t object, const char *label,
                          member_function_t *visit, void *data)
{
    if (ik_json_kind(object) != IK_JSON_OBJECT) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, object.text, "%s must be an object", label);
        return;
    }
    member_t *members;
    size_t count = collect_members(loader->scratch, object, &members);
    mark_superseded(loader->scratch, members, count);
    for (size_t i = 0; i < count; i++) {
        if (strlen(members[i].name) != members[i].name_len) {
            /* As a C string it would be taken for the part before the NUL. */
            ik_config_loader_warn(loader, members[i].key.text, "unknown key with \\u0000 in it");
        } else if (members[i].superseded) {
            ik_config_loader_warn(loader, members[i].key.text,
                                  "'%s' appears more than once; the last one counts",
                                  ik_config_loader_show(loader, members[i].name));
        } else {
            visit(loader, &members[i], data);
        }
    }
}

/* --- the sections ------------------------------------------------------------------------ */

/* A key's full name for messages: providers.NAME.KEY. */
static const char *label_of(ik_config_loader_t *loader, const char *group, const char *entry,
                            const char *name)
{
    const char *shown = ik_config_loader_show(loader, name);
    return ik_sprintf(loader->scratch, "%s.%s.%s", group, entry, shown);
}

static void warn_unknown(ik_config_loader_t *loader, const member_t *member, const char *label)
{
    ik_config_loader_warn(loader, member->key.text, "unknown key %s", label);
}

static void read_provider_key(ik_config_loader_t *loader, const member_t *member, void *data)
{
    ik_config_provider_t *provider = data;
    const char *label = label_of(loader, "providers", provider->name, member->name);
    const ik_config_key_t *key = ik_config_find_key(IK_CONFIG_PROVIDER, member->name);
    if (key == NULL) {
        warn_unknown(loader, member, label);
        return;
    }
    int type = provider->type;
    ik_config_loader_set_json(loader, key, provider, label, member->value);
    if (provider->built_in && provider->type != type) {
        provider->type = type;
        ik_config_loader_fail(loader, IK_ERR_INVALID, member->value.text,
                              "%s cannot be changed: the provider is built in", label);
    }
}

static void read_provider(ik_config_loader_t *loader, const member_t *member, void *data)
{
    (void)data;
    const char *shown = ik_config_loader_show(loader, member->name);
    ik_config_provider_t *provider =
        ik_config_provider_open(loader, member->name, member->key.text);
    if (provider == NULL) {
        return;
    }
    const char *label = ik_sprintf(loader->scratch, "providers.%s", shown);
    if (provider->place == NULL) {
        provider->place = ik_config_loader_place(loader, member->key.text);
    }
    if (provider->type == IK_CONFIG_TYPE_OFFLINE) {
        ik_config_loader_warn(loader, member->key.text, "%s has nothing to configure", label);
        return;
    }
    visit_members(loader, member->value, label, read_provider_key, provider);
}

/* Reads a member of the object limits of a tool, or of the general one. */
static void read_limit(ik_config_loader_t *loader, const member_t *member, void *data)
{
    ik_config_tool_t *tool = data == loader->config ? NULL : data;
    const char *name =
        ik_sprintf(loader->scratch, "limits.%s", ik_config_loader_show(loader, member->name));
    const char *label = tool == NULL ? name : label_of(loader, "tools", tool->name, name);
    const ik_config_key_t *key =
        ik_config_find_key(tool == NULL ? IK_CONFIG_TOP : IK_CONFIG_TOOL, name);
    if (key == NULL) {
        warn_unknown(loader, member, label);
    } else {
        ik_config_loader_set_json(loader, key, data, label, member->value);
    }
}

static void read_tool_key(ik_config_loader_t *loader, const member_t *member, void *data)
{
    ik_config_tool_t *tool = data;
    const char *label = label_of(loader, "tools", tool->name, member->name);
    const ik_config_key_t *key =
        strchr(member->name, '.') != NULL ? NULL : ik_config_find_key(IK_CONFIG_TOOL, member->name);
    if (strcmp(member->name, "limits") == 0) {
        visit_members(loader, member->value, label, read_limit, tool);
    } else if (key == NULL) {
        warn_unknown(loader, member, label);
    } else {
        ik_config_loader_set_json(loader, key, tool, label, member->value);
    }
}

static void read_tool(ik_config_loader_t *loader, const member_t *member, void *data)
{
    (void)data;
    ik_config_tool_t *tool = ik_config_tool_open(loader, member->name, member->key.text);
    if (tool != NULL) {
        const char *label = ik_sprintf(loader->scratch, "tools.%s", tool->name);
        visit_members(loader, member->value, label, read_tool_key, tool);
    }
}

static void read_hook_key(ik_config_loader_t *loader, const member_t *member, void *data)
{
    ik_config_hook_t *hook = data;
    const char *label =
        label_of(loader, "hooks", ik_config_loader_show(loader, hook->name), member->name);
    const ik_config_key_t *key = ik_config_find_key(IK_CONFIG_HOOK, member->name);
    if (key == NULL) {
        warn_unknown(loader, member, label);
    } else {
        ik_config_loader_set_json(loader, key, hook, label, member->value);
    }
}

static void read_hook(ik_config_loader_t *loader, const member_t *member, void *data)
{
    (void)data;
    ik_config_hook_t *hook = ik_config_hook_open(loader, member->name, member->key.text);
    if (hook != NULL) {
        const char *label =
            ik_sprintf(loader->scratch, "hooks.%s", ik_config_loader_show(loader, hook->name));
        visit_members(loader, member->value, label, read_hook_key, hook);
    }
}

/* A section whose entries a project cannot change. */
static void read_own_section(ik_config_loader_t *loader, const member_t *member,
                             member_function_t *visit)
{
    if (loader->source == IK_CONFIG_PROJECT) {
        ik_config_loader_warn(loader, member->key.text,
                              "%s is not honoured from a project's config file", member->name);
    } else {
        visit_members(loader, member->value, member->name, visit, NULL);
    }
}

static void read_server(ik_config_loader_t *loader, const member_t *member, void *data)
{
    (void)data;
    ik_config_server_read(loader, member->name, member->key, member->value);
}

static void read_top_key(ik_config_loader_t *loader, const member_t *member, void *data)
{
    const ik_config_key_t *key =
        strchr(member->name, '.') != NULL ? NULL : ik_config_find_key(IK_CONFIG_TOP, member->name);
    if (key != NULL) {
        ik_config_loader_set_json(loader, key, data, key->name, member->value);
    } else if (strcmp(member->name, "limits") == 0) {
        visit_members(loader, member->value, "limits", read_limit, data);
    } else if (strcmp(member->name, "tools") == 0) {
        visit_members(loader, member->value, "tools", read_tool, NULL);
    } else if (strcmp(member->name, "hooks") == 0) {
        read_own_section(loader, member, read_hook);
    } else if (strcmp(member->name, "providers") == 0) {
        read_own_section(loader, member, read_provider);
    } else if (strcmp(member->name, "mcpServers") == 0) {
        read_own_section(loader, member, read_server);
    } else {
        warn_unknown(loader, member, ik_config_loader_show(loader, member->name));
    }
}

/* --- the file ---------------------------------------------------------------------------- */

static const char *find_bad_utf8(const char *text, size_t len)
{
    bool valid = true;
    size_t at = 0;
    while (at < len) {
        size_t step = ik_utf8_step(text + at, len - at, &valid);
        if (!valid) {
            return text + at;
        }
        at += step;
    }
    return NULL;
}

static void parse_text(ik_config_loader_t *loader, const char *text, size_t len)
{
    const char *bad = find_bad_utf8(text, len);
    if (bad != NULL) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, bad, "the file is not UTF-8 here");
        return;
    }
    ik_json_span_t value;
    ik_json_fault_t fault;
    if (!ik_json_scan(text, len, &value, &fault)) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, text + fault.offset, "broken JSON: %s",
                              fault.reason);
        return;
    }
    visit_members(loader, value, "the configuration", read_top_key, loader->config);
}

void ik_config_file_parse(ik_config_loader_t *loader, const char *path, const char *text,
                          size_t len)
{
    loader->origin = path;
    loader->text = text;
    parse_text(loader, text, len);
    loader->text = NULL;
}

void ik_config_file_load(ik_config_loader_t *loader, const char *path)
{
    char *text = NULL;
    size_t len = 0;
    if (path == NULL) {
        return;
    }
    res_t result = ik_ownership_check_file(path);
    if (is_ok(&result)) {
        result = ik_file_read(loader->scratch, path, IK_CONFIG_FILE_MAX, &text, &len);
    } else {
        result = ik_error_make(result.code, "refused: %s", result.message);
    }
    if (is_ok(&result)) {
        ik_config_file_parse(loader, path, text, len);
    } else if (result.code != IK_ERR_NOT_FOUND) {
        ik_config_loader_fail_file(loader, path, &result);
    }
}
