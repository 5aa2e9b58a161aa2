/* Text in columns: graphemes forward and backward, fitting, cutting. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sanitiser.h"
#include "base/width.h"
#include "suite.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define FAMILY "\U0001f468\u200d\U0001f469\u200d\U0001f467"
#define FLAG_DE "\U0001f1e9\U0001f1ea"
#define FLAG_FR "\U0001f1eb\U0001f1f7"
#define E_ACUTE "e\u0301"
#define HAN "\u65e5"

static void *ctx;

static void set_up(void)
{
    ctx = talloc_new(NULL);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

/* --- graphemes --------------------------------------------------------------------------- */

/* Texts, and their graphemes with a | after each. */
static const struct {
    const char *text;
    const char *graphemes;
    size_t columns;
} texts[] = {
    {"", "", 0},
    {"a", "a|", 1},
    {"abc", "a|b|c|", 3},
    {"a\tb", "a|\t|b|", 3},
    {"\u00e9x", "\u00e9|x|", 2},
    {"a" E_ACUTE "b", "a|" E_ACUTE "|b|", 3},
    {E_ACUTE "\u0302", E_ACUTE "\u0302|", 1},
    {HAN HAN "x", HAN "|" HAN "|x|", 5},
    {FAMILY "x" FAMILY, FAMILY "|x|" FAMILY "|", 5},
    {FLAG_DE FLAG_FR FLAG_DE, FLAG_DE "|" FLAG_FR "|" FLAG_DE "|", 6},
    {"\U0001f44d\U0001f3fd!", "\U0001f44d\U0001f3fd|!|", 3},
    {"\u1112\u1161\u11ab", "\u1112\u1161\u11ab|", 2},
    {"\u0301x", "\u0301|x|", 1},
    {"1\ufe0f\u20e3" HAN, "1\ufe0f\u20e3|" HAN "|", 3},
    /* not sanitised */
    {"a\033b\302\233", "a|\033|b|\302\233|", 4},
    {"\xff\x80\xe2\x82x", "\xff|\x80|\xe2\x82|x|", 4},
    {"e\xcc", "e|\xcc|", 2},
    {HAN "\u202e" HAN, HAN "|\u202e|" HAN "|", 5},
};

START_TEST(graphemes_forwards)
{
    const char *text = texts[_i].text;
    size_t len = strlen(text);
    size_t columns = 0;
    ik_buffer_t seen;
    ik_buffer_init(&seen, ctx, IK_BUFFER_UNLIMITED);
    for (size_t at = 0; at < len;) {
        ik_grapheme_t grapheme = ik_width_grapheme(text + at, len - at);
        ck_assert_uint_gt(grapheme.len, 0);
        ck_assert(grapheme.columns >= 0 && grapheme.columns <= 2);
        ik_buffer_append(&seen, text + at, grapheme.len);
        ik_buffer_append_byte(&seen, '|');
        columns += (size_t)grapheme.columns;
        at += grapheme.len;
    }
    ck_assert_str_eq(len == 0 ? "" : seen.data, texts[_i].graphemes);
    ck_assert_uint_eq(columns, texts[_i].columns);
    ck_assert_uint_eq(ik_width(text, len), texts[_i].columns);
}
END_TEST

/* The start of the last grapheme, found from the start of the text. */
static size_t find_last(const char *text, size_t len)
{
    size_t start = 0;
    for (size_t at = 0; at < len;) {
        start = at;
        at += ik_width_grapheme(text + at, len - at).len;
    }
    return start;
}

static void assert_backwards(const char *text, size_t len)
{
    while (len > 0) {
        size_t start = ik_width_step_back(text, len);
        ck_assert_uint_eq(start, find_last(text, len));
        len = start;
    }
}

START_TEST(graphemes_backwards)
{
    assert_backwards(texts[_i].text, strlen(texts[_i].text));
}
END_TEST

/* A random text of them, so that each follows each. */
static size_t make_random(char *out, size_t size)
{
    size_t len = 0;
    for (size_t i = 0; i < 12; i++) {
        const char *text = texts[(size_t)random() % LENGTH(texts)].text;
        size_t more = strlen(text);
        if (len + more < size) {
            memcpy(out + len, text, more);
            len += more;
        }
    }
    return len;
}

/* Fitting agrees with a walk over the graphemes, for every number of columns. */
static void assert_fits(const char *text, size_t len)
{
    size_t at = 0;
    size_t used = 0;
    for (size_t max = 0; max <= len + 1; max++) {
        while (at < len) {
            ik_grapheme_t grapheme = ik_width_grapheme(text + at, len - at);
            if (used + (size_t)grapheme.columns > max) {
                break;
            }
            at += grapheme.len;
            used += (size_t)grapheme.columns;
        }
        size_t columns;
        ck_assert_uint_eq(ik_width_fit(text, len, max, &columns), at);
        ck_assert_uint_eq(columns, used);
        ck_assert_uint_eq(ik_width_fit(text, len, max, NULL), at);
    }
    ck_assert_uint_eq(at, len);
    ck_assert_uint_eq(ik_width(text, len), used);
}

