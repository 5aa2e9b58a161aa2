#include <check.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/file.h"
#include "scratch.h"

/* Each loop test runs once with each of these functions. */
static res_t (*const writers[])(const char *path, const char *bytes,
                                size_t len) = {ik_file_write_private, ik_file_write_private_fast};
enum { WRITERS = sizeof(writers) / sizeof(writers[0]) };

static res_t read_text(const char *path, size_t max, char **text)
{
    size_t len = 0;
    res_t result = ik_file_read(NULL, path, max, text, &len);
    if (is_ok(&result)) {
        ck_assert_uint_eq(strlen(*text), len);
    }
    return result;
}

static void assert_content(const char *name, const char *expected)
{
    char *text;
    res_t result = read_text(scratch_path(name), 1 << 20, &text);
    ck_assert_msg(is_ok(&result), "%s", result.message);
    ck_assert_str_eq(text, expected);
    talloc_free(text);
}

START_TEST(reads_a_file_up_to_its_maximum)
{
    char *text;
    const char *path = scratch_write("f", "12345");
    res_t result = read_text(path, 5, &text);
    ck_assert(is_ok(&result));
    ck_assert_str_eq(text, "12345");
    talloc_free(text);
    result = read_text(path, 4, &text);
    ck_assert_int_eq(result.code, IK_ERR_LIMIT);
    ck_assert_ptr_nonnull(strstr(result.message, path));
}
END_TEST

START_TEST(reads_empty_files_and_files_without_a_size)
{
    char *text;
    res_t result = read_text(scratch_write("empty", ""), 0, &text);
    ck_assert(is_ok(&result));
    ck_assert_str_eq(text, "");
    talloc_free(text);
    result = read_text("/proc/self/stat", 1 << 16, &text);
    ck_assert(is_ok(&result));
    ck_assert_uint_gt(strlen(text), 10);
    talloc_free(text);
    result = read_text("/proc/self/stat", 8, &text);
    ck_assert_int_eq(result.code, IK_ERR_LIMIT);
}
END_TEST

START_TEST(keeps_nul_bytes)
{
    ck_assert_int_eq(ik_file_write_private(scratch_path("nul"), "a\0b", 3).code, IK_ERR_NONE);
    char *bytes;
    size_t len;
    ck_assert_int_eq(ik_file_read(NULL, scratch_path("nul"), 3, &bytes, &len).code, IK_ERR_NONE);
    ck_assert_uint_eq(len, 3);
    ck_assert_mem_eq(bytes, "a\0b", 4);
    talloc_free(bytes);
}
END_TEST

START_TEST(read_errors_have_their_codes)
{
    char *text;
    ck_assert_int_eq(read_text(scratch_path("none"), 10, &text).code, IK_ERR_NOT_FOUND);
    ck_assert_int_eq(read_text(scratch_folder, 10, &text).code, IK_ERR_INVALID);
    const char *path = scratch_write("closed", "x");
    chmod(path, 0);
    ik_error_code_t expected = geteuid() == 0 ? IK_ERR_NONE : IK_ERR_DENIED;
    text = NULL;
    ck_assert_int_eq(read_text(path, 10, &text).code, expected);
    talloc_free(text);
}
END_TEST

START_TEST(a_fifo_does_not_block)
{
    char *text;
    ck_assert_int_eq(mkfifo(scratch_path("fifo"), 0600), 0);
    ck_assert_int_eq(read_text(scratch_path("fifo"), 10, &text).code, IK_ERR_INVALID);
}
END_TEST

START_TEST(written_files_are_private_whatever_the_umask)
{
    static const mode_t masks[] = {0000, 0022, 0077, 0277, 0777};
    for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
        umask(masks[i]);
        res_t result = writers[_i](scratch_path("private"), "secret", 6);
        umask(0022);
        ck_assert_msg(is_ok(&result), "%s", result.message);
        ck_assert_uint_eq(scratch_mode("private"), 0600);
        assert_content("private", "secret");
        unlink(scratch_path("private"));
    }
}
END_TEST

START_TEST(writing_replaces_and_tightens)
{
    scratch_write("f", "old and longer");
    ck_assert_int_eq(writers[_i](scratch_path("f"), "new", 3).code, IK_ERR_NONE);
    assert_content("f", "new");
    ck_assert_uint_eq(scratch_mode("f"), 0600);
}
END_TEST

START_TEST(a_symlink_is_replaced_not_followed)
{
    scratch_write("target", "keep");
    ck_assert_int_eq(symlink("target", scratch_path("link")), 0);
    ck_assert_int_eq(writers[_i](scratch_path("link"), "new", 3).code, IK_ERR_NONE);
    assert_content("target", "keep");
    assert_content("link", "new");
}
END_TEST

