#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/paths.h"
#include "scratch.h"

static ik_paths_t *create(ik_paths_origin_t origin)
{
    ik_paths_t *paths;
    origin.default_prefix = origin.default_prefix == NULL ? "/opt/default" : origin.default_prefix;
    origin.cwd = origin.cwd == NULL ? scratch_folder : origin.cwd;
    res_t result = ik_paths_create_from(NULL, &origin, &paths);
    ck_assert_msg(is_ok(&result), "%s", result.message);
    return paths;
}

START_TEST(everything_follows_from_prefix_home_and_cwd)
{
    ik_paths_t *paths = create((ik_paths_origin_t){
        .executable = "/nowhere/bin/ikigai", .user_home = "/home/u", .cwd = "/srv/project"});
    ck_assert_str_eq(paths->prefix, "/opt/default");
    ck_assert_str_eq(paths->system_tools, "/opt/default/libexec/ikigai");
    ck_assert_str_eq(paths->keeper, "/opt/default/lib/ikigai/keeper");
    ck_assert_str_eq(paths->system_config, "/opt/default/etc/ikigai/config.json");
    ck_assert_str_eq(paths->templates, "/opt/default/share/ikigai/templates");
    ck_assert_str_eq(paths->manual, "/opt/default/share/ikigai/manual");
    ck_assert_str_eq(paths->models, "/opt/default/share/ikigai/models.json");
    ck_assert_str_eq(paths->home, "/home/u/.ikigai");
    ck_assert_str_eq(paths->user_tools, "/home/u/.ikigai/tools");
    ck_assert_str_eq(paths->user_config, "/home/u/.ikigai/config.json");
    ck_assert_str_eq(paths->cache, "/home/u/.ikigai/cache");
    ck_assert_str_eq(paths->trusted, "/home/u/.ikigai/trusted");
    ck_assert_str_eq(paths->trust_file, "/home/u/.ikigai/trust.json");
    ck_assert_str_eq(paths->database, "/home/u/.ikigai/ikigai.db");
    ck_assert_str_eq(paths->user_models, "/home/u/.ikigai/models.json");
    ck_assert_str_eq(paths->recall, "/home/u/.ikigai/history");
    ck_assert_str_eq(paths->drafts, "/home/u/.ikigai/drafts");
    ck_assert_str_eq(paths->cwd, "/srv/project");
    ck_assert_str_eq(paths->project_tools, "/srv/project/.ikigai/tools");
    ck_assert_str_eq(paths->project_config, "/srv/project/.ikigai/config.json");
    talloc_free(paths);
}
END_TEST

START_TEST(paths_can_be_shown_to_people)
{
    size_t count;
    const ik_paths_entry_t *entries = ik_paths_entries(&count);
    ik_paths_t *shown = ik_paths_create_shown(NULL);
    ck_assert_str_eq(shown->user_config, "~/.ikigai/config.json");
    ck_assert_str_eq(shown->project_config, ".ikigai/config.json");
    ck_assert_str_eq(shown->project_tools, ".ikigai/tools");
    ck_assert_str_eq(shown->system_config, "PREFIX/etc/ikigai/config.json");
    for (size_t i = 0; i < count; i++) { /* no two rows name the same path */
        for (size_t k = 0; k < i; k++) {
            ck_assert_str_ne(ik_paths_show(shown, &entries[i]), ik_paths_show(shown, &entries[k]));
        }
    }
    ck_assert_str_eq(ik_paths_show(shown, &entries[0]), "~/.ikigai/config.json");
    talloc_free(shown);
}
END_TEST

START_TEST(usr_keeps_its_configuration_in_etc)
{
    ik_paths_t *paths = create((ik_paths_origin_t){.default_prefix = "/usr", .user_home = "/h"});
    ck_assert_str_eq(paths->system_tools, "/usr/libexec/ikigai");
    ck_assert_str_eq(paths->system_config, "/etc/ikigai/config.json");
    talloc_free(paths);
    paths = create((ik_paths_origin_t){.default_prefix = "/usr/local/", .user_home = "/h"});
    ck_assert_str_eq(paths->system_config, "/usr/local/etc/ikigai/config.json");
    talloc_free(paths);
}
END_TEST

