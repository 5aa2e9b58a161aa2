/* Rows as bytes: what may stand in them, how styles are written, how they are measured and cut. */
#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "suite.h"
#include "terminal/cells.h"
#include "terminal/row.h"

#define BOLD ((ik_style_t){.bits = IK_STYLE_BOLD})
#define RED ((ik_style_t){.fg = IK_COLOUR_INDEX(1)})
#define FAMILY "\U0001f468\u200d\U0001f469\u200d\U0001f467"

static void *ctx;
static ik_theme_t theme;
static ik_row_t row;

static void set_up(void)
{
    ctx = talloc_new(NULL);
    ik_theme_init(&theme, IK_BACKGROUND_DARK, true, true);
    ik_row_init(&row, ctx, &theme);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static void add(ik_style_t style, const char *text)
{
    ik_row_add(&row, style, text, strlen(text));
}

/* Checks the bytes and the width of the row, also when measured again, and clears it. */
static void expect(const char *bytes, int width)
{
    ik_row_end(&row);
    ck_assert_str_eq(row.bytes.data, bytes);
    ck_assert_int_eq(row.width, width);
    ck_assert_int_eq(ik_row_width(row.bytes.data, row.bytes.len), width);
    ik_row_clear(&row);
}

/* ---- text */

START_TEST(text_is_kept)
{
    add((ik_style_t){0}, "plain, ");
    add((ik_style_t){0}, "");
    add((ik_style_t){0}, "日本 e\u0301");
    expect("plain, 日本 e\u0301", 13);
}
END_TEST

START_TEST(nothing_but_text_and_tabs_comes_through)
{
    static const char *const cases[][2] = {
        {"a\033[2Jb", "ab"},
        {"a\033]0;title\033\\b\a", "ab"},
        {"\033[31mred", "red"},
        {"two\nlines", "two lines"},
        {"two\nlines\r\nand three", "two lines and three"},
        {"nul\x01 del\x7f", "nul del"},
        {"c1 \xc2\x9b"
         "2J",
         "c1 2J"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        add((ik_style_t){0}, cases[i][0]);
        expect(cases[i][1], (int)strlen(cases[i][1]));
    }
    add((ik_style_t){0}, "bad \xff");
    expect("bad \uFFFD", 5);
    add((ik_style_t){0}, "rtl \u202e");
    expect("rtl <U+202E>", 12);
}
END_TEST

START_TEST(tabs_go_to_multiples_of_eight)
{
    add((ik_style_t){0}, "a\tb");
    add(BOLD, "\tc");
    expect("a\tb\033[1m\tc\033[m", 17);
    add((ik_style_t){0}, "12345678\t");
    expect("12345678\t", 16);
}
END_TEST

/* ---- styles */

START_TEST(only_what_changes_is_written)
{
    add(BOLD, "a");
    add(BOLD, "b");
    add((ik_style_t){.bits = IK_STYLE_BOLD, .fg = IK_COLOUR_INDEX(1)}, "c");
    add(RED, "d");
    add((ik_style_t){.bits = IK_STYLE_DIM}, "e");
    add((ik_style_t){0}, "f");
    expect("\033[1mab\033[31mc\033[22md\033[0;2me\033[mf", 6);
}
END_TEST

START_TEST(bold_and_dim_are_ended_together)
{
    add((ik_style_t){.bits = IK_STYLE_BOLD | IK_STYLE_DIM | IK_STYLE_ITALIC}, "a");
    add((ik_style_t){.bits = IK_STYLE_BOLD | IK_STYLE_ITALIC | IK_STYLE_UNDERLINE}, "b");
    expect("\033[1;2;3ma\033[22;1;4mb\033[m", 2);
}
END_TEST

START_TEST(all_kinds_of_colours)
{
    add((ik_style_t){.fg = IK_COLOUR_INDEX(7), .bg = IK_COLOUR_INDEX(0)}, "a");
    add((ik_style_t){.fg = IK_COLOUR_INDEX(8), .bg = IK_COLOUR_INDEX(15)}, "b");
    add((ik_style_t){.fg = IK_COLOUR_INDEX(16), .bg = IK_COLOUR_INDEX(255)}, "c");
    add((ik_style_t){.fg = IK_COLOUR_RGB(1, 20, 255)}, "d");
    expect("\033[37;40ma\033[90;107mb\033[38;5;16;48;5;255mc\033[0;38;2;1;20;255md\033[m", 4);
}
END_TEST

/* Whatever the way from one style to another, it leads there: the bytes are read again. */
START_TEST(every_change_leads_to_the_style)
{
    ik_style_t styles[64];
    size_t count = 0;
    for (uint32_t bits = 0; bits < 64; bits += 3) {
        styles[count++] = (ik_style_t){.bits = bits,
                                       .fg = bits % 2 ? IK_COLOUR_INDEX(bits * 4) : 0,
                                       .bg = bits % 4 == 2 ? IK_COLOUR_RGB(bits, 0, 9) : 0};
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            ik_buffer_t out;
            ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
            ik_pen_t pen = {.style = styles[i]};
            ik_pen_append_style(&out, styles[i], styles[j]);
            ck_assert_int_eq(out.len == 0, i == j);
            if (out.len > 0) {
                ik_pen_follow(&pen, out.data, out.len);
            }
            ck_assert(ik_style_equal(pen.style, styles[j]));
            ik_buffer_reset(&out);
        }
    }
}
END_TEST

START_TEST(without_colours_attributes_stay)
{
    ik_theme_init(&theme, IK_BACKGROUND_DARK, false, true);
    add((ik_style_t){.bits = IK_STYLE_BOLD, .fg = IK_COLOUR_RGB(1, 2, 3)}, "a");
    ik_row_add_role(&row, IK_ROLE_ERROR, "b");
    ik_row_add_role(&row, IK_ROLE_LINK, "c");
    ik_row_add_role(&row, IK_ROLE_ADDED, "d");
    expect("\033[1mab\033[0;4mc\033[md", 4);
}
END_TEST

START_TEST(without_escapes_there_is_text)
{
    ik_theme_init(&theme, IK_BACKGROUND_LIGHT, true, false);
    add(BOLD, "a");
    for (int role = 0; role < IK_ROLE_COUNT; role++) {
        ik_row_add_role(&row, (ik_role_t)role, "b");
    }
    ik_row_add_link(&row, RED, "c", 1, "https://example.org");
    ik_row_end(&row);
    ck_assert_ptr_null(strchr(row.bytes.data, '\033'));
    ck_assert_int_eq(row.width, IK_ROLE_COUNT + 2);
}
END_TEST

START_TEST(our_own_words)
{
    ik_row_add_format(&row, IK_ROLE_STRONG, "%d tools, %s", 3, "one of them \033[2Jbad");
    expect("\033[1m3 tools, one of them bad\033[m", 24);
}
END_TEST

/* ---- links */

static void link_to(const char *url)
{
    ik_row_add_link(&row, (ik_style_t){0}, "x", 1, url);
}

START_TEST(links_lead_where_they_may)
{
    link_to("https://example.org/a?b=c;d#e");
    expect("\033]8;;https://example.org/a?b=c;d#e\033\\x\033]8;;\033\\", 1);
    link_to("file://host/home/a b/\u00e9");
    expect("\033]8;;file://host/home/a%20b/%C3%A9\033\\x\033]8;;\033\\", 1);
    link_to("MAILTO:a@b.c");
    expect("\033]8;;MAILTO:a@b.c\033\\x\033]8;;\033\\", 1);
    link_to("http://a/\033\\\033[2J\a\n");
    expect("\033]8;;http://a/\\[2J\033\\x\033]8;;\033\\", 1);
}
END_TEST

START_TEST(other_addresses_are_text)
{
    static const char *const urls[] = {"",       "javascript:alert(1)", "ssh://host", "/a/path",
                                       "https:", "data:text/html,x"};
    char *endless = ik_strdup(ctx, "https://example.org/");
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        link_to(urls[i]);
        expect("x", 1);
    }
    for (int i = 0; i < 200; i++) {
        endless = talloc_strdup_append(endless, "0123456789");
    }
    link_to(endless);
    expect("x", 1);
}
END_TEST

