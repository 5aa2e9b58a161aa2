#include "extend/front_matter.h"

#include <string.h>

#include "base/alloc.h"
#include "suite.h"

static void *ctx;

static void set_up(void)
{
    ctx = talloc_new(NULL);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static const ik_front_matter_t *parse(const char *text)
{
    return ik_front_matter_parse(ctx, text, strlen(text));
}

static const char *description(const char *text)
{
    return ik_front_matter_text(parse(text), "description");
}

START_TEST(texts)
{
    static const struct {
        const char *text;
        const char *description;
    } rows[] = {
        {"---\nname: pdf\ndescription: Use when: merging PDFs\n---\nBody",
         "Use when: merging PDFs"},
        {"\xef\xbb\xbf---\r\nname: a\r\ndescription: >-\r\n  two\r\n  lines\r\n---\r\n",
         "two lines"},
        {"---\ndescription: 'it''s: quoted'\n---\n", "it's: quoted"},
        {"---\ndescription: \"a \\\"b\\\" \\u00e9\\n# c\" # comment\n---\n",
         "a \"b\" \xc3\xa9\n# c"},
        {"---\ndescription: \"a\" and \"b\"\n---\n", "\"a\" and \"b\""},
        {"---\ndescription: \"not closed\n---\n", "\"not closed"},
        {"---\ndescription: |\n  one\n   two\n\n  three\nname: x\n---\n", "one\n two\n\nthree"},
        {"---\ndescription: >\n  one\n  two\n\n  three\n---\n", "one two\nthree"},
        {"---\ndescription: |2-\n  one\n---\n", "one"},
        {"---\ndescription: one\n  two: three\n\n  four\nname: x\n---\n", "one two: three four"},
        {"---\ndescription:\n  on the next line\n---\n", "on the next line"},
        {"---\ndescription: \"over\n  lines\"\n---\n", "over lines"},
        {"---\ndescription: C# and F #1\n---\n", "C# and F"},
        {"---\ndescription: http://example.com\n---\n", "http://example.com"},
        {"---  \ndescription: x\n---\t\n", "x"},
        {"---\n# comment\nunknown: [x\ndescription: x\n---\n", "x"},
        {"---\nmetadata:\n  description: inner\n  a: b\ndescription: outer\n---\n", "outer"},
        {"---\ndescription: \n---\n", NULL},
        {"---\ndescription: [a]\n---\n", NULL},
        {"---\nDescription: x\n---\n", NULL},
        {"---\ndescription: x\n", NULL},
        {"description: x\n", NULL},
        {"", NULL},
        {"---", NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *found = description(rows[i].text);
        if (rows[i].description == NULL) {
            ck_assert_msg(found == NULL, "%s: %s", rows[i].text, found);
        } else {
            ck_assert_msg(found != NULL, "%s", rows[i].text);
            ck_assert_str_eq(found, rows[i].description);
        }
    }
}
END_TEST

START_TEST(lists)
{
    static const char *const rows[] = {
        "---\ntools: [a, 'b, c', \"d\"]\n---\n",
        "---\ntools: [a, 'b, c',\n  \"d\"]\n---\n",
        "---\ntools:\n  - a\n  - 'b, c'\n  # comment\n\n  - d\nname: x\n---\n",
        "---\ntools:\n- a\n- b, c\n- d\n---\n",
        "---\ntools:\n\n- a\n- b, c\n- d\n---\n",
        "---\ntools:\n# comment\n  - a\n  - b, c\n  - d\n---\n",
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const ik_front_matter_entry_t *entry = ik_front_matter_find(parse(rows[i]), "tools");
        ck_assert_ptr_nonnull(entry);
        ck_assert_ptr_null(entry->text);
        ck_assert_uint_eq(entry->item_count, 3);
        ck_assert_str_eq(entry->items[0], "a");
        ck_assert_str_eq(entry->items[1], "b, c");
        ck_assert_str_eq(entry->items[2], "d");
    }
    ck_assert_uint_eq(ik_front_matter_find(parse("---\ntools: []\n---\n"), "tools")->item_count, 0);
}
END_TEST

START_TEST(maps_are_skipped_and_known)
{
    static const char *const rows[] = {
        "---\ntools:\n  a: true\n  b: false\nname: x\n---\n",
        "---\ntools:\n\n  # comment\n  a: true\nname: x\n---\n",
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const ik_front_matter_t *matter = parse(rows[i]);
        const ik_front_matter_entry_t *entry = ik_front_matter_find(matter, "tools");
        ck_assert(entry->map && entry->text == NULL && entry->items == NULL);
        ck_assert_str_eq(ik_front_matter_text(matter, "name"), "x");
    }
    ck_assert(!ik_front_matter_find(parse("---\ntools:\n\nname: x\n---\n"), "tools")->map);
}
END_TEST

START_TEST(bodies)
{
    static const struct {
        const char *text;
        const char *body;
    } rows[] = {
        {"---\na: b\n---\nBody\n---\nmore", "Body\n---\nmore"},
        {"\xef\xbb\xbfno front matter", "no front matter"},
        {"---\na: b\n---", ""},
        {"---\n---\nx", "x"},
        {"--- \nnot closed", "--- \nnot closed"},
        {"----\nx", "----\nx"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const ik_front_matter_t *matter = parse(rows[i].text);
        ck_assert_uint_eq(matter->body_len, strlen(rows[i].body));
        ck_assert_mem_eq(matter->body, rows[i].body, matter->body_len);
    }
}
END_TEST

START_TEST(problems)
{
    ck_assert_ptr_null(parse("---\na: b\n---\n")->problem);
    ck_assert_str_eq(parse("---\na: b\njust text\n---\n")->problem,
                     "line 2 of the front matter is not a key with a value");
    ck_assert(parse("---\na: b\n")->unclosed);
    ck_assert_str_eq(parse("---\na: b\n")->problem,
                     "the closing --- of the front matter is missing");
}
END_TEST

START_TEST(truth)
{
    const ik_front_matter_t *matter = parse("---\na: true\nb: Yes\nc: 'on'\nd: false\ne: 1\n---\n");
    ck_assert(ik_front_matter_is_true(matter, "a"));
    ck_assert(ik_front_matter_is_true(matter, "b"));
    ck_assert(ik_front_matter_is_true(matter, "c"));
    ck_assert(!ik_front_matter_is_true(matter, "d"));
    ck_assert(!ik_front_matter_is_true(matter, "e"));
    ck_assert(!ik_front_matter_is_true(matter, "f"));
}
END_TEST

START_TEST(too_much)
{
    char *text = ik_strdup(ctx, "---\n");
    for (int i = 0; i < 2 * IK_FRONT_MATTER_MAX_KEYS; i++) {
        text = ik_sprintf(ctx, "%sk%d: x\n", text, i);
    }
    const ik_front_matter_t *matter = parse(ik_sprintf(ctx, "%s---\nbody", text));
    ck_assert_uint_eq(matter->count, IK_FRONT_MATTER_MAX_KEYS);
    ck_assert_ptr_nonnull(matter->problem);
    ck_assert_uint_eq(matter->body_len, 4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("front_matter");
    TCase *cases = tcase_create("all");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, texts);
    tcase_add_test(cases, lists);
    tcase_add_test(cases, maps_are_skipped_and_known);
    tcase_add_test(cases, bodies);
    tcase_add_test(cases, problems);
    tcase_add_test(cases, truth);
    tcase_add_test(cases, too_much);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
