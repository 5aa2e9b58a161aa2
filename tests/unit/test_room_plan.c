/* What a room shows of a user's files, and what it protects and hides. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/keeper_protocol.h"
#include "confinement/room_plan.h"
#include "scratch.h"
#include "suite.h"

static void *ctx;
static char *base;
static ik_room_places_t places;

static const ik_effects_t none = {.write = IK_WRITE_NONE};
static const ik_effects_t project = {.write = IK_WRITE_PROJECT};

static char *below(const char *name)
{
    return ik_sprintf(ctx, "%s/%s", base, name);
}

static void put(const char *name, const char *text)
{
    char *path = below(name);
    res_t made = ik_file_make_private_folder(ik_file_folder(ctx, path));
    ck_assert(is_ok(&made));
    res_t written = ik_file_write_private_fast(path, text, strlen(text));
    ck_assert(is_ok(&written));
}

static void set_up(void)
{
    scratch_empty();
    ctx = talloc_new(NULL);
    char *real = realpath(scratch_folder, NULL);
    base = ik_strdup(ctx, real);
    free(real);
    put("home/.ssh/id", "secret");
    put("home/.ikigai/keys.json", "secret");
    put("home/.ikigai/tools/mine", "tool");
    put("project/file", "text");
    places = (ik_room_places_t){
        .project = below("project"),
        .user_home = below("home"),
        .ikigai_home = below("home/.ikigai"),
        .user_tools = below("home/.ikigai/tools"),
        .trusted = below("home/.ikigai/trusted"),
    };
}

static void tear_down(void)
{
    talloc_free(ctx);
}

/* The position of the last such step; -1: there is none. */
static int find(const ik_room_plan_t *plan, ik_room_step_t kind, const char *path)
{
    int found = -1;
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->steps[i][0] == (char)kind && strcmp(plan->steps[i] + 1, path) == 0) {
            found = (int)i;
        }
    }
    return found;
}

static bool has(const ik_room_plan_t *plan, ik_room_step_t kind, const char *name)
{
    return find(plan, kind, below(name)) >= 0;
}

/* Whether Landlock lets the place be written. */
static bool may_write(const ik_room_plan_t *plan, const char *path)
{
    bool may = false;
    for (size_t i = 0; i < plan->count; i++) {
        const char *place = plan->steps[i] + 1;
        size_t len = strlen(place);
        may = may || (plan->steps[i][0] == IK_ROOM_MAY_WRITE && strncmp(path, place, len) == 0 &&
                      (path[len] == '/' || path[len] == '\0' || len == 1));
    }
    return may;
}

static const ik_room_plan_t *full(ik_effects_t effects)
{
    return ik_room_plan_create(ctx, &places, effects, NULL);
}

static const ik_room_plan_t *partial(ik_effects_t effects)
{
    return ik_room_plan_create_partial(ctx, &places, effects);
}

/* --- */

START_TEST(test_project_that_contains_the_home_opens_no_secret)
{
    places.project = base;
    const ik_room_plan_t *plan = full(project);
    int shown = find(plan, IK_ROOM_WRITABLE, base);
    ck_assert_int_ge(shown, 0);
    ck_assert_int_gt(find(plan, IK_ROOM_HIDDEN, below("home/.ssh")), shown);
    ck_assert_int_gt(find(plan, IK_ROOM_HIDDEN, below("home/.ikigai")), shown);
    ck_assert_int_gt(find(plan, IK_ROOM_READABLE, below("home/.ikigai/tools")),
                     find(plan, IK_ROOM_HIDDEN, below("home/.ikigai")));
    ck_assert_int_gt(find(plan, IK_ROOM_READABLE, below("home/.ikigai/skills")),
                     find(plan, IK_ROOM_HIDDEN, below("home/.ikigai")));
    plan = partial(project);
    ck_assert_int_ge(find(plan, IK_ROOM_MAY_READ, below("home/.ikigai/skills")), 0);
    ck_assert(!may_write(plan, below("home/.ssh/id")));
    ck_assert(!may_write(plan, below("home/.ikigai/keys.json")));
    ck_assert(may_write(plan, below("project/file")));
}
END_TEST

