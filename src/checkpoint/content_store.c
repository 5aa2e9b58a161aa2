/*
 * A file of its own: the header and one zstd frame. A pack: its magic, for each content its name,
 * header and frame, then the table of names with their places, sorted, and the trailer.
 */
#include "checkpoint/content_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/random.h"

enum {
    LEVEL = -1,
    CHUNK = 128 * 1024,
    WHOLE_MAX = 1024 * 1024, /* larger files are copied in pieces */
    PACKS_MAX = 4096,
};

typedef struct {
    char magic[8];
    uint64_t plain;  /* length of the content */
    uint64_t packed; /* length of the frame */
} header_t;
static const char MAGIC[8] = "ikblob1\n";
static const char PACK_MAGIC[8] = "ikpack1\n";

/* A row of a pack's table: where the frame is. */
typedef struct {
    unsigned char name[IK_BLAKE2B_SIZE];
    uint64_t offset;
    uint64_t packed;
    uint64_t plain;
} place_t;

typedef struct {
    uint64_t count;
    uint64_t table; /* its offset */
    char magic[8];
} trailer_t;

typedef struct {
    char name[NAME_MAX + 1];
    int fd;
    uint64_t size;
    const place_t *places;
    size_t count;
    void *mapped;
    size_t mapped_len;
} pack_t;

struct ik_contents {
    char *path; /* BLOBS/files */
    int folder; /* -1: not open yet */
    ZSTD_CCtx *compressor;
    ZSTD_DCtx *decompressor;
    char *frame; /* room for a compressed piece */
    uint64_t added;

    bool packs_known;
    pack_t *packs;
    size_t pack_count;

    int batch; /* the pack being written; -1: none */
    char batch_name[64];
    uint64_t batch_end;
    place_t *batch_places;
    size_t batch_count;
    size_t batch_room;
    FILE *batch_file;
    /* The names in the batch, as an open hash table of positions in batch_places plus 1. */
    uint32_t *batch_table;
    size_t batch_table_size;
};

static void forget_packs(ik_contents_t *contents)
{
    for (size_t i = 0; i < contents->pack_count; i++) {
        munmap(contents->packs[i].mapped, contents->packs[i].mapped_len);
        close(contents->packs[i].fd);
    }
    TALLOC_FREE(contents->packs);
    contents->pack_count = 0;
    contents->packs_known = false;
}

static int on_free(ik_contents_t *contents)
{
    forget_packs(contents);
    ZSTD_freeCCtx(contents->compressor);
    ZSTD_freeDCtx(contents->decompressor);
    ik_contents_drop_batch(contents);
    if (contents->folder >= 0) {
        close(contents->folder);
    }
    return 0;
}

ik_contents_t *ik_contents_create(const void *ctx, const char *blobs)
{
    ik_contents_t *contents = ik_new(ctx, ik_contents_t);
    contents->path = ik_sprintf(contents, "%s/files", blobs);
    contents->folder = -1;
    contents->batch = -1;
    talloc_set_destructor(contents, on_free);
    return contents;
}

uint64_t ik_contents_added(const ik_contents_t *contents)
{
    return contents->added;
}

