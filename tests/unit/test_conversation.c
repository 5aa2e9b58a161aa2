#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../promises/repaired.h"
#include "base/alloc.h"
#include "base/utf8.h"
#include "conversation/conversation.h"
#include "suite.h"

/* Long enough not to be the same by chance. */
#define REST "123456789012345678901234567890123456789012345678901234567890123"
#define LONG "0" REST

static void *ctx;
static ik_conversation_t *stored;

static void set_up(void)
{
    ctx = talloc_new(NULL);
    stored = ik_conversation_create(ctx);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static void add(const char *kind, const char *content, const char *data)
{
    ik_conversation_append(stored, ik_msg_create(stored, kind, content, data));
}

static void add_call(const char *id, const char *more)
{
    add(IK_MSG_TOOL_CALL, "glob()",
        ik_sprintf(ctx,
                   "{\"id\":\"%s\",\"type\":\"function\",\"function\":{\"name\":\"glob\","
                   "\"arguments\":\"{}\"}%s}",
                   id, more));
}

static void add_result(const char *id, const char *more)
{
    add(IK_MSG_TOOL_RESULT, "done",
        ik_sprintf(ctx,
                   "{\"tool_call_id\":\"%s\",\"name\":\"glob\"%s,\"success\":true,"
                   "\"output\":\"{\\\"tool_success\\\":true}\"}",
                   id, more));
}

/* Of a copy, for tests that look at what was stored afterwards. Whatever is repaired, all that must
 * always hold holds. */
static ik_conversation_t *repair(void)
{
    ik_conversation_t *repaired = ik_conversation_take_repaired(ctx, repaired_copy(ctx, stored));
    const char *fault = repaired_fault(repaired);
    ck_assert_msg(fault == NULL, "%s", fault);
    return repaired;
}

static const ik_msg_t *repaired_message(size_t index)
{
    ik_conversation_t *repaired = repair();
    ck_assert_uint_gt(repaired->count, index);
    return repaired->messages[index];
}

static void assert_equal(void)
{
    ck_assert(repaired_is_equal(repair(), stored));
}

/* --- order: words in, words out ---------------------------------------------------------- */

/* A message is a word: u(ser), s(ystem), a(nswer), k (compaction), c:ID, r:ID; A and C begin a
 * step (with so many messages: A2, C2:ID), R is refused, ? is of no kind, - an empty answer, _ an
 * empty question. Coming out, i:ID is an interrupted result and m the missing beginning. */
static void add_word(const char *word)
{
    int count = atoi(word + 1);
    const char *id = strchr(word, ':') == NULL ? "" : strchr(word, ':') + 1;
    char *model = ik_strdup(ctx, ",\"model\":\"p/m\"");
    if (count > 0) {
        model =
            ik_sprintf(ctx, "%s,\"step\":%d,\"calls\":[],\"p\":{\"w\":\"%s\"}", model, count, word);
    }
    switch (word[0]) {
    case 'u':
    case '_':
        add(IK_MSG_USER, word[0] == 'u' ? word : " \n", NULL);
        break;
    case 's':
        add(IK_MSG_SYSTEM, "Be brief.", NULL);
        break;
    case 'k':
        add(IK_MSG_COMPACTION, "removed", "{\"trimmed_results\":1}");
        break;
    case 'a':
    case '-':
        add(IK_MSG_ASSISTANT, word[0] == 'a' ? word : "", NULL);
        break;
    case 'A':
    case 'R':
        add(IK_MSG_ASSISTANT, word,
            ik_sprintf(ctx, "{%s%s}", model + 1, word[0] == 'R' ? ",\"refused\":true" : ""));
        break;
    case 'c':
    case 'C':
        add_call(id, word[0] == 'C' ? model : "");
        break;
    case 'r':
        add_result(id, "");
        break;
    default:
        add("note", "x", NULL);
        break;
    }
}

static void add_words(const char *words)
{
    char *position = NULL;
    char *copy = ik_strdup(ctx, words);
    for (char *word = strtok_r(copy, " ", &position); word != NULL;
         word = strtok_r(NULL, " ", &position)) {
        add_word(word);
    }
}

static char *word_of(const ik_msg_t *message)
{
    if (ik_msg_is(message, IK_MSG_TOOL_CALL)) {
        return ik_sprintf(ctx, "c:%s", ik_msg_field_text(ctx, message, "id"));
    }
    if (ik_msg_is(message, IK_MSG_TOOL_RESULT)) {
        char *output = ik_msg_field_text(ctx, message, "output");
        return ik_sprintf(ctx, "%c:%s", strstr(output, "INTERRUPTED") == NULL ? 'r' : 'i',
                          ik_msg_field_text(ctx, message, "tool_call_id"));
    }
    bool begin = strncmp(message->content, "(The beginning", 14) == 0;
    bool compaction = ik_msg_is(message, IK_MSG_COMPACTION);
    return ik_sprintf(ctx, "%c", begin ? 'm' : compaction ? 'k' : message->kind[0]);
}

static char *words_of(const ik_conversation_t *conversation)
{
    char *words = ik_strdup(ctx, "");
    for (size_t i = 0; i < conversation->count; i++) {
        words =
            ik_sprintf(ctx, "%s%s%s", words, i == 0 ? "" : " ", word_of(conversation->messages[i]));
    }
    return words;
}

static const char *const orders[][2] = {
    /* nothing to do */
    {"", ""},
    {"s u a", "s u a"},
    {"u c:1 c:2 r:1 r:2 a u", "u c:1 c:2 r:1 r:2 a u"},
    {"s k u a", "s k u a"},
    /* a result missing, late, early, too many, of nothing */
    {"u c:1", "u c:1 i:1"},
    {"u c:1 u", "u c:1 i:1 u"},
    {"u c:1 c:2 r:2", "u c:1 c:2 i:1 r:2"},
    {"u c:1 c:2 r:2 r:1", "u c:1 c:2 r:1 r:2"},
    {"u c:1 u a r:1", "u c:1 r:1 u a"},
    {"u r:1 c:1", "u c:1 r:1"},
    {"u r:9 a", "u a"},
    {"u c:1 r:1 r:1", "u c:1 r:1"},
    {"r:1", ""},
    /* an id twice: the k-th result is the k-th call's */
    {"u c:1 r:1 c:1 r:1", "u c:1 r:1 c:ik_r3 r:ik_r3"},
    {"u c:1 c:1 r:1", "u c:1 c:ik_r2 r:1 i:ik_r2"},
    {"u c:1 c:1 r:1 r:1", "u c:1 c:ik_r2 r:1 r:ik_r2"},
    {"u c: r:", "u c:ik_r1 r:ik_r1"},
    {"u c: c: r:", "u c:ik_r1 c:ik_r2 r:ik_r1 i:ik_r2"},
    /* … where the new one is taken, too */
    {"u c:ik_r2 c:ik_r2 c:ik_r2_", "u c:ik_r2 c:ik_r2__ c:ik_r2_ i:ik_r2 i:ik_r2__ i:ik_r2_"},
    /* the beginning */
    {"a", "m a"},
    {"s a u", "s m a u"},
    {"c:1", "m c:1 i:1"},
    {"s k c:1 r:1 u", "s k m c:1 r:1 u"},
    {"s", "s"},
    /* steps: what comes in one is answered behind it */
    {"u C:1 C:2", "u c:1 i:1 c:2 i:2"},
    {"u c:1 a c:2", "u c:1 i:1 a c:2 i:2"},
    {"u C2:1 a c:2", "u c:1 a c:2 i:1 i:2"},
    {"u C2:1 a a c:2", "u c:1 a i:1 a c:2 i:2"},
    {"u A3 c:1 a A c:2 r:2 r:1", "u a c:1 a r:1 a c:2 r:2"},
    {"u C2: a c:2", "u c:ik_r1 i:ik_r1 a c:2 i:2"}, /* rebuilt: its count is void */
    {"u C3:1 c:2 s a", "u c:1 c:2 i:1 i:2 s a"},
    {"u C3:1 k c:2", "u c:1 i:1 k c:2 i:2"},
    /* gone: unknown kinds and what is empty */
    {"? u ? a ?", "u a"},
    {"u - a", "u a"},
    {"u a _ a", "u a a"},
    {"_ a", "m a"},
    /* gone: refused turns, from the user's words on, other turns and settings stay */
    {"u R", ""},
    {"u a u R u a", "u a u a"},
    {"u a u c:1 r:1 R u", "u a u"},
    {"u a s u k R a u", "u a s k u"},
    {"u a u R R u", "u a u"}, /* what a doubled log says twice is one turn */
    {"u R a A u", "m a u"},
    {"R u", "u"},
};

START_TEST(order)
{
    add_words(orders[_i][0]);
    ck_assert_str_eq(words_of(repair()), orders[_i][1]);
}
END_TEST

/* Whatever came out once comes out again when the log has grown: ids made of places stay. */
START_TEST(growing_does_not_change_what_was)
{
    add_words("u c:1 c:1 r:1 c: a u");
    ik_conversation_t *before = repair();
    add_words("c:1 a c:2 r:2 c: c:0 u");
    ik_conversation_t *after = repair();
    ck_assert_uint_gt(after->count, before->count);
    after->count = before->count;
    ck_assert(repaired_is_equal(before, after));
}
END_TEST

START_TEST(what_needs_no_repair_comes_out_equal)
{
    add(IK_MSG_SYSTEM, "Be brief.", NULL);
    add(IK_MSG_USER, "hi", "{\"from\":\"stdin\"}");
    add(IK_MSG_ASSISTANT, "Let me look.",
        " {\"model\":\"p/m\",\"step\":2,\"calls\":[\"1\"],\"p\":{\"w\":[\"\\ud83d\\ude00\"]}} ");
    add_call("1", ",\"provider\":\"p\"");
    add_result("1", ",\"provider\":\"p\",\"wall_ms\":3");
    add(IK_MSG_COMPACTION, "removed", "{\"trimmed_results\":1}");
    add(IK_MSG_ASSISTANT, "",
        "{\"model\":\"p/m\",\"step\":1,\"calls\":[],\"p\":{\"w\":\"only for them\"}}");
    add(IK_MSG_USER, "go on", NULL);
    assert_equal();
}
END_TEST

/* A long session is not twice in memory. */
START_TEST(messages_that_need_no_repair_are_the_same)
{
    add_words("s u C2:1 a c:2 r:1 r:2 u a k u");
    ik_conversation_t *before = ik_conversation_create(ctx);
    before->messages = talloc_memdup(before, stored->messages, stored->count * sizeof(ik_msg_t *));
    before->count = stored->count;
    ik_conversation_t *repaired = ik_conversation_take_repaired(ctx, stored);
    ck_assert_uint_eq(repaired->count, before->count);
    for (size_t i = 0; i < before->count; i++) {
        ck_assert_ptr_eq(repaired->messages[i], before->messages[i]);
    }
}
END_TEST

/* Dropped, replaced or rebuilt: nothing is left of the old ones. */
START_TEST(what_is_gone_takes_no_memory)
{
    static const char own[] = "{\"model\":\"p/m\",\"step\":1,\"calls\":[],\"p\":\"" LONG "\"}";
    add_words("? u c:1 c:1 c: r:1 r:1 r:1 r:9 - a _ u a R A u");
    add(IK_MSG_ASSISTANT, "a", own);
    add(IK_MSG_ASSISTANT, "a", own);
    add(IK_MSG_ASSISTANT, "", own);
    add(IK_MSG_ASSISTANT, "a", "{\"model\":\"\\ud800\"}");
    add(IK_MSG_USER, "u", "no JSON");
    add(IK_MSG_TOOL_CALL, "c", "{\"id\":\"4\",\"function\":{\"name\":\"a b\",\"arguments\":\"\"}}");
    add_result("4", "");
    ik_conversation_t *repaired = ik_conversation_take_repaired(ctx, stored);
    ck_assert_ptr_null(repaired_fault(repaired));
    ck_assert_uint_eq(talloc_total_blocks(repaired), 2 + repaired->count);
}
END_TEST

START_TEST(it_belongs_to_the_new_owner)
{
    void *heir = talloc_new(ctx);
    add_words("u c:1");
    ik_conversation_t *repaired = ik_conversation_take_repaired(heir, stored);
    ck_assert_ptr_eq(talloc_parent(repaired), heir);
}
END_TEST

/* --- single messages --------------------------------------------------------------------- */

START_TEST(an_interrupted_call_has_an_envelope)
{
    add(IK_MSG_USER, "u", NULL);
    add_call("1", ",\"provider\":\"p\"");
    const ik_msg_t *result = repaired_message(2);
    ck_assert_str_eq(ik_msg_field_text(ctx, result, "output"),
                     "{\"tool_success\":false,\"error\":\"The call was interrupted before it had a "
                     "result.\",\"error_code\":\"INTERRUPTED\",\"exit_code\":null,\"stdout\":\"\","
                     "\"stderr\":\"\"}");
    ck_assert_str_eq(ik_msg_field_text(ctx, result, "provider"), "p");
    ck_assert_str_eq(ik_msg_field_text(ctx, result, "name"), "glob");
    ck_assert_ptr_nonnull(strstr(result->data_json, "\"success\":false"));
    ck_assert_str_eq(result->content, "failed: The call was interrupted before it had a result.");
}
END_TEST

START_TEST(data_that_is_no_object_is_gone)
{
    static const char *const bad[] = {"", "{", "[]", "5", "{}x", "\"text\"", "\xff"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        stored->count = 0;
        add(IK_MSG_USER, "u", bad[i]);
        add(IK_MSG_ASSISTANT, "a", bad[i]);
        add(IK_MSG_TOOL_CALL, "c", bad[i]);
        add(IK_MSG_TOOL_RESULT, "r", bad[i]);
        add(IK_MSG_COMPACTION, "k", bad[i]);
        ik_conversation_t *repaired = repair();
        ck_assert_str_eq(words_of(repaired), "u a");
        ck_assert_ptr_null(repaired->messages[0]->data_json);
        ck_assert_ptr_null(repaired->messages[1]->data_json);
    }
}
END_TEST

/* What stands in the data goes out byte for byte, so it must be what everyone takes; private data
 * that had to be changed is not what its provider knows. */
START_TEST(data_is_cleaned)
{
    add(IK_MSG_USER, "u", NULL);
    add(IK_MSG_ASSISTANT, "a",
        "{\"model\":\"p/m\",\"step\":1,\"calls\":[],\"p\":{\"w\":\"\xff\"}}");
    add_call("a\\ud800", ",\"provider\":\"p\"");
    add_result("a\\udfff", ",\"provider\":\"p\"");
    ik_conversation_t *repaired = repair();
    ck_assert_str_eq(repaired->messages[1]->data_json, "{\"model\":\"p/m\"}");
    ck_assert_str_eq(words_of(repaired), "u a c:a\xef\xbf\xbd r:a\xef\xbf\xbd");
    for (size_t i = 0; i < repaired->count; i++) {
        const char *data = repaired->messages[i]->data_json;
        ck_assert(data == NULL || ik_utf8_valid(data, strlen(data)));
        ck_assert(data == NULL || strstr(data, "\\ud") == NULL);
    }
}
END_TEST

START_TEST(data_nested_without_end_is_gone_where_it_is_looked_at)
{
    ik_buffer_t deep;
    ik_buffer_init(&deep, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&deep, "{\"x\":\"\\ud800\",\"y\":");
    for (int i = 0; i < 100; i++) {
        ik_buffer_append_byte(&deep, '[');
    }
    for (int i = 0; i < 100; i++) {
        ik_buffer_append_byte(&deep, ']');
    }
    ik_buffer_append_byte(&deep, '}');
    add(IK_MSG_USER, "u", deep.data);
    ck_assert_ptr_null(repaired_message(0)->data_json);
}
END_TEST

START_TEST(calls_that_say_nothing_are_gone)
{
    static const char *const bad[] = {
        "{}",
        "{\"id\":\"1\"}",
        "{\"id\":\"1\",\"function\":{\"name\":\"\",\"arguments\":\"{}\"}}",
        "{\"id\":\"1\",\"function\":{\"name\":\"t\"}}",
        "{\"id\":\"1\",\"function\":{\"arguments\":\"{}\"}}",
        "{\"id\":\"1\",\"function\":{\"name\":\"t\",\"arguments\":{}}}",
        "{\"id\":\"1\",\"function\":[]}",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        stored->count = 0;
        add(IK_MSG_USER, "u", NULL);
        add(IK_MSG_TOOL_CALL, "c", bad[i]);
        add_result("1", "");
        ck_assert_str_eq(words_of(repair()), "u");
    }
}
END_TEST

START_TEST(results_that_say_nothing_are_missing)
{
    static const char *const bad[] = {
        "{\"tool_call_id\":\"1\"}",
        "{\"tool_call_id\":\"1\",\"output\":5}",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        stored->count = 0;
        add(IK_MSG_USER, "u", NULL);
        add_call("1", "");
        add(IK_MSG_TOOL_RESULT, "r", bad[i]);
        ck_assert_str_eq(words_of(repair()), "u c:1 i:1");
    }
}
END_TEST

START_TEST(ids_that_are_none_are_made)
{
    static const char *const bad[] = {"5", "null", "\"\"", "\"a\\u0000b\"", "{}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        stored->count = 0;
        add(IK_MSG_USER, "u", NULL);
        add(IK_MSG_TOOL_CALL, "c",
            ik_sprintf(ctx, "{\"id\":%s,\"function\":{\"name\":\"t\",\"arguments\":\"{}\"}}",
                       bad[i]));
        add(IK_MSG_TOOL_RESULT, "r",
            ik_sprintf(ctx, "{\"tool_call_id\":%s,\"output\":\"x\"}", bad[i]));
        ck_assert_str_eq(words_of(repair()), "u c:ik_r1 r:ik_r1");
    }
}
END_TEST

/* What had to be changed is not its provider's any more, but it still begins a step. */
START_TEST(names_that_no_tool_can_have)
{
    static const char *const names[][2] = {
        {"a b", "a_b"},         {"1", "_"},     {"\\u0067lob", "glob"}, {"a\\u0000b", "a"},
        {"\\u0000", "unknown"}, {"x.y", "x_y"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        stored->count = 0;
        add(IK_MSG_USER, "u", NULL);
        add(IK_MSG_TOOL_CALL, "c",
            ik_sprintf(ctx,
                       "{\"id\":\"1\",\"function\":{\"name\":\"%s\",\"arguments\":\"{\\\"a\\\":"
                       "1}\"},\"provider\":\"p\",\"model\":\"p/m\",\"step\":1,\"calls\":[\"1\"],"
                       "\"p\":{\"w\":1}}",
                       names[i][0]));
        add_result("1", ",\"provider\":\"p\"");
        ik_conversation_t *repaired = repair();
        ck_assert_str_eq(repaired->messages[1]->data_json,
                         ik_sprintf(ctx,
                                    "{\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":"
                                    "\"%s\",\"arguments\":\"{\\\"a\\\":1}\"},\"model\":\"p/m\"}",
                                    names[i][1]));
        ck_assert_str_eq(ik_msg_field_text(ctx, repaired->messages[2], "name"), names[i][1]);
        ck_assert_ptr_null(ik_msg_field_text(ctx, repaired->messages[2], "provider"));
    }
}
END_TEST

/* Gemini wants the call's name back, and ids of one provider must not meet those of another. */
START_TEST(a_result_repeats_what_its_call_says)
{
    static const char *const others[] = {
        "{\"tool_call_id\":\"1\",\"name\":\"grep\",\"provider\":\"p\",%s}",
        "{\"tool_call_id\":\"1\",\"provider\":\"p\",%s}",
        "{\"tool_call_id\":\"1\",\"name\":5,\"provider\":\"p\",%s}",
        "{\"tool_call_id\":\"1\",\"name\":\"glob\",\"provider\":\"q\",%s}",
        "{\"tool_call_id\":\"1\",\"name\":\"glob\",%s}",
        "{\"tool_call_id\":\"\\u0031\",\"name\":\"glob\",\"provider\":\"p\",%s}",
    };
    static const char rest[] = "\"success\":true,\"wall_ms\":3,\"cpu_us\":4,\"max_rss_kb\":5,"
                               "\"output\":\"x\"";
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        stored->count = 0;
        add(IK_MSG_USER, "u", NULL);
        add_call("1", ",\"provider\":\"p\"");
        char *data = ik_strdup(ctx, others[i]);
        char *place = strstr(data, "%s");
        *place = '\0';
        add(IK_MSG_TOOL_RESULT, "r", ik_sprintf(ctx, "%s%s%s", data, rest, place + 2));
        ck_assert_str_eq(repaired_message(2)->data_json,
                         ik_sprintf(ctx,
                                    "{\"tool_call_id\":\"1\",\"name\":\"glob\",\"provider\":\"p\","
                                    "%s}",
                                    rest));
    }
}
END_TEST

#define SHA "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define IMAGES                                                                                     \
    "\"images\":[{\"name\":\"a.png\",\"sha256\":\"" SHA                                            \
    "\",\"media_type\":\"image/png\",\"bytes\":70,\"width\":1,\"height\":1}]"

START_TEST(images_survive_repair)
{
    add(IK_MSG_USER, " ", "{" IMAGES "}"); /* they need no text */
    add_call("1", ",\"provider\":\"p\"");
    add(IK_MSG_TOOL_RESULT, "r",
        "{\"tool_call_id\":\"1\",\"name\":\"grep\",\"success\":true," IMAGES ",\"output\":\"x\"}");
    ck_assert_str_eq(repaired_message(0)->data_json, "{" IMAGES "}");
    stored->count = 0;
    add(IK_MSG_USER, "u", NULL);
    add_call("1", ",\"provider\":\"p\"");
    add(IK_MSG_TOOL_RESULT, "r",
        "{\"tool_call_id\":\"1\",\"name\":\"grep\",\"success\":true," IMAGES ",\"output\":\"x\"}");
    ck_assert_str_eq(repaired_message(2)->data_json,
                     "{\"tool_call_id\":\"1\",\"name\":\"glob\",\"provider\":\"p\","
                     "\"success\":true," IMAGES ",\"output\":\"x\"}");
}
END_TEST

START_TEST(refused_images_are_collected)
{
    const ik_blob_name_t *names;
    ik_msg_image_t image = {.name = "a.png", .sha256 = {SHA}, .media_type = "image/png"};
    ck_assert_uint_eq(ik_conversation_refused_images(ctx, stored, &names), 0);
    add(IK_MSG_COMPACTION, "", "{\"trimmed_results\":0,\"images\":[5,\"x\",null]}");
    add(IK_MSG_COMPACTION, "", "{\"trimmed_results\":0,\"images\":{}}");
    const ik_msg_t *drop = ik_msg_create_image_drop(ctx, &image, 1, "p/m", 3);
    add(IK_MSG_COMPACTION, drop->content, drop->data_json);
    ck_assert_str_eq(drop->data_json, "{\"trimmed_results\":3,\"dropped\":\"images\",\"target\":"
                                      "\"p/m\",\"images\":[\"" SHA "\"]}");
    ck_assert_uint_eq(ik_conversation_refused_images(ctx, stored, &names), 1);
    ck_assert_str_eq(names[0].hex, SHA);
    ck_assert_uint_eq(ik_conversation_trimmed_results(stored), 3);
    ck_assert_uint_eq(ik_conversation_dropped(stored, IK_MSG_DROP_REASONING, "p/m"), 0);
}
END_TEST

START_TEST(a_call_without_a_provider_takes_it_from_its_result)
{
    add(IK_MSG_USER, "u", NULL);
    add_call("1", "");
    add_result("1", ",\"provider\":\"p\"");
    ck_assert_ptr_null(ik_msg_field_text(ctx, repaired_message(2), "provider"));
}
END_TEST

START_TEST(the_same_step_twice_keeps_its_private_data_once)
{
    static const char own[] = "{\"model\":\"p/m\",\"step\":1,\"calls\":[],"
                              "\"p\":{\"w\":[\"" LONG "\",{\"x\":1,\"y\":2}]}}";
    static const char rewritten[] = "{\"p\": {\"w\": [\"\\u0030" REST "\", {\"y\": 2, \"x\": 1}]},"
                                    " \"usage\": {}, \"model\": \"p/m\", \"step\": 1}";
    add(IK_MSG_USER, "u", NULL);
    add(IK_MSG_ASSISTANT, "one", own);
    add(IK_MSG_ASSISTANT, "", own);
    add(IK_MSG_ASSISTANT, "two", own);
    add(IK_MSG_ASSISTANT, "three", rewritten);
    ik_conversation_t *repaired = repair();
    ck_assert_str_eq(words_of(repaired), "u a a a");
    ck_assert_str_eq(repaired->messages[1]->data_json, own);
    ck_assert_str_eq(repaired->messages[2]->data_json, "{\"model\":\"p/m\"}");
    ck_assert_str_eq(repaired->messages[3]->data_json, "{\"model\":\"p/m\"}");
}
END_TEST

START_TEST(the_same_call_twice_keeps_its_private_data_once)
{
    static const char own[] = ",\"model\":\"p/m\",\"step\":1,\"calls\":[\"1\"],"
                              "\"p\":{\"w\":\"" LONG "\"}";
    add(IK_MSG_USER, "u", NULL);
    add_call("1", own);
    add_call("1", own);
    ik_conversation_t *repaired = repair();
    ck_assert_str_eq(words_of(repaired), "u c:1 i:1 c:ik_r2 i:ik_r2");
    ck_assert_ptr_nonnull(strstr(repaired->messages[1]->data_json, LONG));
    ck_assert_ptr_null(strstr(repaired->messages[3]->data_json, LONG));
}
END_TEST

/* Other values, and little ones, are the same by chance. */
START_TEST(different_steps_keep_their_private_data)
{
    static const char *const values[] = {
        "{\"w\":\"" LONG "\"}",
        "{\"v\":\"" LONG "\"}",
        "{\"w\":\"" LONG "0\"}",
        "{\"w\":[\"" LONG "\",1]}",
        "{\"w\":[1,\"" LONG "\"]}",
        "{\"w\":\"\"}",
        "{\"w\":\"\"}",
    };
    add(IK_MSG_USER, "u", NULL);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        add(IK_MSG_ASSISTANT, "same",
            ik_sprintf(ctx, "{\"model\":\"p/m\",\"step\":1,\"calls\":[],\"p\":%s}", values[i]));
    }
    assert_equal();
}
END_TEST

