/* The session as a Markdown document, and that no message reaches beyond its place in it. */
#include <md4c.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "export/export.h"
#include "export/markdown_message.h"
#include "export/markdown_text.h"
#include "store/sqlite/store_sqlite.h"
#include "store_log.h"
#include "suite.h"

static void *ctx;
static ik_store_t *store;
static int64_t last;

static void set_up(void)
{
    ctx = talloc_new(NULL);
    last = 0;
    log_assert_ok(ik_store_sqlite_open(ctx, ":memory:", &store));
    log_assert_ok(log_begin(store, LOG_ID));
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

/* --- messages ---------------------------------------------------------------------------- */

static const struct {
    const char *text;
    const char *markdown;
} messages[] = {
    {"words *as they are*, `<b>` too", "words *as they are*, `<b>` too\n"},
    {"a\r\nb\x1b\xff", "a\nb\xef\xbf\xbd\xef\xbf\xbd\n"},
    {"", ""},
    /* headings */
    {"# a\n## b\n##### c\n#d\n#\n    # code", "### a\n#### b\n###### c\n#d\n###\n    # code\n"},
    {"a\n===\nb\n---\n\n---", "a\n\\===\nb\n\n---\n\n---\n"},
    {"```\n# a\n===\n```\n# b", "```\n# a\n===\n```\n### b\n"},
    {"~~~ sh\n# a\n```\n~~~~\n# b", "~~~ sh\n# a\n```\n~~~~\n### b\n"},
    {"```a`b\n# c", "```a`b\n### c\n"},
    /* fences left open */
    {"```c\nint a;", "```c\nint a;\n```\n"},
    {"`````\n```", "`````\n```\n`````\n"},
    {"~~~~\na\n~~~", "~~~~\na\n~~~\n~~~~\n"},
    {"- ```\n  a", "- ```\n  a\n"},
    {"> ```\n> a", "> ```\n> a\n"},
    /* HTML */
    {"a <b>c</b> <!-- d --> 1 < 2 <https://e.f>",
     "a \\<b>c\\</b> \\<!-- d --> 1 < 2 <https://e.f>\n"},
    {"<!-- hidden", "\\<!-- hidden\n"},
    {"<details>\n\n```\n<i>\n```", "\\<details>\n\n```\n<i>\n```\n"},
    {"<script>\n`<b>` <i>\n</script>", "\\<script>\n`\\<b>` \\<i>\n\\</script>\n"},
    {"\\<b> \\\\<b>", "\\<b> \\\\\\<b>\n"},
    {"`a\n` <!-- not code --> `", "`a\n` \\<!-- not code --> `\n"},
    {"<?php\n<x>", "\\<?php\n\\<x>\n"},
};

START_TEST(a_message_stays_in_its_place)
{
    ik_buffer_t out = new_buffer();
    ik_markdown_message_append(&out, messages[_i].text, strlen(messages[_i].text), 2);
    ck_assert_str_eq(out.data, messages[_i].markdown);
}
END_TEST

/* What md4c makes of a document: whether it has HTML in it, and its headings of the first two
 * levels, which are the document's own. */
typedef struct {
    bool html;
    unsigned level;
    ik_buffer_t headings;
} document_t;

static int on_block(MD_BLOCKTYPE type, void *detail, void *data)
{
    document_t *document = data;
    document->level = type == MD_BLOCK_H ? ((MD_BLOCK_H_DETAIL *)detail)->level : 0;
    return 0;
}

static int on_end(MD_BLOCKTYPE type, void *detail, void *data)
{
    (void)type;
    (void)detail;
    ((document_t *)data)->level = 0;
    return 0;
}

static int on_span(MD_SPANTYPE type, void *detail, void *data)
{
    (void)type;
    (void)detail;
    (void)data;
    return 0;
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE len, void *data)
{
    document_t *document = data;
    document->html |= type == MD_TEXT_HTML;
    if (document->level == 1 || document->level == 2) {
        ik_buffer_append(&document->headings, text, len);
        ik_buffer_append_byte(&document->headings, ';');
    }
    return 0;
}

static document_t look_at(const char *markdown)
{
    static const MD_PARSER parser = {.flags = MD_DIALECT_GITHUB,
                                     .enter_block = on_block,
                                     .leave_block = on_end,
                                     .enter_span = on_span,
                                     .leave_span = on_span,
                                     .text = on_text};
    document_t document = {.headings = new_buffer()};
    ck_assert_int_eq(md_parse(markdown, (MD_SIZE)strlen(markdown), &parser, &document), 0);
    return document;
}

/* Messages of random pieces of Markdown, between two headings. */
START_TEST(random_messages_stay_in_their_place)
{
    static const char *const pieces[] = {
        "\n",  "\n\n", "```",  "~~~", "````", "# ", "===", "---",   "> ", "- ",  "    ",
        "<b>", "</b",  "<!--", "-->", "`",    "\\", "<?",  "<a ",   "\"", "[a]", "(b)",
        "|",   "text", "* ",   "1. ", "\t",   "<",  ">",   "<pre>", " "};
    srandom(3);
    for (int i = 0; i < 20000; i++) {
        ik_buffer_t text = new_buffer();
        for (long n = random() % 20; n > 0; n--) {
            ik_buffer_append_text(&text,
                                  pieces[(size_t)random() % (sizeof(pieces) / sizeof(pieces[0]))]);
        }
        ik_buffer_t out = new_buffer();
        ik_buffer_append_text(&out, "# first\n\n");
        ik_markdown_message_append(&out, text.data, text.len, 2);
        ik_buffer_append_text(&out, "\n## second\n");
        document_t document = look_at(out.data);
        ck_assert_msg(!document.html, "there is HTML in\n%s\nmade of\n%s", out.data, text.data);
        ck_assert_msg(strstr(document.headings.data, "second;") != NULL, "no end in\n%s", out.data);
        ik_buffer_reset(&document.headings);
        ik_buffer_reset(&out);
        ik_buffer_reset(&text);
    }
}
END_TEST

START_TEST(a_message_that_resists_is_fenced)
{
    ik_buffer_t text = new_buffer();
    ik_buffer_t out = new_buffer();
    for (int i = 0; i < 40000; i++) {
        ik_buffer_append_text(&text, "<b> ```\n");
    }
    ik_markdown_message_append(&out, text.data, text.len, 2);
    ck_assert_int_eq(strncmp(out.data, "````\n<b> ```\n", 13), 0);
    ck_assert_str_eq(out.data + out.len - 6, "\n````\n");
}
END_TEST

/* --- pieces of text ---------------------------------------------------------------------- */

START_TEST(code_and_lines_mean_nothing)
{
    ik_buffer_t out = new_buffer();
    ik_markdown_text_append_code(&out, "a|b");
    ik_buffer_append_byte(&out, ' ');
    ik_markdown_text_append_cell_code(&out, "a|b");
    ik_buffer_append_byte(&out, ' ');
    ik_markdown_text_append_code(&out, "");
    ik_markdown_text_append_code(&out, " `x``");
    ik_buffer_append_byte(&out, ' ');
    ik_markdown_text_append_code(&out, "a\nb");
    ck_assert_str_eq(out.data, "`a|b` `a\\|b` ```  `x`` ``` `a b`");
    out = new_buffer();
    ik_markdown_text_append_code(&out, "a````````````````b"); /* 16 */
    ck_assert_str_eq(out.data, "a\\`\\`\\`\\`\\`\\`\\`\\`\\`\\`\\`\\`\\`\\`\\`\\`b");
    out = new_buffer();
    ik_markdown_text_append_line(&out, "# <b> *a* [x](y) | \\\n&amp; é");
    ck_assert_str_eq(out.data, "\\# \\<b\\> \\*a\\* \\[x\\](y) \\| \\\\ \\&amp; é");
}
END_TEST

START_TEST(a_fence_is_longer_than_what_it_holds)
{
    ik_buffer_t out = new_buffer();
    ik_markdown_text_append_fenced(&out, "sh", "a", 1);
    ik_markdown_text_append_fenced(&out, "", "````\n``", 7);
    ik_markdown_text_append_fenced(&out, "", "", 0);
    ck_assert_str_eq(out.data, "```sh\na\n```\n`````\n````\n``\n`````\n```\n```\n");
}
END_TEST

/* --- the document ------------------------------------------------------------------------ */

static void say(const char *kind, const char *content, const char *data)
{
    log_assert_ok(log_write_one(store, log_event(LOG_ID, ++last, kind, content, data)));
}

static const char *patch; /* what the session changed; NULL: nothing */

static char *document(void)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    ik_store_session_t session = log_find(ctx, store, LOG_ID);
    log_assert_ok(ik_export_markdown.write(
        out, &(ik_export_source_t){.store = store, .session = &session, .patch = patch}));
    fclose(out);
    ck_assert(ik_utf8_valid(text, len));
    char *copy = ik_strndup(ctx, text, len);
    free(text);
    return copy;
}

