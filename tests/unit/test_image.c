#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/image.h"
#include "suite.h"

typedef struct {
    const char *base64;
    ik_image_kind_t kind;
    uint32_t width;
    uint32_t height;
    bool animated;
} sample_t;

/* The smallest images of each kind: png; gif of one and of two frames; baseline jpeg with a fill
 * byte, progressive jpeg; webp lossless, lossy, extended. */
static const sample_t samples[] = {
    {"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+"
     "M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
     IK_IMAGE_PNG, 1, 1, false},
    {"R0lGODlhAwAEAIAAAAAAAP///yH5BAAKAAAALAAAAAABAAEAAAICRAEAOw==", IK_IMAGE_GIF, 3, 4, false},
    {"R0lGODlhLAEBAIAAAAAAAP///yH/C05FVFNDQVBFMi4wAwEAAAAh+QQACgAAACwAAAAAAQABAAAC"
     "AkQBACH5BAAKAAAALAAAAAABAAEAAAICRAEAOw==",
     IK_IMAGE_GIF, 300, 1, true},
    {"/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB"
     "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQH//8AACwgACQAHAQERAP/EABQAAQAAAAAA"
     "AAAAAAAAAAAAAAD/2gAIAQEAAD8Af//Z",
     IK_IMAGE_JPEG, 7, 9, false},
    {"/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB"
     "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQH/wgALCAAJAAcBAREA/8QAFAABAAAAAAAA"
     "AAAAAAAAAAAAAP/aAAgBAQAAPwB//9k=",
     IK_IMAGE_JPEG, 7, 9, false},
    {"UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==", IK_IMAGE_WEBP, 1, 1, false},
    {"UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAgA0JaQAA3AA/vuUAAA=", IK_IMAGE_WEBP, 1, 1, false},
    {"UklGRiwAAABXRUJQVlA4WAoAAAAAAAAAzwcAKwEAVlA4TA4AAAAvAAAAEAcQERGIiP4HAA==", IK_IMAGE_WEBP,
     2000, 300, false},
};
enum { SAMPLES = sizeof(samples) / sizeof(samples[0]) };

static ik_buffer_t bytes;

static void set_up(void)
{
    ik_buffer_init(&bytes, NULL, IK_BUFFER_UNLIMITED);
}

static void tear_down(void)
{
    ik_buffer_reset(&bytes);
}

static const sample_t *load(int index)
{
    ck_assert(
        ik_base64_append_decoded(&bytes, samples[index].base64, strlen(samples[index].base64)));
    return &samples[index];
}

START_TEST(kind_and_size_are_those_of_the_content)
{
    ik_image_t image;
    const sample_t *sample = load(_i);
    ck_assert(ik_image_parse(bytes.data, bytes.len, &image));
    ck_assert_int_eq(image.kind, sample->kind);
    ck_assert_uint_eq(image.width, sample->width);
    ck_assert_uint_eq(image.height, sample->height);
    ck_assert_int_eq(image.animated, sample->animated);
    res_t checked = ik_image_check(bytes.data, bytes.len, bytes.len, &image);
    ck_assert_msg(is_ok(&checked), "%s", checked.message);
}
END_TEST

/* A copy of its own length, so that a sanitizer sees each byte read beyond the end. */
START_TEST(truncated_at_every_byte)
{
    ik_image_t image;
    const sample_t *sample = load(_i);
    for (size_t len = 0; len < bytes.len; len++) {
        char *part = malloc(len + 1);
        memcpy(part, bytes.data, len);
        char *exact = realloc(part, len == 0 ? 1 : len);
        bool parsed = ik_image_parse(exact, len, &image);
        if (parsed) {
            ck_assert_uint_eq(image.width, sample->width);
            ck_assert_uint_eq(image.height, sample->height);
        } else {
            ck_assert_int_eq(image.kind, IK_IMAGE_NONE);
        }
        ck_assert_msg(!parsed || len >= 13, "a header of %zu bytes", len);
        res_t checked = ik_image_check(exact, len, len, &image);
        ck_assert(parsed || is_err(&checked));
        /* these say how long they are */
        ck_assert(is_err(&checked) || sample->kind == IK_IMAGE_JPEG ||
                  sample->kind == IK_IMAGE_GIF);
        free(exact);
    }
}
END_TEST

/* Every byte of the header changed to several values. */
START_TEST(damaged_at_every_byte)
{
    ik_image_t image;
    static const char values[] = {0, 1, 0x7f, (char)0x80, (char)0xff};
    load(_i);
    for (size_t at = 0; at < bytes.len && at < 2000; at++) {
        for (size_t v = 0; v < sizeof(values); v++) {
            char before = bytes.data[at];
            bytes.data[at] = values[v];
            bool parsed = ik_image_parse(bytes.data, bytes.len, &image);
            ck_assert(!parsed || (image.width > 0 && image.height > 0));
            bytes.data[at] = before;
        }
    }
}
END_TEST

START_TEST(other_files_are_no_images)
{
    static const struct {
        const char *text;
        size_t len;
    } others[] = {
        {"", 0},
        {"x", 1},
        {"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1\" height=\"1\"/>", 57},
        {"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\n", 36},
        {"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\1\0\0\0\1\0\0\0\1\0\x18\0", 30},
        {"II*\0\x08\0\0\0\0\0\0\0\0\0\0\0", 16},
        {"\0\0\0\x18"
         "ftypheic\0\0\0\0mif1heic",
         24},
        {"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\0\0\0\0\0\0\0\0", 36},
        {"\xff\xd8\xff\xd9", 4},
        {"GIF88a\1\0\1\0\0\0\0;", 14},
        {"\x89PNG\r\n\x1a\n\0\0\0\xdIDAT\0\0\0\1\0\0\0\1\x8\2\0\0\0\0\0\0\0", 33},
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        ik_image_t image;
        ck_assert_msg(!ik_image_parse(others[i].text, others[i].len, &image), "case %zu", i);
        res_t checked = ik_image_check(others[i].text, others[i].len, others[i].len, &image);
        ck_assert_int_eq(checked.code, IK_ERR_INVALID);
    }
}
END_TEST

