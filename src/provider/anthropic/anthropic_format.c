/*
 * Requests to Anthropic's Messages API. The prompt cache holds the prefix of tools, system prompt
 * and messages up to a mark (cache_control), and a request may have four marks: one is on the
 * tools, one on the system prompt, one on the end of the messages, and one where the messages ended
 * in the previous request, which is the prefix that the cache holds.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/url_host.h"
#include "provider/anthropic/anthropic_stream.h"
#include "provider/blocks.h"
#include "provider/words.h"

#define CACHE_MARK ",\"cache_control\":{\"type\":\"ephemeral\"}"

enum { MAX_TOKENS_WANTED = 32000, MAX_TOKENS_UNKNOWN = 8192, BUDGET_MIN = 1024 };

/* --- where to ---------------------------------------------------------------------------- */

static char *format_url(const void *ctx, const ik_request_t *request)
{
    return ik_url_host_append(ctx, request->target->config->base_url, "/v1/messages");
}

/* Gateways know only the first version of the API. The newer one removes nothing that is sent here,
 * so the same requests suit both. */
static const char *version_for(const char *base_url)
{
    bool is_anthropic = ik_url_host_is(ik_url_host_find(base_url), "api.anthropic.com");
    return is_anthropic ? "2026-10-21" : "2023-06-01";
}

static char **format_headers(const void *ctx, const ik_request_t *request)
{
    const ik_config_provider_t *config = request->target->config;
    char **headers = ik_new_array(ctx, char *, 4);
    size_t count = 0;
    headers[count++] = ik_strdup(headers, "content-type: application/json");
    headers[count++] = ik_sprintf(headers, "anthropic-version: %s", version_for(config->base_url));
    if (config->api_key != NULL) {
        headers[count++] = ik_sprintf(headers, "x-api-key: %s", config->api_key);
    }
    return headers;
}

/* --- head -------------------------------------------------------------------------------- */

static void format_tools(ik_buffer_t *out, const ik_request_t *request)
{
    for (size_t i = 0; i < request->tool_count; i++) {
        const ik_request_tool_t *tool = &request->tools[i];
        char *schema = ik_json_format(NULL, tool->parameters);
        ik_buffer_append_text(out, i == 0 ? "[{\"name\":" : ",{\"name\":");
        ik_json_append_text(out, tool->name);
        if (!ik_msg_text_is_blank(tool->description)) {
            ik_buffer_append_text(out, ",\"description\":");
            ik_json_append_text(out, tool->description);
        }
        ik_buffer_append_text(out, ",\"input_schema\":");
        ik_buffer_append_text(out, schema);
        ik_buffer_append_byte(out, '}');
        talloc_free(schema);
    }
    ik_buffer_append_text(out, request->tool_count == 0 ? "" : "]");
}

static long long max_tokens(const ik_request_t *request)
{
    int64_t limit = request->target->facts->max_output;
    if (request->max_output_tokens > 0) {
        return request->max_output_tokens;
    }
    if (limit <= 0) {
        return MAX_TOKENS_UNKNOWN;
    }
    return limit < MAX_TOKENS_WANTED ? limit : MAX_TOKENS_WANTED;
}

/* The budget of models that think with one; 0: no thinking. At least half of the output is left for
 * the answer. */
static long long thinking_budget(const ik_request_t *request)
{
    static const struct {
        const char *effort;
        long long tokens;
    } budgets[] = {
        {"minimal", BUDGET_MIN}, {"low", 4096},    {"medium", 10000},
        {"high", 20000},         {"xhigh", 32000}, {"max", 64000},
    };
    long long room = max_tokens(request) / 2;
    for (size_t i = 0; i < IK_LENGTH(budgets); i++) {
        if (strcmp(request->effort, budgets[i].effort) == 0) {
            long long budget = budgets[i].tokens < room ? budgets[i].tokens : room;
            return budget < BUDGET_MIN ? 0 : budget;
        }
    }
    return 0;
}

/* Whether a step of this turn goes back without its thinking: another model made it, or the
 * conversation was shortened since. */
