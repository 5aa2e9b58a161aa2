#include "setup/setup.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_target.h"
#include "agent/model_query.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/config_change.h"
#include "base/config_secret.h"
#include "base/file.h"
#include "base/key_host.h"
#include "conversation/figure.h"
#include "io/port_scan.h"
#include "setup/setup_address.h"
#include "setup/setup_suggestions.h"
#include "terminal/view_list.h"

typedef enum { LOCAL, KEYED, OTHER, OFFLINE } kind_t;

typedef struct {
    kind_t kind;
    const char *provider; /* its name in the configuration; NULL: none */
    const char *label;
    const char *note;
} choice_t;

static const choice_t choices[] = {
    {LOCAL, "ollama", "Ollama", "found on port"},
    {LOCAL, "lmstudio", "LM Studio", "found on port"},
    /* other programs use these two ports as well */
    {LOCAL, "llama", "llama.cpp", "a server listens on port"},
    {LOCAL, "vllm", "vLLM", "a server listens on port"},
    {KEYED, "anthropic", "Anthropic", "paste a key"},
    {KEYED, "openai", "OpenAI", "paste a key"},
    {KEYED, "google", "Google", "paste a key"},
    {KEYED, "openrouter", "OpenRouter", "paste a key"},
    {OTHER, NULL, "Another OpenAI-compatible server", "address"},
    {OFFLINE, NULL, "Look around offline", ""},
};
enum { CHOICE_COUNT = IK_LENGTH(choices) };

typedef enum {
    STEP_NONE, /* looking for servers, paused or ended */
    STEP_CHOOSE,
    STEP_ADDRESS,
    STEP_KEY,
    STEP_WAIT, /* for an answer of the server */
    STEP_MODEL,
    STEP_MODEL_NAME,
} step_t;

/* The choice that the user is trying. */
typedef struct {
    const choice_t *choice;
    ik_config_provider_t provider; /* a copy, or a server that is not stored yet */
    char *key;                     /* typed by the user; NULL: none */
    char *bare_url;                /* tried when base_url has no models; NULL: none */
} attempt_t;

struct ik_setup {
    ik_setup_options_t options;
    step_t step;
    bool introduced;
    int ports[CHOICE_COUNT]; /* of local servers; 0: none, or elsewhere */
    ik_port_scan_t *scan;
    ik_view_list_t *list; /* NULL: none is open */
    attempt_t *attempt;
    ik_model_query_t *query;
};

static void choose_again(ik_setup_t *setup);
static void ask_for_key(ik_setup_t *setup);
static void ask_for_address(ik_setup_t *setup);
static void query_models(ik_setup_t *setup);

/* --- saying -------------------------------------------------------------------------------- */

static void say(ik_setup_t *setup, ik_role_t role, const char *text)
{
    ik_rows_t rows = ik_view_rows(setup->options.view);
    ik_rows_say(&rows, role, text);
}

__attribute__((format(printf, 3, 4))) static void say_format(ik_setup_t *setup, ik_role_t role,
                                                             const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = talloc_vasprintf(setup, format, arguments);
    va_end(arguments);
    say(setup, role, text);
    talloc_free(text);
}

static void ask(ik_setup_t *setup, step_t step, const char *question)
{
    setup->step = step;
    ik_view_ask(setup->options.view, question);
}

/* Nothing typed while a server is asked is shown: it may be the key once more. */
static void wait_for_answer(ik_setup_t *setup, const char *what)
{
    setup->step = STEP_WAIT;
    ik_view_ask_secret(setup->options.view, what);
}

/* --- the end ------------------------------------------------------------------------------- */

static int wipe_key(attempt_t *attempt)
{
    ik_config_secret_destroy(attempt->key);
    return 0;
}

/* Ends whatever is under way, and stores nothing. */
static void clear(ik_setup_t *setup)
{
    TALLOC_FREE(setup->scan);
    TALLOC_FREE(setup->query);
    TALLOC_FREE(setup->attempt);
    if (setup->list != NULL) {
        ik_view_list_t *list = setup->list;
        setup->list = NULL;
        ik_view_list_close(list);
    }
    setup->step = STEP_NONE;
    ik_view_ask(setup->options.view, NULL);
}

static void end(ik_setup_t *setup, ik_setup_end_t how, const char *model)
{
    clear(setup);
    setup->options.on_end(setup->options.data, how, model);
}

