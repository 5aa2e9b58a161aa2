/* /model: switches to another model, or opens a list of them. */
#include <string.h>

#include "base/alloc.h"
#include "command/command_list.h"
#include "command/command_model.h"
#include "conversation/figure.h"

/* --- available models ---------------------------------------------------------------------- */

/* "200,000 tokens of context, $3 in and $15 out per million"; "" when nothing is known. */
static char *describe(const void *ctx, const ik_model_t *model)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED); /* a few numbers */
    if (model->context > 0) {
        ik_buffer_append_format(&text, "%s tokens of context",
                                ik_figure_of_count(model->context).text);
    }
    if (model->price.input >= 0 && model->price.output >= 0) {
        ik_buffer_append_format(&text, "%s$%g in and $%g out per million",
                                text.len == 0 ? "" : ", ", model->price.input, model->price.output);
    }
    return ik_buffer_finish(&text);
}

static void add_known_models(ik_command_words_t *out, const ik_models_t *models,
                             const ik_config_provider_t *provider)
{
    const ik_model_t *model;
    size_t position = 0;
    size_t len = strlen(provider->name);
    while ((model = ik_models_next(models, &position)) != NULL) {
        if (strncmp(model->name, provider->name, len) == 0 && model->name[len] == '/') {
            void *scratch = talloc_new(NULL);
            ik_command_words_add(out, model->name, describe(scratch, model));
            talloc_free(scratch);
        }
    }
}

/* Adds a provider without known models. */
static void add_provider(ik_command_words_t *out, const ik_config_provider_t *provider)
{
    if (provider->type == IK_CONFIG_TYPE_OFFLINE) {
        ik_command_words_add(out, "offline/offline", "not a language model; runs tools by name");
        return;
    }
    char *any = ik_sprintf(NULL, "%s/", provider->name);
    char *note = ik_config_provider_is_set_up(provider)
                     ? ik_strdup(any, "any of its models")
                     : ik_sprintf(any, "any model of %s", provider->base_url);
    ik_command_words_add(out, any, note);
    talloc_free(any);
}

void ik_command_model_collect(ik_command_words_t *out, const ik_config_t *config,
                              const ik_models_t *models)
{
    /* Servers that are only known by name come last. */
    for (size_t i = 0; i < 2 * config->provider_count; i++) {
        const ik_config_provider_t *provider = config->providers[i % config->provider_count];
        size_t before = out->count;
        if (!provider->configured ||
            ik_config_provider_is_set_up(provider) != (i < config->provider_count)) {
            continue;
        }
        add_known_models(out, models, provider);
        if (out->count == before) {
            add_provider(out, provider);
        }
    }
}

static void complete(ik_command_host_t *host, int word, ik_command_words_t *out)
{
    if (word == 1) {
        ik_command_model_collect(out, ik_workspace_shared(host->workspace)->config,
                                 ik_workspace_shared(host->workspace)->models);
    }
}

/* --- the command --------------------------------------------------------------------------- */

res_t ik_command_model_switch(ik_command_host_t *host, const char *name)
{
    res_t taken = ik_workspace_set_model(host->workspace, name);
    if (is_err(&taken)) {
        host->screen->fail(host, taken.message);
        return taken;
    }
    bool busy = ik_workspace_is_busy(host->workspace, ik_workspace_focus(host->workspace));
    char *line = ik_sprintf(NULL, "Model: %s%s", ik_workspace_target(host->workspace)->name,
                            busy ? ", from the next request on" : "");
    host->screen->print_line(host, line);
    talloc_free(line);
    return OK;
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    if (args->count > 0) {
        ik_command_model_switch(host, args->words[0]);
        return;
    }
    host->screen->print_line(
        host, ik_sprintf(args, "Current model: %s", ik_workspace_target(host->workspace)->name));
    ik_command_model_list_open(host);
}

const ik_command_t ik_command_model = {
    .name = "model",
    .usage = "[NAME]",
    .help = "Switches to another model; without a NAME, to one from a list.",
    .flags = IK_COMMAND_NEEDS_IDLE | IK_COMMAND_JOINS_TURN,
    .max_args = 1,
    .run = run,
    .complete = complete,
};
