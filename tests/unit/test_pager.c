/* The pager on made-up texts: the rows of a frame after some keys, and how much is rendered for
 * them. */

#include "base/alloc.h"
#include "base/array.h"
#include "suite.h"
#include "terminal/key_help.h"
#include "terminal/pager.h"
#include "terminal/pager_parts.h"
#include "terminal/pager_search.h"

enum { COLUMNS = 41, ROWS = 11, PAGE = ROWS - 1, MAX_ROWS = 100 };

static void *ctx;
static ik_theme_t theme;

/* A text: the rows of each part in one string, separated by newlines. */
typedef struct {
    const char **parts;
    size_t count;
    size_t renders;
    int columns; /* of the last request */
} text_t;

static void set_up(void)
{
    ctx = talloc_new(NULL);
    ik_theme_init(&theme, IK_BACKGROUND_DARK, true, true);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static void render_text(void *data, size_t part, int columns, ik_pager_row_fn on_row,
                        void *row_data)
{
    text_t *text = data;
    text->renders++;
    text->columns = columns;
    const char *at = text->parts[part];
    while (*at != '\0') {
        size_t len = strcspn(at, "\n");
        on_row(row_data, at, len);
        at += at[len] == '\n' ? len + 1 : len;
    }
}

static ik_pager_t *open_text(text_t *text, int columns, int rows)
{
    ik_pager_source_t source = {.count = text->count, .render = render_text, .data = text};
    return ik_pager_create(ctx, &theme, &source, "a title", columns, rows);
}

/* Parts of one row each: "line 0" and so on. */
static text_t numbered(size_t count)
{
    text_t text = {.parts = ik_new_array(ctx, const char *, count), .count = count};
    for (size_t i = 0; i < count; i++) {
        text.parts[i] = ik_sprintf(text.parts, "line %zu", i);
    }
    return text;
}

/* --- frames ------------------------------------------------------------------------------ */

typedef struct {
    char *rows[MAX_ROWS]; /* as drawn */
    char *plain[MAX_ROWS];
    int count;
} frame_t;

static char *without_sequences(const char *row)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_pager_part_append_plain(&out, row, strlen(row), false);
    return out.len == 0 ? ik_strdup(ctx, "") : ik_buffer_finish(&out);
}

/* A frame addresses each row once, from the first to the last, and erases it first. */
static frame_t draw(ik_pager_t *pager)
{
    frame_t frame = {.count = 0};
    ik_buffer_t bytes;
    ik_buffer_init(&bytes, ctx, IK_BUFFER_UNLIMITED);
    ik_pager_draw(pager, &bytes);
    const char *at = bytes.data;
    while (*at != '\0') {
        char start[32];
        int len = snprintf(start, sizeof(start), "\033[%d;1H\033[K", frame.count + 1);
        ck_assert_msg(strncmp(at, start, (size_t)len) == 0, "row %d begins with %.20s", frame.count,
                      at + 1);
        snprintf(start, sizeof(start), "\033[%d;1H", frame.count + 2);
        const char *end = strstr(at, start);
        end = end == NULL ? at + strlen(at) : end;
        frame.rows[frame.count] = ik_strndup(ctx, at + len, (size_t)(end - at) - (size_t)len);
        frame.plain[frame.count] = without_sequences(frame.rows[frame.count]);
        frame.count++;
        at = end;
    }
    return frame;
}

/* The style of each byte of a row: '.' plain, 'b' bold, 'm' a match, 'M' the current match. */
static char *looks(const char *row)
{
    ik_buffer_t out;
    ik_pen_t pen = {.link = NULL};
    ik_style_t match = ik_theme_style(&theme, IK_ROLE_MATCH);
    ik_style_t last = {match.bits | IK_STYLE_UNDERLINE, match.fg, match.bg};
    size_t len = strlen(row);
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    for (size_t at = 0; at < len;) {
        ik_row_part_t part = ik_row_next(row + at, len - at, 0);
        if (part.is_sequence) {
            ik_pen_follow(&pen, row + at, part.len);
        } else {
            char look = ik_style_equal(pen.style, match)  ? 'm'
                        : ik_style_equal(pen.style, last) ? 'M'
                        : pen.style.bits == IK_STYLE_BOLD ? 'b'
                        : pen.style.bits == 0             ? '.'
                                                          : '?';
            ik_buffer_append_byte(&out, look);
        }
        at += part.len;
    }
    ck_assert(ik_pen_equal(&pen, &(ik_pen_t){.link = NULL})); /* the style is reset at the end */
    return ik_buffer_finish(&out);
}

