#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "conversation/message.h"
#include "conversation/summary.h"
#include "repeat.h"
#include "suite.h"

static void *ctx;

static void set_up(void)
{
    ctx = talloc_new(NULL);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static ik_msg_t *make_call(const char *name, const char *arguments, const ik_msg_step_t *step)
{
    ik_msg_call_t call = {.id = "call_abc123",
                          .name = name,
                          .arguments = arguments,
                          .arguments_len = strlen(arguments)};
    return ik_msg_create_call(ctx, &call, step);
}

static ik_msg_t *make_result(const char *name, const char *output)
{
    ik_msg_result_t result = {.call_id = "call_abc123",
                              .name = name,
                              .output = output,
                              .success = true,
                              .wall_ms = -1,
                              .cpu_us = -1,
                              .max_rss_kb = -1};
    return ik_msg_create_result(ctx, &result);
}

/* --- texts and their memory -------------------------------------------------------------- */

START_TEST(a_message_is_one_block)
{
    ik_msg_step_t step = {.model = "p/m", .usage = IK_USAGE_NONE};
    const ik_msg_t *made[] = {
        make_call("glob", "{\"pattern\":\"*.c\"}", &step),
        make_result("glob", "{\"count\":3}"),
        ik_msg_create_assistant(ctx, "Hi", &step),
        ik_msg_create_compaction(ctx, 12),
        ik_msg_create(ctx, "note", "x", "{}"),
        ik_msg_create(ctx, IK_MSG_USER, NULL, NULL),
    };
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
        ck_assert_uint_eq(talloc_total_blocks(made[i]), 1);
    }
}
END_TEST

START_TEST(kinds_are_kept_unknown_ones_too)
{
    char kind[] = "user";
    const ik_msg_t *user = ik_msg_create(ctx, kind, "x", NULL);
    const ik_msg_t *other = ik_msg_create(ctx, "users", "x", "{}");
    const ik_msg_t *empty = ik_msg_create(ctx, "", "x", NULL);
    memset(kind, '-', sizeof(kind) - 1);
    ck_assert_str_eq(user->kind, IK_MSG_USER);
    ck_assert_str_eq(other->kind, "users");
    ck_assert_str_eq(other->content, "x");
    ck_assert_str_eq(other->data_json, "{}");
    ck_assert_str_eq(empty->kind, "");
    ck_assert(ik_msg_is(user, IK_MSG_USER) && !ik_msg_is(other, IK_MSG_USER));
}
END_TEST

START_TEST(texts_of_a_known_length)
{
    const ik_msg_t *message = ik_msg_create_sized(ctx, IK_MSG_USER, "words", 3, " {}\n{", 4);
    ck_assert_str_eq(message->content, "wor");
    ck_assert_str_eq(message->data_json, "{}");
    ck_assert_uint_eq(message->data_len, 2);
    message = ik_msg_create_sized(ctx, IK_MSG_USER, NULL, 0, " \n", 2);
    ck_assert_ptr_null(message->content);
    ck_assert_str_eq(message->data_json, "");
    message = ik_msg_create_sized(ctx, IK_MSG_USER, "", 0, NULL, 0);
    ck_assert_str_eq(message->content, "");
    ck_assert_ptr_null(message->data_json);
    ck_assert_uint_eq(message->data_len, 0);
}
END_TEST

/* Around the length from which on a text has a block of its own. */
START_TEST(long_texts)
{
    enum { MEGABYTE = 1 << 20, MORE = 100 };
    char *text = ik_new_array(ctx, char, MEGABYTE + MORE + 1);
    memset(text, 'x', MEGABYTE + MORE);
    for (size_t len = MEGABYTE - MORE; len <= MEGABYTE + MORE; len += MORE / 4) {
        const char *end = text + MEGABYTE + MORE - len;
        ik_msg_t *message = ik_msg_create(ctx, "note", end, end);
        ck_assert_str_eq(message->content, end);
        ck_assert_str_eq(message->data_json, end);
        ck_assert_uint_eq(message->data_len, len);
        talloc_free(message);
        message = make_result("t", end);
        ck_assert_str_eq(ik_msg_field_text(message, message, "output"), end);
        ck_assert_uint_eq(strlen(message->data_json), message->data_len);
        talloc_free(message);
    }
    ck_assert_uint_eq(talloc_total_blocks(ctx), 2);
}
END_TEST

/* talloc itself refuses 256 MB. */
START_TEST(a_text_longer_than_talloc_takes)
{
    size_t len = (size_t)257 << 20;
    char *text = calloc(len, 1);
    text[len - 1] = '!';
    const ik_msg_t *message = ik_msg_create_sized(ctx, IK_MSG_USER, text, len, NULL, 0);
    ck_assert_int_eq(message->content[len - 1], '!');
    ck_assert_int_eq(message->content[len], '\0');
    free(text);
}
END_TEST

