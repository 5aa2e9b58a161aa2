/* Editing commands and the table of their keys. To add a key, add it to its row. */
#include <string.h>
#include <utf8proc.h>

#include "base/array.h"
#include "base/utf8.h"
#include "terminal/editor_state.h"

/* --- moving ------------------------------------------------------------------------------ */

static size_t text_start(const ik_editor_t *editor, size_t at)
{
    (void)editor;
    (void)at;
    return 0;
}

static size_t text_end(const ik_editor_t *editor, size_t at)
{
    (void)at;
    return editor->text.len;
}

/* At the end of a line, past its newline. */
static size_t line_end_or_next(const ik_editor_t *editor, size_t at)
{
    size_t end = ik_editor_text_line_end(editor, at);
    return end > at ? end : ik_editor_text_next(editor, at);
}

/* At the start of a line, before the newline in front of it. */
static size_t line_start_or_previous(const ik_editor_t *editor, size_t at)
{
    size_t start = ik_editor_text_line_start(editor, at);
    return start < at ? start : ik_editor_text_previous(editor, at);
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
    editor->action = IK_EDITOR_ACTION_TYPE;
    ik_editor_change(editor, editor->cursor, editor->cursor, text, len);
}

static void on_typed(void *data, ik_style_t style, const char *text, size_t len)
{
    (void)style;
    ik_buffer_append(data, text, len);
}

/* Consecutive keys are one text to the sanitiser: one key may end with a joiner, and the next begin
 * with what it joins. */
static void type(ik_editor_t *editor, const char *text, size_t len)
{
    if (editor->last_action != IK_EDITOR_ACTION_TYPE) {
        ik_sanitiser_init(&editor->typed);
    }
    ik_buffer_t clean;
    ik_buffer_init(&clean, NULL, IK_BUFFER_UNLIMITED); /* bounded by the input */
    ik_sanitiser_feed(&editor->typed, text, len, on_typed, &clean);
    insert(editor, clean.data, clean.len);
    ik_buffer_reset(&clean);
}

static void type_newline(ik_editor_t *editor)
{
    insert(editor, "\n", 1);
}

/* Replaces the backslash before the cursor. */
static void continue_line(ik_editor_t *editor)
{
    ik_editor_change(editor, editor->cursor - 1, editor->cursor, "\n", 1);
}

static void erase_back(ik_editor_t *editor)
{
    editor->action = IK_EDITOR_ACTION_ERASE_BACK;
    size_t from = ik_editor_text_previous(editor, editor->cursor);
    ik_editor_change(editor, from, editor->cursor, NULL, 0);
}

static void erase_forward(ik_editor_t *editor)
{
    editor->action = IK_EDITOR_ACTION_ERASE_FORWARD;
    size_t to = ik_editor_text_next(editor, editor->cursor);
    ik_editor_change(editor, editor->cursor, to, NULL, 0);
}

/* --- pasting ----------------------------------------------------------------------------- */

/* One more than the highest paste number in the draft. */
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

/* Most terminals send "\r" for every line end of a paste. The sanitiser, which knows "\r" as the
 * return to the start of a line, would drop it where the line is empty. */
static void append_with_newlines(ik_buffer_t *out, const char *bytes, size_t len)
{
    size_t at = 0;
    while (at < len) { /* bytes may be NULL when there are none */
        const char *found = memchr(bytes + at, '\r', len - at);
        size_t end = found == NULL ? len : (size_t)(found - bytes);
        ik_buffer_append(out, bytes + at, end - at);
        at = end;
        if (found != NULL) {
            ik_buffer_append_byte(out, '\n');
            at += at + 1 < len && bytes[at + 1] == '\n' ? 2 : 1;
        }
    }
}

static void paste(ik_editor_t *editor, const char *bytes, size_t len)
{
    ik_buffer_t text;
    ik_buffer_t lines;
    ik_buffer_init(&text, NULL, IK_BUFFER_UNLIMITED);  /* bounded by the decoder */
    ik_buffer_init(&lines, NULL, IK_BUFFER_UNLIMITED); /* as text */
    append_with_newlines(&lines, bytes, len);
    ik_sanitise_append(&text, lines.data, lines.len);
    ik_buffer_reset(&lines);
    if (text.len <= IK_EDITOR_MAX - editor->text.len - editor->pasted) {
        ik_pastes_size_t size = ik_pastes_measure(text.data, text.len);
        bool is_long =
            size.lines > IK_EDITOR_PASTE_LINES || size.characters > IK_EDITOR_PASTE_CHARACTERS;
        size_t at = editor->cursor;
        char mark[IK_PASTES_MARK_LEN];
        if (is_long &&
            ik_pastes_add(editor->pastes, text.data, text.len, next_number(editor), mark)) {
            ik_editor_change(editor, at, at, mark, sizeof(mark));
        } else {
            ik_editor_change(editor, at, at, text.data, text.len);
        }
    }
    ik_buffer_reset(&text);
}

/* --- killing and yanking ----------------------------------------------------------------- */

