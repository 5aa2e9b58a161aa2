#include "cli/cli_manual.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/nearest.h"
#include "cli/cli_manual_lines.h"
#include "cli/cli_manual_reference.h"

enum { CHAPTER_MAX = 16 * 1024 * 1024 };

typedef ik_cli_manual_line_t line_t;
typedef ik_cli_manual_lines_t lines_t;

typedef struct {
    const char *name;
    const char *path;
} chapter_t;

/* Everything hangs on ctx. */
typedef struct {
    void *ctx;
    ik_cli_manual_reference_t *topics;
    size_t topic_count;
    chapter_t *chapters; /* by name */
    size_t chapter_count;
} manual_t;

/* --- chapters ---------------------------------------------------------------------------- */

static int compare_chapters(const void *a, const void *b)
{
    return strcmp(((const chapter_t *)a)->name, ((const chapter_t *)b)->name);
}

/* An installation may omit the folder. */
static void list_chapters(manual_t *manual, const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        size_t len = strlen(entry->d_name);
        if (entry->d_name[0] == '.' || len < 4 || strcmp(entry->d_name + len - 3, ".md") != 0) {
            continue;
        }
        manual->chapters =
            ik_resize_array(manual->ctx, manual->chapters, chapter_t, manual->chapter_count + 1);
        manual->chapters[manual->chapter_count++] =
            (chapter_t){.name = ik_strndup(manual->ctx, entry->d_name, len - 3),
                        .path = ik_sprintf(manual->ctx, "%s/%s", folder, entry->d_name)};
    }
    if (dir != NULL) {
        closedir(dir);
    }
    if (manual->chapter_count > 0) {
        qsort(manual->chapters, manual->chapter_count, sizeof(chapter_t), compare_chapters);
    }
}

static res_t read_chapter(const void *ctx, const chapter_t *chapter, char **out)
{
    size_t len;
    return ik_file_read(ctx, chapter->path, CHAPTER_MAX, out, &len);
}

/* The first heading, without # and backticks. */
static char *title_of(const void *ctx, const chapter_t *chapter)
{
    char *text;
    ik_buffer_t title;
    res_t read = read_chapter(ctx, chapter, &text);
    ik_buffer_init(&title, ctx, CHAPTER_MAX);
    ik_buffer_append_text(&title, "");
    const char *from = is_ok(&read) && strncmp(text, "# ", 2) == 0 ? text + 2 : "";
    for (; *from != '\0' && *from != '\n'; from++) {
        if (*from != '`') {
            ik_buffer_append_byte(&title, *from);
        }
    }
    return ik_buffer_finish(&title);
}

static manual_t open_manual(void *ctx, const ik_paths_t *paths)
{
    manual_t manual = {.ctx = ctx};
    manual.topics = ik_cli_manual_reference_create(ctx, &manual.topic_count);
    list_chapters(&manual, paths->manual);
    return manual;
}

ik_cli_topic_t *ik_cli_manual_topics(const void *ctx, const ik_paths_t *paths, size_t *count)
{
    ik_cli_topic_t *list = ik_new_array(ctx, ik_cli_topic_t, 0);
    manual_t manual = open_manual(list, paths);
    *count = 0;
    list = ik_resize_array(ctx, list, ik_cli_topic_t, manual.topic_count + manual.chapter_count);
    for (size_t i = 0; i < manual.topic_count; i++) {
        list[(*count)++] =
            (ik_cli_topic_t){.name = manual.topics[i].name, .help = manual.topics[i].help};
    }
    for (size_t i = 0; i < manual.chapter_count; i++) {
        list[(*count)++] = (ik_cli_topic_t){.name = manual.chapters[i].name,
                                            .help = title_of(list, &manual.chapters[i])};
    }
    return list;
}

/* --- marks ------------------------------------------------------------------------------- */

/* Returns NAME of `<!-- topic: NAME -->`, on ctx; NULL for any other line. */
static char *parse_mark(const void *ctx, const line_t *line)
{
    static const char before[] = "<!-- topic: ";
    static const char after[] = " -->";
    const char *end = memmem(line->text, line->len, after, strlen(after));
    if (!ik_cli_manual_lines_is_comment(line) || !ik_cli_manual_lines_begins(line, before) ||
        end == NULL) {
        return NULL;
    }
    const char *name = line->text + strlen(before);
    return ik_strndup(ctx, name, (size_t)(end - name));
}

/* --- looking up -------------------------------------------------------------------------- */

/* The table has "providers.NAME.api" for "providers.openai.api", and "hooks.FILE.tools". */
static const char *generalise(const void *ctx, const char *word)
{
    static const struct {
        const char *section;
        const char *name;
    } places[] = {{"providers.", "NAME"}, {"tools.", "NAME"}, {"hooks.", "FILE"}};
    for (size_t i = 0; i < IK_LENGTH(places); i++) {
        size_t len = strlen(places[i].section);
        const char *limit = strstr(word, ".limits.");
        const char *key = strncmp(word, places[i].section, len) != 0 ? NULL
                          : limit != NULL                            ? limit
                                                                     : strrchr(word + len, '.');
        if (key != NULL) {
            return ik_sprintf(ctx, "%s%s%s", places[i].section, places[i].name, key);
        }
    }
    return word;
}

