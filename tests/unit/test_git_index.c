/* The index of a git repository: what is in it, and what a damaged one does. */
#include <check.h>
#include <sha1.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "checkpoint/git_index.h"
#include "suite.h"

enum { SHA1_SIZE = 20 };

static void *ctx;

static void set_up(void)
{
    ctx = talloc_new(NULL);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static void put32(ik_buffer_t *out, uint32_t number)
{
    for (int shift = 24; shift >= 0; shift -= 8) {
        ik_buffer_append_byte(out, (char)(number >> shift));
    }
}

static void put_head(ik_buffer_t *out, uint32_t version, uint32_t count)
{
    ik_buffer_init(out, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(out, "DIRC");
    put32(out, version);
    put32(out, count);
}

/* An entry up to its path: ctime 1.2, mtime 3.4, device 5, inode 6, the owner 7:8, size 9. */
static void put_stat(ik_buffer_t *out, uint32_t mode, char object, unsigned flags)
{
    static const uint32_t numbers[] = {1, 2, 3, 4, 5, 6};
    for (size_t i = 0; i < 6; i++) {
        put32(out, numbers[i]);
    }
    put32(out, mode);
    put32(out, 7);
    put32(out, 8);
    put32(out, 9);
    for (int i = 0; i < SHA1_SIZE; i++) {
        ik_buffer_append_byte(out, object);
    }
    ik_buffer_append_byte(out, (char)(flags >> 8));
    ik_buffer_append_byte(out, (char)flags);
}

static void put_entry(ik_buffer_t *out, const char *path, char object, unsigned flags)
{
    size_t start = out->len;
    put_stat(out, 0100644, object, flags);
    if ((flags & 0x4000) != 0) {
        ik_buffer_append(out, "\0\0", 2);
    }
    ik_buffer_append_text(out, path);
    do {
        ik_buffer_append_byte(out, '\0');
    } while ((out->len - start) % 8 != 0);
}

/* Version 4: remove bytes from the end of the last path, then append. */
static void put_short_entry(ik_buffer_t *out, char removed, const char *path, char object)
{
    put_stat(out, 0100755, object, 0);
    ik_buffer_append_byte(out, removed);
    ik_buffer_append(out, path, strlen(path) + 1);
}

static ik_git_index_t *parse(const char *bytes, size_t len)
{
    const char *shared;
    char *exact = ik_alloc_array(ctx, 1, len + SHA1_SIZE, "exact"); /* for a look beyond its end */
    memcpy(exact, bytes, len);
    memset(exact + len, 0, SHA1_SIZE);
    ik_git_index_t *index = ik_git_index_parse(ctx, exact, len + SHA1_SIZE, SHA1_SIZE, &shared);
    if (index != NULL) {
        for (size_t i = 0; i < index->count; i++) {
            ck_assert_uint_eq(strlen(index->entries[i].path), index->entries[i].len);
            ck_assert_int_ge(index->entries[i].object[SHA1_SIZE - 1], 0);
        }
    }
    return index;
}

START_TEST(test_entries)
{
    ik_buffer_t bytes;
    put_head(&bytes, 2, 3);
    put_entry(&bytes, "a", 'x', 1);
    put_entry(&bytes, "sub/b", 'y', 5);
    put_entry(&bytes, "sub/conflict", 'z', 0x2000 | 12);
    ik_git_index_t *index = parse(bytes.data, bytes.len);
    ck_assert_ptr_nonnull(index);
    ck_assert_uint_eq(index->count, 3);
    const ik_git_index_entry_t *entry =
        &index->entries[ik_git_index_lower_bound(index, "sub/b", 5)];
    ck_assert_str_eq(entry->path, "sub/b");
    ck_assert(entry->usable);
    ck_assert_int_eq(entry->object[0], 'y');
    ck_assert_int_eq(entry->ctime_ns, 1000000002);
    ck_assert_int_eq(entry->mtime_ns, 3000000004);
    ck_assert_uint_eq(entry->inode, 6);
    ck_assert_uint_eq(entry->size, 9);
    ck_assert(!index->entries[ik_git_index_lower_bound(index, "sub/conflict", 12)].usable);
    ck_assert(ik_git_index_tracks(index, "sub/conflict", 12));
    ck_assert(ik_git_index_tracks(index, "sub/", 4));
    ck_assert(!ik_git_index_tracks(index, "su/", 3));
    ck_assert(!ik_git_index_tracks(index, "sub", 3));
    ck_assert(!ik_git_index_tracks(index, "b", 1));
}
END_TEST

START_TEST(test_version_4)
{
    ik_buffer_t bytes;
    put_head(&bytes, 4, 3);
    put_short_entry(&bytes, 0, "folder/one", 'x');
    put_short_entry(&bytes, 3, "two", 'y');
    put_short_entry(&bytes, 10, "z", 'z');
    ik_git_index_t *index = parse(bytes.data, bytes.len);
    ck_assert_ptr_nonnull(index);
    ck_assert_str_eq(index->entries[1].path, "folder/two");
    ck_assert_str_eq(index->entries[2].path, "z");
}
END_TEST

START_TEST(test_clean)
{
    ik_buffer_t bytes;
    put_head(&bytes, 2, 1);
    put_entry(&bytes, "a", 'x', 1);
    const ik_git_index_entry_t *entry = &parse(bytes.data, bytes.len)->entries[0];
    struct stat st = {.st_mode = 0100644, .st_ino = 6, .st_uid = 7, .st_gid = 8, .st_size = 9};
    st.st_ctim = (struct timespec){1, 2};
    st.st_mtim = (struct timespec){3, 4};
    int64_t later = INT64_C(4000000000);
    ck_assert(ik_git_index_is_clean(entry, &st, later));
    /* The file might have changed after git looked, in the same tick of the clock. */
    ck_assert(!ik_git_index_is_clean(entry, &st, 3000000004));
    ck_assert(!ik_git_index_is_clean(entry, &st, 3000000005));
    struct stat other = st;
    other.st_mtim.tv_nsec++;
    ck_assert(!ik_git_index_is_clean(entry, &other, later));
    other = st;
    other.st_ctim.tv_nsec++;
    ck_assert(!ik_git_index_is_clean(entry, &other, later));
    other = st;
    other.st_size++;
    ck_assert(!ik_git_index_is_clean(entry, &other, later));
    other = st;
    other.st_ino++;
    ck_assert(!ik_git_index_is_clean(entry, &other, later));
    other = st;
    other.st_mode = 0120777;
    ck_assert(!ik_git_index_is_clean(entry, &other, later));
    other = st;
    other.st_size += INT64_C(1) << 32;
    ck_assert(!ik_git_index_is_clean(entry, &other, later));
}
END_TEST

START_TEST(test_extensions)
{
    ik_buffer_t bytes;
    put_head(&bytes, 2, 1);
    put_entry(&bytes, "a", 'x', 1);
    size_t entries = bytes.len;
    ik_buffer_append_text(&bytes, "TREE");
    put32(&bytes, 2);
    ik_buffer_append_text(&bytes, "xx");
    ck_assert(!parse(bytes.data, bytes.len)->names_only);
    bytes.len = entries;
    ik_buffer_append_text(&bytes, "link");
    put32(&bytes, SHA1_SIZE);
    ik_buffer_append_text(&bytes, "\x12"
                                  "234567890123456789\xef");
    const char *shared;
    ik_buffer_append(&bytes, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", SHA1_SIZE);
    ik_git_index_t *index = ik_git_index_parse(ctx, bytes.data, bytes.len, SHA1_SIZE, &shared);
    ck_assert(index->names_only);
    ck_assert_str_eq(shared, "12323334353637383930313233343536373839ef");
}
END_TEST

/* Every beginning of an index, and every index with one byte changed. */
START_TEST(test_damage)
{
    ik_buffer_t bytes;
    for (uint32_t version = 2; version <= 4; version++) {
        put_head(&bytes, version, 3);
        if (version == 4) {
            put_short_entry(&bytes, 0, "folder/one", 'x');
            put_short_entry(&bytes, 3, "two", 'y');
            put_short_entry(&bytes, 10, "z", 'z');
        } else {
            put_entry(&bytes, "a", 'x', 1);
            put_entry(&bytes, "sub/b", 'y', version == 3 ? 0x4005 : 5);
            put_entry(&bytes, "sub/c", 'z', 5);
        }
        ik_buffer_append_text(&bytes, "TREE");
        put32(&bytes, 2);
        ik_buffer_append_text(&bytes, "xx");
        ck_assert_ptr_nonnull(parse(bytes.data, bytes.len));
        for (size_t len = 0; len < bytes.len; len++) {
            parse(bytes.data, len);
        }
        for (size_t i = 0; i < bytes.len; i++) {
            char before = bytes.data[i];
            for (int bit = 0; bit < 8; bit++) {
                bytes.data[i] = (char)(before ^ 1 << bit);
                parse(bytes.data, bytes.len);
            }
            bytes.data[i] = before;
        }
    }
}
END_TEST

START_TEST(test_checksum)
{
    ik_buffer_t bytes;
    const char *shared;
    put_head(&bytes, 2, 1);
    put_entry(&bytes, "a", 'x', 1);
    size_t len = bytes.len;
    for (int i = 0; i < SHA1_SIZE; i++) {
        ik_buffer_append_byte(&bytes, 'c');
    }
    ik_git_index_t *index = ik_git_index_parse(ctx, bytes.data, bytes.len, SHA1_SIZE, &shared);
    ck_assert_uint_eq(index->count, 1);
    ck_assert(!ik_git_index_is_whole(index));
    SHA1_CTX hash;
    SHA1Init(&hash);
    SHA1Update(&hash, (const uint8_t *)bytes.data, len);
    SHA1Final((uint8_t *)bytes.data + len, &hash);
    ck_assert(!ik_git_index_is_whole(index)); /* it is computed once */
    index = ik_git_index_parse(ctx, bytes.data, bytes.len, SHA1_SIZE, &shared);
    ck_assert(ik_git_index_is_whole(index));
    /* Zeros stand for no checksum: index.skipHash. */
    memset(bytes.data + len, 0, SHA1_SIZE);
    index = ik_git_index_parse(ctx, bytes.data, bytes.len, SHA1_SIZE, &shared);
    ck_assert(ik_git_index_is_whole(index));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("git_index");
    TCase *cases = tcase_create("git_index");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, test_entries);
    tcase_add_test(cases, test_version_4);
    tcase_add_test(cases, test_clean);
    tcase_add_test(cases, test_extensions);
    tcase_add_test(cases, test_damage);
    tcase_add_test(cases, test_checksum);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
