#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "base/width.h"
#include "key_names.h"
#include "suite.h"
#include "terminal/prompt.h"

static void *ctx;
static ik_theme_t theme;
static ik_recall_t *recall;
static ik_prompt_t *prompt;

/* --- where completions come from --------------------------------------------------------- */

static ik_choice_row_t command_items[] = {
    {.text = "/clear", .note = "starts over", .also = "new"},
    {.text = "/copy", .note = "the last answer"},
    {.text = "/model", .note = "shows or changes it"},
};
static ik_choice_row_t model_items[] = {
    {.text = "sonnet"}, {.text = "gpt", .note = "another"}, {.text = "gemini"}};
static ik_choice_row_t file_items[] = {
    {.text = "README.md"}, {.text = "src/"}, {.text = "src/main.c"}, {.text = "src/base/map.c"}};
static ik_choice_row_t many_items[20];

static int questions;
static bool pending;
static char asked[64];

static void on_commands(void *data, ik_completions_t *out)
{
    (void)data;
    questions++;
    *out = (ik_completions_t){.items = command_items, .count = 3};
}

static void on_arguments(void *data, const char *command, int word, ik_completions_t *out)
{
    (void)data;
    questions++;
    snprintf(asked, sizeof(asked), "%s %d", command, word);
    if (strcmp(command, "model") == 0 && word == 1) {
        *out = (ik_completions_t){.items = model_items, .count = 3};
    } else if (strcmp(command, "many") == 0) {
        *out = (ik_completions_t){.items = many_items, .count = 20};
    }
}

/* While pending, only the first is known. */
static void on_files(void *data, ik_completions_t *out)
{
    (void)data;
    questions++;
    *out = (ik_completions_t){.items = file_items, .count = pending ? 1 : 4, .pending = pending};
}

static char *on_paste(void *data, const void *owner, const char *text, size_t len)
{
    (void)data;
    bool is_image = len > 4 && memcmp(text + len - 4, ".png", 4) == 0;
    return is_image ? ik_sprintf(owner, "@%.*s", (int)len, text) : NULL;
}

static void set_up(void)
{
    static const ik_completion_source_t source = {
        .commands = on_commands, .arguments = on_arguments, .files = on_files, .pasted = on_paste};
    ctx = talloc_new(NULL);
    ik_theme_init(&theme, IK_BACKGROUND_UNKNOWN, false, false);
    recall = ik_recall_create(ctx, NULL);
    prompt = ik_prompt_create(ctx, &theme, recall, &source);
    questions = 0;
    pending = false;
    for (int i = 0; i < 20; i++) {
        many_items[i] = (ik_choice_row_t){.text = ik_sprintf(ctx, "item%02d", i)};
    }
}

static void tear_down(void)
{
    talloc_free(ctx);
}

/* --- doing and looking ------------------------------------------------------------------- */

static ik_prompt_action_t press(const char *names)
{
    ik_prompt_action_t action = IK_PROMPT_NONE;
    while (*names != '\0') {
        ck_assert_int_eq(action, IK_PROMPT_NONE);
        ik_key_t key = key_names_next(&names);
        action = ik_prompt_key(prompt, &key);
    }
    return action;
}

static void type(const char *text)
{
    for (; *text != '\0'; text++) {
        ik_key_t key = {.kind = IK_KEY_TEXT, .text = text, .len = 1};
        ck_assert_int_eq(ik_prompt_key(prompt, &key), IK_PROMPT_NONE);
    }
}

static const char *text(void)
{
    return ik_prompt_text(ctx, prompt);
}

/* The draft after these keys, and after this text was typed. */
#define after(keys, expected)                                                                      \
    do {                                                                                           \
        press(keys);                                                                               \
        ck_assert_str_eq(text(), expected);                                                        \
    } while (0)
#define typed(added, expected)                                                                     \
    do {                                                                                           \
        type(added);                                                                               \
        ck_assert_str_eq(text(), expected);                                                        \
    } while (0)

typedef struct {
    ik_buffer_t out;
    int columns;
    int rows;
} screen_t;

static void on_row(void *data, const char *bytes, size_t len)
{
    screen_t *screen = data;
    ck_assert_uint_lt(ik_width(bytes, len), (size_t)screen->columns);
    ik_buffer_append(&screen->out, bytes, len);
    ik_buffer_append_byte(&screen->out, '\n');
    screen->rows++;
}

static ik_prompt_drawing_t cursor;

/* The rows, each with a newline. */
static const char *draw(int columns, int max_rows)
{
    screen_t screen = {.columns = columns};
    ik_buffer_init(&screen.out, ctx, IK_BUFFER_UNLIMITED);
    cursor = ik_prompt_draw(prompt, columns, max_rows, on_row, &screen);
    ck_assert_int_eq(cursor.rows, screen.rows);
    ck_assert_int_le(screen.rows, max_rows);
    ck_assert_int_lt(cursor.cursor_row, screen.rows);
    ck_assert_int_lt(cursor.cursor_column, columns);
    return ik_buffer_finish(&screen.out);
}

static bool shows(const char *part)
{
    return strstr(draw(60, 20), part) != NULL;
}

/* --- actions ----------------------------------------------------------------------------- */

START_TEST(enter_sends_what_is_not_blank)
{
    ck_assert_int_eq(press("Enter"), IK_PROMPT_NONE);
    type("  ");
    ck_assert_int_eq(press("M-Enter Enter"), IK_PROMPT_NONE);
    type("hello");
    uint64_t version = ik_prompt_version(prompt);
    ck_assert_int_eq(press("Enter"), IK_PROMPT_SUBMIT);
    ck_assert_uint_eq(ik_prompt_version(prompt), version);
    ck_assert_str_eq(ik_prompt_take(ctx, prompt), "  \nhello");
    ck_assert(ik_prompt_is_empty(prompt));
    ck_assert_uint_ne(ik_prompt_version(prompt), version);
    ck_assert_str_eq(ik_recall_entry(recall, 0), "  \nhello");
    after("C-_", "");
}
END_TEST

START_TEST(newlines)
{
    type("a");
    press("S-Enter");
    type("b\\");
    ck_assert_int_eq(press("Enter"), IK_PROMPT_NONE);
    type("c");
    after("C-j", "a\nb\nc\n");
}
END_TEST

