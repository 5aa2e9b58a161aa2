/* The order in which an agent does things: what is said is stored before it is told, a call is
 * stored before it runs, and a store that fails costs one line. The model is the offline one. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/alloc.h"
#include "suite.h"

static void *ctx;
static ik_shared_ctx_t shared;
static ik_agent_t *agent;
static ik_buffer_t seen; /* what happened, a word each */
static bool over;
static bool broken_store;
static bool forking;               /* the agent is forked when a tool starts */
static ik_agent_t *forked;         /* the fork */
static const char *const *waiting; /* text of the user for the turn; NULL after the last */

/* --- a store that tells when it is asked --------------------------------------------------- */

static res_t claim(ik_store_t *store, const char *session_id, const ik_holder_t *self,
                   ik_holder_t *other)
{
    (void)store;
    (void)session_id;
    (void)self;
    (void)other;
    return OK;
}

static res_t release(ik_store_t *store, const char *session_id, const ik_holder_t *self)
{
    (void)store;
    (void)session_id;
    (void)self;
    return OK;
}

static res_t write_batch(ik_store_t *store, const ik_store_batch_t *batch)
{
    (void)store;
    for (size_t i = 0; i < batch->event_count; i++) {
        ik_buffer_append_format(&seen, "%s:%s ", batch->safety == IK_STORE_FULL ? "STORE" : "store",
                                batch->events[i].kind);
    }
    return broken_store ? ERR(SYSTEM, "no space") : OK;
}

static const ik_store_kind_t kind = {.write = write_batch, .claim = claim, .release = release};
static ik_store_t store = {.kind = &kind};
static ik_session_t *session;

/* --- an agent that is listened to ---------------------------------------------------------- */

static void on_event(void *data, const ik_agent_event_t *event)
{
    (void)data;
    switch (event->kind) {
    case IK_AGENT_MESSAGE:
        ik_buffer_append_format(&seen, "%s:%s ", event->unsaved ? "unsaved" : "told",
                                event->message->kind);
        break;
    case IK_AGENT_TOOL_STARTED:
        ik_buffer_append_text(&seen, "started ");
        if (forking) {
            forking = false;
            forked = ik_agent_fork(ctx, agent, on_event, NULL);
        }
        break;
    case IK_AGENT_NOTICE:
        ik_buffer_append_format(&seen, "notice(%s) ", event->text);
        break;
    case IK_AGENT_TURN_ENDED:
        ik_buffer_append_text(&seen, ik_turn_reason_name(event->reason));
        over = true;
        break;
    default:
        break;
    }
}

static ik_msg_t *take_waiting(void *data, const void *on)
{
    (void)data;
    return *waiting == NULL ? NULL : ik_msg_create(on, IK_MSG_USER, *waiting++, NULL);
}

static ik_tool_registry_t *make_registry(const char *tool)
{
    static const char text[] = "{\"name\":\"quick\",\"description\":\"d\",\"parameters\":"
                               "{\"type\":\"object\",\"properties\":{}}}";
    ik_tool_registry_t *registry = ik_tool_registry_create(ctx);
    ik_tool_schema_t *schema;
    res_t parsed = ik_tool_schema_parse(ctx, text, strlen(text), &schema);
    ck_assert(is_ok(&parsed));
    res_t added = ik_tool_registry_add(registry, tool, tool, IK_TOOL_USER, false, schema);
    ck_assert(is_ok(&added));
    return registry;
}

