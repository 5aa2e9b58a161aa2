/*
 * Lines are only appended to the file, each in one write; now and then the file is replaced by one
 * without duplicates and old entries. Several instances may do both at once, without a lock. After
 * appending, an instance checks whether the file was replaced meanwhile, and if so appends again.
 * After replacing it, an instance checks whether the old file grew meanwhile, and appends those
 * lines to the new one. At worst a line is there twice, which reading removes.
 */
#include "terminal/recall.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"

enum {
    FILE_MAX = 64 * 1024 * 1024,  /* a larger file is not ours */
    FILE_LARGE = 8 * 1024 * 1024, /* rewritten from this size, or twice its size when rewritten */
    KEPT_BYTES = 16 * 1024 * 1024,
    APPEND_TRIES = 10, /* while other instances replace the file */
};

typedef struct {
    char *text;
    uint64_t hash;
    bool saved; /* in the file */
} entry_t;

struct ik_recall {
    char *file; /* NULL: none */
    bool loaded;
    size_t lines;     /* known to be in the file */
    size_t large;     /* file size above which it is rewritten */
    entry_t *entries; /* oldest first */
    size_t count;
    size_t capacity;
};

ik_recall_t *ik_recall_create(const void *ctx, const char *file)
{
    ik_recall_t *recall = ik_new(ctx, ik_recall_t);
    recall->file = file == NULL ? NULL : ik_strdup(recall, file);
    recall->loaded = file == NULL;
    recall->large = FILE_LARGE;
    return recall;
}

/* --- entries ----------------------------------------------------------------------------- */

static bool is_worth_keeping(const char *text)
{
    size_t len = strlen(text);
    return len <= IK_RECALL_ENTRY_MAX && strspn(text, " \t\r\n") < len;
}

static entry_t make_entry(ik_recall_t *recall, const char *text, bool saved)
{
    uint64_t hash = ik_hash_bytes(text, strlen(text));
    return (entry_t){.text = ik_strdup(recall, text), .hash = hash, .saved = saved};
}

static bool is_same(const entry_t *a, const entry_t *b)
{
    return a->hash == b->hash && strcmp(a->text, b->text) == 0;
}

static void remove_entry(ik_recall_t *recall, size_t index)
{
    talloc_free(recall->entries[index].text);
    recall->count--;
    memmove(recall->entries + index, recall->entries + index + 1,
            (recall->count - index) * sizeof(entry_t));
}

static void push_entry(ik_recall_t *recall, entry_t entry)
{
    if (recall->count == recall->capacity) {
        recall->capacity = recall->capacity == 0 ? 64 : 2 * recall->capacity;
        recall->entries = ik_resize_array(recall, recall->entries, entry_t, recall->capacity);
    }
    recall->entries[recall->count++] = entry;
}

static void remember(ik_recall_t *recall, const char *text, bool saved)
{
    entry_t entry = make_entry(recall, text, saved);
    for (size_t i = recall->count; i > 0; i--) {
        if (is_same(&recall->entries[i - 1], &entry)) {
            remove_entry(recall, i - 1);
            break;
        }
    }
    if (recall->count == IK_RECALL_MAX) {
        remove_entry(recall, 0);
    }
    push_entry(recall, entry);
}

/* --- reading ----------------------------------------------------------------------------- */

static void read_line(ik_recall_t *recall, const char *line, size_t len)
{
    ik_json_span_t value;
    if (!ik_json_scan(line, len, &value, NULL) || !ik_json_has_text(value)) {
        return;
    }
    size_t decoded;
    char *text = ik_json_decode(recall, value, &decoded);
    if (strlen(text) == decoded && is_worth_keeping(text)) {
        push_entry(recall, make_entry(recall, text, true));
    }
    talloc_free(text);
}

/* Adds an entry to the hash set of kept ones. Returns false if an equal one is in it. */
static bool keep(const entry_t **kept, size_t capacity, const entry_t *entry)
{
    size_t slot = entry->hash & (capacity - 1);
    while (kept[slot] != NULL && !is_same(kept[slot], entry)) {
        slot = (slot + 1) & (capacity - 1);
    }
    bool added = kept[slot] == NULL;
    kept[slot] = added ? entry : kept[slot];
    return added;
}