START_TEST(only_an_answer_can_be_refused)
{
    add(IK_MSG_USER, "u", "{\"refused\":true}");
    add(IK_MSG_SYSTEM, "s", "{\"refused\":true}");
    add(IK_MSG_ASSISTANT, "a", "{\"refused\":\"true\"}");
    add_call("1", "");
    add_result("1", ",\"refused\":true");
    ck_assert_str_eq(words_of(repair()), "u s a c:1 r:1");
}
END_TEST

START_TEST(compactions_must_have_a_number)
{
    add(IK_MSG_USER, "u", NULL);
    add(IK_MSG_COMPACTION, "k", NULL);
    add(IK_MSG_COMPACTION, "k", "{\"trimmed_results\":\"3\"}");
    add(IK_MSG_COMPACTION, "k", "{\"trimmed_results\":-1}");
    ck_assert_str_eq(words_of(repair()), "u");
}
END_TEST

/* --- what requests ask of it ------------------------------------------------------------- */

START_TEST(the_last_system_message_counts)
{
    ck_assert_ptr_null(ik_conversation_system(stored));
    add(IK_MSG_SYSTEM, "first", NULL);
    add(IK_MSG_SYSTEM, "second", NULL);
    add(IK_MSG_USER, "u", NULL);
    ck_assert_str_eq(ik_conversation_system(stored), "second");
}
END_TEST