static void press(ik_pager_t *pager, ik_key_kind_t kind)
{
    ck_assert_int_eq(ik_pager_key(pager, &(ik_key_t){.kind = kind}), IK_PAGER_DRAW);
}

static ik_pager_action_t press_control(ik_pager_t *pager, char letter)
{
    ik_key_t key = {.kind = IK_KEY_CHAR, .modifiers = IK_KEY_CTRL, .code = (uint32_t)letter};
    return ik_pager_key(pager, &key);
}

static void control(ik_pager_t *pager, char letter)
{
    ck_assert_int_eq(press_control(pager, letter), IK_PAGER_DRAW);
}

/* False: the pager is to be closed. */
static bool type(ik_pager_t *pager, const char *text)
{
    ik_key_t key = {.kind = IK_KEY_TEXT, .text = text, .len = strlen(text)};
    return ik_pager_key(pager, &key) == IK_PAGER_DRAW;
}

static void search(ik_pager_t *pager, const char *pattern)
{
    ck_assert(type(pager, pattern));
    press(pager, IK_KEY_ENTER);
    while (ik_pager_is_searching(pager)) {
        ik_pager_continue(pager);
    }
}

/* The number of the first visible line. */
static int top(ik_pager_t *pager)
{
    int number = -1;
    frame_t frame = draw(pager);
    ck_assert_msg(sscanf(frame.plain[0], "line %d", &number) == 1, "first row: %s", frame.plain[0]);
    return number;
}

static const char *status(ik_pager_t *pager)
{
    frame_t frame = draw(pager);
    return frame.plain[frame.count - 1];
}

static void check_status(ik_pager_t *pager, const char *part)
{
    const char *line = status(pager);
    ck_assert_msg(strstr(line, part) != NULL, "'%s' is not in '%s'", part, line);
}

/* Keys, and what is seen after them. */
typedef struct {
    const char *keys; /* \r, \033, \177, ^C and ^U are the keys of these names; NULL: the end */
    int top;          /* -1: any */
    const char *status;
} step_t;

static void press_all(ik_pager_t *pager, const char *keys)
{
    for (const char *at = keys; *at != '\0';) {
        size_t len = strcspn(at, "\r\033\177\003\025");
        char text[64];
        snprintf(text, sizeof(text), "%.*s", (int)len, at);
        ck_assert(len == 0 || type(pager, text));
        at += len;
        if (*at == '\r' || *at == '\033' || *at == '\177') {
            press(pager, *at == '\r'     ? IK_KEY_ENTER
                         : *at == '\033' ? IK_KEY_ESCAPE
                                         : IK_KEY_BACKSPACE);
        } else if (*at != '\0') {
            control(pager, (char)(*at + 'a' - 1));
        }
        at += *at != '\0';
        while (ik_pager_is_searching(pager)) {
            ik_pager_continue(pager);
        }
    }
}

static void follow(text_t *text, const step_t *steps)
{
    ik_pager_t *pager = open_text(text, COLUMNS, ROWS);
    for (; steps->keys != NULL; steps++) {
        press_all(pager, steps->keys);
        ck_assert_msg(steps->top < 0 || top(pager) == steps->top, "'%s' leads to %d", steps->keys,
                      top(pager));
        ck_assert_msg(steps->status == NULL || strstr(status(pager), steps->status) != NULL,
                      "'%s': '%s' is not in '%s'", steps->keys, steps->status, status(pager));
    }
}

/* --- opening ----------------------------------------------------------------------------- */

START_TEST(it_opens_at_the_end)
{
    text_t text = numbered(50);
    ik_pager_t *pager = open_text(&text, COLUMNS, ROWS);
    frame_t frame = draw(pager);
    ck_assert_int_eq(frame.count, ROWS);
    ck_assert_str_eq(frame.plain[0], "line 40");
    ck_assert_str_eq(frame.plain[PAGE - 1], "line 49");
    check_status(pager, "a title");
    check_status(pager, "END");
    ck_assert_int_eq(text.columns, COLUMNS);
}
END_TEST

