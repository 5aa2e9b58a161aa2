/* Tool calls as an editor shows them: title, kind, files, changes as diffs, output. */
#include <string.h>

#include "acp/acp_state.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/image.h"
#include "base/sanitiser.h"
#include "base/utf8.h"
#include "conversation/tool_fields.h"

enum {
    DIFF_MAX = 1024 * 1024,  /* bytes of a file that is shown as a diff */
    OUTPUT_MAX = 128 * 1024, /* bytes of output that are shown; rawOutput has all of it */
    TITLE_MAX = 400,
    PROGRESS_MS = 100, /* the whole text is sent each time */
};

struct ik_acp_call {
    char *id;
    char *name;
    char *title;
    char *arguments;
    size_t arguments_len;
    char *path;     /* absolute; NULL: it names no file */
    int64_t line;   /* from 1; 0: none */
    bool changes;   /* it writes path */
    char *before;   /* the file; NULL: it does not exist, or is not text (without diff) */
    char *after;    /* what the call makes of it; NULL: no diff */
    bool by_editor; /* the editor has written it: after is right */
    bool has_ended; /* its end was reported */
    ik_buffer_t output;
    bool output_due;
    int64_t output_ms; /* when it was sent last */
};

static ik_acp_call_t *find_call(const ik_acp_session_t *session, const char *id)
{
    for (size_t i = session->call_count; id != NULL && i > 0; i--) {
        if (strcmp(session->calls[i - 1]->id, id) == 0) {
            return session->calls[i - 1];
        }
    }
    return NULL;
}

static ik_acp_call_t *call_of(const ik_acp_session_t *session, const ik_msg_t *message,
                              const char *field)
{
    char *id = ik_msg_field_text(NULL, message, field);
    ik_acp_call_t *call = find_call(session, id);
    talloc_free(id);
    return call;
}

/* --- diffs ------------------------------------------------------------------------------- */

/* The file as text, on ctx; NULL: it cannot be shown. *missing: it does not exist. */
static char *read_text(const void *ctx, const char *path, bool *missing)
{
    char *bytes;
    size_t len;
    res_t read = ik_file_read(ctx, path, DIFF_MAX, &bytes, &len);
    *missing = read.code == IK_ERR_NOT_FOUND;
    return is_ok(&read) && memchr(bytes, '\0', len) == NULL && ik_utf8_valid(bytes, len) ? bytes
                                                                                         : NULL;
}

/* The text with old_string replaced as file_edit does, on ctx; NULL: it will refuse. */
static char *replace_text(const void *ctx, const char *text, const char *old, const char *fresh,
                          bool all)
{
    ik_buffer_t out;
    size_t old_len = strlen(old);
    const char *found = *old == '\0' ? NULL : strstr(text, old);
    if (found == NULL || (!all && strstr(found + 1, old) != NULL)) {
        return NULL;
    }
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the file and the arguments */
    for (; found != NULL; found = strstr(text, old)) {
        ik_buffer_append(&out, text, (size_t)(found - text));
        ik_buffer_append_text(&out, fresh);
        text = found + old_len;
    }
    ik_buffer_append_text(&out, text);
    return ik_buffer_finish(&out);
}

/* What the call will make of its file. */
static void predict(ik_acp_call_t *call, bool replayed)
{
    ik_json_span_t arguments, all;
    bool missing = false;
    call->by_editor = false;
    TALLOC_FREE(call->before);
    TALLOC_FREE(call->after);
    if (!call->changes || call->path == NULL ||
        !ik_json_scan(call->arguments, call->arguments_len, &arguments, NULL)) {
        return;
    }
    char *content = ik_acp_text(call, arguments, "content");
    char *old = ik_acp_text(call, arguments, "old_string");
    char *fresh = ik_acp_text(call, arguments, "new_string");
    bool writes = strcmp(call->name, "file_write") == 0;
    if (!replayed) {
        call->before = read_text(call, call->path, &missing);
    }
    if (writes && content != NULL && (call->before != NULL || missing || replayed)) {
        call->after = ik_strdup(call, content);
    } else if (!writes && old != NULL && fresh != NULL && call->before != NULL) {
        call->after =
            replace_text(call, call->before, old, fresh,
                         ik_json_find(arguments, "replace_all", &all) && all.text[0] == 't');
    } else if (!writes && replayed && old != NULL && fresh != NULL) {
        call->before = ik_strdup(call, old); /* the file of that time is not known */
        call->after = ik_strdup(call, fresh);
    }
    talloc_free(content);
    talloc_free(old);
    talloc_free(fresh);
}

