/*
 * Measures the serialisation of a conversation of about two megabytes for each wire format, from
 * scratch and with one new tool turn, beside copying as many bytes. Prints medians in microseconds:
 * {"bytes":…,"copy":…,"chat":{"whole":…,"next":…},…}
 *
 *   wire_cost ROUNDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/json.h"
#include "provider/wire.h"

enum { TURNS = 400, OUTPUT = 4500, SAMPLES_MAX = 1000 };

typedef struct {
    const ik_provider_t *provider;
    ik_config_provider_type_t type;
    const char *model;
} format_t;

static const format_t formats[] = {
    {&ik_provider_chat, IK_CONFIG_TYPE_OPENAI, "gpt-5"},
    {&ik_provider_responses, IK_CONFIG_TYPE_OPENAI, "gpt-6.1-sol"},
    {&ik_provider_anthropic, IK_CONFIG_TYPE_ANTHROPIC, "claude-opus-5-5"},
    {&ik_provider_google, IK_CONFIG_TYPE_GOOGLE, "gemini-4-argon"},
};
enum { FORMAT_COUNT = sizeof(formats) / sizeof(*formats) };

/* Processor time, because other processes may be busy, too. */
static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(double *samples, size_t count)
{
    qsort(samples, count, sizeof(*samples), compare);
    return samples[count / 2];
}

/* --- the conversation -------------------------------------------------------------------- */

/* A typical piece of source code. */
static const char source[] = "/* The first entry of that name; NULL when there is none. */\n"
                             "static const entry_t *find(const table_t *table, const char *name)\n"
                             "{\n"
                             "    for (size_t i = 0; i < table->count; i++) {\n"
                             "        if (strcmp(table->entries[i].name, name) == 0) {\n"
                             "            return &table->entries[i];\n"
                             "        }\n"
                             "    }\n"
                             "    fprintf(stderr, \"no entry '%s'\\n\", name);\n"
                             "    return NULL;\n"
                             "}\n\n";

static char *make_envelope(const void *ctx)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&out, "{\"tool_success\":true,\"result\":{\"output\":\"");
    while (out.len < OUTPUT) {
        ik_json_append_escaped(&out, source, strlen(source));
    }
    ik_buffer_append_text(&out, "\"}}");
    return ik_buffer_finish(&out);
}

static const char arguments[] = "{\"file_path\":\"src/main.c\"}";

/* The raw items of a step, which Responses wants back. */
static char *make_private(const void *ctx, const char *id)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_format(&out,
                            "{\"responses\":[{\"type\":\"function_call\",\"call_id\":\"%s\","
                            "\"name\":\"file_read\",\"arguments\":",
                            id);
    ik_json_append_text(&out, arguments);
    ik_buffer_append_text(&out, "}]}");
    return ik_buffer_finish(&out);
}

static void append_turn(ik_conversation_t *conversation, const ik_target_t *target, int number)
{
    const char *provider = target->config->name;
    void *scratch = talloc_new(NULL);
    const char *id = ik_sprintf(scratch, "call_%d", number);
    ik_msg_step_t step = {.model = target->name, .usage = IK_USAGE_NONE};
    if (target->provider == &ik_provider_responses) {
        step.provider = provider;
        step.private_json = make_private(scratch, id);
        step.messages = step.call_count = 1;
        step.call_ids = &id;
    }
    ik_msg_call_t call = {.id = id,
                          .name = "file_read",
                          .arguments = arguments,
                          .arguments_len = strlen(arguments),
                          .provider = provider};
    ik_msg_result_t result = {.call_id = id,
                              .name = "file_read",
                              .provider = provider,
                              .output = make_envelope(scratch),
                              .success = true,
                              .wall_ms = 1,
                              .cpu_us = 1,
                              .max_rss_kb = 1};
    ik_conversation_append(conversation, ik_msg_create_call(NULL, &call, &step));
    ik_conversation_append(conversation, ik_msg_create_result(NULL, &result));
    talloc_free(scratch);
}

static void drop_turn(ik_conversation_t *conversation)
{
    for (int i = 0; i < 2; i++) {
        talloc_free(conversation->messages[--conversation->count]);
    }
}

static ik_conversation_t *make_conversation(const void *ctx, const ik_target_t *target)
{
    ik_conversation_t *conversation = ik_conversation_create(ctx);
    ik_conversation_append(conversation, ik_msg_create(NULL, IK_MSG_USER, "Read it.", NULL));
    for (int i = 0; i < TURNS; i++) {
        append_turn(conversation, target, i);
    }
    return conversation;
}

/* --- measuring --------------------------------------------------------------------------- */

static void measure(const void *ctx, const format_t *format, int rounds, size_t *bytes)
{
    static double whole[SAMPLES_MAX];
    static double next[SAMPLES_MAX];
    ik_models_t *models = ik_models_create_for_day(ctx, "2026-01-01");
    ik_config_provider_t config = {
        .name = "fake", .type = (int)format->type, .base_url = "http://127.0.0.1", .api_key = "k"};
    ik_target_t target = {.config = &config, .provider = format->provider, .model = format->model};
    target.name = ik_sprintf(ctx, "fake/%s", format->model);
    target.facts = ik_models_find(models, target.name);
    ik_conversation_t *conversation = make_conversation(ctx, &target);
    ik_request_t *request = ik_request_create(ctx, &target);
    request->conversation = conversation;
    for (int i = 0; i < rounds; i++) {
        ik_wire_t *wire = ik_wire_create(ctx);
        ik_wire_body_t body;
        double begin = now_us();
        ik_wire_format(wire, request, &body);
        whole[i] = now_us() - begin;
        *bytes = body.total;
        append_turn(conversation, &target, TURNS);
        begin = now_us();
        ik_wire_format(wire, request, &body);
        next[i] = now_us() - begin;
        talloc_free(wire);
        drop_turn(conversation);
    }
    talloc_free(request);
    talloc_free(conversation);
    printf(",\"%s\":{\"whole\":%.1f,\"next\":%.1f}", format->provider->name,
           median(whole, (size_t)rounds), median(next, (size_t)rounds));
}

static double measure_copy(const void *ctx, size_t bytes, int rounds)
{
    static double samples[SAMPLES_MAX];
    char *from = ik_new_array(ctx, char, bytes);
    memset(from, 'x', bytes);
    for (int i = 0; i < rounds; i++) {
        double begin = now_us();
        char *to = malloc(bytes);
        memcpy(to, from, bytes);
        __asm__ volatile("" : : "r"(to) : "memory"); /* the compiler must not drop the copy */
        samples[i] = now_us() - begin;
        free(to);
    }
    return median(samples, (size_t)rounds);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 0;
    if (rounds < 1 || rounds > SAMPLES_MAX) {
        fputs("usage: wire_cost ROUNDS\n", stderr);
        return 2;
    }
    void *ctx = talloc_new(NULL);
    size_t bytes = 0;
    printf("{\"rounds\":%d", rounds);
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        measure(ctx, &formats[i], rounds, &bytes);
    }
    printf(",\"bytes\":%zu,\"copy\":%.1f}\n", bytes, measure_copy(ctx, bytes, rounds));
    talloc_free(ctx);
    return 0;
}
