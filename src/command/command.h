/*
 * Slash commands: one const entry per file, one sorted table. The dispatcher checks the number of
 * arguments and the preconditions; help and completion read the same table. To add one:
 *   1. write command_NAME.c with `const ik_command_t ik_command_NAME`,
 *   2. declare it in command_table.h,
 *   3. list it in the table in command.c.
 *
 * A command knows no screen: it prints text, and asks for what it wants done, through the host.
 */
#pragma once

#include "agent/agent.h"
#include "base/paths.h"

typedef struct ik_command_host ik_command_host_t;

/* One agent of the session, for lists. */
typedef struct {
    int64_t number; /* in its session, from 1 */
    int64_t parent; /* 0: none */
    bool current;
    bool busy;
    bool unseen; /* it said something that was not shown yet */
    size_t messages;
    const char *model;
    const char *title; /* the last words of the user to it; "" */
} ik_command_agent_t;

typedef struct {
    ik_usage_t usage; /* sums of the session */
    double cost;      /* USD; negative: not known */
    int64_t turns;
    int64_t context_used; /* tokens of the last request and its answer; 0: not known */
    int64_t context_size; /* of the model; 0: not known */
} ik_command_usage_t;

typedef void (*ik_command_answer_fn)(ik_command_host_t *host, void *data, bool yes);

/* What the front end does for commands. All of them return at once; what takes time goes on in the
 * loop and prints when it is done. */
typedef struct {
    /* Text of any origin in lines, in the terminal's own style; print_line: as exactly one line. */
    void (*print)(ik_command_host_t *host, const char *text);
    void (*print_line)(ik_command_host_t *host, const char *text);
    /* Something went wrong: one line that says what to do. */
    void (*fail)(ik_command_host_t *host, const char *text);
    /* Asks a question that `y` or `yes` answers with yes, everything else with no. data is a talloc
     * pointer or NULL, and belongs to the host until the answer: it is freed after on_answer. */
    void (*ask)(ik_command_host_t *host, const char *question, ik_command_answer_fn on_answer,
                void *data);

    ik_agent_t *(*agent)(ik_command_host_t *host); /* that is talked to */
    ik_session_t *(*session)(ik_command_host_t *host);
    const ik_target_t *(*target)(ik_command_host_t *host);
    /* Takes over model from the next request on; IK_ERR_… and nothing changed when it cannot be
     * had. */
    res_t (*set_model)(ik_command_host_t *host, const char *model);
    void (*usage)(ik_command_host_t *host, ik_command_usage_t *out);

    /* Looks for all tools again and prints how many there are. */
    void (*refresh)(ik_command_host_t *host);
    /* A new conversation in a new session. */
    void (*begin_session)(ik_command_host_t *host);
    /* Goes on with a stored one (an id or a unique beginning). */
    void (*resume_session)(ik_command_host_t *host, const char *id);

    /* All agents of the session by number, on ctx. */
    ik_command_agent_t *(*agents)(ik_command_host_t *host, const void *ctx, size_t *count);
    /* A child with the conversation so far becomes the current agent; prompt may be NULL. */
    void (*fork)(ik_command_host_t *host, const char *prompt);
    res_t (*switch_agent)(ik_command_host_t *host, int64_t number);
    res_t (*kill_agent)(ik_command_host_t *host, int64_t number);

    /* Tool result N of the current agent in full, counted from 1; IK_ERR_NOT_FOUND. */
    res_t (*show_result)(ik_command_host_t *host, size_t number);
    void (*copy)(ik_command_host_t *host, const char *text, size_t len);
    void (*open_pager)(ik_command_host_t *host);
    /* A long text of any origin, from its beginning: in the pager, or printed where there is none.
     */
    void (*show_text)(ik_command_host_t *host, const char *title, const char *text);
    void (*leave)(ik_command_host_t *host);
} ik_command_actions_t;

/* Words that may stand as an argument; copies on ctx. */
typedef struct {
    const void *ctx;
    const char **texts;
    const char **notes; /* each may be NULL */
    size_t count;
} ik_command_words_t;
void ik_command_words_add(ik_command_words_t *words, const char *text, const char *note);

struct ik_command_host {
    const ik_command_actions_t *actions;
    void *ctx; /* lives as long as the front end: for what a command waits for */
    const ik_paths_t *paths;
    ik_shared_ctx_t *shared;
    size_t columns; /* tables are made to fit; 0: as wide as they want to be */
    void *data;     /* the front end's own */
    /* The commands' own: the sessions listed last, which /resume completes; on ctx. */
    ik_command_words_t *listed_sessions;
};

/* A talloc pointer: what a command makes while it runs hangs on it. */
typedef struct {
    const char *rest; /* everything behind the name, without white space around it; "" */
    char **words;     /* the same by words; "…" and '…' hold white space together */
    size_t count;
} ik_command_args_t;

typedef enum {
    IK_COMMAND_NEEDS_IDLE = 1 << 0,     /* not while the current agent works */
    IK_COMMAND_NEEDS_TOOLS = 1 << 1,    /* waits while tools are being discovered */
    IK_COMMAND_TAKES_REST = 1 << 2,     /* the rest of the line is one argument, not its words */
    IK_COMMAND_NEEDS_ALL_IDLE = 1 << 3, /* not while any other agent works: it would be lost */
} ik_command_flag_t;

typedef struct {
    const char *name;  /* "model" */
    const char *alias; /* another name for it that users of other programs know; NULL: none */
    const char *usage; /* "[NAME]"; "": no arguments */
    const char *help;  /* one line */
    unsigned flags;
    size_t min_args;
    size_t max_args;
    void (*run)(ik_command_host_t *host, const ik_command_args_t *args);
    /* May be NULL: words for argument number `word`, from 1. */
    void (*complete)(ik_command_host_t *host, int word, ik_command_words_t *out);
} ik_command_t;

/* Sorted by name; *count of them. */
const ik_command_t *const *ik_command_table(size_t *count);
/* By exact name or another one it has, with or without the slash; NULL: there is none. */
const ik_command_t *ik_command_find(const char *name, size_t len);

/* Whether a line is "/name args" and no message: a name holds no second slash, as a path does. */
bool ik_command_is_line(const char *line);
/* Whether "/name args" needs tools that are not discovered yet: run it when they are. */
bool ik_command_must_wait(const ik_command_host_t *host, const char *line);
/* Runs "/name args". Wrong use prints the usage line, an unknown name suggests the nearest. busy:
 * the current agent works, or something waits for it. */
void ik_command_run(ik_command_host_t *host, const char *line, bool busy);

/* --- for commands: */

/* "/model [NAME]", on ctx. */
char *ik_command_format_usage(const void *ctx, const ik_command_t *command);
/* Its help, and the other name it has: "Leaves ikigai. Also: /quit", on ctx. */
char *ik_command_format_help(const void *ctx, const ik_command_t *command);
/* Says what is wrong, if why is not NULL, and prints the usage line. */
void ik_command_misuse(ik_command_host_t *host, const ik_command_t *command, const char *why);
/* A whole number from 1 on; otherwise it is a misuse, which is said. */
bool ik_command_parse_number(ik_command_host_t *host, const ik_command_t *command, const char *word,
                             int64_t *out);
/* There is no such command: says so, and which one is near. */
void ik_command_fail_unknown(ik_command_host_t *host, const char *name, size_t len);
