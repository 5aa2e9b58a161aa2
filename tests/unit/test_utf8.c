#include <check.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "suite.h"

#define R "\xef\xbf\xbd"

/* A plain implementation to compare with. */
static size_t encode(uint32_t code, char *out)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

START_TEST(every_code_point_and_nothing_else_is_valid)
{
    for (uint32_t code = 0; code < 0x120000; code++) {
        char bytes[4];
        char ours[4];
        size_t len = encode(code, bytes);
        if (ik_utf8_encode(ours, code) != len || memcmp(ours, bytes, len) != 0) {
            ck_abort_msg("encoding of U+%04X", code);
        }
        bool surrogate = code >= 0xd800 && code <= 0xdfff;
        bool expected = !surrogate && code <= 0x10ffff;
        if (ik_utf8_valid(bytes, len) != expected) {
            ck_abort_msg("U+%04X", code);
        }
        bool valid;
        size_t step = ik_utf8_step(bytes, len, &valid);
        if (valid != expected || (expected && step != len)) {
            ck_abort_msg("step at U+%04X", code);
        }
    }
}
END_TEST

/* The maximal-subpart practice, including the examples of Unicode's tables 3-8 to 3-11. */
static const struct {
    const char *bytes;
    const char *clean;
} VECTORS[] = {
    {"", ""},
    {"plain", "plain"},
    {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
    {"\x80", R},
    {"\xff\xfe", R R},
    {"\xc0\xaf", R R},                        /* overlong slash */
    {"\xe0\x80\xaf", R R R},                  /* in three bytes */
    {"\xf0\x80\x80\xaf", R R R R},            /* in four bytes */
    {"\xc1\xbf", R R},                        /* overlong U+007F */
    {"\xe0\x9f\xbf", R R R},                  /* overlong U+07FF */
    {"\xf0\x8f\xbf\xbf", R R R R},            /* overlong U+FFFF */
    {"\xed\xa0\x80", R R R},                  /* surrogate */
    {"\xed\x9f\xbf", "\xed\x9f\xbf"},         /* the last before the surrogates */
    {"\xee\x80\x80", "\xee\x80\x80"},         /* the first after the surrogates */
    {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"}, /* U+10FFFF */
    {"\xf4\x90\x80\x80", R R R R},            /* U+110000 */
    {"\xf5\x80\x80\x80", R R R R},
    {"\xf8\x88\x80\x80\x80", R R R R R}, /* five bytes */
    {"\xe2\x82", R},                     /* cut short: one part */
    {"\xf0\x9f\x98", R},
    {"\xf0\x9f", R},
    {"\xf0", R},
    {"\xe2\x82"
     "A",
     R "A"},
    {"\xf0\x9f\x98"
     "A",
     R "A"},
    {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", R R R R "A"}, /* table 3-11 */
    {"a\xf1\x80\x80\xe1\x80\xc2"
     "b\x80"
     "c\x80\xbf"
     "d",
     "a" R R R "b" R "c" R R "d"},
    {"\xc3\xa9\xa9", "\xc3\xa9" R},
    {"12345678\xff"
     "12345678",
     "12345678" R "12345678"}, /* across the eight-byte stride */
    {"1234567\xe2\x82\xac"
     "1",
     "1234567\xe2\x82\xac"
     "1"},
};
enum { VECTOR_COUNT = sizeof(VECTORS) / sizeof(VECTORS[0]) };

START_TEST(known_vectors_are_cleaned)
{
    for (size_t i = 0; i < VECTOR_COUNT; i++) {
        ik_buffer_t buffer;
        ik_buffer_init(&buffer, NULL, IK_BUFFER_UNLIMITED);
        size_t len = strlen(VECTORS[i].bytes);
        ik_utf8_append_clean(&buffer, VECTORS[i].bytes, len);
        ck_assert_str_eq(buffer.data, VECTORS[i].clean);
        ck_assert(ik_utf8_valid(buffer.data, buffer.len));
        bool valid = strcmp(VECTORS[i].bytes, VECTORS[i].clean) == 0;
        ck_assert_msg(ik_utf8_valid(VECTORS[i].bytes, len) == valid, "vector %zu", i);
        ik_buffer_reset(&buffer);
    }
}
END_TEST

START_TEST(nul_bytes_are_characters)
{
    ck_assert(ik_utf8_valid("a\0b", 3));
    ik_buffer_t buffer;
    ik_buffer_init(&buffer, NULL, IK_BUFFER_UNLIMITED);
    ik_utf8_append_clean(&buffer, "a\0\xff", 3);
    ck_assert_uint_eq(buffer.len, 5);
    ck_assert_mem_eq(buffer.data, "a\0" R, 5);
    ik_buffer_reset(&buffer);
}
END_TEST

/* All four-byte strings of bytes at the edges of every range: the result is valid, valid text is
 * unchanged, and each step makes progress. */
START_TEST(strings_have_no_nul_bytes)
{
    ik_buffer_t buffer;
    ik_buffer_init(&buffer, NULL, 100);
    ik_utf8_append_string(&buffer, "\0a\xff\0\0b\0", 7);
    ck_assert_str_eq(buffer.data, "\xef\xbf\xbd"
                                  "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                                  "b\xef\xbf\xbd");
    ck_assert_uint_eq(strlen(buffer.data), buffer.len);
    ik_buffer_reset(&buffer);
}
END_TEST

START_TEST(edge_bytes_in_all_combinations)
{
    static const unsigned char edges[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
                                          0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee,
                                          0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff};
    enum { EDGES = sizeof(edges) };
    for (size_t n = 0; n < (size_t)EDGES * EDGES * EDGES * EDGES; n++) {
        char bytes[4];
        for (size_t i = 0, rest = n; i < 4; i++, rest /= EDGES) {
            bytes[i] = (char)edges[rest % EDGES];
        }
        size_t at = 0;
        bool all_valid = true;
        while (at < 4) {
            bool valid;
            size_t step = ik_utf8_step(bytes + at, 4 - at, &valid);
            if (step < 1 || step > 4 - at) {
                ck_abort_msg("step %zu at %zu of %zu", step, at, n);
            }
            all_valid = all_valid && valid;
            at += step;
        }
        if (all_valid != ik_utf8_valid(bytes, 4)) {
            ck_abort_msg("step and valid disagree on %zu", n);
        }
    }
}
END_TEST

START_TEST(cleaning_in_place_is_the_same_cleaning)
{
    static const char *const pieces[] = {
        "a", "\xc3\xa9", "\xff", "\xe2\x82", "\xf0\x9f\x98", "\xf0\x9f\x98\x80", "\x80", "bc"};
    enum { PIECES = sizeof(pieces) / sizeof(*pieces) };
    for (size_t n = 0; n < (size_t)PIECES * PIECES * PIECES * PIECES; n++) {
        ik_buffer_t in_place;
        ik_buffer_t copied;
        ik_buffer_init(&in_place, NULL, 1000);
        ik_buffer_init(&copied, NULL, 1000);
        for (size_t i = 0, rest = n; i < 4; i++, rest /= PIECES) {
            ik_buffer_append_text(&in_place, pieces[rest % PIECES]);
        }
        ik_utf8_append_clean(&copied, in_place.data, in_place.len);
        ik_utf8_clean(&in_place);
        ck_assert_uint_eq(in_place.len, copied.len);
        ck_assert_mem_eq(in_place.data, copied.data, copied.len + 1);
        ik_buffer_reset(&in_place);
        ik_buffer_reset(&copied);
    }
}
END_TEST

START_TEST(cuts_fall_between_characters)
{
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"; /* 1 2 3 4 1 */
    static const size_t cuts[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
    for (size_t max = 0; max < 12; max++) {
        ck_assert_uint_eq(ik_utf8_cut(text, 11, max), cuts[max]);
    }
    ck_assert_uint_eq(ik_utf8_cut(text, 11, 100), 11);
    static const size_t starts[] = {11, 10, 10, 10, 10, 6, 6, 6, 3, 3, 1, 0};
    for (size_t max = 0; max < 12; max++) {
        ck_assert_uint_eq(ik_utf8_cut_front(text, 11, max), starts[max]);
    }
    ck_assert_uint_eq(ik_utf8_cut("", 0, 0), 0);
    ck_assert_uint_eq(ik_utf8_cut_front("", 0, 0), 0);
}
END_TEST

/* A cut may fall between stray bytes: nothing is dropped for their sake. */
START_TEST(cuts_of_invalid_bytes_lose_nothing)
{
    ck_assert_uint_eq(ik_utf8_cut("\x80\x80\x80\x80\x80\x80", 6, 4), 4);
    ck_assert_uint_eq(ik_utf8_cut("a\x80\x80\x80", 4, 2), 2);
    ck_assert_uint_eq(ik_utf8_cut("\xc3\xa9\x80\x80", 4, 2), 2);
    ck_assert_uint_eq(ik_utf8_cut("\xc3\xa9\x80\x80", 4, 3), 3);
    ck_assert_uint_eq(ik_utf8_cut("\x80\x80", 2, 0), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("utf8");
    TCase *tests = tcase_create("utf8");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, every_code_point_and_nothing_else_is_valid);
    tcase_add_test(tests, known_vectors_are_cleaned);
    tcase_add_test(tests, nul_bytes_are_characters);
    tcase_add_test(tests, strings_have_no_nul_bytes);
    tcase_add_test(tests, edge_bytes_in_all_combinations);
    tcase_add_test(tests, cleaning_in_place_is_the_same_cleaning);
    tcase_add_test(tests, cuts_fall_between_characters);
    tcase_add_test(tests, cuts_of_invalid_bytes_lose_nothing);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
