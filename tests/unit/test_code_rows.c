/* Code, diffs and program output as rows: the text unchanged, with its styles. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "suite.h"
#include "terminal/code_rows.h"

static void *ctx;
static ik_theme_t bare;
static ik_theme_t coloured;
static ik_buffer_t given; /* rows, each followed by '\n' */
static ik_row_t row;

static void set_up(void)
{
    ctx = talloc_new(NULL);
    ik_theme_init(&bare, IK_BACKGROUND_DARK, false, false);
    ik_theme_init(&coloured, IK_BACKGROUND_DARK, true, true);
    coloured.styles[IK_ROLE_REMOVED] = (ik_style_t){.fg = IK_COLOUR_INDEX(1)};
    coloured.styles[IK_ROLE_ADDED] = (ik_style_t){.fg = IK_COLOUR_INDEX(2)};
    coloured.styles[IK_ROLE_KEYWORD] = (ik_style_t){.fg = IK_COLOUR_INDEX(5)};
    coloured.styles[IK_ROLE_NUMBER] = (ik_style_t){.fg = IK_COLOUR_INDEX(6)};
    coloured.styles[IK_ROLE_COMMENT] = (ik_style_t){.bits = IK_STYLE_DIM};
    ik_buffer_init(&given, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&given, "");
    ik_row_init(&row, ctx, &coloured);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static void on_row(void *data, const char *bytes, size_t len)
{
    ck_assert_ptr_null(memchr(bytes, '\n', len));
    ik_buffer_append(data, bytes, len);
    ik_buffer_append_byte(data, '\n');
}

/* The bytes of the row, and of a row of one role. */
static const char *finished(void)
{
    ik_row_end(&row);
    char *bytes = ik_strndup(ctx, row.bytes.data, row.bytes.len);
    ik_row_clear(&row);
    return bytes;
}

static const char *of_role(ik_role_t role, const char *text)
{
    ik_row_add_role(&row, role, text);
    return finished();
}

/* --- code -------------------------------------------------------------------------------- */

START_TEST(code_knows_the_lines_before)
{
    ik_code_rows_t *code = ik_code_rows_create(ctx, &coloured, ik_code_colour_find("python", 6));
    ik_code_rows_add(code, &row, "\"\"\"a", 4);
    ck_assert_str_eq(finished(), of_role(IK_ROLE_STRING, "\"\"\"a"));
    ik_code_rows_t copy = *code;
    ik_code_rows_add(code, &row, "def\"\"\"", 6);
    ck_assert_str_eq(finished(), of_role(IK_ROLE_STRING, "def\"\"\""));
    ik_code_rows_add(code, &row, "def", 3);
    ck_assert_str_eq(finished(), of_role(IK_ROLE_KEYWORD, "def"));
    ik_code_rows_add(&copy, &row, "def", 3);
    ck_assert_str_eq(finished(), of_role(IK_ROLE_STRING, "def"));
}
END_TEST

START_TEST(code_is_sanitised_before_it_is_coloured)
{
    ik_code_rows_t code;
    ik_code_rows_init(&code, &coloured, ik_code_colour_find("c", 1));
    ik_code_rows_add(&code, &row, "in\033[2Jt", 7);
    ck_assert_str_eq(finished(), of_role(IK_ROLE_KEYWORD, "int"));
    ik_code_rows_init(&code, &coloured, NULL);
    ik_code_rows_add(&code, &row, "int\ta", 5);
    ck_assert_str_eq(finished(), "int\ta");
}
END_TEST

START_TEST(lines_of_a_diff_have_their_role)
{
    static const struct {
        const char *line;
        ik_role_t role;
    } lines[] = {
        {"+a", IK_ROLE_ADDED},         {"-a", IK_ROLE_REMOVED},         {" a", IK_ROLE_TEXT},
        {"@@ -1 +1 @@", IK_ROLE_HUNK}, {"--- a/b", IK_ROLE_STRONG},     {"+++ a/b", IK_ROLE_STRONG},
        {"--", IK_ROLE_REMOVED},       {"diff --git a b", IK_ROLE_DIM},
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        ik_patch_place_t place = {0};
        ik_code_rows_add_diff(&place, &row, lines[i].line, strlen(lines[i].line));
        ck_assert_str_eq(finished(), of_role(lines[i].role, lines[i].line));
    }
    ck_assert(ik_code_rows_is_diff_name("Diff", 4));
    ck_assert(ik_code_rows_is_diff_name("patch", 5));
    ck_assert(!ik_code_rows_is_diff_name("diffs", 5));
    ck_assert(!ik_code_rows_is_diff_name("", 0));
}
END_TEST

/* --- what changed ------------------------------------------------------------------------ */

static const char *change(const char *before, const char *after)
{
    given.len = 0;
    ik_buffer_append_text(&given, "");
    ik_code_rows_change(&bare, NULL, before, strlen(before), after, strlen(after), on_row, &given);
    return given.data;
}

START_TEST(a_change_has_three_lines_around_it)
{
    ck_assert_str_eq(change("a\nb\n", "a\nb\n"), "");
    ck_assert_str_eq(change("", ""), "");
    ck_assert_str_eq(change("", "a\nb\n"), "@@ -0,0 +1,2 @@\n+a\n+b\n");
    ck_assert_str_eq(change("a\n", ""), "@@ -1,1 +0,0 @@\n-a\n");
    ck_assert_str_eq(change("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n"),
                     "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n");
    ck_assert_str_eq(change("a\nb\n", "a\nx\nb\n"), "@@ -1,2 +1,3 @@\n a\n+x\n b\n");
    ck_assert_str_eq(change("a\r\nb\r\n", "a\r\nc\r\n"), "@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
    ck_assert_str_eq(change("a\033[2Jb\n", "c\n"), "@@ -1,1 +1,1 @@\n-ab\n+c\n");
}
END_TEST

START_TEST(changes_close_together_are_one)
{
    ck_assert_str_eq(change("a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n"),
                     "@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n");
    ck_assert_str_eq(change("a\n1\n2\n3\n4\n5\n6\n7\nb\n", "1\n2\n3\n4\n5\n6\n7\nB\n"),
                     "@@ -1,4 +1,3 @@\n-a\n 1\n 2\n 3\n"
                     "@@ -6,4 +5,4 @@\n 5\n 6\n 7\n-b\n+B\n");
}
END_TEST

START_TEST(a_missing_newline_is_said)
{
    ck_assert_str_eq(change("a", "a\n"), "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n");
    ck_assert_str_eq(change("a\nb", "c\nb"),
                     "@@ -1,2 +1,2 @@\n-a\n+c\n b\n\\ No newline at end of file\n");
}
END_TEST

START_TEST(changes_are_coloured)
{
    ik_code_rows_change(&coloured, NULL, "a\n", 2, "b\n", 2, on_row, &given);
    ck_assert_str_eq(given.data,
                     ik_sprintf(ctx, "%s\n%s\n%s\n", of_role(IK_ROLE_HUNK, "@@ -1,1 +1,1 @@"),
                                of_role(IK_ROLE_REMOVED, "-a"), of_role(IK_ROLE_ADDED, "+b")));
}
END_TEST

/* The rows of a change of C code below the header of its first hunk. */
static const char *coloured_change(const ik_theme_t *theme, const char *before, const char *after)
{
    given.len = 0;
    ik_buffer_append_text(&given, "");
    ik_code_rows_change(theme, ik_code_colour_find("c", 1), before, strlen(before), after,
                        strlen(after), on_row, &given);
    return strstr(given.data, "@@\033[m\n") + strlen("@@\033[m\n");
}

#define RED "\033[31m"
#define GREEN "\033[32m"
#define MAGENTA "\033[35m"
#define CYAN "\033[36m"
#define END "\033[m"

START_TEST(changes_have_the_colours_of_the_language)
{
    ck_assert_str_eq(coloured_change(&coloured, "int a;\n", "int a;\nchar b[3]; /* c */\n"),
                     " " MAGENTA "int" END " a;\n" /* as elsewhere */
                     GREEN "+" MAGENTA "char" GREEN " b[" CYAN "3" GREEN "]; \033[2m/* c */" END
                     "\n");
    ck_assert_str_eq(coloured_change(&coloured, "return x;\n", ""),
                     RED "-" MAGENTA "return" RED " x;" END "\n");
}
END_TEST

START_TEST(code_is_followed_through_the_whole_file)
{
    static const char far[] = "/*\n1\n2\n3\n4\n5\n6\n7\n";
    const char *rows = coloured_change(&coloured, ik_sprintf(ctx, "%sint a;\n", far),
                                       ik_sprintf(ctx, "%sint b;\n", far));
    ck_assert_ptr_nonnull(strstr(rows, "\n" RED "-\033[2mint \033[22;7ma\033[2;27m;" END "\n"));
    /* A comment that ends in one of the versions only. */
    rows = coloured_change(&coloured, "/*\nint a;\n", "/* */\nint a;\n");
    ck_assert_ptr_nonnull(strstr(rows, "\n " MAGENTA "int" END " a;\n"));
}
END_TEST

START_TEST(changed_words_are_marked)
{
    ck_assert_str_eq(coloured_change(&coloured, "a = one;\n", "a = two + 1;\n"),
                     RED "-a = \033[7mone\033[27m;" END "\n" GREEN
                         "+a = \033[7mtwo + 1\033[27m;" END "\n");
    ck_assert_str_eq(coloured_change(&coloured, "a\n", "b\n"),
                     RED "-a" END "\n" GREEN "+b" END "\n");
}
END_TEST

START_TEST(marks_need_no_colours)
{
    ik_theme_t mono;
    ik_theme_init(&mono, IK_BACKGROUND_DARK, false, true);
    const char *rows;
    given.len = 0;
    ik_code_rows_change(&mono, NULL, "a = 1\n", 6, "a = 2\n", 6, on_row, &given);
    rows = strstr(given.data, "-a");
    ck_assert_str_eq(rows, "-a = \033[7m1" END "\n+a = \033[7m2" END "\n");
    ck_assert_str_eq(change("a = 1\n", "a = 2\n"), "@@ -1,1 +1,1 @@\n-a = 1\n+a = 2\n");
}
END_TEST

START_TEST(similar_lines_are_paired)
{
    ck_assert_str_eq(
        coloured_change(&coloured, "call(one, two);\n", "first();\ncall(one, three);\n"),
        RED "-call(one, \033[7mtwo\033[27m);" END "\n" GREEN "+first();" END "\n" GREEN
            "+call(one, \033[7mthree\033[27m);" END "\n");
    /* The first line has more in common with the third one, but all together with the first. */
    ck_assert_str_eq(coloured_change(&coloured, "old total;\nsum(y, x);\n",
                                     "some other total;\nsum(y, x, z);\ntotal;\n"),
                     RED "-\033[7mold\033[27m total;" END "\n" RED "-sum(y, x);" END "\n" GREEN
                         "+\033[7msome other\033[27m total;" END "\n" GREEN
                         "+sum(y, x\033[7m, z\033[27m);" END "\n" GREEN "+total;" END "\n");
    /* As many lines: those in the same place. */
    ck_assert_str_eq(coloured_change(&coloured, "a = some_long_name\nb\n", "a = x\nc\n"),
                     RED "-a = \033[7msome_long_name" END "\n" RED "-b" END "\n" GREEN
                         "+a = \033[7mx" END "\n" GREEN "+c" END "\n");
    ck_assert_str_eq(coloured_change(&coloured, "a x\nb y\n", "a z\nb w\n"),
                     RED "-a \033[7mx" END "\n" RED "-b \033[7my" END "\n" GREEN "+a \033[7mz" END
                         "\n" GREEN "+b \033[7mw" END "\n");
}
END_TEST

START_TEST(foreign_lines_are_sanitised_and_marked)
{
    ck_assert_str_eq(coloured_change(&coloured, "a = \033[2J\033]0;x\007x;\n", "a = \u202ey;\r\n"),
                     RED "-a = \033[7mx\033[27m;" END "\n" GREEN
                         "+a = \033[7m<U+202E>y\033[27m;" END "\n");
    ck_assert_str_eq(coloured_change(&coloured, "a\rb x\n", "a\rb y\n"),
                     RED "-a b \033[7mx" END "\n" GREEN "+a b \033[7my" END "\n");
}
END_TEST

/* Thousands of long lines, all of them changed: their words are not all compared. */
START_TEST(long_lines_differ_as_a_whole)
{
    ik_buffer_t texts[2];
    for (int which = 0; which < 2; which++) {
        ik_buffer_init(&texts[which], ctx, IK_BUFFER_UNLIMITED);
        for (int line = 0; line < 2000; line++) {
            for (int word = 0; word < 100; word++) {
                ik_buffer_append_format(&texts[which], "%d ", word % (2 + which));
            }
            ik_buffer_append_byte(&texts[which], '\n');
        }
    }
    const char *rows = coloured_change(&coloured, texts[0].data, texts[1].data);
    ck_assert_ptr_nonnull(strstr(rows, "\033[7m"));
    const char *last = strrchr(ik_strndup(ctx, rows, strlen(rows) - 1), '\n');
    ck_assert_ptr_null(strstr(last, "\033[7m"));
    given.len = 0;
    char *wide = ik_sprintf(ctx, "%0*d x\n", 1000000, 0);
    char *other = ik_sprintf(ctx, "%0*d y\n", 1000000, 0);
    rows = coloured_change(&coloured, wide, other);
    ck_assert_ptr_null(strstr(rows, "\033[7m"));
}
END_TEST

/* Applies the rows as a patch: they must turn one text into the other. */
static char *apply(const char *before, const char *rows)
{
    char *out = ik_strdup(ctx, "");
    size_t line = 1;
    while (*rows != '\0') {
        size_t len = strcspn(rows, "\n");
        size_t from = 0;
        size_t count = 0;
        if (sscanf(rows, "@@ -%zu,%zu", &from, &count) == 2) {
            for (from += count == 0; line < from; line++) {
                size_t kept = strcspn(before, "\n") + 1;
                out = talloc_strndup_append(out, before, kept);
                before += kept;
            }
        } else if (rows[0] == '+') {
            out = talloc_strndup_append(out, rows + 1, len);
        } else {
            ck_assert_int_eq(strncmp(before, rows + 1, len), 0);
            before += len;
            line++;
            out = rows[0] == ' ' ? talloc_strndup_append(out, rows + 1, len) : out;
        }
        rows += len + 1;
    }
    return talloc_strdup_append(out, before);
}

static char *random_lines(void)
{
    char *text = ik_strdup(ctx, "");
    for (long left = random() % 30; left > 0; left--) {
        text = talloc_asprintf_append(text, "%ld\n", random() % 4);
    }
    return text;
}

START_TEST(random_changes_can_be_applied)
{
    srandom(3);
    for (int i = 0; i < 2000; i++) {
        char *before = random_lines();
        char *after = random_lines();
        char *result = apply(before, change(before, after));
        ck_assert_msg(strcmp(result, after) == 0, "%s to %s by\n%s", before, after, given.data);
        talloc_free(before);
        talloc_free(after);
        talloc_free(result);
    }
}
END_TEST

static const char *patch(const ik_theme_t *theme, const char *text)
{
    ik_patch_place_t place = {0};
    given.len = 0;
    ik_buffer_append_text(&given, "");
    ik_code_rows_patch(theme, &place, text, strlen(text), on_row, &given);
    return given.data;
}

START_TEST(a_patch_keeps_its_text)
{
    static const char *const patches[] = {
        "",
        "-a\n+b\n",
        "diff --git a/x.c b/x.c\nindex 1..2 100644\n--- a/x.c\n+++ b/x.c\n@@ -1,3 +1,3 @@ f\n"
        " a\n--- b\n+++ c\n d\n\\ No newline at end of file\n",
        "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n--- c\n+++ d\n@@ -1 +0,0 @@\n-a\n",
        "--- a\n+++ b\n-a\n+b\n\nprose\n",
        "@@ -1,1 +1,1 @@\n a\n-wrong\n+numbers\n",
        "@@\n-a\n+b\n@@ -99999999999999999999,9 +1,x @@\n c\n",
        "Binary files a/b and c/d differ\n",
    };
    for (size_t i = 0; i < sizeof(patches) / sizeof(patches[0]); i++) {
        ck_assert_str_eq(patch(&bare, patches[i]),
                         i == 4 ? "--- a\n+++ b\n-a\n+b\n \nprose\n" : patches[i]);
    }
    ck_assert_str_eq(patch(&bare, "@@ -1 +1 @@\r\n-a\033[2Jb\r\n+c"), "@@ -1 +1 @@\n-ab\n+c\n");
}
END_TEST

START_TEST(a_patch_has_the_colours_of_its_languages_and_marks)
{
    const char *rows = patch(&coloured, "--- a/x.c\n+++ b/x.c\n@@ -1,2 +1,2 @@\n int a;\n"
                                        "-return x;\n+return y;\n--- x.py\n+++ /dev/null\n"
                                        "@@ -1 +0,0 @@\n-def f\n--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n"
                                        "+int a;\n");
    ck_assert_ptr_nonnull(strstr(rows, "\n " MAGENTA "int" END " a;\n"));
    ck_assert_ptr_nonnull(
        strstr(rows, "\n" RED "-" MAGENTA "return" RED " \033[7mx\033[27m;" END "\n"));
    ck_assert_ptr_nonnull(
        strstr(rows, "\n" GREEN "+" MAGENTA "return" GREEN " \033[7my\033[27m;" END "\n"));
    ck_assert_ptr_nonnull(strstr(rows, "\n" RED "-" MAGENTA "def" RED " f" END "\n"));
    ck_assert_ptr_nonnull(strstr(rows, "\n" GREEN "+int a;" END "\n"));
    /* a part of it that begins in the middle */
    ik_patch_place_t place = {0};
    static const char first[] = "--- a/x.c\n+++ b/x.c\n@@ -1,9 +1,9 @@\n";
    for (const char *line = first; *line != '\0'; line = strchr(line, '\n') + 1) {
        ik_patch_lines_next(&place, line, strcspn(line, "\n") + 1);
    }
    given.len = 0;
    ik_code_rows_patch(&coloured, &place, "--- x;\n int a;\n", 15, on_row, &given);
    ck_assert_str_eq(given.data, RED "--- x;" END "\n " MAGENTA "int" END " a;\n");
}
END_TEST

/* --- output of programs ------------------------------------------------------------------ */

static size_t output(const ik_theme_t *theme, const char *text, size_t rows, size_t bytes)
{
    given.len = 0;
    ik_buffer_append_text(&given, "");
    return ik_code_rows_output(theme, text, strlen(text), rows, bytes, on_row, &given);
}

START_TEST(output_is_a_row_per_line)
{
    ck_assert_uint_eq(output(&bare, "", 0, 0), 0);
    ck_assert_str_eq(given.data, "");
    ck_assert_uint_eq(output(&bare, "a\n\nb\tc\r\nd", 0, 0), 0);
    ck_assert_str_eq(given.data, "a\n\nb\tc\nd\n");
    ck_assert_uint_eq(output(&bare, "\n", 0, 0), 0);
    ck_assert_str_eq(given.data, "\n");
    ck_assert_uint_eq(output(&bare, "a\033]0;t\007\033[31mb\033[0m\n\033[0m", 0, 0), 0);
    ck_assert_str_eq(given.data, "ab\n");
    ck_assert_uint_eq(output(&bare, "10%\r20%\r\n", 0, 0), 0);
    ck_assert_str_eq(given.data, "10%\n20%\n");
}
END_TEST

START_TEST(output_keeps_its_colours)
{
    ik_style_t red = {.fg = IK_COLOUR_INDEX(1)};
    output(&coloured, "\033[31ma\nb\033[0mc\n", 0, 0);
    ik_row_add(&row, red, "a", 1);
    const char *first = finished();
    ik_row_add(&row, red, "b", 1);
    ik_row_add_role(&row, IK_ROLE_TEXT, "c");
    ck_assert_str_eq(given.data, ik_sprintf(ctx, "%s\n%s\n", first, finished()));
}
END_TEST

START_TEST(too_much_output_is_left_out)
{
    ck_assert_uint_eq(output(&bare, "a\nb\nc\nd\ne", 2, 0), 3);
    ck_assert_str_eq(given.data, "a\nb\n");
    ck_assert_uint_eq(output(&bare, "a\nb\n", 2, 0), 0);
    ck_assert_uint_eq(output(&bare, "abc\ndef\nghi\n", 0, 6), 2);
    ck_assert_str_eq(given.data, "abc\nde\n");
    ck_assert_uint_eq(output(&bare, "a\xc3\xa9\n", 0, 2), 1);
    ck_assert_str_eq(given.data, "a\n");
    ck_assert_uint_eq(output(&bare, "1\r2\r3\r4\nb\n", 2, 0), 3);
    ck_assert_str_eq(given.data, "1\n2\n");
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("code_rows");
    TCase *tests = tcase_create("code_rows");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, code_knows_the_lines_before);
    tcase_add_test(tests, code_is_sanitised_before_it_is_coloured);
    tcase_add_test(tests, lines_of_a_diff_have_their_role);
    tcase_add_test(tests, a_change_has_three_lines_around_it);
    tcase_add_test(tests, changes_close_together_are_one);
    tcase_add_test(tests, a_missing_newline_is_said);
    tcase_add_test(tests, changes_are_coloured);
    tcase_add_test(tests, random_changes_can_be_applied);
    tcase_add_test(tests, changes_have_the_colours_of_the_language);
    tcase_add_test(tests, a_patch_keeps_its_text);
    tcase_add_test(tests, a_patch_has_the_colours_of_its_languages_and_marks);
    tcase_add_test(tests, code_is_followed_through_the_whole_file);
    tcase_add_test(tests, changed_words_are_marked);
    tcase_add_test(tests, marks_need_no_colours);
    tcase_add_test(tests, similar_lines_are_paired);
    tcase_add_test(tests, foreign_lines_are_sanitised_and_marked);
    tcase_add_test(tests, long_lines_differ_as_a_whole);
    tcase_add_test(tests, output_is_a_row_per_line);
    tcase_add_test(tests, output_keeps_its_colours);
    tcase_add_test(tests, too_much_output_is_left_out);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return suite_run(make_suite());
}
