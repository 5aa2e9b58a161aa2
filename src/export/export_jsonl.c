/*
 * JSON Lines, from which import.h restores the session: one line for the session, one for each
 * agent and one for each of its messages. docs/export.md describes the members. Figures that are
 * derived from the messages (title, turns, tokens, cost) are left out, so that they cannot
 * contradict them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/image.h"
#include "base/json.h"
#include "base/utf8.h"
#include "conversation/message.h"
#include "export/export.h"

enum { KEPT_CAPACITY = 1 << 20 };

typedef struct {
    FILE *out;
    const char *images; /* folder of the blobs; NULL: none */
    ik_buffer_t line;
    ik_blob_name_t *written; /* images that earlier lines have */
    size_t written_count;
} writer_t;

/* --- members ----------------------------------------------------------------------------- */

static void begin_line(writer_t *writer, const char *type)
{
    writer->line.len = 0;
    ik_json_begin_member(&writer->line, "type");
    ik_json_append_text(&writer->line, type);
}

/* Frees the memory of an unusually long message. */
static void end_line(writer_t *writer)
{
    ik_buffer_append_text(&writer->line, "}\n");
    fwrite(writer->line.data, 1, writer->line.len, writer->out);
    if (writer->line.capacity > KEPT_CAPACITY) {
        ik_buffer_reset(&writer->line);
    }
}

static void add_number(writer_t *writer, const char *name, int64_t number)
{
    ik_json_begin_member(&writer->line, name);
    ik_buffer_append_format(&writer->line, "%" PRId64, number);
}

/* Adds a text under text_name or, when it is not UTF-8 (names of folders and broken output are
 * bytes), as Base64 under name_base64. */
static void add_text_as(writer_t *writer, const char *name, const char *text_name, const char *text)
{
    if (ik_utf8_valid(text, strlen(text))) {
        ik_json_add_text(&writer->line, text_name, text);
        return;
    }
    char *member = ik_sprintf(NULL, "%s_base64", name);
    ik_json_begin_member(&writer->line, member);
    talloc_free(member);
    ik_buffer_append_byte(&writer->line, '"');
    ik_base64_append(&writer->line, text, strlen(text));
    ik_buffer_append_byte(&writer->line, '"');
}

static void add_text(writer_t *writer, const char *name, const char *text)
{
    if (text == NULL) {
        ik_json_add_text(&writer->line, name, NULL);
    } else {
        add_text_as(writer, name, name, text);
    }
}

/* Adds data as an object of the line if the import will find it again byte for byte. */
static bool splice_data(writer_t *writer, const char *data)
{
    ik_json_span_t value;
    size_t len = strlen(data);
    size_t before = writer->line.len;
    if (strpbrk(data, "\n\r") != NULL || !ik_utf8_valid(data, len) ||
        !ik_json_scan(data, len, &value, NULL) || value.len != len ||
        ik_json_kind(value) != IK_JSON_OBJECT) {
        return false;
    }
    ik_json_begin_member(&writer->line, "data");
    ik_buffer_append(&writer->line, data, len);
    ik_buffer_append_byte(&writer->line, '}');
    /* Data nested to the scanner's limit would be one level too deep inside the line. */
    bool fits = ik_json_scan(writer->line.data, writer->line.len, &value, NULL);
    writer->line.len = fits ? writer->line.len - 1 : before;
    return fits;
}

static void add_data(writer_t *writer, const char *data)
{
    if (data == NULL) {
        add_text(writer, "data", NULL);
    } else if (!splice_data(writer, data)) {
        add_text_as(writer, "data", "data_text", data);
    }
}

/* --- images ------------------------------------------------------------------------------ */

static bool was_written(const writer_t *writer, const ik_blob_name_t *name)
{
    for (size_t i = 0; i < writer->written_count; i++) {
        if (strcmp(writer->written[i].hex, name->hex) == 0) {
            return true;
        }
    }
    return false;
}

