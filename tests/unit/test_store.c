/* The in-memory store: whatever is promised here is promised by every store. */
#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "store/store.h"
#include "suite.h"

static void *ctx;
static ik_store_t *store;

static void set_up(void)
{
    ctx = talloc_new(NULL);
    store = ik_store_memory_create(ctx);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static char *begin(void)
{
    char *id;
    res_t begun = ik_store_begin_session(ctx, store, &id);
    ck_assert_msg(is_ok(&begun), "%s", begun.message);
    return id;
}

static void append(const char *id, const char *kind, const char *content, const char *data)
{
    ik_msg_t *message = ik_msg_create(ctx, kind, content, data);
    res_t done = ik_store_append(store, id, message, IK_STORE_NORMAL);
    ck_assert_msg(is_ok(&done), "%s", done.message);
    memset(message->content, '?', strlen(message->content)); /* it keeps copies */
    talloc_free(message);
}

static ik_conversation_t *load(const char *id)
{
    ik_conversation_t *log;
    res_t loaded = ik_store_load(ctx, store, id, &log);
    ck_assert_msg(is_ok(&loaded), "%s", loaded.message);
    return log;
}

START_TEST(ids_are_sixteen_digits_and_never_the_same)
{
    char *first = begin();
    char *second = begin();
    ck_assert_uint_eq(strlen(first), 16);
    ck_assert_uint_eq(strspn(first, "0123456789abcdef"), 16);
    ck_assert_str_ne(first, second);
}
END_TEST

START_TEST(what_was_appended_is_loaded)
{
    char *id = begin();
    ck_assert_uint_eq(load(id)->count, 0);
    append(id, IK_MSG_USER, "hi", NULL);
    append(id, IK_MSG_ASSISTANT, "", "{\"model\":\"p/m\"}");
    append(id, "note", "anything", "{ not checked");
    ik_conversation_t *log = load(id);
    ck_assert_uint_eq(log->count, 3);
    ck_assert_str_eq(log->messages[0]->kind, "user");
    ck_assert_str_eq(log->messages[0]->content, "hi");
    ck_assert_ptr_null(log->messages[0]->data_json);
    ck_assert_str_eq(log->messages[1]->content, "");
    ck_assert_str_eq(log->messages[1]->data_json, "{\"model\":\"p/m\"}");
    ck_assert_str_eq(log->messages[2]->data_json, "{ not checked");
}
END_TEST

START_TEST(content_may_be_missing)
{
    char *id = begin();
    res_t done =
        ik_store_append(store, id, ik_msg_create(ctx, IK_MSG_TOOL_CALL, NULL, "{}"), IK_STORE_FULL);
    ck_assert(is_ok(&done));
    ck_assert_ptr_null(load(id)->messages[0]->content);
}
END_TEST

START_TEST(sessions_are_apart_and_logs_are_copies)
{
    char *first = begin();
    char *second = begin();
    append(first, IK_MSG_USER, "one", NULL);
    append(second, IK_MSG_USER, "two", NULL);
    ik_conversation_t *log = load(first);
    ik_conversation_append(log, ik_msg_create(log, IK_MSG_USER, "not stored", NULL));
    append(first, IK_MSG_USER, "three", NULL);
    ck_assert_uint_eq(log->count, 2);
    ck_assert_uint_eq(load(first)->count, 2);
    ck_assert_str_eq(load(first)->messages[1]->content, "three");
    ck_assert_uint_eq(load(second)->count, 1);
}
END_TEST

START_TEST(many_sessions)
{
    char *ids[50];
    for (size_t i = 0; i < 50; i++) {
        ids[i] = begin();
        append(ids[i], IK_MSG_USER, ids[i], NULL);
    }
    for (size_t i = 0; i < 50; i++) {
        ck_assert_str_eq(load(ids[i])->messages[0]->content, ids[i]);
    }
}
END_TEST

START_TEST(there_is_no_such_session)
{
    ik_conversation_t *log;
    ik_msg_t *message = ik_msg_create(ctx, IK_MSG_USER, "x", NULL);
    begin();
    res_t appended = ik_store_append(store, "0123456789abcdef", message, IK_STORE_FULL);
    res_t loaded = ik_store_load(ctx, store, "0123456789abcdef", &log);
    ck_assert_int_eq(appended.code, IK_ERR_NOT_FOUND);
    ck_assert_int_eq(loaded.code, IK_ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(loaded.message, "0123456789abcdef"));
}
END_TEST

START_TEST(an_id_is_given_once)
{
    char *id = begin();
    res_t again = store->kind->begin_session(store, id);
    ck_assert_int_eq(again.code, IK_ERR_CONFLICT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store");
    TCase *tests = tcase_create("memory");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, ids_are_sixteen_digits_and_never_the_same);
    tcase_add_test(tests, what_was_appended_is_loaded);
    tcase_add_test(tests, content_may_be_missing);
    tcase_add_test(tests, sessions_are_apart_and_logs_are_copies);
    tcase_add_test(tests, many_sessions);
    tcase_add_test(tests, there_is_no_such_session);
    tcase_add_test(tests, an_id_is_given_once);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
