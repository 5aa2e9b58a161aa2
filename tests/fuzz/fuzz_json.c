/*
 * The scanner against jansson: what jansson accepts the scanner does (but for a NUL byte, where
 * jansson may stop reading; the other way round jansson refuses more: strings that are not UTF-8,
 * lone surrogates, numbers beyond a double), and the spans of an accepted text decode to the same
 * strings. What jansson refuses for these reasons is accepted when it was cleaned.
 */
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/json_clean.h"
#include "pieces.h"

static void walk(const void *ctx, ik_json_span_t value, const json_t *tree);

static void walk_string(const void *ctx, ik_json_span_t value, const json_t *tree)
{
    size_t len;
    char *decoded = ik_json_decode(ctx, value, &len);
    REQUIRE(len < value.len && decoded[len] == '\0');
    if (tree != NULL) {
        REQUIRE(json_is_string(tree) && json_string_length(tree) == len);
        REQUIRE(memcmp(json_string_value(tree), decoded, len) == 0);
        ik_buffer_t quoted;
        ik_buffer_init(&quoted, ctx, IK_BUFFER_UNLIMITED);
        ik_json_append_string(&quoted, decoded, len);
        ik_json_span_t again;
        REQUIRE(ik_json_scan(quoted.data, quoted.len, &again, NULL));
        size_t again_len;
        char *same = ik_json_decode(ctx, again, &again_len);
        REQUIRE(again_len == len && memcmp(same, decoded, len) == 0);
    }
}

static void walk_object(const void *ctx, ik_json_span_t value, const json_t *tree)
{
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t member;
    while (ik_json_next_member(value, &position, &key, &member)) {
        REQUIRE(member.text + member.len < value.text + value.len);
        size_t len;
        char *name = ik_json_decode(ctx, key, &len);
        ik_json_span_t last;
        bool plain = strlen(name) == len;
        REQUIRE(!plain || ik_json_find(value, name, &last));
        bool counts = plain && last.text == member.text;
        walk(ctx, member, tree != NULL && counts ? json_object_get(tree, name) : NULL);
    }
}

static void walk_array(const void *ctx, ik_json_span_t value, const json_t *tree)
{
    size_t position = 0;
    size_t count = 0;
    ik_json_span_t element;
    while (ik_json_next_element(value, &position, &element)) {
        walk(ctx, element, tree == NULL ? NULL : json_array_get(tree, count));
        count++;
    }
    REQUIRE(tree == NULL || json_array_size(tree) == count);
}

static void walk(const void *ctx, ik_json_span_t value, const json_t *tree)
{
    switch (ik_json_kind(value)) {
    case IK_JSON_OBJECT:
        REQUIRE(tree == NULL || json_is_object(tree));
        walk_object(ctx, value, tree);
        break;
    case IK_JSON_ARRAY:
        REQUIRE(tree == NULL || json_is_array(tree));
        walk_array(ctx, value, tree);
        break;
    case IK_JSON_STRING:
        walk_string(ctx, value, tree);
        break;
    case IK_JSON_NUMBER:
        REQUIRE(tree == NULL || json_is_number(tree));
        break;
    case IK_JSON_BOOLEAN:
        REQUIRE(tree == NULL || json_is_boolean(tree));
        break;
    case IK_JSON_NULL:
        REQUIRE(tree == NULL || json_is_null(tree));
        break;
    }
}

static void check_clean(const void *ctx, ik_json_span_t value, const json_t *tree)
{
    json_t *clean = ik_json_parse_clean(value);
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    bool shallow = ik_json_append_clean(&text, value);
    bool nameable = memmem(value.text, value.len, "\\u0000", 6) == NULL;
    REQUIRE(clean != NULL || !shallow || !nameable);
    REQUIRE(tree == NULL || json_equal(clean, tree));
    if (clean != NULL) {
        char *written = ik_json_format(ctx, clean);
        json_t *again = ik_json_parse(written, strlen(written), NULL);
        REQUIRE(json_equal(again, clean));
        json_decref(again);
    }
    json_decref(clean);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len > 4096) {
        return 0; /* finding each member is quadratic here */
    }
    const char *text = (const char *)bytes;
    void *ctx = talloc_new(NULL);
    ik_json_span_t value;
    ik_json_fault_t fault = {.reason = NULL};
    json_error_t error;
    json_t *tree = ik_json_parse(text, len, &error);
    if (ik_json_scan(text, len, &value, &fault)) {
        walk(ctx, value, tree);
        check_clean(ctx, value, tree);
    } else {
        REQUIRE(tree == NULL || memchr(text, '\0', len) != NULL);
        REQUIRE(fault.offset <= len && fault.reason != NULL);
    }
    json_decref(tree);
    talloc_free(ctx);
    return 0;
}