START_TEST(a_long_text_opens_with_a_page_of_parts)
{
    text_t text = numbered(100000);
    ik_pager_t *pager = open_text(&text, COLUMNS, ROWS);
    ck_assert_int_eq(top(pager), 100000 - PAGE);
    ck_assert_uint_le(text.renders, 2 * PAGE);
    type(pager, "g");
    ck_assert_int_eq(top(pager), 0);
    ck_assert_uint_le(text.renders, 6 * PAGE);
}
END_TEST

START_TEST(a_short_text_begins_at_the_top)
{
    text_t text = numbered(3);
    ik_pager_t *pager = open_text(&text, COLUMNS, ROWS);
    frame_t frame = draw(pager);
    ck_assert_str_eq(frame.plain[0], "line 0");
    ck_assert_str_eq(frame.plain[2], "line 2");
    ck_assert_str_eq(frame.plain[3], "");
    ck_assert_int_eq(frame.count, ROWS);
    type(pager, "jjkGg ");
    ck_assert_int_eq(top(pager), 0);
}
END_TEST

START_TEST(parts_without_rows_are_passed_over)
{
    text_t text = numbered(30);
    for (size_t i = 0; i < 30; i++) {
        if (i % 3 != 0 || i == 0) {
            text.parts[i] = "";
        }
    }
    ik_pager_t *pager = open_text(&text, COLUMNS, 4);
    ck_assert_int_eq(top(pager), 21);
    type(pager, "k");
    ck_assert_int_eq(top(pager), 18);
    type(pager, "g");
    ck_assert_int_eq(top(pager), 3);
}
END_TEST

START_TEST(nothing_at_all_can_be_read_too)
{
    text_t none = {.count = 0};
    text_t blank = {.parts = (const char *[]){"", ""}, .count = 2};
    text_t *texts[] = {&none, &blank};
    for (int i = 0; i < 2; i++) {
        ik_pager_t *pager = open_text(texts[i], COLUMNS, ROWS);
        ck_assert(type(pager, "jkfbdugGnNhh"));
        search(pager, "/x");
        search(pager, "?x");
        ik_pager_resize(pager, 20, 5);
        ck_assert_int_eq(draw(pager).count, 5);
    }
}
END_TEST

/* --- moving ------------------------------------------------------------------------------ */

START_TEST(keys_move_by_lines_pages_and_halves)
{
    text_t text = numbered(100);
    static const step_t steps[] = {
        {"g", 0, NULL},        {"j", 1, NULL},        {"jj", 3, NULL},
        {"k", 2, NULL},        {" ", 2 + PAGE, NULL}, {"f", 2 + 2 * PAGE, NULL},
        {"b", 2 + PAGE, NULL}, {"d", 7 + PAGE, NULL}, {"u", 2 + PAGE, NULL},
        {"G", 90, NULL},       {"j", 90, NULL},       {"g", 0, NULL},
        {"k", 0, NULL},        {">", 90, NULL},       {"<", 0, NULL},
        {NULL, 0, NULL},
    };
    follow(&text, steps);
    ik_pager_t *pager = open_text(&text, COLUMNS, ROWS);
    type(pager, "g");
    static const struct {
        ik_key_kind_t kind;
        int top;
    } keys[] = {{IK_KEY_DOWN, 1},       {IK_KEY_ENTER, 2},    {IK_KEY_UP, 1},
                {IK_KEY_PAGE_DOWN, 11}, {IK_KEY_PAGE_UP, 1},  {IK_KEY_END, 90},
                {IK_KEY_HOME, 0},       {IK_KEY_FUNCTION, 0}, {IK_KEY_FOCUS_OUT, 0}};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        press(pager, keys[i].kind);
        ck_assert_int_eq(top(pager), keys[i].top);
    }
    control(pager, 'd');
    ck_assert_int_eq(top(pager), PAGE / 2);
    control(pager, 'b');
    ck_assert_int_eq(top(pager), 0);
}
END_TEST

