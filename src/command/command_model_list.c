/* The list of /model: the models that are known, and those that the servers of the configuration
 * name when they are asked. A server that does not answer delays nothing. */
#include <string.h>

#include "base/alloc.h"
#include "command/command_model.h"
#include "conversation/figure.h"

/* One open list. */
typedef struct {
    ik_command_host_t *host;
    ik_view_list_t *list;
    ik_model_query_t **queries;              /* of the servers that are asked */
    const ik_model_query_answer_t **answers; /* NULL: not yet, or no list */
    size_t query_count;
    size_t open_queries;
} listing_t;

typedef struct {
    const void *ctx;
    ik_choice_row_t *rows;
    size_t count;
} rows_t;

/* --- rows ---------------------------------------------------------------------------------- */

/* Window, price of a million tokens in and out, and whether there is a key. */
static char *format_columns(const void *ctx, const ik_config_provider_t *provider, int64_t context,
                            double input, double output)
{
    ik_buffer_t note;
    ik_buffer_init(&note, ctx, IK_BUFFER_UNLIMITED); /* a few numbers */
    ik_buffer_append_text(&note, context <= 0 ? "" : ik_figure_of_window(context).text);
    ik_buffer_append_byte(&note, '\t');
    if (input >= 0 && output >= 0) {
        ik_buffer_append_format(&note, "$%g/$%g", input, output);
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
            const ik_model_t *model = ik_models_find(shared->models, name);
            add_row(rows, name,
                    format_columns(rows->ctx, provider, model->context, model->price.input,
                                   model->price.output));
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
    for (size_t i = 0; i < words.count && rows.count == 0; i++) {
        if (strcmp(words.texts[i], current) == 0) {
            add_model(&rows, shared, current, words.notes[i]);
        }
    }
    if (rows.count == 0) {
        add_model(&rows, shared, current, NULL);
    }
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

static bool has_row(const ik_choice_row_t *rows, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].text, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Adds those that known does not have. What the model data says wins over what the server says. */
static void add_answer(rows_t *rows, const rows_t *known, const ik_models_t *models,
                       const ik_model_query_answer_t *answer)
{
    for (size_t i = 0; i < answer->models.count; i++) {
        const ik_model_list_entry_t *entry = &answer->models.entries[i];
        char *name = ik_sprintf(rows->ctx, "%s/%s", answer->provider->name, entry->name);
        if (!has_row(known->rows, known->count, name)) {
            const ik_model_t *facts = ik_models_find(models, name);
            bool priced = facts->price.input >= 0;
            add_row(rows, name,
                    format_columns(rows->ctx, answer->provider,
                                   facts->context > 0 ? facts->context : entry->context,
                                   priced ? facts->price.input : entry->input,
                                   priced ? facts->price.output : entry->output));
        }
        talloc_free(name);
    }
}

/* The current model, what servers answered, and the other known ones. */
static rows_t make_rows(const void *ctx, const listing_t *listing)
{
    rows_t known = collect_rows(ctx, listing->host);
    rows_t rows = {.ctx = ctx};
    add_row(&rows, known.rows[0].text, known.rows[0].note);
    for (size_t i = 0; i < listing->query_count; i++) {
        if (listing->answers[i] != NULL) {
            add_answer(&rows, &known, ik_workspace_shared(listing->host->workspace)->models,
                       listing->answers[i]);
        }
    }
    for (size_t i = 1; i < known.count; i++) {
        add_row(&rows, known.rows[i].text, known.rows[i].note);
    }
    return rows;
}

/* --- the servers --------------------------------------------------------------------------- */

static void on_answer(void *data, const ik_model_query_answer_t *answer)
{
    listing_t *listing = data;
    listing->open_queries--;
    for (size_t i = 0; i < listing->query_count; i++) {
        if (is_ok(&answer->result) && ik_model_query_answer(listing->queries[i]) == answer) {
            listing->answers[i] = answer;
        }
    }
    void *scratch = talloc_new(listing);
    rows_t rows = make_rows(scratch, listing);
    listing->host->screen->set_list(listing->host, listing->list, rows.rows, rows.count,
                                    listing->open_queries > 0);
    talloc_free(scratch);
}

/* Only servers that the user has configured, and only those that speak OpenAI's API. */
static void ask_servers(listing_t *listing)
{
    const ik_config_t *config = ik_workspace_shared(listing->host->workspace)->config;
    listing->queries = ik_new_array(listing, ik_model_query_t *, config->provider_count);
    listing->answers =
        ik_new_array(listing, const ik_model_query_answer_t *, config->provider_count);
    for (size_t i = 0; i < config->provider_count; i++) {
        const ik_config_provider_t *provider = config->providers[i];
        if (provider->place != NULL && provider->type == IK_CONFIG_TYPE_OPENAI &&
            provider->base_url != NULL) {
            listing->queries[listing->query_count++] = ik_workspace_query_models(
                listing->host->workspace, provider, NULL, on_answer, listing);
        }
    }
    listing->open_queries = listing->query_count;
}

/* --- the choice ---------------------------------------------------------------------------- */

static void remember(ik_command_host_t *host, const char *name)
{
    const ik_config_t *config = ik_workspace_shared(host->workspace)->config;
    res_t kept = ik_workspace_remember_model(host->workspace, name);
    if (is_err(&kept)) {
        host->screen->fail(host, kept.message);
        return;
    }
    ik_config_source_t source =
        ik_config_key_source(ik_config_find_key(IK_CONFIG_TOP, "model"), config);
    const char *winner = source == IK_CONFIG_PROJECT       ? "The project's configuration"
                         : source == IK_CONFIG_ENVIRONMENT ? "IKIGAI_MODEL"
                                                           : NULL;
    char *line = ik_sprintf(NULL, "Remembered in %s.%s%s%s",
                            ik_workspace_paths(host->workspace)->user_config,
                            winner == NULL ? "" : " ", winner == NULL ? "" : winner,
                            winner == NULL ? "" : " overrides it at the next start.");
    host->screen->print_line(host, line);
    talloc_free(line);
}

static void on_taken(void *data, const char *name, bool second)
{
    listing_t *listing = data;
    ik_command_host_t *host = listing->host;
    for (size_t i = 0; i < listing->query_count; i++) {
        talloc_free(listing->queries[i]);
    }
    talloc_free(listing);
    if (name != NULL && name[strlen(name) - 1] == '/') {
        char *advice = ik_sprintf(NULL, "Name one of its models: /model %sNAME", name);
        host->screen->fail(host, advice);
        talloc_free(advice);
    } else if (name != NULL) {
        res_t taken = ik_command_model_switch(host, name);
        if (is_ok(&taken) && second) {
            remember(host, name);
        }
    }
}

void ik_command_model_list_open(ik_command_host_t *host)
{
    listing_t *listing = ik_new(host->ctx, listing_t);
    listing->host = host;
    ask_servers(listing);
    void *scratch = talloc_new(listing);
    rows_t rows = make_rows(scratch, listing);
    listing->list = host->screen->open_list(
        host, &(ik_view_list_options_t){.title = "Which model?",
                                        .hint = "Enter: this session  Ctrl-S: remember it",
                                        .has_second = true,
                                        .rows = rows.rows,
                                        .count = rows.count,
                                        .pending = listing->open_queries > 0,
                                        .on_taken = on_taken,
                                        .data = listing});
    talloc_free(scratch);
}
