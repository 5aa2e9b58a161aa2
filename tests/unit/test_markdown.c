/* Markdown as rows: what each construct looks like, when it is given, and that neither depends on
 * the pieces in which the text came. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/width.h"
#include "suite.h"
#include "terminal/markdown.h"

enum { COLUMNS = 41, MAX_OPEN = 8 };

static void *ctx;
static ik_theme_t bare;
static ik_theme_t coloured;
static ik_buffer_t given; /* rows, each with a '\n' behind it */
static ik_buffer_t open;

static void set_up(void)
{
    ctx = talloc_new(NULL);
    ik_theme_init(&bare, IK_BACKGROUND_DARK, false, false);
    ik_theme_init(&coloured, IK_BACKGROUND_DARK, true, true);
    ik_buffer_init(&given, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&open, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&given, "");
    ik_buffer_append_text(&open, "");
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static void clear(ik_buffer_t *rows)
{
    rows->len = 0;
    ik_buffer_append_text(rows, "");
}

static void on_row(void *data, const char *bytes, size_t len)
{
    ck_assert_ptr_null(memchr(bytes, '\n', len));
    ik_buffer_append(data, bytes, len);
    ik_buffer_append_byte(data, '\n');
}

static ik_markdown_t *create(const ik_theme_t *theme, int columns, int max_open)
{
    ik_markdown_options_t options = {
        .theme = theme, .columns = columns, .max_open = max_open, .on_row = on_row, .data = &given};
    clear(&given);
    return ik_markdown_create(ctx, &options);
}

static void feed(ik_markdown_t *markdown, const char *text)
{
    ik_markdown_feed(markdown, text, strlen(text));
}

/* The open rows, without an assertion on them. */
static const char *draw(ik_markdown_t *markdown)
{
    clear(&open);
    ik_markdown_draw_open(markdown, on_row, &open);
    return open.data;
}

static const char *render_in(const ik_theme_t *theme, const char *text, int columns, int max_open)
{
    ik_markdown_t *markdown = create(theme, columns, max_open);
    feed(markdown, text);
    ik_markdown_end(markdown);
    talloc_free(markdown);
    return given.data;
}

static const char *render(const char *text)
{
    return render_in(&bare, text, COLUMNS, 100);
}

/* --- what it looks like ------------------------------------------------------------------ */

static const struct {
    const char *text;
    const char *rows;
} documents[] = {
    {"", ""},
    {"\n\n  \n", ""},
    {"words", "words\n"},
    {"a\nb\n\n\n\nc\n\n", "a b\n\nc\n"},
    {"one two three four five six seven eight nine ten",
     "one two three four five six seven eight\nnine ten\n"},
    {"hard\\\nbreak  \nand <br>more", "hard\nbreak\nand\nmore\n"},
    /* inline */
    {"*a* **b** ~~c~~ `d` ***e***", "a b c d e\n"},
    {"snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4\n"},
    {"\\*a\\* &amp; &copy; &#65;&#x42; &nope; &#0;", "*a* & © AB &nope; &#0;\n"},
    {"a&#10;b&#27;[31mc&#x202e;d", "a b[31mc<U+202E>d\n"},
    {"`a\nb` and ``c`d``", "a b and c`d\n"},
    {"<b>bold</b> <!-- x --> 1 < 2", "<b>bold</b> <!-- x --> 1 < 2\n"},
    {"a\tb", "a b\n"},
    /* links */
    {"[text](http://a.b/c \"title\")", "text (http://a.b/c)\n"},
    {"<http://a.b> https://c.d/e. [f.g](https://f.g/)", "http://a.b https://c.d/e. f.g\n"},
    {"<me@a.b>", "me@a.b\n"},
    {"![alt](i.png) ![](j.png) [](k)", "alt (i.png) j.png k\n"},
    {"[![alt](i.png)](http://a)", "alt (http://a)\n"},
    {"[a&amp;b](http://a?b&amp;c)", "a&b (http://a?b&c)\n"},
    {"http://b.c/~~d~~ e *f http://g.h/*i* j", "http://b.c/~~d e *f http://g.h/*i j\n"},
    {"[a][b] and [c]", "[a][b] and [c]\n"},
    {"[b]: http://a", "[b]: http://a\n"},
    /* headings */
    {"# One\n## Two ##\ntext\n### C#\n#none\n####### none",
     "# One\n\n## Two\n\ntext\n\n### C#\n\n#none ####### none\n"},
    {"One\n===\nTwo\nlines\n---\n", "# One\n\n## Two lines\n"},
    {"## one two three four five six seven eight nine",
     "## one two three four five six seven\n   eight nine\n"},
    {"#", ""},
    /* rules */
    {"a\n\n---\n***\n_ _ _\n", "a\n\n────────────────────────────────────────\n\n"
                               "────────────────────────────────────────\n\n"
                               "────────────────────────────────────────\n"},
    /* lists */
    {"- a\n- b\n* c\n", "• a\n• b\n• c\n"},
    {"text\n- a\n\n- b\n\ntext", "text\n\n• a\n\n• b\n\ntext\n"},
    {"- a\n  - b\n    - c\n  - d\n- e", "• a\n  • b\n    • c\n  • d\n• e\n"},
    {"3. a\n3. b\n3) c", "3. a\n4. b\n3) c\n"},
    {"9. a\n10. b\n    c\n\n    d\n", "9. a\n10. b c\n\n    d\n"},
    {"- one two three four five six seven eight nine ten\n  - one two three four five six seven "
     "eight",
     "• one two three four five six seven\n  eight nine ten\n"
     "  • one two three four five six seven\n    eight\n"},
    {"- a\nlazy\n- b\n\nnot lazy", "• a lazy\n• b\n\nnot lazy\n"},
    {"-\n- a\n-\n", "•\n• a\n•\n"},
    {"-\n  a\n-\n\n  b", "• a\n•\n\nb\n"},
    {"- [ ] a\n- [x] b\n- [X] c\n- [y] d\n", "[ ] a\n[x] b\n[x] c\n• [y] d\n"},
    {"text\n2. no list\n-\n1. list", "## text 2. no list\n\n1. list\n"},
    {"- - a\n  - b\n1. - c", "• • a\n  • b\n1. • c\n"},
    {"- # head\n- > quote\n- ***",
     "• # head\n• │ quote\n• ──────────────────────────────────────\n"},
    {"1. a\n\n   b\n2. c", "1. a\n\n   b\n2. c\n"},
    /* quotes */
    {"> a\n> b\n>\n> c\n\n> d", "│ a b\n│\n│ c\n\n│ d\n"},
    {"> a\nlazy\n> > b\n> c\n\nd", "│ a lazy\n│\n│ │ b c\n\nd\n"},
    {"> - a\n> - b\n>\n>   c", "│ • a\n│ • b\n│\n│   c\n"},
    /* code */
    {"```\na  b\n\n    c\n```\nd", "a  b\n\n    c\n\nd\n"},
    {"text\n```c  x\nint a;\n~~~\n``\n````\ntext", "text\n\nc\nint a;\n~~~\n``\n\ntext\n"},
    {"~~~\na\n```\n~~~", "a\n```\n"},
    {"```\nopen", "open\n"},
    {"  ```\n    a\n  b\n c\n  ```", "  a\nb\nc\n"},
    {"1. a\n   ```sh\n   ls\n     -l\n\n   x\n   ```\n   b\n2. c",
     "1. a\nsh\nls\n  -l\n\nx\n   b\n2. c\n"},
    {"- ```\n  a\n  ```\n- b", "•\na\n• b\n"},
    {"> ```\n> a\nb", "a\n\nb\n"},
    {"- ```\n  a\nb", "•\na\n\nb\n"},
    {"``` a`b\nc", "``` a`b c\n"},
    {"a\n    b\n\n    c\n\n\n      d\n\ne", "a b\n\nc\n\n\n  d\n\ne\n"},
    {"```\n\ta\n```\n- ```\n\tb\n  ```", "\ta\n\n•\n  b\n"},
    {"a\n    ```\n    b", "a ``` b\n"},
    {"- a\n\n      b\n\n  c\n", "• a\n\nb\n\n  c\n"},
    /* lines that are long before it is known what they are */
    {"a\n\n-----------------------------------------------------------------------------------\nb",
     "a\n\n────────────────────────────────────────\n\nb\n"},
    {"```c an information that is longer than anybody needs to recognise it for one\na\n```",
     "c\na\n"},
    {"|a|b|\n|:-----------------------------------|-----------------------------------------:|\n",
     "a  b\n─  ─\n"},
    /* tables */
    {"| a | b |\n|---|--:|\n| ccc | d |\n| e | fff |\ntext",
     "a      b\n───  ───\nccc    d\ne    fff\n\ntext\n"},
    {"a|b|c\n:-:|:-|-\n12345|x\n1|2|3|4\n", "  a    b  c\n─────  ─  ─\n12345  x\n  1    2  3\n"},
    {"|a\\|b|`c|d`|\n|-|-|\n|*e*||\n", "a|b  c|d\n───  ───\ne\n"},
    {"| a | b |\n|---|\n", "| a | b | |---|\n"},
    {"| a |\n|---|\n", "a\n─\n"},
    {"a\nb | c\n--|--\n", "a b | c --|--\n"},
    {"| key | value |\n|--|--|\n| a | one two three four five six seven eight nine ten |\n| b | "
     "x<br>y |",
     "key  value\n───  ───────────────────────────────────\n"
     "a    one two three four five six seven\n     eight nine ten\nb    x\n     y\n"},
    {"| one two three four | five six seven eight | nine ten |\n|--|--|--|\n| a | b | c |",
     "one two three   five six seven  nine ten\nfour            eight\n"
     "──────────────  ──────────────  ────────\na               b               c\n"},
    {"|a|b|c|d|e|f|g|h|i|j|k|\n|-|-|-|-|-|-|-|-|-|-|-|\n",
     "|a|b|c|d|e|f|g|h|i|j|k|\n|-|-|-|-|-|-|-|-|-|-|-|\n"},
    {"- | a |\n  |---|\n  | b |\n- c", "• a\n  ─\n  b\n• c\n"},
    /* foreign bytes */
    {"a\033[31mb\033[2Jc\x07 \xff\r\nd", "abc \xef\xbf\xbd d\n"},
    {"```\na\033]0;x\007b\xe2\x80\xae"
     "c\n```",
     "ab<U+202E>c\n"},
    /* widths */
    {"漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢字、a",
     "漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢\n字、a\n"},
    {"&#x202e;&#x202e;&#x202e;&#x202e;&#x202e;&#x202e;",
     "<U+202E><U+202E><U+202E><U+202E><U+202E>\n<U+202E>\n"},
    {"漢字かな交じり文は文字の間で折り返しますが、句読点で行は始まりません。",
     "漢字かな交じり文は文字の間で折り返します\nが、句読点で行は始まりません。\n"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b",
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\naaaaaaaaaa b\n"},
};

START_TEST(constructs_have_their_rows)
{
    const char *rows = render(documents[_i].text);
    ck_assert_msg(strcmp(rows, documents[_i].rows) == 0, "%s\nbecame\n%s\nand not\n%s",
                  documents[_i].text, rows, documents[_i].rows);
}
END_TEST

/* What is expected, made by the rows' own means. */
typedef struct {
    ik_role_t role;
    const char *text;
    const char *url;
} piece_t;

static char *expect(const piece_t *pieces, size_t count)
{
    ik_row_t row;
    ik_row_init(&row, ctx, &coloured);
    for (size_t i = 0; i < count; i++) {
        ik_style_t style = ik_theme_style(&coloured, pieces[i].role);
        if (pieces[i].url == NULL) {
            ik_row_add(&row, style, pieces[i].text, strlen(pieces[i].text));
        } else {
            ik_row_add_link(&row, style, pieces[i].text, strlen(pieces[i].text), pieces[i].url);
        }
    }
    ik_row_end(&row);
    return ik_sprintf(ctx, "%s\n", row.bytes.data);
}

#define ASSERT_STYLED(text, ...)                                                                   \
    do {                                                                                           \
        const piece_t pieces[] = {__VA_ARGS__};                                                    \
        ck_assert_str_eq(render_in(&coloured, text, COLUMNS, 100),                                 \
                         expect(pieces, sizeof(pieces) / sizeof(pieces[0])));                      \
    } while (0)

START_TEST(parts_have_their_style)
{
    ASSERT_STYLED("a *b* **c** `d` ~~e~~", {IK_ROLE_TEXT, "a ", NULL},
                  {IK_ROLE_EMPHASIS, "b", NULL}, {IK_ROLE_TEXT, " ", NULL},
                  {IK_ROLE_STRONG, "c", NULL}, {IK_ROLE_TEXT, " ", NULL}, {IK_ROLE_CODE, "d", NULL},
                  {IK_ROLE_TEXT, " ", NULL}, {IK_ROLE_STRIKE, "e", NULL});
    ASSERT_STYLED("[a](http://b)", {IK_ROLE_LINK, "a", "http://b"},
                  {IK_ROLE_DIM, " (http://b)", "http://b"});
    ASSERT_STYLED("[![a](http://i)](http://b)", {IK_ROLE_LINK, "a", "http://b"},
                  {IK_ROLE_DIM, " (http://b)", "http://b"});
    ASSERT_STYLED("<http://b>", {IK_ROLE_LINK, "http://b", "http://b"});
    ASSERT_STYLED("# a", {IK_ROLE_DIM, "#", NULL}, {IK_ROLE_TEXT, " ", NULL},
                  {IK_ROLE_HEADING, "a", NULL});
    ASSERT_STYLED("> a", {IK_ROLE_RULE, "│", NULL}, {IK_ROLE_TEXT, " ", NULL},
                  {IK_ROLE_QUOTE, "a", NULL});
    ASSERT_STYLED("- [x] a", {IK_ROLE_GOOD, "[x]", NULL}, {IK_ROLE_TEXT, " a", NULL});
    ASSERT_STYLED("---", {IK_ROLE_RULE, "────────────────────────────────────────", NULL});
    ASSERT_STYLED("```\nx\033[1my\n```", {IK_ROLE_TEXT, "xy", NULL});
}
END_TEST

START_TEST(code_is_coloured_over_its_lines)
{
    const piece_t rows[] = {{IK_ROLE_DIM, "c", NULL},
                            {IK_ROLE_COMMENT, "/* a", NULL},
                            {IK_ROLE_COMMENT, "int */", NULL},
                            {IK_ROLE_KEYWORD, "int", NULL}};
    char *expected = ik_strdup(ctx, "");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        expected = talloc_strdup_append(expected, expect(&rows[i], 1));
    }
    ck_assert_str_eq(render_in(&coloured, "```c\n/* a\nint */\nint\n```", COLUMNS, 100), expected);
    ASSERT_STYLED("    + a", {IK_ROLE_TEXT, "+ a", NULL});
    ck_assert_str_eq(render_in(&coloured, "~~~diff\n+ a\n~~~", COLUMNS, 100),
                     ik_sprintf(ctx, "%s%s", expect(&(piece_t){IK_ROLE_DIM, "diff", NULL}, 1),
                                expect(&(piece_t){IK_ROLE_ADDED, "+ a", NULL}, 1)));
}
END_TEST

START_TEST(escapes_are_the_themes)
{
    render_in(&bare, "# a\n**b** [c](http://d)\n```c\nint\n```\n|a|\n|-|\n", COLUMNS, 100);
    ck_assert_ptr_null(strchr(given.data, '\033'));
}
END_TEST

/* --- when it is given -------------------------------------------------------------------- */

START_TEST(blocks_are_given_when_they_cannot_change)
{
    ik_markdown_t *markdown = create(&bare, COLUMNS, MAX_OPEN);
    feed(markdown, "a");
    ck_assert_str_eq(given.data, "");
    ck_assert_str_eq(draw(markdown), "a\n");
    feed(markdown, "\nb\n");
    ck_assert_str_eq(given.data, "");
    ck_assert_str_eq(draw(markdown), "a b\n");
    feed(markdown, "\n");
    ck_assert_str_eq(given.data, "a b\n");
    ck_assert_str_eq(draw(markdown), "");
    feed(markdown, "- c\n");
    ck_assert_str_eq(draw(markdown), "\n• c\n");
    feed(markdown, "- d\n  ");
    ck_assert_str_eq(given.data, "a b\n\n• c\n");
    ck_assert_str_eq(draw(markdown), "• d\n");
    feed(markdown, "\n# e\n");
    ck_assert_str_eq(given.data, "a b\n\n• c\n• d\n\n# e\n");
    ck_assert_str_eq(draw(markdown), "");
    ik_markdown_end(markdown);
    ck_assert_str_eq(given.data, "a b\n\n• c\n• d\n\n# e\n");
}
END_TEST

START_TEST(lines_of_code_are_given_at_once)
{
    ik_markdown_t *markdown = create(&bare, COLUMNS, MAX_OPEN);
    feed(markdown, "1. ```c\n   int");
    ck_assert_str_eq(given.data, "1.\nc\n");
    ck_assert_str_eq(draw(markdown), "int\n");
    feed(markdown, " a;\n   /* b\n");
    ck_assert_str_eq(given.data, "1.\nc\nint a;\n/* b\n");
    feed(markdown, "   ``");
    ck_assert_str_eq(draw(markdown), "");
    feed(markdown, "`\n   c");
    ck_assert_str_eq(given.data, "1.\nc\nint a;\n/* b\n");
    ck_assert_str_eq(draw(markdown), "   c\n");
}
END_TEST

/* The row in the live area is cut, the finished one is not. */
START_TEST(a_line_of_code_is_one_row)
{
    ik_markdown_t *markdown = create(&bare, 11, MAX_OPEN);
    feed(markdown, "```\n0123456789abc");
    ck_assert_str_eq(draw(markdown), "012345678…\n");
    feed(markdown, "def\n");
    ck_assert_str_eq(given.data, "0123456789abcdef\n");
}
END_TEST

START_TEST(a_line_of_code_without_end_is_several)
{
    enum { PART = 64 * 1024, LEN = 2 * PART + 10 };
    char *line = ik_new_array(ctx, char, LEN + 1);
    memset(line, '`', LEN);
    ik_markdown_t *markdown = create(&bare, COLUMNS, MAX_OPEN);
    feed(markdown, "```\nx");
    feed(markdown, line);
    ck_assert_uint_eq(given.len, 2 * (PART + 1));
    feed(markdown, "\ny\n```\n");
    ck_assert_uint_eq(given.len, LEN + 1 + 3 + 2);
    ck_assert_uint_eq(given.data[PART], '\n');
}
END_TEST

START_TEST(a_table_is_held_back)
{
    ik_markdown_t *markdown = create(&bare, COLUMNS, MAX_OPEN);
    feed(markdown, "| a | b |\n");
    ck_assert_str_eq(draw(markdown), "| a | b |\n");
    feed(markdown, "|---|");
    ck_assert_str_eq(draw(markdown), "| a | b |\n");
    feed(markdown, "---|\n| c | d |\n| ee");
    ck_assert_str_eq(given.data, "");
    ck_assert_str_eq(draw(markdown), "a   b\n──  ─\nc   d\nee\n");
    ck_assert_str_eq(draw(markdown), "a   b\n──  ─\nc   d\nee\n");
    feed(markdown, " |\n\n");
    ck_assert_str_eq(given.data, "a   b\n──  ─\nc   d\nee\n");
}
END_TEST

START_TEST(a_tall_table_goes_on_row_by_row)
{
    ik_markdown_t *markdown = create(&bare, 21, 4);
    feed(markdown, "|a|b|\n|-|-|\n|1|2|\n|3|4|\n");
    ck_assert_str_eq(given.data, "");
    feed(markdown, "|5|6|\n");
    ck_assert_str_eq(given.data, "a    b\n───  ─\n1    2\n3    4\n5    6\n");
    feed(markdown, "|wide|one two three four\n");
    ck_assert_str_eq(given.data + strlen("a    b\n───  ─\n1    2\n3    4\n5    6\n"),
                     "wid  one two three\ne    four\n");
    feed(markdown, "|7|8|");
    ck_assert_str_eq(draw(markdown), "7    8\n");
    ik_markdown_end(markdown);
    ck_assert_str_eq(strstr(given.data, "\ne "), "\ne    four\n7    8\n");
}
END_TEST

/* Cells that are a bit wider than those above do not break, if there is free room or a column that
 * wraps anyway. */
START_TEST(a_tall_table_has_room_for_wider_cells)
{
    static const char head[] = "|n|file|remark|\n|-:|-|-|\n";
    ik_markdown_t *markdown = create(&bare, 40, 4);
    feed(markdown, head);
    feed(markdown, "|8|file8.c|fine|\n|9|file9.c|fine|\n|10|file10.c|as well|\n"
                   "|100|file100.c|as well|\n\n");
    ck_assert_str_eq(given.data, "    n  file            remark\n"
                                 "─────  ──────────────  ───────\n"
                                 "    8  file8.c         fine\n"
                                 "    9  file9.c         fine\n"
                                 "   10  file10.c        as well\n"
                                 "  100  file100.c       as well\n");
    markdown = create(&bare, 40, 4);
    feed(markdown, head);
    feed(markdown, "|8|file8.c|which is longer than what is left|\n|9|file9.c|fine|\n");
    size_t before = given.len;
    feed(markdown, "|10|file10.c|fine|\n\n");
    ck_assert_str_eq(given.data + before, " 10  file10.c   fine\n");
}
END_TEST

START_TEST(a_tall_table_is_never_wider_than_the_window)
{
    for (int columns = 10; columns < 60; columns++) {
        ik_markdown_t *markdown = create(&bare, columns, 3);
        feed(markdown, "|one|two|three|\n|-|-|-|\n|a|bbbbbbb|cccccccccc cccccc|\n");
        feed(markdown, "|aaaa|bbbbbbbbbbbbbb|ccc|\n|aaaaaaaa aaaaaaa|bb bbb bbb|c|\n\n");
        for (const char *row = given.data; *row != '\0'; row += strcspn(row, "\n") + 1) {
            ck_assert_uint_lt(ik_width(row, strcspn(row, "\n")), (size_t)columns);
        }
    }
}
END_TEST

/* A table's row may be long, but not endless. */
START_TEST(a_table_ends_with_an_endless_line)
{
    ik_markdown_t *markdown = create(&bare, COLUMNS, MAX_OPEN);
    feed(markdown, "|a|b|\n|-|-|\n|");
    for (int i = 0; i < 5000; i++) {
        feed(markdown, "x");
    }
    ck_assert_int_eq(strncmp(given.data, "a  b\n─  ─\n\n|xxx", strlen("a  b\n─  ─\n\n|xxx")), 0);
}
END_TEST

static size_t count_rows(const ik_buffer_t *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < rows->len; i++) {
        count += rows->data[i] == '\n';
    }
    return count;
}