START_TEST(the_installation_the_binary_stands_in_wins)
{
    scratch_make_folder("tree");
    scratch_make_folder("tree/bin");
    char executable[128];
    snprintf(executable, sizeof(executable), "%s", scratch_path("tree/bin/ikigai"));
    ik_paths_origin_t origin = {.executable = executable, .user_home = "/h"};
    ik_paths_t *paths = create(origin);
    ck_assert_str_eq(paths->prefix, "/opt/default");
    talloc_free(paths);
    scratch_make_folder("tree/libexec");
    scratch_write("tree/libexec/ikigai", "a file is no tool folder");
    paths = create(origin);
    ck_assert_str_eq(paths->prefix, "/opt/default");
    talloc_free(paths);
    unlink(scratch_path("tree/libexec/ikigai"));
    scratch_make_folder("tree/libexec/ikigai");
    paths = create(origin);
    ck_assert_str_eq(paths->prefix, scratch_path("tree"));
    ck_assert_str_eq(paths->keeper, scratch_path("tree/lib/ikigai/keeper"));
    ck_assert_str_eq(paths->checkpoint, scratch_path("tree/lib/ikigai/checkpoint"));
    ck_assert_str_eq(paths->system_config, scratch_path("tree/etc/ikigai/config.json"));
    talloc_free(paths);
}
END_TEST

START_TEST(ikigai_home_beats_home)
{
    ik_paths_t *paths = create((ik_paths_origin_t){.ikigai_home = "/data/ik/", .user_home = "/h"});
    ck_assert_str_eq(paths->home, "/data/ik");
    ck_assert_str_eq(paths->database, "/data/ik/ikigai.db");
    talloc_free(paths);
    paths = create((ik_paths_origin_t){.ikigai_home = "", .user_home = "/h"});
    ck_assert_str_eq(paths->home, "/h/.ikigai");
    talloc_free(paths);
    paths = create((ik_paths_origin_t){.user_home = "/", .cwd = "/"});
    ck_assert_str_eq(paths->home, "/.ikigai");
    talloc_free(paths);
}
END_TEST

START_TEST(without_any_home_there_is_an_error)
{
    ik_paths_t *paths;
    ik_paths_origin_t origin = {.default_prefix = "/usr", .user_home = "", .cwd = "/"};
    res_t result = ik_paths_create_from(NULL, &origin, &paths);
    ck_assert_int_eq(result.code, IK_ERR_NOT_FOUND);
}
END_TEST

/* A relative home would turn the .ikigai of the working folder into the user's own. */
START_TEST(a_relative_home_is_refused)
{
    static const ik_paths_origin_t origins[] = {
        {.default_prefix = "/usr", .ikigai_home = ".ikigai", .user_home = "/h", .cwd = "/p"},
        {.default_prefix = "/usr", .ikigai_home = "./x", .cwd = "/p"},
        {.default_prefix = "/usr", .user_home = ".", .cwd = "/p"},
        {.default_prefix = "/usr", .user_home = "~", .cwd = "/p"},
    };
    for (size_t i = 0; i < sizeof(origins) / sizeof(origins[0]); i++) {
        ik_paths_t *paths;
        res_t result = ik_paths_create_from(NULL, &origins[i], &paths);
        ck_assert_int_eq(result.code, IK_ERR_INVALID);
        const char *name = origins[i].ikigai_home != NULL ? "IKIGAI_HOME is '" : "HOME is '";
        ck_assert_msg(strncmp(result.message, name, strlen(name)) == 0, "%s", result.message);
    }
}
END_TEST

START_TEST(the_users_own_folder_is_no_project)
{
    /* None of the paths exists yet: their text is compared. */
    ik_paths_t *paths = create((ik_paths_origin_t){.user_home = scratch_folder});
    ck_assert_ptr_null(paths->project_tools);
    ck_assert_ptr_null(paths->project_config);
    talloc_free(paths);
    scratch_make_folder(".ikigai");
    scratch_make_folder(".ikigai/tools");
    scratch_write(".ikigai/config.json", "{}");
    paths = create((ik_paths_origin_t){.user_home = scratch_folder});
    ck_assert_ptr_null(paths->project_tools);
    ck_assert_ptr_null(paths->project_config);
    talloc_free(paths);
}
END_TEST

