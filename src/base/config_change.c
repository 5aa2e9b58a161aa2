#include "base/config_change.h"

#include <string.h>

#include "base/alloc.h"
#include "base/config_key_file.h"
#include "base/config_provider.h"
#include "base/config_secret.h"
#include "base/json_file.h"

static res_t set_text(const char *file, ik_json_file_path_t path, const char *text)
{
    ik_buffer_t value;
    ik_buffer_init(&value, NULL, IK_BUFFER_UNLIMITED); /* bounded by the key's checks */
    ik_json_append_text(&value, text);
    res_t result = ik_json_file_set(file, path, value.data);
    explicit_bzero(value.data, value.len);
    ik_buffer_reset(&value);
    return result;
}

/* Checks a text as if a file had it. */
static res_t check(ik_config_section_t section, const char *name, const char *text)
{
    ik_config_t *complaints = ik_new(NULL, ik_config_t);
    ik_config_loader_t loader = {.config = complaints,
                                 .scratch = talloc_new(complaints),
                                 .source = IK_CONFIG_USER,
                                 .origin = name};
    ik_config_provider_t *provider = ik_new(complaints, ik_config_provider_t);
    const ik_config_key_t *key = ik_config_find_key(section, name);
    void *data = section == IK_CONFIG_TOP ? (void *)complaints : (void *)provider;
    ik_config_loader_set_text(&loader, key, data, name, NULL, text);
    talloc_free(complaints);
    size_t place = is_err(&loader.error) ? strlen(name) + strlen(": ") : 0;
    return ik_error_make(loader.error.code, "%s", loader.error.message + place);
}

res_t ik_config_change_model(ik_config_t *config, const ik_paths_t *paths, const char *model)
{
    const ik_config_provider_t *provider;
    const char *name;
    TRY(check(IK_CONFIG_TOP, "model", model));
    TRY(ik_config_resolve_model(config, model, &provider, &name));
    TRY(set_text(paths->user_config, (const char *[]){"model", NULL}, model));
    size_t index = (size_t)(ik_config_find_key(IK_CONFIG_TOP, "model") - ik_config_keys);
    if (config->sources[index] <= IK_CONFIG_USER) {
        config->model = ik_strdup(config, model);
        config->sources[index] = IK_CONFIG_USER;
    }
    return OK;
}

res_t ik_config_change_provider(ik_config_t *config, const ik_paths_t *paths, const char *name,
                                const char *base_url, const ik_config_provider_t **out)
{
    if (!ik_config_provider_is_name(name)) {
        return ERR(INVALID, "'%.64s' is not a valid provider name; use letters, digits, - and _",
                   name);
    }
    ik_config_provider_t *provider = ik_config_provider_find(config, name);
    if (provider != NULL && provider->built_in) {
        return ERR(CONFLICT, "'%s' is the name of a built-in provider; choose another name", name);
    }
    TRY(check(IK_CONFIG_PROVIDER, "base_url", base_url));
    size_t len = strlen(base_url);
    while (base_url[len - 1] == '/') {
        len--;
    }
    char *url = ik_strndup(NULL, base_url, len);
    const char *const path[] = {"providers", name, "base_url", NULL};
    res_t written = set_text(paths->user_config, path, url);
    if (is_ok(&written)) {
        size_t index =
            (size_t)(ik_config_find_key(IK_CONFIG_PROVIDER, "base_url") - ik_config_keys);
        if (provider == NULL) {
            provider = ik_config_provider_add(config, name);
            provider->type = IK_CONFIG_TYPE_OPENAI;
        }
        if (provider->type == IK_CONFIG_TYPE_OPENAI && provider->api == IK_CONFIG_API_NONE) {
            provider->api = IK_CONFIG_API_CHAT;
        }
        provider->base_url = ik_strdup(provider, url);
        provider->place = ik_strdup(provider, paths->user_config);
        provider->sources[index] = IK_CONFIG_USER;
        ik_config_provider_settle_use(provider);
        if (out != NULL) {
            *out = provider;
        }
    }
    talloc_free(url);
    return written;
}

/* The provider whose key may change. */
static res_t find_keyed(const ik_config_t *config, const ik_paths_t *paths, const char *name,
                        ik_config_provider_t **out)
{
    *out = ik_config_provider_find(config, name);
    if (*out == NULL) {
        return ERR(NOT_FOUND, "There is no provider '%.64s'", name);
    }
    if ((*out)->type == IK_CONFIG_TYPE_OFFLINE) {
        return ERR(INVALID, "The offline model needs no key");
    }
    res_t safe = ik_config_key_file_check(paths->keys);
    return is_ok(&safe) ? OK : ik_error_make(safe.code, "%s: %s", paths->keys, safe.message);
}

static const char *set_variable(const ik_config_t *config, const ik_config_provider_t *provider)
{
    bool set = provider->api_key_env != NULL &&
               ik_config_secret_value(config, provider->api_key_env) != NULL;
    return set ? provider->api_key_env : NULL;
}

res_t ik_config_change_key(ik_config_t *config, const ik_paths_t *paths, const char *name,
                           const char *key)
{
    ik_config_provider_t *provider;
    TRY(find_keyed(config, paths, name, &provider));
    char *clean = ik_config_secret_clean(provider, key);
    if (clean == NULL || clean[0] == '\0') {
        talloc_free(clean);
        return ERR(INVALID, "%s",
                   clean == NULL ? "The key contains characters that no key can have"
                                 : "The key is empty");
    }
    res_t written = set_text(paths->keys, (const char *[]){name, "api_key", NULL}, clean);
    if (is_err(&written) || (provider->api_key != NULL && !provider->key_from_file)) {
        ik_config_secret_destroy(clean);
        return written;
    }
    ik_config_secret_destroy(provider->api_key);
    provider->api_key = clean;
    provider->key_from_file = true;
    ik_config_provider_settle_use(provider);
    return OK;
}

void ik_config_change_withhold_key(ik_config_t *config, const char *name)
{
    ik_config_provider_t *provider = ik_config_provider_find(config, name);
    ik_config_secret_destroy(provider->api_key);
    provider->api_key = NULL;
    provider->key_from_file = false;
    provider->key_held = false;
    ik_config_provider_settle_use(provider);
}

res_t ik_config_change_forget_key(ik_config_t *config, const ik_paths_t *paths, const char *name,
                                  bool *removed, const char **variable)
{
    ik_config_provider_t *provider;
    TRY(find_keyed(config, paths, name, &provider));
    TRY(ik_json_file_remove(paths->keys, (const char *[]){name, NULL}, removed));
    *variable = set_variable(config, provider);
    if (*variable != NULL) {
        ik_config_secret_forget(config, *variable);
    }
    ik_config_secret_destroy(provider->api_key);
    provider->api_key = NULL;
    provider->key_from_file = false;
    ik_config_provider_settle_use(provider);
    return OK;
}
