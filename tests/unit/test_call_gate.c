/* The gate between a model's call and its start, driven by gates that deny, rewrite and answer
 * late, and the recording of files around calls that may write. The tool is a runner that echoes
 * its arguments, so that no process is involved. */
#include <check.h>
#include <string.h>

#include "agent/call_batch.h"
#include "base/alloc.h"
#include "base/json.h"
#include "suite.h"

enum { CALLS_MAX = 4 };

static void *ctx;
static ik_shared_ctx_t shared;
static ik_tool_registry_t *registry;
static const ik_target_t *target;
static ik_call_gate_t gate;
static ik_call_batch_t *batch;
static ik_buffer_t seen; /* what happened, in order */
static bool over;

/* --- a tool ------------------------------------------------------------------------------- */

typedef struct {
    ik_timer_t *timer;
    ik_tool_request_t request;
    char *envelope;
} echo_t;

static void on_echo(void *data)
{
    echo_t *echo = data;
    ik_tool_result_t result = {.envelope = echo->envelope, .owner = echo, .success = true};
    echo->request.on_end(echo->request.data, &result);
}

static void *start_echo(const void *parent, const ik_tool_context_t *context,
                        const ik_tool_registry_entry_t *entry, const ik_tool_request_t *request)
{
    (void)context;
    (void)entry;
    echo_t *echo = ik_new(parent, echo_t);
    echo->request = *request;
    echo->envelope = ik_sprintf(echo, "{\"tool_success\":true,\"result\":%.*s}",
                                (int)request->arguments_len, request->arguments);
    echo->timer = ik_timer_create(echo, shared.loop, on_echo, echo);
    ik_timer_start(echo->timer, 1);
    return echo;
}

static void cancel_echo(void *call)
{
    (void)call; /* it ends by itself */
}

static const ik_tool_runner_t echo_runner = {.start = start_echo, .cancel = cancel_echo};

static void add_tool(const char *name, bool parallel)
{
    char *text = ik_sprintf(ctx,
                            "{\"name\":\"%s\",\"description\":\"d\",\"parallel\":%s,\"parameters\":"
                            "{\"type\":\"object\",\"properties\":{}}}",
                            name, parallel ? "true" : "false");
    ik_tool_schema_t *schema;
    ck_assert(ik_tool_schema_parse(ctx, text, strlen(text), &schema).code == IK_ERR_NONE);
    ik_tool_registry_add(registry, name, name, IK_TOOL_USER, false, schema);
    for (size_t i = 0; i < registry->count; i++) {
        registry->entries[i]->runner = &echo_runner;
    }
}

/* --- gates -------------------------------------------------------------------------------- */

static void *deny(void *data, const void *parent, const ik_call_t *call,
                  ik_call_verdict_fn on_verdict, void *verdict_data)
{
    (void)data;
    (void)parent;
    bool is_bad = strcmp(call->name, "bad") == 0;
    on_verdict(verdict_data, &(ik_call_verdict_t){.denied = is_bad ? "Not here" : NULL});
    return NULL;
}

static void *rewrite(void *data, const void *parent, const ik_call_t *call,
                     ik_call_verdict_fn on_verdict, void *verdict_data)
{
    (void)data;
    (void)parent;
    ck_assert_str_eq(call->arguments, "{\"n\":1}");
    ck_assert_int_eq(call->agent, 7);
    ck_assert_ptr_nonnull(call->entry);
    char text[] = "{\"n\":2}";
    on_verdict(verdict_data,
               &(ik_call_verdict_t){.arguments = text, .arguments_len = strlen(text)});
    memset(text, 'x', sizeof(text)); /* it was valid inside the callback only */
    return NULL;
}

typedef struct {
    ik_timer_t *timer;
    ik_call_verdict_fn on_verdict;
    void *data;
    const char *denied;
} late_t;

static void on_late(void *data)
{
    late_t *late = data;
    ik_call_verdict_t verdict = {.denied = late->denied, .may_write = true};
    ik_buffer_append_text(&seen, "verdict ");
    late->on_verdict(late->data, &verdict);
    talloc_free(late);
}

static int forget_late(late_t *late)
{
    (void)late;
    ik_buffer_append_text(&seen, "gone ");
    return 0;
}

static void *answer_late(void *data, const void *parent, const ik_call_t *call,
                         ik_call_verdict_fn on_verdict, void *verdict_data)
{
    late_t *late = ik_new(parent, late_t);
    late->on_verdict = on_verdict;
    late->data = verdict_data;
    late->denied = strcmp(call->name, "bad") == 0 ? "Too late" : NULL;
    late->timer = ik_timer_create(late, shared.loop, on_late, late);
    talloc_set_destructor(late, forget_late);
    ik_buffer_append_format(&seen, "asked:%s ", call->name);
    ik_timer_start(late->timer, *(int *)data);
    return late;
}