START_TEST(a_copy_is_equal)
{
    const ik_msg_t *of = make_call("t", "{\"a\":1}", NULL);
    const ik_msg_t *copy = ik_msg_copy(ctx, of);
    ck_assert_str_eq(copy->kind, of->kind);
    ck_assert_str_eq(copy->content, of->content);
    ck_assert_str_eq(copy->data_json, of->data_json);
    ck_assert_uint_eq(copy->data_len, of->data_len);
    ck_assert(copy->clean);
    ck_assert(!ik_msg_copy(ctx, make_call("t", "[]", NULL))->clean);
    ck_assert_ptr_null(ik_msg_copy(ctx, ik_msg_create(ctx, "note", NULL, NULL))->content);
}
END_TEST

/* --- calls and results ------------------------------------------------------------------- */

START_TEST(a_call_as_it_is_stored)
{
    ik_msg_t *call = make_call("glob", "{\"pattern\":\"*.c\",\"path\":\"src/\"}", NULL);
    ck_assert_str_eq(call->kind, "tool_call");
    ck_assert_str_eq(call->content, "glob(pattern=\"*.c\", path=\"src/\")");
    ck_assert_str_eq(call->data_json,
                     "{\"id\":\"call_abc123\",\"type\":\"function\",\"function\":{\"name\":"
                     "\"glob\",\"arguments\":\"{\\\"pattern\\\":\\\"*.c\\\",\\\"path\\\":"
                     "\\\"src/\\\"}\"}}");
}
END_TEST

START_TEST(a_result_as_it_is_stored)
{
    ik_msg_t *result =
        make_result("glob", "{\"output\":\"file1.c\\nfile2.c\\nfile3.c\",\"count\":3}");
    ck_assert_str_eq(result->kind, "tool_result");
    ck_assert_str_eq(result->content, "3 files found");
    ck_assert_str_eq(result->data_json,
                     "{\"tool_call_id\":\"call_abc123\",\"name\":\"glob\",\"success\":true,"
                     "\"output\":\"{\\\"output\\\":\\\"file1.c\\\\nfile2.c\\\\nfile3.c\\\","
                     "\\\"count\\\":3}\"}");
}
END_TEST

START_TEST(a_result_with_its_cost_and_provider)
{
    ik_msg_result_t result = {.call_id = "x",
                              .name = "bash",
                              .provider = "openai",
                              .output = "{}",
                              .wall_ms = 5,
                              .cpu_us = 0,
                              .max_rss_kb = 7};
    ck_assert_str_eq(ik_msg_create_result(ctx, &result)->data_json,
                     "{\"tool_call_id\":\"x\",\"name\":\"bash\",\"provider\":\"openai\","
                     "\"success\":false,\"wall_ms\":5,\"cpu_us\":0,\"max_rss_kb\":7,"
                     "\"output\":\"{}\"}");
}
END_TEST

/* A result that was made here knows where its output is, one that was read does not: both say the
 * same. */
START_TEST(fields_of_a_result_with_output)
{
    static const char *const outputs[] = {"", "{}", "{\"a\":\"\\\"images\\\":[]\"},\"success\":1",
                                          "\\"};
    static const char *const names[] = {"tool_call_id", "name",   "provider", "success",
                                        "images",       "output", "stderr",   ""};
    for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]) + 1; i++) {
        bool is_long = i == sizeof(outputs) / sizeof(outputs[0]);
        char *text = ik_new_array(ctx, char, 2 << 20);
        memset(text, '"', (2 << 20) - 1);
        const ik_msg_t *made = make_result("glob", is_long ? text : outputs[i]);
        const ik_msg_t *same[] = {made, ik_msg_copy(ctx, made)};
        const ik_msg_t *read = ik_msg_create(ctx, IK_MSG_TOOL_RESULT, "x", made->data_json);
        for (size_t n = 0; n < 2 * (sizeof(names) / sizeof(names[0])); n++) {
            const char *name = names[n / 2];
            ik_json_span_t expected = {0};
            ik_json_span_t found = {0};
            bool is_there = ik_msg_field(read, name, &expected);
            ck_assert_int_eq(ik_msg_field(same[n % 2], name, &found), is_there);
            ck_assert(!is_there || found.len == expected.len);
            ck_assert(!is_there || memcmp(found.text, expected.text, found.len) == 0);
        }
        ck_assert_str_eq(ik_msg_field_text(ctx, made, "output"), is_long ? text : outputs[i]);
    }
}
END_TEST

