/*
 * Tests the wire with a provider that records the groups it gets. It writes one element for each
 * step or question: "3" for a question of three messages, "2P" for a step of two messages with
 * private data, "2-" for one without.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../provider/driver.h"
#include "base/json_clean.h"
#include "provider/wire.h"
#include "suite.h"

/* --- the provider that counts ------------------------------------------------------------ */

static struct {
    int tools;
    int groups;
    int messages; /* in all groups */
} asked;

static void spy_tools(ik_buffer_t *out, const ik_request_t *request)
{
    asked.tools++;
    for (size_t i = 0; i < request->tool_count; i++) {
        ik_buffer_append_format(out, "%s\"%s\"", i == 0 ? "[" : ",", request->tools[i].name);
    }
    ik_buffer_append_byte(out, ']');
}

static void spy_head(ik_buffer_t *out, const ik_request_t *request, ik_json_span_t tools)
{
    ik_buffer_append_format(out, "{\"system\":\"%s\",\"effort\":\"%s\",\"tools\":",
                            request->system == NULL ? "" : request->system,
                            request->effort == NULL ? "" : request->effort);
    ik_buffer_append(out, tools.text, tools.len);
    ik_buffer_append_text(out, tools.len == 0 ? "[],\"said\":[" : ",\"said\":[");
}

static bool is_question(const ik_msg_t *message)
{
    return ik_msg_is(message, IK_MSG_USER) || ik_msg_is(message, IK_MSG_TOOL_RESULT);
}

static void spy_group(ik_wire_t *wire, const ik_request_t *request, ik_msg_t *const *messages,
                      size_t count)
{
    size_t position = 0;
    ik_wire_step_t step;
    asked.groups++;
    asked.messages += (int)count;
    if (is_question(messages[0])) {
        ik_buffer_append_format(ik_wire_begin_element(wire), "{\"n\":%zu}", count);
        wire->mark = wire->messages.len - 1;
        wire->mark_member = ",\"mark\":1";
        return;
    }
    while (ik_wire_next_step(wire, request, messages, count, &position, &step)) {
        ik_buffer_append_format(ik_wire_begin_element(wire), "\"%zu%c\"", step.count,
                                step.private_json.len > 0 ? 'P' : '-');
    }
}

static ik_provider_t spy;
static const ik_provider_t spy_table = {
    .name = "spy",
    .takes_any_id = true,
    .format_tools = spy_tools,
    .format_head = spy_head,
    .format_group = spy_group,
};

/* --- what the tests share ---------------------------------------------------------------- */

static void *ctx;
static ik_conversation_t *conversation;
static ik_request_t *request;
static ik_wire_t *wire;

static ik_request_t *make_request(const ik_target_t *target)
{
    ik_request_t *made = ik_request_create(ctx, target);
    made->conversation = conversation;
    return made;
}

