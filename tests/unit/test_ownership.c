#include <check.h>

#include "base/ownership.h"
#include "scratch.h"

static void assert_accepted(const char *path)
{
    res_t result = ik_ownership_check_file(path);
    ck_assert_msg(is_ok(&result), "%s", result.message);
}

/* The check must fail with a message that names the path and the remedy. */
static void assert_refused(const char *path, const char *culprit, const char *remedy)
{
    res_t result = ik_ownership_check_file(path);
    ck_assert_int_eq(result.code, IK_ERR_DENIED);
    ck_assert_msg(strstr(result.message, culprit) == result.message, "%s", result.message);
    ck_assert_msg(strstr(result.message, remedy) != NULL, "%s", result.message);
}

START_TEST(my_own_files_pass)
{
    scratch_make_folder("d");
    const char *path = scratch_write("d/f", "x");
    assert_accepted(path);
    chmod(path, 0600);
    assert_accepted(path);
    chmod(path, 0755);
    assert_accepted(path);
    assert_accepted("/etc/passwd"); /* root's */
}
END_TEST

START_TEST(my_own_group_may_write)
{
    scratch_make_folder("d");
    const char *path = scratch_write("d/f", "x");
    ck_assert_int_eq(chown(path, (uid_t)-1, getegid()), 0);
    ck_assert_int_eq(chown(scratch_path("d"), (uid_t)-1, getegid()), 0);
    chmod(path, 0664);
    chmod(scratch_path("d"), 0775);
    assert_accepted(path);
}
END_TEST

START_TEST(world_writable_is_refused)
{
    scratch_make_folder("d");
    const char *path = scratch_write("d/f", "x");
    chmod(path, 0646);
    assert_refused(path, path, "chmod o-w");
    chmod(path, 0644);
    chmod(scratch_path("d"), 0757);
    assert_refused(path, scratch_path("d"), "chmod o-w");
    chmod(scratch_path("d"), 01777); /* sticky does not help, and may be meant for everyone */
    assert_refused(path, scratch_path("d"), "use a file in a folder of your own");
    ck_assert_int_eq(ik_ownership_check_folder(scratch_path("d")).code, IK_ERR_DENIED);
    chmod(scratch_path("d"), 0755);
    assert_accepted(path);
}
END_TEST

START_TEST(a_foreign_group_may_not_write)
{
    if (geteuid() != 0) {
        return; /* only root can give files away */
    }
    scratch_make_folder("d");
    const char *path = scratch_write("d/f", "x");
    ck_assert_int_eq(chown(path, (uid_t)-1, 12345), 0);
    assert_accepted(path);
    chmod(path, 0664);
    assert_refused(path, path, "chmod g-w");
    chmod(path, 0644);
    ck_assert_int_eq(chown(scratch_path("d"), (uid_t)-1, 12345), 0);
    chmod(scratch_path("d"), 0775);
    assert_refused(path, scratch_path("d"), "chmod g-w");
}
END_TEST

START_TEST(a_foreign_owner_is_refused)
{
    if (geteuid() != 0) {
        return;
    }
    scratch_make_folder("d");
    const char *path = scratch_write("d/f", "x");
    ck_assert_int_eq(chown(path, 12345, (gid_t)-1), 0);
    assert_refused(path, path, "chown 0");
    ck_assert_int_eq(chown(path, 0, (gid_t)-1), 0);
    ck_assert_int_eq(chown(scratch_path("d"), 12345, (gid_t)-1), 0);
    assert_refused(path, scratch_path("d"), "chown 0");
}
END_TEST

START_TEST(as_a_user_only_mine_and_roots_pass)
{
    if (geteuid() != 0) {
        return;
    }
    chmod(scratch_folder, 0755);
    scratch_make_folder("d");
    const char *path = scratch_write("d/f", "x");
    ck_assert_int_eq(setegid(23456), 0);
    ck_assert_int_eq(seteuid(12345), 0);
    assert_accepted(path); /* root's */
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(chown(path, 12345, 23456), 0);
    chmod(path, 0660);
    ck_assert_int_eq(seteuid(12345), 0);
    assert_accepted(path);
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(chown(path, 12346, 23456), 0);
    ck_assert_int_eq(seteuid(12345), 0);
    assert_refused(path, path, "chown 12345");
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(setegid(0), 0);
}
END_TEST

START_TEST(symlinks_are_followed_and_every_folder_counts)
{
    scratch_make_folder("first");
    scratch_make_folder("second");
    scratch_make_folder("third");
    scratch_write("third/f", "x");
    ck_assert_int_eq(symlink(scratch_path("third/f"), scratch_path("second/link")), 0);
    ck_assert_int_eq(symlink("../second/link", scratch_path("first/link")), 0);
    const char *path = scratch_path("first/link");
    assert_accepted(path);
    static const char *const folders[] = {"first", "second", "third"};
    for (size_t i = 0; i < 3; i++) {
        chmod(scratch_path(folders[i]), 0757);
        ck_assert_int_eq(ik_ownership_check_file(path).code, IK_ERR_DENIED);
        chmod(scratch_path(folders[i]), 0755);
    }
    chmod(scratch_path("third/f"), 0666);
    ck_assert_int_eq(ik_ownership_check_file(path).code, IK_ERR_DENIED);
}
END_TEST

START_TEST(what_is_not_there_is_not_found)
{
    ck_assert_int_eq(ik_ownership_check_file(scratch_path("none")).code, IK_ERR_NOT_FOUND);
    ck_assert_int_eq(ik_ownership_check_folder(scratch_path("none")).code, IK_ERR_NOT_FOUND);
    ck_assert_int_eq(ik_ownership_check_file(scratch_path("a/b/c")).code, IK_ERR_NOT_FOUND);
    ck_assert_int_eq(symlink("nowhere", scratch_path("dangling")), 0);
    ck_assert_int_eq(ik_ownership_check_file(scratch_path("dangling")).code, IK_ERR_NOT_FOUND);
    ck_assert_int_eq(symlink("loop", scratch_path("loop")), 0);
    ck_assert_int_eq(ik_ownership_check_file(scratch_path("loop")).code, IK_ERR_SYSTEM);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ownership");
    TCase *tests = tcase_create("ownership");
    tcase_add_checked_fixture(tests, scratch_empty, NULL);
    tcase_add_test(tests, my_own_files_pass);
    tcase_add_test(tests, my_own_group_may_write);
    tcase_add_test(tests, world_writable_is_refused);
    tcase_add_test(tests, a_foreign_group_may_not_write);
    tcase_add_test(tests, a_foreign_owner_is_refused);
    tcase_add_test(tests, as_a_user_only_mine_and_roots_pass);
    tcase_add_test(tests, symlinks_are_followed_and_every_folder_counts);
    tcase_add_test(tests, what_is_not_there_is_not_found);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}
