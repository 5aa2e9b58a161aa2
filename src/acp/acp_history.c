/* Stored sessions: session/list and session/delete. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "acp/acp_state.h"
#include "base/alloc.h"

enum { PAGE = 50 };

/* A request for a list, until the history answers; freed with the request. */
typedef struct {
    const ik_acp_t *acp;
    ik_rpc_request_t *request;
    char *folder;   /* NULL: all */
    char *real;     /* the same, as sessions have it */
    int64_t before; /* of the cursor: when that session was used; INT64_MAX: from the newest on */
    int64_t peers;  /* how many of that time were sent, with that session */
    char *behind;   /* the session after which the page begins; NULL: the first */
} listing_t;

static void on_notice(void *data, const char *line)
{
    (void)data;
    ik_acp_log(line);
}

static ik_history_t *require_history(ik_acp_t *acp)
{
    const ik_acp_options_t *options = acp->options;
    if (acp->history == NULL) {
        acp->history = ik_history_create(acp, &(ik_history_options_t){
                                                  .db = options->config->db,
                                                  .file = options->paths->database,
                                                  .loop = options->loop,
                                                  .on_notice = on_notice,
                                                  .data = acp,
                                              });
    }
    return acp->history;
}

/* --- list -------------------------------------------------------------------------------- */

/* "TIME-PEERS-ID": the last session of the page before. */
static bool read_cursor(listing_t *listing, const char *cursor)
{
    char *time_end;
    char *end;
    listing->before = strtoll(cursor, &time_end, 10);
    if (time_end == cursor || *time_end != '-') {
        return false;
    }
    listing->peers = strtoll(time_end + 1, &end, 10);
    bool valid = end != time_end + 1 && *end == '-' && listing->peers > 0 &&
                 strlen(end + 1) == IK_STORE_ID_LEN &&
                 strspn(end + 1, "0123456789abcdef") == IK_STORE_ID_LEN;
    listing->behind = valid ? ik_strdup(listing, end + 1) : NULL;
    return valid;
}

static void append_cursor(ik_buffer_t *out, const ik_store_list_t *list, size_t last)
{
    int64_t peers = 1;
    const ik_store_session_t *session = &list->sessions[last];
    while (last > 0 && list->sessions[--last].updated_us == session->updated_us) {
        peers++;
    }
    ik_buffer_append_format(out, ",\"nextCursor\":\"%" PRId64 "-%" PRId64 "-%s\"",
                            session->updated_us, peers, session->id);
}

/* The first session of the page: the one behind that of the cursor. If that was used, which moves
 * it to the front, or deleted, those of its time that were sent before it are passed by their
 * number: forks have the time of their origin. */
static size_t find_start(const listing_t *listing, const ik_store_list_t *list)
{
    size_t first = 0;
    if (listing->behind == NULL) {
        return 0;
    }
    while (first < list->count && list->sessions[first].updated_us > listing->before) {
        first++;
    }
    size_t end = first;
    while (end < list->count && list->sessions[end].updated_us == listing->before) {
        if (strcmp(list->sessions[end++].id, listing->behind) == 0) {
            return end;
        }
    }
    size_t sent = (size_t)listing->peers - 1;
    return sent < end - first ? first + sent : end;
}

/* The stored sessions that have messages, and those that are open here and have none yet. */
static void add_open(const listing_t *listing, ik_store_list_t *list)
{
    const ik_acp_t *acp = listing->acp;
    for (size_t i = 0; i < acp->session_count; i++) {
        const ik_acp_session_t *session = acp->sessions[i];
        size_t at = 0;
        bool listed = session->id == NULL || session->leaves ||
                      (listing->real != NULL && strcmp(listing->real, session->paths->cwd) != 0);
        for (size_t k = 0; k < list->count && !listed; k++) {
            listed = strcmp(list->sessions[k].id, session->id) == 0;
            at += list->sessions[k].updated_us > session->opened_us;
        }
        if (!listed) {
            list->sessions =
                ik_resize_array(list, list->sessions, ik_store_session_t, list->count + 1);
            memmove(list->sessions + at + 1, list->sessions + at,
                    (list->count++ - at) * sizeof(*list->sessions));
            list->sessions[at] = (ik_store_session_t){
                .id = session->id, .cwd = session->paths->cwd, .updated_us = session->opened_us};
        }
    }
}

static void append_session(ik_buffer_t *out, const listing_t *listing,
                           const ik_store_session_t *session)
{
    char when[40];
    time_t seconds = (time_t)(session->updated_us / 1000000);
    struct tm parts;
    strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &parts));
    ik_buffer_append_text(out, "{\"sessionId\":");
    ik_json_append_text(out, session->id);
    ik_json_add_text(out, "cwd", listing->folder == NULL ? session->cwd : listing->folder);
    if (session->title != NULL && *session->title != '\0') {
        ik_json_add_text(out, "title", session->title);
    }
    ik_json_add_text(out, "updatedAt", when);
    ik_buffer_append_byte(out, '}');
}

