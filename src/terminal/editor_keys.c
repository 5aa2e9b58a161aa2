/* What each key does to the draft: small commands, and below them the table of keys. */
#include <string.h>
#include <utf8proc.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "terminal/editor_state.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

typedef void (*command_fn)(ik_editor_t *editor);

/* --- moving ------------------------------------------------------------------------------ */

static void go_back(ik_editor_t *editor)
{
    editor->cursor = ik_editor_text_previous(editor, editor->cursor);
}

static void go_forward(ik_editor_t *editor)
{
    editor->cursor = ik_editor_text_next(editor, editor->cursor);
}

static void go_word_back(ik_editor_t *editor)
{
    editor->cursor = ik_editor_text_word_start(editor, editor->cursor);
}

static void go_word_forward(ik_editor_t *editor)
{
    editor->cursor = ik_editor_text_word_end(editor, editor->cursor);
}

static void go_line_start(ik_editor_t *editor)
{
    editor->cursor = ik_editor_text_line_start(editor, editor->cursor);
}

static void go_line_end(ik_editor_t *editor)
{
    editor->cursor = ik_editor_text_line_end(editor, editor->cursor);
}

static void go_start(ik_editor_t *editor)
{
    editor->cursor = 0;
}

static void go_end(ik_editor_t *editor)
{
    editor->cursor = editor->text.len;
}

static void go_up(ik_editor_t *editor)
{
    editor->effect = ik_editor_layout_step(editor, -1) ? IK_EDITOR_DONE : IK_EDITOR_FIRST;
}

static void go_down(ik_editor_t *editor)
{
    editor->effect = ik_editor_layout_step(editor, 1) ? IK_EDITOR_DONE : IK_EDITOR_LAST;
}

/* --- typing and erasing ------------------------------------------------------------------ */

static void insert(ik_editor_t *editor, const char *text, size_t len)
{
    editor->doing = IK_EDITOR_DEED_TYPE;
    ik_editor_change(editor, editor->cursor, editor->cursor, text, len);
}

static void on_typed(void *data, ik_style_t style, const char *text, size_t len)
{
    (void)style;
    ik_buffer_append(data, text, len);
}

/* Keys that follow one another are one text to the sanitiser: a joiner may be the end of one and
 * what it joins the beginning of the next. */
static void type(ik_editor_t *editor, const char *text, size_t len)
{
    if (editor->did != IK_EDITOR_DEED_TYPE) {
        ik_sanitiser_init(&editor->typed);
    }
    ik_buffer_t clean;
    ik_buffer_init(&clean, NULL, IK_BUFFER_UNLIMITED);
    ik_sanitiser_feed(&editor->typed, text, len, on_typed, &clean);
    insert(editor, clean.data, clean.len);
    ik_buffer_reset(&clean);
}

static void type_code(ik_editor_t *editor, uint32_t code)
{
    char text[4];
    type(editor, text, ik_utf8_encode(text, code));
}

static void type_newline(ik_editor_t *editor)
{
    insert(editor, "\n", 1);
}

/* A backslash before Enter says: not yet. */
static bool continue_line(ik_editor_t *editor)
{
    size_t at = editor->cursor;
    if (at == 0 || editor->text.data[at - 1] != '\\') {
        return false;
    }
    return ik_editor_change(editor, at - 1, at, "\n", 1);
}

static void erase_back(ik_editor_t *editor)
{
    editor->doing = IK_EDITOR_DEED_ERASE_BACK;
    size_t from = ik_editor_text_previous(editor, editor->cursor);
    ik_editor_change(editor, from, editor->cursor, NULL, 0);
}

static void erase_forward(ik_editor_t *editor)
{
    editor->doing = IK_EDITOR_DEED_ERASE_FORWARD;
    size_t to = ik_editor_text_next(editor, editor->cursor);
    ik_editor_change(editor, editor->cursor, to, NULL, 0);
}

/* --- pasting ----------------------------------------------------------------------------- */

/* One more than the highest number in the draft. */
static size_t next_number(const ik_editor_t *editor)
{
    size_t highest = 0;
    const char *text = editor->text.data;
    size_t len = editor->text.len;
    size_t at = ik_pastes_find_mark(text, len);
    while (at < len) {
        size_t number = ik_pastes_number(editor->pastes, text + at);
        highest = number > highest ? number : highest;
        at += IK_PASTES_MARK_LEN;
        at += ik_pastes_find_mark(text + at, len - at);
    }
    return highest + 1;
}

