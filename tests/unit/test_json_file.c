#include <check.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json_file.h"
#include "scratch.h"

static res_t result;

static char *content(const char *name)
{
    char *bytes;
    size_t len;
    res_t read = ik_file_read(NULL, scratch_path(name), 100000, &bytes, &len);
    ck_assert_msg(is_ok(&read), "%s", read.message);
    return bytes;
}

static void assert_content(const char *expected)
{
    char *bytes = content("c.json");
    ck_assert_str_eq(bytes, expected);
    talloc_free(bytes);
}

/* Sets a.b.c… (names separated by dots) in a file with this text. */
static void set(const char *text, const char *path, const char *value)
{
    char copy[64];
    const char *names[8] = {0};
    size_t count = 0;
    snprintf(copy, sizeof(copy), "%s", path);
    for (char *name = strtok(copy, "."); name != NULL; name = strtok(NULL, ".")) {
        names[count++] = name;
    }
    if (text != NULL) {
        scratch_write("c.json", text);
    }
    result = ik_json_file_set(scratch_path("c.json"), names, value);
}

typedef struct {
    const char *text;
    const char *path;
    const char *expected; /* after setting it to 7 */
} set_case_t;

static const set_case_t set_cases[] = {
    {NULL, "a", "{\n  \"a\": 7\n}\n"},
    {"{}", "a", "{\n  \"a\": 7\n}"},
    {"{ }\n", "a", "{\n  \"a\": 7\n}\n"},
    {"{\"a\":1}", "a", "{\"a\":7}"},
    {"{\"b\":1}", "a", "{\"b\":1,\"a\":7}"},
    {"{\"b\": 1}", "a", "{\"b\": 1, \"a\": 7}"},
    {"{ \"b\" : 1 }", "a", "{ \"b\" : 1, \"a\": 7 }"},
    {"{\n\t\"b\": [1,\n 2]\n}\n\n", "a", "{\n\t\"b\": [1,\n 2],\n\t\"a\": 7\n}\n\n"},
    {"{\r\n  \"b\": 1\r\n}\r\n", "a", "{\r\n  \"b\": 1,\r\n  \"a\": 7\r\n}\r\n"},
    {"  {\n    \"a\"  :  \"x\\u00e4\" , \"z\": 1.50e1}", "a",
     "  {\n    \"a\"  :  7 , \"z\": 1.50e1}"},
    /* The last one counts. */
    {"{\"a\":1,\"a\":2,\"b\":3}", "a", "{\"a\":1,\"a\":7,\"b\":3}"},
    {"{\"\\u0061\":1}", "a", "{\"\\u0061\":7}"},
    /* Members of inner objects have nothing to do with it. */
    {"{\"b\":{\"a\":1}}", "a", "{\"b\":{\"a\":1},\"a\":7}"},
    {"{\"b\":{\"a\":1}}", "b.a", "{\"b\":{\"a\":7}}"},
    {"{\"b\":{}}", "b.a", "{\"b\":{\n  \"a\": 7\n}}"},
    {"{\n  \"b\": {}\n}\n", "b.a", "{\n  \"b\": {\n    \"a\": 7\n  }\n}\n"},
    {"{\n  \"m\": 1\n}\n", "p.q.r",
     "{\n  \"m\": 1,\n  \"p\": {\n    \"q\": {\n      \"r\": 7\n    }\n  }\n}\n"},
    {"{\"m\":1}", "p.q", "{\"m\":1,\"p\":{\"q\":7}}"},
    {"{\n  \"p\": {\n    \"x\": {}\n  },\n  \"z\": 0\n}\n", "p.q.r",
     "{\n  \"p\": {\n    \"x\": {},\n    \"q\": {\n      \"r\": 7\n    }\n  },\n  \"z\": 0\n}\n"},
};

START_TEST(sets_one_member_and_nothing_else)
{
    const set_case_t *c = &set_cases[_i];
    set(c->text, c->path, "7");
    ck_assert_msg(is_ok(&result), "%s", result.message);
    assert_content(c->expected);
}
END_TEST

typedef struct {
    const char *text;
    const char *words;
} broken_case_t;

static const broken_case_t broken_cases[] = {
    {"", "broken JSON"},
    {"{\n\"a\": 1,\n}", "broken JSON in line 3"},
    {"// a comment\n{}", "broken JSON in line 1"},
    {"[]", "not a JSON object"},
    {"{\"p\": 3}", "p must be an object"},
    {"{\"p\": \"\xff\"}", "UTF-8"},
};

START_TEST(a_broken_file_stays_as_it_is)
{
    const broken_case_t *c = &broken_cases[_i];
    set(c->text, "p.q", "7");
    ck_assert_int_eq(result.code, IK_ERR_INVALID);
    ck_assert_msg(strstr(result.message, c->words) != NULL, "%s", result.message);
    ck_assert_msg(strstr(result.message, scratch_path("c.json")) != NULL, "%s", result.message);
    assert_content(c->text);
}
END_TEST

typedef struct {
    const char *text;
    const char *expected; /* after removing p.a */
    bool removed;
} remove_case_t;

