#include "terminal/prompt.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "terminal/prompt_state.h"

ik_prompt_t *ik_prompt_create(const void *ctx, const ik_theme_t *theme, ik_recall_t *recall,
                              const ik_completion_source_t *source)
{
    ik_prompt_t *prompt = ik_new(ctx, ik_prompt_t);
    prompt->theme = theme;
    prompt->recall = recall;
    if (source != NULL) {
        prompt->source = *source;
    }
    prompt->editor = ik_editor_create(prompt);
    prompt->mark = ik_strdup(prompt, "> ");
    prompt->list.choice = ik_choice_create(prompt);
    prompt->search.choice = ik_choice_create(prompt);
    ik_row_init(&prompt->row, prompt, theme);
    return prompt;
}

void ik_prompt_use_vi(ik_prompt_t *prompt)
{
    ik_editor_use_vi(prompt->editor);
}

bool ik_prompt_is_normal(const ik_prompt_t *prompt)
{
    return ik_editor_is_normal(prompt->editor);
}

static void set_string(ik_prompt_t *prompt, char **string, const char *text)
{
    talloc_free(*string);
    *string = text == NULL ? NULL : ik_strdup(prompt, text);
}

void ik_prompt_set_mark(ik_prompt_t *prompt, const char *mark)
{
    set_string(prompt, &prompt->mark, mark);
}

void ik_prompt_set_hint(ik_prompt_t *prompt, const char *hint)
{
    set_string(prompt, &prompt->hint, hint);
}

void ik_prompt_set_working(ik_prompt_t *prompt, bool working, bool waiting)
{
    prompt->working = working;
    prompt->waiting = waiting;
}

/* --- the draft --------------------------------------------------------------------------- */

char *ik_prompt_text(const void *ctx, const ik_prompt_t *prompt)
{
    return ik_editor_text(ctx, prompt->aside == NULL ? prompt->editor : prompt->aside);
}

uint64_t ik_prompt_version(const ik_prompt_t *prompt)
{
    return ik_editor_version(prompt->editor);
}

bool ik_prompt_is_empty(const ik_prompt_t *prompt)
{
    return ik_editor_is_empty(prompt->editor);
}

/* Closes the search and the list when the draft is replaced. */
static void close_all(ik_prompt_t *prompt)
{
    if (!prompt->search.chooses) {
        ik_prompt_search_close(prompt);
    }
    ik_prompt_list_close(prompt);
    prompt->browse.direct = false;
}

static void keep_for_recall(ik_prompt_t *prompt, const char *text)
{
    const ik_completion_source_t *source = &prompt->source;
    size_t len = source->kept == NULL ? strlen(text) : source->kept(source->data, text);
    char *kept = ik_strndup(NULL, text, len);
    ik_recall_add(prompt->recall, kept);
    talloc_free(kept);
}

char *ik_prompt_take(const void *ctx, ik_prompt_t *prompt)
{
    if (prompt->secret != NULL) {
        return ik_prompt_secret_take(ctx, prompt);
    }
    char *text = ik_editor_text(ctx, prompt->editor);
    close_all(prompt);
    ik_editor_reset(prompt->editor);
    ik_prompt_list_update(prompt, false);
    if (prompt->aside == NULL) {
        keep_for_recall(prompt, text);
    }
    return text;
}

void ik_prompt_set_text(ik_prompt_t *prompt, const char *text)
{
    if (prompt->aside != NULL) {
        ik_editor_set_text(prompt->aside, text);
        return;
    }
    close_all(prompt);
    ik_editor_set_text(prompt->editor, text);
    ik_prompt_list_update(prompt, false);
}

void ik_prompt_prepend_text(ik_prompt_t *prompt, const char *text)
{
    ik_editor_t *draft = prompt->aside == NULL ? prompt->editor : prompt->aside;
    if (ik_editor_is_empty(draft)) {
        ik_prompt_set_text(prompt, text);
        return;
    }
    char *lines = ik_sprintf(NULL, "%s\n", text);
    if (prompt->aside == NULL) {
        close_all(prompt);
    }
    ik_editor_replace(draft, 0, 0, lines, strlen(lines));
    ik_editor_key(draft, &(ik_key_t){.kind = IK_KEY_END, .modifiers = IK_KEY_CTRL});
    talloc_free(lines);
    if (prompt->aside == NULL) {
        ik_prompt_list_update(prompt, false);
    }
}