static const char *words(size_t count)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < count; i++) {
        ik_buffer_append_format(&text, "%zu ", i);
    }
    return text.data;
}

START_TEST(a_tall_paragraph_gives_its_top_rows)
{
    const char *text = words(2000);
    const char *whole = ik_strdup(ctx, render_in(&bare, text, COLUMNS, 100000));
    ik_markdown_t *markdown = create(&bare, COLUMNS, MAX_OPEN);
    for (size_t i = 0; text[i] != '\0'; i++) {
        ik_markdown_feed(markdown, text + i, 1);
        draw(markdown);
        ck_assert_uint_le(count_rows(&open), MAX_OPEN);
        ck_assert_int_eq(strncmp(whole, given.data, given.len), 0);
    }
    ck_assert_uint_gt(count_rows(&given), 200);
    ik_markdown_end(markdown);
    ck_assert_str_eq(given.data, whole);
}
END_TEST

/* Repeats a text with numbers in it until it is long, and renders it with few rows that may wait,
 * as one line. */
static const char *render_cut(const char *unit)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    for (int i = 0; i < 1000; i++) {
        ik_buffer_append_text(&text, unit);
        ik_buffer_append_format(&text, "%d ", 1 << i % 20);
    }
    render_in(&bare, text.data, COLUMNS, MAX_OPEN);
    for (size_t i = 0; i < given.len; i++) {
        given.data[i] = given.data[i] == '\n' ? ' ' : given.data[i];
    }
    return given.data;
}

