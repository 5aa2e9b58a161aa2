/* JSON Lines: what is written, and that reading it back makes the same sessions again. */
#include <stdlib.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "export/export.h"
#include "export/import.h"
#include "export/line_reader.h"
#include "store/sqlite/store_sqlite.h"
#include "store_log.h"
#include "suite.h"

#define OTHER_ID "00000000000000b2"
#define SESSION_LINE(id)                                                                           \
    "{\"type\":\"session\",\"version\":1,\"id\":\"" id "\",\"cwd\":\"/work\",\"host\":\"here\","   \
    "\"model\":\"p/chosen\",\"created_us\":1700000000123456}\n"
#define AGENT_LINE                                                                                 \
    "{\"type\":\"agent\",\"number\":1,\"parent\":0,\"forked_at\":0,"                               \
    "\"created_us\":1700000000123456}\n"
#define USER_LINE(seq, words)                                                                      \
    "{\"type\":\"message\",\"agent\":1,\"seq\":" seq ",\"created_us\":1700000000123457,"           \
    "\"kind\":\"user\",\"content\":\"" words "\",\"data\":null}\n"
#define WHOLE SESSION_LINE(LOG_ID) AGENT_LINE USER_LINE("1", "hello")

static void *ctx;
static ik_store_t *store;

static ik_store_t *new_store(void)
{
    ik_store_t *opened;
    log_assert_ok(ik_store_sqlite_open(ctx, ":memory:", &opened));
    return opened;
}

static void set_up(void)
{
    ctx = talloc_new(NULL);
    store = new_store();
}

static void tear_down(void)
{
    talloc_free(ctx);
}

/* --- in few words ------------------------------------------------------------------------ */

static char *export_as(ik_store_t *from, const char *id, const char *format)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    ik_store_session_t session = log_find(ctx, from, id);
    log_assert_ok(ik_export_find(format)->write(
        out, &(ik_export_source_t){.store = from, .session = &session}));
    ck_assert_int_eq(fclose(out), 0);
    char *copy = ik_strndup(ctx, text, len);
    free(text);
    ck_assert(ik_utf8_valid(copy, len));
    ck_assert_uint_eq(strlen(copy), len);
    return copy;
}

static char *export(ik_store_t *from, const char *id)
{
    return export_as(from, id, "jsonl");
}

static res_t import_bytes(ik_store_t *to, const char *bytes, size_t len, ik_import_t **out,
                          size_t *count)
{
    FILE *in = fmemopen((void *)bytes, len, "r");
    ck_assert_ptr_nonnull(in);
    res_t read = ik_import_read(ctx, in, "FILE", to, NULL, out, count);
    fclose(in);
    return read;
}

static res_t import(ik_store_t *to, const char *text)
{
    ik_import_t *imported;
    size_t count;
    return import_bytes(to, text, strlen(text), &imported, &count);
}

static ik_import_t import_one(ik_store_t *to, const char *text)
{
    ik_import_t *imported;
    size_t count;
    log_assert_ok(import_bytes(to, text, strlen(text), &imported, &count));
    ck_assert_uint_eq(count, 1);
    return imported[0];
}

/* One message with these parts behind the user's word, and the line it becomes. */
static char *line_of(const char *content, const char *data_json)
{
    ik_store_t *fresh = new_store();
    log_assert_ok(log_begin(fresh, LOG_ID));
    log_assert_ok(log_write_one(fresh, log_event(LOG_ID, 1, "assistant", content, data_json)));
    char *text = export(fresh, LOG_ID);
    char *copy = log_dump_all(ctx, fresh);
    ik_store_t *back = new_store();
    ik_import_t imported = import_one(back, text);
    ck_assert_int_eq(imported.messages, 1);
    ck_assert(!imported.known);
    log_assert_same(log_dump_all(ctx, back), copy);
    char *line = strchr(strchr(text, '\n') + 1, '\n') + 1;
    return strstr(line, "\"content");
}