/* What no provider takes as the name of a tool is not stored as one, in call and result alike. */
START_TEST(names_are_made_usable)
{
    static const char long_name[] =
        "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn";
    static const char *const cases[][2] = {
        {"glob", "glob"}, {"_x-1", "_x-1"},         {"a b", "a_b"},  {"1x", "_x"},
        {"-x", "_x"},     {"caf\xc3\xa9", "caf__"}, {"", "unknown"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ik_json_span_t name;
        ck_assert(ik_msg_call_field(make_call(cases[i][0], "{}", NULL), "name", &name));
        ck_assert_str_eq(ik_json_decode(ctx, name, NULL), cases[i][1]);
        ck_assert_str_eq(ik_msg_field_text(ctx, make_result(cases[i][0], "{}"), "name"),
                         cases[i][1]);
    }
    ck_assert_uint_eq(strlen(ik_msg_field_text(ctx, make_result(long_name, "{}"), "name")), 64);
}
END_TEST

START_TEST(arguments_are_kept_as_the_model_wrote_them)
{
    static const char odd[] = "{\"a\": 1.50, \"b\":\x00 \xff";
    ik_msg_call_t call = {
        .id = "x", .name = "t", .arguments = odd, .arguments_len = sizeof(odd) - 1};
    ik_json_span_t literal;
    ck_assert(ik_msg_call_field(ik_msg_create_call(ctx, &call, NULL), "arguments", &literal));
    size_t len;
    char *text = ik_json_decode(ctx, literal, &len);
    ck_assert_uint_eq(len, sizeof(odd) - 1 + 2); /* U+FFFD is two bytes longer */
    ck_assert_mem_eq(text, odd, sizeof(odd) - 2);
}
END_TEST

/* --- steps ------------------------------------------------------------------------------- */

START_TEST(a_step_says_what_it_knows)
{
    static const char *const ids[] = {"a", "b"};
    ik_msg_step_t step = {
        .model = "anthropic/m",
        .stop = "tool_use",
        .reasoning = "hm",
        .usage = {.in = 40, .cached = 32, .cache_write = -1, .out = 6, .reasoning = -1},
        .provider = "anthropic",
        .private_json = "{\"anthropic\":[{}]}",
        .messages = 3,
        .call_ids = ids,
        .call_count = 2,
    };
    ck_assert_str_eq(ik_msg_create_assistant(ctx, "Hi", &step)->data_json,
                     "{\"model\":\"anthropic/m\",\"stop\":\"tool_use\",\"usage\":{\"in\":40,"
                     "\"cached\":32,\"out\":6},\"reasoning\":\"hm\",\"step\":3,\"calls\":[\"a\","
                     "\"b\"],\"anthropic\":{\"anthropic\":[{}]}}");
    step.private_json = NULL;
    step.incomplete = step.refused = true;
    step.usage = IK_USAGE_NONE;
    step.reasoning = NULL;
    ck_assert_str_eq(ik_msg_create_assistant(ctx, "Hi", &step)->data_json,
                     "{\"model\":\"anthropic/m\",\"stop\":\"tool_use\",\"incomplete\":true,"
                     "\"refused\":true}");
}
END_TEST

START_TEST(a_call_can_begin_a_step)
{
    ik_msg_step_t step = {.model = "p/m", .usage = IK_USAGE_NONE};
    ck_assert_str_eq(make_call("t", "{}", &step)->data_json,
                     "{\"id\":\"call_abc123\",\"type\":\"function\",\"function\":{\"name\":\"t\","
                     "\"arguments\":\"{}\"},\"model\":\"p/m\"}");
}
END_TEST

START_TEST(text_that_no_model_made_has_no_data)
{
    ik_msg_t *message = ik_msg_create_assistant(ctx, "Hi", NULL);
    ck_assert_str_eq(message->content, "Hi");
    ck_assert_ptr_null(message->data_json);
}
END_TEST

START_TEST(compactions)
{
    ik_msg_t *one = ik_msg_create_compaction(ctx, 1);
    ck_assert_str_eq(one->content, "1 tool result removed to fit the context");
    ck_assert_str_eq(one->data_json, "{\"trimmed_results\":1}");
    ck_assert_str_eq(ik_msg_create_compaction(ctx, 12)->content,
                     "12 tool results removed to fit the context");
}
END_TEST

START_TEST(checkpoints)
{
    static const char *const states[] = {"t1", "p\"2"};
    ik_msg_checkpoint_t read;
    ik_msg_t *before =
        ik_msg_create_checkpoint(ctx, &(ik_msg_checkpoint_t){.states = states, .count = 2});
    ck_assert_str_eq(before->kind, "checkpoint");
    ck_assert_ptr_null(before->content);
    ck_assert_str_eq(before->data_json, "{\"phase\":\"before\",\"states\":[\"t1\",\"p\\\"2\"]}");
    ck_assert(ik_msg_parse_checkpoint(ctx, before->data_json, &read));
    ck_assert_int_eq(read.phase, IK_MSG_BEFORE);
    ck_assert(!read.next);
    ck_assert_uint_eq(read.count, 2);
    ck_assert_str_eq(read.states[0], "t1");
    ck_assert_str_eq(read.states[1], "p\"2");
    ck_assert_ptr_null(read.states[2]);
    ik_msg_t *after =
        ik_msg_create_checkpoint(ctx, &(ik_msg_checkpoint_t){.phase = IK_MSG_AFTER, .next = true});
    ck_assert_str_eq(after->data_json, "{\"phase\":\"after\",\"next\":true,\"states\":[]}");
    ck_assert(ik_msg_parse_checkpoint(ctx, after->data_json, &read));
    ck_assert_int_eq(read.phase, IK_MSG_AFTER);
    ck_assert(read.next);
    ck_assert_ptr_null(read.states[0]);
    ck_assert(!read.late);
    ik_msg_t *late =
        ik_msg_create_checkpoint(ctx, &(ik_msg_checkpoint_t){.phase = IK_MSG_AFTER, .late = true});
    ck_assert_str_eq(late->data_json, "{\"phase\":\"after\",\"late\":true,\"states\":[]}");
    ck_assert(ik_msg_parse_checkpoint(ctx, late->data_json, &read));
    ck_assert(read.late);
    ck_assert(ik_msg_kind_is_record(after->kind));
    ck_assert(!ik_msg_kind_is_record(IK_MSG_USER));
}
END_TEST

/* Imported data may be anything. */
START_TEST(checkpoints_that_are_none)
{
    static const char *const data[] = {
        NULL,
        "",
        "[]",
        "{",
        "{\"phase\":\"before\"}",
        "{\"states\":[]}",
        "{\"phase\":\"during\",\"states\":[]}",
        "{\"phase\":1,\"states\":[]}",
        "{\"phase\":\"after\",\"states\":{}}",
        "{\"phase\":\"after\",\"states\":[\"a\",1]}",
    };
    ik_msg_checkpoint_t read;
    for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++) {
        ck_assert(!ik_msg_parse_checkpoint(ctx, data[i], &read));
    }
}
END_TEST

