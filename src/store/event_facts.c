#include "store/event_facts.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/json.h"
#include "base/utf8.h"
#include "conversation/message.h"

enum { TITLE_MAX_CHARS = 80 };

/* --- the title --------------------------------------------------------------------------- */

typedef struct {
    ik_buffer_t text;
    size_t chars;
    size_t kept;   /* bytes that stay if it must be cut */
    bool at_space; /* white space precedes the next character */
} title_t;

static void add_char(title_t *title, const char *bytes, size_t len)
{
    if (title->at_space && title->chars > 0) {
        title->at_space = false;
        add_char(title, " ", 1);
    }
    title->at_space = false;
    /* If the title is cut, "…" replaces the last character that fits. */
    if (title->chars == TITLE_MAX_CHARS - 1) {
        title->kept = title->text.len;
    }
    ik_utf8_append_clean(&title->text, bytes, len);
    title->chars++;
}

static bool is_blank(int32_t code)
{
    utf8proc_category_t category = utf8proc_category(code);
    return (code >= '\t' && code <= '\r') || code == 0x85 || category == UTF8PROC_CATEGORY_ZS ||
           category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

/* Adds the character at text unless it is a control character; returns its length. */
static size_t add_next(title_t *title, const char *text, size_t len)
{
    bool valid;
    size_t step = ik_utf8_step(text, len, &valid);
    int32_t code = -1;
    if (valid) {
        utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)step, &code);
    }
    if (valid && is_blank(code)) {
        title->at_space = true;
    } else if (!valid || utf8proc_category(code) != UTF8PROC_CATEGORY_CC) {
        add_char(title, text, step);
    }
    return step;
}

static char *make_title(const void *ctx, const char *words)
{
    title_t title = {0};
    ik_buffer_init(&title.text, ctx, IK_BUFFER_UNLIMITED); /* bounded by TITLE_MAX_CHARS */
    size_t len = strlen(words);
    for (size_t at = 0; at < len && title.chars <= TITLE_MAX_CHARS;) {
        if (title.chars > 0 && (words[at] == '\n' || words[at] == '\r')) {
            break;
        }
        at += add_next(&title, words + at, len - at);
    }
    if (title.chars == 0) {
        return NULL;
    }
    if (title.chars > TITLE_MAX_CHARS) {
        bool space = title.text.data[title.kept - 1] == ' ';
        title.text.len = space ? title.kept - 1 : title.kept;
        ik_buffer_append_text(&title.text, "…");
    }
    return ik_buffer_finish(&title.text);
}

/* --- the answer -------------------------------------------------------------------------- */

/* jansson reads a decimal point in every locale; strtod does not. */
static double read_cost(ik_json_span_t number)
{
    if (!ik_json_is(number, IK_JSON_NUMBER)) {
        return -1;
    }
    json_t *value = ik_json_parse(number.text, number.len, NULL);
    double cost = json_is_number(value) ? json_number_value(value) : -1;
    json_decref(value);
    return cost >= 0 ? cost : -1;
}

static void read_figures(const void *ctx, ik_json_span_t data, bool is_summary,
                         ik_event_facts_t *facts)
{
    enum { MODEL, USAGE, COST, SUMMARY, COUNT };
    static const char *const names[COUNT] = {"model", "usage", "cost_usd", "summary"};
    ik_json_span_t values[COUNT];
    ik_json_find_members(data, names, COUNT, values);
    if (!ik_json_is(values[MODEL], IK_JSON_STRING) ||
        (is_summary && !ik_json_has_text(values[SUMMARY]))) {
        return;
    }
    facts->answer = true;
    ik_buffer_t model;
    ik_buffer_init(&model, ctx, IK_BUFFER_UNLIMITED); /* bounded by the event */
    ik_json_append_decoded(&model, values[MODEL]);
    ik_utf8_clean(&model);
    facts->model = ik_buffer_finish(&model);
    facts->usage = ik_usage_parse(values[USAGE]);
    facts->cost = read_cost(values[COST]);
}

static void read_answer(const void *ctx, const char *data_json, bool is_summary,
                        ik_event_facts_t *facts)
{
    ik_json_span_t data;
    if (ik_json_scan(data_json, strlen(data_json), &data, NULL)) {
        read_figures(ctx, data, is_summary, facts);
    }
}

/* What a model answered to a tool while it ran. */
static void read_completions(const void *ctx, const char *data_json, ik_event_facts_t *facts)
{
    ik_json_span_t data;
    ik_json_span_t completions;
    if (ik_json_scan(data_json, strlen(data_json), &data, NULL) &&
        ik_json_find_kind(data, "completions", IK_JSON_OBJECT, &completions)) {
        read_figures(ctx, completions, false, facts);
    }
}

/* Whether a message is the task of a sub-agent. */
static bool is_task(const char *data_json)
{
    ik_json_span_t data;
    ik_json_span_t delegated;
    return data_json != NULL && ik_json_scan(data_json, strlen(data_json), &data, NULL) &&
           ik_json_find_kind(data, "delegated", IK_JSON_BOOLEAN, &delegated);
}

ik_event_facts_t ik_event_facts(const void *ctx, const ik_store_event_t *event)
{
    ik_event_facts_t facts = {.usage = IK_USAGE_NONE, .cost = -1};
    facts.user = strcmp(event->kind, IK_MSG_USER) == 0 && !is_task(event->data_json);
    if (facts.user && event->content != NULL) {
        facts.title = make_title(ctx, event->content);
    }
    bool is_summary = strcmp(event->kind, IK_MSG_COMPACTION) == 0;
    bool made = strcmp(event->kind, IK_MSG_ASSISTANT) == 0 ||
                strcmp(event->kind, IK_MSG_TOOL_CALL) == 0 || is_summary;
    if (made && event->data_json != NULL) {
        read_answer(ctx, event->data_json, is_summary, &facts);
    } else if (strcmp(event->kind, IK_MSG_TOOL_RESULT) == 0 && event->data_json != NULL &&
               strncmp(event->data_json, IK_MSG_COMPLETIONS, strlen(IK_MSG_COMPLETIONS)) == 0) {
        read_completions(ctx, event->data_json, &facts);
    }
    return facts;
}
