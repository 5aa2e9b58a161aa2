/* /login: asks for the key of a provider, tests it with one request and stores it. */
#include "command/command_login.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/config_secret.h"
#include "base/key_host.h"
#include "command/command_list.h"

/* --- providers ----------------------------------------------------------------------------- */

void ik_command_login_collect(ik_command_words_t *out, const ik_config_t *config,
                              bool only_with_key)
{
    for (size_t i = 0; i < config->provider_count; i++) {
        const ik_config_provider_t *provider = config->providers[i];
        /* A server that is only known by name wants no key. */
        bool wants_key = provider->api_key_env != NULL || provider->place != NULL;
        if (provider->type != IK_CONFIG_TYPE_OFFLINE &&
            (provider->api_key != NULL || (wants_key && !only_with_key))) {
            char *note = ik_config_provider_describe_key(NULL, provider);
            ik_command_words_add(out, provider->name, note);
            talloc_free(note);
        }
    }
}

typedef struct {
    ik_command_host_t *host;
    const char *command;
} choice_t;

static void on_taken(void *data, const char *name, bool second)
{
    choice_t *choice = data;
    ik_command_host_t *host = choice->host;
    (void)second;
    if (name != NULL) {
        char *line = ik_sprintf(choice, "/%s %s", choice->command, name);
        ik_command_run(host, line, ik_workspace_is_busy(host->workspace, 0));
    }
    talloc_free(choice);
}

void ik_command_login_choose(ik_command_host_t *host, const char *command, bool only_with_key)
{
    choice_t *choice = ik_new(host->ctx, choice_t);
    ik_command_words_t words = {.ctx = choice};
    *choice = (choice_t){.host = host, .command = command};
    ik_command_login_collect(&words, ik_workspace_shared(host->workspace)->config, only_with_key);
    if (words.count == 0) {
        host->screen->print_line(host, "No provider has a key.");
        talloc_free(choice);
        return;
    }
    ik_choice_row_t *rows = ik_new_array(choice, ik_choice_row_t, words.count);
    for (size_t i = 0; i < words.count; i++) {
        rows[i] = (ik_choice_row_t){.text = words.texts[i], .note = words.notes[i]};
    }
    host->screen->open_list(host, &(ik_view_list_options_t){.title = "Which provider?",
                                                            .rows = rows,
                                                            .count = words.count,
                                                            .on_taken = on_taken,
                                                            .data = choice});
}

const ik_config_provider_t *ik_command_login_find(ik_command_host_t *host, const char *name)
{
    const ik_config_t *config = ik_workspace_shared(host->workspace)->config;
    const ik_config_provider_t *provider = ik_config_provider(config, name);
    if (provider != NULL && provider->type != IK_CONFIG_TYPE_OFFLINE) {
        return provider;
    }
    ik_buffer_t text;
    ik_buffer_init(&text, host->ctx, IK_BUFFER_UNLIMITED); /* names of providers */
    /* What was typed is not repeated: it may be a key. */
    ik_buffer_append_text(&text, "There is no such provider. Known providers:");
    for (size_t i = 0; i < config->provider_count; i++) {
        if (config->providers[i]->type != IK_CONFIG_TYPE_OFFLINE) {
            ik_buffer_append_format(&text, " %s", config->providers[i]->name);
        }
    }
    host->screen->fail(host, text.data);
    ik_buffer_reset(&text);
    return NULL;
}

/* --- one login ----------------------------------------------------------------------------- */

typedef struct {
    ik_command_host_t *host;
    const ik_config_provider_t *provider;
    char *key; /* while it is tested */
    ik_model_query_t *test;
} login_t;

static void ask(login_t *login);

static void say(const login_t *login, char *line)
{
    login->host->screen->print_line(login->host, line);
    talloc_free(line);
}

static void forget_key(login_t *login)
{
    ik_config_secret_destroy(login->key);
    login->key = NULL;
}

/* A user who had no model gets one of this provider. */
static void choose_model(const login_t *login)
{
    ik_workspace_t *workspace = login->host->workspace;
    const ik_model_t *model =
        ik_models_default(ik_workspace_shared(workspace)->models, login->provider->name);
    if (!ik_workspace_is_makeshift(workspace)) {
        return;
    }
    res_t chosen = model == NULL ? ERR(NOT_FOUND, "no default")
                                 : ik_workspace_set_model(workspace, model->name);
    say(login, is_ok(&chosen) ? ik_sprintf(NULL, "Model: %s", model->name)
                              : ik_strdup(NULL, "Choose a model with /model."));
}

