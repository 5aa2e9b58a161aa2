#include "base/image_path.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/utf8.h"

enum {
    PASTE_MAX = 16 * 1024, /* bytes of a paste that may be paths */
    PASTE_PATHS = 20,
    WORDS_MAX = 8, /* of a name with blanks */
};

static const char blanks[] = " \t\n\r";
static const char openers[] = "([{<\"'`"; /* may stand before an @ */
static const char closers[] = ".,;:!?)]}>\"'`";

static bool is_one_of(const char *set, char byte)
{
    return byte != '\0' && strchr(set, byte) != NULL;
}

/* --- names ------------------------------------------------------------------------------- */

bool ik_image_path_is_named_image(const char *path)
{
    static const char *const kinds[] = {"png",  "jpg", "jpeg", "gif",  "webp", "bmp",
                                        "tiff", "tif", "heic", "heif", "avif", "ico"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < IK_LENGTH(kinds); i++) {
        if (strcasecmp(dot + 1, kinds[i]) == 0) {
            return true;
        }
    }
    return false;
}

static int hex_value(char c)
{
    char lower = (char)(c | 0x20);
    return c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* The path of a file:// URL of this machine, in place; any other text stays. */
static void decode_url(char *text)
{
    static const char scheme[] = "file://";
    if (strncasecmp(text, scheme, sizeof(scheme) - 1) != 0) {
        return;
    }
    const char *from = text + sizeof(scheme) - 1;
    from += strncmp(from, "localhost/", 10) == 0 ? 9 : 0;
    if (*from != '/') {
        return; /* of another machine */
    }
    char *to = text;
    while (*from != '\0') {
        int high = from[0] == '%' ? hex_value(from[1]) : -1;
        int low = high < 0 ? -1 : hex_value(from[2]);
        bool encoded = low >= 0 && high + low > 0; /* %00 would end the path */
        *to++ = encoded ? (char)(high << 4 | low) : *from;
        from += encoded ? 3 : 1;
    }
    *to = '\0';
}

/* Reads one word of a shell: quotes, and backslashes outside single quotes. Moves *at behind it.
 * NULL: a quote is not closed. */
static char *read_word(const void *ctx, const char *text, size_t len, size_t *at)
{
    ik_buffer_t word;
    char quote = '\0';
    size_t i = *at;
    ik_buffer_init(&word, ctx, PASTE_MAX);
    ik_buffer_append_text(&word, "");
    for (; i < len && (quote != '\0' || !is_one_of(blanks, text[i])); i++) {
        char c = text[i];
        bool escapes = c == '\\' && quote != '\'' && i + 1 < len &&
                       (quote == '\0' || is_one_of("\"\\$`", text[i + 1]));
        if (escapes) {
            ik_buffer_append_byte(&word, text[++i]);
        } else if (c == quote) {
            quote = '\0';
        } else if (quote == '\0' && (c == '"' || c == '\'')) {
            quote = c;
        } else {
            ik_buffer_append_byte(&word, c);
        }
    }
    *at = i;
    char *path = ik_buffer_finish(&word);
    decode_url(path);
    return quote == '\0' ? path : NULL;
}

/* --- messages ---------------------------------------------------------------------------- */

static void add(ik_image_path_word_t *out, char *path, size_t end)
{
    if (out->count < IK_IMAGE_PATH_CANDIDATES && *path != '\0') {
        decode_url(path);
        out->paths[out->count] = path;
        out->ends[out->count++] = end;
    }
}

/* The text with backslashes before blanks and quotes removed. */
static char *unescape(const void *ctx, const char *text, size_t len)
{
    char *path = ik_strndup(ctx, text, len);
    char *to = path;
    for (const char *from = path; *from != '\0'; from++) {
        from += *from == '\\' && is_one_of(" \t\"'\\()[]&", from[1]) ? 1 : 0;
        *to++ = *from;
    }
    *to = '\0';
    return path;
}

/* Adds text[from, to), then the same without each character at its end that may belong to the
 * sentence. With image_only, only names that end like those of images. No path is as long as
 * PATH_MAX. */
static void add_word(const void *ctx, const char *text, size_t from, size_t to, bool image_only,
                     ik_image_path_word_t *out)
{
    while (to - from < PATH_MAX && out->count < IK_IMAGE_PATH_CANDIDATES) {
        char *path = unescape(ctx, text + from, to - from);
        if (!image_only || ik_image_path_is_named_image(path)) {
            add(out, path, to);
        } else {
            talloc_free(path);
        }
        if (to <= from + 1 || !is_one_of(closers, text[to - 1])) {
            return;
        }
        to--;
    }
}

/* Where the word at from ends: at a blank without a backslash. */
static size_t find_end(const char *text, size_t len, size_t from)
{
    while (from < len && !is_one_of(blanks, text[from])) {
        bool escaped = text[from] == '\\' && from + 1 < len && text[from + 1] == ' ';
        from += escaped ? 2 : 1;
    }
    return from;
}

static void add_unquoted(const void *ctx, const char *text, size_t len, size_t from,
                         ik_image_path_word_t *out)
{
    size_t end = find_end(text, len, from);
    add_word(ctx, text, from, end, false, out);
    for (int i = 1; i < WORDS_MAX && end < len && text[end] == ' '; i++) {
        end = find_end(text, len, end + 1);
        add_word(ctx, text, from, end, true, out);
    }
}

static void add_quoted(const void *ctx, const char *text, size_t len, size_t from,
                       ik_image_path_word_t *out)
{
    const char *end = memchr(text + from + 1, text[from], len - from - 1);
    const char *line = memchr(text + from, '\n', len - from);
    if (end != NULL && (line == NULL || end < line)) {
        size_t to = (size_t)(end - text);
        add(out, ik_strndup(ctx, text + from + 1, to - from - 1), to + 1);
    }
}

bool ik_image_path_next(const void *ctx, const char *text, size_t len, size_t *at,
                        ik_image_path_word_t *out)
{
    *out = (ik_image_path_word_t){0};
    while (*at < len) {
        const char *sign = memchr(text + *at, '@', len - *at);
        if (sign == NULL) {
            break;
        }
        size_t from = (size_t)(sign - text) + 1;
        bool begins = from == 1 || is_one_of(blanks, sign[-1]) || is_one_of(openers, sign[-1]);
        *at = from;
        if (!begins || from == len || is_one_of(blanks, text[from])) {
            continue;
        }
        if (text[from] == '"' || text[from] == '\'') {
            add_quoted(ctx, text, len, from, out);
        } else {
            add_unquoted(ctx, text, len, from, out);
            *at = find_end(text, len, from); /* of a word that is longer than any path */
        }
        if (out->count > 0) {
            *at = out->ends[0];
            return true;
        }
    }
    *at = len;
    return false;
}

/* --- pastes ------------------------------------------------------------------------------ */

char **ik_image_path_parse_paste(const void *ctx, const char *text, size_t len, bool whole)
{
    while (len > 0 && is_one_of(blanks, text[len - 1])) {
        len--;
    }
    while (len > 0 && is_one_of(blanks, text[0])) {
        text++;
        len--;
    }
    if (len == 0 || len > PASTE_MAX || memchr(text, '\0', len) != NULL) {
        return NULL;
    }
    char **paths = ik_new_array(ctx, char *, PASTE_PATHS + 1);
    if (whole) {
        paths[0] = memchr(text, '\n', len) == NULL ? ik_strndup(paths, text, len) : NULL;
        return paths[0] == NULL ? NULL : paths;
    }
    size_t count = 0;
    size_t at = 0;
    while (at < len) {
        char *path = count < PASTE_PATHS ? read_word(paths, text, len, &at) : NULL;
        if (path == NULL || *path == '\0') {
            talloc_free(paths);
            return NULL;
        }
        paths[count++] = path;
        while (at < len && is_one_of(blanks, text[at])) {
            at++;
        }
    }
    return paths;
}

/* --- paths ------------------------------------------------------------------------------- */

char *ik_image_path_resolve(const void *ctx, const char *path, const char *folder, const char *home)
{
    if (path[0] == '/') {
        return ik_strdup(ctx, path);
    }
    if (path[0] == '~' && path[1] == '/' && home != NULL) {
        return ik_sprintf(ctx, "%s%s", home, path + 1);
    }
    return ik_sprintf(ctx, "%s/%s", folder, path);
}

char *ik_image_path_format(const void *ctx, const char *path)
{
    size_t len = strlen(path);
    bool has_quote = strchr(path, '"') != NULL;
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)path[i] < ' ' || path[i] == 0x7f) {
            return NULL;
        }
    }
    if (len == 0 || !ik_utf8_valid(path, len) || (has_quote && strchr(path, '\'') != NULL)) {
        return NULL;
    }
    bool plain = strpbrk(path, " \"'\\") == NULL && !is_one_of(closers, path[len - 1]);
    const char *quote = plain ? "" : has_quote ? "'" : "\"";
    return ik_sprintf(ctx, "@%s%s%s", quote, path, quote);
}
