/* Drafts in real files: when they are written, who finds them, and what is not left behind. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "repl/repl_draft.h"
#include "scratch.h"

#define ONE "00000000000000a1"
#define TWO "00000000000000b2"

static void *ctx;
static ik_loop_t *loop;
static ik_paths_t paths;

/* What stands in the prompt. */
typedef struct {
    const char *text;
    int asked;
} prompt_t;

static prompt_t prompt;

static void set_up(void)
{
    scratch_empty();
    ctx = talloc_new(NULL);
    ck_assert_int_eq(ik_loop_create(ctx, &loop).code, IK_ERR_NONE);
    paths =
        (ik_paths_t){.drafts = ik_strdup(ctx, scratch_path("home/drafts")), .cwd = "/work/project"};
    prompt = (prompt_t){.text = ""};
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static char *prompt_text(void *data, const void *text_ctx)
{
    prompt_t *of = data;
    of->asked++;
    return ik_strdup(text_ctx, of->text);
}

static ik_repl_draft_t *open_draft(const char *session_id)
{
    ik_repl_draft_t *draft = ik_repl_draft_create(ctx, loop, &paths, prompt_text, &prompt);
    if (session_id != NULL) {
        ik_repl_draft_set_session(draft, session_id);
    }
    return draft;
}

static void type(ik_repl_draft_t *draft, const char *text)
{
    prompt.text = text;
    ik_repl_draft_changed(draft);
}

static void type_and_save(ik_repl_draft_t *draft, const char *text)
{
    type(draft, text);
    ik_repl_draft_save_now(draft);
}

/* --- what there is ----------------------------------------------------------------------- */

static int is_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The names of all drafts, sorted, each behind a space. */
static const char *names(void)
{
    struct dirent **entries;
    char *all = ik_strdup(ctx, "");
    int count = scandir(scratch_path("home/drafts"), &entries, is_file, alphasort);
    for (int i = 0; i < count; i++) {
        all = ik_sprintf(ctx, "%s %s", all, entries[i]->d_name);
        free(entries[i]);
    }
    if (count >= 0) {
        free(entries);
    }
    return all;
}

static int count_files(void)
{
    int count = 0;
    for (const char *at = names(); (at = strchr(at, ' ')) != NULL; at++) {
        count++;
    }
    return count;
}

/* The file of a session of this folder, by the end of its name. */
static const char *file_of(const char *session_id)
{
    const char *all = names();
    const char *at = strstr(all, session_id);
    if (at == NULL) {
        return NULL;
    }
    const char *end = at + strlen(session_id);
    while (at > all && at[-1] != ' ') {
        at--;
    }
    return scratch_path(ik_sprintf(ctx, "home/drafts/%.*s", (int)(end - at), at));
}

static const char *text_of(const char *session_id)
{
    const char *path = file_of(session_id);
    char *text = NULL;
    size_t len;
    if (path == NULL) {
        return "no file";
    }
    ck_assert_int_eq(ik_file_read(ctx, path, 1 << 20, &text, &len).code, IK_ERR_NONE);
    return text;
}

static void set_age(const char *path, int seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec -= seconds;
    ck_assert_int_eq(utimensat(AT_FDCWD, path, (struct timespec[2]){now, now}, 0), 0);
}

/* A program that typed this and is no more. */
static void leave_draft(const char *session_id, const char *text, int age)
{
    ik_repl_draft_t *draft = open_draft(session_id);
    type_and_save(draft, text);
    set_age(file_of(session_id), age);
    talloc_free(draft);
}

static void on_second(void *data)
{
    *(bool *)data = true;
}

static void wait_a_second(void)
{
    bool passed = false;
    ik_timer_t *timer = ik_timer_create(ctx, loop, on_second, &passed);
    ik_timer_start(timer, 1000);
    ck_assert(ik_loop_run_until(loop, &passed));
    talloc_free(timer);
}

/* There is no timer left: waiting ends before one that saves could have. */
static void check_idle(void)
{
    bool never = false;
    int64_t began = ik_clock_now_ms();
    ck_assert(!ik_loop_run_until(loop, &never));
    ck_assert_int_lt(ik_clock_now_ms() - began, 400);
}

/* --- saving ------------------------------------------------------------------------------ */

START_TEST(it_is_saved_within_a_second)
{
    ik_repl_draft_t *draft = open_draft(ONE);
    type(draft, "h");
    type(draft, "he");
    type(draft, "hello\nworld");
    ck_assert_int_eq(prompt.asked, 0);
    wait_a_second();
    ck_assert_str_eq(text_of(ONE), "hello\nworld");
    ck_assert_int_eq(prompt.asked, 1);
    check_idle();
}
END_TEST

typedef struct {
    ik_repl_draft_t *draft;
    ik_timer_t *timer;
} typist_t;

static void on_key(void *data)
{
    typist_t *typist = data;
    type(typist->draft, "on and on");
    ik_timer_start(typist->timer, 50);
}

START_TEST(who_never_pauses_is_saved_too)
{
    typist_t typist = {.draft = open_draft(ONE)};
    typist.timer = ik_timer_create(ctx, loop, on_key, &typist);
    on_key(&typist);
    wait_a_second();
    ck_assert_str_eq(text_of(ONE), "on and on");
}
END_TEST

START_TEST(nothing_runs_while_nothing_changes)
{
    ik_repl_draft_t *draft = open_draft(ONE);
    check_idle();
    ik_repl_draft_save_now(draft);
    ck_assert_int_eq(prompt.asked, 0);
    type_and_save(draft, "hello");
    check_idle();
    ik_repl_draft_save_now(draft);
    ck_assert_int_eq(prompt.asked, 1);
}
END_TEST

/* As on a full disk that has room again when the program ends. */
START_TEST(what_could_not_be_saved_is_saved_later)
{
    const char *home = scratch_path("home");
    ck_assert_int_eq(ik_file_write_private(home, "", 0).code, IK_ERR_NONE);
    ik_repl_draft_t *draft = open_draft(ONE);
    type_and_save(draft, "a plan");
    unlink(home);
    ck_assert_str_eq(text_of(ONE), "no file");
    ik_repl_draft_save_now(draft);
    ck_assert_str_eq(text_of(ONE), "a plan");
}
END_TEST

START_TEST(an_empty_one_leaves_no_file)
{
    ik_repl_draft_t *draft = open_draft(ONE);
    type_and_save(draft, "");
    ck_assert_str_eq(names(), "");
    type_and_save(draft, "hello");
    ck_assert_int_eq(count_files(), 1);
    type_and_save(draft, "");
    ck_assert_str_eq(names(), "");
}
END_TEST

START_TEST(it_is_private)
{
    umask(0);
    type_and_save(open_draft(ONE), "secret");
    umask(0022);
    struct stat status;
    ck_assert_int_eq(stat(file_of(ONE), &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0600);
    ck_assert_uint_eq(scratch_mode("home/drafts"), 0700);
}
END_TEST

START_TEST(its_name_is_of_folder_and_session)
{
    type_and_save(open_draft(ONE), "here");
    /* sha256sum of "/work/project" */
    ck_assert_str_eq(names(), " 65d80d2c48b3d23b." ONE);
}
END_TEST

START_TEST(without_a_session_it_waits)
{
    ik_repl_draft_t *draft = open_draft(NULL);
    type(draft, "early");
    check_idle();
    ik_repl_draft_save_now(draft);
    ck_assert_str_eq(names(), "");
    ik_repl_draft_set_session(draft, ONE);
    wait_a_second();
    ck_assert_str_eq(text_of(ONE), "early");
}
END_TEST

START_TEST(it_goes_to_another_session_with_its_text)
{
    ik_repl_draft_t *draft = open_draft(ONE);
    type_and_save(draft, "hello");
    ik_repl_draft_set_session(draft, TWO);
    ck_assert_str_eq(text_of(ONE), "hello"); /* until the next save */
    wait_a_second();
    ck_assert_str_eq(text_of(ONE), "no file");
    ck_assert_str_eq(text_of(TWO), "hello");
    ik_repl_draft_set_session(draft, TWO);
    check_idle();
}
END_TEST

START_TEST(a_home_that_cannot_be_written_costs_nothing_else)
{
    scratch_write("home", "a file in the way");
    ik_repl_draft_t *draft = open_draft(ONE);
    type_and_save(draft, "hello");
    ck_assert_int_eq(unlink(scratch_path("home")), 0);
    type_and_save(draft, "hello again");
    ck_assert_str_eq(text_of(ONE), "hello again");
}
END_TEST

/* --- finding ----------------------------------------------------------------------------- */

static const char *find(ik_repl_draft_t *draft, const char *session_id)
{
    const char *text = ik_repl_draft_find(ctx, draft, session_id);
    return text == NULL ? "none" : text;
}

START_TEST(the_draft_of_a_session_is_found)
{
    ck_assert_str_eq(find(open_draft(NULL), ONE), "none");
    leave_draft(ONE, "of one", 100);
    leave_draft(TWO, "of two", 10);
    ck_assert_str_eq(find(open_draft(NULL), ONE), "of one");
    ck_assert_str_eq(find(open_draft(NULL), TWO), "of two");
}
END_TEST

START_TEST(otherwise_the_newest_of_the_folder)
{
    leave_draft(ONE, "old", 100);
    leave_draft(TWO, "new", 10);
    leave_draft("00000000000000c3", "older", 200);
    paths.cwd = "/elsewhere";
    leave_draft("00000000000000d4", "another folder's", 1);
    ck_assert_str_eq(find(open_draft(NULL), "00000000000000e5"), "another folder's");
    paths.cwd = "/work/project";
    ck_assert_str_eq(find(open_draft(NULL), NULL), "new");
    ck_assert_str_eq(find(open_draft(NULL), "00000000000000e5"), "new");
    paths.cwd = "/work";
    ck_assert_str_eq(find(open_draft(NULL), NULL), "none");
}
END_TEST

/* Another program in the same folder goes on with its own. */
START_TEST(what_somebody_else_types_is_not_taken)
{
    leave_draft(ONE, "left", 100);
    ik_repl_draft_t *alive = open_draft(TWO);
    type_and_save(alive, "being typed");
    type_and_save(alive, "being typed still");
    ck_assert_str_eq(find(open_draft(NULL), NULL), "left");
    talloc_free(alive);
    ck_assert_str_eq(find(open_draft(NULL), NULL), "being typed still");
}
END_TEST

START_TEST(a_killed_program_leaves_its_draft)
{
    int ready[2];
    char byte;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        type_and_save(open_draft(TWO), "half a sen");
        ck_assert_int_eq(write(ready[1], "r", 1), 1);
        pause();
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_str_eq(find(open_draft(NULL), NULL), "none");
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert_str_eq(find(open_draft(NULL), NULL), "half a sen");
    close(ready[0]);
    close(ready[1]);
}
END_TEST

START_TEST(what_was_found_is_saved_with_the_text)
{
    leave_draft(ONE, "left", 100);
    ik_repl_draft_t *draft = open_draft(TWO);
    prompt.text = find(draft, NULL);
    ck_assert_str_eq(text_of(ONE), "left"); /* nothing is lost in between */
    wait_a_second();
    ck_assert_str_eq(text_of(ONE), "left");
    ik_repl_draft_changed(draft);
    wait_a_second();
    ck_assert_str_eq(text_of(ONE), "no file");
    ck_assert_str_eq(text_of(TWO), "left");
    type_and_save(draft, "");
    ck_assert_str_eq(names(), "");
}
END_TEST

START_TEST(what_was_found_and_erased_is_gone)
{
    leave_draft(ONE, "left", 100);
    ik_repl_draft_t *draft = open_draft(TWO);
    ck_assert_str_eq(find(draft, ONE), "left");
    type_and_save(draft, "");
    ck_assert_str_eq(names(), "");
}
END_TEST

START_TEST(ones_own_is_not_found_again)
{
    ik_repl_draft_t *draft = open_draft(ONE);
    type_and_save(draft, "mine");
    ck_assert_str_eq(find(draft, ONE), "none");
    ck_assert_str_eq(find(draft, NULL), "none");
}
END_TEST

START_TEST(a_file_that_was_not_finished_is_no_draft)
{
    leave_draft(ONE, "left", 100);
    const char *rest = ik_sprintf(ctx, "%s.Xy12ab", file_of(ONE));
    ck_assert_int_eq(rename(file_of(ONE), rest), 0);
    ck_assert_str_eq(find(open_draft(NULL), NULL), "none");
    ck_assert_str_eq(find(open_draft(NULL), ONE), "none");
}
END_TEST

/* --- how many ---------------------------------------------------------------------------- */

START_TEST(the_oldest_are_removed)
{
    ik_repl_draft_t *alive = open_draft(ONE);
    type_and_save(alive, "old and alive");
    set_age(file_of(ONE), 100000);
    for (int i = 0; i < IK_REPL_DRAFT_FILES_MAX + 9; i++) {
        char name[64];
        snprintf(name, sizeof(name), "home/drafts/%016d.%016d", i, i);
        set_age(scratch_write(name, "left"), 1000 + i);
    }
    type_and_save(open_draft(TWO), "new");
    ck_assert_int_eq(count_files(), IK_REPL_DRAFT_FILES_MAX);
    ck_assert_str_eq(text_of(ONE), "old and alive");
    ck_assert_str_eq(text_of(TWO), "new");
    ck_assert_str_eq(text_of(".0000000000000097"), "left");
    ck_assert_str_eq(text_of(".0000000000000098"), "no file");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("repl_draft");
    TCase *tests = tcase_create("drafts");
    tcase_set_timeout(tests, 30);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, it_is_saved_within_a_second);
    tcase_add_test(tests, who_never_pauses_is_saved_too);
    tcase_add_test(tests, nothing_runs_while_nothing_changes);
    tcase_add_test(tests, what_could_not_be_saved_is_saved_later);
    tcase_add_test(tests, an_empty_one_leaves_no_file);
    tcase_add_test(tests, it_is_private);
    tcase_add_test(tests, its_name_is_of_folder_and_session);
    tcase_add_test(tests, without_a_session_it_waits);
    tcase_add_test(tests, it_goes_to_another_session_with_its_text);
    tcase_add_test(tests, a_home_that_cannot_be_written_costs_nothing_else);
    tcase_add_test(tests, the_draft_of_a_session_is_found);
    tcase_add_test(tests, otherwise_the_newest_of_the_folder);
    tcase_add_test(tests, what_somebody_else_types_is_not_taken);
    tcase_add_test(tests, a_killed_program_leaves_its_draft);
    tcase_add_test(tests, what_was_found_is_saved_with_the_text);
    tcase_add_test(tests, what_was_found_and_erased_is_gone);
    tcase_add_test(tests, ones_own_is_not_found_again);
    tcase_add_test(tests, a_file_that_was_not_finished_is_no_draft);
    tcase_add_test(tests, the_oldest_are_removed);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}
