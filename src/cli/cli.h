/*
 * The command line apart from talking to a model: `ikigai tool …`, `ikigai session …`, `ikigai
 * trust`, `ikigai doctor`, `ikigai completion`, `ikigai help`.
 *
 * A command is one const entry in the table of cli.c, of which help, the manual and completion are
 * made. To add one:
 *   1. write cli_NAME.c with `const ik_cli_command_t ik_cli_NAME`,
 *   2. declare it below,
 *   3. list it in the table in cli.c.
 */
#pragma once

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/config.h"
#include "base/paths.h"
#include "io/process.h"
#include "tool/tool_discovery.h"

/* Exit statuses of the program. */
enum { IK_CLI_DONE = 0, IK_CLI_FAILED = 1, IK_CLI_USAGE = 2, IK_CLI_INTERRUPTED = 130 };

/* The same for help and manual. */
typedef struct {
    int status;
    const char *help; /* a few words */
    const char *more; /* what the manual adds, in Markdown */
} ik_cli_exit_t;
const ik_cli_exit_t *ik_cli_exits(size_t *count);

/* What main prepared; everything lives as long as the command runs. */
typedef struct {
    void *ctx;
    const ik_paths_t *paths;
    const ik_config_t *config;
    res_t config_error; /* commands other than doctor are not run when it is one */
    ik_loop_t *loop;
    ik_process_host_t *host;
} ik_cli_t;

typedef struct ik_cli_args ik_cli_args_t;

enum { IK_CLI_ANY_NUMBER = INT_MAX };

/* An option as usage, help, manual and completion know it. */
typedef struct {
    const char *name;      /* "--format", "-m" */
    const char *long_name; /* "--model" of "-m"; NULL: it has none */
    /* What it takes: "FILE", or the choices, "jsonl|md|html"; in brackets when it may be left out.
     * NULL: nothing. */
    const char *value;
    const char *help; /* half a line */
    const char *more; /* what the manual adds to it, in Markdown; NULL: nothing */
    bool required;
} ik_cli_option_t;

/* Options of several commands mean the same. */
#define IK_CLI_DB_OPTION                                                                           \
    {                                                                                              \
        .name = "--db", .value = "URL",                                                            \
        .help = "where sessions are kept: a file, or postgresql://… for a shared history"        \
    }
#define IK_CLI_JSON_OPTION                                                                         \
    {                                                                                              \
        .name = "--json", .help = "print JSON"                                                     \
    }
#define IK_CLI_TRUST_OPTION                                                                        \
    {                                                                                              \
        .name = "--trust", .help = "trust the project's tools for this run"                        \
    }
#define IK_CLI_YES_OPTION                                                                          \
    {                                                                                              \
        .name = "--yes", .help = "do not ask"                                                      \
    }

typedef struct {
    const char *name; /* "tool list": one or two words */
    /* The arguments behind it: "NAME [JSON]", "ID...". Completion knows what ID, NAME, FILE, DIR,
     * PATH, TOPIC and a|b stand for (cli_completion_model.c). */
    const char *args;
    const char *help;               /* one line */
    const char *more;               /* what the manual adds, in Markdown; NULL: nothing */
    const ik_cli_option_t *options; /* ends with a row without a name; NULL: it takes none */
    int min_args;
    int max_args;        /* may be IK_CLI_ANY_NUMBER */
    bool new_name;       /* NAME is that of something to be made: nothing completes it */
    bool takes_dashes;   /* what begins with a dash and is no option of its own is an argument */
    bool without_config; /* runs although the configuration is wrong, and nothing is said of it */
    int (*run)(ik_cli_t *cli, const ik_cli_args_t *args);
} ik_cli_command_t;

typedef struct {
    const ik_cli_option_t *option;
    const char *value; /* NULL for one that has none */
} ik_cli_given_t;

/* What came behind the command's name, options sorted out. */
struct ik_cli_args {
    const ik_cli_command_t *command;
    const char **args;
    int count;
    ik_cli_given_t *given; /* as they came: see the functions below */
    int given_count;
};

extern const ik_cli_command_t ik_cli_tool_list;
extern const ik_cli_command_t ik_cli_tool_show;
extern const ik_cli_command_t ik_cli_tool_run;
extern const ik_cli_command_t ik_cli_tool_check;
extern const ik_cli_command_t ik_cli_tool_new;
extern const ik_cli_command_t ik_cli_session_list;
extern const ik_cli_command_t ik_cli_session_show;
extern const ik_cli_command_t ik_cli_session_search;
extern const ik_cli_command_t ik_cli_session_export;
extern const ik_cli_command_t ik_cli_session_import;
extern const ik_cli_command_t ik_cli_session_fork;
extern const ik_cli_command_t ik_cli_session_deliver;
extern const ik_cli_command_t ik_cli_session_delete;
extern const ik_cli_command_t ik_cli_session_prune;
extern const ik_cli_command_t ik_cli_trust;
extern const ik_cli_command_t ik_cli_untrust;
extern const ik_cli_command_t ik_cli_doctor;
extern const ik_cli_command_t ik_cli_completion;
extern const ik_cli_command_t ik_cli_help;

/* In the order of help; *count of them. */
const ik_cli_command_t *const *ik_cli_commands(size_t *count);
/* Whether a word names the option, with or without a value behind '=' (which only long names take).
 */
bool ik_cli_option_is(const ik_cli_option_t *option, const char *word);
/* "-m, --model PROVIDER/MODEL", on ctx. */
char *ik_cli_format_option(const void *ctx, const ik_cli_option_t *option);
/* "tool run NAME [JSON] [--trust]", on ctx. */
char *ik_cli_format_usage(const void *ctx, const ik_cli_command_t *command);

/* Runs the command that argv (without the program's name) names and returns the exit status. The
 * first word begins one. Prints usage errors itself. */
int ik_cli_run(ik_cli_t *cli, int argc, char **argv);
/* Says on stderr what is wrong with the configuration; false when nothing can be done with it. */
bool ik_cli_accept_config(const ik_cli_t *cli);
/* Whether a command's name begins with this word. */
bool ik_cli_begins_command(const char *word);
/* Whether these words, one blank between two, begin with the whole name of a command, or are a
 * misspelt one: a single word, or two that are one's first and second. */
bool ik_cli_is_command(const char *words);
bool ik_cli_resembles_command(const char *words);
/* IK_ERR_NOT_FOUND: there is no such command, which one is near, and how to send the words to a
 * model. */
res_t ik_cli_explain_unknown(const char *words);
void ik_cli_print_help(void);

/* Options of a command, which must be among those it says it takes. */
bool ik_cli_args_has(const ik_cli_args_t *args, const char *option);
/* NULL when it was not given; of several the last one counts. */
const char *ik_cli_args_value(const ik_cli_args_t *args, const char *option);
/* The same as a number from 1 on; *out is left alone when it was not given. */
res_t ik_cli_args_number(const ik_cli_args_t *args, const char *option, size_t *out);

/* For commands: discovery with the problems and the trust line on stderr (quiet: only the line). */
res_t ik_cli_discover(ik_cli_t *cli, bool trust, bool refresh, bool quiet,
                      const ik_tool_discovery_result_t **out);

/* Says why on stderr and returns IK_CLI_FAILED. */
int ik_cli_fail(const char *message);
/* The same, with the command's usage, and IK_CLI_USAGE. */
int ik_cli_misuse(const ik_cli_command_t *command, const char *message);
/* Asks on stdout and reads the answer from stdin: true only for a yes. */
bool ik_cli_confirm(const char *question);

/* On one line, control characters escaped. */
void ik_cli_print_json(json_t *value);
