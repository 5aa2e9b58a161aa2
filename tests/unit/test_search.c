/* What a word is, what a search means, and what is shown of a text that was found. */
#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "conversation/message.h"
#include "store/words/event_text.h"
#include "store/words/text_words.h"
#include "store/words/word_query.h"
#include "store/words/word_snippet.h"
#include "suite.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))
#define TEN "abcdefghij"
#define SIXTY TEN TEN TEN TEN TEN TEN

static void *ctx;

static void set_up(void)
{
    ctx = talloc_new(NULL);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

/* --- words ------------------------------------------------------------------------------- */

static const char *words_of(const char *text)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_text_words_append(&out, text, strlen(text));
    return ik_buffer_finish(&out);
}

static const struct {
    const char *text;
    const char *words;
} cuts[] = {
    {"", ""},
    {" \t\n.,;-_/", ""},
    {"Fix the TEST!", "fix the test"},
    {"ik_store_open(ctx->db, 0x1F);", "ik store open ctx db 0x1f"},
    {"don't e-mail a.b@c.de", "don t e mail a b c de"},
    {"camelCase x86_64 3.14", "camelcase x86 64 3 14"},
    {"a\0b", "a"},
    {"@[`{\x7f~", ""}, /* beside the letters in ASCII */
    {"/0 9:", "0 9"},
    /* case and marks */
    {"Größe GRÖSSE", "grosse grosse"},
    {"cafe\xcc\x81 CAFÉ", "cafe cafe"},
    {"İstanbul Ångström ñandú", "istanbul angstrom nandu"},
    {"o\xcc\xb8re", "ore"}, /* a stroke over it */
    {"НАУКА Ёлка", "наука елка"},
    {"ΣΊΣΥΦΟΣ σίσυφος", "σισυφοσ σισυφοσ"},
    {"ﬃ Ｋａｎａ ² Ⅷ", "ffi kana 2 viii"},
    {"⑴ ½", "1 12"}, /* what is no letter in a decomposition goes */
    {"Zu\xc2\xadsatz", "zusatz"},
    /* signs that make another letter stay */
    {"किताब कताब", "किताब कताब"},
    {"がぎ か\xe3\x82\x99", "が ぎ が"},
    {"ｶﾞ ﾊﾟ", "ガ パ"},
    /* writing without spaces */
    {"日本語を話す", "日 本 語 を 話 す"},
    {"使用git命令2次", "使 用 git 命 令 2 次"},
    {"ภาษา", "ภ า ษ า"},
    {"한국어 문장", "한국어 문장"},
    {"\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab", "한"}, /* the same in parts */
    {"𠀀𠀁", "𠀀 𠀁"},
    /* what separates */
    {"a—b “c” d…e", "a b c d e"},
    {"a\xffz \xc3 x\xc3y \xed\xa0\x80z", "a z x y z"},
    {"\xcc\x81 a \xe2\x83\xa3", "a"}, /* a mark without a letter */
    {"👍ok👍", "ok"},
    /* long ones */
    {SIXTY "1234", SIXTY "1234"},
    {SIXTY "12345 b", SIXTY "1234 b"},
    {SIXTY "123ß!", SIXTY "123s"},
    {SIXTY "123é!", SIXTY "123e"},
    {SIXTY "123д д", SIXTY "123 д"},
};

START_TEST(text_is_cut_into_words)
{
    ck_assert_str_eq(words_of(cuts[_i].text), cuts[_i].words);
    ck_assert_str_eq(words_of(cuts[_i].words), cuts[_i].words);
}
END_TEST

/* The fast path and the other one agree on all of ASCII, whatever stands beside it. */
START_TEST(every_byte_of_ascii)
{
    for (int c = 1; c < 0x80; c++) {
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool part = letter || (c >= '0' && c <= '9');
        char folded = (char)(letter ? c | 0x20 : c);
        char text[16];
        char expected[16];
        snprintf(text, sizeof(text), "q%cz", c);
        snprintf(expected, sizeof(expected), part ? "q%cz" : "q z", folded);
        ck_assert_str_eq(words_of(text), expected);
        snprintf(text, sizeof(text), "д%cz", c);
        snprintf(expected, sizeof(expected), part ? "д%cz" : "д z", folded);
        ck_assert_str_eq(words_of(text), expected);
    }
}
END_TEST

typedef struct {
    const char *text;
    ik_buffer_t seen;
    size_t most;
} places_t;

static bool on_word(void *data, const ik_text_word_t *word)
{
    places_t *places = data;
    ik_buffer_append_format(&places->seen, "%.*s=%.*s|", (int)word->len, word->word,
                            (int)word->source_len, places->text + word->offset);
    return --places->most > 0;
}

