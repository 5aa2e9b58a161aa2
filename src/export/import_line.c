#include "export/import_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/base64.h"
#include "base/image.h"
#include "base/json.h"
#include "base/utf8.h"

/* Each text is followed by its Base64 variant. */
typedef enum {
    TYPE,
    VERSION,
    ID,
    CREATED,
    NUMBER,
    PARENT,
    FORKED_AT,
    AGENT,
    SEQ,
    CWD,
    CWD_BASE64,
    HOST,
    HOST_BASE64,
    MODEL,
    MODEL_BASE64,
    KIND,
    KIND_BASE64,
    CONTENT,
    CONTENT_BASE64,
    DATA_TEXT,
    DATA_BASE64,
    DATA,
    IMAGES,
    MEMBERS,
} member_t;

static const char *const names[MEMBERS] = {
    [TYPE] = "type",
    [VERSION] = "version",
    [ID] = "id",
    [CREATED] = "created_us",
    [NUMBER] = "number",
    [PARENT] = "parent",
    [FORKED_AT] = "forked_at",
    [AGENT] = "agent",
    [SEQ] = "seq",
    [CWD] = "cwd",
    [CWD_BASE64] = "cwd_base64",
    [HOST] = "host",
    [HOST_BASE64] = "host_base64",
    [MODEL] = "model",
    [MODEL_BASE64] = "model_base64",
    [KIND] = "kind",
    [KIND_BASE64] = "kind_base64",
    [CONTENT] = "content",
    [CONTENT_BASE64] = "content_base64",
    [DATA_TEXT] = "data_text",
    [DATA_BASE64] = "data_base64",
    [DATA] = "data",
    [IMAGES] = "images",
};

typedef struct {
    const void *ctx;
    ik_json_span_t members[MEMBERS];
} line_t;

/* --- values ------------------------------------------------------------------------------ */

static bool is_whole(ik_json_span_t value, int64_t *out)
{
    if (!ik_json_is(value, IK_JSON_NUMBER)) {
        return false;
    }
    char *end;
    errno = 0;
    *out = strtoll(value.text, &end, 10);
    return end == value.text + value.len && errno == 0;
}

/* Reads a whole number that is at least least. */
static res_t read_number(const line_t *line, member_t member, int64_t least, int64_t *out)
{
    if (!is_whole(line->members[member], out)) {
        return ERR(INVALID, "expected \"%s\", a whole number", names[member]);
    }
    return *out >= least
               ? OK
               : ERR(INVALID, "expected \"%s\" to be at least %" PRId64, names[member], least);
}

/* Texts are C strings down to the database. */
static res_t check_text(member_t member, const char *text, size_t len)
{
    return memchr(text, '\0', len) == NULL
               ? OK
               : ERR(INVALID, "expected \"%s\" without the character NUL", names[member]);
}

/* NULL when it is not a string. */
static char *decode(const line_t *line, member_t member, size_t *len)
{
    ik_json_span_t value = line->members[member];
    return ik_json_is(value, IK_JSON_STRING) ? ik_json_decode(line->ctx, value, len) : NULL;
}

static res_t read_base64(const line_t *line, member_t member, char **out)
{
    size_t len = 0;
    char *encoded = decode(line, member, &len);
    if (encoded == NULL) {
        return ERR(INVALID, "expected \"%s\" to be a string", names[member]);
    }
    ik_buffer_t decoded;
    ik_buffer_init(&decoded, line->ctx, len);
    ik_buffer_append_text(&decoded, ""); /* an empty text needs its NUL */
    bool valid = ik_base64_append_decoded(&decoded, encoded, len);
    talloc_free(encoded);
    if (!valid) {
        return ERR(INVALID, "expected \"%s\" to be Base64", names[member]);
    }
    len = decoded.len;
    *out = ik_buffer_take(line->ctx, &decoded);
    return check_text(member, *out, len);
}

