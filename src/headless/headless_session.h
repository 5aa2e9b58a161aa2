/* Which session a headless run is about: the last one of this folder, a named one, or a new one. */
#pragma once

#include "headless/headless.h"
#include "store/session.h"

/* The session to go on with; its id is NULL when a new one is to begin (-c where there is none says
 * so on stderr). Strings on ctx. */
res_t ik_headless_session_find(const void *ctx, ik_history_t *history,
                               const ik_headless_options_t *options, ik_store_session_t *out);

/* Which sessions could be resumed, for the user who did not name one: those of this folder, or of
 * all folders when there are none here. On ctx; NULL: there are none. */
res_t ik_headless_session_list(const void *ctx, ik_history_t *history,
                               const ik_headless_options_t *options, char **table);

/* Opens what was found, or a copy of it, or begins a new one with that model. */
res_t ik_headless_session_open(const void *ctx, ik_history_t *history,
                               const ik_headless_options_t *options,
                               const ik_store_session_t *found, const char *model,
                               ik_session_t **out);