static void set_up(void)
{
    static const ik_config_provider_t config = {.name = "p", .configured = true};
    static const ik_model_t facts = {.name = "p/m"};
    static const ik_target_t target = {
        .config = &config, .provider = &spy, .name = "p/m", .model = "m", .facts = &facts};
    ctx = talloc_new(NULL);
    memset(&asked, 0, sizeof(asked));
    spy = spy_table;
    conversation = ik_conversation_create(ctx);
    request = make_request(&target);
    wire = ik_wire_create(ctx);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static void add(const char *kind, const char *content, const char *data)
{
    ik_conversation_append(conversation, ik_msg_create(conversation, kind, content, data));
}

static void add_user(void)
{
    add(IK_MSG_USER, "go on", NULL);
}

/* more is the rest of the data, with its comma. */
static void add_call(const char *id, const char *more)
{
    add(IK_MSG_TOOL_CALL, "t()",
        ik_sprintf(ctx,
                   "{\"id\":\"%s\",\"type\":\"function\",\"function\":{\"name\":\"t\","
                   "\"arguments\":\"{\\\"a\\\":1}\"},\"provider\":\"p\"%s}",
                   id, more));
}

static void add_result(const char *id)
{
    add(IK_MSG_TOOL_RESULT, "done",
        ik_sprintf(ctx,
                   "{\"tool_call_id\":\"%s\",\"name\":\"t\",\"provider\":\"p\",\"success\":true,"
                   "\"output\":\"{\\\"tool_success\\\":true,\\\"result\\\":\\\"%s\\\"}\"}",
                   id, id));
}

/* The data of a step; calls are literals with commas between them. */
static char *own(int messages, const char *calls)
{
    return ik_sprintf(ctx, "\"model\":\"p/m\",\"step\":%d,\"calls\":[%s],\"p\":{\"spy\":[]}",
                      messages, calls);
}

static void add_answer(const char *data)
{
    add(IK_MSG_ASSISTANT, "answer", data == NULL ? NULL : ik_sprintf(ctx, "{%s}", data));
}

/* An answer of this model without private data. */
static void add_reply(void)
{
    add_answer("\"model\":\"p/m\"");
}

static char *join(const ik_wire_body_t *body)
{
    ik_buffer_t whole;
    ik_json_span_t value;
    ik_buffer_init(&whole, ctx, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < body->count; i++) {
        ck_assert_uint_gt(body->parts[i].len, 0);
        ik_buffer_append(&whole, body->parts[i].bytes, body->parts[i].len);
    }
    ck_assert_uint_eq(whole.len, body->total);
    ck_assert_msg(ik_json_scan(whole.data, whole.len, &value, NULL), "no JSON: %s", whole.data);
    return whole.data;
}

static char *format_with(ik_wire_t *any, const ik_request_t *asking)
{
    ik_wire_body_t body;
    ik_wire_format(any, asking, &body);
    return join(&body);
}

/* The body without the marks. */
static const char *said(void)
{
    wire->mark_member = NULL;
    format_with(wire, request);
    return wire->messages.data;
}

/* --- what is new ------------------------------------------------------------------------- */

START_TEST(the_body)
{
    add(IK_MSG_SYSTEM, "Be brief.", NULL);
    add_user();
    add_reply();
    add_user();
    request->system = ik_conversation_system(conversation);
    request->effort = "low";
    ck_assert_str_eq(
        format_with(wire, request),
        "{\"system\":\"Be brief.\",\"effort\":\"low\",\"tools\":[],\"said\":[{\"n\":1},\"1-\","
        "{\"n\":1,\"mark\":1}]}");
    request->system = "Be long.";
    request->effort = NULL;
    ck_assert_str_eq(
        format_with(wire, request),
        "{\"system\":\"Be long.\",\"effort\":\"\",\"tools\":[],\"said\":[{\"n\":1},\"1-\","
        "{\"n\":1,\"mark\":1}]}");
    ck_assert_int_eq(asked.groups, 3);
}
END_TEST

START_TEST(only_what_is_new_is_formatted)
{
    request->tools = ik_new_array(request, ik_request_tool_t, 1);
    request->tools[request->tool_count++].name = "t";
    add_user();
    format_with(wire, request);
    ck_assert_int_eq(asked.groups, 1);
    for (int i = 0; i < 100; i++) {
        char *id = ik_sprintf(ctx, "c%d", i);
        add_call(id, ik_sprintf(ctx, ",%s", own(1, ik_sprintf(ctx, "\"%s\"", id))));
        add_result(id);
        asked.groups = asked.messages = 0;
        format_with(wire, request);
        ck_assert_int_eq(asked.groups, 2);
        ck_assert_int_eq(asked.messages, 2);
    }
    asked.groups = 0;
    format_with(wire, request); /* the same again, for a retry */
    ck_assert_int_eq(asked.groups, 0);
    ck_assert_int_eq(asked.tools, 1);
}
END_TEST

START_TEST(a_group_that_grew_is_written_again)
{
    add_user();
    ck_assert_str_eq(said(), "{\"n\":1}");
    add_user();
    ck_assert_str_eq(said(), "{\"n\":2}");
    add_call("a", ",\"model\":\"p/m\"");
    add_result("a");
    ck_assert_str_eq(said(), "{\"n\":2},\"1-\",{\"n\":1}");
    add(IK_MSG_COMPACTION, "", "{}");
    add_user();
    ck_assert_str_eq(said(), "{\"n\":2},\"1-\",{\"n\":2}");
    ck_assert_int_eq(asked.groups, 5);
    ck_assert_int_eq(asked.messages, 1 + 2 + 2 + 2);
}
END_TEST

START_TEST(results_are_counted_once_when_a_group_grows)
{
    spy = ik_provider_chat;
    request->trimmed_results = 1;
    add_user();
    add_call("a", ",\"model\":\"p/m\"");
    add_result("a");
    format_with(wire, request);
    add_user();
    format_with(wire, request);
    add_call("b", ",\"model\":\"p/m\"");
    add_result("b");
    char *body = format_with(wire, request);
    ck_assert_ptr_nonnull(strstr(body, "\\\"result\\\":\\\"b\\\""));
    ck_assert_ptr_null(strstr(body, "\\\"result\\\":\\\"a\\\""));
}
END_TEST

/* The same messages in another conversation. */
static void take_messages_over(void)
{
    ik_conversation_t *other = ik_conversation_create(ctx);
    for (size_t i = 0; i < conversation->count; i++) {
        ik_conversation_append(other, conversation->messages[i]);
    }
    request->conversation = conversation = other;
}

/* Each of these changes messages that were already serialised. */
START_TEST(other_settings_start_over)
{
    request->tools = ik_new_array(request, ik_request_tool_t, 1);
    request->tools[request->tool_count++].name = "t";
    add_user();
    add_reply();
    add_user();
    format_with(wire, request);
    for (int change = 0; change < 4; change++) {
        request->trimmed_results += change == 0;
        request->refused |= change == 1 ? IK_FIELD_STRICT : 0;
        request->drop_reasoning = change >= 2 ? 1 : 0;
        if (change == 3) {
            take_messages_over();
        }
        memset(&asked, 0, sizeof(asked));
        format_with(wire, request);
        ck_assert_int_eq(asked.groups, 3);
        ck_assert_int_eq(asked.tools, 1);
        format_with(wire, request);
        ck_assert_int_eq(asked.groups, 3);
    }
}
END_TEST

/* --- closing messages -------------------------------------------------------------------- */

/* One message more behind the same bytes, and no trace of it afterwards. */
START_TEST(a_closing_message)
{
    ik_request_t closed = *request;
    closed.closing = ik_msg_create(ctx, IK_MSG_USER, "sum up", NULL);
    add(IK_MSG_USER, "u", NULL);
    format_with(wire, request);
    add(IK_MSG_ASSISTANT, "a", "{\"model\":\"p/m\"}");
    ck_assert_ptr_nonnull(
        strstr(format_with(wire, &closed), "[{\"n\":1,\"mark\":1},\"1-\",{\"n\":1}]"));
    add(IK_MSG_USER, "v", NULL);
    ck_assert_ptr_nonnull(
        strstr(format_with(wire, request), "[{\"n\":1,\"mark\":1},\"1-\",{\"n\":1,\"mark\":1}]"));
    ck_assert_ptr_nonnull(
        strstr(format_with(wire, &closed), "[{\"n\":1,\"mark\":1},\"1-\",{\"n\":2,\"mark\":1}]"));
    ck_assert_ptr_nonnull(
        strstr(format_with(wire, request), "[{\"n\":1,\"mark\":1},\"1-\",{\"n\":1,\"mark\":1}]"));
    add(IK_MSG_ASSISTANT, "b", "{\"model\":\"p/m\"}");
    add(IK_MSG_USER, "w", NULL);
    ck_assert_ptr_nonnull(
        strstr(format_with(wire, request),
               "[{\"n\":1},\"1-\",{\"n\":1,\"mark\":1},\"1-\",{\"n\":1,\"mark\":1}]"));
}
END_TEST

/* --- marks ------------------------------------------------------------------------------- */

START_TEST(marks_are_where_it_ends_now_and_where_it_ended_before)
{
    add_user();
    ck_assert_ptr_nonnull(strstr(format_with(wire, request), "[{\"n\":1,\"mark\":1}]"));
    add_reply();
    add_user();
    ck_assert_ptr_nonnull(
        strstr(format_with(wire, request), "[{\"n\":1,\"mark\":1},\"1-\",{\"n\":1,\"mark\":1}]"));
    ck_assert_ptr_nonnull(
        strstr(format_with(wire, request), "[{\"n\":1,\"mark\":1},\"1-\",{\"n\":1,\"mark\":1}]"));
    add_reply();
    add_user();
    ck_assert_ptr_nonnull(
        strstr(format_with(wire, request),
               "[{\"n\":1},\"1-\",{\"n\":1,\"mark\":1},\"1-\",{\"n\":1,\"mark\":1}]"));
}
END_TEST

START_TEST(a_group_that_grew_has_one_mark)
{
    add_user();
    format_with(wire, request);
    add_user();
    ck_assert_ptr_nonnull(strstr(format_with(wire, request), "[{\"n\":2,\"mark\":1}]"));
    add_reply();
    add_user();
    add_reply();
    add_user();
    ck_assert_ptr_nonnull(
        strstr(format_with(wire, request),
               "[{\"n\":2,\"mark\":1},\"1-\",{\"n\":1},\"1-\",{\"n\":1,\"mark\":1}]"));
    request->trimmed_results = 1; /* starting over forgets the previous mark */
    ck_assert_ptr_nonnull(strstr(format_with(wire, request),
                                 "[{\"n\":2},\"1-\",{\"n\":1},\"1-\",{\"n\":1,\"mark\":1}]"));
}
END_TEST

/* A group that is written again may be longer in the middle. */
START_TEST(no_mark_is_left_in_what_was_written_again)
{
    for (int i = 0; i < 9; i++) {
        add_user();
    }
    ck_assert_ptr_nonnull(strstr(format_with(wire, request), "[{\"n\":9,\"mark\":1}]"));
    add_user();
    ck_assert_ptr_nonnull(strstr(format_with(wire, request), "[{\"n\":10,\"mark\":1}]"));
}
END_TEST

/* A conversation whose text is long enough to be dropped. */
static void talk_long(void)
{
    for (int i = 0; i < 30000; i++) {
        add(IK_MSG_USER, "q", NULL);
        add(IK_MSG_ASSISTANT, "a", NULL);
    }
    add(IK_MSG_USER, "the last question", NULL);
}

START_TEST(a_long_text_is_dropped_and_rebuilt_to_the_byte)
{
    ik_wire_t *undropped = ik_wire_create(ctx);
    talk_long();
    ck_assert_str_eq(format_with(wire, request), format_with(undropped, request));
    ik_wire_drop(wire);
    ck_assert_uint_eq(wire->messages.capacity, 0);
    ck_assert_str_eq(format_with(wire, request), format_with(undropped, request));
    ik_wire_drop(wire);
    if (_i == 0) { /* otherwise another message joins the last question */
        add(IK_MSG_ASSISTANT, "an answer", NULL);
    }
    add(IK_MSG_USER, "another question", NULL);
    ck_assert_str_eq(format_with(wire, request), format_with(undropped, request));
    add(IK_MSG_ASSISTANT, "an answer", NULL);
    add(IK_MSG_USER, "yet another question", NULL);
    ck_assert_str_eq(format_with(wire, request), format_with(undropped, request));
}
END_TEST

START_TEST(a_short_text_is_kept)
{
    add(IK_MSG_USER, "q", NULL);
    format_with(wire, request);
    ik_wire_drop(wire);
    asked.groups = 0;
    format_with(wire, request);
    ck_assert_int_eq(asked.groups, 0);
}
END_TEST

START_TEST(other_settings_start_over_after_a_drop)
{
    ik_wire_t *fresh = ik_wire_create(ctx);
    talk_long();
    format_with(wire, request);
    ik_wire_drop(wire);
    request->trimmed_results = 1;
    ck_assert_str_eq(format_with(wire, request), format_with(fresh, request));
}
END_TEST

START_TEST(without_a_member_there_are_no_marks)
{
    add_user();
    format_with(wire, request);
    wire->mark_member = NULL;
    ck_assert_ptr_null(strstr(format_with(wire, request), "mark"));
}
END_TEST

/* --- steps ------------------------------------------------------------------------------- */

START_TEST(a_step_that_fits_goes_back)
{
    add_user();
    add_answer(own(3, "\"a\",\"b\""));
    add_call("a", "");
    add_call("b", "");
    add_result("a");
    add_result("b");
    add_call("c", ik_sprintf(ctx, ",%s", own(2, "\"c\"")));
    add_answer(NULL);
    add_result("c");
    add_answer(own(1, ""));
    add_user();
    ck_assert_str_eq(said(), "{\"n\":1},\"3P\",{\"n\":2},\"2P\",{\"n\":1},\"1P\",{\"n\":1}");
}
END_TEST

START_TEST(steps_without_words_count_while_they_go_back)
{
    add_user();
    add(IK_MSG_ASSISTANT, "", ik_sprintf(ctx, "{%s}", own(1, "")));
    add_user();
    ck_assert_str_eq(said(), "{\"n\":1},\"1P\",{\"n\":1}");
    request->drop_reasoning = conversation->count;
    ck_assert_str_eq(said(), "{\"n\":2}");
    request->drop_reasoning = 0;
    add(IK_MSG_ASSISTANT, "other", "{\"model\":\"q/n\"}");
    add_user();
    ck_assert_str_eq(said(), "{\"n\":2},\"1-\",{\"n\":1}");
}
END_TEST

START_TEST(a_step_of_nobody_does_not_go_back)
{
    add_user();
    add(IK_MSG_ASSISTANT, "", "{\"model\":\"q/n\",\"step\":1,\"calls\":[],\"q\":{}}");
    add_answer("\"step\":1,\"calls\":[],\"p\":{\"spy\":[]}");
    add_user();
    ck_assert_str_eq(said(), "{\"n\":1},\"1-\",{\"n\":1}");
}
END_TEST

/* An intact step, then a damaged one: both are rebuilt from their messages. */
static const struct {
    const char *why;
    const char *data; /* of the first message, without braces; then comes a call "a" */
} damaged[] = {
    {"too few messages", "\"model\":\"p/m\",\"step\":3,\"calls\":[\"a\"],\"p\":{\"spy\":[]}"},
    {"too many", "\"model\":\"p/m\",\"step\":1,\"calls\":[\"a\"],\"p\":{\"spy\":[]}"},
    {"a call less", "\"model\":\"p/m\",\"step\":2,\"calls\":[\"a\",\"b\"],\"p\":{\"spy\":[]}"},
    {"a call more", "\"model\":\"p/m\",\"step\":2,\"calls\":[],\"p\":{\"spy\":[]}"},
    {"another id", "\"model\":\"p/m\",\"step\":2,\"calls\":[\"b\"],\"p\":{\"spy\":[]}"},
    {"no ids", "\"model\":\"p/m\",\"step\":2,\"p\":{\"spy\":[]}"},
    {"another model", "\"model\":\"p/n\",\"step\":2,\"calls\":[\"a\"],\"p\":{\"spy\":[]}"},
    {"another provider", "\"model\":\"q/m\",\"step\":2,\"calls\":[\"a\"],\"q\":{\"spy\":[]}"},
    {"another format", "\"model\":\"p/m\",\"step\":2,\"calls\":[\"a\"],\"p\":{\"chat\":[]}"},
    {"no object", "\"model\":\"p/m\",\"step\":2,\"calls\":[\"a\"],\"p\":5"},
    {"a name twice",
     "\"model\":\"p/m\",\"step\":2,\"calls\":[\"a\"],\"p\":{\"spy\":{\"x\":1,\"x\":2}}"},
    {"no model", "\"step\":2,\"calls\":[\"a\"],\"p\":{\"spy\":[]}"},
    {"a model that is none", "\"model\":5,\"step\":2,\"calls\":[\"a\"],\"p\":{\"spy\":[]}"},
};

START_TEST(a_damaged_step_takes_the_reasoning_before_it)
{
    add_user();
    add_answer(own(1, ""));
    add_user();
    add_answer(damaged[_i].data);
    add_call("a", "");
    add_result("a");
    add_answer(own(1, ""));
    add_user();
    ck_assert_str_eq(said(), "{\"n\":1},\"1-\",{\"n\":1},\"2-\",{\"n\":1},\"1P\",{\"n\":1}");
}
END_TEST

/* Calls whose private data would not match the stored messages. */
START_TEST(calls_that_were_changed_do_not_go_back)
{
    static const char *const calls[] = {
        "{\"id\":\"a\",\"function\":{\"name\":\"t\",\"arguments\":\"{\"},\"provider\":\"p\"}",
        "{\"id\":\"a\",\"function\":{\"name\":\"t\",\"arguments\":\"[]\"},\"provider\":\"p\"}",
        "{\"id\":\"a\",\"function\":{\"name\":\"t\",\"arguments\":\"{\\\"a\\\":1,\\\"a\\\":2}\"},"
        "\"provider\":\"p\"}",
        "{\"id\":\"a\",\"function\":{\"name\":\"t\",\"arguments\":\"{}\"},\"provider\":\"q\"}",
        "{\"id\":\"a\",\"function\":{\"name\":\"t\",\"arguments\":\"{}\"}}",
        "{\"id\":\"\\u0061\",\"function\":{\"name\":\"t\",\"arguments\":\"{}\"},"
        "\"provider\":\"p\"}",
    };
    add_user();
    add_answer(own(2, "\"a\""));
    add(IK_MSG_TOOL_CALL, "t()", calls[_i]);
    add_result("a");
    ck_assert_str_eq(said(), "{\"n\":1},\"2-\",{\"n\":1}");
}
END_TEST

START_TEST(own_steps_without_private_data_take_nothing)
{
    add_user();
    add_answer(own(1, ""));
    add_user();
    add_call("a", ",\"model\":\"p/m\"");
    add_result("a");
    add_answer("\"model\":\"p/m\"");
    add_user();
    ck_assert_str_eq(said(), "{\"n\":1},\"1P\",{\"n\":1},\"1-\",{\"n\":1},\"1-\",{\"n\":1}");
    spy.reasons_for_every_call = true;
    request->refused = 1;
    ck_assert_str_eq(said(), "{\"n\":1},\"1-\",{\"n\":1},\"1-\",{\"n\":1},\"1-\",{\"n\":1}");
}
END_TEST

START_TEST(reasoning_is_dropped_up_to_a_message)
{
    add_user();
    add_answer(own(1, ""));
    add_user();
    add_answer(own(1, ""));
    add_user();
    request->drop_reasoning = 1;
    ck_assert_str_eq(said(), "{\"n\":1},\"1P\",{\"n\":1},\"1P\",{\"n\":1}");
    request->drop_reasoning = 2;
    ck_assert_str_eq(said(), "{\"n\":1},\"1-\",{\"n\":1},\"1P\",{\"n\":1}");
    request->drop_reasoning = conversation->count;
    ck_assert_str_eq(said(), "{\"n\":1},\"1-\",{\"n\":1},\"1-\",{\"n\":1}");
}
END_TEST

/* Bound reasoning becomes invalid when something before it changes. */
static void add_change(const char *kind)
{
    add_user();
    add_answer(own(1, ""));
    add(kind, "x", "{\"trimmed_results\":1}");
    add_user();
    add_answer(own(1, ""));
    add_user();
}

START_TEST(a_change_takes_only_reasoning_that_is_bound_to_it)
{
    add_change(_i == 0 ? IK_MSG_COMPACTION : IK_MSG_SYSTEM);
    ck_assert_str_eq(said(), "{\"n\":1},\"1P\",{\"n\":1},\"1P\",{\"n\":1}");
    spy.reasoning_is_bound = true;
    request->refused = 1; /* starts over */
    ck_assert_str_eq(said(), "{\"n\":1},\"1-\",{\"n\":1},\"1P\",{\"n\":1}");
}
END_TEST

START_TEST(a_change_that_comes_later_counts_at_once)
{
    spy.reasoning_is_bound = true;
    add_user();
    add_answer(own(1, ""));
    add_user();
    ck_assert_str_eq(said(), "{\"n\":1},\"1P\",{\"n\":1}");
    add(IK_MSG_SYSTEM, "other", NULL);
    add_answer(own(1, ""));
    add_user();
    ck_assert_str_eq(said(), "{\"n\":1},\"1-\",{\"n\":1},\"1P\",{\"n\":1}");
}
END_TEST

START_TEST(what_stands_between_does_not_divide_a_step)
{
    add_user();
    add_answer(own(2, ""));
    add(IK_MSG_SYSTEM, "x", NULL);
    add_answer(NULL);
    add_user();
    ck_assert_str_eq(said(), "{\"n\":1},\"2P\",{\"n\":1}");
}
END_TEST

/* --- ids --------------------------------------------------------------------------------- */

static char *id_of(const ik_msg_t *message, bool nine)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_wire_append_id(&out, request, message, nine);
    return out.data;
}

