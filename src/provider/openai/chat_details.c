#include "provider/openai/chat_details.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json.h"

/* Only these two come in pieces: an encrypted block is one piece, whatever its index. */
static const char *text_member(const json_t *block)
{
    const char *type = json_string_value(json_object_get(block, "type"));
    if (type == NULL) {
        return NULL;
    }
    if (strcmp(type, "reasoning.text") == 0) {
        return "text";
    }
    return strcmp(type, "reasoning.summary") == 0 ? "summary" : NULL;
}

/* Without an index they are no pieces of anything. */
static bool is_same_block(const json_t *a, const json_t *b)
{
    return text_member(b) != NULL && text_member(a) == text_member(b) &&
           json_equal(json_object_get(a, "index"), json_object_get(b, "index"));
}

/* What one of them does not say (signature, id) the other may. */
static void join_members(json_t *block, json_t *piece)
{
    const char *name;
    json_t *value;
    json_object_foreach(piece, name, value)
    {
        json_t *known = json_object_get(block, name);
        if (!json_is_null(value) && (known == NULL || json_is_null(known))) {
            json_object_set(block, name, value);
        }
    }
}

/* The text of the block that is being put together. */
static void take_text(ik_buffer_t *text, const json_t *piece)
{
    const json_t *value =
        text_member(piece) == NULL ? NULL : json_object_get(piece, text_member(piece));
    ik_buffer_append(text, json_string_value(value), json_string_length(value));
}

static void end_block(json_t *block, ik_buffer_t *text)
{
    if (text->len > 0) {
        json_object_set_new(block, text_member(block), json_stringn(text->data, text->len));
    }
    text->len = 0;
}

/* The array with pieces joined, a new reference. */
static json_t *join_all(json_t *pieces)
{
    json_t *blocks = json_array();
    json_t *block = NULL;
    void *scratch = talloc_new(NULL);
    ik_buffer_t text;
    ik_buffer_init(&text, scratch, IK_BUFFER_UNLIMITED);
    size_t i;
    json_t *piece;
    json_array_foreach(pieces, i, piece)
    {
        if (block != NULL && is_same_block(block, piece)) {
            join_members(block, piece);
        } else {
            end_block(block, &text);
            json_array_append(blocks, piece);
            block = piece;
        }
        take_text(&text, piece);
    }
    end_block(block, &text);
    talloc_free(scratch);
    return blocks;
}

void ik_chat_details_format(ik_buffer_t *out, const ik_buffer_t *elements)
{
    size_t begin = out->len;
    ik_buffer_append_byte(out, '[');
    ik_buffer_append(out, elements->data, elements->len);
    ik_buffer_append_byte(out, ']');
    json_error_t error; /* a tree cannot hold everything; what it cannot stays as it is */
    json_t *pieces = ik_json_parse(out->data + begin, out->len - begin, &error);
    json_t *blocks = join_all(pieces);
    if (json_array_size(blocks) < json_array_size(pieces)) {
        char *text = ik_json_format(NULL, blocks);
        out->len = begin;
        ik_buffer_append_text(out, text);
        talloc_free(text);
    }
    json_decref(blocks);
    json_decref(pieces);
}