START_TEST(percentages_are_of_parts)
{
    text_t text = numbered(200);
    follow(&text, (const step_t[]){{"g", 0, " 4%"},
                                   {"         ", 90, " 49%"},
                                   {"G", 190, "END"},
                                   {"k", 189, " 99%"},
                                   {NULL, 0, NULL}});
}
END_TEST

START_TEST(it_is_closed_by_keys)
{
    text_t text = numbered(5);
    ck_assert(!type(open_text(&text, COLUMNS, ROWS), "q"));
    ck_assert(!type(open_text(&text, COLUMNS, ROWS), "jQ/"));
    ck_assert_int_eq(
        ik_pager_key(open_text(&text, COLUMNS, ROWS), &(ik_key_t){.kind = IK_KEY_ESCAPE}),
        IK_PAGER_CLOSE);
    ck_assert_int_eq(press_control(open_text(&text, COLUMNS, ROWS), 'c'), IK_PAGER_CLOSE);
    ck_assert(type(open_text(&text, COLUMNS, ROWS), "xyz"));
}
END_TEST

static bool shows(const frame_t *frame, const char *words)
{
    for (int i = 0; i < frame->count; i++) {
        if (strstr(frame->plain[i], words) != NULL) {
            return true;
        }
    }
    return false;
}

START_TEST(suspending_changes_nothing)
{
    static const char *const keys[] = {"gj", "h", "x/pattern"};
    text_t text = numbered(50);
    ik_pager_t *pager = open_text(&text, COLUMNS, ROWS);
    for (size_t i = 0; i < IK_LENGTH(keys); i++) {
        ck_assert(type(pager, keys[i]));
        frame_t before = draw(pager);
        ck_assert_int_eq(press_control(pager, 'z'), IK_PAGER_SUSPEND);
        frame_t after = draw(pager);
        for (int row = 0; row < ROWS; row++) {
            ck_assert_str_eq(after.rows[row], before.rows[row]);
        }
    }
}
END_TEST

START_TEST(help_is_shown_until_the_next_key)
{
    text_t text = numbered(50);
    ik_pager_t *pager = open_text(&text, 80, 20);
    int before = top(pager);
    type(pager, "h");
    frame_t help = draw(pager);
    size_t count;
    const ik_key_help_t *table = &ik_key_help_create(ctx, &count)[IK_BINDING_PAGER];
    for (size_t i = 0; i < table->count; i++) {
        ck_assert_msg(strstr(help.plain[i], table->rows[i].keys) != NULL &&
                          strstr(help.plain[i], table->rows[i].does) != NULL,
                      "%s", help.plain[i]);
    }
    ck_assert(!shows(&help, "line 4"));
    ck_assert(type(pager, "q")); /* closes only the help */
    help = draw(pager);
    ck_assert(shows(&help, "line 4"));
    ck_assert_int_eq(top(pager), before);
}
END_TEST

/* On a narrow screen both columns wrap, and nothing is cut off. */
START_TEST(help_is_wrapped)
{
    text_t text = numbered(50);
    for (int columns = 44; columns < 80; columns++) {
        ik_pager_t *pager = open_text(&text, columns, 40);
        type(pager, "h");
        frame_t help = draw(pager);
        ck_assert(shows(&help, "  j, Down, "));
        ck_assert(shows(&help, "Ctrl-O"));
        ck_assert(shows(&help, "closes the"));
        ck_assert_msg(!shows(&help, "…"), "%d columns", columns);
    }
    ik_pager_t *tiny = open_text(&text, 2, 3);
    type(tiny, "h");
    ck_assert_int_eq(draw(tiny).count, 3);
}
END_TEST

/* --- lines ------------------------------------------------------------------------------- */

