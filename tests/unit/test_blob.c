#include <check.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/blob.h"
#include "base/file.h"
#include "scratch.h"

#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static ik_blob_name_t put(const char *bytes, size_t len)
{
    ik_blob_name_t name;
    res_t result = ik_blob_put(scratch_path("blobs/images"), bytes, len, &name);
    ck_assert_msg(is_ok(&result), "%s", result.message);
    return name;
}

START_TEST(a_blob_has_the_name_of_its_bytes_and_is_private)
{
    char *bytes;
    size_t len;
    ik_blob_name_t name = put("abc", 3);
    ck_assert_str_eq(name.hex, ABC);
    ck_assert_uint_eq(scratch_mode("blobs"), 0700);
    ck_assert_uint_eq(scratch_mode("blobs/images/ba"), 0700);
    ck_assert_uint_eq(
        scratch_mode("blobs/images/ba/7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f200"
                     "15ad"),
        0600);
    res_t result = ik_blob_get(NULL, scratch_path("blobs/images"), ABC, 3, &bytes, &len);
    ck_assert(is_ok(&result));
    ck_assert_uint_eq(len, 3);
    ck_assert_str_eq(bytes, "abc");
    talloc_free(bytes);
}
END_TEST

START_TEST(bytes_are_kept_whatever_they_are)
{
    char *bytes;
    size_t len;
    ik_blob_name_t name = put("a\0b", 3);
    res_t result = ik_blob_get(NULL, scratch_path("blobs/images"), name.hex, 100, &bytes, &len);
    ck_assert(is_ok(&result));
    ck_assert_mem_eq(bytes, "a\0b", 3);
    talloc_free(bytes);
    name = put("", 0);
    result = ik_blob_get(NULL, scratch_path("blobs/images"), name.hex, 0, &bytes, &len);
    ck_assert(is_ok(&result));
    ck_assert_uint_eq(len, 0);
    talloc_free(bytes);
}
END_TEST

START_TEST(a_second_put_writes_nothing)
{
    struct stat before;
    struct stat after;
    put("abc", 3);
    char *path = ik_blob_path(NULL, scratch_path("blobs/images"), ABC);
    ck_assert_int_eq(stat(path, &before), 0);
    put("abc", 3);
    ck_assert_int_eq(stat(path, &after), 0);
    ck_assert_uint_eq(before.st_ino, after.st_ino);
    /* but one of another length cannot be it */
    ck_assert_int_eq(truncate(path, 1), 0);
    put("abc", 3);
    ck_assert_int_eq(stat(path, &after), 0);
    ck_assert_int_eq(after.st_size, 3);
    talloc_free(path);
}
END_TEST

START_TEST(what_cannot_be_read_says_why)
{
    char *bytes;
    size_t len;
    const char *folder = scratch_path("blobs/images");
    put("abc", 3);
    ck_assert_int_eq(ik_blob_get(NULL, folder, ABC, 2, &bytes, &len).code, IK_ERR_LIMIT);
    ck_assert_int_eq(ik_blob_get(NULL, folder, "../../x", 9, &bytes, &len).code, IK_ERR_INVALID);
    ck_assert_int_eq(ik_blob_get(NULL, folder, "", 9, &bytes, &len).code, IK_ERR_INVALID);
    char *path = ik_blob_path(NULL, folder, ABC);
    ck_assert_int_eq(ik_file_write_private(path, "abd", 3).code, IK_ERR_NONE);
    ck_assert_int_eq(ik_blob_get(NULL, folder, ABC, 9, &bytes, &len).code, IK_ERR_DAMAGED);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(ik_blob_get(NULL, folder, ABC, 9, &bytes, &len).code, IK_ERR_NOT_FOUND);
    talloc_free(path);
}
END_TEST

START_TEST(a_name_is_64_hex_digits)
{
    ck_assert(ik_blob_is_name(ABC));
    ck_assert(!ik_blob_is_name(ABC "0"));
    ck_assert(!ik_blob_is_name("BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"));
    ck_assert(!ik_blob_is_name("abc"));
}
END_TEST

START_TEST(processes_may_put_the_same_blob_at_once)
{
    enum { PROCESSES = 8, SIZE = 1 << 20 };
    static char bytes[SIZE];
    memset(bytes, 'x', SIZE);
    for (size_t i = 0; i < PROCESSES; i++) {
        if (fork() == 0) {
            ik_blob_name_t name;
            _exit(ik_blob_put(scratch_path("blobs/images"), bytes, SIZE, &name).code);
        }
    }
    for (size_t i = 0; i < PROCESSES; i++) {
        int status;
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
    char *read;
    size_t len;
    ik_blob_name_t name = ik_blob_name(bytes, SIZE);
    res_t result = ik_blob_get(NULL, scratch_path("blobs/images"), name.hex, SIZE, &read, &len);
    ck_assert_msg(is_ok(&result), "%s", result.message);
    talloc_free(read);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("blob");
    TCase *tests = tcase_create("blob");
    tcase_add_checked_fixture(tests, scratch_empty, NULL);
    tcase_add_test(tests, a_blob_has_the_name_of_its_bytes_and_is_private);
    tcase_add_test(tests, bytes_are_kept_whatever_they_are);
    tcase_add_test(tests, a_second_put_writes_nothing);
    tcase_add_test(tests, what_cannot_be_read_says_why);
    tcase_add_test(tests, a_name_is_64_hex_digits);
    tcase_add_test(tests, processes_may_put_the_same_blob_at_once);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}
