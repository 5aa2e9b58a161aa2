/*
 * The configuration: built-in values, overridden in turn by the system's file, the user's file, the
 * project's file (a few harmless keys only), the environment and the command line. It is plain
 * data, filled once by ik_config_load and read-only afterwards. One table lists every key; parsing,
 * `ikigai doctor` and the manual all read it. Each value records where it came from.
 *
 * Provider keys and the values of a tool's env are secrets: no function here formats them. Provider
 * keys come from the environment or, where the variable is not set, from the key file. They are
 * read into memory once; ik_config_scrub_environment then removes them from the process's
 * environment. Later the user may change keys, providers and the model (config_change.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/effects.h"
#include "base/error.h"
#include "base/paths.h"

enum {
    IK_CONFIG_KEY_COUNT = 46, /* of ik_config_keys */
    IK_CONFIG_FILE_MAX = 1024 * 1024,
    IK_CONFIG_WARNING_MAX = 100, /* the last one says that more were left out */
    IK_CONFIG_ENTRY_MAX = 1000,  /* of providers, tools, hooks, and of variables of one tool */
    IK_CONFIG_PATHS_MAX = 100,   /* of each list of paths */
};

/* Where a value came from; later sources override earlier ones. */
typedef enum {
    IK_CONFIG_BUILT_IN,
    IK_CONFIG_SYSTEM,
    IK_CONFIG_USER,
    IK_CONFIG_PROJECT,
    IK_CONFIG_ENVIRONMENT,
    IK_CONFIG_FLAG,
    IK_CONFIG_SOURCE_COUNT,
} ik_config_source_t;

/* The object a key belongs to. */
typedef enum {
    IK_CONFIG_TOP,      /* KEY, in ik_config_t */
    IK_CONFIG_PROVIDER, /* providers.NAME.KEY, in ik_config_provider_t */
    IK_CONFIG_TOOL,     /* tools.NAME.KEY, in ik_config_tool_t */
    IK_CONFIG_HOOK,     /* hooks.FILE.KEY, in ik_config_hook_t */
} ik_config_section_t;

typedef enum {
    IK_CONFIG_LINE,     /* const char *, NULL when not set; no control characters */
    IK_CONFIG_TEXT,     /* as LINE, control characters allowed */
    IK_CONFIG_URL,      /* as LINE: http or https, no slash at the end */
    IK_CONFIG_VARIABLE, /* as LINE: the environment variable that holds a provider key */
    IK_CONFIG_INTEGER,  /* long */
    IK_CONFIG_BOOLEAN,  /* bool */
    IK_CONFIG_CHOICE,   /* an enum as int: 0 when not set, else 1 + the index in choices */
    IK_CONFIG_NAMES,    /* const char **, NULL-terminated environment names; NULL when not set */
    IK_CONFIG_VALUES,   /* const char **, NULL-terminated "NAME=VALUE", secret; NULL when not set */
    IK_CONFIG_PATHS,    /* const char **, NULL-terminated absolute paths; NULL when not set */
    IK_CONFIG_PATTERNS, /* const char **, NULL-terminated lines; NULL when not set */
} ik_config_type_t;

/* What a project's file may do with a key. */
typedef enum {
    IK_CONFIG_FORBID,
    IK_CONFIG_ALLOW,
    IK_CONFIG_LOWER, /* may only lower the number */
    IK_CONFIG_FALSE, /* may only set it to false */
} ik_config_project_t;

typedef struct {
    ik_config_section_t section;
    const char *name; /* "limits.memory" is the member memory of the object limits */
    size_t offset;    /* of the value in the section's struct */
    ik_config_type_t type;
    ik_config_project_t project;
    long min, max;              /* of an integer, or of a text's length */
    const char *const *choices; /* NULL-terminated, for IK_CONFIG_CHOICE */
    const char *help;           /* Markdown, one line for the manual */
} ik_config_key_t;

extern const ik_config_key_t ik_config_keys[IK_CONFIG_KEY_COUNT];

typedef enum {
    IK_CONFIG_TYPE_OPENAI = 1,
    IK_CONFIG_TYPE_ANTHROPIC,
    IK_CONFIG_TYPE_GOOGLE,
    IK_CONFIG_TYPE_OFFLINE, /* only the built-in of that name */
} ik_config_provider_type_t;

typedef enum {
    IK_CONFIG_API_NONE, /* not an openai type */
    IK_CONFIG_API_CHAT,
    IK_CONFIG_API_RESPONSES,
} ik_config_api_t;

