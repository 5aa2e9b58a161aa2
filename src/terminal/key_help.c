#include "terminal/key_help.h"

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

static void append_text(ik_buffer_t *out, const char *text, size_t len)
{
    if (len == 1 && text[0] == ' ') {
        ik_buffer_append_text(out, "Space");
    } else if (len == 1 && text[0] == ',') { /* a comma separates the keys of a row */
        ik_buffer_append_text(out, "Comma");
    } else {
        ik_buffer_append(out, text, len);
    }
}

/* A letter key is named by its capital: "a" with Alt is "Alt-A", "A" with Alt is "Alt-Shift-A". */
static void append_key(ik_buffer_t *out, const ik_key_t *key)
{
    bool upper = key->kind == IK_KEY_CHAR && key->code >= 'A' && key->code <= 'Z';
    bool lower = key->code >= 'a' && key->code <= 'z';
    bool shift = (key->modifiers & IK_KEY_SHIFT) != 0 || upper;
    char character[4];
    ik_buffer_append_text(out, (key->modifiers & IK_KEY_CTRL) != 0 ? "Ctrl-" : "");
    ik_buffer_append_text(out, (key->modifiers & IK_KEY_ALT) != 0 ? "Alt-" : "");
    ik_buffer_append_text(out, shift ? "Shift-" : "");
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
        ik_buffer_append_text(out, binding->kind == IK_KEY_TEXT ? "" : " "); /* as in "dd" */
    }
    if (binding->kind == IK_KEY_TEXT) {
        append_character(out, &binding->code);
    } else {
        append_key(out, &key);
    }
}

/* Returns NULL if all keys of the row are hidden. */
static char *format_keys(const void *ctx, const ik_binding_row_t *row)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the row's keys */
    for (size_t i = 0; i < row->max; i++) {
        const ik_binding_t *binding = &row->keys[i];
        if (binding->kind == IK_KEY_TEXT && binding->code == '\0') {
            break;
        }
        if (!binding->hidden_in_help) {
            ik_buffer_append_text(&out, out.len == 0 ? "" : ", ");
            append_binding(&out, binding);
        }
    }
    ik_buffer_append_text(&out, row->word == NULL ? "" : row->word);
    return out.len == 0 ? NULL : ik_buffer_finish(&out);
}

/* --- groups ------------------------------------------------------------------------------ */

static const ik_key_help_t groups[] = {
    [IK_BINDING_PROMPT] = {.name = "prompt", .title = "At the prompt"},
    [IK_BINDING_LIST] = {.name = "list", .title = "In a list"},
    [IK_BINDING_EDITING] = {.name = "editing", .title = "Editing the draft"},
    [IK_BINDING_VI] = {.name = "vi", .title = "Editing with vi keys, in normal mode"},
    [IK_BINDING_SEARCH] = {.name = "search", .title = "Searching earlier messages"},
    [IK_BINDING_PAGER] = {.name = "pager", .title = "In the pager"},
};

/* This order decides the order of the rows within a group. */
static const ik_binding_rows_fn sources[] = {
    ik_prompt_bindings_at, ik_prompt_list_bindings_at, ik_editor_bindings_at,
    ik_prompt_signs_at,    ik_editor_vi_bindings_at,   ik_prompt_search_bindings_at,
    ik_pager_bindings_at,
};

ik_key_help_t *ik_key_help_create(const void *ctx, size_t *count)
{
    ik_key_help_t *help = ik_new_array(ctx, ik_key_help_t, IK_LENGTH(groups));
    memcpy(help, groups, sizeof(groups));
    for (size_t i = 0; i < IK_LENGTH(sources); i++) {
        ik_binding_row_t row;
        for (size_t at = 0; sources[i](at, &row); at++) {
            ik_key_help_t *group = &help[row.group];
            char *keys = format_keys(help, &row);
            if (keys != NULL) {
                group->rows =
                    ik_resize_array(help, group->rows, ik_key_help_row_t, group->count + 1);
                group->rows[group->count++] = (ik_key_help_row_t){.keys = keys, .does = row.does};
            }
        }
    }
    *count = IK_LENGTH(groups);
    return help;
}
