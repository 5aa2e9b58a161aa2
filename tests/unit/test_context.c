#include "conversation/context.h"

#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "suite.h"

static void *ctx;
static ik_conversation_t *conversation;

static void set_up(void)
{
    ctx = talloc_new(NULL);
    conversation = ik_conversation_create(ctx);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static void add(const char *kind, const char *content, const char *data)
{
    ik_conversation_append(conversation, ik_msg_create(conversation, kind, content, data));
}

static void add_step(const char *id)
{
    add(IK_MSG_ASSISTANT, ik_sprintf(ctx, "text %s", id), "{\"model\":\"p/m\"}");
    add(IK_MSG_TOOL_CALL, "call",
        ik_sprintf(ctx, "{\"id\":\"%s\",\"function\":{\"name\":\"t\",\"arguments\":\"{}\"}}", id));
    add(IK_MSG_TOOL_RESULT, "result",
        ik_sprintf(ctx, "{\"tool_call_id\":\"%s\",\"output\":\"out\"}", id));
}

static void add_summary(const char *text, size_t covers)
{
    ik_msg_summary_t summary = {.reason = "full",
                                .summary = text,
                                .covers = covers,
                                .words_limit = IK_CONTEXT_WORDS_MAX,
                                .usage = IK_USAGE_NONE};
    ik_conversation_append(conversation, ik_msg_create_summary(conversation, &summary));
}

/* The kinds and contents of what is sent, messages of neither side left out. */
static char *sent(const ik_context_t *context)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&out, "");
    for (size_t i = 0; i < context->sent->count; i++) {
        const ik_msg_t *message = context->sent->messages[i];
        if (ik_msg_side(message) != IK_MSG_NEITHER) {
            ik_buffer_append_format(&out, "%c:%s|", message->kind[0], message->content);
        }
    }
    return ik_buffer_finish(&out);
}

#define SUMMARY "u:[Summary of the conversation so far, apart from the user's messages above]\n\n"

START_TEST(without_a_summary_all_is_sent)
{
    add(IK_MSG_USER, "q", NULL);
    ik_context_t *context = ik_context_create(ctx, conversation);
    ck_assert_ptr_eq(context->sent, conversation);
    add_step("1");
    ck_assert(!ik_context_update(context));
    ck_assert_ptr_eq(context->sent, conversation);
    ck_assert_ptr_null(context->summary);
    ck_assert_uint_eq(context->at, 0);
}
END_TEST

START_TEST(words_summary_and_the_rest)
{
    add(IK_MSG_SYSTEM, "s", NULL);
    add(IK_MSG_USER, "first", NULL);
    add_step("1");
    add(IK_MSG_ASSISTANT, "done", "{\"model\":\"p/m\"}");
    add(IK_MSG_USER, "second", NULL);
    add_step("2");
    ik_context_t *context = ik_context_create(ctx, conversation);
    add_summary("S", 6);
    ck_assert(ik_context_update(context));
    ck_assert_str_eq(sent(context), "u:first|u:second|" SUMMARY "S|a:text 2|t:call|t:result|");
    ck_assert_uint_eq(context->skipped_results, 1);
    ck_assert_uint_eq(context->at, 3);
    add(IK_MSG_ASSISTANT, "more", "{\"model\":\"p/m\"}");
    ck_assert(!ik_context_update(context));
    const char *all = "u:first|u:second|" SUMMARY "S|a:text 2|t:call|t:result|a:more|";
    ck_assert_str_eq(sent(context), all);
    ck_assert_str_eq(sent(ik_context_create(ctx, conversation)), all); /* as after a resume */
}
END_TEST

START_TEST(the_last_summary_counts)
{
    add(IK_MSG_USER, "first", NULL);
    add_step("1");
    add_summary("old", 4);
    add(IK_MSG_USER, "second", NULL);
    add_step("2");
    add_summary("new", 5);
    ck_assert_str_eq(sent(ik_context_create(ctx, conversation)),
                     "u:first|u:second|" SUMMARY "new|a:text 2|t:call|t:result|");
}
END_TEST

