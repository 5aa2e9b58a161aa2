/*
 * The commands of the command line: `ikigai tool …`, `ikigai host …`, `ikigai session …`, `ikigai
 * mcp …`, `ikigai
 * trust`, `ikigai status`, `ikigai setup`, `ikigai doctor`, `ikigai completion`, `ikigai help`.
 * cli_options.h parses the command line without one.
 *
 * A command is one const entry in the table in cli.c, which help, the manual and completion read.
 * To add one:
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
#include "confinement/confinement.h"
#include "io/process.h"
#include "mcp/mcp.h"
#include "tool/tool_runner.h"

/* Exit statuses of the program. */
enum { IK_CLI_DONE = 0, IK_CLI_FAILED = 1, IK_CLI_USAGE = 2, IK_CLI_INTERRUPTED = 130 };

/* An exit status as help and the manual describe it. */
typedef struct {
    int status;
    const char *help; /* a few words */
    const char *more; /* added by the manual, in Markdown */
} ik_cli_exit_t;
const ik_cli_exit_t *ik_cli_exits(size_t *count);

typedef struct ik_cli ik_cli_t;

/* Prepared by main; everything lives as long as the command runs. */
struct ik_cli {
    void *ctx;
    const ik_paths_t *paths;
    ik_config_t *config;
    res_t config_error; /* on an error only commands with without_config run */
    bool output_closed; /* standard output was closed when the program started */
    ik_loop_t *loop;
    ik_process_host_t *host;
    ik_confinement_t *confinement; /* of commands */
    ik_mcp_t *mcp;                 /* the servers, if the command uses them; see ik_cli_servers */
    /* Runs the front end for editors (acp/acp.h); returns the exit status. */
    int (*run_acp)(ik_cli_t *cli, const ik_config_flags_t *flags, bool trust);
};

typedef struct ik_cli_args ik_cli_args_t;

enum { IK_CLI_ANY_NUMBER = INT_MAX };

/* An option, for usage, help, manual and completion. */
typedef struct {
    const char *name;      /* "--format", "-m" */
    const char *long_name; /* "--model" of "-m"; NULL: none */
    /* "FILE", or the choices, "jsonl|md|html"; in brackets when it is optional. NULL: the option
     * takes no value. */
    const char *value;
    const char *help; /* half a line */
    const char *more; /* added by the manual, in Markdown; NULL: nothing */
    bool required;
} ik_cli_option_t;

/* Options that several commands share. */
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
        .name = "--trust", .help = "trust what the project adds for this run"                      \
    }
#define IK_CLI_YES_OPTION                                                                          \
    {                                                                                              \
        .name = "--yes", .help = "do not ask"                                                      \
    }

typedef struct {
    const char *name; /* "tool list": one or two words */
    /* Its arguments: "NAME [JSON]", "ID...". Completion knows what ID, NAME, FILE, DIR, PATH, TOPIC
     * and a|b stand for (cli_completion.c). */
    const char *args;
    const char *help;               /* one line */
    const char *more;               /* added by the manual, in Markdown; NULL: nothing */
    const ik_cli_option_t *options; /* ends with a row without a name; NULL: none */
    int min_args;
    int max_args;        /* may be IK_CLI_ANY_NUMBER */
    bool new_name;       /* NAME is something to create, so completion offers no names */
    bool takes_dashes;   /* a word with a dash that is not one of its options is an argument */
    bool needs_output;   /* does not run if standard output is closed */
    bool without_config; /* runs even if the configuration is invalid, without a message */
    int (*run)(ik_cli_t *cli, const ik_cli_args_t *args);
} ik_cli_command_t;

typedef struct {
    const ik_cli_option_t *option;
    const char *value; /* NULL if the option takes none */
} ik_cli_given_t;

/* The words after the command's name, with the options sorted out. */
struct ik_cli_args {
    const ik_cli_command_t *command;
    const char **args;
    int count;
    int dashes_at;         /* number of arguments before "--"; -1: there was none */
    ik_cli_given_t *given; /* in their order; see ik_cli_args_has, _value and _number */
    int given_count;
};