static const char *places_of(const char *text, size_t most)
{
    places_t places = {.text = text, .most = most};
    ik_buffer_init(&places.seen, ctx, IK_BUFFER_UNLIMITED);
    ik_text_words(text, strlen(text), on_word, &places);
    return ik_buffer_finish(&places.seen);
}

START_TEST(words_know_where_they_stood)
{
    ck_assert_str_eq(places_of("The (Größe) cafe\xcc\x81, ｶﾞ日", 99),
                     "the=The|grosse=Größe|cafe=cafe\xcc\x81|ガ=ｶﾞ|日=日|");
    ck_assert_str_eq(places_of(SIXTY "12345-x", 99), SIXTY "1234=" SIXTY "12345|x=x|");
}
END_TEST

START_TEST(whoever_has_enough_says_so)
{
    ck_assert_str_eq(places_of("a b c", 2), "a=a|b=b|");
}
END_TEST

START_TEST(words_are_added_to_others)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_text_words_append(&out, "", 0);
    ck_assert_uint_eq(out.len, 0);
    ik_text_words_append(&out, "A b", 3);
    ik_text_words_append(&out, " - ", 3);
    ik_text_words_append(&out, "C", 1);
    ck_assert_str_eq(out.data, "a b c");
    ck_assert_uint_eq(out.len, 5);
}
END_TEST

/* --- what of an event is searched -------------------------------------------------------- */

static const char *text_of(const char *kind, const char *content, const char *data_json)
{
    ik_store_event_t event = {.kind = kind, .content = content, .data_json = data_json};
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_event_text_append(&out, &event);
    return ik_buffer_finish(&out);
}

static const struct {
    const char *kind;
    const char *content;
    const char *data_json;
    const char *text;
} events[] = {
    {IK_MSG_USER, "Hi \"there\"", NULL, "Hi \"there\""},
    {IK_MSG_USER, NULL, NULL, ""},
    {IK_MSG_ASSISTANT, "Yes.", NULL, "Yes."},
    {IK_MSG_ASSISTANT, "Yes.", "{\"model\":\"p/m\",\"reasoning\":\"I\\nthink\"}", "Yes.\nI\nthink"},
    {IK_MSG_ASSISTANT, NULL, "{\"reasoning\":\"hm\"}", "hm"},
    {IK_MSG_ASSISTANT, "Yes.", "{\"reasoning\":[1]}", "Yes."},
    {IK_MSG_ASSISTANT, "Yes.", "{oops", "Yes."},
    {IK_MSG_SYSTEM, "You are", NULL, ""},
    {IK_MSG_COMPACTION, "2 results removed", "{\"trimmed_results\":2}", ""},
    {"note", "as it is", "{\"x\":\"y\"}", "as it is"},
    {IK_MSG_TOOL_CALL, "bash(…)",
     "{\"id\":\"c1\",\"function\":{\"name\":\"bash\",\"arguments\":"
     "\"{\\\"command\\\":\\\"ls \\\\\\\"a\\\\\\\" \\\\u00e9\\\",\\\"n\\\":-1.5e3,"
     "\\\"deep\\\":[{\\\"k\\\":\\\"v\\\"},true,null,7]}\"},\"reasoning\":\"why\"}",
     "bash\nls \"a\" é\n-1.5e3\nv\n7\nwhy"},
    {IK_MSG_TOOL_CALL, "bash(…)",
     "{\"function\":{\"name\":\"bash\",\"arguments\":\"{\\\"cut\\\": \\\"off\"}}",
     "bash\n{\"cut\": \"off"},
    {IK_MSG_TOOL_CALL, "bash()", "{\"function\":{\"name\":\"bash\",\"arguments\":\"\"}}", "bash"},
    {IK_MSG_TOOL_CALL, "bash()", "{\"function\":7}", ""},
    {IK_MSG_TOOL_CALL, "bash()", NULL, "bash()"},
    {IK_MSG_TOOL_CALL, "bash()", "[]", "bash()"},
    {IK_MSG_TOOL_RESULT, "1 line",
     "{\"name\":\"bash\",\"output\":\"{\\\"tool_success\\\":true,\\\"result\\\":{\\\"output\\\": "
     "\\\"a\\\\nb\\\",\\\"exit_code\\\" : 0}}\"}",
     "a\nb\n0"},
    {IK_MSG_TOOL_RESULT, "failed",
     "{\"output\":\"{\\\"tool_success\\\":false,\\\"error\\\":\\\"no\\\",\\\"exit_code\\\":null,"
     "\\\"stdout\\\":\\\"\\\",\\\"stderr\\\":\\\"bad\\\"}\"}",
     "no\nbad"},
    {IK_MSG_TOOL_RESULT, "plain", "{\"output\":\"plain \\\"text\\\"\"}", "plain \"text\""},
    {IK_MSG_TOOL_RESULT, "x", "{\"output\":\"\\\"a string\\\"\"}", "a string"},
    {IK_MSG_TOOL_RESULT, "summary", "nonsense", "summary"},
    {IK_MSG_TOOL_RESULT, "summary", "{\"output\":5}", ""},
};