START_TEST(test_home_as_project_opens_no_secret)
{
    places.project = below("home");
    const ik_room_plan_t *plan = full(project);
    int shown = find(plan, IK_ROOM_WRITABLE, below("home"));
    ck_assert_int_ge(shown, 0);
    ck_assert_int_gt(find(plan, IK_ROOM_HIDDEN, below("home/.ikigai")), shown);
    ck_assert(!may_write(partial(project), below("home/.ikigai/keys.json")));
}
END_TEST

/* As packages of the distribution, snaps and flatpaks. */
START_TEST(test_profiles_of_browsers_are_hidden)
{
    const char *profiles[] = {"home/.mozilla", "home/snap/firefox",
                              "home/.var/app/org.mozilla.firefox"};
    for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
        put(ik_sprintf(ctx, "%s/cookies", profiles[i]), "secret");
        ck_assert_msg(has(full(project), IK_ROOM_HIDDEN, profiles[i]), "%s", profiles[i]);
    }
}
END_TEST

START_TEST(test_ikigai_home_in_the_project_is_hidden)
{
    put("project/own/keys.json", "secret");
    places.ikigai_home = below("project/own");
    const ik_room_plan_t *plan = full(project);
    ck_assert_int_gt(find(plan, IK_ROOM_HIDDEN, below("project/own")),
                     find(plan, IK_ROOM_WRITABLE, below("project")));
    ck_assert(!may_write(partial(project), below("project/own/keys.json")));
    ck_assert(may_write(partial(project), below("project/file")));
}
END_TEST

START_TEST(test_project_in_ikigai_home_is_read_only)
{
    put("home/.ikigai/work/file", "text");
    places.project = below("home/.ikigai/work");
    const ik_room_plan_t *plan = full(project);
    ck_assert(!has(plan, IK_ROOM_WRITABLE, "home/.ikigai/work"));
    ck_assert_int_gt(find(plan, IK_ROOM_READABLE, below("home/.ikigai/work")),
                     find(plan, IK_ROOM_HIDDEN, below("home/.ikigai")));
    ck_assert(!may_write(partial(project), below("home/.ikigai/work/file")));
}
END_TEST

START_TEST(test_home_below_tmp_is_no_part_of_the_copy)
{
    if (strncmp(base, "/tmp/", 5) != 0) {
        return;
    }
    const ik_room_plan_t *plan = full(project);
    ck_assert_int_gt(find(plan, IK_ROOM_OVERLAY, below("home")),
                     find(plan, IK_ROOM_SHARED, "/tmp"));
    ck_assert_int_gt(find(plan, IK_ROOM_WRITABLE, below("project")),
                     find(plan, IK_ROOM_SHARED, "/tmp"));
    ck_assert(!may_write(partial(project), below("home/notes")));
}
END_TEST

START_TEST(test_write_none_lets_nothing_be_written)
{
    const ik_room_plan_t *plan = full(none);
    ck_assert(has(plan, IK_ROOM_READABLE, "project"));
    ck_assert(!has(plan, IK_ROOM_WRITABLE, "project"));
    ck_assert_int_lt(find(plan, IK_ROOM_MAY_WRITE, below("project")), 0);
    plan = partial(none);
    ck_assert(!may_write(plan, below("project/file")));
    ck_assert(!may_write(plan, "/tmp/x"));
    ck_assert(!may_write(plan, "/dev/shm/x"));
    ck_assert(may_write(plan, "/dev/null"));
}
END_TEST

/* --- git */

