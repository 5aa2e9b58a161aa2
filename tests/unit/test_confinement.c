/* Rooms, with a real keeper: what a call can read, write and reach. Skipped where the kernel does
 * not allow rooms; tests/e2e/test_confinement.py covers those levels. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "confinement/confinement.h"
#include "scratch.h"
#include "suite.h"

enum { LONG_MS = 60000 };

static void *ctx;
static ik_loop_t *loop;
static ik_confinement_t *confinement;
static char *base;
static ik_config_t config;
static ik_paths_t paths;
static ik_confinement_level_t level;

static char *below(const char *name)
{
    return ik_sprintf(ctx, "%s/%s", base, name);
}

static void put(const char *name, const char *text)
{
    char *path = below(name);
    char *folder = ik_file_folder(ctx, path);
    res_t made = ik_file_make_private_folder(folder);
    ck_assert(is_ok(&made));
    res_t written = ik_file_write_private_fast(path, text, strlen(text));
    ck_assert(is_ok(&written));
}

static void on_known(void *data, const ik_confinement_facts_t *facts)
{
    *(bool *)data = true;
    level = facts->level;
}

static void set_up(void)
{
    const char *out = getenv("IKIGAI_OUT");
    scratch_empty();
    ctx = talloc_new(NULL);
    base = ik_strdup(ctx, scratch_folder);
    put("home/.ssh/id", "secret");
    put("home/.ikigai/keys.json", "secret");
    put("home/.ikigai/tools/mine", "tool");
    put("home/notes", "notes");
    put("project/file", "text");
    put("project/.git/config", "config");
    put("project/.git/hooks/old", "hook");
    put("project/.git/HEAD", "head");
    put("project/.envrc", "envrc");
    setenv("HOME", below("home"), 1);
    paths = (ik_paths_t){
        .keeper = ik_sprintf(ctx, "%s/lib/ikigai/keeper", out == NULL ? "." : out),
        .home = below("home/.ikigai"),
        .user_tools = below("home/.ikigai/tools"),
        .trusted = below("home/.ikigai/trusted"),
        .rooms = below("home/.ikigai/rooms"),
        .cwd = below("project"),
    };
    res_t created = ik_loop_create(ctx, &loop);
    ck_assert(is_ok(&created));
    ik_confinement_options_t options = {.loop = loop, .paths = &paths, .config = &config};
    confinement = ik_confinement_create(ctx, &options);
    bool known = false;
    ik_confinement_detect(ctx, confinement, on_known, &known);
    ck_assert(ik_loop_run_until(loop, &known));
}

static void tear_down(void)
{
    talloc_free(confinement);
    talloc_free(ctx);
}

typedef struct {
    bool done;
    ik_process_host_t *host;
    int exit_code;
    char *out;
} outcome_t;

static void on_ready(void *data, ik_process_host_t *host)
{
    outcome_t *outcome = data;
    outcome->host = host;
    outcome->done = true;
}

static void on_end(void *data, ik_process_result_t *result)
{
    outcome_t *outcome = data;
    outcome->done = true;
    outcome->exit_code = result->exit_code;
    outcome->out = ik_strndup(ctx, result->out.len == 0 ? "" : result->out.data, result->out.len);
}

/* Starts a shell command with these effects; false when it cannot be confined. */
static bool start(outcome_t *outcome, ik_effects_t effects, const char *command)
{
    *outcome = (outcome_t){0};
    ik_confinement_prepare(ctx, confinement, effects, on_ready, outcome);
    ck_assert(ik_loop_run_until(loop, &outcome->done));
    if (outcome->host == NULL) {
        return false;
    }
    char *script = ik_sprintf(ctx, "exec 2>&1; %s", command);
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    ik_process_options_t options = {.argv = argv,
                                    .folder = paths.cwd,
                                    .max_out = 100000,
                                    .max_err = 1000,
                                    .idle_ms = LONG_MS,
                                    .max_ms = LONG_MS,
                                    .on_end = on_end,
                                    .data = outcome};
    ik_process_t *process;
    outcome->done = false;
    res_t started = ik_process_start(ctx, outcome->host, &options, &process);
    ck_assert_msg(is_ok(&started), "%s", started.message);
    return true;
}