/* ---- parts and cutting */

START_TEST(parts_are_graphemes_and_sequences)
{
    static const char text[] = "a\033[1me\u0301\t日\033]8;;http://x/\033\\" FAMILY "b";
    static const struct {
        size_t len;
        int columns;
        bool is_sequence;
    } parts[] = {{1, 1, false}, {4, 0, true},  {3, 1, false},  {1, 6, false},
                 {3, 2, false}, {16, 0, true}, {18, 2, false}, {1, 1, false}};
    size_t at = 0;
    int column = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        ik_row_part_t part = ik_row_next(text + at, sizeof(text) - 1 - at, column);
        ck_assert_uint_eq(part.len, parts[i].len);
        ck_assert_int_eq(part.columns, parts[i].columns);
        ck_assert_int_eq(part.is_sequence, parts[i].is_sequence);
        at += part.len;
        column += part.columns;
    }
    ck_assert_uint_eq(at, sizeof(text) - 1);
}
END_TEST

/* Also of sequences that are not whole. */
START_TEST(a_part_is_never_empty_and_never_more_than_there_is)
{
    static const char text[] = "\033[1;2mx\033]8;;http://a/\033\\y\xe6\x97\xff\x1b";
    for (size_t from = 0; from < sizeof(text) - 1; from++) {
        for (size_t to = from + 1; to < sizeof(text); to++) {
            char *piece = talloc_memdup(ctx, text + from, to - from);
            ik_row_part_t part = ik_row_next(piece, to - from, 0);
            ck_assert_uint_ge(part.len, 1);
            ck_assert_uint_le(part.len, to - from);
            talloc_free(piece);
        }
    }
}
END_TEST

