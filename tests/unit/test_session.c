/* Tests of a session on a real file: when it is stored, what is kept when the store fails, agents
 * and their forks, and which process may write. */
#include <sys/wait.h>

#include "base/alloc.h"
#include "scratch.h"
#include "store/session.h"

static void *ctx;
static ik_loop_t *loop;
static ik_history_t *history;

static ik_history_t *open_history(void)
{
    return ik_history_create(
        ctx, &(ik_history_options_t){.db = scratch_path("ikigai.db"), .loop = loop});
}

static void set_up(void)
{
    scratch_empty();
    ctx = talloc_new(NULL);
    ck_assert_int_eq(ik_loop_create(ctx, &loop).code, IK_ERR_NONE);
    history = open_history();
}

static void tear_down(void)
{
    talloc_free(history);
    talloc_free(ctx);
}

static ik_session_t *begin(void)
{
    return ik_session_create(history, history,
                             &(ik_session_facts_t){.cwd = "/project", .model = "offline/offline"});
}

static res_t say(ik_session_t *session, int64_t agent, const char *kind, const char *text)
{
    ik_msg_t *message = ik_msg_create(ctx, kind, text, NULL);
    bool user = strcmp(kind, IK_MSG_USER) == 0;
    return ik_session_append(session, agent, &message, 1, user ? IK_STORE_FULL : IK_STORE_NORMAL);
}

static void must_say(ik_session_t *session, int64_t agent, const char *kind, const char *text)
{
    res_t said = say(session, agent, kind, text);
    ck_assert_msg(is_ok(&said), "%s", said.message);
}

static size_t count_sessions(void)
{
    ik_store_t *store;
    ik_store_list_t *list;
    ck_assert_int_eq(ik_history_local(history, &store).code, IK_ERR_NONE);
    ck_assert_int_eq(ik_store_list(ctx, store, &(ik_store_filter_t){0}, &list).code, IK_ERR_NONE);
    return list->count;
}

/* The texts of all events of an agent, joined. */
static const char *known(ik_session_t *session, int64_t agent)
{
    ik_conversation_t *log;
    res_t loaded = ik_session_load(ctx, session, agent, &log);
    ck_assert_msg(is_ok(&loaded), "%s", loaded.message);
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < log->count; i++) {
        ik_buffer_append_format(&text, "%s%s", i == 0 ? "" : " ", log->messages[i]->content);
    }
    return text.data;
}

START_TEST(it_comes_into_being_with_the_words_of_the_user)
{
    ik_session_t *session = begin();
    must_say(session, 1, IK_MSG_SYSTEM, "prompt");
    ck_assert_uint_eq(count_sessions(), 0);
    ck_assert_str_eq(known(session, 1), "prompt");
    must_say(session, 1, IK_MSG_USER, "hello");
    ck_assert_uint_eq(count_sessions(), 1);
    ck_assert_str_eq(known(session, 1), "prompt hello");
    talloc_free(session);
}
END_TEST

START_TEST(one_in_which_nothing_was_said_leaves_nothing)
{
    ik_session_t *session = begin();
    must_say(session, 1, IK_MSG_SYSTEM, "prompt");
    talloc_free(session);
    ck_assert_uint_eq(count_sessions(), 0);
}
END_TEST

START_TEST(without_a_history_nothing_is_stored)
{
    ik_session_t *session =
        ik_session_create(ctx, NULL, &(ik_session_facts_t){.cwd = "/", .model = "m/m"});
    must_say(session, 1, IK_MSG_USER, "hello");
    talloc_free(session);
}
END_TEST

static int64_t fork_now(ik_session_t *session, int64_t parent)
{
    return ik_session_fork(session, parent, ik_session_last_seq(session, parent));
}

