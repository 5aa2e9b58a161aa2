/* Custom commands and skills: "/NAME ARGS" becomes a message of the user, after its shell parts
 * have run through the gate and the tool bash, as a call of the model would. The files are recorded
 * around a part that may write, for undo of the turn. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "conversation/tool_fields.h"
#include "extend/command_template.h"
#include "workspace/workspace_state.h"

enum { FILE_MAX = 256 * 1024 };

static const char blanks[] = " \t\r\n";

struct ik_workspace_custom {
    ik_workspace_member_t *member;
    const char *name;     /* of the command */
    const char *model;    /* for the turn; NULL: the agent's */
    ik_buffer_t mentions; /* what was typed, and files that were not inserted: perhaps images */
    const char *more;     /* follows the text after a blank line; NULL: nothing */
    ik_template_t *template;
    size_t next;             /* part of the template */
    ik_buffer_t text;        /* of the message */
    void *decision;          /* of the gate; NULL: none is pending */
    ik_tool_call_t *run;     /* NULL: no shell part runs */
    char *arguments;         /* of the call */
    void *segment;           /* the files are recorded around the call; NULL: they are not */
    bool recorded;           /* the log has the beginning of the segment */
    ik_call_verdict_t *held; /* waits for that; NULL: none does */
    char *envelope;          /* of the call, which waits for the end of the segment */
    bool interrupted;
    ik_workspace_images_t *given;  /* with the line; NULL: none */
    ik_workspace_images_t *images; /* that it names */
    bool is_finished;              /* the text is complete; images may still be made smaller */
    char *line;                    /* as it was typed */
    ik_workspace_check_t *check;   /* by hooks; NULL: not yet, or there are none */
    bool checked;                  /* hooks were asked, or there are none */
};

/* --- finding ----------------------------------------------------------------------------- */

ik_extension_options_t ik_workspace_extension_options(const ik_workspace_t *workspace)
{
    return (ik_extension_options_t){.paths = workspace->options.paths,
                                    .trust_project = workspace->options.start->trust};
}

const ik_extension_t *ik_workspace_find_custom(const void *ctx, const ik_workspace_t *workspace,
                                               const char *line)
{
    ik_extension_options_t options = ik_workspace_extension_options(workspace);
    size_t len = strcspn(line, blanks);
    if (line[0] != '/' || len < 2) {
        return NULL;
    }
    const ik_extension_t *command = ik_extensions_lookup(
        ik_extensions_find(ctx, &options, IK_EXTENSION_COMMAND), line + 1, len - 1);
    if (command != NULL && command->used) {
        return command;
    }
    const ik_extension_t *skill = ik_extensions_lookup(
        ik_extensions_find(ctx, &options, IK_EXTENSION_SKILL), line + 1, len - 1);
    return skill != NULL && (skill->used || command == NULL) ? skill : command;
}

/* --- the end ----------------------------------------------------------------------------- */

/* Ends the turn that never began at the model. */
static void end(ik_workspace_custom_t *custom, ik_turn_reason_t reason, const char *code,
                const char *why)
{
    ik_workspace_member_t *member = custom->member;
    member->custom = NULL;
    if (why != NULL) {
        char *text = ik_sprintf(custom, "/%s was not sent: %s", custom->name, why);
        ik_workspace_on_agent_event(
            member, &(ik_agent_event_t){
                        .kind = IK_AGENT_ERROR, .code = code, .text = text, .len = strlen(text)});
    }
    ik_workspace_on_agent_event(member,
                                &(ik_agent_event_t){.kind = IK_AGENT_TURN_ENDED, .reason = reason});
    talloc_free(custom);
}

static void fail(ik_workspace_custom_t *custom, const char *code, const char *why)
{
    end(custom, IK_TURN_ERROR, code, why);
}

/* A model that cannot be used here is no reason to refuse the command: it was perhaps written for
 * another program. */
static void use_model(ik_workspace_custom_t *custom)
{
    ik_workspace_member_t *member = custom->member;
    res_t chosen = ik_workspace_choose_for_turn(member, custom->model);
    if (is_err(&chosen)) {
        char *line = ik_sprintf(custom, "/%s asks for the model %s, which is not used: %s",
                                custom->name, custom->model, chosen.message);
        ik_workspace_say(member->workspace, IK_WORKSPACE_WARNING, line);
    }
}