/* --- reading ----------------------------------------------------------------------------- */

START_TEST(fields_are_found)
{
    ik_msg_t *message = ik_msg_create(ctx, IK_MSG_ASSISTANT, NULL,
                                      " \n{\"a\":\"x\\n\",\"a\":\"second\",\"n\":7,\"neg\":-7,"
                                      "\"t\":true,\"o\":{\"n\":8}}\t\r\n ");
    ik_json_span_t value;
    ck_assert_str_eq(ik_msg_field_text(ctx, message, "a"), "x\n");
    ck_assert_ptr_null(ik_msg_field_text(ctx, message, "n"));
    ck_assert_ptr_null(ik_msg_field_text(ctx, message, "none"));
    ck_assert_int_eq(ik_msg_field_number(message, "n", 1), 7);
    ck_assert_int_eq(ik_msg_field_number(message, "neg", 1), -7);
    ck_assert_int_eq(ik_msg_field_number(message, "a", 1), 1);
    ck_assert_int_eq(ik_msg_field_number(message, "none", 1), 1);
    ck_assert(ik_msg_field(message, "o", &value));
    ck_assert(!ik_msg_field(message, "none", &value));
    ck_assert(!ik_msg_field(ik_msg_create(ctx, IK_MSG_USER, "x", NULL), "a", &value));
}
END_TEST

START_TEST(several_fields_in_one_walk)
{
    static const char *const names[] = {"b", NULL, "a", "none"};
    static const char text[] = "{\"a\":1,\"a\":2,\"\\u0062\":null,\"c\":{\"none\":3}}";
    ik_json_span_t values[4];
    ik_msg_find_fields((ik_json_span_t){text, strlen(text)}, names, 4, values);
    ck_assert_str_eq(ik_strndup(ctx, values[0].text, values[0].len), "null");
    ck_assert_str_eq(ik_strndup(ctx, values[2].text, values[2].len), "1");
    ck_assert_uint_eq(values[1].len, 0);
    ck_assert_uint_eq(values[3].len, 0);
    ik_msg_find_fields((ik_json_span_t){0}, names, 4, values);
    ck_assert_uint_eq(values[0].len, 0);
}
END_TEST

START_TEST(call_fields_must_be_strings)
{
    static const char *const bad[] = {
        "{}",
        "{\"function\":5}",
        "{\"function\":{\"name\":5}}",
        "{\"function\":{}}",
    };
    ik_json_span_t literal;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ik_msg_t *call = ik_msg_create(ctx, IK_MSG_TOOL_CALL, NULL, bad[i]);
        ck_assert(!ik_msg_call_field(call, "name", &literal));
    }
}
END_TEST

START_TEST(blank_texts)
{
    static const char *const blank[] = {
        "",
        " ",
        "\t\r\n\v\f",
        "\x1c\x1d\x1e\x1f",
        "\xc2\x85",
        "\xc2\xa0",
        " \xe1\x9a\x80",
        "\xe2\x80\x80\xe2\x80\x8a",
        "\xe2\x80\xa8\xe2\x80\xa9",
        "\xe2\x80\xaf",
        "\xe2\x81\x9f",
        "\xe3\x80\x80\n",
    };
    static const char *const not_blank[] = {
        "x", " x", "\xc2\xa0x", "\xe2\x80\x8b", "\xe2\x80", "\xc2", "\xff", "0", "\x1b",
    };
    ck_assert(ik_msg_text_is_blank(NULL));
    for (size_t i = 0; i < sizeof(blank) / sizeof(blank[0]); i++) {
        ck_assert_msg(ik_msg_text_is_blank(blank[i]), "%zu", i);
    }
    for (size_t i = 0; i < sizeof(not_blank) / sizeof(not_blank[0]); i++) {
        ck_assert_msg(!ik_msg_text_is_blank(not_blank[i]), "%zu", i);
    }
}
END_TEST