/* What a shell command with these effects prints; NULL when it could not be run. */
static const char *run(ik_effects_t effects, const char *command)
{
    outcome_t outcome;
    if (!start(&outcome, effects, command)) {
        return NULL;
    }
    ck_assert(ik_loop_run_until(loop, &outcome.done));
    return outcome.out;
}

static bool was_refused(const char *said)
{
    return strstr(said, "Read-only") != NULL || strstr(said, "not permitted") != NULL ||
           strstr(said, "denied") != NULL;
}

static const ik_effects_t reading = {.write = IK_WRITE_NONE};
static const ik_effects_t working = {.write = IK_WRITE_PROJECT};

/* --- */

START_TEST(test_working_writes_in_project_and_tmp_only)
{
    if (level != IK_CONFINEMENT_FULL) {
        return;
    }
    ck_assert_str_eq("ok\n", run(working, "echo new >new && echo x >/tmp/x && echo ok"));
    ck_assert_int_eq(0, access(below("project/new"), F_OK));
    ck_assert_int_ne(0, access("/tmp/x", F_OK));
    const char *places[] = {"$HOME/notes",
                            "$HOME/new",
                            "/usr/new",
                            ".git/config",
                            ".git/hooks/new",
                            ".envrc",
                            "/proc/sys/kernel/core_pattern"};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const char *said = run(working, ik_sprintf(ctx, "echo x >\"%s\"", places[i]));
        ck_assert_msg(strstr(said, "Read-only") != NULL || strstr(said, "denied") != NULL, "%s: %s",
                      places[i], said);
    }
    ck_assert_ptr_nonnull(strstr(run(working, "mv .git other"), "busy"));
}
END_TEST

/* Whatever stands at a protected place cannot be replaced. */
START_TEST(test_links_and_special_files_are_protected)
{
    if (level != IK_CONFINEMENT_FULL) {
        return;
    }
    put("project/hooks/old", "hook");
    const char *places[] = {".git/hooks", ".vscode", ".idea", ".mcp.json", ".claude"};
    ck_assert_int_eq(0, rename(below("project/.git/hooks"), below("moved")));
    ck_assert_int_eq(0, symlink("../hooks", below("project/.git/hooks")));
    ck_assert_int_eq(0, symlink("missing", below("project/.vscode")));
    ck_assert_int_eq(0, symlink("../home", below("project/.idea")));
    ck_assert_int_eq(0, symlink("file", below("project/.mcp.json")));
    ck_assert_int_eq(0, mkfifo(below("project/.claude"), 0600));
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const char *commands[] = {"rm", "mv -t /tmp", "mv -T file", "ln -sfn file"};
        for (size_t j = 0; j < sizeof(commands) / sizeof(commands[0]); j++) {
            const char *said = run(working, ik_sprintf(ctx, "%s %s", commands[j], places[i]));
            ck_assert_msg(strstr(said, "busy") != NULL || was_refused(said), "%s %s: %s",
                          commands[j], places[i], said);
        }
    }
    ck_assert(was_refused(run(working, "echo x >hooks/new")));
    ck_assert_str_eq("hook", run(working, "cat .git/hooks/old")); /* links still lead there */
}
END_TEST

/* A place that appears, or is replaced as git does it, is protected before the next call starts. */
START_TEST(test_places_that_appear_later_are_protected)
{
    if (level != IK_CONFINEMENT_FULL) {
        return;
    }
    const char *places[] = {".vscode/new", ".git/config", ".envrc", ".mcp.json", ".git/hooks/new"};
    for (int round = 0; round < 3; round++) {
        run(working, "echo kept >/tmp/kept");
        put("project/.vscode/settings", "settings");
        put("project/.git/new", "config");
        ck_assert_int_eq(0, rename(below("project/.git/new"), below("project/.git/config")));
        unlink(below("project/.envrc"));
        put("project/dev", "");
        ck_assert_int_eq(0, symlink("dev", below("project/.envrc")));
        unlink(below("project/.mcp.json"));
        put("project/.mcp.json", "servers");
        ck_assert_int_eq(0, rename(below("project/.git"), below(ik_sprintf(ctx, "old%d", round))));
        put("project/.git/config", "config");
        put("project/.git/hooks/old", "hook");
        for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
            const char *said = run(working, ik_sprintf(ctx, "echo x >%s", places[i]));
            ck_assert_msg(was_refused(said), "%s: %s", places[i], said);
        }
        ck_assert_ptr_nonnull(strstr(run(working, "mv .git other"), "busy"));
        ck_assert_ptr_nonnull(strstr(run(working, "rm .envrc"), "busy"));
        ck_assert_str_eq("ok\n", run(working, "echo x >.git/HEAD && cat /tmp/kept >/dev/null && "
                                              "touch file && echo ok"));
    }
}
END_TEST

