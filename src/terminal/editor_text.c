#include "terminal/editor_state.h"

#include <string.h>
#include <utf8proc.h>

#include "base/utf8.h"

/* How far back the start of a grapheme is searched, in bytes. */
enum { GRAPHEME_MAX = 4096 };

/* --- graphemes --------------------------------------------------------------------------- */

bool ik_editor_text_is_mark(const ik_editor_t *editor, size_t at)
{
    return ik_pastes_is_mark(editor->text.data + at, editor->text.len - at);
}

/* By Unicode's rules some characters would join with a mark; here a mark always stands alone. */
ik_grapheme_t ik_editor_text_piece(const ik_editor_t *editor, size_t at)
{
    const char *text = editor->text.data + at;
    if (ik_editor_text_is_mark(editor, at)) {
        return (ik_grapheme_t){.len = IK_PASTES_MARK_LEN};
    }
    ik_grapheme_t piece = ik_width_grapheme(text, editor->text.len - at);
    if (piece.len > IK_PASTES_MARK_LEN) {
        size_t alone = ik_pastes_find_mark(text, piece.len);
        piece = alone < piece.len ? ik_width_grapheme(text, alone) : piece;
    }
    return piece;
}

size_t ik_editor_text_next(const ik_editor_t *editor, size_t at)
{
    return at == editor->text.len ? at : at + ik_editor_text_piece(editor, at).len;
}

size_t ik_editor_text_previous(const ik_editor_t *editor, size_t at)
{
    if (at == 0) {
        return 0;
    }
    size_t floor = ik_utf8_cut_front(editor->text.data, at, GRAPHEME_MAX);
    const char *text = editor->text.data + floor;
    size_t len = at - floor;
    size_t start = ik_pastes_after_last_mark(text, len);
    if (start == len) {
        return at - IK_PASTES_MARK_LEN;
    }
    return floor + start + ik_width_step_back(text + start, len - start);
}

size_t ik_editor_text_boundary(const ik_editor_t *editor, size_t at)
{
    if (at == 0) {
        return 0;
    }
    size_t start = ik_editor_text_previous(editor, at);
    size_t end = ik_editor_text_next(editor, start);
    return end > at ? end : at;
}

/* --- words ------------------------------------------------------------------------------- */

bool ik_editor_text_is_word(const ik_editor_t *editor, size_t at)
{
    const char *text = editor->text.data + at;
    if ((unsigned char)*text < 0x80) {
        char lower = (char)(*text | 0x20);
        return (*text >= '0' && *text <= '9') || (lower >= 'a' && lower <= 'z');
    }
    if (ik_editor_text_is_mark(editor, at)) {
        return true;
    }
    utf8proc_int32_t code;
    utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)(editor->text.len - at),
                     &code);
    utf8proc_category_t category = utf8proc_category(code);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO;
}

static bool is_blank(const ik_editor_t *editor, size_t at)
{
    char byte = editor->text.data[at];
    return byte == ' ' || byte == '\t' || byte == '\n';
}

typedef bool (*kind_fn)(const ik_editor_t *editor, size_t at);

static size_t skip_forward(const ik_editor_t *editor, size_t at, kind_fn kind, bool wanted)
{
    while (at < editor->text.len && kind(editor, at) == wanted) {
        at = ik_editor_text_next(editor, at);
    }
    return at;
}

static size_t skip_back(const ik_editor_t *editor, size_t at, kind_fn kind, bool wanted)
{
    while (at > 0) {
        size_t previous = ik_editor_text_previous(editor, at);
        if (kind(editor, previous) != wanted) {
            break;
        }
        at = previous;
    }
    return at;
}

size_t ik_editor_text_word_end(const ik_editor_t *editor, size_t at)
{
    return skip_forward(editor, skip_forward(editor, at, ik_editor_text_is_word, false),
                        ik_editor_text_is_word, true);
}

size_t ik_editor_text_word_start(const ik_editor_t *editor, size_t at)
{
    return skip_back(editor, skip_back(editor, at, ik_editor_text_is_word, false),
                     ik_editor_text_is_word, true);
}

size_t ik_editor_text_chunk_start(const ik_editor_t *editor, size_t at)
{
    return skip_back(editor, skip_back(editor, at, is_blank, true), is_blank, false);
}

/* --- lines ------------------------------------------------------------------------------- */

size_t ik_editor_text_line_start(const ik_editor_t *editor, size_t at)
{
    const char *newline = at == 0 ? NULL : memrchr(editor->text.data, '\n', at);
    return newline == NULL ? 0 : (size_t)(newline + 1 - editor->text.data);
}

size_t ik_editor_text_line_end(const ik_editor_t *editor, size_t at)
{
    const char *newline = memchr(editor->text.data + at, '\n', editor->text.len - at);
    return newline == NULL ? editor->text.len : (size_t)(newline - editor->text.data);
}