/* --- summaries --------------------------------------------------------------------------- */

static const struct {
    const char *tool;
    const char *output;
    const char *summary;
} summaries[] = {
    /* the six, as the seed's results and in their envelope */
    {"glob", "{\"tool_success\":true,\"result\":{\"output\":\"a\\nb\",\"count\":2}}",
     "2 files found"},
    {"glob", "{\"output\":\"a\",\"count\":1}", "1 file found"},
    {"glob", "{\"output\":\"\",\"count\":0}", "0 files found"},
    {"grep", "{\"tool_success\":true,\"result\":{\"output\":\"a:1: x\",\"count\":1}}",
     "1 match found"},
    {"grep", "{\"output\":\"\",\"count\":12}", "12 matches found"},
    {"file_read", "{\"tool_success\":true,\"result\":{\"output\":\"first\\nsecond\\n\"}}",
     "first (2 lines)"},
    {"file_read", "{\"output\":\"no end\"}", "no end"},
    {"file_read", "{\"output\":\"\"}", "no output"},
    {"file_write",
     "{\"tool_success\":true,\"result\":{\"output\":\"Wrote 5 bytes to x\",\"bytes\":5}}",
     "Wrote 5 bytes to x"},
    {"file_edit",
     "{\"tool_success\":true,\"result\":{\"output\":\"Replaced 1 in x\",\"replacements\":1}}",
     "Replaced 1 in x"},
    {"bash", "{\"tool_success\":true,\"result\":{\"output\":\"hi\\n\",\"exit_code\":0}}", "hi"},
    {"bash", "{\"tool_success\":true,\"result\":{\"output\":\"a\\nb\",\"exit_code\":127}}",
     "exit 127: a (2 lines)"},
    {"bash", "{\"tool_success\":true,\"result\":{\"output\":\"\",\"exit_code\":0}}", "no output"},
    {"bash", "{\"tool_success\":true,\"result\":{\"output\":\"\",\"exit_code\":1}}",
     "exit 1: no output"},
    {"shot", "{\"output\":\"\",\"images\":[{\"width\":1}]}", "images"},
    {"shot", "{\"output\":\"\",\"images\":[]}", "no output"},
    /* failures: of the tool, of running it */
    {"file_read", "{\"tool_success\":true,\"result\":{\"error\":\"File not found: x\"}}",
     "error: File not found: x"},
    {"file_read", "{\"error\":\"File not found: x\"}", "failed: File not found: x"},
    {"bash", "{\"tool_success\":false,\"error\":\"timed out\\nafter 30 s\"}",
     "failed: timed out (2 lines)"},
    /* other tools, other shapes */
    {"mine", "{\"count\":1}", "1 result found"},
    {"mine", "{\"count\":3}", "3 results found"},
    {"mine", "{\"count\":\"3\"}", "{\"count\":\"3\"}"},
    {"mine", "{\"tool_success\":true,\"result\":\"text\"}", "text"},
    {"mine", "{\"tool_success\":true,\"result\":[1, 2]}", "[1, 2]"},
    {"mine", "{\"tool_success\":true,\"result\":null}", "null"},
    {"mine", "{\"tool_success\":true,\"result\":{\"a\":1}}", "{\"a\":1}"},
    {"mine", "{\"tool_success\":true,\"result\":[\n  1,\r\n\t2\n]}", "[ 1, 2 ]"},
    {"mine", "no JSON", "no JSON"},
    {"mine", "no\n\nJSON", "no JSON"},
    {"mine", "", ""},
};

START_TEST(summary_of_a_result)
{
    ck_assert_str_eq(make_result(summaries[_i].tool, summaries[_i].output)->content,
                     summaries[_i].summary);
}
END_TEST

static const struct {
    const char *arguments;
    const char *summary;
} call_summaries[] = {
    {"{}", "t()"},
    {"", "t()"},
    {"{\"n\":1,\"deep\":{\"a\":[1,\"x\"]},\"none\":null,\"text\":\"a\\nb\"}",
     "t(n=1, deep={\"a\":[1,\"x\"]}, none=null, text=\"a\\nb\")"},
    {"[1,2]", "t([1,2])"},
    {"{\n  \"deep\": {\n    \"a\":  1\n  }\n}", "t(deep={ \"a\":  1 })"},
    {"{broken", "t({broken)"},
    {"\xff", "t(\xef\xbf\xbd)"},
};

START_TEST(summary_of_a_call)
{
    ck_assert_str_eq(make_call("t", call_summaries[_i].arguments, NULL)->content,
                     call_summaries[_i].summary);
}
END_TEST

