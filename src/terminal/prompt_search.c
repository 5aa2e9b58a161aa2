#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/sanitiser.h"
#include "base/width.h"
#include "terminal/prompt_state.h"

enum { PATTERN_MAX = 1024 };

static void open_list(ik_prompt_t *prompt, const ik_choice_row_t *rows, size_t count)
{
    ik_prompt_search_t *search = &prompt->search;
    ik_prompt_search_close(prompt);
    search->open = true;
    search->rows = rows;
    ik_buffer_init(&search->pattern, prompt, PATTERN_MAX);
    ik_buffer_reserve(&search->pattern, 1);
    ik_choice_set(search->choice, rows, count, 0);
}

void ik_prompt_search_open(ik_prompt_t *prompt)
{
    size_t count = ik_recall_count(prompt->recall);
    ik_choice_row_t *rows = ik_new_array(prompt, ik_choice_row_t, count + 1);
    for (size_t i = 0; i < count; i++) {
        rows[i].text = ik_recall_entry(prompt->recall, i);
    }
    open_list(prompt, rows, count);
    prompt->search.messages = rows;
}

/* --- lists to choose from ---------------------------------------------------------------- */

void ik_prompt_choose(ik_prompt_t *prompt, const ik_prompt_list_options_t *options)
{
    ik_prompt_search_t *search = &prompt->search;
    ik_prompt_list_close(prompt);
    open_list(prompt, options->rows, options->count);
    if (options->from_end) {
        ik_choice_go_to_end(search->choice, 1);
    }
    search->chooses = true;
    search->taken = SIZE_MAX;
    search->second = false;
    search->has_second = options->has_second;
    search->numbered = options->numbered;
    search->passes_text = options->passes_text;
    search->pending = options->pending;
    search->mark = ik_strdup(prompt, options->mark);
    search->hint = options->hint == NULL ? NULL : ik_strdup(prompt, options->hint);
}

void ik_prompt_choose_again(ik_prompt_t *prompt, const ik_choice_row_t *rows, size_t count,
                            bool pending)
{
    if (prompt->search.chooses) {
        prompt->search.rows = rows;
        prompt->search.pending = pending;
        ik_choice_replace(prompt->search.choice, rows, count);
    }
}

bool ik_prompt_is_choosing(const ik_prompt_t *prompt)
{
    return prompt->search.open && prompt->search.chooses;
}

bool ik_prompt_has_list(const ik_prompt_t *prompt)
{
    return prompt->search.open || ik_prompt_list_is_open(prompt);
}

bool ik_prompt_is_numbered(const ik_prompt_t *prompt)
{
    return prompt->search.open && prompt->search.numbered;
}

void ik_prompt_choose_end(ik_prompt_t *prompt)
{
    if (prompt->search.chooses) {
        ik_prompt_search_close(prompt);
    }
}

size_t ik_prompt_chosen(const ik_prompt_t *prompt, bool *second)
{
    *second = prompt->search.second;
    return prompt->search.taken;
}

/* --- the pattern ------------------------------------------------------------------------- */

void ik_prompt_search_close(ik_prompt_t *prompt)
{
    if (prompt->search.open) {
        prompt->search.open = prompt->search.chooses = prompt->search.pending = false;
        prompt->search.numbered = false;
        TALLOC_FREE(prompt->search.mark);
        TALLOC_FREE(prompt->search.hint);
        TALLOC_FREE(prompt->search.messages);
        ik_buffer_reset(&prompt->search.pattern);
    }
}

static void narrow(ik_prompt_search_t *search)
{
    ik_choice_narrow(search->choice, search->pattern.data, search->pattern.len);
}

static void type(ik_prompt_search_t *search, const char *text, size_t len)
{
    char *bytes = ik_strndup(NULL, text, len);
    char *line = ik_sanitise_line(bytes, bytes);
    size_t line_len = strlen(line);
    if (search->pattern.len + line_len <= PATTERN_MAX) {
        ik_buffer_append(&search->pattern, line, line_len);
    }
    talloc_free(bytes);
    narrow(search);
}

static void cut(ik_prompt_search_t *search, size_t len)
{
    search->pattern.len = len;
    search->pattern.data[len] = '\0';
    narrow(search);
}

/* --- keys -------------------------------------------------------------------------------- */

static void go_down(ik_prompt_t *prompt)
{
    ik_choice_move(prompt->search.choice, 1);
}

static void go_up(ik_prompt_t *prompt)
{
    ik_choice_move(prompt->search.choice, -1);
}

static void erase(ik_prompt_t *prompt)
{
    ik_prompt_search_t *search = &prompt->search;
    if (search->pattern.len > 0) {
        cut(search, ik_width_step_back(search->pattern.data, search->pattern.len));
    }
}

