#include "base/config_loader.h"

#include <string.h>

#include "base/alloc.h"

enum { FILE_NAME_MAX = 255 };

static ik_config_hook_t *find(const ik_config_t *config, const char *name)
{
    for (size_t i = 0; i < config->hook_count; i++) {
        if (strcmp(config->hooks[i]->name, name) == 0) {
            return config->hooks[i];
        }
    }
    return NULL;
}

const ik_config_hook_t *ik_config_hook(const ik_config_t *config, const char *name)
{
    return find(config, name);
}

ik_config_hook_t *ik_config_hook_open(ik_config_loader_t *loader, const char *name, const char *at)
{
    ik_config_t *config = loader->config;
    ik_config_hook_t *hook = find(config, name);
    if (hook != NULL) {
        return hook;
    }
    if (*name == '\0' || strlen(name) > FILE_NAME_MAX || strchr(name, '/') != NULL) {
        ik_config_loader_warn(loader, at, "'%s' is not the name of a hook's file",
                              ik_config_loader_show(loader, name));
        return NULL;
    }
    if (config->hook_count == IK_CONFIG_ENTRY_MAX) {
        ik_config_loader_fail(loader, IK_ERR_LIMIT, at, "more than %d hooks", IK_CONFIG_ENTRY_MAX);
        return NULL;
    }
    config->hooks =
        ik_resize_array(config, config->hooks, ik_config_hook_t *, config->hook_count + 1);
    hook = ik_new(config, ik_config_hook_t);
    hook->name = ik_strdup(hook, name);
    config->hooks[config->hook_count++] = hook;
    return hook;
}