/* --- checkpoints -------------------------------------------------------------------------- */

static int64_t record_ms; /* how long a state takes */
static size_t recorded;   /* states that can be recorded */

typedef struct {
    ik_timer_t *timer;
    const char *phase;
    ik_checkpoint_fn on_taken;
    void *data;
} recording_t;

static void on_recorded(void *data)
{
    recording_t *recording = data;
    bool works = recorded > 0;
    recorded -= works;
    recording->phase = "";
    recording->on_taken(recording->data,
                        &(ik_checkpoint_t){.states = (const char *[]){"s"},
                                           .count = works,
                                           .failed = !works,
                                           .notice = works ? NULL : "It cannot be undone"});
}

static void record(recording_t *recording, const char *phase, ik_checkpoint_fn on_taken, void *data)
{
    recording->phase = phase;
    recording->on_taken = on_taken;
    recording->data = data;
    ik_timer_start(recording->timer, record_ms);
}

static int cancel_recording(recording_t *recording)
{
    if (*recording->phase != '\0') {
        ik_buffer_append_format(&seen, "cancelled:%s ", recording->phase);
    }
    return 0;
}

static void *begin_recording(void *data, const void *parent, const ik_call_t *calls, size_t count,
                             ik_checkpoint_fn on_taken, void *taken_data)
{
    (void)data;
    ck_assert_int_eq(calls[count - 1].agent, 7);
    recording_t *recording = ik_new(parent, recording_t);
    recording->timer = ik_timer_create(recording, shared.loop, on_recorded, recording);
    talloc_set_destructor(recording, cancel_recording);
    record(recording, "before", on_taken, taken_data);
    return recording;
}

static void end_recording(void *segment, ik_checkpoint_fn on_taken, void *data)
{
    record(segment, "after", on_taken, data);
}

static const ik_checkpoints_t checkpoints = {.begin = begin_recording, .end = end_recording};

static void on_checkpoint(void *data, ik_msg_phase_t phase, const ik_checkpoint_t *taken)
{
    (void)data;
    ik_buffer_append_format(&seen, "%s%s ", phase == IK_MSG_BEFORE ? "BEFORE" : "AFTER",
                            taken->count == 0 ? "-FAILED" : "");
}

/* A tool that is called "bad" only reads. */
static void *read_or_write(void *data, const void *parent, const ik_call_t *call,
                           ik_call_verdict_fn on_verdict, void *verdict_data)
{
    (void)data;
    (void)parent;
    on_verdict(verdict_data, &(ik_call_verdict_t){.may_write = strcmp(call->name, "bad") != 0});
    return NULL;
}

static const ik_call_gate_t readers_and_writers = {.decide = read_or_write};

/* --- batches ------------------------------------------------------------------------------ */

static ik_timer_t *interrupts; /* NULL: the first call is not interrupted */

static void on_interrupt(void *data)
{
    (void)data;
    record_ms = 60000;
    ik_call_batch_interrupt(batch);
}

static void on_started(void *data, const ik_msg_t *call)
{
    (void)data;
    (void)call;
    ik_buffer_append_text(&seen, "started ");
    if (interrupts != NULL) {
        ik_timer_start(interrupts, 0);
    }
}

static void on_progress(void *data, const ik_msg_t *call, const char *text, size_t len)
{
    (void)data;
    (void)call;
    (void)text;
    (void)len;
}

static void on_result(void *data, ik_msg_t *result)
{
    (void)data;
    char *output = ik_msg_field_text(ctx, result, "output");
    char *code = strstr(output, "\"error_code\":\"");
    if (code != NULL) {
        code += strlen("\"error_code\":\"");
        ik_buffer_append_format(&seen, "%.*s ", (int)strcspn(code, "\""), code);
    } else {
        ik_buffer_append_format(&seen, "%s ",
                                output + strlen("{\"tool_success\":true,\"result\":"));
    }
    talloc_free(result);
}

static void on_end(void *data)
{
    (void)data;
    over = true;
}

static void start(const ik_call_gate_t *decides, const char *const *names, size_t count)
{
    static const ik_msg_t *calls[CALLS_MAX];
    gate = *decides;
    for (size_t i = 0; i < count; i++) {
        ik_msg_call_t call = {.id = ik_sprintf(ctx, "c%zu", i),
                              .name = names[i],
                              .arguments = "{\"n\":1}",
                              .arguments_len = strlen("{\"n\":1}")};
        calls[i] = ik_msg_create_call(ctx, &call, NULL);
    }
    batch = ik_call_batch_start(ctx, &(ik_call_batch_options_t){.shared = &shared,
                                                                .registry = registry,
                                                                .session_id = "s",
                                                                .agent = 7,
                                                                .target = target,
                                                                .calls = calls,
                                                                .count = count,
                                                                .on_started = on_started,
                                                                .on_progress = on_progress,
                                                                .on_result = on_result,
                                                                .on_checkpoint = on_checkpoint,
                                                                .on_end = on_end});
}