typedef enum {
    IK_CONFIG_TOOL_OUTPUT_FULL = 1,
    IK_CONFIG_TOOL_OUTPUT_SHORT
} ik_config_tool_output_t;

typedef struct {
    const char *name;        /* [A-Za-z0-9_-]{1,64} */
    int type;                /* ik_config_provider_type_t, always set after loading */
    int api;                 /* ik_config_api_t, settled after loading */
    const char *base_url;    /* http(s), no slash at the end; NULL for offline */
    const char *api_key_env; /* the variable that holds api_key; NULL: there is none */
    const char *api_key;     /* never print it; NULL when there is none */
    bool key_from_file;      /* api_key is from the key file; the variable is not set */
    bool key_held;           /* the user has not confirmed yet that it may be sent to base_url */
    bool key_optional;       /* usable without a key although it has api_key_env */
    const char *place;       /* "FILE:LINE" that first names it; NULL: no file does */
    bool built_in;           /* its type is fixed */
    bool configured;         /* usable: a key is present or none is needed */
    ik_config_source_t sources[IK_CONFIG_KEY_COUNT];
} ik_config_provider_t;

/* What each process of a tool may use; 0: no limit. In the order of base/keeper_protocol.h. */
typedef struct {
    long memory;    /* bytes of address space */
    long file_size; /* bytes */
    long processes; /* of a call at a time */
    long cpu_seconds;
} ik_config_limits_t;

typedef struct {
    const char *name;      /* as the registry spells it: hyphens are underscores */
    long timeout_seconds;  /* 0 when not set */
    bool enabled;          /* true when not set */
    const char **pass_env; /* NULL-terminated; NULL when not set */
    const char **env;      /* "NAME=VALUE" or "NAME=file:PATH", never print it; NULL when not set */
    ik_config_limits_t limits; /* those that are set here; see ik_config_tool_limits */
    ik_config_source_t sources[IK_CONFIG_KEY_COUNT];
} ik_config_tool_t;

typedef enum {
    IK_CONFIG_ON_FAILURE_GO_ON = 1,
    IK_CONFIG_ON_FAILURE_BLOCK,
} ik_config_on_failure_t;

typedef struct {
    const char *name;     /* of the hook's file */
    int on_failure;       /* ik_config_on_failure_t; 0 when not set */
    const char **tools;   /* names or patterns, NULL-terminated; NULL when not set: all */
    long timeout_seconds; /* 0 when not set */
    ik_config_source_t sources[IK_CONFIG_KEY_COUNT];
} ik_config_hook_t;

/* How the user is notified while the terminal does not have the focus. */
typedef enum {
    IK_CONFIG_NOTIFY_AUTO = 1, /* OSC 9 and the bell */
    IK_CONFIG_NOTIFY_BELL,
    IK_CONFIG_NOTIFY_OSC9,
    IK_CONFIG_NOTIFY_OSC99,
    IK_CONFIG_NOTIFY_OSC777,
    IK_CONFIG_NOTIFY_OFF,
} ik_config_notify_t;

/* The palette a theme starts from. */
typedef enum {
    IK_CONFIG_THEME_AUTO, /* dark or light, as the terminal reports */
    IK_CONFIG_THEME_DARK,
    IK_CONFIG_THEME_LIGHT,
    IK_CONFIG_THEME_MONO, /* no colours */
} ik_config_theme_base_t;

/* The colours that a theme file can set. */
typedef enum {
    IK_CONFIG_COLOUR_TEXT,
    IK_CONFIG_COLOUR_DIM,
    IK_CONFIG_COLOUR_HEADING,
    IK_CONFIG_COLOUR_CODE,
    IK_CONFIG_COLOUR_LINK,
    IK_CONFIG_COLOUR_TOOL,
    IK_CONFIG_COLOUR_ADDED,
    IK_CONFIG_COLOUR_REMOVED,
    IK_CONFIG_COLOUR_WARNING,
    IK_CONFIG_COLOUR_ERROR,
    IK_CONFIG_COLOUR_STATUS,
    IK_CONFIG_COLOUR_COUNT,
} ik_config_colour_t;

#define IK_CONFIG_COLOUR_UNSET UINT32_MAX

typedef struct {
    ik_config_theme_base_t base;
    uint32_t colours[IK_CONFIG_COLOUR_COUNT]; /* 0xRRGGBB or IK_CONFIG_COLOUR_UNSET */
} ik_config_theme_t;

