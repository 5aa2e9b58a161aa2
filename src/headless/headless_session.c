#include "headless/headless_session.h"

#include <stdio.h>

#include "store/session_lines.h"

enum { LISTED_MAX = 20 };

static res_t find_last_here(const void *ctx, ik_history_t *history,
                            const ik_headless_options_t *options, ik_store_session_t *out)
{
    ik_store_filter_t filter = {.cwd = options->paths->cwd, .limit = 1, .uncounted = true};
    ik_store_list_t *list;
    TRY(ik_history_list(ctx, history, &filter, &list));
    if (list->count == 0) {
        fputs("There is no session in this folder yet: a new one begins.\n", stderr);
    } else {
        *out = list->sessions[0];
    }
    return OK;
}

res_t ik_headless_session_find(const void *ctx, ik_history_t *history,
                               const ik_headless_options_t *options, ik_store_session_t *out)
{
    *out = (ik_store_session_t){.id = NULL};
    if (options->wish->resume != NULL) {
        return ik_history_find(ctx, history, options->wish->resume, out);
    }
    return options->wish->continue_last ? find_last_here(ctx, history, options, out) : OK;
}

res_t ik_headless_session_list(const void *ctx, ik_history_t *history,
                               const ik_headless_options_t *options, char **table)
{
    ik_store_filter_t filter = {.cwd = options->paths->cwd, .limit = LISTED_MAX, .uncounted = true};
    ik_store_list_t *list;
    TRY(ik_history_list(ctx, history, &filter, &list));
    bool here = list->count > 0;
    if (!here) {
        filter.cwd = NULL;
        TRY(ik_history_list(ctx, history, &filter, &list));
    }
    *table = list->count == 0 ? NULL : ik_session_lines_table(ctx, list, 0, !here);
    return OK;
}

res_t ik_headless_session_open(const void *ctx, ik_history_t *history,
                               const ik_headless_options_t *options,
                               const ik_store_session_t *found, const char *model,
                               ik_session_t **out)
{
    if (found->id == NULL) {
        ik_session_facts_t facts = {.cwd = options->paths->cwd, .model = model};
        *out = ik_session_create(ctx, history, &facts);
        return OK;
    }
    return options->wish->fork ? ik_session_open_copy(ctx, history, found->id, out)
                               : ik_session_open(ctx, history, found->id, out);
}