/* What a paragraph that was cut many times shows of its marks. */
START_TEST(a_paragraph_is_cut_where_nothing_is_open)
{
    ck_assert_ptr_null(strchr(render_cut("and **some words that are more than a few** of "), '*'));
    ck_assert_ptr_null(strchr(render_cut("one `of the codes` which stand in it, among "), '`'));
    ck_assert_ptr_null(strchr(render_cut("see [the thing](http://a.b) for what it is and "), '['));
    ck_assert_ptr_null(strstr(render_cut("\\*x* "), " x"));
    ck_assert_uint_gt(given.len, 5000);
}
END_TEST

/* In a low window a paragraph is cut at almost every row. */
START_TEST(a_low_window_shows_the_same_rows)
{
    static const char *const texts[] = {
        "run `setup`; or set `FIRST_OF_THE_KEYS`, `SECOND_OF_THE_KEYS` or `LAST_OF_THE_KEYS`, or "
        "choose one with `-m provider`.",
        "It was **bold over two of the rows**, and then `not so bold`.",
        "`a command with some words` and `another one` here",
        "**one of the words and `code in it`** *and the next one* of them",
        "see [the text of a link](http://a.b/) and *more* of it",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        for (int columns = 19; columns < 60; columns++) {
            char *whole = ik_strdup(ctx, render_in(&bare, texts[i], columns, 1000));
            ck_assert_str_eq(render_in(&bare, texts[i], columns, 1), whole);
            ck_assert_str_eq(render_in(&bare, texts[i], columns, 2), whole);
        }
    }
}
END_TEST

