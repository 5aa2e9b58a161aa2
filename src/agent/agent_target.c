#include "agent/agent_target.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buffer.h"
#include "io/port_scan.h"

typedef struct {
    const char *name;
    const char *provider; /* known by this name without configuration */
    int port;
} local_server_t;

static const local_server_t local_servers[] = {{"Ollama", "ollama", 11434},
                                               {"LM Studio", "lmstudio", 1234},
                                               {"llama.cpp", "llama", 8080},
                                               {"vLLM", "vllm", 8000}};

char *ik_agent_target_describe_local_servers(const void *ctx)
{
    ik_buffer_t lines;
    ik_buffer_init(&lines, ctx, IK_BUFFER_UNLIMITED); /* a line per local server */
    for (size_t i = 0; i < IK_LENGTH(local_servers); i++) {
        const local_server_t *server = &local_servers[i];
        if (ik_port_scan_is_open(server->port)) {
            ik_buffer_append_format(&lines,
                                    "A server listens on port %d, the usual port of %s. To use "
                                    "it: ikigai -m %s/MODEL\n",
                                    server->port, server->name, server->provider);
        }
    }
    return ik_buffer_finish(&lines);
}

bool ik_agent_target_is_makeshift(const ik_config_t *config, const ik_target_t *target)
{
    return config->model == NULL && target->config->type == IK_CONFIG_TYPE_OFFLINE;
}

char *ik_agent_target_describe(const void *ctx, const ik_config_t *config,
                               const ik_models_t *models)
{
    const char *model = config->model;
    const char *source = "default";
    if (model != NULL) {
        source = ik_config_source_name(
            ik_config_key_source(ik_config_find_key(IK_CONFIG_TOP, "model"), config));
    } else {
        model = ik_target_default(config, models);
        if (strncmp(model, "offline/", strlen("offline/")) == 0) {
            return NULL;
        }
    }
    return ik_sprintf(ctx, "%s (%s)", model, source);
}

char *ik_agent_target_describe_unused_key(const void *ctx, const ik_config_t *config)
{
    for (size_t i = 0; i < config->provider_count; i++) {
        const ik_config_provider_t *provider = config->providers[i];
        if (provider->api_key != NULL) {
            return ik_sprintf(ctx,
                              "There is a key for %s but no model: run ikigai setup, or choose one "
                              "with -m %s/MODEL.",
                              provider->name, provider->name);
        }
    }
    return NULL;
}

res_t ik_agent_target_choose(const void *ctx, const ik_config_t *config, const ik_models_t *models,
                             const char *kept, const ik_target_t **out, char **notice)
{
    ik_config_source_t source =
        ik_config_key_source(ik_config_find_key(IK_CONFIG_TOP, "model"), config);
    *notice = NULL;
    if (kept != NULL && kept[0] != '\0' && source < IK_CONFIG_ENVIRONMENT &&
        strncmp(kept, "offline/", strlen("offline/")) != 0) {
        res_t created = ik_target_create(ctx, config, models, kept, out);
        if (is_ok(&created)) {
            return OK;
        }
        *notice = ik_sprintf(ctx, "The session used %s: %s. Continuing with another model.", kept,
                             created.message);
    }
    const char *model = config->model != NULL ? config->model : ik_target_default(config, models);
    return ik_target_create(ctx, config, models, model, out);
}
