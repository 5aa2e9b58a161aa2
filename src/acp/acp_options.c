/* Modes and models as options, and the slash commands that an editor offers. */
#include <string.h>

#include "acp/acp_state.h"
#include "agent/agent_prompt.h"
#include "base/alloc.h"
#include "base/array.h"
#include "command/command_model.h"

static const ik_mode_t modes[] = {IK_MODE_PLAN, IK_MODE_AUTO, IK_MODE_ASK, IK_MODE_FULL};

static ik_mode_t mode_of(const ik_acp_session_t *session)
{
    return ik_workspace_mode(session->workspace, ik_workspace_focus(session->workspace));
}

/* --- options ----------------------------------------------------------------------------- */

/* Appends {"id" or "value": value, "name": name, "description": description}. */
static void append_choice(ik_buffer_t *out, const char *key, const char *value,
                          const char *description)
{
    ik_buffer_append_format(out, "{\"%s\":", key);
    ik_json_append_text(out, value);
    ik_json_add_text(out, "name", value);
    if (description != NULL && *description != '\0') {
        ik_json_add_text(out, "description", description);
    }
    ik_buffer_append_byte(out, '}');
}

static void append_modes(ik_buffer_t *out, const char *key)
{
    ik_buffer_append_byte(out, '[');
    for (size_t i = 0; i < IK_LENGTH(modes); i++) {
        ik_buffer_append_text(out, i == 0 ? "" : ",");
        append_choice(out, key, ik_mode_name(modes[i]), ik_mode_help(modes[i]));
    }
    ik_buffer_append_byte(out, ']');
}

/* The current model and those that can be used, as far as they are known by name. */
static void append_models(ik_buffer_t *out, const ik_acp_session_t *session)
{
    const ik_shared_ctx_t *shared = ik_workspace_shared(session->workspace);
    const char *current = ik_workspace_target(session->workspace)->name;
    ik_command_words_t words = {.ctx = talloc_new(NULL)};
    bool listed = false;
    size_t count = 0;
    ik_command_model_collect(&words, shared->config, shared->models);
    ik_buffer_append_byte(out, '[');
    for (size_t i = 0; i < words.count; i++) {
        const char *name = words.texts[i];
        if (name[strlen(name) - 1] != '/') {
            ik_buffer_append_text(out, count++ == 0 ? "" : ",");
            append_choice(out, "value", name, words.notes[i]);
            listed = listed || strcmp(name, current) == 0;
        }
    }
    if (!listed) {
        ik_buffer_append_text(out, count == 0 ? "" : ",");
        append_choice(out, "value", current, NULL);
    }
    ik_buffer_append_byte(out, ']');
    talloc_free((void *)words.ctx);
}

static void append_options(ik_buffer_t *out, const ik_acp_session_t *session)
{
    ik_buffer_append_format(out,
                            "[{\"id\":\"mode\",\"name\":\"Mode\",\"description\":\"How far ikigai "
                            "may go without asking\",\"category\":\"mode\",\"type\":\"select\","
                            "\"currentValue\":\"%s\",\"options\":",
                            ik_mode_name(mode_of(session)));
    append_modes(out, "value");
    ik_buffer_append_text(out, "},{\"id\":\"model\",\"name\":\"Model\",\"category\":\"model\","
                               "\"type\":\"select\"");
    ik_json_add_text(out, "currentValue", ik_workspace_target(session->workspace)->name);
    ik_json_begin_member(out, "options");
    append_models(out, session);
    ik_buffer_append_text(out, "}]");
}

void ik_acp_options_append(ik_buffer_t *out, const ik_acp_session_t *session, bool first)
{
    ik_buffer_append_format(out, "%s\"modes\":{\"currentModeId\":\"%s\",\"availableModes\":",
                            first ? "" : ",", ik_mode_name(mode_of(session)));
    append_modes(out, "id");
    ik_buffer_append_text(out, "},\"configOptions\":");
    append_options(out, session);
}

/* --- setting ----------------------------------------------------------------------------- */

