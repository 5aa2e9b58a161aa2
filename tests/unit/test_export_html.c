/* The page: what becomes of foreign text, of Markdown, of tool calls; and that nothing grows with
 * the session. What a reader sees of it, tests/browser asks a browser. */
#include <malloc.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/utf8.h"
#include "export/export.h"
#include "export/export_facts.h"
#include "export/html_code.h"
#include "export/html_escape.h"
#include "export/html_markdown.h"
#include "export/html_style.h"
#include "repeat.h"
#include "store/sqlite/store_sqlite.h"
#include "store_log.h"
#include "suite.h"

static void *ctx;
static ik_store_t *store;

static void set_up(void)
{
    ctx = talloc_new(NULL);
    log_assert_ok(ik_store_sqlite_open(ctx, ":memory:", &store));
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static ik_buffer_t new_buffer(void)
{
    ik_buffer_t buffer;
    ik_buffer_init(&buffer, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&buffer, "");
    return buffer;
}

/* --- escaping ---------------------------------------------------------------------------- */

#define SHOWN(code) "<span class=\"u\">U+" code "</span>"
#define BAD "\xef\xbf\xbd"

static const struct {
    const char *text;
    const char *html;
} escapes[] = {
    {"plain text, 1 + 1 = 2", "plain text, 1 + 1 = 2"},
    {"<a href=\"x\">&'</a>", "&lt;a href=&quot;x&quot;&gt;&amp;&#39;&lt;/a&gt;"},
    {"a\n\tb\r\nc", "a\n\tb\nc"},
    {"a\rb\x01\x1b[0m\x7f", "a" BAD "b" BAD BAD "[0m" BAD},
    {"\xc2\x80\xc2\x9f\xc2\xa0", BAD BAD "\xc2\xa0"},
    {"é 漢 🙂", "é 漢 🙂"},
    {"\xff\xc3(\xe2\x82", BAD BAD "(" BAD},
    {"a\u202eb", "a" SHOWN("202E") "b"},
    {"\u200b\u00ad\ufeff\u2066\u2028\ufff9",
     SHOWN("200B") SHOWN("00AD") SHOWN("FEFF") SHOWN("2066") SHOWN("2028") SHOWN("FFF9")},
    {"\U000e0041\U000e0101", SHOWN("E0041") SHOWN("E0101")},
    {"a\u200db", "a" SHOWN("200D") "b"},
    {"\u200d", SHOWN("200D")},
    {"é\u200d", "é" SHOWN("200D")},
    /* what emoji and scripts are made of */
    {"👩\u200d💻 ⚠\ufe0f 1\ufe0f\u20e3", "👩\u200d💻 ⚠\ufe0f 1\ufe0f\u20e3"},
    {"❤\ufe0f\u200d🔥", "❤\ufe0f\u200d🔥"},
    {"می\u200cخواهم", "می\u200cخواهم"},
    /* but not a row of them */
    {"⚠\ufe0f\ufe0f", "⚠\ufe0f" SHOWN("FE0F")},
    {"a\ufe0f", "a" SHOWN("FE0F")},
    {"", ""},
};

START_TEST(text_is_only_text)
{
    ik_buffer_t out = new_buffer();
    ik_html_escape_text(&out, escapes[_i].text);
    ck_assert_str_eq(out.data, escapes[_i].html);
}
END_TEST

START_TEST(attributes_have_no_markup)
{
    ik_buffer_t out = new_buffer();
    ik_html_escape_attribute(&out, "\"<\u202e\0>", 7);
    ck_assert_str_eq(out.data, "&quot;&lt;[U+202E]" BAD "&gt;");
}
END_TEST

/* --- Markdown ---------------------------------------------------------------------------- */

#define LINK(href) "<a href=\"" href "\" rel=\"noopener noreferrer nofollow\">"
#define TARGET(address) " <span class=\"target\">(" address ")</span>"

static const struct {
    const char *text;
    const char *html;
} markdowns[] = {
    {"a *b* **c** `<d>` ~~e~~",
     "<p>a <em>b</em> <strong>c</strong> <code>&lt;d&gt;</code> <del>e</del></p>\n"},
    {"# A\n\n### B\n\n###### C", "<h4>A</h4>\n<h6>B</h6>\n<h6>C</h6>\n"},
    {"- a\n- [x] b\n- [ ] c", "<ul>\n<li>a</li>\n<li class=\"task\">☑ b</li>\n"
                              "<li class=\"task\">☐ c</li>\n</ul>\n"},
    {"3. a\n4. b", "<ol start=\"3\">\n<li>a</li>\n<li>b</li>\n</ol>\n"},
    {"> a", "<blockquote>\n<p>a</p>\n</blockquote>\n"},
    {"a  \nb\nc", "<p>a<br>\nb\nc</p>\n"},
    {"***", "<hr>\n"},
    {"|a|b|\n|---|--:|\n|1|2|",
     "<div class=\"wide\"><table>\n<thead><tr><th>a</th><th class=\"right\">b</th></tr>\n</thead>\n"
     "<tbody>\n<tr><td>1</td><td class=\"right\">2</td></tr>\n</tbody>\n</table></div>\n"},
    {"```c\nint a; // <b>\n```", "<pre><code><span class=\"k\">int</span> a; "
                                 "<span class=\"c\">// &lt;b&gt;</span>\n</code></pre>\n"},
    {"```\"><script>\na\n```", "<pre><code>a\n</code></pre>\n"},
    {"```\nall:\n\tcc\n  \tcc\n\t  \tcc\n```",
     "<pre><code>all:\n\tcc\n  \tcc\n\t  \tcc\n</code></pre>\n"},
    {"1. ```\n   all:\n   \tcc\n     cc\n   ```",
     "<ol start=\"1\">\n<li><pre><code>all:\n\tcc\n  cc\n</code></pre>\n</li>\n</ol>\n"},
    {"> ```\n> \tcc\n> ```", "<blockquote>\n<pre><code>\tcc\n</code></pre>\n</blockquote>\n"},
    {"    \ta\n\t\tb\n\n\tc\n", "<pre><code>\ta\n\tb\n\nc\n</code></pre>\n"},
    {"```\n\n```", "<pre><code>\n</code></pre>\n"},
    {"```diff\n+a\n-b\n```", "<pre><code><span class=\"l add\">+a\n</span>"
                             "<span class=\"l del\">-b\n</span></code></pre>\n"},
    /* no HTML */
    {"<script>a</script>", "<p>&lt;script&gt;a&lt;/script&gt;</p>\n"},
    {"a <!-- b --> <i>", "<p>a &lt;!-- b --&gt; &lt;i&gt;</p>\n"},
    /* entities are characters, and as visible as these */
    {"&lt;b&gt; &amp;amp; &#x202e; &#0; &nosuch; &colon;",
     "<p>&lt;b&gt; &amp;amp; " SHOWN("202E") " " BAD " &amp;nosuch; &amp;colon;</p>\n"},
    /* links */
    {"[a](https://b.c/?d=1&e=2)", "<p>" LINK("https://b.c/?d=1&amp;e=2") "a</a></p>\n"},
    {"[a](HTTP://b)", "<p>" LINK("HTTP://b") "a</a></p>\n"},
    {"<a@b.c>", "<p>" LINK("mailto:a@b.c") "a@b.c</a></p>\n"},
    {"https://b.c/d", "<p>" LINK("https://b.c/d") "https://b.c/d</a></p>\n"},
    {"www.b.c", "<p>" LINK("http://www.b.c") "www.b.c</a></p>\n"},
    {"[a](javascript:b)", "<p>a" TARGET("javascript:b") "</p>\n"},
    {"[a](&#106;avascript&colon;b)", "<p>a" TARGET("javascript&amp;colon;b") "</p>\n"},
    {"[a](data:x)", "<p>a" TARGET("data:x") "</p>\n"},
    {"[a](//b.c)", "<p>a" TARGET("//b.c") "</p>\n"},
    {"[src/a.c](src/a.c)", "<p>src/a.c</p>\n"},
    {"[a](src/a.c)", "<p>a" TARGET("src/a.c") "</p>\n"},
    {"[a](https://b/\"onclick=\"c)", "<p>" LINK("https://b/&quot;onclick=&quot;c") "a</a></p>\n"},
    {"[a](https://b 'hidden')", "<p>" LINK("https://b") "a</a></p>\n"},
    {"[](https://b)", "<p>" LINK("https://b") "</a>" TARGET("https://b") "</p>\n"},
    /* an address for words that is another one */
    {"[https://a](https://b?https://a)",
     "<p>" LINK("https://b?https://a") "https://a</a>" TARGET("https://b?https://a") "</p>\n"},
    {"[**www.a**](https://b)",
     "<p>" LINK("https://b") "<strong>www.a</strong></a>" TARGET("https://b") "</p>\n"},
    /* images */
    {"![a](https://b/c.png)", "<p><a class=\"image\" href=\"https://b/c.png\" "
                              "rel=\"noopener noreferrer nofollow\">a</a></p>\n"},
    {"![a](b.png)", "<p>a" TARGET("b.png") "</p>\n"},
    {"[![a](https://b/c.png)](https://d)",
     "<p>" LINK("https://d") "a" TARGET("https://b/c.png") "</a></p>\n"},
    {"![a [b](https://c)](https://d)",
     "<p><a class=\"image\" href=\"https://d\" "
     "rel=\"noopener noreferrer nofollow\">a b" TARGET("https://c") "</a></p>\n"},
    {"", ""},
};

START_TEST(markdown_is_rendered)
{
    ik_buffer_t out = new_buffer();
    ck_assert(ik_html_markdown_append(&out, markdowns[_i].text, strlen(markdowns[_i].text)));
    ck_assert_str_eq(out.data, markdowns[_i].html);
}
END_TEST

static size_t count(const char *text, const char *wanted)
{
    size_t found = 0;
    while ((text = strstr(text, wanted)) != NULL) {
        found++;
        text += strlen(wanted);
    }
    return found;
}

START_TEST(nesting_has_an_end)
{
    ik_buffer_t out = new_buffer();
    char *text = ik_sprintf(ctx, "%sdeep [a](https://b) ![c](https://d)", repeat(ctx, "> ", 500));
    ck_assert(ik_html_markdown_append(&out, text, strlen(text)));
    ck_assert_uint_lt(count(out.data, "<blockquote>"), 100);
    ck_assert_uint_eq(count(out.data, "<blockquote>"), count(out.data, "</blockquote>"));
    ck_assert_ptr_nonnull(strstr(out.data, "deep a c"));
    ck_assert_uint_eq(count(out.data, "<a "), count(out.data, "</a>"));
}
END_TEST

/* Links at the very last level that has tags must not nest either. */
START_TEST(links_do_not_nest_at_any_depth)
{
    for (size_t depth = 50; depth < 70; depth++) {
        ik_buffer_t out = new_buffer();
        char *text = ik_sprintf(ctx, "%s[x ![y](z) ![u](https://v)](https://w) [p](q)",
                                repeat(ctx, "> ", depth));
        ck_assert(ik_html_markdown_append(&out, text, strlen(text)));
        ck_assert_uint_le(count(out.data, "<a "), 1);
        ck_assert_uint_eq(count(out.data, "<a "), count(out.data, "</a>"));
    }
}
END_TEST

START_TEST(what_becomes_too_much_is_not_rendered)
{
    ik_buffer_t out = new_buffer();
    char *head = repeat(ctx, "|a", 5000);
    char *line = repeat(ctx, "|---", 5000);
    char *table = ik_sprintf(ctx, "%s|\n%s|\n%s", head, line, repeat(ctx, "|x\n", 5000));
    ck_assert(!ik_html_markdown_append(&out, table, strlen(table)));
    ck_assert_uint_eq(out.len, 0);
    char *text = repeat(ctx, "x", 300 * 1024);
    ck_assert(!ik_html_markdown_append(&out, text, strlen(text)));
    ck_assert_uint_eq(out.len, 0);
}
END_TEST

/* --- tool calls -------------------------------------------------------------------------- */

static int64_t last;

static void begin(void)
{
    log_assert_ok(log_begin(store, LOG_ID));
    last = 0;
}

static void say(const char *kind, const char *content, const char *data)
{
    log_assert_ok(log_write_one(store, log_event(LOG_ID, ++last, kind, content, data)));
}

static void call(const char *id, const char *name, const char *arguments)
{
    ik_buffer_t data = new_buffer();
    ik_buffer_append_format(&data, "{\"id\":\"%s\",\"function\":{\"name\":", id);
    ik_json_append_text(&data, name);
    ik_buffer_append_text(&data, ",\"arguments\":");
    ik_json_append_text(&data, arguments);
    ik_buffer_append_text(&data, "}}");
    say("tool_call", ik_sprintf(ctx, "%s(…)", name), data.data);
}

static void result(const char *id, const char *output, bool success)
{
    ik_buffer_t data = new_buffer();
    ik_buffer_append_format(&data,
                            "{\"tool_call_id\":\"%s\",\"success\":%s,\"wall_ms\":34,"
                            "\"output\":",
                            id, success ? "true" : "false");
    ik_json_append_text(&data, output);
    ik_buffer_append_text(&data, "}");
    say("tool_result", "in short", data.data);
}

static char *export(const ik_export_t *format)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    ik_store_session_t session = log_find(ctx, store, LOG_ID);
    log_assert_ok(format->write(out, &(ik_export_source_t){.store = store, .session = &session}));
    fclose(out);
    ck_assert(ik_utf8_valid(text, len));
    char *copy = ik_strndup(ctx, text, len);
    free(text);
    return copy;
}

