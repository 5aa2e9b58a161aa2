#include "conversation/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_clean.h"
#include "conversation/summary.h"

/* --- making ------------------------------------------------------------------------------ */

/* Without the white space around it, which spans do not have. */
static void copy_data(ik_msg_t *message, const char *data_json)
{
    static const char space[] = " \t\r\n";
    data_json += strspn(data_json, space);
    size_t len = strlen(data_json);
    while (len > 0 && strchr(space, data_json[len - 1]) != NULL) {
        len--;
    }
    message->data_json = ik_strndup(message, data_json, len);
    message->data_len = len;
}

ik_msg_t *ik_msg_create(const void *ctx, const char *kind, const char *content,
                        const char *data_json)
{
    ik_msg_t *message = ik_new(ctx, ik_msg_t);
    message->kind = ik_strdup(message, kind);
    message->content = content == NULL ? NULL : ik_strdup(message, content);
    if (data_json != NULL) {
        copy_data(message, data_json);
    }
    return message;
}

static void add_text(ik_buffer_t *out, const char *name, const char *text)
{
    if (text != NULL) {
        ik_json_begin_member(out, name);
        ik_json_append_text(out, text);
    }
}

static void add_number(ik_buffer_t *out, const char *name, int64_t number, int64_t absent)
{
    if (number != absent) {
        ik_json_begin_member(out, name);
        ik_buffer_append_format(out, "%lld", (long long)number);
    }
}

static void add_true(ik_buffer_t *out, const char *name, bool value)
{
    if (value) {
        ik_json_begin_member(out, name);
        ik_buffer_append_text(out, "true");
    }
}

static void add_usage(ik_buffer_t *out, const ik_usage_t *usage)
{
    if (ik_usage_known(usage)) {
        ik_json_begin_member(out, "usage");
        ik_usage_format(out, usage);
    }
}

static void add_call_ids(ik_buffer_t *out, const ik_msg_step_t *step)
{
    ik_json_begin_member(out, "calls");
    ik_buffer_append_byte(out, '[');
    for (size_t i = 0; i < step->call_count; i++) {
        ik_buffer_append_text(out, i == 0 ? "" : ",");
        ik_json_append_text(out, step->call_ids[i]);
    }
    ik_buffer_append_byte(out, ']');
}

static void add_step(ik_buffer_t *out, const ik_msg_step_t *step)
{
    if (step == NULL) {
        return;
    }
    add_text(out, "model", step->model);
    add_text(out, "stop", step->stop);
    add_true(out, "incomplete", step->incomplete);
    add_true(out, "refused", step->refused);
    add_usage(out, &step->usage);
    add_text(out, "reasoning", step->reasoning);
    if (step->private_json != NULL) {
        add_number(out, "step", (int64_t)step->messages, 0);
        add_call_ids(out, step);
        ik_json_begin_member(out, step->provider);
        ik_buffer_append_text(out, step->private_json);
    }
}

/* Closes the object, if one was begun, and hands it to the message. */
static void set_data(ik_msg_t *message, ik_buffer_t *out)
{
    if (out->len > 0) {
        ik_buffer_append_byte(out, '}');
        message->data_len = out->len;
        message->data_json = ik_buffer_take(message, out);
    }
}

ik_msg_t *ik_msg_create_assistant(const void *ctx, const char *text, const ik_msg_step_t *step)
{
    ik_msg_t *message = ik_msg_create(ctx, IK_MSG_ASSISTANT, text, NULL);
    ik_buffer_t data;
    ik_buffer_init(&data, message, IK_BUFFER_UNLIMITED);
    add_step(&data, step);
    set_data(message, &data);
    return message;
}

/* Every provider refuses a history with a name it could not have called. */
static char *usable_name(const void *ctx, const char *name)
{
    enum { NAME_MAX_LEN = 64 };
    char *usable = ik_strndup(ctx, name, strnlen(name, NAME_MAX_LEN));
    for (char *c = usable; *c != '\0'; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
        bool digit = (*c >= '0' && *c <= '9') || *c == '-';
        if (!letter && !(digit && c > usable)) {
            *c = '_';
        }
    }
    return *usable == '\0' ? ik_strdup(ctx, "unknown") : usable;
}

static bool is_clean_object(const char *text, size_t len)
{
    ik_json_span_t value;
    return ik_json_scan(text, len, &value, NULL) && ik_json_kind(value) == IK_JSON_OBJECT &&
           ik_json_is_clean(value);
}

