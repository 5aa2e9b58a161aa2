/*
 * The dialogue that sets up a model: it offers local servers, providers and other servers, asks for
 * a key, tests it with one request, lists the models and keeps the choice. It prints to a view,
 * opens lists in it and asks questions. Until the user chooses a server, it only connects to ports
 * of this machine and sends nothing; until the user chooses a model, it stores nothing.
 *
 * The owner of the view passes on what its listener gets.
 */
#pragma once

#include "base/config.h"
#include "base/paths.h"
#include "io/http.h"
#include "provider/models.h"
#include "terminal/view.h"

typedef struct ik_setup ik_setup_t;

typedef enum {
    IK_SETUP_MODEL,   /* a model was chosen and is kept */
    IK_SETUP_OFFLINE, /* the user goes on without one */
    IK_SETUP_FAILED,  /* the choice could not be stored; the reason was printed */
} ik_setup_end_t;

/* Everything outlives the dialogue. */
typedef struct {
    ik_view_t *view;
    ik_loop_t *loop;
    ik_http_t *http;
    const ik_paths_t *paths;
    ik_config_t *config;
    const ik_models_t *models;
    /* The dialogue stands before a conversation: what is typed into its first list begins a message
     * and means offline. */
    bool at_start;
    /* Called once from the loop, when everything is printed; may free the dialogue. model is NULL
     * unless one was chosen. */
    void (*on_end)(void *data, ik_setup_end_t end, const char *model);
    void *data;
} ik_setup_options_t;

/* Whether no model is set up: none was chosen, and no provider has a key. */
bool ik_setup_is_due(const ik_config_t *config);
/* Whether the user chose to look around offline, which a setup forgets. */
bool ik_setup_is_declined(const ik_paths_t *paths);

/* Prints the first lines and opens the list. */
ik_setup_t *ik_setup_start(const void *ctx, const ik_setup_options_t *options);
/* A line was entered; false if it is not for the dialogue. */
bool ik_setup_submit(ik_setup_t *setup, const char *text);
/* Esc, Ctrl-C or the end of input; false if it is not for the dialogue: the owner should leave. */
bool ik_setup_act(ik_setup_t *setup, ik_prompt_action_t action);
/* Closes lists and questions and stops requests, because the owner needs the screen; begins again
 * with the first list. */
void ik_setup_pause(ik_setup_t *setup);
void ik_setup_resume(ik_setup_t *setup);
