#include "conversation/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/image.h"
#include "base/json_clean.h"
#include "base/utf8.h"
#include "conversation/figure.h"
#include "conversation/summary.h"

/* --- creating ---------------------------------------------------------------------------- */

/* Returns the constant for a kind, so that messages need no copy; NULL for unknown kinds. */
static const char *find_kind(const char *kind)
{
    static const char *const kinds[] = {
        IK_MSG_USER,       IK_MSG_ASSISTANT,  IK_MSG_TOOL_CALL, IK_MSG_TOOL_RESULT, IK_MSG_SYSTEM,
        IK_MSG_COMPACTION, IK_MSG_CHECKPOINT, IK_MSG_UNDO,      IK_MSG_REDO,
    };
    for (size_t i = 0; i < IK_LENGTH(kinds); i++) {
        if (strcmp(kinds[i], kind) == 0) {
            return kinds[i];
        }
    }
    return NULL;
}

/* A longer text has its own block: talloc refuses blocks of 256 MB, and taking over a buffer of
 * that size is better than copying it. */
enum { LONG_TEXT = 1 << 20 };

/* Returns how many bytes the text needs in the block of the message. */
static size_t room_for(const char *text, size_t len)
{
    return text == NULL || len > LONG_TEXT ? 0 : len + 1;
}

/* Copies a text into the block of the message, or into its own block. */
static const char *keep(ik_msg_t *message, char **room, const char *text, size_t len)
{
    if (text == NULL) {
        return NULL;
    }
    if (len > LONG_TEXT) {
        ik_buffer_t block;
        ik_buffer_init(&block, message, len);
        ik_buffer_append(&block, text, len);
        return ik_buffer_take(message, &block);
    }
    char *kept = memcpy(*room, text, len);
    kept[len] = '\0';
    *room += len + 1;
    return kept;
}

static size_t length_of(const char *text)
{
    return text == NULL ? 0 : strlen(text);
}

/* A span has no white space around it. */
static ik_json_span_t trim(const char *text, size_t len)
{
    static const char space[] = " \t\r\n";
    while (len > 0 && memchr(space, text[len - 1], sizeof(space) - 1) != NULL) {
        len--;
    }
    while (len > 0 && memchr(space, *text, sizeof(space) - 1) != NULL) {
        text++;
        len--;
    }
    return (ik_json_span_t){text, len};
}

ik_msg_t *ik_msg_create_sized(const void *ctx, const char *kind, const char *content,
                              size_t content_len, const char *data_json, size_t data_len)
{
    const char *known = find_kind(kind);
    const char *unknown = known == NULL ? kind : NULL;
    ik_json_span_t data = trim(data_json, data_json == NULL ? 0 : data_len);
    size_t room = room_for(unknown, length_of(unknown)) + room_for(content, content_len) +
                  room_for(data.text, data.len);
    /* ik_new would clear the room for the texts first. */
    ik_msg_t *message = ik_alloc_resize(ctx, NULL, 1, sizeof(*message) + room, "ik_msg_t");
    char *at = (char *)(message + 1);
    *message = (ik_msg_t){.data_len = data.len};
    message->kind = known != NULL ? known : keep(message, &at, kind, strlen(kind));
    message->content = keep(message, &at, content, content_len);
    message->data_json = keep(message, &at, data.text, data.len);
    return message;
}

ik_msg_t *ik_msg_create(const void *ctx, const char *kind, const char *content,
                        const char *data_json)
{
    return ik_msg_create_sized(ctx, kind, content, length_of(content), data_json,
                               length_of(data_json));
}

ik_msg_t *ik_msg_copy(const void *ctx, const ik_msg_t *message)
{
    ik_msg_t *copy =
        ik_msg_create_sized(ctx, message->kind, message->content, length_of(message->content),
                            message->data_json, message->data_len);
    copy->clean = message->clean;
    copy->output_at = message->output_at;
    return copy;
}

/* Before the value of the last member of a result. */
static const char output_key[] = ",\"output\":";

