/*
 * Feeds a recorded stream to a wire format (README.md):
 *
 *   stream_driver MODE WIRE FILE [KEY=VALUE]...
 *
 * Every mode except replay prints the result as one JSON object; bytes, splits and random fail at
 * the first cut that changes the result.
 */
#include "agent/answer.h"
#include "base/utf8.h"
#include "driver.h"
#include "provider/stream.h"
#include "provider/wire.h"

typedef struct {
    const char *wire;
    const char *provider;
    const char *base_url;
    const char *model;
    const char *content_type;
    const char *user;   /* what the user says after a replay */
    const char *output; /* of every tool in a replay */
    size_t rounds;
    unsigned seed;
    unsigned refused;
    bool whole; /* the connection ended in order */
} options_t;

/* What the listener got. */
typedef struct {
    ik_buffer_t text;
    ik_buffer_t reasoning;
} heard_t;

/* --- feeding ------------------------------------------------------------------------------ */

static void hear(ik_buffer_t *into, const char *text, size_t len)
{
    if (len == 0 || !ik_utf8_valid(text, len)) {
        driver_fail("a delta is empty or no UTF-8", text);
    }
    ik_buffer_append(into, text, len);
}

static void on_text(void *data, const char *text, size_t len)
{
    hear(&((heard_t *)data)->text, text, len);
}

static void on_reasoning(void *data, const char *text, size_t len)
{
    hear(&((heard_t *)data)->reasoning, text, len);
}

static ik_target_t *make_target(const void *ctx, const options_t *options)
{
    return driver_target(ctx, options->wire, options->provider, options->base_url, options->model);
}

typedef struct {
    ik_stream_t *stream;
    heard_t heard;
} run_t;

static run_t *begin_run(const void *ctx, const options_t *options)
{
    run_t *run = ik_new(ctx, run_t);
    ik_buffer_init(&run->heard.text, run, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&run->heard.reasoning, run, IK_BUFFER_UNLIMITED);
    ik_stream_listener_t listener = {
        .on_text = on_text, .on_reasoning = on_reasoning, .data = &run->heard};
    run->stream = ik_stream_create(run, make_target(run, options), &listener);
    ik_stream_begin(run->stream, options->content_type);
    return run;
}

/* Each piece is a separate allocation, so that a sanitizer detects a read beyond its end. */
static bool feed(run_t *run, const char *bytes, size_t len)
{
    char *piece = malloc(len == 0 ? 1 : len);
    if (piece == NULL) {
        driver_fail("out of memory", "");
    }
    memcpy(piece, bytes, len);
    bool more = ik_stream_feed(run->stream, piece, len);
    free(piece);
    return more;
}

/* --- the result --------------------------------------------------------------------------- */

static void check_heard(const char *what, const ik_buffer_t *heard, const ik_buffer_t *held)
{
    if (heard->len != held->len ||
        (held->len > 0 && memcmp(heard->data, held->data, held->len) != 0)) {
        driver_fail("the listener did not get what the stream holds", what);
    }
}

static void append_arguments(ik_buffer_t *out, const ik_stream_call_t *call)
{
    ik_json_span_t value;
    if (ik_json_scan(call->arguments.data, call->arguments.len, &value, NULL)) {
        ik_buffer_append(out, value.text, value.len);
    } else {
        ik_json_append_string(out, call->arguments.data, call->arguments.len);
    }
}

/* A made-up id is random, so it is shown as @ and its number. */
static void append_call(ik_buffer_t *out, const ik_stream_call_t *call, size_t *made_up)
{
    bool given = call->given_id.len > 0 && strcmp(call->id, call->given_id.data) == 0;
    ik_buffer_append_text(out, "{\"id\":");
    if (given) {
        ik_json_append_text(out, call->id);
    } else {
        ik_buffer_append_format(out, "\"@%zu\"", ++*made_up);
    }
    ik_buffer_append_text(out, ",\"name\":");
    ik_json_append_string(out, call->name.data, call->name.len);
    ik_buffer_append_text(out, ",\"args\":");
    append_arguments(out, call);
    ik_buffer_append_byte(out, '}');
}

