/*
 * Completion. The word at the cursor decides which list there is. The source is asked when the list
 * opens, and the rows are ranked as the word grows. Typing opens the list, Esc closes it for this
 * word, Tab completes the chosen row, Enter takes it. Moving the cursor and pasting do not open it.
 */
#include <string.h>

#include "base/alloc.h"
#include "terminal/prompt_state.h"

/* How far back the beginning of a word or a command is searched, so that a key costs the same in a
 * draft of any length. */
enum { REACH = 4096 };

/* --- the word at the cursor -------------------------------------------------------------- */

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n';
}

/* Where the word at the cursor ends. */
static size_t find_end(const char *text, size_t len, size_t cursor)
{
    while (cursor < len && !is_blank(text[cursor])) {
        cursor++;
    }
    return cursor;
}

/* Where the word at the cursor begins; SIZE_MAX: out of reach. */
static size_t find_word(const char *text, size_t cursor)
{
    size_t floor = cursor > REACH ? cursor - REACH : 0;
    size_t at = cursor;
    while (at > floor && !is_blank(text[at - 1])) {
        at--;
    }
    return at == floor && floor > 0 ? SIZE_MAX : at;
}

static ik_prompt_context_t find_context(const ik_prompt_t *prompt)
{
    size_t len;
    size_t cursor;
    const char *text = ik_editor_raw(prompt->editor, &len, &cursor);
    size_t word = find_word(text, cursor);
    if (prompt->aside != NULL) { /* an answer to a question */
        return (ik_prompt_context_t){.kind = IK_PROMPT_CONTEXT_NONE};
    }
    if (word != SIZE_MAX && word < cursor && text[word] == IK_PROMPT_SIGN_FILE) {
        return (ik_prompt_context_t){.kind = IK_PROMPT_CONTEXT_FILE, .from = word + 1};
    }
    bool in_command = cursor > 0 && cursor <= REACH && text[0] == IK_PROMPT_SIGN_COMMAND &&
                      memchr(text, '\n', cursor) == NULL;
    if (word == SIZE_MAX || !in_command) {
        return (ik_prompt_context_t){.kind = IK_PROMPT_CONTEXT_NONE};
    }
    int words = 0; /* before this one */
    for (size_t i = 0; i < word; i++) {
        words += !is_blank(text[i]) && (i == 0 || is_blank(text[i - 1]));
    }
    return (ik_prompt_context_t){
        .kind = word == 0 ? IK_PROMPT_CONTEXT_COMMAND : IK_PROMPT_CONTEXT_ARGUMENT,
        .from = word,
        .word = words,
    };
}

/* --- asking ------------------------------------------------------------------------------ */

static void ask_arguments(ik_prompt_t *prompt, ik_completions_t *found)
{
    size_t len;
    size_t cursor;
    const char *text = ik_editor_raw(prompt->editor, &len, &cursor);
    char *command = ik_strndup(NULL, text + 1, strcspn(text + 1, " \t\n"));
    prompt->source.arguments(prompt->source.data, command, prompt->list.context.word, found);
    talloc_free(command);
}

static void ask_source(ik_prompt_t *prompt, ik_completions_t *found)
{
    const ik_completion_source_t *source = &prompt->source;
    ik_prompt_context_kind_t kind = prompt->list.context.kind;
    if (kind == IK_PROMPT_CONTEXT_COMMAND && source->commands != NULL) {
        source->commands(source->data, found);
    } else if (kind == IK_PROMPT_CONTEXT_FILE && source->files != NULL) {
        source->files(source->data, found);
    } else if (kind == IK_PROMPT_CONTEXT_ARGUMENT && source->arguments != NULL) {
        ask_arguments(prompt, found);
    }
}

static void ask(ik_prompt_t *prompt)
{
    prompt->list.found = (ik_completions_t){0};
    ask_source(prompt, &prompt->list.found);
}

static void narrow(ik_prompt_t *prompt)
{
    size_t len;
    size_t cursor;
    const char *text = ik_editor_raw(prompt->editor, &len, &cursor);
    size_t from = prompt->list.context.from;
    from += prompt->list.context.kind == IK_PROMPT_CONTEXT_COMMAND ? 1 : 0;
    ik_choice_narrow(prompt->list.choice, text + from, cursor - from);
}

/* --- interface --------------------------------------------------------------------------- */

/* Arguments are often free text: no row is chosen until the user moves, so that Enter runs what was
 * typed. The same holds for the name of a command that has arguments already. */
static unsigned choice_flags(const ik_prompt_t *prompt)
{
    size_t len;
    size_t cursor;
    const char *text = ik_editor_raw(prompt->editor, &len, &cursor);
    size_t end = find_end(text, len, cursor);
    bool last = strspn(text + end, " \t\n") == len - end;
    switch (prompt->list.context.kind) {
    case IK_PROMPT_CONTEXT_COMMAND:
        return IK_CHOICE_SLASH | (last ? 0 : IK_CHOICE_UNMARKED);
    case IK_PROMPT_CONTEXT_ARGUMENT:
        return IK_CHOICE_UNMARKED;
    default:
        return 0;
    }
}