/* Closes the object in the buffer, if there is one, and makes it the data of a message. */
static ik_msg_t *take_data(const void *ctx, const char *kind, const char *content,
                           ik_buffer_t *data)
{
    if (data->len > 0) {
        ik_buffer_append_byte(data, '}');
    }
    bool whole = data->len > LONG_TEXT;
    ik_msg_t *message = ik_msg_create_sized(ctx, kind, content, length_of(content),
                                            whole ? NULL : data->data, data->len);
    if (whole) {
        message->data_len = data->len;
        message->data_json = ik_buffer_take(message, data);
    }
    ik_buffer_reset(data);
    return message;
}

static void add_text(ik_buffer_t *out, const char *name, const char *text)
{
    if (text != NULL) {
        ik_json_add_text(out, name, text);
    }
}

static void add_number(ik_buffer_t *out, const char *name, int64_t number, int64_t absent)
{
    if (number != absent) {
        ik_json_add_number(out, name, number);
    }
}

static void add_true(ik_buffer_t *out, const char *name, bool value)
{
    if (value) {
        ik_json_begin_member(out, name);
        ik_buffer_append_text(out, "true");
    }
}

static void add_step(ik_buffer_t *out, const ik_msg_step_t *step)
{
    if (step == NULL) {
        return;
    }
    add_text(out, "model", step->model);
    add_text(out, "stop", step->stop);
    add_true(out, "incomplete", step->incomplete);
    add_true(out, "refused", step->refused);
    if (ik_usage_known(&step->usage)) {
        ik_json_begin_member(out, "usage");
        ik_usage_format(out, &step->usage);
    }
    if (step->cost > 0) {
        ik_json_begin_member(out, "cost_usd");
        ik_buffer_append_format(out, "%.6f", step->cost);
    }
    add_text(out, "reasoning", step->reasoning);
    if (step->private_json != NULL) {
        add_number(out, "step", (int64_t)step->messages, 0);
        ik_json_begin_member(out, "calls");
        ik_buffer_append_byte(out, '[');
        for (size_t i = 0; i < step->call_count; i++) {
            ik_buffer_append_text(out, i == 0 ? "" : ",");
            ik_json_append_text(out, step->call_ids[i]);
        }
        ik_buffer_append_byte(out, ']');
        add_number(out, "prefix", step->prefix, 0);
        ik_json_begin_member(out, step->provider);
        ik_buffer_append_text(out, step->private_json);
    }
}

ik_msg_t *ik_msg_create_assistant(const void *ctx, const char *text, const ik_msg_step_t *step)
{
    ik_buffer_t data;
    ik_buffer_init(&data, NULL, IK_BUFFER_UNLIMITED); /* bounded by the message */
    add_step(&data, step);
    return take_data(ctx, IK_MSG_ASSISTANT, text, &data);
}

/* Writes the name as a valid tool name: providers refuse a conversation with any other. */
static void add_usable_name(ik_buffer_t *out, const char *name)
{
    char usable[IK_MSG_NAME_MAX + 1];
    snprintf(usable, sizeof(usable), "%s", *name == '\0' ? "unknown" : name);
    for (char *c = usable; *c != '\0'; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
        bool digit = (*c >= '0' && *c <= '9') || *c == '-';
        if (!letter && !(digit && c > usable)) {
            *c = '_';
        }
    }
    ik_json_append_text(out, usable);
}

static bool is_clean_object(const char *text, size_t len)
{
    ik_json_span_t value;
    return ik_json_scan(text, len, &value, NULL) && ik_json_kind(value) == IK_JSON_OBJECT &&
           ik_json_is_clean(value);
}

ik_msg_t *ik_msg_create_call(const void *ctx, const ik_msg_call_t *call, const ik_msg_step_t *step)
{
    ik_buffer_t data;
    ik_buffer_init(&data, NULL, IK_BUFFER_UNLIMITED); /* bounded by the message */
    add_text(&data, "id", call->id);
    add_text(&data, "type", "function");
    ik_json_begin_member(&data, "function");
    ik_buffer_append_text(&data, "{\"name\":");
    add_usable_name(&data, call->name);
    ik_buffer_append_text(&data, ",\"arguments\":");
    ik_json_append_string(&data, call->arguments, call->arguments_len);
    ik_buffer_append_byte(&data, '}');
    add_text(&data, "provider", call->provider);
    add_step(&data, step);
    char *summary = ik_summary_of_call(NULL, call->name, call->arguments, call->arguments_len);
    ik_msg_t *message = take_data(ctx, IK_MSG_TOOL_CALL, summary, &data);
    message->clean = is_clean_object(call->arguments, call->arguments_len);
    talloc_free(summary);
    return message;
}