START_TEST(the_last_compaction_counts)
{
    ck_assert_uint_eq(ik_conversation_trimmed_results(stored), 0);
    add(IK_MSG_COMPACTION, "", "{\"trimmed_results\":9}");
    add(IK_MSG_COMPACTION, "", "{\"trimmed_results\":4}");
    add(IK_MSG_USER, "u", NULL);
    ck_assert_uint_eq(ik_conversation_trimmed_results(stored), 4);
    add(IK_MSG_COMPACTION, "", "{\"trimmed_results\":-4}");
    ck_assert_uint_eq(ik_conversation_trimmed_results(stored), 0);
}
END_TEST

START_TEST(the_marker_is_an_envelope)
{
    ik_json_span_t root;
    ik_json_span_t value;
    const char *marker = ik_conversation_trimmed_envelope;
    ck_assert(ik_json_scan(marker, strlen(marker), &root, NULL));
    ck_assert(ik_json_find(root, "tool_success", &value) && ik_json_find(root, "result", &value));
}
END_TEST

/* A resumed session may have a hundred thousand messages. */
START_TEST(time_is_linear)
{
    for (int i = 0; i < 50000; i++) {
        add_call("same", i % 2 == 0 ? ",\"model\":\"p/m\",\"step\":1,\"calls\":[],\"p\":{}" : "");
        add_result("same", "");
    }
    ik_conversation_t *repaired = ik_conversation_take_repaired(ctx, stored);
    ck_assert_uint_eq(repaired->count, 100001);
}
END_TEST

