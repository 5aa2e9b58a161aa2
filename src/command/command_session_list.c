#include "command/command_session_list.h"

#include "base/alloc.h"
#include "store/session_lines.h"

enum { SHOWN_MAX = 20 };

typedef struct {
    ik_command_host_t *host;
    bool all;
    const char *hint;
} listing_t;

static void remember(ik_command_host_t *host, const ik_store_list_t *list)
{
    talloc_free(host->listed_sessions);
    ik_command_words_t *words = ik_new(host->ctx, ik_command_words_t);
    words->ctx = words;
    for (size_t i = 0; i < list->count; i++) {
        ik_command_words_add(words, list->sessions[i].id, list->sessions[i].title);
    }
    host->listed_sessions = words;
}

static void print_list(const listing_t *listing, const ik_store_list_t *list)
{
    ik_command_host_t *host = listing->host;
    ik_store_list_t shown = {.sessions = list->sessions,
                             .count = list->count < SHOWN_MAX ? list->count : SHOWN_MAX};
    host->screen->print(host, ik_session_lines_table(listing, &shown, host->columns, listing->all));
    if (list->count > SHOWN_MAX) {
        host->screen->print_line(host, listing->all ? "There are more: ikigai session list"
                                                    : "There are more: ikigai session list --here");
    }
    host->screen->print_line(host, listing->hint);
    remember(host, &shown);
}

static void on_list(void *data, const res_t *result, const ik_store_list_t *list)
{
    listing_t *listing = data;
    ik_command_host_t *host = listing->host;
    if (is_err(result)) {
        host->screen->fail(host, result->message);
    } else if (list->count > 0) {
        print_list(listing, list);
    } else {
        host->screen->print_line(host, listing->all ? "There are no sessions yet."
                                                    : "There are no sessions in this folder yet.");
    }
    talloc_free(listing);
}

void ik_command_session_list_start(ik_command_host_t *host, bool all, const char *hint)
{
    if (ik_workspace_shared(host->workspace)->history == NULL) {
        host->screen->fail(host, "There is no history to list.");
        return;
    }
    /* One more than is shown, to know whether there are more. */
    ik_store_filter_t filter = {.cwd = all ? NULL : ik_workspace_paths(host->workspace)->cwd,
                                .limit = SHOWN_MAX + 1,
                                .uncounted = true};
    listing_t *listing = ik_new(host->ctx, listing_t);
    *listing = (listing_t){.host = host, .all = all, .hint = hint};
    ik_history_list_start(host->ctx, ik_workspace_shared(host->workspace)->history, &filter,
                          on_list, listing);
}