static void append_diff(ik_buffer_t *out, const ik_acp_call_t *call)
{
    ik_buffer_append_text(out, "{\"type\":\"diff\"");
    ik_json_add_text(out, "path", call->path);
    ik_json_add_text(out, "oldText", call->before);
    ik_json_add_text(out, "newText", call->after);
    ik_buffer_append_byte(out, '}');
}

/* --- members ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    const char *kind;
} kinds[] = {
    {"file_read", "read"},  {"glob", "search"},    {"grep", "search"},
    {"file_write", "edit"}, {"file_edit", "edit"}, {"bash", "execute"},
    {"job", "execute"},     {"agent", "think"},    {"todo", "think"},
};

static const char *kind_of(const ik_acp_call_t *call)
{
    for (size_t i = 0; i < IK_LENGTH(kinds); i++) {
        if (strcmp(kinds[i].name, call->name) == 0) {
            return kinds[i].kind;
        }
    }
    return "other";
}

/* Appends title, kind, locations and rawInput. */
static void append_facts(ik_buffer_t *out, const ik_acp_call_t *call)
{
    ik_json_span_t arguments;
    ik_json_add_text(out, "title", call->title);
    ik_json_add_text(out, "kind", kind_of(call));
    ik_buffer_append_text(out, ",\"locations\":[");
    if (call->path != NULL) {
        ik_buffer_append_text(out, "{\"path\":");
        ik_json_append_text(out, call->path);
        if (call->line > 0) {
            ik_json_add_number(out, "line", call->line);
        }
        ik_buffer_append_byte(out, '}');
    }
    ik_buffer_append_text(out, "],\"rawInput\":");
    if (ik_json_scan(call->arguments, call->arguments_len, &arguments, NULL) &&
        ik_utf8_valid(arguments.text, arguments.len)) {
        ik_buffer_append(out, arguments.text, arguments.len);
    } else {
        ik_json_append_string(out, call->arguments, call->arguments_len);
    }
}

/* Appends a content item with a text that is shown as it is. */
static void append_text(ik_buffer_t *out, const char *text, size_t len)
{
    ik_buffer_append_text(out, "{\"type\":\"content\",\"content\":{\"type\":\"text\",\"text\":");
    ik_json_append_string(out, text, len);
    ik_buffer_append_text(out, "}}");
}

