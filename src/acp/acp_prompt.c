/* The content blocks of a prompt: text, images, links and embedded files. */
#include <ctype.h>
#include <string.h>

#include "acp/acp_state.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/image.h"
#include "base/image_path.h"

/* An image that came as bytes. */
typedef struct {
    size_t block;
    const char *name;
    char *bytes;
    size_t len;
} picture_t;

typedef struct {
    const void *ctx;
    const ik_acp_session_t *session;
    size_t block; /* index of the one that is read */
    ik_buffer_t text;
    ik_buffer_t context;
    picture_t *pictures;
    size_t picture_count;
} reader_t;

/* Text and links of neighbouring blocks do not run into each other. */
static void separate(reader_t *reader, const char *next, char with)
{
    bool open = reader->text.len > 0 &&
                !isspace((unsigned char)reader->text.data[reader->text.len - 1]) && *next != '\0' &&
                !isspace((unsigned char)*next) && ispunct((unsigned char)*next) == 0;
    if (open) {
        ik_buffer_append_byte(&reader->text, with);
    }
}

/* On ctx; NUL characters become blanks, because each would end the message early. */
static char *decode(const reader_t *reader, ik_json_span_t text)
{
    size_t len;
    char *decoded = ik_json_decode(reader->ctx, text, &len);
    for (size_t i = 0; i < len; i++) {
        decoded[i] = decoded[i] == '\0' ? ' ' : decoded[i];
    }
    return decoded;
}

/* --- links ------------------------------------------------------------------------------- */

/* The path that a file:// URI names, on ctx; NULL: it names none. *part is its fragment or "". */
static char *path_of(const reader_t *reader, const char *uri, const char **part)
{
    size_t len = strcspn(uri, "#?");
    *part = uri[len] == '\0' ? "" : uri + len + 1;
    if (strncmp(uri, "file://", 7) != 0) {
        return NULL;
    }
    char **paths = ik_image_path_parse_paste(reader->ctx, uri, len, false);
    return paths == NULL || paths[0] == NULL ? NULL : paths[0];
}

/* "@src/a.c (L3-9)" for a file, "[name](uri)" for anything else. */
static void append_link(reader_t *reader, const char *uri, const char *name)
{
    const char *cwd = reader->session->paths->cwd;
    const char *part;
    char *path = path_of(reader, uri, &part);
    bool inside = path != NULL && ik_file_is_within(path, cwd) && strlen(path) > strlen(cwd) + 1;
    char *mention = path == NULL
                        ? NULL
                        : ik_image_path_format(reader->ctx, inside ? path + strlen(cwd) + 1 : path);
    if (mention == NULL) {
        separate(reader, "x", ' ');
        ik_buffer_append_format(&reader->text, "[%s](%s)", name == NULL ? uri : name, uri);
    } else {
        separate(reader, "x", ' ');
        ik_buffer_append_text(&reader->text, mention);
        if (*part != '\0') {
            ik_buffer_append_format(&reader->text, " (%s)", part);
        }
    }
}

static res_t read_link(reader_t *reader, ik_json_span_t block)
{
    char *uri = ik_acp_text(reader->ctx, block, "uri");
    if (uri == NULL) {
        return ERR(INVALID, "uri must be a string");
    }
    append_link(reader, uri, ik_acp_text(reader->ctx, block, "name"));
    return OK;
}

/* --- images ------------------------------------------------------------------------------ */

static res_t read_bytes(reader_t *reader, ik_json_span_t holder, const char *member,
                        const char *name)
{
    ik_json_span_t literal;
    ik_buffer_t bytes;
    if (!ik_json_find_kind(holder, member, IK_JSON_STRING, &literal)) {
        return ERR(INVALID, "%s must be a string", member);
    }
    ik_buffer_init(&bytes, reader->ctx, IK_BUFFER_UNLIMITED); /* bounded by the message */
    if (!ik_image_append_decoded(&bytes, literal) || bytes.len == 0) {
        return ERR(INVALID, "%s is not Base64", member);
    }
    reader->pictures =
        ik_resize_array(reader->ctx, reader->pictures, picture_t, reader->picture_count + 1);
    picture_t *picture = &reader->pictures[reader->picture_count++];
    *picture = (picture_t){.block = reader->block, .name = name, .len = bytes.len};
    picture->bytes = ik_buffer_take(reader->ctx, &bytes);
    return OK;
}

static const char *base_name(const char *uri)
{
    const char *slash = uri == NULL ? NULL : strrchr(uri, '/');
    return slash == NULL || slash[1] == '\0' ? "image" : slash + 1;
}