START_TEST(keys_for_the_program)
{
    ck_assert_int_eq(press("Esc"), IK_PROMPT_ESCAPE);
    ck_assert_int_eq(press("C-c"), IK_PROMPT_CANCEL);
    ck_assert_int_eq(press("C-d"), IK_PROMPT_END);
    ck_assert_int_eq(press("C-z"), IK_PROMPT_SUSPEND);
    ck_assert_int_eq(press("C-g"), IK_PROMPT_EDITOR);
    ck_assert_int_eq(press("C-x C-e"), IK_PROMPT_EDITOR);
    ck_assert_int_eq(press("C-x Focus C-e"), IK_PROMPT_EDITOR);
    ck_assert_int_eq(press("C-o"), IK_PROMPT_PAGER);
    ck_assert_int_eq(press("PageUp"), IK_PROMPT_PAGER);
    ck_assert_int_eq(press("C-l"), IK_PROMPT_REDRAW);
    ck_assert_int_eq(press("C-e Focus F5 M-x Tab PageDown"), IK_PROMPT_NONE);
    ck_assert_str_eq(text(), "");
}
END_TEST

START_TEST(after_ctrl_x)
{
    type("one two");
    after("C-x C-u", "one ");
    press("C-x C-a");
    typed("x", "xone ");
    press("C-x");
    typed("y", "xyone "); /* not swallowed */
    ck_assert_int_eq(press("C-e"), IK_PROMPT_NONE);
}
END_TEST

START_TEST(ctrl_d_deletes_in_a_draft)
{
    type("ab");
    ck_assert_int_eq(press("C-a C-d"), IK_PROMPT_NONE);
    ck_assert_str_eq(text(), "b");
    after("End C-d", "b");
}
END_TEST

START_TEST(ctrl_c_loses_nothing)
{
    type("a long thought");
    ck_assert_int_eq(press("C-c"), IK_PROMPT_NONE);
    ck_assert_str_eq(text(), "");
    ck_assert_str_eq(ik_recall_entry(recall, 0), "a long thought");
    after("C-_", "a long thought");
    press("C-c");
    ck_assert_int_eq(press("C-c"), IK_PROMPT_CANCEL);
}
END_TEST

START_TEST(texts_from_outside)
{
    ik_prompt_prepend_text(prompt, "first");
    ck_assert_str_eq(text(), "first");
    ik_prompt_prepend_text(prompt, "before\nit");
    ck_assert_str_eq(text(), "before\nit\nfirst");
    typed("!", "before\nit\nfirst!");
    ik_prompt_set_text(prompt, "other");
    typed("!", "other!");
    after("C-_ C-_", "before\nit\nfirst!");
}
END_TEST

