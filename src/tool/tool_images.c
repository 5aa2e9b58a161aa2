#include "tool/tool_images.h"

#include <string.h>

#include "base/alloc.h"
#include "base/image.h"
#include "tool/image_scale.h"
#include "tool/tool_wrapper.h"

enum {
    COUNT_MAX = 100, /* images of one result; a request holds fewer */
    READ_MAX_MS = 20000,
    READ_SLACK = 65536, /* of file-read's answer, beyond the base64 */
};

struct ik_tool_images {
    ik_tool_images_options_t options;
    ik_json_span_t list;
    size_t position;       /* in list */
    size_t number;         /* of the entry at hand, from 1 */
    ik_json_span_t entry;  /* at hand */
    ik_process_t *process; /* file-read; NULL: not running */
    ik_image_scale_t *scale;
    ik_buffer_t bytes;     /* of the image at hand */
    uint32_t scaled_width; /* what it was before; 0: it was not scaled */
    uint32_t scaled_height;
    ik_buffer_t entries; /* of the rewritten list */
    ik_msg_image_t *images;
    size_t count;
    bool full;           /* an entry says that there are too many: it stands for the rest */
    ik_timer_t *advance; /* the next entry is handled from the loop */
};

bool ik_tool_images_found(ik_json_span_t result)
{
    ik_json_span_t list;
    ik_json_span_t entry;
    ik_json_span_t value;
    size_t position = 0;
    if (!ik_json_find_kind(result, "images", IK_JSON_ARRAY, &list)) {
        return false;
    }
    while (ik_json_next_element(list, &position, &entry)) {
        if (ik_json_find_kind(entry, "path", IK_JSON_STRING, &value) ||
            ik_json_find_kind(entry, "data", IK_JSON_STRING, &value)) {
            return true;
        }
    }
    return false;
}

/* --- the rewritten entry ------------------------------------------------------------------- */

/* Begins an entry with the members that the tool wrote, except those that are written here. */
static void begin_entry(ik_tool_images_t *images)
{
    static const char *const own[] = {"data",  "media_type", "width",     "height",
                                      "bytes", "error",      "error_code"};
    ik_buffer_t *out = &images->entries;
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t value;
    ik_buffer_append_text(out, images->number == 1 ? "{" : ",{");
    bool is_object = ik_json_kind(images->entry) == IK_JSON_OBJECT;
    while (is_object && ik_json_next_member(images->entry, &position, &key, &value)) {
        bool written = false;
        for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
            written = written || ik_json_key_is(key, own[i]);
        }
        if (!written) {
            ik_buffer_append(out, key.text, key.len);
            ik_buffer_append_byte(out, ':');
            ik_buffer_append(out, value.text, value.len);
            ik_buffer_append_byte(out, ',');
        }
    }
}

static void finish_entry(ik_tool_images_t *images)
{
    ik_buffer_reset(&images->bytes);
    ik_timer_start(images->advance, 0);
}

static void put_error(ik_tool_images_t *images, const char *error)
{
    begin_entry(images);
    ik_buffer_append_text(&images->entries, "\"error\":");
    ik_json_append_text(&images->entries, error);
    ik_buffer_append_text(&images->entries, ",\"error_code\":\"" IK_TOOL_INVALID_IMAGE "\"}");
    finish_entry(images);
}

/* The last part of its path, the name that the tool gives, or one that is made up. */
static const char *name_image(ik_tool_images_t *images, ik_image_kind_t kind)
{
    ik_json_span_t value;
    char *text = NULL;
    if (ik_json_find_kind(images->entry, "name", IK_JSON_STRING, &value) ||
        ik_json_find_kind(images->entry, "path", IK_JSON_STRING, &value)) {
        text = ik_json_decode(images, value, NULL);
    }
    const char *slash = text == NULL ? NULL : strrchr(text, '/');
    const char *name = slash == NULL ? text : slash + 1;
    return name != NULL && *name != '\0' ? name
                                         : ik_sprintf(images, "%s-%zu.%s", images->options.tool,
                                                      images->number, ik_image_extension(kind));
}