static const char *finish(void)
{
    ck_assert(ik_loop_run_until(shared.loop, &over));
    TALLOC_FREE(batch);
    return seen.data;
}

static void set_up(void)
{
    ctx = talloc_new(NULL);
    ik_paths_t *paths;
    ik_config_t *config;
    setenv("IKIGAI_HOME", "/nonexistent/ikigai", 1);
    ck_assert_int_eq(ik_paths_create(ctx, &paths).code, IK_ERR_NONE);
    ck_assert_int_eq(ik_config_load(ctx, paths, NULL, &config).code, IK_ERR_NONE);
    ck_assert_int_eq(ik_target_create(ctx, config, NULL, "offline/offline", &target).code,
                     IK_ERR_NONE);
    shared = (ik_shared_ctx_t){.config = config, .gate = &gate};
    ck_assert_int_eq(ik_loop_create(ctx, &shared.loop).code, IK_ERR_NONE);
    shared.tool_context =
        (ik_tool_context_t){.host = ik_process_host_create(ctx, shared.loop, "/nonexistent/keeper"),
                            .config = config,
                            .folder = "/"};
    registry = ik_tool_registry_create(ctx);
    add_tool("bad", true);
    add_tool("good", true);
    add_tool("alone", false);
    ik_buffer_init(&seen, ctx, IK_BUFFER_UNLIMITED);
    over = false;
    record_ms = 5;
    recorded = SIZE_MAX;
    interrupts = NULL;
}

static void tear_down(void)
{
    talloc_free(batch);
    batch = NULL;
    talloc_free(shared.tool_context.host);
    talloc_free(ctx);
}

START_TEST(an_open_gate_runs_every_call)
{
    start(&ik_call_gate_open, (const char *[]){"good", "alone"}, 2);
    ck_assert_str_eq(finish(), "started {\"n\":1}} started {\"n\":1}} ");
}
END_TEST

START_TEST(a_denied_call_is_answered_and_not_started)
{
    start(&(ik_call_gate_t){.decide = deny}, (const char *[]){"bad", "good"}, 2);
    ck_assert_str_eq(finish(), "PERMISSION_DENIED started {\"n\":1}} ");
}
END_TEST

START_TEST(a_call_runs_with_the_arguments_of_the_verdict)
{
    start(&(ik_call_gate_t){.decide = rewrite}, (const char *[]){"good"}, 1);
    ck_assert_str_eq(finish(), "started {\"n\":2}} ");
}
END_TEST

START_TEST(a_late_verdict_holds_up_what_follows)
{
    int delay = 5;
    start(&(ik_call_gate_t){.decide = answer_late, .gate = &delay},
          (const char *[]){"alone", "bad", "alone"}, 3);
    ck_assert_str_eq(finish(), "asked:alone verdict started gone {\"n\":1}} asked:bad verdict gone "
                               "PERMISSION_DENIED asked:alone verdict started gone {\"n\":1}} ");
}
END_TEST

START_TEST(an_interrupt_gives_up_a_decision)
{
    int delay = 60000;
    start(&(ik_call_gate_t){.decide = answer_late, .gate = &delay},
          (const char *[]){"alone", "alone"}, 2);
    ik_call_batch_interrupt(batch);
    ck_assert_str_eq(finish(), "asked:alone gone INTERRUPTED INTERRUPTED ");
}
END_TEST

START_TEST(freeing_a_batch_gives_up_a_decision)
{
    int delay = 60000;
    start(&(ik_call_gate_t){.decide = answer_late, .gate = &delay}, (const char *[]){"alone"}, 1);
    TALLOC_FREE(batch);
    ck_assert_str_eq(seen.data, "asked:alone gone ");
}
END_TEST

#define RESULT "{\"n\":1}} "

START_TEST(files_are_recorded_around_calls_that_write)
{
    shared.checkpoints = &checkpoints;
    start(&readers_and_writers, (const char *[]){"alone", "alone"}, 2);
    ck_assert_str_eq(finish(), "BEFORE started " RESULT "started " RESULT "AFTER ");
}
END_TEST

START_TEST(calls_that_only_read_are_not_recorded)
{
    shared.checkpoints = &checkpoints;
    start(&readers_and_writers, (const char *[]){"bad", "bad"}, 2);
    ck_assert_str_eq(finish(), "started started " RESULT RESULT);
}
END_TEST