static void erase_all(ik_prompt_t *prompt)
{
    cut(&prompt->search, 0);
}

static void page_down(ik_prompt_t *prompt)
{
    ik_choice_page(prompt->search.choice, 1);
}

static void page_up(ik_prompt_t *prompt)
{
    ik_choice_page(prompt->search.choice, -1);
}

static void go_to_last(ik_prompt_t *prompt)
{
    ik_choice_go_to_end(prompt->search.choice, 1);
}

static void go_to_first(ik_prompt_t *prompt)
{
    ik_choice_go_to_end(prompt->search.choice, -1);
}

/* Takes the chosen row; the list stays open if none matches. */
static void take_row(ik_prompt_t *prompt)
{
    size_t chosen = ik_choice_chosen(prompt->search.choice);
    prompt->search.taken = chosen;
    if (chosen != SIZE_MAX) {
        ik_prompt_search_close(prompt);
    }
}

static void take_row_second(ik_prompt_t *prompt)
{
    take_row(prompt);
    prompt->search.second = prompt->search.taken != SIZE_MAX;
}

/* Completes the pattern to the text of the chosen row, which stays chosen. */
static void complete_row(ik_prompt_t *prompt)
{
    ik_prompt_search_t *search = &prompt->search;
    size_t chosen = ik_choice_chosen(search->choice);
    if (chosen != SIZE_MAX) {
        search->pattern.len = 0;
        type(search, search->rows[chosen].text, strlen(search->rows[chosen].text));
        ik_choice_choose(search->choice, chosen);
    }
}

/* Replaces the draft with the chosen message, as one step of undo. */
static void take_message(ik_prompt_t *prompt)
{
    size_t chosen = ik_choice_chosen(prompt->search.choice);
    if (chosen != SIZE_MAX) {
        ik_editor_set_text(prompt->editor, prompt->search.rows[chosen].text);
    }
    ik_prompt_search_close(prompt);
    ik_prompt_list_update(prompt, false);
}

enum { KEYS_MAX = 10 };

typedef enum {
    EVERYWHERE,
    IN_MESSAGES, /* in the search only */
    IN_ROWS,     /* in lists of ik_prompt_choose only */
    WITH_SECOND, /* in those that have a second key */
} where_t;

typedef struct {
    void (*run)(ik_prompt_t *prompt);
    const char *does;
    ik_binding_t keys[KEYS_MAX];
    where_t where;
    bool passes; /* the editor handles the key as well */
} command_t;

static const command_t commands[] = {
    {take_row, "takes the highlighted row", .keys = {IK_BINDING(ENTER)}, .where = IN_ROWS},
    {take_row_second, "also remembers it, where the list offers that",
     .keys = {IK_BINDING_CTRL('s')}, .where = WITH_SECOND},
    {go_down, "moves down the list",
     .keys = {IK_BINDING(DOWN), IK_BINDING_CTRL('n'), IK_BINDING_CTRL('r')}},
    {go_up, "moves up the list",
     .keys = {IK_BINDING(UP), IK_BINDING_CTRL('p'), IK_BINDING_WITH(SHIFT, TAB)}},
    {go_up, "moves back to a newer message", .keys = {IK_BINDING_CTRL('s')}, .where = IN_MESSAGES},
    {page_down, "moves a page down", .keys = {IK_BINDING(PAGE_DOWN)}},
    {page_up, "moves a page up", .keys = {IK_BINDING(PAGE_UP)}},
    {go_to_first, "moves to the first row", .keys = {IK_BINDING(HOME)}, .where = IN_ROWS},
    {go_to_last, "moves to the last row", .keys = {IK_BINDING(END)}, .where = IN_ROWS},
    {complete_row, "completes the pattern and takes nothing", .keys = {IK_BINDING(TAB)},
     .where = IN_ROWS},
    {take_message, "puts the message into the draft", .keys = {IK_BINDING(ENTER), IK_BINDING(TAB)},
     .where = IN_MESSAGES},
    {take_message, "puts it into the draft and moves there",
     .keys = {IK_BINDING(LEFT), IK_BINDING(RIGHT), IK_BINDING(HOME), IK_BINDING(END),
              IK_BINDING_CTRL('a'), IK_BINDING_CTRL('e'), IK_BINDING_CTRL('b'),
              IK_BINDING_CTRL('f'), IK_BINDING_ALT('b'), IK_BINDING_ALT('f')},
     .where = IN_MESSAGES, .passes = true},
    {erase_all, "erases the whole pattern",
     .keys = {IK_BINDING_CTRL('u'), IK_BINDING_CTRL('w'), IK_BINDING_WITH(ALT, BACKSPACE),
              IK_BINDING_WITH(CTRL, BACKSPACE)}},
    {erase, "erases one character of the pattern",
     .keys = {IK_BINDING(BACKSPACE), IK_BINDING_CTRL('h')}},
    {ik_prompt_search_close, "closes the list and keeps the draft",
     .keys = {IK_BINDING(ESCAPE), IK_BINDING_CTRL('g'), IK_BINDING_CTRL('c'),
              IK_BINDING_CTRL('d')}},
};