static bool lost_thinking(const ik_request_t *request)
{
    const ik_conversation_t *conversation = request->conversation;
    bool shortened = false;
    for (size_t i = conversation->count; i > 0; i--) {
        const ik_msg_t *message = conversation->messages[i - 1];
        ik_json_span_t model;
        if (ik_msg_is(message, IK_MSG_USER)) {
            return false;
        }
        shortened =
            shortened || (ik_msg_is(message, IK_MSG_COMPACTION) && !ik_msg_is_image_drop(message));
        if (ik_msg_begins_step(message) && ik_msg_field(message, "model", &model) &&
            (shortened || !ik_json_is_text(model, request->target->name))) {
            return true;
        }
    }
    return false;
}

/* A model with a budget expects its thinking in every step of the turn: where reasoning was
 * dropped, it must not think. */
static void append_thinking(ik_buffer_t *out, const ik_request_t *request)
{
    ik_model_thinking_t thinking = request->target->facts->thinking;
    if (!ik_request_may_send(request, IK_FIELD_THINKING)) {
        return;
    }
    if (thinking == IK_MODEL_THINKING_ADAPTIVE) {
        ik_buffer_append_text(out,
                              ",\"thinking\":{\"type\":\"adaptive\",\"display\":\"summarized\"}");
    } else if (thinking == IK_MODEL_THINKING_BUDGET && request->effort != NULL &&
               request->drop_reasoning == 0 && !lost_thinking(request) &&
               thinking_budget(request) > 0) {
        ik_buffer_append_format(out, ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":%lld}",
                                thinking_budget(request));
    }
}

/* The lowest effort that the API knows is "low". */
static void append_effort(ik_buffer_t *out, const ik_request_t *request)
{
    const char *effort = request->effort;
    if (effort == NULL || request->target->facts->thinking != IK_MODEL_THINKING_ADAPTIVE ||
        !ik_request_may_send(request, IK_FIELD_EFFORT)) {
        return;
    }
    bool below = strcmp(effort, "none") == 0 || strcmp(effort, "minimal") == 0;
    ik_buffer_append_text(out, ",\"output_config\":{\"effort\":");
    ik_json_append_text(out, below ? "low" : effort);
    ik_buffer_append_byte(out, '}');
}

static void append_mark(ik_buffer_t *out, const ik_request_t *request)
{
    if (ik_request_may_send(request, IK_FIELD_CACHE_CONTROL)) {
        ik_buffer_append_text(out, CACHE_MARK);
    }
}

/* The mark goes into the last tool, before the "}]" that ends the list. Another tool_choice voids
 * the cache of the messages, so a closing message has to forbid tools by its words. */
static void append_tools(ik_buffer_t *out, const ik_request_t *request, ik_json_span_t tools)
{
    if (tools.len == 0) {
        return;
    }
    ik_buffer_append_text(out, ",\"tools\":");
    ik_buffer_append(out, tools.text, tools.len - 2);
    append_mark(out, request);
    ik_buffer_append_text(out, "}]");
    if (request->forbid_tools && request->closing == NULL &&
        ik_request_may_send(request, IK_FIELD_TOOL_CHOICE)) {
        ik_buffer_append_text(out, ",\"tool_choice\":{\"type\":\"none\"}");
    }
}

static void append_system(ik_buffer_t *out, const ik_request_t *request)
{
    if (ik_msg_text_is_blank(request->system)) {
        return;
    }
    ik_buffer_append_text(out, ",\"system\":[{\"type\":\"text\",\"text\":");
    ik_json_append_text(out, request->system);
    append_mark(out, request);
    ik_buffer_append_text(out, "}]");
}

static void format_head(ik_buffer_t *out, const ik_request_t *request, ik_json_span_t tools)
{
    ik_buffer_append_text(out, "{\"model\":");
    ik_json_append_text(out, request->target->model);
    ik_buffer_append_format(out, ",\"max_tokens\":%lld,\"stream\":true", max_tokens(request));
    append_thinking(out, request);
    append_effort(out, request);
    append_tools(out, request, tools);
    append_system(out, request);
    ik_buffer_append_text(out, ",\"messages\":[");
}

/* --- messages ---------------------------------------------------------------------------- */

static void append_text(ik_blocks_t *blocks, const ik_msg_t *message)
{
    if (!ik_msg_text_is_blank(message->content)) {
        ik_buffer_t *out = ik_blocks_begin(blocks);
        ik_buffer_append_text(out, "{\"type\":\"text\",\"text\":\"");
        ik_words_append(out, message->content);
        ik_buffer_append_text(out, "\"}");
    }
}