/* Behind the table of facts. */
static char *body(void)
{
    return strstr(document(), LOG_ID "` |\n\n") + strlen(LOG_ID "` |\n\n");
}

START_TEST(a_session_as_a_document)
{
    say("user", "# What?\nTell <me>.", NULL);
    say("assistant", "It is *so*.",
        "{\"model\":\"p/m\",\"usage\":{\"in\":10,\"out\":2},\"cost_usd\":0.5,"
        "\"reasoning\":\"hm\"}");
    ck_assert_str_eq(document(), "# \\# What?\n\n"
                                 "| | |\n|---|---|\n"
                                 "| Folder | `/work` |\n"
                                 "| Host | here |\n"
                                 "| Model | `p/m` |\n"
                                 "| Started | 2023-11-14 22:13 UTC |\n"
                                 "| Last message | 2023-11-14 22:13 UTC |\n"
                                 "| Turns | 1 |\n"
                                 "| Tokens | 10 in, 2 out |\n"
                                 "| Cost | \\$0.50 |\n"
                                 "| Session | `" LOG_ID "` |\n\n"
                                 "## 1. You\n\n"
                                 "*2023-11-14 22:13 UTC*\n\n"
                                 "> ### What?\n"
                                 "> Tell \\<me>.\n\n"
                                 "<details><summary>Reasoning</summary>\n\nhm\n\n</details>\n\n"
                                 "It is *so*.\n\n"
                                 "<sub>p/m · tokens: 10 in, 2 out · \\$0.50 · "
                                 "2023-11-14 22:13 UTC</sub>\n\n");
}
END_TEST