/* --- writing ----------------------------------------------------------------------------- */

START_TEST(formats_are_found_by_name)
{
    ck_assert_ptr_eq(ik_export_find("jsonl"), &ik_export_jsonl);
    ck_assert_ptr_eq(ik_export_find("md"), &ik_export_markdown);
    ck_assert_ptr_eq(ik_export_find("html"), &ik_export_html);
    ck_assert_ptr_null(ik_export_find("pdf"));
    ck_assert_str_eq(ik_export_names, "jsonl, md, html");
}
END_TEST

START_TEST(a_session_as_lines)
{
    log_say(store, LOG_ID, "hello");
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 2, "assistant", "hi", "{\"a\": 1.50}")));
    ck_assert_str_eq(
        export(store, LOG_ID),
        SESSION_LINE(LOG_ID) AGENT_LINE USER_LINE(
            "1", "hello") "{\"type\":\"message\",\"agent\":1,\"seq\":2,\"created_us\":"
                          "1700000000123458,\"kind\":"
                          "\"assistant\",\"content\":\"hi\",\"data\":{\"a\": 1.50}}\n");
}
END_TEST

START_TEST(content_and_data_stay_what_they_are)
{
    ck_assert_str_eq(line_of(NULL, NULL), "\"content\":null,\"data\":null}\n");
    ck_assert_str_eq(line_of("", "{}"), "\"content\":\"\",\"data\":{}}\n");
    ck_assert_str_eq(line_of("a\n\"b\"\x01", NULL),
                     "\"content\":\"a\\n\\\"b\\\"\\u0001\",\"data\":null}\n");
    ck_assert_str_eq(line_of("é\xe2\x80\xa8", NULL),
                     "\"content\":\"é\xe2\x80\xa8\",\"data\":null}\n");
    ck_assert_str_eq(line_of("\xff", NULL), "\"content_base64\":\"/w==\",\"data\":null}\n");
}
END_TEST

START_TEST(data_that_is_no_object_of_one_line_is_a_text)
{
    ck_assert_str_eq(line_of("", "{\"a\":\n1}"),
                     "\"content\":\"\",\"data_text\":\"{\\\"a\\\":\\n1}\"}\n");
    ck_assert_str_eq(line_of("", " {} "), "\"content\":\"\",\"data_text\":\" {} \"}\n");
    ck_assert_str_eq(line_of("", "null"), "\"content\":\"\",\"data_text\":\"null\"}\n");
    ck_assert_str_eq(line_of("", "[1]"), "\"content\":\"\",\"data_text\":\"[1]\"}\n");
    ck_assert_str_eq(line_of("", "{},\"agent\":5"),
                     "\"content\":\"\",\"data_text\":\"{},\\\"agent\\\":5\"}\n");
    ck_assert_str_eq(line_of("", "{\"a\":\"\xff\"}"),
                     "\"content\":\"\",\"data_base64\":\"eyJhIjoi/yJ9\"}\n");
}
END_TEST

/* The deepest value that can be scanned cannot stand in another one. */
START_TEST(data_of_any_depth_comes_back)
{
    for (int depth = 509; depth <= 515; depth++) {
        ik_buffer_t data;
        ik_buffer_init(&data, ctx, IK_BUFFER_UNLIMITED);
        for (int i = 0; i < depth; i++) {
            ik_buffer_append_text(&data, "{\"a\":");
        }
        ik_buffer_append_text(&data, "1");
        for (int i = 0; i < depth; i++) {
            ik_buffer_append_text(&data, "}");
        }
        char *line = line_of("", data.data);
        ck_assert_int_eq(strstr(line, "data_text") != NULL, depth > 510);
    }
}
END_TEST

