#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "suite.h"

static ik_json_span_t scan(const char *text)
{
    ik_json_span_t value;
    ck_assert_msg(ik_json_scan(text, strlen(text), &value, NULL), "refused: %s", text);
    return value;
}

static void assert_span(ik_json_span_t span, const char *expected)
{
    ck_assert_uint_eq(span.len, strlen(expected));
    ck_assert_mem_eq(span.text, expected, span.len);
}

/* --- scanning ---------------------------------------------------------------------------- */

START_TEST(valid_texts)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        "null",
        "true",
        "false",
        "0",
        "-0",
        "7",
        "-1",
        "10",
        "1.5",
        "0.0",
        "1e5",
        "1E+5",
        "1e-05",
        "-0.0e-0",
        "123456789012345678901234567890",
        "\"\"",
        "\"a\"",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00\"",
        "\"\\ud800\"",
        "\"\x7f\"",
        "\"\xff not UTF-8\"",
        "[1,2,3]",
        "[[],{}]",
        "{\"a\":1}",
        "{\"a\":{\"a\":[{}]}}",
        "{\"\":0}",
        " \t\r\n[ 1 , 2 ] \n",
        "{ \"a\" : 1 , \"b\" : 2 }",
        "{\"a\":1,\"a\":2}",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        scan(texts[i]);
    }
}
END_TEST