/* Appends a content item with output, which editors would take for Markdown without a fence. */
static void append_output(ik_buffer_t *out, const char *bytes, size_t len)
{
    ik_buffer_t text;
    char fence[64] = "```";
    size_t run = 0;
    size_t longest = 2;
    size_t kept = ik_utf8_cut(bytes, len, OUTPUT_MAX);
    for (size_t i = 0; i < kept; i++) {
        run = bytes[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    longest = longest < sizeof(fence) - 2 ? longest : sizeof(fence) - 2;
    memset(fence, '`', longest + 1);
    fence[longest + 1] = '\0';
    ik_buffer_init(&text, NULL, IK_BUFFER_UNLIMITED); /* OUTPUT_MAX, sanitised */
    ik_buffer_append_format(&text, "%s\n", fence);
    ik_sanitise_append(&text, bytes, kept);
    ik_buffer_append_text(&text, text.data[text.len - 1] == '\n' ? "" : "\n");
    ik_buffer_append_text(&text, fence);
    if (kept < len) {
        ik_buffer_append_format(&text, "\n%zu of %zu bytes are shown.", kept, len);
    }
    append_text(out, text.data, text.len);
    ik_buffer_reset(&text);
}

static void send_status(ik_acp_session_t *session, const ik_acp_call_t *call, const char *status)
{
    ik_buffer_t update;
    ik_acp_update_begin(&update, session, "tool_call_update");
    ik_json_add_text(&update, "toolCallId", call->id);
    ik_json_add_text(&update, "status", status);
    ik_acp_update_send(session, &update);
}

/* --- the beginning ----------------------------------------------------------------------- */

/* "file_read src/a.c": the name and what says most. */
static char *format_title(const ik_acp_call_t *call, ik_json_span_t arguments)
{
    static const char *const telling[] = {"file_path", "command",     "pattern", "url",
                                          "query",     "description", "prompt",  "path"};
    for (size_t i = 0; i < IK_LENGTH(telling); i++) {
        char *text = ik_acp_text(NULL, arguments, telling[i]);
        if (text != NULL) {
            text[ik_utf8_cut(text, strlen(text), TITLE_MAX)] = '\0';
            char *title = ik_sprintf(call, "%s %s", call->name, text);
            talloc_free(text);
            return title;
        }
    }
    return ik_strdup(call, call->name);
}

static void find_place(ik_acp_call_t *call, const char *folder, ik_json_span_t arguments)
{
    static const char *const names[] = {"file_path", "path"};
    ik_json_span_t line;
    for (size_t i = 0; i < IK_LENGTH(names) && call->path == NULL; i++) {
        char *path = ik_acp_text(call, arguments, names[i]);
        if (path != NULL && *path != '\0') {
            call->path = *path == '/' ? ik_strdup(call, path) : ik_file_join(call, folder, path);
        }
        talloc_free(path);
    }
    if (ik_json_find_kind(arguments, "offset", IK_JSON_NUMBER, &line)) {
        call->line = strtoll(line.text, NULL, 10);
    }
}

/* Adds a call to the turn and announces it. */
static ik_acp_call_t *add_call(ik_acp_session_t *session, const char *id, const char *name,
                               const char *arguments, size_t arguments_len, bool replayed)
{
    ik_acp_call_t *call = ik_new(session, ik_acp_call_t);
    ik_json_span_t object = {0};
    ik_buffer_t update;
    call->id = ik_strdup(call, id);
    call->name = ik_strdup(call, name);
    call->arguments = ik_strndup(call, arguments, arguments_len);
    call->arguments_len = arguments_len;
    call->changes = strcmp(name, "file_write") == 0 || strcmp(name, "file_edit") == 0;
    ik_buffer_init(&call->output, call, 2 * OUTPUT_MAX);
    ik_json_scan(call->arguments, arguments_len, &object, NULL);
    find_place(call, session->paths->cwd, object);
    call->title = format_title(call, object);
    predict(call, replayed);
    session->calls =
        ik_resize_array(session, session->calls, ik_acp_call_t *, session->call_count + 1);
    session->calls[session->call_count++] = call;
    ik_acp_update_begin(&update, session, "tool_call");
    ik_json_add_text(&update, "toolCallId", call->id);
    append_facts(&update, call);
    ik_json_add_text(&update, "status", "pending");
    if (call->after != NULL) {
        ik_buffer_append_text(&update, ",\"content\":[");
        append_diff(&update, call);
        ik_buffer_append_byte(&update, ']');
    }
    ik_acp_update_send(session, &update);
    return call;
}

void ik_acp_call_announce(ik_acp_session_t *session, const ik_msg_t *message, bool replayed)
{
    void *scratch = talloc_new(NULL);
    ik_json_span_t literal;
    size_t len = 0;
    char *id = ik_msg_field_text(scratch, message, "id");
    char *name =
        ik_msg_call_field(message, "name", &literal) ? ik_json_decode(scratch, literal, NULL) : "";
    char *arguments = ik_msg_call_field(message, "arguments", &literal)
                          ? ik_json_decode(scratch, literal, &len)
                          : "";
    if (id != NULL) {
        add_call(session, id, name, arguments, len, replayed);
    }
    talloc_free(scratch);
}

void ik_acp_call_describe(ik_acp_session_t *session, ik_buffer_t *out,
                          const ik_permission_question_t *question, const char *asker)
{
    ik_acp_call_t *call = find_call(session, question->call_id);
    if (call == NULL) {
        char *id = ik_sprintf(NULL, "%s-%zu", question->call_id, session->call_count);
        call = add_call(session, id, question->tool, question->arguments, question->arguments_len,
                        false);
        talloc_free(id);
    } else {
        predict(call, false); /* the file may have changed */
    }
    char *why = ik_sprintf(NULL, "%s%s: %s.%s%s", asker == NULL ? "" : asker,
                           asker == NULL ? "Wants" : " wants", question->wants,
                           question->reason == NULL ? "" : " Reason: ",
                           question->reason == NULL ? "" : question->reason);
    ik_buffer_append_text(out, "{\"toolCallId\":");
    ik_json_append_text(out, call->id);
    append_facts(out, call);
    ik_buffer_append_text(out, ",\"status\":\"pending\",\"content\":[");
    append_text(out, why, strlen(why));
    if (call->after != NULL) {
        ik_buffer_append_byte(out, ',');
        append_diff(out, call);
    }
    ik_buffer_append_text(out, "]}");
    talloc_free(why);
}

void ik_acp_call_start(ik_acp_session_t *session, const ik_msg_t *message)
{
    ik_acp_call_t *call = call_of(session, message, "id");
    if (call != NULL) {
        predict(call, false);
        send_status(session, call, "in_progress");
    }
}

/* --- progress ---------------------------------------------------------------------------- */

static void send_progress(ik_acp_session_t *session, ik_acp_call_t *call)
{
    ik_buffer_t update;
    call->output_due = false;
    call->output_ms = ik_clock_now_ms();
    ik_acp_update_begin(&update, session, "tool_call_update");
    ik_json_add_text(&update, "toolCallId", call->id);
    ik_buffer_append_text(&update, ",\"content\":[");
    append_output(&update, call->output.data, call->output.len);
    ik_buffer_append_byte(&update, ']');
    ik_acp_update_send(session, &update);
}

static void on_progress_due(void *data)
{
    ik_acp_session_t *session = data;
    for (size_t i = 0; i < session->call_count; i++) {
        if (session->calls[i]->output_due) {
            send_progress(session, session->calls[i]);
        }
    }
}

void ik_acp_call_progress(ik_acp_session_t *session, const ik_msg_t *message, const char *text,
                          size_t len)
{
    ik_acp_call_t *call = call_of(session, message, "id");
    if (call == NULL || call->has_ended) {
        return;
    }
    ik_buffer_append(&call->output, text, len);
    if (call->output.len > OUTPUT_MAX) { /* the end says most */
        size_t drop = call->output.len - OUTPUT_MAX / 2;
        while (drop < call->output.len && ((unsigned char)call->output.data[drop] & 0xc0) == 0x80) {
            drop++;
        }
        memmove(call->output.data, call->output.data + drop, call->output.len - drop + 1);
        call->output.len -= drop;
        call->output.dropped = 0;
    }
    int64_t wait = call->output_ms + PROGRESS_MS - ik_clock_now_ms();
    if (call->output_due) {
        return;
    }
    call->output_due = true;
    if (session->progress == NULL) {
        session->progress =
            ik_timer_create(session, session->acp->options->loop, on_progress_due, session);
    }
    ik_timer_start(session->progress, wait < 0 ? 0 : wait);
}

/* --- the end ----------------------------------------------------------------------------- */

/* The text of a result for people, on ctx. */
static char *format_result(const void *ctx, ik_json_span_t envelope, ik_json_span_t result,
                           size_t *len)
{
    static const char *const members[] = {"error", "stdout", "stderr"};
    ik_json_span_t text;
    ik_buffer_t out;
    if (ik_json_find_kind(result, "output", IK_JSON_STRING, &text)) {
        return ik_json_decode(ctx, text, len);
    }
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the envelope */
    ik_json_span_t holder = result.len > 0 ? result : envelope;
    for (size_t i = 0; i < IK_LENGTH(members); i++) {
        if (ik_json_find_kind(holder, members[i], IK_JSON_STRING, &text) && text.len > 2) {
            ik_buffer_append_text(&out, out.len == 0 ? "" : "\n");
            ik_json_append_decoded(&out, text);
        }
    }
    if (out.len == 0) {
        ik_buffer_append(&out, holder.text, holder.len);
    }
    *len = out.len;
    return ik_buffer_finish(&out);
}

static void append_images(ik_buffer_t *out, const ik_acp_session_t *session,
                          const ik_msg_t *message, bool first)
{
    void *scratch = talloc_new(NULL);
    ik_msg_image_t *images;
    size_t count = ik_msg_images(scratch, message, &images);
    for (size_t i = 0; i < count; i++) {
        char *bytes;
        size_t len;
        res_t read = ik_blob_get(scratch, session->paths->images, images[i].sha256.hex,
                                 IK_IMAGE_BYTES_MAX, &bytes, &len);
        if (is_ok(&read)) {
            ik_buffer_append_format(out,
                                    "%s{\"type\":\"content\",\"content\":{\"type\":\"image\","
                                    "\"mimeType\":\"%s\",\"data\":\"",
                                    first ? "" : ",", images[i].media_type);
            ik_base64_append(out, bytes, len);
            ik_buffer_append_text(out, "\"}}");
            first = false;
        }
    }
    talloc_free(scratch);
}

/* What the file became, if it can be read. */
static void read_after(ik_acp_call_t *call)
{
    bool missing;
    char *now =
        call->after == NULL || call->by_editor ? NULL : read_text(call, call->path, &missing);
    if (now != NULL) {
        talloc_free(call->after);
        call->after = now;
    }
}

void ik_acp_call_note_file(ik_acp_session_t *session, const char *path, const char *text,
                           bool written)
{
    for (size_t i = session->call_count; i > 0; i--) {
        ik_acp_call_t *call = session->calls[i - 1];
        if (call->changes && !call->has_ended && call->path != NULL &&
            strcmp(call->path, path) == 0) {
            char **member = written ? &call->after : &call->before;
            talloc_free(*member);
            *member = ik_strdup(call, text);
            call->by_editor = call->by_editor || written;
            return;
        }
    }
}

void ik_acp_call_end(ik_acp_session_t *session, const ik_msg_t *message)
{
    ik_acp_call_t *call = call_of(session, message, "tool_call_id");
    ik_json_span_t envelope = {0}, result = {0}, fields;
    ik_tool_fields_t shown;
    size_t len = 0;
    if (call == NULL || call->has_ended) {
        return;
    }
    void *scratch = talloc_new(NULL);
    char *output = ik_msg_field_text(scratch, message, "output");
    bool valid = output != NULL && ik_json_scan(output, strlen(output), &envelope, NULL);
    bool success = valid && ik_json_find(envelope, "tool_success", &fields) &&
                   fields.text[0] == 't' && ik_json_find(envelope, "result", &result);
    bool failed = !success || (ik_tool_fields_of_envelope(output, strlen(output), &shown) &&
                               ik_tool_fields_is_failure(&shown));
    ik_buffer_t update;
    call->has_ended = true;
    call->output_due = false;
    ik_acp_update_begin(&update, session, "tool_call_update");
    ik_json_add_text(&update, "toolCallId", call->id);
    ik_json_add_text(&update, "status", failed ? "failed" : "completed");
    ik_buffer_append_text(&update, ",\"content\":[");
    if (!failed && call->after != NULL) {
        if (session->prompt != NULL) {
            read_after(call);
        }
        append_diff(&update, call);
    } else if (valid) {
        char *text = format_result(scratch, envelope, result, &len);
        if (len > 0) {
            append_output(&update, text, len);
        }
    }
    append_images(&update, session, message, update.data[update.len - 1] == '[');
    ik_buffer_append_byte(&update, ']');
    if (valid) {
        ik_json_begin_member(&update, "rawOutput");
        ik_buffer_append(&update, success ? result.text : envelope.text,
                         success ? result.len : envelope.len);
    }
    ik_acp_update_send(session, &update);
    if (!failed && strcmp(call->name, "todo") == 0) {
        ik_acp_update_plan(session, result);
    }
    talloc_free(scratch);
}

void ik_acp_call_clear(ik_acp_session_t *session)
{
    for (size_t i = 0; i < session->call_count; i++) {
        ik_acp_call_t *call = session->calls[i];
        if (!call->has_ended) { /* of a sub-agent or a command: only its question was reported */
            bool bad = session->cancelled || session->error != NULL;
            send_status(session, call, bad ? "failed" : "completed");
        }
        talloc_free(call);
    }
    TALLOC_FREE(session->calls);
    session->call_count = 0;
}
