#include "base/config_loader.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/config_file.h"
#include "base/config_secret.h"
#include "base/file.h"

enum { NAME_LIMIT = 64 };

/* Treats - as _: files and people may write file-read for the registry's file_read. */
static bool is_same_name(const char *name, const char *given)
{
    for (; *name != '\0' && *given != '\0'; name++, given++) {
        if (*name != (*given == '-' ? '_' : *given)) {
            return false;
        }
    }
    return *name == *given;
}

static ik_config_tool_t *find(const ik_config_t *config, const char *name)
{
    for (size_t i = 0; i < config->tool_count; i++) {
        if (is_same_name(config->tools[i]->name, name)) {
            return config->tools[i];
        }
    }
    return NULL;
}

const ik_config_tool_t *ik_config_tool(const ik_config_t *config, const char *name)
{
    return find(config, name);
}

bool ik_config_tool_enabled(const ik_config_t *config, const char *name)
{
    const ik_config_tool_t *tool = find(config, name);
    return tool == NULL || tool->enabled;
}

static bool is_name(const char *name)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-0123456789";
    size_t len = strspn(name, allowed);
    bool digit_first = name[0] >= '0' && name[0] <= '9';
    return len > 0 && len <= NAME_LIMIT && name[len] == '\0' && !digit_first;
}

static ik_config_tool_t *add(ik_config_t *config, const char *name)
{
    size_t count = config->tool_count;
    config->tools = ik_resize_array(config, config->tools, ik_config_tool_t *, count + 1);
    ik_config_tool_t *tool = ik_new(config, ik_config_tool_t);
    char *spelled = ik_strdup(tool, name);
    for (char *p = spelled; (p = strchr(p, '-')) != NULL; p++) {
        *p = '_';
    }
    tool->name = spelled;
    tool->enabled = true;
    config->tools[count] = tool;
    config->tool_count = count + 1;
    return tool;
}

ik_config_tool_t *ik_config_tool_open(ik_config_loader_t *loader, const char *name, const char *at)
{
    ik_config_tool_t *tool = find(loader->config, name);
    if (tool != NULL) {
        return tool;
    }
    if (!is_name(name)) {
        ik_config_loader_warn(loader, at, "'%s' is not a valid tool name",
                              ik_config_loader_show(loader, name));
        return NULL;
    }
    if (loader->config->tool_count == IK_CONFIG_ENTRY_MAX) {
        ik_config_loader_fail(loader, IK_ERR_LIMIT, at, "more than %d tools", IK_CONFIG_ENTRY_MAX);
        return NULL;
    }
    return add(loader->config, name);
}

/* --- the environment of a call ----------------------------------------------------------- */

enum { VALUE_FILE_MAX = 64 * 1024 };

/* A later value of a variable replaces the earlier one. */
static void add_entry(const void *ctx, char ***entries, size_t *count, const char *name, size_t len,
                      const char *value)
{
    for (size_t i = 0; i < *count; i++) {
        if (strncmp((*entries)[i], name, len) == 0 && (*entries)[i][len] == '=') {
            (*entries)[i] = ik_sprintf(*entries, "%.*s=%s", (int)len, name, value);
            return;
        }
    }
    *entries = ik_resize_array(ctx, *entries, char *, *count + 2);
    (*entries)[(*count)++] = ik_sprintf(*entries, "%.*s=%s", (int)len, name, value);
    (*entries)[*count] = NULL;
}

char *ik_config_tool_env_file(const void *ctx, const char *entry)
{
    const char *home = getenv("HOME");
    const char *value = strchr(entry, '=') + 1;
    if (strncmp(value, "file:", 5) != 0) {
        return NULL;
    }
    const char *path = value + 5;
    bool below_home = path[0] == '~' && home != NULL;
    return ik_sprintf(ctx, "%s%s", below_home ? home : "", path + (below_home ? 1 : 0));
}

/* The text of a file without its final newline; NULL when it cannot be read or contains a NUL. The
 * variable then stays unset, and the tool reports what it misses. */
