/* Syntax colouring and line differences. Letters below the code give the class of each piece. */
#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/code_colour.h"
#include "base/code_language.h"
#include "base/line_diff.h"
#include "suite.h"

static void *ctx;
static ik_buffer_t seen;
static ik_buffer_t letters;

static void set_up(void)
{
    ctx = talloc_new(NULL);
    ik_buffer_init(&seen, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&letters, ctx, IK_BUFFER_UNLIMITED);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

/* --- languages --------------------------------------------------------------------------- */

static void on_piece(void *data, ik_code_class_t kind, const char *text, size_t len)
{
    (void)data;
    ck_assert_uint_gt(len, 0);
    ik_buffer_append(&seen, text, len);
    for (size_t i = 0; i < len; i++) {
        ik_buffer_append_byte(&letters, text[i] == '\n' ? '\n' : " csnkp"[kind]);
    }
}

static void colour(const char *language, const char *text, size_t len)
{
    seen.len = letters.len = 0;
    ik_code_colour_run(ik_code_colour_find(language, strlen(language)), text, len, on_piece, NULL);
    ck_assert_uint_eq(seen.len, len);
    ck_assert(len == 0 || memcmp(seen.data, text, len) == 0);
}

static const struct {
    const char *language;
    const char *text;
    const char *letters;
} cases[] = {
    {"c", "#include <a.h>\nint x = 0x1fUL; // no\n", "kkkkkkkk      \nkkk     nnnnnn  ccccc\n"},
    {"c", "a = 'x' + \"s\\\"t\" /* 'c' */ + 1.5e-3;", "    sss   ssssss ccccccccc   nnnnnn "},
    {"c", "interior intern int", "                kkk"},
    {"c", "\"open\nint", "sssss\nkkk"},
    {"c", "/* open\nint", "ccccccc\nccc"},
    {"C++", "class A : public B {};", "kkkkk     kkkkkk      "},
    {"rust", "fn f<'a>(x: &'a str) -> char { 'x' }", "kk              kkk     kkkk   sss  "},
    {"rs", "let s = r#\"a\"b\"#; br\"c\" '\\n'", "kkk     ssssssss  sssss ssss"},
    {"rs", "0..10", "n  nn"},
    {"go", "func f() { s := `raw\nstring` }", "kkkk            ssss\nsssssss  "},
    {"java", "String s = \"\"\"\na\"b\"\"\";", "           sss\nssssss "},
    {"js", "const a$ = `x\n${y}`; // z", "kkkkk      ss\nsssss  cccc"},
    {"ts", "type A = number", "kkkk     kkkkkk"},
    {"python", "def f(): # c\n    return f'{x}' + \"\"\"a\n'\"\"\"",
     "kkk      ccc\n    kkkkkk  sssss   ssss\nssss"},
    {"sh", "echo \"$a # no\" $# # yes\nif true; then a#b",
     "kkkk sssssssss    ccccc\nkk       kkkk    "},
    {"sh", "git for-each-ref --if", "                     "},
    {"json", "{\"a\" : \"b\", \"c\": [1, true, -2.5]}", " ppp   sss  ppp   n  kkkk   nnn  "},
    {"yaml", "a: 'b' # c\nb-c: true", "p  sss ccc\nppp  kkkk"},
    {"sql", "SELECT a FROM t -- x\nwhere b = 'it''s' AND c=1",
     "kkkkkk   kkkk   cccc\nkkkkk     sssssss kkk   n"},
    {"html", "<p class=\"a\">it's <b>5</b><!-- <i> --><br/>",
     "kk       sssk     kkk kkkkcccccccccccckkkkk"},
    {"css", "@media { a-b: 10px; } /* c */", "kkkkkk   ppp  nnnn    ccccccc"},
    {"nothing", "int x = 1; // \"a\"", "                 "},
    {"c", "", ""},
};

START_TEST(pieces_have_their_class)
{
    colour(cases[_i].language, cases[_i].text, strlen(cases[_i].text));
    ik_buffer_append_byte(&letters, '\0');
    ck_assert_msg(strcmp(letters.data, cases[_i].letters) == 0, "%s\n%s\n%s is not\n%s",
                  cases[_i].language, cases[_i].text, letters.data, cases[_i].letters);
}
END_TEST

/* Every byte comes out again, in every language; colour() asserts it. */
START_TEST(random_text_is_only_coloured)
{
    static const char alphabet[] = "\"'`/*#-<!>\\\nrb{}: =.e+1x$@%&;a\xc3\xa9\0";
    char text[48];
    srandom(1);
    for (int i = 0; i < 20000; i++) {
        size_t len = (size_t)random() % sizeof(text);
        for (size_t at = 0; at < len; at++) {
            text[at] = alphabet[(size_t)random() % sizeof(alphabet)];
        }
        const ik_code_language_t *language =
            &ik_code_languages[(size_t)random() % ik_code_language_count];
        char *name = ik_strndup(ctx, language->names + 1, strcspn(language->names + 1, " "));
        colour(name, text, len);
        talloc_free(name);
    }
}
END_TEST

static void colour_lines(const ik_code_language_t *language, const char *text)
{
    ik_code_state_t state = {0};
    seen.len = letters.len = 0;
    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        ik_code_colour_line(language, &state, text, (size_t)(end - text), on_piece, NULL);
        ik_buffer_append_byte(&letters, '\n');
    }
    ik_code_colour_line(language, &state, text, strlen(text), on_piece, NULL);
}