/* *out is NULL when the line has neither the text nor its Base64 variant. */
static res_t read_text(const line_t *line, member_t member, const char **out)
{
    char *text = NULL;
    bool plain = line->members[member].len > 0;
    bool encoded = line->members[member + 1].len > 0;
    if (plain && encoded) {
        return ERR(INVALID, "expected either \"%s\" or \"%s\", not both", names[member],
                   names[member + 1]);
    }
    if (plain) {
        size_t len = 0;
        text = decode(line, member, &len);
        TRY(text == NULL ? ERR(INVALID, "expected \"%s\" to be a string", names[member])
                         : check_text(member, text, len));
    } else if (encoded) {
        TRY(read_base64(line, (member_t)(member + 1), &text));
    }
    *out = text;
    return OK;
}

static res_t read_text_or_empty(const line_t *line, member_t member, const char **out)
{
    TRY(read_text(line, member, out));
    *out = *out == NULL ? "" : *out;
    return OK;
}

/* Reads "data", the object as it is written, or the text that takes its place. */
static res_t read_data(const line_t *line, const char **out)
{
    ik_json_span_t data = line->members[DATA];
    TRY(read_text(line, DATA_TEXT, out));
    if (data.len == 0) {
        return OK;
    }
    if (*out != NULL) {
        return ERR(INVALID, "expected either \"data\" or a text in its place, not both");
    }
    if (ik_json_kind(data) != IK_JSON_OBJECT) {
        return ERR(INVALID, "expected \"data\" to be an object");
    }
    *out = ik_strndup(line->ctx, data.text, data.len);
    return OK;
}

/* Decodes an image. What is not one never enters a conversation. */
static res_t read_image(const line_t *line, ik_json_span_t entry, ik_import_image_t *image)
{
    static const char *const members[] = {"sha256", "data"};
    ik_json_span_t values[2];
    ik_image_t facts;
    ik_buffer_t bytes;
    ik_json_find_members(entry, members, 2, values);
    if (!ik_json_is(values[0], IK_JSON_STRING) || !ik_json_is(values[1], IK_JSON_STRING)) {
        return ERR(INVALID, "expected \"images\" to have \"sha256\" and \"data\"");
    }
    char *name = ik_json_decode(line->ctx, values[0], NULL);
    size_t len;
    char *encoded = ik_json_decode(line->ctx, values[1], &len);
    ik_buffer_init(&bytes, line->ctx, len);
    ik_buffer_append_text(&bytes, "");
    bool valid = ik_base64_append_decoded(&bytes, encoded, len);
    talloc_free(encoded);
    image->name = ik_blob_name(bytes.data, bytes.len);
    if (!valid || strcmp(image->name.hex, name) != 0) {
        return ERR(INVALID, "expected the bytes of image %.64s", name);
    }
    TRY(ik_image_check(bytes.data, bytes.len, bytes.len, &facts));
    image->len = bytes.len;
    image->bytes = ik_buffer_take(line->ctx, &bytes);
    return OK;
}

static res_t read_images(const line_t *line, ik_import_line_t *out)
{
    ik_json_span_t list = line->members[IMAGES];
    ik_json_span_t entry;
    size_t position = 0;
    if (list.len == 0) {
        return OK;
    }
    if (ik_json_kind(list) != IK_JSON_ARRAY) {
        return ERR(INVALID, "expected \"images\" to be an array");
    }
    while (ik_json_next_element(list, &position, &entry)) {
        ik_import_image_t image;
        TRY(read_image(line, entry, &image));
        out->images =
            ik_resize_array(line->ctx, out->images, ik_import_image_t, out->image_count + 1);
        out->images[out->image_count++] = image;
    }
    return OK;
}

/* --- lines ------------------------------------------------------------------------------- */

static res_t check_version(const line_t *line)
{
    int64_t version = 0;
    TRY(read_number(line, VERSION, 1, &version));
    return version == IK_IMPORT_VERSION ? OK
                                        : ERR(INVALID,
                                              "the export has version %" PRId64
                                              ", this program reads version %d: import it with a "
                                              "newer ikigai",
                                              version, IK_IMPORT_VERSION);
}

