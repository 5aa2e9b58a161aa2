/* The formats are described in git's Documentation/gitformat-pack. */
#include "checkpoint/git_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "checkpoint/git_hash.h"

enum {
    FANOUT = 256 * 4,
    CHUNK = 16 * 1024,
    DEPTH_MAX = 5000, /* git writes at most 4095 deltas in a row */
    HEAD_MAX = 64,    /* of a single object: "blob 123" */
};
#define BASE_MAX ((uint64_t)256 << 20) /* of an object that is only the base of a delta */
#define WORK_MAX ((uint64_t)8 << 30)   /* bytes made by all deltas of one object */

typedef enum { TYPE_BLOB = 3, TYPE_OFFSET_DELTA = 6, TYPE_NAME_DELTA = 7 } type_t;

struct ik_git_pack {
    int fd;
    uint64_t size;
    size_t object_size;
    unsigned char *index;
    size_t index_len;
    uint32_t version;
    uint32_t count;
    const unsigned char *mapped; /* the pack, for the heads of many objects; NULL: not yet */
    z_stream stream;             /* used again for every object */
    bool stream_made;
    unsigned char *piece;
};

static uint32_t get32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int on_free(ik_git_pack_t *pack)
{
    if (pack->fd >= 0) {
        close(pack->fd);
    }
    if (pack->index != NULL) {
        munmap(pack->index, pack->index_len);
    }
    if (pack->mapped != NULL) {
        munmap((void *)pack->mapped, pack->size);
    }
    if (pack->stream_made) {
        inflateEnd(&pack->stream);
    }
    return 0;
}

/* --- the index ------------------------------------------------------------------------------ */

static const unsigned char *fanout_of(const ik_git_pack_t *pack)
{
    return pack->index + (pack->version == 2 ? 8 : 0);
}

/* Checks the lengths, so that later lookups stay inside. */
static bool index_holds(ik_git_pack_t *pack)
{
    const unsigned char *index = pack->index;
    pack->version = pack->index_len >= 8 && memcmp(index, "\377tOc", 4) == 0 ? get32(index + 4) : 1;
    size_t head = (pack->version == 2 ? 8 : 0) + FANOUT;
    if (pack->version > 2 || pack->index_len < head + 2 * pack->object_size) {
        return false;
    }
    uint32_t last = 0;
    for (int i = 0; i < 256; i++) {
        uint32_t number = get32(fanout_of(pack) + 4 * i);
        if (number < last) {
            return false;
        }
        last = number;
    }
    pack->count = last;
    uint64_t row = pack->version == 2 ? pack->object_size + 8 : pack->object_size + 4;
    return pack->index_len >= head + 2 * pack->object_size + row * last;
}

