/* How text and results with escape sequences are sent to a model; everything else must stay the
 * same, byte for byte. */
#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "provider/words.h"
#include "suite.h"

#define FFFD "\xef\xbf\xbd"
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static void *ctx;

static void set_up(void)
{
    ctx = talloc_new(NULL);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static const struct {
    const char *text;
    const char *inside; /* of a JSON string */
} words[] = {
    {"", ""},
    {"plain", "plain"},
    {"a\nb\tc\r\n\"d\" \\", "a\\nb\\tc\\r\\n\\\"d\\\" \\\\"},
    {"gr\u00fc\u00df\u202e\u200b", "gr\u00fc\u00df\u202e\u200b"},
    {"\033[31mred\033[0m", "red"},
    {"\033]0;title\007x\001\302\233", "x\\u0001"},
    {"\\u001b[31m", "\\\\u001b[31m"},
    {"\033[2J", FFFD},
    {" \033[2J\n", FFFD},
    {" \n", " \\n"},
};

START_TEST(words_of_messages)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&out, "|");
    ik_words_append(&out, words[_i].text);
    ck_assert_str_eq(out.data + 1, words[_i].inside);
}
END_TEST

/* Literals and their cleaned form; NULL: unchanged bytes. */
static const struct {
    const char *literal;
    const char *clean;
} literals[] = {
    {"\"\"", NULL},
    {"\"plain \\u00e9\\/\"", NULL},
    {"\"\\u001b[31mred\\u001b[0m\"", "\"red\""},
    {"\"a\\u0000c\\u0085\"", "\"a\\u0000c\""},
    {"\"a\xc2\x9b"
     "b\"",
     "\"ab\""},
    {"\"\\u001b[2J\"", "\"" FFFD "\""},
    {"\"a\\u001B[1mb\"", "\"ab\""},
    /* a backslash that is one */
    {"\"\\\\u001b \\\\b\"", NULL},
    {"\"\\\\\\u001b[mx\"", "\"\\\\x\""},
    /* white space, control characters that begin nothing, characters that are not seen */
    {"\"\\n\\t\\r\\f\\b\\u000b\\u000a\\u0000\\u007f\xe2\x80\xae\\u202e\"", NULL},
    /* JSON in it: {"output":"…"} */
    {"\"{\\\"output\\\":\\\"\\\\u001b[31mred\\\\u001b[0m\\\"}\"",
     "\"{\\\"output\\\":\\\"red\\\"}\""},
    {"\"{\\\"output\\\":\\\"a\\\\bb\\\\u0000\\\"}\"", NULL},
    {"\"{\\\"output\\\":\\\"a\xc2\x9b"
     "b\\\"}\"",
     "\"{\\\"output\\\":\\\"ab\\\"}\""},
    {"\"{\\\"output\\\":\\\"a\\u009bb\\\"}\"", "\"{\\\"output\\\":\\\"ab\\\"}\""},
    {"\"{\\\"output\\\":\\\"\\\\\\\\u001b[31m \\\\\\\\b\\\"}\"", NULL},
    {"\"{\\\"output\\\":\\\"C:\\\\\\\\u001b\\\\u009b\\\"}\"",
     "\"{\\\"output\\\":\\\"C:\\\\\\\\u001b\\\"}\""},
    {"\"{\\\"a\\\": [1.50, \\\"\\\\u009b\\\"],\\\"b\\\\u009b\\\":null }\"",
     "\"{\\\"a\\\": [1.50, \\\"" FFFD "\\\"],\\\"b\\\":null }\""},
    /* an escaped quote does not end the string */
    {"\"{\\\"a\\\":\\\"\\\\u0022\\\\u001b[1m\\\"}\"", "\"{\\\"a\\\":\\\"\\\\\\\"\\\"}\""},
};

START_TEST(literals_of_results)
{
    const char *literal = literals[_i].literal;
    const char *expected = literals[_i].clean == NULL ? literal : literals[_i].clean;
    ik_json_span_t span;
    ik_buffer_t out;
    ck_assert(ik_json_scan(literal, strlen(literal), &span, NULL));
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_words_append_literal(&out, span);
    ck_assert_str_eq(out.data, expected);
    ck_assert(ik_json_scan(out.data, out.len, &span, NULL));
    ik_buffer_t again;
    ik_buffer_init(&again, ctx, IK_BUFFER_UNLIMITED);
    ik_words_append_literal(&again, span);
    ck_assert_str_eq(again.data, expected);
}
END_TEST

static bool may_be_unclean(const char *literal)
{
    return ik_words_may_be_unclean(literal, strlen(literal));
}

/* The quick scan may report clean text as unclean, but never the reverse. */
START_TEST(the_look_finds_what_is_there)
{
    ck_assert(literals[_i].clean == NULL || may_be_unclean(literals[_i].literal));
}
END_TEST

START_TEST(the_look_knows_plain_text)
{
    ck_assert(!may_be_unclean("\"plain \\n\\t\\r \xc3\xa9 \xc2\xa0 \\u00e9 u001b\""));
    ck_assert(!may_be_unclean("\"\\\\\\\\u001b \\\\\\\\b\""));
}
END_TEST

START_TEST(json_keeps_its_form)
{
    static const char json[] = "{ \"type\" : \"text\",\"text\":\"a\\u001b[1mb\",\"n\":1.50}";
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_words_append_json(&out, (ik_json_span_t){json, sizeof(json) - 1});
    ck_assert_str_eq(out.data, "{ \"type\" : \"text\",\"text\":\"ab\",\"n\":1.50}");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("words");
    TCase *tests = tcase_create("words");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, words_of_messages, 0, (int)LENGTH(words));
    tcase_add_loop_test(tests, literals_of_results, 0, (int)LENGTH(literals));
    tcase_add_loop_test(tests, the_look_finds_what_is_there, 0, (int)LENGTH(literals));
    tcase_add_test(tests, the_look_knows_plain_text);
    tcase_add_test(tests, json_keeps_its_form);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