static void go_offline(ik_setup_t *setup)
{
    const ik_setup_options_t *options = &setup->options;
    if (ik_setup_is_due(options->config)) {
        res_t made = ik_file_make_private_folder(options->paths->home);
        if (is_ok(&made)) { /* if it cannot be remembered, the next start offers the setup again */
            ik_file_write_private_fast(options->paths->offline, "", 0);
        }
    }
    end(setup, IK_SETUP_OFFLINE, NULL);
}

/* --- keeping the choice -------------------------------------------------------------------- */

/* Stores server, key and model, in this order: a model is only kept with what it needs. */
static res_t store(ik_setup_t *setup, const char *model, char **full_name)
{
    const ik_setup_options_t *options = &setup->options;
    const attempt_t *attempt = setup->attempt;
    const char *name = attempt->provider.name;
    if (attempt->choice->kind == OTHER) {
        const char *url = attempt->provider.base_url;
        name = ik_setup_address_name(setup, options->config, url);
        const ik_config_provider_t *known = ik_config_provider(options->config, name);
        if (known == NULL || (known->place == NULL && !known->built_in)) {
            TRY(ik_config_change_provider(options->config, options->paths, name, url, NULL));
        }
    }
    const ik_config_provider_t *provider = ik_config_provider(options->config, name);
    bool had_key = provider->key_from_file;
    if (attempt->key != NULL) {
        TRY(ik_config_change_key(options->config, options->paths, name, attempt->key));
        char *origin = ik_key_host_to_confirm(setup, options->paths, provider);
        if (origin != NULL) { /* the user has just typed the key for this address */
            TRY(ik_key_host_confirm(options->paths, name, origin));
        }
    }
    *full_name = ik_sprintf(setup, "%s/%s", name, model);
    res_t kept = ik_config_change_model(options->config, options->paths, *full_name);
    if (is_err(&kept) && attempt->key != NULL && !had_key) {
        bool removed;
        const char *variable;
        ik_config_change_forget_key(options->config, options->paths, name, &removed, &variable);
    }
    return kept;
}

/* What overrides the choice; NULL: nothing does. */
static const char *find_override(const ik_setup_t *setup)
{
    const ik_config_t *config = setup->options.config;
    switch (ik_config_key_source(ik_config_find_key(IK_CONFIG_TOP, "model"), config)) {
    case IK_CONFIG_ENVIRONMENT:
        return "IKIGAI_MODEL";
    case IK_CONFIG_PROJECT:
        return setup->options.paths->project_config;
    default:
        return NULL;
    }
}