/* The key works, or cannot be tested. */
static void store(login_t *login, const char *verdict)
{
    const ik_config_provider_t *provider = login->provider;
    ik_workspace_t *workspace = login->host->workspace;
    res_t stored = ik_workspace_set_key(workspace, provider->name, login->key);
    if (is_err(&stored)) {
        login->host->screen->fail(login->host, stored.message);
        return;
    }
    say(login, ik_sprintf(NULL, "%s: %s. The key is stored in %s.", provider->name, verdict,
                          ik_workspace_paths(workspace)->keys));
    if (!provider->key_from_file) {
        say(login,
            ik_sprintf(NULL, "%s is set and takes precedence; unset it to use the stored key.",
                       provider->api_key_env));
    }
    choose_model(login);
}

static void on_tested(void *data, const ik_model_query_answer_t *answer)
{
    login_t *login = data;
    ik_workspace_t *workspace = login->host->workspace;
    ik_model_query_t *test = login->test;
    char verdict[64] = "its key could not be tested";
    bool works = is_ok(&answer->result);
    if (works) {
        snprintf(verdict, sizeof(verdict), "works, %lld ms", (long long)answer->elapsed_ms);
    }
    if (works || answer->unsupported) {
        store(login, verdict);
        forget_key(login);
        talloc_free(login);
    } else {
        char *line = ik_sprintf(NULL, "The key is not stored. %s: %s", login->provider->name,
                                answer->result.message);
        login->host->screen->fail(login->host, line);
        talloc_free(line);
        forget_key(login);
        ask(login);
    }
    talloc_free(test);
    ik_workspace_release(workspace);
}

static void on_key(void *data, const char *text)
{
    login_t *login = data;
    char *key = text == NULL ? NULL : ik_config_secret_clean(login, text);
    if (text == NULL || (key != NULL && key[0] == '\0')) {
        say(login, ik_sprintf(NULL, "No key was entered for %s.", login->provider->name));
        talloc_free(login);
    } else if (key == NULL) {
        login->host->screen->fail(login->host, "The key contains characters that no key can have.");
        ask(login);
    } else {
        /* No message is sent before the key can be used. */
        ik_workspace_hold(login->host->workspace);
        login->key = key;
        login->host->screen->print_line(login->host, "Testing the key…");
        login->test = ik_workspace_query_models(login->host->workspace, login->provider, key,
                                                on_tested, login);
    }
}

static void ask(login_t *login)
{
    char *text = ik_sprintf(
        login, "Key for %s (not shown; Esc or an empty line cancels):", login->provider->name);
    ik_workspace_ask(login->host->workspace, &(ik_question_t){.text = text, .secret = true}, on_key,
                     login);
    talloc_free(text);
}

/* --- the command --------------------------------------------------------------------------- */

/* A typed key is one of the key file: an address from the environment is not meant for it without
 * the user's consent. */
static bool goes_to_stranger(ik_command_host_t *host, const ik_config_provider_t *provider)
{
    ik_config_provider_t typed = *provider;
    typed.key_from_file = true;
    char *origin = ik_key_host_to_confirm(host->ctx, ik_workspace_paths(host->workspace), &typed);
    if (origin == NULL) {
        return false;
    }
    char *line = ik_sprintf(origin,
                            "A key for %s would be sent to %s, which is not its own server: run "
                            "ikigai setup to enter it.",
                            provider->name, origin);
    host->screen->fail(host, line);
    talloc_free(origin);
    return true;
}

static void begin(ik_command_host_t *host, const char *name)
{
    const ik_config_provider_t *provider = ik_command_login_find(host, name);
    if (provider != NULL && goes_to_stranger(host, provider)) {
        return;
    }
    if (provider != NULL) {
        login_t *login = ik_new(host->ctx, login_t);
        *login = (login_t){.host = host, .provider = provider};
        ask(login);
    }
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    if (args->count == 0) {
        ik_command_login_choose(host, "login", false);
    } else {
        begin(host, args->words[0]);
    }
}

static void complete(ik_command_host_t *host, int word, ik_command_words_t *out)
{
    if (word == 1) {
        ik_command_login_collect(out, ik_workspace_shared(host->workspace)->config, false);
    }
}

/* A key typed on the command line is neither repeated nor kept. */
static bool is_public(ik_command_host_t *host, const char *word)
{
    return ik_config_provider(ik_workspace_shared(host->workspace)->config, word) != NULL;
}

const ik_command_t ik_command_login = {
    .name = "login",
    .usage = "[PROVIDER]",
    .help = "Asks for the key of a provider, tests it and stores it.",
    .flags = IK_COMMAND_NEEDS_IDLE | IK_COMMAND_NEEDS_ALL_IDLE,
    .max_args = 1,
    .run = run,
    .complete = complete,
    .is_public = is_public,
};
