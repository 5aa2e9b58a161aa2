#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "suite.h"
#include "terminal/choice.h"
#include "terminal/fuzzy.h"

static int score(const char *pattern, const char *text)
{
    ik_fuzzy_match_t match;
    return ik_fuzzy_rank(pattern, strlen(pattern), &text, 1, &match, 1) == 1 ? match.score : -1;
}

START_TEST(letters_in_order_match)
{
    ck_assert_int_ge(score("mn", "main.c"), 0);
    ck_assert_int_ge(score("MAIN", "main.c"), 0);
    ck_assert_int_ge(score("main", "MAIN.C"), 0);
    ck_assert_int_ge(score("äc", "bäc"), 0);
    ck_assert_int_lt(score("nm", "main.c"), 0);
    ck_assert_int_lt(score("mainn", "main.c"), 0);
    ck_assert_int_lt(score("x", ""), 0);
    ck_assert_int_eq(score("", ""), score("", "anything"));
    ck_assert_int_ge(score("", "anything"), 0);
}
END_TEST

START_TEST(asking_whether_is_the_same)
{
    static const char *const patterns[] = {"", "a", "ab", "ba", "A", "abc/x", "zz"};
    static const char *const texts[] = {"", "ab", "b/a", "xAxB", "abc/x", "abc/xyz", "ab/cx"};
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]); j++) {
            bool matches =
                ik_fuzzy_matches(patterns[i], strlen(patterns[i]), texts[j], strlen(texts[j]));
            ck_assert_msg(matches == (score(patterns[i], texts[j]) >= 0), "%s in %s", patterns[i],
                          texts[j]);
        }
    }
}
END_TEST

/* A match never scores below zero, however long the text; the longest scores lowest. */
START_TEST(a_match_is_never_negative)
{
    char text[4000];
    memset(text, '-', sizeof(text));
    for (size_t i = 1; i < sizeof(text); i += 100) {
        text[i] = 'x';
    }
    text[3001] = '\0';
    int far = score("xxxx", text + 1);
    ck_assert_int_ge(far, 0);
    ck_assert_int_gt(score("xxxx", "xxxx"), far);
}
END_TEST

/* pattern, better match, worse match */
static const char *const better[][3] = {
    {"ma", "main.c", "amal.c"},                      /* at the start */
    {"ma", "src/main.c", "src/drama.c"},             /* at the start of a name */
    {"fb", "foo_bar", "foobar"},                     /* at the start of words */
    {"fb", "fooBar", "foobar"},                      /* a capital starts a word */
    {"edit", "editor.c", "e_d_i_t.c"},               /* adjacent */
    {"model", "model", "models"},                    /* short */
    {"main", "src/main.c", "main/src/other_file.c"}, /* the file's name */
    {"main", "src/m/a/i/main.c", "src/m/a/i/n.c"},   /* the narrow match */
    {"ab", "a_ab", "a_xb"},
    {"README", "README.md", "readme.md"},          /* same case */
    {"sc", "src/a/c", "src/aaaaaaaaaaaaaaaaaaac"}, /* near */
};

START_TEST(ranking)
{
    const char *const *row = better[_i];
    ck_assert_msg(score(row[0], row[1]) > score(row[0], row[2]), "%s: %s %d, %s %d", row[0], row[1],
                  score(row[0], row[1]), row[2], score(row[0], row[2]));
}
END_TEST

START_TEST(the_best_come_first_and_equal_ones_in_order)
{
    static const char *const texts[] = {"xa1", "a", "no", "xa2", "xa3", "ab"};
    ik_fuzzy_match_t out[4];
    ck_assert_uint_eq(ik_fuzzy_rank("a", 1, texts, 6, out, 4), 4);
    ck_assert_str_eq(texts[out[0].index], "a");
    ck_assert_str_eq(texts[out[1].index], "ab");
    ck_assert_str_eq(texts[out[2].index], "xa1");
    ck_assert_str_eq(texts[out[3].index], "xa2");
    ck_assert_uint_eq(ik_fuzzy_rank("a", 1, texts, 6, out, 1), 1);
    ck_assert_str_eq(texts[out[0].index], "a");
    ck_assert_uint_eq(ik_fuzzy_rank("a", 1, texts, 6, out, 0), 0);
    ck_assert_uint_eq(ik_fuzzy_rank("", 0, texts, 6, out, 4), 4);
    ck_assert_uint_eq(out[3].index, 3);
}
END_TEST

