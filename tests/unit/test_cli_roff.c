/* Markdown in, a manual page out, exactly; how it looks is for tests/e2e/test_man.py. */
#include <string.h>

#include "base/alloc.h"
#include "cli/cli_roff.h"
#include "cli/cli_roff_text.h"
#include "suite.h"

#define TITLE "# ikigai 1 \"User Commands\"\n\n"
#define TOP                                                                                        \
    ".TH \"IKIGAI\" \"1\" 2026-11-15 \"ikigai " IKIGAI_VERSION "\" \"User Commands\"\n"            \
    ".nr HY 0\n.nh\n.ds AD l\n.ad l\n.ss 12 0\n"

static void *ctx;

static void set_up(void)
{
    ctx = talloc_new(NULL);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static char *format(const char *markdown, size_t len)
{
    char *page = NULL;
    res_t result = ik_cli_roff_format(ctx, markdown, len, "2026-11-15", &page);
    ck_assert_msg(is_ok(&result), "%s", result.message);
    return page;
}

/* What stands below the settings at the top of a page. */
static const char *body_of(const char *page)
{
    const char *settings = strstr(page, "\n.ss 12 0\n");
    ck_assert_ptr_nonnull(settings);
    return settings + strlen("\n.ss 12 0\n");
}

/* --- blocks and words -------------------------------------------------------------------- */

static const struct {
    const char *markdown;
    const char *roff;
} pieces[] = {
    /* headings */
    {"## See also\n\nx", ".SH \"SEE ALSO\"\nx\n"},
    {"## Files in `~/.x`\n\nx", ".SH \"FILES IN \\(ti/.x\"\nx\n"},
    {"## Öl für", ".SH \"\\[u00D6]L F\\[u00DC]R\"\n"},
    {"### A \"b\" *c*\n\nx\n\ny", ".SS \"A \\(dqb\\(dq c\"\nx\n.PP\ny\n"},
    {"#### Deep *er*\n\nx", ".PP\n\\fBDeep\\fR \\f(BIer\\fR\n.PP\nx\n"},
    {"# Another", ".SH \"ANOTHER\"\n"},
    {"##\n\nx", ".PP\nx\n"},
    /* emphasis: the space behind it is never underlined */
    {"*a* **b** `c` d", ".PP\n\\fIa\\fR \\fBb c\\fR d\n"},
    {"**a *b* c**d", ".PP\n\\fBa\\fR \\f(BIb\\fR \\fBc\\fRd\n"},
    {"`a` `b`, ~~c~~", ".PP\n\\fBa b\\fR, c\n"},
    {"`a  b`  c   d", ".PP\n\\fBa\\&  b\\fR c d\n"},
    /* what means something to roff */
    {"a\\\\b -x 'q' \\` ^ ~ \"d\"", ".PP\na\\(rsb \\-x \\(aqq\\(aq \\(ga \\(ha \\(ti \"d\"\n"},
    {".a\n\n'b\n\n`.c`", ".PP\n\\&.a\n.PP\n\\(aqb\n.PP\n\\fB.c\\fR\n"},
    {"a\\\n.b  \n'c<br>.d<br/>e", ".PP\na\n.br\n\\&.b\n.br\n\\(aqc\n.br\n\\&.d\n.br\ne\n"},
    {"<br>a<br><br>b<br>", ".PP\na\n.br\nb\n"},
    {"|a|b|\n|---|---|\n|c<br>d|e<br>|", ".TP 5\nc d\ne\n"},
    {"aaaaaaaaa bbbbbbbbb ccccccccc ddddddddd eeeeeeeee fffffffff ggggggggg hhhhhhh .i jj",
     ".PP\naaaaaaaaa bbbbbbbbb ccccccccc ddddddddd eeeeeeeee fffffffff ggggggggg hhhhhhh\n"
     "\\&.i jj\n"},
    {"a\tb\n  c", ".PP\na b c\n"},
    /* characters */
    {"…·─ é", ".PP\n\\[u2026]\\[u00B7]\\[u2500] \\[u00E9]\n"},
    {"\xf0\x9f\x98\x80 \xff", ".PP\n\\[u1F600] \\[uFFFD]\n"},
    {"a\x1b[1m\x7f", ".PP\na\\[uFFFD][1m\\[uFFFD]\n"},
    {"&amp; &hellip; &#x2500; &nbsp;&shy; &nope;", ".PP\n& \\[u2026] \\[u2500] \\~&shy; &nope;\n"},
    {"a&#173;b", ".PP\na\\%b\n"},
    /* HTML */
    {"a <!-- b --> <i>c</i>\n\n<!-- d -->\n\n<div>\n<br>\n</div>\n\ne", ".PP\na c\n.PP\ne\n"},
    /* links */
    {"[a](https://b-c/), <https://d/>", ".PP\na <https://b\\-c/>, https://d/\n"},
    {"see [sessions.md](sessions.md) or [sessions.md](sessions.md#x)!",
     ".PP\nsee \\fBikigai help sessions\\fR or \\fBikigai help sessions\\fR!\n"},
    {"[the *a*](a.md), [a.md](b.md), [x/a.md](x/a.md), [.md](.md)",
     ".PP\nthe \\fIa\\fR, a.md, x/a.md, .md\n"},
    {"![a](https://b) [![c](d.png)](https://e)", ".PP\na <https://b> c <https://e>\n"},
    {"[](https://a?b&amp;c)", ".PP\n<https://a?b&c>\n"},
    /* code */
    {"a\n\n```sh\nb -c \\\n.d\n'e'\n\n\tf\n\"`^~…\n```\n\ng",
     ".PP\na\n.IP \"\" 4\n.EX\nb \\-c \\(rs\n\\&.d\n\\(aqe\\(aq\n\\&\n    f\n"
     "\"\\(ga\\(ha\\(ti\\[u2026]\n.EE\n.PP\ng\n"},
    {"ab\n\n    xy\tz\n", ".PP\nab\n.IP \"\" 4\n.EX\nxy\\&  z\n.EE\n"},
    {"## A\n\n```\nb\n```\n\n```\nc\n```",
     ".SH \"A\"\n.RS 4\n.EX\nb\n.EE\n.RE\n.IP \"\" 4\n.EX\nc\n.EE\n"},
    {"```\n```\n\na", ".PP\na\n"},
    /* lists */
    {"- a\n- b\n\nc", ".IP \\(bu 2\na\n.PD 0\n.IP \\(bu 2\nb\n.PD\n.PP\nc\n"},
    {"- a\n- b\n\n## C", ".IP \\(bu 2\na\n.PD 0\n.IP \\(bu 2\nb\n.PD\n.SH \"C\"\n"},
    {"- a\n\n- b\n\n  c", ".IP \\(bu 2\na\n.IP \\(bu 2\nb\n.IP \"\" 2\nc\n"},
    {"9. a\n10. b", ".IP 9. 4\na\n.PD 0\n.IP 10. 4\nb\n.PD\n"},
    {"1) a\n   - b\n     1. c\n2) d",
     ".IP 1) 4\na\n.RS 4\n.PD 0\n.IP \\(bu 2\nb\n.RS 2\n.IP 1. 4\nc\n.RE\n.RE\n.IP 2) 4\nd\n.PD\n"},
    {"- a\n\n  ```\n  b\n  ```\n- ```\n  c\n  ```",
     ".IP \\(bu 2\na\n.IP \"\" 6\n.EX\nb\n.EE\n.IP \\(bu 2\n.IP \"\" 6\n.EX\nc\n.EE\n"},
    {"- [ ] a\n- [x] b", ".IP \"[ ]\" 4\na\n.PD 0\n.IP \"[x]\" 4\nb\n.PD\n"},
    {"-\n- a", ".IP \\(bu 2\n.PD 0\n.IP \\(bu 2\na\n.PD\n"},
    {"- # a", ".IP \\(bu 2\n\\fBa\\fR\n"},
    /* quotations, rules */
    {"> a\n>\n> - b\n\nc", ".RS 4\n.PP\na\n.IP \\(bu 2\nb\n.RE\n.PP\nc\n"},
    {"- a\n  > b", ".IP \\(bu 2\na\n.RS 6\n.PP\nb\n.RE\n"},
    {"a\n\n---\n\nb", ".PP\na\n.PP\n* * *\n.PP\nb\n"},
    /* tables: short rows stand close, in columns */
    {"|a|b|\n|---|---|\n|`-c`|d|\n|ee|f|\n\ng",
     ".TP 4\n\\fB\\-c\\fR\nd\n.PD 0\n.TP 4\nee\nf\n.PD\n.PP\ng\n"},
    {"|a|b|\n|---|---|\n|`an option that is quite long`|.b|\n|c|d<br>\"e\"|",
     ".TP 8\n\\fBan option that is quite long\\fR\n\\&.b\n.PD 0\n.TP 8\nc\nd\n.br\n\"e\"\n.PD\n"},
    {"|key|default| |\n|---|---|---|\n|`some_key_or_other`|50|how *often*|\n|b| |c|",
     ".TP 8\n\\fBsome_key_or_other\\fR (default: 50)\nhow \\fIoften\\fR\n.PD 0\n.TP "
     "8\nb\nc\n.PD\n"},
    {"|a| |b|c|\n|---|---|---|---|\n|d|e|f|g|\n| |h|i|j|",
     ".TP 14\nd (e) (b: f)\ng\n.PD 0\n.TP 14\n(h) (b: i)\nj\n.PD\n"},
    {"|a|b|\n|---|---|\n|`\"c`| |\n| |d|\n| | |",
     ".IP \"\\fB\\(dqc\\fR\" 4\n.PD 0\n.IP \"\" 4\nd\n.PD\n"},
    {"|a|\n|---|\n|\"b|", ".IP \"\\(dqb\" 4\n"},
    {"|a|b|\n|---|---|", ""},
    {"|a|b|\n|---|---|\n|7 wide.|d e|\n|f|a text of more than two lines, for which every row of "
     "the "
     "table gets "
     "an empty line above it, as this one|",
     ".TP 8\n7 wide.\\~\\&\nd e\n.TP 8\nf\n"
     "a text of more than two lines, for which every row of the table gets an empty\n"
     "line above it, as this one\n"},
    {"|a|b|\n|---|---|\n|`x\\|y`|c\\|d|", ".TP 5\n\\fBx|y\\fR\nc|d\n"},
    {"- x\n\n  |a|b|\n  |---|---|\n  |c|d|", ".IP \\(bu 2\nx\n.RS 2\n.TP 3\nc\nd\n.RE\n"},
};

START_TEST(a_piece_becomes_roff)
{
    char *markdown = ik_sprintf(ctx, TITLE "%s", pieces[_i].markdown);
    ck_assert_str_eq(body_of(format(markdown, strlen(markdown))), pieces[_i].roff);
}
END_TEST

START_TEST(a_nul_byte_is_shown)
{
    static const char markdown[] = TITLE "a\0b";
    ck_assert_str_eq(body_of(format(markdown, sizeof(markdown) - 1)), ".PP\na\\[uFFFD]b\n");
}
END_TEST

/* --- the page ---------------------------------------------------------------------------- */

START_TEST(a_page_begins_with_its_title)
{
    ck_assert_str_eq(format(TITLE, strlen(TITLE)),
                     ".\\\" Made of Markdown by: ikigai help --roff\n" TOP);
}
END_TEST

START_TEST(a_comment_may_come_first_and_quotes_be_missing)
{
    const char *markdown = "<!-- c -->\n# a-b 7 Some things\n";
    ck_assert_ptr_nonnull(strstr(format(markdown, strlen(markdown)),
                                 "\n.TH \"A\\-B\" \"7\" 2026-11-15 \"ikigai " IKIGAI_VERSION
                                 "\" \"Some things\"\n"));
}
END_TEST

/* Each character that is not ASCII once, in order, with what stands for it elsewhere. */
START_TEST(characters_have_fallbacks)
{
    const char *markdown = "# ö 1 \"a\"\n\n─…· → “x” ß … 中 ½\n\n```\n▶\n```";
    char *page = format(markdown, strlen(markdown));
    *strstr(page, ".TH") = '\0';
    ck_assert_str_eq(page, ".\\\" Made of Markdown by: ikigai help --roff\n"
                           ".if \\n(.x .fchar \\[u00B7] .\n"
                           ".if \\n(.x .fchar \\[u00BD] ?\n"
                           ".if \\n(.x .fchar \\[u00D6] O\n"
                           ".if \\n(.x .fchar \\[u00DF] ss\n"
                           ".if \\n(.x .fchar \\[u201C] \\(dq\n"
                           ".if \\n(.x .fchar \\[u201D] \\(dq\n"
                           ".if \\n(.x .fchar \\[u2026] ...\n"
                           ".if \\n(.x .fchar \\[u2192] \\->\n"
                           ".if \\n(.x .fchar \\[u2500] \\-\n"
                           ".if \\n(.x .fchar \\[u25B6] >\n"
                           ".if \\n(.x .fchar \\[u4E2D] ?\n");
}
END_TEST

/* --- what is refused --------------------------------------------------------------------- */

static void assert_refused(const char *markdown, size_t len, const char *date, ik_error_code_t code,
                           const char *part)
{
    char *page = NULL;
    res_t result = ik_cli_roff_format(ctx, markdown, len, date, &page);
    ck_assert_int_eq(result.code, code);
    ck_assert_msg(strstr(result.message, part) != NULL, "%s", result.message);
    ck_assert_ptr_null(page);
}

static const char *const untitled[] = {
    "",
    "a\n\n# b 1 \"c\"",
    "## b 1 \"c\"",
    "#",
    "# b",
    "# b 1",
    "# b 1 \"\"",
    "# b 1 \"\n",
    "- # b 1 \"c\"",
    "---\n# b 1 \"c\"",
    "```\n```\n# b 1 \"c\"",
};

START_TEST(a_page_without_a_title_is_refused)
{
    assert_refused(untitled[_i], strlen(untitled[_i]), "2026-11-15", IK_ERR_INVALID,
                   "# NAME SECTION \"Heading\"");
}
END_TEST

static const char *const no_dates[] = {"", "today", "2026-11-1", "2026-11-15 ", "2026-11\"15"};

START_TEST(a_date_that_is_none_is_refused)
{
    assert_refused(TITLE, strlen(TITLE), no_dates[_i], IK_ERR_INVALID, "YYYY-MM-DD");
}
END_TEST

static ik_buffer_t new_text(void)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&text, TITLE);
    return text;
}