/* The only agent's part of the page. */
static char *page(void)
{
    static const char opening[] = "<section class=\"agent\" id=\"agent-1\">\n";
    char *html = export(&ik_export_html);
    char *from = strstr(html, opening) + strlen(opening);
    *strstr(from, "</section>\n</main>") = '\0';
    return from;
}

#define LINE(class, mark, words, name, outcome)                                                    \
    "<details class=\"tool " class "\" id=\"a1-1\">\n<summary><span class=\"state\" role=\"img\" " \
                                   "aria-label=\"" words "\">" mark                                \
                                   "</span> <span class=\"call\"><b>" name "</b>(…)</span> "     \
                                   "<span class=\"outcome\">" outcome "</span>"
#define TOOK " <span class=\"took\">34 ms</span>"
#define RESULT "<div class=\"result\" id=\"a1-2\">\n"
#define PART(html) "<div class=\"part\">\n" html "</div>\n"
#define LABEL(name) "<p class=\"label\">" name "</p>\n"
#define PRE(html) "<pre><code>" html "</code></pre>\n"
#define FIELDS(html) "<dl class=\"fields\">\n" html "</dl>\n"
#define FIELD(name, value) "<dt>" name "</dt><dd class=\"mono\">" value "</dd>\n"

START_TEST(a_call_and_its_result_are_one)
{
    begin();
    call("x", "grep", "{\"pattern\":\"<a>\",\"glob\":\"*.c\"}");
    result("x", "{\"tool_success\":true,\"result\":{\"output\":\"a.c:1: <a>\\nb\",\"count\":2}}",
           true);
    ck_assert_str_eq(page(), LINE("ok", "✓", "succeeded", "grep", "in short") TOOK
                     "</summary>\n<div class=\"body\">\n" FIELDS(FIELD("pattern", "&lt;a&gt;")
                                                                     FIELD("glob", "*.c"))
                         RESULT PART(PRE("a.c:1: &lt;a&gt;\nb"))
                             FIELDS(FIELD("count", "2")) "</div>\n</div>\n</details>\n");
}
END_TEST

