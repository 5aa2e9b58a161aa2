/* The format is described in git's Documentation/diff-generate-patch. */
#include "checkpoint/patch.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/line_diff.h"
#include "base/utf8.h"
#include "checkpoint/git_hash.h"
#include "checkpoint/git_repository.h"

enum {
    CONTEXT = 3,
    SNIFF = 8000,      /* a NUL byte in the first bytes makes a file binary, as in git */
    LITERAL_LINE = 52, /* bytes in a line of a binary patch */
    HEX_MAX = 65,
    BAR_MAX = 40, /* columns of a bar in the list */
};
#define TEXT_MAX ((size_t)64 << 20) /* larger files are treated as binary */

typedef struct {
    const char *path;
    const ik_entry_t *entry;
    bool exists;
    bool missing; /* its content is not available */
    bool is_link;
    ik_buffer_t content;
} side_t;

typedef struct {
    side_t old;
    side_t fresh;
    bool binary;
    size_t added;
    size_t removed;
} pair_t;

typedef struct {
    ik_buffer_t *out;
    size_t object_size; /* of the repository the folder is in */
} writer_t;

/* --- the two sides -------------------------------------------------------------------------- */

static void load(side_t *side, const void *ctx, ik_place_t *place, const char *path,
                 const ik_entry_t *entry, const ik_state_t *owner)
{
    *side = (side_t){.path = path, .entry = entry};
    ik_buffer_init(&side->content, ctx, IK_BUFFER_UNLIMITED); /* bounded by the size in the state */
    ik_buffer_append(&side->content, "", 0);
    side->exists = entry->kind == IK_ENTRY_FILE || entry->kind == IK_ENTRY_LINK ||
                   entry->kind == IK_ENTRY_UNKEPT;
    side->is_link = entry->kind == IK_ENTRY_LINK;
    if (side->exists) {
        side->missing = !ik_place_content(place, entry, owner, &side->content);
    }
}

static bool is_binary(const side_t *side)
{
    size_t len = side->content.len < SNIFF ? side->content.len : SNIFF;
    return side->missing || side->content.len > TEXT_MAX ||
           memchr(side->content.data, '\0', len) != NULL;
}

static void on_counted_line(void *data, ik_line_change_t change, const char *line, size_t len)
{
    (void)line;
    (void)len;
    pair_t *pair = data;
    pair->added += change == IK_LINE_ADDED;
    pair->removed += change == IK_LINE_REMOVED;
}

static void count_lines(pair_t *pair)
{
    pair->binary = is_binary(&pair->old) || is_binary(&pair->fresh);
    if (!pair->binary) {
        ik_line_diff_run(pair->old.content.data, pair->old.content.len, pair->fresh.content.data,
                         pair->fresh.content.len, on_counted_line, pair);
    }
}

/* --- names ---------------------------------------------------------------------------------- */

/* A name with its prefix, quoted as git does it when it has unusual bytes. */
static void append_name(ik_buffer_t *out, const char *prefix, const char *path)
{
    bool plain = true;
    for (const char *c = path; *c != '\0'; c++) {
        plain &= *c >= ' ' && *c < 0x7f && *c != '"' && *c != '\\';
    }
    if (plain) {
        ik_buffer_append_format(out, "%s%s", prefix, path);
        return;
    }
    ik_buffer_append_format(out, "\"%s", prefix);
    for (const char *c = path; *c != '\0'; c++) {
        static const char escaped[] = "\a\b\t\n\v\f\r\"\\";
        static const char letters[] = "abtnvfr\"\\";
        const char *found = strchr(escaped, *c);
        if (found != NULL) {
            ik_buffer_append_byte(out, '\\');
            ik_buffer_append_byte(out, letters[found - escaped]);
        } else if (*c < ' ' || *c >= 0x7f) {
            ik_buffer_append_format(out, "\\%03o", (unsigned)(unsigned char)*c);
        } else {
            ik_buffer_append_byte(out, *c);
        }
    }
    ik_buffer_append_byte(out, '"');
}