/* Cuts the text between the cursor and another offset. Consecutive cuts are one piece. */
static void kill_to(ik_editor_t *editor, size_t target)
{
    bool before = target < editor->cursor;
    size_t from = before ? target : editor->cursor;
    size_t to = before ? editor->cursor : target;
    editor->action = IK_EDITOR_ACTION_KILL;
    if (from == to) {
        return;
    }
    const char *text = editor->text.data + from;
    if (editor->last_action == IK_EDITOR_ACTION_KILL) {
        ik_kill_ring_join(editor->kills, text, to - from, before);
    } else {
        ik_kill_ring_push(editor->kills, text, to - from);
    }
    ik_editor_change(editor, from, to, NULL, 0);
}

static void yank_over(ik_editor_t *editor, size_t from)
{
    size_t len;
    const char *text = ik_kill_ring_current(editor->kills, &len);
    if (text != NULL && ik_editor_change(editor, from, editor->cursor, text, len)) {
        editor->yanked_at = from;
        editor->action = IK_EDITOR_ACTION_YANK;
    }
}

static void yank(ik_editor_t *editor)
{
    yank_over(editor, editor->cursor);
}

static void yank_older(ik_editor_t *editor)
{
    if (editor->last_action == IK_EDITOR_ACTION_YANK) {
        ik_kill_ring_rotate(editor->kills);
        yank_over(editor, editor->yanked_at);
    }
}

/* --- rewriting --------------------------------------------------------------------------- */

typedef utf8proc_int32_t (*case_fn)(utf8proc_int32_t code);