START_TEST(random_texts)
{
    char text[512];
    srandom((unsigned)_i);
    for (int i = 0; i < 40; i++) {
        size_t len = make_random(text, sizeof(text));
        assert_fits(text, len);
        assert_backwards(text, len);
    }
}
END_TEST

/* A combining mark belongs to the letter before it, also across machine words. */
START_TEST(marks_behind_plain_text)
{
    char text[64];
    for (size_t plain = 1; plain < 40; plain++) {
        memset(text, 'x', plain);
        memcpy(text + plain, "\u0301yz", 4);
        size_t columns;
        ck_assert_uint_eq(ik_width_fit(text, plain + 4, plain, &columns), plain + 2);
        ck_assert_uint_eq(columns, plain);
        ck_assert_uint_eq(ik_width_fit(text, plain + 4, plain - 1, &columns), plain - 1);
        ck_assert_uint_eq(ik_width(text, plain + 4), plain + 2);
    }
}
END_TEST

/* --- cut texts --------------------------------------------------------------------------- */

static const struct {
    const char *text;
    size_t max;
    const char *start;
    const char *end;
} cuts[] = {
    {"", 0, "", ""},
    {"", 5, "", ""},
    {"abc", IK_WIDTH_UNLIMITED, "abc", "abc"},
    {"abc", 3, "abc", "abc"},
    {"abcd", 3, "ab…", "…cd"},
    {"abcd", 1, "…", "…"},
    {"abcd", 0, "", ""},
    {HAN HAN HAN, 6, HAN HAN HAN, HAN HAN HAN},
    {HAN HAN HAN, 5, HAN HAN "…", "…" HAN HAN},
    {HAN HAN HAN, 4, HAN "…", "…" HAN},
    {HAN HAN HAN, 2, "…", "…"},
    {"a" HAN "b", 3, "a…", "…b"},
    {"ab" E_ACUTE "cd", 4, "ab" E_ACUTE "…", "…" E_ACUTE "cd"},
    {"ab" FAMILY, 3, "ab…", "…" FAMILY},
    {"a\nb\tc", 5, "a b c", "a b c"},
    {"a\033[2Jb", 2, "ab", "ab"},
    {"a\u202eb", 10, "a<U+202E>b", "a<U+202E>b"},
    {"a\u202eb", 4, "a<U…", "…E>b"},
    {"a\xff"
     "b",
     3,
     "a\xef\xbf\xbd"
     "b",
     "a\xef\xbf\xbd"
     "b"},
};

START_TEST(cut_texts)
{
    const char *expected[] = {
        [IK_WIDTH_KEEP_START] = cuts[_i].start, [IK_WIDTH_KEEP_END] = cuts[_i].end};
    for (ik_width_keep_t keep = IK_WIDTH_KEEP_START; keep <= IK_WIDTH_KEEP_END; keep++) {
        ik_buffer_t out;
        ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
        ik_buffer_append_text(&out, ">");
        size_t columns = ik_width_append(&out, cuts[_i].text, cuts[_i].max, keep);
        ck_assert_str_eq(out.data + 1, expected[keep]);
        ck_assert_uint_eq(columns, ik_width(out.data + 1, out.len - 1));
        ck_assert_uint_le(columns, cuts[_i].max);
    }
}
END_TEST

/* --- long texts -------------------------------------------------------------------------- */

/* Neither stepping back nor fitting scans the whole text, which can be long. If they did, this test
 * would take hours. */
START_TEST(long_texts)
{
    enum { COUNT = 300000 };
    static const char *const units[] = {"x", HAN, E_ACUTE, FAMILY, "\u00e9"};
    const char *unit = units[_i];
    size_t len = COUNT * strlen(unit);
    char *text = ik_new_array(ctx, char, len);
    for (size_t i = 0; i < len; i++) {
        text[i] = unit[i % strlen(unit)];
    }
    size_t steps = 0;
    size_t fitting = 0;
    for (size_t end = len; end > 0; end = ik_width_step_back(text, end)) {
        steps++;
        fitting += ik_width_fit(text, end, 2, NULL) > 0;
    }
    ck_assert_uint_eq(steps, COUNT);
    ck_assert_uint_eq(fitting, COUNT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("width");
    TCase *tests = tcase_create("width");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, graphemes_forwards, 0, (int)LENGTH(texts));
    tcase_add_loop_test(tests, graphemes_backwards, 0, (int)LENGTH(texts));
    tcase_add_loop_test(tests, random_texts, 0, 20);
    tcase_add_test(tests, marks_behind_plain_text);
    tcase_add_loop_test(tests, cut_texts, 0, (int)LENGTH(cuts));
    tcase_add_loop_test(tests, long_texts, 0, 5);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