START_TEST(what_a_tool_was_given_is_shown_as_what_it_is)
{
    begin();
    call("x", "t",
         "{\"command\":\"if a\\nthen b\",\"content\":\"int a;\\n\",\"path\":\"a.c\","
         "\"list\":[\"0123456789012345678901234567890123456789012345678901234567890123"
         "456789012345678901234567890123456789\"]}");
    ck_assert_str_eq(
        page(),
        LINE("lost", "?", "no result", "t",
             "no result") "</summary>\n<div class=\"body\">\n" FIELDS(FIELD("path", "a.c"))
            PART(LABEL("command")
                     PRE("<span class=\"k\">if</span> a\n<span class=\"k\">then</span> b"))
                PART(LABEL("content") PRE("<span class=\"k\">int</span> a;\n")) PART(
                    LABEL("list") PRE("[<span class=\"s\">&quot;0123456789012345678901234567890123"
                                      "4567890123456789012345678901234567890123456789012345678901"
                                      "23456789&quot;</span>]")) "</div>\n</details>\n");
}
END_TEST

START_TEST(results_are_shown_as_declared)
{
    static const struct {
        const char *display;
        const char *result;
        const char *html;
    } cases[] = {
        {"checklist", "{\"todos\":[{\"content\":\"<b>\",\"status\":\"completed\"}],\"open\":0}",
         PART("<ul class=\"checklist\">\n<li>[x] &lt;b&gt;</li>\n</ul>\n")
             FIELDS(FIELD("open", "0"))},
        {"markdown", "{\"output\":\"*a* <script>\"}", PART("<p><em>a</em> &lt;script&gt;</p>\n")},
        {"diff", "{\"output\":\"--- a\\n+++ b\\n@@ -1 +1 @@\\n-a\\n+<\"}", NULL},
        {"table", "{\"rows\":[[\"<i>\"]],\"columns\":[\"a\"]}", NULL},
        {"code", "{\"output\":\"if x:\",\"language\":\"python\"}",
         PART(PRE("<span class=\"k\">if</span> x:")) FIELDS(FIELD("language", "python"))},
    };
    static const char *const parts[] = {[2] = "&lt;", [3] = "&lt;i&gt;</td>"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ik_buffer_t data = new_buffer();
        begin();
        ik_buffer_append_format(
            &data,
            "{\"name\":\"t\",\"success\":true,\"display\":\"%s\",\"output\":", cases[i].display);
        ik_json_append_text(
            &data, ik_sprintf(ctx, "{\"tool_success\":true,\"result\":%s}", cases[i].result));
        ik_buffer_append_text(&data, "}");
        say("tool_result", "s", data.data);
        ck_assert_ptr_nonnull(strstr(page(), cases[i].html != NULL ? cases[i].html : parts[i]));
        log_assert_ok(ik_store_remove(store, LOG_ID));
    }
}
END_TEST

