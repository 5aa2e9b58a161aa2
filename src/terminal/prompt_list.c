/*
 * Completion. Which list there is depends on the place of the cursor alone; it is asked for when it
 * opens and ranked as the word grows. Typing opens it, Esc closes it for this place, Tab takes
 * what is chosen. Moving about and texts that come in one piece open nothing.
 */
#include <string.h>

#include "base/alloc.h"
#include "terminal/prompt_state.h"

/* How far back the beginning of a word or a command is looked for: a key must cost the same in a
 * long draft, and nobody completes what is longer. */
enum { REACH = 4096 };

/* --- places ------------------------------------------------------------------------------ */

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n';
}

/* SIZE_MAX: too far away. */
static size_t find_word(const char *text, size_t cursor)
{
    size_t floor = cursor > REACH ? cursor - REACH : 0;
    size_t at = cursor;
    while (at > floor && !is_blank(text[at - 1])) {
        at--;
    }
    return at == floor && floor > 0 ? SIZE_MAX : at;
}

static int count_words(const char *text, size_t len)
{
    int count = 0;
    for (size_t i = 0; i < len; i++) {
        count += !is_blank(text[i]) && (i == 0 || is_blank(text[i - 1]));
    }
    return count;
}

static bool is_in_command(const char *text, size_t cursor)
{
    return cursor > 0 && cursor <= REACH && text[0] == IK_PROMPT_SIGN_COMMAND &&
           memchr(text, '\n', cursor) == NULL;
}

static ik_prompt_place_t find_place(const ik_prompt_t *prompt)
{
    size_t len;
    size_t cursor;
    const char *text = ik_editor_raw(prompt->editor, &len, &cursor);
    size_t word = find_word(text, cursor);
    if (word != SIZE_MAX && word < cursor && text[word] == IK_PROMPT_SIGN_FILE) {
        return (ik_prompt_place_t){.kind = IK_PROMPT_PLACE_FILE, .from = word + 1};
    }
    if (word == SIZE_MAX || !is_in_command(text, cursor)) {
        return (ik_prompt_place_t){.kind = IK_PROMPT_PLACE_NONE};
    }
    return (ik_prompt_place_t){
        .kind = word == 0 ? IK_PROMPT_PLACE_COMMAND : IK_PROMPT_PLACE_ARGUMENT,
        .from = word,
        .word = count_words(text, word),
    };
}

static bool is_same_place(ik_prompt_place_t a, ik_prompt_place_t b)
{
    return a.kind == b.kind && a.from == b.from && a.word == b.word;
}

/* --- asking ------------------------------------------------------------------------------ */

static void ask_arguments(ik_prompt_t *prompt, ik_completions_t *found)
{
    size_t len;
    size_t cursor;
    const char *text = ik_editor_raw(prompt->editor, &len, &cursor);
    char *command = ik_strndup(NULL, text + 1, strcspn(text + 1, " \t\n"));
    prompt->source.arguments(prompt->source.data, command, prompt->list.place.word, found);
    talloc_free(command);
}

static void ask_source(ik_prompt_t *prompt, ik_completions_t *found)
{
    const ik_completion_source_t *source = &prompt->source;
    ik_prompt_place_kind_t kind = prompt->list.place.kind;
    if (kind == IK_PROMPT_PLACE_COMMAND && source->commands != NULL) {
        source->commands(source->data, found);
    } else if (kind == IK_PROMPT_PLACE_FILE && source->files != NULL) {
        source->files(source->data, found);
    } else if (kind == IK_PROMPT_PLACE_ARGUMENT && source->arguments != NULL) {
        ask_arguments(prompt, found);
    }
}

/* The slash of a command says nothing about which one is meant. */
static const char *matched_part(ik_prompt_place_kind_t kind, const char *text)
{
    bool is_command = kind == IK_PROMPT_PLACE_COMMAND && text[0] == IK_PROMPT_SIGN_COMMAND;
    return is_command ? text + 1 : text;
}

static void ask(ik_prompt_t *prompt)
{
    ik_prompt_list_t *list = &prompt->list;
    list->found = (ik_completions_t){0};
    ask_source(prompt, &list->found);
    list->texts = ik_resize_array(prompt, list->texts, const char *, list->found.count + 1);
    for (size_t i = 0; i < list->found.count; i++) {
        list->texts[i] = matched_part(list->place.kind, list->found.items[i].text);
    }
    ik_choice_set(list->choice, list->texts, list->found.count);
}

static void narrow(ik_prompt_t *prompt)
{
    size_t len;
    size_t cursor;
    const char *text = ik_editor_raw(prompt->editor, &len, &cursor);
    size_t from = prompt->list.place.from;
    from += prompt->list.place.kind == IK_PROMPT_PLACE_COMMAND ? 1 : 0;
    ik_choice_narrow(prompt->list.choice, text + from, cursor - from);
}

/* --- interface --------------------------------------------------------------------------- */

void ik_prompt_list_update(ik_prompt_t *prompt, bool typed)
{
    ik_prompt_list_t *list = &prompt->list;
    ik_prompt_place_t place = find_place(prompt);
    if (!is_same_place(place, list->place)) {
        list->place = place;
        list->open = list->dismissed = false;
    }
    if (place.kind == IK_PROMPT_PLACE_NONE || (!list->open && (!typed || list->dismissed))) {
        return;
    }
    if (!list->open) {
        list->open = true;
        ask(prompt);
    }
    narrow(prompt);
}

bool ik_prompt_list_is_open(const ik_prompt_t *prompt)
{
    const ik_prompt_list_t *list = &prompt->list;
    return list->open && (ik_choice_count(list->choice) > 0 || list->found.pending);
}

/* A space follows, in the place of one that is there already; a folder is not finished yet. */
static void accept(ik_prompt_t *prompt, const char *text)
{
    size_t len;
    size_t cursor;
    const char *raw = ik_editor_raw(prompt->editor, &len, &cursor);
    size_t text_len = strlen(text);
    bool folder = text_len > 0 && text[text_len - 1] == '/';
    size_t to = cursor + (!folder && cursor < len && raw[cursor] == ' ');
    char *whole = ik_sprintf(NULL, "%s%s", text, folder ? "" : " ");
    ik_editor_replace(prompt->editor, prompt->list.place.from, to, whole, strlen(whole));
    talloc_free(whole);
    ik_prompt_list_update(prompt, true);
}

void ik_prompt_list_complete(ik_prompt_t *prompt)
{
    ik_prompt_list_t *list = &prompt->list;
    if (!ik_prompt_list_is_open(prompt)) {
        list->dismissed = false;
        ik_prompt_list_update(prompt, true);
        return;
    }
    size_t chosen = ik_choice_chosen(list->choice);
    if (chosen != SIZE_MAX) {
        accept(prompt, list->found.items[chosen].text);
    }
}

void ik_prompt_list_dismiss(ik_prompt_t *prompt)
{
    prompt->list.open = false;
    prompt->list.dismissed = true;
}

void ik_prompt_list_close(ik_prompt_t *prompt)
{
    prompt->list.open = false;
    prompt->list.place = (ik_prompt_place_t){0};
}

void ik_prompt_refresh(ik_prompt_t *prompt)
{
    ik_prompt_list_t *list = &prompt->list;
    if (!list->open) {
        return;
    }
    size_t chosen = ik_choice_chosen(list->choice);
    char *text = chosen == SIZE_MAX ? NULL : ik_strdup(NULL, list->texts[chosen]);
    ask(prompt);
    narrow(prompt);
    if (text != NULL) {
        ik_choice_choose(list->choice, text);
    }
    talloc_free(text);
}
