/*
 * The call gate of a workspace: decides for each tool call, by the agent's mode, the user's rules
 * and the level of confinement, whether it runs, in which room, or whether the user is asked first.
 * What hooks say comes first: they can deny a call, have the user asked, or save a question.
 */
#pragma once

#include "agent/call_gate.h"
#include "base/mode.h"
#include "confinement/confinement.h"
#include "permission/permission_rules.h"

/* A question about one call. Valid until it is answered or cancelled. */
typedef struct {
    int64_t agent;
    const char *call_id;
    const char *tool;
    const char *arguments; /* JSON text */
    size_t arguments_len;
    const char *wants; /* "network", "no confinement", "write", or "run" if it wants none of them */
    /* to be shown, with control characters written out */
    const char *reason; /* a hook's or the model's; NULL: none */
    const char *rule;   /* what "always" would add; NULL: not offered */
} ik_permission_question_t;

typedef enum {
    IK_PERMISSION_YES,
    IK_PERMISSION_ALWAYS,
    IK_PERMISSION_NO,   /* text, if not NULL, is what the user wants instead */
    IK_PERMISSION_STOP, /* no, and end the turn */
} ik_permission_answer_t;

typedef void (*ik_permission_answer_fn)(void *data, ik_permission_answer_t answer,
                                        const char *text);

typedef struct {
    ik_confinement_t *confinement;
    ik_hooks_t *hooks; /* NULL: none */
    ik_permission_rules_t *rules;
    const ik_config_t *config;
    bool unattended;         /* there is no user: what would be asked is denied */
    const char *remedy;      /* for what is denied so; NULL: the options of ikigai -p */
    const char *full_remedy; /* another one, unless a hook asks; with remedy */
    bool allow_all;          /* --allow all: every question is answered with yes */
    ik_mode_t (*mode_of)(void *data, int64_t agent);
    /* Asks the user; on_answer is called once, from the loop. Freeing the returned object withdraws
     * the question. */
    void *(*ask)(void *data, const void *ctx, const ik_permission_question_t *question,
                 ik_permission_answer_fn on_answer, void *answer_data);
    void (*stop_turn)(void *data, int64_t agent); /* NULL: there is no turn */
    void (*warn)(void *data, const char *text);
    void *data;
} ik_permission_gate_options_t;

/* The result lives as long as ctx. */
const ik_call_gate_t *ik_permission_gate_create(const void *ctx,
                                                const ik_permission_gate_options_t *options);