/* --- images ------------------------------------------------------------------------------ */

res_t ik_msg_image_store(const char *folder, const char *name, const char *bytes, size_t len,
                         ik_msg_image_t *image)
{
    ik_image_t facts;
    *image = (ik_msg_image_t){.name = name, .bytes = len};
    TRY(ik_image_check(bytes, len, len, &facts));
    image->media_type = ik_image_media_type(facts.kind);
    image->width = facts.width;
    image->height = facts.height;
    return ik_blob_put(folder, bytes, len, &image->sha256);
}

enum { IMAGE_NAME_MAX = 255 }; /* bytes, as of a file's name */

/* Appends a name as part of one line that a bracket ends: control characters and closing brackets
 * become underscores. It goes into every request, so it cannot be of any length. */
static void append_line(ik_buffer_t *out, const char *name)
{
    const char *end = name + ik_utf8_cut(name, strlen(name), IMAGE_NAME_MAX);
    for (const char *c = name; c < end; c++) {
        bool plain = (unsigned char)*c >= ' ' && *c != 0x7f && *c != ']';
        ik_buffer_append_byte(out, plain ? *c : '_');
    }
}

static void add_images(ik_buffer_t *out, const ik_msg_image_t *images, size_t count)
{
    if (count == 0) {
        return;
    }
    ik_json_begin_member(out, "images");
    for (size_t i = 0; i < count; i++) {
        ik_buffer_t name;
        ik_buffer_init(&name, NULL, IK_BUFFER_UNLIMITED); /* bounded by the image's name */
        append_line(&name, images[i].name);
        ik_buffer_append_text(out, i == 0 ? "[{\"name\":" : ",{\"name\":");
        ik_json_append_string(out, name.data, name.len);
        ik_buffer_append_format(out,
                                ",\"sha256\":\"%s\",\"media_type\":\"%s\",\"bytes\":%" PRIu64
                                ",\"width\":%" PRIu32 ",\"height\":%" PRIu32 "%s}",
                                images[i].sha256.hex, images[i].media_type, images[i].bytes,
                                images[i].width, images[i].height,
                                images[i].for_user ? ",\"audience\":\"user\"" : "");
        ik_buffer_reset(&name);
    }
    ik_buffer_append_byte(out, ']');
}

char *ik_msg_format_images(const void *ctx, const ik_msg_image_t *images, size_t count)
{
    ik_buffer_t data;
    if (count == 0) {
        return NULL;
    }
    ik_buffer_init(&data, ctx, IK_BUFFER_UNLIMITED); /* a line per image */
    add_images(&data, images, count);
    ik_buffer_append_byte(&data, '}');
    return ik_buffer_finish(&data);
}

/* Reads a whole number from 1 to max; 0: it is something else. */
static uint64_t read_count(ik_json_span_t value, uint64_t max)
{
    uint64_t number = 0;
    if (!ik_json_is(value, IK_JSON_NUMBER) || value.len > 12 ||
        strspn(value.text, "0123456789") < value.len) {
        return 0;
    }
    number = strtoull(value.text, NULL, 10);
    return number > max ? 0 : number;
}