static bool is_nine(const char *literal)
{
    static const char alphanumeric[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    return strlen(literal) == 11 && strspn(literal + 1, alphanumeric) == 9;
}

static ik_msg_t *call_with(const char *id, const char *provider)
{
    return ik_msg_create(ctx, IK_MSG_TOOL_CALL, NULL,
                         ik_sprintf(ctx, "{\"id\":%s,\"provider\":\"%s\"}", id, provider));
}

static ik_msg_t *result_with(const char *id, const char *provider)
{
    return ik_msg_create(
        ctx, IK_MSG_TOOL_RESULT, NULL,
        ik_sprintf(ctx, "{\"tool_call_id\":%s,\"provider\":\"%s\"}", id, provider));
}

START_TEST(own_ids_go_back_as_they_came)
{
    static const char *const ids[] = {"\"call_1\"", "\"toolu-x_2\"", "\"a b.c\"",
                                      "\"\\u0061\\\"\""};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        ck_assert_str_eq(id_of(call_with(ids[i], "p"), false), ids[i]);
        ck_assert_str_eq(id_of(result_with(ids[i], "p"), false), ids[i]);
        ck_assert(is_nine(id_of(call_with(ids[i], "p"), true)));
        ck_assert(ik_wire_is_own_id(request, call_with(ids[i], "p")));
    }
    spy.takes_any_id = false;
    ck_assert_str_eq(id_of(call_with(ids[1], "p"), false), ids[1]);
    ck_assert(is_nine(id_of(call_with(ids[2], "p"), false)));
    ck_assert(is_nine(id_of(result_with(ids[3], "p"), false)));
}
END_TEST