START_TEST(a_file_that_was_read_is_shown_in_its_language)
{
    begin();
    call("x", "file_read", "{\"file_path\":\"src/a.c\"}");
    result("x", "{\"tool_success\":true,\"result\":{\"output\":\"int a;\\n\"}}", true);
    ck_assert_ptr_nonnull(strstr(page(), PRE("<span class=\"k\">int</span> a;\n")));
}
END_TEST

START_TEST(an_edit_is_a_difference)
{
    begin();
    call("x", "file_edit", "{\"old_string\":\"a\\nb\",\"new_string\":\"a\\n<c>\"}");
    ck_assert_ptr_nonnull(strstr(page(), PRE("<span class=\"l\"> a\n</span>"
                                             "<span class=\"l del\">-b\n</span>"
                                             "<span class=\"l add\">+&lt;c&gt;\n</span>")));
}
END_TEST

START_TEST(an_edit_has_the_colours_of_its_language_and_marks_words)
{
    begin();
    call("x", "file_edit",
         "{\"file_path\":\"a.c\",\"old_string\":\"int <a>;\",\"new_string\":\"int <b>;\"}");
    ck_assert_ptr_nonnull(
        strstr(page(), PRE("<span class=\"l del\">-<span class=\"k\">int</span> &lt;<mark>a</mark>"
                           "&gt;;\n</span><span class=\"l add\">+<span class=\"k\">int</span> "
                           "&lt;<mark>b</mark>&gt;;\n</span>")));
}
END_TEST