START_TEST(folders_may_have_any_name)
{
    ik_store_session_t session = log_session(LOG_ID);
    ik_store_agent_t root = log_root(LOG_ID);
    session.cwd = "/\xff\n";
    log_assert_ok(ik_store_write(
        store, &(ik_store_batch_t){
                   .sessions = &session, .session_count = 1, .agents = &root, .agent_count = 1}));
    char *text = export(store, LOG_ID);
    ck_assert_ptr_nonnull(strstr(text, "\"cwd_base64\":\"L/8K\",\"host\":\"here\""));
    ik_store_t *back = new_store();
    import_one(back, text);
    ck_assert_str_eq(log_find(ctx, back, LOG_ID).cwd, "/\xff\n");
}
END_TEST

START_TEST(a_full_disk_is_the_streams_to_tell)
{
    log_say(store, LOG_ID, "hello");
    ik_store_session_t session = log_find(ctx, store, LOG_ID);
    FILE *full = fopen("/dev/full", "w");
    ck_assert_ptr_nonnull(full);
    log_assert_ok(
        ik_export_jsonl.write(full, &(ik_export_source_t){.store = store, .session = &session}));
    ck_assert_int_ne(fclose(full), 0);
}
END_TEST

/* --- there and back ---------------------------------------------------------------------- */

static unsigned below(unsigned limit)
{
    return (unsigned)random() % limit;
}

/* Any bytes but NUL, or text, or nothing. */
static char *random_text(void)
{
    static const char *const pieces[] = {"{}",   "{\"a\":1}", "\n",       "\r", "\"", "\\",  "é",
                                         "\xff", "x",         "\xe2\x80", " ",  "\t", "\x01"};
    unsigned parts = below(6);
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&text, "");
    for (unsigned i = 0; i < parts; i++) {
        ik_buffer_append_text(&text, pieces[below(sizeof(pieces) / sizeof(pieces[0]))]);
    }
    return parts == 5 ? NULL : ik_buffer_finish(&text);
}

static void write_random_agent(ik_store_t *to, const char *id, ik_store_agent_t agent)
{
    log_assert_ok(ik_store_write(to, &(ik_store_batch_t){.agents = &agent, .agent_count = 1}));
    for (unsigned i = below(5) + 1; i > 0; i--) {
        static const char *const kinds[] = {"user", "assistant", "tool_call", "tool_result", "?"};
        ik_store_event_t event =
            log_event(id, ++agent.forked_at, kinds[below(5)], random_text(), random_text());
        event.agent = agent.number;
        event.created_us = (int64_t)random() - (1 << 30);
        log_assert_ok(log_write_one(to, event));
    }
}

static void write_random_session(ik_store_t *to, const char *id)
{
    log_assert_ok(log_begin(to, id));
    for (int64_t number = 1; number <= 1 + below(4); number++) {
        ik_store_agent_t agent = log_root(id);
        if (number > 1) {
            agent.number = number;
            agent.parent = 1 + below((unsigned)number - 1);
            agent.forked_at = below(2);
        }
        write_random_agent(to, id, agent);
    }
}

START_TEST(random_sessions_go_there_and_back)
{
    srandom(4);
    for (int i = 0; i < 200; i++) {
        char *id = ik_sprintf(ctx, "%016x", i);
        write_random_session(store, id);
        char *text = export(store, id);
        ik_store_t *back = new_store();
        import_one(back, text);
        log_assert_same(log_dump(ctx, back, id), log_dump(ctx, store, id));
        log_assert_same(export(back, id), text);
        /* What is there already is left alone. */
        ck_assert(import_one(back, text).known);
        log_assert_same(export(back, id), text);
    }
}
END_TEST

START_TEST(many_messages_and_long_ones)
{
    char *long_text = ik_new_array(ctx, char, 3000001);
    memset(long_text, 'x', 3000000);
    log_say(store, LOG_ID, "hello");
    for (int64_t seq = 2; seq <= 2500; seq++) {
        const char *content = seq % 1000 == 0 ? long_text : "short";
        log_assert_ok(log_write_one(store, log_event(LOG_ID, seq, "assistant", content, NULL)));
    }
    ik_store_t *back = new_store();
    ck_assert_int_eq(import_one(back, export(store, LOG_ID)).messages, 2500);
    log_assert_same(log_dump_all(ctx, back), log_dump_all(ctx, store));
}
END_TEST