START_TEST(test_git_and_protected_places_are_read_only)
{
    put("project/.git/config", "");
    put("project/.git/hooks/old", "");
    put("project/.git/modules/sub/HEAD", "");
    put("project/.git/modules/sub/config", "");
    put("project/.git/modules/sub/hooks/old", "");
    put("project/.envrc", "");
    put("project/.vscode/settings.json", "");
    const ik_room_plan_t *plan = full(project);
    const char *mount_points[] = {"project", "project/.git", "project/.git/modules",
                                  "project/.git/modules/sub"};
    for (size_t i = 0; i < sizeof(mount_points) / sizeof(mount_points[0]); i++) {
        ck_assert_msg(has(plan, IK_ROOM_WRITABLE, mount_points[i]), "%s", mount_points[i]);
    }
    const char *read_only[] = {"project/.git/config",
                               "project/.git/hooks",
                               "project/.git/modules/sub/config",
                               "project/.git/modules/sub/hooks",
                               "project/.envrc",
                               "project/.vscode"};
    for (size_t i = 0; i < sizeof(read_only) / sizeof(read_only[0]); i++) {
        ck_assert_msg(has(plan, IK_ROOM_READABLE, read_only[i]), "%s", read_only[i]);
    }
}
END_TEST

/* The names of submodules are those of their folders, "libs/a" or ".vim". */
START_TEST(test_submodules_of_any_name_are_protected)
{
    const char *names[] = {"libs/a",  "libs/deep/b",       ".vim", "config", "hooks",
                           "modules", "sub/modules/libs/c"};
    put("project/.git/modules/sub/HEAD", "");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        put(ik_sprintf(ctx, "project/.git/modules/%s/HEAD", names[i]), "");
        put(ik_sprintf(ctx, "project/.git/modules/%s/config", names[i]), "");
    }
    const ik_room_plan_t *plan = full(project);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *folder = below(ik_sprintf(ctx, "project/.git/modules/%s", names[i]));
        int writable = find(plan, IK_ROOM_WRITABLE, folder);
        int config = find(plan, IK_ROOM_READABLE, ik_sprintf(ctx, "%s/config", folder));
        ck_assert_msg(writable > 0 && config > writable, "%s", names[i]);
    }
    const char *parts[] = {"libs", "libs/deep", "sub/modules/libs"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        const char *part = ik_sprintf(ctx, "project/.git/modules/%s", parts[i]);
        ck_assert_msg(has(plan, IK_ROOM_READABLE, part), "%s", part);
        ck_assert_msg(!has(plan, IK_ROOM_WRITABLE, part), "%s", part);
    }
}
END_TEST

START_TEST(test_submodules_too_deep_in_each_other_are_read_only)
{
    char *folder = ik_strdup(ctx, "project/.git");
    for (int i = 0; i < 12; i++) {
        put(ik_sprintf(ctx, "%s/HEAD", folder), "");
        folder = ik_sprintf(ctx, "%s/modules/sub", folder);
    }
    const ik_room_plan_t *plan = full(project);
    ck_assert(!has(plan, IK_ROOM_WRITABLE, folder));
    const char *last = "";
    for (size_t i = 0; i < plan->count; i++) {
        const char *step = plan->steps[i];
        last = strstr(step, "/modules") != NULL ? step : last;
    }
    ck_assert_int_eq(last[0], IK_ROOM_READABLE);
    ck_assert_str_eq(last + strlen(last) - 8, "/modules");
}
END_TEST

START_TEST(test_many_submodules_are_all_read_only)
{
    for (int i = 0; i < 150; i++) {
        put(ik_sprintf(ctx, "project/.git/modules/%d/config", i), "");
    }
    const ik_room_plan_t *plan = full(project);
    ck_assert(has(plan, IK_ROOM_READABLE, "project/.git/modules"));
    ck_assert(!has(plan, IK_ROOM_WRITABLE, "project/.git/modules"));
    ck_assert_uint_lt(plan->count, 200);
}
END_TEST

static void put_worktree(const char *own, const char *back, const char *common)
{
    put("project/.git", ik_sprintf(ctx, "gitdir: %s\n", below(own)));
    put(ik_sprintf(ctx, "%s/gitdir", own), ik_sprintf(ctx, "%s\n", back));
    put(ik_sprintf(ctx, "%s/commondir", own), ik_sprintf(ctx, "%s\n", common));
}