START_TEST(output_that_is_a_diff_is_shown_as_one)
{
    begin();
    call("x", "bash", "{}");
    result("x", "{\"result\":{\"output\":\"--- a\\n+++ b\\n@@ -1 +1 @@\\n-x\\n+y\\n z\"}}", true);
    ck_assert_ptr_nonnull(strstr(
        page(), PRE("<span class=\"l file\">--- a\n</span><span class=\"l file\">+++ b\n</span>"
                    "<span class=\"l hunk\">@@ -1 +1 @@\n</span>"
                    "<span class=\"l del\">-x\n</span><span class=\"l add\">+y\n</span>"
                    "<span class=\"l\"> z\n</span>")));
}
END_TEST

static const struct {
    const char *text;
    bool diff;
} diffs[] = {
    {"--- a\n+++ b\n@@ -1 +1 @@\n", true},
    {"noise\ndiff --git a b\n--- a\n+++ b\n@@ -1,2 +1,2 @@ f\n", true},
    {"--- a\n@@ -1 +1 @@\n+++ b\n", false},
    {"@@ -1 +1 @@\n", false},
    {"--- a\n+++ b\n", false},
    {"--- a", false},
    {"", false},
};

START_TEST(only_a_diff_is_one)
{
    ck_assert(ik_html_code_is_diff(diffs[_i].text, strlen(diffs[_i].text)) == diffs[_i].diff);
}
END_TEST

START_TEST(a_failure_looks_like_one)
{
    begin();
    call("x", "t", "{}");
    result("x",
           "{\"tool_success\":false,\"error\":\"timed out\",\"error_code\":\"TOOL_TIMEOUT\","
           "\"exit_code\":null,\"stderr\":\"a\\nb\"}",
           false);
    char *html = page();
    ck_assert_ptr_nonnull(strstr(html, LINE("failed", "✗", "failed", "t", "in short")));
    ck_assert_ptr_nonnull(
        strstr(html, PART(LABEL("stderr") PRE("a\nb")) FIELDS(FIELD("error", "timed out") FIELD(
                         "error_code", "TOOL_TIMEOUT") FIELD("exit_code", "null"))));
}
END_TEST

