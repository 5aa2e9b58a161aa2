/*
 * The user's rules about tool calls: what to deny, what to ask about, what to allow without a
 * question. They come from IKIGAI_HOME/permissions.json, from the project's file (deny and ask
 * only) and from --allow. Rules save questions; confinement is the boundary.
 *
 * A rule is TOOL, TOOL(pattern) or network:
 *   bash(npm test *)   a simple command by words; a final " *" stands for any further words
 *   file_write(*.md)   a path, relative to the project
 *   network            a call that asks for network
 */
#pragma once

#include "base/error.h"
#include "base/paths.h"
#include "tool/tool_registry.h"

typedef struct ik_permission_rules ik_permission_rules_t;

typedef enum {
    IK_PERMISSION_NO_RULE,
    IK_PERMISSION_ALLOW,
    IK_PERMISSION_ASK,
    IK_PERMISSION_DENY,
} ik_permission_effect_t;

/* The list of a file that holds the rules of this effect: "deny", "ask" or "allow". */
const char *ik_permission_rules_list_name(ik_permission_effect_t effect);

/* What a call asks for beyond its confinement, with its escalation parameter. */
typedef enum {
    IK_PERMISSION_NOTHING,
    IK_PERMISSION_NETWORK,
    IK_PERMISSION_ALL,
} ik_permission_extra_t;

typedef struct {
    const ik_tool_registry_entry_t *entry;
    const char *arguments; /* JSON text */
    size_t arguments_len;
    ik_permission_extra_t extra;
} ik_permission_call_t;

/* Reads both files; a missing one has no rules. IK_ERR_INVALID names the file and the fault.
 * allowed are the values of --allow, NULL-terminated; may be NULL. */
res_t ik_permission_rules_load(const void *ctx, const ik_paths_t *paths, const char *const *allowed,
                               ik_permission_rules_t **out);
/* What was ignored in the files: unknown keys, and every fault of the project's file. */
size_t ik_permission_rules_warnings(const ik_permission_rules_t *rules, const char *const **out);

/* Whether text is a rule; fault, on ctx, says why not. */
bool ik_permission_rules_check(const void *ctx, const char *text, char **fault);

/* The parameter that deny and ask rules with a pattern would be compared with but cannot, because
 * it contains NUL: programs end a text there or leave it out, so a pattern cannot know what the
 * tool gets. NULL: all rules can be compared. */
const char *ik_permission_rules_unchecked(const ik_permission_rules_t *rules,
                                          const ik_permission_call_t *call);

/* The strongest rule that matches: deny beats ask beats allow. rule, which may be NULL, is set to
 * its text. */
ik_permission_effect_t ik_permission_rules_match(const ik_permission_rules_t *rules,
                                                 const ik_permission_call_t *call,
                                                 const char **rule);
/* The rule that allows exactly this call from now on: "bash(THE WORDS)" or "TOOL", on ctx; NULL:
 * none can, because the command is not a simple one. */
char *ik_permission_rules_suggest(const void *ctx, const ik_permission_call_t *call);
/* Adds an allow rule for the project to the user's file, and puts it into force. */
res_t ik_permission_rules_add(ik_permission_rules_t *rules, const char *rule);

/* All rules in force, in the order of /permissions; index from 0. */
typedef struct {
    ik_permission_effect_t effect;
    const char *rule;
    const char *tool;   /* NULL: the rule is "network" */
    const char *source; /* "user", "user, for this project", "project", "--allow" */
    bool removable;     /* it is in the user's file */
} ik_permission_rule_t;
bool ik_permission_rules_at(const ik_permission_rules_t *rules, size_t index,
                            ik_permission_rule_t *out);
/* A hint, on ctx, that the rule names a tool which is not in the registry, as a misspelt one does.
 * NULL: it is there, or can be the tool of a server that is not asked or not trusted. */
char *ik_permission_rules_doubt(const void *ctx, const ik_permission_rule_t *rule,
                                const ik_tool_registry_t *registry);
/* Removes a rule from the user's file and from force. */
res_t ik_permission_rules_remove(ik_permission_rules_t *rules, size_t index);
