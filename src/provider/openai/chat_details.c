#include "provider/openai/chat_details.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json.h"

/* The member that holds a block's text. Only these two types come in pieces: an encrypted block is
 * always whole. */
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

/* json_equal is false for a missing index: such blocks are whole. */
static bool is_same_block(const json_t *a, const json_t *b)
{
    return text_member(b) != NULL && text_member(a) == text_member(b) &&
           json_equal(json_object_get(a, "index"), json_object_get(b, "index"));
}

/* Adds the members (signature, id) that the block does not have yet. */
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

static void end_block(json_t *block, ik_buffer_t *text)
{
    if (text->len > 0) {
        json_object_set_new(block, text_member(block), json_stringn(text->data, text->len));
    }
    text->len = 0;
}

/* Returns a new reference to the array with pieces joined; changes the pieces. */
static json_t *join_all(json_t *pieces)
{
    json_t *blocks = json_array();
    json_t *block = NULL;
    void *scratch = talloc_new(NULL);
    ik_buffer_t text;
    ik_buffer_init(&text, scratch, IK_BUFFER_UNLIMITED); /* bounded by the pieces */
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
        const char *member = text_member(piece);
        const json_t *value = member == NULL ? NULL : json_object_get(piece, member);
        ik_buffer_append(&text, json_string_value(value), json_string_length(value));
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
    json_error_t error; /* what jansson cannot parse is left as it is */
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
