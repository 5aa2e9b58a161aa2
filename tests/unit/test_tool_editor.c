/* Which files the tools read and write through the editor. */
#include <check.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "scratch.h"
#include "suite.h"
#include "tool/tool_editor.h"

static void *ctx;

static void set_up(void)
{
    scratch_empty();
    ctx = talloc_new(NULL);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static const char *find(const char *folder, const char *path)
{
    ik_config_t config = {0};
    char *arguments = ik_sprintf(ctx, "{\"file_path\":\"%s\"}", path);
    return ik_tool_editor_find(ctx, folder, &config, arguments, strlen(arguments));
}

START_TEST(plain_files_of_the_project)
{
    scratch_make_folder("inner");
    scratch_make_folder(".inner");
    ck_assert_str_eq(find(scratch_folder, "a"), scratch_path("a"));
    ck_assert_str_eq(find(scratch_folder, "inner/../inner/a"), scratch_path("inner/a"));
    ck_assert_str_eq(find(scratch_folder, scratch_path("inner/a")), scratch_path("inner/a"));
    ck_assert_str_eq(find("/", "/ikigai-a"), "/ikigai-a");
    ck_assert_ptr_null(find(scratch_folder, ""));
    ck_assert_ptr_null(find(scratch_folder, "inner"));
    ck_assert_ptr_null(find(scratch_folder, "missing/a"));
    ck_assert_ptr_null(find(scratch_path("inner"), "../a"));
}
END_TEST

START_TEST(hidden_files_are_left_to_the_disk)
{
    scratch_make_folder("inner");
    scratch_make_folder(".inner");
    ck_assert_ptr_null(find(scratch_folder, ".a"));
    ck_assert_ptr_null(find(scratch_folder, "inner/.a"));
    ck_assert_ptr_null(find(scratch_folder, ".inner/a"));
    ck_assert_ptr_null(find("/", "/.ikigai-a"));
    ck_assert_ptr_null(find("/", ".ikigai-a"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tool_editor");
    TCase *cases = tcase_create("files");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, plain_files_of_the_project);
    tcase_add_test(cases, hidden_files_are_left_to_the_disk);
    suite_add_tcase(suite, cases);
    return scratch_run(suite);
}