/* In a line that begins with --- or +++: a name with spaces ends in a tab. */
static void append_line_name(ik_buffer_t *out, const char *mark, const char *prefix,
                             const side_t *side)
{
    ik_buffer_append_text(out, mark);
    if (!side->exists) {
        ik_buffer_append_text(out, "/dev/null\n");
        return;
    }
    append_name(out, prefix, side->path);
    ik_buffer_append_text(out, strchr(side->path, ' ') != NULL ? "\t\n" : "\n");
}

void ik_patch_add_path(ik_buffer_t *out, const char *path)
{
    size_t len = strlen(path);
    if (ik_utf8_valid(path, len)) {
        ik_json_add_text(out, "path", path);
        return;
    }
    ik_json_begin_member(out, "path_base64");
    ik_buffer_append_byte(out, '"');
    ik_base64_append(out, path, len);
    ik_buffer_append_byte(out, '"');
}

static unsigned git_mode(const side_t *side)
{
    return side->is_link ? 0120000 : (side->entry->mode & S_IXUSR) != 0 ? 0100755 : 0100644;
}

/* The name of the content as an object of git; zeros when there is none. */
static void format_object(const writer_t *writer, const side_t *side, char out[HEX_MAX])
{
    unsigned char name[32] = {0};
    if (side->exists) {
        ik_git_hash_t hash;
        ik_git_hash_init(&hash, writer->object_size, side->content.len);
        ik_git_hash_update(&hash, side->content.data, side->content.len);
        ik_git_hash_finish(&hash, name);
    }
    for (size_t i = 0; i < writer->object_size; i++) {
        snprintf(out + 2 * i, 3, "%02x", name[i]);
    }
}

/* --- lines ---------------------------------------------------------------------------------- */

typedef struct {
    ik_line_change_t change;
    const char *text;
    size_t len;
} line_t;

typedef struct {
    line_t *lines;
    size_t count;
    size_t room;
    void *ctx;
} lines_t;

static void on_line(void *data, ik_line_change_t change, const char *text, size_t len)
{
    lines_t *lines = data;
    if (lines->count == lines->room) {
        lines->room = lines->room == 0 ? 256 : lines->room * 2;
        lines->lines = ik_resize_array(lines->ctx, lines->lines, line_t, lines->room);
    }
    lines->lines[lines->count++] = (line_t){change, text, len};
}

static void append_range(ik_buffer_t *out, char mark, size_t before, size_t count)
{
    ik_buffer_append_format(out, "%c%zu", mark, count == 0 ? before : before + 1);
    if (count != 1) {
        ik_buffer_append_format(out, ",%zu", count);
    }
}

static void append_hunk(ik_buffer_t *out, const line_t *lines, size_t count, size_t old_before,
                        size_t fresh_before)
{
    size_t old_count = 0;
    size_t fresh_count = 0;
    for (size_t i = 0; i < count; i++) {
        old_count += lines[i].change != IK_LINE_ADDED;
        fresh_count += lines[i].change != IK_LINE_REMOVED;
    }
    ik_buffer_append_text(out, "@@ ");
    append_range(out, '-', old_before, old_count);
    ik_buffer_append_byte(out, ' ');
    append_range(out, '+', fresh_before, fresh_count);
    ik_buffer_append_text(out, " @@\n");
    for (size_t i = 0; i < count; i++) {
        ik_buffer_append_byte(out, lines[i].change == IK_LINE_KEPT      ? ' '
                                   : lines[i].change == IK_LINE_REMOVED ? '-'
                                                                        : '+');
        ik_buffer_append(out, lines[i].text, lines[i].len);
        if (lines[i].text[lines[i].len - 1] != '\n') {
            ik_buffer_append_text(out, "\n\\ No newline at end of file\n");
        }
    }
}

