/*
 * Vi keys. In insert mode only Esc differs from the keys of editor_keys.c. In normal mode each
 * typed character is a command, part of a count, or the argument of the command before it; keys
 * that type no character keep their meaning. In normal mode the cursor stands on a character, not
 * behind the last one of its line.
 *
 * An operator (d, c, y) waits for a motion and applies to the text that the motion passes. Cut text
 * goes to the kill ring. A piece that ends with a newline consists of whole lines, and is put above
 * or below the line of the cursor.
 */
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "terminal/editor_state.h"

enum { COUNT_MAX = 9999 };

/* --- classes of characters --------------------------------------------------------------- */

typedef enum { BLANK, WORD, OTHER } class_t;

static class_t class_at(const ik_editor_t *editor, size_t at, bool big)
{
    char byte = editor->text.data[at];
    if (byte == ' ' || byte == '\t' || byte == '\n') {
        return BLANK;
    }
    return big || byte == '_' || ik_editor_text_is_word(editor, at) ? WORD : OTHER;
}

static bool is_line_start(const ik_editor_t *editor, size_t at)
{
    return at == 0 || editor->text.data[at - 1] == '\n';
}

static bool is_line_end(const ik_editor_t *editor, size_t at)
{
    return at == editor->text.len || editor->text.data[at] == '\n';
}

/* An empty line counts as a word. */
static bool is_empty_line(const ik_editor_t *editor, size_t at)
{
    return is_line_start(editor, at) && is_line_end(editor, at);
}

/* --- motions ----------------------------------------------------------------------------- */

static size_t go_left(const ik_editor_t *editor, size_t at)
{
    return is_line_start(editor, at) ? at : ik_editor_text_previous(editor, at);
}

static size_t go_right(const ik_editor_t *editor, size_t at)
{
    return is_line_end(editor, at) ? at : ik_editor_text_next(editor, at);
}

static size_t first_non_blank(const ik_editor_t *editor, size_t at)
{
    at = ik_editor_text_line_start(editor, at);
    while (!is_line_end(editor, at) && class_at(editor, at, false) == BLANK) {
        at++;
    }
    return at;
}

static size_t next_start(const ik_editor_t *editor, size_t at, bool big)
{
    size_t from = at;
    class_t class = at < editor->text.len ? class_at(editor, at, big) : BLANK;
    while (class != BLANK && at < editor->text.len && class_at(editor, at, big) == class) {
        at = ik_editor_text_next(editor, at);
    }
    while (at < editor->text.len && class_at(editor, at, big) == BLANK &&
           !(at > from && is_empty_line(editor, at))) {
        at = ik_editor_text_next(editor, at);
    }
    return at;
}

static size_t next_word(const ik_editor_t *editor, size_t at)
{
    return next_start(editor, at, false);
}

static size_t next_big_word(const ik_editor_t *editor, size_t at)
{
    return next_start(editor, at, true);
}

static size_t previous_start(const ik_editor_t *editor, size_t at, bool big)
{
    do {
        at = ik_editor_text_previous(editor, at);
    } while (at > 0 && class_at(editor, at, big) == BLANK && !is_empty_line(editor, at));
    class_t class = at < editor->text.len ? class_at(editor, at, big) : BLANK;
    while (class != BLANK && at > 0) {
        size_t before = ik_editor_text_previous(editor, at);
        if (class_at(editor, before, big) != class) {
            break;
        }
        at = before;
    }
    return at;
}

static size_t previous_word(const ik_editor_t *editor, size_t at)
{
    return previous_start(editor, at, false);
}

static size_t previous_big_word(const ik_editor_t *editor, size_t at)
{
    return previous_start(editor, at, true);
}

/* The last character of the run of one class around at. */
static size_t run_end(const ik_editor_t *editor, size_t at, bool big)
{
    size_t next = ik_editor_text_next(editor, at);
    while (next < editor->text.len && class_at(editor, next, big) == class_at(editor, at, big)) {
        at = next;
        next = ik_editor_text_next(editor, at);
    }
    return at;
}