static void put_image(ik_tool_images_t *images, const ik_image_t *facts)
{
    const char *folder = images->options.context->images;
    ik_json_span_t audience;
    ik_msg_image_t image = {
        .name = name_image(images, facts->kind),
        .media_type = ik_image_media_type(facts->kind),
        .bytes = images->bytes.len,
        .width = facts->width,
        .height = facts->height,
        .for_user = ik_json_find_kind(images->entry, "audience", IK_JSON_STRING, &audience) &&
                    ik_json_is_text(audience, "user"),
    };
    if (folder != NULL) {
        res_t stored = ik_blob_put(folder, images->bytes.data, images->bytes.len, &image.sha256);
        if (is_err(&stored)) {
            put_error(images, stored.message);
            return;
        }
        images->images = ik_resize_array(images, images->images, ik_msg_image_t, images->count + 1);
        images->images[images->count++] = image;
    }
    begin_entry(images);
    ik_buffer_append_format(&images->entries,
                            "\"media_type\":\"%s\",\"width\":%u,\"height\":%u,\"bytes\":%zu",
                            image.media_type, facts->width, facts->height, images->bytes.len);
    if (images->scaled_width > 0) {
        ik_buffer_append_format(&images->entries, ",\"scaled_from\":\"%ux%u\"",
                                images->scaled_width, images->scaled_height);
    }
    ik_buffer_append_byte(&images->entries, '}');
    finish_entry(images);
}

/* --- checking ------------------------------------------------------------------------------ */

static void on_scaled(void *data, const char *bytes, size_t len)
{
    ik_tool_images_t *images = data;
    ik_image_t facts;
    res_t checked =
        ik_image_check(images->bytes.data, images->bytes.len, images->bytes.len, &facts);
    if (bytes == NULL) {
        put_error(images, checked.message);
    } else {
        images->scaled_width = facts.width;
        images->scaled_height = facts.height;
        images->bytes.len = 0;
        ik_buffer_append(&images->bytes, bytes, len);
        ik_image_parse(bytes, len, &facts);
        put_image(images, &facts);
    }
    TALLOC_FREE(images->scale);
}

/* Checks the bytes at hand. An image beyond the limits is scaled, if that is possible. */
static void check_bytes(ik_tool_images_t *images)
{
    ik_image_t facts;
    const char *bytes = images->bytes.data == NULL ? "" : images->bytes.data;
    size_t len = images->bytes.len;
    res_t checked = ik_image_check(bytes, len, len, &facts);
    if (is_ok(&checked)) {
        put_image(images, &facts);
    } else if (checked.code == IK_ERR_LIMIT) {
        images->scale =
            ik_image_scale_start(images, images->options.host, images->options.context->confinement,
                                 bytes, len, on_scaled, images);
    } else {
        put_error(images, checked.message);
    }
}

static void check_data(ik_tool_images_t *images, ik_json_span_t literal)
{
    if (ik_image_append_decoded(&images->bytes, literal)) {
        check_bytes(images);
    } else {
        put_error(images, "data is not base64 with padding");
    }
}

/* --- files --------------------------------------------------------------------------------- */

/* file-read answers with the data of an image, with an error, or with text. */
static void on_read(void *data, ik_process_result_t *result)
{
    ik_tool_images_t *images = data;
    ik_json_span_t answer;
    ik_json_span_t value;
    ik_json_span_t entry = {0};
    size_t position = 0;
    images->process = NULL; /* it frees itself */
    if (result->end != IK_PROCESS_EXITED || result->exit_code != 0 || result->out.dropped > 0 ||
        !ik_json_scan(result->out.len > 0 ? result->out.data : "", result->out.len, &answer,
                      NULL)) {
        put_error(images, "the file cannot be read");
    } else if (ik_json_find_kind(answer, "images", IK_JSON_ARRAY, &value) &&
               ik_json_next_element(value, &position, &entry) &&
               ik_json_find_kind(entry, "data", IK_JSON_STRING, &value)) {
        check_data(images, value);
    } else if (ik_json_find_kind(entry, "error", IK_JSON_STRING, &value) ||
               ik_json_find_kind(answer, "error", IK_JSON_STRING, &value)) {
        char *error = ik_json_decode(images, value, NULL);
        put_error(images, error);
        talloc_free(error);
    } else {
        put_error(images, "not a png, jpeg, gif or webp image");
    }
}

