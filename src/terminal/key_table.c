#include "terminal/key_table.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "terminal/pager.h"
#include "terminal/prompt.h"

/* --- names of keys ----------------------------------------------------------------------- */

static const char *const names[] = {
    [IK_KEY_PASTE] = "Paste",   [IK_KEY_ENTER] = "Enter",
    [IK_KEY_TAB] = "Tab",       [IK_KEY_BACKSPACE] = "Backspace",
    [IK_KEY_ESCAPE] = "Esc",    [IK_KEY_UP] = "Up",
    [IK_KEY_DOWN] = "Down",     [IK_KEY_LEFT] = "Left",
    [IK_KEY_RIGHT] = "Right",   [IK_KEY_HOME] = "Home",
    [IK_KEY_END] = "End",       [IK_KEY_PAGE_UP] = "PageUp",
    [IK_KEY_INSERT] = "Insert", [IK_KEY_PAGE_DOWN] = "PageDown",
    [IK_KEY_DELETE] = "Delete",
};

/* What a key with a letter is called is its capital; Shift is told. */
static void append_modifiers(ik_buffer_t *out, const ik_key_t *key)
{
    bool capital = key->kind == IK_KEY_CHAR && key->code >= 'A' && key->code <= 'Z';
    bool shift = (key->modifiers & IK_KEY_SHIFT) != 0 || capital;
    ik_buffer_append_text(out, (key->modifiers & IK_KEY_CTRL) != 0 ? "Ctrl-" : "");
    ik_buffer_append_text(out, (key->modifiers & IK_KEY_ALT) != 0 ? "Alt-" : "");
    ik_buffer_append_text(out, shift ? "Shift-" : "");
}

static void append_text(ik_buffer_t *out, const char *text, size_t len)
{
    if (len == 1 && text[0] == ' ') {
        ik_buffer_append_text(out, "Space");
    } else {
        ik_buffer_append(out, text, len);
    }
}

static void append_key(ik_buffer_t *out, const ik_key_t *key)
{
    bool lower = key->code >= 'a' && key->code <= 'z';
    char character[4];
    append_modifiers(out, key);
    switch (key->kind) {
    case IK_KEY_TEXT:
        append_text(out, key->text, key->len);
        break;
    case IK_KEY_CHAR:
        append_text(out, character, ik_utf8_encode(character, key->code - (lower ? 32 : 0)));
        break;
    case IK_KEY_FUNCTION:
        ik_buffer_append_format(out, "F%u", (unsigned)key->code);
        break;
    default:
        assert(key->kind < IK_LENGTH(names));
        ik_buffer_append_text(out, names[key->kind]);
    }
}

char *ik_key_format(const void *ctx, const ik_key_t *key)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    append_key(&out, key);
    return ik_buffer_finish(&out);
}

/* --- rows -------------------------------------------------------------------------------- */

static void append_character(ik_buffer_t *out, const char *character)
{
    bool control = *character > 0 && *character < ' ';
    ik_key_t typed = {.kind = IK_KEY_TEXT, .text = character, .len = 1};
    ik_key_t held = {
        .kind = IK_KEY_CHAR, .modifiers = IK_KEY_CTRL, .code = (uint32_t)(*character + 'a' - 1)};
    append_key(out, control ? &held : &typed);
}

static void append_binding(ik_buffer_t *out, const ik_binding_t *binding)
{
    ik_key_t key = {
        .kind = binding->kind, .modifiers = binding->modifiers, .code = (uint32_t)binding->code};
    if (binding->after != '\0') {
        append_character(out, &binding->after);
        ik_buffer_append_byte(out, ' ');
    }
    if (binding->kind == IK_KEY_TEXT) {
        append_character(out, &binding->code);
    } else {
        append_key(out, &key);
    }
}

static bool is_none(const ik_binding_t *binding)
{
    return binding->kind == IK_KEY_TEXT && binding->code == '\0';
}

/* NULL: none of them is told. */
static char *format_keys(const void *ctx, const ik_binding_row_t *row)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < row->max && !is_none(&row->keys[i]); i++) {
        if (!row->keys[i].untold) {
            ik_buffer_append_text(&out, out.len == 0 ? "" : ", ");
            append_binding(&out, &row->keys[i]);
        }
    }
    ik_buffer_append_text(&out, row->word == NULL ? "" : row->word);
    return out.len == 0 ? NULL : ik_buffer_finish(&out);
}

/* --- groups ------------------------------------------------------------------------------ */

static const ik_key_table_t groups[] = {
    [IK_BINDING_PROMPT] = {.name = "prompt", .title = "At the prompt"},
    [IK_BINDING_EDITING] = {.name = "editing", .title = "Editing the draft"},
    [IK_BINDING_SEARCH] = {.name = "search", .title = "Searching earlier messages"},
    [IK_BINDING_PAGER] = {.name = "pager", .title = "In the pager"},
};

/* In the order in which rows of one group are told. */
static const ik_binding_rows_fn sources[] = {
    ik_prompt_bindings_at,        ik_editor_bindings_at, ik_prompt_signs_at,
    ik_prompt_search_bindings_at, ik_pager_bindings_at,
};

static void add_row(ik_key_table_t *tables, const ik_binding_row_t *row)
{
    ik_key_table_t *table = &tables[row->group];
    char *keys = format_keys(tables, row);
    if (keys != NULL) {
        table->rows = ik_resize_array(tables, table->rows, ik_key_table_row_t, table->count + 1);
        table->rows[table->count++] = (ik_key_table_row_t){.keys = keys, .does = row->does};
    }
}

ik_key_table_t *ik_key_table_create(const void *ctx, size_t *count)
{
    ik_key_table_t *tables = ik_new_array(ctx, ik_key_table_t, IK_LENGTH(groups));
    memcpy(tables, groups, sizeof(groups));
    for (size_t i = 0; i < IK_LENGTH(sources); i++) {
        ik_binding_row_t row;
        for (size_t at = 0; sources[i](at, &row); at++) {
            add_row(tables, &row);
        }
    }
    *count = IK_LENGTH(groups);
    return tables;
}