START_TEST(a_call_that_reads_does_not_wait_for_one_that_writes)
{
    shared.checkpoints = &checkpoints;
    start(&readers_and_writers, (const char *[]){"good", "bad", "good"}, 3);
    ck_assert_str_eq(finish(), "started BEFORE started started " RESULT RESULT RESULT "AFTER ");
}
END_TEST

START_TEST(calls_run_where_nothing_can_be_recorded)
{
    shared.checkpoints = &checkpoints;
    recorded = 0;
    start(&readers_and_writers, (const char *[]){"alone", "alone"}, 2);
    ck_assert_str_eq(finish(), "BEFORE-FAILED started " RESULT "started " RESULT);
}
END_TEST

START_TEST(an_end_that_cannot_be_recorded_is_logged)
{
    shared.checkpoints = &checkpoints;
    recorded = 1;
    start(&readers_and_writers, (const char *[]){"alone"}, 1);
    ck_assert_str_eq(finish(), "BEFORE started " RESULT "AFTER-FAILED ");
}
END_TEST

/* What the user changes while a question is open is not the agent's. */
START_TEST(a_question_ends_the_segment)
{
    int delay = 300;
    shared.checkpoints = &checkpoints;
    start(&(ik_call_gate_t){.decide = answer_late, .gate = &delay},
          (const char *[]){"alone", "alone", "bad"}, 3);
    ck_assert_str_eq(finish(), "asked:alone verdict gone BEFORE started " RESULT
                               "asked:alone AFTER verdict gone BEFORE started " RESULT
                               "asked:bad AFTER verdict gone PERMISSION_DENIED ");
}
END_TEST

START_TEST(a_quick_decision_does_not_end_it)
{
    int delay = 5;
    shared.checkpoints = &checkpoints;
    start(&(ik_call_gate_t){.decide = answer_late, .gate = &delay},
          (const char *[]){"alone", "alone"}, 2);
    ck_assert_str_eq(finish(), "asked:alone verdict gone BEFORE started " RESULT
                               "asked:alone verdict started gone " RESULT "AFTER ");
}
END_TEST

/* The answer comes while the end is being recorded. */
START_TEST(the_next_segment_begins_when_the_last_one_has_ended)
{
    int delay = 200;
    record_ms = 200;
    shared.checkpoints = &checkpoints;
    start(&(ik_call_gate_t){.decide = answer_late, .gate = &delay},
          (const char *[]){"alone", "alone"}, 2);
    ck_assert_str_eq(finish(), "asked:alone verdict gone BEFORE started " RESULT
                               "asked:alone verdict gone AFTER BEFORE started " RESULT "AFTER ");
}
END_TEST

START_TEST(an_interrupt_before_the_first_call)
{
    record_ms = 60000;
    shared.checkpoints = &checkpoints;
    start(&readers_and_writers, (const char *[]){"alone", "alone"}, 2);
    ik_call_batch_interrupt(batch);
    ck_assert_str_eq(finish(), "cancelled:before INTERRUPTED INTERRUPTED ");
}
END_TEST

/* The end is recorded, and given up if that takes too long. */
START_TEST(an_interrupt_while_a_call_runs)
{
    shared.checkpoints = &checkpoints;
    interrupts = ik_timer_create(ctx, shared.loop, on_interrupt, NULL);
    start(&readers_and_writers, (const char *[]){"alone", "alone"}, 2);
    ck_assert_str_eq(finish(),
                     "BEFORE started " RESULT "INTERRUPTED cancelled:after AFTER-FAILED ");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("call_gate");
    TCase *tests = tcase_create("call_gate");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, an_open_gate_runs_every_call);
    tcase_add_test(tests, a_denied_call_is_answered_and_not_started);
    tcase_add_test(tests, a_call_runs_with_the_arguments_of_the_verdict);
    tcase_add_test(tests, a_late_verdict_holds_up_what_follows);
    tcase_add_test(tests, an_interrupt_gives_up_a_decision);
    tcase_add_test(tests, freeing_a_batch_gives_up_a_decision);
    tcase_add_test(tests, files_are_recorded_around_calls_that_write);
    tcase_add_test(tests, calls_that_only_read_are_not_recorded);
    tcase_add_test(tests, a_call_that_reads_does_not_wait_for_one_that_writes);
    tcase_add_test(tests, calls_run_where_nothing_can_be_recorded);
    tcase_add_test(tests, an_end_that_cannot_be_recorded_is_logged);
    tcase_add_test(tests, a_question_ends_the_segment);
    tcase_add_test(tests, a_quick_decision_does_not_end_it);
    tcase_add_test(tests, the_next_segment_begins_when_the_last_one_has_ended);
    tcase_add_test(tests, an_interrupt_before_the_first_call);
    tcase_add_test(tests, an_interrupt_while_a_call_runs);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