static void say_suggestions(ik_setup_t *setup)
{
    ik_rows_t rows = ik_view_rows(setup->options.view);
    char *lines = ik_setup_suggestions(setup, setup->options.paths->cwd);
    ik_view_begin_block(setup->options.view);
    say(setup, IK_ROLE_TEXT, setup->options.at_start ? "Try:" : "Now run ikigai, and try:");
    for (char *line = strtok(lines, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        ik_rows_lines(&rows, IK_ROLE_STRONG, ik_sprintf(lines, "  %s", line));
    }
    talloc_free(lines);
}

static void finish(ik_setup_t *setup, const char *model)
{
    const ik_setup_options_t *options = &setup->options;
    char *name = NULL;
    res_t stored = store(setup, model, &name);
    if (is_err(&stored)) {
        say_format(setup, IK_ROLE_ERROR, "Nothing was set up: %s", stored.message);
        end(setup, IK_SETUP_FAILED, NULL);
        return;
    }
    unlink(options->paths->offline);
    say_format(setup, IK_ROLE_GOOD, "Model: %s, kept in %s", name, options->paths->user_config);
    if (setup->attempt->key != NULL) {
        say_format(setup, IK_ROLE_DIM, "The key is in %s, which only you can read.",
                   options->paths->keys);
    }
    const char *override = find_override(setup);
    if (override != NULL) {
        say_format(setup, IK_ROLE_WARNING, "%s names another model and takes precedence.",
                   override);
    }
    say_suggestions(setup);
    end(setup, IK_SETUP_MODEL, name);
}

/* --- choosing a model ---------------------------------------------------------------------- */

static void ask_for_model_name(ik_setup_t *setup)
{
    ask(setup, STEP_MODEL_NAME, "Name of the model: ");
}

/* Plain mode reports a line that is not a number here and then submits it. */
static void on_model_taken(void *data, const char *value, bool second)
{
    ik_setup_t *setup = data;
    (void)second;
    setup->list = NULL;
    if (value != NULL) {
        finish(setup, value);
    } else if (!ik_view_echoes(setup->options.view)) {
        say(setup, IK_ROLE_DIM, "Nothing was stored.");
        choose_again(setup);
    }
}

/* "200k tokens", and the price in a second column. */
static char *describe_model(const void *ctx, const ik_setup_t *setup,
                            const ik_model_list_entry_t *entry)
{
    char *name = ik_sprintf(ctx, "%s/%s", setup->attempt->provider.name, entry->name);
    const ik_model_t *facts = ik_models_find(setup->options.models, name);
    int64_t context = entry->context > 0 ? entry->context : facts->context;
    double input = entry->input >= 0 ? entry->input : facts->price.input;
    double output = entry->output >= 0 ? entry->output : facts->price.output;
    char *window =
        context <= 0 ? "" : ik_sprintf(ctx, "%s tokens", ik_figure_of_window(context).text);
    return input < 0 || output < 0
               ? window
               : ik_sprintf(ctx, "%s\t$%g in, $%g out per million", window, input, output);
}

static bool is_default(const ik_setup_t *setup, const char *model)
{
    const char *provider = setup->attempt->provider.name;
    const ik_model_t *usual = ik_models_default(setup->options.models, provider);
    return usual != NULL && strcmp(usual->name + strlen(provider) + 1, model) == 0;
}

/* The provider's default model is the first row. */
static void offer_models(ik_setup_t *setup, const ik_model_list_t *models)
{
    ik_choice_row_t *rows = ik_new_array(setup, ik_choice_row_t, models->count);
    size_t first = 0;
    while (first < models->count && !is_default(setup, models->entries[first].name)) {
        first++;
    }
    bool found = first < models->count;
    for (size_t i = 0; i < models->count; i++) {
        const ik_model_list_entry_t *entry = &models->entries[i];
        size_t at = !found || i > first ? i : i == first ? 0 : i + 1;
        rows[at] =
            (ik_choice_row_t){.text = entry->name, .note = describe_model(rows, setup, entry)};
    }
    ik_view_ask(setup->options.view, NULL);
    setup->step = STEP_MODEL;
    setup->list =
        ik_view_list_open(setup->options.view, &(ik_view_list_options_t){.title = "Which model?",
                                                                         .hint = "type to filter",
                                                                         .rows = rows,
                                                                         .count = models->count,
                                                                         .on_taken = on_model_taken,
                                                                         .data = setup});
    talloc_free(rows);
}

/* --- asking the server --------------------------------------------------------------------- */

/* A key that does not work is forgotten, and so is an address. */
static void try_again(ik_setup_t *setup, bool refused)
{
    attempt_t *attempt = setup->attempt;
    ik_config_secret_destroy(attempt->key);
    attempt->key = NULL;
    if (attempt->choice->kind == KEYED || refused) {
        ask_for_key(setup);
    } else if (attempt->choice->kind == OTHER) {
        ask_for_address(setup);
    } else {
        choose_again(setup);
    }
}

static void on_answer(void *data, const ik_model_query_answer_t *answer)
{
    ik_setup_t *setup = data;
    attempt_t *attempt = setup->attempt;
    const char *label =
        attempt->choice->kind == OTHER ? attempt->provider.base_url : attempt->choice->label;
    ik_model_query_t *query = setup->query;
    setup->query = NULL;
    if (is_ok(&answer->result)) {
        say_format(setup, IK_ROLE_GOOD, "%s works, %lld ms.", label, (long long)answer->elapsed_ms);
        if (answer->models.count > 0) {
            offer_models(setup, &answer->models);
        } else {
            say(setup, IK_ROLE_TEXT, "It has no models yet.");
            ask_for_model_name(setup);
        }
    } else if (answer->unsupported && attempt->bare_url != NULL) {
        attempt->provider.base_url = attempt->bare_url;
        attempt->bare_url = NULL;
        query_models(setup);
    } else if (answer->unsupported) {
        say_format(setup, IK_ROLE_WARNING, "%s has no list of models, so nothing was tested.",
                   label);
        ask_for_model_name(setup);
    } else {
        say_format(setup, IK_ROLE_ERROR, answer->refused ? "%s refused the request: %s" : "%s: %s",
                   label, answer->result.message);
        try_again(setup, answer->refused);
    }
    talloc_free(query);
}

static void query_models(ik_setup_t *setup)
{
    const attempt_t *attempt = setup->attempt;
    bool keyed = attempt->key != NULL || attempt->provider.api_key != NULL;
    wait_for_answer(setup, keyed ? "Testing the key … " : "Asking for the models … ");
    setup->query = ik_model_query_start(setup, &(ik_model_query_options_t){
                                                   .provider = &attempt->provider,
                                                   .key = attempt->key,
                                                   .loop = setup->options.loop,
                                                   .http = setup->options.http,
                                                   .on_end = on_answer,
                                                   .data = setup,
                                               });
}

/* --- questions ----------------------------------------------------------------------------- */

static void ask_for_key(ik_setup_t *setup)
{
    const attempt_t *attempt = setup->attempt;
    const ik_config_provider_t *provider = &attempt->provider;
    char *question;
    if (attempt->choice->kind == OTHER) {
        question = ik_strdup(setup, "Key (Enter: none): ");
    } else if (provider->api_key != NULL) {
        question =
            ik_sprintf(setup, "Key for %s (Enter: the one from %s): ", attempt->choice->label,
                       provider->key_from_file ? "keys.json" : provider->api_key_env);
    } else {
        question = ik_sprintf(setup, "Key for %s: ", attempt->choice->label);
    }
    setup->step = STEP_KEY;
    ik_view_ask_secret(setup->options.view, question);
    talloc_free(question);
}

static void take_key(ik_setup_t *setup, const char *text)
{
    attempt_t *attempt = setup->attempt;
    char *key = ik_config_secret_clean(attempt, text);
    bool optional = attempt->choice->kind == OTHER || attempt->provider.api_key != NULL;
    if (key == NULL) {
        say(setup, IK_ROLE_ERROR,
            "The key contains characters that no key can have; paste it again.");
        ask_for_key(setup);
    } else if (*key == '\0' && !optional) {
        talloc_free(key);
        say(setup, IK_ROLE_TEXT, "Paste the key and press Enter; Esc goes back.");
        ask_for_key(setup);
    } else {
        attempt->key = *key == '\0' ? NULL : key;
        query_models(setup);
    }
}

static void ask_for_address(ik_setup_t *setup)
{
    ask(setup, STEP_ADDRESS, "Address (http://HOST:PORT/v1): ");
}

static void take_address(ik_setup_t *setup, const char *text)
{
    attempt_t *attempt = setup->attempt;
    char *url = ik_setup_address_complete(attempt, text, &attempt->bare_url);
    if (url == NULL) {
        say(setup, IK_ROLE_TEXT, "Enter an address such as http://127.0.0.1:8000/v1.");
        ask_for_address(setup);
        return;
    }
    attempt->provider = (ik_config_provider_t){.name = "other",
                                               .type = IK_CONFIG_TYPE_OPENAI,
                                               .api = IK_CONFIG_API_CHAT,
                                               .base_url = url,
                                               .configured = true};
    ask_for_key(setup);
}

/* --- the first list ------------------------------------------------------------------------ */

static void take_choice(ik_setup_t *setup, const choice_t *choice)
{
    if (choice->kind == OFFLINE) {
        go_offline(setup);
        return;
    }
    talloc_free(setup->attempt);
    setup->attempt = ik_new(setup, attempt_t);
    setup->attempt->choice = choice;
    talloc_set_destructor(setup->attempt, wipe_key);
    if (choice->provider != NULL) {
        setup->attempt->provider = *ik_config_provider(setup->options.config, choice->provider);
    }
    if (choice->kind == LOCAL) {
        query_models(setup);
    } else if (choice->kind == KEYED) {
        ask_for_key(setup);
    } else {
        ask_for_address(setup);
    }
}

/* Plain mode reports a line that is not a number here and then submits it. */
static void on_choice_taken(void *data, const char *value, bool second)
{
    ik_setup_t *setup = data;
    (void)second;
    setup->list = NULL;
    if (value != NULL) {
        take_choice(setup, &choices[(unsigned char)value[0] - 'a']);
    } else if (!ik_view_echoes(setup->options.view)) {
        go_offline(setup);
    }
}

/* Prints the first lines, once. */
static void introduce(ik_setup_t *setup)
{
    const ik_setup_options_t *options = &setup->options;
    if (setup->introduced) {
        return;
    }
    setup->introduced = true;
    char *model = ik_agent_target_describe(setup, options->config, options->models);
    if (model == NULL) {
        say(setup, IK_ROLE_STRONG, "No model is set up yet.");
        say(setup, IK_ROLE_DIM,
            "Choose one below, or set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY.");
    } else {
        say_format(setup, IK_ROLE_STRONG, "Model: %s", model);
        say(setup, IK_ROLE_DIM, "Choose another one, or press Esc to keep it.");
    }
    talloc_free(model);
}

static void on_scanned(void *data, const bool *open)
{
    ik_setup_t *setup = data;
    ik_choice_row_t rows[CHOICE_COUNT];
    size_t count = 0;
    if (setup->list == NULL) {
        end(setup, IK_SETUP_OFFLINE, NULL); /* the user has begun a message, or continues one */
        return;
    }
    void *scratch = talloc_new(setup);
    for (size_t i = 0; i < CHOICE_COUNT; i++) {
        const choice_t *choice = &choices[i];
        bool local = choice->kind == LOCAL;
        if (!local || open[i]) {
            rows[count++] = (ik_choice_row_t){
                .text = local ? ik_sprintf(scratch, "%s on this machine", choice->label)
                              : choice->label,
                .note = local ? ik_sprintf(scratch, "%s %d", choice->note, setup->ports[i])
                              : choice->note,
                .value = ik_sprintf(scratch, "%c", 'a' + (char)i),
            };
        }
    }
    introduce(setup);
    ik_view_list_set(setup->list, rows, count, false);
    talloc_free(scratch);
    TALLOC_FREE(setup->scan);
}

/* Opens the list, which gets its rows when the local servers are known: one may have been started
 * since. */
static void choose_again(ik_setup_t *setup)
{
    ik_view_t *view = setup->options.view;
    bool at_start = setup->options.at_start;
    const char *title = ">";
    clear(setup);
    for (size_t i = 0; i < CHOICE_COUNT; i++) {
        const choice_t *choice = &choices[i];
        if (choice->kind == LOCAL) {
            setup->ports[i] = ik_setup_address_local_port(
                ik_config_provider(setup->options.config, choice->provider)->base_url);
        }
    }
    setup->scan = ik_port_scan_start(setup, setup->options.loop, setup->ports, CHOICE_COUNT,
                                     on_scanned, setup);
    if (ik_view_echoes(view)) {
        title =
            at_start ? "Enter a number, or a message to look around offline:" : "Enter a number:";
    } else if (at_start && !ik_prompt_is_empty(ik_view_prompt(view))) {
        return;
    }
    setup->step = STEP_CHOOSE;
    setup->list = ik_view_list_open(
        view,
        &(ik_view_list_options_t){
            .title = title,
            .hint = at_start ? "or type a message to look around offline; /help shows commands"
                             : "a digit, or arrows and Enter",
            .numbered = true,
            .passes_text = at_start,
            .pending = true,
            .on_taken = on_choice_taken,
            .data = setup});
}

/* --- interface ----------------------------------------------------------------------------- */

bool ik_setup_is_due(const ik_config_t *config)
{
    return config->model == NULL && !ik_config_has_key(config);
}

bool ik_setup_is_declined(const ik_paths_t *paths)
{
    return access(paths->offline, F_OK) == 0;
}

ik_setup_t *ik_setup_start(const void *ctx, const ik_setup_options_t *options)
{
    ik_setup_t *setup = ik_new(ctx, ik_setup_t);
    setup->options = *options;
    choose_again(setup);
    return setup;
}

static void take_model_name(ik_setup_t *setup, const char *text)
{
    char *name = ik_setup_address_trim(NULL, text); /* finish may free the dialogue */
    if (*name == '\0') {
        ask_for_model_name(setup);
    } else {
        finish(setup, name);
    }
    talloc_free(name);
}

bool ik_setup_submit(ik_setup_t *setup, const char *text)
{
    switch (setup->step) {
    case STEP_NONE:
    case STEP_CHOOSE: /* plain mode: not a number of the list */
        if (setup->options.at_start) {
            go_offline(setup);
            return false;
        }
        say(setup, IK_ROLE_ERROR, "Enter one of the numbers.");
        choose_again(setup);
        return true;
    case STEP_ADDRESS:
        take_address(setup, text);
        return true;
    case STEP_KEY:
        take_key(setup, text);
        return true;
    case STEP_MODEL: /* plain mode */
    case STEP_MODEL_NAME:
        take_model_name(setup, text);
        return true;
    case STEP_WAIT:
        break;
    }
    return true;
}

bool ik_setup_act(ik_setup_t *setup, ik_prompt_action_t action)
{
    bool asking = setup->step != STEP_NONE && setup->step != STEP_CHOOSE;
    bool back =
        action == IK_PROMPT_ESCAPE || (action == IK_PROMPT_CANCEL && setup->options.at_start);
    if (asking && back) {
        choose_again(setup);
        return true;
    }
    return action != IK_PROMPT_CANCEL && action != IK_PROMPT_END && asking;
}

void ik_setup_pause(ik_setup_t *setup)
{
    clear(setup);
}

void ik_setup_resume(ik_setup_t *setup)
{
    choose_again(setup);
}