typedef enum {
    IK_CONFIG_SERVER_UNSET,
    IK_CONFIG_SERVER_STDIO,
    IK_CONFIG_SERVER_HTTP,
    IK_CONFIG_SERVER_SSE, /* not supported */
} ik_config_server_type_t;

typedef enum {
    IK_CONFIG_PROTOCOL_AUTO,
    IK_CONFIG_PROTOCOL_LEGACY,
    IK_CONFIG_PROTOCOL_MODERN
} ik_config_protocol_t;

/* An MCP server, as a file has it: ${VAR} is not expanded (config_server.h). Lists end with NULL,
 * and a list that is not set is NULL. */
typedef struct {
    const char *name;          /* [A-Za-z0-9_-]{1,64} */
    ik_config_source_t source; /* system, user or project */
    const char *definition;    /* the JSON text of its entry */
    bool literal;              /* ${VAR} in its texts stands for itself */
    ik_config_server_type_t type;
    const char *command; /* NULL when not set */
    const char **args;
    const char **env;     /* pairs of name and value; values are secret */
    const char *cwd;      /* NULL: the project */
    const char *url;      /* NULL when not set */
    const char **headers; /* pairs, as env */
    bool enabled;
    const char **allow_tools; /* patterns */
    const char **deny_tools;
    bool has_effects;
    ik_effects_t effects;
    long timeout_seconds; /* 0 when not set */
    long start_timeout_seconds;
    ik_config_protocol_t protocol;
    const char **pass_env;
    const char *oauth_id; /* NULL when not set; likewise the next two */
    const char *oauth_secret;
    const char *oauth_scope;
} ik_config_server_t;

typedef struct {
    ik_config_server_t **list;
    size_t count;
    const char **warnings; /* of .mcp.json: "FILE:LINE: message" */
    size_t warning_count;
} ik_config_servers_t;

/* A variable that holds a provider key, kept for tools with pass_env. */
typedef struct {
    const char *name;
    const char *value; /* never print it; NULL when the variable was not set */
} ik_config_secret_t;

typedef enum {
    IK_CONFIG_CONFINEMENT_PREFERRED = 1,
    IK_CONFIG_CONFINEMENT_REQUIRED,
    IK_CONFIG_CONFINEMENT_OFF,
} ik_config_confinement_t;

/* The keys that edit the draft. */
typedef enum {
    IK_CONFIG_KEYS_EMACS = 1,
    IK_CONFIG_KEYS_VI,
} ik_config_editing_t;

typedef struct {
    const char *model;      /* provider/model of a known provider; NULL when not set */
    const char *effort;     /* NULL when not set */
    long max_output_tokens; /* 0 when not set */
    long max_tool_turns;
    long max_output_size;
    long tool_timeout_seconds;
    long tool_max_seconds;
    long schema_timeout_ms;
    long hook_timeout_seconds;
    long connect_timeout_seconds;
    long silence_timeout_seconds;
    long idle_stream_seconds;
    const char *db;            /* a file or a postgresql:// URL; paths->database when not set */
    const char *system_prompt; /* NULL when not set */
    int mode;                  /* 0 when not set, else 1 + ik_mode_t */
    int confinement;           /* ik_config_confinement_t */
    const char **writable;     /* places that tools may write besides the project */
    const char **hidden;       /* places that tools may not read */
    const char **caches;       /* folders of which tools see a writable copy */
    const char **pass_env;     /* variables that every tool may see although they are held back */
    ik_config_limits_t limits; /* of tools that set none of their own */
    long undo_max_files;       /* this or the next is 0: no checkpoints */
    long undo_max_bytes;
    int tool_output;   /* ik_config_tool_output_t */
    const char *theme; /* a name or the path of a file, which colours is read from */
    int notify;        /* ik_config_notify_t */
    long notify_after_seconds;
    int keys; /* ik_config_editing_t */

    ik_config_theme_t colours;        /* what theme stands for */
    ik_config_provider_t **providers; /* the built-in ones first, then as named */
    size_t provider_count;
    ik_config_tool_t **tools; /* only those that a file mentions */
    size_t tool_count;
    ik_config_hook_t **hooks; /* only those that a file mentions */
    size_t hook_count;
    ik_config_servers_t *servers; /* of the system and the user; NULL: none */
    const char **warnings;        /* "FILE:LINE: message" */
    size_t warning_count;
    const char *system_file; /* read again for a tool's env at each call; may be NULL */
    const char *user_file;   /* as system_file */
    ik_config_secret_t *secrets;
    size_t secret_count;
    ik_config_source_t sources[IK_CONFIG_KEY_COUNT]; /* by index in ik_config_keys */
} ik_config_t;

