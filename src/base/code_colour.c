#include "base/code_colour.h"

#include <string.h>

#include "base/code_language.h"

enum { LONGEST_WORD = 24 }; /* of those in the lists */

/* --- finding a language ------------------------------------------------------------------ */

/* Whether the word is one of a list. */
static bool is_listed(const char *list, const char *word, size_t len, bool any_case)
{
    char wanted[LONGEST_WORD + 3];
    if (len == 0 || len > LONGEST_WORD || memchr(word, ' ', len) != NULL ||
        memchr(word, '\0', len) != NULL) {
        return false;
    }
    wanted[0] = ' ';
    memcpy(wanted + 1, word, len);
    memcpy(wanted + 1 + len, " ", 2);
    return (any_case ? strcasestr(list, wanted) : strstr(list, wanted)) != NULL;
}

const ik_code_language_t *ik_code_colour_find(const char *name, size_t len)
{
    for (size_t i = 0; i < ik_code_language_count; i++) {
        if (is_listed(ik_code_languages[i].names, name, len, true)) {
            return &ik_code_languages[i];
        }
    }
    return NULL;
}

/* --- the lexer --------------------------------------------------------------------------- */

typedef struct {
    const ik_code_language_t *language;
    const char *text;
    size_t len;
    size_t at;
    size_t plain; /* where plain text begins that was not handed out yet */
    ik_code_state_t *state;
    ik_code_colour_fn on_piece;
    void *data;
} lexer_t;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_in(const char *characters, char c)
{
    return characters != NULL && c != '\0' && strchr(characters, c) != NULL;
}

static char peek(const lexer_t *lexer, size_t ahead)
{
    return lexer->at + ahead < lexer->len ? lexer->text[lexer->at + ahead] : '\0';
}

static bool stands_here(const lexer_t *lexer, const char *wanted)
{
    size_t len = wanted == NULL ? 0 : strlen(wanted);
    return len > 0 && lexer->len - lexer->at >= len &&
           memcmp(lexer->text + lexer->at, wanted, len) == 0;
}

static void hand_out(lexer_t *lexer, ik_code_class_t kind, size_t from, size_t to)
{
    if (to > from) {
        lexer->on_piece(lexer->data, kind, lexer->text + from, to - from);
    }
}

/* A piece from here to end, behind the plain text before it. */
static void take(lexer_t *lexer, ik_code_class_t kind, size_t end)
{
    hand_out(lexer, IK_CODE_PLAIN, lexer->plain, lexer->at);
    hand_out(lexer, kind, lexer->at, end);
    lexer->at = lexer->plain = end;
}

/* Where the next close at or behind from is that no backslash hides; NULL: nowhere. One that can be
 * hidden is a single character. */
static const char *find_close(const lexer_t *lexer, size_t from, const char *close, bool escapes)
{
    if (from < lexer->len && !escapes) {
        return memmem(lexer->text + from, lexer->len - from, close, strlen(close));
    }
    for (size_t at = from; at < lexer->len; at++) {
        if (lexer->text[at] == '\\') {
            at++;
        } else if (lexer->text[at] == close[0]) {
            return lexer->text + at;
        }
    }
    return NULL;
}

/* A piece that may go on over lines: what opens it ends at from. */
static void take_long(lexer_t *lexer, ik_code_class_t kind, size_t from, const char *close,
                      bool escapes)
{
    ik_code_state_t *state = lexer->state;
    const char *found = find_close(lexer, from, close, escapes);
    size_t close_len = strlen(close);
    state->kind = kind;
    state->escapes = escapes;
    if (found == NULL) {
        memmove(state->close, close, close_len + 1);
        take(lexer, kind, lexer->len);
    } else {
        state->close[0] = '\0';
        take(lexer, kind, (size_t)(found - lexer->text) + close_len);
    }
}

static size_t end_of_line(const lexer_t *lexer)
{
    const char *end = memchr(lexer->text + lexer->at, '\n', lexer->len - lexer->at);
    return end == NULL ? lexer->len : (size_t)(end - lexer->text);
}

static bool at_line_start(const lexer_t *lexer)
{
    size_t at = lexer->at;
    while (at > 0 && (lexer->text[at - 1] == ' ' || lexer->text[at - 1] == '\t')) {
        at--;
    }
    return at == 0 || lexer->text[at - 1] == '\n';
}

