#include "store/words/event_text.h"

#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "conversation/message.h"

/* The parts of the text, one per line, up to IK_EVENT_TEXT_MAX bytes. */
typedef struct {
    ik_buffer_t *out;
    size_t start;
} parts_t;

static size_t room_left(const parts_t *parts)
{
    size_t used = parts->out->len - parts->start;
    return used < IK_EVENT_TEXT_MAX ? IK_EVENT_TEXT_MAX - used : 0;
}

/* Starts a new line when there is text already. Returns the room that is left. */
static size_t begin_part(parts_t *parts)
{
    if (parts->out->len > parts->start && room_left(parts) > 0) {
        ik_buffer_append_byte(parts->out, '\n');
    }
    return room_left(parts);
}

static void add_text(parts_t *parts, const char *text, size_t len)
{
    if (len > 0) {
        size_t room = begin_part(parts);
        ik_buffer_append(parts->out, text, ik_utf8_cut(text, len, room));
    }
}

/* Cuts a string literal so that it decodes to at most room bytes. The span includes one byte where
 * the closing quote would be; decoding ignores it. */
static ik_json_span_t cut_literal(ik_json_span_t literal, size_t room)
{
    if (literal.len - 2 <= room) {
        return literal;
    }
    const char *at = literal.text + 1;
    const char *end = literal.text + literal.len - 1;
    while (at < end) {
        size_t decoded;
        size_t step = ik_json_step(at, end, &decoded);
        if (decoded > room) {
            break;
        }
        room -= decoded;
        at += step;
    }
    return (ik_json_span_t){literal.text, (size_t)(at + 1 - literal.text)};
}

static void add_literal(parts_t *parts, ik_json_span_t literal)
{
    if (ik_json_has_text(literal)) {
        size_t room = begin_part(parts);
        ik_json_append_decoded(parts->out, cut_literal(literal, room));
    }
}

/* Returns the end of the string that begins at text, in scanned JSON. */
static const char *skip_string(const char *text)
{
    for (text++; *text != '"'; text++) {
        text += *text == '\\';
    }
    return text + 1;
}

static bool is_key(const char *behind, const char *end)
{
    while (behind < end && strchr(" \t\r\n", *behind) != NULL) {
        behind++;
    }
    return behind < end && *behind == ':';
}

/* Adds the strings and numbers of scanned JSON at any depth, without the names of members. One pass
 * over the bytes: descending through spans would read the innermost value once per level. */
static void add_values(parts_t *parts, ik_json_span_t json)
{
    const char *end = json.text + json.len;
    for (const char *at = json.text; at < end && room_left(parts) > 0;) {
        const char *start = at;
        if (*at == '"') {
            at = skip_string(at);
            if (!is_key(at, end)) {
                add_literal(parts, (ik_json_span_t){start, (size_t)(at - start)});
            }
        } else if (*at == '-' || (*at >= '0' && *at <= '9')) {
            at += strspn(at, "+-.0123456789Ee");
            add_text(parts, start, (size_t)(at - start));
        } else {
            at++;
        }
    }
}

/* Adds a string literal that should hold JSON: its values, or the text when it is not JSON. */
static void add_json_text(parts_t *parts, ik_json_span_t literal)
{
    if (!ik_json_has_text(literal)) {
        return;
    }
    ik_buffer_t text;
    ik_json_span_t json;
    ik_buffer_init(&text, NULL, IK_BUFFER_UNLIMITED); /* bounded by the message */
    ik_json_append_decoded(&text, literal);
    if (ik_json_scan(text.data, text.len, &json, NULL)) {
        add_values(parts, json);
    } else {
        add_text(parts, text.data, text.len);
    }
    ik_buffer_reset(&text);
}

void ik_event_text_append(ik_buffer_t *out, const ik_store_event_t *event)
{
    enum { REASONING, FUNCTION, OUTPUT, MEMBER_COUNT };
    static const char *const names[MEMBER_COUNT] = {"reasoning", "function", "output"};
    static const char *const function_names[] = {"name", "arguments"};
    parts_t parts = {.out = out, .start = out->len};
    ik_json_span_t data;
    ik_json_span_t members[MEMBER_COUNT] = {0};
    if (strcmp(event->kind, IK_MSG_SYSTEM) == 0 || strcmp(event->kind, IK_MSG_MODE) == 0 ||
        strcmp(event->kind, IK_MSG_COMPACTION) == 0 || ik_msg_kind_is_record(event->kind)) {
        return;
    }
    bool is_call = strcmp(event->kind, IK_MSG_TOOL_CALL) == 0;
    bool is_result = strcmp(event->kind, IK_MSG_TOOL_RESULT) == 0;
    bool is_answer = strcmp(event->kind, IK_MSG_ASSISTANT) == 0;
    bool is_object = (is_call || is_result || is_answer) && event->data_json != NULL &&
                     ik_json_scan(event->data_json, strlen(event->data_json), &data, NULL) &&
                     ik_json_kind(data) == IK_JSON_OBJECT;
    if (is_object) {
        ik_json_find_members(data, names, MEMBER_COUNT, members);
    }
    if (is_object && is_call) {
        ik_json_span_t function[2];
        ik_json_find_members(members[FUNCTION], function_names, 2, function);
        add_literal(&parts, function[0]);
        add_json_text(&parts, function[1]);
    } else if (is_object && is_result) {
        add_json_text(&parts, members[OUTPUT]);
    } else if (event->content != NULL) {
        add_text(&parts, event->content, strlen(event->content));
    }
    if (!is_result) {
        add_literal(&parts, members[REASONING]);
    }
}