/* tool_success is about the tool, not about what it was to do. */
START_TEST(so_does_a_command_that_failed)
{
    static const char *const outputs[] = {"{\"result\":{\"output\":\"\",\"exit_code\":1}}",
                                          "{\"result\":{\"error\":\"no\"}}",
                                          "{\"result\":{\"output\":\"\",\"exit_code\":0}}"};
    begin();
    for (size_t i = 0; i < 3; i++) {
        call("x", "t", "{}");
        result("x", outputs[i], true);
    }
    char *html = page();
    ck_assert_uint_eq(count(html, "class=\"tool failed\""), 2);
    ck_assert_uint_eq(count(html, "class=\"tool ok\""), 1);
}
END_TEST

START_TEST(calls_stand_in_their_order_with_their_own_results)
{
    begin();
    call("1", "one", "{}");
    say("assistant", "between", NULL);
    call("2", "two", "{}");
    result("2", "second", true);
    result("1", "first", true);
    result("3", "nobody's", true);
    say("user", "and", NULL);
    call("4", "four", "{}");
    say("user", "so?", NULL);
    result("4", "too late", true);
    char *html = page();
    static const char *const wanted[] = {"<b>one</b>", ">first<",      "between", "<b>two</b>",
                                         ">second<",   "nobody&#39;s", "1. You",  "<b>four</b>",
                                         "no result",  "2. You",       "too late"};
    const char *at = html;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        at = strstr(at, wanted[i]);
        ck_assert_msg(at != NULL, "%s is not where it should be in\n%s", wanted[i], html);
    }
}
END_TEST

/* A log without results does not wait for ever. */
START_TEST(too_many_calls_do_not_wait)
{
    begin();
    for (int i = 0; i < 1000; i++) {
        call(ik_sprintf(ctx, "%d", i), "t", "{}");
    }
    result("999", "here", true);
    ck_assert_uint_eq(count(page(), "<details class=\"tool lost\""), 999);
}
END_TEST

START_TEST(what_is_no_json_is_shown_as_it_is)
{
    begin();
    call("x", "t", "not <json>");
    result("x", "nor {this", true);
    say("tool_call", "broken(", "{\"id\":");
    say("tool_result", NULL, "[]");
    char *html = page();
    ck_assert_ptr_nonnull(strstr(html, PRE("not &lt;json&gt;")));
    ck_assert_ptr_nonnull(strstr(html, PRE("nor {this")));
    ck_assert_ptr_nonnull(strstr(html, PRE("{&quot;id&quot;:")));
    ck_assert_ptr_nonnull(strstr(html, PRE("[]")));
}
END_TEST

START_TEST(long_texts_are_cut_between_characters)
{
    begin();
    call("x", "t", "{}");
    char *text = ik_sprintf(ctx, "x%s", repeat(ctx, "é", 150000));
    ik_buffer_t output = new_buffer();
    ik_buffer_append_text(&output, "{\"result\":");
    ik_json_append_text(&output, text);
    ik_buffer_append_text(&output, "}");
    result("x", output.data, true);
    say("user", text, NULL);
    char *html = page();
    ck_assert_uint_eq(count(html, "é"), 2 * 99999);
    ck_assert_uint_eq(count(html, BAD), 0);
    ck_assert_uint_eq(count(html, "<p class=\"cut\">Shows the first 200 KB of 300 KB. A JSON Lines "
                                  "export has all of it.</p>"),
                      2);
}
END_TEST

START_TEST(a_summary_is_folded)
{
    begin();
    say("compaction", "Summarised", "{\"summary\":\"*All* <b>\"}");
    ck_assert_ptr_nonnull(
        strstr(page(), "Summarised</div>\n<details class=\"aside\"><summary>Summary</summary>\n"
                       "<div class=\"body\">\n<div class=\"md\">\n<p><em>All</em> &lt;b&gt;</p>"));
}
END_TEST