START_TEST(an_image_without_pixels_is_none)
{
    ik_image_t image;
    load(0);
    memset(bytes.data + 16, 0, 4);
    ck_assert(!ik_image_parse(bytes.data, bytes.len, &image));
}
END_TEST

static res_t check_png(uint32_t width, uint32_t height, size_t total)
{
    ik_image_t image;
    load(0);
    for (size_t i = 0; i < 4; i++) {
        bytes.data[16 + i] = (char)(width >> (24 - 8 * i));
        bytes.data[20 + i] = (char)(height >> (24 - 8 * i));
    }
    return ik_image_check(bytes.data, bytes.len, total, &image);
}

START_TEST(limits_are_exact_and_errors_have_the_numbers)
{
    res_t checked = check_png(2000, 2000, 3932160);
    ck_assert_msg(is_ok(&checked), "%s", checked.message);
    checked = check_png(2001, 5, 100);
    ck_assert_int_eq(checked.code, IK_ERR_LIMIT);
    ck_assert_str_eq(checked.message, "2001x5 pixels; at most 2000x2000 are accepted");
    checked = check_png(5, 8001, 100);
    ck_assert_str_eq(checked.message, "5x8001 pixels; at most 2000x2000 are accepted");
    checked = check_png(0xffffffff, 0xffffffff, 100);
    ck_assert_str_eq(checked.message,
                     "4294967295x4294967295 pixels; at most 2000x2000 are accepted");
    checked = check_png(5, 5, 3932161);
    ck_assert_int_eq(checked.code, IK_ERR_LIMIT);
    ck_assert_str_eq(checked.message, "3932161 bytes (5242884 in base64); at most 3932160 (5242880 "
                                      "in base64) are accepted");
}
END_TEST

START_TEST(base64_lengths)
{
    ck_assert_uint_eq(ik_image_base64_length(0), 0);
    ck_assert_uint_eq(ik_image_base64_length(1), 4);
    ck_assert_uint_eq(ik_image_base64_length(3), 4);
    ck_assert_uint_eq(ik_image_base64_length(70), 96);
    ck_assert_uint_eq(ik_image_base64_length(IK_IMAGE_BYTES_MAX), IK_IMAGE_BASE64_MAX);
}
END_TEST

START_TEST(media_types)
{
    ck_assert_str_eq(ik_image_media_type(IK_IMAGE_JPEG), "image/jpeg");
    ck_assert_int_eq(ik_image_kind_of("image/webp"), IK_IMAGE_WEBP);
    ck_assert_int_eq(ik_image_kind_of("image/jpg"), IK_IMAGE_NONE);
    ck_assert_ptr_null(ik_image_media_type(IK_IMAGE_NONE));
}
END_TEST

/* Sub-blocks and chunks that claim any length must end. */
START_TEST(lengths_that_lead_nowhere)
{
    ik_image_t image;
    char gif[64] = "GIF89a\1\0\1\0\xff\0\0";
    memset(gif + 13, 0xff, sizeof(gif) - 13);
    ck_assert(ik_image_parse(gif, sizeof(gif), &image));
    char jpeg[64] = "\xff\xd8\xff\xe0";
    ck_assert(!ik_image_parse(jpeg, sizeof(jpeg), &image)); /* a segment of length 0 */
    memset(jpeg + 2, 0xff, sizeof(jpeg) - 2);
    ck_assert(!ik_image_parse(jpeg, sizeof(jpeg), &image)); /* fill bytes to the end */
}
END_TEST

/* Chunks must lead to the last one: its name is in the 8 bytes before the end. */
START_TEST(a_png_needs_its_last_chunk)
{
    ik_image_t image;
    load(0);
    for (size_t i = 0; i < 4; i++) {
        static const char values[] = {0, ',', 'A', 'z', (char)0xff};
        for (size_t v = 0; v < sizeof(values); v++) {
            char *name = bytes.data + bytes.len - 8;
            char before = name[i];
            name[i] = values[v];
            res_t checked = ik_image_check(bytes.data, bytes.len, bytes.len, &image);
            ck_assert_int_eq(checked.code, IK_ERR_INVALID);
            name[i] = before;
        }
    }
    res_t checked = ik_image_check(bytes.data, bytes.len, bytes.len, &image);
    ck_assert(is_ok(&checked));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("image");
    TCase *tests = tcase_create("image");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, kind_and_size_are_those_of_the_content, 0, SAMPLES);
    tcase_add_loop_test(tests, truncated_at_every_byte, 0, SAMPLES);
    tcase_add_loop_test(tests, damaged_at_every_byte, 0, SAMPLES);
    tcase_add_test(tests, other_files_are_no_images);
    tcase_add_test(tests, an_image_without_pixels_is_none);
    tcase_add_test(tests, limits_are_exact_and_errors_have_the_numbers);
    tcase_add_test(tests, base64_lengths);
    tcase_add_test(tests, media_types);
    tcase_add_test(tests, lengths_that_lead_nowhere);
    tcase_add_test(tests, a_png_needs_its_last_chunk);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