static bool read_image(const void *ctx, ik_json_span_t entry, ik_msg_image_t *image)
{
    enum { NAME, SHA256, MEDIA_TYPE, BYTES, WIDTH, HEIGHT, AUDIENCE, COUNT };
    static const char *const names[COUNT] = {"name",  "sha256", "media_type", "bytes",
                                             "width", "height", "audience"};
    ik_json_span_t values[COUNT];
    ik_json_find_members(entry, names, COUNT, values);
    if (!ik_json_is(values[NAME], IK_JSON_STRING) || !ik_json_is(values[SHA256], IK_JSON_STRING) ||
        !ik_json_is(values[MEDIA_TYPE], IK_JSON_STRING) ||
        values[SHA256].len != IK_BLOB_NAME_LEN + 2) {
        return false;
    }
    *image = (ik_msg_image_t){
        .bytes = read_count(values[BYTES], IK_IMAGE_BYTES_MAX),
        .width = (uint32_t)read_count(values[WIDTH], IK_IMAGE_SIDE_MAX),
        .height = (uint32_t)read_count(values[HEIGHT], IK_IMAGE_SIDE_MAX),
        .for_user = ik_json_is_text(values[AUDIENCE], "user"),
    };
    memcpy(image->sha256.hex, values[SHA256].text + 1, IK_BLOB_NAME_LEN);
    char *type = ik_json_decode(NULL, values[MEDIA_TYPE], NULL);
    image->media_type = ik_image_media_type(ik_image_kind_of(type));
    talloc_free(type);
    if (image->bytes == 0 || image->width == 0 || image->height == 0 || image->media_type == NULL ||
        !ik_blob_is_name(image->sha256.hex)) {
        return false;
    }
    char *name = ik_json_decode(NULL, values[NAME], NULL);
    ik_buffer_t line;
    ik_buffer_init(&line, ctx, IK_BUFFER_UNLIMITED); /* bounded by the name */
    ik_buffer_append_text(&line, "");
    append_line(&line, name);
    image->name = ik_buffer_finish(&line);
    talloc_free(name);
    return true;
}

size_t ik_msg_images(const void *ctx, const ik_msg_t *message, ik_msg_image_t **images)
{
    ik_json_span_t list;
    ik_json_span_t entry;
    size_t position = 0;
    size_t count = 0;
    *images = NULL;
    if ((!ik_msg_is(message, IK_MSG_USER) && !ik_msg_is(message, IK_MSG_TOOL_RESULT)) ||
        !ik_msg_field(message, "images", &list) || ik_json_kind(list) != IK_JSON_ARRAY) {
        return 0;
    }
    while (ik_json_next_element(list, &position, &entry)) {
        ik_msg_image_t image;
        if (read_image(ctx, entry, &image)) {
            *images = ik_resize_array(ctx, *images, ik_msg_image_t, count + 1);
            (*images)[count++] = image;
        }
    }
    return count;
}

const char ik_msg_image_dropped[] = "removed to fit the context";

char *ik_msg_image_describe(const void *ctx, const ik_msg_image_t *image)
{
    return ik_sprintf(ctx, "%s, %s, %" PRIu32 "x%" PRIu32 ", %s", image->name, image->media_type,
                      image->width, image->height, ik_figure_of_size((size_t)image->bytes).text);
}

char *ik_msg_image_marker(const void *ctx, const ik_msg_image_t *image, const char *why)
{
    return ik_sprintf(ctx, "[image %s, %s, %" PRIu32 "x%" PRIu32 ", %" PRIu64 " bytes: %s]",
                      image->name, image->media_type, image->width, image->height, image->bytes,
                      why);
}

/* --- results ----------------------------------------------------------------------------- */

/* {"model":…,"usage":…,"cost_usd":…} */
static void add_completions(ik_buffer_t *data, const ik_msg_completions_t *completions)
{
    ik_buffer_t object;
    ik_buffer_init(&object, NULL, IK_BUFFER_UNLIMITED); /* a few figures */
    ik_json_add_text(&object, "model", completions->model);
    ik_json_begin_member(&object, "usage");
    ik_usage_format(&object, &completions->usage);
    if (completions->cost > 0) {
        ik_json_begin_member(&object, "cost_usd");
        ik_buffer_append_format(&object, "%.6f", completions->cost);
    }
    ik_buffer_append(data, object.data, object.len);
    ik_buffer_append_byte(data, '}');
    ik_buffer_reset(&object);
}

