/* Packs and single objects of git: deltas in every form, and what damaged ones do. */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/file.h"
#include "checkpoint/git_pack.h"
#include "scratch.h"

enum { SHA1_SIZE = 20, OBJECTS = 3 };

static const char base_text[] = "0123456789abcdefghijklmnopqrstuvwxyz, the base of two deltas\n";
static const char offset_text[] = "abcdefghij, by offset\n";
static const char name_text[] = "xyz0123456789";

static void *ctx;
static ik_buffer_t pack;
static ik_buffer_t list;
static uint32_t offsets[OBJECTS];

static void put32(ik_buffer_t *out, uint32_t number)
{
    for (int shift = 24; shift >= 0; shift -= 8) {
        ik_buffer_append_byte(out, (char)(number >> shift));
    }
}

static void put_zeros(ik_buffer_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ik_buffer_append_byte(out, '\0');
    }
}

static void put_deflated(ik_buffer_t *out, const void *bytes, size_t len)
{
    unsigned char packed[512];
    uLong packed_len = sizeof(packed);
    ck_assert_int_eq(compress2(packed, &packed_len, bytes, len, 9), Z_OK);
    ik_buffer_append(out, (const char *)packed, packed_len);
}

/* The first bytes of an object: its type and size. */
static void put_object_head(ik_buffer_t *out, unsigned type, size_t size)
{
    ik_buffer_append_byte(out, (char)((size > 15 ? 0x80 : 0) | type << 4 | (size & 15)));
    if (size > 15) {
        ik_buffer_append_byte(out, (char)(size >> 4));
    }
}

/* A delta: copy a part of the base, then insert. */
static void put_delta(ik_buffer_t *out, const char *result, unsigned from, unsigned len,
                      const char *insert)
{
    ik_buffer_append_byte(out, (char)(sizeof(base_text) - 1));
    ik_buffer_append_byte(out, (char)strlen(result));
    ik_buffer_append_byte(out, (char)(0x80 | 0x01 | 0x10));
    ik_buffer_append_byte(out, (char)from);
    ik_buffer_append_byte(out, (char)len);
    if (insert[0] != '\0') {
        ik_buffer_append_byte(out, (char)strlen(insert));
        ik_buffer_append_text(out, insert);
    }
}

static void fill_name(unsigned char *name, unsigned number)
{
    memset(name, 0, SHA1_SIZE);
    name[0] = (unsigned char)(number * 100);
    name[SHA1_SIZE - 1] = 'n';
}

/* Three objects: the base, a delta by offset, a delta by name. */
static void make_pack(void)
{
    unsigned char name[SHA1_SIZE];
    ik_buffer_t delta;
    ik_buffer_init(&pack, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&pack, "PACK");
    put32(&pack, 2);
    put32(&pack, OBJECTS);
    offsets[0] = (uint32_t)pack.len;
    put_object_head(&pack, 3, strlen(base_text));
    put_deflated(&pack, base_text, strlen(base_text));

    offsets[1] = (uint32_t)pack.len;
    ik_buffer_init(&delta, ctx, IK_BUFFER_UNLIMITED);
    put_delta(&delta, offset_text, 10, 10, ", by offset\n");
    put_object_head(&pack, 6, delta.len);
    ik_buffer_append_byte(&pack, (char)(offsets[1] - offsets[0]));
    put_deflated(&pack, delta.data, delta.len);

    offsets[2] = (uint32_t)pack.len;
    ik_buffer_reset(&delta);
    ik_buffer_append_byte(&delta, (char)(sizeof(base_text) - 1));
    ik_buffer_append_byte(&delta, (char)strlen(name_text));
    ik_buffer_append_text(&delta, "\3xyz");
    ik_buffer_append_byte(&delta, (char)(0x80 | 0x10)); /* from the start */
    ik_buffer_append_byte(&delta, 10);
    put_object_head(&pack, 7, delta.len);
    fill_name(name, 0);
    ik_buffer_append(&pack, (const char *)name, SHA1_SIZE);
    put_deflated(&pack, delta.data, delta.len);
    put_zeros(&pack, SHA1_SIZE);
}

