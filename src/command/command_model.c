/* /model: switches to another model, or opens a list of them. */
#include <string.h>

#include "base/alloc.h"
#include "command/command_list.h"
#include "command/command_model.h"
#include "conversation/figure.h"

typedef struct {
    const void *ctx;
    ik_choice_row_t *rows;
    size_t count;
} rows_t;

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

/* --- the list ------------------------------------------------------------------------------ */

/* "200k", "1M"; "" when not known. */
static void append_window(ik_buffer_t *out, int64_t tokens)
{
    if (tokens >= 1000000) {
        ik_buffer_append_format(out, "%.3gM", (double)tokens / 1e6);
    } else if (tokens > 0) {
        ik_buffer_append_format(out, "%lldk", (long long)(tokens + 500) / 1000);
    }
}

/* Window, price of a million tokens in and out, and whether there is a key. */
static char *format_columns(const void *ctx, const ik_model_t *model,
                            const ik_config_provider_t *provider)
{
    ik_buffer_t note;
    ik_buffer_init(&note, ctx, IK_BUFFER_UNLIMITED); /* a few numbers */
    append_window(&note, model->context);
    ik_buffer_append_byte(&note, '\t');
    if (model->price.input >= 0 && model->price.output >= 0) {
        ik_buffer_append_format(&note, "$%g/$%g", model->price.input, model->price.output);
    }
    ik_buffer_append_byte(&note, '\t');
    if (provider->api_key_env != NULL || provider->api_key != NULL) {
        bool optional = provider->api_key == NULL && provider->configured;
        ik_buffer_append_text(&note, optional ? "" : provider->configured ? "key" : "no key");
    }
    return ik_buffer_finish(&note);
}

static bool belongs_to(const char *model, const ik_config_provider_t *provider)
{
    size_t len = strlen(provider->name);
    return strncmp(model, provider->name, len) == 0 && model[len] == '/';
}

static void add_row(rows_t *rows, const char *name, const char *note)
{
    rows->rows = ik_resize_array(rows->ctx, rows->rows, ik_choice_row_t, rows->count + 1);
    rows->rows[rows->count++] =
        (ik_choice_row_t){.text = ik_strdup(rows->ctx, name),
                          .note = note == NULL ? NULL : ik_strdup(rows->ctx, note)};
}

static void add_model(rows_t *rows, const ik_shared_ctx_t *shared, const char *name,
                      const char *note)
{
    for (size_t i = 0; i < shared->config->provider_count; i++) {
        const ik_config_provider_t *provider = shared->config->providers[i];
        size_t len = strlen(name);
        if (belongs_to(name, provider) && provider->type != IK_CONFIG_TYPE_OFFLINE &&
            name[len - 1] != '/') {
            add_row(rows, name,
                    format_columns(rows->ctx, ik_models_find(shared->models, name), provider));
            return;
        }
    }
    add_row(rows, name, note);
}

/* The current model, those that can be used, then known ones that need a key first. */
static rows_t collect_rows(const void *ctx, const ik_command_host_t *host)
{
    const ik_shared_ctx_t *shared = ik_workspace_shared(host->workspace);
    const char *current = ik_workspace_target(host->workspace)->name;
    ik_command_words_t words = {.ctx = ctx};
    rows_t rows = {.ctx = ctx};
    ik_command_model_collect(&words, shared->config, shared->models);
    add_model(&rows, shared, current, NULL);
    for (size_t i = 0; i < words.count; i++) {
        if (strcmp(words.texts[i], current) != 0) {
            add_model(&rows, shared, words.texts[i], words.notes[i]);
        }
    }
    for (size_t i = 0; i < shared->config->provider_count; i++) {
        const ik_config_provider_t *provider = shared->config->providers[i];
        const ik_model_t *model;
        size_t position = 0;
        while (!provider->configured &&
               (model = ik_models_next(shared->models, &position)) != NULL) {
            if (belongs_to(model->name, provider)) {
                add_model(&rows, shared, model->name, NULL);
            }
        }
    }
    return rows;
}

static void switch_to(ik_command_host_t *host, const char *name)
{
    res_t taken = ik_workspace_set_model(host->workspace, name);
    if (is_err(&taken)) {
        host->screen->fail(host, taken.message);
        return;
    }
    bool busy = ik_workspace_is_busy(host->workspace, ik_workspace_focus(host->workspace));
    char *line = ik_sprintf(NULL, "Model: %s%s", ik_workspace_target(host->workspace)->name,
                            busy ? ", from the next request on" : "");
    host->screen->print_line(host, line);
    talloc_free(line);
}

static void on_taken(void *data, const char *name, bool second)
{
    ik_command_host_t *host = data;
    (void)second;
    if (name != NULL && name[strlen(name) - 1] == '/') {
        char *advice = ik_sprintf(NULL, "Name one of its models: /model %sNAME", name);
        host->screen->fail(host, advice);
        talloc_free(advice);
    } else if (name != NULL) {
        switch_to(host, name);
    }
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    if (args->count > 0) {
        switch_to(host, args->words[0]);
        return;
    }
    rows_t rows = collect_rows(args, host);
    host->screen->print_line(
        host, ik_sprintf(args, "Current model: %s", ik_workspace_target(host->workspace)->name));
    host->screen->open_list(host, &(ik_view_list_options_t){.title = "Which model?",
                                                            .rows = rows.rows,
                                                            .count = rows.count,
                                                            .on_taken = on_taken,
                                                            .data = host});
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
