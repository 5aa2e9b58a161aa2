#include "undo/undo_outcome.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/sanitiser.h"
#include "base/utf8.h"

/* --- files ------------------------------------------------------------------------------- */

void ik_undo_outcome_append_file(ik_buffer_t *out, const ik_undo_file_t *file)
{
    size_t len = strlen(file->path);
    if (ik_utf8_valid(file->path, len)) {
        ik_buffer_append_text(out, "{\"path\":");
        ik_json_append_text(out, file->path);
    } else {
        ik_buffer_append_text(out, "{\"path_base64\":\"");
        ik_base64_append(out, file->path, len);
        ik_buffer_append_byte(out, '"');
    }
    if (file->reason != NULL) {
        ik_buffer_append_text(out, ",\"reason\":");
        ik_json_append_text(out, file->reason);
    }
    if (file->error != NULL) {
        ik_buffer_append_text(out, ",\"error\":");
        ik_json_append_text(out, file->error);
    }
    ik_buffer_append_byte(out, '}');
}

void ik_undo_outcome_add_files(ik_buffer_t *out, const char *name, const ik_undo_files_t *files)
{
    ik_json_begin_member(out, name);
    ik_buffer_append_byte(out, '[');
    for (size_t i = 0; i < files->count; i++) {
        ik_buffer_append_text(out, i == 0 ? "" : ",");
        ik_undo_outcome_append_file(out, &files->items[i]);
    }
    ik_buffer_append_byte(out, ']');
}

/* The path of {"path"} or {"path_base64"}, on ctx; NULL when there is none. */
static char *read_path(const void *ctx, const json_t *file)
{
    const char *path = json_string_value(json_object_get(file, "path"));
    const char *encoded = json_string_value(json_object_get(file, "path_base64"));
    ik_buffer_t bytes;
    if (path != NULL) {
        return ik_strdup(ctx, path);
    }
    ik_buffer_init(&bytes, ctx, IK_BUFFER_UNLIMITED); /* bounded by the answer */
    return encoded != NULL && ik_base64_append_decoded(&bytes, encoded, strlen(encoded))
               ? ik_buffer_finish(&bytes)
               : NULL;
}

void ik_undo_outcome_add_file(const void *ctx, ik_undo_files_t *files, const char *path,
                              const char *reason)
{
    files->items = ik_resize_array(ctx, files->items, ik_undo_file_t, files->count + 1);
    files->items[files->count++] = (ik_undo_file_t){.path = path, .reason = reason};
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const ik_undo_file_t *)a)->path, ((const ik_undo_file_t *)b)->path);
}

ik_undo_files_t ik_undo_outcome_read_files(const void *ctx, const json_t *array)
{
    ik_undo_files_t files = {0};
    size_t index;
    json_t *file;
    json_array_foreach(array, index, file)
    {
        const char *reason = json_string_value(json_object_get(file, "reason"));
        const char *error = json_string_value(json_object_get(file, "error"));
        char *path = read_path(ctx, file);
        if (path != NULL) {
            ik_undo_outcome_add_file(ctx, &files, path,
                                     reason == NULL ? NULL : ik_strdup(ctx, reason));
            bool failed = reason != NULL && strcmp(reason, "unavailable") == 0 && error != NULL;
            files.items[files.count - 1].error = failed ? ik_strdup(ctx, error) : NULL;
        }
    }
    if (files.count > 0) {
        qsort(files.items, files.count, sizeof(*files.items), compare_paths);
    }
    return files;
}

bool ik_undo_outcome_has_file(const ik_undo_files_t *files, const char *path)
{
    for (size_t i = 0; i < files->count; i++) {
        if (strcmp(files->items[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

/* --- for people -------------------------------------------------------------------------- */

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* The first line of the question, shortened. */
static void append_prompt(ik_buffer_t *out, const char *prompt)
{
    enum { SHOWN = 60 };
    const char *start = prompt + strspn(prompt, " \t\r\n");
    size_t kept = ik_utf8_cut(start, strcspn(start, "\r\n"), SHOWN);
    ik_sanitise_append(out, start, kept);
    ik_buffer_append_text(out, start[kept] == '\0' ? "\n" : " …\n");
}

static const char UNWRITTEN[] = "unwritten"; /* as a reason */

/* reason NULL: any. */
static bool has_reason(const ik_undo_file_t *file, const char *reason)
{
    return reason == NULL || strcmp(file->error != NULL ? UNWRITTEN : file->reason, reason) == 0;
}

static size_t count_reason(const ik_undo_files_t *files, const char *reason)
{
    size_t count = 0;
    for (size_t i = 0; i < files->count; i++) {
        count += has_reason(&files->items[i], reason);
    }
    return count;
}

bool ik_undo_outcome_has_unwritten(const ik_undo_outcome_t *outcome)
{
    return count_reason(&outcome->conflicts, UNWRITTEN) > 0;
}

bool ik_undo_outcome_can_force(const ik_undo_outcome_t *outcome)
{
    return count_reason(&outcome->conflicts, "changed") > 0 ||
           ik_undo_outcome_has_unwritten(outcome);
}

/* A heading and a line for each file with this reason, if there are any; lines beyond max are only
 * counted. */
static void append_list(ik_buffer_t *out, const char *heading, const ik_undo_files_t *files,
                        const char *reason, size_t max)
{
    size_t count = count_reason(files, reason);
    size_t shown = 0;
    if (count == 0) {
        return;
    }
    ik_buffer_append_format(out, heading, count, plural(count));
    for (size_t i = 0; i < files->count && shown < max; i++) {
        const ik_undo_file_t *file = &files->items[i];
        if (has_reason(file, reason)) {
            shown++;
            char *name = ik_sanitise_line(NULL, file->path);
            ik_buffer_append_format(out, "  %s%s%s\n", name, file->error == NULL ? "" : ": ",
                                    file->error == NULL ? "" : file->error);
            talloc_free(name);
        }
    }
    if (shown < count) {
        ik_buffer_append_format(out, "  … and %zu more\n", count - shown);
    }
}

char *ik_undo_outcome_describe(const void *ctx, const ik_undo_outcome_t *outcome, bool brief)
{
    enum { BRIEF_MAX = 20 };
    static const char *const verbs[] = {[IK_UNDO_TAKEN_BACK] = "Took back",
                                        [IK_UNDO_BROUGHT_BACK] = "Brought back",
                                        [IK_UNDO_FINISHED] = "Finished the undo of"};
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED); /* bounded by the outcome */
    if (outcome->files_only) {
        ik_buffer_append_text(&text, "The conversation stays.\n");
    } else {
        ik_buffer_append_format(
            &text, "%s %zu turn%s: ", outcome->dry_run ? "Would take back" : verbs[outcome->what],
            outcome->turns, plural(outcome->turns));
        append_prompt(&text, outcome->prompt);
    }
    append_list(&text, outcome->dry_run ? "Would restore %zu file%s:\n" : "Restored %zu file%s:\n",
                &outcome->restored, NULL, brief && !outcome->dry_run ? BRIEF_MAX : SIZE_MAX);
    append_list(&text, "Left alone, changed since: %zu file%s\n", &outcome->conflicts, "changed",
                SIZE_MAX);
    append_list(&text, "Left alone, the contents are gone: %zu file%s\n", &outcome->conflicts,
                "unavailable", SIZE_MAX);
    append_list(&text, "Could not be written: %zu file%s\n", &outcome->conflicts, UNWRITTEN,
                SIZE_MAX);
    return ik_buffer_finish(&text);
}