void ik_prompt_ask(ik_prompt_t *prompt, const char *question)
{
    ik_prompt_secret_close(prompt);
    set_string(prompt, &prompt->keys, NULL);
    if (question != NULL && prompt->aside == NULL) {
        close_all(prompt);
        prompt->aside = prompt->editor;
        prompt->editor = ik_editor_create(prompt);
    } else if (question == NULL && prompt->aside != NULL) {
        close_all(prompt);
        talloc_free(prompt->editor);
        prompt->editor = prompt->aside;
        prompt->aside = NULL;
        ik_prompt_list_update(prompt, false);
    }
    talloc_free(prompt->browse.prefix);
    prompt->browse = (ik_prompt_browse_t){0};
    ik_prompt_set_mark(prompt, question == NULL ? "> " : question);
}

void ik_prompt_ask_keys(ik_prompt_t *prompt, const char *question, const char *keys)
{
    ik_prompt_ask(prompt, question);
    set_string(prompt, &prompt->keys, keys);
}

bool ik_prompt_awaits_key(const ik_prompt_t *prompt)
{
    return prompt->keys != NULL && !prompt->search.open && ik_prompt_is_empty(prompt);
}

char ik_prompt_answer(const ik_prompt_t *prompt)
{
    return prompt->answer;
}

void ik_prompt_ask_secret(ik_prompt_t *prompt, const char *question)
{
    ik_prompt_ask(prompt, question);
    ik_prompt_secret_open(prompt);
}

/* --- earlier messages -------------------------------------------------------------------- */

/* The draft as shown. Borrowed until it changes. */
static const char *shown_text(const ik_prompt_t *prompt)
{
    size_t len;
    size_t cursor;
    return ik_editor_raw(prompt->editor, &len, &cursor);
}

/* Shows the next older or newer message that begins with the draft; after the newest one, the draft
 * itself. */
static void browse_messages(ik_prompt_t *prompt, bool older)
{
    ik_prompt_browse_t *browse = &prompt->browse;
    bool browsing = browse->prefix != NULL && browse->version == ik_editor_version(prompt->editor);
    if (!browsing && !older) {
        return;
    }
    if (!browsing) {
        talloc_free(browse->prefix);
        browse->prefix = ik_strdup(prompt, shown_text(prompt));
        browse->index = SIZE_MAX; /* one before the newest */
    }
    size_t next = older ? browse->index + 1 : browse->index - 1;
    size_t found =
        ik_recall_find_prefix(prompt->recall, next, older, browse->prefix, shown_text(prompt));
    if (found != SIZE_MAX) {
        ik_editor_browse(prompt->editor, ik_recall_entry(prompt->recall, found));
        browse->index = found;
        browse->direct = true;
    } else if (!older) {
        ik_editor_browse(prompt->editor, NULL);
        talloc_free(browse->prefix);
        *browse = (ik_prompt_browse_t){0};
        return;
    }
    browse->version = ik_editor_version(prompt->editor);
}

/* --- keys -------------------------------------------------------------------------------- */

static ik_prompt_action_t up(ik_prompt_t *prompt, const ik_key_t *key);
static ik_prompt_action_t down(ik_prompt_t *prompt, const ik_key_t *key);

/* Handles vi's k or j as Up or Down, as often as its count says. */
static ik_prompt_action_t step_often(ik_prompt_t *prompt, bool is_up)
{
    ik_key_t key = {.kind = is_up ? IK_KEY_UP : IK_KEY_DOWN};
    ik_prompt_action_t action = IK_PROMPT_NONE;
    for (int i = ik_editor_times(prompt->editor); i > 0 && action == IK_PROMPT_NONE; i--) {
        action = (is_up ? up : down)(prompt, &key);
    }
    return action;
}

