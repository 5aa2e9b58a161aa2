/*
 * What a server answers instead of an answer: any head, any body. What is made of it is one line of
 * UTF-8 for people, a fault, and a time to wait that is none or sensible.
 *
 * Input: lines of a head up to an empty one, the body.
 */
#include <stdint.h>

#include "base/alloc.h"
#include "io/http_head.h"
#include "pieces.h"
#include "provider/provider_error.h"

enum { NOW = 1767225600 };

static const char *header(void *head, const char *name)
{
    return ik_http_head_value(head, name);
}

static void check(const ik_provider_error_t *error)
{
    REQUIRE(error->fault > IK_FAULT_NONE && error->fault <= IK_FAULT_NETWORK);
    REQUIRE(ik_fault_name(error->fault) != NULL);
    REQUIRE(error->message[0] != '\0');
    REQUIRE(error->retry_after_ms >= -1);
    REQUIRE((error->fault == IK_FAULT_FIELD) == (error->field != 0));
    pieces_require_line(error->message);
    pieces_require_line(error->code);
}

/* Returns how many bytes the head took. */
static size_t read_head(ik_http_head_t *head, const uint8_t *bytes, size_t len)
{
    ik_http_head_state_t state = IK_HTTP_HEAD_MORE;
    size_t at = 0;
    while (at < len && state == IK_HTTP_HEAD_MORE) {
        size_t line = pieces_find(bytes + at, len - at, '\n');
        char *copy = pieces_copy(bytes + at, line);
        state = ik_http_head_add(head, copy, line);
        free(copy);
        at += at + line < len ? line + 1 : line;
    }
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    void *ctx = talloc_new(NULL);
    ik_http_head_t head;
    ik_provider_error_t error;
    ik_json_span_t value;
    ik_http_head_init(&head, ctx);
    size_t head_len = read_head(&head, bytes, len);
    char *body = pieces_copy(bytes + head_len, len - head_len);
    len -= head_len;
    ik_provider_error_parse(&error, ik_http_head_status(&head), body, len, header, &head, NOW);
    check(&error);
    if (ik_utf8_valid(body, len) && ik_json_scan(body, len, &value, NULL)) {
        ik_provider_error_from_event(&error, value);
        check(&error);
    }
    free(body);
    talloc_free(ctx);
    return 0;
}
