/*
 * The format is described in git's Documentation/gitformat-index.
 *
 * Parsing does not compare the checksum, as git does not: that takes longer than the rest. Git
 * replaces the file as a whole, so a reader never sees half of one. In a damaged index, a wrong
 * status of an entry makes the file be read, and so does the name of an object that does not exist.
 * Entries that are cut off or out of order make the whole index be left out.
 */
#include "checkpoint/git_index.h"

#include <sha1.h>
#include <sha2.h>
#include <string.h>

#include "base/alloc.h"

enum {
    HEADER = 12,
    STAT_SIZE = 40,
    FLAG_EXTENDED = 0x4000,
    FLAG_STAGE = 0x3000,
    EXTENDED_INTENT_TO_ADD = 0x2000,
    ENTRIES_MAX = 1 << 22,
    /* A file that changed within this time before the index was written might have changed again
     * without another time: clocks of file systems tick every 10 ms at worst. */
    RACY_NS = 10 * 1000 * 1000,
};

static uint32_t get32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int64_t get_time(const unsigned char *at)
{
    return (int64_t)get32(at) * 1000000000 + get32(at + 4);
}

typedef struct {
    const unsigned char *at;
    const unsigned char *end;
    const unsigned char *start;
    uint32_t version;
    size_t object_size;
} reader_t;

/* Version 4: the number of bytes to remove from the last path, and what follows. */
static bool read_short_path(reader_t *in, const void *ctx, const ik_git_index_entry_t *last,
                            ik_git_index_entry_t *entry)
{
    uint64_t remove = 0;
    bool first = true;
    unsigned char byte;
    do {
        if (in->at >= in->end || remove > UINT32_MAX) {
            return false;
        }
        byte = *in->at++;
        remove = ((first ? 0 : remove + 1) << 7) | (byte & 0x7f);
        first = false;
    } while (byte >= 0x80);
    const unsigned char *zero = memchr(in->at, '\0', (size_t)(in->end - in->at));
    uint32_t last_len = last->len;
    if (zero == NULL || remove > last_len) {
        return false;
    }
    size_t kept = last_len - remove;
    size_t more = (size_t)(zero - in->at);
    if (kept + more > UINT16_MAX) {
        return false; /* longer than any path can be */
    }
    char *path = ik_alloc_named(ctx, kept + more + 1, "path");
    if (kept > 0) {
        memcpy(path, last->path, kept);
    }
    memcpy(path + kept, in->at, more);
    entry->path = path;
    entry->len = (uint32_t)(kept + more);
    in->at = zero + 1;
    return true;
}

static bool read_path(reader_t *in, const unsigned char *start, ik_git_index_entry_t *entry)
{
    const unsigned char *zero = memchr(in->at, '\0', (size_t)(in->end - in->at));
    if (zero == NULL || zero - in->at > UINT16_MAX) {
        return false;
    }
    entry->path = (const char *)in->at;
    entry->len = (uint32_t)(zero - in->at);
    /* Padded with one to eight zeros to a multiple of eight. */
    size_t size = ((size_t)(zero - start) + 8) & ~(size_t)7;
    if (size > (size_t)(in->end - start)) {
        return false;
    }
    in->at = start + size;
    return true;
}

static bool read_entry(reader_t *in, const void *ctx, const ik_git_index_entry_t *last,
                       ik_git_index_entry_t *entry)
{
    const unsigned char *start = in->at;
    size_t fixed = STAT_SIZE + in->object_size + 2;
    if ((size_t)(in->end - start) < fixed) {
        return false;
    }
    entry->ctime_ns = get_time(start);
    entry->mtime_ns = get_time(start + 8);
    entry->inode = get32(start + 20);
    entry->mode = get32(start + 24);
    entry->uid = get32(start + 28);
    entry->gid = get32(start + 32);
    entry->size = get32(start + 36);
    entry->object = start + STAT_SIZE;
    uint32_t flags = (uint32_t)start[fixed - 2] << 8 | start[fixed - 1];
    uint32_t extended = 0;
    in->at += fixed;
    if ((flags & FLAG_EXTENDED) != 0) {
        if (in->version < 3 || in->end - in->at < 2) {
            return false;
        }
        extended = (uint32_t)in->at[0] << 8 | in->at[1];
        in->at += 2;
    }
    uint32_t kind = entry->mode & S_IFMT;
    entry->usable = (flags & FLAG_STAGE) == 0 && (extended & EXTENDED_INTENT_TO_ADD) == 0 &&
                    (kind == S_IFREG || kind == S_IFLNK);
    return in->version == 4 ? read_short_path(in, ctx, last, entry) : read_path(in, start, entry);
}

/* Sets names_only and *shared from the extensions. Those whose name begins with a capital letter
 * can be skipped. */
static bool read_extensions(reader_t *in, const void *ctx, ik_git_index_t *index,
                            const char **shared)
{
    while (in->end - in->at >= 8) {
        const unsigned char *name = in->at;
        uint32_t size = get32(in->at + 4);
        in->at += 8;
        if (size > (size_t)(in->end - in->at)) {
            return false;
        }
        if (memcmp(name, "link", 4) == 0 && size >= in->object_size) {
            char *hex = ik_alloc_array(ctx, 1, 2 * in->object_size + 1, "hex");
            for (size_t i = 0; i < in->object_size; i++) {
                hex[2 * i] = "0123456789abcdef"[in->at[i] >> 4];
                hex[2 * i + 1] = "0123456789abcdef"[in->at[i] & 15];
            }
            *shared = hex;
        }
        /* The folders of a sparse index are entries like others here (sdir). */
        if ((name[0] < 'A' || name[0] > 'Z') && memcmp(name, "sdir", 4) != 0) {
            index->names_only = true;
        }
        in->at += size;
    }
    return in->at == in->end;
}