static void paste(ik_editor_t *editor, const char *text, size_t len)
{
    ik_editor_key(editor, &(ik_key_t){.kind = IK_KEY_PASTE, .text = text, .len = len});
}

/* The paste of an image's path names the image as a word of its own. */
static void paste_image(ik_editor_t *draft, const char *words)
{
    size_t len;
    size_t cursor;
    const char *text = ik_editor_raw(draft, &len, &cursor);
    char before = cursor == 0 ? ' ' : text[cursor - 1];
    bool has_sign = before == IK_PROMPT_SIGN_FILE;
    bool apart = has_sign || before == ' ' || before == '\t' || before == '\n';
    char *word = ik_sprintf(NULL, "%s%s ", apart ? "" : " ", words + has_sign);
    paste(draft, word, strlen(word));
    talloc_free(word);
}

void ik_prompt_paste(ik_prompt_t *prompt, const char *text, size_t len)
{
    const ik_completion_source_t *source = &prompt->source;
    ik_editor_t *draft = prompt->aside == NULL ? prompt->editor : prompt->aside;
    size_t draft_len;
    size_t cursor;
    bool for_shell = ik_editor_raw(draft, &draft_len, &cursor)[0] == IK_PROMPT_SIGN_SHELL;
    char *words =
        source->pasted == NULL || for_shell ? NULL : source->pasted(source->data, NULL, text, len);
    if (words != NULL) {
        paste_image(draft, words);
    } else {
        paste(draft, text, len);
    }
    talloc_free(words);
    prompt->browse.direct = false;
    ik_prompt_list_update(prompt, false);
}

static ik_prompt_action_t edit(ik_prompt_t *prompt, const ik_key_t *key)
{
    if (key->kind == IK_KEY_PASTE && prompt->aside == NULL) {
        ik_prompt_paste(prompt, key->text, key->len);
        return IK_PROMPT_NONE;
    }
    bool typed = (key->kind == IK_KEY_TEXT || key->kind == IK_KEY_BACKSPACE) &&
                 !ik_editor_is_normal(prompt->editor);
    ik_editor_effect_t effect = ik_editor_key(prompt->editor, key);
    if (effect == IK_EDITOR_UP || effect == IK_EDITOR_DOWN) {
        return step_often(prompt, effect == IK_EDITOR_UP);
    }
    if (effect == IK_EDITOR_UNKNOWN) {
        return IK_PROMPT_NONE;
    }
    prompt->browse.direct = false;
    if (effect == IK_EDITOR_FIRST || effect == IK_EDITOR_LAST) {
        browse_messages(prompt, effect == IK_EDITOR_FIRST);
    }
    ik_prompt_list_update(prompt, typed);
    return IK_PROMPT_NONE;
}

static ik_prompt_action_t undo(ik_prompt_t *prompt, const ik_key_t *key)
{
    (void)key;
    return edit(prompt, &(ik_key_t){.kind = IK_KEY_CHAR, .modifiers = IK_KEY_CTRL, .code = '_'});
}

static bool is_blank(const ik_prompt_t *prompt)
{
    size_t len;
    size_t cursor;
    const char *text = ik_editor_raw(prompt->editor, &len, &cursor);
    return strspn(text, " \t\n") == len;
}

/* The editor takes Enter with a modifier or after a backslash, and inserts a newline. */
static ik_prompt_action_t enter(ik_prompt_t *prompt, const ik_key_t *key)
{
    if (ik_editor_key(prompt->editor, key) == IK_EDITOR_DONE) {
        ik_prompt_list_update(prompt, false);
        return IK_PROMPT_NONE;
    }
    if (ik_prompt_list_take(prompt)) {
        return IK_PROMPT_NONE;
    }
    return prompt->aside == NULL && is_blank(prompt) ? IK_PROMPT_NONE : IK_PROMPT_SUBMIT;
}

