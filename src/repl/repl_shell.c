/* "!CMD": runs a command of the user through the bash tool, as for the model, and adds its output
 * to the conversation. */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json.h"
#include "conversation/tool_fields.h"
#include "repl/repl_running.h"
#include "repl/repl_state.h"
#include "repl/repl_working.h"

struct ik_repl_shell {
    ik_repl_t *repl;
    int64_t agent; /* whose conversation gets the output */
    char *command;
    ik_msg_t *call; /* shown while it runs */
    ik_repl_running_t *running;
    ik_tool_call_t *run;
    int64_t started_ms;
};

static char *format_arguments(const void *ctx, const char *command)
{
    ik_buffer_t arguments;
    ik_buffer_init(&arguments, ctx, IK_BUFFER_UNLIMITED); /* bounded by the command */
    ik_json_add_text(&arguments, "command", command);
    ik_json_add_number(&arguments, "timeout_seconds", 600);
    ik_buffer_append_byte(&arguments, '}');
    return ik_buffer_finish(&arguments);
}

static void on_progress(void *data, const char *text, size_t len)
{
    ik_repl_shell_t *shell = data;
    ik_repl_running_progress(shell->running, shell->call, text, len);
    ik_view_touch(shell->repl->view);
}

/* "$ make", its output, and other fields of the result such as the exit code of a failure. */
static char *format_note(const ik_repl_shell_t *shell, const char *envelope)
{
    void *scratch = talloc_new(NULL);
    ik_buffer_t note;
    ik_tool_fields_t fields;
    size_t len;
    ik_buffer_init(&note, shell, IK_BUFFER_UNLIMITED); /* bounded by the envelope */
    ik_buffer_append_format(&note, "I ran this command myself:\n$ %s\n", shell->command);
    if (!ik_tool_fields_of_envelope(envelope, strlen(envelope), &fields)) {
        fields.count = 0;
    }
    for (size_t i = 0; i < fields.count; i++) {
        const ik_tool_field_t *field = &fields.fields[i];
        char *value = ik_tool_fields_format_value(scratch, field, &len);
        if (field->key.len == 0) {
            ik_buffer_append(&note, value, strlen(value));
            ik_buffer_append_text(&note, len > 0 && value[len - 1] != '\n' ? "\n" : "");
        } else if (!ik_json_key_is(field->key, "tool_success")) {
            ik_buffer_append_format(&note, "(%s: %s)\n", ik_tool_fields_format_name(scratch, field),
                                    value);
        }
    }
    talloc_free(scratch);
    return ik_buffer_finish(&note);
}

static char *format_data(const ik_repl_shell_t *shell)
{
    ik_buffer_t data;
    ik_buffer_init(&data, shell, IK_BUFFER_UNLIMITED); /* bounded by the command */
    ik_json_add_text(&data, "command", shell->command);
    ik_buffer_append_byte(&data, '}');
    return ik_buffer_finish(&data);
}

static void on_end(void *data, const ik_tool_result_t *result)
{
    ik_repl_shell_t *shell = data;
    ik_repl_t *repl = shell->repl;
    if (shell->agent == ik_workspace_focus(repl->workspace)) {
        ik_rows_t rows = ik_view_rows(repl->view);
        ik_view_begin_block(repl->view);
        ik_rows_lines(&rows, IK_ROLE_USER, ik_sprintf(shell, "! %s", shell->command));
        ik_repl_rows_command(&rows, result->envelope);
    } else { /* its talk shows the output later */
        long long number = (long long)shell->agent;
        ik_repl_say(repl, IK_ROLE_GOOD,
                    ik_sprintf(shell,
                               "Agent %lld: the command has ended. /switch %lld shows its "
                               "output.",
                               number, number));
    }
    repl->shell = NULL;
    ik_workspace_add_note(repl->workspace, shell->agent, format_note(shell, result->envelope),
                          format_data(shell));
    talloc_free(shell); /* the tool call frees itself */
    ik_workspace_release(repl->workspace);
}

void ik_repl_shell_start(ik_repl_t *repl, const char *command)
{
    if (*command == '\0') {
        ik_repl_say(repl, IK_ROLE_ERROR, "Usage: !CMD");
        return;
    }
    const ik_shared_ctx_t *shared = ik_workspace_shared(repl->workspace);
    if (shared->tool_registry == NULL ||
        ik_tool_registry_lookup(shared->tool_registry, "bash") == NULL) {
        ik_repl_say(repl, IK_ROLE_ERROR,
                    "!CMD needs the tool bash, which is not available. See /tool.");
        return;
    }
    ik_workspace_require_agent(repl->workspace);
    ik_workspace_hold(repl->workspace);
    ik_repl_shell_t *shell = ik_new(repl, ik_repl_shell_t);
    shell->repl = repl;
    shell->agent = ik_workspace_focus(repl->workspace);
    shell->command = ik_strdup(shell, command);
    shell->started_ms = ik_clock_now_ms();
    char *arguments = format_arguments(shell, command);
    ik_msg_call_t call = {
        .id = "shell", .name = "bash", .arguments = arguments, .arguments_len = strlen(arguments)};
    shell->call = ik_msg_create_call(shell, &call, NULL);
    shell->running = ik_repl_running_create(shell);
    ik_repl_running_start(shell->running, shared, shell->call);
    repl->shell = shell;
    ik_tool_request_t request = {.name = "bash",
                                 .arguments = arguments,
                                 .arguments_len = strlen(arguments),
                                 .call_id = "shell",
                                 .by_user = true,
                                 .session_id = ik_session_id(ik_workspace_session(repl->workspace)),
                                 .on_progress = on_progress,
                                 .on_end = on_end,
                                 .data = shell};
    shell->run = ik_tool_call_start(repl, &shared->tool_context, shared->tool_registry, &request);
}

void ik_repl_shell_cancel(ik_repl_t *repl)
{
    if (repl->shell != NULL) {
        ik_tool_call_cancel(repl->shell->run);
    }
}

void ik_repl_shell_drop(ik_repl_t *repl, int64_t agent)
{
    if (repl->shell != NULL && (agent == 0 || agent == repl->shell->agent)) {
        talloc_free(repl->shell->run);
        TALLOC_FREE(repl->shell);
        ik_workspace_release(repl->workspace);
    }
}

void ik_repl_shell_draw(ik_repl_t *repl, int max_rows, ik_rows_fn on_row, void *data)
{
    if (repl->shell == NULL) {
        return;
    }
    ik_repl_running_draw(repl->shell->running, repl->view, max_rows - 1, on_row, data);
    void *scratch = talloc_new(repl);
    ik_row_t row;
    ik_row_init(&row, scratch, ik_view_theme(repl->view));
    ik_repl_working_t working = {.what = "1 command running",
                                 .role = IK_ROLE_DIM,
                                 .elapsed_ms = ik_clock_now_ms() - repl->shell->started_ms,
                                 .silent_ms = -1};
    ik_repl_working_draw(&row, &working, ik_view_spinner(repl->view),
                         ik_view_rows(repl->view).columns);
    on_row(data, row.bytes.data, row.bytes.len);
    talloc_free(scratch);
}
