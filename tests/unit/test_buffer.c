#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "suite.h"

START_TEST(appends_and_terminates)
{
    ik_buffer_t buffer;
    ik_buffer_init(&buffer, NULL, IK_BUFFER_UNLIMITED);
    ck_assert_ptr_null(buffer.data);
    ik_buffer_append(&buffer, "", 0);
    ck_assert_str_eq(buffer.data, "");
    ik_buffer_append(&buffer, "ab\0c", 4);
    ik_buffer_append_byte(&buffer, 'd');
    ik_buffer_append_text(&buffer, "ef");
    ik_buffer_append_format(&buffer, "%d-%s", 42, "x");
    ck_assert_uint_eq(buffer.len, 11);
    ck_assert_mem_eq(buffer.data, "ab\0cdef42-x", 12);
    ck_assert_uint_eq(buffer.dropped, 0);
    ik_buffer_reset(&buffer);
}
END_TEST

START_TEST(grows_over_every_size)
{
    ik_buffer_t buffer;
    ik_buffer_init(&buffer, NULL, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < 5000; i++) {
        ik_buffer_append_byte(&buffer, (char)(i % 251));
        ck_assert_int_eq(buffer.data[buffer.len], '\0');
    }
    for (size_t i = 0; i < 5000; i++) {
        ck_assert_int_eq((unsigned char)buffer.data[i], i % 251);
    }
    ik_buffer_reset(&buffer);
}
END_TEST

START_TEST(drops_and_counts_what_exceeds_the_maximum)
{
    static const size_t maxima[] = {0, 1, 5, 255, 256, 257, 1000};
    for (size_t i = 0; i < sizeof(maxima) / sizeof(maxima[0]); i++) {
        ik_buffer_t buffer;
        ik_buffer_init(&buffer, NULL, maxima[i]);
        for (size_t n = 0; n < 400; n++) {
            ik_buffer_append_text(&buffer, "xyz");
        }
        ck_assert_uint_eq(buffer.len, maxima[i]);
        ck_assert_uint_eq(strlen(buffer.data), maxima[i]);
        ck_assert_uint_eq(buffer.dropped, 1200 - maxima[i]);
        ck_assert_uint_le(buffer.capacity, maxima[i]);
        ck_assert_uint_eq(ik_buffer_reserve(&buffer, 10), 0);
        ik_buffer_reset(&buffer);
    }
}
END_TEST

START_TEST(reserve_gives_room_to_write)
{
    ik_buffer_t buffer;
    ik_buffer_init(&buffer, NULL, 1000);
    ck_assert_uint_ge(ik_buffer_reserve(&buffer, 300), 300);
    memset(buffer.data, 'a', 300);
    buffer.len += 300;
    ck_assert_uint_eq(ik_buffer_reserve(&buffer, 5000), 700);
    memset(buffer.data + 300, 'b', 700);
    buffer.len += 700;
    ik_buffer_append_byte(&buffer, 'c');
    ck_assert_uint_eq(buffer.len, 1000);
    ck_assert_int_eq(buffer.data[999], 'b');
    ck_assert_int_eq(buffer.data[1000], '\0');
    ck_assert_uint_eq(buffer.dropped, 1);
    ik_buffer_reset(&buffer);
}
END_TEST

START_TEST(reset_frees_and_keeps_the_maximum)
{
    void *ctx = talloc_new(NULL);
    ik_buffer_t buffer;
    ik_buffer_init(&buffer, ctx, 4);
    ik_buffer_append_text(&buffer, "12345");
    ck_assert_uint_eq(talloc_total_blocks(ctx), 2);
    ik_buffer_reset(&buffer);
    ck_assert_uint_eq(talloc_total_blocks(ctx), 1);
    ck_assert_uint_eq(buffer.len, 0);
    ck_assert_uint_eq(buffer.dropped, 0);
    ik_buffer_append_text(&buffer, "12345");
    ck_assert_str_eq(buffer.data, "1234");
    ik_buffer_append_format(&buffer, "%s", "more"); /* leaves nothing else on the context */
    ck_assert_uint_eq(talloc_total_blocks(ctx), 2);
    talloc_free(ctx);
}
END_TEST

START_TEST(larger_than_talloc_allows)
{
    ik_buffer_t buffer;
    const size_t size = 300 * 1024 * 1024; /* reserved, not touched */
    ik_buffer_init(&buffer, NULL, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&buffer, "kept");
    ck_assert_uint_ge(ik_buffer_reserve(&buffer, size), size);
    ck_assert_str_eq(buffer.data, "kept");
    ik_buffer_reset(&buffer);
}
END_TEST

START_TEST(the_bytes_can_be_had)
{
    void *ctx = talloc_new(NULL);
    void *heir = talloc_new(NULL);
    ik_buffer_t buffer;
    ik_buffer_init(&buffer, ctx, 100);
    ik_buffer_append(&buffer, "a\0b", 3);
    char *text = ik_buffer_finish(&buffer);
    ck_assert_mem_eq(text, "a\0b", 4);
    ck_assert_uint_eq(buffer.len, 0);
    ck_assert_ptr_eq(talloc_parent(text), ctx);
    ik_buffer_append_text(&buffer, "again");
    char *taken = ik_buffer_take(heir, &buffer);
    ck_assert_ptr_null(buffer.data);
    talloc_free(ctx);
    ck_assert_str_eq(taken, "again");
    talloc_free(heir);
}
END_TEST

START_TEST(nothing_is_an_empty_string)
{
    ik_buffer_t buffer;
    ik_buffer_init(&buffer, NULL, 100);
    char *text = ik_buffer_finish(&buffer);
    ck_assert_str_eq(text, "");
    talloc_free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("buffer");
    TCase *tests = tcase_create("buffer");
    tcase_add_test(tests, appends_and_terminates);
    tcase_add_test(tests, grows_over_every_size);
    tcase_add_test(tests, drops_and_counts_what_exceeds_the_maximum);
    tcase_add_test(tests, reserve_gives_room_to_write);
    tcase_add_test(tests, reset_frees_and_keeps_the_maximum);
    tcase_add_test(tests, larger_than_talloc_allows);
    tcase_add_test(tests, the_bytes_can_be_had);
    tcase_add_test(tests, nothing_is_an_empty_string);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