START_TEST(what_is_searched)
{
    ck_assert_str_eq(text_of(events[_i].kind, events[_i].content, events[_i].data_json),
                     events[_i].text);
}
END_TEST

/* A text of so many bytes: an x and two-byte characters. */
static char *long_text(size_t len)
{
    char *text = ik_new_array(ctx, char, len + 1);
    for (size_t i = 0; i < len; i++) {
        text[i] = i == 0 ? 'x' : i % 2 == 1 ? '\xc3' : '\xa9';
    }
    return text;
}

/* All of it in one text, in a result's output, in two arguments. */
START_TEST(long_texts_are_cut_between_characters)
{
    const char *text = long_text(IK_EVENT_TEXT_MAX + 101);
    const char *cut = text_of(IK_MSG_USER, text, NULL);
    ck_assert_uint_eq(strlen(cut), IK_EVENT_TEXT_MAX - 1);
    ck_assert(ik_utf8_valid(cut, strlen(cut)));
    const char *envelope = ik_sprintf(ctx, "{\"tool_success\":true,\"result\":\"%s\"}", text);
    ik_msg_result_t result = {.call_id = "c", .name = "t", .output = envelope};
    const ik_msg_t *message = ik_msg_create_result(ctx, &result);
    ck_assert_str_eq(text_of(message->kind, message->content, message->data_json), cut);
    const char *half = long_text(IK_EVENT_TEXT_MAX - 20);
    const char *arguments =
        ik_sprintf(ctx, "{\"a\":\"%s\",\"b\":\"%s\",\"c\":\"%s\"}", half, half, half);
    ik_msg_call_t call = {
        .id = "c", .name = "t", .arguments = arguments, .arguments_len = strlen(arguments)};
    message = ik_msg_create_call(ctx, &call, NULL);
    cut = text_of(message->kind, message->content, message->data_json);
    ck_assert_uint_le(strlen(cut), IK_EVENT_TEXT_MAX);
    ck_assert_uint_gt(strlen(cut), IK_EVENT_TEXT_MAX - 4);
    ck_assert(ik_utf8_valid(cut, strlen(cut)));
    ck_assert_str_eq(strrchr(cut, '\n'), ik_sprintf(ctx, "\n%.*s", 15, half));
}
END_TEST

START_TEST(what_was_there_does_not_count)
{
    const char *text = long_text(IK_EVENT_TEXT_MAX + 101);
    ik_store_event_t event = {.kind = IK_MSG_USER, .content = text};
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_event_text_append(&out, &event);
    ik_event_text_append(&out, &event);
    ck_assert_uint_eq(out.len, 2 * (IK_EVENT_TEXT_MAX - 1));
}
END_TEST

/* --- searches ---------------------------------------------------------------------------- */

static const struct {
    const char *text;
    const char *fts5;
    const char *tsquery;
} searches[] = {
    {"", "", ""},
    {" ** \" . \" -- ' \\ ", "", ""},
    {"Open store", "\"open\" AND \"store\"", "'open' & 'store'"},
    {"ik_store_open", "\"ik store open\"", "'ik' <-> 'store' <-> 'open'"},
    {"\"the Store\" op*", "\"the store\" AND \"op\"*", "'the' <-> 'store' & 'op':*"},
    {"ik_sto*", "\"ik sto\"*", "'ik' <-> 'sto':*"},
    {"\"ik sto*\"", "\"ik sto\"*", "'ik' <-> 'sto':*"},
    {"\"ik sto\"*", "\"ik sto\"*", "'ik' <-> 'sto':*"},
    {"op *", "\"op\"", "'op'"},
    {"*op o*p", "\"op\" AND \"o p\"", "'op' & 'o' <-> 'p'"},
    {"5\" nails", "\"5\" AND \"nails\"", "'5' & 'nails'"},
    {"a\"b c\"d", "\"a\" AND \"b c\" AND \"d\"", "'a' & 'b' <-> 'c' & 'd'"},
    {"\"a b\" \"c d", "\"a b\" AND \"c\" AND \"d\"", "'a' <-> 'b' & 'c' & 'd'"},
    {"x AND NOT (y OR z) NEAR/2",
     "\"x\" AND \"and\" AND \"not\" AND \"y\" AND \"or\" AND \"z\" AND \"near 2\"",
     "'x' & 'and' & 'not' & 'y' & 'or' & 'z' & 'near' <-> '2'"},
    {"a'b\\c:d ^e", "\"a b c d\" AND \"e\"", "'a' <-> 'b' <-> 'c' <-> 'd' & 'e'"},
    {"Größe日本", "\"grosse 日 本\"", "'grosse' <-> '日' <-> '本'"},
    {"a\xe3\x80\x80"
     "b\xc2\xa0"
     "c\td",
     "\"a\" AND \"b\" AND \"c\" AND \"d\"", "'a' & 'b' & 'c' & 'd'"},
    {"same SAME \"same\" same* same", "\"same\" AND \"same\"*", "'same' & 'same':*"},
    {"\xff\xc3", "", ""},
};