static void finish(ik_workspace_custom_t *custom)
{
    ik_workspace_member_t *member = custom->member;
    if (custom->more != NULL) {
        ik_buffer_append_text(&custom->text, custom->text.len == 0 ? "" : "\n\n");
        ik_buffer_append_text(&custom->text, custom->more);
    }
    ik_buffer_append_text(&custom->text, "");
    if (ik_msg_text_is_blank(custom->text.data)) {
        fail(custom, "EMPTY", "its text is empty");
        return;
    }
    /* Output and contents of files are data: they attach nothing. */
    custom->images =
        talloc_steal(custom, ik_workspace_attach(member->workspace, custom->mentions.data));
    custom->is_finished = true;
    ik_workspace_send_custom(member);
}

static void on_checked(void *data, const char *why)
{
    ik_workspace_custom_t *custom = data;
    ik_workspace_member_t *member = custom->member;
    if (why == NULL) {
        ik_workspace_send_custom(member);
        return;
    }
    member->custom = NULL;
    ik_workspace_report_block(member, custom->line, why, true);
    talloc_free(custom);
}

void ik_workspace_send_custom(ik_workspace_member_t *member)
{
    ik_workspace_custom_t *custom = member->custom;
    ik_workspace_t *workspace = member->workspace;
    if (custom == NULL || !custom->is_finished || ik_workspace_images_wait(custom->images) ||
        ik_workspace_images_wait(custom->given) || ik_workspace_images_wait(workspace->images) ||
        workspace->greeting != NULL) {
        return;
    }
    if (workspace->greeting_stop != NULL) {
        char *why = ik_alloc_take(workspace->greeting_stop);
        workspace->greeting_stop = NULL;
        on_checked(custom, why);
        talloc_free(why);
        return;
    }
    if (!custom->checked) {
        custom->checked = true;
        custom->check =
            ik_workspace_check_start(custom, member, custom->text.data, on_checked, custom);
    }
    if (ik_workspace_check_runs(custom->check)) {
        return;
    }
    if (custom->model != NULL) {
        use_model(custom);
    }
    const ik_workspace_images_t *given = custom->given == NULL ? workspace->images : custom->given;
    member->custom = NULL;
    ik_workspace_announce_images(workspace, given, custom->images);
    char *data = ik_workspace_format_images(custom, given, custom->images);
    char *text =
        ik_workspace_join_context(custom, workspace, custom->text.data, custom->check, true);
    TALLOC_FREE(workspace->images); /* only the first message has them */
    data = ik_msg_format_typed(custom, data, text, custom->text.len);
    ik_agent_start_turn(member->agent, text, data);
    ik_workspace_store_mode(member);
    talloc_free(custom);
}

/* --- files ------------------------------------------------------------------------------- */

/* Opens a file that lies in the project, wherever links lead; -1: it is not one. */
static int open_file(const ik_workspace_custom_t *custom, const char *path, size_t *size)
{
    const char *cwd = custom->member->workspace->options.paths->cwd;
    char root[PATH_MAX];
    char real[PATH_MAX];
    struct stat status;
    char *full = path[0] == '/' ? ik_strdup(NULL, path) : ik_file_join(NULL, cwd, path);
    bool inside = realpath(cwd, root) != NULL && realpath(full, real) != NULL &&
                  ik_file_is_within(real, root);
    talloc_free(full);
    int fd = inside ? open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW) : -1;
    if (fd >= 0 && (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))) {
        close(fd);
        fd = -1;
    }
    *size = fd < 0 ? 0 : (size_t)status.st_size;
    return fd;
}

