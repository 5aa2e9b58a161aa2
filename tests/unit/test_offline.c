#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "provider/offline/offline_command.h"
#include "provider/stream.h"
#include "suite.h"

static void *ctx;
static ik_target_t target;
static ik_request_t *request;
static ik_conversation_t *conversation;
static int deltas;

static void set_up(void)
{
    static const char *const tools[] = {"bash", "file_edit", "file_read",
                                        "glob", "grep",      "word_count"};
    ctx = talloc_new(NULL);
    static const ik_config_provider_t config = {.name = "offline"};
    target = (ik_target_t){
        .config = &config, .provider = &ik_provider_offline, .name = "offline/offline"};
    conversation = ik_conversation_create(ctx);
    request = ik_request_create(ctx, &target);
    request->conversation = conversation;
    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
        ik_request_add_tool(request, tools[i], "", NULL, NULL);
    }
    deltas = 0;
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static void on_text(void *data, const char *text, size_t len)
{
    (void)data;
    (void)text;
    deltas += len > 0;
}

static ik_stream_t *answer(void)
{
    static const ik_stream_listener_t listener = {.on_text = on_text};
    ik_stream_t *stream = ik_stream_create(ctx, &target, &listener);
    ik_provider_offline.answer(stream, request);
    ik_stream_finish(stream, true);
    ck_assert_int_eq(stream->error.fault, IK_FAULT_NONE);
    ck_assert_int_eq(stream->usage.in, 0);
    ck_assert_int_eq(stream->usage.out, 0);
    return stream;
}

static ik_stream_t *ask(const char *text)
{
    ik_conversation_append(conversation, ik_msg_create(ctx, IK_MSG_USER, text, NULL));
    return answer();
}

/* The text of an answer without a call. */
static const char *words_of(ik_stream_t *stream)
{
    ck_assert_int_eq(stream->stop, IK_STOP_END);
    ck_assert_uint_eq(stream->item_count, 1);
    return stream->items[0]->text.data;
}

static const char *tell(const char *name, const char *envelope)
{
    ik_msg_result_t result = {.call_id = "offline_1",
                              .name = name,
                              .output = envelope,
                              .success = true,
                              .wall_ms = -1,
                              .cpu_us = -1,
                              .max_rss_kb = -1};
    ik_conversation_append(conversation, ik_msg_create_result(ctx, &result));
    return words_of(answer());
}

/* --- requests ---------------------------------------------------------------------------- */

typedef struct {
    const char *text;
    const char *tool; /* NULL: not understood */
    const char *arguments;
} request_t;