static void set_up(void)
{
    ctx = talloc_new(NULL);
    ik_paths_t *paths;
    ik_config_t *config;
    const ik_target_t *target;
    setenv("IKIGAI_HOME", "/nonexistent/ikigai", 1);
    ck_assert_int_eq(ik_paths_create(ctx, &paths).code, IK_ERR_NONE);
    ck_assert_int_eq(ik_config_load(ctx, paths, NULL, &config).code, IK_ERR_NONE);
    ck_assert_int_eq(ik_target_create(ctx, config, NULL, "offline/offline", &target).code,
                     IK_ERR_NONE);
    shared = (ik_shared_ctx_t){.config = config};
    ck_assert_int_eq(ik_loop_create(ctx, &shared.loop).code, IK_ERR_NONE);
    shared.gate = &ik_call_gate_open;
    shared.tool_context =
        (ik_tool_context_t){.host = ik_process_host_create(ctx, shared.loop, "/nonexistent/keeper"),
                            .config = config,
                            .folder = "/"};
    ik_buffer_init(&seen, ctx, IK_BUFFER_UNLIMITED);
    static const char *const none[] = {NULL};
    over = broken_store = forking = false;
    waiting = none;
    shared.history = ik_history_create(
        ctx,
        &(ik_history_options_t){.db = "/nonexistent/db", .local = &store, .loop = shared.loop});
    session = ik_session_create(ctx, shared.history,
                                &(ik_session_facts_t){.cwd = "/", .model = "offline/offline"});
    agent = ik_agent_create(ctx, &(ik_agent_options_t){.shared = &shared,
                                                       .target = target,
                                                       .session = session,
                                                       .on_event = on_event,
                                                       .steering = take_waiting});
}

static void tear_down(void)
{
    talloc_free(agent);
    talloc_free(session);
    talloc_free(shared.tool_context.host);
    talloc_free(ctx);
}

static const char *turn(const char *prompt)
{
    ik_agent_start_turn(agent, prompt, NULL);
    ck_assert(ik_loop_run_until(shared.loop, &over));
    return seen.data;
}

/* --- the tests ----------------------------------------------------------------------------- */

START_TEST(what_is_said_is_stored_before_it_is_told)
{
    ck_assert_str_eq(turn("hello"), "STORE:user told:user STORE:assistant told:assistant end_turn");
}
END_TEST

/* The keeper is missing, so the tool cannot be run: the order is the same. */
START_TEST(a_call_is_stored_before_it_runs)
{
    shared.tool_registry = make_registry("/nonexistent/tool");
    ck_assert_str_eq(turn("quick {}"),
                     "STORE:user told:user store:tool_call told:tool_call started "
                     "store:tool_result told:tool_result STORE:assistant told:assistant end_turn");
}
END_TEST

START_TEST(a_store_that_fails_costs_one_line)
{
    broken_store = true;
    ck_assert_str_eq(
        turn("hello"),
        "STORE:user notice(This conversation is not being saved: no space) unsaved:user "
        "unsaved:assistant end_turn");
    ck_assert_uint_eq(ik_agent_conversation(agent)->count, 2);
}
END_TEST

/* Writing is not retried with every event: a locked database would delay each of them. */
START_TEST(what_was_not_saved_is_saved_when_that_works_again)
{
    broken_store = true;
    turn("hello");
    broken_store = false;
    seen.len = 0;
    ik_session_flush(session);
    ck_assert_uint_eq(seen.len, 0); /* too early */
    usleep(1100 * 1000);
    over = false;
    ck_assert_str_eq(
        turn("more"),
        "STORE:user STORE:assistant STORE:user notice(This conversation is being saved again; "
        "nothing was lost.) told:user STORE:assistant told:assistant end_turn");
}
END_TEST

START_TEST(what_waits_is_tried_once_more_at_the_end)
{
    broken_store = true;
    turn("hello");
    broken_store = false;
    seen.len = 0;
    TALLOC_FREE(agent);
    TALLOC_FREE(session);
    ck_assert_str_eq(seen.data, "STORE:user STORE:assistant ");
}
END_TEST