static void append_lines(ik_buffer_t *out, const pair_t *pair)
{
    lines_t all = {.ctx = talloc_new(NULL)};
    ik_line_diff_run(pair->old.content.data, pair->old.content.len, pair->fresh.content.data,
                     pair->fresh.content.len, on_line, &all);
    size_t old_line = 0;
    size_t fresh_line = 0;
    for (size_t at = 0; at < all.count;) {
        if (all.lines[at].change == IK_LINE_KEPT) {
            at++;
            old_line++;
            fresh_line++;
            continue;
        }
        /* From the context before this change to where twice as much context follows. */
        size_t start = at < CONTEXT ? 0 : at - CONTEXT;
        size_t last = at;
        for (size_t i = at; i < all.count && i - last <= 2 * CONTEXT; i++) {
            last = all.lines[i].change == IK_LINE_KEPT ? last : i;
        }
        size_t end = last + 1 + CONTEXT < all.count ? last + 1 + CONTEXT : all.count;
        size_t before = at - start;
        append_hunk(out, all.lines + start, end - start, old_line - before, fresh_line - before);
        for (; at < end; at++) {
            old_line += all.lines[at].change != IK_LINE_ADDED;
            fresh_line += all.lines[at].change != IK_LINE_REMOVED;
        }
    }
    talloc_free(all.ctx);
}

/* --- binary patches ------------------------------------------------------------------------- */

static void append_base85(ik_buffer_t *out, const unsigned char *bytes, size_t len)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                 "!#$%&()*+-;<=>?@^_`{|}~";
    for (size_t at = 0; at < len; at += 4) {
        uint32_t word = 0;
        for (size_t i = 0; i < 4; i++) {
            word = word << 8 | (at + i < len ? bytes[at + i] : 0);
        }
        char group[5];
        for (int i = 4; i >= 0; i--) {
            group[i] = digits[word % 85];
            word /= 85;
        }
        ik_buffer_append(out, group, 5);
    }
}

static void append_literal(ik_buffer_t *out, const ik_buffer_t *content)
{
    uLong room = compressBound(content->len);
    unsigned char *packed = ik_alloc_plain(room);
    uLong len = room;
    compress2(packed, &len, (const Bytef *)content->data, content->len, Z_DEFAULT_COMPRESSION);
    ik_buffer_append_format(out, "literal %zu\n", content->len);
    for (size_t at = 0; at < len; at += LITERAL_LINE) {
        size_t part = len - at < LITERAL_LINE ? len - at : LITERAL_LINE;
        ik_buffer_append_byte(out, (char)(part <= 26 ? 'A' + part - 1 : 'a' + part - 27));
        append_base85(out, packed + at, part);
        ik_buffer_append_byte(out, '\n');
    }
    ik_buffer_append_byte(out, '\n');
    free(packed);
}

/* --- one file ------------------------------------------------------------------------------- */

static void append_header(const writer_t *writer, const pair_t *pair, bool binary)
{
    ik_buffer_t *out = writer->out;
    const side_t *old = &pair->old;
    const side_t *fresh = &pair->fresh;
    char old_name[HEX_MAX];
    char fresh_name[HEX_MAX];
    ik_buffer_append_text(out, "diff --git ");
    append_name(out, "a/", old->path);
    ik_buffer_append_byte(out, ' ');
    append_name(out, "b/", fresh->path);
    ik_buffer_append_byte(out, '\n');
    if (!old->exists) {
        ik_buffer_append_format(out, "new file mode %06o\n", git_mode(fresh));
    } else if (!fresh->exists) {
        ik_buffer_append_format(out, "deleted file mode %06o\n", git_mode(old));
    } else if (git_mode(old) != git_mode(fresh)) {
        ik_buffer_append_format(out, "old mode %06o\nnew mode %06o\n", git_mode(old),
                                git_mode(fresh));
    }
    format_object(writer, old, old_name);
    format_object(writer, fresh, fresh_name);
    bool same = old->exists && fresh->exists && strcmp(old_name, fresh_name) == 0;
    if (!same) {
        int digits = binary ? (int)writer->object_size * 2 : 7;
        ik_buffer_append_format(out, "index %.*s..%.*s", digits, old_name, digits, fresh_name);
        bool one_mode = old->exists && fresh->exists && git_mode(old) == git_mode(fresh);
        ik_buffer_append_format(out, one_mode ? " %06o\n" : "\n", one_mode ? git_mode(old) : 0);
    }
}