/* The open items of the todo list survive as long as the list is not among what is sent. */
START_TEST(the_todo_list_survives)
{
#define LIST(status)                                                                               \
    "{\"tool_call_id\":\"t\",\"name\":\"todo\",\"success\":true,\"output\":\"{\\\"tool_"           \
    "success\\\":"                                                                                 \
    "true,\\\"result\\\":{\\\"todos\\\":[{\\\"content\\\":\\\"a\\\",\\\"status\\\":"               \
    "\\\"completed\\\"},"                                                                          \
    "{\\\"content\\\":\\\"b\\\",\\\"status\\\":\\\"" status "\\\"}]}}\"}"
    static const char head[] = "u:first|u:[The todo list, as the last call of todo left it]\n\n"
                               "- completed: a\n- pending: b|";
    add(IK_MSG_USER, "first", NULL);
    add(IK_MSG_ASSISTANT, "plan", "{\"model\":\"p/m\"}");
    add(IK_MSG_TOOL_RESULT, "list", LIST("pending"));
    add(IK_MSG_TOOL_RESULT, "failed", "{\"name\":\"todo\",\"success\":false,\"output\":\"{}\"}");
    add_step("1");
    add_summary("S", 4);
    ck_assert_str_eq(sent(ik_context_create(ctx, conversation)),
                     ik_sprintf(ctx, "%s" SUMMARY "S|a:text 1|t:call|t:result|", head));
    add_summary("T", 7);
    ck_assert_str_eq(sent(ik_context_create(ctx, conversation)),
                     ik_sprintf(ctx, "%s" SUMMARY "T|", head));
    add(IK_MSG_ASSISTANT, "more", "{\"model\":\"p/m\"}");
    add(IK_MSG_TOOL_RESULT, "list", LIST("completed"));
    add_summary("U", 7); /* the later list is sent as it is */
    ck_assert_str_eq(sent(ik_context_create(ctx, conversation)),
                     "u:first|" SUMMARY "U|a:more|t:list|");
    add_summary("V", 9); /* nothing is open */
    ck_assert_str_eq(sent(ik_context_create(ctx, conversation)), "u:first|" SUMMARY "V|");
}
END_TEST

START_TEST(what_a_command_printed_is_not_said)
{
    add(IK_MSG_USER, "first", NULL);
    add(IK_MSG_USER, "much", "{\"command\":\"make\"}");
    add_step("1");
    add_summary("S", 5);
    ck_assert_str_eq(sent(ik_context_create(ctx, conversation)), "u:first|" SUMMARY "S|");
}
END_TEST