static void on_listed(void *data, const res_t *result, const ik_store_list_t *stored)
{
    listing_t *listing = data;
    ik_buffer_t answer;
    if (is_err(result)) {
        ik_rpc_refuse(listing->request, IK_RPC_INTERNAL_ERROR, result->message, NULL);
        return;
    }
    ik_store_list_t *list = ik_new(listing, ik_store_list_t);
    list->count = stored->count;
    list->sessions = ik_new_array(list, ik_store_session_t, stored->count + 1);
    memcpy(list->sessions, stored->sessions, stored->count * sizeof(*list->sessions));
    add_open(listing, list);
    size_t start = find_start(listing, list);
    size_t end = list->count - start > PAGE ? start + PAGE : list->count;
    ik_buffer_init(&answer, listing, IK_BUFFER_UNLIMITED); /* PAGE sessions */
    ik_buffer_append_text(&answer, "{\"sessions\":[");
    for (size_t i = start; i < end; i++) {
        ik_buffer_append_text(&answer, i == start ? "" : ",");
        append_session(&answer, listing, &list->sessions[i]);
    }
    ik_buffer_append_byte(&answer, ']');
    if (end < list->count) {
        append_cursor(&answer, list, end - 1);
    }
    ik_buffer_append_byte(&answer, '}');
    ik_rpc_respond(listing->request, answer.data, answer.len);
}

void ik_acp_history_list(ik_acp_t *acp, ik_rpc_request_t *request)
{
    ik_json_span_t value;
    listing_t *listing = ik_new(request, listing_t);
    char real[PATH_MAX];
    bool is_object = ik_json_is(request->params, IK_JSON_OBJECT);
    bool has_cwd = is_object && ik_json_find(request->params, "cwd", &value) &&
                   ik_json_kind(value) != IK_JSON_NULL;
    bool has_cursor = is_object && ik_json_find(request->params, "cursor", &value) &&
                      ik_json_kind(value) != IK_JSON_NULL;
    char *cursor = has_cursor ? ik_acp_text(listing, request->params, "cursor") : NULL;
    listing->acp = acp;
    listing->request = request;
    listing->before = INT64_MAX;
    listing->folder = has_cwd ? ik_acp_text(listing, request->params, "cwd") : NULL;
    if (has_cwd && (listing->folder == NULL || listing->folder[0] != '/')) {
        ik_rpc_refuse(request, IK_RPC_INVALID_PARAMS, "cwd must be an absolute path", NULL);
        return;
    }
    if (has_cursor && (cursor == NULL || !read_cursor(listing, cursor))) {
        ik_rpc_refuse(request, IK_RPC_INVALID_PARAMS, "cursor is not one of session/list", NULL);
        return;
    }
    /* Sessions have the path that the file system knows. */
    listing->real = listing->folder != NULL && realpath(listing->folder, real) != NULL
                        ? ik_strdup(listing, real)
                        : listing->folder;
    ik_store_filter_t filter = {.cwd = listing->real, .uncounted = true, .begun = true};
    ik_history_list_start(acp, require_history(acp), &filter, on_listed, listing);
}

/* --- delete ------------------------------------------------------------------------------ */

void ik_acp_history_remove(ik_acp_t *acp, ik_rpc_request_t *request, const char *id)
{
    bool can_exist =
        strlen(id) == IK_STORE_ID_LEN && strspn(id, "0123456789abcdef") == IK_STORE_ID_LEN;
    res_t gone = can_exist ? ik_history_remove(require_history(acp), id) : OK;
    if (is_err(&gone) && gone.code != IK_ERR_NOT_FOUND) {
        ik_rpc_refuse(request, IK_RPC_INTERNAL_ERROR, gone.message, NULL);
    } else {
        ik_rpc_respond(request, "{}", 2);
    }
}

void ik_acp_history_delete(ik_acp_t *acp, ik_rpc_request_t *request)
{
    char *id = ik_acp_text(acp, request->params, "sessionId");
    ik_acp_session_t *session = id == NULL ? NULL : ik_acp_session_find(acp, id);
    if (id == NULL) {
        ik_rpc_refuse(request, IK_RPC_INVALID_PARAMS, "sessionId must be a string", NULL);
    } else if (session != NULL) {
        ik_acp_session_leave(session, request);
    } else if (!ik_acp_session_refuse_opening(acp, request, id)) {
        ik_acp_history_remove(acp, request, id);
    }
    talloc_free(id);
}