static void append_pair(const writer_t *writer, const pair_t *pair)
{
    ik_buffer_t *out = writer->out;
    const side_t *old = &pair->old;
    const side_t *fresh = &pair->fresh;
    if (old->missing || fresh->missing) {
        ik_buffer_append_text(out, "The contents of ");
        append_name(out, "", old->path);
        ik_buffer_append_text(out, " are not available\n");
        return;
    }
    bool same = old->exists && fresh->exists && old->content.len == fresh->content.len &&
                memcmp(old->content.data, fresh->content.data, old->content.len) == 0;
    if (same && git_mode(old) == git_mode(fresh)) {
        return; /* permissions that git does not record */
    }
    /* The text of the answer is UTF-8, so other text travels as bytes. */
    bool binary = pair->binary || !ik_utf8_valid(old->content.data, old->content.len) ||
                  !ik_utf8_valid(fresh->content.data, fresh->content.len);
    append_header(writer, pair, binary);
    if (same || (old->content.len == 0 && fresh->content.len == 0)) {
        return;
    }
    if (binary) {
        ik_buffer_append_text(out, "GIT binary patch\n");
        append_literal(out, &fresh->content);
        append_literal(out, &old->content);
        return;
    }
    append_line_name(out, "--- ", "a/", old);
    append_line_name(out, "+++ ", "b/", fresh);
    append_lines(out, pair);
}

/* A patch cannot turn a file into a link: it removes one and adds the other. */
static void append_change(const writer_t *writer, pair_t *pair)
{
    if (pair->old.exists && pair->fresh.exists && pair->old.is_link != pair->fresh.is_link) {
        pair_t part = *pair;
        part.fresh.exists = false;
        part.fresh.content.len = 0;
        append_pair(writer, &part);
        part = *pair;
        part.old.exists = false;
        part.old.content.len = 0;
        append_pair(writer, &part);
        return;
    }
    append_pair(writer, pair);
}

/* git applies nothing outside the folder and refuses a whole patch that tries. Such files are shown
 * indented, which git skips. */
static void append_outside(const writer_t *writer, pair_t *pair)
{
    ik_buffer_t text;
    ik_buffer_init(&text, NULL, IK_BUFFER_UNLIMITED); /* bounded by the file */
    writer_t inner = {.out = &text, .object_size = writer->object_size};
    append_change(&inner, pair);
    ik_buffer_append_text(writer->out, "Outside this folder:\n");
    for (size_t at = 0; at < text.len;) {
        const char *newline = memchr(text.data + at, '\n', text.len - at);
        size_t end = newline == NULL ? text.len : (size_t)(newline - text.data) + 1;
        ik_buffer_append_text(writer->out, "    ");
        ik_buffer_append(writer->out, text.data + at, end - at);
        at = end;
    }
    ik_buffer_reset(&text);
}

static void append_json(ik_buffer_t *out, const pair_t *pair, bool first)
{
    if (!first) {
        ik_buffer_append_byte(out, ',');
    }
    ik_buffer_t object;
    ik_buffer_init(&object, NULL, IK_BUFFER_UNLIMITED); /* bounded by the path */
    ik_patch_add_path(&object, pair->old.path);
    ik_json_add_text(&object, "status",
                     !pair->old.exists     ? "added"
                     : !pair->fresh.exists ? "deleted"
                                           : "modified");
    ik_json_add_number(&object, "added", (int64_t)pair->added);
    ik_json_add_number(&object, "removed", (int64_t)pair->removed);
    ik_json_begin_member(&object, "binary");
    ik_buffer_append_text(&object, pair->binary ? "true}" : "false}");
    ik_buffer_append(out, object.data, object.len);
    ik_buffer_reset(&object);
}

/* --- the list of files ----------------------------------------------------------------------- */