START_TEST(several_sessions_in_one_file)
{
    ik_import_t *imported;
    size_t count;
    log_say(store, LOG_ID, "one");
    log_say(store, OTHER_ID, "two");
    char *text = ik_sprintf(ctx, "%s%s", export(store, LOG_ID), export(store, OTHER_ID));
    ik_store_t *back = new_store();
    import_one(back, export(store, OTHER_ID));
    log_assert_ok(import_bytes(back, text, strlen(text), &imported, &count));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(imported[0].session_id, LOG_ID);
    ck_assert(!imported[0].known);
    ck_assert_str_eq(imported[1].session_id, OTHER_ID);
    ck_assert(imported[1].known);
    log_assert_same(log_dump(ctx, back, LOG_ID), log_dump(ctx, store, LOG_ID));
    log_assert_same(log_dump(ctx, back, OTHER_ID), log_dump(ctx, store, OTHER_ID));
}
END_TEST

START_TEST(a_file_that_went_through_other_hands)
{
    static const char text[] =
        "\xef\xbb\xbf\r\n \t\n{ \"new\": [1, {}], \"type\" : \"session\", "
        "\"version\":1,\"id\":\"" LOG_ID "\",\"created_us\":7}\r\n" AGENT_LINE
        "\n{\"seq\":1,\"agent\":1,\"kind\":\"user\",\"created_us\":-3,"
        "\"content\":\"h\\u00e9\",\"type\":\"message\"}";
    import_one(store, text);
    ck_assert_str_eq(log_dump(ctx, store, LOG_ID),
                     " 0: 0: 0: 3:h\xc3\xa9 7 7 turns 1 messages 1 -1 -1 -1 -1 -1 -1\n"
                     "  agent 1 of 0 at 0 1700000000123456 to 1 -3\n"
                     "    1/1 -3 4:user 3:h\xc3\xa9 none\n");
}
END_TEST

START_TEST(all_agents_may_come_first)
{
    import_one(store, SESSION_LINE(LOG_ID) AGENT_LINE
               "{\"type\":\"agent\",\"number\":2,\"parent\":1,\"forked_at\":1,\"created_us\":0}\n"
               "{\"type\":\"message\",\"agent\":2,\"seq\":2,\"created_us\":0,\"kind\":\"user\"}"
               "\n" USER_LINE("1", "hello"));
    ck_assert_str_eq(log_dump_known(ctx, store, LOG_ID, 2),
                     "    1/1 1700000000123457 4:user 5:hello none\n"
                     "    2/2 0 4:user none none\n");
}
END_TEST

/* --- files of other kinds ---------------------------------------------------------------- */

START_TEST(a_pipe_can_be_read_only_once)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(write(ends[1], WHOLE, strlen(WHOLE)), strlen(WHOLE));
    close(ends[1]);
    ik_import_t *imported;
    size_t count;
    FILE *in = fdopen(ends[0], "r");
    log_assert_ok(ik_import_read(ctx, in, "FILE", store, NULL, &imported, &count));
    fclose(in);
    ck_assert_str_eq(export(store, LOG_ID), WHOLE);
}
END_TEST

START_TEST(a_file_is_read_from_where_it_stands)
{
    ik_import_t *imported;
    size_t count;
    FILE *in = tmpfile();
    fputs("something else\n", in);
    off_t start = ftello(in);
    fputs(WHOLE, in);
    ck_assert_int_eq(fseeko(in, start, SEEK_SET), 0);
    log_assert_ok(ik_import_read(ctx, in, "FILE", store, NULL, &imported, &count));
    fclose(in);
    ck_assert_str_eq(export(store, LOG_ID), WHOLE);
}
END_TEST