START_TEST(a_search_as_it_is_typed)
{
    ik_word_query_t *query = ik_word_query_parse(ctx, searches[_i].text);
    ck_assert_str_eq(ik_word_query_format_fts5(ctx, query), searches[_i].fts5);
    ck_assert_str_eq(ik_word_query_format_tsquery(ctx, query), searches[_i].tsquery);
    ck_assert_uint_eq(query->count == 0, searches[_i].fts5[0] == '\0');
}
END_TEST

START_TEST(a_text_that_was_pasted)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    for (int i = 0; i < 100; i++) {
        ik_buffer_append_format(&text, "w%d ", i);
    }
    const ik_word_query_t *query = ik_word_query_parse(ctx, text.data);
    ck_assert_uint_eq(query->count, IK_WORD_QUERY_PHRASES_MAX);
    ck_assert_str_eq(query->phrases[IK_WORD_QUERY_PHRASES_MAX - 1].words[0], "w31");
    const char *quoted = ik_sprintf(ctx, "\"%s\"*", text.data);
    query = ik_word_query_parse(ctx, quoted);
    ck_assert_uint_eq(query->count, 1);
    ck_assert_uint_eq(query->phrases[0].count, IK_WORD_QUERY_WORDS_MAX);
    ck_assert(!query->phrases[0].prefix);
}
END_TEST

START_TEST(a_search_is_one_tree)
{
    size_t blocks = talloc_total_blocks(ctx);
    ik_word_query_t *query = ik_word_query_parse(ctx, "a b \"c d\" a ik_store*");
    ck_assert_uint_gt(talloc_total_blocks(ctx), blocks);
    talloc_free(query);
    ck_assert_uint_eq(talloc_total_blocks(ctx), blocks);
}
END_TEST

/* --- snippets ---------------------------------------------------------------------------- */

/* The snippet with its marks in brackets. */
static const char *shown(const char *search, const char *text, size_t max)
{
    const ik_word_query_t *query = ik_word_query_parse(ctx, search);
    ik_store_snippet_t snippet = ik_word_snippet_create(ctx, query, text, strlen(text), max);
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    size_t at = 0;
    for (size_t i = 0; i < snippet.count; i++) {
        const ik_store_mark_t *mark = &snippet.marks[i];
        ck_assert_uint_ge(mark->offset, at);
        ck_assert_uint_gt(mark->len, 0);
        ck_assert_uint_le(mark->offset + mark->len, strlen(snippet.text));
        ik_buffer_append(&out, snippet.text + at, mark->offset - at);
        ik_buffer_append_format(&out, "[%.*s]", (int)mark->len, snippet.text + mark->offset);
        at = mark->offset + mark->len;
    }
    ik_buffer_append_text(&out, snippet.text + at);
    return ik_buffer_finish(&out);
}

