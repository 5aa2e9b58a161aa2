#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "terminal/view_state.h"

typedef struct {
    ik_view_t *view;
    char *draft; /* before editing */
    char *file;
    ik_foreground_t *program;
} editing_t;

static int forget_file(editing_t *editing)
{
    unlink(editing->file);
    return 0;
}

static void say(ik_view_t *view, const char *text)
{
    ik_rows_t rows = ik_view_rows(view);
    ik_view_begin_block(view);
    ik_rows_say(&rows, IK_ROLE_ERROR, text);
}

/* Replaces the draft. What came into it during editing, a queued message that returned or an image
 * of the clipboard, is kept before it, without the newline or blank that separates it. */
static void set_text(editing_t *editing, const char *text)
{
    static const char blanks[] = " \n";
    ik_prompt_t *prompt = editing->view->prompt;
    char *now = ik_prompt_text(editing, prompt);
    size_t more = strlen(now) - strlen(editing->draft);
    size_t at = 0; /* where it came in */
    while (strcmp(now + at + more, editing->draft + at) != 0) {
        at++;
    }
    size_t end = at + more;
    while (end > at && strchr(blanks, now[end - 1]) != NULL) {
        end--;
    }
    now[end] = '\0';
    ik_prompt_set_text(prompt, text);
    if (end > at) {
        ik_prompt_prepend_text(prompt, now + at + strspn(now + at, blanks));
    }
}

/* Drops NUL bytes, which a draft cannot hold, and the final newline, which write_draft or the
 * editor added. */
static res_t take_text(editing_t *editing)
{
    char *text;
    size_t len;
    size_t kept = 0;
    TRY(ik_file_read(editing, editing->file, IK_EDITOR_MAX, &text, &len));
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '\0') {
            text[kept++] = text[i];
        }
    }
    text[kept - (kept > 0 && text[kept - 1] == '\n')] = '\0';
    set_text(editing, text);
    return OK;
}

static void return_to_view(ik_view_t *view)
{
    view->away = false;
    view->unfocused = false; /* as far as is known */
    ik_tty_enter(view->tty);
    ik_view_fit(view);
    ik_screen_resume(view->screen);
    ik_view_touch(view);
}

static void on_end(void *data, int status)
{
    editing_t *editing = data;
    ik_view_t *view = editing->view;
    return_to_view(view);
    res_t taken = status == 0 ? take_text(editing)
                              : ERR(SYSTEM,
                                    "The editor failed with status %d; the draft is unchanged. Set "
                                    "VISUAL or EDITOR to choose another one.",
                                    status);
    if (is_err(&taken)) {
        say(view, taken.message);
    } else {
        view->listener.on_draft(view->listener.data);
    }
    TALLOC_FREE(view->editing);
}

void ik_view_end_editor(ik_view_t *view)
{
    if (view->editing != NULL) {
        (void)take_text(view->editing); /* the draft stays where that fails */
        TALLOC_FREE(view->editing);
    }
}

static const char *choose_editor(void)
{
    static const char *const names[] = {"VISUAL", "EDITOR"};
    for (size_t i = 0; i < IK_LENGTH(names); i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && *value != '\0') {
            return value;
        }
    }
    return "vi";
}

/* Adds the final newline that editors expect. */
static res_t write_draft(editing_t *editing)
{
    editing->draft = ik_prompt_text(editing, editing->view->prompt);
    TRY(ik_file_make_private_folder(editing->view->paths->home)); /* may not exist yet */
    char *text = ik_sprintf(editing, "%s\n", editing->draft);
    res_t written = ik_file_write_private(editing->file, text, strlen(text));
    talloc_free(text);
    return written;
}

void ik_view_editor_open(ik_view_t *view)
{
    editing_t *editing = ik_new(view, editing_t);
    editing->view = view;
    editing->file = ik_sprintf(editing, "%s/draft-%ld.md", view->paths->home, (long)getpid());
    res_t ready = write_draft(editing);
    if (is_err(&ready)) {
        say(view, ready.message);
        talloc_free(editing);
        return;
    }
    talloc_set_destructor(editing, forget_file);
    ik_view_pause(view);
    ik_tty_leave(view->tty, IK_VIEW_LEAVE_MS);
    view->away = true;
    view->editing = editing;
    /* The variable may hold arguments, which the shell splits; exec makes the editor our child. */
    char *command = ik_sprintf(editing, "exec %s \"$1\"", choose_editor());
    const char *argv[] = {"/bin/sh", "-c", command, "sh", editing->file, NULL};
    ready = ik_foreground_start(editing, view->loop, argv, on_end, editing, &editing->program);
    if (is_err(&ready)) {
        return_to_view(view);
        say(view, ready.message);
        view->editing = NULL;
        talloc_free(editing);
    }
}