ik_msg_t *ik_msg_create_result(const void *ctx, const ik_msg_result_t *result)
{
    ik_buffer_t data;
    ik_buffer_init(&data, NULL, IK_BUFFER_UNLIMITED); /* bounded by the message */
    if (result->completions.model != NULL) {
        /* first, so that results without it are recognised at once (IK_MSG_COMPLETIONS) */
        ik_buffer_append_text(&data, IK_MSG_COMPLETIONS);
        add_completions(&data, &result->completions);
    }
    add_text(&data, "tool_call_id", result->call_id);
    ik_json_begin_member(&data, "name");
    add_usable_name(&data, result->name);
    add_text(&data, "provider", result->provider);
    ik_json_begin_member(&data, "success");
    ik_buffer_append_text(&data, result->success ? "true" : "false");
    add_number(&data, "wall_ms", result->wall_ms, -1);
    add_number(&data, "cpu_us", result->cpu_us, -1);
    add_number(&data, "max_rss_kb", result->max_rss_kb, -1);
    add_text(&data, "display", ik_display_name(result->display));
    add_images(&data, result->images, result->image_count);
    add_text(&data, "stderr", result->err);
    size_t output_at = data.len + strlen(output_key);
    add_text(&data, "output", result->output);
    char *summary = ik_summary_of_result(NULL, result->name, result->output);
    ik_msg_t *message = take_data(ctx, IK_MSG_TOOL_RESULT, summary, &data);
    message->clean = is_clean_object(result->output, strlen(result->output));
    message->output_at = (uint32_t)output_at; /* the members before it are short */
    talloc_free(summary);
    return message;
}

ik_msg_t *ik_msg_create_compaction(const void *ctx, size_t trimmed_results)
{
    char content[80];
    char data[64];
    snprintf(content, sizeof(content), "%zu tool result%s removed to fit the context",
             trimmed_results, trimmed_results == 1 ? "" : "s");
    snprintf(data, sizeof(data), "{\"trimmed_results\":%zu}", trimmed_results);
    return ik_msg_create(ctx, IK_MSG_COMPACTION, content, data);
}

const char *ik_msg_drop_name(ik_msg_drop_t drop)
{
    return drop == IK_MSG_DROP_REASONING ? "reasoning" : "calls";
}

ik_msg_t *ik_msg_create_drop(const void *ctx, ik_msg_drop_t drop, const char *target,
                             size_t trimmed_results)
{
    const char *content =
        drop == IK_MSG_DROP_REASONING
            ? "The provider refused its earlier reasoning; it is left out from now on"
            : "The provider refused earlier tool calls without their reasoning; "
              "they are sent as text from now on";
    ik_buffer_t data;
    ik_buffer_init(&data, NULL, IK_BUFFER_UNLIMITED); /* a few members */
    ik_buffer_append_format(&data, "{\"trimmed_results\":%zu,\"dropped\":\"%s\",\"target\":",
                            trimmed_results, ik_msg_drop_name(drop));
    ik_json_append_text(&data, target);
    ik_buffer_append_byte(&data, '}');
    ik_msg_t *message = ik_msg_create(ctx, IK_MSG_COMPACTION, content, data.data);
    ik_buffer_reset(&data);
    return message;
}

ik_msg_t *ik_msg_create_summary(const void *ctx, const ik_msg_summary_t *summary)
{
    ik_figure_t before = ik_figure_of_count(summary->tokens_before);
    ik_figure_t after = ik_figure_of_count(summary->tokens_after);
    char *content = ik_sprintf(NULL, "%s: %s tokens before, %s after",
                               summary->model == NULL ? "Older messages were removed"
                                                      : "The conversation was summarised",
                               before.text, after.text);
    ik_buffer_t data;
    ik_buffer_init(&data, NULL, IK_BUFFER_UNLIMITED); /* bounded by the summary */
    add_text(&data, "reason", summary->reason);
    add_text(&data, "summary", summary->summary);
    ik_json_add_number(&data, "tokens_before", summary->tokens_before);
    ik_json_add_number(&data, "tokens_after", summary->tokens_after);
    add_text(&data, "focus", summary->focus);
    ik_json_add_number(&data, "covers", (int64_t)summary->covers);
    ik_json_add_number(&data, "words_limit", (int64_t)summary->words_limit);
    ik_msg_step_t step = {.model = summary->model, .usage = summary->usage, .cost = summary->cost};
    add_step(&data, summary->model == NULL ? NULL : &step);
    ik_msg_t *message = take_data(ctx, IK_MSG_COMPACTION, content, &data);
    talloc_free(content);
    return message;
}