/* The row at index of those that are in the help of the group. */
static bool find_binding(ik_binding_group_t group, size_t index, ik_binding_row_t *out)
{
    for (size_t i = 0; i < IK_LENGTH(commands); i++) {
        bool in_messages = commands[i].where == IN_MESSAGES;
        bool listed =
            commands[i].where == EVERYWHERE || in_messages == (group == IK_BINDING_SEARCH);
        if (listed && index-- == 0) {
            *out = (ik_binding_row_t){
                .group = group,
                .keys = commands[i].keys,
                .max = KEYS_MAX,
                .does = commands[i].does,
            };
            return true;
        }
    }
    return false;
}

bool ik_prompt_search_bindings_at(size_t index, ik_binding_row_t *out)
{
    return find_binding(IK_BINDING_SEARCH, index, out);
}

bool ik_prompt_list_bindings_at(size_t index, ik_binding_row_t *out)
{
    return find_binding(IK_BINDING_LIST, index, out);
}

static bool applies(const ik_prompt_search_t *search, where_t where)
{
    switch (where) {
    case IN_MESSAGES:
        return !search->chooses;
    case IN_ROWS:
        return search->chooses;
    case WITH_SECOND:
        return search->chooses && search->has_second;
    default:
        return true;
    }
}

typedef enum { HANDLED, LEFT_TO_PROMPT, LEFT_TO_TABLE } handling_t;

/* A numbered list has no pattern. Ctrl-C, Ctrl-D, Ctrl-Z, Ctrl-L, Ctrl-O and Ctrl-T mean what they
 * mean at an empty prompt. Where text goes into the draft, so do the other keys of the draft. */
static handling_t handle_numbered(ik_prompt_t *prompt, const ik_key_t *key)
{
    ik_prompt_search_t *search = &prompt->search;
    bool text = key->kind == IK_KEY_TEXT || key->kind == IK_KEY_PASTE;
    size_t digit = key->kind == IK_KEY_TEXT && key->len == 1 ? (size_t)(key->text[0] - '0') : 0;
    if (digit >= 1 && digit <= 9 && digit <= ik_choice_count(search->choice)) {
        search->taken = digit - 1;
        ik_prompt_search_close(prompt);
        return HANDLED;
    }
    if (text && search->passes_text && (digit > 9 || digit == 0)) {
        ik_prompt_search_close(prompt);
        return LEFT_TO_PROMPT;
    }
    if (key->kind == IK_KEY_CHAR && key->code < 0x80 && strchr("cdzlot", (int)key->code) != NULL) {
        return key->modifiers == IK_KEY_CTRL ? LEFT_TO_PROMPT : HANDLED;
    }
    bool moves = key->kind == IK_KEY_CHAR && (key->code == 'n' || key->code == 'p');
    if (key->kind == IK_KEY_CHAR && !moves && search->passes_text) {
        ik_prompt_search_close(prompt);
        return LEFT_TO_PROMPT;
    }
    bool erases = key->kind == IK_KEY_BACKSPACE || key->kind == IK_KEY_TAB;
    return text || erases || (key->kind == IK_KEY_CHAR && !moves) ? HANDLED : LEFT_TO_TABLE;
}

/* A list of ik_prompt_choose stays open until it is answered: keys for the draft do nothing. */
bool ik_prompt_search_key(ik_prompt_t *prompt, const ik_key_t *key)
{
    bool chooses = prompt->search.chooses;
    handling_t handling = prompt->search.numbered ? handle_numbered(prompt, key) : LEFT_TO_TABLE;
    if (handling != LEFT_TO_TABLE) {
        return handling == HANDLED;
    }
    if (key->kind == IK_KEY_TEXT || key->kind == IK_KEY_PASTE) {
        type(&prompt->search, key->text, key->len);
        return true;
    }
    for (size_t i = 0; i < IK_LENGTH(commands); i++) {
        if (applies(&prompt->search, commands[i].where) &&
            ik_binding_matches(commands[i].keys, KEYS_MAX, key, '\0')) {
            commands[i].run(prompt);
            return !commands[i].passes;
        }
    }
    if (!chooses) {
        ik_prompt_search_close(prompt);
    }
    return chooses;
}