/* One that is open all the time does not hold the rows back for ever. */
START_TEST(a_paragraph_is_cut_in_a_long_span_in_the_end)
{
    ik_markdown_t *markdown = create(&bare, COLUMNS, MAX_OPEN);
    feed(markdown, "**");
    feed(markdown, words(1000));
    feed(markdown, "** ");
    ck_assert_uint_gt(count_rows(&given), 80);
}
END_TEST

static const char *const endless[] = {
    "*",
    "[",
    "]",
    "`",
    ">",
    "- ",
    "1. ",
    "_a ",
    "<",
    "&",
    "![",
    "[a](b",
    "(",
    "|",
    "#",
    "~",
    "\\",
    "a\\\n",
    "<br>",
    "&amp;",
    "> - ",
    "`a``b",
    "**a *b ",
    "[a](<b",
    "http:/",
    "x",
    "\t",
    "= ",
    ":",
    "-",
    "\xcc\x81",
    "\xe6\xbc\xa2",
    "<!--",
    "[*a*](http://b)",
    "|a|b\n|-|-\n",
    "\n",
    "- a\n\n",
    "```\n",
    "    a\n",
    "> a\n\n",
};

/* Whatever comes without end, what is open stays small. Time is the test's own limit: what is not
 * linear does not end. */