static const char *const phases[] = {[IK_MSG_BEFORE] = "before", [IK_MSG_AFTER] = "after"};

ik_msg_t *ik_msg_create_checkpoint(const void *ctx, const ik_msg_checkpoint_t *checkpoint)
{
    ik_buffer_t data;
    ik_buffer_init(&data, NULL, IK_BUFFER_UNLIMITED); /* a few ids */
    ik_json_add_text(&data, "phase", phases[checkpoint->phase]);
    if (checkpoint->next) {
        ik_json_begin_member(&data, "next");
        ik_buffer_append_text(&data, "true");
    }
    if (checkpoint->late) {
        ik_json_begin_member(&data, "late");
        ik_buffer_append_text(&data, "true");
    }
    ik_json_begin_member(&data, "states");
    ik_buffer_append_byte(&data, '[');
    for (size_t i = 0; i < checkpoint->count; i++) {
        ik_buffer_append_text(&data, i == 0 ? "" : ",");
        ik_json_append_text(&data, checkpoint->states[i]);
    }
    ik_buffer_append_byte(&data, ']');
    return take_data(ctx, IK_MSG_CHECKPOINT, NULL, &data);
}

bool ik_msg_parse_checkpoint(const void *ctx, const char *data_json, ik_msg_checkpoint_t *out)
{
    enum { PHASE, NEXT, LATE, STATES, COUNT };
    static const char *const names[COUNT] = {"phase", "next", "late", "states"};
    ik_json_span_t data;
    ik_json_span_t values[COUNT];
    ik_json_span_t state;
    size_t position = 0;
    size_t count = 0;
    if (data_json == NULL || !ik_json_scan(data_json, strlen(data_json), &data, NULL) ||
        !ik_json_is(data, IK_JSON_OBJECT)) {
        return false;
    }
    ik_json_find_members(data, names, COUNT, values);
    bool before = ik_json_is_text(values[PHASE], phases[IK_MSG_BEFORE]);
    if ((!before && !ik_json_is_text(values[PHASE], phases[IK_MSG_AFTER])) ||
        !ik_json_is(values[STATES], IK_JSON_ARRAY)) {
        return false;
    }
    const char **ids = ik_new_array(ctx, const char *, 1);
    while (ik_json_next_element(values[STATES], &position, &state)) {
        if (!ik_json_is(state, IK_JSON_STRING)) {
            talloc_free(ids);
            return false;
        }
        ids = ik_resize_array(ctx, ids, const char *, count + 2);
        ids[count++] = ik_json_decode(ids, state, NULL);
    }
    ids[count] = NULL;
    *out = (ik_msg_checkpoint_t){.phase = before ? IK_MSG_BEFORE : IK_MSG_AFTER,
                                 .next = ik_json_is(values[NEXT], IK_JSON_BOOLEAN),
                                 .late = ik_json_is(values[LATE], IK_JSON_BOOLEAN),
                                 .states = ids,
                                 .count = count};
    return true;
}

ik_msg_t *ik_msg_create_image_drop(const void *ctx, const ik_msg_image_t *images, size_t count,
                                   const char *target, size_t trimmed_results)
{
    char *content =
        count == 1 ? ik_sprintf(NULL,
                                "The provider refused the image %s; a note is sent in its place "
                                "from now on",
                                images[0].name)
                   : ik_sprintf(NULL,
                                "The provider refused an image; markers are sent in place of %zu "
                                "images from now on",
                                count);
    ik_buffer_t data;
    ik_buffer_init(&data, NULL, IK_BUFFER_UNLIMITED); /* a hash per image */
    ik_buffer_append_format(
        &data, "{\"trimmed_results\":%zu,\"dropped\":\"images\",\"target\":", trimmed_results);
    ik_json_append_text(&data, target);
    for (size_t i = 0; i < count; i++) {
        ik_buffer_append_format(&data, "%s\"%s\"", i == 0 ? ",\"images\":[" : ",",
                                images[i].sha256.hex);
    }
    ik_buffer_append_text(&data, "]}");
    ik_msg_t *message = ik_msg_create(ctx, IK_MSG_COMPACTION, content, data.data);
    ik_buffer_reset(&data);
    talloc_free(content);
    return message;
}

