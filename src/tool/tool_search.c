#include "tool/tool_search.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/json.h"
#include "tool/tool_wrapper.h"

enum { SHOWN = 8, SHOWN_MAX = 50, WORDS_MAX = 16, SENTENCE_MAX = 200 };

static const char schema_text[] =
    "{\"name\":\"tool_search\",\"description\":\"Finds tools of servers by words and returns their "
    "whole descriptions and parameters. A tool that was found can be called from then on.\","
    "\"parameters\":{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\","
    "\"description\":\"Words that describe what the tool does, or its name\"},\"limit\":{\"type\":"
    "\"integer\",\"description\":\"The maximum number of tools; 8 by default\"}},\"required\":["
    "\"query\"]},\"parallel\":true,\"effects\":{\"write\":\"none\",\"network\":false}}";

const char ik_tool_search_opening[] = "{\"tool_success\":true,\"result\":{\"tools\":[";

/* --- searching --------------------------------------------------------------------------- */

typedef struct {
    const ik_tool_registry_entry_t *entry;
    int score;
} hit_t;

static int compare_hits(const void *a, const void *b)
{
    const hit_t *first = a;
    const hit_t *second = b;
    return first->score != second->score ? second->score - first->score
                                         : strcmp(first->entry->name, second->entry->name);
}

/* How the text contains the word: 2 as a word of its own, 1 as part of another, 0 not at all. */
static int find_word(const char *text, const char *word)
{
    size_t len = strlen(word);
    int found = 0;
    for (const char *at = text; found < 2 && (at = strcasestr(at, word)) != NULL; at++) {
        bool alone =
            (at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[len]);
        found = alone ? 2 : 1;
    }
    return found;
}

/* A word in the name counts more than one in the description; 0: none was found. */
static int rate(const ik_tool_registry_entry_t *entry, char *const *words, size_t count)
{
    enum { EXACT = 200, NAMED = 4 };
    int score = 0;
    for (size_t i = 0; i < count; i++) {
        int named = find_word(entry->name, words[i]);
        int raw = find_word(entry->tool, words[i]);
        bool exact =
            strcasecmp(entry->name, words[i]) == 0 || strcasecmp(entry->tool, words[i]) == 0;
        score += (exact ? EXACT : 0) + NAMED * (named > raw ? named : raw) +
                 find_word(entry->schema->description, words[i]);
    }
    return score;
}

static size_t split(char *query, char **words)
{
    size_t count = 0;
    for (char *c = query; *c != '\0'; c++) {
        *c = isspace((unsigned char)*c) || strchr(",;\"'", *c) != NULL ? ' ' : *c;
    }
    for (char *word; count < WORDS_MAX && (word = strsep(&query, " ")) != NULL;) {
        if (*word != '\0') {
            words[count++] = word;
        }
    }
    return count;
}

/* {"tools": [{name, description, parameters}], "total": N}, on ctx. Without words all match. */
static char *search(const void *ctx, const ik_tool_registry_t *registry, char *query, size_t limit)
{
    char *words[WORDS_MAX];
    size_t word_count = split(query, words);
    hit_t *hits = ik_new_array(ctx, hit_t, registry->count + 1);
    size_t count = 0;
    for (size_t i = 0; i < registry->count; i++) {
        const ik_tool_registry_entry_t *entry = registry->entries[i];
        int score = entry->source != IK_TOOL_SERVER ? 0
                    : word_count == 0               ? 1
                                                    : rate(entry, words, word_count);
        if (score > 0) {
            hits[count++] = (hit_t){.entry = entry, .score = score};
        }
    }
    qsort(hits, count, sizeof(*hits), compare_hits);
    json_t *tools = json_array();
    for (size_t i = 0; i < count && i < limit; i++) {
        const ik_tool_schema_t *schema = hits[i].entry->schema;
        json_array_append_new(tools,
                              json_pack("{s:s, s:s, s:O}", "name", schema->name, "description",
                                        schema->description, "parameters", schema->parameters));
    }
    json_t *result = json_pack("{s:o, s:I}", "tools", tools, "total", (json_int_t)count);
    char *text = ik_json_format(ctx, result);
    json_decref(result);
    talloc_free(hits);
    return text;
}

/* --- the runner -------------------------------------------------------------------------- */