START_TEST(a_folder_is_no_file)
{
    ik_import_t *imported;
    size_t count;
    FILE *in = fopen("/tmp", "r");
    res_t read = ik_import_read(ctx, in, "/tmp", store, NULL, &imported, &count);
    fclose(in);
    log_assert_code(read, IK_ERR_SYSTEM);
    ck_assert_str_eq(read.message, "/tmp cannot be read: Is a directory");
}
END_TEST

START_TEST(a_line_has_an_end)
{
    static char text[] = "\xef\xbb\xbf"
                         "123456789\r\n\n1234567890\n12345678901\n";
    FILE *in = fmemopen(text, strlen(text), "r");
    ik_line_reader_t *reader = ik_line_reader_create(ctx, in, 13);
    const ik_buffer_t *line;
    log_assert_ok(ik_line_reader_next(reader, &line));
    ck_assert_uint_eq(line->len, 9);
    ck_assert_int_eq(memcmp(line->data, "123456789", 9), 0);
    log_assert_ok(ik_line_reader_next(reader, &line));
    ck_assert_uint_eq(line->len, 0);
    talloc_free(reader);

    rewind(in);
    reader = ik_line_reader_create(ctx, in, 10);
    res_t read = ik_line_reader_next(reader, &line);
    log_assert_code(read, IK_ERR_LIMIT);
    ck_assert_str_eq(read.message, "the line is longer than 10 bytes");
    ck_assert_int_eq(ik_line_reader_number(reader), 1);
    fclose(in);
}
END_TEST

/* --- wrong files ------------------------------------------------------------------------- */

#define MESSAGE(members) SESSION_LINE(LOG_ID) AGENT_LINE "{\"type\":\"message\"," members "}\n"
#define PLACE "\"agent\":1,\"seq\":1,\"created_us\":1,"
#define FORK(number, parent, at)                                                                   \
    "{\"type\":\"agent\",\"number\":" number ",\"parent\":" parent ",\"forked_at\":" at            \
    ",\"created_us\":1}\n"
#define TWICE_THE_SAME "session " LOG_ID " only once; line 1 begins it, too"

