/* Sessions: opening, closing, and the events of their workspaces. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "acp/acp_state.h"
#include "base/alloc.h"
#include "base/file.h"

enum { SESSIONS_MAX = 256 };

/* --- params ------------------------------------------------------------------------------ */

char *ik_acp_text(const void *ctx, ik_json_span_t params, const char *name)
{
    ik_json_span_t value;
    size_t len;
    if (!ik_json_find_kind(params, name, IK_JSON_STRING, &value)) {
        return NULL;
    }
    char *text = ik_json_decode(ctx, value, &len);
    return strlen(text) == len ? text : NULL;
}

/* The absolute path of params.cwd as the file system knows it, on ctx; NULL: the request is
 * refused. */
static char *read_folder(const void *ctx, ik_rpc_request_t *request)
{
    char real[PATH_MAX];
    struct stat status;
    char *cwd = ik_acp_text(ctx, request->params, "cwd");
    if (cwd == NULL || cwd[0] != '/') {
        ik_rpc_refuse(request, IK_RPC_INVALID_PARAMS, "cwd must be an absolute path", NULL);
        return NULL;
    }
    if (realpath(cwd, real) == NULL || stat(real, &status) < 0 || !S_ISDIR(status.st_mode)) {
        char *why = ik_sprintf(cwd, "cwd is not a folder that can be used: %s", cwd);
        ik_rpc_refuse(request, IK_RPC_INVALID_PARAMS, why, NULL);
        return NULL;
    }
    return ik_strdup(ctx, real);
}

ik_acp_session_t *ik_acp_session_find(ik_acp_t *acp, const char *id)
{
    for (size_t i = 0; i < acp->session_count; i++) {
        ik_acp_session_t *session = acp->sessions[i];
        if (session->id != NULL && !session->leaves && strcmp(session->id, id) == 0) {
            return session;
        }
    }
    return NULL;
}

bool ik_acp_session_refuse_opening(ik_acp_t *acp, ik_rpc_request_t *request, const char *id)
{
    for (size_t i = 0; i < acp->session_count; i++) {
        const ik_acp_session_t *session = acp->sessions[i];
        const char *wanted = session->id == NULL && !session->leaves ? session->start.resume : NULL;
        if (wanted != NULL && strcmp(wanted, id) == 0) {
            ik_rpc_refuse(request, IK_RPC_INVALID_REQUEST, "The session is being opened", NULL);
            return true;
        }
    }
    return false;
}

static void refuse_unknown(ik_rpc_request_t *request, const char *id)
{
    char *why = ik_sprintf(NULL, "There is no session %.100s", id);
    ik_rpc_refuse(request, IK_ACP_NOT_FOUND, why, NULL);
    talloc_free(why);
}

ik_acp_session_t *ik_acp_session_of(ik_acp_t *acp, ik_rpc_request_t *request)
{
    char *id = ik_acp_text(acp, request->params, "sessionId");
    ik_acp_session_t *session = id == NULL ? NULL : ik_acp_session_find(acp, id);
    if (id == NULL) {
        ik_rpc_refuse(request, IK_RPC_INVALID_PARAMS, "sessionId must be a string", NULL);
    } else if (session == NULL) {
        refuse_unknown(request, id);
    }
    talloc_free(id);
    return session;
}

/* --- events ------------------------------------------------------------------------------ */

static void respond(ik_rpc_request_t *request, ik_buffer_t *answer)
{
    ik_rpc_respond(request, answer->data, answer->len);
    ik_buffer_reset(answer);
}

/* What follows the answer that names a session to the editor. */
static void introduce(ik_acp_session_t *session)
{
    ik_acp_options_send_commands(session);
    if (session->asked == NULL) {
        ik_acp_question_changed(session);
    }
}

/* Answers session/load and session/resume. */
static void answer_opening(ik_acp_session_t *session)
{
    ik_rpc_request_t *request = session->opening;
    ik_buffer_t answer;
    session->opening = NULL;
    ik_buffer_init(&answer, session, IK_BUFFER_UNLIMITED); /* a list of models */
    ik_buffer_append_byte(&answer, '{');
    ik_acp_options_append(&answer, session, true);
    ik_buffer_append_byte(&answer, '}');
    respond(request, &answer);
    introduce(session);
}

static void on_session(ik_acp_session_t *session)
{
    if (session->opening != NULL) {
        session->id = ik_strdup(session, ik_session_id(ik_workspace_session(session->workspace)));
        session->titled = true;
        if (session->replays) {
            ik_acp_update_replay(session);
        }
        answer_opening(session);
    }
}

/* The code of JSON-RPC for why a session cannot be opened. */
static int code_of(const res_t *result)
{
    return result->code == IK_ERR_NOT_FOUND ? IK_ACP_NOT_FOUND
           : result->code == IK_ERR_DENIED  ? IK_ACP_AUTH_REQUIRED
                                            : IK_RPC_INTERNAL_ERROR;
}

