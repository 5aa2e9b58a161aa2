#include "base/config_tool.h"

#include <string.h>

#include "base/alloc.h"
#include "base/config_secret.h"

enum { NAME_LIMIT = 64 };

/* Files and people may write file-read; the registry says file_read. */
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
        ik_config_loader_warn(loader, at, "no tool can be called '%s'",
                              ik_config_loader_show(loader, name));
        return NULL;
    }
    if (loader->config->tool_count == IK_CONFIG_ENTRY_MAX) {
        ik_config_loader_fail(loader, IK_ERR_LIMIT, at, "more than %d tools", IK_CONFIG_ENTRY_MAX);
        return NULL;
    }
    return add(loader->config, name);
}

char **ik_config_tool_environment(const void *ctx, const ik_config_t *config, const char *tool_name)
{
    const ik_config_tool_t *tool = find(config, tool_name);
    const char **names = tool == NULL ? NULL : tool->pass_env;
    char **entries = ik_new_array(ctx, char *, 1);
    size_t count = 0;
    for (; names != NULL && *names != NULL; names++) {
        const char *value = ik_config_secret_value(config, *names);
        if (value != NULL) {
            entries = ik_resize_array(ctx, entries, char *, count + 2);
            entries[count++] = ik_sprintf(entries, "%s=%s", *names, value);
        }
    }
    entries[count] = NULL;
    return entries;
}