void ik_prompt_list_update(ik_prompt_t *prompt, bool typed)
{
    ik_prompt_list_t *list = &prompt->list;
    ik_prompt_context_t context = find_context(prompt);
    if (context.kind != list->context.kind || context.from != list->context.from ||
        context.word != list->context.word) {
        list->context = context;
        list->open = list->dismissed = false;
    }
    if (context.kind == IK_PROMPT_CONTEXT_NONE || (!list->open && (!typed || list->dismissed))) {
        return;
    }
    if (!list->open) {
        list->open = true;
        ask(prompt);
        ik_choice_set(list->choice, list->found.items, list->found.count, choice_flags(prompt));
    }
    narrow(prompt);
}

bool ik_prompt_list_is_open(const ik_prompt_t *prompt)
{
    const ik_prompt_list_t *list = &prompt->list;
    return list->open && (ik_choice_count(list->choice) > 0 || list->found.pending);
}

/* Replaces the word before the cursor, or the whole name of a command, with a text. spaced: and a
 * space, which replaces an existing one. */
static void accept(ik_prompt_t *prompt, const char *text, bool spaced)
{
    size_t len;
    size_t cursor;
    const char *raw = ik_editor_raw(prompt->editor, &len, &cursor);
    bool command = prompt->list.context.kind == IK_PROMPT_CONTEXT_COMMAND;
    size_t to = command ? find_end(raw, len, cursor) : cursor;
    to += spaced && to < len && raw[to] == ' ';
    char *whole = ik_sprintf(NULL, "%s%s", text, spaced ? " " : "");
    ik_editor_replace(prompt->editor, prompt->list.context.from, to, whole, strlen(whole));
    talloc_free(whole);
    ik_prompt_list_update(prompt, true);
}

/* Accepts a row; a folder gets no space, so that its files can follow. */
static void accept_row(ik_prompt_t *prompt, const ik_choice_row_t *row)
{
    size_t len = strlen(row->text);
    accept(prompt, row->text, len == 0 || row->text[len - 1] != '/');
}

void ik_prompt_list_complete(ik_prompt_t *prompt)
{
    ik_prompt_list_t *list = &prompt->list;
    if (!ik_prompt_list_is_open(prompt)) {
        list->dismissed = false;
        ik_prompt_list_update(prompt, true);
        return;
    }
    ik_choice_choose_best(list->choice);
    size_t chosen = ik_choice_chosen(list->choice);
    if (chosen != SIZE_MAX) {
        accept_row(prompt, &list->found.items[chosen]);
    }
}

/* Whether the word at the cursor is the text of the row, or another name of the command. */
static bool is_named(const ik_prompt_t *prompt, const ik_choice_row_t *row)
{
    size_t len;
    size_t cursor;
    size_t from = prompt->list.context.from;
    const char *text = ik_editor_raw(prompt->editor, &len, &cursor) + from;
    size_t word = find_end(text, len - from, cursor - from);
    if (strlen(row->text) == word && memcmp(row->text, text, word) == 0) {
        return true;
    }
    bool command = prompt->list.context.kind == IK_PROMPT_CONTEXT_COMMAND;
    return command && row->also != NULL && word > 0 && strlen(row->also) == word - 1 &&
           memcmp(row->also, text + 1, word - 1) == 0;
}

bool ik_prompt_list_take(ik_prompt_t *prompt)
{
    ik_prompt_list_t *list = &prompt->list;
    size_t chosen = ik_choice_chosen(list->choice);
    if (!ik_prompt_list_is_open(prompt) || chosen == SIZE_MAX ||
        is_named(prompt, &list->found.items[chosen])) {
        return false;
    }
    const ik_choice_row_t *row = &list->found.items[chosen];
    bool runs = list->context.kind != IK_PROMPT_CONTEXT_FILE && !row->unfinished;
    if (runs) {
        accept(prompt, row->text, false);
    } else {
        accept_row(prompt, row);
    }
    return !runs;
}

void ik_prompt_list_dismiss(ik_prompt_t *prompt)
{
    prompt->list.open = false;
    prompt->list.dismissed = true;
}

void ik_prompt_list_close(ik_prompt_t *prompt)
{
    prompt->list.open = false;
    prompt->list.context = (ik_prompt_context_t){0};
}

void ik_prompt_refresh(ik_prompt_t *prompt)
{
    ik_prompt_list_t *list = &prompt->list;
    if (!list->open) {
        return;
    }
    ask(prompt);
    ik_choice_replace(list->choice, list->found.items, list->found.count);
    narrow(prompt);
}