START_TEST(other_ids_become_nine_letters_and_digits)
{
    char *first = id_of(call_with("\"call_1\"", "q"), false);
    ck_assert(is_nine(first));
    ck_assert_str_eq(first, id_of(result_with("\"call_1\"", "q"), false));
    ck_assert_str_eq(first, id_of(result_with("\"call_\\u0031\"", "q"), false));
    ck_assert_str_eq(first, id_of(call_with("\"call_1\"", "p"), true));
    ck_assert_str_ne(first, id_of(call_with("\"call_2\"", "q"), false));
    ck_assert(!ik_wire_is_own_id(request, call_with("\"call_1\"", "q")));
    ck_assert(is_nine(id_of(ik_msg_create(ctx, IK_MSG_TOOL_CALL, NULL, "{\"id\":\"x\"}"), false)));
    ck_assert(is_nine(id_of(ik_msg_create(ctx, IK_MSG_TOOL_CALL, NULL, "{}"), false)));
}
END_TEST

START_TEST(nobody_gets_an_id_that_is_too_long)
{
    char *most = ik_sprintf(ctx, "\"%064d\"", 7);
    char *longer = ik_sprintf(ctx, "\"%065d\"", 7);
    ck_assert_str_eq(id_of(call_with(most, "p"), false), most);
    ck_assert(is_nine(id_of(call_with(longer, "p"), false)));
    ck_assert(!ik_wire_is_own_id(request, call_with(longer, "p")));
}
END_TEST