static void check_unique(const ik_stream_t *stream, size_t item)
{
    const char *id = stream->items[item]->call->id;
    for (size_t i = 0; i < item; i++) {
        const ik_stream_call_t *other = stream->items[i]->call;
        if (other != NULL && strcmp(other->id, id) == 0) {
            driver_fail("two calls have one id", id);
        }
    }
}

static void append_calls(ik_buffer_t *out, const ik_stream_t *stream)
{
    size_t made_up = 0;
    bool first = true;
    ik_buffer_append_text(out, ",\"tool_calls\":[");
    for (size_t i = 0; i < stream->item_count; i++) {
        if (stream->items[i]->call != NULL) {
            ik_buffer_append_text(out, first ? "" : ",");
            append_call(out, stream->items[i]->call, &made_up);
            check_unique(stream, i);
            first = false;
        }
    }
    ik_buffer_append_byte(out, ']');
}

/* The order of text (t) and calls (c). */
static void append_order(ik_buffer_t *out, const ik_stream_t *stream)
{
    ik_buffer_append_text(out, ",\"order\":\"");
    for (size_t i = 0; i < stream->item_count; i++) {
        ik_buffer_append_byte(out, stream->items[i]->call != NULL ? 'c' : 't');
    }
    ik_buffer_append_byte(out, '"');
}

static void append_error(ik_buffer_t *out, const ik_provider_error_t *error)
{
    if (error->fault == IK_FAULT_NONE) {
        ik_buffer_append_text(out, "null,\"fault\":null");
        return;
    }
    ik_buffer_append_text(out, "{\"code\":");
    ik_json_append_text(out, error->code);
    ik_buffer_append_text(out, ",\"message\":");
    ik_json_append_text(out, error->message);
    ik_buffer_append_text(out, "},\"fault\":");
    ik_json_append_text(out, ik_fault_name(error->fault));
}

static void append_replay(ik_buffer_t *out, const ik_buffer_t *private_json)
{
    ik_json_span_t value;
    if (private_json->len == 0) {
        ik_buffer_append_text(out, "null");
        return;
    }
    if (!ik_json_scan(private_json->data, private_json->len, &value, NULL) ||
        !ik_utf8_valid(private_json->data, private_json->len)) {
        driver_fail("what goes back is no JSON", private_json->data);
    }
    ik_buffer_append(out, value.text, value.len);
}

static char *result_of(const void *ctx, const run_t *run)
{
    const ik_stream_t *stream = run->stream;
    ik_buffer_t out;
    ik_buffer_t text;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < stream->item_count; i++) {
        if (stream->items[i]->call == NULL) {
            ik_buffer_append(&text, stream->items[i]->text.data, stream->items[i]->text.len);
        }
    }
    check_heard("text", &run->heard.text, &text);
    check_heard("reasoning", &run->heard.reasoning, &stream->reasoning);
    ik_buffer_append_text(&out, "{\"text\":");
    ik_json_append_string(&out, text.data, text.len);
    ik_buffer_append_text(&out, ",\"thinking\":");
    ik_json_append_string(&out, stream->reasoning.data, stream->reasoning.len);
    append_calls(&out, stream);
    append_order(&out, stream);
    ik_buffer_append_text(&out, ",\"stop\":");
    ik_json_append_text(&out, ik_stop_name(stream->stop));
    ik_buffer_append_text(&out, ",\"usage\":");
    ik_usage_format(&out, &stream->usage);
    ik_buffer_append_text(&out, ",\"error\":");
    append_error(&out, &stream->error);
    ik_buffer_append_format(
        &out, ",\"refused\":%s,\"continuation\":", stream->refused ? "true" : "false");
    ik_json_append_text(&out, stream->continuation == NULL ? "" : stream->continuation);
    ik_buffer_append_text(&out, ",\"replay\":");
    append_replay(&out, &stream->private_json);
    ik_buffer_append_byte(&out, '}');
    return out.data;
}