static void append_row(ik_buffer_t *out, const pair_t *pair)
{
    ik_buffer_append_byte(out, ' ');
    append_name(out, "", pair->old.path);
    if (pair->binary) {
        ik_buffer_append_format(out, " | Bin %zu -> %zu bytes\n", (size_t)pair->old.entry->size,
                                (size_t)pair->fresh.entry->size);
        return;
    }
    size_t total = pair->added + pair->removed;
    size_t scale = total > BAR_MAX ? total : BAR_MAX;
    size_t plus = (pair->added * BAR_MAX + scale - 1) / scale;
    size_t minus = (pair->removed * BAR_MAX + scale - 1) / scale;
    ik_buffer_append_format(out, " | %zu%s", total, total > 0 ? " " : "");
    for (size_t i = 0; i < plus; i++) {
        ik_buffer_append_byte(out, '+');
    }
    for (size_t i = 0; i < minus; i++) {
        ik_buffer_append_byte(out, '-');
    }
    ik_buffer_append_byte(out, '\n');
}

static void append_sum(ik_buffer_t *out, size_t files, size_t added, size_t removed)
{
    ik_buffer_append_format(out, " %zu file%s changed", files, files == 1 ? "" : "s");
    if (added > 0) {
        ik_buffer_append_format(out, ", %zu insertion%s(+)", added, added == 1 ? "" : "s");
    }
    if (removed > 0) {
        ik_buffer_append_format(out, ", %zu deletion%s(-)", removed, removed == 1 ? "" : "s");
    }
    ik_buffer_append_byte(out, '\n');
}

/* What of the folder's path is below the root of its repository. git takes the paths of a patch
 * from there, wherever it is applied, and passes over those outside the working folder. */
static const char *below_root(const ik_place_t *place, const char *root)
{
    size_t len = root == NULL ? 0 : strlen(root);
    return root == NULL || place->folder[len] != '/' ? "" : place->folder + len + 1;
}

void ik_patch_append(ik_buffer_t *out, ik_place_t *place, const ik_segment_t *segments,
                     size_t count, ik_patch_format_t format)
{
    void *ctx = talloc_new(NULL);
    size_t change_count;
    ik_change_t *changes = ik_segment_changes(ctx, place, segments, count, &change_count);
    writer_t writer = {.out = out, .object_size = 20};
    char *root = ik_git_repository_find_root(ctx, place->folder);
    const ik_git_repository_t *repository =
        root == NULL || change_count == 0 ? NULL : ik_git_repository_open(ctx, root);
    if (repository != NULL) {
        writer.object_size = repository->object_size;
    }
    const char *above = format == IK_PATCH_FULL ? below_root(place, root) : "";
    size_t files = 0;
    size_t added = 0;
    size_t removed = 0;
    /* Paths outside the folder begin with a slash and would come first. */
    for (int outside = 0; outside < 2; outside++) {
        for (size_t i = 0; i < change_count; i++) {
            const ik_change_t *change = &changes[i];
            if ((change->path[0] == '/') != (outside == 1) ||
                ik_place_same(place, change->before, change->before_owner, change->after,
                              change->after_owner)) {
                continue;
            }
            void *scratch = talloc_new(ctx);
            pair_t pair = {0};
            const char *path = above[0] == '\0' || outside == 1
                                   ? change->path
                                   : ik_sprintf(scratch, "%s/%s", above, change->path);
            load(&pair.old, scratch, place, path, change->before, change->before_owner);
            load(&pair.fresh, scratch, place, path, change->after, change->after_owner);
            count_lines(&pair);
            if (format == IK_PATCH_JSON) {
                append_json(out, &pair, files == 0);
            } else if (format == IK_PATCH_STAT) {
                append_row(out, &pair);
            } else if (outside == 0) {
                append_change(&writer, &pair);
            } else {
                append_outside(&writer, &pair);
            }
            files++;
            added += pair.added;
            removed += pair.removed;
            talloc_free(scratch);
        }
    }
    if (format == IK_PATCH_STAT) {
        append_sum(out, files, added, removed);
    }
    talloc_free(ctx);
}