static const request_t requests[] = {
    {"read README.md", "file_read", "{\"file_path\":\"README.md\"}"},
    {"  Read   'my file.txt' ", "file_read", "{\"file_path\":\"my file.txt\"}"},
    {"please read the file src/main.c.", "file_read", "{\"file_path\":\"src/main.c\"}"},
    {"Could you please show me the README.md, please", "file_read",
     "{\"file_path\":\"README.md\"}"},
    {"show \"a\".txt", "file_read", "{\"file_path\":\"\\\"a\\\".txt\"}"},
    {"cat /etc/hostname", "file_read", "{\"file_path\":\"/etc/hostname\"}"},
    {"open ..", "file_read", "{\"file_path\":\"..\"}"},
    {"read file", "file_read", "{\"file_path\":\"file\"}"},
    {"read a\nand more", "file_read", "{\"file_path\":\"a\"}"},
    {"file_read a.c", "file_read", "{\"file_path\":\"a.c\"}"},
    {"find *.c", "glob", "{\"pattern\":\"**/*.c\"}"},
    {"find src/**/*.h", "glob", "{\"pattern\":\"src/**/*.h\"}"},
    {"find main.c", "glob", "{\"pattern\":\"**/main.c\"}"},
    {"Find files *.c in src", "glob", "{\"pattern\":\"**/*.c\",\"path\":\"src\"}"},
    {"find *.c in 'my folder'", "glob", "{\"pattern\":\"**/*.c\",\"path\":\"my folder\"}"},
    {"glob *.c", "glob", "{\"pattern\":\"**/*.c\"}"},
    {"list files", "glob", "{\"pattern\":\"*\"}"},
    {"List", "glob", "{\"pattern\":\"*\"}"},
    {"list the files in src", "glob", "{\"pattern\":\"*\",\"path\":\"src\"}"},
    {"list all files", "glob", "{\"pattern\":\"*\"}"},
    {"list files *.c in src", "glob", "{\"pattern\":\"**/*.c\",\"path\":\"src\"}"},
    {"search TODO in src", "grep", "{\"pattern\":\"TODO\",\"path\":\"src\"}"},
    {"search for \"int main(\" in src/main.c", "grep",
     "{\"pattern\":\"int main\\\\(\",\"path\":\"src/main.c\"}"},
    {"search checked in by me", "grep", "{\"pattern\":\"checked in by me\"}"},
    {"search in in in src", "grep", "{\"pattern\":\"in in\",\"path\":\"src\"}"},
    {"search a.b*", "grep", "{\"pattern\":\"a\\\\.b\\\\*\"}"},
    {"look for needle", "grep", "{\"pattern\":\"needle\"}"},
    {"grep for a.b*", "grep", "{\"pattern\":\"a.b*\"}"},
    {"grep a.b* in .", "grep", "{\"pattern\":\"a.b*\",\"path\":\".\"}"},
    {"run ls -la | wc -l", "bash", "{\"command\":\"ls -la | wc -l\"}"},
    {"RUN `make check`", "bash", "{\"command\":\"make check\"}"},
    {"run 'a' 'b'", "bash", "{\"command\":\"'a' 'b'\"}"},
    {"run cat <<E\nx\nE", "bash", "{\"command\":\"cat <<E\\nx\\nE\"}"},
    {"run the command true", "bash", "{\"command\":\"true\"}"},
    {"bash true", "bash", "{\"command\":\"true\"}"},
    {"execute true", "bash", "{\"command\":\"true\"}"},
    {"$ uname", "bash", "{\"command\":\"uname\"}"},
    {"now run true please", "bash", "{\"command\":\"true\"}"},
    /* any tool by its name */
    {"word_count {\"file\": \"a\"}", "word_count", "{\"file\": \"a\"}"},
    {"word-count{\"file\":\n\"a\"}\n", "word_count", "{\"file\":\n\"a\"}"},
    {"Word_Count", "word_count", "{}"},
    {"glob {\"pattern\":\"*\"}", "glob", "{\"pattern\":\"*\"}"},
    {"bash", "bash", "{}"},
    /* not understood */
    {"hello", NULL, NULL},
    {"", NULL, NULL},
    {"  \n", NULL, NULL},
    {"please", NULL, NULL},
    {"read", NULL, NULL},
    {"read ''", NULL, NULL},
    {"reader x", NULL, NULL},
    {"find", NULL, NULL},
    {"search", NULL, NULL},
    {"run", NULL, NULL},
    {"list tools", NULL, NULL},
    {"word_count a", NULL, NULL},
    {"{}", NULL, NULL},
    {"nothing {\"a\":1}", NULL, NULL},
    {"word_count {\"a\":}", NULL, NULL},
};

START_TEST(requests_become_calls)
{
    const request_t *expected = &requests[_i];
    ik_offline_command_t command;
    ik_offline_command_parse(ctx, expected->text, request, &command);
    if (expected->tool == NULL) {
        ck_assert_msg(command.tool == NULL, "%s: %s", expected->text, command.tool);
    } else {
        ck_assert_msg(command.tool != NULL, "%s", expected->text);
        ck_assert_str_eq(command.tool, expected->tool);
        ck_assert_str_eq(command.arguments, expected->arguments);
    }
}
END_TEST

START_TEST(a_call_is_an_answer_that_can_be_run)
{
    ik_stream_t *stream = ask("read a.c");
    ck_assert_int_eq(stream->stop, IK_STOP_TOOL_USE);
    ck_assert_uint_eq(stream->item_count, 1);
    const ik_stream_call_t *call = stream->items[0]->call;
    ck_assert_str_eq(call->name.data, "file_read");
    ck_assert_str_eq(call->arguments.data, "{\"file_path\":\"a.c\"}");
    ck_assert_str_eq(call->id, "offline_1");
    ck_assert_int_eq(deltas, 0);
}
END_TEST

START_TEST(only_the_last_request_counts)
{
    ask("read a.c");
    ik_stream_t *stream = ask("run true");
    ck_assert_uint_eq(ik_stream_call_count(stream), 1);
    ck_assert_str_eq(stream->items[0]->call->name.data, "bash");
    ck_assert_str_eq(stream->items[0]->call->id, "offline_2");
}
END_TEST

/* --- words ------------------------------------------------------------------------------- */