/* Without backslashes: one at the end of a line escapes the newline only in a whole text. */
START_TEST(lines_have_the_colours_of_the_whole)
{
    static const char alphabet[] = "\"\"\"'`/*/*#-<!-->\n\n\nrb{}: =.e1x$a";
    char text[64];
    srandom(2);
    for (int i = 0; i < 20000; i++) {
        size_t len = (size_t)random() % (sizeof(text) - 1);
        for (size_t at = 0; at < len; at++) {
            text[at] = alphabet[(size_t)random() % (sizeof(alphabet) - 1)];
        }
        text[len] = '\0';
        const ik_code_language_t *language =
            &ik_code_languages[(size_t)random() % ik_code_language_count];
        seen.len = letters.len = 0;
        ik_code_colour_run(language, text, len, on_piece, NULL);
        char *whole = ik_strndup(ctx, letters.data, letters.len);
        colour_lines(language, text);
        ck_assert_msg(letters.len == len && memcmp(letters.data, whole, len) == 0,
                      "%s\n%s\n%s\nis not\n%.*s", language->names, text, whole, (int)letters.len,
                      letters.data);
        talloc_free(whole);
    }
}
END_TEST

START_TEST(languages_have_many_names)
{
    const ik_code_language_t *c = ik_code_colour_find("c", 1);
    ck_assert_ptr_nonnull(c);
    ck_assert_ptr_eq(ik_code_colour_find("H", 1), c);
    ck_assert_ptr_null(ik_code_colour_find("", 0));
    ck_assert_ptr_null(ik_code_colour_find(" ", 1));
    ck_assert_ptr_null(ik_code_colour_find("c h", 3));
    ck_assert_ptr_null(ik_code_colour_find("cplusplusplusplusplusplusplusplus", 33));
}
END_TEST

/* --- what changed ------------------------------------------------------------------------ */

static void on_line(void *data, ik_line_change_t change, const char *line, size_t len)
{
    ik_buffer_t *out = data;
    ik_buffer_append_byte(out, " -+"[change]);
    ik_buffer_append(out, line, len);
}

static char *diff(const char *before, const char *after)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&out, "");
    ik_line_diff_run(before, strlen(before), after, strlen(after), on_line, &out);
    return ik_buffer_finish(&out);
}

START_TEST(lines_that_went_and_came)
{
    ck_assert_str_eq(diff("", ""), "");
    ck_assert_str_eq(diff("a\n", "a\n"), " a\n");
    ck_assert_str_eq(diff("", "a\nb"), "+a\n+b");
    ck_assert_str_eq(diff("a\nb", ""), "-a\n-b");
    ck_assert_str_eq(diff("a\nb\nc\n", "a\nx\nc\n"), " a\n-b\n+x\n c\n");
    ck_assert_str_eq(diff("a\nb\nc\nd\n", "b\nc\ne\nd\nf\n"), "-a\n b\n c\n+e\n d\n+f\n");
    ck_assert_str_eq(diff("a\na\n", "a\na\na\n"), " a\n a\n+a\n");
    ck_assert_str_eq(diff("a", "a\n"), "-a+a\n");
    ck_assert_str_eq(diff("1\n2\n3\n4\n5\n", "1\n3\n2\n4\n5\n"), " 1\n-2\n 3\n+2\n 4\n 5\n");
}
END_TEST

/* The new text is the kept and added lines, the old one the kept and removed lines. */
START_TEST(random_changes_lead_from_one_text_to_the_other)
{
    srandom(2);
    for (int i = 0; i < 2000; i++) {
        char texts[2][64] = {"", ""};
        for (int which = 0; which < 2; which++) {
            for (size_t at = 0, lines = (size_t)random() % 20; at < lines; at++) {
                size_t len = strlen(texts[which]);
                snprintf(texts[which] + len, sizeof(texts[which]) - len, "%c\n",
                         'a' + (int)(random() % 4));
            }
        }
        char *changes = diff(texts[0], texts[1]);
        char rebuilt[2][64] = {"", ""};
        for (char *line = changes; *line != '\0'; line += 3) {
            for (int which = 0; which < 2; which++) {
                if (*line == ' ' || *line == "-+"[which]) {
                    strncat(rebuilt[which], line + 1, 2);
                }
            }
        }
        ck_assert_str_eq(rebuilt[0], texts[0]);
        ck_assert_str_eq(rebuilt[1], texts[1]);
        talloc_free(changes);
    }
}
END_TEST

/* 3,000 by 3,000 lines are not compared, except for common lines at the start and end. */
START_TEST(long_texts_change_as_a_whole)
{
    ik_buffer_t texts[2];
    for (int which = 0; which < 2; which++) {
        ik_buffer_init(&texts[which], ctx, IK_BUFFER_UNLIMITED);
        ik_buffer_append_text(&texts[which], "first\n");
        for (int i = 0; i < 3000; i++) {
            ik_buffer_append_format(&texts[which], "%d\n", i * (which + 1) + which);
        }
        ik_buffer_append_text(&texts[which], "last\n");
    }
    char *changes = diff(texts[0].data, texts[1].data);
    ck_assert_int_eq(strncmp(changes, " first\n-0\n-1\n-2\n", 16), 0);
    ck_assert_ptr_nonnull(strstr(changes, "-2999\n+1\n+3\n"));
    ck_assert_ptr_nonnull(strstr(changes, "+5999\n last\n"));
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("code_colour");
    TCase *tests = tcase_create("code_colour");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, pieces_have_their_class, 0, sizeof(cases) / sizeof(cases[0]));
    tcase_add_test(tests, random_text_is_only_coloured);
    tcase_add_test(tests, lines_have_the_colours_of_the_whole);
    tcase_add_test(tests, languages_have_many_names);
    tcase_add_test(tests, lines_that_went_and_came);
    tcase_add_test(tests, random_changes_lead_from_one_text_to_the_other);
    tcase_add_test(tests, long_texts_change_as_a_whole);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return suite_run(make_suite());
}