START_TEST(forks_of_forks_know_what_their_parents_knew)
{
    ik_session_t *session = begin();
    must_say(session, 1, IK_MSG_USER, "a");
    int64_t second = fork_now(session, 1);
    must_say(session, 1, IK_MSG_USER, "b");
    must_say(session, second, IK_MSG_USER, "c");
    int64_t third = fork_now(session, second);
    int64_t fourth = fork_now(session, third); /* at an event that its parent inherited */
    must_say(session, second, IK_MSG_USER, "d");
    must_say(session, third, IK_MSG_USER, "e");
    must_say(session, fourth, IK_MSG_USER, "f");
    char *id = ik_strdup(ctx, ik_session_id(session));
    talloc_free(session);

    ck_assert_int_eq(ik_session_open(ctx, history, id, &session).code, IK_ERR_NONE);
    ck_assert_uint_eq(ik_session_agents(session)->count, 4);
    ck_assert_int_eq(ik_session_last_agent(session), fourth);
    ck_assert_str_eq(known(session, 1), "a b");
    ck_assert_str_eq(known(session, second), "a c d");
    ck_assert_str_eq(known(session, third), "a c e");
    ck_assert_str_eq(known(session, fourth), "a c f");
    must_say(session, fourth, IK_MSG_USER, "g");
    ck_assert_str_eq(known(session, fourth), "a c f g");
    ck_assert_int_eq(ik_session_last_agent(session), fourth);
    must_say(session, second, IK_MSG_USER, "h");
    ck_assert_int_eq(ik_session_last_agent(session), second);
    ck_assert_int_eq(fork_now(session, 1), fourth + 1);
    talloc_free(session);
}
END_TEST

/* Records are events of the log: a fork is made at an event, not after so many messages. */
START_TEST(records_are_stored_and_not_loaded)
{
    ik_session_t *session = begin();
    must_say(session, 1, IK_MSG_USER, "a");
    ik_msg_t *before = ik_msg_create_checkpoint(
        ctx, &(ik_msg_checkpoint_t){.states = (const char *[]){"s1"}, .count = 1});
    ck_assert_int_eq(ik_session_append(session, 1, &before, 1, IK_STORE_NORMAL).code, IK_ERR_NONE);
    must_say(session, 1, IK_MSG_USER, "b");
    ck_assert_int_eq(ik_session_last_seq(session, 1), 3);
    int64_t second = ik_session_fork(session, 1, 2);
    must_say(session, second, IK_MSG_USER, "c");
    ck_assert_str_eq(known(session, 1), "a b");
    ck_assert_str_eq(known(session, second), "a c");
    talloc_free(session);
}
END_TEST

/* A folder in place of the file is removed in the middle. */
static void replace(ik_session_t *session, int64_t agent, const char *kind, const char *data)
{
    ik_msg_t *message = ik_msg_create(ctx, kind, "Took back 1 turn.", data);
    ck_assert_int_eq(ik_session_append(session, agent, &message, 1, IK_STORE_FULL).code,
                     IK_ERR_NONE);
}

START_TEST(an_agent_whose_place_was_taken_is_over)
{
    ik_session_t *session = begin();
    must_say(session, 1, IK_MSG_USER, "a");
    must_say(session, 1, IK_MSG_USER, "b");
    int64_t second = ik_session_fork(session, 1, 1);
    replace(session, second, IK_MSG_UNDO, "{\"agent\":1,\"turns\":1}");
    replace(session, second, IK_MSG_UNDO, "{\"turns\":1}"); /* the conversation stayed */
    for (int i = 0; i < 2; i++) {
        ck_assert(ik_session_has_ended(session, 1));
        ck_assert(!ik_session_has_ended(session, second));
        ck_assert_int_eq(ik_session_last_agent(session), second);
        ck_assert_str_eq(known(session, second), "a");
        char *id = ik_strdup(ctx, ik_session_id(session));
        talloc_free(session);
        ck_assert_int_eq(ik_session_open(ctx, history, id, &session).code, IK_ERR_NONE);
    }
    int64_t third = ik_session_fork(session, 1, 2);
    replace(session, third, IK_MSG_REDO, "{\"agent\":2,\"turns\":1}");
    ck_assert(ik_session_has_ended(session, second));
    ck_assert_int_eq(ik_session_last_agent(session), third);
    ck_assert_str_eq(known(session, third), "a b");
    talloc_free(session);
}
END_TEST

START_TEST(what_could_not_be_written_is_written_when_it_can_be)
{
    scratch_make_folder("ikigai.db");
    ik_session_t *session = begin();
    must_say(session, 1, IK_MSG_SYSTEM, "prompt");
    ck_assert_int_eq(say(session, 1, IK_MSG_USER, "a").code, IK_ERR_SYSTEM);
    ck_assert_int_eq(say(session, 1, IK_MSG_ASSISTANT, "b").code, IK_ERR_SYSTEM);
    ck_assert_int_eq(rmdir(scratch_path("ikigai.db")), 0);
    usleep(1100 * 1000);
    must_say(session, 1, IK_MSG_USER, "c");
    ck_assert_str_eq(known(session, 1), "prompt a b c");
    talloc_free(session);
}
END_TEST