/* A blank draft and the answer to a question get a new line, as when the agent is idle. */
static ik_prompt_action_t queue(ik_prompt_t *prompt, const ik_key_t *key)
{
    (void)key;
    return prompt->working && prompt->aside == NULL && !is_blank(prompt)
               ? IK_PROMPT_QUEUE
               : edit(prompt, &(ik_key_t){.kind = IK_KEY_ENTER, .modifiers = IK_KEY_SHIFT});
}

/* Clears the draft, which undo restores and Up finds among the earlier messages. */
static ik_prompt_action_t cancel(ik_prompt_t *prompt, const ik_key_t *key)
{
    (void)key;
    if (ik_prompt_is_empty(prompt)) {
        return IK_PROMPT_CANCEL;
    }
    if (prompt->aside != NULL) {
        ik_editor_set_text(prompt->editor, ""); /* clears the answer only */
        return IK_PROMPT_NONE;
    }
    char *text = ik_prompt_text(NULL, prompt);
    keep_for_recall(prompt, text);
    talloc_free(text);
    ik_prompt_set_text(prompt, "");
    ik_editor_begin_insert(prompt->editor);
    return IK_PROMPT_NONE;
}

static ik_prompt_action_t delete_or_end(ik_prompt_t *prompt, const ik_key_t *key)
{
    return ik_prompt_is_empty(prompt) ? IK_PROMPT_END : edit(prompt, key);
}

static ik_prompt_action_t escape(ik_prompt_t *prompt, const ik_key_t *key)
{
    if (ik_prompt_list_is_open(prompt)) {
        ik_prompt_list_dismiss(prompt);
        return IK_PROMPT_NONE;
    }
    if (ik_editor_key(prompt->editor, key) == IK_EDITOR_UNKNOWN) {
        return IK_PROMPT_ESCAPE;
    }
    ik_prompt_list_update(prompt, false); /* the cursor left the end of the draft */
    return IK_PROMPT_NONE;
}

static bool chooses(const ik_prompt_t *prompt)
{
    return ik_prompt_list_is_open(prompt) && ik_choice_count(prompt->list.choice) > 0;
}

static ik_prompt_action_t complete(ik_prompt_t *prompt, const ik_key_t *key)
{
    (void)key;
    ik_prompt_list_complete(prompt);
    return IK_PROMPT_NONE;
}

/* Up in a list; another mode elsewhere. */
static ik_prompt_action_t choose_previous(ik_prompt_t *prompt, const ik_key_t *key)
{
    (void)key;
    if (!ik_prompt_list_is_open(prompt)) {
        return IK_PROMPT_MODE;
    }
    if (chooses(prompt)) {
        ik_choice_move(prompt->list.choice, -1);
    }
    return IK_PROMPT_NONE;
}

/* Moves in a list, among the rows of the draft, or through earlier messages. */
static ik_prompt_action_t step(ik_prompt_t *prompt, const ik_key_t *key, bool up)
{
    if (chooses(prompt)) {
        ik_choice_move(prompt->list.choice, up ? -1 : 1);
    } else if (prompt->browse.direct) {
        prompt->browse.direct = false;
        browse_messages(prompt, up);
        ik_prompt_list_update(prompt, false);
    } else {
        edit(prompt, key);
    }
    return IK_PROMPT_NONE;
}

static ik_prompt_action_t up(ik_prompt_t *prompt, const ik_key_t *key)
{
    return prompt->waiting && prompt->aside == NULL && ik_prompt_is_empty(prompt)
               ? IK_PROMPT_RECOVER
               : step(prompt, key, true);
}

static ik_prompt_action_t down(ik_prompt_t *prompt, const ik_key_t *key)
{
    return step(prompt, key, false);
}

static ik_prompt_action_t page_down(ik_prompt_t *prompt, const ik_key_t *key)
{
    (void)key;
    if (chooses(prompt)) {
        ik_choice_page(prompt->list.choice, 1);
    }
    return IK_PROMPT_NONE;
}

