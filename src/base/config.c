#include "base/config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/config_file.h"
#include "base/config_key_file.h"
#include "base/config_loader.h"
#include "base/config_provider.h"
#include "base/config_secret.h"

/* --- models ------------------------------------------------------------------------------ */

static char *list_providers(const void *ctx, const ik_config_t *config)
{
    ik_buffer_t list;
    ik_buffer_init(&list, ctx, 160);
    for (size_t i = 0; i < config->provider_count; i++) {
        ik_buffer_append_format(&list, "%s%s", i == 0 ? "" : ", ", config->providers[i]->name);
    }
    return ik_buffer_finish(&list);
}

res_t ik_config_resolve_model(const ik_config_t *config, const char *model,
                              const ik_config_provider_t **provider, const char **model_name)
{
    const char *slash = strchr(model, '/');
    if (slash == NULL || slash == model || slash[1] == '\0') {
        return ERR(INVALID, "model '%.100s' must be written provider/model", model);
    }
    char *name = ik_strndup(NULL, model, (size_t)(slash - model));
    const ik_config_provider_t *found = ik_config_provider(config, name);
    res_t result = OK;
    if (found == NULL) {
        result = ERR(NOT_FOUND, "model '%.100s': there is no provider '%.64s' (known: %s)", model,
                     name, list_providers(name, config));
    } else {
        *provider = found;
        *model_name = slash + 1;
    }
    talloc_free(name);
    return result;
}

static res_t check_model(const ik_config_t *config, const char *model, ik_config_source_t source)
{
    const ik_config_provider_t *provider = NULL;
    const char *model_name;
    TRY(ik_config_resolve_model(config, model, &provider, &model_name));
    assert(provider != NULL);
    /* A missing key is reported when the user's own choice is used. A project's choice is refused
     * here, so that it cannot replace a model that works. A local server that the user has not
     * configured may not run, or belong to another user. */
    if (source == IK_CONFIG_PROJECT && !ik_config_provider_is_set_up(provider)) {
        return ERR(DENIED, "model '%.100s' is not honoured: provider %s is not configured", model,
                   provider->name);
    }
    return OK;
}

/* The model of the highest layer that names a usable one; the unusable ones are reported. */
static void settle_model(ik_config_loader_t *loader)
{
    ik_config_t *config = loader->config;
    size_t index = (size_t)(ik_config_find_key(IK_CONFIG_TOP, "model") - ik_config_keys);
    for (int source = 0; source < IK_CONFIG_SOURCE_COUNT; source++) {
        const ik_config_model_t *chosen = &loader->models[source];
        if (chosen->model == NULL) {
            continue;
        }
        res_t result = check_model(config, chosen->model, (ik_config_source_t)source);
        if (is_ok(&result)) {
            config->model = chosen->model;
            config->sources[index] = (ik_config_source_t)source;
        } else if (source == IK_CONFIG_PROJECT) {
            ik_config_loader_warn_at(loader, chosen->place, result.message);
        } else {
            ik_config_loader_fail_at(loader, chosen->place, &result);
        }
    }
}

/* --- the layers -------------------------------------------------------------------------- */

static ik_config_t *create_built_in(const void *ctx, const ik_paths_t *paths,
                                    const ik_config_t *earlier)
{
    ik_config_t *config = ik_new(ctx, ik_config_t);
    if (earlier != NULL) {
        ik_config_secret_copy(config, earlier);
    }
    config->max_tool_turns = 50;
    config->max_output_size = 1048576;
    config->tool_timeout_seconds = 30;
    config->tool_max_seconds = 600;
    config->schema_timeout_ms = 1000;
    config->hook_timeout_seconds = 60;
    config->connect_timeout_seconds = 10;
    config->silence_timeout_seconds = 120;
    config->idle_stream_seconds = 600;
    config->undo_max_files = 50000;
    config->undo_max_bytes = 256L * 1024 * 1024;
    config->tool_output = IK_CONFIG_TOOL_OUTPUT_FULL;
    config->confinement = IK_CONFIG_CONFINEMENT_PREFERRED;
    config->keys = IK_CONFIG_KEYS_EMACS;
    config->db = ik_strdup(config, paths->database);
    config->theme = ik_strdup(config, "auto");
    memset(config->colours.colours, 0xff, sizeof(config->colours.colours)); /* all unset */
    config->notify = IK_CONFIG_NOTIFY_AUTO;
    config->notify_after_seconds = 10;
    ik_config_provider_add_built_in(config);
    return config;
}