static void paste_clean(ik_editor_t *editor, const char *text, size_t len)
{
    ik_pastes_size_t size = ik_pastes_measure(text, len);
    bool is_long =
        size.lines > IK_EDITOR_PASTE_LINES || size.characters > IK_EDITOR_PASTE_CHARACTERS;
    if (len > IK_EDITOR_MAX - editor->text.len - editor->pasted) {
        return;
    }
    char mark[IK_PASTES_MARK_LEN];
    if (is_long && ik_pastes_add(editor->pastes, text, len, next_number(editor), mark)) {
        ik_editor_change(editor, editor->cursor, editor->cursor, mark, sizeof(mark));
    } else {
        ik_editor_change(editor, editor->cursor, editor->cursor, text, len);
    }
}

static void paste(ik_editor_t *editor, const char *text, size_t len)
{
    ik_buffer_t clean;
    ik_buffer_init(&clean, NULL, IK_BUFFER_UNLIMITED);
    ik_sanitise_append(&clean, text, len);
    paste_clean(editor, clean.data, clean.len);
    ik_buffer_reset(&clean);
}

/* --- killing and yanking ----------------------------------------------------------------- */

static void kill_range(ik_editor_t *editor, size_t from, size_t to)
{
    bool before = to == editor->cursor;
    const char *text = editor->text.data + from;
    editor->doing = IK_EDITOR_DEED_KILL;
    if (from == to) {
        return;
    }
    if (editor->did == IK_EDITOR_DEED_KILL) {
        ik_kill_ring_join(editor->kills, text, to - from, before);
    } else {
        ik_kill_ring_push(editor->kills, text, to - from);
    }
    ik_editor_change(editor, from, to, NULL, 0);
}

static void kill_word_back(ik_editor_t *editor)
{
    kill_range(editor, ik_editor_text_word_start(editor, editor->cursor), editor->cursor);
}

static void kill_word_forward(ik_editor_t *editor)
{
    kill_range(editor, editor->cursor, ik_editor_text_word_end(editor, editor->cursor));
}

static void kill_chunk_back(ik_editor_t *editor)
{
    kill_range(editor, ik_editor_text_chunk_start(editor, editor->cursor), editor->cursor);
}

/* To the end of the line; there, the newline. */
static void kill_line_end(ik_editor_t *editor)
{
    size_t end = ik_editor_text_line_end(editor, editor->cursor);
    kill_range(editor, editor->cursor,
               end > editor->cursor ? end : ik_editor_text_next(editor, editor->cursor));
}

static void kill_line_start(ik_editor_t *editor)
{
    size_t start = ik_editor_text_line_start(editor, editor->cursor);
    kill_range(editor,
               start < editor->cursor ? start : ik_editor_text_previous(editor, editor->cursor),
               editor->cursor);
}

static void yank_over(ik_editor_t *editor, size_t from)
{
    size_t len;
    const char *text = ik_kill_ring_current(editor->kills, &len);
    if (text != NULL && ik_editor_change(editor, from, editor->cursor, text, len)) {
        editor->yanked_at = from;
        editor->doing = IK_EDITOR_DEED_YANK;
    }
}

static void yank(ik_editor_t *editor)
{
    yank_over(editor, editor->cursor);
}

static void yank_older(ik_editor_t *editor)
{
    if (editor->did == IK_EDITOR_DEED_YANK) {
        ik_kill_ring_rotate(editor->kills);
        yank_over(editor, editor->yanked_at);
    }
}

/* --- rewriting --------------------------------------------------------------------------- */

/* Swaps the graphemes around the cursor, at the end of a line the two before it. */
static void transpose(ik_editor_t *editor)
{
    size_t start = ik_editor_text_line_start(editor, editor->cursor);
    bool at_end = ik_editor_text_line_end(editor, editor->cursor) == editor->cursor;
    size_t middle = at_end && editor->cursor > start
                        ? ik_editor_text_previous(editor, editor->cursor)
                        : editor->cursor;
    if (middle == start) {
        return;
    }
    size_t from = ik_editor_text_previous(editor, middle);
    size_t to = ik_editor_text_next(editor, middle);
    ik_buffer_t swapped;
    ik_buffer_init(&swapped, NULL, IK_BUFFER_UNLIMITED);
    ik_buffer_append(&swapped, editor->text.data + middle, to - middle);
    ik_buffer_append(&swapped, editor->text.data + from, middle - from);
    ik_editor_change(editor, from, to, swapped.data, swapped.len);
    ik_buffer_reset(&swapped);
}

typedef utf8proc_int32_t (*case_fn)(utf8proc_int32_t code);