static res_t read_id(const line_t *line, const char **out)
{
    char *id = NULL;
    bool valid = ik_json_is(line->members[ID], IK_JSON_STRING);
    if (valid) {
        size_t len;
        id = ik_json_decode(line->ctx, line->members[ID], &len);
        valid = len == IK_STORE_ID_LEN && strspn(id, "0123456789abcdef") == len;
    }
    *out = id;
    return valid ? OK : ERR(INVALID, "expected \"id\", 16 hexadecimal digits");
}

static res_t parse_session(const line_t *line, ik_import_line_t *out)
{
    ik_store_session_t *session = &out->session;
    TRY(check_version(line));
    TRY(read_id(line, &session->id));
    TRY(read_text_or_empty(line, CWD, &session->cwd));
    TRY(read_text_or_empty(line, HOST, &session->host));
    TRY(read_text_or_empty(line, MODEL, &session->model));
    return read_number(line, CREATED, INT64_MIN, &session->created_us);
}

/* Later agents of the session get the numbers after the last one. */
static res_t parse_agent(const line_t *line, ik_import_line_t *out)
{
    ik_store_agent_t *agent = &out->agent;
    TRY(read_number(line, NUMBER, IK_STORE_ROOT_AGENT, &agent->number));
    if (agent->number > INT32_MAX) {
        return ERR(INVALID, "expected \"number\" to be at most %" PRId32, INT32_MAX);
    }
    TRY(read_number(line, PARENT, 0, &agent->parent));
    TRY(read_number(line, FORKED_AT, 0, &agent->forked_at));
    return read_number(line, CREATED, INT64_MIN, &agent->created_us);
}

static res_t parse_message(const line_t *line, ik_import_line_t *out)
{
    ik_store_event_t *event = &out->event;
    TRY(read_number(line, AGENT, IK_STORE_ROOT_AGENT, &event->agent));
    TRY(read_number(line, SEQ, 1, &event->seq));
    TRY(read_number(line, CREATED, INT64_MIN, &event->created_us));
    TRY(read_text_or_empty(line, KIND, &event->kind));
    TRY(read_text(line, CONTENT, &event->content));
    TRY(read_data(line, &event->data_json));
    TRY(read_images(line, out));
    return *event->kind != '\0' ? OK : ERR(INVALID, "expected \"kind\", what the message is");
}

static const struct {
    const char *name;
    res_t (*parse)(const line_t *line, ik_import_line_t *out);
} types[] = {
    [IK_IMPORT_SESSION] = {"session", parse_session},
    [IK_IMPORT_AGENT] = {"agent", parse_agent},
    [IK_IMPORT_MESSAGE] = {"message", parse_message},
};
enum { TYPES = IK_LENGTH(types) };

static res_t parse_type(const line_t *line, ik_import_line_t *out)
{
    ik_json_span_t type = line->members[TYPE];
    for (size_t i = 0; ik_json_is(type, IK_JSON_STRING) && i < TYPES; i++) {
        if (ik_json_key_is(type, types[i].name)) {
            out->type = (ik_import_type_t)i;
            return types[i].parse(line, out);
        }
    }
    return ERR(INVALID, "expected \"type\" to be \"session\", \"agent\" or \"message\"");
}

res_t ik_import_line_parse(const void *ctx, const char *text, size_t len, ik_import_line_t *out)
{
    ik_json_span_t value;
    ik_json_fault_t fault;
    line_t line = {.ctx = ctx};
    *out = (ik_import_line_t){0};
    if (!ik_utf8_valid(text, len)) {
        return ERR(INVALID, "expected UTF-8");
    }
    if (!ik_json_scan(text, len, &value, &fault)) {
        return ERR(INVALID, "expected a JSON object: %s at byte %zu", fault.reason,
                   fault.offset + 1);
    }
    if (ik_json_kind(value) != IK_JSON_OBJECT) {
        return ERR(INVALID, "expected a JSON object");
    }
    ik_json_find_members(value, names, MEMBERS, line.members);
    return parse_type(&line, out);
}
