#include "base/config_provider.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/config_secret.h"
#include "base/url_host.h"

enum { NAME_LIMIT = 64 };

typedef struct {
    const char *name;
    ik_config_provider_type_t type;
    const char *base_url;
    const char *api_key_env;
    const char *other_key_env; /* used when api_key_env is not set */
    /* Known by its usual address: a file may change everything, the type too. */
    bool usual;
    bool key_optional;
} built_in_t;

static const built_in_t BUILT_IN[] = {
    {"openai", IK_CONFIG_TYPE_OPENAI, "https://api.openai.com/v1", "OPENAI_API_KEY", NULL, false,
     false},
    {"anthropic", IK_CONFIG_TYPE_ANTHROPIC, "https://api.anthropic.com", "ANTHROPIC_API_KEY", NULL,
     false, false},
    {"google", IK_CONFIG_TYPE_GOOGLE, "https://generativelanguage.googleapis.com", "GEMINI_API_KEY",
     "GOOGLE_API_KEY", false, false},
    {"offline", IK_CONFIG_TYPE_OFFLINE, NULL, NULL, NULL, false, false},
    {"ollama", IK_CONFIG_TYPE_OPENAI, "http://127.0.0.1:11434/v1", NULL, NULL, true, false},
    {"lmstudio", IK_CONFIG_TYPE_OPENAI, "http://127.0.0.1:1234/v1", NULL, NULL, true, false},
    {"llama", IK_CONFIG_TYPE_OPENAI, "http://127.0.0.1:8080/v1", NULL, NULL, true, false},
    {"vllm", IK_CONFIG_TYPE_OPENAI, "http://127.0.0.1:8000/v1", "VLLM_API_KEY", NULL, true, true},
    {"openrouter", IK_CONFIG_TYPE_OPENAI, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY",
     NULL, true, false},
};
enum { BUILT_IN_COUNT = IK_LENGTH(BUILT_IN) };

ik_config_provider_t *ik_config_provider_find(const ik_config_t *config, const char *name)
{
    for (size_t i = 0; i < config->provider_count; i++) {
        if (strcmp(config->providers[i]->name, name) == 0) {
            return config->providers[i];
        }
    }
    return NULL;
}

const ik_config_provider_t *ik_config_provider(const ik_config_t *config, const char *name)
{
    return ik_config_provider_find(config, name);
}

bool ik_config_provider_is_set_up(const ik_config_provider_t *provider)
{
    return provider->configured &&
           (provider->built_in || provider->place != NULL || provider->api_key != NULL);
}

char *ik_config_provider_describe_key(const void *ctx, const ik_config_provider_t *provider)
{
    if (provider->key_from_file) {
        return ik_strdup(ctx, "key from keys.json");
    }
    if (provider->api_key != NULL) {
        return ik_sprintf(ctx, "key from the environment (%s)", provider->api_key_env);
    }
    if (provider->configured) {
        return ik_strdup(ctx, "needs no key");
    }
    return provider->api_key_env == NULL
               ? ik_strdup(ctx, "no key")
               : ik_sprintf(ctx, "no key (%s is not set)", provider->api_key_env);
}

bool ik_config_has_key(const ik_config_t *config)
{
    for (size_t i = 0; i < config->provider_count; i++) {
        if (config->providers[i]->api_key != NULL) {
            return true;
        }
    }
    return false;
}

const char *ik_config_provider_own_url(const char *name)
{
    for (size_t i = 0; i < BUILT_IN_COUNT; i++) {
        if (strcmp(BUILT_IN[i].name, name) == 0) {
            return BUILT_IN[i].base_url;
        }
    }
    return NULL;
}

ik_config_provider_t *ik_config_provider_add(ik_config_t *config, const char *name)
{
    size_t count = config->provider_count;
    config->providers =
        ik_resize_array(config, config->providers, ik_config_provider_t *, count + 1);
    ik_config_provider_t *provider = ik_new(config, ik_config_provider_t);
    provider->name = ik_strdup(provider, name);
    config->providers[count] = provider;
    config->provider_count = count + 1;
    return provider;
}

void ik_config_provider_add_built_in(ik_config_t *config)
{
    for (size_t i = 0; i < BUILT_IN_COUNT; i++) {
        ik_config_provider_t *provider = ik_config_provider_add(config, BUILT_IN[i].name);
        provider->type = BUILT_IN[i].type;
        provider->base_url = BUILT_IN[i].base_url;
        provider->api_key_env = BUILT_IN[i].api_key_env;
        provider->key_optional = BUILT_IN[i].key_optional;
        provider->built_in = !BUILT_IN[i].usual;
        if (BUILT_IN[i].api_key_env != NULL) {
            ik_config_secret_add(config, BUILT_IN[i].api_key_env);
        }
        if (BUILT_IN[i].other_key_env != NULL) {
            ik_config_secret_add(config, BUILT_IN[i].other_key_env);
        }
    }
}

