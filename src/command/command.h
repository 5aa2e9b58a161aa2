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

#include "terminal/view_list.h"
#include "workspace/workspace.h"

typedef struct ik_command_host ik_command_host_t;

/* What commands need from the screen. No function blocks. */
typedef struct {
    /* Prints text of any origin, without styles; print_line prints exactly one line. */
    void (*print)(ik_command_host_t *host, const char *text);
    void (*print_line)(ik_command_host_t *host, const char *text);
    /* Prints one line that says what went wrong and what to do. */
    void (*fail)(ik_command_host_t *host, const char *text);
    /* Whether the agent has output that was not shown yet. */
    bool (*has_news)(ik_command_host_t *host, int64_t agent);
    /* Shows the whole tool result number N, from 1, of the current agent, as show_text does;
     * IK_ERR_NOT_FOUND. */
    res_t (*show_result)(ik_command_host_t *host, size_t number);
    void (*copy)(ik_command_host_t *host, const char *text, size_t len);
    void (*open_pager)(ik_command_host_t *host);
    /* Shows a long text of any origin in the pager, or prints it where there is none. */
    void (*show_text)(ik_command_host_t *host, const char *title, const char *text);
    /* Shows a patch in colours, in the pager if it is long. */
    void (*show_patch)(ik_command_host_t *host, const char *title, const char *text);
    /* Puts text that was sent before into the draft, before what is there; prints it where there is
     * no draft. */
    void (*return_text)(ik_command_host_t *host, const char *text);
    /* Opens a list to choose from, replaces its rows, closes it; as terminal/view_list.h says. */
    ik_view_list_t *(*open_list)(ik_command_host_t *host, const ik_view_list_options_t *options);
    void (*set_list)(ik_command_host_t *host, ik_view_list_t *list, const ik_choice_row_t *rows,
                     size_t count, bool pending);
    void (*close_list)(ik_command_host_t *host, ik_view_list_t *list);
    void (*leave)(ik_command_host_t *host);
} ik_command_screen_t;

/* Completions of an argument; copies on ctx. */
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
    void *ctx;      /* lives as long as the front end; for pending questions of commands */
    size_t columns; /* for tables; 0: unlimited */
    void *data;     /* of the front end */
    /* The sessions that a command listed last, for the completion of /resume; on ctx. */
    ik_command_words_t *listed_sessions;
};

/* A talloc context for everything that a command allocates while it runs. */
typedef struct {
    const char *rest; /* everything after the name, without surrounding white space; may be "" */
    char **words;     /* rest, split at white space outside of "…" and '…' */
    size_t count;
} ik_command_args_t;

typedef enum {
    IK_COMMAND_NEEDS_IDLE = 1 << 0,     /* refused while the current agent works */
    IK_COMMAND_NEEDS_TOOLS = 1 << 1,    /* waits while tools are being discovered */
    IK_COMMAND_TAKES_REST = 1 << 2,     /* the rest of the line is one argument */
    IK_COMMAND_NEEDS_ALL_IDLE = 1 << 3, /* refused while any agent works: its work would be lost */
    IK_COMMAND_JOINS_TURN = 1 << 4,     /* with NEEDS_IDLE: not refused during a turn, but still
                                           while a !CMD runs or an idle agent has messages */
} ik_command_flag_t;

typedef struct {
    const char *name;  /* "model" */
    const char *alias; /* a name known from other programs; NULL: none */
    const char *usage; /* "[NAME]"; "": no arguments */
    const char *help;  /* one line */
    unsigned flags;
    size_t min_args;
    size_t max_args;
    void (*run)(ik_command_host_t *host, const ik_command_args_t *args);
    /* Adds completions for argument number `word`, from 1. May be NULL. */
    void (*complete)(ik_command_host_t *host, int word, ik_command_words_t *out);
    /* For a command whose arguments may be secrets that were typed by mistake: whether the first
     * one may be shown and kept. Further ones may not. NULL: all may. */
    bool (*is_public)(ik_command_host_t *host, const char *word);
} ik_command_t;

/* All commands, sorted by name. */
const ik_command_t *const *ik_command_table(size_t *count);
/* Finds a command by its exact name or alias, with or without the slash; NULL: none. */
const ik_command_t *ik_command_find(const char *name, size_t len);

/* Whether there is a command of exactly this name, without the slash. */
bool ik_command_is_built_in(const char *name);
/* What there is of one kind, on ctx, also what is not used. */
const ik_extensions_t *ik_command_find_extensions(const void *ctx, const ik_command_host_t *host,
                                                  ik_extension_kind_t kind);
/* The commands and skills that can be called by name, on ctx. */
const ik_extensions_t *ik_command_find_custom(const void *ctx, const ik_command_host_t *host);

/* Whether a line is "/name args", or "# text" for /remember, rather than a message. A second slash
 * in the first word makes it a path. */
bool ik_command_is_line(const char *line);
/* Whether "/name args" must wait in the queue: until tools are discovered, until an undo has
 * replaced its agent, or, as a custom command, until the agent is idle. */
bool ik_command_must_wait(const ik_command_host_t *host, const char *line);
/* How many bytes at the start of a line may be shown and kept; all of them, unless it is a command
 * with is_public. */
size_t ik_command_public_length(ik_command_host_t *host, const char *line);
/* Runs "/name args", built in or custom, or "# text". Wrong use prints the usage, an unknown name
 * suggests the closest one. busy: the current agent works, or messages are queued for it. */
void ik_command_run(ik_command_host_t *host, const char *line, bool busy);

/* --- for commands: */

/* "/model [NAME]", on ctx. */
char *ik_command_format_usage(const void *ctx, const ik_command_t *command);
/* "/review [FILE]", on ctx. */
char *ik_command_format_custom(const void *ctx, const ik_extension_t *custom);
/* Its help and its alias: "Leaves ikigai. Also: /quit", on ctx. */
char *ik_command_format_help(const void *ctx, const ik_command_t *command);
/* Prints why, unless it is NULL, and the usage. */
void ik_command_misuse(ik_command_host_t *host, const ik_command_t *command, const char *why);
/* Parses a positive number; prints a misuse and returns false if it is not one. */
bool ik_command_parse_number(ik_command_host_t *host, const ik_command_t *command, const char *word,
                             int64_t *out);
/* Prints that there is no such command, and the closest one. */
void ik_command_fail_unknown(ik_command_host_t *host, const char *name, size_t len);
