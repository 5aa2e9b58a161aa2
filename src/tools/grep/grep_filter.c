#include "tools/grep/grep_filter.h"

#include <string.h>

#include "base/alloc.h"
#include "tools/common/glob_match.h"

enum {
    ALTERNATIVES_MAX = 1000,
    GROUPS_MAX = 100, /* with more it is taken as it stands */
    PATH_ROOM = 4096,
};

struct ik_grep_filter {
    ik_glob_t *globs;
    size_t count;
    bool paths; /* some glob has a slash */
};

static void add_glob(ik_grep_filter_t *filter, const char *text)
{
    while (strncmp(text, "./", 2) == 0 || text[0] == '/') {
        text += text[0] == '/' ? 1 : 2;
        filter->paths = true;
    }
    filter->paths |= strchr(text, '/') != NULL;
    filter->globs = ik_resize_array(filter, filter->globs, ik_glob_t, filter->count + 1);
    ik_glob_prepare(&filter->globs[filter->count++], filter, text, strlen(text), IK_GLOB_PATH);
}

/* The next of the characters in set at text or behind it, not counting nested braces and escaped
 * characters; NULL when there is none. */
static const char *find_outside(const char *text, const char *set)
{
    int depth = 0;
    for (; *text != '\0'; text++) {
        if (depth == 0 && strchr(set, *text) != NULL) {
            return text;
        }
        depth += (*text == '{') - (*text == '}');
        text += *text == '\\' && text[1] != '\0';
    }
    return NULL;
}

/* Adds every text the alternatives in text stand for. */
static void expand(ik_grep_filter_t *filter, const char *text)
{
    const char *open = find_outside(text, "{");
    const char *close = open == NULL ? NULL : find_outside(open + 1, "}");
    if (close == NULL) {
        if (filter->count < ALTERNATIVES_MAX) {
            add_glob(filter, text);
        }
        return;
    }
    for (const char *from = open + 1; from <= close && filter->count < ALTERNATIVES_MAX;) {
        const char *to = find_outside(from, ",}");
        char *one = ik_sprintf(filter, "%.*s%.*s%s", (int)(open - text), text, (int)(to - from),
                               from, close + 1);
        expand(filter, one);
        talloc_free(one);
        from = to + 1;
    }
}

static size_t count_groups(const char *glob)
{
    size_t count = 0;
    for (; *glob != '\0'; glob++) {
        count += *glob == '{';
    }
    return count;
}

ik_grep_filter_t *ik_grep_filter_create(const void *ctx, const char *glob, size_t len)
{
    ik_grep_filter_t *filter = ik_new(ctx, ik_grep_filter_t);
    if (len > 0 && count_groups(glob) <= GROUPS_MAX) {
        expand(filter, glob);
    } else if (len > 0) {
        add_glob(filter, glob);
    }
    return filter;
}

static bool matches_any(const ik_grep_filter_t *filter, const char *name, size_t len)
{
    for (size_t i = 0; i < filter->count; i++) {
        if (ik_glob_matches(&filter->globs[i], name, len)) {
            return true;
        }
    }
    return false;
}

bool ik_grep_filter_accepts(const ik_grep_filter_t *filter, const char *folder, const char *name)
{
    if (filter->count == 0) {
        return true;
    }
    if (!filter->paths) {
        return matches_any(filter, name, strlen(name));
    }
    char room[PATH_ROOM];
    size_t folder_len = strlen(folder);
    size_t len = folder_len + strlen(name);
    char *path = len < sizeof(room) ? room : talloc_size(NULL, len + 1);
    if (path == NULL) {
        return false;
    }
    memcpy(path, folder, folder_len);
    memcpy(path + folder_len, name, len - folder_len + 1);
    bool accepted = matches_any(filter, path, len);
    if (path != room) {
        talloc_free(path);
    }
    return accepted;
}