static size_t next_end(const ik_editor_t *editor, size_t at, bool big)
{
    at = ik_editor_text_next(editor, at);
    while (at < editor->text.len && class_at(editor, at, big) == BLANK) {
        at = ik_editor_text_next(editor, at);
    }
    return at == editor->text.len ? ik_editor_text_previous(editor, at) : run_end(editor, at, big);
}

static size_t word_end(const ik_editor_t *editor, size_t at)
{
    return next_end(editor, at, false);
}

static size_t big_word_end(const ik_editor_t *editor, size_t at)
{
    return next_end(editor, at, true);
}

/* The targets of an operator. */
static size_t line_below(const ik_editor_t *editor, size_t at)
{
    size_t end = ik_editor_text_line_end(editor, at);
    return end < editor->text.len ? end + 1 : at;
}

static size_t line_above(const ik_editor_t *editor, size_t at)
{
    size_t start = ik_editor_text_line_start(editor, at);
    return start > 0 ? start - 1 : at;
}

static size_t first_line(const ik_editor_t *editor, size_t at)
{
    (void)at;
    return first_non_blank(editor, 0);
}

static size_t last_line(const ik_editor_t *editor, size_t at)
{
    (void)at;
    return first_non_blank(editor, editor->text.len);
}

static size_t nth_line(const ik_editor_t *editor, int number)
{
    size_t at = 0;
    for (int i = 1; i < number; i++) {
        at = line_below(editor, at);
    }
    return first_non_blank(editor, at);
}

/* --- looking for a character in the line --------------------------------------------------- */

static bool is_found(const ik_editor_t *editor, size_t at)
{
    const ik_editor_vi_t *vi = &editor->vi;
    return ik_editor_text_piece(editor, at).len == vi->find_len &&
           memcmp(editor->text.data + at, vi->find_text, vi->find_len) == 0;
}

/* way is one of f, F, t, T. Returns at itself if the character does not follow. */
static size_t find(const ik_editor_t *editor, size_t at, char way, bool again)
{
    bool back = way == 'F' || way == 'T';
    bool before = way == 't' || way == 'T';
    size_t (*step)(const ik_editor_t *, size_t) = back ? go_left : go_right;
    size_t from = at;
    size_t last = at;
    at = step(editor, at);
    if (before && again) { /* the match beside the cursor was found already */
        last = at;
        at = step(editor, at);
    }
    for (; at != last && !is_line_end(editor, at); at = step(editor, at)) {
        if (is_found(editor, at)) {
            return before ? last : at;
        }
        last = at;
    }
    return from;
}

/* --- cutting and putting ------------------------------------------------------------------- */

static void copy(ik_editor_t *editor, size_t from, size_t to, bool lines)
{
    ik_buffer_t piece;
    if (from == to && !lines) {
        return;
    }
    ik_buffer_init(&piece, NULL, IK_BUFFER_UNLIMITED); /* bounded by the draft */
    ik_buffer_append(&piece, editor->text.data + from, to - from);
    ik_buffer_append_text(&piece, lines ? "\n" : "");
    ik_kill_ring_push(editor->kills, piece.data, piece.len);
    ik_buffer_reset(&piece);
}

static void begin_insert(ik_editor_t *editor)
{
    editor->vi.normal = false;
}

/* Applies an operator to [from, to), or to the lines around it. */
static void operate(ik_editor_t *editor, char operator, size_t from, size_t to, bool lines)
{
    if (lines) {
        from = ik_editor_text_line_start(editor, from);
        to = ik_editor_text_line_end(editor, to);
    }
    copy(editor, from, to, lines);
    if (operator== 'y') {
        editor->cursor = lines ? editor->cursor : from;
        return;
    }
    if (operator== 'd' && lines) {
        bool last = to == editor->text.len;
        from -= last && from > 0; /* the last line leaves with the newline before it */
        to += !last;
    }
    ik_editor_change(editor, from, to, NULL, 0);
    if (operator== 'c') {
        begin_insert(editor);
    } else if (lines) {
        editor->cursor = first_non_blank(editor, editor->cursor);
    }
}

