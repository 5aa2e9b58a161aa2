/* What each key does to the draft: small commands, and below them the table of their keys. */
#include <utf8proc.h>

#include "base/array.h"
#include "base/utf8.h"
#include "terminal/editor_state.h"

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
static void continue_line(ik_editor_t *editor)
{
    ik_editor_change(editor, editor->cursor - 1, editor->cursor, "\n", 1);
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

enum { KEYS_MAX = 4 };

typedef struct {
    command_fn run;
    const char *does;
    ik_binding_t keys[KEYS_MAX];
    bool at_prompt; /* who writes a message must know it: it is told with the keys of the prompt */
} command_t;

/* Where a terminal tells keys by what is printed on them, '_' is Shift with '-'. */
#define BY_CAP(held, character)                                                                    \
    {                                                                                              \
        .kind = IK_KEY_CHAR, .modifiers = IK_KEY_##held | IK_KEY_SHIFT, .code = (character),       \
        .hidden_in_help = true                                                                             \
    }

static const command_t commands[] = {
    {go_back, "a character back", .keys = {IK_BINDING(LEFT), IK_BINDING_CTRL('b')}},
    {go_forward, "a character on", .keys = {IK_BINDING(RIGHT), IK_BINDING_CTRL('f')}},
    {go_word_back, "a word back",
     .keys = {IK_BINDING_ALT('b'), IK_BINDING_WITH(CTRL, LEFT), IK_BINDING_WITH(ALT, LEFT)}},
    {go_word_forward, "a word on",
     .keys = {IK_BINDING_ALT('f'), IK_BINDING_WITH(CTRL, RIGHT), IK_BINDING_WITH(ALT, RIGHT)}},
    {go_line_start, "to the start of the line", .keys = {IK_BINDING(HOME), IK_BINDING_CTRL('a')}},
    {go_line_end, "to the end of the line", .keys = {IK_BINDING(END), IK_BINDING_CTRL('e')}},
    {go_up, "a row up", .keys = {IK_BINDING(UP), IK_BINDING_CTRL('p')}},
    {go_down, "a row down", .keys = {IK_BINDING(DOWN), IK_BINDING_CTRL('n')}},
    {go_start, "to the start of the draft",
     .keys = {IK_BINDING_WITH(CTRL, HOME), IK_BINDING_ALT('<'), BY_CAP(ALT, ',')}},
    {go_end, "to the end of the draft",
     .keys = {IK_BINDING_WITH(CTRL, END), IK_BINDING_ALT('>'), BY_CAP(ALT, '.')}},

    {type_newline, "begins a new line",
     .keys = {IK_BINDING_WITH(ALT, ENTER), IK_BINDING_WITH(SHIFT, ENTER),
              IK_BINDING_WITH(CTRL, ENTER), IK_BINDING_CTRL('j')},
     .at_prompt = true},
    {continue_line, "begins a new line in the place of the backslash",
     .keys = {{.kind = IK_KEY_ENTER, .after = '\\'}}, .at_prompt = true},
    {erase_back, "deletes the character before the cursor",
     .keys = {IK_BINDING(BACKSPACE), IK_BINDING_CTRL('h')}},
    {erase_forward, "deletes the character at the cursor",
     .keys = {IK_BINDING(DELETE), IK_BINDING_CTRL('d')}},

    {kill_word_back, "cuts the word before the cursor",
     .keys = {IK_BINDING_WITH(ALT, BACKSPACE), IK_BINDING_WITH(CTRL, BACKSPACE)}},
    {kill_chunk_back, "cuts what stands before, up to white space", .keys = {IK_BINDING_CTRL('w')}},
    {kill_word_forward, "cuts to the end of the word",
     .keys = {IK_BINDING_ALT('d'), IK_BINDING_WITH(ALT, DELETE), IK_BINDING_WITH(CTRL, DELETE)}},
    {kill_line_end, "cuts to the end of the line; there, the newline",
     .keys = {IK_BINDING_CTRL('k')}},
    {kill_line_start, "cuts to the start of the line; there, the newline",
     .keys = {IK_BINDING_CTRL('u')}},
    {yank, "inserts what was cut last", .keys = {IK_BINDING_CTRL('y')}},
    {yank_older, "right after that: what was cut before, instead", .keys = {IK_BINDING_ALT('y')}},

    {transpose, "swaps the characters around the cursor", .keys = {IK_BINDING_CTRL('t')}},
    {raise_word, "the rest of the word in capitals", .keys = {IK_BINDING_ALT('u')}},
    {lower_word, "the rest of the word in small letters", .keys = {IK_BINDING_ALT('l')}},
    {capitalise_word, "the rest of the word with one capital", .keys = {IK_BINDING_ALT('c')}},

    {ik_editor_change_undo, "undoes the last change",
     .keys = {IK_BINDING_CTRL('_'), IK_BINDING_CTRL('/'), BY_CAP(CTRL, '-')}},
    {ik_editor_change_redo, "does again what was undone",
     .keys = {IK_BINDING_ALT('_'),
              BY_CAP(ALT, '-'),
              {.kind = IK_KEY_CHAR, .modifiers = IK_KEY_CTRL | IK_KEY_SHIFT, .code = 'z'}}},
};

bool ik_editor_bindings_at(size_t index, ik_binding_row_t *out)
{
    if (index >= IK_LENGTH(commands)) {
        return false;
    }
    const command_t *command = &commands[index];
    *out = (ik_binding_row_t){
        .group = command->at_prompt ? IK_BINDING_PROMPT : IK_BINDING_EDITING,
        .keys = command->keys,
        .max = KEYS_MAX,
        .does = command->does,
    };
    return true;
}

static char character_before(const ik_editor_t *editor)
{
    return editor->cursor == 0 ? '\0' : editor->text.data[editor->cursor - 1];
}

/* Exactly this key: what is held down beside a known key makes it another one. */
static bool is_bound(const ik_editor_t *editor, const command_t *command, const ik_key_t *key)
{
    for (size_t i = 0; i < KEYS_MAX; i++) {
        const ik_binding_t *binding = &command->keys[i];
        if (binding->kind == key->kind && binding->modifiers == key->modifiers &&
            (key->kind != IK_KEY_CHAR || (uint32_t)binding->code == key->code) &&
            (binding->after == '\0' || binding->after == character_before(editor))) {
            return true;
        }
    }
    return false;
}

static command_fn find_command(const ik_editor_t *editor, const ik_key_t *key)
{
    for (size_t i = 0; i < IK_LENGTH(commands); i++) {
        if (is_bound(editor, &commands[i], key)) {
            return commands[i].run;
        }
    }
    return NULL;
}

/* Shift means something where the table says so; elsewhere it does not matter. */
static command_fn command_of(const ik_editor_t *editor, const ik_key_t *pressed)
{
    ik_key_t key = *pressed;
    if (key.code >= 'A' && key.code <= 'Z') {
        key.code += 'a' - 'A';
        key.modifiers |= IK_KEY_SHIFT;
    }
    command_fn run = find_command(editor, &key);
    key.modifiers &= ~(unsigned)IK_KEY_SHIFT;
    return run != NULL ? run : find_command(editor, &key);
}

static ik_editor_effect_t run_bound(ik_editor_t *editor, const ik_key_t *key)
{
    command_fn run = command_of(editor, key);
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
