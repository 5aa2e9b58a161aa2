#include "command/command_session_list.h"

#include "base/alloc.h"
#include "store/session_lines.h"

/* One open list. */
typedef struct {
    ik_command_host_t *host;
    ik_view_list_t *list;
    ik_history_question_t *question; /* NULL: answered */
    bool all;
} listing_t;

ik_choice_row_t *ik_command_session_list_rows(const void *ctx, const ik_store_list_t *list)
{
    ik_choice_row_t *rows = ik_new_array(ctx, ik_choice_row_t, list->count + 1);
    for (size_t i = 0; i < list->count; i++) {
        const ik_store_session_t *session = &list->sessions[i];
        rows[i] = (ik_choice_row_t){
            .text = *session->title == '\0' ? "(no message yet)" : session->title,
            .note = ik_session_lines_note(rows, session),
            .also =
                ik_sprintf(rows, "%s %s", session->id, ik_session_lines_folder(rows, session->cwd)),
            .value = session->id,
        };
    }
    return rows;
}

enum { REMEMBERED_MAX = 100 }; /* sessions that /resume completes */

static void remember(ik_command_host_t *host, const ik_store_list_t *list)
{
    talloc_free(host->listed_sessions);
    ik_command_words_t *words = ik_new(host->ctx, ik_command_words_t);
    words->ctx = words;
    for (size_t i = 0; i < list->count && i < REMEMBERED_MAX; i++) {
        ik_command_words_add(words, list->sessions[i].id, list->sessions[i].title);
    }
    host->listed_sessions = words;
}

static void on_taken(void *data, const char *id, bool second)
{
    listing_t *listing = data;
    ik_command_host_t *host = listing->host;
    (void)second;
    talloc_free(listing->question);
    talloc_free(listing);
    if (id != NULL) {
        const ik_workspace_t *workspace = host->workspace;
        char *line = ik_sprintf(NULL, "/resume %s", id);
        ik_command_run(host, line, ik_workspace_is_busy(workspace, ik_workspace_focus(workspace)));
        talloc_free(line);
    }
}

static void on_list(void *data, const res_t *result, const ik_store_list_t *list)
{
    listing_t *listing = data;
    ik_command_host_t *host = listing->host;
    listing->question = NULL;
    if (is_ok(result) && list->count > 0) {
        ik_choice_row_t *rows = ik_command_session_list_rows(listing, list);
        remember(host, list);
        host->screen->set_list(host, listing->list, rows, list->count, false);
        talloc_free(rows);
        return;
    }
    host->screen->close_list(host, listing->list);
    if (is_err(result)) {
        host->screen->fail(host, result->message);
    } else {
        host->screen->print_line(host, listing->all ? "There are no sessions yet."
                                                    : "There are no sessions in this folder yet.");
    }
    talloc_free(listing);
}

void ik_command_session_list_start(ik_command_host_t *host, bool all)
{
    if (ik_workspace_shared(host->workspace)->history == NULL) {
        host->screen->fail(host, "There is no history to list.");
        return;
    }
    ik_store_filter_t filter = {.cwd = all ? NULL : ik_workspace_paths(host->workspace)->cwd,
                                .uncounted = true,
                                .begun = true};
    listing_t *listing = ik_new(host->ctx, listing_t);
    listing->host = host;
    listing->all = all;
    listing->list =
        host->screen->open_list(host, &(ik_view_list_options_t){.title = "Resume which session?",
                                                                .pending = true,
                                                                .on_taken = on_taken,
                                                                .data = listing});
    listing->question = ik_history_list_start(
        host->ctx, ik_workspace_shared(host->workspace)->history, &filter, on_list, listing);
}