static void on_failed(ik_acp_session_t *session, const res_t *result)
{
    session->failure = ik_strdup(session, result->message);
    if (session->opening != NULL) {
        ik_rpc_refuse(session->opening, code_of(result), result->message, NULL);
        session->opening = NULL;
        ik_acp_session_leave(session, NULL);
    }
    ik_acp_turn_fail(session, result->message);
}

static void on_line(ik_acp_session_t *session, const ik_workspace_event_t *event)
{
    if (event->level == IK_WORKSPACE_WARNING || event->level == IK_WORKSPACE_ERROR) {
        ik_acp_turn_note(session, event->text);
    } else {
        ik_acp_log(event->text);
    }
}

static void on_event(void *data, const ik_workspace_event_t *event)
{
    ik_acp_session_t *session = data;
    char *line;
    switch (event->kind) {
    case IK_WORKSPACE_LINE:
        on_line(session, event);
        break;
    case IK_WORKSPACE_SESSION:
        on_session(session);
        break;
    case IK_WORKSPACE_LEVEL:
        line = ik_workspace_describe_level(session, session->workspace);
        if (line != NULL) {
            ik_acp_turn_note(session, line);
        }
        talloc_free(line);
        break;
    case IK_WORKSPACE_AGENT:
        if (event->agent == ik_workspace_focus(session->workspace)) {
            ik_acp_turn_on_event(session, event->event);
        }
        break;
    case IK_WORKSPACE_COMMAND:
        ik_acp_turn_on_command(session, event->text);
        break;
    case IK_WORKSPACE_SETTLED:
        ik_acp_turn_on_settled(session);
        break;
    case IK_WORKSPACE_QUESTION:
        ik_acp_question_changed(session);
        break;
    case IK_WORKSPACE_FAILED:
        on_failed(session, event->result);
        break;
    default: /* the editor does not show them */
        break;
    }
}

/* --- opening ----------------------------------------------------------------------------- */

static ik_acp_session_t *create_session(ik_acp_t *acp, const char *folder, const char *resume,
                                        ik_config_servers_t *servers)
{
    const ik_acp_options_t *options = acp->options;
    ik_acp_session_t *session = ik_new(acp, ik_acp_session_t);
    session->acp = acp;
    session->opened_us = ik_store_now_us();
    session->paths = ik_paths_create_at(session, options->paths, folder);
    res_t loaded = ik_config_load_again(session, session->paths, options->flags, options->config,
                                        &session->config);
    ik_config_scrub_environment(session->config);
    ik_acp_servers_adopt(session->config, servers);
    if (is_err(&loaded)) {
        session->failure = ik_strdup(session, loaded.message);
    }
    session->start.trust = options->trust;
    session->start.resume = resume == NULL ? NULL : ik_strdup(session, resume);
    session->workspace = ik_workspace_create(
        session, &(ik_workspace_options_t){.paths = session->paths,
                                           .config = session->config,
                                           .loop = options->loop,
                                           .host = options->host,
                                           .start = &session->start,
                                           .editor = ik_acp_files_create(session),
                                           .whole_forms = true,
                                           .on_event = on_event,
                                           .data = session});
    session->commands = (ik_command_host_t){
        .screen = &ik_acp_screen, .workspace = session->workspace, .ctx = session, .data = session};
    acp->sessions = ik_resize_array(acp, acp->sessions, ik_acp_session_t *, acp->session_count + 1);
    acp->sessions[acp->session_count++] = session;
    for (size_t i = 0; i < session->config->warning_count; i++) {
        ik_acp_turn_note(session, session->config->warnings[i]);
    }
    return session;
}

/* Starts the workspace; on an error the request is refused and the session leaves. */
static bool start_session(ik_acp_session_t *session, ik_rpc_request_t *request)
{
    res_t started = OK;
    if (session->failure == NULL) {
        started = ik_workspace_start(session->workspace);
    }
    if (session->failure != NULL || is_err(&started)) {
        bool broken = session->failure != NULL;
        ik_rpc_refuse(request, broken ? IK_RPC_INTERNAL_ERROR : code_of(&started),
                      broken ? session->failure : started.message, NULL);
        session->opening = NULL;
        ik_acp_session_leave(session, NULL);
        return false;
    }
    return true;
}

static bool accept_more(const ik_acp_t *acp, ik_rpc_request_t *request,
                        const ik_config_servers_t *servers)
{
    if (servers == NULL) {
        ik_rpc_refuse(request, IK_RPC_INVALID_PARAMS,
                      "mcpServers must be an array of {name, command, args, env} or {type, name, "
                      "url, headers}",
                      NULL);
        return false;
    }
    if (acp->session_count >= SESSIONS_MAX) {
        ik_rpc_refuse(request, IK_RPC_INTERNAL_ERROR, "Too many open sessions: close some", NULL);
        return false;
    }
    return true;
}

