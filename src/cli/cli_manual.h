/*
 * The manual, as Markdown. A topic is a reference made of the program's own tables (options,
 * commands, keys, configuration …), so that it cannot drift, or a chapter: one of the documents
 * installed in PREFIX/share/ikigai/manual. `ikigai help` shows topics on a terminal, manual pages
 * and the tables in docs/ are made of the same text.
 */
#pragma once

#include "cli/cli.h"

typedef struct {
    const char *name;
    const char *help; /* half a line */
} ik_cli_topic_t;

/* All topics in the order of help, on ctx; *count of them. */
ik_cli_topic_t *ik_cli_manual_topics(const void *ctx, const ik_paths_t *paths, size_t *count);
/* One topic as Markdown on ctx. words: a topic's name, or whatever else a table knows: a command
 * ("tool run"), an option ("-m"), a slash command ("/fork"), a key of the configuration, an
 * environment variable. IK_ERR_NOT_FOUND names what is near. */
res_t ik_cli_manual_format(const void *ctx, const ik_paths_t *paths, const char *words, char **out);
/* Markdown with every line `<!-- topic: NAME -->` replaced by that topic, without its heading and
 * with its own headings as deep as the place where it stands wants. What stands between it and a
 * line `<!-- end of topic -->` was the topic earlier and goes; so do other lines of comment. */
res_t ik_cli_manual_expand(const void *ctx, const ik_paths_t *paths, const char *markdown,
                           char **out);
