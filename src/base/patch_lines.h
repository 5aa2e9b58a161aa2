/*
 * The lines of a difference, for display: what each of them is, the language of its file, and the
 * words in which a line differs from the one that it replaces.
 */
#pragma once

#include "base/code_colour.h"
#include "base/line_diff.h"
#include "base/word_diff.h"

typedef enum {
    IK_PATCH_KEPT = IK_LINE_KEPT,
    IK_PATCH_REMOVED = IK_LINE_REMOVED,
    IK_PATCH_ADDED = IK_LINE_ADDED,
    IK_PATCH_HUNK,  /* "@@ -1,3 +1,4 @@" */
    IK_PATCH_NAME,  /* "--- a/file" or "+++ b/file" */
    IK_PATCH_OTHER, /* "diff --git …", "index …", "\ No newline at end of file" */
} ik_patch_kind_t;

typedef struct {
    ik_patch_kind_t kind;
    const char *text; /* of kept, removed and added lines without the first character */
    size_t len;       /* without the line end */
    bool ended;       /* there is a line end */
    const ik_code_language_t *language; /* of kept, removed and added lines; NULL: not known */
    ik_code_state_t state;              /* at the start of the line */
    ik_word_marks_t marks;              /* changed words of a line that replaces a similar one */
} ik_patch_line_t;

/* How much work is left for comparing words. */
typedef struct {
    size_t pairing; /* for finding similar lines */
    size_t marking; /* and for marking their words */
} ik_patch_effort_t;

/* For one difference. */
ik_patch_effort_t ik_patch_lines_effort(void);
/* Pairs removed lines with the added ones that follow them, and marks the changed words of both.
 * Marks are on ctx. */
void ik_patch_lines_mark(const void *ctx, ik_patch_effort_t *effort, ik_patch_line_t *removed,
                         size_t removed_count, ik_patch_line_t *added, size_t added_count);
/* Sets language and state of a kept, removed or added line, and follows comments and strings that
 * span lines through the old text and the new one. */
void ik_patch_lines_follow(const ik_code_language_t *language, ik_code_state_t *old,
                           ik_code_state_t *fresh, ik_patch_line_t *line);

/* Pieces of a line: of one class of code, and either changed words or not. */
typedef void (*ik_patch_piece_fn)(void *data, ik_code_class_t kind, bool changed, const char *text,
                                  size_t len);
void ik_patch_lines_split(const ik_patch_line_t *line, ik_patch_piece_fn on_piece, void *data);

/* A place in a unified diff. Starts as {0}. */
typedef struct {
    const ik_code_language_t *language; /* of the file */
    ik_code_state_t old;                /* of the code */
    ik_code_state_t fresh;
    size_t old_left; /* lines of the hunk, as far as its header is right */
    size_t fresh_left;
    bool outside; /* of a hunk */
} ik_patch_place_t;

/* line is valid inside the callback only. */
typedef void (*ik_patch_line_fn)(void *data, const ik_patch_line_t *line);

/* Reads the lines of a unified diff (diff -u, git diff) from place on, and moves it. Tolerates what
 * models write: wrong numbers in a header, or no header at all. */
void ik_patch_lines_read(ik_patch_place_t *place, const char *text, size_t len,
                         ik_patch_line_fn on_line, void *data);
/* Reads one line, with its line end, without comparing it to others. */
ik_patch_line_t ik_patch_lines_next(ik_patch_place_t *place, const char *text, size_t len);
/* Reports all lines of two texts in order, as kept, removed or added. */
void ik_patch_lines_compare(const ik_code_language_t *language, const char *old, size_t old_len,
                            const char *fresh, size_t fresh_len, ik_patch_line_fn on_line,
                            void *data);