static res_t read_image(reader_t *reader, ik_json_span_t block)
{
    return read_bytes(reader, block, "data", base_name(ik_acp_text(reader->ctx, block, "uri")));
}

/* --- embedded files ---------------------------------------------------------------------- */

/* The text follows the message; a link stands where the user put it. */
static res_t read_resource(reader_t *reader, ik_json_span_t block)
{
    ik_json_span_t resource, text;
    const char *part;
    if (!ik_json_find_kind(block, "resource", IK_JSON_OBJECT, &resource)) {
        return ERR(INVALID, "resource must be an object");
    }
    char *uri = ik_acp_text(reader->ctx, resource, "uri");
    char *type = ik_acp_text(reader->ctx, resource, "mimeType");
    if (uri == NULL) {
        return ERR(INVALID, "uri must be a string");
    }
    bool has_text = ik_json_find_kind(resource, "text", IK_JSON_STRING, &text);
    if (!has_text && type != NULL && strncmp(type, "image/", 6) == 0) {
        return read_bytes(reader, resource, "blob", base_name(uri));
    }
    append_link(reader, uri, base_name(uri));
    if (!has_text) {
        ik_buffer_append_format(&reader->text, " (%s, not text)",
                                type == NULL ? "unknown type" : type);
        return OK;
    }
    char *path = path_of(reader, uri, &part);
    ik_buffer_append_format(&reader->context, "%s<context ref=\"%s%s%s\">\n",
                            reader->context.len == 0 ? "" : "\n\n", path == NULL ? uri : path,
                            path == NULL || *part == '\0' ? "" : "#", path == NULL ? "" : part);
    ik_buffer_append_text(&reader->context, decode(reader, text));
    ik_buffer_append_text(&reader->context,
                          reader->context.data[reader->context.len - 1] == '\n' ? "" : "\n");
    ik_buffer_append_text(&reader->context, "</context>");
    return OK;
}

/* --- blocks ------------------------------------------------------------------------------ */

static res_t read_text(reader_t *reader, ik_json_span_t block)
{
    ik_json_span_t text;
    if (!ik_json_find_kind(block, "text", IK_JSON_STRING, &text)) {
        return ERR(INVALID, "text must be a string");
    }
    char *decoded = decode(reader, text);
    separate(reader, decoded, ' ');
    ik_buffer_append_text(&reader->text, decoded);
    return OK;
}

static res_t read_block(reader_t *reader, ik_json_span_t block)
{
    char *type = ik_acp_text(reader->ctx, block, "type");
    if (type == NULL) {
        return ERR(INVALID, "type must be a string");
    }
    if (strcmp(type, "text") == 0) {
        return read_text(reader, block);
    }
    if (strcmp(type, "image") == 0) {
        return read_image(reader, block);
    }
    if (strcmp(type, "resource_link") == 0) {
        return read_link(reader, block);
    }
    return strcmp(type, "resource") == 0 ? read_resource(reader, block)
                                         : ERR(INVALID, "%.50s is not supported", type);
}

res_t ik_acp_prompt_read(const void *ctx, const ik_acp_session_t *session, ik_json_span_t blocks,
                         ik_acp_prompt_t *out)
{
    reader_t reader = {.ctx = ctx, .session = session};
    ik_json_span_t block;
    size_t position = 0;
    ik_buffer_init(&reader.text, ctx, IK_BUFFER_UNLIMITED);    /* bounded by the message */
    ik_buffer_init(&reader.context, ctx, IK_BUFFER_UNLIMITED); /* likewise */
    ik_buffer_append_text(&reader.text, "");
    for (; ik_json_next_element(blocks, &position, &block); reader.block++) {
        res_t read = read_block(&reader, block);
        if (is_err(&read)) {
            return ERR(INVALID, "prompt[%zu]: %s", reader.block, read.message);
        }
    }
    out->text = ik_buffer_finish(&reader.text);
    out->context = reader.context.len == 0 ? NULL : ik_buffer_finish(&reader.context);
    out->is_command = ik_acp_options_is_command(session, out->text);
    /* Contents of files are data: they attach nothing. A command attaches what it names itself. */
    out->images = out->is_command ? NULL : ik_workspace_attach(session->workspace, out->text);
    for (size_t i = 0; i < reader.picture_count; i++) {
        const picture_t *picture = &reader.pictures[i];
        res_t taken = ik_workspace_attach_bytes(session->workspace, &out->images, picture->name,
                                                picture->bytes, picture->len);
        if (is_err(&taken)) {
            TALLOC_FREE(out->images);
            return ERR(INVALID, "prompt[%zu]: %s", picture->block, taken.message);
        }
    }
    return OK;
}
