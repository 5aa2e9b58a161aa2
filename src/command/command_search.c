/* /search: finds messages in all sessions. */
#include "base/alloc.h"
#include "command/command_list.h"
#include "store/session_lines.h"

enum { HITS_MAX = 20 };

static void on_hits(void *data, const res_t *result, const ik_store_hits_t *hits)
{
    ik_command_host_t *host = data;
    if (is_err(result)) {
        host->screen->fail(host, result->message);
        return;
    }
    void *scratch = talloc_new(NULL);
    for (size_t i = 0; i < hits->count; i++) {
        const ik_store_hit_t *hit = &hits->hits[i];
        host->screen->print_line(host, ik_session_lines_hit(scratch, hit, host->columns));
        host->screen->print_line(host, ik_sprintf(scratch, "    %s", hit->snippet.text));
    }
    if (hits->count == 0) {
        host->screen->print_line(host, "No match.");
    }
    talloc_free(scratch);
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    if (ik_workspace_shared(host->workspace)->history == NULL) {
        host->screen->fail(host, "There is no history to search.");
        return;
    }
    ik_store_search_t search = {.text = args->rest, .limit = HITS_MAX};
    ik_history_search_start(host->ctx, ik_workspace_shared(host->workspace)->history, &search,
                            on_hits, host);
}

const ik_command_t ik_command_search = {
    .name = "search",
    .usage = "TEXT",
    .help = "Finds messages that contain all words, in all sessions.",
    .flags = IK_COMMAND_TAKES_REST,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