static void append_image(ik_blocks_t *blocks, ik_wire_image_t *image)
{
    ik_buffer_t *out = ik_blocks_begin(blocks);
    if (!ik_wire_image_append(blocks->wire, blocks->request, image,
                              "{\"type\":\"image\",\"source\":{\"type\":\"base64\","
                              "\"media_type\":\"%s\",\"data\":\"",
                              "\"}}")) {
        ik_buffer_append_text(out, "{\"type\":\"text\",\"text\":\"");
        ik_wire_image_append_marker(out, image);
        ik_buffer_append_text(out, "\"}");
    }
}

/* The envelope is a string or, with images, the first block of a list. */
static void append_content(ik_blocks_t *blocks, ik_buffer_t *out, const ik_msg_t *result)
{
    size_t position = 0;
    ik_wire_image_t *image = ik_wire_image_next(blocks->wire, result, &position);
    if (image == NULL) {
        ik_wire_append_output_text(blocks->wire, blocks->request, out, result);
        return;
    }
    ik_buffer_append_text(out, "[{\"type\":\"text\",\"text\":");
    ik_wire_append_output_text(blocks->wire, blocks->request, out, result);
    ik_buffer_append_byte(out, '}');
    while (image != NULL) {
        append_image(blocks, image);
        image = ik_wire_image_next(blocks->wire, result, &position);
    }
    ik_buffer_append_byte(out, ']');
}

static void append_result(ik_blocks_t *blocks, const ik_msg_t *result)
{
    ik_buffer_t *out = ik_blocks_begin(blocks);
    ik_buffer_append_text(out, "{\"type\":\"tool_result\",\"tool_use_id\":");
    ik_wire_append_id(out, blocks->request, result, false);
    ik_buffer_append_text(out, ",\"content\":");
    append_content(blocks, out, result);
    ik_json_span_t success;
    bool failed = ik_msg_field(result, "success", &success) && success.text[0] == 'f';
    ik_buffer_append_text(out, failed ? ",\"is_error\":true}" : "}");
}

static bool has_type(ik_json_span_t block, const char *name)
{
    ik_json_span_t type;
    return ik_json_find(block, "type", &type) && ik_json_is_text(type, name);
}

static bool is_call(ik_json_span_t block)
{
    return has_type(block, "tool_use");
}

static bool is_words(ik_json_span_t block)
{
    return has_type(block, "text");
}

static void append_call(ik_blocks_t *blocks, const ik_msg_t *call, ik_json_span_t placeholder,
                        bool first)
{
    static const char *const own[] = {"type", "id", "name", "input", NULL};
    ik_buffer_t *out = ik_blocks_begin(blocks);
    ik_json_span_t name;
    (void)first;
    ik_buffer_append_text(out, "{\"type\":\"tool_use\",\"id\":");
    ik_wire_append_id(out, blocks->request, call, false);
    if (ik_msg_call_field(call, "name", &name)) {
        ik_buffer_append_text(out, ",\"name\":");
        ik_buffer_append(out, name.text, name.len);
    }
    ik_buffer_append_text(out, ",\"input\":");
    ik_wire_append_arguments(out, call);
    ik_blocks_append_members(out, placeholder, own);
    ik_buffer_append_byte(out, '}');
}

static const ik_blocks_format_t blocks_format = {
    .user = "{\"role\":\"user\",\"content\":[",
    .model = "{\"role\":\"assistant\",\"content\":[",
    .images_first = true,
    .is_call = is_call,
    .is_words = is_words,
    .append_text = append_text,
    .append_image = append_image,
    .append_result = append_result,
    .append_call = append_call,
};

static void format_group(ik_wire_t *wire, const ik_request_t *request, ik_msg_t *const *messages,
                         size_t count)
{
    size_t mark = ik_blocks_format_group(&blocks_format, wire, request, messages, count);
    bool may_mark = ik_request_may_send(request, IK_FIELD_CACHE_CONTROL);
    wire->mark_member = may_mark ? CACHE_MARK : NULL;
    if (mark != SIZE_MAX) {
        wire->mark = mark;
    }
}

const ik_provider_t ik_provider_anthropic = {
    .name = "anthropic",
    .reasoning_is_bound = true,
    .format_url = format_url,
    .format_headers = format_headers,
    .format_tools = format_tools,
    .format_head = format_head,
    .format_group = format_group,
    .stream_begin = ik_anthropic_stream_begin,
    .stream_event = ik_anthropic_stream_event,
    .stream_end = ik_anthropic_stream_end,
};