START_TEST(nothing_grows_with_an_endless_text)
{
    enum { LEN = 200000, MOST = 32 * 1024 };
    const char *unit = endless[_i];
    ik_markdown_t *markdown = create(&coloured, COLUMNS, MAX_OPEN);
    for (size_t at = 0; at < LEN; at += strlen(unit)) {
        feed(markdown, unit);
        if (at % 1024 < strlen(unit)) {
            draw(markdown);
            ck_assert_uint_le(count_rows(&open), MAX_OPEN);
            ck_assert_uint_le(open.len, MOST);
        }
        clear(&given);
    }
    ik_markdown_end(markdown);
    ck_assert_uint_le(given.len, 4 * MOST);
}
END_TEST

START_TEST(a_line_of_marks_is_not_shown_before_it_is_known)
{
    ik_markdown_t *markdown = create(&bare, COLUMNS, MAX_OPEN);
    feed(markdown, "text\n-");
    ck_assert_str_eq(draw(markdown), "text\n");
    feed(markdown, " item");
    ck_assert_str_eq(draw(markdown), "text\n\n• item\n");
    feed(markdown, "\n``");
    ck_assert_str_eq(draw(markdown), "\n• item\n");
    feed(markdown, "`c\n");
    ck_assert_str_eq(given.data, "text\n\n• item\n\nc\n");
}
END_TEST