/* --- choosing ---------------------------------------------------------------------------- */

static void *ctx;
static ik_choice_t *choice;

static void set_up(void)
{
    ctx = talloc_new(NULL);
    choice = ik_choice_create(ctx);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static const char *const fruits[] = {"apple", "banana", "cherry", "date", "elder"};

static void narrow(const char *pattern)
{
    ik_choice_narrow(choice, pattern, strlen(pattern));
}

START_TEST(a_list_gets_shorter_and_longer)
{
    ck_assert_uint_eq(ik_choice_chosen(choice), SIZE_MAX);
    ik_choice_set(choice, fruits, 5);
    ck_assert_uint_eq(ik_choice_count(choice), 5);
    ck_assert_uint_eq(ik_choice_chosen(choice), 0);
    narrow("e");
    ck_assert_uint_eq(ik_choice_count(choice), 4);
    ck_assert_uint_eq(ik_choice_chosen(choice), 4);
    narrow("er");
    ck_assert_uint_eq(ik_choice_count(choice), 2);
    narrow("erx");
    ck_assert_uint_eq(ik_choice_count(choice), 0);
    ck_assert_uint_eq(ik_choice_chosen(choice), SIZE_MAX);
    ik_choice_move(choice, 1);
    narrow("an");
    ck_assert_uint_eq(ik_choice_count(choice), 1);
    ck_assert_uint_eq(ik_choice_chosen(choice), 1);
    narrow("");
    ck_assert_uint_eq(ik_choice_count(choice), 5);
    ik_choice_set(choice, fruits, 2);
    ck_assert_uint_eq(ik_choice_count(choice), 2);
}
END_TEST

START_TEST(the_chosen_one_is_shown)
{
    size_t shown[3];
    ik_choice_set(choice, fruits, 5);
    ck_assert_uint_eq(ik_choice_show(choice, 3, shown), 3);
    ck_assert_uint_eq(shown[0], 0);
    ik_choice_move(choice, -1);
    ck_assert_uint_eq(ik_choice_chosen(choice), 4);
    ck_assert_uint_eq(ik_choice_show(choice, 3, shown), 3);
    ck_assert_uint_eq(shown[0], 2);
    ck_assert_uint_eq(shown[2], 4);
    ik_choice_move(choice, -1);
    ik_choice_show(choice, 3, shown);
    ck_assert_uint_eq(shown[0], 2);
    ik_choice_move(choice, 1);
    ik_choice_move(choice, 1);
    ck_assert_uint_eq(ik_choice_chosen(choice), 0);
    ik_choice_show(choice, 3, shown);
    ck_assert_uint_eq(shown[0], 0);
    ik_choice_choose(choice, "date");
    ck_assert_uint_eq(ik_choice_chosen(choice), 3);
    ck_assert_uint_eq(ik_choice_show(choice, 1, shown), 1);
    ck_assert_uint_eq(shown[0], 3);
    ik_choice_choose(choice, "fig");
    ck_assert_uint_eq(ik_choice_chosen(choice), 3);
    ck_assert_uint_eq(ik_choice_show(choice, 0, shown), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fuzzy");
    TCase *tests = tcase_create("fuzzy");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, letters_in_order_match);
    tcase_add_test(tests, asking_whether_is_the_same);
    tcase_add_test(tests, a_match_is_never_negative);
    tcase_add_loop_test(tests, ranking, 0, (int)(sizeof(better) / sizeof(better[0])));
    tcase_add_test(tests, the_best_come_first_and_equal_ones_in_order);
    tcase_add_test(tests, a_list_gets_shorter_and_longer);
    tcase_add_test(tests, the_chosen_one_is_shown);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
