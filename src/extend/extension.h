/*
 * Commands, skills, hooks and agents in files: what of each there is, what of it is used, and why
 * the rest is not. Nothing is kept between two searches, and no search executes anything.
 */
#pragma once

#include "extend/extension_folder.h"

enum { IK_EXTENSION_FILE_MAX = 1024 * 1024 };

typedef struct {
    ik_extension_kind_t kind;
    const char *name; /* "review", "git:fix" */
    const char *path; /* as the author put it */
    const char *file; /* what is read: in the trusted copy if it is of a project */
    bool of_project;
    const char *description;  /* one line; "": none */
    const char *event;        /* of a hook; NULL */
    const char *model;        /* of a command or an agent; NULL: none */
    const char *hint;         /* the arguments of a command, "[FILE]"; NULL: none */
    const char *const *tools; /* that an agent is limited to, NULL-terminated; NULL: no limit */
    const char *mode;         /* of an agent (base/mode.h); NULL: none */
    bool used;
    bool untrusted;     /* not used, because its project is not trusted */
    bool unusable;      /* not used, because of the file itself; its project is trusted */
    bool hides;         /* of a skill: not listed for the model */
    const char *reason; /* why it is not used, or a warning; NULL: none */
    size_t rank;        /* of two with the same name the lower one counts */
} ik_extension_t;

typedef struct {
    /* Sorted by name, hooks by event and owner first; of the same name the used one first. */
    ik_extension_t *items;
    size_t count;
} ik_extensions_t;

typedef struct {
    const ik_paths_t *paths;
    bool trust_project; /* as if the user had trusted it, for this run */
    /* Whether a slash command of this name is built in. May be NULL. */
    bool (*is_built_in)(const char *name);
} ik_extension_options_t;

ik_extensions_t *ik_extensions_find(const void *ctx, const ik_extension_options_t *options,
                                    ik_extension_kind_t kind);
/* The one of that name that is used; failing that, one that the user could trust; or NULL. */
const ik_extension_t *ik_extensions_lookup(const ik_extensions_t *extensions, const char *name,
                                           size_t len);

enum { IK_EXTENSION_DESCRIPTION_MAX = 1024 }; /* characters that the model is shown */
/* How many bytes of its description the model is shown. */
size_t ik_extension_described(const ik_extension_t *extension);

/* Reads the text after the front matter, on ctx: valid UTF-8. IK_ERR_NOT_FOUND when the file is
 * gone. */
res_t ik_extension_read(const void *ctx, const ik_extension_t *extension, char **body, size_t *len);
