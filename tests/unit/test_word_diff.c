/* The words in which two lines differ. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/word_diff.h"
#include "suite.h"

static void *ctx;
static size_t effort;

static void set_up(void)
{
    ctx = talloc_new(NULL);
    effort = 1 << 20;
}

static void tear_down(void)
{
    talloc_free(ctx);
}

/* The line with its marks as [brackets]. */
static char *bracket(const char *text, const ik_word_marks_t *marks)
{
    ik_buffer_t out;
    size_t at = 0;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&out, "");
    for (size_t i = 0; i < marks->count; i++) {
        size_t from = marks->ranges[i].from;
        size_t to = marks->ranges[i].to;
        ck_assert(from < to && to <= strlen(text) && (i == 0 || from > at));
        ik_buffer_append(&out, text + at, from - at);
        ik_buffer_append_format(&out, "[%.*s]", (int)(to - from), text + from);
        at = to;
    }
    ik_buffer_append_text(&out, text + at);
    return ik_buffer_finish(&out);
}

/* The line without brackets. */
static char *plain(const char *bracketed)
{
    char *text = ik_strdup(ctx, bracketed);
    char *to = text;
    for (const char *from = bracketed; *from != '\0'; from++) {
        if (*from != '[' && *from != ']') {
            *to++ = *from;
        }
    }
    *to = '\0';
    return text;
}

static const struct {
    const char *old; /* with the marks that it should have */
    const char *fresh;
} cases[] = {
    {"int a = [1];", "int a = [2];"},
    {"int [a] = 1;", "int [count] = 1;"},
    {"return [a];", "return [b + c];"},
    {"f(a, b)", "f(a, [x,] b)"},
    {"f(a)[;]", "f(a)"},
    {"[  ]a", "[    ]a"},
    {"a[ ]b", "a[\t]b"},
    {"hello world", "hello [brave new] world"},
    {"hello [brave new] world", "hello world"},
    {"one [two] three [four] five", "one [2] three [4] five"},
    {"[foo_bar](x)", "[foo_baz](x)"},
    {"[a, b, c,] long_name", "long_name[, a, b, c]"},
    {"same", "same"},
    {"[schön] x", "[schon] x"},
    {"x [cafe]", "x [caf\u00e9]"},
    {"[a]-b", "[a\u0301]-b"},
    {"x [-]y", "x [-\u0301]y"},
    {"x 漢[字]です", "x 漢[語]です"},
    {"x [👩‍🚀]", "x [👩]"},
    {"x “[yes]”", "x “[no]”"},
};

START_TEST(changed_words_are_marked)
{
    ik_word_diff_t diff;
    char *old = plain(cases[_i].old);
    char *fresh = plain(cases[_i].fresh);
    ck_assert(ik_word_diff_run(ctx, old, strlen(old), fresh, strlen(fresh), &effort, &diff));
    ck_assert_str_eq(bracket(old, &diff.old), cases[_i].old);
    ck_assert_str_eq(bracket(fresh, &diff.fresh), cases[_i].fresh);
}
END_TEST

START_TEST(without_a_common_word_all_differs)
{
    static const char *const pairs[][2] = {
        {"", ""}, {"", "a"}, {"a", "b"}, {"x = 1;", "y = 2;"}, {"}", "};"}, {"  ", "    "}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        ik_word_diff_t diff;
        ck_assert(!ik_word_diff_run(ctx, pairs[i][0], strlen(pairs[i][0]), pairs[i][1],
                                    strlen(pairs[i][1]), &effort, &diff));
    }
}
END_TEST

START_TEST(similarity_is_that_of_the_words)
{
    static const struct {
        const char *old;
        const char *fresh;
        int similarity;
    } pairs[] = {{"a b", "a b", 100}, {"ab, cd", "ab; ef", 50}, {"a", "a bcd", 25}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        ik_word_diff_t diff;
        ck_assert(ik_word_diff_run(ctx, pairs[i].old, strlen(pairs[i].old), pairs[i].fresh,
                                   strlen(pairs[i].fresh), &effort, &diff));
        ck_assert_int_eq(diff.similarity, pairs[i].similarity);
    }
}
END_TEST

/* What is not marked, apart from white space. */
static char *unmarked(const char *text, const ik_word_marks_t *marks)
{
    char *rest = ik_strdup(ctx, "");
    bool inside = false;
    for (const char *at = bracket(text, marks); *at != '\0'; at++) {
        inside = *at == '[' || (inside && *at != ']');
        if (!inside && strchr("] ", *at) == NULL) {
            rest = talloc_strndup_append(rest, at, 1);
        }
    }
    return rest;
}

START_TEST(random_lines_are_equal_but_for_their_marks)
{
    static const char *const pieces[] = {"a", "b", "ab", " ", "  ", ",", "(", "ä", "漢", "\u0301"};
    srandom(4);
    for (int i = 0; i < 20000; i++) {
        char *lines[2];
        for (int which = 0; which < 2; which++) {
            lines[which] = ik_strdup(ctx, "");
            for (long left = random() % 12; left > 0; left--) {
                lines[which] = talloc_strdup_append(
                    lines[which], pieces[random() % (long)(sizeof(pieces) / sizeof(pieces[0]))]);
            }
        }
        ik_word_diff_t diff;
        effort = 10000;
        if (ik_word_diff_run(ctx, lines[0], strlen(lines[0]), lines[1], strlen(lines[1]), &effort,
                             &diff)) {
            ck_assert_str_eq(plain(bracket(lines[0], &diff.old)), lines[0]);
            ck_assert_str_eq(plain(bracket(lines[1], &diff.fresh)), lines[1]);
            ck_assert_str_eq(unmarked(lines[0], &diff.old), unmarked(lines[1], &diff.fresh));
        }
        talloc_free_children(ctx);
    }
}
END_TEST

static char *repeat(const char *text, size_t bytes)
{
    char *line = ik_strndup(ctx, "", bytes);
    for (size_t i = 0; i < bytes; i++) {
        line[i] = text[i % strlen(text)];
    }
    line[bytes] = '\0';
    return line;
}

START_TEST(effort_is_bounded)
{
    ik_word_diff_t diff;
    size_t len = IK_WORD_DIFF_LINE_MAX;
    char *old = repeat("a b ", len + 1);
    char *fresh = repeat("a c ", len + 1);
    ck_assert(!ik_word_diff_run(ctx, old, len + 1, fresh, len, &effort, &diff));
    ck_assert(!ik_word_diff_run(ctx, old, len, fresh, len, &effort, &diff)); /* too many pieces */
    fresh = repeat("a b ", len);
    fresh[len / 2] = 'x';
    effort = 1 << 20;
    ck_assert(ik_word_diff_run(ctx, old, len, fresh, len, &effort, &diff));
    ck_assert_uint_eq(diff.old.count, 1);
    ck_assert_uint_le(effort, (1 << 20) - 2 * len);
    size_t left = 7;
    ck_assert(!ik_word_diff_run(ctx, "a b", 3, "a cde", 5, &left, &diff));
    ck_assert_uint_eq(left, 7);
    left = 0;
    ck_assert(!ik_word_diff_run(ctx, "a", 1, "a", 1, &left, &diff));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("word_diff");
    TCase *tests = tcase_create("word_diff");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, changed_words_are_marked, 0, sizeof(cases) / sizeof(cases[0]));
    tcase_add_test(tests, without_a_common_word_all_differs);
    tcase_add_test(tests, similarity_is_that_of_the_words);
    tcase_add_test(tests, random_lines_are_equal_but_for_their_marks);
    tcase_add_test(tests, effort_is_bounded);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