START_TEST(test_store_of_a_worktree_is_writable_but_for_hooks)
{
    put_worktree("repo/.git/worktrees/w", below("project/.git"), "../..");
    put("repo/.git/objects/x", "");
    put("repo/.git/refs/x", "");
    put("repo/.git/hooks/old", "");
    put("repo/.git/config", "");
    const ik_room_plan_t *plan = full(project);
    ck_assert(has(plan, IK_ROOM_WRITABLE, "repo/.git"));
    ck_assert(has(plan, IK_ROOM_MAY_WRITE, "repo/.git"));
    ck_assert(has(plan, IK_ROOM_READABLE, "repo/.git/hooks"));
    ck_assert(has(plan, IK_ROOM_READABLE, "repo/.git/config"));
    ck_assert(has(plan, IK_ROOM_READABLE, "repo/.git/worktrees/w/commondir"));
    ck_assert(has(plan, IK_ROOM_READABLE, "project/.git"));
    plan = partial(project);
    ck_assert(may_write(plan, below("repo/.git/objects/x")));
    ck_assert(may_write(plan, below("repo/.git/worktrees/w/HEAD")) ||
              may_write(plan, below("repo/.git/worktrees/w/gitdir")));
    if (strncmp(base, "/tmp/", 5) != 0) { /* otherwise /tmp lets it be written */
        ck_assert(!may_write(plan, below("repo/.git/hooks/old")));
    }
}
END_TEST

static void put_linked(const char *own, const char *back)
{
    put(ik_sprintf(ctx, "%s/gitdir", own), ik_sprintf(ctx, "%s\n", below(back)));
    put(ik_sprintf(ctx, "%s/commondir", own), "../..\n");
}

/* In those within the project, tools can change what git obeys anyway. */
START_TEST(test_linked_worktrees_elsewhere_keep_their_repository)
{
    put("project/.git/HEAD", "");
    put_linked("project/.git/worktrees/near", "project/near/.git");
    ck_assert(!has(full(project), IK_ROOM_WRITABLE, "project/.git/worktrees"));
    put_linked("project/.git/worktrees/far", "far/.git");
    put("project/.git/worktrees/far/modules/sub/HEAD", "");
    put("project/.git/worktrees/far/modules/sub/config", "");
    const ik_room_plan_t *plan = full(project);
    int all = find(plan, IK_ROOM_WRITABLE, below("project/.git/worktrees"));
    int far = find(plan, IK_ROOM_WRITABLE, below("project/.git/worktrees/far"));
    ck_assert_int_gt(all, find(plan, IK_ROOM_WRITABLE, below("project/.git")));
    ck_assert_int_gt(far, all);
    const char *read_only[] = {"commondir", "gitdir", "modules/sub/config"};
    for (size_t i = 0; i < sizeof(read_only) / sizeof(read_only[0]); i++) {
        const char *place = ik_sprintf(ctx, "project/.git/worktrees/far/%s", read_only[i]);
        ck_assert_msg(find(plan, IK_ROOM_READABLE, below(place)) > far, "%s", place);
    }
    ck_assert(!has(plan, IK_ROOM_WRITABLE, "project/.git/worktrees/near"));
    for (int i = 0; i < 150; i++) {
        put(ik_sprintf(ctx, "project/.git/worktrees/%d/commondir", i), "");
    }
    ck_assert(has(full(project), IK_ROOM_READABLE, "project/.git/worktrees"));
}
END_TEST

START_TEST(test_other_worktrees_of_the_store_keep_it)
{
    put_worktree("repo/.git/worktrees/w", below("project/.git"), "../..");
    put_linked("repo/.git/worktrees/far", "far/.git");
    put("repo/.git/objects/x", "");
    const ik_room_plan_t *plan = full(project);
    ck_assert(has(plan, IK_ROOM_READABLE, "repo/.git/worktrees/far/commondir"));
    ck_assert_int_gt(find(plan, IK_ROOM_WRITABLE, below("repo/.git/worktrees/w")),
                     find(plan, IK_ROOM_WRITABLE, below("repo/.git/worktrees")));
    if (strncmp(base, "/tmp/", 5) != 0) { /* otherwise /tmp lets it be written */
        ck_assert(!may_write(partial(project), below("repo/.git/worktrees/far/commondir")));
    }
}
END_TEST

