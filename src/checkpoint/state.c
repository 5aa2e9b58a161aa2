#include "checkpoint/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/random.h"
#include "checkpoint/blake2b.h"

enum {
    DEPTH_MAX = 64,
    LEVEL = -5,               /* most bytes are hashes, which nothing makes shorter */
    STATE_SIZE_MAX = 1 << 30, /* of one state in memory */
    /* What is written at most, apart from paths. */
    NUMBER_MAX = 10,
    FIELDS_MAX = 8 * NUMBER_MAX + IK_STATE_ID_SIZE,
    REPOSITORY_MAX = 2 * NUMBER_MAX + 32,
    ENTRY_MAX = 9 * NUMBER_MAX + 1 + IK_STATE_NAME_MAX,
};
static const char MAGIC[8] = "ikstate2";
/* What a file begins with; a compressed frame follows. */
typedef struct {
    char magic[sizeof(MAGIC)];
    char id[IK_STATE_ID_SIZE - 1];
} head_t;
/* In a state with a base: the path is not listed any more. */
enum { KIND_GONE = IK_ENTRY_KINDS };

struct ik_states {
    const char *blobs;
    ik_state_t **loaded;
    size_t count;
};

ik_states_t *ik_states_create(const void *ctx, const char *blobs)
{
    ik_states_t *states = ik_new(ctx, ik_states_t);
    states->blobs = ik_strdup(states, blobs);
    return states;
}

const char *ik_states_blobs(const ik_states_t *states)
{
    return states->blobs;
}

ik_state_t *ik_states_add(ik_states_t *states, const char *folder, bool tree)
{
    ik_state_t *state = ik_new(states, ik_state_t);
    state->folder = ik_strdup(state, folder);
    state->tree = tree;
    return state;
}

static void remember(ik_states_t *states, ik_state_t *state)
{
    states->loaded = ik_resize_array(states, states->loaded, ik_state_t *, states->count + 1);
    states->loaded[states->count++] = state;
}

