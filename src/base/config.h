/*
 * The configuration: built-in values, overlaid by the system's file, the user's, the project's (a
 * few harmless keys only), the environment and the command line. Plain data, filled once by
 * ik_config_load and read-only afterwards. One table names every key; parsing, `ikigai doctor` and
 * the manual read it. Each value remembers where it came from.
 *
 * Provider keys are the only secrets here. They are read into memory once and, by
 * ik_config_scrub_environment, taken out of the process's environment. Nothing formats them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/paths.h"

enum {
    IK_CONFIG_KEY_COUNT = 21, /* of ik_config_keys */
    IK_CONFIG_FILE_MAX = 1024 * 1024,
    IK_CONFIG_WARNING_MAX =
        100,                    /* a hostile file cannot flood: the last one says what is missing */
    IK_CONFIG_ENTRY_MAX = 1000, /* providers, and tools, that may be named */
};

/* Where a value came from, the later ones beating the earlier. */
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
} ik_config_section_t;

typedef enum {
    IK_CONFIG_LINE,     /* const char *, NULL when not set; no control characters */
    IK_CONFIG_TEXT,     /* the same, control characters allowed */
    IK_CONFIG_URL,      /* the same, http or https, no slash at the end */
    IK_CONFIG_VARIABLE, /* the same, an environment variable that holds a provider key */
    IK_CONFIG_INTEGER,  /* long */
    IK_CONFIG_BOOLEAN,  /* bool */
    IK_CONFIG_CHOICE,   /* an enum as int: 0 when not set, else 1 + the index in choices */
    IK_CONFIG_NAMES,    /* const char **, NULL-terminated environment names; NULL when not set */
    IK_CONFIG_VALUES,   /* const char **, NULL-terminated "NAME=VALUE", secret; NULL when not set */
} ik_config_type_t;

/* What a project's file may do with a key. */
typedef enum {
    IK_CONFIG_FORBID,
    IK_CONFIG_ALLOW,
    IK_CONFIG_LOWER, /* a smaller number than the layers below say */
    IK_CONFIG_FALSE, /* false, never true */
} ik_config_project_t;

typedef struct {
    ik_config_section_t section;
    const char *name;
    size_t offset; /* of the value in the section's struct */
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

typedef struct {
    const char *name;        /* [A-Za-z0-9_-]{1,64} */
    int type;                /* ik_config_provider_type_t, always set after loading */
    int api;                 /* ik_config_api_t, settled after loading */
    const char *base_url;    /* http(s), no slash at the end; NULL for offline */
    const char *api_key_env; /* the variable api_key is or would be in; NULL: needs no key */
    const char *api_key;     /* never print it; NULL when there is none */
    const char *place;       /* "FILE:LINE" that first names it; NULL when built in */
    bool built_in;
    bool configured; /* could be talked to: a key is present or none is needed */
    ik_config_source_t sources[IK_CONFIG_KEY_COUNT];
} ik_config_provider_t;

typedef struct {
    const char *name;      /* as the registry spells it: hyphens are underscores */
    long timeout_seconds;  /* 0 when not set */
    bool enabled;          /* true when not set */
    const char **pass_env; /* NULL-terminated; NULL when not set */
    const char **env;      /* "NAME=VALUE" or "NAME=file:PATH", never print it; NULL when not set */
    ik_config_source_t sources[IK_CONFIG_KEY_COUNT];
} ik_config_tool_t;

/* A variable that holds a provider key, kept for tools with pass_env. */
typedef struct {
    const char *name;
    const char *value; /* never print it; NULL when the variable was not set */
} ik_config_secret_t;

typedef struct {
    const char *model;      /* provider/model of a known provider; NULL when nobody chose one */
    const char *effort;     /* NULL when not set */
    long max_output_tokens; /* 0 when not set */
    long max_tool_turns;
    long max_output_size;
    long tool_timeout_seconds;
    long tool_max_seconds;
    long schema_timeout_ms;
    long connect_timeout_seconds;
    long silence_timeout_seconds;
    long idle_stream_seconds;
    const char *db;            /* a file or a postgresql:// URL; paths->database when not set */
    const char *system_prompt; /* NULL when not set */

    ik_config_provider_t **providers; /* the built-in ones first, then as named */
    size_t provider_count;
    ik_config_tool_t **tools; /* those some file mentions */
    size_t tool_count;
    const char **warnings; /* "FILE:LINE: message" */
    size_t warning_count;
    const char *system_file; /* where the tools' env is read again; NULL: nowhere */
    const char *user_file;
    ik_config_secret_t *secrets;
    size_t secret_count;
    ik_config_source_t sources[IK_CONFIG_KEY_COUNT]; /* by index in ik_config_keys */
} ik_config_t;

/* What the command line said; zero means not given. */
typedef struct {
    const char *model;
    const char *db;
    long max_tool_turns;
} ik_config_flags_t;

/* The built-in values alone. */
ik_config_t *ik_config_create_built_in(const void *ctx, const ik_paths_t *paths);
/* Always makes a whole configuration in *out, also when it returns an error: then it is the first
 * one, the value concerned keeps what the lower layers said, and later errors are among the
 * warnings. flags may be NULL. */
res_t ik_config_load(const void *ctx, const ik_paths_t *paths, const ik_config_flags_t *flags,
                     ik_config_t **out);

/* Overwrites the provider keys' bytes in this process's environment block and unsets their
 * variables: the four built-in names and every api_key_env. Call right after loading, before
 * anything calls setenv or starts a process. */
void ik_config_scrub_environment(const ik_config_t *config);
/* What is added to the environment of a call of tool_name, as a NULL-terminated array of
 * "NAME=VALUE": the scrubbed variables that its pass_env gives back, and its env. The latter is
 * read from the user's and the system's file at each call, and so are the files that it names: who
 * sets a credential need not start again. Never NULL. */
char **ik_config_tool_environment(const void *ctx, const ik_config_t *config,
                                  const char *tool_name);

/* The file that holds the value of an entry of a tool's env; NULL when the entry holds it itself.
 */
char *ik_config_tool_env_file(const void *ctx, const char *entry);

/* NULL when there is no such provider. */
const ik_config_provider_t *ik_config_provider(const ik_config_t *config, const char *name);
/* Splits provider/model: *model_name is set to what follows the first slash. IK_ERR_INVALID when
 * there is no provider part or model part, IK_ERR_NOT_FOUND when the provider is unknown. Says
 * nothing about whether it is configured. */
res_t ik_config_resolve_model(const ik_config_t *config, const char *model,
                              const ik_config_provider_t **provider, const char **model_name);

/* NULL when no file mentions the tool. A hyphen in name counts as an underscore. */
const ik_config_tool_t *ik_config_tool(const ik_config_t *config, const char *name);
bool ik_config_tool_enabled(const ik_config_t *config, const char *name);

/* "built-in", "system", "user", "project", "environment", "flag" */
const char *ik_config_source_name(ik_config_source_t source);
/* "openai", "anthropic", "google", "offline" */
const char *ik_config_provider_type_name(int type);

/* NULL when there is no such key. */
const ik_config_key_t *ik_config_find_key(ik_config_section_t section, const char *name);
/* section_data is the ik_config_t, provider or tool that key's section names. */
ik_config_source_t ik_config_key_source(const ik_config_key_t *key, const void *section_data);
/* The text without the password, if it is a URL that has one; on ctx. */
char *ik_config_hide_password(const void *ctx, const char *text);
/* The value as a person reads it, "" when not set. A password in a URL is left out. */
char *ik_config_format_key(const void *ctx, const ik_config_key_t *key, const void *section_data);