/* A page up in a list; PageUp opens the pager elsewhere. */
static ik_prompt_action_t page_up(ik_prompt_t *prompt, const ik_key_t *key)
{
    if (key->kind != IK_KEY_PAGE_UP || !chooses(prompt)) {
        return IK_PROMPT_PAGER;
    }
    ik_choice_page(prompt->list.choice, -1);
    return IK_PROMPT_NONE;
}

static ik_prompt_action_t search(ik_prompt_t *prompt, const ik_key_t *key)
{
    (void)key;
    ik_prompt_list_close(prompt);
    ik_prompt_search_open(prompt);
    return IK_PROMPT_NONE;
}

static ik_prompt_action_t begin_ctrl_x(ik_prompt_t *prompt, const ik_key_t *key)
{
    (void)key;
    prompt->after_ctrl_x = true;
    return IK_PROMPT_NONE;
}

/* --- the table --------------------------------------------------------------------------- */

enum { KEYS_MAX = 2 };

typedef struct {
    const char *does;
    ik_binding_t keys[KEYS_MAX];
    ik_prompt_action_t action; /* when run is NULL */
    ik_prompt_action_t (*run)(ik_prompt_t *prompt, const ik_key_t *key);
} command_t;

#define AFTER_CTRL_X(character)                                                                    \
    {                                                                                              \
        .kind = IK_KEY_CHAR, .modifiers = IK_KEY_CTRL, .code = (character),                        \
        .after = IK_BINDING_CTRL_X                                                                 \
    }

/* The texts also describe what the program does with an action. */
static const command_t commands[] = {
    {"sends the draft, also into a running turn", .keys = {IK_BINDING_ALONE(ENTER)}, .run = enter},
    {"sends it after the turn; when idle, starts a line", .keys = {IK_BINDING_WITH(ALT, ENTER)},
     .run = queue},
    {"completes /commands, their arguments and @files", .keys = {IK_BINDING_ALONE(TAB)},
     .run = complete},
    {"the next mode (auto, ask, plan); up in a list", .keys = {IK_BINDING_WITH(SHIFT, TAB)},
     .run = choose_previous},
    {"up, waiting text, then earlier messages like this",
     .keys = {IK_BINDING(UP), IK_BINDING_CTRL('p')}, .run = up},
    {"down, then newer messages, back to the draft",
     .keys = {IK_BINDING(DOWN), IK_BINDING_CTRL('n')}, .run = down},
    {"searches earlier messages", .keys = {IK_BINDING_CTRL('r')}, .run = search},
    {"interrupts, returns waiting text; twice: sends it", .keys = {IK_BINDING(ESCAPE)},
     .run = escape},
    {"clears the draft, or interrupts; twice in 2 s leaves", .keys = {IK_BINDING_CTRL('c')},
     .run = cancel},
    {"leaves, on an empty draft; else deletes a character", .keys = {IK_BINDING_CTRL('d')},
     .run = delete_or_end},
    {"suspends ikigai; fg resumes it", .keys = {IK_BINDING_CTRL('z')}, .action = IK_PROMPT_SUSPEND},
    {"opens the draft in $VISUAL, $EDITOR or vi", .keys = {IK_BINDING_CTRL('g'), AFTER_CTRL_X('e')},
     .action = IK_PROMPT_EDITOR},
    {"the whole transcript in a pager with keys as in less",
     .keys = {IK_BINDING_CTRL('o'), IK_BINDING(PAGE_UP)}, .run = page_up},
    {"a page down in the list of completions", .keys = {IK_BINDING(PAGE_DOWN)}, .run = page_down},
    {"shows results of tools in short or in full", .keys = {IK_BINDING_CTRL('t')},
     .action = IK_PROMPT_TOOL_OUTPUT},
    {"attaches the image in the clipboard", .keys = {IK_BINDING_CTRL('v')},
     .action = IK_PROMPT_IMAGE},
    {"redraws the screen", .keys = {IK_BINDING_CTRL('l')}, .action = IK_PROMPT_REDRAW},
    {"undoes the last change", .keys = {AFTER_CTRL_X('u')}, .run = undo},
    {"begins a sequence of two keys",
     .keys = {{.kind = IK_KEY_CHAR, .modifiers = IK_KEY_CTRL, .code = 'x', .hidden_in_help = true}},
     .run = begin_ctrl_x},
};