START_TEST(a_nul_does_not_cut_the_summary)
{
    ck_assert_str_eq(ik_summary_of_call(ctx, "t", "a\0b", 3), "t(a\xe2\x80\xa6)");
}
END_TEST

START_TEST(a_long_name_is_cut)
{
    char *arguments = ik_sprintf(ctx, "{\"%0*d\":1,\"b\":2}", 2 * IK_SUMMARY_VALUE_MAX, 0);
    char *summary = ik_sprintf(ctx, "t(%0*d…=1, b=2)", IK_SUMMARY_VALUE_MAX, 0);
    ck_assert_str_eq(ik_summary_of_call(ctx, "t", arguments, strlen(arguments)), summary);
}
END_TEST

/* The limit is that of what is shown: escapes count as they are written. */
START_TEST(escapes_are_cut_as_they_are_shown)
{
    char *arguments =
        ik_sprintf(ctx, "{\"a\":\"%s\",\"b\":2}", repeat(ctx, "\\u0001", IK_SUMMARY_VALUE_MAX));
    char *summary =
        ik_sprintf(ctx, "t(a=\"%s…\", b=2)", repeat(ctx, "\\u0001", IK_SUMMARY_VALUE_MAX / 6));
    ck_assert_str_eq(ik_summary_of_call(ctx, "t", arguments, strlen(arguments)), summary);
}
END_TEST

START_TEST(a_value_that_is_short_without_its_escapes_is_whole)
{
    char *arguments =
        ik_sprintf(ctx, "{\"a\":\"%s\"}", repeat(ctx, "\\u00e9", IK_SUMMARY_VALUE_MAX / 2));
    char *summary = ik_sprintf(ctx, "t(a=\"%s\")", repeat(ctx, "é", IK_SUMMARY_VALUE_MAX / 2));
    ck_assert_str_eq(ik_summary_of_call(ctx, "t", arguments, strlen(arguments)), summary);
}
END_TEST

/* Wherever the limit falls, no character is cut in two. */
START_TEST(long_values_are_cut_between_characters)
{
    for (int shift = 0; shift < 4; shift++) {
        char *text = ik_sprintf(ctx, "%.*s", shift, "xxx");
        while (strlen(text) < 2 * IK_SUMMARY_VALUE_MAX) {
            text = ik_sprintf(ctx, "%s\xf0\x9f\x98\x80", text);
        }
        char *arguments = ik_sprintf(ctx, "{\"a\":\"%s\",\"b\":{\"c\":\"%s\"}}", text, text);
        char *output = ik_sprintf(ctx, "{\"output\":\"%s\"}", text);
        char *failure = ik_sprintf(ctx, "{\"error\":\"%s\"}", text);
        const char *made[] = {
            make_call("t", arguments, NULL)->content, make_call("t", text, NULL)->content,
            make_result("t", output)->content,        make_result("t", failure)->content,
            make_result("t", text)->content,
        };
        for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
            ck_assert(ik_utf8_valid(made[i], strlen(made[i])));
            ck_assert_ptr_null(strstr(made[i], "\xef\xbf\xbd"));
            ck_assert_uint_lt(strlen(made[i]), 2 * IK_SUMMARY_VALUE_MAX + 64);
            ck_assert_uint_gt(strlen(made[i]), IK_SUMMARY_VALUE_MAX - 4);
        }
    }
}
END_TEST

START_TEST(a_cut_value_says_so)
{
    char *text = ik_new_array(ctx, char, 200);
    memset(text, 'x', 199);
    const char *content = make_call("t", ik_sprintf(ctx, "{\"a\":\"%s\"}", text), NULL)->content;
    char *expected = ik_sprintf(ctx, "t(a=\"%.120s\xe2\x80\xa6\")", text);
    ck_assert_str_eq(content, expected);
    content = make_result("t", ik_sprintf(ctx, "{\"output\":\"%s\"}", text))->content;
    ck_assert_str_eq(content, ik_sprintf(ctx, "%.120s\xe2\x80\xa6", text));
}
END_TEST

START_TEST(many_arguments_end_in_an_ellipsis)
{
    char *arguments = ik_strdup(ctx, "{\"a0\":\"0123456789\"");
    for (int i = 1; i < 200; i++) {
        arguments = ik_sprintf(ctx, "%s,\"a%d\":\"0123456789\"", arguments, i);
    }
    const char *content = make_call("t", ik_sprintf(ctx, "%s}", arguments), NULL)->content;
    size_t len = strlen(content);
    ck_assert_uint_lt(len, IK_SUMMARY_MAX + 64);
    ck_assert_str_eq(content + len - 6, ", \xe2\x80\xa6)");
}
END_TEST

#define SHA "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define IMAGE                                                                                      \
    "{\"name\":\"shot.png\",\"sha256\":\"" SHA "\",\"media_type\":\"image/png\","                  \
    "\"bytes\":70,\"width\":1,\"height\":2}"