START_TEST(test_git_file_opens_no_other_folder)
{
    /* A folder that does not name the project. */
    put_worktree("repo/.git/worktrees/w", below("other/.git"), "../..");
    put("repo/.git/objects/x", "");
    ck_assert(!has(full(project), IK_ROOM_WRITABLE, "repo/.git"));
    /* A folder in the project that names one outside as its store. */
    put("objects/x", "");
    put_worktree("project/evil/worktrees/w", below("project/.git"), "../../../..");
    const ik_room_plan_t *plan = full(project);
    ck_assert_int_lt(find(plan, IK_ROOM_WRITABLE, base), 0);
    ck_assert_int_lt(find(plan, IK_ROOM_MAY_WRITE, base), 0);
    put_worktree("project/evil/worktrees/w", below("project/.git"), below("home"));
    put("home/objects/x", "");
    ck_assert(!has(full(project), IK_ROOM_WRITABLE, "home"));
    /* A file that names itself, or nothing. */
    put("project/.git", "gitdir: .git\n");
    ck_assert(has(full(project), IK_ROOM_READABLE, "project/.git"));
    put("project/.git", "");
    ck_assert(has(full(project), IK_ROOM_READABLE, "project/.git"));
}
END_TEST

START_TEST(test_git_folder_elsewhere_in_the_project_is_protected)
{
    put("project/data/hooks/old", "");
    put("project/data/config", "");
    put("project/.git", "gitdir: data\n");
    const ik_room_plan_t *plan = full(project);
    ck_assert(has(plan, IK_ROOM_READABLE, "project/data/hooks"));
    ck_assert(has(plan, IK_ROOM_READABLE, "project/data/config"));
    unlink(below("project/.git"));
    ck_assert_int_eq(0, symlink("data", below("project/.git")));
    plan = full(project);
    ck_assert(has(plan, IK_ROOM_WRITABLE, "project/data"));
    ck_assert(has(plan, IK_ROOM_READABLE, "project/data/hooks"));
}
END_TEST

START_TEST(test_links_and_what_they_lead_to_are_protected)
{
    put("project/settings/envrc", "");
    put("project/hooks/old", "");
    put("project/modules/sub/config", "");
    put("project/.git/HEAD", "");
    ck_assert_int_eq(0, symlink("settings/envrc", below("project/.envrc")));
    ck_assert_int_eq(0, symlink(".", below("project/.vscode")));
    ck_assert_int_eq(0, symlink(below("home"), below("project/.idea")));
    ck_assert_int_eq(0, symlink("missing", below("project/.mcp.json")));
    ck_assert_int_eq(0, symlink("../hooks", below("project/.git/hooks")));
    ck_assert_int_eq(0, symlink("../modules", below("project/.git/modules")));
    const ik_room_plan_t *plan = full(project);
    const char *read_only[] = {
        "project/settings/envrc", "project/hooks",      "project/modules",
        "project/.envrc",         "project/.vscode",    "project/.idea",
        "project/.mcp.json",      "project/.git/hooks", "project/.git/modules"};
    for (size_t i = 0; i < sizeof(read_only) / sizeof(read_only[0]); i++) {
        ck_assert_msg(has(plan, IK_ROOM_READABLE, read_only[i]), "%s", read_only[i]);
    }
    ck_assert(!has(plan, IK_ROOM_READABLE, "project"));
    ck_assert(!has(plan, IK_ROOM_READABLE, "home"));
    ck_assert(!has(plan, IK_ROOM_READABLE, "project/missing"));
}
END_TEST

