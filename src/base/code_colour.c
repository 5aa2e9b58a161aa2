#include "base/code_colour.h"

#include <string.h>

#include "base/code_language.h"

enum { LISTED_MAX = 24 }; /* bytes of a word in the lists */

/* --- finding a language ------------------------------------------------------------------ */

static bool is_listed(const char *list, const char *word, size_t len, bool any_case)
{
    char wanted[LISTED_MAX + 3];
    if (len == 0 || len > LISTED_MAX || memchr(word, ' ', len) != NULL ||
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
    size_t plain; /* start of the plain text not yet emitted */
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

static bool starts_with(const lexer_t *lexer, const char *wanted)
{
    size_t len = wanted == NULL ? 0 : strlen(wanted);
    return len > 0 && lexer->len - lexer->at >= len &&
           memcmp(lexer->text + lexer->at, wanted, len) == 0;
}

static void emit(lexer_t *lexer, ik_code_class_t kind, size_t from, size_t to)
{
    if (to > from) {
        lexer->on_piece(lexer->data, kind, lexer->text + from, to - from);
    }
}

/* Emits the pending plain text, then a piece up to end. */
static void take(lexer_t *lexer, ik_code_class_t kind, size_t end)
{
    emit(lexer, IK_CODE_PLAIN, lexer->plain, lexer->at);
    emit(lexer, kind, lexer->at, end);
    lexer->at = lexer->plain = end;
}

/* Finds the next unescaped close, or NULL. If escapes is set, close is one character. */
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

/* Takes a piece that may span lines. Its content starts at from. */
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

/* --- comments and strings ---------------------------------------------------------------- */

static bool take_comment(lexer_t *lexer)
{
    const ik_code_language_t *language = lexer->language;
    char before = lexer->at == 0 ? ' ' : lexer->text[lexer->at - 1];
    if (starts_with(lexer, language->block_open)) {
        size_t content = lexer->at + strlen(language->block_open);
        take_long(lexer, IK_CODE_COMMENT, content, language->block_close, false);
        return true;
    }
    if (!starts_with(lexer, language->line_comment) ||
        (language->comment_alone && !is_in(" \t\n;(", before))) {
        return false;
    }
    const char *end = memchr(lexer->text + lexer->at, '\n', lexer->len - lexer->at);
    take(lexer, IK_CODE_COMMENT, end == NULL ? lexer->len : (size_t)(end - lexer->text));
    return true;
}

static bool take_directive(lexer_t *lexer)
{
    if (!lexer->language->directives || peek(lexer, 0) != '#') {
        return false;
    }
    size_t start = lexer->at;
    while (start > 0 && (lexer->text[start - 1] == ' ' || lexer->text[start - 1] == '\t')) {
        start--;
    }
    if (start > 0 && lexer->text[start - 1] != '\n') {
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

/* In Rust, 'a is a lifetime unless a second quote follows the letter. */
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
    if (lexer->language->triple_quotes && starts_with(lexer, three)) {
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

/* r"…", r#"…"#: the same number of # on both sides. */
static bool take_raw_string(lexer_t *lexer)
{
    enum { HASHES_MAX = 8 };
    size_t at = peek(lexer, 0) == 'b' ? 1 : 0;
    if (!lexer->language->raw_strings || peek(lexer, at) != 'r') {
        return false;
    }
    char close[HASHES_MAX + 2] = "\"";
    size_t hashes = 0;
    while (hashes < HASHES_MAX && peek(lexer, at + 1 + hashes) == '#') {
        close[++hashes] = '#';
    }
    if (peek(lexer, at + 1 + hashes) != '"') {
        return false;
    }
    take_long(lexer, IK_CODE_STRING, lexer->at + at + 2 + hashes, close, false);
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

/* A point belongs to a number if a digit follows it, a sign if it starts an exponent. */
static bool continues_number(const lexer_t *lexer, size_t at)
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
    while (end < lexer->len && continues_number(lexer, end)) {
        end++;
    }
    take(lexer, IK_CODE_NUMBER, end);
    return true;
}

/* --- markup ------------------------------------------------------------------------------ */

/* Takes <name, </name, > or a string in a tag, or skips a character. Text between tags is plain. */
static void take_markup(lexer_t *lexer)
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
}

/* --- interface --------------------------------------------------------------------------- */

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
        if (take_comment(&lexer)) {
            continue;
        }
        if (language->markup) {
            take_markup(&lexer);
        } else if (!take_directive(&lexer) && !take_string(&lexer) && !take_raw_string(&lexer) &&
                   !take_word(&lexer) && !take_number(&lexer)) {
            lexer.at++;
        }
    }
    emit(&lexer, IK_CODE_PLAIN, lexer.plain, len);
}

void ik_code_colour_run(const ik_code_language_t *language, const char *text, size_t len,
                        ik_code_colour_fn on_piece, void *data)
{
    ik_code_state_t state = {0};
    ik_code_colour_line(language, &state, text, len, on_piece, data);
}
