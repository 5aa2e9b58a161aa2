/* Paths of images in messages and pastes. A list of candidates is written with '|' between them. */
#include "base/image_path.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "suite.h"

#define LEN(array) (sizeof(array) / sizeof((array)[0]))

typedef struct {
    const char *text;
    const char *found; /* words separated by newlines */
} row_t;

static const row_t message_rows[] = {
    {"what is @shot.png", "shot.png"},
    {"@shot.png", "shot.png"},
    {"@a.png @b.png", "a.png|a.png @b.png\nb.png"},
    {"see @shot.png.", "shot.png.|shot.png"},
    {"(@shot.png), then", "shot.png),|shot.png)|shot.png"},
    {"\"@shot.png\"?", "shot.png\"?|shot.png\"|shot.png"},
    {"@\"my shot.png\" and", "my shot.png"},
    {"@'my shot.png'", "my shot.png"},
    {"@\"not closed.png", NULL},
    {"@\"not\nclosed.png\"", NULL},
    {"@my\\ shot.png now", "my shot.png"},
    {"@my shot.png now", "my|my shot.png"},
    {"@my shot.png, now", "my|my shot.png"},
    {"@my\nshot.png", "my"},
    {"@src/main.c is wrong", "src/main.c"},
    {"@~/shot.png", "~/shot.png"},
    {"@file:///tmp/my%20shot.png", "/tmp/my shot.png"},
    {"mail a@shot.png or @ alone", NULL},
    {"no sign", NULL},
    {"", NULL},
    {"@", NULL},
    {"@@shot.png", "@shot.png"},
    {"@.", "."},
};

static char *find_all(const void *ctx, const char *text)
{
    ik_buffer_t all;
    ik_image_path_word_t word;
    size_t at = 0;
    ik_buffer_init(&all, ctx, IK_BUFFER_UNLIMITED);
    while (ik_image_path_next(ctx, text, strlen(text), &at, &word)) {
        ik_buffer_append_text(&all, all.len == 0 ? "" : "\n");
        for (size_t i = 0; i < word.count; i++) {
            ik_buffer_append_text(&all, i == 0 ? "" : "|");
            ik_buffer_append_text(&all, word.paths[i]);
        }
    }
    return all.data == NULL ? NULL : ik_buffer_finish(&all);
}

START_TEST(messages_name_files)
{
    void *ctx = talloc_new(NULL);
    const row_t *row = &message_rows[_i];
    ck_assert_pstr_eq(find_all(ctx, row->text), row->found);
    talloc_free(ctx);
}
END_TEST

START_TEST(a_long_message_ends)
{
    ik_buffer_t text;
    void *ctx = talloc_new(NULL);
    ik_image_path_word_t word;
    size_t at = 0;
    int words = 0;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    for (int i = 0; i < 1000; i++) {
        ik_buffer_append_text(&text, "@a ");
    }
    while (ik_image_path_next(ctx, text.data, text.len, &at, &word)) {
        words++;
        ck_assert_uint_le(word.count, IK_IMAGE_PATH_CANDIDATES);
    }
    ck_assert_int_eq(words, 1000);
    talloc_free(ctx);
}
END_TEST

/* A word that is longer than any path is none, and takes no memory. */
START_TEST(a_long_word_is_skipped)
{
    static const char *const endings[] = {".", ")", "(@"};
    for (size_t i = 0; i < LEN(endings); i++) {
        ik_buffer_t text;
        void *ctx = talloc_new(NULL);
        ik_image_path_word_t word;
        size_t at = 0;
        ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
        ik_buffer_append_text(&text, "@a");
        for (int n = 0; n < 100000; n++) {
            ik_buffer_append_text(&text, endings[i]);
        }
        ik_buffer_append_text(&text, " @b.png");
        size_t before = talloc_total_size(ctx);
        ck_assert(ik_image_path_next(ctx, text.data, text.len, &at, &word));
        ck_assert_str_eq(word.paths[0], "b.png");
        ck_assert(!ik_image_path_next(ctx, text.data, text.len, &at, &word));
        ck_assert_uint_lt(talloc_total_size(ctx), before + 10000);
        talloc_free(ctx);
    }
}
END_TEST

