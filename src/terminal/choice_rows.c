#include "terminal/choice_rows.h"

#include <string.h>

#include "base/alloc.h"

enum {
    BETWEEN = 2,  /* columns between a text and its notes */
    NOTE_MIN = 8, /* columns below which a note is left out rather than cut */
};

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

void ik_choice_rows_add(ik_row_t *out, ik_role_t role, const char *text, size_t usable, size_t max,
                        ik_width_keep_t keep)
{
    ik_buffer_t cut;
    size_t used = (size_t)out->width;
    size_t room = used < usable ? usable - used : 0;
    ik_buffer_init(&cut, NULL, IK_BUFFER_UNLIMITED); /* bounded by the columns */
    ik_buffer_reserve(&cut, 0);
    ik_width_append(&cut, text, at_most(max, room), keep);
    ik_row_add_role(out, role, cut.data);
    ik_buffer_reset(&cut);
}

void ik_choice_rows_pad(ik_row_t *out, ik_role_t role, size_t usable, size_t column)
{
    size_t to = at_most(column, usable);
    if ((size_t)out->width < to) {
        ik_row_add_format(out, role, "%*s", (int)to - out->width, "");
    }
}

/* The next column of a note, on ctx; NULL after the last one. */
static char *next_note(const void *ctx, const char **note)
{
    if (*note == NULL) {
        return NULL;
    }
    size_t len = strcspn(*note, "\t");
    char *cell = ik_strndup(ctx, *note, len);
    *note = (*note)[len] == '\0' ? NULL : *note + len + 1;
    return cell;
}

static void widen(size_t *columns, const char *text, size_t usable)
{
    ik_buffer_t shown;
    ik_buffer_init(&shown, NULL, IK_BUFFER_UNLIMITED); /* bounded by the columns */
    size_t needed = ik_width_append(&shown, text, usable, IK_WIDTH_KEEP_START);
    ik_buffer_reset(&shown);
    *columns = needed > *columns ? needed : *columns;
}

/* Whether a note is a text of its own among notes in columns. */
static bool takes_rest(const ik_choice_rows_t *columns, const char *note)
{
    return columns->several && note != NULL && strchr(note, '\t') == NULL;
}

ik_choice_rows_t ik_choice_rows_measure(const ik_choice_row_t *rows, size_t count, size_t usable,
                                        size_t mark)
{
    ik_choice_rows_t columns = {.usable = usable, .mark = mark};
    size_t notes = 0;
    size_t whole = 0; /* of the notes without tabs */
    for (size_t i = 0; i < count; i++) {
        columns.several |= rows[i].note != NULL && strchr(rows[i].note, '\t') != NULL;
    }
    for (size_t i = 0; i < count; i++) {
        const char *note = rows[i].note;
        widen(&columns.text, rows[i].text, usable);
        if (takes_rest(&columns, note)) {
            widen(&whole, note, usable);
            continue;
        }
        for (size_t k = 0; k < IK_CHOICE_ROWS_NOTES && note != NULL; k++) {
            char *cell = next_note(NULL, &note);
            widen(&columns.notes[k], cell, usable);
            talloc_free(cell);
        }
    }
    for (size_t k = 0; k < IK_CHOICE_ROWS_NOTES; k++) {
        notes += columns.notes[k] == 0 ? 0 : columns.notes[k] + BETWEEN;
    }
    notes = whole > 0 && whole + BETWEEN > notes ? whole + BETWEEN : notes;
    size_t room = usable > mark ? usable - mark : 0;
    size_t beside = room > notes ? room - notes : 0;
    bool before_notes = !columns.several && notes < columns.text;
    size_t share = notes == 0 || before_notes ? room : usable * 3 / 5;
    columns.text = at_most(columns.text, share > beside ? share : beside);
    room = room > columns.text ? room - columns.text : 0;
    for (size_t k = 0; k < IK_CHOICE_ROWS_NOTES; k++) {
        size_t left = room > BETWEEN ? room - BETWEEN : 0;
        bool shown = columns.notes[k] <= left || left >= NOTE_MIN;
        columns.notes[k] = shown ? at_most(columns.notes[k], left) : 0;
        room = !shown ? 0 : columns.notes[k] == 0 ? room : left - columns.notes[k];
    }
    return columns;
}

void ik_choice_rows_draw(const ik_choice_rows_t *columns, ik_row_t *out, const char *mark,
                         const ik_choice_row_t *row, bool chosen)
{
    ik_role_t role = chosen ? IK_ROLE_CHOSEN : IK_ROLE_TEXT;
    ik_role_t note_role = chosen ? IK_ROLE_CHOSEN : IK_ROLE_DIM;
    const char *note = row->note;
    size_t at = columns->mark + columns->text;
    ik_choice_rows_add(out, role, mark, columns->usable, columns->mark, IK_WIDTH_KEEP_START);
    ik_choice_rows_pad(out, role, columns->usable, columns->mark);
    ik_choice_rows_add(out, role, row->text, columns->usable, columns->text,
                       columns->cut_start ? IK_WIDTH_KEEP_END : IK_WIDTH_KEEP_START);
    if (takes_rest(columns, note) && *note != '\0') {
        ik_choice_rows_pad(out, note_role, columns->usable, at + BETWEEN);
        ik_choice_rows_add(out, note_role, note, columns->usable, columns->usable,
                           IK_WIDTH_KEEP_START);
        return;
    }
    for (size_t k = 0; k < IK_CHOICE_ROWS_NOTES && note != NULL; k++) {
        char *cell = next_note(NULL, &note);
        if (columns->notes[k] > 0 && *cell != '\0') {
            ik_choice_rows_pad(out, note_role, columns->usable, at + BETWEEN);
            ik_choice_rows_add(out, note_role, cell, columns->usable, columns->notes[k],
                               IK_WIDTH_KEEP_START);
        }
        at += columns->notes[k] == 0 ? 0 : BETWEEN + columns->notes[k];
        talloc_free(cell);
    }
}