bool ik_config_provider_is_name(const char *name)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    size_t len = strspn(name, allowed);
    return len > 0 && len <= NAME_LIMIT && name[len] == '\0';
}

ik_config_provider_t *ik_config_provider_open(ik_config_loader_t *loader, const char *name,
                                              const char *at)
{
    ik_config_provider_t *provider = ik_config_provider_find(loader->config, name);
    if (provider != NULL) {
        return provider;
    }
    if (!ik_config_provider_is_name(name)) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, at,
                              "'%s' is not a valid provider name; use up to %d letters, digits, - "
                              "and _",
                              ik_config_loader_show(loader, name), NAME_LIMIT);
        return NULL;
    }
    if (loader->config->provider_count == IK_CONFIG_ENTRY_MAX) {
        ik_config_loader_fail(loader, IK_ERR_LIMIT, at, "more than %d providers",
                              IK_CONFIG_ENTRY_MAX);
        return NULL;
    }
    provider = ik_config_provider_add(loader->config, name);
    return provider;
}

/* --- derived values ---------------------------------------------------------------------- */

static void settle_api(ik_config_loader_t *loader, ik_config_provider_t *provider)
{
    if (provider->type == IK_CONFIG_TYPE_OPENAI) {
        if (provider->api == IK_CONFIG_API_NONE) {
            /* Compatible servers implement the chat API; few have the newer one. */
            bool own = provider->built_in &&
                       ik_url_host_is(ik_url_host_find(provider->base_url), "api.openai.com");
            provider->api = own ? IK_CONFIG_API_RESPONSES : IK_CONFIG_API_CHAT;
        }
        return;
    }
    if (provider->api != IK_CONFIG_API_NONE) {
        const char *place = provider->place == NULL ? "configuration" : provider->place;
        ik_config_loader_warn_at(loader, place,
                                 ik_sprintf(loader->scratch,
                                            "providers.%s.api has no effect: it applies only to "
                                            "the type openai",
                                            provider->name));
        provider->api = IK_CONFIG_API_NONE;
    }
}

/* The second variable of a built-in provider, unless a file chose the first. */
static const char *other_key_env(const ik_config_provider_t *provider)
{
    const ik_config_key_t *key = ik_config_find_key(IK_CONFIG_PROVIDER, "api_key_env");
    for (size_t i = 0; provider->built_in && i < BUILT_IN_COUNT; i++) {
        if (strcmp(BUILT_IN[i].name, provider->name) == 0 &&
            ik_config_key_source(key, provider) == IK_CONFIG_BUILT_IN) {
            return BUILT_IN[i].other_key_env;
        }
    }
    return NULL;
}

static void settle_key(ik_config_loader_t *loader, ik_config_provider_t *provider)
{
    if (provider->api_key_env == NULL) {
        return;
    }
    const char *other = other_key_env(provider);
    const char *value = ik_config_secret_value(loader->config, provider->api_key_env);
    if (value == NULL && other != NULL && ik_config_secret_value(loader->config, other) != NULL) {
        provider->api_key_env = other;
        value = ik_config_secret_value(loader->config, other);
    }
    if (value == NULL) {
        return;
    }
    char *key = ik_config_secret_clean(provider, value);
    if (key == NULL) {
        ik_config_loader_warn_at(loader, provider->api_key_env,
                                 "the key contains characters that no key can have");
    } else if (key[0] != '\0') {
        ik_config_secret_destroy(provider->api_key);
        provider->api_key = key;
        provider->key_from_file = false;
    }
}

void ik_config_provider_settle_use(ik_config_provider_t *provider)
{
    /* A file that names the variable of a key asks for the key. */
    const ik_config_key_t *variable = ik_config_find_key(IK_CONFIG_PROVIDER, "api_key_env");
    bool optional =
        provider->key_optional && ik_config_key_source(variable, provider) == IK_CONFIG_BUILT_IN;
    provider->configured = provider->api_key_env == NULL || provider->api_key != NULL || optional;
}

static void settle(ik_config_loader_t *loader, ik_config_provider_t *provider)
{
    if (provider->type == 0) {
        provider->type = IK_CONFIG_TYPE_OPENAI;
    }
    settle_api(loader, provider);
    settle_key(loader, provider);
    ik_config_provider_settle_use(provider);
    if (provider->base_url == NULL && provider->type != IK_CONFIG_TYPE_OFFLINE) {
        provider->configured = false;
        res_t error = ERR(INVALID, "providers.%s needs a base_url", provider->name);
        ik_config_loader_fail_at(loader, provider->place, &error);
    }
}

void ik_config_provider_settle(ik_config_loader_t *loader)
{
    for (size_t i = 0; i < loader->config->provider_count; i++) {
        settle(loader, loader->config->providers[i]);
    }
}
