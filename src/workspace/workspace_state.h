/* What a workspace consists of, for the files of this folder. */
#pragma once

#include "workspace/workspace.h"

typedef struct {
    char *text;
    bool command;
} ik_workspace_line_t;

/* One agent of the session. */
typedef struct {
    ik_workspace_t *workspace;
    int64_t number;
    ik_agent_t *agent; /* NULL: nothing was said yet, or the log is not loaded */
    char *title;       /* the last words of the user; NULL: none */
    int64_t context;   /* tokens of the last request and answer; 0: not known */
    ik_workspace_line_t *queue;
    size_t queue_count;
    char **notes; /* pairs of text and data_json (may be NULL) that wait for the turn's end */
    size_t note_count;
} ik_workspace_member_t;

struct ik_workspace {
    ik_workspace_options_t options;
    ik_shared_ctx_t shared;
    const ik_target_t *target; /* of new agents; NULL: not chosen yet */
    res_t target_error;        /* why it is not */

    /* --- the session */
    ik_session_t *session;          /* NULL: none yet, or it is being opened */
    ik_history_question_t *opening; /* NULL: none is */
    bool choosing;                  /* the user chooses a session */
    ik_workspace_member_t **members;
    size_t member_count;
    ik_workspace_member_t *focus; /* one of them */
    ik_workspace_usage_t usage;

    /* --- tools */
    ik_tool_discovery_t *discovery; /* NULL: none is under way */
    ik_tool_registry_t *registry;   /* shared.tool_registry */
    void *old_registries;           /* turns that began with them may still use them */
    bool refreshing;                /* the user asked for it and reads the result */
    bool recheck_due;               /* the cache answered for tools of the user */
    bool rechecking;                /* discovery asks them again */
    char **problems;                /* of the last search */
    size_t problem_count;

    /* --- what waits */
    ik_workspace_question_t *questions; /* a list; the first one is open */
    int holds;
    bool pumping;
    bool ready;    /* READY was sent */
    bool stopping; /* nothing new is begun */
    bool closed;
};

/* --- workspace.c: */

void ik_workspace_emit(ik_workspace_t *workspace, const ik_workspace_event_t *event);
void ik_workspace_say(ik_workspace_t *workspace, ik_workspace_level_t level, const char *text);
/* The conversation asked for cannot begin: nothing is taken from the queues any more. */
void ik_workspace_fail(ik_workspace_t *workspace, const res_t *result);
/* Takes what can be taken from the queues. Call it whenever something may be possible that was
 * not before. */
void ik_workspace_pump(ik_workspace_t *workspace);
/* Chooses the target of new agents; kept, which may be NULL, is the model of a resumed session. */
res_t ik_workspace_choose_target(ik_workspace_t *workspace, const char *kept);
void ik_workspace_on_agent_event(void *member, const ik_agent_event_t *event);

/* --- workspace_session.c: */

void ik_workspace_open_first(ik_workspace_t *workspace); /* what options.start asks for */
void ik_workspace_create_root(ik_workspace_t *workspace);
void ik_workspace_drop_session(ik_workspace_t *workspace);
ik_workspace_member_t *ik_workspace_find_member(const ik_workspace_t *workspace, int64_t number);
void ik_workspace_flush_notes(ik_workspace_member_t *member);
void ik_workspace_set_title(ik_workspace_member_t *member, const ik_msg_t *message);
void ik_workspace_set_context(ik_workspace_member_t *member, const ik_usage_t *usage);

/* --- workspace_tools.c: */

void ik_workspace_find_tools(ik_workspace_t *workspace, bool refresh);
/* Frees registries that no turn uses any more. */
void ik_workspace_free_old_tools(ik_workspace_t *workspace);

/* --- workspace_question.c: */

/* The program itself has asked something: the queues wait. */
bool ik_workspace_has_own_question(const ik_workspace_t *workspace);
