#include "tools/grep/grep_filter.h"

#include <string.h>

#include "base/alloc.h"
#include "base/glob_match.h"

enum {
    ALTERNATIVES_MAX = 1000,
    EXPANDED_MAX = 1024 * 1024, /* bytes of all alternatives, except for the last one */
    GROUPS_MAX = 100,           /* with more, braces are literal */
    PATH_ROOM = 4096,
    PREFIX_MAX = 4096, /* bytes of a glob in which folders are named */
};

/* Which skipped entries the last component of a glob can name. */
typedef struct {
    bool any;    /* not made of stars only */
    bool hidden; /* begins with a period */
} naming_t;

typedef struct {
    ik_glob_t glob;
    const char *text; /* the glob */
    size_t len;
    bool by_path; /* has a slash */
    naming_t naming;
} alternative_t;

struct ik_grep_filter {
    alternative_t *items;
    size_t count;
    size_t bytes; /* of all globs */
    bool paths;   /* a glob has a slash */
    const char *problem;
};

static naming_t naming_of(const char *text, size_t len)
{
    const char *slash = memrchr(text, '/', len);
    const char *last = slash == NULL ? text : slash + 1;
    const char *end = text + len;
    naming_t naming = {.hidden = end - last > 0 && *last == '.'};
    naming.hidden |= end - last > 1 && last[0] == '\\' && last[1] == '.';
    while (last < end && *last == '*') {
        last++;
    }
    naming.any = last < end;
    return naming;
}

static void add_glob(ik_grep_filter_t *filter, const char *text)
{
    bool by_path = false;
    while (strncmp(text, "./", 2) == 0 || text[0] == '/') {
        text += text[0] == '/' ? 1 : 2;
        by_path = true;
    }
    by_path |= strchr(text, '/') != NULL;
    filter->paths |= by_path;
    filter->items = ik_resize_array(filter, filter->items, alternative_t, filter->count + 1);
    alternative_t *item = &filter->items[filter->count++];
    item->len = strlen(text);
    filter->bytes += item->len;
    item->text = ik_strndup(filter, text, item->len);
    item->by_path = by_path;
    item->naming = naming_of(item->text, item->len);
    ik_glob_prepare(&item->glob, filter, text, item->len, IK_GLOB_PATH);
}

/* Finds the first character of set in text, outside of nested braces and not escaped; NULL if there
 * is none. */
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

/* Expands the braces in text and adds every resulting glob. */
static void expand(ik_grep_filter_t *filter, const char *text)
{
    const char *open = find_outside(text, "{");
    const char *close = open == NULL ? NULL : find_outside(open + 1, "}");
    if (close == NULL) {
        add_glob(filter, text);
        return;
    }
    for (const char *from = open + 1; from <= close;) {
        if (filter->count >= ALTERNATIVES_MAX) {
            filter->problem = "Only the first 1000 alternatives of the glob are used";
            return;
        }
        if (filter->bytes > EXPANDED_MAX) {
            filter->problem =
                "Only the first alternatives of the glob are used, because it is long";
            return;
        }
        const char *to = find_outside(from, ",}");
        char *one = ik_sprintf(filter, "%.*s%.*s%s", (int)(open - text), text, (int)(to - from),
                               from, close + 1);
        expand(filter, one);
        talloc_free(one);
        from = to + 1;
    }
}

ik_grep_filter_t *ik_grep_filter_create(const void *ctx, const char *glob, size_t len)
{
    ik_grep_filter_t *filter = ik_new(ctx, ik_grep_filter_t);
    size_t groups = 0;
    for (const char *at = glob; *at != '\0'; at++) {
        groups += *at == '{';
    }
    if (len > 0 && groups <= GROUPS_MAX) {
        expand(filter, glob);
    } else if (len > 0) {
        add_glob(filter, glob);
        filter->problem = "The glob has more than 100 braces, so they are taken literally";
    }
    return filter;
}

const char *ik_grep_filter_problem(const ik_grep_filter_t *filter)
{
    return filter->problem;
}

/* The path of an entry as the globs see it: only its name if no glob has a slash. */
typedef struct {
    char *text;
    size_t len;
    size_t name; /* offset of the name */
    char room[PATH_ROOM];
} subject_t;

static void make_subject(subject_t *subject, const ik_grep_filter_t *filter, const char *folder,
                         const char *name)
{
    size_t folder_len = filter->paths ? strlen(folder) : 0;
    size_t name_len = strlen(name);
    subject->name = folder_len;
    subject->len = folder_len + name_len;
    subject->text = subject->len < sizeof(subject->room)
                        ? subject->room
                        : ik_new_array(NULL, char, subject->len + 1);
    memcpy(subject->text, folder, folder_len);
    memcpy(subject->text + folder_len, name, name_len + 1);
}

static void drop_subject(subject_t *subject)
{
    if (subject->text != subject->room) {
        talloc_free(subject->text);
    }
}

static bool matches(const alternative_t *item, const subject_t *subject)
{
    size_t from = item->by_path ? 0 : subject->name;
    return ik_glob_matches(&item->glob, subject->text + from, subject->len - from);
}

bool ik_grep_filter_accepts(const ik_grep_filter_t *filter, const char *folder, const char *name)
{
    if (filter->count == 0) {
        return true;
    }
    subject_t subject;
    make_subject(&subject, filter, folder, name);
    bool accepted = false;
    for (size_t i = 0; i < filter->count && !accepted; i++) {
        accepted = matches(&filter->items[i], &subject);
    }
    drop_subject(&subject);
    return accepted;
}

static bool suffices(naming_t naming, bool hidden)
{
    return naming.any && (naming.hidden || !hidden);
}

/* Whether the components of the glob up to some slash name the folder. */
static bool leads_through(const alternative_t *item, const subject_t *subject, bool hidden)
{
    size_t max = item->len < PREFIX_MAX ? item->len : PREFIX_MAX;
    for (size_t len = 1; item->by_path && len < max; len++) {
        ik_glob_t part = {
            .kind = IK_GLOB_GENERAL, .flags = IK_GLOB_PATH, .text = item->text, .len = len};
        if (item->text[len] == '/' && suffices(naming_of(item->text, len), hidden) &&
            ik_glob_matches(&part, subject->text, subject->len)) {
            return true;
        }
    }
    return false;
}

bool ik_grep_filter_names(const ik_grep_filter_t *filter, const char *folder, const char *name,
                          bool is_folder, bool hidden)
{
    if (filter->count == 0) {
        return false;
    }
    subject_t subject;
    make_subject(&subject, filter, folder, name);
    bool named = false;
    for (size_t i = 0; i < filter->count && !named; i++) {
        const alternative_t *item = &filter->items[i];
        named = is_folder ? leads_through(item, &subject, hidden)
                          : suffices(item->naming, hidden) && matches(item, &subject);
    }
    drop_subject(&subject);
    return named;
}