/* The next word, its first letter in one case and the rest in another. */
static void change_case(ik_editor_t *editor, case_fn first, case_fn rest)
{
    size_t end = ik_editor_text_word_end(editor, editor->cursor);
    const utf8proc_uint8_t *text = (const utf8proc_uint8_t *)editor->text.data;
    ik_buffer_t changed;
    ik_buffer_init(&changed, NULL, IK_BUFFER_UNLIMITED);
    case_fn convert = first;
    for (size_t at = editor->cursor; at < end;) {
        utf8proc_int32_t code;
        char bytes[4];
        bool in_word = ik_editor_text_is_word(editor, at);
        at += (size_t)utf8proc_iterate(text + at, (utf8proc_ssize_t)(end - at), &code);
        ik_buffer_append(&changed, bytes, ik_utf8_encode(bytes, (uint32_t)convert(code)));
        convert = in_word ? rest : convert;
    }
    ik_editor_change(editor, editor->cursor, end, changed.data, changed.len);
    ik_buffer_reset(&changed);
}

static void raise_word(ik_editor_t *editor)
{
    change_case(editor, utf8proc_toupper, utf8proc_toupper);
}

static void lower_word(ik_editor_t *editor)
{
    change_case(editor, utf8proc_tolower, utf8proc_tolower);
}

static void capitalise_word(ik_editor_t *editor)
{
    change_case(editor, utf8proc_totitle, utf8proc_tolower);
}

/* --- the table --------------------------------------------------------------------------- */

typedef struct {
    ik_key_kind_t kind;
    unsigned modifiers;
    uint32_t code;
    command_fn run;
} binding_t;

/* Where a terminal tells keys by what is printed on them, '_' is Shift with '-'. */
static const binding_t bindings[] = {
    {IK_KEY_LEFT, 0, 0, go_back},
    {IK_KEY_RIGHT, 0, 0, go_forward},
    {IK_KEY_UP, 0, 0, go_up},
    {IK_KEY_DOWN, 0, 0, go_down},
    {IK_KEY_HOME, 0, 0, go_line_start},
    {IK_KEY_END, 0, 0, go_line_end},
    {IK_KEY_LEFT, IK_KEY_CTRL, 0, go_word_back},
    {IK_KEY_RIGHT, IK_KEY_CTRL, 0, go_word_forward},
    {IK_KEY_LEFT, IK_KEY_ALT, 0, go_word_back},
    {IK_KEY_RIGHT, IK_KEY_ALT, 0, go_word_forward},
    {IK_KEY_HOME, IK_KEY_CTRL, 0, go_start},
    {IK_KEY_END, IK_KEY_CTRL, 0, go_end},
    {IK_KEY_CHAR, IK_KEY_CTRL, 'b', go_back},
    {IK_KEY_CHAR, IK_KEY_CTRL, 'f', go_forward},
    {IK_KEY_CHAR, IK_KEY_CTRL, 'p', go_up},
    {IK_KEY_CHAR, IK_KEY_CTRL, 'n', go_down},
    {IK_KEY_CHAR, IK_KEY_CTRL, 'a', go_line_start},
    {IK_KEY_CHAR, IK_KEY_CTRL, 'e', go_line_end},
    {IK_KEY_CHAR, IK_KEY_ALT, 'b', go_word_back},
    {IK_KEY_CHAR, IK_KEY_ALT, 'f', go_word_forward},
    {IK_KEY_CHAR, IK_KEY_ALT, '<', go_start},
    {IK_KEY_CHAR, IK_KEY_ALT, '>', go_end},
    {IK_KEY_CHAR, IK_KEY_ALT | IK_KEY_SHIFT, ',', go_start},
    {IK_KEY_CHAR, IK_KEY_ALT | IK_KEY_SHIFT, '.', go_end},

    {IK_KEY_ENTER, IK_KEY_ALT, 0, type_newline},
    {IK_KEY_ENTER, IK_KEY_SHIFT, 0, type_newline},
    {IK_KEY_ENTER, IK_KEY_CTRL, 0, type_newline},
    {IK_KEY_CHAR, IK_KEY_CTRL, 'j', type_newline},
    {IK_KEY_BACKSPACE, 0, 0, erase_back},
    {IK_KEY_CHAR, IK_KEY_CTRL, 'h', erase_back},
    {IK_KEY_DELETE, 0, 0, erase_forward},
    {IK_KEY_CHAR, IK_KEY_CTRL, 'd', erase_forward},

    {IK_KEY_BACKSPACE, IK_KEY_ALT, 0, kill_word_back},
    {IK_KEY_BACKSPACE, IK_KEY_CTRL, 0, kill_word_back},
    {IK_KEY_CHAR, IK_KEY_CTRL, 'w', kill_chunk_back},
    {IK_KEY_CHAR, IK_KEY_ALT, 'd', kill_word_forward},
    {IK_KEY_DELETE, IK_KEY_ALT, 0, kill_word_forward},
    {IK_KEY_DELETE, IK_KEY_CTRL, 0, kill_word_forward},
    {IK_KEY_CHAR, IK_KEY_CTRL, 'k', kill_line_end},
    {IK_KEY_CHAR, IK_KEY_CTRL, 'u', kill_line_start},
    {IK_KEY_CHAR, IK_KEY_CTRL, 'y', yank},
    {IK_KEY_CHAR, IK_KEY_ALT, 'y', yank_older},

    {IK_KEY_CHAR, IK_KEY_CTRL, 't', transpose},
    {IK_KEY_CHAR, IK_KEY_ALT, 'u', raise_word},
    {IK_KEY_CHAR, IK_KEY_ALT, 'l', lower_word},
    {IK_KEY_CHAR, IK_KEY_ALT, 'c', capitalise_word},

    {IK_KEY_CHAR, IK_KEY_CTRL, '_', ik_editor_change_undo},
    {IK_KEY_CHAR, IK_KEY_CTRL, '/', ik_editor_change_undo},
    {IK_KEY_CHAR, IK_KEY_CTRL | IK_KEY_SHIFT, '-', ik_editor_change_undo},
    {IK_KEY_CHAR, IK_KEY_ALT, '_', ik_editor_change_redo},
    {IK_KEY_CHAR, IK_KEY_ALT | IK_KEY_SHIFT, '-', ik_editor_change_redo},
    {IK_KEY_CHAR, IK_KEY_CTRL | IK_KEY_SHIFT, 'z', ik_editor_change_redo},
};