START_TEST(links_to_the_users_folder_are_seen_through)
{
    scratch_make_folder("home");
    ck_assert_int_eq(symlink("home", scratch_path("alias")), 0);
    ik_paths_origin_t origin = {.user_home = scratch_path("alias"), .cwd = scratch_path("home")};
    ik_paths_t *paths = create(origin);
    ck_assert_ptr_null(paths->project_tools); /* by text */
    talloc_free(paths);
    scratch_make_folder("home/.ikigai");
    scratch_make_folder("home/.ikigai/tools");
    paths = create(origin);
    ck_assert_ptr_null(paths->project_tools); /* by inode */
    ck_assert_ptr_null(paths->project_config);
    talloc_free(paths);

    /* A link from another folder counts as the user's as well. */
    scratch_make_folder("project");
    ck_assert_int_eq(symlink("../home/.ikigai", scratch_path("project/.ikigai")), 0);
    origin.cwd = scratch_path("project");
    paths = create(origin);
    ck_assert_ptr_null(paths->project_tools);
    ck_assert_ptr_null(paths->project_config);
    talloc_free(paths);

    scratch_make_folder("other");
    origin.cwd = scratch_path("other");
    paths = create(origin);
    ck_assert_ptr_nonnull(paths->project_tools);
    ck_assert_ptr_nonnull(paths->project_config);
    talloc_free(paths);
}
END_TEST

START_TEST(this_process_has_paths)
{
    ik_paths_t *paths;
    ck_assert_int_eq(chdir(scratch_folder), 0);
    setenv("HOME", "/home/somebody", 1);
    unsetenv("IKIGAI_HOME");
    ck_assert_int_eq(ik_paths_create(NULL, &paths).code, IK_ERR_NONE);
    ck_assert_str_eq(paths->cwd, scratch_folder);
    ck_assert_str_eq(paths->home, "/home/somebody/.ikigai");
    talloc_free(paths);
    setenv("IKIGAI_HOME", "rel", 1);
    ck_assert_int_eq(ik_paths_create(NULL, &paths).code, IK_ERR_INVALID);
    unsetenv("IKIGAI_HOME");
    unsetenv("HOME");
    res_t result = ik_paths_create(NULL, &paths); /* from the passwd entry, if there is one */
    if (is_ok(&result)) {
        ck_assert_int_eq(paths->home[0], '/');
        talloc_free(paths);
    }
    ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

START_TEST(another_project_has_the_same_home)
{
    ik_paths_t *paths;
    res_t made = ik_paths_create(NULL, &paths);
    ck_assert(is_ok(&made));
    ik_paths_t *other = ik_paths_create_at(paths, paths, "/some/where/");
    ck_assert_str_eq(other->cwd, "/some/where");
    ck_assert_str_eq(other->project_config, "/some/where/.ikigai/config.json");
    ck_assert_str_eq(other->database, paths->database);
    ck_assert_str_eq(other->keeper, paths->keeper);
    const char *above = ik_file_folder(paths, paths->home);
    bool usual = strcmp(paths->home, ik_file_join(paths, above, ".ikigai")) == 0;
    other = ik_paths_create_at(paths, paths, above);
    ck_assert(!usual || other->project_tools == NULL);
    talloc_free(paths);
}
END_TEST

START_TEST(a_removed_working_folder_is_an_error)
{
    ik_paths_t *paths;
    scratch_make_folder("gone");
    ck_assert_int_eq(chdir(scratch_path("gone")), 0);
    ck_assert_int_eq(rmdir(scratch_path("gone")), 0);
    ck_assert_int_eq(ik_paths_create(NULL, &paths).code, IK_ERR_SYSTEM);
    ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("paths");
    TCase *tests = tcase_create("paths");
    tcase_add_checked_fixture(tests, scratch_empty, NULL);
    tcase_add_test(tests, everything_follows_from_prefix_home_and_cwd);
    tcase_add_test(tests, paths_can_be_shown_to_people);
    tcase_add_test(tests, usr_keeps_its_configuration_in_etc);
    tcase_add_test(tests, the_installation_the_binary_stands_in_wins);
    tcase_add_test(tests, ikigai_home_beats_home);
    tcase_add_test(tests, without_any_home_there_is_an_error);
    tcase_add_test(tests, a_relative_home_is_refused);
    tcase_add_test(tests, the_users_own_folder_is_no_project);
    tcase_add_test(tests, links_to_the_users_folder_are_seen_through);
    tcase_add_test(tests, this_process_has_paths);
    tcase_add_test(tests, another_project_has_the_same_home);
    tcase_add_test(tests, a_removed_working_folder_is_an_error);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}