static const ik_msg_image_t shot = {.name = "shot.png",
                                    .sha256 = {SHA},
                                    .media_type = "image/png",
                                    .bytes = 70,
                                    .width = 1,
                                    .height = 2};

START_TEST(images_of_a_user_are_read_as_they_were_written)
{
    ik_msg_image_t *images;
    const char *data = ik_msg_format_images(ctx, &shot, 1);
    ck_assert_str_eq(data, "{\"images\":[" IMAGE "]}");
    ck_assert_ptr_null(ik_msg_format_images(ctx, NULL, 0));
    ik_msg_t *message = ik_msg_create(ctx, IK_MSG_USER, "look", data);
    ck_assert_uint_eq(ik_msg_images(ctx, message, &images), 1);
    ck_assert_str_eq(images[0].name, "shot.png");
    ck_assert_str_eq(images[0].sha256.hex, SHA);
    ck_assert_str_eq(images[0].media_type, "image/png");
    ck_assert_uint_eq(images[0].bytes, 70);
    ck_assert_uint_eq(images[0].width, 1);
    ck_assert_uint_eq(images[0].height, 2);
    ck_assert_uint_eq(ik_msg_images(ctx, ik_msg_create(ctx, IK_MSG_USER, "look", NULL), &images),
                      0);
    ck_assert_ptr_null(images);
    /* a model sends no images */
    message = ik_msg_create(ctx, IK_MSG_ASSISTANT, "look", data);
    ck_assert_uint_eq(ik_msg_images(ctx, message, &images), 0);
}
END_TEST

START_TEST(images_of_a_result)
{
    ik_msg_image_t *images;
    ik_msg_image_t two[] = {shot, shot};
    ik_msg_result_t result = {.call_id = "c",
                              .name = "shoot",
                              .output = "{}",
                              .success = true,
                              .images = two,
                              .image_count = 2,
                              .wall_ms = -1,
                              .cpu_us = -1,
                              .max_rss_kb = -1};
    ik_msg_t *message = ik_msg_create_result(ctx, &result);
    ck_assert_str_eq(
        message->data_json,
        "{\"tool_call_id\":\"c\",\"name\":\"shoot\",\"success\":true,\"images\":[" IMAGE "," IMAGE
        "],\"output\":\"{}\"}");
    ck_assert_uint_eq(ik_msg_images(ctx, message, &images), 2);
}
END_TEST

/* What an import or another program may have written. */
START_TEST(entries_that_are_no_images_are_left_out)
{
    static const char *const data[] = {
        "{\"images\":{}}",
        "{\"images\":[1,null,\"x\",[],{}]}",
        "{\"images\":[{\"name\":\"a\",\"sha256\":\"../x\",\"media_type\":\"image/png\",\"bytes\":1,"
        "\"width\":1,\"height\":1}]}",
        "{\"images\":[{\"name\":\"a\",\"sha256\":\"" SHA "\",\"media_type\":\"image/bmp\","
        "\"bytes\":1,\"width\":1,\"height\":1}]}",
        "{\"images\":[{\"name\":\"a\",\"sha256\":\"" SHA "\",\"media_type\":\"image/png\","
        "\"bytes\":-1,\"width\":1,\"height\":1}]}",
        "{\"images\":[{\"name\":\"a\",\"sha256\":\"" SHA "\",\"media_type\":\"image/png\","
        "\"bytes\":1e3,\"width\":1,\"height\":1}]}",
        "{\"images\":[{\"name\":\"a\",\"sha256\":\"" SHA "\",\"media_type\":\"image/png\","
        "\"bytes\":1,\"width\":2001,\"height\":1}]}",
    };
    for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++) {
        ik_msg_image_t *images;
        ik_msg_t *message = ik_msg_create(ctx, IK_MSG_USER, "look", data[i]);
        ck_assert_msg(ik_msg_images(ctx, message, &images) == 0, "%s", data[i]);
    }
}
END_TEST

START_TEST(steering_keeps_text_and_images)
{
    ik_msg_t *plain = ik_msg_create(ctx, IK_MSG_USER, "and b", NULL);
    ck_assert(!ik_msg_is_steering(plain));
    ik_msg_t *steering = ik_msg_create_steering(ctx, plain);
    ck_assert(ik_msg_is_steering(steering));
    ck_assert_str_eq(steering->content, "and b");
    ck_assert_str_eq(steering->data_json, "{\"steering\":true}");
    ik_msg_t *seen = ik_msg_create(ctx, IK_MSG_USER, "see", "{\"images\":[]}");
    ck_assert_str_eq(ik_msg_create_steering(ctx, seen)->data_json,
                     "{\"steering\":true,\"images\":[]}");
}
END_TEST