/* Inserts what was cut last, count times. Lines that are put into an empty draft replace it. */
static void put(ik_editor_t *editor, bool after)
{
    size_t len;
    const char *text = ik_kill_ring_current(editor->kills, &len);
    size_t count = (size_t)editor->vi.times;
    if (text == NULL || len == 0 || len > IK_EDITOR_MAX / count) {
        return;
    }
    ik_buffer_t piece;
    ik_buffer_init(&piece, NULL, IK_BUFFER_UNLIMITED); /* bounded by the draft */
    bool lines = text[len - 1] == '\n';
    bool whole = lines && ik_editor_is_empty(editor);
    size_t at = editor->cursor;
    if (lines) {
        at = after ? ik_editor_text_line_end(editor, at) : ik_editor_text_line_start(editor, at);
    } else if (after) {
        at = go_right(editor, at);
    }
    ik_buffer_append_text(&piece, lines && after && !whole ? "\n" : "");
    for (size_t i = 0; i < count; i++) {
        ik_buffer_append(&piece, text, len);
    }
    piece.len -= lines && (after || whole); /* the line already ends */
    if (ik_editor_change(editor, at, at, piece.data, piece.len)) {
        size_t line = at + (after && !whole);
        editor->cursor =
            lines ? first_non_blank(editor, line) : ik_editor_text_previous(editor, editor->cursor);
    }
    ik_buffer_reset(&piece);
}

static void put_after(ik_editor_t *editor)
{
    put(editor, true);
}

static void put_before(ik_editor_t *editor)
{
    put(editor, false);
}

/* Replaces as many characters as the count says, if the line has them. */
static void replace(ik_editor_t *editor, const char *text, size_t len)
{
    ik_buffer_t piece;
    size_t to = editor->cursor;
    ik_buffer_init(&piece, NULL, IK_BUFFER_UNLIMITED); /* bounded by the line */
    for (int i = 0; i < editor->vi.times; i++) {
        if (is_line_end(editor, to)) {
            ik_buffer_reset(&piece);
            return;
        }
        to = ik_editor_text_next(editor, to);
        ik_sanitise_append(&piece, text, len);
    }
    if (ik_editor_change(editor, editor->cursor, to, piece.data, piece.len)) {
        editor->cursor = ik_editor_text_previous(editor, editor->cursor);
    }
    ik_buffer_reset(&piece);
}

/* --- entering insert mode, undo ------------------------------------------------------------ */

static void append(ik_editor_t *editor)
{
    editor->cursor = go_right(editor, editor->cursor);
    begin_insert(editor);
}

static void insert_at_start(ik_editor_t *editor)
{
    editor->cursor = first_non_blank(editor, editor->cursor);
    begin_insert(editor);
}

static void append_at_end(ik_editor_t *editor)
{
    editor->cursor = ik_editor_text_line_end(editor, editor->cursor);
    begin_insert(editor);
}

static void open_below(ik_editor_t *editor)
{
    size_t at = ik_editor_text_line_end(editor, editor->cursor);
    ik_editor_change(editor, at, at, "\n", 1);
    begin_insert(editor);
}

static void open_above(ik_editor_t *editor)
{
    size_t at = ik_editor_text_line_start(editor, editor->cursor);
    if (ik_editor_change(editor, at, at, "\n", 1)) {
        editor->cursor = at;
    }
    begin_insert(editor);
}

static void undo(ik_editor_t *editor)
{
    for (int i = 0; i < editor->vi.times && editor->changes.done > 0; i++) {
        ik_editor_change_undo(editor);
    }
}

static void redo(ik_editor_t *editor)
{
    for (int i = 0; i < editor->vi.times && editor->changes.done < editor->changes.count; i++) {
        ik_editor_change_redo(editor);
    }
}

static void go_up(ik_editor_t *editor)
{
    editor->effect = IK_EDITOR_UP;
}

static void go_down(ik_editor_t *editor)
{
    editor->effect = IK_EDITOR_DOWN;
}

/* --- the table --------------------------------------------------------------------------- */

enum { KEYS_MAX = 3 };

typedef size_t (*motion_fn)(const ik_editor_t *editor, size_t at);

/* What an operator applies to. */
typedef enum {
    BETWEEN, /* the text up to the target */
    THROUGH, /* the character at the target, too */
    LINES,   /* all lines from one to the other */
} reach_t;