/* Removes duplicates, keeping the newest, and the oldest entries beyond the limits. */
static void drop_duplicates(ik_recall_t *recall)
{
    size_t capacity = 64;
    while (capacity < 2 * recall->count) {
        capacity *= 2;
    }
    const entry_t **kept = ik_new_array(NULL, const entry_t *, capacity);
    size_t count = 0;
    size_t bytes = 0;
    for (size_t i = recall->count; i > 0; i--) {
        entry_t *entry = &recall->entries[i - 1];
        size_t len = strlen(entry->text);
        bool fits = count < IK_RECALL_MAX && bytes + len <= KEPT_BYTES;
        if (fits && keep(kept, capacity, entry)) {
            count++;
            bytes += len;
        } else {
            TALLOC_FREE(entry->text);
        }
    }
    talloc_free(kept);
    size_t to = 0;
    for (size_t i = 0; i < recall->count; i++) {
        if (recall->entries[i].text != NULL) {
            recall->entries[to++] = recall->entries[i];
        }
    }
    recall->count = to;
}

/* --- writing ----------------------------------------------------------------------------- */

static bool open_for_append(const char *file, int *fd, struct stat *status)
{
    int flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    *fd = open(file, flags, 0600);
    if (*fd < 0 && errno == ENOENT) {
        char *folder = ik_file_folder(NULL, file);
        ik_file_make_private_folder(folder);
        talloc_free(folder);
        *fd = open(file, flags, 0600);
    }
    if (*fd < 0) {
        return false;
    }
    if (fstat(*fd, status) != 0 || !S_ISREG(status->st_mode)) {
        close(*fd);
        return false;
    }
    if ((status->st_mode & 0777) != 0600) {
        fchmod(*fd, 0600);
    }
    return true;
}

typedef enum { APPENDED, REFUSED, REPLACED } outcome_t;

/* Appends whole lines. REPLACED: the file was replaced meanwhile, and they are in the old one. */
static outcome_t append_once(const char *file, const char *lines, size_t len, size_t *size)
{
    int fd;
    struct stat status;
    if (!open_for_append(file, &fd, &status)) {
        return REFUSED;
    }
    char last;
    bool cut_short = status.st_size > 0 && pread(fd, &last, 1, status.st_size - 1) == 1 &&
                     last != '\n'; /* the last write, by another instance */
    ik_buffer_t out;
    ik_buffer_init(&out, NULL, len + 1);
    ik_buffer_append(&out, "\n", cut_short ? 1 : 0);
    ik_buffer_append(&out, lines, len);
    bool written = write(fd, out.data, out.len) == (ssize_t)out.len;
    ik_buffer_reset(&out);
    bool replaced = fstat(fd, &status) == 0 && status.st_nlink == 0;
    *size = (size_t)status.st_size;
    close(fd);
    return !written ? REFUSED : replaced ? REPLACED : APPENDED;
}

/* Sets *size to the size of the file. */
static bool append(const char *file, const char *lines, size_t len, size_t *size)
{
    outcome_t outcome = REPLACED;
    for (int i = 0; i < APPEND_TRIES && outcome == REPLACED; i++) {
        outcome = append_once(file, lines, len, size);
    }
    return outcome == APPENDED;
}

static void append_entry(ik_buffer_t *out, const char *text)
{
    ik_json_append_text(out, text);
    ik_buffer_append_byte(out, '\n');
}

/* The bytes up to the last end of a line. A write that crosses a page can be seen half done; its
 * writer either finishes it before the file is replaced, or appends the line again. */
static size_t count_whole_lines(const char *bytes, size_t len)
{
    const char *end = len > 0 ? memrchr(bytes, '\n', len) : NULL;
    return end == NULL ? 0 : (size_t)(end + 1 - bytes);
}

/* Appends the lines that were added to the old file after it was read. */
static void rescue_late_lines(const char *file, int old, off_t read_bytes)
{
    struct stat status;
    if (fstat(old, &status) != 0 || status.st_size <= read_bytes || status.st_size > FILE_MAX) {
        return;
    }
    size_t len = (size_t)(status.st_size - read_bytes);
    char *late = ik_new_array(NULL, char, len);
    ssize_t n = pread(old, late, len, read_bytes);
    len = count_whole_lines(late, n > 0 ? (size_t)n : 0);
    if (len > 0) {
        size_t size;
        append(file, late, len, &size);
    }
    talloc_free(late);
}

