#include <fcntl.h>
#include <stdbool.h>
#include <time.h>

#include "base/alloc.h"
#include "scratch.h"
#include "tool/tool_cache.h"

static const char SCHEMA[] = "{\"name\":\"t\",\"x\":\"\xc3\xa4\\u0000\"}\n";
enum { SCHEMA_LEN = sizeof(SCHEMA) - 1 };

static ik_tool_cache_t *cache;

static void open_cache(void)
{
    TALLOC_FREE(cache);
    cache = ik_tool_cache_create(NULL, scratch_path("cache"));
}

static void set_up(void)
{
    scratch_empty();
    cache = NULL;
    open_cache();
}

static void tear_down(void)
{
    TALLOC_FREE(cache);
}

/* A file whose last change is this many seconds ago. */
static struct stat make_tool(const char *name, time_t age)
{
    struct stat status;
    const char *path = scratch_write(name, "#!/bin/sh\n");
    struct timespec times[2] = {{.tv_sec = time(NULL) - age}, {.tv_sec = time(NULL) - age}};
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    ck_assert_int_eq(stat(path, &status), 0);
    return status;
}

static void put(const char *name, const struct stat *status)
{
    ik_tool_cache_put(cache, scratch_path(name), status, SCHEMA, SCHEMA_LEN);
}

static bool knows(const char *name, const struct stat *status)
{
    size_t len = 99;
    const char *schema = ik_tool_cache_lookup(cache, scratch_path(name), status, &len);
    if (schema == NULL) {
        ck_assert_uint_eq(len, 0);
        return false;
    }
    ck_assert_uint_eq(len, SCHEMA_LEN);
    ck_assert_mem_eq(schema, SCHEMA, SCHEMA_LEN);
    return true;
}

START_TEST(remembered_beyond_the_process)
{
    struct stat tool = make_tool("tool", 10);
    ck_assert(!knows("tool", &tool));
    put("tool", &tool);
    ck_assert(knows("tool", &tool));
    open_cache();
    ck_assert(!knows("tool", &tool));
    put("tool", &tool);
    ik_tool_cache_save(cache);
    open_cache();
    ck_assert(knows("tool", &tool));
    ck_assert(!knows("other", &tool));
    ck_assert_uint_eq(scratch_mode("cache"), 0700);
    ck_assert_uint_eq(scratch_mode("cache/schemas.json"), 0600);
}
END_TEST

START_TEST(any_change_of_the_file_forgets)
{
    struct stat tool = make_tool("tool", 10);
    put("tool", &tool);
    struct stat changed[7];
    for (size_t i = 0; i < 7; i++) {
        changed[i] = tool;
    }
    changed[0].st_dev++;
    changed[1].st_ino++;
    changed[2].st_size++;
    changed[3].st_mtim.tv_sec--;
    changed[4].st_mtim.tv_nsec++;
    changed[5].st_ctim.tv_sec++;
    changed[6].st_ctim.tv_nsec++;
    for (size_t i = 0; i < 7; i++) {
        ck_assert_msg(!knows("tool", &changed[i]), "change %zu went unnoticed", i);
    }
    ck_assert(knows("tool", &tool));
}
END_TEST

START_TEST(young_files_are_not_remembered)
{
    static const struct {
        time_t age;
        bool remembered;
    } cases[] = {{0, false}, {1, false}, {3, true}, {-100, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct stat tool = make_tool("tool", cases[i].age);
        put("tool", &tool);
        ck_assert_msg(knows("tool", &tool) == cases[i].remembered, "%ld s", (long)cases[i].age);
        open_cache();
    }
}
END_TEST

START_TEST(vanished_files_are_dropped_when_saving)
{
    struct stat kept = make_tool("kept", 10);
    struct stat gone = make_tool("gone", 10);
    put("kept", &kept);
    put("gone", &gone);
    ck_assert_int_eq(unlink(scratch_path("gone")), 0);
    ik_tool_cache_save(cache);
    open_cache();
    ck_assert(knows("kept", &kept));
    ck_assert(!knows("gone", &gone));
}
END_TEST

START_TEST(nothing_is_written_without_news)
{
    struct stat status;
    ik_tool_cache_save(cache);
    ck_assert_int_ne(stat(scratch_path("cache"), &status), 0);
}
END_TEST

START_TEST(a_damaged_file_is_no_cache)
{
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "null",
        "\xff",
        "{\"format\":1}",
        "{\"format\":2,\"entries\":{}}",
        "{\"format\":1,\"entries\":[]}",
        "{\"format\":1,\"entries\":{\"PATH\":1}}",
        "{\"format\":1,\"entries\":{\"PATH\":{\"identity\":1,\"schema\":2}}}",
    };
    struct stat tool = make_tool("tool", 10);
    scratch_make_folder("cache");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        scratch_write("cache/schemas.json", texts[i]);
        open_cache();
        ck_assert(!knows("tool", &tool));
        put("tool", &tool);
        ik_tool_cache_save(cache);
        open_cache();
        ck_assert_msg(knows("tool", &tool), "not replaced: %s", texts[i]);
    }
}
END_TEST

START_TEST(what_json_cannot_hold_is_asked_again)
{
    struct stat tool = make_tool("tool", 10);
    ik_tool_cache_put(cache, "/a\xff", &tool, SCHEMA, SCHEMA_LEN);
    ik_tool_cache_put(cache, "/b", &tool, "\xff", 1);
    size_t len;
    ck_assert_ptr_null(ik_tool_cache_lookup(cache, "/a\xff", &tool, &len));
    ck_assert_ptr_null(ik_tool_cache_lookup(cache, "/b", &tool, &len));
    ik_tool_cache_save(cache);
}
END_TEST

START_TEST(a_cache_that_cannot_be_written_is_no_error)
{
    struct stat tool = make_tool("tool", 10);
    scratch_write("cache", "a file in its place");
    put("tool", &tool);
    ik_tool_cache_save(cache);
    ck_assert(knows("tool", &tool));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tool_cache");
    TCase *tests = tcase_create("tool_cache");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, remembered_beyond_the_process);
    tcase_add_test(tests, any_change_of_the_file_forgets);
    tcase_add_test(tests, young_files_are_not_remembered);
    tcase_add_test(tests, vanished_files_are_dropped_when_saving);
    tcase_add_test(tests, nothing_is_written_without_news);
    tcase_add_test(tests, a_damaged_file_is_no_cache);
    tcase_add_test(tests, what_json_cannot_hold_is_asked_again);
    tcase_add_test(tests, a_cache_that_cannot_be_written_is_no_error);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}