START_TEST(records_are_not_shown)
{
    say("user", "hi", NULL);
    char *without = body();
    say("checkpoint", NULL, "{\"phase\":\"before\",\"states\":[\"x\"]}");
    ck_assert_str_eq(body(), without);
}
END_TEST

START_TEST(it_ends_with_what_the_session_changed)
{
    say("user", "hi", NULL);
    char *without = body();
    patch = "";
    ck_assert_str_eq(body(), without);
    patch = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-```\n+b\n";
    char *with = ik_sprintf(ctx, "%s## Changes\n\n````diff\n%s````\n\n", without, patch);
    ck_assert_str_eq(body(), with);
    patch = NULL;
}
END_TEST

START_TEST(calls_with_what_was_given_and_answered)
{
    say("tool_call", "bash(command=\"a\\n`b`\")",
        "{\"id\":\"1\",\"function\":{\"name\":\"bash\",\"arguments\":"
        "\"{\\\"command\\\":\\\"a\\\\n`b`\\\",\\\"short\\\":1}\"}}");
    say("tool_result", "exit 1: *no*",
        "{\"tool_call_id\":\"1\",\"success\":true,\"wall_ms\":1500,\"output\":"
        "\"{\\\"result\\\":{\\\"output\\\":\\\"```\\\\n\\\",\\\"exit_code\\\":1}}\"}");
    ck_assert_str_eq(body(), "**Tool** ``bash(command=\"a\\n`b`\")`` → exit 1: \\*no\\* (1.5 s)\n\n"
                             "command:\n\n```sh\na\n`b`\n```\n\n"
                             "````\n```\n````\n\n");
}
END_TEST