static const struct {
    const char *text;
    const char *message;
} wrong[] = {
    {"", "FILE: expected a line of type \"session\", found none"},
    {"\n \n", "FILE: expected a line of type \"session\", found none"},
    {"{\"a\":}\n", "FILE:1: expected a JSON object: value expected at byte 6"},
    {"[]\n", "FILE:1: expected a JSON object"},
    {"{\"type\":\"\xff\"}\n", "FILE:1: expected UTF-8"},
    {"\n{}", "FILE:2: expected \"type\" to be \"session\", \"agent\" or \"message\""},
    {"{\"type\":\"usage\"}",
     "FILE:1: expected \"type\" to be \"session\", \"agent\" or \"message\""},
    {"{\"type\":3}", "FILE:1: expected \"type\" to be \"session\", \"agent\" or \"message\""},
    {AGENT_LINE, "FILE:1: expected a line of type \"session\" first"},
    {"{\"type\":\"session\"}", "FILE:1: expected \"version\", a whole number"},
    {"{\"type\":\"session\",\"version\":2}",
     "FILE:1: the export has version 2, this program reads version 1: import it with a newer "
     "ikigai"},
    {"{\"type\":\"session\",\"version\":1,\"id\":\"xyz\"}",
     "FILE:1: expected \"id\", 16 hexadecimal digits"},
    {"{\"type\":\"session\",\"version\":1,\"id\":\"00000000000000A1\"}",
     "FILE:1: expected \"id\", 16 hexadecimal digits"},
    {"{\"type\":\"session\",\"version\":1,\"id\":\"000000000000\\u0000a1\"}",
     "FILE:1: expected \"id\", 16 hexadecimal digits"},
    {"{\"type\":\"session\",\"version\":1,\"id\":\"" LOG_ID "\"}",
     "FILE:1: expected \"created_us\", a whole number"},
    {"{\"type\":\"session\",\"version\":1,\"id\":\"" LOG_ID "\",\"created_us\":1.5}",
     "FILE:1: expected \"created_us\", a whole number"},
    {"{\"type\":\"session\",\"version\":1,\"id\":\"" LOG_ID
     "\",\"created_us\":9223372036854775808}",
     "FILE:1: expected \"created_us\", a whole number"},
    {"{\"type\":\"session\",\"version\":1,\"id\":\"" LOG_ID "\",\"created_us\":1,\"cwd\":[]}",
     "FILE:1: expected \"cwd\" to be a string"},
    {SESSION_LINE(LOG_ID), "FILE:1: expected session " LOG_ID " to have an agent"},
    {SESSION_LINE(LOG_ID) SESSION_LINE(OTHER_ID) AGENT_LINE,
     "FILE:1: expected session " LOG_ID " to have an agent"},
    {WHOLE SESSION_LINE(LOG_ID) AGENT_LINE, "FILE:4: expected " TWICE_THE_SAME},
    {SESSION_LINE(LOG_ID) FORK("0", "0", "0"), "FILE:2: expected \"number\" to be at least 1"},
    {SESSION_LINE(LOG_ID) FORK("2", "0", "0"),
     "FILE:2: expected the first agent to be number 1, with parent 0"},
    {SESSION_LINE(LOG_ID) FORK("1", "1", "0"),
     "FILE:2: expected the first agent to be number 1, with parent 0"},
    {SESSION_LINE(LOG_ID) FORK("1", "0", "3"),
     "FILE:2: expected \"forked_at\" of the first agent to be 0"},
    {WHOLE FORK("1", "1", "1"), "FILE:4: expected agents by number: 1 comes after 1"},
    {WHOLE FORK("3", "2", "1"), "FILE:4: expected \"parent\" to be an earlier agent"},
    {WHOLE FORK("2", "2", "1"), "FILE:4: expected \"parent\" to be an earlier agent"},
    {WHOLE FORK("2", "0", "1"), "FILE:4: expected \"parent\" to be an earlier agent"},
    {WHOLE FORK("2", "1", "2") FORK("3", "1", "1"),
     "FILE:4: expected \"forked_at\" to be at most 1, the last message of agent 1"},
    {WHOLE FORK("2", "1", "9223372036854775807"),
     "FILE:4: expected \"forked_at\" to be at most 1, the last message of agent 1"},
    {SESSION_LINE(LOG_ID) USER_LINE("1", "x"),
     "FILE:2: expected a line for agent 1 before its messages"},
    {SESSION_LINE(LOG_ID) AGENT_LINE USER_LINE("2", "x"),
     "FILE:3: expected \"seq\" to follow 0, the last one of agent 1"},
    {WHOLE USER_LINE("3", "x"), "FILE:4: expected \"seq\" to follow 1, the last one of agent 1"},
    {WHOLE USER_LINE("1", "x"), "FILE:4: expected \"seq\" to follow 1, the last one of agent 1"},
    {SESSION_LINE(LOG_ID) AGENT_LINE USER_LINE("0", "x"),
     "FILE:3: expected \"seq\" to be at least 1"},
    {MESSAGE("\"seq\":1"), "FILE:3: expected \"agent\", a whole number"},
    {MESSAGE(PLACE "\"content\":\"x\""), "FILE:3: expected \"kind\", what the message is"},
    {MESSAGE(PLACE "\"kind\":\"user\",\"content\":{}"),
     "FILE:3: expected \"content\" to be a string"},
    {MESSAGE(PLACE "\"kind\":\"user\",\"content\":\"a\\u0000b\""),
     "FILE:3: expected \"content\" without the character NUL"},
    {MESSAGE(PLACE "\"kind\":\"user\",\"content\":\"a\",\"content_base64\":\"YQ==\""),
     "FILE:3: expected either \"content\" or \"content_base64\", not both"},
    {MESSAGE(PLACE "\"kind\":\"user\",\"content_base64\":\"YQ\""),
     "FILE:3: expected \"content_base64\" to be Base64"},
    {MESSAGE(PLACE "\"kind\":\"user\",\"content_base64\":\"AA==\""),
     "FILE:3: expected \"content_base64\" without the character NUL"},
    {MESSAGE(PLACE "\"kind\":\"user\",\"data\":[]"), "FILE:3: expected \"data\" to be an object"},
    {MESSAGE(PLACE "\"kind\":\"user\",\"data\":{},\"data_text\":\"\""),
     "FILE:3: expected either \"data\" or a text in its place, not both"},
};