/* Exactly one of moves, run, same, and the flags decides what a command does; a motion with run is
 * a motion only after an operator. */
typedef struct {
    const char *does;
    ik_binding_t keys[KEYS_MAX];
    const char *word; /* what follows the key, for the help */
    motion_fn moves;  /* one step, repeated by a count */
    reach_t reach;    /* of moves */
    void (*run)(ik_editor_t *editor);
    const char *same; /* the operator and the motion that it stands for */
    bool operates;    /* waits for a motion */
    bool waits;       /* for a character */
    bool finds;       /* repeats f, F, t or T */
    bool selects;     /* the word at the cursor, for an operator */
} command_t;

#define TYPED IK_BINDING_TYPED
#define AFTER(before, character)                                                                   \
    {                                                                                              \
        .kind = IK_KEY_TEXT, .code = (character), .after = (before)                                \
    }

static const command_t commands[] = {
    {"moves left", .keys = {TYPED('h'), IK_BINDING(BACKSPACE)}, .moves = go_left},
    {"moves right", .keys = {TYPED('l'), TYPED(' ')}, .moves = go_right},
    {"up, then earlier messages, as Up does", .keys = {TYPED('k')}, .run = go_up,
     .moves = line_above, .reach = LINES},
    {"down, then newer messages, as Down does", .keys = {TYPED('j')}, .run = go_down,
     .moves = line_below, .reach = LINES},
    {"moves to the start of the line", .keys = {TYPED('0')}, .moves = ik_editor_text_line_start},
    {"moves to the first character that is not blank", .keys = {TYPED('^')},
     .moves = first_non_blank},
    {"moves to the end of the line", .keys = {TYPED('$')}, .moves = ik_editor_text_line_end},
    {"moves to the next word", .keys = {TYPED('w')}, .moves = next_word},
    {"moves back to the start of a word", .keys = {TYPED('b')}, .moves = previous_word},
    {"moves to the end of a word", .keys = {TYPED('e')}, .moves = word_end, .reach = THROUGH},
    {"as w; only blanks separate words", .keys = {TYPED('W')}, .moves = next_big_word},
    {"as b; only blanks separate words", .keys = {TYPED('B')}, .moves = previous_big_word},
    {"as e; only blanks separate words", .keys = {TYPED('E')}, .moves = big_word_end,
     .reach = THROUGH},
    {"moves to the next CHARACTER of the line", .keys = {TYPED('f')}, .word = " CHARACTER",
     .waits = true},
    {"moves back to CHARACTER", .keys = {TYPED('F')}, .word = " CHARACTER", .waits = true},
    {"moves to the place before the next CHARACTER", .keys = {TYPED('t')}, .word = " CHARACTER",
     .waits = true},
    {"moves back to the place after CHARACTER", .keys = {TYPED('T')}, .word = " CHARACTER",
     .waits = true},
    {"repeats f, F, t or T", .keys = {TYPED(';')}, .finds = true},
    {"repeats f, F, t or T in the other direction", .keys = {TYPED(',')}, .finds = true},
    {"moves to the first line, or to line N after N", .keys = {AFTER('g', 'g')},
     .moves = first_line, .reach = LINES},
    {"moves to the last line, or to line N after N", .keys = {TYPED('G')}, .moves = last_line,
     .reach = LINES},
    {"begins a sequence of two keys",
     .keys = {{.kind = IK_KEY_TEXT, .code = 'g', .hidden_in_help = true}}, .waits = true},

    {"inserts before the cursor", .keys = {TYPED('i')}, .run = begin_insert},
    {"inserts after the cursor", .keys = {TYPED('a')}, .run = append},
    {"inserts at the start of the line", .keys = {TYPED('I')}, .run = insert_at_start},
    {"inserts at the end of the line", .keys = {TYPED('A')}, .run = append_at_end},
    {"starts a new line below and inserts", .keys = {TYPED('o')}, .run = open_below},
    {"starts a new line above and inserts", .keys = {TYPED('O')}, .run = open_above},

    {"cuts the character at the cursor", .keys = {TYPED('x')}, .same = "dl"},
    {"cuts the character before the cursor", .keys = {TYPED('X')}, .same = "dh"},
    {"cuts the character at the cursor and inserts", .keys = {TYPED('s')}, .same = "cl"},
    {"replaces the character at the cursor", .keys = {TYPED('r')}, .word = " CHARACTER",
     .waits = true},
    {"cuts to where MOTION leads, as in dw", .keys = {TYPED('d')}, .word = " MOTION",
     .operates = true},
    {"cuts to where MOTION leads and inserts, as in cw", .keys = {TYPED('c')}, .word = " MOTION",
     .operates = true},
    {"copies up to where MOTION leads", .keys = {TYPED('y')}, .word = " MOTION", .operates = true},
    {"as MOTION: the word at the cursor", .keys = {AFTER('i', 'w')}, .selects = true},
    {"as MOTION: the word and the blanks after it", .keys = {AFTER('a', 'w')}, .selects = true},
    {"cuts the line", .keys = {AFTER('d', 'd')}},
    {"cuts the text of the line and inserts", .keys = {AFTER('c', 'c')}},
    {"as cc does", .keys = {TYPED('S')}, .same = "cc"},
    {"copies the line", .keys = {AFTER('y', 'y')}},
    {"cuts to the end of the line", .keys = {TYPED('D')}, .same = "d$"},
    {"cuts to the end of the line and inserts", .keys = {TYPED('C')}, .same = "c$"},
    {"inserts after the cursor what was cut last", .keys = {TYPED('p')}, .run = put_after},
    {"inserts before the cursor what was cut last", .keys = {TYPED('P')}, .run = put_before},
    {"undoes the last change", .keys = {TYPED('u')}, .run = undo},
    {"redoes what was undone", .keys = {TYPED('U')}, .run = redo},
};