START_TEST(a_fork_knows_what_its_parent_knows_and_goes_its_own_way)
{
    turn("hello");
    ik_agent_t *fork = ik_agent_fork(ctx, agent, on_event, NULL);
    ck_assert_int_eq(ik_agent_number(fork), IK_STORE_ROOT_AGENT + 1);
    ck_assert_uint_eq(ik_agent_conversation(fork)->count, 2);
    over = false;
    ik_agent_start_turn(fork, "more", NULL);
    ck_assert(ik_loop_run_until(shared.loop, &over));
    ck_assert_uint_eq(ik_agent_conversation(fork)->count, 4);
    ck_assert_uint_eq(ik_agent_conversation(agent)->count, 2);
    const ik_store_agents_t *agents = ik_session_agents(session);
    ck_assert_uint_eq(agents->count, 2);
    ck_assert_int_eq(agents->agents[1].parent, IK_STORE_ROOT_AGENT);
    ck_assert_int_eq(agents->agents[1].forked_at, 2);
    ck_assert_int_eq(agents->agents[1].last_seq, 4);
    talloc_free(fork);
}
END_TEST

START_TEST(text_for_the_turn_follows_the_tool_results)
{
    static const char *const texts[] = {"more", "and more", NULL};
    shared.tool_registry = make_registry("/nonexistent/tool");
    waiting = texts;
    ck_assert_str_eq(turn("quick {}"),
                     "STORE:user told:user store:tool_call told:tool_call started "
                     "store:tool_result told:tool_result STORE:user told:user STORE:user told:user "
                     "STORE:assistant told:assistant end_turn");
    const ik_conversation_t *conversation = ik_agent_conversation(agent);
    ck_assert_str_eq(conversation->messages[3]->content, "more");
    ck_assert_str_eq(conversation->messages[4]->content, "and more");
}
END_TEST

START_TEST(text_for_the_turn_waits_without_tool_results)
{
    static const char *const texts[] = {"more", NULL};
    waiting = texts;
    ck_assert_str_eq(turn("hello"), "STORE:user told:user STORE:assistant told:assistant end_turn");
    ck_assert_ptr_eq(waiting, texts);
}
END_TEST

START_TEST(a_fork_in_the_middle_has_no_call_without_its_result)
{
    shared.tool_registry = make_registry("/nonexistent/tool");
    forking = true;
    turn("quick {}");
    ck_assert_uint_eq(ik_agent_conversation(agent)->count, 4);
    ck_assert_uint_eq(ik_agent_conversation(forked)->count, 1);
    const ik_store_agents_t *agents = ik_session_agents(session);
    ck_assert_int_eq(agents->agents[1].forked_at, 1);
    ck_assert_int_eq(agents->agents[1].last_seq, 1);
    talloc_free(forked);
}
END_TEST

START_TEST(an_interrupted_turn_leaves_what_can_be_sent)
{
    shared.tool_registry = make_registry("/nonexistent/tool");
    ik_agent_start_turn(agent, "quick {}", NULL);
    ck_assert(ik_agent_is_busy(agent));
    ik_agent_interrupt(agent);
    ck_assert(!ik_agent_is_busy(agent));
    ck_assert_str_eq(seen.data, "STORE:user told:user interrupted");
    ik_agent_interrupt(agent); /* nothing is under way */
    over = false;
    ck_assert_ptr_nonnull(strstr(turn("hello"), "interruptedSTORE:user told:user STORE:assistant"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent");
    TCase *tests = tcase_create("agent");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, what_is_said_is_stored_before_it_is_told);
    tcase_add_test(tests, a_call_is_stored_before_it_runs);
    tcase_add_test(tests, a_store_that_fails_costs_one_line);
    tcase_add_test(tests, what_was_not_saved_is_saved_when_that_works_again);
    tcase_add_test(tests, what_waits_is_tried_once_more_at_the_end);
    tcase_add_test(tests, a_fork_knows_what_its_parent_knows_and_goes_its_own_way);
    tcase_add_test(tests, text_for_the_turn_follows_the_tool_results);
    tcase_add_test(tests, text_for_the_turn_waits_without_tool_results);
    tcase_add_test(tests, a_fork_in_the_middle_has_no_call_without_its_result);
    tcase_add_test(tests, an_interrupted_turn_leaves_what_can_be_sent);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
