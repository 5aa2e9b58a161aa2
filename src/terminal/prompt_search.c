#include <string.h>

#include "base/alloc.h"
#include "base/sanitiser.h"
#include "base/width.h"
#include "terminal/prompt_state.h"

enum { PATTERN_MAX = 1024 };

void ik_prompt_search_open(ik_prompt_t *prompt)
{
    ik_prompt_search_t *search = &prompt->search;
    size_t count = ik_recall_count(prompt->recall);
    search->open = true;
    search->texts = ik_resize_array(prompt, search->texts, const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        search->texts[i] = ik_recall_entry(prompt->recall, i);
    }
    ik_buffer_init(&search->pattern, prompt, PATTERN_MAX);
    ik_buffer_reserve(&search->pattern, 1);
    ik_choice_set(search->choice, search->texts, count);
}

void ik_prompt_search_close(ik_prompt_t *prompt)
{
    if (prompt->search.open) {
        prompt->search.open = false;
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

static void erase(ik_prompt_search_t *search)
{
    if (search->pattern.len > 0) {
        cut(search, ik_width_step_back(search->pattern.data, search->pattern.len));
    }
}

/* What is chosen becomes the draft; undo brings back what was there. */
static void take(ik_prompt_t *prompt)
{
    size_t chosen = ik_choice_chosen(prompt->search.choice);
    if (chosen != SIZE_MAX) {
        ik_editor_set_text(prompt->editor, prompt->search.texts[chosen]);
    }
    ik_prompt_search_close(prompt);
    ik_prompt_list_update(prompt, false);
}

static bool is_step(const ik_key_t *key, int *direction)
{
    bool older =
        key->kind == IK_KEY_DOWN || ik_prompt_is_ctrl(key, 'n') || ik_prompt_is_ctrl(key, 'r');
    bool newer =
        key->kind == IK_KEY_UP || ik_prompt_is_ctrl(key, 'p') || ik_prompt_is_ctrl(key, 's');
    *direction = older ? 1 : -1;
    return older || newer;
}

static bool is_end(const ik_key_t *key)
{
    return key->kind == IK_KEY_ESCAPE || ik_prompt_is_ctrl(key, 'g') ||
           ik_prompt_is_ctrl(key, 'c') || ik_prompt_is_ctrl(key, 'd');
}

static bool is_erasing_all(const ik_key_t *key)
{
    return ik_prompt_is_ctrl(key, 'u') || ik_prompt_is_ctrl(key, 'w') ||
           (key->kind == IK_KEY_BACKSPACE && key->modifiers != 0);
}

/* Who moves about wants to edit what is chosen. */
static bool is_motion(const ik_key_t *key)
{
    bool letter = key->kind == IK_KEY_CHAR && key->code < 0x80;
    return (key->kind >= IK_KEY_LEFT && key->kind <= IK_KEY_END) ||
           (letter && strchr("abef", (int)key->code) != NULL);
}

bool ik_prompt_search_key(ik_prompt_t *prompt, const ik_key_t *key)
{
    ik_prompt_search_t *search = &prompt->search;
    int direction;
    if (is_step(key, &direction)) {
        ik_choice_move(search->choice, direction);
    } else if (is_end(key)) {
        ik_prompt_search_close(prompt);
    } else if (key->kind == IK_KEY_TEXT || key->kind == IK_KEY_PASTE) {
        type(search, key->text, key->len);
    } else if (is_erasing_all(key)) {
        cut(search, 0);
    } else if (key->kind == IK_KEY_BACKSPACE || ik_prompt_is_ctrl(key, 'h')) {
        erase(search);
    } else if (key->kind == IK_KEY_ENTER || key->kind == IK_KEY_TAB) {
        take(prompt);
    } else {
        (is_motion(key) ? take : ik_prompt_search_close)(prompt);
        return false;
    }
    return true;
}
