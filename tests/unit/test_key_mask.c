/* A key in text that is cut into pieces at every offset, and in lines that were cut. */
#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "provider/key_mask.h"
#include "suite.h"

#define KEY "sk-sk-secret"
#define STARS "************"

static void *ctx;

static void set_up(void)
{
    ctx = talloc_new(NULL);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static const struct {
    const char *text;
    const char *masked;
} texts[] = {
    {"", ""},
    {"nothing of the kind", "nothing of the kind"},
    {KEY, STARS},
    {"a " KEY " b", "a " STARS " b"},
    {KEY KEY, STARS STARS},
    {"sk-" KEY, "sk-" STARS},
    {"sk-sk-sk-secre", "sk-***********"},
    {"sk-sk-x sk-", "sk-sk-x sk-"},
    {"sk-sk-s", "sk-sk-s"},
    {"sk-sk-se", "********"},
    {"gr\u00fc\u00df " KEY "\u00fc", "gr\u00fc\u00df " STARS "\u00fc"},
};

/* Text cut at two offsets: nothing that was shown may turn out to be part of the key. */
static void check_pieces(const char *text, size_t first, size_t second, const char *masked)
{
    ik_key_mask_t mask;
    ik_buffer_t out;
    ik_key_mask_init(&mask, ctx, KEY);
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append(&out, "", 0);
    ik_key_mask_add(&mask, text, first, &out);
    ck_assert(strncmp(out.data, masked, out.len) == 0);
    ik_key_mask_add(&mask, text + first, second - first, &out);
    ck_assert(strncmp(out.data, masked, out.len) == 0);
    ik_key_mask_add(&mask, text + second, strlen(text) - second, &out);
    ik_key_mask_finish(&mask, &out);
    ck_assert_str_eq(out.data, masked);
    ck_assert_int_eq(mask.found, strchr(masked, '*') != NULL);
}

START_TEST(a_key_in_pieces_is_hidden)
{
    const char *text = texts[_i].text;
    for (size_t first = 0; first <= strlen(text); first++) {
        for (size_t second = first; second <= strlen(text); second++) {
            check_pieces(text, first, second, texts[_i].masked);
        }
    }
}
END_TEST

START_TEST(lines_that_were_cut)
{
    static const struct {
        const char *line;
        const char *masked;
    } lines[] = {
        {"Bad key " KEY "!", "Bad key " STARS "!"},
        {"Bad key sk-sk-secr…", "Bad key **********…"},
        {"Bad key sk-sk-s…", "Bad key sk-sk-s…"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char *line = ik_strdup(ctx, lines[i].line);
        ik_key_mask_line(line, KEY);
        ck_assert_str_eq(line, lines[i].masked);
    }
}
END_TEST

START_TEST(what_is_no_secret_stays)
{
    static const char *const keys[] = {NULL, "", "none"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        ik_key_mask_t mask;
        ik_buffer_t out;
        ik_key_mask_init(&mask, ctx, keys[i]);
        ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
        ik_key_mask_add(&mask, "none of it", 10, &out);
        ik_key_mask_finish(&mask, &out);
        ck_assert_str_eq(out.data, "none of it");
        char line[] = "none of it";
        ik_key_mask_line(line, keys[i]);
        ck_assert_str_eq(line, "none of it");
    }
}
END_TEST

START_TEST(json_gets_the_key_back)
{
    static const char json[] = "[{\"text\":\"a " KEY " b " KEY "\"}]";
    ik_buffer_t masked;
    ik_buffer_t out;
    ik_buffer_init(&masked, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ck_assert(ik_key_mask_json(&masked, (ik_json_span_t){json, strlen(json)}, KEY));
    ck_assert_ptr_null(strstr(masked.data, KEY));
    ik_json_span_t back = {masked.data, masked.len};
    ik_key_unmask_json(&out, &back, KEY);
    ck_assert_uint_eq(back.len, strlen(json));
    ck_assert(memcmp(back.text, json, back.len) == 0);
    ck_assert(!ik_key_mask_json(&masked, (ik_json_span_t){json, strlen(json)}, "sk=\"secret"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("key_mask");
    TCase *tests = tcase_create("key_mask");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, a_key_in_pieces_is_hidden, 0, sizeof(texts) / sizeof(texts[0]));
    tcase_add_test(tests, lines_that_were_cut);
    tcase_add_test(tests, what_is_no_secret_stays);
    tcase_add_test(tests, json_gets_the_key_back);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