static const row_t paste_rows[] = {
    {"/tmp/shot.png", "/tmp/shot.png"},
    {"  /tmp/shot.png \n", "/tmp/shot.png"},
    {"'/tmp/my shot.png'", "/tmp/my shot.png"},
    {"\"/tmp/my shot.png\" ", "/tmp/my shot.png"},
    {"/tmp/my\\ shot\\(1\\).png", "/tmp/my shot(1).png"},
    {"file:///tmp/my%20shot.png", "/tmp/my shot.png"},
    {"file://localhost/tmp/%C3%BC.png", "/tmp/\xc3\xbc.png"},
    {"file://elsewhere/tmp/a.png", "file://elsewhere/tmp/a.png"},
    {"file:///tmp/a%00b%zz.png", "/tmp/a%00b%zz.png"},
    {"'/tmp/a.png' '/tmp/b.png'", "/tmp/a.png|/tmp/b.png"},
    {"/tmp/a.png\n/tmp/b.png\n", "/tmp/a.png|/tmp/b.png"},
    {"'it'\\''s.png'", "it's.png"},
    {"'not closed", NULL},
    {"''", NULL},
    {" \n", NULL},
    {"1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21", NULL},
};

static char *join(const void *ctx, char **paths)
{
    char *all = paths == NULL ? NULL : ik_strdup(ctx, "");
    for (size_t i = 0; paths != NULL && paths[i] != NULL; i++) {
        all = ik_sprintf(ctx, "%s%s%s", all, i == 0 ? "" : "|", paths[i]);
    }
    return all;
}

START_TEST(pastes_are_paths)
{
    void *ctx = talloc_new(NULL);
    const row_t *row = &paste_rows[_i];
    char **paths = ik_image_path_parse_paste(ctx, row->text, strlen(row->text), false);
    ck_assert_pstr_eq(join(ctx, paths), row->found);
    talloc_free(ctx);
}
END_TEST

START_TEST(a_whole_paste_is_one_path)
{
    void *ctx = talloc_new(NULL);
    ck_assert_pstr_eq(join(ctx, ik_image_path_parse_paste(ctx, " /tmp/my shot.png\n", 18, true)),
                      "/tmp/my shot.png");
    ck_assert_ptr_null(ik_image_path_parse_paste(ctx, "a\nb", 3, true));
    ck_assert_ptr_null(ik_image_path_parse_paste(ctx, "a\0b", 3, true));
    ck_assert_ptr_null(ik_image_path_parse_paste(ctx, "a\0b", 3, false));
    talloc_free(ctx);
}
END_TEST

START_TEST(what_is_formatted_is_found_again)
{
    static const char *const paths[] = {"shot.png",     "my shot.png", "it's.png", "say \"x\".png",
                                        "back\\sl.png", "ends).",      "\xc3\xbc"};
    void *ctx = talloc_new(NULL);
    for (size_t i = 0; i < LEN(paths); i++) {
        char *word = ik_sprintf(ctx, "see %s now", ik_image_path_format(ctx, paths[i]));
        ck_assert_pstr_eq(find_all(ctx, word), paths[i]);
    }
    ck_assert_ptr_null(ik_image_path_format(ctx, ""));
    ck_assert_ptr_null(ik_image_path_format(ctx, "a\nb"));
    ck_assert_ptr_null(ik_image_path_format(ctx, "a\033b"));
    ck_assert_ptr_null(ik_image_path_format(ctx, "\xff.png"));
    ck_assert_ptr_null(ik_image_path_format(ctx, "a'b\"c"));
    talloc_free(ctx);
}
END_TEST

START_TEST(paths_are_resolved)
{
    void *ctx = talloc_new(NULL);
    ck_assert_str_eq(ik_image_path_resolve(ctx, "/a", "/p", "/h"), "/a");
    ck_assert_str_eq(ik_image_path_resolve(ctx, "a", "/p", "/h"), "/p/a");
    ck_assert_str_eq(ik_image_path_resolve(ctx, "~/a", "/p", "/h"), "/h/a");
    ck_assert_str_eq(ik_image_path_resolve(ctx, "~/a", "/p", NULL), "/p/~/a");
    ck_assert_str_eq(ik_image_path_resolve(ctx, "~a", "/p", "/h"), "/p/~a");
    ck_assert(ik_image_path_is_named_image("x/Shot.PNG"));
    ck_assert(ik_image_path_is_named_image("a.heic"));
    ck_assert(!ik_image_path_is_named_image("main.c"));
    ck_assert(!ik_image_path_is_named_image("png"));
    talloc_free(ctx);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("image_path");
    TCase *tests = tcase_create("image_path");
    tcase_add_loop_test(tests, messages_name_files, 0, (int)LEN(message_rows));
    tcase_add_test(tests, a_long_message_ends);
    tcase_add_test(tests, a_long_word_is_skipped);
    tcase_add_loop_test(tests, pastes_are_paths, 0, (int)LEN(paste_rows));
    tcase_add_test(tests, a_whole_paste_is_one_path);
    tcase_add_test(tests, what_is_formatted_is_found_again);
    tcase_add_test(tests, paths_are_resolved);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