ik_msg_t *ik_msg_create_call(const void *ctx, const ik_msg_call_t *call, const ik_msg_step_t *step)
{
    ik_msg_t *message = ik_msg_create(ctx, IK_MSG_TOOL_CALL, NULL, NULL);
    ik_buffer_t data;
    ik_buffer_init(&data, message, IK_BUFFER_UNLIMITED);
    add_text(&data, "id", call->id);
    add_text(&data, "type", "function");
    ik_json_begin_member(&data, "function");
    ik_buffer_append_text(&data, "{\"name\":");
    ik_json_append_text(&data, usable_name(message, call->name));
    ik_buffer_append_text(&data, ",\"arguments\":");
    ik_json_append_string(&data, call->arguments, call->arguments_len);
    ik_buffer_append_byte(&data, '}');
    add_text(&data, "provider", call->provider);
    add_step(&data, step);
    set_data(message, &data);
    message->content =
        ik_summary_of_call(message, call->name, call->arguments, call->arguments_len);
    message->clean = is_clean_object(call->arguments, call->arguments_len);
    return message;
}

ik_msg_t *ik_msg_create_result(const void *ctx, const ik_msg_result_t *result)
{
    ik_msg_t *message = ik_msg_create(ctx, IK_MSG_TOOL_RESULT, NULL, NULL);
    ik_buffer_t data;
    ik_buffer_init(&data, message, IK_BUFFER_UNLIMITED);
    add_text(&data, "tool_call_id", result->call_id);
    add_text(&data, "name", usable_name(message, result->name));
    add_text(&data, "provider", result->provider);
    ik_json_begin_member(&data, "success");
    ik_buffer_append_text(&data, result->success ? "true" : "false");
    add_number(&data, "wall_ms", result->wall_ms, -1);
    add_number(&data, "cpu_us", result->cpu_us, -1);
    add_number(&data, "max_rss_kb", result->max_rss_kb, -1);
    add_text(&data, "output", result->output);
    set_data(message, &data);
    message->content = ik_summary_of_result(message, result->name, result->output);
    message->clean = is_clean_object(result->output, strlen(result->output));
    return message;
}

ik_msg_t *ik_msg_create_compaction(const void *ctx, size_t trimmed_results)
{
    char data[64];
    snprintf(data, sizeof(data), "{\"trimmed_results\":%zu}", trimmed_results);
    ik_msg_t *message = ik_msg_create(ctx, IK_MSG_COMPACTION, NULL, data);
    message->content = ik_sprintf(message, "%zu tool result%s removed to fit the context",
                                  trimmed_results, trimmed_results == 1 ? "" : "s");
    return message;
}

/* --- reading ----------------------------------------------------------------------------- */

bool ik_msg_is(const ik_msg_t *message, const char *kind)
{
    return strcmp(message->kind, kind) == 0;
}

/* The length of the white space at text; 0: there is none. */
static size_t blank_at(const char *text)
{
    static const char *const wide[] = {
        "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\xa8",
        "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80",
    };
    if (*text != '\0' && strchr(" \t\n\v\f\r\x1c\x1d\x1e\x1f", *text) != NULL) {
        return 1;
    }
    for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++) {
        if (strncmp(text, wide[i], strlen(wide[i])) == 0) {
            return strlen(wide[i]);
        }
    }
    /* U+2000 to U+200A */
    bool space = strncmp(text, "\xe2\x80", 2) == 0 && (unsigned char)text[2] >= 0x80 &&
                 (unsigned char)text[2] <= 0x8a;
    return space ? 3 : 0;
}

bool ik_msg_text_is_blank(const char *text)
{
    size_t len;
    while (text != NULL && (len = blank_at(text)) > 0) {
        text += len;
    }
    return text == NULL || *text == '\0';
}

/* Unlike ik_json_find it stops at the first hit: what follows may be a megabyte of output. */
static bool find_first(ik_json_span_t object, const char *name, ik_json_span_t *value)
{
    size_t position = 0;
    ik_json_span_t key;
    while (ik_json_next_member(object, &position, &key, value)) {
        if (ik_json_key_is(key, name)) {
            return true;
        }
    }
    return false;
}

bool ik_msg_field(const ik_msg_t *message, const char *name, ik_json_span_t *value)
{
    if (message->data_json == NULL) {
        return false;
    }
    return find_first((ik_json_span_t){message->data_json, message->data_len}, name, value);
}

char *ik_msg_field_text(const void *ctx, const ik_msg_t *message, const char *name)
{
    ik_json_span_t value;
    if (!ik_msg_field(message, name, &value) || ik_json_kind(value) != IK_JSON_STRING) {
        return NULL;
    }
    return ik_json_decode(ctx, value, NULL);
}

int64_t ik_msg_field_number(const ik_msg_t *message, const char *name, int64_t fallback)
{
    ik_json_span_t value;
    if (!ik_msg_field(message, name, &value) || ik_json_kind(value) != IK_JSON_NUMBER) {
        return fallback;
    }
    return strtoll(value.text, NULL, 10);
}

bool ik_msg_call_field(const ik_msg_t *call, const char *name, ik_json_span_t *literal)
{
    ik_json_span_t function;
    return ik_msg_field(call, "function", &function) && ik_json_kind(function) == IK_JSON_OBJECT &&
           find_first(function, name, literal) && ik_json_kind(*literal) == IK_JSON_STRING;
}