bool ik_editor_vi_bindings_at(size_t index, ik_binding_row_t *out)
{
    if (index >= IK_LENGTH(commands)) {
        return false;
    }
    *out = (ik_binding_row_t){
        .group = IK_BINDING_VI,
        .keys = commands[index].keys,
        .max = KEYS_MAX,
        .word = commands[index].word,
        .does = commands[index].does,
    };
    return true;
}

/* The command of a character; before is the one that must precede it, or NUL. */
static const command_t *find_command(char character, char before)
{
    for (size_t i = 0; i < IK_LENGTH(commands) && character != '\0'; i++) {
        for (size_t k = 0; k < KEYS_MAX; k++) {
            const ik_binding_t *binding = &commands[i].keys[k];
            if (binding->kind == IK_KEY_TEXT && binding->code == character &&
                binding->after == before) {
                return &commands[i];
            }
        }
    }
    return NULL;
}

/* --- running ----------------------------------------------------------------------------- */

static bool is_pending(const ik_editor_vi_t *vi)
{
    return vi->operator!= '\0' || vi->waiting != '\0' || vi->count> 0;
}

static void forget(ik_editor_vi_t *vi)
{
    vi->operator= vi->waiting = '\0';
    vi->count = vi->operator_count = 0;
}

/* Moves to the target, or applies the operator up to it. */
static void go_to(ik_editor_t *editor, size_t target, reach_t reach)
{
    bool back = target < editor->cursor;
    size_t from = back ? target : editor->cursor;
    size_t to = back ? editor->cursor : target;
    if (editor->vi.operator== '\0') {
        editor->cursor = target;
        return;
    }
    if (reach == THROUGH && !back) {
        to = ik_editor_text_next(editor, to);
    }
    operate(editor, editor->vi.operator, from, to, reach == LINES);
}

/* An operator with w ends with the line of the last word. */
static size_t stay_in_line(const ik_editor_t *editor, size_t target)
{
    size_t end = target;
    while (end > editor->cursor && class_at(editor, end - 1, false) == BLANK) {
        end--;
    }
    const char *newline = memchr(editor->text.data + end, '\n', target - end);
    return newline == NULL ? target : (size_t)(newline - editor->text.data);
}

/* cw on a word changes it without the blanks after it, as ce does. */
static void change_words(ik_editor_t *editor, bool big)
{
    size_t end = run_end(editor, editor->cursor, big);
    for (int i = 1; i < editor->vi.times; i++) {
        end = next_end(editor, end, big);
    }
    go_to(editor, end, THROUGH);
}

