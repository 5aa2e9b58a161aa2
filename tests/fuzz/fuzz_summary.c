/*
 * Arguments and results of tools as people see them: in a line, and as named values. Input: the
 * name of a tool up to a newline, JSON or anything else.
 */
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "conversation/summary.h"
#include "conversation/tool_fields.h"
#include "pieces.h"

/* A name and a value may begin just below the maximum; what stands between and behind them. */
enum { SLACK = 2 * IK_SUMMARY_VALUE_MAX + 16 };

/* Cut where it is long, and one line. */
static void check_line(const char *line, size_t most)
{
    REQUIRE(strlen(line) <= most && ik_utf8_valid(line, strlen(line)));
    REQUIRE(strpbrk(line, "\r\n") == NULL);
}

static void check_fields(const void *ctx, const ik_tool_fields_t *arguments,
                         const ik_tool_fields_t *fields)
{
    REQUIRE(fields->count <= IK_TOOL_FIELDS_MAX);
    for (size_t i = 0; i < fields->count; i++) {
        const ik_tool_field_t *field = &fields->fields[i];
        size_t len;
        REQUIRE(ik_tool_fields_format_value(ctx, field, &len) != NULL);
        REQUIRE(field->key.len == 0 || ik_tool_fields_format_name(ctx, field) != NULL);
        REQUIRE(ik_tool_fields_format_language(ctx, arguments, field) != NULL);
        ik_tool_fields_is_long(field);
        ik_tool_fields_is_of_change(fields, field);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    void *ctx = talloc_new(NULL);
    size_t name_len = pieces_find(bytes, len, '\n');
    size_t rest = name_len < len ? len - name_len - 1 : 0;
    if (name_len > 64 || !ik_utf8_valid((const char *)bytes + len - rest, rest)) {
        talloc_free(ctx);
        return 0;
    }
    char *text = pieces_copy(bytes + len - rest, rest);
    char *terminated = ik_strndup(ctx, text, rest);
    check_line(ik_summary_of_call(ctx, "tool", text, rest), IK_SUMMARY_MAX + SLACK);
    check_line(
        ik_summary_of_result(ctx, ik_strndup(ctx, (const char *)bytes, name_len), terminated),
        IK_SUMMARY_MAX);
    ik_tool_fields_t arguments;
    ik_tool_fields_t result;
    if (ik_tool_fields_of_arguments(text, rest, &arguments)) {
        ik_tool_fields_are_change(&arguments);
        check_fields(ctx, &arguments, &arguments);
        if (ik_tool_fields_of_envelope(text, rest, &result)) {
            ik_tool_fields_is_failure(&result);
            check_fields(ctx, &arguments, &result);
        }
    }
    free(text);
    talloc_free(ctx);
    return 0;
}