void ik_acp_session_new(ik_acp_t *acp, ik_rpc_request_t *request)
{
    void *scratch = talloc_new(acp);
    char *folder = read_folder(scratch, request);
    ik_config_servers_t *servers = NULL;
    if (folder != NULL && !ik_acp_servers_read(scratch, request->params, &servers)) {
        servers = NULL;
    }
    if (folder == NULL || !accept_more(acp, request, servers)) {
        talloc_free(scratch);
        return;
    }
    ik_acp_session_t *session = create_session(acp, folder, NULL, servers);
    talloc_free(scratch);
    if (!start_session(session, request)) {
        return;
    }
    ik_buffer_t answer;
    session->id = ik_strdup(session, ik_session_id(ik_workspace_session(session->workspace)));
    ik_buffer_init(&answer, session, IK_BUFFER_UNLIMITED); /* a list of models */
    ik_json_add_text(&answer, "sessionId", session->id);
    ik_acp_options_append(&answer, session, false);
    ik_buffer_append_byte(&answer, '}');
    respond(request, &answer);
    introduce(session);
    /* An editor may load it later although nothing was said; what fails is tried again with the
     * first message, which reports it. */
    (void)ik_session_store(ik_workspace_session(session->workspace));
}

static bool is_id(const char *text)
{
    return strlen(text) == IK_STORE_ID_LEN && strspn(text, "0123456789abcdef") == IK_STORE_ID_LEN;
}

/* A session that is open here stays as it is. */
static void open_again(ik_acp_session_t *session, ik_rpc_request_t *request, const char *folder,
                       bool replays)
{
    if (session->prompt != NULL || strcmp(session->paths->cwd, folder) != 0) {
        ik_rpc_refuse(request, IK_RPC_INVALID_REQUEST,
                      session->prompt != NULL ? "A prompt is running in this session"
                                              : "The session is open in another folder",
                      NULL);
        return;
    }
    session->opening = request;
    if (replays) {
        ik_acp_update_replay(session);
    }
    answer_opening(session);
}

void ik_acp_session_open(ik_acp_t *acp, ik_rpc_request_t *request, bool replays)
{
    void *scratch = talloc_new(acp);
    char *id = ik_acp_text(scratch, request->params, "sessionId");
    ik_acp_session_t *session = id == NULL ? NULL : ik_acp_session_find(acp, id);
    char *folder = NULL;
    ik_config_servers_t *servers;
    if (!ik_acp_servers_read(scratch, request->params, &servers)) {
        servers = NULL;
    }
    if (id == NULL) {
        ik_rpc_refuse(request, IK_RPC_INVALID_PARAMS, "sessionId must be a string", NULL);
    } else if (!is_id(id)) {
        refuse_unknown(request, id);
    } else if (!ik_acp_session_refuse_opening(acp, request, id) &&
               (folder = read_folder(scratch, request)) != NULL &&
               accept_more(acp, request, servers)) {
        if (session != NULL) {
            open_again(session, request, folder, replays);
        } else {
            session = create_session(acp, folder, id, servers);
            session->opening = request;
            session->replays = replays;
            start_session(session, request);
        }
    }
    talloc_free(scratch);
}

/* --- closing ----------------------------------------------------------------------------- */

void ik_acp_session_leave(ik_acp_session_t *session, ik_rpc_request_t *closing)
{
    session->leaves = true;
    session->closing = closing;
    ik_acp_turn_cancel(session);
    ik_timer_start(session->acp->reaper, 0);
}

void ik_acp_session_close(ik_acp_t *acp, ik_rpc_request_t *request)
{
    ik_acp_session_t *session = ik_acp_session_of(acp, request);
    if (session != NULL) {
        ik_acp_session_leave(session, request);
    }
}

static void end_session(ik_acp_session_t *session)
{
    ik_acp_t *acp = session->acp;
    ik_rpc_request_t *closing = session->closing;
    char *id = ik_strdup(acp, session->id == NULL ? "" : session->id);
    ik_workspace_close(session->workspace, 0);
    TALLOC_FREE(session->workspace);
    talloc_free(session);
    if (closing != NULL && strcmp(closing->method, "session/delete") == 0) {
        ik_acp_history_remove(acp, closing, id);
    } else if (closing != NULL) {
        ik_rpc_respond(closing, "{}", 2);
    }
    talloc_free(id);
}

/* Ending a session may run the loop, for the hooks of its end. */
void ik_acp_session_reap(void *data)
{
    enum { AGAIN_MS = 20 };
    ik_acp_t *acp = data;
    bool waits = false;
    if (acp->reaps || acp->done) {
        return;
    }
    acp->reaps = true;
    for (size_t i = 0; i < acp->session_count;) {
        ik_acp_session_t *session = acp->sessions[i++];
        bool works = session->prompt != NULL || ik_workspace_is_busy(session->workspace, 0);
        waits = waits || (session->leaves && works);
        if (session->leaves && !works) {
            acp->session_count--;
            memmove(acp->sessions + i - 1, acp->sessions + i,
                    (acp->session_count + 1 - i) * sizeof(*acp->sessions));
            end_session(session);
            i = 0; /* others may have come or want to leave */
        }
    }
    acp->reaps = false;
    if (waits) {
        ik_timer_start(acp->reaper, AGAIN_MS);
    }
}