static void read_file(ik_tool_images_t *images, ik_json_span_t path)
{
    const ik_tool_context_t *context = images->options.context;
    const char *const argv[] = {context->file_read, NULL};
    static const char *const env[] = {"IKIGAI_MAX_OUTPUT=1024", NULL}; /* for other files */
    ik_buffer_t input;
    ik_buffer_init(&input, images, IK_BUFFER_UNLIMITED); /* bounded by the path */
    ik_buffer_append_text(&input, "{\"file_path\":");
    ik_buffer_append(&input, path.text, path.len);
    ik_buffer_append_byte(&input, '}');
    ik_process_options_t options = {
        .argv = argv,
        .env = env,
        .folder = context->folder,
        .input = input.data,
        .input_len = input.len,
        .max_out = IK_TOOL_IMAGES_BYTES_MAX + READ_SLACK,
        .stop_when_full = true,
        .idle_ms = READ_MAX_MS,
        .max_ms = READ_MAX_MS,
        .on_end = on_read,
        .data = images,
    };
    res_t started = context->file_read == NULL ? ERR(NOT_FOUND, "files of images are not read here")
                                               : ik_process_start(images, images->options.host,
                                                                  &options, &images->process);
    ik_buffer_reset(&input);
    if (is_err(&started)) {
        put_error(images, started.message);
    }
}

/* --- all entries ---------------------------------------------------------------------------- */

/* Writes the result with the rewritten list in place of the tool's. */
static void end(ik_tool_images_t *images)
{
    ik_json_span_t result = images->options.result;
    ik_buffer_t out;
    ik_buffer_init(&out, images, IK_BUFFER_UNLIMITED); /* bounded by the result */
    ik_buffer_append(&out, result.text, (size_t)(images->list.text - result.text));
    ik_buffer_append_byte(&out, '[');
    ik_buffer_append(&out, images->entries.data, images->entries.len);
    ik_buffer_append_byte(&out, ']');
    const char *rest = images->list.text + images->list.len;
    ik_buffer_append(&out, rest, (size_t)(result.text + result.len - rest));
    ik_tool_images_end_t ended = {
        .result_len = out.len, .images = images->images, .count = images->count};
    ended.result = ik_buffer_take(images, &out);
    images->options.on_end(images->options.data, &ended);
}

static void on_advance(void *data)
{
    ik_tool_images_t *images = data;
    ik_json_span_t value;
    if (images->full || !ik_json_next_element(images->list, &images->position, &images->entry)) {
        end(images);
        return;
    }
    images->number++;
    images->scaled_width = images->scaled_height = 0;
    ik_buffer_init(&images->bytes, images, IK_TOOL_IMAGES_BYTES_MAX);
    if (images->number > COUNT_MAX) {
        images->full = true;
        put_error(images, "a result holds at most 100 images");
    } else if (ik_json_find_kind(images->entry, "data", IK_JSON_STRING, &value)) {
        check_data(images, value);
    } else if (ik_json_find_kind(images->entry, "path", IK_JSON_STRING, &value)) {
        read_file(images, value);
    } else {
        put_error(images, "an image has a path, or data and media_type");
    }
}

ik_tool_images_t *ik_tool_images_start(const void *ctx, const ik_tool_images_options_t *options)
{
    ik_tool_images_t *images = ik_new(ctx, ik_tool_images_t);
    images->options = *options;
    ik_json_find(options->result, "images", &images->list);
    ik_buffer_init(&images->entries, images, IK_BUFFER_UNLIMITED); /* bounded by the result */
    images->advance =
        ik_timer_create(images, ik_process_host_loop(options->host), on_advance, images);
    ik_timer_start(images->advance, 0);
    return images;
}

void ik_tool_images_succeed(const ik_tool_images_end_t *end, size_t max_output, const char *note,
                            ik_tool_result_t *result)
{
    ik_json_span_t rest = {end->result, end->result_len};
    result->envelope = ik_tool_wrap_success(result->owner, rest, max_output, note);
    result->success = true;
    ik_msg_image_t *images = ik_new_array(result->owner, ik_msg_image_t, end->count + 1);
    for (size_t i = 0; i < end->count; i++) {
        images[i] = end->images[i];
        images[i].name = ik_strdup(images, end->images[i].name);
    }
    result->images = images;
    result->image_count = end->count;
}