START_TEST(test_links_of_submodules_are_not_followed_in_circles)
{
    put("project/.git/modules/sub/config", "");
    for (int i = 0; i < 50; i++) {
        ck_assert_int_eq(
            0, symlink("../../.git", below(ik_sprintf(ctx, "project/.git/modules/%d", i))));
    }
    const ik_room_plan_t *plan = full(project);
    ck_assert(has(plan, IK_ROOM_READABLE, "project/.git/modules/7"));
    ck_assert(!has(plan, IK_ROOM_READABLE, "project/.git"));
    ck_assert_uint_lt(plan->count, 200);
}
END_TEST

START_TEST(test_link_to_a_git_file_protects_the_folder_it_names)
{
    put("project/data/hooks/old", "");
    put("project/file", "gitdir: data\n");
    ck_assert_int_eq(0, symlink("file", below("project/.git")));
    const ik_room_plan_t *plan = full(project);
    ck_assert(has(plan, IK_ROOM_READABLE, "project/.git"));
    ck_assert(has(plan, IK_ROOM_READABLE, "project/file"));
    ck_assert(has(plan, IK_ROOM_READABLE, "project/data/hooks"));
}
END_TEST

/* --- configured places */

START_TEST(test_configured_places)
{
    put("more/file", "");
    put("secret/file", "");
    put("home/go", "a file");
    const char *writable[] = {below("more"), NULL};
    const char *hidden[] = {below("secret"), NULL};
    const char *caches[] = {below("cache"), NULL};
    places.writable = writable;
    places.hidden = hidden;
    places.caches = caches;
    const ik_room_plan_t *plan = full(project);
    ck_assert(has(plan, IK_ROOM_WRITABLE, "more"));
    ck_assert(has(plan, IK_ROOM_HIDDEN, "secret"));
    ck_assert(has(plan, IK_ROOM_SHARED, "cache"));
    ck_assert(!has(plan, IK_ROOM_SHARED, "home/go"));
    ck_assert(!has(full(none), IK_ROOM_WRITABLE, "more"));
    /* What is hidden stays so even if it is named as writable. */
    writable[0] = below("home/.ikigai");
    ck_assert_int_gt(find(full(project), IK_ROOM_HIDDEN, below("home/.ikigai")),
                     find(full(project), IK_ROOM_WRITABLE, below("home/.ikigai")));
    ck_assert(!may_write(partial(project), below("home/.ikigai/keys.json")));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("room_plan");
    TCase *cases = tcase_create("places");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, test_project_that_contains_the_home_opens_no_secret);
    tcase_add_test(cases, test_home_as_project_opens_no_secret);
    tcase_add_test(cases, test_profiles_of_browsers_are_hidden);
    tcase_add_test(cases, test_ikigai_home_in_the_project_is_hidden);
    tcase_add_test(cases, test_project_in_ikigai_home_is_read_only);
    tcase_add_test(cases, test_home_below_tmp_is_no_part_of_the_copy);
    tcase_add_test(cases, test_write_none_lets_nothing_be_written);
    tcase_add_test(cases, test_git_and_protected_places_are_read_only);
    tcase_add_test(cases, test_submodules_of_any_name_are_protected);
    tcase_add_test(cases, test_submodules_too_deep_in_each_other_are_read_only);
    tcase_add_test(cases, test_many_submodules_are_all_read_only);
    tcase_add_test(cases, test_store_of_a_worktree_is_writable_but_for_hooks);
    tcase_add_test(cases, test_linked_worktrees_elsewhere_keep_their_repository);
    tcase_add_test(cases, test_other_worktrees_of_the_store_keep_it);
    tcase_add_test(cases, test_git_file_opens_no_other_folder);
    tcase_add_test(cases, test_git_folder_elsewhere_in_the_project_is_protected);
    tcase_add_test(cases, test_links_and_what_they_lead_to_are_protected);
    tcase_add_test(cases, test_links_of_submodules_are_not_followed_in_circles);
    tcase_add_test(cases, test_link_to_a_git_file_protects_the_folder_it_names);
    tcase_add_test(cases, test_configured_places);
    suite_add_tcase(suite, cases);
    return scratch_run(suite);
}
