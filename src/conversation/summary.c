#include "conversation/summary.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"

static const char ellipsis[] = "…";

/* Makes one line of JSON that is spread over several: a run of white space with a line end becomes
 * a space. */
static char *fold(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0';) {
        size_t space = strspn(from, " \t\r\n");
        if (space > 0 && strcspn(from, "\r\n") < space) {
            *to++ = ' ';
            from += space;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
    return text;
}

/* --- calls ------------------------------------------------------------------------------- */

/* Appends a text as JSON writes it. False: it was cut. */
static bool append_beginning(ik_buffer_t *out, const char *text, size_t len)
{
    size_t most = out->len + IK_SUMMARY_VALUE_MAX;
    bool valid;
    for (size_t i = 0, step; i < len; i += step) {
        size_t before = out->len;
        step = ik_utf8_step(text + i, len - i, &valid);
        ik_json_append_escaped(out, text + i, step);
        if (out->len > most) {
            out->len = before;
            return false;
        }
    }
    return true;
}

/* Appends a value as it is written, cut when it is long. */
static void append_value(ik_buffer_t *out, ik_json_span_t value)
{
    if (value.len <= IK_SUMMARY_VALUE_MAX) {
        ik_buffer_append(out, value.text, value.len);
    } else if (ik_json_kind(value) == IK_JSON_STRING) {
        ik_buffer_t text;
        ik_buffer_init(&text, NULL, IK_BUFFER_UNLIMITED); /* bounded by the value */
        ik_json_append_decoded(&text, value);
        ik_buffer_append_byte(out, '"');
        bool whole = append_beginning(out, text.data, text.len);
        ik_buffer_append_format(out, "%s\"", whole ? "" : ellipsis);
        ik_buffer_reset(&text);
    } else {
        ik_buffer_append(out, value.text, ik_utf8_cut(value.text, value.len, IK_SUMMARY_VALUE_MAX));
        ik_buffer_append_text(out, ellipsis);
    }
}

static void append_arguments(ik_buffer_t *out, ik_json_span_t arguments)
{
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t value;
    const char *separator = "";
    while (ik_json_next_member(arguments, &position, &key, &value)) {
        ik_buffer_append_text(out, separator);
        separator = ", ";
        if (out->len >= IK_SUMMARY_MAX) {
            ik_buffer_append_text(out, ellipsis);
            return;
        }
        size_t len = key.len - 2; /* without the quotes */
        size_t shown = ik_utf8_cut(key.text + 1, len, IK_SUMMARY_VALUE_MAX);
        ik_buffer_append(out, key.text + 1, shown);
        ik_buffer_append_format(out, "%s=", shown < len ? ellipsis : "");
        append_value(out, value);
    }
}

char *ik_summary_of_call(const void *ctx, const char *name, const char *arguments, size_t len)
{
    ik_buffer_t out;
    ik_json_span_t object;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by IK_SUMMARY_MAX */
    ik_buffer_append_format(&out, "%s(", name);
    if (ik_json_scan(arguments, len, &object, NULL) && ik_json_kind(object) == IK_JSON_OBJECT) {
        append_arguments(&out, object);
    } else if (len > 0) {
        size_t shown = strnlen(arguments, len); /* a NUL would end the line */
        ik_utf8_append_clean(&out, arguments, ik_utf8_cut(arguments, shown, IK_SUMMARY_VALUE_MAX));
        ik_buffer_append_text(&out, shown < len ? ellipsis : "");
    }
    ik_buffer_append_byte(&out, ')');
    return fold(ik_buffer_finish(&out));
}

/* --- results ----------------------------------------------------------------------------- */

/* What the "count" of a tool's result counts. */
typedef struct {
    const char *tool;
    const char *one;
    const char *many;
} noun_t;

static const noun_t nouns[] = {
    {"glob", "file", "files"},
    {"grep", "match", "matches"},
    {NULL, "result", "results"},
};

static char *summary_of_count(const void *ctx, const char *name, ik_json_span_t count)
{
    const noun_t *noun = nouns;
    while (noun->tool != NULL && strcmp(noun->tool, name) != 0) {
        noun++;
    }
    bool one = count.len == 1 && count.text[0] == '1';
    return ik_sprintf(ctx, "%.*s %s found", (int)(count.len < 20 ? count.len : 20), count.text,
                      one ? noun->one : noun->many);
}

static size_t count_lines(const char *text, size_t len)
{
    size_t lines = len > 0 && text[len - 1] != '\n';
    for (size_t i = 0; i < len; i++) {
        lines += text[i] == '\n';
    }
    return lines;
}

/* The first line and the number of lines. */
static char *summary_of_text(const void *ctx, ik_json_span_t literal, const char *before)
{
    ik_buffer_t text;
    ik_buffer_init(&text, NULL, IK_BUFFER_UNLIMITED); /* bounded by the literal */
    ik_json_append_decoded(&text, literal);
    size_t lines = count_lines(text.data, text.len);
    size_t first = strcspn(text.data, "\n");
    size_t shown = ik_utf8_cut(text.data, first, IK_SUMMARY_VALUE_MAX);
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by IK_SUMMARY_VALUE_MAX */
    ik_buffer_append_text(&out, before);
    ik_utf8_append_clean(&out, text.data, shown);
    if (shown < first) {
        ik_buffer_append_text(&out, ellipsis);
    }
    if (lines > 1) {
        ik_buffer_append_format(&out, " (%zu lines)", lines);
    }
    ik_buffer_reset(&text);
    return ik_buffer_finish(&out);
}

/* What a result without a text has. */
static const char *name_empty(ik_json_span_t result)
{
    ik_json_span_t images;
    size_t position = 0;
    ik_json_span_t image;
    bool any = ik_json_find_kind(result, "images", IK_JSON_ARRAY, &images) &&
               ik_json_next_element(images, &position, &image);
    return any ? "images" : "no output";
}

static char *summary_of_object(const void *ctx, const char *name, ik_json_span_t result)
{
    ik_json_span_t value;
    ik_json_span_t output;
    if (ik_json_find_kind(result, "error", IK_JSON_STRING, &value)) {
        return summary_of_text(ctx, value, "error: ");
    }
    if (ik_json_find_kind(result, "count", IK_JSON_NUMBER, &value)) {
        return summary_of_count(ctx, name, value);
    }
    if (ik_json_find_kind(result, "todos", IK_JSON_ARRAY, &output) &&
        ik_json_find_kind(result, "open", IK_JSON_NUMBER, &value)) {
        return ik_sprintf(ctx, "%.*s open", (int)(value.len < 20 ? value.len : 20), value.text);
    }
    if (ik_json_find_kind(result, "output", IK_JSON_STRING, &output)) {
        char before[32] = "";
        bool failed = ik_json_find_kind(result, "exit_code", IK_JSON_NUMBER, &value) &&
                      !(value.len == 1 && value.text[0] == '0');
        if (failed) {
            snprintf(before, sizeof(before), "exit %.*s: ", (int)(value.len < 20 ? value.len : 20),
                     value.text);
        }
        return output.len > 2 ? summary_of_text(ctx, output, before)
                              : ik_sprintf(ctx, "%s%s", before, name_empty(result));
    }
    return ik_strndup(ctx, result.text, ik_utf8_cut(result.text, result.len, IK_SUMMARY_VALUE_MAX));
}

static char *summarise(const void *ctx, const char *name, const char *envelope)
{
    ik_json_span_t root;
    ik_json_span_t value;
    if (!ik_json_scan(envelope, strlen(envelope), &root, NULL) ||
        ik_json_kind(root) != IK_JSON_OBJECT) {
        return ik_strndup(ctx, envelope,
                          ik_utf8_cut(envelope, strlen(envelope), IK_SUMMARY_VALUE_MAX));
    }
    if (ik_json_find_kind(root, "error", IK_JSON_STRING, &value)) {
        return summary_of_text(ctx, value, "failed: ");
    }
    if (!ik_json_find(root, "result", &value)) {
        value = root;
    }
    switch (ik_json_kind(value)) {
    case IK_JSON_OBJECT:
        return summary_of_object(ctx, name, value);
    case IK_JSON_STRING:
        return summary_of_text(ctx, value, "");
    default:
        return ik_strndup(ctx, value.text,
                          ik_utf8_cut(value.text, value.len, IK_SUMMARY_VALUE_MAX));
    }
}

char *ik_summary_of_result(const void *ctx, const char *name, const char *envelope)
{
    return fold(summarise(ctx, name, envelope));
}