static void move(ik_editor_t *editor, const command_t *command)
{
    const ik_editor_vi_t *vi = &editor->vi;
    size_t at = editor->cursor;
    bool big = command->moves == next_big_word;
    bool words = vi->operator!= '\0' &&(command->moves == next_word || big);
    if (words && vi->operator== 'c' && at<editor->text.len && class_at(editor, at, big) != BLANK) {
        change_words(editor, big);
        return;
    }
    for (int i = 0; i < vi->times; i++) {
        size_t next = command->moves(editor, at);
        if (next == at) {
            break;
        }
        at = next;
    }
    bool stuck = at == editor->cursor;
    if (stuck && (command->moves == line_above || command->moves == line_below)) {
        return;
    }
    go_to(editor, words ? stay_in_line(editor, at) : at, command->reach);
}

static void search(ik_editor_t *editor, char way, bool again)
{
    size_t at = editor->cursor;
    for (int i = 0; i < editor->vi.times; i++) {
        size_t found = find(editor, at, way, again || i > 0);
        if (found == at) {
            return;
        }
        at = found;
    }
    go_to(editor, at, way == 'f' || way == 't' ? THROUGH : BETWEEN);
}

static void search_again(ik_editor_t *editor, bool reverse)
{
    char way = editor->vi.find_way;
    bool upper = way >= 'A' && way <= 'Z';
    if (way != '\0') {
        char other = (char)(upper ? way - 'A' + 'a' : way - 'a' + 'A');
        search(editor, reverse ? other : way, true);
    }
}

/* Applies the operator to the run of characters around the cursor, and what follows it. */
static void select_word(ik_editor_t *editor, bool blanks)
{
    size_t from = editor->cursor;
    size_t to = editor->cursor;
    class_t class = is_line_end(editor, from) ? BLANK : class_at(editor, from, false);
    while (!is_line_start(editor, from) &&
           class_at(editor, ik_editor_text_previous(editor, from), false) == class) {
        from = ik_editor_text_previous(editor, from);
    }
    while (!is_line_end(editor, to) && class_at(editor, to, false) == class) {
        to = ik_editor_text_next(editor, to);
    }
    while (blanks && !is_line_end(editor, to) && class_at(editor, to, false) == BLANK) {
        to++;
    }
    operate(editor, editor->vi.operator, from, to, false);
}

/* The lines from the cursor's on, as many as the count says. */
static void operate_on_lines(ik_editor_t *editor)
{
    size_t last = editor->cursor;
    for (int i = 1; i < editor->vi.times; i++) {
        last = line_below(editor, last);
    }
    operate(editor, editor->vi.operator, editor->cursor, last, true);
}

/* Handles the character that f, F, t, T or r waited for. */
static void take_argument(ik_editor_t *editor, const char *text, size_t len)
{
    ik_editor_vi_t *vi = &editor->vi;
    if (vi->waiting == 'r') {
        replace(editor, text, len);
    } else if (len <= sizeof(vi->find_text)) {
        vi->find_way = vi->waiting;
        vi->find_len = len;
        memcpy(vi->find_text, text, len);
        search(editor, vi->find_way, false);
    }
}

static void run_command(ik_editor_t *editor, const command_t *command, char character)
{
    ik_editor_vi_t *vi = &editor->vi;
    if (command->finds) {
        search_again(editor, character == ',');
    } else if (command->selects) {
        select_word(editor, vi->waiting == 'a');
    } else if (command->moves != NULL && (command->run == NULL || vi->operator!= '\0')) {
        move(editor, command);
    } else if (vi->operator!= '\0') {
        return; /* needs a motion */
    } else if (command->same != NULL) {
        vi->operator= command->same[0];
        if (command->same[1] == vi->operator) {
            operate_on_lines(editor);
        } else {
            move(editor, find_command(command->same[1], '\0'));
        }
    } else {
        command->run(editor);
    }
}