START_TEST(what_is_wrong_is_said_and_nothing_is_written)
{
    ik_store_list_t *list;
    res_t read = import(store, wrong[_i].text);
    log_assert_code(read, IK_ERR_INVALID);
    ck_assert_str_eq(read.message, wrong[_i].message);
    if (strncmp(wrong[_i].message, "FILE: ", 6) != 0) { /* there are lines: not even those before */
        char *more = ik_sprintf(ctx, "%s%s", SESSION_LINE(OTHER_ID) AGENT_LINE, wrong[_i].text);
        log_assert_code(import(store, more), IK_ERR_INVALID);
    }
    log_assert_ok(ik_store_list(ctx, store, &(ik_store_filter_t){.limit = 0}, &list));
    ck_assert_uint_eq(list->count, 0);
}
END_TEST

/* --- what the store has already ---------------------------------------------------------- */

START_TEST(a_session_that_went_on_elsewhere_goes_on_here)
{
    import_one(store, WHOLE);
    ik_import_t imported = import_one(store, WHOLE USER_LINE("2", "more") FORK("2", "1", "1"));
    ck_assert(!imported.known);
    ck_assert_int_eq(imported.messages, 2);
    ck_assert_str_eq(export(store, LOG_ID), WHOLE USER_LINE("2", "more") FORK("2", "1", "1"));
    /* The other way round the store has more: nothing is lost. */
    imported = import_one(store, WHOLE);
    ck_assert(imported.known);
    ck_assert_str_eq(export(store, LOG_ID), WHOLE USER_LINE("2", "more") FORK("2", "1", "1"));
}
END_TEST

START_TEST(a_session_that_went_another_way_is_refused)
{
    char *text = SESSION_LINE(OTHER_ID) AGENT_LINE SESSION_LINE(LOG_ID)
        AGENT_LINE USER_LINE("1", "good bye") USER_LINE("2", "more");
    import_one(store, WHOLE FORK("2", "1", "1"));
    char *before = log_dump_all(ctx, store);
    res_t read = import(store, text);
    log_assert_code(read, IK_ERR_CONFLICT);
    ck_assert_str_eq(read.message, "FILE:5: session " LOG_ID
                                   " exists here with a different message 1 of agent 1");
    log_assert_same(log_dump_all(ctx, store), before);

    read = import(store, WHOLE FORK("2", "1", "0"));
    log_assert_code(read, IK_ERR_CONFLICT);
    ck_assert_str_eq(read.message,
                     "FILE:4: session " LOG_ID " exists here with a different agent 2");
    log_assert_same(log_dump_all(ctx, store), before);
}
END_TEST