/* Converts the next word, its first letter by one function and the rest by another. */
static void change_case(ik_editor_t *editor, case_fn first, case_fn rest)
{
    size_t end = ik_editor_text_word_end(editor, editor->cursor);
    const utf8proc_uint8_t *text = (const utf8proc_uint8_t *)editor->text.data;
    ik_buffer_t changed;
    ik_buffer_init(&changed, NULL, IK_BUFFER_UNLIMITED); /* bounded by the draft */
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

typedef size_t (*motion_fn)(const ik_editor_t *editor, size_t at);

/* Moves to an offset, cuts up to an offset, or runs a function. */
typedef struct {
    const char *does;
    motion_fn moves_to;
    motion_fn cuts_to;
    void (*run)(ik_editor_t *editor);
    ik_binding_t keys[KEYS_MAX];
    bool at_prompt; /* basic enough to be listed with the keys of the prompt */
} command_t;

/* Some terminals send the unshifted character: '_' is Shift with '-'. */
#define UNSHIFTED(held, character)                                                                 \
    {                                                                                              \
        .kind = IK_KEY_CHAR, .modifiers = IK_KEY_##held | IK_KEY_SHIFT, .code = (character),       \
        .hidden_in_help = true                                                                     \
    }

static const command_t commands[] = {
    {"moves back one character", .moves_to = ik_editor_text_previous,
     .keys = {IK_BINDING(LEFT), IK_BINDING_CTRL('b')}},
    {"moves forward one character", .moves_to = ik_editor_text_next,
     .keys = {IK_BINDING(RIGHT), IK_BINDING_CTRL('f')}},
    {"moves back one word", .moves_to = ik_editor_text_word_start,
     .keys = {IK_BINDING_ALT('b'), IK_BINDING_WITH(CTRL, LEFT), IK_BINDING_WITH(ALT, LEFT)}},
    {"moves forward one word", .moves_to = ik_editor_text_word_end,
     .keys = {IK_BINDING_ALT('f'), IK_BINDING_WITH(CTRL, RIGHT), IK_BINDING_WITH(ALT, RIGHT)}},
    {"moves to the start of the line", .moves_to = ik_editor_text_line_start,
     .keys = {IK_BINDING(HOME), IK_BINDING_CTRL('a')}},
    {"moves to the end of the line", .moves_to = ik_editor_text_line_end,
     .keys = {IK_BINDING(END), IK_BINDING_CTRL('e')}},
    {"moves up one row", .run = go_up, .keys = {IK_BINDING(UP), IK_BINDING_CTRL('p')}},
    {"moves down one row", .run = go_down, .keys = {IK_BINDING(DOWN), IK_BINDING_CTRL('n')}},
    {"moves to the start of the draft", .moves_to = text_start,
     .keys = {IK_BINDING_WITH(CTRL, HOME), IK_BINDING_ALT('<'), UNSHIFTED(ALT, ',')}},
    {"moves to the end of the draft", .moves_to = text_end,
     .keys = {IK_BINDING_WITH(CTRL, END), IK_BINDING_ALT('>'), UNSHIFTED(ALT, '.')}},

    {"starts a new line", .run = type_newline,
     .keys = {IK_BINDING_WITH(SHIFT, ENTER), IK_BINDING_WITH(CTRL, ENTER), IK_BINDING_CTRL('j')},
     .at_prompt = true},
    {"starts a new line and removes the backslash", .run = continue_line,
     .keys = {{.kind = IK_KEY_ENTER, .after = '\\'}}, .at_prompt = true},
    {"deletes the character before the cursor", .run = erase_back,
     .keys = {IK_BINDING(BACKSPACE), IK_BINDING_CTRL('h')}},
    {"deletes the character at the cursor", .run = erase_forward,
     .keys = {IK_BINDING(DELETE), IK_BINDING_CTRL('d')}},

    {"cuts the word before the cursor", .cuts_to = ik_editor_text_word_start,
     .keys = {IK_BINDING_WITH(ALT, BACKSPACE), IK_BINDING_WITH(CTRL, BACKSPACE)}},
    {"cuts back to the previous white space", .cuts_to = ik_editor_text_chunk_start,
     .keys = {IK_BINDING_CTRL('w')}},
    {"cuts to the end of the word", .cuts_to = ik_editor_text_word_end,
     .keys = {IK_BINDING_ALT('d'), IK_BINDING_WITH(ALT, DELETE), IK_BINDING_WITH(CTRL, DELETE)}},
    {"cuts to the end of the line, or the newline there", .cuts_to = line_end_or_next,
     .keys = {IK_BINDING_CTRL('k')}},
    {"cuts to the start of the line, or the newline there", .cuts_to = line_start_or_previous,
     .keys = {IK_BINDING_CTRL('u')}},
    {"inserts what was cut last", .run = yank, .keys = {IK_BINDING_CTRL('y')}},
    {"after Ctrl-Y, inserts an earlier cut instead", .run = yank_older,
     .keys = {IK_BINDING_ALT('y')}},

    {"converts the rest of the word to upper case", .run = raise_word,
     .keys = {IK_BINDING_ALT('u')}},
    {"converts the rest of the word to lower case", .run = lower_word,
     .keys = {IK_BINDING_ALT('l')}},
    {"capitalises the rest of the word", .run = capitalise_word, .keys = {IK_BINDING_ALT('c')}},

    {"undoes the last change", .run = ik_editor_change_undo,
     .keys = {IK_BINDING_CTRL('_'), IK_BINDING_CTRL('/'), UNSHIFTED(CTRL, '-')}},
    {"redoes what was undone", .run = ik_editor_change_redo,
     .keys = {IK_BINDING_ALT('_'),
              UNSHIFTED(ALT, '-'),
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

/* Finds the command bound to exactly this key: a further modifier makes it another key. */
static const command_t *find_command(const ik_editor_t *editor, const ik_key_t *key)
{
    char before = editor->cursor == 0 ? '\0' : editor->text.data[editor->cursor - 1];
    for (size_t i = 0; i < IK_LENGTH(commands); i++) {
        for (size_t k = 0; k < KEYS_MAX; k++) {
            const ik_binding_t *binding = &commands[i].keys[k];
            if (binding->kind == key->kind && binding->modifiers == key->modifiers &&
                (key->kind != IK_KEY_CHAR || (uint32_t)binding->code == key->code) &&
                (binding->after == '\0' || binding->after == before)) {
                return &commands[i];
            }
        }
    }
    return NULL;
}

/* Ignores Shift unless the table binds the key with it. */
static const command_t *command_of(const ik_editor_t *editor, const ik_key_t *pressed)
{
    ik_key_t key = *pressed;
    if (key.code >= 'A' && key.code <= 'Z') {
        key.code += 'a' - 'A';
        key.modifiers |= IK_KEY_SHIFT;
    }
    const command_t *command = find_command(editor, &key);
    key.modifiers &= ~(unsigned)IK_KEY_SHIFT;
    return command != NULL ? command : find_command(editor, &key);
}

static void run_command(ik_editor_t *editor, const command_t *command)
{
    if (command->moves_to != NULL) {
        editor->cursor = command->moves_to(editor, editor->cursor);
    } else if (command->cuts_to != NULL) {
        kill_to(editor, command->cuts_to(editor, editor->cursor));
    } else {
        command->run(editor);
    }
}

/* A key that is not ours, such as a reply of the terminal, which may arrive at any time, does not
 * come between two actions that belong together; nor does a key that stands for another one. */
ik_editor_effect_t ik_editor_key(ik_editor_t *editor, const ik_key_t *key)
{
    ik_editor_action_t before_last = editor->last_action;
    ik_editor_begin(editor);
    editor->effect = IK_EDITOR_DONE;
    const command_t *command = NULL;
    if (ik_editor_vi_key(editor, key)) {
        /* done */
    } else if (key->kind == IK_KEY_TEXT) {
        type(editor, key->text, key->len);
    } else if (key->kind == IK_KEY_PASTE) {
        paste(editor, key->text, key->len);
    } else if ((command = command_of(editor, key)) != NULL) {
        run_command(editor, command);
    } else if (key->kind == IK_KEY_CHAR && (key->modifiers & (IK_KEY_CTRL | IK_KEY_ALT)) == 0) {
        char text[4];
        type(editor, text, ik_utf8_encode(text, key->code));
    } else {
        editor->effect = IK_EDITOR_UNKNOWN;
    }
    ik_editor_vi_settle(editor);
    bool ours = editor->effect != IK_EDITOR_UNKNOWN && editor->effect != IK_EDITOR_UP &&
                editor->effect != IK_EDITOR_DOWN;
    if (!ours) {
        editor->action = editor->last_action;
        editor->last_action = before_last;
    }
    return editor->effect;
}