START_TEST(a_message_follows_another)
{
    ik_markdown_t *markdown = create(&bare, COLUMNS, MAX_OPEN);
    feed(markdown, "> - ```\n>   \xe2\x82");
    ik_markdown_end(markdown);
    ck_assert_str_eq(given.data, "│ •\n\xef\xbf\xbd\n");
    clear(&given);
    feed(markdown, "a");
    ik_markdown_end(markdown);
    ik_markdown_end(markdown);
    ck_assert_str_eq(given.data, "a\n");
}
END_TEST

START_TEST(another_size_holds_from_here_on)
{
    ik_markdown_t *markdown = create(&bare, COLUMNS, MAX_OPEN);
    feed(markdown, "one two three\n\none two three");
    ik_markdown_resize(markdown, 9, 1);
    ck_assert_str_eq(draw(markdown), "three\n");
    ik_markdown_end(markdown);
    ck_assert_str_eq(given.data, "one two three\n\none two\nthree\n");
    ik_markdown_resize(markdown, 0, 0);
    feed(markdown, "ab 漢\n\n> - c\n\n|a|b|\n|-|-|\n");
    ik_markdown_end(markdown);
    ck_assert_ptr_nonnull(strstr(given.data, "a\nb\n漢\n\nc\n"));
}
END_TEST

