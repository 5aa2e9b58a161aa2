/*
 * Images on their way into the draft: pasted paths, and the clipboard (Ctrl-V). In the draft an
 * image is a word, "@FILE", so that it can be edited, queued, recalled and kept like other text;
 * the workspace attaches it when the message is entered. An image from the clipboard becomes a file
 * in ~/.ikigai/pasted first.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/image.h"
#include "base/image_path.h"
#include "repl/repl_state.h"

enum {
    PATIENCE_MS = 3000,
    PASTED_MAX = 50,               /* files that are kept */
    NOT_FOUND = 127,               /* exit status of env: there is no such program */
    OUTPUT_MAX = 64 * 1024 * 1024, /* larger images are refused when the message is entered */
};

/* --- pasted paths ------------------------------------------------------------------------ */

/* NULL if one of the paths is not that of an image. */
static char *format_paths(const void *ctx, const ik_repl_t *repl, char **paths)
{
    char *words = NULL;
    for (size_t i = 0; paths != NULL && paths[i] != NULL; i++) {
        char *word = ik_image_path_format(paths, paths[i]);
        if (word == NULL || !ik_workspace_is_image(repl->workspace, paths[i])) {
            talloc_free(words);
            return NULL;
        }
        char *before = words;
        words = ik_sprintf(ctx, "%s%s%s", before == NULL ? "" : before, before == NULL ? "" : " ",
                           word);
        talloc_free(before);
    }
    return words;
}

char *ik_repl_images_of_paste(void *data, const void *ctx, const char *text, size_t len)
{
    const ik_repl_t *repl = data;
    void *scratch = talloc_new(NULL);
    char *words = format_paths(ctx, repl, ik_image_path_parse_paste(scratch, text, len, true));
    if (words == NULL) {
        words = format_paths(ctx, repl, ik_image_path_parse_paste(scratch, text, len, false));
    }
    talloc_free(scratch);
    return words;
}

/* --- files of the clipboard -------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Their names sort by time. */
static void remove_oldest(const char *folder)
{
    void *scratch = talloc_new(NULL);
    char **names = NULL;
    size_t count = 0;
    DIR *open = opendir(folder);
    const struct dirent *entry;
    while (open != NULL && (entry = readdir(open)) != NULL) {
        if (strncmp(entry->d_name, "clipboard-", 10) == 0) {
            names = ik_resize_array(scratch, names, char *, count + 1);
            names[count++] = ik_strdup(scratch, entry->d_name);
        }
    }
    if (open != NULL) {
        closedir(open);
    }
    if (count > PASTED_MAX) {
        qsort(names, count, sizeof(*names), compare_names);
        for (size_t i = 0; i < count - PASTED_MAX; i++) {
            unlink(ik_sprintf(scratch, "%s/%s", folder, names[i]));
        }
    }
    talloc_free(scratch);
}

/* Saves an image under a name that no other has, and returns its path, on ctx. */
static res_t save_image(const void *ctx, const char *folder, const char *bytes, size_t len,
                        const char *extension, char **out)
{
    char when[32];
    struct timespec now;
    struct tm local;
    struct stat status;
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &local);
    strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &local);
    char *path = ik_sprintf(ctx, "%s/clipboard-%s.%s", folder, when, extension);
    for (int i = 2; lstat(path, &status) == 0; i++) {
        talloc_free(path);
        path = ik_sprintf(ctx, "%s/clipboard-%s-%d.%s", folder, when, i, extension);
    }
    TRY(ik_file_make_private_folder(folder));
    TRY(ik_file_write_private(path, bytes, len));
    remove_oldest(folder);
    *out = path;
    return OK;
}

/* --- the clipboard ----------------------------------------------------------------------- */

typedef struct {
    const char *variable; /* must be set */
    const char *package;  /* has the program */
    const char *argv[8];  /* prints the image */
} source_t;

static const source_t sources[] = {
    {"WAYLAND_DISPLAY", "wl-clipboard", {"wl-paste", "--no-newline", "--type", "image/png"}},
    {"WAYLAND_DISPLAY", "wl-clipboard", {"wl-paste", "--no-newline", "--type", "image/jpeg"}},
    {"DISPLAY", "xclip", {"xclip", "-selection", "clipboard", "-target", "image/png", "-out"}},
    {"DISPLAY", "xclip", {"xclip", "-selection", "clipboard", "-target", "image/jpeg", "-out"}},
};