/* RLIMIT_FSIZE makes the write fail half-way, as a full disk would. */
START_TEST(a_failed_write_leaves_the_old_file_and_nothing_else)
{
    scratch_write("f", "old");
    struct rlimit limit = {.rlim_cur = 10, .rlim_max = RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    res_t result = writers[_i](scratch_path("f"), "0123456789abcdef", 16);
    limit.rlim_cur = RLIM_INFINITY;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(result.code, IK_ERR_SYSTEM);
    assert_content("f", "old");
    glob_t found;
    ck_assert_int_eq(glob(scratch_path("*"), 0, NULL, &found), 0);
    ck_assert_uint_eq(found.gl_pathc, 1);
    globfree(&found);
}
END_TEST

START_TEST(writing_into_no_folder_fails)
{
    res_t result = writers[_i](scratch_path("no/such/file"), "x", 1);
    ck_assert_int_eq(result.code, IK_ERR_NOT_FOUND);
}
END_TEST

START_TEST(writes_relative_to_the_working_folder)
{
    ck_assert_int_eq(chdir(scratch_folder), 0);
    ck_assert_int_eq(ik_file_write_private("plain", "x", 1).code, IK_ERR_NONE);
    assert_content("plain", "x");
    ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

START_TEST(folders_are_private_whatever_the_umask)
{
    static const mode_t masks[] = {0000, 0022, 0077, 0777};
    for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
        umask(masks[i]);
        res_t result = ik_file_make_private_folder(scratch_path("a/b/c"));
        umask(0022);
        ck_assert_msg(is_ok(&result), "%s", result.message);
        ck_assert_uint_eq(scratch_mode("a"), 0700);
        ck_assert_uint_eq(scratch_mode("a/b"), 0700);
        ck_assert_uint_eq(scratch_mode("a/b/c"), 0700);
        scratch_empty();
    }
}
END_TEST

START_TEST(existing_folders_are_left_alone)
{
    scratch_make_folder("a");
    chmod(scratch_path("a"), 0750);
    ck_assert_int_eq(ik_file_make_private_folder(scratch_path("a")).code, IK_ERR_NONE);
    ck_assert_int_eq(ik_file_make_private_folder(scratch_path("a//b/")).code, IK_ERR_NONE);
    ck_assert_uint_eq(scratch_mode("a"), 0750);
    ck_assert_uint_eq(scratch_mode("a/b"), 0700);
    ck_assert_int_eq(ik_file_make_private_folder("/").code, IK_ERR_NONE);
}
END_TEST

START_TEST(a_file_in_the_way_is_an_error)
{
    scratch_write("a", "file");
    const char *const paths[] = {scratch_path("a"), scratch_path("a/b")};
    char message[512];
    snprintf(message, sizeof(message), "cannot make folder %s: it exists and is not a folder",
             paths[0]);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        res_t made = ik_file_make_private_folder(paths[i]);
        ck_assert_int_eq(made.code, IK_ERR_SYSTEM);
        ck_assert_str_eq(made.message, message);
    }
}
END_TEST

START_TEST(paths_below_a_folder)
{
    ck_assert(ik_file_is_within("/a", "/a"));
    ck_assert(ik_file_is_within("/a/b", "/a"));
    ck_assert(ik_file_is_within("/a", "/"));
    ck_assert(!ik_file_is_within("/ab", "/a"));
    ck_assert(!ik_file_is_within("/a", "/a/b"));
    char *joined = ik_file_join(NULL, "/", "a");
    ck_assert_str_eq(joined, "/a");
    talloc_free(joined);
    joined = ik_file_join(NULL, "/a", "b");
    ck_assert_str_eq(joined, "/a/b");
    talloc_free(joined);
}
END_TEST

START_TEST(removes_a_tree_but_not_what_its_links_lead_to)
{
    char *tree = ik_strdup(NULL, scratch_path("tree"));
    char *inner = ik_strdup(NULL, scratch_path("tree/a"));
    char *link = ik_strdup(NULL, scratch_path("tree/link"));
    ck_assert_int_eq(mkdir(tree, 0700), 0);
    ck_assert_int_eq(mkdir(inner, 0700), 0);
    scratch_write("tree/a/file", "");
    ck_assert_int_eq(mkdir(scratch_path("kept"), 0700), 0);
    ck_assert_int_eq(symlink(scratch_path("kept"), link), 0);
    char *kept = ik_strdup(NULL, scratch_write("kept/file", "content"));
    ck_assert_int_eq(chmod(inner, 0), 0);
    ik_file_remove_tree(AT_FDCWD, tree);
    ck_assert_int_eq(access(tree, F_OK), -1);
    ck_assert_int_eq(access(kept, F_OK), 0);
    ik_file_remove_tree(AT_FDCWD, kept);
    ck_assert_int_eq(access(kept, F_OK), -1);
    talloc_free(kept);
    talloc_free(link);
    talloc_free(inner);
    talloc_free(tree);
}
END_TEST

START_TEST(folder_of_a_path)
{
    static const char *const cases[][2] = {
        {"/a/b", "/a"}, {"/a", "/"}, {"a", "."}, {"a/b/c", "a/b"}, {"/", "/"}, {"", "."},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *folder = ik_file_folder(NULL, cases[i][0]);
        ck_assert_str_eq(folder, cases[i][1]);
        talloc_free(folder);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("file");
    TCase *tests = tcase_create("file");
    tcase_add_checked_fixture(tests, scratch_empty, NULL);
    tcase_add_test(tests, reads_a_file_up_to_its_maximum);
    tcase_add_test(tests, reads_empty_files_and_files_without_a_size);
    tcase_add_test(tests, keeps_nul_bytes);
    tcase_add_test(tests, read_errors_have_their_codes);
    tcase_add_test(tests, a_fifo_does_not_block);
    tcase_add_loop_test(tests, written_files_are_private_whatever_the_umask, 0, WRITERS);
    tcase_add_loop_test(tests, writing_replaces_and_tightens, 0, WRITERS);
    tcase_add_loop_test(tests, a_symlink_is_replaced_not_followed, 0, WRITERS);
    tcase_add_loop_test(tests, a_failed_write_leaves_the_old_file_and_nothing_else, 0, WRITERS);
    tcase_add_loop_test(tests, writing_into_no_folder_fails, 0, WRITERS);
    tcase_add_test(tests, writes_relative_to_the_working_folder);
    tcase_add_test(tests, folders_are_private_whatever_the_umask);
    tcase_add_test(tests, existing_folders_are_left_alone);
    tcase_add_test(tests, a_file_in_the_way_is_an_error);
    tcase_add_test(tests, folder_of_a_path);
    tcase_add_test(tests, paths_below_a_folder);
    tcase_add_test(tests, removes_a_tree_but_not_what_its_links_lead_to);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}
