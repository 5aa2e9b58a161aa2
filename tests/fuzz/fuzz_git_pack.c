/*
 * Packs and single objects of git. Input: a byte that chooses. 0: the bytes of an index of a pack,
 * in front of a pack with one object. 1: the bytes of a pack, with an index of one object at its
 * start; deflated parts are stored, so that what is in them can be reached. Otherwise: the bytes of
 * a single object.
 */
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "checkpoint/git_pack.h"
#include "folder.h"

enum { SHA1_SIZE = 20, SIZE_MAX_TRIED = 64 };

/* A blob "abc" as the first object of a pack, deflated without compression. */
static const unsigned char one_object[] = {
    'P',  'A',  'C',  'K',  0,   0,   0,   2,    0,    0,    0,    1, 0x33, 0x78, 0x01, 0x01,
    0x03, 0x00, 0xfc, 0xff, 'a', 'b', 'c', 0x02, 0x4d, 0x01, 0x27, 0, 0,    0,    0,    0,
    0,    0,    0,    0,    0,   0,   0,   0,    0,    0,    0,    0, 0,    0,    0,    0};

/* An index with one object of that name, at offset 12. */
static size_t make_list(unsigned char *out, const unsigned char *name)
{
    memcpy(out, "\377tOc\0\0\0\2", 8);
    size_t at = 8;
    for (unsigned first = 0; first < 256; first++, at += 4) {
        memset(out + at, 0, 4);
        out[at + 3] = first >= name[0];
    }
    memcpy(out + at, name, SHA1_SIZE);
    at += SHA1_SIZE;
    memset(out + at, 0, 8 + 2 * SHA1_SIZE);
    out[at + 7] = 12;
    return at + 8 + 2 * SHA1_SIZE;
}

static void read_pack(const void *ctx, const void *pack, size_t pack_len, const void *list,
                      size_t list_len)
{
    unsigned char name[SHA1_SIZE] = {'n'};
    folder_write(folder_path(ctx, "p.pack"), pack, pack_len);
    folder_write(folder_path(ctx, "p.idx"), list, list_len);
    int folder = open(folder_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ik_git_pack_t *opened = ik_git_pack_open(ctx, folder, "p", SHA1_SIZE);
    close(folder);
    uint64_t offset;
    if (opened == NULL || !ik_git_pack_find(opened, name, &offset)) {
        return;
    }
    uint64_t size = 0;
    bool measured = ik_git_pack_measure(opened, offset, &size);
    for (uint64_t tried = 0; tried < SIZE_MAX_TRIED; tried++) {
        ik_buffer_t out;
        ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
        if (ik_git_pack_read(opened, offset, tried, &out)) {
            REQUIRE(measured && size == tried && out.len == tried);
        } else {
            REQUIRE(out.len == 0);
        }
        ik_buffer_reset(&out);
    }
}

static void read_single(const void *ctx, const uint8_t *bytes, size_t len)
{
    int fd = ik_file_open_anonymous("single", true);
    REQUIRE(fd >= 0 && ik_file_write_all(fd, (const char *)bytes, len));
    uint64_t size = 0;
    lseek(fd, 0, SEEK_SET);
    bool measured = ik_git_pack_measure_single(fd, &size);
    for (uint64_t tried = 0; tried < SIZE_MAX_TRIED; tried++) {
        ik_buffer_t out;
        ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
        lseek(fd, 0, SEEK_SET);
        if (ik_git_pack_read_single(fd, tried, &out)) {
            REQUIRE(measured && size == tried && out.len == tried);
        }
        ik_buffer_reset(&out);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0) {
        return 0;
    }
    void *ctx = talloc_new(NULL);
    if (bytes[0] == 0) {
        read_pack(ctx, one_object, sizeof(one_object), bytes + 1, len - 1);
    } else if (bytes[0] == 1) {
        unsigned char name[SHA1_SIZE] = {'n'};
        unsigned char list[4096];
        read_pack(ctx, bytes + 1, len - 1, list, make_list(list, name));
    } else {
        read_single(ctx, bytes + 1, len - 1);
    }
    talloc_free(ctx);
    return 0;
}