static bool open_folder(ik_contents_t *contents, bool create)
{
    if (contents->folder >= 0) {
        return true;
    }
    if (create) {
        res_t made = ik_file_make_private_folder(contents->path);
        if (is_err(&made)) {
            errno = EACCES;
            return false;
        }
    }
    contents->folder = open(contents->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return contents->folder >= 0;
}

static ZSTD_CCtx *compressor_of(ik_contents_t *contents)
{
    if (contents->compressor == NULL) {
        contents->compressor = ZSTD_createCCtx();
        if (contents->compressor == NULL) {
            ik_alloc_fail();
        }
        ZSTD_CCtx_setParameter(contents->compressor, ZSTD_c_compressionLevel, LEVEL);
        contents->frame = talloc_size(contents, ZSTD_compressBound(WHOLE_MAX));
    }
    return contents->compressor;
}

static void format_path(char out[80], const unsigned char *name)
{
    static const char digits[] = "0123456789abcdef";
    char *at = out;
    for (int i = 0; i < IK_BLAKE2B_SIZE; i++) {
        *at++ = digits[name[i] >> 4];
        *at++ = digits[name[i] & 15];
        if (i == 0) {
            *at++ = '/';
        }
    }
    *at = '\0';
}

/* --- packs --------------------------------------------------------------------------------- */

static bool open_pack(ik_contents_t *contents, const char *name, pack_t *pack)
{
    struct stat st;
    trailer_t trailer;
    size_t len = strlen(name);
    memcpy(pack->name, name, len + 1);
    pack->fd = openat(contents->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (pack->fd < 0) {
        return false;
    }
    if (fstat(pack->fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        (uint64_t)st.st_size < sizeof(trailer) + sizeof(PACK_MAGIC) ||
        pread(pack->fd, &trailer, sizeof(trailer), st.st_size - (off_t)sizeof(trailer)) !=
            (ssize_t)sizeof(trailer) ||
        memcmp(trailer.magic, PACK_MAGIC, sizeof(PACK_MAGIC)) != 0 || trailer.count == 0 ||
        trailer.count > (uint64_t)st.st_size / sizeof(place_t) ||
        trailer.table != (uint64_t)st.st_size - sizeof(trailer) - trailer.count * sizeof(place_t)) {
        close(pack->fd);
        return false;
    }
    uint64_t page = trailer.table & ~(uint64_t)(sysconf(_SC_PAGESIZE) - 1);
    pack->size = (uint64_t)st.st_size;
    pack->mapped_len = pack->size - page;
    pack->mapped = mmap(NULL, pack->mapped_len, PROT_READ, MAP_PRIVATE, pack->fd, (off_t)page);
    if (pack->mapped == MAP_FAILED) {
        close(pack->fd);
        return false;
    }
    pack->places = (const place_t *)((const char *)pack->mapped + (trailer.table - page));
    pack->count = trailer.count;
    return true;
}

static void find_packs(ik_contents_t *contents)
{
    if (contents->packs_known || !open_folder(contents, false)) {
        return;
    }
    contents->packs_known = true;
    DIR *folder = fdopendir(openat(contents->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder == NULL) {
        return;
    }
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        pack_t pack;
        if (strncmp(entry->d_name, "pack-", 5) == 0 && contents->pack_count < PACKS_MAX &&
            open_pack(contents, entry->d_name, &pack)) {
            contents->packs =
                ik_resize_array(contents, contents->packs, pack_t, contents->pack_count + 1);
            contents->packs[contents->pack_count++] = pack;
        }
    }
    closedir(folder);
}

static const place_t *find_in_packs(ik_contents_t *contents, const unsigned char *name,
                                    pack_t **found)
{
    find_packs(contents);
    for (size_t i = 0; i < contents->pack_count; i++) {
        pack_t *pack = &contents->packs[i];
        size_t low = 0;
        size_t high = pack->count;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            int order = memcmp(pack->places[middle].name, name, IK_BLAKE2B_SIZE);
            if (order == 0) {
                *found = pack;
                return &pack->places[middle];
            }
            if (order < 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
    }
    return NULL;
}

/* --- batches ------------------------------------------------------------------------------- */

/* The place in the table where the name is or belongs. */
static uint32_t *batch_slot(ik_contents_t *contents, const unsigned char *name)
{
    uint64_t hash;
    memcpy(&hash, name, sizeof(hash));
    for (size_t at = hash;; at++) {
        uint32_t *slot = &contents->batch_table[at & (contents->batch_table_size - 1)];
        if (*slot == 0 ||
            memcmp(contents->batch_places[*slot - 1].name, name, IK_BLAKE2B_SIZE) == 0) {
            return slot;
        }
    }
}

static void grow_batch(ik_contents_t *contents)
{
    contents->batch_room = contents->batch_room == 0 ? 1024 : contents->batch_room * 2;
    contents->batch_places =
        ik_resize_array(contents, contents->batch_places, place_t, contents->batch_room);
    TALLOC_FREE(contents->batch_table);
    contents->batch_table_size = contents->batch_room * 2;
    contents->batch_table = ik_new_array(contents, uint32_t, contents->batch_table_size);
    for (size_t i = 0; i < contents->batch_count; i++) {
        *batch_slot(contents, contents->batch_places[i].name) = (uint32_t)i + 1;
    }
}

int ik_contents_begin_batch(ik_contents_t *contents)
{
    if (!open_folder(contents, true)) {
        return errno;
    }
    char random[17];
    ik_random_name(random, 16);
    snprintf(contents->batch_name, sizeof(contents->batch_name), "new-%d-%s", (int)getpid(),
             random);
    contents->batch =
        openat(contents->folder, contents->batch_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (contents->batch < 0) {
        return errno;
    }
    contents->batch_file = fdopen(contents->batch, "w");
    if (contents->batch_file == NULL) {
        ik_alloc_fail();
    }
    setvbuf(contents->batch_file, NULL, _IOFBF, 256 * 1024);
    fwrite(PACK_MAGIC, 1, sizeof(PACK_MAGIC), contents->batch_file);
    contents->batch_end = sizeof(PACK_MAGIC);
    contents->batch_count = 0;
    grow_batch(contents);
    return 0;
}

static int compare_places(const void *a, const void *b)
{
    return memcmp(((const place_t *)a)->name, ((const place_t *)b)->name, IK_BLAKE2B_SIZE);
}

int ik_contents_end_batch(ik_contents_t *contents, bool durable)
{
    if (contents->batch_file == NULL) {
        return 0;
    }
    FILE *file = contents->batch_file;
    trailer_t trailer = {.count = contents->batch_count};
    memcpy(trailer.magic, PACK_MAGIC, sizeof(PACK_MAGIC));
    static const char padding[8];
    size_t odd = contents->batch_end % 8;
    if (odd != 0) {
        fwrite(padding, 1, 8 - odd, file);
        contents->batch_end += 8 - odd;
    }
    trailer.table = contents->batch_end;
    qsort(contents->batch_places, contents->batch_count, sizeof(place_t), compare_places);
    fwrite(contents->batch_places, sizeof(place_t), contents->batch_count, file);
    fwrite(&trailer, sizeof(trailer), 1, file);
    bool failed = ferror(file) != 0;
    failed |= durable && (fflush(file) != 0 || fsync(contents->batch) != 0);
    failed |= fclose(file) != 0;
    contents->batch_file = NULL;
    contents->batch = -1;
    int error = failed ? (errno != 0 ? errno : EIO) : 0;
    char name[80];
    snprintf(name, sizeof(name), "pack-%s", strrchr(contents->batch_name, '-') + 1);
    if (error == 0 && contents->batch_count > 0 &&
        renameat(contents->folder, contents->batch_name, contents->folder, name) != 0) {
        error = errno;
    }
    if (error != 0 || contents->batch_count == 0) {
        unlinkat(contents->folder, contents->batch_name, 0);
    } else if (durable) {
        fsync(contents->folder);
    }
    contents->added += contents->batch_count * sizeof(place_t);
    forget_packs(contents);
    return error;
}

void ik_contents_drop_batch(ik_contents_t *contents)
{
    if (contents->batch_file != NULL) {
        fclose(contents->batch_file);
        contents->batch_file = NULL;
        contents->batch = -1;
        unlinkat(contents->folder, contents->batch_name, 0);
    }
}

static void note_in_batch(ik_contents_t *contents, const unsigned char *name, uint64_t packed,
                          uint64_t plain)
{
    if (contents->batch_count == contents->batch_room) {
        grow_batch(contents);
    }
    place_t *place = &contents->batch_places[contents->batch_count++];
    memcpy(place->name, name, IK_BLAKE2B_SIZE);
    place->offset = contents->batch_end;
    place->packed = packed;
    place->plain = plain;
    contents->batch_end += packed;
    *batch_slot(contents, name) = (uint32_t)contents->batch_count;
}

/* --- storing ------------------------------------------------------------------------------- */

/* The empty content needs no file. */
static bool is_empty(const unsigned char *name)
{
    static unsigned char empty[IK_BLAKE2B_SIZE];
    if (empty[0] == 0) {
        ik_blake2b_t hash;
        ik_blake2b_init(&hash);
        ik_blake2b_finish(&hash, empty);
    }
    return memcmp(name, empty, IK_BLAKE2B_SIZE) == 0;
}

static bool has_content(ik_contents_t *contents, const unsigned char name[IK_BLAKE2B_SIZE])
{
    if (is_empty(name)) {
        return true;
    }
    if (!open_folder(contents, false)) {
        return false;
    }
    if (contents->batch_file != NULL && *batch_slot(contents, name) != 0) {
        return true;
    }
    char path[80];
    format_path(path, name);
    header_t header;
    struct stat st;
    int fd = openat(contents->folder, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0) {
        bool whole = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                     read(fd, &header, sizeof(header)) == (ssize_t)sizeof(header) &&
                     memcmp(header.magic, MAGIC, sizeof(MAGIC)) == 0 &&
                     (uint64_t)st.st_size == sizeof(header) + header.packed;
        close(fd);
        if (whole) {
            return true;
        }
    }
    pack_t *pack;
    return find_in_packs(contents, name, &pack) != NULL;
}

/* Opens a temporary file; name gets its name in the folder. */
static int open_new(ik_contents_t *contents, char name[64])
{
    char random[17];
    ik_random_name(random, 16);
    snprintf(name, 64, "new-%d-%s", (int)getpid(), random);
    return openat(contents->folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

/* Gives a complete temporary file the name of its content. */
static int move_into_place(ik_contents_t *contents, const char *temporary,
                           const unsigned char *name)
{
    char path[80];
    format_path(path, name);
    if (renameat(contents->folder, temporary, contents->folder, path) == 0) {
        return 0;
    }
    path[2] = '\0';
    if (errno == ENOENT && (mkdirat(contents->folder, path, 0700) == 0 || errno == EEXIST)) {
        path[2] = '/';
        if (renameat(contents->folder, temporary, contents->folder, path) == 0) {
            return 0;
        }
    }
    int error = errno;
    unlinkat(contents->folder, temporary, 0);
    return error;
}

int ik_contents_put(ik_contents_t *contents, const unsigned char name[IK_BLAKE2B_SIZE],
                    const char *bytes, size_t len)
{
    if (has_content(contents, name)) {
        return 0;
    }
    if (!open_folder(contents, true)) {
        return errno;
    }
    ZSTD_CCtx *compressor = compressor_of(contents);
    size_t room = ZSTD_compressBound(len);
    char *frame = len <= WHOLE_MAX ? contents->frame : ik_alloc_plain(room);
    size_t packed = ZSTD_compress2(compressor, frame, room, bytes, len);
    int error = ZSTD_isError(packed) ? EIO : 0;
    header_t header = {.plain = len, .packed = packed};
    memcpy(header.magic, MAGIC, sizeof(MAGIC));
    if (error == 0 && contents->batch_file != NULL) {
        note_in_batch(contents, name, packed, len);
        error = fwrite(frame, 1, packed, contents->batch_file) == packed ? 0 : EIO;
    } else if (error == 0) {
        char temporary[64];
        int fd = open_new(contents, temporary);
        if (fd < 0 || !ik_file_write_all(fd, (const char *)&header, sizeof(header)) ||
            !ik_file_write_all(fd, frame, packed)) {
            error = errno;
        }
        if (fd >= 0) {
            close(fd);
            if (error != 0) {
                unlinkat(contents->folder, temporary, 0);
            }
        }
        error = error != 0 ? error : move_into_place(contents, temporary, name);
    }
    if (frame != contents->frame) {
        free(frame);
    }
    contents->added += error == 0 ? sizeof(header) + packed : 0;
    return error;
}

/* Compresses the file into the temporary file fd, after the room for the header. */
static int copy_in_pieces(ik_contents_t *contents, int from, uint64_t size, int to,
                          unsigned char name[IK_BLAKE2B_SIZE], uint64_t *packed)
{
    ZSTD_CCtx *compressor = compressor_of(contents);
    ik_blake2b_t hash;
    ik_blake2b_init(&hash);
    ZSTD_CCtx_reset(compressor, ZSTD_reset_session_only);
    ZSTD_CCtx_setPledgedSrcSize(compressor, size);
    char *piece = ik_alloc_plain(CHUNK);
    uint64_t total = 0;
    int error = 0;
    *packed = 0;
    for (bool last = false; error == 0 && !last;) {
        ssize_t got = read(from, piece, CHUNK);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 || total + (uint64_t)got > size) {
            error = got < 0 ? errno : EAGAIN;
            break;
        }
        last = got == 0;
        total += (uint64_t)got;
        ik_blake2b_update(&hash, piece, (size_t)got);
        ZSTD_inBuffer in = {.src = piece, .size = (size_t)got};
        for (bool more = true; more && error == 0;) {
            ZSTD_outBuffer out = {.dst = contents->frame, .size = WHOLE_MAX};
            size_t left =
                ZSTD_compressStream2(compressor, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
            if (ZSTD_isError(left)) {
                error = total < size ? EAGAIN : EIO; /* EAGAIN: the file became shorter */
            } else if (!ik_file_write_all(to, contents->frame, out.pos)) {
                error = errno;
            }
            *packed += out.pos;
            more = last ? left != 0 : in.pos < in.size;
        }
    }
    free(piece);
    ZSTD_CCtx_reset(compressor, ZSTD_reset_session_only);
    ik_blake2b_finish(&hash, name);
    return error != 0 ? error : total == size ? 0 : EAGAIN;
}

int ik_contents_put_file(ik_contents_t *contents, int fd, uint64_t size,
                         unsigned char name[IK_BLAKE2B_SIZE])
{
    char temporary[64];
    if (!open_folder(contents, true)) {
        return errno;
    }
    int to = open_new(contents, temporary);
    if (to < 0) {
        return errno;
    }
    header_t header = {.plain = size};
    memcpy(header.magic, MAGIC, sizeof(MAGIC));
    int error = 0;
    if (lseek(to, sizeof(header), SEEK_SET) < 0) {
        error = errno;
    } else {
        error = copy_in_pieces(contents, fd, size, to, name, &header.packed);
    }
    if (error == 0 && pwrite(to, &header, sizeof(header), 0) != (ssize_t)sizeof(header)) {
        error = errno;
    }
    close(to);
    if (error != 0 || has_content(contents, name)) {
        unlinkat(contents->folder, temporary, 0);
        return error;
    }
    error = move_into_place(contents, temporary, name);
    contents->added += error == 0 ? sizeof(header) + header.packed : 0;
    return error;
}

/* --- reading ------------------------------------------------------------------------------- */

/* Appends the content of a frame in the file and checks it. */
static int unpack(ik_contents_t *contents, int fd, uint64_t offset, uint64_t packed,
                  const unsigned char *name, uint64_t size, ik_buffer_t *out)
{
    if (contents->decompressor == NULL) {
        contents->decompressor = ZSTD_createDCtx();
    }
    ZSTD_DCtx_reset(contents->decompressor, ZSTD_reset_session_only);
    if (ik_buffer_reserve(out, size + 1) < size + 1) {
        return EFBIG;
    }
    char *piece = ik_alloc_plain(CHUNK);
    ZSTD_outBuffer to = {.dst = out->data + out->len, .size = size};
    bool damaged = false;
    size_t left = 1;
    while (packed > 0 && !damaged) {
        ssize_t got = pread(fd, piece, packed < CHUNK ? packed : CHUNK, (off_t)offset);
        damaged = got <= 0;
        ZSTD_inBuffer in = {.src = piece, .size = damaged ? 0 : (size_t)got};
        while (in.pos < in.size && !damaged) {
            size_t before = in.pos;
            left = ZSTD_decompressStream(contents->decompressor, &to, &in);
            damaged = ZSTD_isError(left) || (in.pos == before && to.pos == to.size);
        }
        packed -= damaged ? 0 : (uint64_t)got;
        offset += damaged ? 0 : (uint64_t)got;
    }
    free(piece);
    if (damaged || left != 0 || to.pos != size) {
        return ENOENT;
    }
    ik_blake2b_t hash;
    unsigned char found[IK_BLAKE2B_SIZE];
    ik_blake2b_init(&hash);
    ik_blake2b_update(&hash, to.dst, size);
    ik_blake2b_finish(&hash, found);
    if (memcmp(found, name, IK_BLAKE2B_SIZE) != 0) {
        return ENOENT;
    }
    out->len += size;
    out->data[out->len] = '\0';
    return 0;
}

int ik_contents_get(ik_contents_t *contents, const unsigned char name[IK_BLAKE2B_SIZE],
                    uint64_t size, ik_buffer_t *out)
{
    if (size == 0 && is_empty(name)) {
        ik_buffer_append(out, "", 0);
        return 0;
    }
    if (!open_folder(contents, false)) {
        return ENOENT;
    }
    char path[80];
    format_path(path, name);
    int fd = openat(contents->folder, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0) {
        header_t header;
        int error = ENOENT;
        if (read(fd, &header, sizeof(header)) == (ssize_t)sizeof(header) &&
            memcmp(header.magic, MAGIC, sizeof(MAGIC)) == 0 && header.plain == size) {
            error = unpack(contents, fd, sizeof(header), header.packed, name, size, out);
        }
        close(fd);
        if (error == 0) {
            return 0;
        }
    }
    pack_t *pack;
    const place_t *place = find_in_packs(contents, name, &pack);
    if (place == NULL || place->plain != size || place->offset > pack->size) {
        return ENOENT;
    }
    return unpack(contents, pack->fd, place->offset, place->packed, name, size, out);
}

uint64_t ik_contents_size(ik_contents_t *contents, const unsigned char name[IK_BLAKE2B_SIZE])
{
    char path[80];
    struct stat st;
    if (is_empty(name) || !open_folder(contents, false)) {
        return 0;
    }
    format_path(path, name);
    if (fstatat(contents->folder, path, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        return (uint64_t)st.st_size;
    }
    pack_t *pack;
    const place_t *place = find_in_packs(contents, name, &pack);
    return place == NULL ? 0 : place->packed + sizeof(place_t);
}

/* --- sweeping ------------------------------------------------------------------------------ */

static bool parse_digit(char digit, unsigned *value)
{
    const char *found = digit == '\0' ? NULL : strchr("0123456789abcdef", digit);
    if (found != NULL) {
        *value = (unsigned)(strchr("0123456789abcdef", digit) - "0123456789abcdef");
    }
    return found != NULL;
}

static bool parse_name(const char *first, const char *rest, unsigned char name[IK_BLAKE2B_SIZE])
{
    if (strlen(first) != 2 || strlen(rest) != 2 * IK_BLAKE2B_SIZE - 2) {
        return false;
    }
    for (int i = 0; i < IK_BLAKE2B_SIZE; i++) {
        const char *digits = i == 0 ? first : rest + 2 * (i - 1);
        unsigned high;
        unsigned low;
        if (!parse_digit(digits[0], &high) || !parse_digit(digits[1], &low)) {
            return false;
        }
        name[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

typedef void (*file_fn)(ik_contents_t *contents, int folder, const char *first, const char *rest,
                        void *data);

/* Calls back for each file in the folders 00 to ff. */
static void each_single(ik_contents_t *contents, file_fn on_file, void *data)
{
    for (int first = 0; first < 256; first++) {
        char name[3];
        snprintf(name, sizeof(name), "%02x", (unsigned)first);
        int fd = openat(contents->folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        DIR *folder = fd < 0 ? NULL : fdopendir(fd);
        if (folder == NULL) {
            continue;
        }
        for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
            if (entry->d_name[0] != '.') {
                on_file(contents, fd, name, entry->d_name, data);
            }
        }
        closedir(folder);
        unlinkat(contents->folder, name, AT_REMOVEDIR); /* works when it is empty */
    }
}

typedef struct {
    ik_contents_keep_fn keep;
    void *data;
    uint64_t *removed;
    uint64_t *bytes;
} sweep_t;

static void sweep_single(ik_contents_t *contents, int folder, const char *first, const char *rest,
                         void *data)
{
    (void)contents;
    sweep_t *sweep = data;
    unsigned char name[IK_BLAKE2B_SIZE];
    struct stat st;
    if (fstatat(folder, rest, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return;
    }
    bool ours = parse_name(first, rest, name);
    if ((!ours || !sweep->keep(sweep->data, name)) && unlinkat(folder, rest, 0) == 0) {
        *sweep->removed += ours;
        *sweep->bytes += (uint64_t)st.st_size;
    }
}

/* Copies the contents that are kept to a new pack. */
static bool write_again(ik_contents_t *contents, const pack_t *pack, const sweep_t *sweep)
{
    if (ik_contents_begin_batch(contents) != 0) {
        return false;
    }
    char *piece = ik_alloc_plain(CHUNK);
    bool failed = false;
    for (size_t i = 0; i < pack->count && !failed; i++) {
        const place_t *place = &pack->places[i];
        if (!sweep->keep(sweep->data, place->name)) {
            continue;
        }
        note_in_batch(contents, place->name, place->packed, place->plain);
        uint64_t offset = place->offset;
        for (uint64_t left = place->packed; left > 0 && !failed;) {
            ssize_t got = pread(pack->fd, piece, left < CHUNK ? left : CHUNK, (off_t)offset);
            failed = got <= 0 || fwrite(piece, 1, (size_t)got, contents->batch_file) != (size_t)got;
            offset += failed ? 0 : (uint64_t)got;
            left -= failed ? 0 : (uint64_t)got;
        }
    }
    free(piece);
    if (failed) {
        ik_contents_drop_batch(contents);
    }
    return !failed;
}

static void sweep_packs(ik_contents_t *contents, const sweep_t *sweep)
{
    find_packs(contents);
    /* Ending a batch forgets the packs, so the list is taken over here. */
    pack_t *packs = contents->packs;
    size_t count = contents->pack_count;
    contents->packs = NULL;
    contents->pack_count = 0;
    for (size_t i = 0; i < count; i++) {
        pack_t *pack = &packs[i];
        uint64_t kept = 0;
        size_t kept_count = 0;
        for (size_t row = 0; row < pack->count; row++) {
            bool keep = sweep->keep(sweep->data, pack->places[row].name);
            kept_count += keep;
            kept += keep ? pack->places[row].packed + sizeof(place_t) : 0;
        }
        bool drop = kept_count == 0;
        if (!drop && kept_count < pack->count) { /* it goes only when the new one is on disk */
            drop = write_again(contents, pack, sweep) && ik_contents_end_batch(contents, true) == 0;
        }
        if (drop && unlinkat(contents->folder, pack->name, 0) == 0) {
            *sweep->removed += pack->count - kept_count;
            *sweep->bytes += pack->size > kept ? pack->size - kept : 0;
        }
        munmap(pack->mapped, pack->mapped_len);
        close(pack->fd);
    }
    talloc_free(packs);
    contents->packs_known = false;
}

void ik_contents_sweep(ik_contents_t *contents, ik_contents_keep_fn keep, void *data,
                       uint64_t *removed, uint64_t *bytes)
{
    if (!open_folder(contents, false)) {
        return;
    }
    sweep_t sweep = {.keep = keep, .data = data, .removed = removed, .bytes = bytes};
    each_single(contents, sweep_single, &sweep);
    sweep_packs(contents, &sweep);
    /* Temporary files of processes that were killed. The caller holds the lock, so none is in use.
     */
    DIR *folder = fdopendir(openat(contents->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (strncmp(entry->d_name, "new-", 4) == 0) {
            unlinkat(contents->folder, entry->d_name, 0);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

static void add_size(ik_contents_t *contents, int folder, const char *first, const char *rest,
                     void *data)
{
    (void)contents;
    (void)first;
    struct stat st;
    if (fstatat(folder, rest, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        *(uint64_t *)data += (uint64_t)st.st_size;
    }
}

uint64_t ik_contents_total(ik_contents_t *contents)
{
    uint64_t total = 0;
    if (open_folder(contents, false)) {
        each_single(contents, add_size, &total);
        find_packs(contents);
        for (size_t i = 0; i < contents->pack_count; i++) {
            total += contents->packs[i].size;
        }
    }
    return total;
}
