/* Formats sessions and search hits as lines for `ikigai session` and the commands of the terminal.
 * Untrusted text is sanitised. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "store/store.h"

/* The folder with ~ for the user's home, on ctx; cwd itself when it is outside. */
const char *ik_session_lines_folder(const void *ctx, const char *cwd);

/* A table with a heading, for a terminal of that many columns. The last column stays free.
 * columns may be 0: no limit. */
char *ik_session_lines_table(const void *ctx, const ik_store_list_t *list, size_t columns,
                             bool with_folder);

/* What helps to choose a session, in columns that are separated by tabs: age, turns, folder, model
 * and the beginning of its id. */
char *ik_session_lines_note(const void *ctx, const ik_store_session_t *session);

/* Session, age, folder, kind of message and title of a search hit. */
char *ik_session_lines_hit(const void *ctx, const ik_store_hit_t *hit, size_t columns);
