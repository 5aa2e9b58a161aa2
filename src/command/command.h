/*
 * Slash commands: one const entry per file, one sorted table. The dispatcher checks the number of
 * arguments and the preconditions; help and completion read the same table. To add one:
 *   1. write command_NAME.c with `const ik_command_t ik_command_NAME`,
 *   2. declare it in command_list.h,
 *   3. list it in the table in command.c.
 *
 * A command works on the workspace and prints through its host.
 */
#pragma once

#include "workspace/workspace.h"

typedef struct ik_command_host ik_command_host_t;

/* What a command needs of the screen it is run at; everything else is the workspace's. All of them
 * return at once. */
typedef struct {
    /* Text of any origin in lines, in the terminal's own style; print_line: as exactly one line. */
    void (*print)(ik_command_host_t *host, const char *text);
    void (*print_line)(ik_command_host_t *host, const char *text);
    /* Something went wrong: one line that says what to do. */
    void (*fail)(ik_command_host_t *host, const char *text);
    /* The agent said something that is not on the screen yet. */
    bool (*has_news)(ik_command_host_t *host, int64_t agent);
    /* Tool result N of the agent with the focus in full, counted from 1; IK_ERR_NOT_FOUND. */
    res_t (*show_result)(ik_command_host_t *host, size_t number);
    void (*copy)(ik_command_host_t *host, const char *text, size_t len);
    void (*open_pager)(ik_command_host_t *host);
    /* A long text of any origin, from its beginning: in the pager, or printed where there is none.
     */
    void (*show_text)(ik_command_host_t *host, const char *title, const char *text);
    void (*leave)(ik_command_host_t *host);
} ik_command_screen_t;

/* Words that may stand as an argument; copies on ctx. */
typedef struct {
    const void *ctx;
    const char **texts;
    const char **notes; /* each may be NULL */
    size_t count;
} ik_command_words_t;
void ik_command_words_add(ik_command_words_t *words, const char *text, const char *note);

struct ik_command_host {
    const ik_command_screen_t *screen;
    ik_workspace_t *workspace;
    void *ctx;      /* lives as long as the front end: for what a command waits for */
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