START_TEST(what_waits_is_written_at_the_end)
{
    scratch_make_folder("ikigai.db");
    ik_session_t *session = begin();
    ck_assert_int_eq(say(session, 1, IK_MSG_USER, "a").code, IK_ERR_SYSTEM);
    char *id = ik_strdup(ctx, ik_session_id(session));
    ck_assert_int_eq(rmdir(scratch_path("ikigai.db")), 0);
    talloc_free(session);
    ck_assert_int_eq(ik_session_open(ctx, history, id, &session).code, IK_ERR_NONE);
    ck_assert_str_eq(known(session, 1), "a");
    talloc_free(session);
}
END_TEST

/* Opens the session in another process; returns the code and the message of the error. */
static int open_elsewhere(const char *id, char *message, size_t size)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        ik_session_t *session;
        ik_history_t *theirs = open_history();
        res_t opened = ik_session_open(ctx, theirs, id, &session);
        ssize_t written = write(ends[1], opened.message, strlen(opened.message));
        _exit(written < 0 ? 99 : (int)opened.code);
    }
    close(ends[1]);
    ssize_t len = read(ends[0], message, size - 1);
    message[len < 0 ? 0 : len] = '\0';
    close(ends[0]);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
}

START_TEST(it_has_one_writer_who_is_named)
{
    char message[600];
    char self[64];
    ik_session_t *session = begin();
    must_say(session, 1, IK_MSG_USER, "a");
    snprintf(self, sizeof(self), "pid %d on ", (int)getpid());
    ck_assert_int_eq(open_elsewhere(ik_session_id(session), message, sizeof(message)),
                     IK_ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(message, self));
    ck_assert_ptr_nonnull(strstr(message, "--fork"));
    char *id = ik_strdup(ctx, ik_session_id(session));
    talloc_free(session);
    ck_assert_int_eq(open_elsewhere(id, message, sizeof(message)), IK_ERR_NONE);
}
END_TEST

/* The child exited without releasing the session; it is dead, so the session is free. */
START_TEST(the_claim_of_a_dead_process_is_taken_over)
{
    char message[600];
    ik_session_t *session = begin();
    must_say(session, 1, IK_MSG_USER, "a");
    char *id = ik_strdup(ctx, ik_session_id(session));
    talloc_free(session);
    ck_assert_int_eq(open_elsewhere(id, message, sizeof(message)), IK_ERR_NONE);
    ck_assert_int_eq(ik_session_open(ctx, history, id, &session).code, IK_ERR_NONE);
    must_say(session, 1, IK_MSG_USER, "b");
    talloc_free(session);
}
END_TEST

START_TEST(a_copy_goes_its_own_way)
{
    ik_session_t *session = begin();
    ik_session_t *copy;
    must_say(session, 1, IK_MSG_USER, "a");
    res_t opened = ik_session_open_copy(ctx, history, ik_session_id(session), &copy);
    ck_assert_msg(is_ok(&opened), "%s", opened.message);
    ck_assert_str_ne(ik_session_id(copy), ik_session_id(session));
    must_say(session, 1, IK_MSG_USER, "b");
    must_say(copy, 1, IK_MSG_USER, "c");
    ck_assert_str_eq(known(session, 1), "a b");
    ck_assert_str_eq(known(copy, 1), "a c");
    talloc_free(copy);
    talloc_free(session);
}
END_TEST

START_TEST(what_does_not_exist_cannot_be_opened)
{
    ik_session_t *session;
    ck_assert_int_eq(ik_session_open(ctx, history, "0123456789abcdef", &session).code,
                     IK_ERR_NOT_FOUND);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("session");
    TCase *tests = tcase_create("session");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, it_comes_into_being_with_the_words_of_the_user);
    tcase_add_test(tests, one_in_which_nothing_was_said_leaves_nothing);
    tcase_add_test(tests, without_a_history_nothing_is_stored);
    tcase_add_test(tests, forks_of_forks_know_what_their_parents_knew);
    tcase_add_test(tests, records_are_stored_and_not_loaded);
    tcase_add_test(tests, an_agent_whose_place_was_taken_is_over);
    tcase_add_test(tests, what_could_not_be_written_is_written_when_it_can_be);
    tcase_add_test(tests, what_waits_is_written_at_the_end);
    tcase_add_test(tests, it_has_one_writer_who_is_named);
    tcase_add_test(tests, the_claim_of_a_dead_process_is_taken_over);
    tcase_add_test(tests, a_copy_goes_its_own_way);
    tcase_add_test(tests, what_does_not_exist_cannot_be_opened);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}