/* Appends the text of the file; false if it is not one of the project, or not text. */
static bool append_file(ik_workspace_custom_t *custom, const char *path)
{
    size_t size;
    int fd = open_file(custom, path, &size);
    if (fd < 0) {
        return false;
    }
    ik_buffer_t bytes;
    ik_buffer_init(&bytes, custom, 2 * FILE_MAX);
    ssize_t got = 1;
    while (got > 0 && bytes.len < FILE_MAX) {
        size_t room = ik_buffer_reserve(&bytes, FILE_MAX - bytes.len);
        got = read(fd, bytes.data + bytes.len, room);
        bytes.len += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    bool text = got >= 0 && (bytes.len == 0 || memchr(bytes.data, '\0', bytes.len) == NULL);
    if (text && bytes.len > 0) {
        size_t len = ik_utf8_cut(bytes.data, bytes.len, FILE_MAX);
        bool cut = size > len && bytes.len >= FILE_MAX;
        len -= !cut && bytes.data[len - 1] == '\n';
        ik_utf8_append_clean(&custom->text, bytes.data, len);
        if (cut) {
            ik_buffer_append_format(&custom->text, "\n[cut here: %zu of %zu bytes]", len, size);
        }
    }
    ik_buffer_reset(&bytes);
    return text;
}

/* "@path": punctuation at its end is perhaps not part of the name. */
static void insert_file(ik_workspace_custom_t *custom, const ik_template_part_t *part)
{
    char *path = ik_strdup(custom, part->text);
    size_t len = strlen(path);
    bool possible = len < PATH_MAX;
    bool inserted = possible && append_file(custom, path);
    while (possible && !inserted && len > 1 && strchr(".,;:!?)]}\"'", path[len - 1]) != NULL) {
        path[--len] = '\0';
        inserted = append_file(custom, path);
    }
    if (inserted) {
        ik_buffer_append_text(&custom->text, part->text + len);
    } else {
        ik_buffer_append_byte(&custom->text, '@');
        ik_utf8_append_clean(&custom->text, part->text, part->len);
        ik_buffer_append_text(&custom->mentions, " @");
        ik_buffer_append_text(&custom->mentions, part->text);
    }
    talloc_free(path);
}

/* --- shell parts ------------------------------------------------------------------------- */

static void proceed(ik_workspace_custom_t *custom);

/* Appends what the command printed; false if it did not run. */
static bool append_output(ik_workspace_custom_t *custom, const char *envelope)
{
    ik_json_span_t root, result, output, status;
    char *text;
    size_t len;
    if (!ik_json_scan(envelope, strlen(envelope), &root, NULL) ||
        !ik_json_find_kind(root, "result", IK_JSON_OBJECT, &result) ||
        !ik_json_find(result, "exit_code", &status)) {
        return false;
    }
    bool failed = status.len != 1 || status.text[0] != '0';
    if (ik_json_find_kind(result, "output", IK_JSON_STRING, &output)) {
        text = ik_json_decode(custom, output, &len);
        size_t before = custom->text.len;
        ik_utf8_append_string(&custom->text, text, len);
        talloc_free(text);
        if (failed) {
            ik_buffer_append_text(&custom->text, custom->text.len == before ? "" : "\n");
        }
    }
    if (failed) {
        ik_buffer_append_format(&custom->text, "exit status %.*s", (int)status.len, status.text);
    }
    return true;
}

/* The call has ended, and the files are recorded. */
static void take_envelope(ik_workspace_custom_t *custom)
{
    const char *envelope = custom->envelope;
    if (custom->interrupted) {
        end(custom, IK_TURN_INTERRUPTED, NULL, NULL);
        return;
    }
    if (append_output(custom, envelope)) {
        TALLOC_FREE(custom->envelope);
        proceed(custom);
        return;
    }
    ik_tool_fields_t fields;
    const ik_tool_field_t *error = ik_tool_fields_of_envelope(envelope, strlen(envelope), &fields)
                                       ? ik_tool_fields_find(&fields, "error")
                                       : NULL;
    size_t len;
    fail(custom, "TOOL_FAILED",
         error == NULL ? "a command in it could not run"
                       : ik_tool_fields_format_value(custom, error, &len));
}

static void on_after(void *data, const ik_checkpoint_t *taken)
{
    ik_workspace_custom_t *custom = data;
    ik_workspace_record_checkpoint(custom->member->workspace, custom->member->number, taken,
                                   &(ik_msg_checkpoint_t){.phase = IK_MSG_AFTER, .next = true});
    custom->recorded = false;
    take_envelope(custom);
}

static void on_end(void *data, const ik_tool_result_t *result)
{
    ik_workspace_custom_t *custom = data;
    custom->run = NULL; /* it frees itself */
    custom->envelope = ik_strdup(custom, result->envelope);
    if (custom->recorded) {
        custom->member->workspace->shared.checkpoints->end(custom->segment, on_after, custom);
    } else {
        take_envelope(custom);
    }
}

static void start_call(ik_workspace_custom_t *custom, const ik_call_verdict_t *verdict)
{
    ik_workspace_t *workspace = custom->member->workspace;
    const ik_shared_ctx_t *shared = &workspace->shared;
    const char *arguments = verdict->arguments == NULL ? custom->arguments : verdict->arguments;
    ik_tool_request_t request = {.name = "bash",
                                 .arguments = arguments,
                                 .arguments_len = verdict->arguments == NULL
                                                      ? strlen(custom->arguments)
                                                      : verdict->arguments_len,
                                 .call_id = "command",
                                 .session_id = ik_session_id(workspace->session),
                                 .room = verdict->room,
                                 .confined = verdict->confined,
                                 .open_places = verdict->open_places,
                                 .on_end = on_end,
                                 .data = custom};
    /* not on custom, which may be freed in on_end */
    custom->run =
        ik_tool_call_start(custom->member, &shared->tool_context, shared->tool_registry, &request);
}

static void on_before(void *data, const ik_checkpoint_t *taken)
{
    ik_workspace_custom_t *custom = data;
    ik_workspace_t *workspace = custom->member->workspace;
    ik_call_verdict_t *verdict = custom->held;
    custom->held = NULL;
    custom->recorded = taken->count > 0;
    if (custom->recorded) {
        ik_workspace_record_checkpoint(
            workspace, custom->member->number, taken,
            &(ik_msg_checkpoint_t){.phase = IK_MSG_BEFORE, .next = true});
    } else if (taken->notice != NULL) {
        ik_workspace_say(workspace, IK_WORKSPACE_WARNING, taken->notice);
    }
    start_call(custom, verdict);
    talloc_free(verdict);
}

static ik_call_t describe_call(const ik_workspace_custom_t *custom)
{
    const ik_tool_registry_t *registry = custom->member->workspace->shared.tool_registry;
    return (ik_call_t){.agent = custom->member->number,
                       .id = "command",
                       .name = "bash",
                       .arguments = custom->arguments,
                       .arguments_len = strlen(custom->arguments),
                       .entry =
                           registry == NULL ? NULL : ik_tool_registry_lookup(registry, "bash")};
}

static void on_verdict(void *data, const ik_call_verdict_t *verdict)
{
    ik_workspace_custom_t *custom = data;
    const ik_checkpoints_t *checkpoints = custom->member->workspace->shared.checkpoints;
    custom->decision = NULL;
    if (verdict->denied != NULL) {
        fail(custom, verdict->code == NULL ? "PERMISSION_DENIED" : verdict->code, verdict->denied);
        return;
    }
    if (!verdict->may_write || checkpoints == NULL) {
        start_call(custom, verdict);
        return;
    }
    ik_call_t call = describe_call(custom);
    custom->held = ik_call_verdict_copy(custom, verdict);
    talloc_free(custom->segment);
    custom->segment =
        checkpoints->begin(checkpoints->checkpoints, custom, &call, 1, on_before, custom);
}

static void run_shell(ik_workspace_custom_t *custom, const char *command)
{
    ik_workspace_t *workspace = custom->member->workspace;
    ik_buffer_t arguments;
    ik_buffer_init(&arguments, custom, IK_BUFFER_UNLIMITED); /* bounded by the command */
    ik_json_add_text(&arguments, "command", command);
    ik_buffer_append_byte(&arguments, '}');
    talloc_free(custom->arguments);
    custom->arguments = ik_buffer_finish(&arguments);
    const ik_call_gate_t *gate = workspace->shared.gate;
    ik_call_t call = describe_call(custom);
    if (call.entry == NULL) {
        fail(custom, "TOOL_FAILED", "it runs commands, and the tool bash is not available");
        return;
    }
    void *decision = gate->decide(gate->gate, custom, &call, on_verdict, custom);
    if (decision != NULL) { /* otherwise custom may be gone */
        custom->decision = decision;
    }
}

/* --- running ----------------------------------------------------------------------------- */

/* Appends parts until one has to run. */
static void proceed(ik_workspace_custom_t *custom)
{
    while (custom->next < custom->template->count) {
        const ik_template_part_t *part = &custom->template->parts[custom->next++];
        if (part->kind == IK_TEMPLATE_SHELL) {
            run_shell(custom, part->text);
            return;
        }
        if (part->kind == IK_TEMPLATE_FILE) {
            insert_file(custom, part);
        } else {
            ik_utf8_append_clean(&custom->text, part->text, part->len);
        }
    }
    finish(custom);
}

/* The body of a skill unchanged, its folder, and what was typed. */
static ik_template_t *quote_skill(const void *ctx, const ik_extension_t *skill, const char *body,
                                  size_t len, const char *arguments)
{
    ik_template_t *whole = ik_new(ctx, ik_template_t);
    ik_buffer_t text;
    ik_buffer_init(&text, whole, IK_BUFFER_UNLIMITED); /* bounded by the file and the line */
    ik_buffer_append(&text, body, len);
    arguments += strspn(arguments, blanks);
    ik_buffer_append_format(&text, "%sThe folder of this skill is %s\n",
                            len == 0 || body[len - 1] == '\n' ? "\n" : "\n\n",
                            ik_file_folder(whole, skill->path));
    if (*arguments != '\0') {
        ik_buffer_append_format(&text, "\n%s", arguments);
    }
    whole->parts = ik_new(whole, ik_template_part_t);
    whole->count = 1;
    *whole->parts =
        (ik_template_part_t){.kind = IK_TEMPLATE_TEXT, .text = text.data, .len = text.len};
    return whole;
}

res_t ik_workspace_run_custom(ik_workspace_t *workspace, const char *line, const char *more,
                              ik_workspace_images_t *images)
{
    ik_workspace_member_t *member = workspace->focus;
    ik_workspace_custom_t *custom = ik_new(member, ik_workspace_custom_t);
    const ik_extension_t *found = ik_workspace_find_custom(custom, workspace, line);
    const char *arguments = line + strcspn(line, blanks);
    char *body;
    size_t len;
    res_t read = OK;
    if (found == NULL) {
        read = ERR(NOT_FOUND, "There is no command %.*s", (int)strcspn(line, blanks), line);
    } else if (!found->used) {
        read = ERR(DENIED, "/%s is not used: %s. Review: /trust or ikigai trust", found->name,
                   found->reason);
    } else {
        read = ik_extension_read(custom, found, &body, &len);
    }
    if (is_ok(&read) && found->kind == IK_EXTENSION_SKILL) {
        custom->template = quote_skill(custom, found, body, len, arguments);
    } else if (is_ok(&read)) {
        read = ik_command_template_fill(custom, body, len, arguments, &custom->template);
    }
    if (is_err(&read)) {
        talloc_free(custom);
        return read;
    }
    custom->member = member;
    custom->name = found->name;
    custom->model = found->model;
    ik_buffer_init(&custom->mentions, custom, IK_BUFFER_UNLIMITED); /* bounded by the template */
    ik_buffer_append_text(&custom->mentions, arguments);
    custom->line = ik_strdup(custom, line);
    custom->more = more == NULL ? NULL : ik_strdup(custom, more);
    custom->given = talloc_steal(custom, images);
    ik_buffer_init(&custom->text, custom, IK_BUFFER_UNLIMITED); /* parts have limits of their own */
    ik_workspace_require_agent(workspace);
    member->custom = custom;
    ik_workspace_begin_turn(member);
    proceed(custom);
    return OK;
}

void ik_workspace_cancel_custom(ik_workspace_member_t *member)
{
    ik_workspace_custom_t *custom = member->custom;
    if (custom == NULL || custom->interrupted) {
        return;
    }
    if (custom->recorded) { /* what the call has changed is recorded when it has ended */
        custom->interrupted = true;
        if (custom->run != NULL) {
            ik_tool_call_cancel(custom->run);
        }
        return;
    }
    TALLOC_FREE(custom->decision);
    TALLOC_FREE(custom->run);
    end(custom, IK_TURN_INTERRUPTED, NULL, NULL);
}