static void assert_notice(const char *words)
{
    static const char *const parts[] = {
        "not a language model", "ikigai setup",      "OPENAI_API_KEY", "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",       "-m provider/model", "config.json"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        ck_assert_msg(strstr(words, parts[i]) != NULL, "%s is not in: %s", parts[i], words);
    }
}

static void assert_begins(const char *words, const char *beginning)
{
    ck_assert_msg(strncmp(words, beginning, strlen(beginning)) == 0, "%s", words);
}

START_TEST(what_is_not_understood_is_explained)
{
    const char *words = words_of(ask("write me a poem"));
    assert_begins(words, "I did not understand that. What I understand:\n\n"
                         "- `read FILE`\n- `list files in DIR`\n- `find PATTERN`\n"
                         "- `search TEXT in DIR`\n- `run COMMAND`\n"
                         "- `TOOL {json}`, any tool with its arguments: `bash`, `file_edit`, "
                         "`file_read`, `glob`, `grep`, `word_count`\n\n");
    assert_notice(words);
    ck_assert_int_gt(deltas, 1);
}
END_TEST

START_TEST(only_tools_at_hand_are_offered)
{
    request->tool_count = 1; /* bash */
    const char *words = words_of(ask("read a.c"));
    assert_begins(words,
                  "That needs the tool `file_read`, which is not available. What I understand:"
                  "\n\n- `run COMMAND`\n- `TOOL {json}`, any tool with its arguments: "
                  "`bash`\n");
}
END_TEST

START_TEST(what_is_wrong_with_a_call_is_said)
{
    assert_begins(words_of(ask("word_count {\"a\":}")),
                  "What follows `word_count` is not JSON: value expected at character 6. What I");
    assert_begins(words_of(ask("nothing {}")), "There is no tool `nothing`. What I");
}
END_TEST

START_TEST(without_tools)
{
    request->forbid_tools = true;
    assert_begins(words_of(ask("read a.c")), "No more tools may be used in this turn");
    request->forbid_tools = false;
    request->tool_count = 0;
    const char *words = words_of(ask("read a.c"));
    assert_begins(words, "There are no tools here");
    assert_notice(words);
}
END_TEST

typedef struct {
    const char *tool;
    const char *envelope;
    const char *beginning;
} result_t;

static const result_t results[] = {
    {"glob", "{\"tool_success\":true,\"result\":{\"output\":\"a.c\\nb.c\",\"count\":2}}",
     "`glob`: 2 files found:\n\n```\na.c\nb.c\n```\n\nI am not a"},
    {"bash", "{\"tool_success\":true,\"result\":{\"output\":\"no\\n\",\"exit_code\":3}}",
     "`bash` ended with exit code 3:\n\n```\nno\n```\n\nI am not a"},
    {"bash", "{\"tool_success\":true,\"result\":{\"output\":\"\",\"exit_code\":0}}",
     "`bash` ended with exit code 0, without output.\n\nI am not a"},
    {"file_read", "{\"tool_success\":true,\"result\":{\"output\":\"```\\n````x\"}}",
     "`file_read` returned:\n\n`````\n```\n````x\n`````\n\nI am not a"},
    {"load", "{\"tool_success\":true,\"result\":{\"minute\": 0.52}}",
     "`load` returned:\n\n```\n{\"minute\": 0.52}\n```\n\nI am not a"},
    {"load", "{\"tool_success\":true,\"result\":\"text\"}",
     "`load` returned:\n\n```\ntext\n```\n\nI am not a"},
    {"file_read",
     "{\"tool_success\":true,\"result\":{\"error\":\"File not found: x\",\"error_code\":\"E\"}}",
     "`file_read` failed: File not found: x\n\nI am not a"},
    {"slow", "{\"tool_success\":false,\"error\":\"Timed out\",\"error_code\":\"TOOL_TIMEOUT\"}",
     "`slow` failed: Timed out\n\nI am not a"},
    {"odd", "not JSON", "`odd` returned nothing that can be read.\n\nI am not a"},
};

START_TEST(results_are_told)
{
    const char *words = tell(results[_i].tool, results[_i].envelope);
    assert_begins(words, results[_i].beginning);
    assert_notice(words);
    ck_assert_int_gt(deltas, 1);
}
END_TEST

START_TEST(long_results_are_cut_at_a_line)
{
    ik_buffer_t envelope;
    ik_buffer_init(&envelope, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&envelope, "{\"tool_success\":true,\"result\":{\"output\":\"");
    for (int i = 0; i < 1000; i++) {
        ik_buffer_append_text(&envelope, "12345678\\n");
    }
    ik_buffer_append_text(&envelope, "\"}}");
    const char *words = tell("file_read", envelope.data);
    ck_assert_ptr_nonnull(strstr(words, "12345678\n```\n\n5004 more bytes are not shown.\n"));
    ck_assert_uint_lt(strlen(words), 5000);
}
END_TEST