/* --- modes -------------------------------------------------------------------------------- */

typedef struct {
    void *ctx;
    const options_t *options;
    ik_buffer_t bytes;
    const char *expected; /* the result of the whole */
} drive_t;

/* cuts are ascending offsets. */
static char *run_cut(const void *ctx, const drive_t *drive, const size_t *cuts, size_t count)
{
    run_t *run = begin_run(ctx, drive->options);
    size_t at = 0;
    bool more = true;
    for (size_t i = 0; i <= count && more; i++) {
        size_t end = i < count ? cuts[i] : drive->bytes.len;
        more = feed(run, drive->bytes.data + at, end - at);
        at = end;
    }
    ik_stream_finish(run->stream, drive->options->whole);
    return result_of(ctx, run);
}

static void compare_cut(const drive_t *drive, const size_t *cuts, size_t count)
{
    void *scratch = talloc_new(NULL);
    char *result = run_cut(scratch, drive, cuts, count);
    if (strcmp(result, drive->expected) != 0) {
        fprintf(stderr, "cut into %zu pieces, the first %zu bytes long:\n%s\nwhole:\n%s\n",
                count + 1, count == 0 ? drive->bytes.len : cuts[0], result, drive->expected);
        exit(1);
    }
    talloc_free(scratch);
}

static void compare_bytes(const drive_t *drive)
{
    size_t *cuts = ik_new_array(drive->ctx, size_t, drive->bytes.len + 1);
    for (size_t i = 0; i < drive->bytes.len; i++) {
        cuts[i] = i;
    }
    compare_cut(drive, cuts, drive->bytes.len);
}

static void compare_splits(const drive_t *drive)
{
    for (size_t cut = 0; cut <= drive->bytes.len; cut++) {
        compare_cut(drive, &cut, 1);
    }
}

static int by_offset(const void *a, const void *b)
{
    size_t left = *(const size_t *)a;
    size_t right = *(const size_t *)b;
    return (left > right) - (left < right);
}

static void compare_random(const drive_t *drive)
{
    enum { MOST_CUTS = 64 };
    size_t cuts[MOST_CUTS];
    srandom(drive->options->seed);
    for (size_t round = 0; round < drive->options->rounds; round++) {
        size_t count = (size_t)random() % MOST_CUTS;
        for (size_t i = 0; i < count; i++) {
            cuts[i] = (size_t)random() % (drive->bytes.len + 1);
        }
        qsort(cuts, count, sizeof(*cuts), by_offset);
        compare_cut(drive, cuts, count);
    }
}

/* --- replay: the answer as the agent stores it and sends it back ---------------------------- */

static void append_step(ik_conversation_t *conversation, const ik_stream_t *stream)
{
    ik_conversation_t *step = ik_answer_to_messages(NULL, stream, &(ik_answer_options_t){0});
    for (size_t i = 0; i < step->count; i++) {
        ik_conversation_append(conversation, step->messages[i]);
    }
    talloc_free(step);
}

static void append_results(ik_conversation_t *conversation, const ik_stream_t *stream,
                           const char *output)
{
    for (size_t i = 0; i < stream->item_count; i++) {
        const ik_stream_call_t *call = stream->items[i]->call;
        if (call != NULL) {
            ik_msg_result_t result = {.call_id = call->id,
                                      .name = call->name.data,
                                      .provider = stream->target->config->name,
                                      .output = output,
                                      .success = true,
                                      .wall_ms = -1,
                                      .cpu_us = -1,
                                      .max_rss_kb = -1};
            ik_conversation_append(conversation, ik_msg_create_result(conversation, &result));
        }
    }
}

