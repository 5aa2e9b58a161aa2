#include <check.h>
#include <string.h>

#include "agent/id_set.h"
#include "base/alloc.h"
#include "base/random.h"
#include "suite.h"

static void *ctx;
static ik_id_set_t *set;

static void set_up(void)
{
    ctx = talloc_new(NULL);
    set = ik_id_set_create(ctx);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

START_TEST(what_was_added_is_there)
{
    ck_assert(!ik_id_set_has(set, "a"));
    ik_id_set_add(set, "a");
    ik_id_set_add(set, "a");
    ik_id_set_add(set, "");
    ck_assert(ik_id_set_has(set, "a"));
    ck_assert(ik_id_set_has(set, ""));
    ck_assert(!ik_id_set_has(set, "b"));
    ck_assert(!ik_id_set_has(set, "aa"));
}
END_TEST

START_TEST(it_grows)
{
    enum { COUNT = 10000 };
    for (int i = 0; i < COUNT; i++) {
        ik_id_set_add(set, ik_sprintf(ctx, "call_%d", i));
    }
    for (int i = 0; i < COUNT; i++) {
        ck_assert(ik_id_set_has(set, ik_sprintf(ctx, "call_%d", i)));
        ck_assert(!ik_id_set_has(set, ik_sprintf(ctx, "other_%d", i)));
    }
}
END_TEST

/* The same id over and over takes no room. */
START_TEST(doubled_ids_do_not_grow_it)
{
    size_t before = talloc_total_size(set);
    for (int i = 0; i < 10000; i++) {
        ik_id_set_add(set, "same");
    }
    ck_assert_uint_eq(talloc_total_size(set), before);
}
END_TEST

START_TEST(random_names)
{
    static const char alphanumeric[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    char name[41];
    bool seen[256] = {0};
    for (int len = 0; len <= 40; len++) {
        memset(name, '?', sizeof(name));
        ik_random_name(name, len);
        ck_assert_uint_eq(strlen(name), len);
        ck_assert_uint_eq(strspn(name, alphanumeric), len);
    }
    for (int i = 0; i < 1000; i++) {
        ik_random_name(name, 40);
        ck_assert(!ik_id_set_has(set, name));
        ik_id_set_add(set, name);
        for (int k = 0; k < 40; k++) {
            seen[(unsigned char)name[k]] = true;
        }
    }
    for (const char *c = alphanumeric; *c != '\0'; c++) {
        ck_assert_msg(seen[(unsigned char)*c], "never a %c", *c);
    }
    ck_assert(ik_random() != ik_random());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("id_set");
    TCase *tests = tcase_create("id_set");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, what_was_added_is_there);
    tcase_add_test(tests, it_grows);
    tcase_add_test(tests, doubled_ids_do_not_grow_it);
    tcase_add_test(tests, random_names);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