extern const ik_cli_command_t ik_cli_tool_list;
extern const ik_cli_command_t ik_cli_tool_show;
extern const ik_cli_command_t ik_cli_tool_run;
extern const ik_cli_command_t ik_cli_tool_check;
extern const ik_cli_command_t ik_cli_tool_new;
extern const ik_cli_command_t ik_cli_host_ask;
extern const ik_cli_command_t ik_cli_host_agent;
extern const ik_cli_command_t ik_cli_host_complete;
extern const ik_cli_command_t ik_cli_session_list;
extern const ik_cli_command_t ik_cli_session_show;
extern const ik_cli_command_t ik_cli_session_search;
extern const ik_cli_command_t ik_cli_session_export;
extern const ik_cli_command_t ik_cli_session_import;
extern const ik_cli_command_t ik_cli_session_fork;
extern const ik_cli_command_t ik_cli_session_diff;
extern const ik_cli_command_t ik_cli_session_undo;
extern const ik_cli_command_t ik_cli_session_redo;
extern const ik_cli_command_t ik_cli_session_deliver;
extern const ik_cli_command_t ik_cli_session_delete;
extern const ik_cli_command_t ik_cli_session_prune;
extern const ik_cli_command_t ik_cli_mcp_add;
extern const ik_cli_command_t ik_cli_mcp_list;
extern const ik_cli_command_t ik_cli_mcp_show;
extern const ik_cli_command_t ik_cli_mcp_remove;
extern const ik_cli_command_t ik_cli_mcp_login;
extern const ik_cli_command_t ik_cli_mcp_serve;
extern const ik_cli_command_t ik_cli_trust;
extern const ik_cli_command_t ik_cli_untrust;
extern const ik_cli_command_t ik_cli_status;
extern const ik_cli_command_t ik_cli_acp;
extern const ik_cli_command_t ik_cli_setup;
extern const ik_cli_command_t ik_cli_doctor;
extern const ik_cli_command_t ik_cli_completion;
extern const ik_cli_command_t ik_cli_help;

/* All commands, in the order of help. */
const ik_cli_command_t *const *ik_cli_commands(size_t *count);
/* Whether a word names the option, with or without "=VALUE", which only long names take. */
bool ik_cli_option_is(const ik_cli_option_t *option, const char *word);
/* "-m, --model PROVIDER/MODEL", on ctx. */
char *ik_cli_format_option(const void *ctx, const ik_cli_option_t *option);
/* "tool run NAME [JSON] [--trust]", on ctx. */
char *ik_cli_format_usage(const void *ctx, const ik_cli_command_t *command);

/* Runs the command that argv (without the program's name) names and returns the exit status.
 * argv[0] must be the first word of a command. Prints usage errors itself. */
int ik_cli_run(ik_cli_t *cli, int argc, char **argv);
/* Prints warnings and errors of the configuration on stderr; false if it cannot be used. */
bool ik_cli_accept_config(const ik_cli_t *cli);
/* Whether tools can be confined as the configuration requires; else prints why not on stderr. */
bool ik_cli_accept_confinement(const ik_cli_t *cli);
/* How tools run in the current folder, without a session that they could ask for something. */
ik_tool_context_t ik_cli_tool_context(const ik_cli_t *cli);
/* Whether a command's name begins with this word. */
bool ik_cli_begins_command(const char *word);
/* Whether these words, separated by single blanks, begin with the whole name of a command. */
bool ik_cli_is_command(const char *words);
/* Whether these words are a misspelt command: its first word alone, or its first and second. */
bool ik_cli_resembles_command(const char *words);
/* IK_ERR_NOT_FOUND with the closest command and how to send the words to a model instead. */
res_t ik_cli_explain_unknown(const char *words);
void ik_cli_print_help(void);
/* A line with the option, and an indented one with its meaning. */
void ik_cli_print_option(const ik_cli_option_t *option);

/* Options of a command; option must be in its table. */
bool ik_cli_args_has(const ik_cli_args_t *args, const char *option);
/* NULL if the option was not given. The last one counts. */
const char *ik_cli_args_value(const ik_cli_args_t *args, const char *option);
/* All values of an option that may be given several times, NULL-terminated, on ctx. */
const char **ik_cli_args_values(const void *ctx, const ik_cli_args_t *args, const char *option);
/* Parses the value as a positive number; *out is unchanged if the option was not given. */
res_t ik_cli_args_number(const ik_cli_args_t *args, const char *option, size_t *out);

/* The servers, which end with the command. trust: also those of an untrusted project. */
ik_mcp_t *ik_cli_servers(ik_cli_t *cli, bool trust);
typedef struct {
    bool trust;
    bool refresh;
    bool quiet;   /* print only the trust line */
    bool servers; /* also the tools of servers */
} ik_cli_discover_options_t;

/* Discovers the tools and prints problems and the trust line on stderr. */
res_t ik_cli_discover(ik_cli_t *cli, const ik_cli_discover_options_t *options,
                      const ik_tool_discovery_result_t **out);

/* The dialogue of `ikigai setup`; returns the exit status. */
int ik_cli_set_up(ik_cli_t *cli, bool plain);
/* Prints the message on stderr and returns IK_CLI_FAILED. */
int ik_cli_fail(const char *message);
/* Prints the message and the command's usage on stderr and returns IK_CLI_USAGE. */
int ik_cli_misuse(const ik_cli_command_t *command, const char *message);
/* Asks on stdout and reads the answer from stdin; true only for "y" or "yes". */
bool ik_cli_confirm(const char *question);

/* Prints a value on one line, with control characters escaped. */
void ik_cli_print_json(json_t *value);
