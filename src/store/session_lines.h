/* Sessions, and places in them, as lines for people: what `ikigai session list` and `search` and
 * the commands of the terminal print. What is foreign in it is sanitised. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "store/store.h"

/* The folder with ~ for the user's home, on ctx; cwd itself when it is elsewhere. */
const char *ik_session_lines_folder(const void *ctx, const char *cwd);

/* A table with a heading that leaves the last of so many columns free; 0: as wide as it wants to
 * be. */
char *ik_session_lines_table(const void *ctx, const ik_store_list_t *list, size_t columns,
                             bool with_folder);

/* What tells a session from another of the same title: "2m  3 turns  openai/gpt-5  7c5be1f0". */
char *ik_session_lines_note(const void *ctx, const ik_store_session_t *session);

/* Where a hit is: session, age, folder, kind of message and the title. */
char *ik_session_lines_hit(const void *ctx, const ik_store_hit_t *hit, size_t columns);
