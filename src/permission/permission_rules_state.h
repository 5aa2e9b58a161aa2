/*
 * The rules in force, private to this folder: permission_rules.c reads them from the files,
 * permission_rules_match.c compares calls with them, and permission_rules_change.c adds and removes
 * rules of the user's file.
 */
#pragma once

#include "permission/permission_rules.h"

enum { IK_PERMISSION_FILE_MAX = 1024 * 1024 };

typedef struct {
    ik_permission_effect_t effect;
    char *text;
    char *tool;    /* NULL: the rule is "network" */
    char *pattern; /* NULL: every call of the tool */
    const char *source;
    bool in_user_file;
    bool of_project; /* in projects.PATH of the user's file */
} ik_permission_entry_t;

struct ik_permission_rules {
    char *user_file;
    char *folder;  /* the project as it was entered */
    char *project; /* the same without symbolic links */
    ik_permission_entry_t *list;
    size_t count;
    const char **warnings;
    size_t warning_count;
};

/* Puts a rule into force; model has its effect, source and place. A text that is not a rule adds
 * none. */
void ik_permission_rules_append(ik_permission_rules_t *rules, const char *text,
                                const ik_permission_entry_t *model);
/* Whether a path, which may lead over links, names this project. */
bool ik_permission_rules_is_here(const ik_permission_rules_t *rules, const char *path);