START_TEST(long_lines_are_cut_between_characters)
{
    ik_buffer_t envelope;
    ik_buffer_init(&envelope, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&envelope, "{\"tool_success\":true,\"result\":\"");
    for (int i = 0; i < 2000; i++) {
        ik_buffer_append_text(&envelope, "\xe2\x82\xac");
    }
    ik_buffer_append_text(&envelope, "\"}");
    const char *words = tell("t", envelope.data);
    ck_assert_ptr_nonnull(strstr(words, "\xe2\x82\xac\n```\n\n2001 more bytes are not shown.\n"));
}
END_TEST

START_TEST(shown_results_are_not_repeated)
{
    request->results_shown = true;
    const char *words =
        tell("bash", "{\"tool_success\":true,\"result\":{\"output\":\"no\\n\",\"exit_code\":3}}");
    assert_begins(words, "`bash` ended with exit code 3.\n\nI am not a");
    words = tell("slow", "{\"tool_success\":false,\"error\":\"Timed out\"}");
    assert_begins(words, "`slow` failed.\n\nI am not a");
    words = tell("a", "{\"tool_success\":true,\"result\":{\"error\":\"Gone\"}}");
    assert_begins(words, "`a` failed.\n\nI am not a");
    assert_begins(tell("b", "{\"tool_success\":true,\"result\":{\"output\":\"x\"}}"), "Done.\n");
    assert_begins(tell("odd", "not JSON"), "`odd` returned nothing");
}
END_TEST

START_TEST(the_notice_comes_once)
{
    const char *first = words_of(ask("hm"));
    assert_notice(first);
    ik_conversation_append(conversation, ik_msg_create(ctx, IK_MSG_ASSISTANT, first, NULL));
    const char *second = words_of(ask("hm"));
    ck_assert_ptr_null(strstr(second, "language model"));
    ck_assert_uint_eq(strncmp(first, second, strlen(second)), 0);
    /* a user who says the same does not silence it */
    conversation->count = 0;
    assert_notice(words_of(ask("I am not a language model, only an offline stand-in")));
}
END_TEST

static const char *const greetings[] = {"hi", "Hello", "help", "HELP!", "hello, please", "hi."};

START_TEST(a_greeting_lists_what_can_be_tried)
{
    const char *words = words_of(ask(greetings[_i]));
    assert_begins(words, "Hello! I can run the tools of this folder for you. Try:\n\n"
                         "- `read README.md` to see a file\n");
    ck_assert_ptr_nonnull(strstr(words, "\n- `find *.c` to find files in all folders\n"));
    ck_assert_ptr_nonnull(strstr(words, "\n- `/help` in the terminal, for commands and keys\n"));
    assert_notice(words);
}
END_TEST

START_TEST(a_greeting_needs_no_tools)
{
    request->tool_count = 0;
    assert_begins(words_of(ask("hi")), "Hello! ");
    ck_assert_ptr_null(strstr(words_of(ask("hi")), "find *.c"));
}
END_TEST

#define LENGTH(table) (int)(sizeof(table) / sizeof((table)[0]))

int main(void)
{
    Suite *suite = suite_create("offline");
    TCase *tests = tcase_create("offline");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, requests_become_calls, 0, LENGTH(requests));
    tcase_add_test(tests, a_call_is_an_answer_that_can_be_run);
    tcase_add_test(tests, only_the_last_request_counts);
    tcase_add_test(tests, what_is_not_understood_is_explained);
    tcase_add_test(tests, only_tools_at_hand_are_offered);
    tcase_add_test(tests, what_is_wrong_with_a_call_is_said);
    tcase_add_test(tests, without_tools);
    tcase_add_loop_test(tests, results_are_told, 0, LENGTH(results));
    tcase_add_test(tests, long_results_are_cut_at_a_line);
    tcase_add_test(tests, long_lines_are_cut_between_characters);
    tcase_add_test(tests, shown_results_are_not_repeated);
    tcase_add_test(tests, the_notice_comes_once);
    tcase_add_loop_test(tests, a_greeting_lists_what_can_be_tried, 0, LENGTH(greetings));
    tcase_add_test(tests, a_greeting_needs_no_tools);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