/* What a tool returned is shown as it declares, and cannot leave its place. */
START_TEST(results_are_shown_as_declared)
{
    static const struct {
        const char *display;
        const char *result;
        const char *text;
    } cases[] = {
        {"checklist",
         "{\"todos\":[{\"content\":\"<b>\\n# x\",\"status\":\"completed\"},"
         "{\"content\":\"y\",\"status\":\"in_progress\"}],\"open\":1}",
         "- [x] \\<b\\> \\# x\n- [ ] y *(in progress)*\n\n"},
        {"table", "{\"rows\":[{\"a\":1,\"b\":\"x|*y*\"}]}",
         "| a | b |\n|---|---|\n| 1 | x\\|\\*y\\* |\n\n"},
        {"markdown", "{\"output\":\"# a\"}", "### a\n\n"},
        {"diff", "{\"output\":\"-a\\n+b\"}", "```diff\n-a\n+b\n```\n\n"},
        {"code", "{\"output\":\"a\",\"language\":\"python\"}", "```python\na\n```\n\n"},
        {"code", "{\"output\":\"a\",\"language\":\"`x`\"}", "```\na\n```\n\n"},
        {"other", "{\"output\":\"# a\"}", "```\n# a\n```\n\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ik_buffer_t data = new_buffer();
        ik_buffer_append_format(
            &data,
            "{\"name\":\"t\",\"success\":true,\"display\":\"%s\",\"output\":", cases[i].display);
        ik_json_append_text(
            &data, ik_sprintf(ctx, "{\"tool_success\":true,\"result\":%s}", cases[i].result));
        ik_buffer_append_text(&data, "}");
        say("tool_result", "s", data.data);
        const char *text = body();
        const char *wanted = ik_sprintf(ctx, "**Tool** `t` → s\n\n%s", cases[i].text);
        ck_assert_uint_ge(strlen(text), strlen(wanted));
        ck_assert_str_eq(text + strlen(text) - strlen(wanted), wanted);
    }
}
END_TEST

START_TEST(an_edit_is_a_difference)
{
    say("tool_call", "file_edit(…)",
        "{\"function\":{\"name\":\"file_edit\",\"arguments\":"
        "\"{\\\"path\\\":\\\"a.c\\\",\\\"old_string\\\":\\\"a\\\\nb\\\","
        "\\\"new_string\\\":\\\"a\\\\nc\\\"}\"}}");
    ck_assert_str_eq(body(), "**Tool** `file_edit(…)` → no result\n\n"
                             "```diff\n a\n-b\n+c\n```\n\n");
}
END_TEST

START_TEST(long_results_are_cut)
{
    ik_buffer_t data = new_buffer();
    ik_buffer_append_text(&data,
                          "{\"name\":\"t\",\"success\":false,\"output\":\"{\\\"result\\\":\\\"");
    for (int i = 0; i < 10000; i++) {
        ik_buffer_append_text(&data, "é");
    }
    ik_buffer_append_text(&data, "\\\"}\"}");
    say("tool_result", NULL, data.data);
    char *text = body();
    ck_assert_int_eq(strncmp(text, "**Tool** `t` → failed\n\n```\né", 29), 0);
    ck_assert_ptr_nonnull(
        strstr(text, "é\n```\n\n*Shows the first 8 KB of 20 KB. A JSON Lines export has all of "
                     "it.*\n\n"));
    ck_assert_uint_lt(strlen(text), 8200);
}
END_TEST

/* What looks like code by itself would be text, and its HTML count, in a list that a note began. */
START_TEST(a_note_begins_no_list)
{
    say("user", "a", NULL);
    say("compaction", "\t", NULL);
    say("compaction", " \n\t2 removed", NULL);
    say("assistant", "\t<b>", NULL);
    ck_assert_ptr_null(strstr(body(), "*\t"));
    ck_assert_ptr_nonnull(strstr(body(), "> a\n\n*2 removed*\n\n```\n\t<b>\n```\n"));
}
END_TEST

START_TEST(a_summary_is_folded)
{
    say("user", "a", NULL);
    say("compaction", "The conversation was summarised", "{\"summary\":\"# All\\n<b>\"}");
    ck_assert_ptr_nonnull(strstr(body(), "*The conversation was summarised*\n\n"
                                         "<details><summary>Summary</summary>\n\n"));
    ck_assert_ptr_nonnull(strstr(body(), "\\<b>\n\n</details>\n"));
}
END_TEST

START_TEST(forks_say_where_they_began)
{
    ik_store_agent_t fork = {.session_id = LOG_ID, .number = 2, .parent = 1, .forked_at = 1};
    say("user", "a", NULL);
    say("system", "be <brief>", NULL);
    say("compaction", "1 removed", NULL);
    say("end", "The agent was ended.", NULL);
    say("odd*", "thing", "{}");
    log_assert_ok(ik_store_write(store, &(ik_store_batch_t){.agents = &fork, .agent_count = 1}));
    ik_store_event_t event = log_event(LOG_ID, 2, "user", "b\n\n# c", NULL);
    event.agent = 2;
    log_assert_ok(log_write_one(store, event));
    ck_assert_str_eq(body(),
                     "## Agent 1\n\n### 1. You\n\n*2023-11-14 22:13 UTC*\n\n> a\n\n"
                     "<details><summary>System prompt</summary>\n\nbe \\<brief>\n\n</details>\n\n"
                     "*1 removed*\n\n*The agent was "
                     "ended.*\n\n**odd\\***\n\n```\nthing\n```\n\n```json\n{}\n```\n\n"
                     "## Agent 2\n\n*Forked from agent 1 at message 1 of agent 1.*\n\n"
                     "### 2. You\n\n*2023-11-14 22:13 UTC*\n\n> b\n>\n> #### c\n\n");
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("export_markdown");
    TCase *tests = tcase_create("export_markdown");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, a_message_stays_in_its_place, 0,
                        sizeof(messages) / sizeof(messages[0]));
    tcase_add_test(tests, random_messages_stay_in_their_place);
    tcase_add_test(tests, a_message_that_resists_is_fenced);
    tcase_add_test(tests, code_and_lines_mean_nothing);
    tcase_add_test(tests, a_fence_is_longer_than_what_it_holds);
    tcase_add_test(tests, a_session_as_a_document);
    tcase_add_test(tests, records_are_not_shown);
    tcase_add_test(tests, it_ends_with_what_the_session_changed);
    tcase_add_test(tests, calls_with_what_was_given_and_answered);
    tcase_add_test(tests, results_are_shown_as_declared);
    tcase_add_test(tests, an_edit_is_a_difference);
    tcase_add_test(tests, long_results_are_cut);
    tcase_add_test(tests, a_note_begins_no_list);
    tcase_add_test(tests, a_summary_is_folded);
    tcase_add_test(tests, forks_say_where_they_began);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return suite_run(make_suite());
}