/* Neither the beginning nor the user's words are looked for again and again. */
START_TEST(time_is_linear_without_a_beginning)
{
    enum { MANY = 150000 };
    for (int i = 0; i < 3 * MANY; i++) {
        add_word(i < MANY ? "s" : i < 2 * MANY ? "R" : "A");
    }
    ik_conversation_t *repaired = ik_conversation_take_repaired(ctx, stored);
    ck_assert_uint_eq(repaired->count, 2 * MANY + 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("conversation");
    TCase *tests = tcase_create("conversation");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, order, 0, (int)(sizeof(orders) / sizeof(orders[0])));
    tcase_add_test(tests, growing_does_not_change_what_was);
    tcase_add_test(tests, what_needs_no_repair_comes_out_equal);
    tcase_add_test(tests, messages_that_need_no_repair_are_the_same);
    tcase_add_test(tests, what_is_gone_takes_no_memory);
    tcase_add_test(tests, it_belongs_to_the_new_owner);
    tcase_add_test(tests, an_interrupted_call_has_an_envelope);
    tcase_add_test(tests, data_that_is_no_object_is_gone);
    tcase_add_test(tests, data_is_cleaned);
    tcase_add_test(tests, data_nested_without_end_is_gone_where_it_is_looked_at);
    tcase_add_test(tests, calls_that_say_nothing_are_gone);
    tcase_add_test(tests, results_that_say_nothing_are_missing);
    tcase_add_test(tests, ids_that_are_none_are_made);
    tcase_add_test(tests, names_that_no_tool_can_have);
    tcase_add_test(tests, a_result_repeats_what_its_call_says);
    tcase_add_test(tests, images_survive_repair);
    tcase_add_test(tests, refused_images_are_collected);
    tcase_add_test(tests, a_call_without_a_provider_takes_it_from_its_result);
    tcase_add_test(tests, the_same_step_twice_keeps_its_private_data_once);
    tcase_add_test(tests, the_same_call_twice_keeps_its_private_data_once);
    tcase_add_test(tests, different_steps_keep_their_private_data);
    tcase_add_test(tests, only_an_answer_can_be_refused);
    tcase_add_test(tests, compactions_must_have_a_number);
    tcase_add_test(tests, the_last_system_message_counts);
    tcase_add_test(tests, the_last_compaction_counts);
    tcase_add_test(tests, the_marker_is_an_envelope);
    tcase_add_test(tests, time_is_linear);
    tcase_add_test(tests, time_is_linear_without_a_beginning);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