/* Not even with the provider's name on it: another server may have used the name before. */
START_TEST(openai_takes_ids_of_forty_characters)
{
    const ik_target_t *openai = driver_target(ctx, "chat", "p", "http://x", "m");
    ((ik_config_provider_t *)openai->config)->name = "openai";
    for (int len = 40; len <= 41; len++) {
        char *id = ik_sprintf(ctx, "%0*d", len, 7);
        conversation = ik_conversation_create(ctx);
        add_user();
        add(IK_MSG_TOOL_CALL, "t()",
            ik_sprintf(ctx,
                       "{\"id\":\"%s\",\"function\":{\"name\":\"t\",\"arguments\":\"{}\"},"
                       "\"provider\":\"openai\"}",
                       id));
        add(IK_MSG_TOOL_RESULT, "r",
            ik_sprintf(ctx, "{\"tool_call_id\":\"%s\",\"provider\":\"openai\",\"output\":\"x\"}",
                       id));
        char *body = format_with(ik_wire_create(ctx), make_request(openai));
        ck_assert_int_eq(strstr(body, id) != NULL, len == 40);
    }
}
END_TEST

START_TEST(ids_we_made_up_are_nobodys_own)
{
    ck_assert(!ik_wire_is_own_id(request, call_with("\"ik_abc\"", "p")));
    ck_assert(!ik_wire_is_own_id(request, call_with("\"\"", "p")));
    ck_assert(!ik_wire_is_own_id(request, call_with("5", "p")));
    ck_assert_str_eq(id_of(call_with("\"ik_abc\"", "p"), false), "\"ik_abc\"");
}
END_TEST