static void make_list(int version)
{
    unsigned char name[SHA1_SIZE];
    ik_buffer_init(&list, ctx, IK_BUFFER_UNLIMITED);
    if (version == 2) {
        ik_buffer_append(&list, "\377tOc", 4);
        put32(&list, 2);
    }
    for (unsigned first = 0; first < 256; first++) {
        put32(&list, first < 100 ? 1 : first < 200 ? 2 : 3);
    }
    for (unsigned i = 0; i < OBJECTS; i++) {
        fill_name(name, i);
        if (version == 1) {
            put32(&list, offsets[i]);
        }
        ik_buffer_append(&list, (const char *)name, SHA1_SIZE);
    }
    if (version == 2) {
        put_zeros(&list, OBJECTS * 4); /* checksums */
        put32(&list, offsets[0]);
        put32(&list, 0x80000000); /* in the table of large offsets */
        put32(&list, offsets[2]);
        put32(&list, 0);
        put32(&list, offsets[1]);
    }
    put_zeros(&list, 2 * SHA1_SIZE);
}

static void set_up(void)
{
    scratch_empty();
    ctx = talloc_new(NULL);
    make_pack();
    make_list(2);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

/* Reads all objects of a pack with these bytes; those that are read must be right. Returns how many
 * were. */
static int read_all(const char *pack_bytes, size_t pack_len, const char *list_bytes,
                    size_t list_len)
{
    static const char *const texts[] = {base_text, offset_text, name_text};
    res_t result = ik_file_write_private_fast(scratch_path("p.pack"), pack_bytes, pack_len);
    ck_assert(is_ok(&result));
    result = ik_file_write_private_fast(scratch_path("p.idx"), list_bytes, list_len);
    ck_assert(is_ok(&result));
    int folder = open(scratch_folder, O_RDONLY | O_DIRECTORY);
    ik_git_pack_t *opened = ik_git_pack_open(ctx, folder, "p", SHA1_SIZE);
    close(folder);
    int good = 0;
    for (unsigned i = 0; i < OBJECTS && opened != NULL; i++) {
        unsigned char name[SHA1_SIZE];
        uint64_t offset;
        uint64_t size;
        ik_buffer_t out;
        ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
        fill_name(name, i);
        if (ik_git_pack_find(opened, name, &offset)) {
            ik_git_pack_measure(opened, offset, &size);
            if (ik_git_pack_read(opened, offset, strlen(texts[i]), &out)) {
                ck_assert_uint_eq(out.len, strlen(texts[i]));
                good += memcmp(out.data, texts[i], out.len) == 0;
            }
        }
        ik_buffer_reset(&out);
    }
    talloc_free(opened);
    return good;
}

START_TEST(test_objects)
{
    ck_assert_int_eq(read_all(pack.data, pack.len, list.data, list.len), OBJECTS);
    make_list(1);
    ck_assert_int_eq(read_all(pack.data, pack.len, list.data, list.len), OBJECTS);
}
END_TEST

START_TEST(test_sizes)
{
    ck_assert_int_eq(read_all(pack.data, pack.len, list.data, list.len), OBJECTS);
    int folder = open(scratch_folder, O_RDONLY | O_DIRECTORY);
    ik_git_pack_t *opened = ik_git_pack_open(ctx, folder, "p", SHA1_SIZE);
    close(folder);
    uint64_t size;
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ck_assert(ik_git_pack_measure(opened, offsets[1], &size));
    ck_assert_uint_eq(size, strlen(offset_text));
    ck_assert(!ik_git_pack_read(opened, offsets[1], strlen(offset_text) - 1, &out));
    ck_assert(!ik_git_pack_read(opened, offsets[0], strlen(base_text) + 1, &out));
    ck_assert_uint_eq(out.len, 0);
}
END_TEST

START_TEST(test_truncated)
{
    for (size_t len = 0; len < pack.len; len++) {
        ck_assert_int_lt(read_all(pack.data, len, list.data, list.len), OBJECTS);
    }
    for (int version = 1; version <= 2; version++) {
        make_list(version);
        for (size_t len = 0; len < list.len; len++) {
            read_all(pack.data, pack.len, list.data, len);
        }
    }
}
END_TEST

START_TEST(test_damaged)
{
    for (size_t i = 0; i < pack.len; i++) {
        pack.data[i] ^= 0x55;
        read_all(pack.data, pack.len, list.data, list.len);
        pack.data[i] ^= 0x55;
    }
    for (size_t i = 0; i < list.len; i++) {
        list.data[i] ^= 0x55;
        read_all(pack.data, pack.len, list.data, list.len);
        list.data[i] ^= 0x55;
    }
}
END_TEST

/* A delta by name whose base is itself. */
START_TEST(test_circle)
{
    unsigned char name[SHA1_SIZE];
    fill_name(name, 2);
    size_t head = ((unsigned char)pack.data[offsets[2]] & 0x80) != 0 ? 2 : 1;
    memcpy(pack.data + offsets[2] + head, name, SHA1_SIZE);
    ck_assert_int_eq(read_all(pack.data, pack.len, list.data, list.len), OBJECTS - 1);
}
END_TEST

static int open_single(const char *bytes, size_t len)
{
    res_t result = ik_file_write_private_fast(scratch_path("single"), bytes, len);
    ck_assert(is_ok(&result));
    return open(scratch_path("single"), O_RDONLY);
}

START_TEST(test_single)
{
    ik_buffer_t file;
    ik_buffer_init(&file, ctx, IK_BUFFER_UNLIMITED);
    put_deflated(&file, "blob 7\0content", 14);
    for (size_t len = 0; len <= file.len; len++) {
        ik_buffer_t out;
        uint64_t size = 0;
        ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
        int fd = open_single(file.data, len);
        bool good = ik_git_pack_read_single(fd, 7, &out);
        lseek(fd, 0, SEEK_SET);
        ck_assert(!good || (len >= file.len - 4 && memcmp(out.data, "content", 7) == 0));
        if (ik_git_pack_measure_single(fd, &size)) {
            ck_assert_uint_eq(size, 7);
        }
        close(fd);
        ck_assert(good || len < file.len);
    }
}
END_TEST

START_TEST(test_single_of_another_kind)
{
    static const struct {
        const char *bytes;
        size_t len;
    } wrong[] = {
        {"tree 7\0content", 14},  {"blob 8\0content", 14}, {"blob 6\0content", 14},
        {"blob -7\0content", 15}, {"blob 7content", 13},   {"blob \0content", 13},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        ik_buffer_t file;
        ik_buffer_t out;
        ik_buffer_init(&file, ctx, IK_BUFFER_UNLIMITED);
        ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
        put_deflated(&file, wrong[i].bytes, wrong[i].len);
        int fd = open_single(file.data, file.len);
        ck_assert(!ik_git_pack_read_single(fd, 7, &out));
        close(fd);
    }
}
END_TEST

START_TEST(test_check)
{
    static const unsigned char name[] = {0x6b, 0x58, 0x4e, 0x8e, 0xce, 0x56, 0x2e,
                                         0xbf, 0xfc, 0x15, 0xd3, 0x88, 0x08, 0xcd,
                                         0x6b, 0x98, 0xfc, 0x3d, 0x97, 0xea};
    ck_assert(ik_git_pack_check("content", 7, name, SHA1_SIZE));
    ck_assert(!ik_git_pack_check("contenu", 7, name, SHA1_SIZE));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("git_pack");
    TCase *cases = tcase_create("git_pack");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, test_objects);
    tcase_add_test(cases, test_sizes);
    tcase_add_test(cases, test_truncated);
    tcase_add_test(cases, test_damaged);
    tcase_add_test(cases, test_circle);
    tcase_add_test(cases, test_single);
    tcase_add_test(cases, test_single_of_another_kind);
    tcase_add_test(cases, test_check);
    suite_add_tcase(suite, cases);
    return scratch_run(suite);
}