static const char *read_value(const void *ctx, const char *path)
{
    char *text;
    size_t len;
    res_t read = ik_file_read(ctx, path, VALUE_FILE_MAX, &text, &len);
    if (is_err(&read) || strlen(text) != len) {
        return NULL;
    }
    len -= len > 0 && text[len - 1] == '\n';
    len -= len > 0 && text[len - 1] == '\r';
    text[len] = '\0';
    return text;
}

/* The tool's env as the files have it now, or as it was at the start when they cannot be read. */
static const char **current_env(void *scratch, const ik_config_t *config, const char *tool_name)
{
    const ik_config_tool_t *tool = find(config, tool_name);
    ik_config_loader_t loader = {
        .config = ik_new(scratch, ik_config_t), .scratch = scratch, .error = OK};
    loader.source = IK_CONFIG_SYSTEM;
    ik_config_file_load(&loader, config->system_file);
    loader.source = IK_CONFIG_USER;
    ik_config_file_load(&loader, config->user_file);
    if (is_ok(&loader.error) && config->user_file != NULL) {
        tool = find(loader.config, tool_name);
    }
    return tool == NULL ? NULL : tool->env;
}

/* Adds what is held back and named here. */
static void add_passed(const void *ctx, const ik_config_t *config, char ***entries, size_t *count,
                       const char *const *names)
{
    for (; names != NULL && *names != NULL; names++) {
        const char *value = ik_config_secret_held_back(config, *names);
        if (value != NULL) {
            add_entry(ctx, entries, count, *names, strlen(*names), value);
        }
    }
}

/* What is held back and may be seen: everything but provider keys by the user, else what pass_env
 * names. */
static char **begin_environment(const void *ctx, const ik_config_t *config, bool by_user,
                                size_t *count)
{
    char **entries = ik_new_array(ctx, char *, 1);
    for (char **entry = environ; by_user && entry != NULL && *entry != NULL; entry++) {
        size_t len = strcspn(*entry, "=");
        if (ik_config_secret_is_held_back(*entry, len) && (*entry)[len] == '=') {
            add_entry(ctx, &entries, count, *entry, len, *entry + len + 1);
        }
    }
    add_passed(ctx, config, &entries, count, config->pass_env);
    return entries;
}

char **ik_config_hook_environment(const void *ctx, const ik_config_t *config, bool by_user)
{
    size_t count = 0;
    return begin_environment(ctx, config, by_user, &count);
}

char **ik_config_tool_environment(const void *ctx, const ik_config_t *config, const char *tool_name,
                                  bool by_user)
{
    void *scratch = talloc_new(NULL);
    const ik_config_tool_t *tool = find(config, tool_name);
    const char **env = current_env(scratch, config, tool_name);
    size_t count = 0;
    char **entries = begin_environment(ctx, config, by_user, &count);
    add_passed(ctx, config, &entries, &count, tool == NULL ? NULL : tool->pass_env);
    for (; env != NULL && *env != NULL; env++) {
        size_t len = strcspn(*env, "=");
        const char *file = ik_config_tool_env_file(scratch, *env);
        const char *value = file == NULL ? *env + len + 1 : read_value(scratch, file);
        if (value != NULL) {
            add_entry(ctx, &entries, &count, *env, len, value);
        }
    }
    talloc_free(scratch);
    return entries;
}

/* --- limits ------------------------------------------------------------------------------ */

ik_config_limits_t ik_config_tool_limits(const ik_config_t *config, const char *tool_name)
{
    const ik_config_tool_t *tool = find(config, tool_name);
    ik_config_limits_t limits = config->limits;
    for (size_t i = 0; tool != NULL && i < IK_CONFIG_KEY_COUNT; i++) {
        const ik_config_key_t *key = &ik_config_keys[i];
        if (key->section == IK_CONFIG_TOOL && strncmp(key->name, "limits.", 7) == 0 &&
            ik_config_key_source(key, tool) != IK_CONFIG_BUILT_IN) {
            size_t within = key->offset - offsetof(ik_config_tool_t, limits);
            memcpy((char *)&limits + within, (const char *)&tool->limits + within, sizeof(long));
        }
    }
    return limits;
}