/* Options of the command line; zero means not given. */
typedef struct {
    const char *model;
    const char *db;
    const char *mode;
    long max_tool_turns;
} ik_config_flags_t;

/* The built-in values alone. */
ik_config_t *ik_config_create_built_in(const void *ctx, const ik_paths_t *paths);
/* Always stores a complete configuration in *out. On errors it returns the first and adds the
 * others to the warnings; a faulty value leaves that of the lower layers in force. flags may be
 * NULL. */
res_t ik_config_load(const void *ctx, const ik_paths_t *paths, const ik_config_flags_t *flags,
                     ik_config_t **out);
/* As ik_config_load, for another project: reads the files again, and takes what
 * ik_config_scrub_environment removed from the environment from earlier. */
res_t ik_config_load_again(const void *ctx, const ik_paths_t *paths, const ik_config_flags_t *flags,
                           const ik_config_t *earlier, ik_config_t **out);

/* Overwrites the bytes of provider keys in this process's environment block and unsets their
 * variables: the built-in names and every api_key_env. Call right after loading, before
 * anything calls setenv or starts a process. */
void ik_config_scrub_environment(const ik_config_t *config);
/* The variables to add to the environment of a call of tool_name, as a NULL-terminated array of
 * "NAME=VALUE": what is held back (config_secret.h) but listed in its pass_env or in the general
 * one, and its env. by_user: also everything else that is held back, but for provider keys. env and
 * the files it names are read at each call, so that a new credential needs no restart. Never NULL.
 */
char **ik_config_tool_environment(const void *ctx, const ik_config_t *config, const char *tool_name,
                                  bool by_user);

/* The variables to add to the environment of a hook, as for ik_config_tool_environment: by_user for
 * the user's own hooks. */
char **ik_config_hook_environment(const void *ctx, const ik_config_t *config, bool by_user);

/* The limits of a call of tool_name: its own where set, else the general ones. */
ik_config_limits_t ik_config_tool_limits(const ik_config_t *config, const char *tool_name);

/* The file named by an entry "NAME=file:PATH" of a tool's env; NULL for a plain value. */
char *ik_config_tool_env_file(const void *ctx, const char *entry);

/* Whether any provider has a key. */
bool ik_config_has_key(const ik_config_t *config);
/* NULL when there is no such provider. */
const ik_config_provider_t *ik_config_provider(const ik_config_t *config, const char *name);
/* Whether it can be used and is more than known by name: a file names it, or it has a key. */
bool ik_config_provider_is_set_up(const ik_config_provider_t *provider);
/* Where its key comes from, on ctx: "key from keys.json", "key from the environment (VARIABLE)",
 * "needs no key", "no key (VARIABLE is not set)". */
char *ik_config_provider_describe_key(const void *ctx, const ik_config_provider_t *provider);
/* Splits provider/model at the first slash. IK_ERR_INVALID when either part is missing,
 * IK_ERR_NOT_FOUND when the provider is unknown. The provider need not be configured. */
res_t ik_config_resolve_model(const ik_config_t *config, const char *model,
                              const ik_config_provider_t **provider, const char **model_name);

/* NULL when no file mentions the tool. A hyphen in name counts as an underscore. */
const ik_config_tool_t *ik_config_tool(const ik_config_t *config, const char *name);
bool ik_config_tool_enabled(const ik_config_t *config, const char *name);

/* NULL when no file mentions the hook. name is that of its file. */
const ik_config_hook_t *ik_config_hook(const ik_config_t *config, const char *name);

/* "built-in", "system", "user", "project", "environment", "flag" */
const char *ik_config_source_name(ik_config_source_t source);
/* "openai", "anthropic", "google", "offline" */
const char *ik_config_provider_type_name(int type);

/* NULL when there is no such key. */
const ik_config_key_t *ik_config_find_key(ik_config_section_t section, const char *name);
/* section_data is the ik_config_t, provider, tool or hook that key's section names. */
ik_config_source_t ik_config_key_source(const ik_config_key_t *key, const void *section_data);
/* A copy of the text in which *** replaces the password of a URL. */
char *ik_config_hide_password(const void *ctx, const char *text);
/* The value for display, "" when not set. The password of a URL is hidden. */
char *ik_config_format_key(const void *ctx, const ik_config_key_t *key, const void *section_data);