START_TEST(an_answer_with_its_small_print)
{
    begin();
    say("assistant", "*yes*",
        "{\"model\":\"p/"
        "<m>\",\"usage\":{\"in\":1234567,\"cached\":5,\"out\":8},\"cost_usd\":0.0012,"
        "\"reasoning\":\"because\",\"incomplete\":true}");
    say("compaction", "<removed>", NULL);
    say("end", "The agent was ended.", NULL);
    say("new <kind>", "of message", "{\"a\":1}");
    ck_assert_str_eq(
        page(),
        "<details class=\"aside\"><summary>Reasoning</summary>\n<div class=\"body\">\n"
        "<div class=\"md\">\n<p>because</p>\n</div>\n</div>\n</details>\n"
        "<div class=\"answer\" id=\"a1-1\">\n<div class=\"md\">\n<p><em>yes</em></p>\n</div>\n"
        "<p class=\"cut\">(answer cut off)</p>\n"
        "<p class=\"small\">p/&lt;m&gt;<span class=\"sep\">·</span>tokens: 1,234,567 in (5 "
        "cached), 8 "
        "out<span class=\"sep\">·</span>$0.0012<span class=\"sep\">·</span>"
        "<time datetime=\"2023-11-14T22:13:20Z\">2023-11-14 22:13 UTC</time></p>\n</div>\n"
        "<div class=\"note\" id=\"a1-2\">&lt;removed&gt;</div>\n"
        "<div class=\"note\" id=\"a1-3\">The agent was ended.</div>\n"
        "<details class=\"aside\" id=\"a1-4\"><summary>new &lt;kind&gt;</summary>\n"
        "<div class=\"body\">\n<div class=\"as-is\">of message</div>\n"
        "<div class=\"as-is mono\">{&quot;a&quot;:1}</div>\n</div>\n</details>\n");
}
END_TEST

/* --- the page ---------------------------------------------------------------------------- */

START_TEST(forks_lead_to_where_they_began)
{
    ik_store_agent_t agents[] = {
        {.session_id = LOG_ID, .number = 2, .parent = 1, .forked_at = 2, .created_us = LOG_TIME},
        {.session_id = LOG_ID, .number = 3, .parent = 2, .forked_at = 1, .created_us = LOG_TIME}};
    begin();
    say("user", "a", NULL);
    say("assistant", "b", NULL);
    log_assert_ok(ik_store_write(store, &(ik_store_batch_t){.agents = agents, .agent_count = 2}));
    char *html = export(&ik_export_html);
    ck_assert_ptr_nonnull(strstr(html, "<h2>Agent 1</h2>\n<section class=\"turn\""));
    ck_assert_ptr_nonnull(
        strstr(html, "<section class=\"agent\" id=\"agent-2\">\n<h2>Agent 2</h2>\n<p>Forked from "
                     "<a href=\"#agent-1\">agent 1</a> at <a href=\"#a1-2\">message 2</a>. "));
    /* What agent 2 itself had from agent 1. */
    ck_assert_ptr_nonnull(
        strstr(html, "<h2>Agent 3</h2>\n<p>Forked from <a href=\"#agent-2\">agent 2</a> at "
                     "<a href=\"#a1-1\">message 1</a>. "));
}
END_TEST

START_TEST(title_and_facts_are_text)
{
    ik_store_session_t session = log_session(LOG_ID);
    ik_store_agent_t root = log_root(LOG_ID);
    session.cwd = "/<cwd>";
    session.host = "\"host\"";
    session.model = "</style>";
    log_assert_ok(ik_store_write(
        store, &(ik_store_batch_t){
                   .sessions = &session, .session_count = 1, .agents = &root, .agent_count = 1}));
    last = 0;
    say("user", "</title>\u202e", NULL);
    char *html = export(&ik_export_html);
    ck_assert_ptr_nonnull(strstr(html, "<title>&lt;/title&gt;[U+202E]</title>"));
    ck_assert_ptr_nonnull(strstr(html, "<h1>&lt;/title&gt;" SHOWN("202E") "</h1>"));
    ck_assert_ptr_nonnull(strstr(html, "<dt>Folder</dt><dd class=\"mono\">/&lt;cwd&gt;</dd>"));
    ck_assert_ptr_nonnull(strstr(html, "<dt>Host</dt><dd>&quot;host&quot;</dd>"));
    ck_assert_ptr_nonnull(strstr(html, "<dt>Model</dt><dd class=\"mono\">&lt;/style&gt;</dd>"));
    ck_assert_uint_eq(count(html, "</style>"), 1);
    ck_assert_uint_eq(count(html, "<script"), 0);
}
END_TEST

START_TEST(the_style_cannot_end_early)
{
    ck_assert_ptr_null(strstr(ik_html_style, "</"));
    ck_assert_ptr_null(strstr(ik_html_style, "url("));
    ck_assert_ptr_null(strstr(ik_html_style, "@import"));
}
END_TEST

/* --- memory ------------------------------------------------------------------------------ */