static const remove_case_t remove_cases[] = {
    {"{\"p\": {\"a\": 1}}", "{\"p\": {}}", true},
    {"{\"p\": {\n  \"a\": 1\n}, \"a\": 2}", "{\"p\": {}, \"a\": 2}", true},
    {"{\"p\": {\n  \"a\": 1,\n  \"b\": 2\n}}", "{\"p\": {\n  \"b\": 2\n}}", true},
    {"{\"p\": {\n  \"b\": 2,\n  \"a\": 1\n}}", "{\"p\": {\n  \"b\": 2\n}}", true},
    {"{\"p\":{\"b\":2,\"a\":{\"x\":[]},\"c\":3}}", "{\"p\":{\"b\":2,\"c\":3}}", true},
    /* All of that name: none may come back to life. */
    {"{\"p\":{\"a\":1,\"b\":2,\"a\":3}}", "{\"p\":{\"b\":2}}", true},
    {"{\"p\":{\"b\":1}}", "{\"p\":{\"b\":1}}", false},
    {"{}", "{}", false},
};

START_TEST(removes_one_member_and_nothing_else)
{
    const remove_case_t *c = &remove_cases[_i];
    bool removed;
    scratch_write("c.json", c->text);
    result =
        ik_json_file_remove(scratch_path("c.json"), (const char *[]){"p", "a", NULL}, &removed);
    ck_assert_msg(is_ok(&result), "%s", result.message);
    ck_assert_int_eq(removed, c->removed);
    assert_content(c->expected);
}
END_TEST

START_TEST(nothing_to_remove_from_a_missing_file)
{
    bool removed = true;
    result = ik_json_file_remove(scratch_path("sub/c.json"), (const char *[]){"a", NULL}, &removed);
    ck_assert(is_ok(&result) && !removed);
    ck_assert_int_ne(access(scratch_path("sub"), F_OK), 0);
}
END_TEST

START_TEST(a_new_file_is_private)
{
    mode_t mask = umask(0);
    result = ik_json_file_set(scratch_path("new/c.json"), (const char *[]){"a", NULL}, "1");
    umask(mask);
    ck_assert_msg(is_ok(&result), "%s", result.message);
    ck_assert_uint_eq(scratch_mode("new"), 0700);
    ck_assert_uint_eq(scratch_mode("new/c.json"), 0600);
}
END_TEST

START_TEST(mode_and_links_are_kept)
{
    scratch_make_folder("real");
    scratch_write("real/c.json", "{}");
    ck_assert_int_eq(chmod(scratch_path("real/c.json"), 0640), 0);
    ck_assert_int_eq(symlink("real/c.json", scratch_path("c.json")), 0);
    set(NULL, "a", "1");
    ck_assert_msg(is_ok(&result), "%s", result.message);
    ck_assert_uint_eq(scratch_mode("real/c.json"), 0640);
    assert_content("{\n  \"a\": 1\n}");
    char target[32] = "";
    ck_assert_int_gt(readlink(scratch_path("c.json"), target, sizeof(target) - 1), 0);
    ck_assert_str_eq(target, "real/c.json");
}
END_TEST

START_TEST(a_file_that_others_can_write_is_refused)
{
    scratch_write("c.json", "{}");
    ck_assert_int_eq(chmod(scratch_path("c.json"), 0666), 0);
    set(NULL, "a", "1");
    ck_assert_int_eq(result.code, IK_ERR_DENIED);
    assert_content("{}");
}
END_TEST

START_TEST(a_folder_in_its_place_is_an_error)
{
    scratch_make_folder("c.json");
    set(NULL, "a", "1");
    ck_assert_int_eq(result.code, IK_ERR_INVALID);
}
END_TEST

/* Twenty processes set one member each: none is lost. */
START_TEST(changes_at_the_same_time_take_turns)
{
    enum { COUNT = 20 };
    char name[16];
    pid_t children[COUNT];
    for (int i = 0; i < COUNT; i++) {
        children[i] = fork();
        ck_assert_int_ge(children[i], 0);
        if (children[i] == 0) {
            snprintf(name, sizeof(name), "k%d", i);
            res_t done =
                ik_json_file_set(scratch_path("c.json"), (const char *[]){name, NULL}, "true");
            _exit(is_ok(&done) ? 0 : 1);
        }
    }
    for (int i = 0; i < COUNT; i++) {
        int status;
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert_int_eq(status, 0);
    }
    char *bytes = content("c.json");
    for (int i = 0; i < COUNT; i++) {
        char member[32];
        snprintf(member, sizeof(member), "\"k%d\": true", i);
        ck_assert_msg(strstr(bytes, member) != NULL, "%s is lost: %s", member, bytes);
    }
    talloc_free(bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json_file");
    TCase *tests = tcase_create("json_file");
    tcase_add_checked_fixture(tests, scratch_empty, NULL);
    tcase_add_loop_test(tests, sets_one_member_and_nothing_else, 0,
                        sizeof(set_cases) / sizeof(set_cases[0]));
    tcase_add_loop_test(tests, a_broken_file_stays_as_it_is, 0,
                        sizeof(broken_cases) / sizeof(broken_cases[0]));
    tcase_add_loop_test(tests, removes_one_member_and_nothing_else, 0,
                        sizeof(remove_cases) / sizeof(remove_cases[0]));
    tcase_add_test(tests, nothing_to_remove_from_a_missing_file);
    tcase_add_test(tests, a_new_file_is_private);
    tcase_add_test(tests, mode_and_links_are_kept);
    tcase_add_test(tests, a_file_that_others_can_write_is_refused);
    tcase_add_test(tests, a_folder_in_its_place_is_an_error);
    tcase_add_test(tests, changes_at_the_same_time_take_turns);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}