static void rewrite(ik_recall_t *recall, size_t read_bytes)
{
    int old = open(recall->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ik_buffer_t out;
    ik_buffer_init(&out, NULL, IK_BUFFER_UNLIMITED); /* bounded by KEPT_BYTES and its escapes */
    for (size_t i = 0; i < recall->count; i++) {
        append_entry(&out, recall->entries[i].text);
    }
    res_t written = ik_file_write_private(recall->file, out.data, out.len);
    if (is_ok(&written)) {
        recall->lines = recall->count;
        recall->large = 2 * out.len > FILE_LARGE ? 2 * out.len : FILE_LARGE;
        rescue_late_lines(recall->file, old, (off_t)read_bytes);
    }
    ik_buffer_reset(&out);
    if (old >= 0) {
        close(old);
    }
}

static bool is_long(const ik_recall_t *recall, size_t size)
{
    return recall->lines >= 2 * IK_RECALL_MAX || size > recall->large;
}

/* --- loading ----------------------------------------------------------------------------- */

static void push_own(ik_recall_t *recall, const entry_t *own, size_t count, bool saved)
{
    for (size_t i = 0; i < count; i++) {
        if (own[i].saved == saved) {
            push_entry(recall, own[i]);
        }
    }
}

/* Entries added before loading are in the file, or newer than it if they could not be written. */
static void load(ik_recall_t *recall)
{
    if (recall->loaded) {
        return;
    }
    entry_t *own = recall->entries;
    size_t own_count = recall->count;
    recall->entries = NULL;
    recall->lines = recall->count = recall->capacity = 0;
    recall->loaded = true;
    push_own(recall, own, own_count, true);
    char *bytes = NULL;
    size_t len = 0;
    res_t read = ik_file_read(recall, recall->file, FILE_MAX, &bytes, &len);
    if (is_ok(&read)) {
        for (size_t at = 0; at < len; recall->lines++) {
            const char *end = memchr(bytes + at, '\n', len - at);
            size_t line = end == NULL ? len - at : (size_t)(end - bytes) - at;
            read_line(recall, bytes + at, line);
            at += line + 1;
        }
    }
    size_t whole = count_whole_lines(bytes, len);
    push_own(recall, own, own_count, false);
    talloc_free(own);
    talloc_free(bytes);
    drop_duplicates(recall);
    if (is_long(recall, len)) {
        rewrite(recall, whole);
    }
}

/* --- interface --------------------------------------------------------------------------- */

static bool save(ik_recall_t *recall, const char *text, size_t *file_size)
{
    ik_buffer_t line;
    ik_buffer_init(&line, NULL, IK_BUFFER_UNLIMITED); /* bounded by IK_RECALL_ENTRY_MAX */
    append_entry(&line, text);
    bool saved = append(recall->file, line.data, line.len, file_size);
    ik_buffer_reset(&line);
    recall->lines++;
    return saved;
}

void ik_recall_add(ik_recall_t *recall, const char *text)
{
    size_t size = 0;
    if (!is_worth_keeping(text)) {
        return;
    }
    bool saved = recall->file != NULL && save(recall, text, &size);
    remember(recall, text, saved);
    /* Other instances may have added entries, so the file is read again before it is rewritten. */
    if (saved && is_long(recall, size)) {
        recall->loaded = false;
        load(recall);
    }
}

size_t ik_recall_count(ik_recall_t *recall)
{
    load(recall);
    return recall->count;
}

const char *ik_recall_entry(ik_recall_t *recall, size_t index)
{
    load(recall);
    return recall->entries[recall->count - 1 - index].text;
}

size_t ik_recall_find_prefix(ik_recall_t *recall, size_t index, bool older, const char *prefix,
                             const char *except)
{
    size_t len = strlen(prefix);
    while (index < ik_recall_count(recall)) {
        const char *text = ik_recall_entry(recall, index);
        if (strncmp(text, prefix, len) == 0 && strcmp(text, except) != 0) {
            return index;
        }
        index = older ? index + 1 : index - 1; /* ends below 0 */
    }
    return SIZE_MAX;
}
