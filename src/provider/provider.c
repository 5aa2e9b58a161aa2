#include "provider/provider.h"

#include "base/alloc.h"

const ik_provider_t *ik_provider_of(const ik_config_provider_t *config)
{
    switch (config->type) {
    case IK_CONFIG_TYPE_ANTHROPIC:
        return &ik_provider_anthropic;
    case IK_CONFIG_TYPE_GOOGLE:
        return &ik_provider_google;
    case IK_CONFIG_TYPE_OFFLINE:
        return &ik_provider_offline;
    default:
        return config->api == IK_CONFIG_API_RESPONSES ? &ik_provider_responses : &ik_provider_chat;
    }
}

res_t ik_target_create(const void *ctx, const ik_config_t *config, const ik_models_t *models,
                       const char *model, const ik_target_t **out)
{
    const ik_config_provider_t *provider;
    const char *model_name;
    TRY(ik_config_resolve_model(config, model, &provider, &model_name));
    if (!provider->configured) {
        return ERR(DENIED,
                   "%s has no key: set %s, run ikigai setup, or choose another model with "
                   "-m provider/model",
                   provider->name, provider->api_key_env);
    }
    ik_target_t *target = ik_new(ctx, ik_target_t);
    target->config = provider;
    target->provider = ik_provider_of(provider);
    target->name = ik_strdup(target, model);
    target->model = ik_strdup(target, model_name);
    target->facts = ik_models_find(models, model);
    *out = target;
    return OK;
}

const char *ik_target_default(const ik_config_t *config, const ik_models_t *models)
{
    for (size_t i = 0; i < config->provider_count; i++) {
        const ik_config_provider_t *provider = config->providers[i];
        const ik_model_t *model = ik_models_default(models, provider->name);
        if (provider->api_key != NULL && model != NULL) {
            return model->name;
        }
    }
    return "offline/offline";
}