ik_config_t *ik_config_create_built_in(const void *ctx, const ik_paths_t *paths)
{
    return create_built_in(ctx, paths, NULL);
}

static void load_file(ik_config_loader_t *loader, ik_config_source_t source, const char *path)
{
    loader->source = source;
    ik_config_file_load(loader, path);
}

/* In a file; words of a command and variables are expanded by the shell. */
static void expand_db(ik_config_t *config)
{
    const char *home = getenv("HOME");
    if (strncmp(config->db, "~/", 2) == 0 && home != NULL) {
        config->db = ik_sprintf(config, "%s%s", home, config->db + 1);
    }
}

static void set_named_text(ik_config_loader_t *loader, const char *origin, const char *provider,
                           const char *key_name, const char *value)
{
    if (value == NULL || value[0] == '\0') {
        return;
    }
    loader->origin = origin;
    void *data = provider == NULL ? (void *)loader->config
                                  : (void *)ik_config_provider_open(loader, provider, NULL);
    const ik_config_key_t *key =
        ik_config_find_key(provider == NULL ? IK_CONFIG_TOP : IK_CONFIG_PROVIDER, key_name);
    ik_config_loader_set_text(loader, key, data, key_name, NULL, value);
}

static void load_environment(ik_config_loader_t *loader)
{
    static const struct {
        const char *variable;
        const char *provider;
        const char *key;
    } variables[] = {
        {"IKIGAI_MODEL", NULL, "model"},
        {"IKIGAI_DB", NULL, "db"},
        {"IKIGAI_MODE", NULL, "mode"},
        {"OPENAI_BASE_URL", "openai", "base_url"},
        {"ANTHROPIC_BASE_URL", "anthropic", "base_url"},
        {"GEMINI_BASE_URL", "google", "base_url"},
    };
    loader->source = IK_CONFIG_ENVIRONMENT;
    for (size_t i = 0; i < IK_LENGTH(variables); i++) {
        set_named_text(loader, variables[i].variable, variables[i].provider, variables[i].key,
                       getenv(variables[i].variable));
    }
}

static void load_flags(ik_config_loader_t *loader, const ik_config_flags_t *flags)
{
    loader->source = IK_CONFIG_FLAG;
    set_named_text(loader, "-m", NULL, "model", flags->model);
    set_named_text(loader, "--db", NULL, "db", flags->db);
    set_named_text(loader, "--mode", NULL, "mode", flags->mode);
    if (flags->max_tool_turns != 0) {
        loader->origin = "--max-turns";
        ik_config_loader_set_integer(loader, ik_config_find_key(IK_CONFIG_TOP, "max_tool_turns"),
                                     loader->config, "max_tool_turns", NULL, flags->max_tool_turns);
    }
}

res_t ik_config_load(const void *ctx, const ik_paths_t *paths, const ik_config_flags_t *flags,
                     ik_config_t **out)
{
    return ik_config_load_again(ctx, paths, flags, NULL, out);
}

res_t ik_config_load_again(const void *ctx, const ik_paths_t *paths, const ik_config_flags_t *flags,
                           const ik_config_t *earlier, ik_config_t **out)
{
    ik_config_loader_t loader = {
        .config = create_built_in(ctx, paths, earlier),
        .scratch = talloc_new(NULL),
        .error = OK,
    };
    loader.config->system_file = ik_strdup(loader.config, paths->system_config);
    loader.config->user_file = ik_strdup(loader.config, paths->user_config);
    load_file(&loader, IK_CONFIG_SYSTEM, paths->system_config);
    load_file(&loader, IK_CONFIG_USER, paths->user_config);
    load_file(&loader, IK_CONFIG_PROJECT, paths->project_config);
    expand_db(loader.config);
    load_environment(&loader);
    if (flags != NULL) {
        load_flags(&loader, flags);
    }
    loader.source = IK_CONFIG_USER;
    ik_config_key_file_load(&loader, paths->keys);
    ik_config_provider_settle(&loader);
    settle_model(&loader);
    ik_config_theme_settle(&loader);
    talloc_free(loader.scratch);
    *out = loader.config;
    return loader.error;
}