/* --- comments and strings ---------------------------------------------------------------- */

static bool take_comment(lexer_t *lexer)
{
    const ik_code_language_t *language = lexer->language;
    char before = lexer->at == 0 ? ' ' : lexer->text[lexer->at - 1];
    if (stands_here(lexer, language->block_open)) {
        size_t behind = lexer->at + strlen(language->block_open);
        take_long(lexer, IK_CODE_COMMENT, behind, language->block_close, false);
        return true;
    }
    if (!stands_here(lexer, language->line_comment) ||
        (language->comment_alone && !is_in(" \t\n;(", before))) {
        return false;
    }
    take(lexer, IK_CODE_COMMENT, end_of_line(lexer));
    return true;
}

static bool take_directive(lexer_t *lexer)
{
    if (!lexer->language->directives || peek(lexer, 0) != '#' || !at_line_start(lexer)) {
        return false;
    }
    size_t end = lexer->at + 1;
    while (end < lexer->len && (lexer->text[end] == ' ' || is_letter(lexer->text[end]))) {
        end++;
        if (lexer->text[end - 1] != ' ' && end < lexer->len && lexer->text[end] == ' ') {
            break;
        }
    }
    take(lexer, IK_CODE_KEYWORD, end);
    return true;
}

/* A quote that opens a character has its partner behind one character, or an escape. */
static bool is_lifetime(const lexer_t *lexer)
{
    return lexer->language->lifetimes && peek(lexer, 0) == '\'' && is_letter(peek(lexer, 1)) &&
           (unsigned char)peek(lexer, 1) < 0x80 && peek(lexer, 2) != '\'';
}

static size_t end_of_string(const lexer_t *lexer, size_t from, char quote)
{
    for (size_t i = from; i < lexer->len; i++) {
        char c = lexer->text[i];
        if (c == '\\' && lexer->language->escapes) {
            i++;
        } else if (c == quote) {
            return i + 1;
        } else if (c == '\n') {
            return i;
        }
    }
    return lexer->len;
}

static ik_code_class_t class_before(const lexer_t *lexer, size_t end, ik_code_class_t otherwise)
{
    while (lexer->language->keys && end < lexer->len && lexer->text[end] == ' ') {
        end++;
    }
    bool key = lexer->language->keys && end < lexer->len && is_in(":=", lexer->text[end]);
    return key ? IK_CODE_NAME : otherwise;
}

static bool take_string(lexer_t *lexer)
{
    char quote = peek(lexer, 0);
    char three[4] = {quote, quote, quote, '\0'};
    bool is_long = is_in(lexer->language->long_quotes, quote);
    if ((!is_long && !is_in(lexer->language->quotes, quote)) || is_lifetime(lexer)) {
        return false;
    }
    if (lexer->language->triple_quotes && stands_here(lexer, three)) {
        take_long(lexer, IK_CODE_STRING, lexer->at + 3, three, false);
    } else if (is_long) {
        three[1] = '\0';
        take_long(lexer, IK_CODE_STRING, lexer->at + 1, three, lexer->language->escapes);
    } else {
        size_t end = end_of_string(lexer, lexer->at + 1, quote);
        take(lexer, class_before(lexer, end, IK_CODE_STRING), end);
    }
    return true;
}

/* r"…", r#"…"#: as many signs behind as before. */
static bool take_raw_string(lexer_t *lexer)
{
    enum { MOST_SIGNS = 8 };
    size_t at = peek(lexer, 0) == 'b' ? 1 : 0;
    if (!lexer->language->raw_strings || peek(lexer, at) != 'r') {
        return false;
    }
    char close[MOST_SIGNS + 2] = "\"";
    size_t signs = 0;
    while (signs < MOST_SIGNS && peek(lexer, at + 1 + signs) == '#') {
        close[++signs] = '#';
    }
    if (peek(lexer, at + 1 + signs) != '"') {
        return false;
    }
    take_long(lexer, IK_CODE_STRING, lexer->at + at + 2 + signs, close, false);
    return true;
}

/* --- words and numbers ------------------------------------------------------------------- */

