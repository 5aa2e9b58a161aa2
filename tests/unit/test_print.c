#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/print.h"
#include "base/utf8.h"
#include "suite.h"

#define FFFD "\xef\xbf\xbd"

typedef enum { TEXT, LINE, JSON } how_t;

/* The printed text; the caller frees it. */
static char *print(how_t how, const char *bytes, size_t len, size_t *printed)
{
    char *out = NULL;
    FILE *stream = open_memstream(&out, printed);
    ck_assert_ptr_nonnull(stream);
    if (how == TEXT) {
        ik_print(stream, bytes, len);
    } else if (how == LINE) {
        ik_print_line(stream, bytes);
    } else {
        ik_print_json(stream, bytes, len);
    }
    fclose(stream);
    return out;
}

static void assert_printed(how_t how, const char *text, const char *expected)
{
    size_t printed;
    char *out = print(how, text, strlen(text), &printed);
    ck_assert_str_eq(out, expected);
    free(out);
}

static const struct {
    const char *bytes;
    const char *text;
    const char *line; /* without its newline */
} cases[] = {
    {"", "", ""},
    {"plain ~", "plain ~", "plain ~"},
    {"a\nb\tc", "a\nb\tc", "a b c"},
    {"a\rb\r\n", "a\nb\n", "a b "},
    {"a\033[2Jb\033[31mc", "abc", "abc"},
    {"a\033]0;title\007b", "ab", "ab"},
    {"\x01\x07\x08\x0b\x0c\x0e\x1f\x7f", "", ""},
    {"\xc2\x80\xc2\x9b\xc2\x9f", "", ""}, /* C1: 9b begins sequences */
    {"a\u202eb", "a<U+202E>b", "a<U+202E>b"},
    {"\xc2\xa0\xc3\xa9\xf0\x9f\x98\x80", "\xc2\xa0\xc3\xa9\xf0\x9f\x98\x80",
     "\xc2\xa0\xc3\xa9\xf0\x9f\x98\x80"},
    {"\x9b\xff\xc3", FFFD FFFD FFFD, FFFD FFFD FFFD},
    {"\xed\xa0\x80", FFFD FFFD FFFD, FFFD FFFD FFFD},
};

START_TEST(foreign_text)
{
    assert_printed(TEXT, cases[_i].bytes, cases[_i].text);
    char *line = ik_sprintf(NULL, "%s\n", cases[_i].line);
    assert_printed(LINE, cases[_i].bytes, line);
    talloc_free(line);
}
END_TEST

START_TEST(text_is_printed_to_its_end)
{
    size_t printed;
    char *out = print(TEXT, "a\0b", 3, &printed);
    ck_assert_uint_eq(printed, 2);
    ck_assert_str_eq(out, "ab");
    free(out);
    char *all = NULL;
    FILE *stream = open_memstream(&all, &printed);
    ik_print_text(stream, "x\ny\033");
    fclose(stream);
    ck_assert_str_eq(all, "x\ny");
    free(all);
}
END_TEST

START_TEST(json_stays_what_it_means)
{
    assert_printed(JSON, "{\"a\":\"x\\n\\u001b\"}", "{\"a\":\"x\\n\\u001b\"}\n");
    assert_printed(JSON, "\"\x7f\"", "\"\\u007f\"\n");
    assert_printed(JSON, "\"\xc2\x9b\xc2\xa0\xc3\xa9\"", "\"\\u009b\xc2\xa0\xc3\xa9\"\n");
    assert_printed(JSON, "\"a\u202e\U000e0041\ufeff\"", "\"a\\u202e\\udb40\\udc41\\ufeff\"\n");
}
END_TEST

/* Newlines and tabs between values become spaces, so that the output stays on one line. */
START_TEST(json_is_one_line)
{
    assert_printed(JSON, "{\n\t\"a\":\r\n1}", "{  \"a\":  1}\n");
}
END_TEST

START_TEST(json_with_bytes_that_are_no_text)
{
    assert_printed(JSON, "\"\xff\x9b\"", "\"" FFFD FFFD "\"\n");
}
END_TEST

/* No byte that could begin a control sequence gets through, whatever surrounds it. */
START_TEST(nothing_drives_the_terminal)
{
    for (int a = 0; a < 256; a++) {
        for (int b = 0; b < 256; b++) {
            char bytes[] = {(char)a, (char)b, 'x', '\0'};
            size_t printed;
            char *out = print(LINE, bytes, 3, &printed);
            ck_assert(ik_utf8_valid(out, printed));
            for (size_t i = 0; i + 1 < printed; i++) {
                unsigned char c = (unsigned char)out[i];
                ck_assert(c >= 0x20 && c != 0x7f);
                ck_assert(c != 0xc2 || (unsigned char)out[i + 1] >= 0xa0);
            }
            ck_assert_int_eq(out[printed - 1], '\n');
            free(out);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("print");
    TCase *tests = tcase_create("print");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, foreign_text, 0, (int)(sizeof(cases) / sizeof(cases[0])));
    tcase_add_test(tests, text_is_printed_to_its_end);
    tcase_add_test(tests, json_stays_what_it_means);
    tcase_add_test(tests, json_is_one_line);
    tcase_add_test(tests, json_with_bytes_that_are_no_text);
    tcase_add_test(tests, nothing_drives_the_terminal);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