/* A process that lives, and is not this one: its parent. */
START_TEST(a_session_in_use_gets_nothing_added)
{
    import_one(store, WHOLE);
    ik_holder_t other;
    ik_holder_t holder = ik_holder_self();
    holder.pid = getppid();
    holder.started = 0;
    log_assert_ok(ik_store_claim(store, LOG_ID, &holder, &other));
    res_t read = import(store, SESSION_LINE(OTHER_ID) AGENT_LINE WHOLE USER_LINE("2", "more"));
    log_assert_code(read, IK_ERR_CONFLICT);
    char *message = ik_sprintf(ctx, "FILE: session " LOG_ID " is in use by pid %d on %s", getppid(),
                               holder.host);
    ck_assert_str_eq(read.message, message);
    ck_assert_str_eq(export(store, LOG_ID), WHOLE);
    /* What brings nothing new does not mind. */
    ck_assert(import_one(store, WHOLE).known);
    log_assert_ok(ik_store_release(store, LOG_ID, &holder));
    import_one(store, WHOLE USER_LINE("2", "more"));
    /* And it was given back. */
    log_assert_ok(ik_store_claim(store, LOG_ID, &holder, &other));
}
END_TEST

/* --- Base64 ------------------------------------------------------------------------------ */

static const char *const encoded[] = {"",         "Zg==",     "Zm8=",    "Zm9v",
                                      "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};

START_TEST(base64_as_the_standard_has_it)
{
    ik_buffer_t text;
    ik_buffer_t bytes;
    ik_buffer_init(&text, ctx, 100);
    ik_buffer_init(&bytes, ctx, 100);
    ik_buffer_append_text(&text, "");
    ik_base64_append(&text, "foobar", (size_t)_i);
    ck_assert_str_eq(text.data, encoded[_i]);
    ck_assert(ik_base64_append_decoded(&bytes, text.data, text.len));
    ck_assert_uint_eq(bytes.len, (size_t)_i);
    ck_assert(memcmp(bytes.data == NULL ? "" : bytes.data, "foobar", (size_t)_i) == 0);
}
END_TEST

START_TEST(what_is_no_base64)
{
    static const char *const texts[] = {
        "Z", "Zg", "Zg=", "Zg==Zg==", "====", "Z===", "Zm9*", "=m9v"};
    ik_buffer_t bytes;
    ik_buffer_init(&bytes, ctx, 100);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        ck_assert_msg(!ik_base64_append_decoded(&bytes, texts[i], strlen(texts[i])), "%s",
                      texts[i]);
    }
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("export");
    TCase *tests = tcase_create("export");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, formats_are_found_by_name);
    tcase_add_test(tests, a_session_as_lines);
    tcase_add_test(tests, content_and_data_stay_what_they_are);
    tcase_add_test(tests, data_that_is_no_object_of_one_line_is_a_text);
    tcase_add_test(tests, data_of_any_depth_comes_back);
    tcase_add_test(tests, folders_may_have_any_name);
    tcase_add_test(tests, a_full_disk_is_the_streams_to_tell);
    tcase_add_test(tests, random_sessions_go_there_and_back);
    tcase_add_test(tests, many_messages_and_long_ones);
    tcase_add_test(tests, several_sessions_in_one_file);
    tcase_add_test(tests, a_file_that_went_through_other_hands);
    tcase_add_test(tests, all_agents_may_come_first);
    tcase_add_test(tests, a_pipe_can_be_read_only_once);
    tcase_add_test(tests, a_file_is_read_from_where_it_stands);
    tcase_add_test(tests, a_folder_is_no_file);
    tcase_add_test(tests, a_line_has_an_end);
    tcase_add_loop_test(tests, what_is_wrong_is_said_and_nothing_is_written, 0,
                        sizeof(wrong) / sizeof(wrong[0]));
    tcase_add_test(tests, a_session_that_went_on_elsewhere_goes_on_here);
    tcase_add_test(tests, a_session_that_went_another_way_is_refused);
    tcase_add_test(tests, a_session_in_use_gets_nothing_added);
    tcase_add_loop_test(tests, base64_as_the_standard_has_it, 0, 7);
    tcase_add_test(tests, what_is_no_base64);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return suite_run(make_suite());
}