static bool is_word_part(const lexer_t *lexer, char c)
{
    return is_letter(c) || is_digit(c) || is_in(lexer->language->word_marks, c);
}

static bool take_word(lexer_t *lexer)
{
    if (!is_letter(peek(lexer, 0)) && !is_in(lexer->language->word_marks, peek(lexer, 0))) {
        return false;
    }
    size_t end = lexer->at + 1;
    while (end < lexer->len && is_word_part(lexer, lexer->text[end])) {
        end++;
    }
    ik_code_class_t kind = class_before(lexer, end, IK_CODE_PLAIN);
    if (is_listed(lexer->language->keywords, lexer->text + lexer->at, end - lexer->at,
                  lexer->language->any_case)) {
        kind = IK_CODE_KEYWORD;
    }
    if (kind == IK_CODE_PLAIN) {
        lexer->at = end;
    } else {
        take(lexer, kind, end);
    }
    return true;
}

/* A point belongs to a number when a digit follows, a sign when an exponent precedes. */
static bool goes_on(const lexer_t *lexer, size_t at)
{
    char c = lexer->text[at];
    char before = lexer->text[at - 1];
    char next = at + 1 < lexer->len ? lexer->text[at + 1] : '\0';
    bool exponent = (before == 'e' || before == 'E') && lexer->text[lexer->at + 1] != 'x';
    return is_digit(c) || (is_letter(c) && (unsigned char)c < 0x80) ||
           (c == '.' && is_digit(next)) || ((c == '+' || c == '-') && exponent && is_digit(next)) ||
           (c == '%' && before != '%');
}

static bool take_number(lexer_t *lexer)
{
    if (!is_digit(peek(lexer, 0))) {
        return false;
    }
    size_t end = lexer->at + 1;
    while (end < lexer->len && goes_on(lexer, end)) {
        end++;
    }
    take(lexer, IK_CODE_NUMBER, end);
    return true;
}

/* --- markup ------------------------------------------------------------------------------ */

/* <name, </name or >, and what is in a tag; text between tags is plain. */
static bool take_markup(lexer_t *lexer)
{
    char c = peek(lexer, 0);
    size_t name = lexer->at + (peek(lexer, 1) == '/' || peek(lexer, 1) == '!' ? 2 : 1);
    if (c == '<' && name < lexer->len && is_letter(lexer->text[name])) {
        while (name < lexer->len && is_word_part(lexer, lexer->text[name])) {
            name++;
        }
        take(lexer, IK_CODE_KEYWORD, name);
        lexer->state->in_tag = true;
    } else if (lexer->state->in_tag && (c == '>' || (c == '/' && peek(lexer, 1) == '>'))) {
        take(lexer, IK_CODE_KEYWORD, lexer->at + (c == '>' ? 1 : 2));
        lexer->state->in_tag = false;
    } else if (!lexer->state->in_tag || !take_string(lexer)) {
        lexer->at++;
    }
    return true;
}

/* --- the whole --------------------------------------------------------------------------- */

static void step(lexer_t *lexer)
{
    if (take_comment(lexer)) {
        return;
    }
    if (lexer->language->markup) {
        take_markup(lexer);
    } else if (!take_directive(lexer) && !take_string(lexer) && !take_raw_string(lexer) &&
               !take_word(lexer) && !take_number(lexer)) {
        lexer->at++;
    }
}

void ik_code_colour_line(const ik_code_language_t *language, ik_code_state_t *state,
                         const char *line, size_t len, ik_code_colour_fn on_piece, void *data)
{
    lexer_t lexer = {.language = language,
                     .text = line,
                     .len = len,
                     .state = state,
                     .on_piece = on_piece,
                     .data = data};
    if (language != NULL && state->close[0] != '\0') {
        take_long(&lexer, state->kind, 0, state->close, state->escapes);
    }
    while (language != NULL && lexer.at < len) {
        step(&lexer);
    }
    hand_out(&lexer, IK_CODE_PLAIN, lexer.plain, len);
}

void ik_code_colour_run(const ik_code_language_t *language, const char *text, size_t len,
                        ik_code_colour_fn on_piece, void *data)
{
    ik_code_state_t state = {0};
    ik_code_colour_line(language, &state, text, len, on_piece, data);
}
