#include <check.h>
#include <limits.h>
#include <string.h>

#include "base/alloc.h"
#include "suite.h"
#include "terminal/choice.h"
#include "terminal/fuzzy.h"

static int score(const char *pattern, const char *text)
{
    return ik_fuzzy_score(pattern, strlen(pattern), text, strlen(text));
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
    {"README", "README.md", "readme.md"}, /* same case */
    {"README", "readme", "README.md"},    /* the whole name, in any case */
    {"a/b", "a/b", "x/a-b/b"},            /* a whole path */
    {"e", "E", "e/e"},
    {"sc", "src/a/c", "src/aaaaaaaaaaaaaaaaaaac"}, /* near */
};

START_TEST(ranking)
{
    const char *const *row = better[_i];
    ck_assert_msg(score(row[0], row[1]) > score(row[0], row[2]), "%s: %s %d, %s %d", row[0], row[1],
                  score(row[0], row[1]), row[2], score(row[0], row[2]));
}
END_TEST

START_TEST(sorting_keeps_the_order_of_equal_scores)
{
    enum { COUNT = 5000 };
    static ik_fuzzy_match_t matches[COUNT];
    static ik_fuzzy_match_t spare[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        int scores[] = {0, 7, 255, 256, 70000, INT_MAX - 1, INT_MAX};
        matches[i] = (ik_fuzzy_match_t){.index = i, .score = scores[i * 31 % 7]};
    }
    ik_fuzzy_sort(matches, COUNT, spare);
    for (size_t i = 1; i < COUNT; i++) {
        ck_assert_int_ge(matches[i - 1].score, matches[i].score);
        ck_assert(matches[i - 1].score > matches[i].score ||
                  matches[i - 1].index < matches[i].index);
    }
    ik_fuzzy_sort(matches, 0, spare);
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

static const ik_choice_row_t fruits[] = {
    {.text = "apple"}, {.text = "banana"}, {.text = "cherry"}, {.text = "date"}, {.text = "elder"}};

static void narrow(const char *pattern)
{
    ik_choice_narrow(choice, pattern, strlen(pattern));
}

START_TEST(a_list_gets_shorter_and_longer)
{
    ck_assert_uint_eq(ik_choice_chosen(choice), SIZE_MAX);
    ik_choice_set(choice, fruits, 5, 0);
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
    ik_choice_page(choice, 1);
    ik_choice_page(choice, -1);
    ik_choice_go_to_end(choice, 1);
    ik_choice_choose_best(choice);
    ck_assert_uint_eq(ik_choice_chosen(choice), SIZE_MAX);
    narrow("an");
    ck_assert_uint_eq(ik_choice_count(choice), 1);
    ck_assert_uint_eq(ik_choice_chosen(choice), 1);
    narrow("");
    ck_assert_uint_eq(ik_choice_count(choice), 5);
    ik_choice_set(choice, fruits, 2, 0);
    ck_assert_uint_eq(ik_choice_count(choice), 2);
}
END_TEST

START_TEST(the_chosen_one_is_shown)
{
    size_t shown[3];
    ik_choice_set(choice, fruits, 5, 0);
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
    ik_choice_choose(choice, 3);
    ck_assert_uint_eq(ik_choice_chosen(choice), 3);
    ck_assert_uint_eq(ik_choice_show(choice, 1, shown), 1);
    ck_assert_uint_eq(shown[0], 3);
    narrow("date");
    ik_choice_choose(choice, 1); /* does not match */
    ck_assert_uint_eq(ik_choice_chosen(choice), 3);
    ck_assert_uint_eq(ik_choice_show(choice, 0, shown), 0);
}
END_TEST

/* Pages are as long as what is shown; they stop at the ends, single steps do not. */
START_TEST(pages)
{
    size_t shown[2];
    ik_choice_set(choice, fruits, 5, 0);
    ik_choice_show(choice, 2, shown);
    ik_choice_page(choice, 1);
    ck_assert_uint_eq(ik_choice_chosen(choice), 2);
    ik_choice_page(choice, 1);
    ik_choice_page(choice, 1);
    ck_assert_uint_eq(ik_choice_chosen(choice), 4);
    ik_choice_page(choice, -1);
    ck_assert_uint_eq(ik_choice_chosen(choice), 2);
    ik_choice_page(choice, -1);
    ik_choice_page(choice, -1);
    ck_assert_uint_eq(ik_choice_chosen(choice), 0);
    ik_choice_go_to_end(choice, 1);
    ck_assert_uint_eq(ik_choice_chosen(choice), 4);
    ik_choice_go_to_end(choice, -1);
    ck_assert_uint_eq(ik_choice_chosen(choice), 0);
}
END_TEST

/* Every row can be reached, however many there are. */
START_TEST(all_rows_can_be_chosen)
{
    enum { COUNT = 10000 };
    ik_choice_row_t *rows = ik_new_array(ctx, ik_choice_row_t, COUNT);
    for (int i = 0; i < COUNT; i++) {
        rows[i].text = ik_sprintf(rows, "row %d", i);
    }
    ik_choice_set(choice, rows, COUNT, 0);
    for (size_t i = 0; i < COUNT; i++) {
        ck_assert_uint_eq(ik_choice_chosen(choice), i);
        ik_choice_move(choice, 1);
    }
    ck_assert_uint_eq(ik_choice_chosen(choice), 0);
    narrow("9999");
    ck_assert_uint_eq(ik_choice_count(choice), 1);
    ck_assert_uint_eq(ik_choice_chosen(choice), 9999);
}
END_TEST

START_TEST(none_is_chosen_until_the_user_moves)
{
    size_t shown[3];
    ik_choice_set(choice, fruits, 5, IK_CHOICE_UNMARKED);
    ck_assert_uint_eq(ik_choice_chosen(choice), SIZE_MAX);
    ck_assert_uint_eq(ik_choice_show(choice, 3, shown), 3);
    ik_choice_move(choice, 1);
    ck_assert_uint_eq(ik_choice_chosen(choice), 0);
    narrow("e");
    ck_assert_uint_eq(ik_choice_chosen(choice), SIZE_MAX);
    ik_choice_choose_best(choice);
    ck_assert_uint_eq(ik_choice_chosen(choice), 4);
    narrow("er");
    ik_choice_move(choice, -1);
    ck_assert_uint_eq(ik_choice_chosen(choice), 2);
}
END_TEST

START_TEST(other_words_and_slashes)
{
    static const ik_choice_row_t rows[] = {{.text = "/exit", .also = "quit"},
                                           {.text = "/quiet"},
                                           {.text = "/export", .also = "save as"}};
    ik_choice_set(choice, rows, 3, IK_CHOICE_SLASH);
    narrow("qui");
    ck_assert_uint_eq(ik_choice_count(choice), 2);
    ck_assert_uint_eq(ik_choice_chosen(choice), 1); /* its text weighs more */
    narrow("quit");
    ck_assert_uint_eq(ik_choice_chosen(choice), 0); /* in full */
    narrow("sa");
    ck_assert_uint_eq(ik_choice_chosen(choice), 2);
    narrow("/");
    ck_assert_uint_eq(ik_choice_count(choice), 0);
}
END_TEST

START_TEST(rows_are_replaced)
{
    static const ik_choice_row_t more[] = {{.text = "fig"},
                                           {.text = "elder"},
                                           {.text = "date"},
                                           {.text = "cherry"},
                                           {.text = "apple"}};
    ik_choice_set(choice, fruits, 5, 0);
    ik_choice_replace(choice, more, 5); /* the user did not move: the best one */
    ck_assert_uint_eq(ik_choice_chosen(choice), 0);
    ik_choice_set(choice, fruits, 5, 0);
    narrow("e");
    ik_choice_move(choice, 1);
    size_t chosen = ik_choice_chosen(choice);
    ck_assert_str_eq(fruits[chosen].text, "date");
    ik_choice_replace(choice, more, 5);
    ck_assert_uint_eq(ik_choice_count(choice), 4); /* still those with an e */
    ck_assert_uint_eq(ik_choice_chosen(choice), 2);
    ik_choice_replace(choice, more, 2);
    ck_assert_uint_eq(ik_choice_chosen(choice), 1); /* date is gone */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fuzzy");
    TCase *tests = tcase_create("fuzzy");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, letters_in_order_match);
    tcase_add_test(tests, a_match_is_never_negative);
    tcase_add_loop_test(tests, ranking, 0, (int)(sizeof(better) / sizeof(better[0])));
    tcase_add_test(tests, sorting_keeps_the_order_of_equal_scores);
    tcase_add_test(tests, a_list_gets_shorter_and_longer);
    tcase_add_test(tests, the_chosen_one_is_shown);
    tcase_add_test(tests, pages);
    tcase_add_test(tests, all_rows_can_be_chosen);
    tcase_add_test(tests, none_is_chosen_until_the_user_moves);
    tcase_add_test(tests, other_words_and_slashes);
    tcase_add_test(tests, rows_are_replaced);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