static bool set_mode(ik_acp_session_t *session, const char *name)
{
    ik_mode_t mode;
    if (!ik_mode_parse(name, &mode)) {
        return false;
    }
    ik_workspace_set_mode(session->workspace, ik_workspace_focus(session->workspace), mode);
    return true;
}

static void send_options(ik_acp_session_t *session)
{
    ik_buffer_t update;
    ik_acp_update_begin(&update, session, "config_option_update");
    ik_json_begin_member(&update, "configOptions");
    append_options(&update, session);
    ik_acp_update_send(session, &update);
}

static void send_mode(ik_acp_session_t *session)
{
    ik_buffer_t update;
    ik_acp_update_begin(&update, session, "current_mode_update");
    ik_json_add_text(&update, "currentModeId", ik_mode_name(mode_of(session)));
    ik_acp_update_send(session, &update);
}

void ik_acp_options_set_mode(ik_acp_t *acp, ik_rpc_request_t *request)
{
    ik_acp_session_t *session = ik_acp_session_of(acp, request);
    if (session == NULL) {
        return;
    }
    char *mode = ik_acp_text(session, request->params, "modeId");
    if (mode == NULL || !set_mode(session, mode)) {
        ik_rpc_refuse(request, IK_RPC_INVALID_PARAMS, "modeId must be plan, auto, ask or full",
                      NULL);
    } else {
        ik_rpc_respond(request, "{}", 2);
        send_options(session);
    }
    talloc_free(mode);
}

/* Why the option cannot be set; OK: it is set. */
static res_t set_option(ik_acp_session_t *session, const char *id, const char *value)
{
    if (id == NULL || value == NULL) {
        return ERR(INVALID, "configId and value must be strings");
    }
    if (strcmp(id, "mode") == 0) {
        return set_mode(session, value) ? OK : ERR(INVALID, "mode must be plan, auto, ask or full");
    }
    if (strcmp(id, "model") != 0) {
        return ERR(INVALID, "There is no option %.100s", id);
    }
    return ik_workspace_set_model(session->workspace, value);
}

void ik_acp_options_set(ik_acp_t *acp, ik_rpc_request_t *request)
{
    ik_acp_session_t *session = ik_acp_session_of(acp, request);
    if (session == NULL) {
        return;
    }
    void *scratch = talloc_new(session);
    char *id = ik_acp_text(scratch, request->params, "configId");
    res_t set = set_option(session, id, ik_acp_text(scratch, request->params, "value"));
    if (is_err(&set)) {
        ik_rpc_refuse(request,
                      set.code == IK_ERR_DENIED ? IK_ACP_AUTH_REQUIRED : IK_RPC_INVALID_PARAMS,
                      set.message, NULL);
    } else {
        ik_buffer_t answer;
        ik_buffer_init(&answer, scratch, IK_BUFFER_UNLIMITED); /* a list of models */
        ik_json_begin_member(&answer, "configOptions");
        append_options(&answer, session);
        ik_buffer_append_byte(&answer, '}');
        ik_rpc_respond(request, answer.data, answer.len);
        if (strcmp(id, "mode") == 0) {
            send_mode(session);
        } else {
            ik_acp_update_usage(session);
        }
    }
    talloc_free(scratch);
}

/* --- commands ---------------------------------------------------------------------------- */

/* Those that print text, or start a turn; others need a terminal, or the editor has its own. */
static const char *const offered[] = {"compact", "init", "undo", "redo", "status", "usage"};

static void append_command(ik_buffer_t *out, const char *name, const char *description,
                           const char *hint, bool first)
{
    ik_buffer_append_text(out, first ? "{\"name\":" : ",{\"name\":");
    ik_json_append_text(out, name);
    ik_json_add_text(out, "description", description == NULL ? "" : description);
    if (hint != NULL && *hint != '\0') {
        ik_buffer_append_text(out, ",\"input\":{\"hint\":");
        ik_json_append_text(out, hint);
        ik_buffer_append_byte(out, '}');
    }
    ik_buffer_append_byte(out, '}');
}

