#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/sanitiser.h"
#include "base/width.h"
#include "terminal/prompt_state.h"

enum { PATTERN_MAX = 1024 };

/* Opens the search in items or, if they are NULL, in the earlier messages. */
static void open_list(ik_prompt_t *prompt, const ik_completion_t *items, size_t count)
{
    ik_prompt_search_t *search = &prompt->search;
    ik_prompt_search_close(prompt);
    search->open = true;
    search->items = items;
    search->texts = ik_resize_array(prompt, search->texts, const char *, count + 1);
    ik_buffer_init(&search->pattern, prompt, PATTERN_MAX);
    ik_buffer_reserve(&search->pattern, 1);
    for (size_t i = 0; i < count; i++) {
        search->texts[i] = items == NULL ? ik_recall_entry(prompt->recall, i) : items[i].text;
    }
    ik_choice_set(search->choice, search->texts, count);
}

void ik_prompt_search_open(ik_prompt_t *prompt)
{
    open_list(prompt, NULL, ik_recall_count(prompt->recall));
}

void ik_prompt_choose(ik_prompt_t *prompt, const char *mark, const ik_completion_t *items,
                      size_t count)
{
    ik_prompt_list_close(prompt);
    open_list(prompt, items, count);
    prompt->search.taken = SIZE_MAX;
    prompt->search.mark = ik_strdup(prompt, mark);
}

bool ik_prompt_search_chooses(const ik_prompt_t *prompt)
{
    return prompt->search.open && prompt->search.items != NULL;
}

size_t ik_prompt_chosen(const ik_prompt_t *prompt)
{
    return prompt->search.taken;
}

void ik_prompt_search_close(ik_prompt_t *prompt)
{
    if (prompt->search.open) {
        prompt->search.open = false;
        TALLOC_FREE(prompt->search.mark);
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

/* Replaces the draft with the chosen message, as one step of undo. In a list of ik_prompt_choose it
 * takes the chosen line; the list stays open if none matches. */
static void take(ik_prompt_t *prompt)
{
    size_t chosen = ik_choice_chosen(prompt->search.choice);
    if (ik_prompt_search_chooses(prompt)) {
        prompt->search.taken = chosen;
        if (chosen != SIZE_MAX) {
            ik_prompt_search_close(prompt);
        }
        return;
    }
    if (chosen != SIZE_MAX) {
        ik_editor_set_text(prompt->editor, prompt->search.texts[chosen]);
    }
    ik_prompt_search_close(prompt);
    ik_prompt_list_update(prompt, false);
}

enum { KEYS_MAX = 10 };

typedef struct {
    void (*run)(ik_prompt_t *prompt);
    const char *does;
    ik_binding_t keys[KEYS_MAX];
    bool passes; /* the editor handles the key as well */
} command_t;

static const command_t commands[] = {
    {go_down, "moves down the list",
     .keys = {IK_BINDING(DOWN), IK_BINDING_CTRL('n'), IK_BINDING_CTRL('r')}},
    {go_up, "moves up the list",
     .keys = {IK_BINDING(UP), IK_BINDING_CTRL('p'), IK_BINDING_CTRL('s')}},
    {take, "puts the message into the draft", .keys = {IK_BINDING(ENTER), IK_BINDING(TAB)}},
    {take, "puts it into the draft and moves there",
     .keys = {IK_BINDING(LEFT), IK_BINDING(RIGHT), IK_BINDING(HOME), IK_BINDING(END),
              IK_BINDING_CTRL('a'), IK_BINDING_CTRL('e'), IK_BINDING_CTRL('b'),
              IK_BINDING_CTRL('f'), IK_BINDING_ALT('b'), IK_BINDING_ALT('f')},
     .passes = true},
    {erase_all, "erases the whole pattern",
     .keys = {IK_BINDING_CTRL('u'), IK_BINDING_CTRL('w'), IK_BINDING_WITH(ALT, BACKSPACE),
              IK_BINDING_WITH(CTRL, BACKSPACE)}},
    {erase, "erases one character of the pattern",
     .keys = {IK_BINDING(BACKSPACE), IK_BINDING_CTRL('h')}},
    {ik_prompt_search_close, "ends the search and keeps the draft",
     .keys = {IK_BINDING(ESCAPE), IK_BINDING_CTRL('g'), IK_BINDING_CTRL('c'),
              IK_BINDING_CTRL('d')}},
};

bool ik_prompt_search_bindings_at(size_t index, ik_binding_row_t *out)
{
    if (index >= IK_LENGTH(commands)) {
        return false;
    }
    *out = (ik_binding_row_t){
        .group = IK_BINDING_SEARCH,
        .keys = commands[index].keys,
        .max = KEYS_MAX,
        .does = commands[index].does,
    };
    return true;
}

/* A list of ik_prompt_choose stays open until it is answered: keys for the draft do nothing. */
bool ik_prompt_search_key(ik_prompt_t *prompt, const ik_key_t *key)
{
    bool chooses = ik_prompt_search_chooses(prompt);
    if (key->kind == IK_KEY_TEXT || key->kind == IK_KEY_PASTE) {
        type(&prompt->search, key->text, key->len);
        return true;
    }
    for (size_t i = 0; i < IK_LENGTH(commands); i++) {
        bool usable = !chooses || !commands[i].passes;
        if (usable && ik_binding_matches(commands[i].keys, KEYS_MAX, key, '\0')) {
            commands[i].run(prompt);
            return !commands[i].passes;
        }
    }
    if (!chooses) {
        ik_prompt_search_close(prompt);
    }
    return chooses;
}