ik_git_pack_t *ik_git_pack_open(const void *ctx, int folder, const char *path, size_t object_size)
{
    ik_git_pack_t *pack = ik_new(ctx, ik_git_pack_t);
    pack->object_size = object_size;
    pack->fd = -1;
    talloc_set_destructor(pack, on_free);
    struct stat st;
    unsigned char head[12];
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
    int index = openat(folder, ik_sprintf(pack, "%s.idx", path), flags);
    pack->fd = openat(folder, ik_sprintf(pack, "%s.pack", path), flags);
    bool usable = index >= 0 && pack->fd >= 0 && fstat(index, &st) == 0 && S_ISREG(st.st_mode) &&
                  st.st_size > 0;
    if (usable) {
        pack->index_len = (size_t)st.st_size;
        void *mapped = mmap(NULL, pack->index_len, PROT_READ, MAP_PRIVATE, index, 0);
        pack->index = mapped == MAP_FAILED ? NULL : mapped;
        usable = pack->index != NULL && index_holds(pack) && fstat(pack->fd, &st) == 0 &&
                 S_ISREG(st.st_mode) && (uint64_t)st.st_size >= sizeof(head) + object_size &&
                 pread(pack->fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
                 memcmp(head, "PACK", 4) == 0 && (get32(head + 4) == 2 || get32(head + 4) == 3);
        pack->size = (uint64_t)st.st_size - object_size;
    }
    if (index >= 0) {
        close(index);
    }
    if (!usable) {
        talloc_free(pack);
        return NULL;
    }
    return pack;
}

static bool offset_at(const ik_git_pack_t *pack, uint32_t row, uint64_t *offset)
{
    const unsigned char *names = fanout_of(pack) + FANOUT;
    if (pack->version == 1) {
        *offset = get32(names + (size_t)row * (pack->object_size + 4));
        return true;
    }
    const unsigned char *offsets = names + (size_t)pack->count * (pack->object_size + 4);
    uint32_t small = get32(offsets + 4 * (size_t)row);
    *offset = small;
    if ((small & 0x80000000) == 0) {
        return true;
    }
    /* The number of a row in the table of large offsets. */
    const unsigned char *large = offsets + 4 * (size_t)pack->count;
    const unsigned char *end = pack->index + pack->index_len - 2 * pack->object_size;
    size_t at = 8 * (size_t)(small & 0x7fffffff);
    if (at + 8 > (size_t)(end - large)) {
        return false;
    }
    *offset = (uint64_t)get32(large + at) << 32 | get32(large + at + 4);
    return true;
}

bool ik_git_pack_find(const ik_git_pack_t *pack, const unsigned char *name, uint64_t *offset)
{
    const unsigned char *fanout = fanout_of(pack);
    uint32_t low = name[0] == 0 ? 0 : get32(fanout + 4 * (name[0] - 1));
    uint32_t high = get32(fanout + 4 * name[0]);
    size_t row = pack->version == 1 ? pack->object_size + 4 : pack->object_size;
    const unsigned char *names = fanout + FANOUT + (pack->version == 1 ? 4 : 0);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = memcmp(names + row * middle, name, pack->object_size);
        if (order == 0) {
            return offset_at(pack, middle, offset);
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

/* --- inflating ------------------------------------------------------------------------------- */

static bool restart(ik_git_pack_t *pack)
{
    if (!pack->stream_made) {
        pack->stream_made = inflateInit(&pack->stream) == Z_OK;
        pack->piece = ik_alloc_array(pack, 1, CHUNK, "piece");
        return pack->stream_made;
    }
    return inflateReset(&pack->stream) == Z_OK;
}

/* Reads exactly these bytes of the pack. */
static bool read_at(ik_git_pack_t *pack, unsigned char *out, size_t len, uint64_t offset)
{
    if (pack->mapped == NULL) {
        return pread(pack->fd, out, len, (off_t)offset) == (ssize_t)len;
    }
    memcpy(out, pack->mapped + offset, len);
    return true;
}

/* Inflates from an offset until out is full; with whole, the stream must end there. */
static bool inflate_at(ik_git_pack_t *pack, uint64_t offset, unsigned char *out, size_t len,
                       bool whole)
{
    if (!restart(pack)) {
        return false;
    }
    z_stream *stream = &pack->stream;
    unsigned char more; /* a stream that is too long writes here */
    stream->next_out = out;
    size_t left = len;
    stream->avail_in = 0;
    size_t want = whole ? CHUNK : HEAD_MAX;
    int status = Z_OK;
    while (status == Z_OK) {
        if (left == 0 && !whole) {
            return true;
        }
        if (stream->avail_in == 0) {
            if (offset >= pack->size) {
                return false;
            }
            size_t got = pack->size - offset < want ? pack->size - offset : want;
            if (!read_at(pack, pack->piece, got, offset)) {
                return false;
            }
            offset += got;
            stream->next_in = pack->piece;
            stream->avail_in = (uInt)got;
        }
        bool over = left == 0;
        uInt room = over ? 1 : left > (1U << 30) ? 1U << 30 : (uInt)left;
        if (over) {
            stream->next_out = &more;
        }
        stream->avail_out = room;
        status = inflate(stream, Z_NO_FLUSH);
        if (over && stream->avail_out == 0) {
            return false;
        }
        left -= over ? 0 : room - stream->avail_out;
        if (status == Z_BUF_ERROR && stream->avail_in == 0) {
            status = Z_OK;
        }
    }
    return left == 0 && status == Z_STREAM_END;
}

/* --- objects --------------------------------------------------------------------------------- */

typedef struct {
    unsigned type;
    uint64_t size; /* inflated, of a delta itself */
    uint64_t data; /* where the compressed bytes begin */
    uint64_t base; /* of a delta: where its base begins */
} head_t;

static bool read_head(ik_git_pack_t *pack, uint64_t offset, head_t *head)
{
    unsigned char bytes[64];
    if (offset >= pack->size) {
        return false;
    }
    size_t len = pack->size - offset < sizeof(bytes) ? pack->size - offset : sizeof(bytes);
    if (!read_at(pack, bytes, len, offset)) {
        return false;
    }
    size_t at = 0;
    unsigned char byte = bytes[at++];
    head->type = byte >> 4 & 7;
    head->size = byte & 15;
    for (int shift = 4; byte >= 0x80; shift += 7) {
        if (at == len || shift > 57) {
            return false;
        }
        byte = bytes[at++];
        head->size |= (uint64_t)(byte & 0x7f) << shift;
    }
    if (head->type == TYPE_OFFSET_DELTA) {
        uint64_t back = 0;
        bool first = true;
        do {
            if (at == len || back > UINT64_MAX >> 8) {
                return false;
            }
            byte = bytes[at++];
            back = ((first ? 0 : back + 1) << 7) | (byte & 0x7f);
            first = false;
        } while (byte >= 0x80);
        if (back == 0 || back > offset) {
            return false;
        }
        head->base = offset - back;
    } else if (head->type == TYPE_NAME_DELTA) {
        if (len - at < pack->object_size || !ik_git_pack_find(pack, bytes + at, &head->base)) {
            return false;
        }
        at += pack->object_size;
    } else if (head->type != TYPE_BLOB) {
        return false;
    }
    head->data = offset + at;
    return true;
}

/* A number in a delta; false at its end. */
static bool delta_number(const unsigned char **at, const unsigned char *end, uint64_t *number)
{
    *number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (*at == end) {
            return false;
        }
        unsigned char byte = *(*at)++;
        *number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return true;
        }
    }
    return false;
}

static bool is_delta(const head_t *head)
{
    return head->type == TYPE_OFFSET_DELTA || head->type == TYPE_NAME_DELTA;
}

bool ik_git_pack_measure(ik_git_pack_t *pack, uint64_t offset, uint64_t *size)
{
    head_t head;
    if (pack->mapped == NULL) {
        void *mapped = mmap(NULL, pack->size, PROT_READ, MAP_PRIVATE, pack->fd, 0);
        pack->mapped = mapped == MAP_FAILED ? NULL : mapped;
    }
    if (!read_head(pack, offset, &head)) {
        return false;
    }
    *size = head.size;
    if (!is_delta(&head)) {
        return true;
    }
    unsigned char start[20];
    size_t len = head.size < sizeof(start) ? head.size : sizeof(start);
    const unsigned char *at = start;
    uint64_t base;
    return inflate_at(pack, head.data, start, len, false) &&
           delta_number(&at, start + len, &base) && delta_number(&at, start + len, size);
}

/* Applies a delta. out has room for exactly what the delta says it makes, which is checked. */
static bool apply_delta(const unsigned char *delta, size_t delta_len, const unsigned char *base,
                        size_t base_len, unsigned char *out, size_t out_len)
{
    const unsigned char *at = delta;
    const unsigned char *end = delta + delta_len;
    uint64_t from_len;
    uint64_t to_len;
    if (!delta_number(&at, end, &from_len) || !delta_number(&at, end, &to_len) ||
        from_len != base_len || to_len != out_len) {
        return false;
    }
    size_t done = 0;
    while (at < end) {
        unsigned char code = *at++;
        size_t copy_at = 0;
        size_t len = code;
        const unsigned char *from = at;
        if (code >= 0x80) {
            len = 0;
            for (int i = 0; i < 7; i++) {
                if ((code >> i & 1) == 0) {
                    continue;
                }
                if (at == end) {
                    return false;
                }
                if (i < 4) {
                    copy_at |= (size_t)*at++ << (8 * i);
                } else {
                    len |= (size_t)*at++ << (8 * (i - 4));
                }
            }
            len = len == 0 ? 0x10000 : len;
            if (copy_at > base_len || len > base_len - copy_at) {
                return false;
            }
            from = base + copy_at;
        } else if (len == 0 || len > (size_t)(end - at)) {
            return false;
        } else {
            at += len;
        }
        if (len > out_len - done) {
            return false;
        }
        memcpy(out + done, from, len);
        done += len;
    }
    return done == out_len;
}

/* Allocates and inflates the bytes of an object or delta; NULL on failure. Release with free(). */
static unsigned char *load(ik_git_pack_t *pack, const head_t *head, uint64_t max)
{
    if (head->size > max) {
        return NULL;
    }
    unsigned char *bytes = ik_alloc_plain(head->size);
    if (!inflate_at(pack, head->data, bytes, head->size, true)) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

bool ik_git_pack_read(ik_git_pack_t *pack, uint64_t offset, uint64_t size, ik_buffer_t *out)
{
    uint64_t max = size > BASE_MAX ? size : BASE_MAX;
    head_t *chain = ik_new_array(NULL, head_t, DEPTH_MAX);
    size_t depth = 0;
    bool good = true;
    for (; good; depth++) {
        good = depth < DEPTH_MAX && read_head(pack, offset, &chain[depth]);
        if (good && !is_delta(&chain[depth])) {
            break;
        }
        offset = good ? chain[depth].base : 0;
    }
    unsigned char *bytes = good ? load(pack, &chain[depth], max) : NULL;
    uint64_t len = good ? chain[depth].size : 0;
    uint64_t work = 0;
    while (bytes != NULL && depth-- > 0) {
        unsigned char *delta = load(pack, &chain[depth], max);
        unsigned char *made = NULL;
        const unsigned char *at = delta;
        uint64_t from_len;
        uint64_t to_len = 0;
        if (delta != NULL && delta_number(&at, delta + chain[depth].size, &from_len) &&
            delta_number(&at, delta + chain[depth].size, &to_len) && to_len <= max &&
            (work += to_len) <= WORK_MAX) {
            made = ik_alloc_plain(to_len);
            if (!apply_delta(delta, chain[depth].size, bytes, len, made, to_len)) {
                free(made);
                made = NULL;
            }
        }
        free(delta);
        free(bytes);
        bytes = made;
        len = to_len;
    }
    talloc_free(chain);
    good = bytes != NULL && len == size;
    if (good) {
        ik_buffer_append(out, (const char *)bytes, size);
    }
    free(bytes);
    return good;
}

/* --- single objects -------------------------------------------------------------------------- */

typedef struct {
    int fd;
    z_stream stream;
    int status; /* Z_OK until the stream ends */
    unsigned char piece[CHUNK];
    unsigned char head[HEAD_MAX]; /* "blob 123", a NUL, and the first bytes of the content */
    size_t head_len;
    size_t rest; /* bytes in head after the NUL */
    uint64_t size;
} single_t;

static bool start_single(single_t *single, int fd)
{
    memset(&single->stream, 0, sizeof(single->stream));
    single->fd = fd;
    ssize_t got = read(fd, single->piece, CHUNK);
    if (got <= 0 || inflateInit(&single->stream) != Z_OK) {
        return false;
    }
    single->stream.next_in = single->piece;
    single->stream.avail_in = (uInt)got;
    single->stream.next_out = single->head;
    single->stream.avail_out = HEAD_MAX;
    single->status = inflate(&single->stream, Z_NO_FLUSH);
    size_t made = HEAD_MAX - single->stream.avail_out;
    const unsigned char *zero = memchr(single->head, '\0', made);
    if ((single->status != Z_OK && single->status != Z_STREAM_END) || zero == NULL ||
        strncmp((const char *)single->head, "blob ", 5) != 0 || single->head[5] < '0' ||
        single->head[5] > '9') {
        inflateEnd(&single->stream);
        return false;
    }
    char *end;
    errno = 0;
    single->size = strtoull((const char *)single->head + 5, &end, 10);
    single->head_len = (size_t)(zero - single->head) + 1;
    single->rest = made - single->head_len;
    if (errno != 0 || (const unsigned char *)end != zero) {
        inflateEnd(&single->stream);
        return false;
    }
    return true;
}

bool ik_git_pack_measure_single(int fd, uint64_t *size)
{
    single_t single;
    if (!start_single(&single, fd)) {
        return false;
    }
    inflateEnd(&single.stream);
    *size = single.size;
    return true;
}

/* Inflates the rest of the content to the place after its first bytes. */
static bool finish_single(single_t *single, char *to, uint64_t size)
{
    uint64_t done = single->rest;
    while (single->status == Z_OK) {
        if (single->stream.avail_in == 0) {
            ssize_t got = read(single->fd, single->piece, CHUNK);
            if (got <= 0) {
                return false;
            }
            single->stream.next_in = single->piece;
            single->stream.avail_in = (uInt)got;
        }
        /* One byte more than expected tells that there are too many. */
        uint64_t room = size + 1 - done;
        uInt limit = room > (1U << 30) ? 1U << 30 : (uInt)room;
        single->stream.next_out = (unsigned char *)to + done;
        single->stream.avail_out = limit;
        single->status = inflate(&single->stream, Z_NO_FLUSH);
        done += limit - single->stream.avail_out;
        if (done > size) {
            return false;
        }
        if (single->status == Z_BUF_ERROR && single->stream.avail_in == 0) {
            single->status = Z_OK;
        }
    }
    return single->status == Z_STREAM_END && done == size;
}

bool ik_git_pack_read_single(int fd, uint64_t size, ik_buffer_t *out)
{
    single_t single;
    if (!start_single(&single, fd)) {
        return false;
    }
    bool good =
        single.size == size && single.rest <= size && ik_buffer_reserve(out, size + 2) >= size + 2;
    if (good) {
        char *to = out->data + out->len;
        memcpy(to, single.head + single.head_len, single.rest);
        good = finish_single(&single, to, size);
        out->len += good ? size : 0;
        out->data[out->len] = '\0';
    }
    inflateEnd(&single.stream);
    return good;
}

bool ik_git_pack_check(const char *bytes, size_t len, const unsigned char *name, size_t object_size)
{
    ik_git_hash_t hash;
    unsigned char found[32];
    ik_git_hash_init(&hash, object_size, len);
    ik_git_hash_update(&hash, bytes, len);
    ik_git_hash_finish(&hash, found);
    return memcmp(found, name, object_size) == 0;
}
