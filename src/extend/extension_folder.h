/*
 * The folders that extend ikigai: those of the project, from the working folder up to the root of
 * its repository, and those of the user. A project's folder counts only after the user has trusted
 * its bytes (trust/trust.h), and is then read from the trusted copy.
 */
#pragma once

#include "base/paths.h"
#include "trust/trust.h"

typedef enum {
    IK_EXTENSION_COMMAND,
    IK_EXTENSION_SKILL,
    IK_EXTENSION_HOOK,
    IK_EXTENSION_AGENT,
    IK_EXTENSION_TOOL, /* found by tool/tool_discovery.h; here only for the review of a project */
} ik_extension_kind_t;

enum { IK_EXTENSION_KINDS = IK_EXTENSION_TOOL + 1 };

/* "command", "skill" … */
const char *ik_extension_kind_name(ik_extension_kind_t kind);

typedef struct {
    ik_extension_kind_t kind;
    const char *path; /* exists, and no other folder of the list leads to the same place */
    bool of_project;
} ik_extension_folder_t;

typedef struct {
    ik_extension_folder_t *folders; /* those that take precedence first */
    size_t count;
} ik_extension_folders_t;

/* Finds the existing folders of one kind. A folder of the user is never one of the project. Without
 * any folder this costs a stat for each place. */
ik_extension_folders_t *ik_extension_folders_find(const void *ctx, const ik_paths_t *paths,
                                                  ik_extension_kind_t kind);
/* All places of one kind in a project, whether they exist or not. */
ik_extension_folders_t *ik_extension_folders_list_project(const void *ctx, const ik_paths_t *paths,
                                                          ik_extension_kind_t kind);