/* --- whatever the pieces ----------------------------------------------------------------- */

static const char *const parts[] = {
    "word ",
    "Some more words, and so on. ",
    "*",
    "**",
    "_a_ ",
    "`",
    "``` ",
    "```c\n",
    "```\n",
    "~~~\n",
    "[a](",
    "http://a.b/c",
    ")",
    "[",
    "]",
    "![",
    "\n",
    "\n\n",
    "\n\n\n",
    "\n- ",
    "\n  - ",
    "\n    ",
    "\n1. ",
    "\n10) ",
    "\n> ",
    "\n>",
    "\n# ",
    "\n###### ",
    "\n---\n",
    "\n===\n",
    "\n| a | b |\n|---|:-:|\n",
    "| c ",
    "|",
    "\n| cell | other |\n",
    "\\",
    "  \n",
    "\\\n",
    "<br>",
    "&amp;",
    "&#x41;",
    "\t",
    "漢字",
    "é",
    "e\xcc\x81",
    "👩\xe2\x80\x8d👩\xe2\x80\x8d👧",
    "\xff",
    "\033[1m",
    "\xe2\x80\xae",
    "\r\n",
    "\r",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "- [ ] ",
    "- [x] a",
    "int x = 1; /* c */ \"s\"",
    "/*",
    "* * *",
    "~~b~~",
    "<b>",
    "    code\n",
    "1",
    ".",
};

static char *random_text(size_t most)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    size_t count = (size_t)random() % most + 1;
    size_t kinds = sizeof(parts) / sizeof(parts[0]);
    /* Few different parts, so that constructs meet themselves. */
    size_t first = (size_t)random() % kinds;
    size_t range = random() % 2 == 0 ? kinds : (size_t)random() % 6 + 1;
    for (size_t i = 0; i < count; i++) {
        size_t part =
            random() % 3 == 0 ? (size_t)random() % 2 : (first + (size_t)random() % range) % kinds;
        ik_buffer_append_text(&text, parts[part]);
    }
    return ik_buffer_finish(&text);
}

