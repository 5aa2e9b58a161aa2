/*
 * The data of an event as a server gets it: an object of members that all stand in the data, and
 * none that jsonb refuses. Text becomes UTF-8 and stays the same when it is.
 */
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "pieces.h"
#include "store/postgres/postgres_text.h"

static bool has_member(ik_json_span_t object, ik_json_span_t key, ik_json_span_t value)
{
    size_t position = 0;
    ik_json_span_t other;
    ik_json_span_t there;
    while (ik_json_next_member(object, &position, &other, &there)) {
        if (other.len == key.len && memcmp(other.text, key.text, key.len) == 0 &&
            there.len == value.len && memcmp(there.text, value.text, value.len) == 0) {
            return true;
        }
    }
    return false;
}

static void check_data(const void *ctx, const char *text)
{
    char *made = ik_postgres_text_format_data(ctx, text);
    if (made == NULL) {
        return;
    }
    ik_json_span_t data = pieces_require_json(text, strlen(text));
    ik_json_span_t object = pieces_require_json(made, strlen(made));
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t value;
    REQUIRE(ik_json_kind(object) == IK_JSON_OBJECT);
    while (ik_json_next_member(object, &position, &key, &value)) {
        REQUIRE(has_member(data, key, value));
        if (ik_json_kind(value) == IK_JSON_STRING) {
            size_t len;
            REQUIRE(strlen(ik_json_decode(ctx, value, &len)) == len);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    void *ctx = talloc_new(NULL);
    char *text = ik_strndup(ctx, (const char *)bytes, len);
    const char *clean = ik_postgres_text_clean(ctx, text);
    REQUIRE(ik_utf8_valid(clean, strlen(clean)));
    REQUIRE(clean == text || !ik_utf8_valid(text, strlen(text)));
    check_data(ctx, clean);
    talloc_free(ctx);
    return 0;
}
