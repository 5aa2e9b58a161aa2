#include "terminal/preview.h"

#include <string.h>

#include "base/alloc.h"
#include "suite.h"
#include "terminal/row.h"

START_TEST(rows_fit_the_screen)
{
    static const struct {
        uint32_t width, height;
        int columns, rows, expected;
    } cases[] = {
        {640, 480, 80, 24, 8},                          /* a third of the screen */
        {640, 480, 80, 60, 10},                         /* never more than ten */
        {640, 40, 80, 24, 2},                           /* its own height */
        {1, 1, 80, 24, 1},      {2000, 400, 40, 24, 3}, /* as wide as the screen */
        {2000, 1, 80, 24, 0},                           /* would be flattened */
        {640, 480, 80, 2, 0},   {640, 480, 1, 24, 0},   {0, 480, 80, 24, 0}, {640, 0, 80, 24, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ck_assert_int_eq(
            ik_preview_rows(cases[i].width, cases[i].height, cases[i].columns, cases[i].rows),
            cases[i].expected);
    }
}
END_TEST

START_TEST(a_small_picture_is_one_part)
{
    ik_buffer_t out;
    void *ctx = talloc_new(NULL);
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_preview_append(&out, "abc", 3, 1);
    ck_assert_str_eq(out.data, "\x1b_Ga=T,f=100,q=2,C=1,r=1,m=0;YWJj\x1b\\");
    out.len = 0;
    ik_preview_append(&out, "abc", 3, 3);
    ck_assert_str_eq(out.data, "\x1b[2A\x1b_Ga=T,f=100,q=2,C=1,r=3,m=0;YWJj\x1b\\\x1b[2B");
    talloc_free(ctx);
}
END_TEST

/* Whatever the bytes are, the row consists of sequences alone, has no width and no line end, and
 * each part is at most as long as the protocol allows. */
START_TEST(no_byte_of_a_picture_reaches_the_terminal)
{
    enum { LEN = 100000 };
    ik_buffer_t out;
    void *ctx = talloc_new(NULL);
    char *bytes = ik_new_array(ctx, char, LEN);
    for (size_t i = 0; i < LEN; i++) {
        bytes[i] = "\x1b\\\n\x07\x18;_G\x9c\0"[i * 7 % 10];
    }
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_preview_append(&out, bytes, LEN, 8);
    ck_assert_int_eq(ik_row_width(out.data, out.len), 0);
    ck_assert_ptr_null(memchr(out.data, '\n', out.len));
    int last = 0;
    for (size_t at = 0; at < out.len;) {
        ik_row_part_t part = ik_row_next(out.data + at, out.len - at, 0);
        const char *text = memchr(out.data + at, ';', part.len);
        ck_assert(part.is_sequence);
        ck_assert_uint_le(part.len, 4096 + 64);
        if (text != NULL) {
            size_t len = (size_t)(out.data + at + part.len - text) - 3;
            ck_assert_uint_eq(strspn(text + 1,
                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                     "0123456789+/="),
                              len);
            last += text[-1] == '0';
        }
        at += part.len;
    }
    ck_assert_int_eq(last, 1);
    talloc_free(ctx);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("preview");
    TCase *tests = tcase_create("preview");
    tcase_add_test(tests, rows_fit_the_screen);
    tcase_add_test(tests, a_small_picture_is_one_part);
    tcase_add_test(tests, no_byte_of_a_picture_reaches_the_terminal);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