void ik_acp_options_send_commands(ik_acp_session_t *session)
{
    void *scratch = talloc_new(NULL);
    ik_buffer_t update;
    ik_acp_update_begin(&update, session, "available_commands_update");
    ik_json_begin_member(&update, "availableCommands");
    ik_buffer_append_byte(&update, '[');
    for (size_t i = 0; i < IK_LENGTH(offered); i++) {
        const ik_command_t *command = ik_command_find(offered[i], strlen(offered[i]));
        append_command(&update, command->name, command->help, command->usage, i == 0);
    }
    const ik_extensions_t *custom = ik_command_find_custom(scratch, &session->commands);
    for (size_t i = 0; i < custom->count; i++) {
        const ik_extension_t *item = &custom->items[i];
        append_command(&update, item->name, item->description, item->hint, false);
    }
    ik_buffer_append_byte(&update, ']');
    ik_acp_update_send(session, &update);
    talloc_free(scratch);
}

bool ik_acp_options_is_command(const ik_acp_session_t *session, const char *line)
{
    size_t len = strcspn(line, " \t\r\n");
    if (line[0] != '/' || len < 2) {
        return false;
    }
    for (size_t i = 0; i < IK_LENGTH(offered); i++) {
        if (strlen(offered[i]) == len - 1 && strncmp(offered[i], line + 1, len - 1) == 0) {
            return true;
        }
    }
    void *scratch = talloc_new(NULL);
    bool custom = ik_command_find(line, len) == NULL &&
                  ik_workspace_find_custom(scratch, session->workspace, line) != NULL;
    talloc_free(scratch);
    return custom;
}

/* --- what commands print ----------------------------------------------------------------- */

/* Text with its own layout, such as a table. */
static void print(ik_command_host_t *host, const char *text)
{
    char *fenced = ik_sprintf(NULL, "```\n%s%s```\n", text,
                              *text == '\0' || text[strlen(text) - 1] == '\n' ? "" : "\n");
    ik_acp_update_text(host->data, "agent_message_chunk", fenced, strlen(fenced));
    talloc_free(fenced);
}

static void print_line(ik_command_host_t *host, const char *text)
{
    char *line = ik_sprintf(NULL, "%s\n", text);
    ik_acp_update_text(host->data, "agent_message_chunk", line, strlen(line));
    talloc_free(line);
}

static bool has_news(ik_command_host_t *host, int64_t agent)
{
    (void)host;
    (void)agent;
    return false;
}

static res_t show_result(ik_command_host_t *host, size_t number)
{
    (void)host;
    return ERR(NOT_FOUND, "There is no tool result %zu", number);
}

static void copy(ik_command_host_t *host, const char *text, size_t len)
{
    (void)len;
    print(host, text);
}

static void do_nothing(ik_command_host_t *host)
{
    (void)host;
}

static void show_text(ik_command_host_t *host, const char *title, const char *text)
{
    (void)title;
    print(host, text);
}

static ik_view_list_t *open_list(ik_command_host_t *host, const ik_view_list_options_t *options)
{
    (void)host;
    (void)options;
    return NULL;
}

static void set_list(ik_command_host_t *host, ik_view_list_t *list, const ik_choice_row_t *rows,
                     size_t count, bool pending)
{
    (void)host;
    (void)list;
    (void)rows;
    (void)count;
    (void)pending;
}

static void close_list(ik_command_host_t *host, ik_view_list_t *list)
{
    (void)host;
    (void)list;
}

const ik_command_screen_t ik_acp_screen = {
    .print = print,
    .print_line = print_line,
    .fail = print_line,
    .has_news = has_news,
    .show_result = show_result,
    .copy = copy,
    .open_pager = do_nothing,
    .show_text = show_text,
    .show_patch = show_text,
    .return_text = print,
    .open_list = open_list,
    .set_list = set_list,
    .close_list = close_list,
    .leave = do_nothing,
};