/* Whether word is the group's name or its first word: "session". */
static bool is_group(const ik_cli_manual_group_t *group, const char *word)
{
    size_t len = strlen(word);
    return group->name != NULL && strncasecmp(group->name, word, len) == 0 &&
           (group->name[len] == '\0' || group->name[len] == ' ');
}

/* The entries that match a word, group by group. */
typedef struct {
    ik_cli_manual_group_t *groups;
    size_t count;
} found_t;

static void add_group(const manual_t *manual, found_t *found, const ik_cli_manual_group_t *group)
{
    found->groups =
        ik_resize_array(manual->ctx, found->groups, ik_cli_manual_group_t, found->count + 1);
    found->groups[found->count++] = *group;
}

static void add_rows(const manual_t *manual, ik_cli_manual_group_t *rows,
                     const ik_cli_manual_group_t *group, const char *word)
{
    for (size_t i = 0; i < group->count; i++) {
        if (!ik_cli_manual_reference_is_named(group->rows[i].names, word)) {
            continue;
        }
        rows->rows = ik_resize_array(manual->ctx, rows->rows, ik_cli_manual_row_t, rows->count + 1);
        rows->rows[rows->count] = group->rows[i];
        if (group->name != NULL) {
            rows->rows[rows->count].middle = group->title;
        }
        rows->count++;
    }
}

/* Finds groups of that name. Matching rows of other groups are collected in one group, whose middle
 * column says where they are from. */
static void find_in_topic(const manual_t *manual, const ik_cli_manual_reference_t *topic,
                          const char *word, found_t *found)
{
    const ik_cli_manual_group_t *first = &topic->groups[0];
    ik_cli_manual_group_t rows = {.title = topic->title,
                                  .head = first->head,
                                  .middle = first->name == NULL ? first->middle : "where"};
    for (size_t i = 0; i < topic->count; i++) {
        if (is_group(&topic->groups[i], word)) {
            add_group(manual, found, &topic->groups[i]);
        } else {
            add_rows(manual, &rows, &topic->groups[i], word);
        }
    }
    if (rows.count > 0) {
        add_group(manual, found, &rows);
    }
}

/* Returns NULL if no entry matches. */
static char *format_words(const void *ctx, const manual_t *manual, const char *words)
{
    const char *word = generalise(manual->ctx, words);
    found_t found = {0};
    ik_buffer_t out;
    for (size_t i = 0; i < manual->topic_count; i++) {
        find_in_topic(manual, &manual->topics[i], word, &found);
    }
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the tables */
    ik_buffer_append_format(&out, "# %s\n", found.count == 1 ? found.groups[0].title : words);
    for (size_t i = 0; i < found.count; i++) {
        if (found.count > 1) {
            ik_buffer_append_format(&out, "\n## %s\n", found.groups[i].title);
        }
        ik_cli_manual_reference_append_group(&out, &found.groups[i]);
    }
    return found.count == 0 ? NULL : ik_buffer_finish(&out);
}

static void offer_topic(const manual_t *manual, ik_nearest_t *nearest,
                        const ik_cli_manual_reference_t *topic)
{
    ik_nearest_offer(nearest, topic->name);
    for (size_t g = 0; g < topic->count; g++) {
        const ik_cli_manual_group_t *group = &topic->groups[g];
        if (group->name != NULL) {
            ik_nearest_offer(nearest, group->name);
        }
        for (size_t i = 0; i < group->count; i++) {
            for (const char *names = group->rows[i].names; *names != '\0';) {
                size_t len = strcspn(names, "\n");
                ik_nearest_offer(nearest, ik_strndup(manual->ctx, names, len));
                names += len + (names[len] == '\n');
            }
        }
    }
}

static res_t fail_unknown(const manual_t *manual, const char *words)
{
    ik_nearest_t nearest;
    ik_nearest_init(&nearest, words, strlen(words));
    for (size_t i = 0; i < manual->chapter_count; i++) {
        ik_nearest_offer(&nearest, manual->chapters[i].name);
    }
    for (size_t i = 0; i < manual->topic_count; i++) {
        offer_topic(manual, &nearest, &manual->topics[i]);
    }
    if (nearest.found == NULL) {
        return ERR(NOT_FOUND, "No help topic '%.100s'. Run ikigai help to see all topics.", words);
    }
    return ERR(NOT_FOUND, "No help topic '%.100s'. Did you mean '%s'?", words, nearest.found);
}

/* --- one topic --------------------------------------------------------------------------- */