START_TEST(test_places_that_appear_later_are_protected_from_running_calls)
{
    if (level != IK_CONFINEMENT_FULL) {
        return;
    }
    outcome_t outcome;
    ck_assert(
        start(&outcome, working, "until test -e go; do sleep 0.01; done; echo x >.vscode/new"));
    put("project/.vscode/settings", "settings");
    run(working, "touch go");
    ck_assert(ik_loop_run_until(loop, &outcome.done));
    ck_assert_msg(was_refused(outcome.out), "%s", outcome.out);
    ck_assert_int_ne(0, access(below("project/.vscode/new"), F_OK));
}
END_TEST

START_TEST(test_rooms_share_tmp)
{
    if (level != IK_CONFINEMENT_FULL) {
        return;
    }
    run(working, "echo hello >/tmp/shared");
    ck_assert_str_eq("hello\n", run(reading, "cat /tmp/shared"));
    ck_assert_ptr_nonnull(strstr(run(reading, "echo x >file"), "Read-only"));
    ck_assert_ptr_nonnull(strstr(run(reading, "chmod 600 file"), "Read-only"));
}
END_TEST

/* A process may have several sessions: each has a /tmp of its own, which goes with it alone. */
START_TEST(test_sessions_of_one_process_have_their_own_tmp)
{
    if (level != IK_CONFINEMENT_FULL) {
        return;
    }
    ik_confinement_options_t options = {.loop = loop, .paths = &paths, .config = &config};
    ik_confinement_t *first = confinement;
    ik_confinement_t *second = ik_confinement_create(ctx, &options);
    run(working, "echo first >/tmp/mine");
    confinement = second;
    ck_assert_str_eq("second\n", run(working, "test -e /tmp/mine || echo second >/tmp/mine; "
                                              "cat /tmp/mine"));
    talloc_free(second);
    confinement = first;
    ck_assert_str_eq("first\n", run(reading, "cat /tmp/mine"));
}
END_TEST

START_TEST(test_secrets_are_hidden)
{
    if (level == IK_CONFINEMENT_NONE) {
        return;
    }
    ck_assert_ptr_null(strstr(run(working, "cat $HOME/.ssh/id"), "secret"));
    ck_assert_ptr_null(strstr(run(working, "cat $HOME/.ikigai/keys.json"), "secret"));
    ck_assert_str_eq("tool", run(working, "cat $HOME/.ikigai/tools/mine"));
    ck_assert_str_eq("notes", run(reading, "cat $HOME/notes"));
}
END_TEST

START_TEST(test_caches_are_kept_for_the_project)
{
    if (level != IK_CONFINEMENT_FULL) {
        return;
    }
    run(working, "mkdir -p $HOME/.cache && echo kept >$HOME/.cache/kept");
    ck_assert_int_ne(0, access(below("home/.cache/kept"), F_OK));
    talloc_free(confinement);
    ik_confinement_options_t options = {.loop = loop, .paths = &paths, .config = &config};
    confinement = ik_confinement_create(ctx, &options);
    ck_assert_str_eq("kept\n", run(working, "cat $HOME/.cache/kept"));
}
END_TEST

