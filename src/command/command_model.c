/* /model: lists the models or switches to another one. */
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
                     : ik_sprintf(any, "any of its models, if it runs at %s", provider->base_url);
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

/* --- printing ------------------------------------------------------------------------------ */

static void append_configured(ik_buffer_t *out, const ik_command_host_t *host, const char *current)
{
    ik_command_words_t words = {.ctx = out->ctx};
    size_t width = 0;
    ik_command_model_collect(&words, ik_workspace_shared(host->workspace)->config,
                             ik_workspace_shared(host->workspace)->models);
    for (size_t i = 0; i < words.count; i++) {
        size_t len = strlen(words.texts[i]);
        width = len > width ? len : width;
    }
    for (size_t i = 0; i < words.count; i++) {
        bool is_current = strcmp(words.texts[i], current) == 0;
        ik_buffer_append_format(out, "%c %-*s  %s\n", is_current ? '*' : ' ', (int)width,
                                words.texts[i], words.notes[i]);
    }
}

static void append_unconfigured(ik_buffer_t *out, const ik_config_t *config)
{
    const char *separator = "Without a key: ";
    for (size_t i = 0; i < config->provider_count; i++) {
        const ik_config_provider_t *provider = config->providers[i];
        if (!provider->configured && provider->api_key_env != NULL) {
            ik_buffer_append_format(out, "%s%s (set %s)", separator, provider->name,
                                    provider->api_key_env);
            separator = ", ";
        }
    }
    ik_buffer_append_text(out, *separator == ',' ? "\n" : "");
}

static void print_models(ik_command_host_t *host, const ik_command_args_t *args)
{
    const char *current = ik_workspace_target(host->workspace)->name;
    ik_buffer_t out;
    ik_buffer_init(&out, args, IK_BUFFER_UNLIMITED); /* bounded by the list of models */
    ik_buffer_append_format(&out, "Current model: %s\nConfigured models:\n", current);
    append_configured(&out, host, current);
    append_unconfigured(&out, ik_workspace_shared(host->workspace)->config);
    host->screen->print(host, out.data);
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    if (args->count == 0) {
        print_models(host, args);
        return;
    }
    res_t taken = ik_workspace_set_model(host->workspace, args->words[0]);
    if (is_err(&taken)) {
        host->screen->fail(host, taken.message);
        return;
    }
    host->screen->print_line(
        host, ik_sprintf(args, "Model: %s", ik_workspace_target(host->workspace)->name));
}

const ik_command_t ik_command_model = {
    .name = "model",
    .usage = "[NAME]",
    .help = "Lists the models, or switches to another one.",
    .flags = IK_COMMAND_NEEDS_IDLE,
    .max_args = 1,
    .run = run,
    .complete = complete,
};