bool ik_msg_is_image_drop(const ik_msg_t *message)
{
    ik_json_span_t list;
    return ik_msg_is(message, IK_MSG_COMPACTION) && ik_msg_field(message, "images", &list) &&
           ik_json_kind(list) == IK_JSON_ARRAY;
}

/* --- reading ----------------------------------------------------------------------------- */

bool ik_msg_is(const ik_msg_t *message, const char *kind)
{
    return strcmp(message->kind, kind) == 0;
}

ik_msg_side_t ik_msg_side(const ik_msg_t *message)
{
    if (ik_msg_is(message, IK_MSG_TOOL_RESULT) || ik_msg_is(message, IK_MSG_USER)) {
        return IK_MSG_USER_SIDE;
    }
    if (ik_msg_is(message, IK_MSG_TOOL_CALL) || ik_msg_is(message, IK_MSG_ASSISTANT)) {
        return IK_MSG_MODEL_SIDE;
    }
    return IK_MSG_NEITHER;
}

bool ik_msg_begins_step(const ik_msg_t *message)
{
    ik_json_span_t model;
    return ik_msg_side(message) == IK_MSG_MODEL_SIDE && ik_msg_field(message, "model", &model) &&
           ik_json_kind(model) == IK_JSON_STRING;
}

bool ik_msg_is_summary(const ik_msg_t *message)
{
    ik_json_span_t summary;
    return ik_msg_is(message, IK_MSG_COMPACTION) && ik_msg_field(message, "summary", &summary) &&
           ik_json_has_text(summary);
}

bool ik_msg_kind_is_record(const char *kind)
{
    return strcmp(kind, IK_MSG_CHECKPOINT) == 0 || strcmp(kind, IK_MSG_UNDO) == 0 ||
           strcmp(kind, IK_MSG_REDO) == 0 || strcmp(kind, IK_MSG_DELEGATION) == 0;
}

bool ik_msg_is_shell_note(const ik_msg_t *message)
{
    ik_json_span_t command;
    return ik_msg_is(message, IK_MSG_USER) && ik_msg_field(message, "command", &command) &&
           ik_json_is(command, IK_JSON_STRING);
}

/* Returns the length of the white space character at text, or 0. */
static size_t blank_at(const char *text)
{
    static const char *const wide[] = {
        "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\xa8",
        "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80",
    };
    if (*text != '\0' && strchr(" \t\n\v\f\r\x1c\x1d\x1e\x1f", *text) != NULL) {
        return 1;
    }
    for (size_t i = 0; i < IK_LENGTH(wide); i++) {
        if (strncmp(text, wide[i], strlen(wide[i])) == 0) {
            return strlen(wide[i]);
        }
    }
    /* U+2000 to U+200A */
    bool space = strncmp(text, "\xe2\x80", 2) == 0 && (unsigned char)text[2] >= 0x80 &&
                 (unsigned char)text[2] <= 0x8a;
    return space ? 3 : 0;
}

ik_msg_t *ik_msg_create_steering(const void *ctx, const ik_msg_t *message)
{
    bool has_members = message->data_len > 2; /* of "{}" */
    char *data = ik_sprintf(NULL, "{\"steering\":true%s%s", has_members ? "," : "}",
                            has_members ? message->data_json + 1 : "");
    ik_msg_t *steering = ik_msg_create(ctx, IK_MSG_USER, message->content, data);
    talloc_free(data);
    return steering;
}