static void print_replay(const drive_t *drive)
{
    const options_t *options = drive->options;
    run_t *run = begin_run(drive->ctx, options);
    feed(run, drive->bytes.data, drive->bytes.len);
    ik_stream_finish(run->stream, options->whole);
    ik_conversation_t *conversation = ik_conversation_create(drive->ctx);
    ik_conversation_append(conversation, ik_msg_create(conversation, IK_MSG_USER, "hello", NULL));
    append_step(conversation, run->stream);
    append_results(conversation, run->stream, options->output);
    if (options->user[0] != '\0') {
        ik_conversation_append(conversation,
                               ik_msg_create(conversation, IK_MSG_USER, options->user, NULL));
    }
    ik_request_t *request = ik_request_create(drive->ctx, run->stream->target);
    request->conversation = ik_conversation_take_repaired(drive->ctx, conversation);
    request->refused = options->refused;
    ik_wire_body_t body;
    ik_wire_format(ik_wire_create(drive->ctx), request, &body);
    for (size_t i = 0; i < body.count; i++) {
        fwrite(body.parts[i].bytes, 1, body.parts[i].len, stdout);
    }
    putchar('\n');
}

/* --- the command line --------------------------------------------------------------------- */

static void set_option(options_t *options, const char *word)
{
    const struct {
        const char *key;
        const char **value;
    } texts[] = {
        {"provider=", &options->provider}, {"base_url=", &options->base_url},
        {"model=", &options->model},       {"content_type=", &options->content_type},
        {"user=", &options->user},         {"output=", &options->output},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        size_t len = strlen(texts[i].key);
        if (strncmp(word, texts[i].key, len) == 0) {
            *texts[i].value = word + len;
            return;
        }
    }
    if (strncmp(word, "rounds=", 7) == 0) {
        options->rounds = strtoul(word + 7, NULL, 10);
    } else if (strncmp(word, "seed=", 5) == 0) {
        options->seed = (unsigned)strtoul(word + 5, NULL, 10);
    } else if (strncmp(word, "refused=", 8) == 0) {
        options->refused = (unsigned)strtoul(word + 8, NULL, 10);
    } else if (strcmp(word, "broken=1") == 0) {
        options->whole = false;
    } else {
        driver_fail("no such option", word);
    }
}

static void run_mode(drive_t *drive, const char *mode)
{
    if (strcmp(mode, "replay") == 0) {
        print_replay(drive);
        return;
    }
    drive->expected = run_cut(drive->ctx, drive, NULL, 0);
    if (strcmp(mode, "bytes") == 0) {
        compare_bytes(drive);
    } else if (strcmp(mode, "splits") == 0) {
        compare_splits(drive);
    } else if (strcmp(mode, "random") == 0) {
        compare_random(drive);
    } else if (strcmp(mode, "whole") != 0) {
        driver_fail("no such mode", mode);
    }
    puts(drive->expected);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        driver_fail("usage",
                    "stream_driver whole|bytes|splits|random|replay WIRE FILE [KEY=VALUE]…");
    }
    options_t options = {.wire = argv[2],
                         .provider = "test",
                         .base_url = "http://127.0.0.1:9",
                         .model = "model",
                         .content_type = "text/event-stream",
                         .user = "go on",
                         .output = "{\"tool_success\":true,\"result\":\"done\"}",
                         .rounds = 100,
                         .seed = 1,
                         .whole = true};
    for (int i = 4; i < argc; i++) {
        set_option(&options, argv[i]);
    }
    drive_t drive = {.ctx = talloc_new(NULL), .options = &options};
    ik_buffer_init(&drive.bytes, drive.ctx, IK_BUFFER_UNLIMITED);
    FILE *file = fopen(argv[3], "rb");
    driver_read(&drive.bytes, file, argv[3]);
    fclose(file);
    run_mode(&drive, argv[1]);
    talloc_free(drive.ctx);
    return 0;
}