/* Adds the bytes of an image; false if they are missing, or in an earlier line. */
static bool add_image(writer_t *writer, const ik_msg_image_t *image, bool first)
{
    char *bytes;
    size_t len;
    const ik_blob_name_t *name = &image->sha256;
    res_t read = was_written(writer, name) ? ERR(CONFLICT, "written before")
                                           : ik_blob_get(NULL, writer->images, name->hex,
                                                         IK_IMAGE_BYTES_MAX, &bytes, &len);
    if (is_err(&read)) {
        return false;
    }
    writer->written = ik_resize_array(writer->line.ctx, writer->written, ik_blob_name_t,
                                      writer->written_count + 1);
    writer->written[writer->written_count++] = *name;
    if (first) {
        ik_json_begin_member(&writer->line, "images");
        ik_buffer_append_byte(&writer->line, '[');
    }
    ik_buffer_append_format(&writer->line, "%s{\"sha256\":\"%s\",\"data\":\"", first ? "" : ",",
                            name->hex);
    ik_base64_append(&writer->line, bytes, len);
    ik_buffer_append_text(&writer->line, "\"}");
    talloc_free(bytes);
    return true;
}

/* Adds the images of a message that no earlier line has. */
static void add_images(writer_t *writer, const ik_store_event_t *event)
{
    ik_json_span_t data;
    ik_msg_image_t *images;
    bool added = false;
    if (writer->images == NULL || event->data_json == NULL ||
        strstr(event->data_json, "\"images\"") == NULL ||
        !ik_json_scan(event->data_json, strlen(event->data_json), &data, NULL) ||
        ik_json_kind(data) != IK_JSON_OBJECT) {
        return;
    }
    void *scratch = talloc_new(NULL);
    ik_msg_t message = {.kind = event->kind, .data_json = event->data_json, .data_len = data.len};
    size_t count = ik_msg_images(scratch, &message, &images);
    for (size_t i = 0; i < count; i++) {
        added = add_image(writer, &images[i], !added) || added;
    }
    ik_buffer_append_text(&writer->line, added ? "]" : "");
    talloc_free(scratch);
}

/* --- lines ------------------------------------------------------------------------------- */

static res_t on_event(void *data, const ik_store_event_t *event)
{
    writer_t *writer = data;
    begin_line(writer, "message");
    add_number(writer, "agent", event->agent);
    add_number(writer, "seq", event->seq);
    add_number(writer, "created_us", event->created_us);
    add_text(writer, "kind", event->kind);
    add_text(writer, "content", event->content);
    add_data(writer, event->data_json);
    add_images(writer, event);
    end_line(writer);
    return OK;
}

static res_t write_all(writer_t *writer, const ik_export_source_t *source,
                       const ik_store_agents_t *agents)
{
    const ik_store_session_t *session = source->session;
    begin_line(writer, "session");
    add_number(writer, "version", 1);
    add_text(writer, "id", session->id);
    add_text(writer, "cwd", session->cwd);
    add_text(writer, "host", session->host);
    add_text(writer, "model", session->model);
    add_number(writer, "created_us", session->created_us);
    end_line(writer);
    for (size_t i = 0; i < agents->count; i++) {
        const ik_store_agent_t *agent = &agents->agents[i];
        begin_line(writer, "agent");
        add_number(writer, "number", agent->number);
        add_number(writer, "parent", agent->parent);
        add_number(writer, "forked_at", agent->forked_at);
        add_number(writer, "created_us", agent->created_us);
        end_line(writer);
        TRY(ik_store_read(source->store, agent, agent->forked_at, on_event, writer));
    }
    return OK;
}

static res_t write_jsonl(FILE *out, const ik_export_source_t *source)
{
    void *scratch = talloc_new(NULL);
    writer_t writer = {.out = out, .images = source->images};
    ik_store_agents_t *agents;
    ik_buffer_init(&writer.line, scratch, IK_BUFFER_UNLIMITED); /* bounded by the message */
    res_t written = ik_store_agents(scratch, source->store, source->session->id, &agents);
    if (is_ok(&written)) {
        written = write_all(&writer, source, agents);
    }
    talloc_free(scratch);
    return written;
}

const ik_export_t ik_export_jsonl = {.name = "jsonl", .write = write_jsonl};
