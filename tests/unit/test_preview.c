#include "terminal/preview.h"

#include <string.h>

#include "base/alloc.h"
#include "suite.h"
#include "terminal/row.h"

START_TEST(a_picture_fits_the_screen)
{
    static const struct {
        uint32_t width, height;
        int columns, rows, cell_width, cell_height;
        int out_columns, out_rows; /* 0: it is not shown */
    } cases[] = {
        {640, 480, 80, 24, 0, 0, 21, 8},  /* a third of the screen */
        {640, 480, 80, 60, 0, 0, 27, 10}, /* never more than ten rows */
        {640, 480, 80, 24, 9, 18, 21, 8}, /* the proportions of the cell count, not its size */
        {640, 480, 80, 24, 10, 10, 11, 8}, {640, 40, 80, 24, 10, 20, 64, 2}, /* its own height */
        {1, 1, 80, 24, 0, 0, 2, 1},        {1, 400, 80, 24, 0, 0, 1, 8},
        {2000, 400, 40, 24, 0, 0, 30, 3}, /* as wide as the screen */
        {2000, 1, 80, 24, 0, 0, 0, 0},    /* would be flattened */
        {640, 480, 80, 2, 0, 0, 0, 0},     {640, 480, 1, 24, 0, 0, 0, 0},
        {0, 480, 80, 24, 0, 0, 0, 0},      {640, 0, 80, 24, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ik_preview_area_t area = {0};
        ik_preview_cell_t cell = {cases[i].cell_width, cases[i].cell_height};
        bool fits = ik_preview_cover(cases[i].width, cases[i].height, cases[i].columns,
                                     cases[i].rows, cell, &area);
        ck_assert_int_eq(fits, cases[i].out_rows > 0);
        ck_assert_msg(!fits || area.columns == cases[i].out_columns, "%zu: %d", i, area.columns);
        ck_assert_msg(!fits || area.rows == cases[i].out_rows, "%zu: %d", i, area.rows);
    }
}
END_TEST

START_TEST(a_small_picture_is_one_part)
{
    ik_buffer_t out;
    void *ctx = talloc_new(NULL);
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_preview_append_kitty(&out, &(ik_preview_area_t){2, 1}, "abc", 3);
    ck_assert_str_eq(out.data, "\x1b_Ga=T,f=100,q=2,C=1,c=2,r=1,m=0;YWJj\x1b\\");
    out.len = 0;
    ik_preview_append_kitty(&out, &(ik_preview_area_t){8, 3}, "abc", 3);
    ck_assert_str_eq(out.data, "\x1b[2A\x1b_Ga=T,f=100,q=2,C=1,c=8,r=3,m=0;YWJj\x1b\\\x1b[2B");
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
    ik_preview_append_kitty(&out, &(ik_preview_area_t){9, 8}, bytes, LEN);
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

START_TEST(a_sixel_picture_is_whole_bands_within_its_rows)
{
    static const struct {
        uint32_t width, height;
        int columns, rows, cell_width, cell_height;
        int out_width, out_height, out_rows; /* 0: it is not shown */
    } cases[] = {
        {640, 480, 80, 24, 10, 20, 213, 156, 8},  /* a third of the screen */
        {640, 480, 80, 60, 10, 20, 266, 198, 10}, /* never more than ten rows */
        {640, 40, 80, 24, 10, 20, 640, 36, 2},    /* its own size */
        {40, 20, 80, 24, 10, 20, 40, 18, 1},      /* never larger */
        {1, 1, 80, 24, 10, 20, 1, 1, 1},          /* less than a band */
        {2000, 400, 40, 24, 10, 20, 390, 78, 4},  /* as wide as the screen */
        {2000, 400, 300, 90, 10, 20, 1000, 198, 10},
        {2000, 1, 80, 24, 10, 20, 0, 0, 0}, /* would vanish */
        {640, 480, 80, 2, 10, 20, 0, 0, 0},
        {640, 480, 1, 24, 10, 20, 0, 0, 0},
        {640, 480, 80, 24, 0, 0, 0, 0, 0}, /* the cell is not known */
        {640, 480, 80, 24, 10, 5, 0, 0, 0},
        {0, 480, 80, 24, 10, 20, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ik_preview_size_t size;
        ik_preview_cell_t cell = {cases[i].cell_width, cases[i].cell_height};
        bool fits = ik_preview_fit(cases[i].width, cases[i].height, cases[i].columns, cases[i].rows,
                                   cell, &size);
        ck_assert_int_eq(fits, cases[i].out_rows > 0);
        if (fits) {
            ck_assert_int_eq(size.width, cases[i].out_width);
            ck_assert_int_eq(size.height, cases[i].out_height);
            ck_assert_int_eq(size.rows, cases[i].out_rows);
        }
    }
}
END_TEST

START_TEST(a_sixel_picture_saves_the_cursor)
{
    ik_preview_size_t size = {.width = 2, .height = 12, .rows = 1};
    ik_buffer_t out;
    void *ctx = talloc_new(NULL);
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ck_assert(ik_preview_append_sixel(&out, &size, "#0;2;0;0;0#0~~-!2~", 18));
    ck_assert_str_eq(out.data, "\x1b"
                               "7\x1b[1A\x1bP0;1;0q\"1;1;2;12#0;2;0;0;0#0~~-!2~\x1b\\\x1b"
                               "8");
    ck_assert_int_eq(ik_row_width(out.data, out.len), 0);
    talloc_free(ctx);
}
END_TEST

/* The program that makes the data reads files from anywhere: what it prints is not trusted. */
START_TEST(sixel_data_is_checked)
{
    static const char *const bad[] = {
        "",        "#0~\x1b\\\x1b[2J", "#0~\x9c", "#0~\n", "#0~\x07",
        "#0~ ",    "\"1;1;9;9#0~",     "#0~-~-~", "#0~--", "#0~\xff",
        "#0~\x7f",
    };
    ik_preview_size_t size = {.width = 2, .height = 12, .rows = 1};
    ik_buffer_t out;
    void *ctx = talloc_new(NULL);
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        ck_assert_msg(!ik_preview_append_sixel(&out, &size, bad[i], strlen(bad[i])), "%zu", i);
    }
    ck_assert(!ik_preview_append_sixel(&out, &size, "#0\0~", 4));
    ck_assert_uint_eq(out.len, 0);
    talloc_free(ctx);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("preview");
    TCase *tests = tcase_create("preview");
    tcase_add_test(tests, a_picture_fits_the_screen);
    tcase_add_test(tests, a_small_picture_is_one_part);
    tcase_add_test(tests, no_byte_of_a_picture_reaches_the_terminal);
    tcase_add_test(tests, a_sixel_picture_is_whole_bands_within_its_rows);
    tcase_add_test(tests, a_sixel_picture_saves_the_cursor);
    tcase_add_test(tests, sixel_data_is_checked);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