START_TEST(a_marker_is_one_line)
{
    ik_msg_image_t *images;
    ck_assert_str_eq(ik_msg_image_marker(ctx, &shot, "not sent"),
                     "[image shot.png, image/png, 1x2, 70 bytes: not sent]");
    ik_msg_image_t odd = shot;
    odd.name = "a\nb]\x1b.png";
    ik_msg_t *message = ik_msg_create(ctx, IK_MSG_USER, "look", ik_msg_format_images(ctx, &odd, 1));
    ck_assert_uint_eq(ik_msg_images(ctx, message, &images), 1);
    ck_assert_str_eq(images[0].name, "a_b__.png");
}
END_TEST

START_TEST(a_summary)
{
    ik_msg_summary_t summary = {.reason = "user",
                                .summary = "All \"done\".",
                                .tokens_before = 12345,
                                .tokens_after = 678,
                                .focus = "names",
                                .covers = 9,
                                .words_limit = 32768,
                                .model = "p/m",
                                .usage = {12400, 12000, -1, 50, -1},
                                .cost = 0.25};
    const ik_msg_t *message = ik_msg_create_summary(ctx, &summary);
    ck_assert_str_eq(message->kind, IK_MSG_COMPACTION);
    ck_assert_str_eq(message->content,
                     "The conversation was summarised: 12,345 tokens before, 678 after");
    ck_assert_str_eq(message->data_json,
                     "{\"reason\":\"user\",\"summary\":\"All \\\"done\\\".\","
                     "\"tokens_before\":12345,\"tokens_after\":678,\"focus\":\"names\","
                     "\"covers\":9,\"words_limit\":32768,\"model\":\"p/m\","
                     "\"usage\":{\"in\":12400,\"cached\":12000,\"out\":50},\"cost_usd\":0.250000}");
    ck_assert(ik_msg_is_summary(message));
    ck_assert(!ik_msg_begins_step(message)); /* although it names a model */
    summary.model = summary.focus = NULL;
    message = ik_msg_create_summary(ctx, &summary);
    ck_assert_str_eq(message->content,
                     "Older messages were removed: 12,345 tokens before, 678 after");
    ck_assert_ptr_null(strstr(message->data_json, "focus"));
    ck_assert_ptr_null(strstr(message->data_json, "usage"));
    ck_assert(!ik_msg_is_summary(ik_msg_create_compaction(ctx, 3)));
    ck_assert(!ik_msg_is_summary(ik_msg_create(ctx, IK_MSG_COMPACTION, "", "{\"summary\":\"\"}")));
    ck_assert(!ik_msg_is_summary(ik_msg_create(ctx, IK_MSG_USER, "", "{\"summary\":\"x\"}")));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("message");
    TCase *tests = tcase_create("message");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_message_is_one_block);
    tcase_add_test(tests, kinds_are_kept_unknown_ones_too);
    tcase_add_test(tests, texts_of_a_known_length);
    tcase_add_test(tests, long_texts);
    tcase_add_test(tests, a_text_longer_than_talloc_takes);
    tcase_add_test(tests, a_copy_is_equal);
    tcase_add_test(tests, a_call_as_it_is_stored);
    tcase_add_test(tests, a_result_as_it_is_stored);
    tcase_add_test(tests, a_result_with_its_cost_and_provider);
    tcase_add_test(tests, fields_of_a_result_with_output);
    tcase_add_test(tests, names_are_made_usable);
    tcase_add_test(tests, arguments_are_kept_as_the_model_wrote_them);
    tcase_add_test(tests, a_step_says_what_it_knows);
    tcase_add_test(tests, a_call_can_begin_a_step);
    tcase_add_test(tests, text_that_no_model_made_has_no_data);
    tcase_add_test(tests, compactions);
    tcase_add_test(tests, checkpoints);
    tcase_add_test(tests, checkpoints_that_are_none);
    tcase_add_test(tests, fields_are_found);
    tcase_add_test(tests, several_fields_in_one_walk);
    tcase_add_test(tests, call_fields_must_be_strings);
    tcase_add_test(tests, blank_texts);
    tcase_add_loop_test(tests, summary_of_a_result, 0,
                        (int)(sizeof(summaries) / sizeof(summaries[0])));
    tcase_add_loop_test(tests, summary_of_a_call, 0,
                        (int)(sizeof(call_summaries) / sizeof(call_summaries[0])));
    tcase_add_test(tests, images_of_a_user_are_read_as_they_were_written);
    tcase_add_test(tests, images_of_a_result);
    tcase_add_test(tests, entries_that_are_no_images_are_left_out);
    tcase_add_test(tests, steering_keeps_text_and_images);
    tcase_add_test(tests, a_marker_is_one_line);
    tcase_add_test(tests, a_nul_does_not_cut_the_summary);
    tcase_add_test(tests, a_long_name_is_cut);
    tcase_add_test(tests, escapes_are_cut_as_they_are_shown);
    tcase_add_test(tests, a_value_that_is_short_without_its_escapes_is_whole);
    tcase_add_test(tests, long_values_are_cut_between_characters);
    tcase_add_test(tests, a_cut_value_says_so);
    tcase_add_test(tests, many_arguments_end_in_an_ellipsis);
    tcase_add_test(tests, a_summary);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
