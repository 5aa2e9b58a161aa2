#include "conversation/figure.h"

#include <stdlib.h>
#include <talloc.h>
#include <time.h>

#include "suite.h"

START_TEST(counts_are_grouped)
{
    ck_assert_str_eq(ik_figure_of_count(0).text, "0");
    ck_assert_str_eq(ik_figure_of_count(999).text, "999");
    ck_assert_str_eq(ik_figure_of_count(1000).text, "1,000");
    ck_assert_str_eq(ik_figure_of_count(INT64_MAX).text, "9,223,372,036,854,775,807");
    ck_assert_str_eq(ik_figure_of_count(-1).text, "-");
}
END_TEST

START_TEST(tokens_are_short)
{
    static const struct {
        int64_t in;
        int64_t out;
        const char *text;
    } rows[] = {
        {-1, -1, "-"},
        {812, -1, "812"},
        {-1, 999, "999"},
        {400, 600, "1.0k"},
        {999999, 0, "999.9k"},
        {1000000, 0, "1.0M"},
        {INT64_MAX, 1, "9223372036854.7M"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ik_usage_t usage = IK_USAGE_NONE;
        usage.in = rows[i].in;
        usage.out = rows[i].out;
        ck_assert_str_eq(ik_figure_of_tokens(&usage).text, rows[i].text);
    }
}
END_TEST

START_TEST(windows_are_short)
{
    static const struct {
        int64_t tokens;
        const char *text;
    } rows[] = {
        {0, "0"},         {999, "999"},      {1000, "1k"},      {8192, "8k"},
        {131072, "131k"}, {200000, "200k"},  {999999, "999k"},  {1000000, "1M"},
        {1048576, "1M"},  {1500000, "1.5M"}, {10000000, "10M"}, {INT64_MAX, "9223372036854.7M"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_str_eq(ik_figure_of_window(rows[i].tokens).text, rows[i].text);
    }
}
END_TEST

START_TEST(usage_has_what_is_known)
{
    static const struct {
        ik_usage_t usage;
        const char *text;
    } rows[] = {
        {{-1, -1, -1, -1, -1}, ""},
        {{-1, 5, -1, -1, -1}, ""},
        {{12345, 12000, -1, 678, -1}, "12,345 in (12,000 cached), 678 out"},
        {{1, 0, -1, -1, -1}, "1 in"},
        {{-1, -1, -1, 2, -1}, "2 out"},
        {{INT64_MAX, INT64_MAX, -1, INT64_MAX, -1},
         "9,223,372,036,854,775,807 in (9,223,372,036,854,775,807 cached), "
         "9,223,372,036,854,775,807 out"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *text = ik_figure_format_usage(NULL, &rows[i].usage);
        ck_assert_str_eq(text, rows[i].text);
        talloc_free(text);
    }
}
END_TEST

START_TEST(a_cost_below_a_cent_has_more_digits)
{
    ck_assert_str_eq(ik_figure_of_cost(-1).text, "-");
    ck_assert_str_eq(ik_figure_of_cost(0).text, "$0.00");
    ck_assert_str_eq(ik_figure_of_cost(0.00123).text, "$0.0012");
    ck_assert_str_eq(ik_figure_of_cost(0.01).text, "$0.01");
    ck_assert_str_eq(ik_figure_of_cost(12.345).text, "$12.35");
}
END_TEST

START_TEST(sizes_and_durations_have_units)
{
    ck_assert_str_eq(ik_figure_of_size(999).text, "999 bytes");
    ck_assert_str_eq(ik_figure_of_size(1500).text, "2 KB");
    ck_assert_str_eq(ik_figure_of_size(1250000).text, "1.2 MB");
    ck_assert_str_eq(ik_figure_of_duration(999).text, "999 ms");
    ck_assert_str_eq(ik_figure_of_duration(2480).text, "2.5 s");
    ck_assert_str_eq(ik_figure_of_duration(200000).text, "3 min 20 s");
}
END_TEST

START_TEST(times_are_dates_of_four_digit_years)
{
    static const struct {
        int64_t us;
        const char *minute;
        const char *second;
        const char *time;
    } rows[] = {
        {0, "1970-01-01 00:00 UTC", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"},
        {-1, "1969-12-31 23:59 UTC", "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.999999Z"},
        {INT64_C(1700000000999999), "2023-11-14 22:13 UTC", "2023-11-14T22:13:20Z",
         "2023-11-14T22:13:20.999999Z"},
        {INT64_MAX, "", "", ""},
        {INT64_MIN, "", "", ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_str_eq(ik_figure_of_utc_minute(rows[i].us).text, rows[i].minute);
        ck_assert_str_eq(ik_figure_of_utc_second(rows[i].us).text, rows[i].second);
        ck_assert_str_eq(ik_figure_of_utc_time(rows[i].us).text, rows[i].time);
    }
    setenv("TZ", "UTC-2", 1); /* two hours east */
    tzset();
    ck_assert_str_eq(ik_figure_of_local_time(0).text, "1970-01-01 02:00:00");
}
END_TEST

START_TEST(ages_have_one_unit)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } rows[] = {
        {-5, "0s"},          {59, "59s"},        {60, "1m"},          {7200, "2h"},
        {13 * 86400, "13d"}, {14 * 86400, "2w"}, {365 * 86400, "1y"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_str_eq(ik_figure_of_age(0, rows[i].seconds * 1000000).text, rows[i].text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("figure");
    TCase *tests = tcase_create("figure");
    tcase_add_test(tests, counts_are_grouped);
    tcase_add_test(tests, tokens_are_short);
    tcase_add_test(tests, windows_are_short);
    tcase_add_test(tests, usage_has_what_is_known);
    tcase_add_test(tests, a_cost_below_a_cent_has_more_digits);
    tcase_add_test(tests, sizes_and_durations_have_units);
    tcase_add_test(tests, times_are_dates_of_four_digit_years);
    tcase_add_test(tests, ages_have_one_unit);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