/* --- arguments and outputs --------------------------------------------------------------- */

static ik_msg_t *call_of(const char *arguments)
{
    ik_msg_call_t call = {
        .id = "x", .name = "t", .arguments = arguments, .arguments_len = strlen(arguments)};
    return ik_msg_create_call(ctx, &call, NULL);
}

static char *arguments_of(const char *arguments)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_wire_append_arguments(&out, call_of(arguments));
    return out.data;
}

static char *arguments_text_of(const char *arguments)
{
    ik_buffer_t out;
    ik_json_span_t literal;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_wire_append_arguments_text(&out, call_of(arguments));
    ck_assert(ik_json_scan(out.data, out.len, &literal, NULL));
    return ik_json_decode(ctx, literal, NULL);
}

static char *deep_object(void)
{
    char *text = ik_strdup(ctx, "1");
    for (int i = 0; i <= IK_JSON_CLEAN_DEPTH; i++) {
        text = ik_sprintf(ctx, "{\"a\":%s}", text);
    }
    return text;
}

START_TEST(arguments_are_an_object)
{
    static const char *const cases[][3] = {
        {"{\"a\": 1.50}", "{\"a\": 1.50}", "{\"a\": 1.50}"},
        {" {} ", "{}", " {} "},
        {"", "{}", "{}"},
        {"{", "{}", "{}"},
        {"[1]", "{}", "{}"},
        {"null", "{}", "{}"},
        {"{\"a\":1,\"a\":2}", "{\"a\":2}", "{\"a\":2}"},
        {"{\"a\":\"\\ud800\"}", "{\"a\":\"\xef\xbf\xbd\"}", "{\"a\":\"\xef\xbf\xbd\"}"},
        {"{\"a\":\"\\u001b[1m\\b\"}", "{\"a\":\"\\u001b[1m\\b\"}", "{\"a\":\"\\u001b[1m\\b\"}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_str_eq(arguments_of(cases[i][0]), cases[i][1]);
        ck_assert_str_eq(arguments_text_of(cases[i][0]), cases[i][2]);
    }
    ck_assert_str_eq(arguments_of(deep_object()), "{}");
    ck_assert_str_eq(arguments_text_of(deep_object()), "{}");
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_wire_append_arguments_text(&out, ik_msg_create(ctx, IK_MSG_TOOL_CALL, NULL, "{}"));
    ck_assert_str_eq(out.data, "\"{}\"");
}
END_TEST

static ik_msg_t *result_of(const char *output)
{
    ik_msg_result_t result = {.call_id = "x",
                              .name = "t",
                              .output = output,
                              .wall_ms = -1,
                              .cpu_us = -1,
                              .max_rss_kb = -1};
    return ik_msg_create_result(ctx, &result);
}

static char *output_of(const char *output)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_wire_append_output(wire, request, &out, result_of(output));
    return out.data;
}