bool ik_msg_is_steering(const ik_msg_t *message)
{
    ik_json_span_t steering;
    return ik_msg_is(message, IK_MSG_USER) && ik_msg_field(message, "steering", &steering);
}

size_t ik_msg_typed_len(const ik_msg_t *message)
{
    size_t len = strlen(message->content);
    int64_t typed = ik_msg_field_number(message, "typed", -1);
    bool valid = typed >= 0 && (uint64_t)typed < len && message->content[typed] == '\n';
    return valid ? (size_t)typed : len;
}

char *ik_msg_format_typed(const void *ctx, const char *data, const char *content, size_t typed)
{
    ik_buffer_t out;
    ik_json_span_t before;
    if (content[typed] == '\0') {
        return data == NULL ? NULL : ik_strdup(ctx, data);
    }
    char *mark = ik_sprintf(NULL, "{\"typed\":%zu}", typed);
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the data */
    if (data != NULL && ik_json_scan(data, strlen(data), &before, NULL)) {
        ik_json_append_merged(&out, before, (ik_json_span_t){mark, strlen(mark)});
    } else {
        ik_buffer_append_text(&out, mark);
    }
    talloc_free(mark);
    return ik_buffer_finish(&out);
}

bool ik_msg_text_is_blank(const char *text)
{
    size_t len;
    while (text != NULL && (len = blank_at(text)) > 0) {
        text += len;
    }
    return text == NULL || *text == '\0';
}

/* Unlike ik_json_find this stops at the first match: a megabyte of output may follow. Members from
 * end on are not looked at. */
static bool find_first(ik_json_span_t object, size_t end, const char *name, ik_json_span_t *value)
{
    size_t position = 0;
    ik_json_span_t key;
    while (position < end && ik_json_next_member(object, &position, &key, value)) {
        if (ik_json_key_is(key, name)) {
            return true;
        }
    }
    return false;
}

bool ik_msg_field(const ik_msg_t *message, const char *name, ik_json_span_t *value)
{
    if (message->data_json == NULL) {
        return false;
    }
    ik_json_span_t data = {message->data_json, message->data_len};
    if (message->output_at == 0) {
        return find_first(data, data.len, name, value);
    }
    if (strcmp(name, "output") == 0) {
        *value =
            (ik_json_span_t){data.text + message->output_at, data.len - 1 - message->output_at};
        return true;
    }
    return find_first(data, message->output_at - strlen(output_key), name, value);
}

void ik_msg_find_fields(ik_json_span_t object, const char *const *names, size_t count,
                        ik_json_span_t *values)
{
    size_t position = 0;
    size_t missing = 0;
    ik_json_span_t key;
    ik_json_span_t value;
    for (size_t i = 0; i < count; i++) {
        values[i] = (ik_json_span_t){0};
        missing += names[i] != NULL;
    }
    while (object.len > 0 && missing > 0 && ik_json_next_member(object, &position, &key, &value)) {
        for (size_t i = 0; i < count; i++) {
            if (names[i] != NULL && values[i].len == 0 && ik_json_key_is(key, names[i])) {
                values[i] = value;
                missing--;
                break;
            }
        }
    }
}

char *ik_msg_field_text(const void *ctx, const ik_msg_t *message, const char *name)
{
    ik_json_span_t value;
    if (!ik_msg_field(message, name, &value) || ik_json_kind(value) != IK_JSON_STRING) {
        return NULL;
    }
    return ik_json_decode(ctx, value, NULL);
}

int64_t ik_msg_field_number(const ik_msg_t *message, const char *name, int64_t fallback)
{
    ik_json_span_t value;
    if (!ik_msg_field(message, name, &value) || ik_json_kind(value) != IK_JSON_NUMBER) {
        return fallback;
    }
    return strtoll(value.text, NULL, 10);
}

bool ik_msg_call_field(const ik_msg_t *call, const char *name, ik_json_span_t *literal)
{
    ik_json_span_t function;
    return ik_msg_field(call, "function", &function) && ik_json_kind(function) == IK_JSON_OBJECT &&
           find_first(function, function.len, name, literal) &&
           ik_json_kind(*literal) == IK_JSON_STRING;
}
