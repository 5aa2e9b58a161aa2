/*
 * Any bytes as the user's file and as the project's. Whatever they say, the configuration is whole,
 * complaints are bounded and name their file, and a project changes only its four keys.
 */
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/config_file.h"
#include "base/config_provider.h"
#include "pieces.h"

static bool is_project_key(const ik_config_key_t *key)
{
    static const char *const names[] = {"model", "max_tool_turns", "max_output_size", "enabled"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(key->name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void check_value(const ik_config_key_t *key, const void *data, ik_config_source_t source)
{
    ik_config_source_t from = ik_config_key_source(key, data);
    REQUIRE(from == IK_CONFIG_BUILT_IN || from == source);
    REQUIRE(from != IK_CONFIG_PROJECT || is_project_key(key));
    if (key->type == IK_CONFIG_INTEGER && from != IK_CONFIG_BUILT_IN) {
        long value = *(const long *)((const char *)data + key->offset);
        REQUIRE(value >= key->min && value <= key->max);
    }
    talloc_free(ik_config_format_key(NULL, key, data));
}

static void check_values(const ik_config_t *config, ik_config_source_t source)
{
    for (size_t i = 0; i < IK_CONFIG_KEY_COUNT; i++) {
        const ik_config_key_t *key = &ik_config_keys[i];
        if (key->section == IK_CONFIG_TOP) {
            check_value(key, config, source);
        }
        for (size_t n = 0; key->section == IK_CONFIG_PROVIDER && n < config->provider_count; n++) {
            check_value(key, config->providers[n], source);
        }
        for (size_t n = 0; key->section == IK_CONFIG_TOOL && n < config->tool_count; n++) {
            check_value(key, config->tools[n], source);
        }
    }
}

/* before: the configuration without any file */
static void check_project(const ik_config_t *config, const ik_config_t *before)
{
    REQUIRE(config->provider_count == before->provider_count);
    REQUIRE(config->secret_count == before->secret_count);
    REQUIRE(config->writable == NULL && config->hidden == NULL && config->caches == NULL);
    REQUIRE(config->pass_env == NULL);
    REQUIRE(memcmp(&config->limits, &before->limits, sizeof(config->limits)) == 0);
    REQUIRE(config->max_output_size <= 1000);
    for (size_t i = 0; i < config->tool_count; i++) {
        REQUIRE(config->tools[i]->pass_env == NULL && config->tools[i]->env == NULL &&
                config->tools[i]->timeout_seconds == 0);
        REQUIRE(memcmp(&config->tools[i]->limits, &before->limits, sizeof(before->limits)) == 0);
    }
}

static void load(const char *text, size_t len, ik_config_source_t source)
{
    ik_config_loader_t loader = {
        .config = ik_new(NULL, ik_config_t),
        .scratch = talloc_new(NULL),
        .error = OK,
        .source = source,
    };
    loader.config->max_output_size = 1000;
    ik_config_provider_add_built_in(loader.config);
    ik_config_file_parse(&loader, "FILE", text, len);
    ik_config_provider_settle(&loader);
    ik_config_t *config = loader.config;
    REQUIRE(is_ok(&loader.error) || strncmp(loader.error.message, "FILE:", 5) == 0);
    REQUIRE(config->warning_count <= IK_CONFIG_WARNING_MAX);
    REQUIRE(config->tool_count <= IK_CONFIG_ENTRY_MAX);
    check_values(config, source);
    if (source == IK_CONFIG_PROJECT) {
        ik_config_t *before = ik_new(NULL, ik_config_t);
        ik_config_provider_add_built_in(before);
        check_project(config, before);
        talloc_free(before);
    }
    talloc_free(loader.scratch);
    talloc_free(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char *text = ik_strndup(NULL, (const char *)bytes, len);
    load(text, len, IK_CONFIG_USER);
    load(text, len, IK_CONFIG_PROJECT);
    talloc_free(text);
    return 0;
}