START_TEST(invalid_texts_have_a_place_and_a_reason)
{
    static const struct {
        const char *text;
        size_t offset;
    } cases[] = {
        {"", 0},
        {"  ", 2},
        {"{", 1},
        {"[", 1},
        {"}", 0},
        {"]", 0},
        {"{}x", 2},
        {"1 2", 2},
        {"nul", 0},
        {"nullx", 4},
        {"True", 0},
        {"NaN", 0},
        {"Infinity", 0},
        {"-", 1},
        {"+1", 0},
        {"01", 1},
        {"-01", 2},
        {"1.", 2},
        {".5", 0},
        {"1.e5", 2},
        {"1e", 2},
        {"1e+", 3},
        {"0x10", 1},
        {"'a'", 0},
        {"\"", 1},
        {"\"a", 2},
        {"\"\\", 2},
        {"\"\\x\"", 2},
        {"\"\\u12\"", 5},
        {"\"\\u12G4\"", 5},
        {"\"\\u\"", 3},
        {"\"a\nb\"", 2},
        {"\"\t\"", 1},
        {"[1,]", 3},
        {"[,1]", 1},
        {"[1 2]", 3},
        {"[1", 2},
        {"[1}", 2},
        {"{\"a\"}", 4},
        {"{\"a\":}", 5},
        {"{\"a\":1,}", 7},
        {"{a:1}", 1},
        {"{1:1}", 1},
        {"{\"a\" 1}", 5},
        {"{,}", 1},
        {"[1,,2]", 3},
        {"{\"a\":1 ,}", 8},
        {"/* */1", 0},
        {"\xef\xbb\xbf{}", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ik_json_span_t value;
        ik_json_fault_t fault;
        const char *text = cases[i].text;
        ck_assert_msg(!ik_json_scan(text, strlen(text), &value, &fault), "accepted: %s", text);
        ck_assert_msg(fault.offset == cases[i].offset, "%s fails at %zu", text, fault.offset);
        ck_assert_ptr_nonnull(fault.reason);
    }
}
END_TEST

START_TEST(nul_bytes_are_never_json)
{
    static const char *const texts[] = {"\0{}", "{}\0", "[\0]", "\"\0\"", "\"\\\0\"", "1\0"};
    static const size_t lens[] = {3, 3, 3, 3, 4, 2};
    for (size_t i = 0; i < 6; i++) {
        ik_json_span_t value;
        ck_assert_msg(!ik_json_scan(texts[i], lens[i], &value, NULL), "text %zu", i);
    }
}
END_TEST

START_TEST(every_beginning_of_a_text_is_refused)
{
    static const char text[] = "{\"a\":[1.5e3,\"\\u00e9\\n\",true,null],\"b\":{\"c\":false}}";
    for (size_t len = 0; len + 1 < sizeof(text); len++) {
        /* A copy of exactly that length, so that a sanitizer notices reads beyond it. */
        char *part = malloc(len == 0 ? 1 : len);
        memcpy(part, text, len);
        ik_json_span_t value;
        ck_assert_msg(!ik_json_scan(part, len, &value, NULL), "%zu bytes", len);
        free(part);
    }
    scan(text);
}
END_TEST

static bool scan_nested(size_t depth)
{
    char *text = malloc(2 * depth);
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    ik_json_span_t value;
    bool ok = ik_json_scan(text, 2 * depth, &value, NULL);
    free(text);
    return ok;
}

START_TEST(depth_is_bounded)
{
    ck_assert(scan_nested(1));
    ck_assert(scan_nested(512));
    ck_assert(!scan_nested(513));
    ck_assert(!scan_nested(1000000));
}
END_TEST

START_TEST(a_part_leaves_room_for_what_encloses_it)
{
    ik_json_span_t value;
    ik_json_fault_t fault;
    ck_assert(ik_json_scan_part("[[[]]]", 6, 509, &value, &fault));
    ck_assert(!ik_json_scan_part("[[[]]]", 6, 510, &value, &fault));
    ck_assert_str_eq(fault.reason, "nested too deeply");
    ck_assert_uint_eq(fault.offset, 2);
}
END_TEST

START_TEST(the_value_comes_without_the_space_around_it)
{
    assert_span(scan(" \n {\"a\" : 1} \t"), "{\"a\" : 1}");
    assert_span(scan(" 12 "), "12");
    assert_span(scan("\"x\""), "\"x\"");
}
END_TEST

START_TEST(kinds)
{
    ck_assert_int_eq(ik_json_kind(scan("{}")), IK_JSON_OBJECT);
    ck_assert_int_eq(ik_json_kind(scan("[]")), IK_JSON_ARRAY);
    ck_assert_int_eq(ik_json_kind(scan("\"\"")), IK_JSON_STRING);
    ck_assert_int_eq(ik_json_kind(scan("-1")), IK_JSON_NUMBER);
    ck_assert_int_eq(ik_json_kind(scan("0")), IK_JSON_NUMBER);
    ck_assert_int_eq(ik_json_kind(scan("true")), IK_JSON_BOOLEAN);
    ck_assert_int_eq(ik_json_kind(scan("false")), IK_JSON_BOOLEAN);
    ck_assert_int_eq(ik_json_kind(scan("null")), IK_JSON_NULL);
}
END_TEST

/* --- walking ----------------------------------------------------------------------------- */

START_TEST(members_come_in_order_as_written)
{
    ik_json_span_t object = scan("{ \"a\" : 1.50 ,\"b\":[ 1 ,2],\n\"\\u0061\":{\"x\":\"}\"} }");
    static const char *const keys[] = {"\"a\"", "\"b\"", "\"\\u0061\""};
    static const char *const values[] = {"1.50", "[ 1 ,2]", "{\"x\":\"}\"}"};
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t value;
    for (size_t i = 0; i < 3; i++) {
        ck_assert(ik_json_next_member(object, &position, &key, &value));
        assert_span(key, keys[i]);
        assert_span(value, values[i]);
    }
    ck_assert(!ik_json_next_member(object, &position, &key, &value));
    ck_assert(!ik_json_next_member(object, &position, &key, &value));
    position = 0;
    ck_assert(!ik_json_next_member(scan("{}"), &position, &key, &value));
    position = 0;
    ck_assert(!ik_json_next_member(scan("{ \n }"), &position, &key, &value));
}
END_TEST

START_TEST(elements_come_in_order_as_written)
{
    ik_json_span_t array = scan("[ 1,\"]\" , [ ],{\"a\":[]},null ]");
    static const char *const values[] = {"1", "\"]\"", "[ ]", "{\"a\":[]}", "null"};
    size_t position = 0;
    ik_json_span_t value;
    for (size_t i = 0; i < 5; i++) {
        ck_assert(ik_json_next_element(array, &position, &value));
        assert_span(value, values[i]);
    }
    ck_assert(!ik_json_next_element(array, &position, &value));
    position = 0;
    ck_assert(!ik_json_next_element(scan("[ ]"), &position, &value));
}
END_TEST

/* Every value ends where it should, with and without white space behind it. */
START_TEST(values_of_every_kind_are_skipped)
{
    static const char *const values[] = {
        "0",
        "-1.5E+10",
        "2e-3",
        "7E5",
        "true",
        "false",
        "null",
        "\"\"",
        "\"\\\\\"",
        "\"a\\\"b\\\\\\\"]}\"",
        "[]",
        "{}",
        "[[],[[\"[\"]],-1]",
        "{\"a\\\"{\":{\"b\":[1e5,true,{}]},\"c\":\"}\"}",
        "[ 1 , 2 ,\t{ \"a\" :\nnull } ]",
    };
    enum { COUNT = sizeof(values) / sizeof(*values) };
    static const char *const spaces[] = {"", " \t\r\n"};
    for (size_t s = 0; s < 2; s++) {
        ik_buffer_t text;
        ik_buffer_init(&text, NULL, IK_BUFFER_UNLIMITED);
        for (size_t i = 0; i < COUNT; i++) {
            ik_buffer_append_format(&text, "%s%s%s%s", i == 0 ? "[" : ",", spaces[s], values[i],
                                    spaces[s]);
        }
        ik_buffer_append_text(&text, "]");
        size_t position = 0;
        ik_json_span_t value;
        for (size_t i = 0; i < COUNT; i++) {
            ck_assert(ik_json_next_element(scan(text.data), &position, &value));
            assert_span(value, values[i]);
        }
        ck_assert(!ik_json_next_element(scan(text.data), &position, &value));
        ik_buffer_reset(&text);
    }
}
END_TEST

START_TEST(find_takes_the_last_of_a_name)
{
    ik_json_span_t object = scan("{\"a\":1,\"b\":{\"c\":2},\"\\u0061\":3,\"ab\":4,\"\":5}");
    ik_json_span_t value;
    ck_assert(ik_json_find(object, "a", &value));
    assert_span(value, "3");
    ck_assert(ik_json_find(object, "", &value));
    assert_span(value, "5");
    ck_assert(ik_json_find(object, "b", &value));
    ck_assert(!ik_json_find(object, "c", &value)); /* only in a nested object */
    ck_assert(!ik_json_find(object, "A", &value));
    ck_assert(!ik_json_find(scan("{}"), "a", &value));
}
END_TEST

/* What comes from a log or a server need not be what it should be. */
START_TEST(other_values_have_neither_members_nor_elements)
{
    static const char *const texts[] = {"[\"a\"]", "\"a\"", "\"{\"", "1",
                                        "-1.5e9",  "true",  "null",  "{\"b\":1}"};
    ik_json_span_t value;
    ik_json_span_t key;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        size_t position = 0;
        ck_assert(!ik_json_find(scan(texts[i]), "a", &value));
        ck_assert(texts[i][0] == '{' ||
                  !ik_json_next_member(scan(texts[i]), &position, &key, &value));
        ck_assert(texts[i][0] == '[' || !ik_json_next_element(scan(texts[i]), &position, &value));
    }
    ck_assert(!ik_json_find((ik_json_span_t){0}, "a", &value));
}
END_TEST