static const struct {
    const char *search;
    const char *text;
    size_t max;
    const char *shown;
} snippets[] = {
    {"store", "open the Store now", 100, "open the [Store] now"},
    {"store", "", 100, ""},
    {"store", "nothing here", 100, "nothing here"},
    {"store", "nothing of this kind is here", 12, "nothing of…"},
    {"", "no search at all", 100, "no search at all"},
    {"open store", "Open the store; OPEN!", 100, "[Open] the [store]; [OPEN]!"},
    {"ik_store_open", "x = ik_store_open(); ik store", 100, "x = [ik_store_open](); ik store"},
    {"\"a b a\"", "a b a b a c", 100, "[a b a b a] c"},
    {"\"a a\"", "a a", 100, "[a a]"},
    {"\"a b\"", "a c a b", 100, "a c [a b]"},
    {"sto*", "store stove astore", 100, "[store] [stove] astore"},
    {"\"the sto*\"", "the store store the sto", 100, "[the store] store [the sto]"},
    {"\"the sto*\"", "then store", 100, "then store"},
    {"a \"a b\"", "a b a", 100, "[a b] [a]"},
    {"b \"a b c\"", "a b c", 100, "[a b c]"},
    {"\"a b\" \"b c\"", "a b c", 100, "[a b c]"},
    {"grosse", "Die Größe!", 100, "Die [Größe]!"},
    {"cafe", "un cafe\xcc\x81.", 100, "un [cafe\xcc\x81]."},
    {"日本", "我在日本語", 100, "我在[日本]語"},
    /* one line */
    {"b", "a\n\n\t b \001\x7f c\n", 100, "a [b] c"},
    {"b", "\n  b\n", 100, "[b]"},
    {"\"a b\"", "a\n\n   b", 100, "[a b]"},
    {"b", "\xff b\xc3", 100, "\xef\xbf\xbd [b]\xef\xbf\xbd"},
    /* which part */
    {"x", "one two three four x five six seven eight", 20, "…four [x] five six…"},
    {"x y", "x 1 2 3 4 5 6 7 8 9 x 1 2 3 4 5 6 7 8 9 x y 3", 7, "…9 [x] [y] 3"},
    {"x", "x 1 2 3 4 5 6 7 8 9 x x 1 2 3 4 5 6 7 8 9 x x", 5, "…[x] [x]…"},
    {"x y", "x x x 4 5 6 7 8 9 x y", 5, "…9 [x] [y]"},
    {"x", "1 2 3 4 5 6 7 8 9 x", 9, "…6 7 8 9 [x]"},
    {"x", "x 1 2 3 4 5 6 7 8 9", 9, "[x] 1 2 3 4…"},
    {"tail", "ääääääääääääääää tail", 12, "…[tail]"},
    {"日", "一二三四五六日一二三", 10, "…六[日]一…"},
    /* longer than there is room */
    {"abcdefghijklmnop", "1 abcdefghijklmnop 2", 8, "…[abcdefgh]…"},
    {"\"abc def\"", "abc - - - - - - - def", 8, "[abc - -]…"},
    {"äöüäöü", "äöüäöü", 5, "[äö]…"},
};

START_TEST(what_is_shown_of_a_text)
{
    ck_assert_str_eq(shown(snippets[_i].search, snippets[_i].text, snippets[_i].max),
                     snippets[_i].shown);
}
END_TEST

/* Wherever the match stands in a long text, it is shown, and not much else. */
START_TEST(a_match_anywhere_is_shown)
{
    enum { WORDS = 200, MAX = 60 };
    for (int place = 0; place < WORDS; place++) {
        ik_buffer_t text;
        ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
        for (int i = 0; i < WORDS; i++) {
            ik_buffer_append_format(&text, i == place ? "NEEDLE " : "hay%dß\n", i);
        }
        const char *line = shown("needle", text.data, MAX);
        ck_assert_ptr_nonnull(strstr(line, "[NEEDLE]"));
        ck_assert_uint_le(strlen(line), MAX + strlen("[]……"));
        ck_assert_uint_ge(strlen(line), MAX / 2);
        ck_assert(ik_utf8_valid(line, strlen(line)));
        ck_assert_ptr_null(strchr(line, '\n'));
        ik_buffer_reset(&text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("search");
    TCase *tests = tcase_create("search");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, text_is_cut_into_words, 0, COUNT(cuts));
    tcase_add_test(tests, every_byte_of_ascii);
    tcase_add_test(tests, words_know_where_they_stood);
    tcase_add_test(tests, whoever_has_enough_says_so);
    tcase_add_test(tests, words_are_added_to_others);
    tcase_add_loop_test(tests, what_is_searched, 0, COUNT(events));
    tcase_add_test(tests, long_texts_are_cut_between_characters);
    tcase_add_test(tests, what_was_there_does_not_count);
    tcase_add_loop_test(tests, a_search_as_it_is_typed, 0, COUNT(searches));
    tcase_add_test(tests, a_text_that_was_pasted);
    tcase_add_test(tests, a_search_is_one_tree);
    tcase_add_loop_test(tests, what_is_shown_of_a_text, 0, COUNT(snippets));
    tcase_add_test(tests, a_match_anywhere_is_shown);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