static void append_times(ik_buffer_t *text, const char *what, size_t times)
{
    for (size_t i = 0; i < times; i++) {
        ik_buffer_append_text(text, what);
    }
}

START_TEST(a_table_without_end_is_refused)
{
    ik_buffer_t text = new_text();
    append_times(&text, "|a", 100);
    ik_buffer_append_text(&text, "|\n");
    append_times(&text, "|---", 100);
    ik_buffer_append_text(&text, "|\n");
    append_times(&text, "|b\n", 1001);
    assert_refused(text.data, text.len, "2026-11-15", IK_ERR_LIMIT, "too many cells");
}
END_TEST

/* The name of a column is repeated in every row. */
START_TEST(a_page_that_grows_without_measure_is_refused)
{
    ik_buffer_t text = new_text();
    ik_buffer_append_text(&text, "|a|");
    append_times(&text, "b", 20000);
    ik_buffer_append_text(&text, "|c|\n|---|---|---|\n");
    append_times(&text, "|d|e|f|\n", 5000);
    assert_refused(text.data, text.len, "2026-11-15", IK_ERR_LIMIT, "too long");
}
END_TEST

/* Deeper than anybody nests: the margins stop, nothing is lost, and all that was opened is closed.
 */
START_TEST(nesting_has_no_end)
{
    ik_buffer_t text = new_text();
    append_times(&text, "> - ", 50);
    ik_buffer_append_text(&text, "deep\n\nend");
    char *page = format(text.data, text.len);
    int depth = 0;
    for (const char *at = page; (at = strstr(at, "\n.R")) != NULL; at++) {
        depth += at[3] == 'S' ? 1 : -1;
    }
    ck_assert_int_eq(depth, 0);
    ck_assert_ptr_nonnull(strstr(page, "\ndeep\n"));
    ck_assert_str_eq(page + strlen(page) - strlen(".PP\nend\n"), ".PP\nend\n");
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("roff");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_loop_test(cases, a_piece_becomes_roff, 0, sizeof(pieces) / sizeof(pieces[0]));
    tcase_add_test(cases, a_nul_byte_is_shown);
    tcase_add_test(cases, a_page_begins_with_its_title);
    tcase_add_test(cases, a_comment_may_come_first_and_quotes_be_missing);
    tcase_add_test(cases, characters_have_fallbacks);
    tcase_add_loop_test(cases, a_page_without_a_title_is_refused, 0,
                        sizeof(untitled) / sizeof(untitled[0]));
    tcase_add_loop_test(cases, a_date_that_is_none_is_refused, 0,
                        sizeof(no_dates) / sizeof(no_dates[0]));
    tcase_add_test(cases, a_table_without_end_is_refused);
    tcase_add_test(cases, a_page_that_grows_without_measure_is_refused);
    tcase_add_test(cases, nesting_has_no_end);
    Suite *suite = suite_create("cli_roff");
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