/* Whether a character waits for another one: it is kept, and that is all. */
static bool keep(ik_editor_vi_t *vi, char character, const command_t *command)
{
    bool digit = character >= '1' && character <= '9';
    bool object = vi->operator!= '\0' &&(character == 'i' || character == 'a');
    if (digit || (character == '0' && vi->count > 0)) {
        int count = 10 * vi->count + character - '0';
        vi->count = count < COUNT_MAX ? count : COUNT_MAX;
    } else if (object ||
               (command != NULL && command->waits && (character != 'r' || vi->operator== '\0'))) {
        vi->waiting = character;
    } else if (command != NULL && command->operates && vi->operator== '\0') {
        vi->operator= character;
        vi->operator_count = vi->count;
        vi->count = 0;
    } else {
        return false;
    }
    return true;
}

/* Handles one character in normal mode. */
static void run_character(ik_editor_t *editor, const char *text, size_t len)
{
    ik_editor_vi_t *vi = &editor->vi;
    char character = len == 1 ? text[0] : '\0';
    bool sequence = vi->waiting != '\0' && strchr("gia", vi->waiting) != NULL;
    const command_t *command = find_command(character, sequence ? vi->waiting : '\0');
    if (vi->waiting == '\0' && keep(vi, character, command)) {
        return;
    }
    bool counted = vi->count > 0 || vi->operator_count > 0;
    int times = (vi->count > 0 ? vi->count : 1) * (vi->operator_count > 0 ? vi->operator_count : 1);
    vi->times = times < COUNT_MAX ? times : COUNT_MAX;
    if (vi->waiting != '\0' && !sequence) {
        take_argument(editor, text, len);
    } else if (vi->operator!= '\0' && character == vi->operator&& !sequence) {
        operate_on_lines(editor);
    } else if (command != NULL && command->reach == LINES && command->run == NULL && counted) {
        go_to(editor, nth_line(editor, vi->times), LINES);
    } else if (command != NULL) {
        run_command(editor, command, character);
    }
    forget(vi);
}

/* --- interface --------------------------------------------------------------------------- */

static bool take_key(ik_editor_t *editor, const ik_key_t *key)
{
    ik_editor_vi_t *vi = &editor->vi;
    char text[4];
    unsigned held = key->modifiers & (IK_KEY_CTRL | IK_KEY_ALT);
    if (key->kind == IK_KEY_TEXT) {
        run_character(editor, key->text, key->len);
        return true;
    }
    if (key->kind == IK_KEY_CHAR && held == 0) {
        run_character(editor, text, ik_utf8_encode(text, key->code));
        return true;
    }
    if (key->kind == IK_KEY_BACKSPACE && key->modifiers == 0) {
        run_character(editor, "h", 1);
        return true;
    }
    if (key->kind == IK_KEY_PASTE) {
        editor->cursor = go_right(editor, editor->cursor);
    }
    forget(vi);
    if (key->kind == IK_KEY_ENTER && key->modifiers == 0) { /* sends, even after a backslash */
        editor->effect = IK_EDITOR_UNKNOWN;
        return true;
    }
    return false;
}

bool ik_editor_vi_key(ik_editor_t *editor, const ik_key_t *key)
{
    ik_editor_vi_t *vi = &editor->vi;
    bool leaves = key->kind == IK_KEY_ESCAPE && (!vi->normal || is_pending(vi));
    if (!vi->on || !ik_key_is_pressed(key) || (!vi->normal && !leaves)) {
        return false;
    }
    if (!leaves) {
        return take_key(editor, key);
    }
    if (!vi->normal) {
        editor->cursor = go_left(editor, editor->cursor);
    }
    vi->normal = true;
    forget(vi);
    return true;
}

void ik_editor_vi_settle(ik_editor_t *editor)
{
    size_t at = editor->cursor;
    if (editor->vi.normal && is_line_end(editor, at) && !is_line_start(editor, at)) {
        editor->cursor = ik_editor_text_previous(editor, at);
    }
}

void ik_editor_use_vi(ik_editor_t *editor)
{
    editor->vi.on = true;
}

bool ik_editor_is_normal(const ik_editor_t *editor)
{
    return editor->vi.normal;
}

void ik_editor_begin_insert(ik_editor_t *editor)
{
    editor->vi.normal = false;
    forget(&editor->vi);
}

int ik_editor_times(const ik_editor_t *editor)
{
    return editor->vi.times;
}