typedef struct {
    ik_timer_t *deliver;
    ik_tool_result_t result;
    void (*on_end)(void *data, const ik_tool_result_t *result);
    void *data;
} call_t;

static void on_deliver(void *data)
{
    call_t *call = data;
    call->on_end(call->data, &call->result);
}

static void *start(const void *ctx, const ik_tool_context_t *context,
                   const ik_tool_registry_entry_t *entry, const ik_tool_request_t *request)
{
    call_t *call = ik_new(ctx, call_t);
    call->on_end = request->on_end;
    call->data = request->data;
    call->result.owner = talloc_new(call);
    json_t *arguments =
        ik_json_adopt(call, ik_json_parse(request->arguments, request->arguments_len, NULL));
    const char *query = json_string_value(json_object_get(arguments, "query"));
    json_t *limit = json_object_get(arguments, "limit");
    json_int_t wanted = json_is_integer(limit) ? json_integer_value(limit) : SHOWN;
    bool bad_limit = limit != NULL && !json_is_null(limit) && !json_is_integer(limit);
    if (query == NULL || bad_limit || wanted < 1) {
        call->result.envelope = ik_tool_wrap_refusal(
            call->result.owner, IK_TOOL_INVALID_PARAMS,
            query == NULL ? "query must be a string" : "limit must be a positive whole number");
    } else {
        char *found = search(call, entry->peer, ik_strdup(call, query),
                             wanted < SHOWN_MAX ? (size_t)wanted : SHOWN_MAX);
        ik_json_span_t span = {found, strlen(found)};
        call->result.envelope =
            ik_tool_wrap_success(call->result.owner, span, ik_tool_max_output(context), NULL);
        call->result.success = true;
    }
    call->deliver = ik_timer_create(call, ik_process_host_loop(context->host), on_deliver, call);
    ik_timer_start(call->deliver, 0);
    return call;
}

/* It ends at once. */
static void cancel(void *call)
{
    (void)call;
}

static const ik_tool_runner_t runner = {.start = start, .cancel = cancel};

/* --- the registry ------------------------------------------------------------------------ */

void ik_tool_search_add(ik_tool_registry_t *registry)
{
    size_t servers = 0;
    ik_tool_schema_t *schema;
    for (size_t i = 0; i < registry->count; i++) {
        servers += registry->entries[i]->source == IK_TOOL_SERVER;
    }
    bool many =
        servers > IK_TOOL_SEARCH_FROM || (servers > 0 && registry->count > IK_TOOL_SEARCH_MOST);
    if (!many || ik_tool_registry_lookup(registry, "tool_search") != NULL) {
        return;
    }
    res_t parsed = ik_tool_schema_parse(registry, schema_text, strlen(schema_text), &schema);
    if (is_err(&parsed)) {
        PANIC("the schema of tool_search: %s", parsed.message);
    }
    ik_tool_registry_add_built_in(registry, &runner, registry, schema);
}

bool ik_tool_search_applies(const ik_tool_registry_t *registry)
{
    const ik_tool_registry_entry_t *entry = ik_tool_registry_lookup(registry, "tool_search");
    return entry != NULL && entry->runner == &runner;
}

/* The first sentence of a description: its length in bytes. */
static size_t measure_sentence(const char *description)
{
    const char *end = strstr(description, ". ");
    size_t len = strcspn(description, "\r\n");
    len = end != NULL && (size_t)(end - description) + 1 < len ? (size_t)(end - description) + 1
                                                               : len;
    return len < SENTENCE_MAX ? len : SENTENCE_MAX;
}

char *ik_tool_search_catalogue(const void *ctx, const ik_tool_registry_t *registry)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the registry */
    ik_buffer_append_text(&out,
                          "There are more tools, of servers. Before you call one of them, find it "
                          "with tool_search, which returns its parameters:\n");
    for (size_t i = 0; i < registry->count; i++) {
        const ik_tool_registry_entry_t *entry = registry->entries[i];
        if (entry->source == IK_TOOL_SERVER) {
            const char *text = entry->schema->description;
            ik_buffer_append_format(&out, "- %s: %.*s\n", entry->name, (int)measure_sentence(text),
                                    text);
        }
    }
    return ik_buffer_finish(&out);
}