bool ik_prompt_bindings_at(size_t index, ik_binding_row_t *out)
{
    if (index >= IK_LENGTH(commands)) {
        return false;
    }
    *out = (ik_binding_row_t){
        .group = IK_BINDING_PROMPT,
        .keys = commands[index].keys,
        .max = KEYS_MAX,
        .does = commands[index].does,
    };
    return true;
}

static const struct {
    ik_binding_t sign;
    const char *word;
    const char *does;
} signs[] = {
    {IK_BINDING_TYPED(IK_PROMPT_SIGN_COMMAND), "COMMAND", "runs a command of ikigai"},
    {IK_BINDING_TYPED(IK_PROMPT_SIGN_FILE), "FILE",
     "names a file of the project; attaches an image"},
    {IK_BINDING_TYPED(IK_PROMPT_SIGN_SHELL), "CMD",
     "runs a shell command; the agent sees its output"},
    {IK_BINDING_TYPED(IK_PROMPT_SIGN_MEMORY), " TEXT", "adds a line to AGENTS.md"},
};

bool ik_prompt_signs_at(size_t index, ik_binding_row_t *out)
{
    if (index >= IK_LENGTH(signs)) {
        return false;
    }
    *out = (ik_binding_row_t){
        .group = IK_BINDING_PROMPT,
        .keys = &signs[index].sign,
        .max = 1,
        .word = signs[index].word,
        .does = signs[index].does,
    };
    return true;
}

static ik_prompt_action_t run_key(ik_prompt_t *prompt, const ik_key_t *key, char before)
{
    for (size_t i = 0; i < IK_LENGTH(commands); i++) {
        const command_t *command = &commands[i];
        if (ik_binding_matches(command->keys, KEYS_MAX, key, before)) {
            return command->run == NULL ? command->action : command->run(prompt, key);
        }
    }
    return edit(prompt, key);
}

/* Keys that are about the terminal rather than the draft work in every list. */
static ik_prompt_action_t find_terminal_action(const ik_key_t *key, char before)
{
    for (size_t i = 0; i < IK_LENGTH(commands); i++) {
        ik_prompt_action_t action = commands[i].action;
        if ((action == IK_PROMPT_SUSPEND || action == IK_PROMPT_REDRAW) &&
            ik_binding_matches(commands[i].keys, KEYS_MAX, key, before)) {
            return action;
        }
    }
    return IK_PROMPT_NONE;
}

ik_prompt_action_t ik_prompt_key(ik_prompt_t *prompt, const ik_key_t *key)
{
    if (!ik_key_is_pressed(key)) {
        return IK_PROMPT_NONE; /* a report of the terminal, which may come between any two keys */
    }
    if (prompt->secret != NULL) {
        return ik_prompt_secret_key(prompt, key);
    }
    char before = prompt->after_ctrl_x ? IK_BINDING_CTRL_X : '\0';
    prompt->after_ctrl_x = false;
    bool chooses = prompt->search.chooses;
    ik_prompt_action_t always = chooses ? find_terminal_action(key, before) : IK_PROMPT_NONE;
    if (always != IK_PROMPT_NONE) {
        return always;
    }
    if (prompt->search.open && ik_prompt_search_key(prompt, key)) {
        return chooses && !prompt->search.open ? IK_PROMPT_CHOSEN : IK_PROMPT_NONE;
    }
    if (ik_prompt_awaits_key(prompt) && key->kind == IK_KEY_TEXT && key->len == 1 &&
        strchr(prompt->keys, key->text[0]) != NULL) {
        prompt->answer = key->text[0];
        return IK_PROMPT_ANSWER;
    }
    ik_prompt_action_t action = run_key(prompt, key, before);
    bool closed = chooses && !prompt->search.open && action == IK_PROMPT_NONE;
    return closed ? IK_PROMPT_CHOSEN : action;
}