START_TEST(keys_are_compared_decoded)
{
    ck_assert(ik_json_key_is(scan("\"a\""), "a"));
    ck_assert(ik_json_key_is(scan("\"\\u00e9\""), "\xc3\xa9"));
    ck_assert(ik_json_key_is(scan("\"\\/\""), "/"));
    ck_assert(!ik_json_key_is(scan("\"\\/\""), "\\/x"));
    ck_assert(!ik_json_key_is(scan("\"a\\u0000\""), "a"));
    ck_assert(!ik_json_key_is(scan("\"\""), "a"));
}
END_TEST

/* --- decoding and writing ---------------------------------------------------------------- */

/* The decoded length of a literal, measured character by character. */
static size_t step_through(ik_json_span_t literal)
{
    const char *at = literal.text + 1;
    const char *end = literal.text + literal.len - 1;
    size_t total = 0;
    while (at < end) {
        size_t decoded;
        at += ik_json_step(at, end, &decoded);
        total += decoded;
    }
    ck_assert_ptr_eq(at, end);
    return total;
}

static void assert_decoded(const char *text, const char *expected, size_t expected_len)
{
    size_t len;
    ck_assert_uint_eq(step_through(scan(text)), expected_len);
    char *decoded = ik_json_decode(NULL, scan(text), &len);
    ck_assert_uint_eq(len, expected_len);
    ck_assert_mem_eq(decoded, expected, len + 1);
    talloc_free(decoded);
}

