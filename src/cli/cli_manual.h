/*
 * The manual, as Markdown. A topic is either a reference, generated from the program's own tables
 * (options, commands, keys, configuration …), or a chapter: a document installed in
 * PREFIX/share/ikigai/manual. `ikigai help`, the man pages and the tables in docs/ use this text.
 */
#pragma once

#include "cli/cli.h"

typedef struct {
    const char *name;
    const char *help; /* half a line */
} ik_cli_topic_t;

/* Lists all topics in the order of help, on ctx. */
ik_cli_topic_t *ik_cli_manual_topics(const void *ctx, const ik_paths_t *paths, size_t *count);
/* Formats a topic as Markdown on ctx. words is the name of a topic or of a table entry: a command
 * ("tool run"), an option ("-m"), a slash command ("/fork"), a configuration key, an environment
 * variable. IK_ERR_NOT_FOUND suggests the closest name. */
res_t ik_cli_manual_format(const void *ctx, const ik_paths_t *paths, const char *words, char **out);
/* Replaces every line `<!-- topic: NAME -->` by that topic, without its title and with its headings
 * one level below the enclosing one. An earlier expansion, up to the line `<!-- end of topic -->`,
 * and other comment lines are removed. */
res_t ik_cli_manual_expand(const void *ctx, const ik_paths_t *paths, const char *markdown,
                           char **out);