/* A count that ends inside a step, or is no count, leaves no call without its result. */
START_TEST(a_step_is_kept_as_a_whole)
{
    static const char whole[] = "u:q|" SUMMARY "S|a:text 1|t:call|t:result|";
    static const struct {
        const char *covers;
        const char *sent;
    } cases[] = {
        {"1", whole},
        {"2", whole},
        {"3", whole},
        {"4", "u:q|" SUMMARY "S|"},
        {"400", "u:q|" SUMMARY "S|"},
        {"0", "u:[Summary of the conversation so far]\n\nS|u:q|a:text 1|t:call|t:result|"},
        {"-1", "u:[Summary of the conversation so far]\n\nS|u:q|a:text 1|t:call|t:result|"},
        {"\"x\"", "u:q|" SUMMARY "S|"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        conversation = ik_conversation_create(ctx);
        add(IK_MSG_USER, "q", NULL);
        add_step("1");
        add(IK_MSG_COMPACTION, "",
            ik_sprintf(ctx, "{\"summary\":\"S\",\"covers\":%s}", cases[i].covers));
        ck_assert_str_eq(sent(ik_context_create(ctx, conversation)), cases[i].sent);
    }
}
END_TEST

START_TEST(the_newest_words_up_to_the_limit)
{
    add(IK_MSG_USER, "oldest", NULL);
    add(IK_MSG_USER, "grün", NULL);
    add(IK_MSG_USER, "new", NULL);
    add(IK_MSG_COMPACTION, "", "{\"summary\":\"S\",\"covers\":3,\"words_limit\":6}");
    static const char heading[] =
        "u:[Summary of the conversation so far, apart from the user's latest messages above]\n\nS|";
    char *expected =
        ik_sprintf(ctx, "u:gr\n[cut: 3 more bytes]|u:new|%s", heading); /* not half of an ü */
    ck_assert_str_eq(sent(ik_context_create(ctx, conversation)), expected);
}
END_TEST

/* What is kept counts, too: the newest words come first. */
START_TEST(words_that_are_kept_count)
{
    static const char cut[] = "\n[cut: 3 more bytes]|u:[Summary of the conversation so far, apart "
                              "from the user's latest messages above]\n\nS|u:";
    static const struct {
        const char *newer;
        const char *limit;
        const char *kept; /* of the older message; at least an eighth of the limit */
    } cases[] = {{"newer", "7", "ol"}, {"newer newer newer", "16", "ol"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        conversation = ik_conversation_create(ctx);
        add(IK_MSG_USER, "older", NULL);
        add(IK_MSG_USER, cases[i].newer, NULL);
        add(IK_MSG_COMPACTION, "",
            ik_sprintf(ctx, "{\"summary\":\"S\",\"covers\":1,\"words_limit\":%s}", cases[i].limit));
        ck_assert_str_eq(sent(ik_context_create(ctx, conversation)),
                         ik_sprintf(ctx, "u:%s%s%s|", cases[i].kept, cut, cases[i].newer));
    }
}
END_TEST

START_TEST(trimmed_results_are_counted_from_the_first_that_is_sent)
{
    add(IK_MSG_USER, "q", NULL);
    add_step("1");
    add_step("2");
    add_step("3");
    add(IK_MSG_COMPACTION, "", "{\"trimmed_results\":2}");
    add_summary("S", 4);
    ik_context_t *context = ik_context_create(ctx, conversation);
    ck_assert_uint_eq(context->skipped_results, 1);
    ck_assert_uint_eq(ik_context_trimmed_results(context), 1);
    add_summary("S", 10);
    ck_assert_uint_eq(ik_context_trimmed_results(ik_context_create(ctx, conversation)), 0);
}
END_TEST

START_TEST(a_preview_and_what_is_older)
{
    add(IK_MSG_USER, "q", NULL);
    add_step("1");
    add(IK_MSG_COMPACTION, "", "{\"trimmed_results\":0}");
    add_step("2");
    ik_context_t *context = ik_context_create(ctx, conversation);
    ik_msg_t *draft = ik_msg_create(ctx, IK_MSG_COMPACTION, "", "{\"summary\":\"S\",\"covers\":4}");
    ik_context_t *preview = ik_context_preview(ctx, conversation, draft);
    ck_assert_str_eq(sent(preview), "u:q|" SUMMARY "S|a:text 2|t:call|t:result|");
    ck_assert_ptr_eq(context->sent, conversation);
    ik_conversation_t *older = ik_context_older(ctx, context, 5);
    ck_assert_uint_eq(older->count, 5); /* with the compaction */
    older = ik_context_older(ctx, context, 1);
    ck_assert_uint_eq(older->count, 2);
    ck_assert_str_eq(older->messages[1]->kind, IK_MSG_COMPACTION);
}
END_TEST

START_TEST(sizes)
{
    add(IK_MSG_USER, "four", "{\"images\":[{},{}]}");
    add(IK_MSG_SYSTEM, "not sent as a message", NULL);
    add_step("1");
    ik_context_t *context = ik_context_create(ctx, conversation);
    /* two images of 1600 tokens, "text 1", "{}" and "out" with their quotes */
    ck_assert_uint_eq(ik_context_size(context), 4 + 2 * 1600 * 4 + 6 + 4 + 5);
    add(IK_MSG_COMPACTION, "", "{\"trimmed_results\":1}");
    ik_context_update(context);
    ck_assert_uint_eq(ik_context_size(context),
                      4 + 2 * 1600 * 4 + 6 + 4 + strlen(ik_conversation_trimmed_envelope));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("context");
    TCase *tests = tcase_create("context");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, without_a_summary_all_is_sent);
    tcase_add_test(tests, words_summary_and_the_rest);
    tcase_add_test(tests, the_last_summary_counts);
    tcase_add_test(tests, the_todo_list_survives);
    tcase_add_test(tests, what_a_command_printed_is_not_said);
    tcase_add_test(tests, a_step_is_kept_as_a_whole);
    tcase_add_test(tests, the_newest_words_up_to_the_limit);
    tcase_add_test(tests, words_that_are_kept_count);
    tcase_add_test(tests, trimmed_results_are_counted_from_the_first_that_is_sent);
    tcase_add_test(tests, a_preview_and_what_is_older);
    tcase_add_test(tests, sizes);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