bool ik_states_id_valid(const char *id)
{
    return strlen(id) == IK_STATE_ID_SIZE - 1 &&
           strspn(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
               IK_STATE_ID_SIZE - 1;
}

static char *state_path(const void *ctx, const ik_states_t *states, const char *id)
{
    return ik_sprintf(ctx, "%s/states/%s", states->blobs, id);
}

/* --- writing ------------------------------------------------------------------------------ */

/* Functions named put write where there is enough room and return the end of what they wrote. */
static char *put_number(char *at, uint64_t number)
{
    while (number >= 0x80) {
        *at++ = (char)(number | 0x80);
        number >>= 7;
    }
    *at++ = (char)number;
    return at;
}

/* Small numbers of either sign become small numbers. */
static char *put_signed(char *at, int64_t number)
{
    return put_number(at, (uint64_t)number << 1 ^ (uint64_t)(number >> 63));
}

static char *put_bytes(char *at, const void *bytes, size_t len)
{
    memcpy(at, bytes, len);
    return at + len;
}

/* Times, inodes and devices of neighbours resemble each other, so differences are written. */
static char *put_entry(char *at, const ik_entry_t *entry, const ik_entry_t *last)
{
    size_t shared = 0;
    while (shared < entry->path_len && shared < last->path_len &&
           entry->path[shared] == last->path[shared]) {
        shared++;
    }
    at = put_number(at, shared);
    at = put_number(at, entry->path_len - shared);
    at = put_bytes(at, entry->path + shared, entry->path_len - shared);
    *at++ = (char)(entry->kind << 4 | entry->naming);
    at = put_number(at, entry->mode);
    at = put_number(at, entry->size);
    at = put_signed(at, (int64_t)(entry->device - last->device));
    at = put_signed(at, (int64_t)(entry->inode - last->inode));
    at = put_signed(at, (int64_t)((uint64_t)entry->mtime_ns - (uint64_t)last->mtime_ns));
    at = put_signed(at, (int64_t)((uint64_t)entry->ctime_ns - (uint64_t)entry->mtime_ns));
    if (entry->naming != IK_NAMED_NOT) {
        at = put_number(at, entry->repository);
        at = put_bytes(at, entry->name, ik_naming_size(entry->naming));
    }
    return at;
}

static char *put_text(char *at, const char *text)
{
    size_t len = strlen(text);
    return put_bytes(put_number(at, len), text, len);
}

/* At least as many bytes as the state takes. Memory that is not written costs nothing. */
static size_t bound(const ik_state_t *state)
{
    size_t total = FIELDS_MAX + strlen(state->folder);
    for (size_t i = 0; i < state->repository_count; i++) {
        total += REPOSITORY_MAX + strlen(state->repositories[i].objects);
    }
    for (size_t i = 0; i < state->count; i++) {
        total += ENTRY_MAX + state->entries[i].path_len;
    }
    return total;
}

static void serialise(ik_buffer_t *out, const ik_state_t *state)
{
    ik_buffer_reserve(out, bound(state));
    char *at = put_text(out->data, state->base == NULL ? "" : state->base->id);
    at = put_text(at, state->folder);
    at = put_number(at, state->tree);
    at = put_signed(at, state->taker);
    at = put_signed(at, state->taker_started);
    at = put_number(at, state->file_count);
    at = put_number(at, state->repository_count);
    for (size_t i = 0; i < state->repository_count; i++) {
        at = put_text(at, state->repositories[i].objects);
        at = put_text(at, state->repositories[i].key);
    }
    at = put_number(at, state->count);
    ik_entry_t none = {0};
    for (size_t i = 0; i < state->count; i++) {
        at = put_entry(at, &state->entries[i], i == 0 ? &none : &state->entries[i - 1]);
    }
    out->len = (size_t)(at - out->data);
}

static void append_head(ik_buffer_t *out, const char *id)
{
    head_t head;
    memcpy(head.magic, MAGIC, sizeof(head.magic));
    memcpy(head.id, id, sizeof(head.id));
    ik_buffer_append(out, (const char *)&head, sizeof(head));
}

res_t ik_states_save(ik_states_t *states, ik_state_t *state)
{
    void *scratch = talloc_new(NULL);
    ik_buffer_t plain;
    ik_buffer_t packed;
    ik_buffer_init(&plain, scratch, IK_BUFFER_UNLIMITED);  /* bounded by the state */
    ik_buffer_init(&packed, scratch, IK_BUFFER_UNLIMITED); /* likewise */
    serialise(&plain, state);
    ik_random_name(state->id, IK_STATE_ID_SIZE - 1);
    append_head(&packed, state->id);
    size_t room = ik_buffer_reserve(&packed, ZSTD_compressBound(plain.len));
    ZSTD_CCtx *compressor = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(compressor, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(compressor, ZSTD_c_checksumFlag, 1);
    size_t len = ZSTD_compress2(compressor, packed.data + packed.len, room, plain.data, plain.len);
    ZSTD_freeCCtx(compressor);
    res_t result = OK;
    if (ZSTD_isError(len)) {
        result = ERR(SYSTEM, "Cannot compress a state: %s", ZSTD_getErrorName(len));
    } else {
        packed.len += len;
        char *folder = ik_sprintf(scratch, "%s/states", states->blobs);
        result = ik_file_make_private_folder(folder);
        if (is_ok(&result)) {
            result = ik_file_write_private_fast(state_path(scratch, states, state->id), packed.data,
                                                packed.len);
        }
    }
    if (is_ok(&result)) {
        state->depth = state->base == NULL ? 0 : state->base->depth + 1;
        remember(states, state);
        ik_states_verified(states, state, state->verified_ns);
    }
    talloc_free(scratch);
    return result;
}

void ik_states_verified(ik_states_t *states, ik_state_t *state, int64_t when_ns)
{
    state->verified_ns = when_ns;
    char *path = state_path(NULL, states, state->id);
    struct timespec when = {.tv_sec = when_ns / 1000000000, .tv_nsec = when_ns % 1000000000};
    struct timespec times[2] = {when, when};
    utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
    talloc_free(path);
}

/* --- reading ------------------------------------------------------------------------------ */

typedef struct {
    const char *at;
    const char *end;
    bool failed;
} reader_t;

static uint64_t get_number(reader_t *in)
{
    uint64_t number = 0;
    for (int shift = 0; in->at < in->end && shift < 64; shift += 7) {
        unsigned char byte = (unsigned char)*in->at++;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return number;
        }
    }
    in->failed = true;
    return 0;
}

static int64_t get_signed(reader_t *in)
{
    uint64_t number = get_number(in);
    return (int64_t)(number >> 1 ^ (~(number & 1) + 1));
}

static const char *get_bytes(reader_t *in, uint64_t len)
{
    if (in->failed || len > (uint64_t)(in->end - in->at)) {
        in->failed = true;
        return NULL;
    }
    const char *bytes = in->at;
    in->at += len;
    return bytes;
}

static char *get_text(const void *ctx, reader_t *in)
{
    uint64_t len = get_number(in);
    const char *bytes = get_bytes(in, len);
    return bytes == NULL ? NULL : ik_strndup(ctx, bytes, len);
}

/* paths has room for all paths. Returns the place after this one. */
static char *get_entry(reader_t *in, ik_entry_t *entry, const ik_entry_t *last, char *paths,
                       const char *paths_end)
{
    uint64_t shared = get_number(in);
    uint64_t rest = get_number(in);
    const char *bytes = get_bytes(in, rest);
    if (bytes == NULL || shared > last->path_len ||
        shared + rest >= (uint64_t)(paths_end - paths)) {
        *entry = (ik_entry_t){.path = ""};
        in->failed = true;
        return paths;
    }
    if (shared > 0) {
        memcpy(paths, last->path, shared);
    }
    memcpy(paths + shared, bytes, rest);
    paths[shared + rest] = '\0';
    *entry = (ik_entry_t){.path = paths, .path_len = (uint32_t)(shared + rest)};
    const char *kinds = get_bytes(in, 1);
    entry->kind = kinds == NULL ? 0 : (unsigned char)*kinds >> 4;
    entry->naming = kinds == NULL ? 0 : *kinds & 15;
    entry->mode = (uint32_t)get_number(in);
    entry->size = get_number(in);
    entry->device = last->device + (uint64_t)get_signed(in);
    entry->inode = last->inode + (uint64_t)get_signed(in);
    entry->mtime_ns = (int64_t)((uint64_t)last->mtime_ns + (uint64_t)get_signed(in));
    entry->ctime_ns = (int64_t)((uint64_t)entry->mtime_ns + (uint64_t)get_signed(in));
    if (entry->naming != IK_NAMED_NOT) {
        entry->repository = (uint16_t)get_number(in);
        const char *name = get_bytes(in, ik_naming_size(entry->naming));
        if (name != NULL) {
            memcpy(entry->name, name, ik_naming_size(entry->naming));
        }
    }
    in->failed |= entry->kind > KIND_GONE || entry->naming >= IK_NAMED_KINDS;
    return paths + entry->path_len + 1;
}

/* The memory that all paths take, found by reading the lengths alone. */
static size_t measure_paths(reader_t in, uint64_t count)
{
    size_t total = 0;
    for (uint64_t i = 0; i < count && !in.failed; i++) {
        uint64_t shared = get_number(&in);
        uint64_t rest = get_number(&in);
        get_bytes(&in, rest);
        const char *kinds = get_bytes(&in, 1);
        for (int field = 0; field < 6; field++) {
            get_number(&in);
        }
        uint8_t naming = kinds == NULL ? 0 : *kinds & 15;
        if (naming != IK_NAMED_NOT) {
            get_number(&in);
            get_bytes(&in, ik_naming_size(naming));
        }
        if (shared > STATE_SIZE_MAX || (total += shared + rest + 1) > STATE_SIZE_MAX) {
            return 0;
        }
    }
    return in.failed ? 0 : total;
}

static bool read_entries(reader_t *in, ik_state_t *state)
{
    uint64_t count = get_number(in);
    if (in->failed || count > (uint64_t)(in->end - in->at)) {
        return false;
    }
    size_t size = measure_paths(*in, count);
    if (count > 0 && size == 0) {
        return false;
    }
    state->entries = ik_resize_array(state, NULL, ik_entry_t, count);
    state->count = count;
    ik_buffer_t paths;
    ik_buffer_init(&paths, state, IK_BUFFER_UNLIMITED); /* bounded by STATE_SIZE_MAX */
    ik_buffer_reserve(&paths, size + 1);
    ik_entry_t none = {.path = ""};
    const ik_entry_t *last = &none;
    char *at = paths.data;
    const char *paths_end = paths.data + size + 1;
    for (uint64_t i = 0; i < count && !in->failed; i++) {
        ik_entry_t *entry = &state->entries[i];
        at = get_entry(in, entry, last, at, paths_end);
        in->failed |= entry->naming != IK_NAMED_NOT && entry->naming != IK_NAMED_BLAKE2B &&
                      entry->repository >= state->repository_count;
        in->failed |=
            i > 0 && !in->failed &&
            ik_state_compare_paths(last->path, last->path_len, entry->path, entry->path_len) >= 0;
        last = entry;
    }
    return !in->failed && in->at == in->end;
}

static bool read_state(ik_state_t *state, reader_t *in, char **base)
{
    *base = get_text(state, in);
    state->folder = get_text(state, in);
    state->tree = get_number(in) != 0;
    state->taker = get_signed(in);
    state->taker_started = get_signed(in);
    state->file_count = get_number(in);
    uint64_t repositories = get_number(in);
    if (in->failed || repositories > (uint64_t)(in->end - in->at)) {
        return false;
    }
    state->repositories = ik_new_array(state, ik_state_repository_t, repositories);
    state->repository_count = repositories;
    for (uint64_t i = 0; i < repositories && !in->failed; i++) {
        state->repositories[i].objects = get_text(state, in);
        char *key = get_text(state, in);
        if (key == NULL || strlen(key) != sizeof(state->repositories[i].key) - 1) {
            return false;
        }
        memcpy(state->repositories[i].key, key, sizeof(state->repositories[i].key));
    }
    return !in->failed && read_entries(in, state);
}

static bool parse_head(const char *bytes, size_t len, char id[IK_STATE_ID_SIZE])
{
    head_t head;
    if (len < sizeof(head)) {
        return false;
    }
    memcpy(&head, bytes, sizeof(head));
    memcpy(id, head.id, sizeof(head.id));
    id[sizeof(head.id)] = '\0';
    return memcmp(head.magic, MAGIC, sizeof(MAGIC)) == 0 && ik_states_id_valid(id);
}

/* Fills plain with the content of the file. */
static res_t read_file(const ik_states_t *states, const char *id, ik_buffer_t *plain,
                       int64_t *verified_ns)
{
    char *path = state_path(plain->ctx, states, id);
    char *bytes;
    size_t len;
    struct stat st;
    if (stat(path, &st) != 0) {
        return ERR(NOT_FOUND, "There is no state %s", id);
    }
    *verified_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    TRY(ik_file_read(plain->ctx, path, STATE_SIZE_MAX / 8, &bytes, &len));
    char said[IK_STATE_ID_SIZE];
    if (!parse_head(bytes, len, said) || strcmp(said, id) != 0) {
        return ERR(DAMAGED, "The state %s is damaged", id);
    }
    bytes += sizeof(head_t);
    len -= sizeof(head_t);
    unsigned long long size = ZSTD_getFrameContentSize(bytes, len);
    if (size > STATE_SIZE_MAX) { /* also the values that mean unknown and damaged */
        return ERR(DAMAGED, "The state %s is damaged", id);
    }
    ik_buffer_reserve(plain, size + 1);
    size_t got = ZSTD_decompress(plain->data, size, bytes, len);
    if (ZSTD_isError(got)) {
        return ERR(DAMAGED, "The state %s is damaged: %s", id, ZSTD_getErrorName(got));
    }
    plain->len = got;
    return OK;
}

res_t ik_states_load_alone(const ik_states_t *states, const char *id, const void *ctx,
                           ik_state_t **out, char base[IK_STATE_ID_SIZE])
{
    if (!ik_states_id_valid(id)) {
        return ERR(INVALID, "Not the id of a state: '%s'", id);
    }
    ik_state_t *state = ik_new(ctx, ik_state_t);
    memcpy(state->id, id, IK_STATE_ID_SIZE);
    void *scratch = talloc_new(NULL);
    ik_buffer_t plain;
    ik_buffer_init(&plain, scratch, IK_BUFFER_UNLIMITED); /* bounded by STATE_SIZE_MAX */
    res_t result = read_file(states, id, &plain, &state->verified_ns);
    if (is_ok(&result)) {
        reader_t in = {.at = plain.data, .end = plain.data + plain.len};
        char *name;
        if (!read_state(state, &in, &name) || (name[0] != '\0' && !ik_states_id_valid(name))) {
            result = ERR(DAMAGED, "The state %s is damaged", id);
        } else {
            memcpy(base, name, strlen(name) + 1);
        }
    }
    talloc_free(scratch);
    if (is_err(&result)) {
        talloc_free(state);
        return result;
    }
    *out = state;
    return OK;
}

static res_t load_at_depth(ik_states_t *states, const char *id, unsigned depth, ik_state_t **out)
{
    for (size_t i = 0; i < states->count; i++) {
        if (strcmp(states->loaded[i]->id, id) == 0) {
            *out = states->loaded[i];
            return OK;
        }
    }
    if (depth > DEPTH_MAX) {
        return ERR(DAMAGED, "The state %s has too many bases", id);
    }
    char base[IK_STATE_ID_SIZE];
    ik_state_t *state;
    TRY(ik_states_load_alone(states, id, states, &state, base));
    if (base[0] != '\0') {
        res_t result = load_at_depth(states, base, depth + 1, &state->base);
        if (is_err(&result)) {
            talloc_free(state);
            return result;
        }
        state->depth = state->base->depth + 1;
    }
    remember(states, state);
    *out = state;
    return OK;
}

res_t ik_states_load(ik_states_t *states, const char *id, ik_state_t **out)
{
    return load_at_depth(states, id, 0, out);
}

/* --- other names of states ------------------------------------------------------------------ */

static const char LATEST[] = "latest";   /* of a folder */
static const char CUT_OFF[] = "restore"; /* the state before it */

/* The path of the name that stands for a text. */
static char *name_path(const void *ctx, const ik_states_t *states, const char *kind,
                       const char *text)
{
    ik_blake2b_t hash;
    unsigned char name[IK_BLAKE2B_SIZE];
    ik_blake2b_init(&hash);
    ik_blake2b_update(&hash, text, strlen(text));
    ik_blake2b_finish(&hash, name);
    char hex[33];
    for (int i = 0; i < 16; i++) {
        hex[2 * i] = "0123456789abcdef"[name[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[name[i] & 15];
    }
    hex[32] = '\0';
    return ik_sprintf(ctx, "%s/states/%s-%s", states->blobs, kind, hex);
}

static void read_id(int at, const char *path, char id[IK_STATE_ID_SIZE])
{
    char bytes[sizeof(head_t)];
    int fd = openat(at, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    ssize_t got = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
    if (fd >= 0) {
        close(fd);
    }
    if (got < 0 || !parse_head(bytes, (size_t)got, id)) {
        id[0] = '\0';
    }
}

void ik_states_latest(const ik_states_t *states, const char *folder, char id[IK_STATE_ID_SIZE])
{
    char *path = name_path(NULL, states, LATEST, folder);
    read_id(AT_FDCWD, path, id);
    talloc_free(path);
}

/* A link to the state, since another file takes longer to make. */
static res_t give_name(const ik_states_t *states, const char *path, const char *id)
{
    void *scratch = talloc_new(NULL);
    res_t result = OK;
    unlink(path);
    if (link(state_path(scratch, states, id), path) != 0 && errno != EEXIST) {
        ik_buffer_t head;
        ik_buffer_init(&head, scratch, sizeof(head_t));
        append_head(&head, id);
        result = ik_file_write_private_fast(path, head.data, head.len);
    }
    talloc_free(scratch);
    return result;
}

/* A failure only makes the next session read the files again. */
void ik_states_set_latest(const ik_states_t *states, const char *folder, const char *id)
{
    char *path = name_path(NULL, states, LATEST, folder);
    res_t ignored = give_name(states, path, id);
    (void)ignored;
    talloc_free(path);
}

void ik_states_cut_off(const ik_states_t *states, const char *what, char id[IK_STATE_ID_SIZE])
{
    char *path = name_path(NULL, states, CUT_OFF, what);
    read_id(AT_FDCWD, path, id);
    talloc_free(path);
}

res_t ik_states_set_cut_off(const ik_states_t *states, const char *what, const char *id)
{
    char *path = name_path(NULL, states, CUT_OFF, what);
    res_t result = give_name(states, path, id);
    talloc_free(path);
    return result;
}

void ik_states_forget_cut_off(const ik_states_t *states, const char *what)
{
    char *path = name_path(NULL, states, CUT_OFF, what);
    unlink(path);
    talloc_free(path);
}

void ik_states_drop_names(const ik_states_t *states)
{
    char *folder = ik_sprintf(NULL, "%s/states", states->blobs);
    DIR *list = opendir(folder);
    for (const struct dirent *entry; list != NULL && (entry = readdir(list)) != NULL;) {
        char id[IK_STATE_ID_SIZE];
        const char *dash = strchr(entry->d_name, '-'); /* ids have none */
        if (dash == NULL) {
            continue;
        }
        read_id(dirfd(list), entry->d_name, id);
        if (id[0] == '\0' || faccessat(dirfd(list), id, F_OK, 0) != 0) {
            unlinkat(dirfd(list), entry->d_name, 0);
        }
    }
    if (list != NULL) {
        closedir(list);
    }
    talloc_free(folder);
}

/* --- looking up ---------------------------------------------------------------------------- */

int ik_state_compare_paths(const char *a, size_t a_len, const char *b, size_t b_len)
{
    int order = memcmp(a, b, a_len < b_len ? a_len : b_len);
    return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

/* The first entry that is not before path. */
static size_t lower_bound(const ik_state_t *state, const char *path, size_t len)
{
    size_t low = 0;
    size_t high = state->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const ik_entry_t *entry = &state->entries[middle];
        if (ik_state_compare_paths(entry->path, entry->path_len, path, len) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const ik_entry_t *ik_state_find(const ik_state_t *state, const char *path, size_t len,
                                const ik_state_t **owner)
{
    for (; state != NULL; state = state->base) {
        size_t at = lower_bound(state, path, len);
        if (at < state->count && state->entries[at].path_len == len &&
            memcmp(state->entries[at].path, path, len) == 0) {
            if (owner != NULL) {
                *owner = state;
            }
            return state->entries[at].kind == KIND_GONE ? NULL : &state->entries[at];
        }
    }
    return NULL;
}

/* Whether .git is a component of the path. */
static bool is_in_git(const char *path, size_t len)
{
    for (size_t at = 0; at < len;) {
        const char *slash = memchr(path + at, '/', len - at);
        size_t end = slash == NULL ? len : (size_t)(slash - path);
        if (end - at == 4 && memcmp(path + at, ".git", 4) == 0) {
            return true;
        }
        at = end + 1;
    }
    return false;
}

bool ik_state_tells(const ik_state_t *state, const char *path, size_t len, const ik_entry_t **entry,
                    const ik_state_t **owner)
{
    static const ik_entry_t absent = {.path = "", .kind = IK_ENTRY_ABSENT};
    *owner = state;
    *entry = ik_state_find(state, path, len, owner);
    if (*entry != NULL) {
        return (*entry)->kind != IK_ENTRY_IGNORED;
    }
    if (!state->tree || path[0] == '/' || is_in_git(path, len)) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (path[i] == '/') {
            const ik_entry_t *above = ik_state_find(state, path, i + 1, NULL);
            if (above != NULL && above->kind == IK_ENTRY_IGNORED) {
                return false;
            }
        }
    }
    *entry = &absent;
    return true;
}

bool ik_state_has_folder(const ik_state_t *state, const char *path, size_t len)
{
    char *prefix = ik_sprintf(NULL, "%.*s/", (int)len, path);
    bool found = false;
    for (const ik_state_t *layer = state; layer != NULL && !found; layer = layer->base) {
        size_t at = lower_bound(layer, prefix, len + 1);
        for (; at < layer->count && !found; at++) {
            const ik_entry_t *entry = &layer->entries[at];
            if (entry->path_len < len + 1 || memcmp(entry->path, prefix, len + 1) != 0) {
                break;
            }
            const ik_entry_t *now =
                layer == state ? entry : ik_state_find(state, entry->path, entry->path_len, NULL);
            found = now != NULL && now->kind != KIND_GONE && now->kind != IK_ENTRY_ABSENT;
        }
    }
    talloc_free(prefix);
    return found;
}

ik_state_item_t *ik_state_list(const void *ctx, const ik_state_t *state, size_t *count)
{
    size_t base_count = 0;
    ik_state_item_t *base =
        state->base == NULL ? NULL : ik_state_list(ctx, state->base, &base_count);
    ik_state_item_t *items = ik_new_array(ctx, ik_state_item_t, base_count + state->count);
    size_t n = 0;
    size_t b = 0;
    for (size_t i = 0; i < state->count; i++) {
        const ik_entry_t *entry = &state->entries[i];
        int order = -1;
        while (b < base_count &&
               (order = ik_state_compare_paths(base[b].entry->path, base[b].entry->path_len,
                                               entry->path, entry->path_len)) < 0) {
            items[n++] = base[b++];
        }
        b += b < base_count && order == 0;
        if (entry->kind != KIND_GONE) {
            items[n++] = (ik_state_item_t){.entry = entry, .owner = state};
        }
    }
    while (b < base_count) {
        items[n++] = base[b++];
    }
    talloc_free(base);
    *count = n;
    return items;
}

/* --- entries ------------------------------------------------------------------------------- */

void ik_entry_set_stat(ik_entry_t *entry, const struct stat *st)
{
    entry->mode = st->st_mode | (st->st_uid == geteuid() ? 0 : IK_MODE_FOREIGN);
    entry->size = (uint64_t)st->st_size;
    entry->device = st->st_dev;
    entry->inode = st->st_ino;
    entry->mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
    entry->ctime_ns = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
}

void ik_entry_set_gone(ik_entry_t *entry)
{
    entry->kind = KIND_GONE;
}

bool ik_entry_same_stat(const ik_entry_t *a, const ik_entry_t *b)
{
    return a->mode == b->mode && a->size == b->size && a->device == b->device &&
           a->inode == b->inode && a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}
