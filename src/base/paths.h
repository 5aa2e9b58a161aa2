/*
 * The paths of ikigai's files, found at run time. All are absolute; none of them need exist. A
 * project path is NULL when it would be the user's own file or folder (ikigai started in the home
 * folder), so that no file is ever both.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"

typedef struct {
    const char *prefix;         /* the installation in use */
    const char *program;        /* the running binary */
    const char *system_tools;   /* PREFIX/libexec/ikigai */
    const char *keeper;         /* PREFIX/lib/ikigai/keeper */
    const char *checkpoint;     /* PREFIX/lib/ikigai/checkpoint */
    const char *sixel;          /* PREFIX/lib/ikigai/sixel */
    const char *templates;      /* PREFIX/share/ikigai/templates */
    const char *manual;         /* PREFIX/share/ikigai/manual */
    const char *models;         /* PREFIX/share/ikigai/models.json */
    const char *compact_prompt; /* PREFIX/share/ikigai/compact.md */
    const char *system_config;  /* /etc/ikigai/config.json for /usr, else below PREFIX */
    const char *home;           /* IKIGAI_HOME or ~/.ikigai */
    const char *user_tools;     /* home/tools */
    const char *user_config;    /* home/config.json */
    const char *keys;           /* home/keys.json */
    const char *permissions;    /* home/permissions.json */
    const char *mcp_auth;       /* home/mcp-auth.json */
    const char *offline;        /* home/offline */
    const char *user_models;    /* home/models.json */
    const char *user_compact;   /* home/compact.md */
    const char *user_agents_md; /* home/AGENTS.md */
    const char *cache;          /* home/cache */
    const char *trusted;        /* home/trusted */
    const char *trust_file;     /* home/trust.json */
    const char *rooms;          /* home/rooms */
    const char *database;       /* home/ikigai.db */
    const char *recall;         /* home/history, the prompts that were sent */
    const char *drafts;         /* home/drafts */
    const char *pasted;         /* home/pasted, images from the clipboard */
    const char *blobs;          /* home/blobs */
    const char *images;         /* home/blobs/images, see blob.h */
    const char *account_home;   /* the user's home folder; NULL: not known */
    const char *cwd;            /* the project */
    const char *project_tools;  /* cwd/.ikigai/tools or NULL */
    const char *project_config; /* cwd/.ikigai/config.json or NULL */
} ik_paths_t;

/* The folder that a path is relative to. */
typedef enum { IK_PATHS_PREFIX, IK_PATHS_HOME, IK_PATHS_PROJECT } ik_paths_root_t;

/* How a path is built, and its description in the manual. */
typedef struct {
    size_t offset; /* in ik_paths_t; SIZE_MAX: not a member, another module builds the path */
    ik_paths_root_t root;
    const char *below; /* "libexec/ikigai" */
    const char *help;  /* Markdown */
} ik_paths_entry_t;

/* All paths except prefix, program, home and cwd, in the order of the manual. */
const ik_paths_entry_t *ik_paths_entries(size_t *count);
/* The paths as documentation writes them: "PREFIX/libexec/ikigai", "~/.ikigai/tools". */
ik_paths_t *ik_paths_create_shown(const void *ctx);
/* One path as documentation writes it, on ctx. */
char *ik_paths_show(const void *ctx, const ik_paths_entry_t *entry);

/* The facts from which the paths are derived. */
typedef struct {
    const char *executable;     /* the running binary; NULL when unknown */
    const char *default_prefix; /* used when EXECUTABLE/../../libexec/ikigai does not exist */
    const char *ikigai_home;    /* NULL or "" when not set */
    const char *user_home;      /* NULL or "" when not known */
    const char *cwd;
} ik_paths_origin_t;

/* Takes the facts from this process: /proc/self/exe, the environment (or the passwd entry) and the
 * working folder. IK_ERR_INVALID when the home is not an absolute path, another error when there is
 * no working folder or no home. */
res_t ik_paths_create(const void *ctx, ik_paths_t **out);
/* Takes the facts from origin and copies what it keeps. */
res_t ik_paths_create_from(const void *ctx, const ik_paths_origin_t *origin, ik_paths_t **out);
/* Paths for another project, whose path is absolute, with the installation and home of these. */
ik_paths_t *ik_paths_create_at(const void *ctx, const ik_paths_t *paths, const char *cwd);
/* The nearest folder from cwd upwards that holds .git, on ctx; cwd itself outside a repository. */
char *ik_paths_find_root(const void *ctx, const char *cwd);