/* Each line starts and ends in the default style. */
START_TEST(rows_are_divided_into_lines)
{
    static const struct {
        const char *rows;
        int columns;
        const char *lines;
    } cases[] = {
        {"0123456789abcdefghij\nshort\ntail", 9, "01234567\n89abcdef\nghij\nshort\ntail\n"},
        /* Wide and combining characters are not cut. */
        {"漢字漢字\ne\u0301e\u0301e\u0301e\u0301", 4,
         "漢\n字\n漢\n字\ne\u0301e\u0301e\u0301\ne\u0301\n"},
        {"a\tb\tc", COLUMNS, "a       b       c\n"},
        {"a\tb\tc", 13, "a       b\n        c\n"},
        /* Styles and links go on in the next line. */
        {"ab\033[1mcdefgh\033[m\nplain", 6, "ab\033[1mcde\033[m\n\033[1mfgh\033[m\nplain\n"},
        {"\033]8;;http://x.org/\033\\0123456789\033]8;;\033\\", 6,
         "\033]8;;http://x.org/\033\\01234\033]8;;\033\\\n"
         "\033]8;;http://x.org/\033\\56789\033]8;;\033\\\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        text_t text = {.parts = (const char *[]){cases[i].rows}, .count = 1};
        ik_pager_t *pager = open_text(&text, cases[i].columns, ROWS);
        frame_t frame = draw(pager);
        ik_buffer_t lines;
        ik_buffer_init(&lines, ctx, IK_BUFFER_UNLIMITED);
        for (int row = 0; row < PAGE && *frame.plain[row] != '\0'; row++) {
            ik_buffer_append_format(&lines, "%s\n", frame.rows[row]);
        }
        ck_assert_str_eq(lines.data, cases[i].lines);
        ik_pager_resize(pager, 1, ROWS); /* too narrow for anything: must not loop */
        draw(pager);
    }
}
END_TEST

/* --- searching --------------------------------------------------------------------------- */

static text_t fruit(void)
{
    text_t text = numbered(100);
    text.parts[20] = "line 20 Apple";
    text.parts[40] = "line 40 an apple and an Apple";
    text.parts[60] = "line 60 Größe";
    text.parts[70] = "line 70 GRÖSSE";
    return text;
}

START_TEST(a_search_goes_on_and_back)
{
    text_t text = fruit();
    follow(&text, (const step_t[]){{"g/apple\r", 20, NULL},
                                   {"n", 40, NULL},
                                   {"N", 20, NULL},
                                   {"G?apple\r", 40, NULL},
                                   {"n", 20, NULL},
                                   {"N", 40, NULL},
                                   {NULL, 0, NULL}});
}
END_TEST

START_TEST(what_is_on_the_screen_counts)
{
    text_t text = fruit();
    follow(&text, (const step_t[]){{"/line 99\r", 90, NULL},
                                   {"?line 95\r", 90, "END"}, /* it did not wrap around */
                                   {"g/line 0\r", 0, NULL},
                                   {NULL, 0, NULL}});
}
END_TEST

/* On the last page the match is not at the top: the next search starts from the match. */
START_TEST(matches_on_one_page_are_found_one_after_the_other)
{
    text_t text = numbered(20);
    text.parts[15] = "line 15 pear";
    text.parts[17] = "line 17 pear";
    ik_pager_t *pager = open_text(&text, COLUMNS, ROWS);
    search(pager, "/pear");
    frame_t first = draw(pager);
    type(pager, "n");
    frame_t second = draw(pager);
    ck_assert_str_eq(first.plain[0], second.plain[0]);
    ck_assert_str_eq(looks(first.rows[5]), "........MMMM");
    ck_assert_str_eq(looks(first.rows[7]), "........mmmm");
    ck_assert_str_eq(looks(second.rows[5]), "........mmmm");
    ck_assert_str_eq(looks(second.rows[7]), "........MMMM");
    type(pager, "n");
    check_status(pager, "Continued from the beginning");
    ck_assert_str_eq(looks(draw(pager).rows[5]), "........MMMM");
}
END_TEST

START_TEST(a_capital_counts)
{
    text_t text = fruit();
    follow(&text, (const step_t[]){{"g/an Apple\r", 40, NULL},
                                   {"g/an apple\r", 40, NULL},
                                   {"/aPPLE\r", -1, "Not found: aPPLE"},
                                   {"g/grö\r", 60, NULL},
                                   {"n", 70, NULL},
                                   {"g/GRÖ\r", 70, NULL},
                                   {NULL, 0, NULL}});
}
END_TEST

START_TEST(a_search_goes_round_once)
{
    text_t text = fruit();
    follow(&text, (const step_t[]){{"/apple\r", 20, "Continued from the beginning"},
                                   {"g?apple\r", 40, "Continued from the end"},
                                   {"/nowhere\r", 40, "Not found: nowhere"},
                                   {NULL, 0, NULL}});
    ik_pager_t *pager = open_text(&text, COLUMNS, ROWS);
    text.renders = 0;
    search(pager, "/nowhere");
    ck_assert_uint_le(text.renders, text.count + PAGE);
}
END_TEST

START_TEST(the_part_it_began_in_is_searched_to_its_other_end)
{
    text_t text = {.parts = (const char *[]){"x", "pear\n1\n2\n3\n4\n5\n6\n7\n8\napple"},
                   .count = 2};
    ik_pager_t *pager = open_text(&text, COLUMNS, 4);
    search(pager, "/pear");
    ck_assert_str_eq(draw(pager).plain[0], "pear");
    check_status(pager, "Continued from the beginning");
    search(pager, "?apple");
    ck_assert_str_eq(draw(pager).plain[2], "apple");
    check_status(pager, "Continued from the end");
}
END_TEST

START_TEST(matches_are_marked)
{
    text_t text = {.parts = (const char *[]){"one apple\033[1m, two ap\033[mples", "none"},
                   .count = 2};
    ik_pager_t *pager = open_text(&text, COLUMNS, ROWS);
    search(pager, "/apple");
    frame_t frame = draw(pager);
    ck_assert_str_eq(frame.plain[0], "one apple, two apples");
    ck_assert_str_eq(looks(frame.rows[0]), "....MMMMMbbbbbbMMMMM.");
    ck_assert_str_eq(frame.rows[1], "none");
    type(pager, "j"); /* moved: no current match, but still matches */
    ck_assert_str_eq(looks(draw(pager).rows[0]), "....mmmmmbbbbbbmmmmm.");
}
END_TEST

START_TEST(a_match_across_lines_is_marked_in_both)
{
    text_t text = {.parts = (const char *[]){"0123456789\nend"}, .count = 1};
    ik_pager_t *pager = open_text(&text, 6, ROWS);
    search(pager, "/3456");
    type(pager, "j");
    frame_t frame = draw(pager);
    ck_assert_str_eq(looks(frame.rows[0]), "...mm");
    ck_assert_str_eq(looks(frame.rows[1]), "mm...");
    ck_assert_str_eq(frame.rows[2], "end");
    pager = open_text(&text, 6, 3); /* its first line is above the screen */
    search(pager, "/3456");
    type(pager, "G");
    ck_assert_str_eq(looks(draw(pager).rows[0]), "mm...");
}
END_TEST

START_TEST(no_match_goes_from_one_row_to_the_next)
{
    text_t text = {.parts = (const char *[]){"ap\nple", "x"}, .count = 2};
    follow(&text, (const step_t[]){{"/apple\r", -1, "Not found"}, {NULL, 0, NULL}});
}
END_TEST

START_TEST(a_key_searches_only_so_many_parts)
{
    text_t text = numbered(20000);
    text.parts[5] = "line 5 treasure";
    ik_pager_t *pager = open_text(&text, COLUMNS, ROWS);
    text.renders = 0;
    type(pager, "?treasure");
    press(pager, IK_KEY_ENTER);
    ck_assert(ik_pager_is_searching(pager));
    ck_assert_uint_le(text.renders, IK_PAGER_SLICE_PARTS);
    check_status(pager, "Searching");
    ck_assert_int_eq(top(pager), 19990);
    while (ik_pager_is_searching(pager)) {
        text.renders = 0;
        ik_pager_continue(pager);
        ck_assert_uint_le(text.renders, IK_PAGER_SLICE_PARTS + 2 * PAGE);
    }
    ck_assert_int_eq(top(pager), 5);
}
END_TEST

START_TEST(a_key_ends_a_search)
{
    text_t text = numbered(20000);
    ik_pager_t *pager = open_text(&text, COLUMNS, ROWS);
    type(pager, "?treasure");
    press(pager, IK_KEY_ENTER);
    ck_assert(ik_pager_is_searching(pager));
    press(pager, IK_KEY_ESCAPE); /* does not close the pager */
    ck_assert(!ik_pager_is_searching(pager));
    check_status(pager, "Search interrupted");
    type(pager, "n");
    ck_assert(ik_pager_is_searching(pager));
    type(pager, "k");
    ck_assert(!ik_pager_is_searching(pager));
    ck_assert_int_eq(top(pager), 19989);
    ik_pager_continue(pager);
    ck_assert_int_eq(top(pager), 19989);
}
END_TEST

/* --- the prompt -------------------------------------------------------------------------- */

START_TEST(a_pattern_is_typed_in_the_last_row)
{
    text_t text = fruit();
    follow(&text, (const step_t[]){{"g/apq", -1, "/apq"},
                                   {"\177pl\r", 20, NULL},
                                   {"?x", -1, "?x"},
                                   {"\025", -1, "?"},
                                   {"\r", 20, NULL}, /* the last pattern, backward */
                                   {"/zz\033", -1, "a title"},
                                   {"/\177", -1, "a title"},
                                   {"/\003", -1, "a title"},
                                   {NULL, 0, NULL}});
    ik_pager_t *pager = open_text(&text, COLUMNS, ROWS);
    type(pager, "/ap");
    ik_pager_key(pager, &(ik_key_t){.kind = IK_KEY_PASTE, .text = "p\x1b[31ml", .len = 7});
    ck_assert_str_eq(status(pager), "/appl");
    control(pager, 'u');
    ck_assert_str_eq(status(pager), "/");
}
END_TEST

START_TEST(of_a_long_pattern_the_end_is_seen)
{
    text_t text = numbered(5);
    ik_pager_t *pager = open_text(&text, 12, ROWS);
    type(pager, "/0123456789abcdef");
    ck_assert_str_eq(status(pager), "/…789abcdef");
    for (int i = 0; i < 1000; i++) {
        type(pager, "ö"); /* text beyond the maximum is refused, not cut */
    }
    ck_assert_str_eq(status(pager), "/…ööööööööö");
    press(pager, IK_KEY_ENTER);
    check_status(pager, "Not found");
}
END_TEST

START_TEST(without_a_pattern_there_is_nothing_to_find)
{
    text_t text = numbered(5);
    follow(&text, (const step_t[]){
                      {"n", 0, "No previous search"}, {"/\r", 0, "a title"}, {NULL, 0, NULL}});
}
END_TEST

/* --- other sizes ------------------------------------------------------------------------- */

START_TEST(another_size_keeps_the_place)
{
    text_t text = numbered(100);
    ik_pager_t *pager = open_text(&text, COLUMNS, ROWS);
    ik_pager_resize(pager, 20, 6);
    ck_assert_int_eq(top(pager), 95); /* stays at the end */
    ck_assert_int_eq(text.columns, 20);
    ck_assert_int_eq(draw(pager).count, 6);
    type(pager, "gjjj");
    ik_pager_resize(pager, 5, 30);
    ck_assert_str_eq(draw(pager).plain[0], "line");
    ik_pager_resize(pager, COLUMNS, ROWS);
    ck_assert_int_eq(top(pager), 3);
    ik_pager_resize(pager, COLUMNS, 1);
    ck_assert_int_eq(draw(pager).count, 1);
}
END_TEST

START_TEST(inside_a_long_part_about_the_same_place_stays)
{
    ik_buffer_t rows;
    ik_buffer_init(&rows, ctx, IK_BUFFER_UNLIMITED);
    for (int i = 0; i < 1000; i++) {
        ik_buffer_append_format(&rows, "line %d of sixteen\n", i + 1000);
    }
    text_t text = {.parts = (const char *[]){rows.data}, .count = 1};
    ik_pager_t *pager = open_text(&text, COLUMNS, ROWS);
    type(pager, "g");
    search(pager, "/line 1500");
    ik_pager_resize(pager, 11, ROWS); /* each row is two lines now */
    int number;
    ck_assert_int_eq(sscanf(draw(pager).plain[0], "line %d", &number), 1);
    ck_assert_int_eq(number, 1500);
}
END_TEST

/* --- memory ------------------------------------------------------------------------------ */

/* Parts of many short rows: most of their memory is the table of lines. */
START_TEST(memory_is_bounded)
{
    enum { COUNT = 300, LINES = 2000 };
    char *rows = ik_new_array(ctx, char, 2 * LINES + 1);
    for (size_t i = 0; i < LINES; i++) {
        memcpy(rows + 2 * i, "x\n", 2);
    }
    text_t text = {.parts = ik_new_array(ctx, const char *, COUNT), .count = COUNT};
    for (size_t i = 0; i < COUNT; i++) {
        text.parts[i] = rows;
    }
    ik_pager_t *pager = open_text(&text, COLUMNS, LINES / 2 + 1);
    size_t most = 0;
    for (int i = 0; i < 2 * COUNT; i++) {
        type(pager, "b");
        size_t now = talloc_total_size(pager);
        most = now > most ? now : most;
    }
    ck_assert_uint_ge(text.renders, COUNT);
    ck_assert_uint_gt(most, IK_PAGER_BYTES_MAX / 2);
    ck_assert_uint_lt(most, IK_PAGER_BYTES_MAX + IK_PAGER_BYTES_MAX / 4);
}
END_TEST

START_TEST(what_is_kept_is_not_rendered_again)
{
    text_t text = numbered(1000);
    ik_pager_t *pager = open_text(&text, COLUMNS, ROWS);
    size_t before = text.renders;
    ck_assert_uint_eq(before, PAGE);
    type(pager, "kkkkkjjjjj");
    ck_assert_uint_eq(text.renders, before + 5);
    draw(pager);
    ck_assert_uint_eq(text.renders, before + 5);
    type(pager, "g");
    for (int i = 0; i < 40; i++) {
        type(pager, " ");
    }
    size_t kept = text.renders;
    type(pager, "bbbbb"); /* recently used parts are kept */
    ck_assert_uint_eq(text.renders, kept);
    type(pager, "G"); /* the last part was dropped meanwhile */
    ck_assert_uint_ge(text.renders, before + 5 + 40 * PAGE + PAGE);
}
END_TEST

static TCase *add_case(Suite *suite, const char *name)
{
    TCase *tests = tcase_create(name);
    tcase_set_timeout(tests, 30);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    suite_add_tcase(suite, tests);
    return tests;
}

int main(void)
{
    Suite *suite = suite_create("pager");
    TCase *tests = add_case(suite, "reading");
    tcase_add_test(tests, it_opens_at_the_end);
    tcase_add_test(tests, a_long_text_opens_with_a_page_of_parts);
    tcase_add_test(tests, a_short_text_begins_at_the_top);
    tcase_add_test(tests, parts_without_rows_are_passed_over);
    tcase_add_test(tests, nothing_at_all_can_be_read_too);
    tcase_add_test(tests, keys_move_by_lines_pages_and_halves);
    tcase_add_test(tests, percentages_are_of_parts);
    tcase_add_test(tests, it_is_closed_by_keys);
    tcase_add_test(tests, suspending_changes_nothing);
    tcase_add_test(tests, help_is_shown_until_the_next_key);
    tcase_add_test(tests, help_is_wrapped);
    tests = add_case(suite, "lines");
    tcase_add_test(tests, rows_are_divided_into_lines);
    tcase_add_test(tests, another_size_keeps_the_place);
    tcase_add_test(tests, inside_a_long_part_about_the_same_place_stays);
    tcase_add_test(tests, memory_is_bounded);
    tcase_add_test(tests, what_is_kept_is_not_rendered_again);
    tests = add_case(suite, "searching");
    tcase_add_test(tests, a_search_goes_on_and_back);
    tcase_add_test(tests, what_is_on_the_screen_counts);
    tcase_add_test(tests, matches_on_one_page_are_found_one_after_the_other);
    tcase_add_test(tests, a_capital_counts);
    tcase_add_test(tests, a_search_goes_round_once);
    tcase_add_test(tests, the_part_it_began_in_is_searched_to_its_other_end);
    tcase_add_test(tests, matches_are_marked);
    tcase_add_test(tests, a_match_across_lines_is_marked_in_both);
    tcase_add_test(tests, no_match_goes_from_one_row_to_the_next);
    tcase_add_test(tests, a_key_searches_only_so_many_parts);
    tcase_add_test(tests, a_key_ends_a_search);
    tcase_add_test(tests, a_pattern_is_typed_in_the_last_row);
    tcase_add_test(tests, of_a_long_pattern_the_end_is_seen);
    tcase_add_test(tests, without_a_pattern_there_is_nothing_to_find);
    return suite_run(suite);
}