static command_fn find_command(ik_key_kind_t kind, unsigned modifiers, uint32_t code)
{
    for (size_t i = 0; i < LENGTH(bindings); i++) {
        const binding_t *binding = &bindings[i];
        if (binding->kind == kind && binding->modifiers == modifiers &&
            (kind != IK_KEY_CHAR || binding->code == code)) {
            return binding->run;
        }
    }
    return NULL;
}

/* Shift means something where the table says so; elsewhere it does not matter. */
static command_fn command_of(const ik_key_t *key)
{
    bool upper = key->code >= 'A' && key->code <= 'Z';
    uint32_t code = upper ? key->code + 32 : key->code;
    unsigned modifiers = upper ? key->modifiers | IK_KEY_SHIFT : key->modifiers;
    command_fn run = find_command(key->kind, modifiers, code);
    return run != NULL ? run : find_command(key->kind, modifiers & ~(unsigned)IK_KEY_SHIFT, code);
}

static ik_editor_effect_t run_bound(ik_editor_t *editor, const ik_key_t *key)
{
    command_fn run = command_of(key);
    if (run != NULL) {
        editor->effect = IK_EDITOR_DONE;
        run(editor);
        return editor->effect;
    }
    if (key->kind == IK_KEY_CHAR && (key->modifiers & (IK_KEY_CTRL | IK_KEY_ALT)) == 0) {
        type_code(editor, key->code);
        return IK_EDITOR_DONE;
    }
    return IK_EDITOR_UNKNOWN;
}

static ik_editor_effect_t run_key(ik_editor_t *editor, const ik_key_t *key)
{
    switch (key->kind) {
    case IK_KEY_TEXT:
        type(editor, key->text, key->len);
        return IK_EDITOR_DONE;
    case IK_KEY_PASTE:
        paste(editor, key->text, key->len);
        return IK_EDITOR_DONE;
    case IK_KEY_ENTER:
        if (key->modifiers == 0) {
            return continue_line(editor) ? IK_EDITOR_DONE : IK_EDITOR_UNKNOWN;
        }
        return run_bound(editor, key);
    default:
        return run_bound(editor, key);
    }
}

/* What is no key of ours comes between nothing: the terminal's answers arrive at any time. */
ik_editor_effect_t ik_editor_key(ik_editor_t *editor, const ik_key_t *key)
{
    ik_editor_deed_t before = editor->did;
    ik_editor_begin(editor);
    ik_editor_effect_t effect = run_key(editor, key);
    if (effect == IK_EDITOR_UNKNOWN) {
        editor->doing = editor->did;
        editor->did = before;
    }
    return effect;
}
