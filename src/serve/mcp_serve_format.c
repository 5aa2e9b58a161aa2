#include "serve/mcp_serve_format.h"

#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/blob.h"
#include "base/image.h"
#include "base/json.h"
#include "rpc/elicitation.h"

enum {
    /* The tools are found once, when the server starts; a new connection starts a new server. */
    LIST_FRESH_MS = 3600 * 1000,
    QUESTION_ARGUMENTS_MAX = 4096,
};

static const char server_info[] = "\"io.modelcontextprotocol/serverInfo\":"
                                  "{\"name\":\"ikigai\",\"version\":\"" IKIGAI_VERSION "\"}";

/* Begins a text that holds whole tool results, which are bounded by max_output_size. */
static void begin(ik_buffer_t *out, const void *ctx)
{
    ik_buffer_init(out, ctx, IK_BUFFER_UNLIMITED);
}

/* notes, of length 0 for none, go where a client that expects the result alone does not meet them.
 */
static char *finish(ik_buffer_t *out, ik_json_span_t notes, bool modern)
{
    if (modern) {
        ik_buffer_append_text(out, ",\"resultType\":\"complete\"");
    }
    if (modern || notes.len > 0) {
        ik_buffer_append_format(out, ",\"_meta\":{%s%s", modern ? server_info : "",
                                modern && notes.len > 0 ? "," : "");
        if (notes.len > 0) {
            ik_buffer_append_text(out, "\"ikigai/notes\":");
            ik_buffer_append(out, notes.text, notes.len);
        }
        ik_buffer_append_byte(out, '}');
    }
    ik_buffer_append_byte(out, '}');
    return ik_buffer_finish(out);
}

char *ik_mcp_serve_format_result(const void *ctx, const char *text, bool modern)
{
    ik_buffer_t out;
    begin(&out, ctx);
    ik_buffer_append_text(&out, text);
    return finish(&out, (ik_json_span_t){0}, modern);
}

/* --- the list of tools ------------------------------------------------------------------- */

static void append_tool(ik_buffer_t *out, const ik_tool_registry_entry_t *entry)
{
    ik_effects_t effects;
    if (!ik_tool_registry_effects(entry, &effects)) {
        effects = (ik_effects_t){.write = IK_WRITE_ANYWHERE, .network = true};
    }
    const char *reads = effects.write == IK_WRITE_NONE ? "true" : "false";
    const char *writes = effects.write == IK_WRITE_NONE ? "false" : "true";
    char *parameters = ik_json_format(NULL, entry->schema->parameters);
    ik_buffer_append_text(out, "{\"name\":");
    ik_json_append_text(out, entry->name);
    ik_buffer_append_text(out, ",\"description\":");
    ik_json_append_text(out, entry->schema->description);
    ik_buffer_append_format(out,
                            ",\"inputSchema\":%s,\"annotations\":{\"readOnlyHint\":%s,"
                            "\"destructiveHint\":%s,\"openWorldHint\":%s}}",
                            parameters, reads, writes, effects.network ? "true" : "false");
    talloc_free(parameters);
}

char *ik_mcp_serve_format_tools(const void *ctx, const ik_tool_registry_t *registry, bool modern)
{
    ik_buffer_t out;
    begin(&out, ctx);
    ik_buffer_append_text(&out, "{\"tools\":[");
    for (size_t i = 0; i < registry->count; i++) {
        if (i > 0) {
            ik_buffer_append_byte(&out, ',');
        }
        append_tool(&out, registry->entries[i]);
    }
    ik_buffer_append_byte(&out, ']');
    if (modern) {
        ik_buffer_append_format(&out, ",\"ttlMs\":%d,\"cacheScope\":\"private\"", LIST_FRESH_MS);
    }
    return finish(&out, (ik_json_span_t){0}, modern);
}

/* --- results ----------------------------------------------------------------------------- */

static void append_text_block(ik_buffer_t *out, const char *text, size_t len)
{
    ik_buffer_append_text(out, "{\"type\":\"text\",\"text\":");
    ik_json_append_string(out, text, len);
    ik_buffer_append_byte(out, '}');
}

/* An image that cannot be read is named instead. */
static void append_image_block(ik_buffer_t *out, const ik_msg_image_t *image, const char *blobs)
{
    char *bytes;
    size_t len;
    res_t got = ik_blob_get(NULL, blobs, image->sha256.hex, IK_IMAGE_BYTES_MAX, &bytes, &len);
    ik_buffer_append_byte(out, ',');
    if (is_err(&got)) {
        char *marker = ik_msg_image_marker(NULL, image, "cannot be read");
        append_text_block(out, marker, strlen(marker));
        talloc_free(marker);
        return;
    }
    ik_buffer_append_text(out, "{\"type\":\"image\",\"data\":\"");
    ik_base64_append(out, bytes, len);
    ik_buffer_append_format(out, "\",\"mimeType\":\"%s\"}", image->media_type);
    talloc_free(bytes);
}