/* A store of any length that is nowhere, and the most memory that was in use while it was read. */
static int64_t log_length;
static size_t most;

static res_t read_endless(ik_store_t *from, const ik_store_agent_t *agent, int64_t after,
                          ik_store_event_fn on_event, void *data)
{
    static const char *const kinds[] = {"user", "assistant", "tool_call", "tool_result"};
    (void)from;
    (void)agent;
    for (int64_t seq = after + 1; seq <= log_length; seq++) {
        TRY(on_event(data,
                     &(ik_store_event_t){
                         .session_id = LOG_ID,
                         .agent = 1,
                         .seq = seq,
                         .kind = kinds[seq % 4],
                         .content = "some **words** of a message\n\n```c\nint a;\n```\n",
                         .data_json = "{\"id\":\"x\",\"tool_call_id\":\"x\",\"function\":"
                                      "{\"name\":\"t\",\"arguments\":\"{}\"},\"output\":\"{}\"}"}));
        size_t now = mallinfo2().uordblks;
        most = now > most ? now : most;
    }
    return OK;
}

static res_t one_agent(const void *owner, ik_store_t *from, const char *session_id,
                       ik_store_agents_t **out)
{
    (void)from;
    *out = ik_new(owner, ik_store_agents_t);
    (*out)->agents = ik_new(*out, ik_store_agent_t);
    (*out)->agents[0] = log_root(session_id);
    (*out)->count = 1;
    return OK;
}

static size_t memory_of(const ik_export_t *format, int64_t length)
{
    static const ik_store_kind_t kind = {.agents = one_agent, .read = read_endless};
    ik_store_t endless = {.kind = &kind};
    ik_store_session_t session = log_session(LOG_ID);
    FILE *out = fopen("/dev/null", "w");
    session.title = "";
    log_length = length;
    most = 0;
    size_t before = mallinfo2().uordblks;
    log_assert_ok(
        format->write(out, &(ik_export_source_t){.store = &endless, .session = &session}));
    fclose(out);
    return most - before;
}

START_TEST(memory_does_not_grow_with_the_session)
{
    static const ik_export_t *const formats[] = {&ik_export_jsonl, &ik_export_markdown,
                                                 &ik_export_html};
    size_t few = memory_of(formats[_i], 50);
    size_t many = memory_of(formats[_i], 20000);
    ck_assert_msg(many < few + 100000, "%zu bytes for 50 messages, %zu for 20,000", few, many);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("export_html");
    TCase *tests = tcase_create("export_html");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, text_is_only_text, 0, sizeof(escapes) / sizeof(escapes[0]));
    tcase_add_test(tests, attributes_have_no_markup);
    tcase_add_loop_test(tests, markdown_is_rendered, 0, sizeof(markdowns) / sizeof(markdowns[0]));
    tcase_add_test(tests, nesting_has_an_end);
    tcase_add_test(tests, links_do_not_nest_at_any_depth);
    tcase_add_test(tests, what_becomes_too_much_is_not_rendered);
    tcase_add_test(tests, a_call_and_its_result_are_one);
    tcase_add_test(tests, what_a_tool_was_given_is_shown_as_what_it_is);
    tcase_add_test(tests, results_are_shown_as_declared);
    tcase_add_test(tests, a_file_that_was_read_is_shown_in_its_language);
    tcase_add_test(tests, an_edit_is_a_difference);
    tcase_add_test(tests, an_edit_has_the_colours_of_its_language_and_marks_words);
    tcase_add_test(tests, output_that_is_a_diff_is_shown_as_one);
    tcase_add_loop_test(tests, only_a_diff_is_one, 0, sizeof(diffs) / sizeof(diffs[0]));
    tcase_add_test(tests, a_failure_looks_like_one);
    tcase_add_test(tests, so_does_a_command_that_failed);
    tcase_add_test(tests, calls_stand_in_their_order_with_their_own_results);
    tcase_add_test(tests, too_many_calls_do_not_wait);
    tcase_add_test(tests, what_is_no_json_is_shown_as_it_is);
    tcase_add_test(tests, long_texts_are_cut_between_characters);
    tcase_add_test(tests, a_summary_is_folded);
    tcase_add_test(tests, an_answer_with_its_small_print);
    tcase_add_test(tests, forks_lead_to_where_they_began);
    tcase_add_test(tests, title_and_facts_are_text);
    tcase_add_test(tests, the_style_cannot_end_early);
    tcase_add_loop_test(tests, memory_does_not_grow_with_the_session, 0, 3);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return suite_run(make_suite());
}