START_TEST(strings_are_decoded)
{
    assert_decoded("\"\"", "", 0);
    assert_decoded("\"plain \xc3\xa9\"", "plain \xc3\xa9", 8);
    assert_decoded("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8);
    assert_decoded("\"\\u0041\\u00E9\\u20ac\\uFFFF\"", "A\xc3\xa9\xe2\x82\xac\xef\xbf\xbf", 9);
    assert_decoded("\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 4);
    assert_decoded("\"\\uDBFF\\uDFFF\"", "\xf4\x8f\xbf\xbf", 4);
    assert_decoded("\"a\\u0000b\"", "a\0b", 3);
}
END_TEST

#define R "\xef\xbf\xbd"

START_TEST(lone_surrogates_become_replacement_characters)
{
    assert_decoded("\"\\ud800\"", R, 3);
    assert_decoded("\"\\udc00\"", R, 3);
    assert_decoded("\"\\ud800x\"", R "x", 4);
    assert_decoded("\"\\ud800\\n\"", R "\n", 4);
    assert_decoded("\"\\ud800\\u0041\"", R "A", 4);
    assert_decoded("\"\\ud800\\ud800\\udc00\"", R "\xf0\x90\x80\x80", 7);
    assert_decoded("\"\\udc00\\ud800\"", R R, 6);
}
END_TEST

static void assert_quoted(const char *bytes, size_t len, const char *expected)
{
    ik_buffer_t buffer;
    ik_buffer_init(&buffer, NULL, IK_BUFFER_UNLIMITED);
    ik_json_append_string(&buffer, bytes, len);
    ck_assert_str_eq(buffer.data, expected);
    ik_buffer_reset(&buffer);
}

START_TEST(strings_are_quoted)
{
    assert_quoted("", 0, "\"\"");
    assert_quoted("a\"b\\c/", 6, "\"a\\\"b\\\\c/\"");
    assert_quoted("\n\r\t\b\f\x1f\x7f", 7, "\"\\n\\r\\t\\u0008\\u000c\\u001f\x7f\"");
    assert_quoted("\0", 1, "\"\\u0000\"");
    assert_quoted("\xc3\xa9\xf0\x9f\x98\x80", 6, "\"\xc3\xa9\xf0\x9f\x98\x80\"");
    assert_quoted("a\xff\xe2\x82", 4, "\"a" R R "\"");
}
END_TEST

START_TEST(what_is_quoted_reads_back_the_same)
{
    char bytes[256];
    for (size_t i = 0; i < 128; i++) {
        bytes[i] = (char)i;
    }
    ik_buffer_t buffer;
    ik_buffer_init(&buffer, NULL, IK_BUFFER_UNLIMITED);
    ik_json_append_string(&buffer, bytes, 128);
    size_t len;
    char *back = ik_json_decode(NULL, scan(buffer.data), &len);
    ck_assert_uint_eq(len, 128);
    ck_assert_mem_eq(back, bytes, 128);
    talloc_free(back);
    json_error_t error;
    json_t *tree = ik_json_parse(buffer.data, buffer.len, &error); /* jansson agrees */
    ck_assert_ptr_nonnull(tree);
    ck_assert_uint_eq(json_string_length(tree), 128);
    json_decref(tree);
    ik_buffer_reset(&buffer);
}
END_TEST

/* JSON spliced into other JSON keeps its digits, escapes and spaces. */
START_TEST(spans_are_spliced_byte_for_byte)
{
    static const char foreign[] =
        " {\"n\": 1.10000000000000000000000001e+400, \"s\":\"\\u0000\\/\\uD800\", \"n\":2 }\n";
    ik_buffer_t buffer;
    ik_buffer_init(&buffer, NULL, IK_BUFFER_UNLIMITED);
    ik_json_span_t inner = scan(foreign);
    ik_buffer_append_text(&buffer, "{\"result\":");
    ik_buffer_append(&buffer, inner.text, inner.len);
    ik_buffer_append_text(&buffer, "}");
    ik_json_span_t result;
    ck_assert(ik_json_find(scan(buffer.data), "result", &result));
    ck_assert_uint_eq(result.len, sizeof(foreign) - 3);
    ck_assert_mem_eq(result.text, foreign + 1, result.len);
    ik_buffer_reset(&buffer);
}
END_TEST

START_TEST(changes_take_the_place_of_members)
{
    static const char *const cases[][3] = {
        {"{}", "{}", "{}"},
        {"{\"a\":1}", "{}", "{\"a\":1}"},
        {"{}", "{\"a\": 1}", "{\"a\":1}"},
        {"{\"a\":1e999, \"b\":\"\\ud800\"}", "{\"c\":\"\\u0000\", \"a\":2}",
         "{\"a\":2,\"b\":\"\\ud800\",\"c\":\"\\u0000\"}"},
        {"{\"\\u0061\":1,\"a\\u0000\":2,\"a\":3}", "{\"a\":9}",
         "{\"\\u0061\":9,\"a\\u0000\":2,\"a\":9}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ik_buffer_t buffer;
        ik_buffer_init(&buffer, NULL, IK_BUFFER_UNLIMITED);
        ik_json_append_merged(&buffer, scan(cases[i][0]), scan(cases[i][1]));
        ck_assert_str_eq(buffer.data, cases[i][2]);
        ik_buffer_reset(&buffer);
    }
}
END_TEST

START_TEST(pieces_make_one_string)
{
    ik_buffer_t buffer;
    ik_buffer_init(&buffer, NULL, IK_BUFFER_UNLIMITED);
    ik_buffer_append_byte(&buffer, '"');
    ik_json_append_escaped(&buffer, "a\n", 2);
    ik_json_append_escaped(&buffer, "", 0);
    ik_json_append_escaped(&buffer, "\"b", 2);
    ik_buffer_append_byte(&buffer, '"');
    ck_assert_str_eq(buffer.data, "\"a\\n\\\"b\"");
    ik_buffer_reset(&buffer);
}
END_TEST

/* --- trees ------------------------------------------------------------------------------- */

START_TEST(trees_keep_order_and_nul)
{
    static const char text[] = "{\"z\":1,\"a\":\"x\\u0000y\",\"m\":[true,null]}";
    json_error_t error;
    ik_json_seed();
    json_t *tree = ik_json_parse(text, strlen(text), &error);
    ck_assert_ptr_nonnull(tree);
    void *ctx = talloc_new(NULL);
    json_t *kept = json_incref(ik_json_adopt(ctx, tree));
    char *written = ik_json_format(ctx, tree);
    ck_assert_str_eq(written, text);
    talloc_free(ctx);
    ck_assert_uint_eq(kept->refcount, 1); /* the context has released its reference */
    json_decref(kept);
    ck_assert_ptr_null(ik_json_parse("{", 1, &error));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json");
    TCase *tests = tcase_create("json");
    tcase_add_test(tests, valid_texts);
    tcase_add_test(tests, invalid_texts_have_a_place_and_a_reason);
    tcase_add_test(tests, nul_bytes_are_never_json);
    tcase_add_test(tests, every_beginning_of_a_text_is_refused);
    tcase_add_test(tests, depth_is_bounded);
    tcase_add_test(tests, a_part_leaves_room_for_what_encloses_it);
    tcase_add_test(tests, the_value_comes_without_the_space_around_it);
    tcase_add_test(tests, kinds);
    tcase_add_test(tests, members_come_in_order_as_written);
    tcase_add_test(tests, elements_come_in_order_as_written);
    tcase_add_test(tests, values_of_every_kind_are_skipped);
    tcase_add_test(tests, find_takes_the_last_of_a_name);
    tcase_add_test(tests, other_values_have_neither_members_nor_elements);
    tcase_add_test(tests, keys_are_compared_decoded);
    tcase_add_test(tests, strings_are_decoded);
    tcase_add_test(tests, lone_surrogates_become_replacement_characters);
    tcase_add_test(tests, strings_are_quoted);
    tcase_add_test(tests, what_is_quoted_reads_back_the_same);
    tcase_add_test(tests, spans_are_spliced_byte_for_byte);
    tcase_add_test(tests, changes_take_the_place_of_members);
    tcase_add_test(tests, pieces_make_one_string);
    tcase_add_test(tests, trees_keep_order_and_nul);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