static void check_drawn(ik_markdown_t *markdown, int columns, int max_open)
{
    draw(markdown);
    ck_assert_uint_le(count_rows(&open), (size_t)max_open);
    for (const char *row = open.data; *row != '\0';) {
        size_t len = strcspn(row, "\n");
        ck_assert_int_le(ik_row_width(row, len), columns - 1);
        row += len + 1;
    }
}

/* Pieces of at most so many bytes; 0: as a whole. */
static const char *render_pieces(const char *text, int columns, int max_open, size_t most,
                                 bool draws)
{
    ik_markdown_t *markdown = create(&coloured, columns, max_open);
    size_t len = strlen(text);
    for (size_t at = 0; at < len;) {
        size_t piece = most == 0 ? len : (size_t)random() % most + 1;
        piece = piece < len - at ? piece : len - at;
        ik_markdown_feed(markdown, text + at, piece);
        at += piece;
        if (draws && random() % 4 == 0) {
            check_drawn(markdown, columns, max_open);
        }
    }
    ik_markdown_end(markdown);
    talloc_free(markdown);
    return given.data;
}

START_TEST(any_pieces_give_the_same_rows)
{
    srandom((unsigned)_i);
    for (int i = 0; i < 300; i++) {
        char *text = random_text(i % 10 == 0 ? 400 : 40);
        int columns = (int)(random() % 3 == 0 ? random() % 12 + 3 : random() % 90 + 3);
        int max_open = (int)(random() % 12 + 1);
        char *whole = ik_strdup(ctx, render_pieces(text, columns, max_open, 0, false));
        for (size_t most = 1; most <= 64; most *= 8) {
            const char *rows = render_pieces(text, columns, max_open, most, most > 1);
            ck_assert_msg(strcmp(rows, whole) == 0, "%d columns, %d rows:\n%s\nbecame\n%s\nor\n%s",
                          columns, max_open, text, whole, rows);
        }
        talloc_free(whole);
        talloc_free(text);
    }
}
END_TEST

/* What is drawn is what would be given: a message that ends here, when all of it fits. */
START_TEST(what_is_drawn_is_what_comes)
{
    srandom((unsigned)_i);
    for (int i = 0; i < 300; i++) {
        char *text = random_text(30);
        ik_markdown_t *markdown = create(&coloured, 2000, 1000);
        feed(markdown, text);
        feed(markdown, "end");
        size_t before = given.len;
        draw(markdown);
        ik_markdown_end(markdown);
        bool same = strcmp(open.data, given.data + before) == 0;
        ck_assert_msg(same || strchr(given.data + before, '\t') != NULL, "%s:\n%s\nis not\n%s",
                      text, open.data, given.data + before);
        talloc_free(markdown);
        talloc_free(text);
    }
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("markdown");
    TCase *tests = tcase_create("markdown");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, constructs_have_their_rows, 0,
                        sizeof(documents) / sizeof(documents[0]));
    tcase_add_test(tests, parts_have_their_style);
    tcase_add_test(tests, code_is_coloured_over_its_lines);
    tcase_add_test(tests, escapes_are_the_themes);
    tcase_add_test(tests, blocks_are_given_when_they_cannot_change);
    tcase_add_test(tests, lines_of_code_are_given_at_once);
    tcase_add_test(tests, a_line_of_code_is_one_row);
    tcase_add_test(tests, a_line_of_code_without_end_is_several);
    tcase_add_test(tests, a_table_is_held_back);
    tcase_add_test(tests, a_tall_table_goes_on_row_by_row);
    tcase_add_test(tests, a_tall_table_has_room_for_wider_cells);
    tcase_add_test(tests, a_tall_table_is_never_wider_than_the_window);
    tcase_add_test(tests, a_table_ends_with_an_endless_line);
    tcase_add_test(tests, a_tall_paragraph_gives_its_top_rows);
    tcase_add_test(tests, a_paragraph_is_cut_where_nothing_is_open);
    tcase_add_test(tests, a_low_window_shows_the_same_rows);
    tcase_add_test(tests, a_paragraph_is_cut_in_a_long_span_in_the_end);
    tcase_add_loop_test(tests, nothing_grows_with_an_endless_text, 0,
                        sizeof(endless) / sizeof(endless[0]));
    tcase_add_test(tests, a_line_of_marks_is_not_shown_before_it_is_known);
    tcase_add_test(tests, a_message_follows_another);
    tcase_add_test(tests, another_size_holds_from_here_on);
    tcase_add_loop_test(tests, any_pieces_give_the_same_rows, 0, 20);
    tcase_add_loop_test(tests, what_is_drawn_is_what_comes, 0, 10);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return suite_run(make_suite());
}