START_TEST(a_paste_is_sent_in_full)
{
    ik_key_t key = key_names_text(IK_KEY_PASTE, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n");
    type("see: ");
    ik_prompt_key(prompt, &key);
    ck_assert(shows("> see: [pasted 11 lines #1]\n"));
    ck_assert_int_eq(press("Enter"), IK_PROMPT_SUBMIT);
    ck_assert_str_eq(ik_prompt_take(ctx, prompt), "see: 1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n");
}
END_TEST

/* --- numbered lists ---------------------------------------------------------------------- */

static const ik_choice_row_t menu[] = {
    {.text = "one", .note = "first"}, {.text = "two"}, {.text = "three"}};

static void open_menu(bool passes_text)
{
    ik_prompt_choose(prompt, &(ik_prompt_list_options_t){.mark = "> ",
                                                         .hint = "choose",
                                                         .numbered = true,
                                                         .passes_text = passes_text,
                                                         .rows = menu,
                                                         .count = 3});
}

static size_t taken(void)
{
    bool second;
    return ik_prompt_chosen(prompt, &second);
}

START_TEST(a_digit_takes_its_row)
{
    open_menu(false);
    ck_assert(ik_prompt_is_numbered(prompt));
    ck_assert_str_eq(draw(40, 10), "> choose\n› 1 one    first\n  2 two\n  3 three\n");
    ik_key_t key = key_names_text(IK_KEY_TEXT, "3");
    ck_assert_int_eq(ik_prompt_key(prompt, &key), IK_PROMPT_CHOSEN);
    ck_assert_uint_eq(taken(), 2);
    ck_assert(!ik_prompt_is_numbered(prompt));
    open_menu(false);
    press("Down");
    ck_assert(shows("\n› 2 two\n"));
    ck_assert_int_eq(press("Enter"), IK_PROMPT_CHOSEN);
    ck_assert_uint_eq(taken(), 1);
    open_menu(false);
    ck_assert_int_eq(press("Esc"), IK_PROMPT_CHOSEN);
    ck_assert_uint_eq(taken(), SIZE_MAX);
}
END_TEST

START_TEST(other_keys_of_a_numbered_list)
{
    for (int passes = 0; passes < 2; passes++) {
        open_menu(passes);
        type("49");
        ck_assert_int_eq(press("Tab Backspace Left"), IK_PROMPT_NONE);
        ck_assert_int_eq(press("C-o"), IK_PROMPT_PAGER);
        ck_assert_int_eq(press("C-c"), IK_PROMPT_CANCEL);
        ck_assert_int_eq(press("C-d"), IK_PROMPT_END);
        ck_assert_int_eq(press("C-z"), IK_PROMPT_SUSPEND);
        ck_assert_int_eq(press("C-l"), IK_PROMPT_REDRAW);
        ck_assert(ik_prompt_is_numbered(prompt));
        ck_assert_str_eq(text(), "");
        ik_prompt_choose_end(prompt);
    }
    open_menu(false);
    ck_assert_int_eq(press("C-r C-g C-u C-x M-b"), IK_PROMPT_NONE);
    type("x");
    ck_assert(shows("› 1 one"));
    ck_assert_str_eq(text(), "");
}
END_TEST

START_TEST(text_can_close_a_numbered_list)
{
    static const char *const texts[] = {"h", "0", "/", "\xc3\xa9", "hello 2"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        ik_key_t key = key_names_text(i % 2 == 0 ? IK_KEY_TEXT : IK_KEY_PASTE, texts[i]);
        open_menu(true);
        ck_assert_int_eq(ik_prompt_key(prompt, &key), IK_PROMPT_CHOSEN);
        ck_assert_uint_eq(taken(), SIZE_MAX);
        ck_assert_str_eq(text(), texts[i]);
        ik_prompt_set_text(prompt, "");
    }
    open_menu(true);
    ck_assert_int_eq(press("C-g"), IK_PROMPT_EDITOR);
    ck_assert(!ik_prompt_is_choosing(prompt));
    open_menu(true);
    ck_assert_int_eq(press("C-r"), IK_PROMPT_NONE);
    ck_assert(shows("search: "));
    ck_assert(!ik_prompt_is_choosing(prompt));
}
END_TEST

/* --- secrets ----------------------------------------------------------------------------- */

START_TEST(a_secret_is_not_shown_or_kept)
{
    ik_key_t paste = key_names_text(IK_KEY_PASTE, " sk-ant-\xe2\x82\xac\n");
    type("draft");
    ik_prompt_ask_secret(prompt, "Key: ");
    ck_assert_str_eq(draw(40, 5), "Key: \n");
    ck_assert_int_eq(cursor.cursor_column, 5);
    ik_prompt_key(prompt, &paste);
    ck_assert_str_eq(draw(40, 5), "Key: (10 characters)\n");
    ck_assert_str_eq(text(), "draft");
    /* keys that would show it elsewhere do nothing */
    ck_assert_int_eq(press("C-g C-o PageUp C-r Up C-x C-e C-_ C-y"), IK_PROMPT_NONE);
    press("Backspace Backspace");
    type("x");
    ck_assert_int_eq(press("Enter"), IK_PROMPT_SUBMIT);
    ck_assert_str_eq(ik_prompt_take(ctx, prompt), " sk-ant-x");
    ck_assert_str_eq(draw(40, 5), "Key: \n");
    ik_prompt_ask(prompt, NULL);
    ck_assert_str_eq(draw(40, 5), "> draft\n");
    press("C-u");
    ck_assert_int_eq(press("C-y Enter"), IK_PROMPT_SUBMIT);
    ck_assert_str_eq(ik_prompt_take(ctx, prompt), "draft");
    ck_assert_uint_eq(ik_recall_count(recall), 1);
}
END_TEST

START_TEST(keys_of_a_secret)
{
    ik_prompt_ask_secret(prompt, "Key: ");
    ck_assert_int_eq(press("Esc"), IK_PROMPT_ESCAPE);
    ck_assert_int_eq(press("C-c"), IK_PROMPT_CANCEL);
    ck_assert_int_eq(press("C-d"), IK_PROMPT_END);
    ck_assert_int_eq(press("C-z"), IK_PROMPT_SUSPEND);
    ck_assert_int_eq(press("C-l"), IK_PROMPT_REDRAW);
    static const char *const clears[] = {"C-c", "C-u", "C-w"};
    for (size_t i = 0; i < sizeof(clears) / sizeof(clears[0]); i++) {
        type("abc");
        ck_assert_int_eq(press("C-d Left Tab"), IK_PROMPT_NONE);
        ck_assert(shows("(3 characters)"));
        ck_assert_int_eq(press(clears[i]), IK_PROMPT_NONE);
        ck_assert_str_eq(draw(40, 5), "Key: \n");
    }
    for (int i = 0; i < 5000; i++) {
        type("k"); /* more than any key has */
    }
    ck_assert(shows("(4096 characters)"));
    ck_assert_int_eq(press("Enter"), IK_PROMPT_SUBMIT);
    ck_assert_uint_eq(strlen(ik_prompt_take(ctx, prompt)), 4096);
    ck_assert_int_eq(press("Enter"), IK_PROMPT_SUBMIT);
    ck_assert_str_eq(ik_prompt_take(ctx, prompt), "");
    draw(4, 5);
}
END_TEST

/* --- earlier messages -------------------------------------------------------------------- */

static void remember(void)
{
    ik_recall_add(recall, "git log");
    ik_recall_add(recall, "two\nlines");
    ik_recall_add(recall, "git diff");
    ik_recall_add(recall, "ls");
}

START_TEST(up_and_down_through_messages)
{
    remember();
    after("Up", "ls");
    after("Up Up", "two\nlines");
    after("Up", "git log"); /* the rows of what is looked at do not count */
    after("Up Down", "two\nlines");
    after("C-n C-n C-n", "");
    after("Down C-p", "ls");
}
END_TEST

START_TEST(the_draft_is_the_prefix_and_comes_back)
{
    remember();
    type("git");
    after("Left Up", "git diff");
    after("Up Up", "git log");
    after("Down Down", "git");
    typed("x", "gixt"); /* where the cursor was */
    after("Up", "gixt");
}
END_TEST

START_TEST(moving_about_does_not_end_it)
{
    remember();
    after("Up Up Up Left Up", "two\nlines");
    after("Up", "git log");
    after("Left Down", "two\nlines");
    after("Down Down Down", "");
}
END_TEST

START_TEST(what_was_found_can_be_changed)
{
    remember();
    type("draft");
    press("C-a C-k Up Up");
    typed("!", "git diff!");
    after("Down", "git diff!");
    after("C-_ C-_", "");
    after("C-_", "draft");
}
END_TEST

START_TEST(a_collapsed_paste_comes_back_from_browsing)
{
    ik_recall_add(recall, "x");
    ik_key_t key = key_names_text(IK_KEY_PASTE, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11");
    ik_prompt_key(prompt, &key);
    after("Up", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11");
    after("C-a C-k Up Down C-y", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11");
}
END_TEST

/* --- searching --------------------------------------------------------------------------- */

START_TEST(searching)
{
    remember();
    type("draft");
    press("C-r");
    ck_assert_str_eq(draw(30, 10), "search: \n› ls\n  git diff\n  two lines\n  git log\n");
    ck_assert_int_eq(cursor.cursor_row, 0);
    ck_assert_int_eq(cursor.cursor_column, 8);
    type("gt");
    ck_assert_str_eq(draw(30, 10), "search: gt\n› git log\n  git diff\n");
    type("d");
    ck_assert_str_eq(draw(30, 10), "search: gtd\n› git diff\n");
    ck_assert_int_eq(press("Enter"), IK_PROMPT_NONE);
    ck_assert_str_eq(text(), "git diff");
    ck_assert_str_eq(draw(30, 10), "> git diff\n");
    after("C-_", "draft");
}
END_TEST

START_TEST(a_search_is_given_up)
{
    static const char *const ends[] = {"Esc", "C-g", "C-c"};
    remember();
    type("draft");
    for (size_t i = 0; i < 3; i++) {
        press("C-r");
        type("ls");
        ck_assert_int_eq(press(ends[i]), IK_PROMPT_NONE);
        ck_assert_str_eq(text(), "draft");
        ck_assert_str_eq(draw(30, 10), "> draft\n");
    }
    ck_assert_int_eq(press("Esc"), IK_PROMPT_ESCAPE);
}
END_TEST

START_TEST(choosing_in_a_search)
{
    remember();
    after("C-r C-r Down Up Enter", "git diff");
    after("C-r C-s Tab", "git log"); /* from the newest to the oldest */
    press("C-r");
    type("lsx");
    ck_assert_str_eq(draw(30, 10), "search: lsx  nothing found\n");
    press("Backspace");
    ck_assert_str_eq(draw(30, 10), "search: ls\n› ls\n  two lines\n");
    press("C-u");
    ck_assert_str_eq(draw(30, 3), "search: \n› ls\n  … 3 more\n");
    ck_assert_str_eq(draw(30, 1), "search: \n"); /* no room is not the same as no match */
    press("Left");                               /* takes it, and goes left */
    typed("x", "lxs");
    press("C-r");
    type("zzz");
    after("Enter", "lxs");
    press("C-r");
    ck_assert_int_eq(press("C-l"), IK_PROMPT_REDRAW);
    ck_assert_str_eq(text(), "lxs");
}
END_TEST

static void choose(const ik_choice_row_t *rows, size_t count)
{
    ik_prompt_choose(prompt,
                     &(ik_prompt_list_options_t){.mark = "Which? ", .rows = rows, .count = count});
}

/* The index of the row that was taken with the first key. */
START_TEST(choosing_from_a_list)
{
    static const ik_choice_row_t rows[] = {{.text = "apples", .note = "2m\t3 turns"},
                                           {.text = "pears"}};
    remember();
    type("draft");
    choose(rows, 2);
    ck_assert_str_eq(draw(30, 10), "Which? \n› apples  2m  3 turns\n  pears\n");
    ck_assert_int_eq(press("Left"), IK_PROMPT_NONE);  /* it is about no text */
    ck_assert_int_eq(press("C-l"), IK_PROMPT_REDRAW); /* about the terminal, not the draft */
    ck_assert_int_eq(press("C-z"), IK_PROMPT_SUSPEND);
    type("zz");
    ck_assert_str_eq(draw(9, 10), "Whic…zz…\n");
    ck_assert_str_eq(draw(30, 10), "Which? zz  nothing found\n");
    ck_assert_int_eq(press("Enter"), IK_PROMPT_NONE); /* nothing to take */
    press("C-u");
    ik_prompt_prepend_text(prompt, "more");
    ck_assert_int_eq(press("Down"), IK_PROMPT_NONE);
    ck_assert_int_eq(press("Enter"), IK_PROMPT_CHOSEN);
    ck_assert_uint_eq(taken(), 1);
    ck_assert_str_eq(text(), "more\ndraft");
    choose(rows, 2);
    ck_assert_int_eq(press("Esc"), IK_PROMPT_CHOSEN);
    ck_assert_uint_eq(taken(), SIZE_MAX);
    press("C-r");
    ck_assert_str_eq(draw(30, 3), "search: \n› ls\n  … 3 more\n");
}
END_TEST

/* Tab completes what was typed; rows of the same text stay apart. */
START_TEST(tab_takes_no_row)
{
    static const ik_choice_row_t rows[] = {
        {.text = "one pear"}, {.text = "a pear"}, {.text = "a pear"}, {.text = "nut"}};
    choose(rows, 4);
    type("a p");
    ck_assert_int_eq(press("Down Tab"), IK_PROMPT_NONE);
    ck_assert_str_eq(draw(30, 10), "Which? a pear\n  a pear\n› a pear\n");
    ck_assert_int_eq(press("Enter"), IK_PROMPT_CHOSEN);
    ck_assert_uint_eq(taken(), 2);
    choose(rows, 0);
    ck_assert_int_eq(press("Tab"), IK_PROMPT_NONE);
    ck_assert_int_eq(press("Enter"), IK_PROMPT_NONE);
    ck_assert_int_eq(press("C-c"), IK_PROMPT_CHOSEN);
}
END_TEST

START_TEST(the_second_key_of_a_list)
{
    static const ik_choice_row_t rows[] = {{.text = "one"}, {.text = "two"}, {.text = "three"}};
    bool second;
    choose(rows, 3);
    ck_assert_int_eq(press("C-s"), IK_PROMPT_NONE); /* the list has no second key */
    ck_assert_int_eq(press("Enter"), IK_PROMPT_CHOSEN);
    ck_assert_uint_eq(taken(), 0);
    ik_prompt_list_options_t options = {
        .mark = "Which? ", .hint = "Ctrl-S keeps it", .has_second = true, .rows = rows, .count = 3};
    ik_prompt_choose(prompt, &options);
    ck_assert_str_eq(draw(30, 2), "Which? Ctrl-S keeps it\n› one\n");
    ck_assert_int_eq(cursor.cursor_column, 7);
    type("zz");
    ck_assert_int_eq(press("C-s"), IK_PROMPT_NONE);
    press("C-u Down");
    ck_assert_int_eq(press("C-s"), IK_PROMPT_CHOSEN);
    ck_assert_uint_eq(ik_prompt_chosen(prompt, &second), 1);
    ck_assert(second);
    choose(rows, 3);
    ck_assert_int_eq(press("Esc"), IK_PROMPT_CHOSEN);
    ck_assert_uint_eq(taken(), SIZE_MAX);
}
END_TEST

START_TEST(rows_that_come_later)
{
    static const ik_choice_row_t rows[] = {
        {.text = "one"}, {.text = "two"}, {.text = "three"}, {.text = "fourteen"}};
    ik_prompt_choose(prompt, &(ik_prompt_list_options_t){
                                 .mark = "Which? ", .rows = rows, .count = 0, .pending = true});
    ck_assert_str_eq(draw(30, 9), "Which? \n  … looking\n");
    ck_assert_int_eq(press("Enter"), IK_PROMPT_NONE);
    type("t");
    ik_prompt_choose_again(prompt, rows, 3, true);
    ck_assert_str_eq(draw(30, 9), "Which? t\n› two\n  three\n  … looking\n");
    press("Down");
    ik_prompt_choose_again(prompt, rows, 4, false);
    ck_assert_str_eq(draw(30, 9), "Which? t\n  two\n› three\n  fourteen\n");
    ik_prompt_choose_end(prompt);
    ck_assert_str_eq(draw(30, 9), "> \n");
    ik_prompt_choose_again(prompt, rows, 1, false); /* it is closed */
    ck_assert_str_eq(draw(30, 9), "> \n");
}
END_TEST

/* Rows with wide characters and many columns of notes fit every window; draw() checks that. */
START_TEST(rows_of_a_list_fit)
{
    static const ik_choice_row_t rows[] = {
        {.text = "中文字中文字中文字中文字",
         .note = "2m\t3 turns\t~/src/很长的文件夹\tmodel\tid\tx\ty"},
        {.text = "a\033[2Jb\tc\nd \xe2\x80\xae e", .note = "\t\t\033]0;x\a\t"},
        {.text = "", .note = ""},
    };
    for (int columns = 2; columns < 120; columns++) {
        for (int max_rows = 1; max_rows < 6; max_rows++) {
            choose(rows, 3);
            draw(columns, max_rows);
            type("中");
            draw(columns, max_rows);
            ck_assert_int_eq(press("Esc"), IK_PROMPT_CHOSEN);
        }
    }
    static const ik_choice_row_t mixed[] = {
        {.text = "one", .note = "a sentence that takes the rest"},
        {.text = "three", .note = "1k\t$2\tkey"},
        {.text = "four", .note = ""}};
    choose(mixed, 3);
    ck_assert_str_eq(draw(30, 4), "Which? \n› one    a sentence that tak…\n"
                                  "  three  1k  $2  key\n  four\n");
    choose(rows, 1);
    ck_assert_str_eq(draw(40, 3), "Which? \n› 中文字中文字中文字中文…  2m  3 turns\n");
}
END_TEST

START_TEST(pages_of_a_list)
{
    choose(many_items, 20);
    draw(30, 5);
    press("PageDown");
    ck_assert_str_eq(draw(30, 5), "Which? \n  item01\n  item02\n› item03\n  … 17 more\n");
    press("PageDown PageUp End");
    ck_assert_str_eq(draw(30, 4), "Which? \n  item18\n› item19\n  … 18 more\n");
    press("Home");
    ck_assert_str_eq(draw(30, 3), "Which? \n› item00\n  … 19 more\n");
    ck_assert_int_eq(press("Esc"), IK_PROMPT_CHOSEN);
}
END_TEST

START_TEST(another_text_ends_a_search)
{
    remember();
    press("C-r");
    ik_prompt_set_text(prompt, "new");
    ck_assert_str_eq(draw(30, 10), "> new\n");
    press("C-r");
    ck_assert_str_eq(ik_prompt_take(ctx, prompt), "new");
    ck_assert_str_eq(draw(30, 10), "> \n");
}
END_TEST

/* --- completion -------------------------------------------------------------------------- */

START_TEST(commands)
{
    type("/");
    ck_assert_str_eq(draw(40, 10), "> /\n"
                                   "› /clear  starts over\n"
                                   "  /copy   the last answer\n"
                                   "  /model  shows or changes it\n");
    type("c");
    ck_assert(!shows("/model"));
    type("p");
    ck_assert_str_eq(draw(40, 10), "> /cp\n› /copy  the last answer\n");
    ck_assert_int_eq(questions, 1);
    after("Tab", "/copy ");
    ck_assert_str_eq(asked, "copy 1");
    ck_assert_str_eq(draw(40, 10), "> /copy \n");
    after("C-_", "/cp");
}
END_TEST

START_TEST(arguments)
{
    type("/model ");
    ck_assert_str_eq(asked, "model 1");
    ck_assert(shows("  sonnet"));
    type("ge");
    after("Tab", "/model gemini ");
    ck_assert_str_eq(asked, "model 2");
    type("x y");
    ck_assert_str_eq(asked, "model 3");
    press("C-j");
    type("z");
    ck_assert_str_eq(asked, "model 3");
}
END_TEST

START_TEST(files)
{
    type("look at @ma");
    ck_assert(shows("› src/main.c"));
    ck_assert(!shows("README.md\n  src/main.c\n"));
    after("Tab", "look at @src/main.c ");
    type("and @s");
    after("Down Up Tab", "look at @src/main.c and @src/");
    ck_assert(shows("  src/main.c"));
    type("map");
    after("Tab", "look at @src/main.c and @src/base/map.c ");
    type("me@s");
    ck_assert(!shows("src/main.c\n"));
    press("C-c");
    type("/copy @rea");
    after("Tab", "/copy @README.md ");
}
END_TEST

START_TEST(completing_before_other_words)
{
    type("@ and more");
    press("C-a Right");
    type("ma");
    after("Tab", "@src/main.c and more");
    typed("x", "@src/main.c xand more"); /* behind the space */
}
END_TEST

START_TEST(choosing)
{
    type("/");
    after("Down Tab", "/copy ");
    press("C-c");
    type("/");
    after("Up Tab", "/model ");
    press("C-c");
    type("/");
    after("C-n C-n C-p Tab", "/copy ");
    press("C-c");
    type("/");
    after("S-Tab Tab", "/model ");
}
END_TEST

/* What Enter sends. */
static const char *sent(void)
{
    ck_assert_int_eq(press("Enter"), IK_PROMPT_SUBMIT);
    const char *taken = ik_prompt_take(ctx, prompt);
    ck_assert_str_eq(draw(40, 10), "> \n");
    return taken;
}

START_TEST(enter_takes_the_highlighted_command)
{
    type("/mod");
    ck_assert_str_eq(sent(), "/model");
    type("/");
    press("Down Down");
    ck_assert_str_eq(sent(), "/model");
    type("/clear"); /* named in full */
    ck_assert_str_eq(sent(), "/clear");
    type("/new"); /* by its other name */
    ck_assert_str_eq(sent(), "/new");
    type("/zzz"); /* nothing matches */
    ck_assert_str_eq(sent(), "/zzz");
    type("/clear");
    press("Left Left Backspace"); /* the list narrows to what is before the cursor */
    ck_assert_str_eq(sent(), "/clear");
    type("/usr/bin");
    ck_assert_str_eq(sent(), "/usr/bin");
}
END_TEST

START_TEST(enter_completes_a_command_that_needs_an_argument)
{
    command_items[1].unfinished = true;
    type("/cop");
    ck_assert_int_eq(press("Enter"), IK_PROMPT_NONE);
    ck_assert_str_eq(text(), "/copy ");
    ck_assert_str_eq(sent(), "/copy ");
    type("/copy"); /* named in full: the command says what is missing */
    ck_assert_str_eq(sent(), "/copy");
    command_items[1].unfinished = false;
}
END_TEST

START_TEST(enter_inserts_a_file_and_sends_nothing)
{
    type("look at @ma");
    ck_assert_int_eq(press("Enter"), IK_PROMPT_NONE);
    ck_assert_str_eq(text(), "look at @src/main.c ");
    ck_assert_str_eq(sent(), "look at @src/main.c ");
    type("@README.md"); /* named in full */
    ck_assert(shows("› README.md"));
    ck_assert_str_eq(sent(), "@README.md");
    type("@zz"); /* nothing matches */
    ck_assert_str_eq(sent(), "@zz");
    type("@sr"); /* a folder: its files follow */
    after("Enter", "@src/");
}
END_TEST

START_TEST(enter_runs_the_arguments_that_were_typed)
{
    type("/model g");
    ck_assert(shows("  gpt"));
    ck_assert(!shows("›"));
    ck_assert_str_eq(sent(), "/model g");
    type("/model g");
    press("Down");
    ck_assert(shows("› gpt"));
    ck_assert_str_eq(sent(), "/model gpt");
    type("/model g");
    press("Up");
    ck_assert(shows("› gemini"));
    type("p"); /* typed after all */
    ck_assert(!shows("›"));
    ck_assert_str_eq(sent(), "/model gp");
    type("/model g");
    after("Tab", "/model gpt "); /* completes the best match and runs nothing */
    ck_assert_str_eq(sent(), "/model gpt ");
    model_items[1].unfinished = true; /* another argument must follow */
    type("/model g");
    press("Down");
    ck_assert_int_eq(press("Enter"), IK_PROMPT_NONE);
    ck_assert_str_eq(text(), "/model gpt ");
    model_items[1].unfinished = false;
}
END_TEST

START_TEST(a_command_with_arguments_already)
{
    type(" gpt");
    press("Home");
    type("/mo");
    ck_assert(shows("  /model"));
    ck_assert(!shows("›"));
    ck_assert_str_eq(sent(), "/mo gpt");
    type(" gpt");
    press("Home");
    type("/mo");
    press("Down");
    ck_assert_str_eq(sent(), "/model gpt");
}
END_TEST

START_TEST(pages_of_completions)
{
    type("/many ");
    draw(40, 6);
    press("PageDown PageDown");
    ck_assert_str_eq(draw(40, 4), "> /many \n  item07\n› item08\n  … 18 more\n");
    press("PageUp PageUp PageUp PageUp PageUp");
    ck_assert(shows("› item00"));
    press("Esc");
    ck_assert_int_eq(press("PageDown"), IK_PROMPT_NONE);
    ck_assert_int_eq(press("PageUp"), IK_PROMPT_PAGER);
    ck_assert_int_eq(press("C-o"), IK_PROMPT_PAGER);
}
END_TEST

START_TEST(an_answer_has_no_lists)
{
    ik_prompt_ask(prompt, "Key? ");
    type("/mod");
    ck_assert_str_eq(draw(40, 10), "Key? /mod\n");
    ck_assert_int_eq(press("Enter"), IK_PROMPT_SUBMIT);
    ck_assert_str_eq(ik_prompt_take(ctx, prompt), "/mod");
}
END_TEST

START_TEST(esc_closes_a_list_for_its_place)
{
    type("/c");
    ck_assert(shows("/copy"));
    ck_assert_int_eq(press("Esc"), IK_PROMPT_NONE);
    ck_assert(!shows("/copy"));
    type("o");
    ck_assert(!shows("/copy"));
    ck_assert_int_eq(press("Tab"), IK_PROMPT_NONE);
    ck_assert_str_eq(text(), "/co");
    ck_assert(shows("/copy"));
    press("Esc");
    ck_assert_int_eq(press("Esc"), IK_PROMPT_ESCAPE);
    type(" @");
    ck_assert(shows("src/main.c"));
}
END_TEST

START_TEST(lists_open_by_typing_alone)
{
    ik_recall_add(recall, "/clear");
    after("Up", "/clear");
    ck_assert(!shows("/clear\n  /clear"));
    after("Up Down", "");
    ik_prompt_set_text(prompt, "/cl");
    ck_assert_str_eq(draw(40, 10), "> /cl\n");
    ik_key_t key = key_names_text(IK_KEY_PASTE, "/copy");
    press("C-c");
    ik_prompt_key(prompt, &key);
    ck_assert_str_eq(draw(40, 10), "> /copy\n");
    press("Backspace");
    ck_assert(shows("the last answer"));
    press("Home");
    ck_assert(!shows("the last answer"));
    ck_assert_int_eq(questions, 1);
}
END_TEST

START_TEST(nothing_to_complete)
{
    type("plain");
    after("Tab", "plain");
    press("C-c");
    type("/zzz");
    ck_assert_str_eq(draw(40, 10), "> /zzz\n");
    after("Tab", "/zzz");
    ck_assert_int_eq(press("Esc"), IK_PROMPT_ESCAPE);
    press("C-c");
    type("/usr/bin");
    ck_assert_int_eq(press("Up"), IK_PROMPT_NONE);
    ck_assert_str_eq(text(), "/usr/bin");
}
END_TEST

START_TEST(no_source)
{
    prompt = ik_prompt_create(ctx, &theme, recall, NULL);
    type("/model @x");
    press("Tab");
    ck_assert_str_eq(draw(40, 10), "> /model @x\n");
}
END_TEST

START_TEST(long_lists)
{
    type("/many ");
    ck_assert_str_eq(draw(40, 20), "> /many \n  item00\n  item01\n  item02\n  item03\n  item04\n"
                                   "  item05\n  item06\n  item07\n  … 12 more\n");
    press("Up");
    ck_assert(shows("  item12\n"));
    ck_assert(shows("› item19\n"));
    ck_assert(!shows("  item11\n"));
    after("Tab", "/many item19 ");
    ck_assert_str_eq(draw(40, 4), "> /many item19 \n  item00\n  item01\n  … 18 more\n");
    ck_assert_str_eq(draw(40, 2), "> /many item19 \n  item00\n");
    ck_assert_str_eq(draw(40, 1), "> /many item19 \n");
}
END_TEST

START_TEST(what_is_still_looked_for)
{
    pending = true;
    type("@");
    ck_assert_str_eq(draw(40, 20), "> @\n› README.md\n  … looking\n");
    type("m");
    ck_assert_int_eq(questions, 1);
    pending = false;
    ik_prompt_refresh(prompt);
    ck_assert_int_eq(questions, 2);
    ck_assert_str_eq(draw(40, 20), "> @m\n› src/main.c\n  src/base/map.c\n  README.md\n");
    press("Down");
    ik_prompt_refresh(prompt);
    ck_assert_int_eq(questions, 3);
    after("Tab", "@src/base/map.c "); /* what the user moved to is chosen still */
    ik_prompt_refresh(prompt);
    ck_assert_int_eq(questions, 3);
}
END_TEST

START_TEST(pending_with_nothing_yet)
{
    pending = true;
    type("@zz");
    ck_assert_str_eq(draw(40, 20), "> @zz\n  … looking\n");
    after("Tab Up Down", "@zz");
    ck_assert_int_eq(press("Esc"), IK_PROMPT_NONE);
    ck_assert_str_eq(draw(40, 20), "> @zz\n");
}
END_TEST

/* --- drawing ----------------------------------------------------------------------------- */

START_TEST(an_empty_draft)
{
    ck_assert_str_eq(draw(40, 5), "> \n");
    ck_assert_int_eq(cursor.cursor_column, 2);
    ik_prompt_set_hint(prompt, "Ask anything");
    ck_assert_str_eq(draw(40, 5), "> Ask anything\n");
    ck_assert_int_eq(cursor.cursor_column, 2);
    ck_assert_str_eq(draw(10, 5), "> Ask an…\n");
    type("x");
    ck_assert_str_eq(draw(40, 5), "> x\n");
    press("Backspace");
    ik_prompt_set_hint(prompt, NULL);
    ck_assert_str_eq(draw(40, 5), "> \n");
}
END_TEST

START_TEST(rows_are_indented_like_the_first)
{
    ik_prompt_set_text(prompt, "one\ntwo three four");
    ck_assert_str_eq(draw(13, 5), "> one\n  two three \n  four\n");
    ck_assert_int_eq(cursor.cursor_row, 2);
    ck_assert_int_eq(cursor.cursor_column, 6);
    ik_prompt_set_mark(prompt, "ask? ");
    ck_assert_str_eq(draw(40, 5), "ask? one\n     two three four\n");
    ck_assert_int_eq(cursor.cursor_column, 19);
}
END_TEST

START_TEST(a_question_puts_the_draft_aside)
{
    type("half a message");
    ik_prompt_ask(prompt, "[y/N] ");
    ck_assert_str_eq(draw(40, 5), "[y/N] \n");
    ck_assert_str_eq(text(), "half a message"); /* as it is saved */
    ck_assert_int_eq(press("Enter"), IK_PROMPT_SUBMIT);
    ck_assert_str_eq(ik_prompt_take(ctx, prompt), "");
    type("y");
    ck_assert_int_eq(press("Enter"), IK_PROMPT_SUBMIT);
    ck_assert_str_eq(ik_prompt_take(ctx, prompt), "y");
    ik_prompt_prepend_text(prompt, "given back");
    ck_assert_str_eq(draw(40, 5), "[y/N] \n");
    ik_prompt_ask(prompt, NULL);
    ck_assert_str_eq(draw(40, 5), "> given back\n  half a message\n");
    ik_prompt_set_text(prompt, "");
    after("Up", ""); /* an answer is no message */
}
END_TEST

/* The image of the clipboard may arrive after the question. */
START_TEST(an_image_goes_into_the_draft_during_a_question)
{
    type("see ");
    ik_prompt_ask_keys(prompt, "[y/n] ", "yn");
    ik_prompt_paste(prompt, "shot.png", 8);
    ck_assert_str_eq(draw(40, 5), "[y/n] \n");
    ck_assert(ik_prompt_awaits_key(prompt));
    ik_prompt_ask_secret(prompt, "Key: ");
    ik_prompt_paste(prompt, "shot.png", 8);
    ck_assert_str_eq(ik_prompt_take(ctx, prompt), "");
    ik_prompt_ask(prompt, NULL);
    ck_assert_str_eq(text(), "see @shot.png @shot.png ");
    ik_prompt_set_text(prompt, "!file ");
    ik_prompt_paste(prompt, "shot.png", 8);
    ck_assert_str_eq(text(), "!file shot.png");
}
END_TEST

START_TEST(a_draft_taller_than_the_area)
{
    ik_prompt_set_text(prompt, "1\n2\n3\n4\n5");
    ck_assert_str_eq(draw(40, 3), "↑ 3\n  4\n  5\n");
    press("Up Up Up");
    ck_assert_str_eq(draw(40, 3), "↑ 2\n  3\n↓ 4\n");
    press("Up");
    ck_assert_str_eq(draw(40, 3), "> 1\n  2\n↓ 3\n");
    ck_assert_str_eq(draw(40, 1), "> 1\n");
}
END_TEST

/* The last column stays free, but for the cursor; very narrow windows lose the mark. */
START_TEST(narrow_windows)
{
    ik_prompt_set_text(prompt, "abcdefgh 中中");
    for (int columns = 2; columns < 20; columns++) {
        for (int max_rows = 1; max_rows < 8; max_rows++) {
            draw(columns, max_rows);
        }
    }
    ck_assert_str_eq(draw(4, 9), "abc\ndef\ngh \n中\n中\n");
    type(" /");
    press("C-c");
    type("/");
    for (int columns = 2; columns < 20; columns++) {
        draw(columns, 8);
    }
}
END_TEST

/* Rows end in the terminal's own style, whatever is in them. */
START_TEST(the_chosen_line_stands_out)
{
    ik_theme_init(&theme, IK_BACKGROUND_DARK, true, true);
    ik_prompt_t *coloured =
        ik_prompt_create(ctx, &theme, recall, &(ik_completion_source_t){.commands = on_commands});
    prompt = coloured;
    type("/");
    screen_t screen = {.columns = 1000};
    ik_buffer_init(&screen.out, ctx, IK_BUFFER_UNLIMITED);
    ik_prompt_draw(prompt, 40, 10, on_row, &screen);
    ik_row_t chosen;
    ik_row_init(&chosen, ctx, &theme);
    ik_row_add_role(&chosen, IK_ROLE_CHOSEN, "› /clear  starts over");
    ik_row_end(&chosen);
    ck_assert_ptr_nonnull(strstr(screen.out.data, chosen.bytes.data));
    ik_row_t other;
    ik_row_init(&other, ctx, &theme);
    ik_row_add_role(&other, IK_ROLE_TEXT, "  /copy");
    ik_row_add_role(&other, IK_ROLE_DIM, "   the last answer");
    ik_row_end(&other);
    ck_assert_ptr_nonnull(strstr(screen.out.data, other.bytes.data));
}
END_TEST

/* --- vi ---------------------------------------------------------------------------------- */

/* Enters a message that k can find. */
static void send(const char *message)
{
    ik_prompt_set_text(prompt, message);
    talloc_free(ik_prompt_take(ctx, prompt));
}

START_TEST(vi_escape_leaves_insert_mode_then_interrupts)
{
    ik_prompt_use_vi(prompt);
    type("draft");
    ck_assert_int_eq(press("Esc"), IK_PROMPT_NONE);
    ck_assert(ik_prompt_is_normal(prompt));
    ck_assert_int_eq(press("Esc"), IK_PROMPT_ESCAPE);
    ck_assert(ik_prompt_is_normal(prompt));
    type("d");
    ck_assert_int_eq(press("Esc"), IK_PROMPT_NONE); /* cancels d */
    ck_assert_int_eq(press("Esc"), IK_PROMPT_ESCAPE);
    ck_assert_int_eq(press("Enter"), IK_PROMPT_SUBMIT);
    talloc_free(ik_prompt_take(ctx, prompt));
    ck_assert(!ik_prompt_is_normal(prompt));
    typed("x", "x");
    ck_assert_int_eq(press("Enter"), IK_PROMPT_SUBMIT);
}
END_TEST

START_TEST(vi_escape_closes_a_list_first)
{
    ik_prompt_use_vi(prompt);
    type("/c");
    ck_assert(shows("/clear"));
    ck_assert_int_eq(press("Esc"), IK_PROMPT_NONE);
    ck_assert(!shows("/clear"));
    ck_assert(!ik_prompt_is_normal(prompt));
    ck_assert_int_eq(press("Esc"), IK_PROMPT_NONE);
    ck_assert(ik_prompt_is_normal(prompt));
    ck_assert_int_eq(press("Esc"), IK_PROMPT_ESCAPE);
    ck_assert_str_eq(text(), "/c");
}
END_TEST

START_TEST(vi_commands_do_not_open_a_list)
{
    ik_prompt_use_vi(prompt);
    ik_prompt_set_text(prompt, "/cl");
    press("Esc");
    typed("x", "/c");
    ck_assert(!shows("/clear"));
    type("a");
    type("o");
    ck_assert(shows("/copy"));
}
END_TEST

START_TEST(vi_k_and_j_are_up_and_down)
{
    ik_prompt_use_vi(prompt);
    send("first");
    send("second\nwith two lines");
    send("third");
    type("one");
    press("M-Enter");
    type("two");
    draw(60, 20);
    press("Esc");
    type("k"); /* within the draft */
    typed("x", "on\ntwo");
    type("u");
    press("C-c");
    ck_assert(!ik_prompt_is_normal(prompt));
    press("Esc");
    typed("kk", "third"); /* the cleared draft, then the newest message */
    typed("2k", "first");
    typed("j", "second\nwith two lines");
    typed("9j", "");
    ck_assert(ik_prompt_is_normal(prompt));
}
END_TEST

/* While sent text waits, k in an empty draft asks for it, as Up does. */
START_TEST(vi_k_takes_waiting_text_back)
{
    ik_prompt_use_vi(prompt);
    ik_prompt_set_working(prompt, true, true);
    press("Esc");
    ik_key_t key = key_names_text(IK_KEY_TEXT, "k");
    ck_assert_int_eq(ik_prompt_key(prompt, &key), IK_PROMPT_RECOVER);
}
END_TEST

START_TEST(vi_keys_of_the_prompt)
{
    ik_prompt_use_vi(prompt);
    send("earlier");
    type("dr");
    press("Esc");
    ck_assert_int_eq(press("C-g"), IK_PROMPT_EDITOR);
    ck_assert_int_eq(press("C-o"), IK_PROMPT_PAGER);
    press("C-r");
    type("jkx"); /* what is searched for */
    ck_assert(shows("search: jkx"));
    press("Esc");
    ck_assert(ik_prompt_is_normal(prompt));
    ck_assert_str_eq(text(), "dr");
    type("dd");
    ck_assert_int_eq(press("C-d"), IK_PROMPT_END);
    ck_assert_int_eq(press("Enter"), IK_PROMPT_NONE); /* nothing to send */
}
END_TEST

START_TEST(vi_questions_are_answered_in_insert_mode)
{
    ik_prompt_use_vi(prompt);
    type("draft");
    press("Esc");
    ik_prompt_ask(prompt, "Sure? [y/N] ");
    ck_assert(!ik_prompt_is_normal(prompt));
    type("y");
    ck_assert_int_eq(press("Enter"), IK_PROMPT_SUBMIT);
    ck_assert_str_eq(ik_prompt_take(ctx, prompt), "y");
    ik_prompt_ask(prompt, NULL);
    ck_assert_str_eq(text(), "draft");
}
END_TEST

/* The mark is reversed in normal mode. */
START_TEST(vi_shows_its_mode)
{
    ik_theme_init(&theme, IK_BACKGROUND_UNKNOWN, false, true);
    ik_prompt_use_vi(prompt);
    type("draft");
    ck_assert(!shows("\x1b[1;7m"));
    press("Esc");
    ck_assert(shows("\x1b[1;7m> "));
    type("i");
    ck_assert(!shows("\x1b[1;7m"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("prompt");
    TCase *tests = tcase_create("prompt");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, enter_sends_what_is_not_blank);
    tcase_add_test(tests, vi_escape_leaves_insert_mode_then_interrupts);
    tcase_add_test(tests, vi_escape_closes_a_list_first);
    tcase_add_test(tests, vi_commands_do_not_open_a_list);
    tcase_add_test(tests, vi_k_and_j_are_up_and_down);
    tcase_add_test(tests, vi_k_takes_waiting_text_back);
    tcase_add_test(tests, vi_keys_of_the_prompt);
    tcase_add_test(tests, vi_questions_are_answered_in_insert_mode);
    tcase_add_test(tests, vi_shows_its_mode);
    tcase_add_test(tests, newlines);
    tcase_add_test(tests, keys_for_the_program);
    tcase_add_test(tests, after_ctrl_x);
    tcase_add_test(tests, ctrl_d_deletes_in_a_draft);
    tcase_add_test(tests, ctrl_c_loses_nothing);
    tcase_add_test(tests, texts_from_outside);
    tcase_add_test(tests, a_paste_is_sent_in_full);
    tcase_add_test(tests, a_digit_takes_its_row);
    tcase_add_test(tests, other_keys_of_a_numbered_list);
    tcase_add_test(tests, text_can_close_a_numbered_list);
    tcase_add_test(tests, a_secret_is_not_shown_or_kept);
    tcase_add_test(tests, keys_of_a_secret);
    tcase_add_test(tests, up_and_down_through_messages);
    tcase_add_test(tests, the_draft_is_the_prefix_and_comes_back);
    tcase_add_test(tests, moving_about_does_not_end_it);
    tcase_add_test(tests, what_was_found_can_be_changed);
    tcase_add_test(tests, a_collapsed_paste_comes_back_from_browsing);
    tcase_add_test(tests, searching);
    tcase_add_test(tests, a_search_is_given_up);
    tcase_add_test(tests, choosing_in_a_search);
    tcase_add_test(tests, choosing_from_a_list);
    tcase_add_test(tests, tab_takes_no_row);
    tcase_add_test(tests, the_second_key_of_a_list);
    tcase_add_test(tests, rows_that_come_later);
    tcase_add_test(tests, rows_of_a_list_fit);
    tcase_add_test(tests, pages_of_a_list);
    tcase_add_test(tests, another_text_ends_a_search);
    tcase_add_test(tests, commands);
    tcase_add_test(tests, arguments);
    tcase_add_test(tests, files);
    tcase_add_test(tests, completing_before_other_words);
    tcase_add_test(tests, choosing);
    tcase_add_test(tests, enter_takes_the_highlighted_command);
    tcase_add_test(tests, enter_completes_a_command_that_needs_an_argument);
    tcase_add_test(tests, enter_inserts_a_file_and_sends_nothing);
    tcase_add_test(tests, enter_runs_the_arguments_that_were_typed);
    tcase_add_test(tests, a_command_with_arguments_already);
    tcase_add_test(tests, pages_of_completions);
    tcase_add_test(tests, an_answer_has_no_lists);
    tcase_add_test(tests, esc_closes_a_list_for_its_place);
    tcase_add_test(tests, lists_open_by_typing_alone);
    tcase_add_test(tests, nothing_to_complete);
    tcase_add_test(tests, no_source);
    tcase_add_test(tests, long_lists);
    tcase_add_test(tests, what_is_still_looked_for);
    tcase_add_test(tests, pending_with_nothing_yet);
    tcase_add_test(tests, an_empty_draft);
    tcase_add_test(tests, rows_are_indented_like_the_first);
    tcase_add_test(tests, a_question_puts_the_draft_aside);
    tcase_add_test(tests, an_image_goes_into_the_draft_during_a_question);
    tcase_add_test(tests, a_draft_taller_than_the_area);
    tcase_add_test(tests, narrow_windows);
    tcase_add_test(tests, the_chosen_line_stands_out);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