/* Leaves out comments, which are for the writers of the document. */
static char *format_chapter(const void *ctx, const char *text)
{
    ik_buffer_t out;
    line_t line;
    ik_buffer_init(&out, ctx, CHAPTER_MAX);
    ik_buffer_append_text(&out, "");
    for (lines_t lines = {.at = text}; ik_cli_manual_lines_next(&lines, &line);) {
        if (!ik_cli_manual_lines_is_comment(&line)) {
            ik_buffer_append(&out, line.text, line.len);
        }
    }
    return ik_buffer_finish(&out);
}

/* One of the tables, and the setting of the same name, if there is one: `keys` is both. */
static char *format_reference(const void *ctx, const manual_t *manual, size_t index)
{
    const ik_cli_manual_reference_t *topic = &manual->topics[index];
    found_t found = {0};
    ik_buffer_t out;
    for (size_t i = 0; i < manual->topic_count; i++) {
        if (i != index && strcmp(manual->topics[i].name, "config") == 0) {
            find_in_topic(manual, &manual->topics[i], topic->name, &found);
        }
    }
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the tables */
    ik_buffer_append_format(&out, "# %s\n", topic->title);
    ik_cli_manual_reference_append(&out, topic);
    for (size_t i = 0; i < found.count; i++) {
        ik_buffer_append_format(&out, "\n## %s\n", found.groups[i].title);
        ik_cli_manual_reference_append_group(&out, &found.groups[i]);
    }
    return ik_buffer_finish(&out);
}

static res_t format(const void *ctx, const manual_t *manual, const char *words, char **out)
{
    char *text;
    for (size_t i = 0; i < manual->topic_count; i++) {
        if (strcasecmp(manual->topics[i].name, words) == 0) {
            *out = format_reference(ctx, manual, i);
            return OK;
        }
    }
    for (size_t i = 0; i < manual->chapter_count; i++) {
        if (strcasecmp(manual->chapters[i].name, words) == 0) {
            TRY(read_chapter(manual->ctx, &manual->chapters[i], &text));
            *out = format_chapter(ctx, text);
            return OK;
        }
    }
    *out = format_words(ctx, manual, words);
    return *out == NULL ? fail_unknown(manual, words) : OK;
}

res_t ik_cli_manual_format(const void *ctx, const ik_paths_t *paths, const char *words, char **out)
{
    void *scratch = talloc_new(NULL);
    manual_t manual = open_manual(scratch, paths);
    res_t formatted = format(ctx, &manual, words, out);
    talloc_free(scratch);
    return formatted;
}

/* --- topics in a document ---------------------------------------------------------------- */

/* Appends a topic without its title and the empty line below it. Its other headings, which have two
 * #, are moved to one level below depth. */
static void append_topic(ik_buffer_t *out, const char *text, size_t depth)
{
    line_t line;
    lines_t lines = {.at = text};
    bool is_body = false;
    while (ik_cli_manual_lines_next(&lines, &line)) {
        bool is_title = !is_body && ik_cli_manual_lines_heading(&line) == 1;
        is_body = is_body || (!is_title && line.len > 1);
        for (size_t i = 1; ik_cli_manual_lines_heading(&line) > 1 && i < depth; i++) {
            ik_buffer_append_byte(out, '#');
        }
        if (is_body) {
            ik_buffer_append(out, line.text, line.len);
        }
    }
}

/* Skips an earlier expansion of a topic; does nothing if there is no end mark for it. */
static lines_t skip_old(lines_t lines)
{
    line_t line;
    lines_t ahead = lines;
    while (ik_cli_manual_lines_next(&ahead, &line)) {
        bool is_comment = ik_cli_manual_lines_is_comment(&line);
        if (is_comment && ik_cli_manual_lines_begins(&line, "<!-- end of topic -->")) {
            return ahead;
        }
        if (is_comment && ik_cli_manual_lines_begins(&line, "<!-- topic: ")) {
            break;
        }
    }
    return lines;
}

static res_t expand(const manual_t *manual, const char *markdown, ik_buffer_t *out)
{
    line_t line;
    size_t depth = 1;
    for (lines_t lines = {.at = markdown}; ik_cli_manual_lines_next(&lines, &line);) {
        char *name = parse_mark(manual->ctx, &line);
        depth = ik_cli_manual_lines_heading(&line) > 0 ? ik_cli_manual_lines_heading(&line) : depth;
        if (name != NULL) {
            char *topic;
            TRY(format(manual->ctx, manual, name, &topic));
            append_topic(out, topic, depth);
            lines = skip_old(lines);
        } else if (!ik_cli_manual_lines_is_comment(&line)) {
            ik_buffer_append(out, line.text, line.len);
        }
    }
    return OK;
}

res_t ik_cli_manual_expand(const void *ctx, const ik_paths_t *paths, const char *markdown,
                           char **out)
{
    void *scratch = talloc_new(NULL);
    manual_t manual = open_manual(scratch, paths);
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED); /* bounded by the document and the topics */
    ik_buffer_append_text(&text, "");
    res_t expanded = expand(&manual, markdown, &text);
    talloc_free(scratch);
    *out = ik_buffer_finish(&text);
    return expanded;
}