/* Landlock does not control modes, owners, times and attributes; other means do, at every level. */
START_TEST(test_modes_and_times_change_in_project_only)
{
    if (level == IK_CONFINEMENT_NONE) {
        return;
    }
    ck_assert_str_eq("ok\n",
                     run(working, "chmod 640 file && touch -d 2001-01-01 file && "
                                  "ln -s file link && touch -h -d 2002-01-01 link && "
                                  "chown $(id -u) file && cd .. && chmod 600 project/file && "
                                  "chmod 600 /proc/self/cwd/project/file && echo ok"));
    const char *commands[] = {
        "chmod 777 $HOME/notes",
        "touch -d 2001-01-01 $HOME/notes",
        "chown $(id -u) $HOME/notes",
        "cd $HOME; chmod 777 notes",
        "chmod 777 $HOME",
        "chmod 777 link2",
    };
    ck_assert_int_eq(0, symlink(below("home/notes"), below("project/link2")));
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        const char *said = run(working, commands[i]);
        ck_assert_msg(was_refused(said), "%s: %s", commands[i], said);
    }
    struct stat status;
    ck_assert_int_eq(0, stat(below("project/file"), &status));
    ck_assert_int_eq(0600, status.st_mode & 0777);
    ck_assert_int_eq(0, stat(below("home/notes"), &status));
    ck_assert_int_eq(0600, status.st_mode & 0777);
    const char *said = run(reading, "chmod 777 file || touch file");
    ck_assert_msg(was_refused(said), "%s", said);
}
END_TEST

START_TEST(test_room_is_made_again_when_its_keeper_dies)
{
    if (level != IK_CONFINEMENT_FULL) {
        return;
    }
    run(working, "echo before >/tmp/before");
    ck_assert_str_eq("0\n", run(working, "kill -9 1; echo $?")); /* process 1 ignores it */
    char *path = ik_sprintf(ctx, "/proc/self/task/%d/children", (int)getpid());
    FILE *children = fopen(path, "r");
    int pid;
    while (fscanf(children, "%d", &pid) == 1) {
        kill(pid, SIGSTOP);
        kill(pid, SIGKILL);
    }
    fclose(children);
    ck_assert_str_eq("", run(working, "echo lost")); /* its end is noticed with this call */
    ck_assert_str_eq("before\n", run(working, "cat /tmp/before"));
}
END_TEST

/* The keeper of the first room has too few descriptors, as if places had changed under its hands.
 */
START_TEST(test_room_is_planned_again_when_it_fails_once)
{
    char counter[16] = "";
    if (level != IK_CONFINEMENT_FULL) {
        return;
    }
    put("starts", "");
    put("keeper", ik_sprintf(ctx,
                             "#!/bin/sh\n"
                             "echo >>'%s'\n"
                             "[ $(wc -l <'%s') != 2 ] || ulimit -n 16\n"
                             "exec '%s' \"$@\"\n",
                             below("starts"), below("starts"), paths.keeper));
    ck_assert_int_eq(0, chmod(below("keeper"), 0700));
    paths.keeper = below("keeper");
    ck_assert_str_eq("hi\n", run(working, "echo hi"));
    ck_assert_int_eq(IK_CONFINEMENT_FULL, ik_confinement_facts(confinement)->level);
    FILE *starts = fopen(below("starts"), "r");
    ck_assert_uint_eq(3, fread(counter, 1, sizeof(counter), starts)); /* copies, a room, another */
    fclose(starts);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("confinement");
    TCase *cases = tcase_create("rooms");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, test_working_writes_in_project_and_tmp_only);
    tcase_add_test(cases, test_links_and_special_files_are_protected);
    tcase_add_test(cases, test_places_that_appear_later_are_protected);
    tcase_add_test(cases, test_places_that_appear_later_are_protected_from_running_calls);
    tcase_add_test(cases, test_rooms_share_tmp);
    tcase_add_test(cases, test_sessions_of_one_process_have_their_own_tmp);
    tcase_add_test(cases, test_secrets_are_hidden);
    tcase_add_test(cases, test_caches_are_kept_for_the_project);
    tcase_add_test(cases, test_modes_and_times_change_in_project_only);
    tcase_add_test(cases, test_room_is_made_again_when_its_keeper_dies);
    tcase_add_test(cases, test_room_is_planned_again_when_it_fails_once);
    suite_add_tcase(suite, cases);
    return scratch_run(suite);
}
