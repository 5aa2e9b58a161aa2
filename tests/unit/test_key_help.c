/* Help and manual list every binding of the tables exactly once, and nothing else. */
#include <check.h>
#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "key_names.h"
#include "suite.h"
#include "terminal/key_help.h"
#include "terminal/pager.h"
#include "terminal/prompt.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* All tables of bindings. */
static const ik_binding_rows_fn sources[] = {
    ik_prompt_bindings_at, ik_prompt_list_bindings_at, ik_prompt_search_bindings_at,
    ik_prompt_signs_at,    ik_editor_bindings_at,      ik_editor_vi_bindings_at,
    ik_pager_bindings_at};

static void *ctx;
static ik_key_help_t *tables;
static size_t table_count;

static void set_up(void)
{
    ctx = talloc_new(NULL);
    tables = ik_key_help_create(ctx, &table_count);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

/* --- names ------------------------------------------------------------------------------- */

static char *key_name(const ik_key_t *key)
{
    static const char *const names[] = {
        [IK_KEY_ENTER] = "Enter",   [IK_KEY_TAB] = "Tab",        [IK_KEY_BACKSPACE] = "Backspace",
        [IK_KEY_ESCAPE] = "Esc",    [IK_KEY_UP] = "Up",          [IK_KEY_DOWN] = "Down",
        [IK_KEY_LEFT] = "Left",     [IK_KEY_RIGHT] = "Right",    [IK_KEY_HOME] = "Home",
        [IK_KEY_END] = "End",       [IK_KEY_PAGE_UP] = "PageUp", [IK_KEY_PAGE_DOWN] = "PageDown",
        [IK_KEY_INSERT] = "Insert", [IK_KEY_DELETE] = "Delete",
    };
    char character[] = {(char)toupper((int)key->code), '\0'};
    return ik_sprintf(ctx, "%s%s%s%s", (key->modifiers & IK_KEY_CTRL) != 0 ? "Ctrl-" : "",
                      (key->modifiers & IK_KEY_ALT) != 0 ? "Alt-" : "",
                      (key->modifiers & IK_KEY_SHIFT) != 0 ? "Shift-" : "",
                      key->kind != IK_KEY_CHAR ? names[key->kind]
                      : key->code == ' '       ? "Space"
                                               : character);
}

START_TEST(keys_have_the_names_people_give_them)
{
    static const struct {
        ik_binding_group_t group;
        const char *keys;
    } cases[] = {
        {IK_BINDING_PROMPT, "Ctrl-G, Ctrl-X Ctrl-E"},
        {IK_BINDING_PROMPT, "\\ Enter"},
        {IK_BINDING_PROMPT, "@FILE"},
        {IK_BINDING_EDITING, "Alt-B, Ctrl-Left, Alt-Left"},
        {IK_BINDING_EDITING, "Ctrl-End, Alt->"},
        {IK_BINDING_EDITING, "Alt-_, Ctrl-Shift-Z"},
        {IK_BINDING_VI, "h, Backspace"},
        {IK_BINDING_VI, "l, Space"},
        {IK_BINDING_VI, "d MOTION"},
        {IK_BINDING_VI, "dd"},
        {IK_BINDING_PAGER, "Space, f, PageDown, Ctrl-F, Ctrl-V"},
        {IK_BINDING_PAGER, "q, Q, Esc, Ctrl-C, Ctrl-O"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const ik_key_help_t *group = &tables[cases[i].group];
        size_t row = 0;
        while (row < group->count && strcmp(group->rows[row].keys, cases[i].keys) != 0) {
            row++;
        }
        ck_assert_msg(row < group->count, "no row has the keys %s", cases[i].keys);
    }
}
END_TEST

/* --- bindings ---------------------------------------------------------------------------- */

START_TEST(bindings_match_what_is_pressed)
{
    static const ik_binding_t up = IK_BINDING(UP);
    static const ik_binding_t tab = IK_BINDING_ALONE(TAB);
    static const ik_binding_t back = IK_BINDING_WITH(SHIFT, TAB);
    static const ik_binding_t ctrl = IK_BINDING_CTRL('e');
    static const ik_binding_t slash = IK_BINDING_TYPED('/');
    static const ik_binding_t none = {0};
    static const struct {
        const ik_binding_t *binding;
        const char *key;
        bool matches;
    } cases[] = {
        {&up, "Up", true},      {&up, "C-Up", true},      {&up, "Down", false},
        {&tab, "Tab", true},    {&tab, "S-Tab", false},   {&back, "S-Tab", true},
        {&back, "Tab", false},  {&back, "C-S-Tab", true}, {&ctrl, "C-e", true},
        {&ctrl, "M-e", false},  {&ctrl, "C-S-e", false},  {&ctrl, "C-f", false},
        {&slash, "C-/", false}, {&none, "Up", false},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        ik_key_t key = key_names_parse(cases[i].key, strlen(cases[i].key));
        ck_assert_msg(ik_binding_matches(cases[i].binding, 1, &key, '\0') == cases[i].matches,
                      "case %zu: %s", i, cases[i].key);
    }
    ik_key_t typed = key_names_text(IK_KEY_TEXT, "/x");
    ck_assert(ik_binding_matches(&slash, 1, &typed, '\0'));
    ck_assert(!ik_binding_matches(&none, 1, &typed, '\0'));
    ik_key_t nothing = key_names_text(IK_KEY_TEXT, "");
    ck_assert(!ik_binding_matches(&none, 1, &nothing, '\0'));
}
END_TEST

START_TEST(a_sequence_needs_what_comes_before)
{
    static const ik_binding_t keys[] = {
        IK_BINDING_CTRL('g'),
        {.kind = IK_KEY_CHAR, .modifiers = IK_KEY_CTRL, .code = 'e', .after = IK_BINDING_CTRL_X},
    };
    ik_key_t e = {.kind = IK_KEY_CHAR, .modifiers = IK_KEY_CTRL, .code = 'e'};
    ik_key_t g = {.kind = IK_KEY_CHAR, .modifiers = IK_KEY_CTRL, .code = 'g'};
    ck_assert(ik_binding_matches(keys, 2, &e, IK_BINDING_CTRL_X));
    ck_assert(!ik_binding_matches(keys, 2, &e, '\0'));
    ck_assert(!ik_binding_matches(keys, 1, &e, IK_BINDING_CTRL_X));
    ck_assert(ik_binding_matches(keys, 2, &g, '\0'));
    ck_assert(ik_binding_matches(keys, 2, &g, IK_BINDING_CTRL_X));
}
END_TEST

/* --- the tables -------------------------------------------------------------------------- */

static char *name_of(const ik_binding_row_t *row, const ik_binding_t *binding)
{
    ik_key_t key = {.kind = binding->kind,
                    .modifiers = binding->modifiers,
                    .code = (unsigned char)binding->code};
    const char *before = binding->after == IK_BINDING_CTRL_X ? "Ctrl-X "
                         : binding->after == '\\'            ? "\\ "
                         : binding->after != '\0'            ? ik_sprintf(ctx, "%c", binding->after)
                                                             : "";
    char *name = binding->kind != IK_KEY_TEXT ? key_name(&key)
                 : binding->code == ' '       ? "Space"
                 : binding->code == ','       ? "Comma"
                                              : ik_sprintf(ctx, "%c", binding->code);
    return ik_sprintf(ctx, "%s%s%s", before, name, row->word == NULL ? "" : row->word);
}

/* How often a group lists a key, and with which text. */
static int count_name(const ik_key_help_t *table, const char *name, const char **does)
{
    int found = 0;
    for (size_t i = 0; i < table->count; i++) {
        const char *keys = table->rows[i].keys;
        while (*keys != '\0') {
            size_t len = strcspn(keys, ",");
            bool same = strlen(name) == len && memcmp(keys, name, len) == 0;
            found += same;
            *does = same ? table->rows[i].does : *does;
            keys += len + strspn(keys + len, ", ");
        }
    }
    return found;
}

static int count_names(const ik_key_help_t *table)
{
    int count = 0;
    for (size_t i = 0; i < table->count; i++) {
        count++;
        for (const char *at = table->rows[i].keys; *at != '\0'; at++) {
            count += *at == ',';
        }
    }
    return count;
}

typedef void (*binding_fn)(const ik_binding_row_t *row, const ik_binding_t *binding);

static void for_each_binding(binding_fn fn)
{
    for (size_t i = 0; i < LENGTH(sources); i++) {
        ik_binding_row_t row;
        for (size_t at = 0; sources[i](at, &row); at++) {
            for (size_t k = 0; k < row.max; k++) {
                if (row.keys[k].kind != IK_KEY_TEXT || row.keys[k].code != '\0') {
                    fn(&row, &row.keys[k]);
                }
            }
        }
    }
}

static int listed;

static void check_listed_once(const ik_binding_row_t *row, const ik_binding_t *binding)
{
    const char *name = name_of(row, binding);
    const char *does = NULL;
    int found = count_name(&tables[row->group], name, &does);
    ck_assert_msg(found == (binding->hidden_in_help ? 0 : 1), "%s is listed %d times", name, found);
    if (!binding->hidden_in_help) {
        ck_assert_str_eq(does, row->does);
        listed++;
    }
}

START_TEST(every_binding_is_listed_once)
{
    int names = 0;
    listed = 0;
    for_each_binding(check_listed_once);
    for (size_t i = 0; i < table_count; i++) {
        names += count_names(&tables[i]);
    }
    ck_assert_int_gt(listed, 100);
    ck_assert_int_eq(listed, names);
}
END_TEST

START_TEST(groups_are_in_order_and_full)
{
    static const char *const names[] = {
        [IK_BINDING_PROMPT] = "prompt",   [IK_BINDING_LIST] = "list",
        [IK_BINDING_EDITING] = "editing", [IK_BINDING_VI] = "vi",
        [IK_BINDING_SEARCH] = "search",   [IK_BINDING_PAGER] = "pager",
    };
    ck_assert_uint_eq(table_count, LENGTH(names));
    for (size_t i = 0; i < table_count; i++) {
        ck_assert_str_eq(tables[i].name, names[i]);
        ck_assert(tables[i].title[0] >= 'A' && tables[i].title[0] <= 'Z');
        ck_assert_uint_gt(tables[i].count, 5);
    }
}
END_TEST

/* Half a line in the style of the others; no two commands share a text. */
START_TEST(every_row_has_a_text_of_its_own)
{
    for (size_t i = 0; i < table_count; i++) {
        for (size_t k = 0; k < tables[i].count; k++) {
            const char *does = tables[i].rows[k].does;
            size_t len = strlen(does);
            ck_assert_msg(len > 5 && len <= 52, "%s: %zu", does, len);
            ck_assert_msg(does[len - 1] != '.', "%s", does);
            ck_assert_msg(does[0] >= 'a' && does[0] <= 'z', "%s", does);
            for (size_t other = 0; other < k; other++) {
                ck_assert_str_ne(does, tables[i].rows[other].does);
            }
        }
    }
}
END_TEST

/* --- the draft obeys what is listed, and nothing else -------------------------------------- */

static ik_editor_effect_t press(const ik_binding_t *binding)
{
    ik_editor_t *editor = ik_editor_create(ctx);
    ik_key_t key = {.kind = binding->kind,
                    .modifiers = binding->modifiers,
                    .code = (unsigned char)binding->code};
    if (binding->after != '\0') {
        ik_key_t before = {.kind = IK_KEY_TEXT, .text = &binding->after, .len = 1};
        ik_editor_key(editor, &before);
    }
    return ik_editor_key(editor, &key);
}

START_TEST(the_draft_knows_every_key_of_its_table)
{
    ik_binding_row_t row;
    for (size_t at = 0; ik_editor_bindings_at(at, &row); at++) {
        for (size_t k = 0; k < row.max; k++) {
            if (row.keys[k].kind != IK_KEY_TEXT) {
                ck_assert_msg(press(&row.keys[k]) != IK_EDITOR_UNKNOWN, "%s",
                              name_of(&row, &row.keys[k]));
            }
        }
    }
}
END_TEST

static bool editor_binds(const ik_key_t *key)
{
    ik_binding_row_t row;
    for (size_t at = 0; ik_editor_bindings_at(at, &row); at++) {
        for (size_t k = 0; k < row.max; k++) {
            const ik_binding_t *binding = &row.keys[k];
            if (binding->kind == key->kind && binding->modifiers == key->modifiers &&
                (uint32_t)binding->code == key->code && binding->after == '\0') {
                return true;
            }
        }
    }
    return false;
}

/* Shift is ignored where it has no meaning. */
static void check_known(const ik_key_t *key)
{
    ik_key_t plain = *key;
    plain.modifiers &= ~(unsigned)IK_KEY_SHIFT;
    bool bound = editor_binds(key) || editor_binds(&plain);
    bool known = ik_editor_key(ik_editor_create(ctx), key) != IK_EDITOR_UNKNOWN;
    ck_assert_msg(known == bound, "%s is %s", key_name(key), known ? "known" : "unknown");
}

START_TEST(the_draft_knows_no_other_key)
{
    for (unsigned modifiers = 0; modifiers < 8; modifiers++) {
        for (ik_key_kind_t kind = IK_KEY_ENTER; kind <= IK_KEY_DELETE; kind++) {
            check_known(&(ik_key_t){.kind = kind, .modifiers = modifiers});
        }
        for (uint32_t code = ' '; code < 0x7f && modifiers > IK_KEY_SHIFT; code++) {
            if (code < 'A' || code > 'Z') { /* reported as lower case with Shift */
                check_known(&(ik_key_t){.kind = IK_KEY_CHAR, .modifiers = modifiers, .code = code});
            }
        }
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("keys");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, keys_have_the_names_people_give_them);
    tcase_add_test(tests, bindings_match_what_is_pressed);
    tcase_add_test(tests, a_sequence_needs_what_comes_before);
    tcase_add_test(tests, every_binding_is_listed_once);
    tcase_add_test(tests, groups_are_in_order_and_full);
    tcase_add_test(tests, every_row_has_a_text_of_its_own);
    tcase_add_test(tests, the_draft_knows_every_key_of_its_table);
    tcase_add_test(tests, the_draft_knows_no_other_key);
    Suite *suite = suite_create("key_help");
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