/* The members of an envelope besides the two that describe it; length 0 when there are none. */
static ik_json_span_t rest_of_envelope(const void *ctx, ik_json_span_t envelope)
{
    ik_buffer_t rest;
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t value;
    begin(&rest, ctx);
    while (ik_json_next_member(envelope, &position, &key, &value)) {
        if (!ik_json_key_is(key, "tool_success") && !ik_json_key_is(key, "result")) {
            ik_buffer_append_byte(&rest, rest.len == 0 ? '{' : ',');
            ik_buffer_append(&rest, key.text, key.len);
            ik_buffer_append_byte(&rest, ':');
            ik_buffer_append(&rest, value.text, value.len);
        }
    }
    if (rest.len > 0) {
        ik_buffer_append_byte(&rest, '}');
    }
    return (ik_json_span_t){rest.data, rest.len};
}

char *ik_mcp_serve_format_call(const void *ctx, const ik_tool_result_t *result, const char *blobs,
                               bool modern)
{
    ik_buffer_t out;
    ik_json_span_t envelope;
    ik_json_span_t answer;
    ik_json_span_t code;
    void *scratch = talloc_new(NULL);
    begin(&out, ctx);
    ik_json_scan(result->envelope, strlen(result->envelope), &envelope, NULL);
    ik_json_span_t rest = rest_of_envelope(scratch, envelope);
    if (!result->success || !ik_json_find(envelope, "result", &answer)) {
        answer = rest;
        rest.len = 0;
    }
    bool failed = !result->success ||
                  (ik_json_is(answer, IK_JSON_OBJECT) &&
                   ik_json_find(answer, "error_code", &code) && ik_json_kind(code) != IK_JSON_NULL);
    ik_buffer_append_text(&out, "{\"content\":[");
    append_text_block(&out, answer.text, answer.len);
    for (size_t i = 0; i < result->image_count; i++) {
        append_image_block(&out, &result->images[i], blobs);
    }
    ik_buffer_append_byte(&out, ']');
    if (ik_json_is(answer, IK_JSON_OBJECT)) {
        ik_buffer_append_text(&out, ",\"structuredContent\":");
        ik_buffer_append(&out, answer.text, answer.len);
    }
    ik_buffer_append_format(&out, ",\"isError\":%s", failed ? "true" : "false");
    char *text = finish(&out, rest, modern);
    talloc_free(scratch);
    return text;
}

/* --- questions --------------------------------------------------------------------------- */

char *ik_mcp_serve_format_question(const void *ctx, const ik_permission_question_t *question)
{
    ik_buffer_t out;
    size_t shown = question->arguments_len;
    bool cut = shown > QUESTION_ARGUMENTS_MAX;
    char *message = ik_sprintf(
        NULL, "Allow %s? It would be allowed: %s.%s%s\nArguments: %.*s%s", question->tool,
        question->wants, question->reason == NULL ? "" : "\nReason: ",
        question->reason == NULL ? "" : question->reason,
        (int)(cut ? QUESTION_ARGUMENTS_MAX : shown), question->arguments, cut ? " …" : "");
    begin(&out, ctx);
    ik_buffer_append_text(&out, "{\"mode\":\"form\",\"message\":");
    ik_json_append_text(&out, message);
    ik_buffer_append_text(&out, ",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}");
    talloc_free(message);
    return ik_buffer_finish(&out);
}

char *ik_mcp_serve_format_ask(const void *ctx, const ik_host_question_t *question)
{
    ik_buffer_t out;
    begin(&out, ctx);
    ik_buffer_append_text(&out, "{\"mode\":\"form\"");
    ik_json_add_text(&out, "message", question->text);
    ik_json_begin_member(&out, "requestedSchema");
    ik_elicitation_append_schema(&out, question->choices, question->fallback);
    ik_buffer_append_byte(&out, '}');
    return ik_buffer_finish(&out);
}

char *ik_mcp_serve_format_input_required(const void *ctx, const char *input, const char *question,
                                         const char *state)
{
    return ik_sprintf(ctx,
                      "{\"resultType\":\"input_required\",\"inputRequests\":{\"%s\":"
                      "{\"method\":\"elicitation/"
                      "create\",\"params\":%s}},\"requestState\":\"%s\",\"_meta\":{%s}}",
                      input, question, state, server_info);
}