static void fits(const char *text, int columns, const char *expected, int width)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&out, "");
    ck_assert_int_eq(ik_row_fit(&out, text, strlen(text), columns), width);
    ck_assert_str_eq(out.data, expected);
    ik_buffer_reset(&out);
}

START_TEST(rows_are_cut_to_columns)
{
    fits("abcdef", 6, "abcdef", 6);
    fits("abcdef", 5, "abcd…", 5);
    fits("abcdef", 1, "…", 1);
    fits("abcdef", 0, "", 0);
    fits("", 5, "", 0);
    fits("日本語", 6, "日本語", 6);
    fits("日本語", 5, "日本…", 5);
    fits("日本語", 4, "日…", 3);
    fits("a\tb", 9, "a       b", 9);
    fits("a\tb", 8, "a…", 2);
    fits("e\u0301e\u0301", 2, "e\u0301e\u0301", 2);
}
END_TEST

START_TEST(what_is_cut_leaves_nothing_in_force)
{
    fits("\033[1mabc\033[m", 3, "\033[1mabc\033[m", 3);
    fits("\033[1mabcd\033[m", 3, "\033[1mab…\033[m", 3);
    fits("ab\033[1mcd\033[m", 3, "ab\033[1m…\033[m", 3);
    fits("ab\033[1m\033[mcd", 3, "ab\033[1m\033[m…", 3);
    fits("\033]8;;http://x/\033\\abcd\033]8;;\033\\", 3, "\033]8;;http://x/\033\\ab…\033]8;;\033\\",
         3);
}
END_TEST

/* ---- differences */

/* Cells [from, to) of after are written over before; -1: the row is erased first. */
static void differs(const char *before, const char *after, int from, int to)
{
    ik_cells_t old;
    ik_cells_t new;
    ik_cells_init(&old, ctx);
    ik_cells_init(&new, ctx);
    ik_cells_read(&old, before, strlen(before));
    ik_cells_read(&new, after, strlen(after));
    ik_cells_change_t change = ik_cells_compare(&old, &new);
    ck_assert_int_eq(change.erase, from < 0);
    ck_assert_int_eq(change.from, from < 0 ? 0 : from);
    ck_assert_int_eq(change.to, from < 0 ? (int)new.count : to);
    talloc_free(old.items);
    talloc_free(new.items);
}

START_TEST(only_what_differs_is_written)
{
    differs("abc", "abc", 3, 3);
    differs("abc", "abcde", 3, 5);
    differs("", "abc", 0, 3);
    differs("abcdef", "abXdef", 2, 3);
    differs("abcdef", "abXYef", 2, 4);
    differs("abc", "ab", -1, 0);
    differs("日本x", "日語x", 1, 2);
    differs("日x", "abx", 0, 2);
    differs("\033[1mab\033[m", "\033[1ma\033[0;1mb\033[m", 2, 2);
    differs("abc", "a\033[1mb\033[mc", 1, 2);
}
END_TEST

START_TEST(graphemes_are_written_whole)
{
    differs("cafe", "cafe\u0301", 3, 4);
    differs("cafe\u0301", "cafes", 3, 5);
    differs("ab", "ab\033[1m\u0301\033[m", 1, 3);
    differs("a\033[1m\u0301\033[mc", "b\033[1m\u0301\033[mc", 0, 2);
}
END_TEST

/* Terminals disagree about the width of what is joined: writing begins there, and nothing that was
 * behind it is left. */
START_TEST(doubtful_widths_are_not_relied_on)
{
    differs("a" FAMILY "b", "a" FAMILY "bc", 1, 4);
    differs("ab", "ab" FAMILY, 2, 3);
    differs("a" FAMILY "bc", "a" FAMILY "xc", -1, 0);
    differs("a" FAMILY, "ax" FAMILY, -1, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("row");
    TCase *all = tcase_create("row");
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, text_is_kept);
    tcase_add_test(all, nothing_but_text_and_tabs_comes_through);
    tcase_add_test(all, tabs_go_to_multiples_of_eight);
    tcase_add_test(all, only_what_changes_is_written);
    tcase_add_test(all, bold_and_dim_are_ended_together);
    tcase_add_test(all, all_kinds_of_colours);
    tcase_add_test(all, every_change_leads_to_the_style);
    tcase_add_test(all, without_colours_attributes_stay);
    tcase_add_test(all, without_escapes_there_is_text);
    tcase_add_test(all, our_own_words);
    tcase_add_test(all, links_lead_where_they_may);
    tcase_add_test(all, other_addresses_are_text);
    tcase_add_test(all, parts_are_graphemes_and_sequences);
    tcase_add_test(all, a_part_is_never_empty_and_never_more_than_there_is);
    tcase_add_test(all, rows_are_cut_to_columns);
    tcase_add_test(all, what_is_cut_leaves_nothing_in_force);
    tcase_add_test(all, only_what_differs_is_written);
    tcase_add_test(all, graphemes_are_written_whole);
    tcase_add_test(all, doubtful_widths_are_not_relied_on);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