/* The programs are asked one after the other. */
typedef struct {
    ik_repl_t *repl;
    size_t next;           /* source */
    const source_t *asked; /* the source that is asked now */
    const char *missing;   /* package of a program that is not installed */
    bool ran;              /* a program answered, without an image */
    ik_process_t *process;
} reading_t;

static void ask_next(reading_t *reading);

static void end_reading(reading_t *reading)
{
    reading->repl->image = NULL;
    talloc_free(reading);
}

static void say_nothing_found(reading_t *reading)
{
    ik_repl_t *repl = reading->repl;
    char *text =
        reading->ran ? ik_strdup(reading, "The clipboard holds no image.")
        : reading->missing == NULL
            ? ik_strdup(reading, "There is no clipboard here (neither WAYLAND_DISPLAY nor "
                                 "DISPLAY is set); name the file of an image as @FILE.")
            : ik_sprintf(reading, "Pasting an image needs the package %s, which is not installed.",
                         reading->missing);
    ik_repl_say(repl, IK_ROLE_WARNING, text);
    end_reading(reading);
}

/* The path goes into the draft like a pasted one, whatever has the keys by now. */
static void take_image(reading_t *reading, const char *bytes, size_t len, ik_image_kind_t kind)
{
    ik_repl_t *repl = reading->repl;
    char *path = NULL;
    res_t saved = save_image(reading, repl->options->paths->pasted, bytes, len,
                             ik_image_extension(kind), &path);
    if (is_err(&saved)) {
        ik_repl_say(repl, IK_ROLE_ERROR, saved.message);
    } else {
        ik_prompt_paste(ik_view_prompt(repl->view), path, strlen(path));
        ik_repl_draft_changed(repl->draft);
        ik_view_touch(repl->view);
    }
    end_reading(reading);
}

static void on_end(void *data, ik_process_result_t *result)
{
    reading_t *reading = data;
    ik_image_t image;
    bool worked = result->end == IK_PROCESS_EXITED && result->exit_code == 0;
    reading->process = NULL;
    if (worked && result->out.len > 0 &&
        ik_image_parse(result->out.data, result->out.len, &image)) {
        take_image(reading, result->out.data, result->out.len, image.kind);
        return;
    }
    if (result->end == IK_PROCESS_EXITED && result->exit_code == NOT_FOUND) {
        reading->missing = reading->missing == NULL ? reading->asked->package : reading->missing;
    } else {
        reading->ran = true;
    }
    ask_next(reading);
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && *value != '\0';
}

static void ask_next(reading_t *reading)
{
    ik_repl_t *repl = reading->repl;
    while (reading->next < IK_LENGTH(sources) && !is_set(sources[reading->next].variable)) {
        reading->next++;
    }
    if (reading->next == IK_LENGTH(sources)) {
        say_nothing_found(reading);
        return;
    }
    reading->asked = &sources[reading->next++];
    const char *argv[IK_LENGTH(reading->asked->argv) + 2] = {"/usr/bin/env"};
    for (size_t i = 0; reading->asked->argv[i] != NULL; i++) {
        argv[i + 1] = reading->asked->argv[i];
    }
    ik_process_options_t options = {.argv = argv,
                                    .folder = repl->options->paths->cwd,
                                    .max_out = OUTPUT_MAX,
                                    .stop_when_full = true,
                                    .impatient = true,
                                    .idle_ms = PATIENCE_MS,
                                    .max_ms = PATIENCE_MS,
                                    .on_end = on_end,
                                    .data = reading};
    res_t started = ik_process_start(repl, repl->options->host, &options, &reading->process);
    if (is_err(&started)) {
        ik_repl_say(repl, IK_ROLE_ERROR, started.message);
        end_reading(reading);
    }
}

/* The process is not a talloc child: it frees itself after on_end. */
static int end_process(reading_t *reading)
{
    talloc_free(reading->process);
    return 0;
}

void ik_repl_images_paste(ik_repl_t *repl)
{
    if (repl->image != NULL || ik_workspace_question(repl->workspace) != NULL) {
        return; /* the clipboard is being read, or the draft is set aside */
    }
    reading_t *reading = ik_new(repl, reading_t);
    reading->repl = repl;
    repl->image = reading;
    talloc_set_destructor(reading, end_process);
    ask_next(reading);
}