ik_git_index_t *ik_git_index_parse(const void *ctx, const char *bytes, size_t len,
                                   size_t object_size, const char **shared)
{
    *shared = NULL;
    if (len < HEADER + object_size || memcmp(bytes, "DIRC", 4) != 0) {
        return NULL;
    }
    const unsigned char *start = (const unsigned char *)bytes;
    reader_t in = {.start = start,
                   .at = start + HEADER,
                   .end = start + len - object_size,
                   .version = get32(start + 4),
                   .object_size = object_size};
    uint32_t count = get32(start + 8);
    if (in.version < 2 || in.version > 4 || count > ENTRIES_MAX ||
        count > (len - HEADER) / (STAT_SIZE + object_size + 2)) {
        return NULL;
    }
    ik_git_index_t *index = ik_new(ctx, ik_git_index_t);
    index->bytes = start;
    index->len = len;
    index->object_size = object_size;
    index->entries = ik_new_array(index, ik_git_index_entry_t, count);
    ik_git_index_entry_t last = {.path = ""};
    for (uint32_t i = 0; i < count; i++) {
        ik_git_index_entry_t *entry = &index->entries[index->count];
        if (!read_entry(&in, index, &last, entry) ||
            (entry->len > 0 && index->count > 0 && strcmp(entry[-1].path, entry->path) > 0)) {
            talloc_free(index);
            return NULL;
        }
        last = *entry;
        /* An entry of a split index that replaces one of the shared index has no name. */
        index->count += entry->len > 0;
    }
    if (!read_extensions(&in, index, index, shared)) {
        talloc_free(index);
        *shared = NULL;
        return NULL;
    }
    return index;
}

/* An index without a checksum (index.skipHash) has zeros there. */
static bool compare_checksum(const unsigned char *bytes, size_t len, size_t size)
{
    unsigned char found[32];
    static const unsigned char none[32];
    if (memcmp(bytes + len, none, size) == 0) {
        return true;
    }
    if (size == 20) {
        SHA1_CTX hash;
        SHA1Init(&hash);
        SHA1Update(&hash, bytes, len);
        SHA1Final(found, &hash);
    } else {
        SHA2_CTX hash;
        SHA256Init(&hash);
        SHA256Update(&hash, bytes, len);
        SHA256Final(found, &hash);
    }
    return memcmp(bytes + len, found, size) == 0;
}

bool ik_git_index_is_whole(ik_git_index_t *index)
{
    if (index->checksum == IK_GIT_CHECKSUM_UNKNOWN) {
        size_t size = index->object_size;
        index->checksum = compare_checksum(index->bytes, index->len - size, size)
                              ? IK_GIT_CHECKSUM_HOLDS
                              : IK_GIT_CHECKSUM_FAILS;
    }
    return index->checksum == IK_GIT_CHECKSUM_HOLDS;
}

static int compare(const ik_git_index_entry_t *entry, const char *path, size_t len)
{
    int order = memcmp(entry->path, path, entry->len < len ? entry->len : len);
    return order != 0 ? order : (entry->len > len) - (entry->len < len);
}

size_t ik_git_index_lower_bound(const ik_git_index_t *index, const char *path, size_t len)
{
    size_t low = 0;
    size_t high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&index->entries[middle], path, len) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

size_t ik_git_index_lower_bound_near(const ik_git_index_t *index, size_t last, const char *path,
                                     size_t len)
{
    enum { STEPS = 4 };
    if (last <= index->count && (last == 0 || compare(&index->entries[last - 1], path, len) < 0)) {
        for (size_t at = last; at < last + STEPS; at++) {
            if (at == index->count || compare(&index->entries[at], path, len) >= 0) {
                return at;
            }
        }
    }
    return ik_git_index_lower_bound(index, path, len);
}

bool ik_git_index_tracks(const ik_git_index_t *index, const char *path, size_t len)
{
    size_t at = ik_git_index_lower_bound(index, path, len);
    if (at == index->count || index->entries[at].len < len) {
        return false;
    }
    const ik_git_index_entry_t *entry = &index->entries[at];
    return memcmp(entry->path, path, len) == 0 && (path[len - 1] == '/' || entry->len == len);
}

/* The mode is compared as git does: the type, and whether the owner may execute it. */
bool ik_git_index_is_clean(const ik_git_index_entry_t *entry, const struct stat *st,
                           int64_t index_mtime_ns)
{
    int64_t mtime = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
    int64_t ctime = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
    return entry->usable && (entry->mode & S_IFMT) == (st->st_mode & S_IFMT) &&
           entry->mtime_ns == mtime && entry->ctime_ns == ctime &&
           entry->inode == (uint32_t)st->st_ino && entry->uid == (uint32_t)st->st_uid &&
           entry->gid == (uint32_t)st->st_gid && entry->size == (uint32_t)st->st_size &&
           st->st_size <= UINT32_MAX && entry->size != 0 && mtime < index_mtime_ns - RACY_NS &&
           ctime < index_mtime_ns - RACY_NS;
}