static char *output_text_of(const char *output)
{
    ik_buffer_t out;
    ik_json_span_t literal;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_wire_append_output_text(wire, request, &out, result_of(output));
    ck_assert(ik_json_scan(out.data, out.len, &literal, NULL));
    return ik_json_decode(ctx, literal, NULL);
}

START_TEST(outputs_as_text_and_as_objects)
{
    static const char *const cases[][3] = {
        {"{\"tool_success\":true,\"result\":1.50}", "{\"tool_success\":true,\"result\":1.50}",
         NULL},
        {"{\"other\":1}", "{\"other\":1}", NULL},
        {"plain", "{\"output\":\"plain\"}", NULL},
        {"[1]", "{\"output\":\"[1]\"}", NULL},
        {"", "{\"output\":\"\"}", "(no output)"},
        {"{\"tool_success\":true,\"a\":1,\"a\":2}", "{\"tool_success\":true,\"a\":2}", NULL},
        {"{\"tool_success\":\"\\ud800\"}", "{\"tool_success\":\"\xef\xbf\xbd\"}", NULL},
        /* escapes are left out */
        {"{\"tool_success\":true,\"result\":\"\\u001b[1mx\"}",
         "{\"tool_success\":true,\"result\":\"x\"}", "{\"tool_success\":true,\"result\":\"x\"}"},
        {"{\"other\":\"\\u009b\"}", "{\"other\":\"\xef\xbf\xbd\"}", "{\"other\":\"\xef\xbf\xbd\"}"},
        {"\033[1mplain", "{\"output\":\"plain\"}", "plain"},
        {"{\"a\":1,\"a\\u009b\":2}", "{\"a\":2}", "{\"a\":1,\"a\":2}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_str_eq(output_of(cases[i][0]), cases[i][1]);
        ck_assert_str_eq(output_text_of(cases[i][0]),
                         cases[i][2] == NULL ? cases[i][0] : cases[i][2]);
    }
    char *deep = ik_sprintf(ctx, "{\"tool_success\":%s}", deep_object());
    char *wrapped = output_of(deep);
    ck_assert_int_eq(strncmp(wrapped, "{\"output\":\"{\\\"tool_success\\\":", 29), 0);
    ck_assert_str_eq(output_text_of(deep), deep);
}
END_TEST

START_TEST(the_first_results_are_trimmed)
{
    request->trimmed_results = 2;
    ck_assert_str_eq(output_of("{\"tool_success\":true}"), ik_conversation_trimmed_envelope);
    ck_assert_str_eq(output_text_of("x"), ik_conversation_trimmed_envelope);
    ck_assert_str_eq(output_text_of("x"), "x");
}
END_TEST

/* --- tools ------------------------------------------------------------------------------- */

START_TEST(the_same_tools_give_the_same_bytes)
{
    static const char *const orders[][3] = {{"a", "b", "c"}, {"c", "b", "a"}, {"b", "c", "a"}};
    json_t *schema = ik_json_adopt(ctx, json_pack("{s:s, s:{}}", "type", "object", "properties"));
    static const char *const wires[] = {"chat", "responses", "anthropic", "google"};
    add_user();
    for (size_t w = 0; w < sizeof(wires) / sizeof(wires[0]); w++) {
        const char *first = NULL;
        const ik_target_t *target = driver_target(ctx, wires[w], "openai", "http://x", "m");
        for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
            ik_request_t *asking = make_request(target);
            for (size_t k = 0; k < 3; k++) {
                ik_request_add_tool(asking, orders[i][k], "a tool", schema, NULL);
            }
            ik_request_sort_tools(asking);
            char *body = format_with(ik_wire_create(ctx), asking);
            ck_assert(strstr(body, "\"a\"") < strstr(body, "\"b\""));
            ck_assert(strstr(body, "\"b\"") < strstr(body, "\"c\""));
            first = first == NULL ? body : first;
            ck_assert_str_eq(body, first);
        }
    }
}
END_TEST

/* --- all formats, growing ---------------------------------------------------------------- */

static const char *const real[][2] = {
    {"chat", "p"}, {"responses", "p"}, {"anthropic", "p"}, {"google", "p"}};

/* A session with every kind of message, as p/m stores it in each format. */
static const char *const privates[] = {
    "{\"chat\":{\"reasoning_content\":\"hm\"}}",
    ("{\"responses\":[{\"type\":\"reasoning\",\"id\":\"rs_%d\",\"summary\":[],"
     "\"encrypted_content\":\"AA\"},{\"type\":\"function_call\",\"call_id\":\"c%d\",\"name\":\"t\","
     "\"arguments\":\"{\\\"a\\\":1}\"}]}"),
    ("{\"anthropic\":[{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"AA\"},"
     "{\"type\":\"tool_use\"}]}"),
    "{\"google\":[{\"functionCall\":{},\"thoughtSignature\":\"AA\"}]}",
};

static void add_private_call(size_t format, int number)
{
    char *id = ik_sprintf(ctx, "c%d", number);
    char *private_json = ik_strdup(ctx, privates[format]);
    for (char *place; (place = strstr(private_json, "%d")) != NULL;) {
        *place = '\0';
        private_json = ik_sprintf(ctx, "%s%d%s", private_json, number, place + 2);
    }
    add_call(id, ik_sprintf(ctx, ",\"model\":\"p/m\",\"step\":1,\"calls\":[\"%s\"],\"p\":%s", id,
                            private_json));
    add_result(id);
}

static void add_event(size_t format, int number)
{
    static const char foreign[] = "{\"model\":\"q/n\"}";
    switch (number % 10) {
    case 2:
        add(IK_MSG_COMPACTION, "", ik_sprintf(ctx, "{\"trimmed_results\":%d}", number / 3));
        add_private_call(format, number);
        break;
    case 4:
        add_answer(NULL);
        add_user();
        add_user();
        break;
    case 5:
        add(IK_MSG_SYSTEM, "Be brief.", NULL);
        add_user();
        break;
    case 7:
        add(IK_MSG_ASSISTANT, "from elsewhere", foreign);
        add_user();
        break;
    case 8:
        add(IK_MSG_ASSISTANT, "", "{\"model\":\"q/n\",\"step\":1,\"calls\":[],\"q\":{}}");
        add_user();
        break;
    default:
        add_private_call(format, number);
        break;
    }
}

static char *messages_of(ik_wire_t *any, const ik_request_t *asking)
{
    format_with(any, asking);
    return any->messages.data;
}

/* At every request the grown body equals, apart from the marks, one that is made at once. */
START_TEST(growing_gives_the_bytes_of_a_fresh_one)
{
    const ik_target_t *target = driver_target(ctx, real[_i][0], real[_i][1], "http://x", "m");
    ik_request_t *asking = make_request(target);
    ik_wire_t *fresh = NULL;
    bool kept = false;
    add_user();
    for (int i = 0; i < 40; i++) {
        asking->trimmed_results = ik_conversation_trimmed_results(conversation);
        asking->system = ik_conversation_system(conversation);
        talloc_free(fresh);
        fresh = ik_wire_create(ctx);
        ck_assert_str_eq(messages_of(wire, asking), messages_of(fresh, asking));
        kept = kept || strstr(fresh->messages.data, "AA") != NULL ||
               strstr(fresh->messages.data, "\"hm\"") != NULL;
        add_event((size_t)_i, i);
    }
    ck_assert(kept);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wire");
    TCase *tests = tcase_create("wire");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, the_body);
    tcase_add_test(tests, only_what_is_new_is_formatted);
    tcase_add_test(tests, a_group_that_grew_is_written_again);
    tcase_add_test(tests, results_are_counted_once_when_a_group_grows);
    tcase_add_test(tests, other_settings_start_over);
    tcase_add_test(tests, a_closing_message);
    tcase_add_test(tests, marks_are_where_it_ends_now_and_where_it_ended_before);
    tcase_add_test(tests, a_group_that_grew_has_one_mark);
    tcase_add_test(tests, no_mark_is_left_in_what_was_written_again);
    tcase_add_loop_test(tests, a_long_text_is_dropped_and_rebuilt_to_the_byte, 0, 2);
    tcase_add_test(tests, a_short_text_is_kept);
    tcase_add_test(tests, other_settings_start_over_after_a_drop);
    tcase_add_test(tests, without_a_member_there_are_no_marks);
    tcase_add_test(tests, a_step_that_fits_goes_back);
    tcase_add_test(tests, steps_without_words_count_while_they_go_back);
    tcase_add_test(tests, a_step_of_nobody_does_not_go_back);
    tcase_add_loop_test(tests, a_damaged_step_takes_the_reasoning_before_it, 0,
                        (int)(sizeof(damaged) / sizeof(damaged[0])));
    tcase_add_loop_test(tests, calls_that_were_changed_do_not_go_back, 0, 6);
    tcase_add_test(tests, own_steps_without_private_data_take_nothing);
    tcase_add_test(tests, reasoning_is_dropped_up_to_a_message);
    tcase_add_loop_test(tests, a_change_takes_only_reasoning_that_is_bound_to_it, 0, 2);
    tcase_add_test(tests, a_change_that_comes_later_counts_at_once);
    tcase_add_test(tests, what_stands_between_does_not_divide_a_step);
    tcase_add_test(tests, own_ids_go_back_as_they_came);
    tcase_add_test(tests, other_ids_become_nine_letters_and_digits);
    tcase_add_test(tests, nobody_gets_an_id_that_is_too_long);
    tcase_add_test(tests, openai_takes_ids_of_forty_characters);
    tcase_add_test(tests, ids_we_made_up_are_nobodys_own);
    tcase_add_test(tests, arguments_are_an_object);
    tcase_add_test(tests, outputs_as_text_and_as_objects);
    tcase_add_test(tests, the_first_results_are_trimmed);
    tcase_add_test(tests, the_same_tools_give_the_same_bytes);
    tcase_add_loop_test(tests, growing_gives_the_bytes_of_a_fresh_one, 0,
                        (int)(sizeof(real) / sizeof(real[0])));
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
