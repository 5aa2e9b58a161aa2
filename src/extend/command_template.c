#include "extend/command_template.h"

#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "extend/argument_words.h"

typedef struct {
    ik_template_t *out;
    const char *typed; /* without blanks around it */
    char **words;
    size_t word_count;
    bool used;   /* a placeholder was met */
    size_t size; /* bytes of the values of placeholders so far */
} filling_t;

enum { VALUES_MAX = 16 * 1024 * 1024 }; /* bytes */

/* What a placeholder stands for. */
typedef struct {
    size_t len;  /* in the template; 0: there is none */
    bool all;    /* $ARGUMENTS or $@ */
    size_t word; /* from 0; beyond the last word: missing */
} placeholder_t;

static placeholder_t find_placeholder(const char *at, const char *end)
{
    static const char name[] = "$ARGUMENTS";
    enum { NAME = sizeof(name) - 1, TOO_MANY = 1000000 };
    size_t len = (size_t)(end - at);
    placeholder_t found = {0};
    if (len >= 2 && at[0] == '$' && at[1] == '@') {
        return (placeholder_t){.len = 2, .all = true};
    }
    if (len >= NAME && memcmp(at, name, NAME) == 0 &&
        (len == NAME || !(isalnum((unsigned char)at[NAME]) || at[NAME] == '_'))) {
        return (placeholder_t){.len = NAME, .all = true};
    }
    if (len < 2 || at[0] != '$' || !isdigit((unsigned char)at[1])) {
        return found;
    }
    size_t number = 0;
    for (found.len = 1; found.len < len && isdigit((unsigned char)at[found.len]); found.len++) {
        number = number > TOO_MANY ? number : number * 10 + (size_t)(at[found.len] - '0');
    }
    found.word = number == 0 ? TOO_MANY : number - 1;
    return found;
}

/* Counts a value that is about to be inserted; false: there is no room for it, and filling fails
 * at its end. A short template with many placeholders could fill the memory. */
static bool has_room(filling_t *filling, const char *value)
{
    filling->size += strlen(value);
    return filling->size <= VALUES_MAX;
}

/* The value of a placeholder outside of shell commands; NULL: the word is missing. */
static const char *value_of(filling_t *filling, const placeholder_t *placeholder)
{
    const char *value = placeholder->all ? filling->typed
                        : placeholder->word < filling->word_count
                            ? filling->words[placeholder->word]
                            : NULL;
    filling->used = true;
    return value == NULL || has_room(filling, value) ? value : "";
}

static void add_part(filling_t *filling, ik_template_kind_t kind, ik_buffer_t *text)
{
    ik_template_t *out = filling->out;
    if (text->len == 0 && kind == IK_TEMPLATE_TEXT) {
        ik_buffer_reset(text);
        return;
    }
    ik_buffer_append_text(text, "");
    size_t len = text->len;
    out->parts = ik_resize_array(out, out->parts, ik_template_part_t, out->count + 1);
    out->parts[out->count++] =
        (ik_template_part_t){.kind = kind, .text = ik_buffer_take(out, text), .len = len};
}

/* --- shell commands ---------------------------------------------------------------------- */

/*
 * A command whose quotes can be followed exactly gets its arguments as quoted text: it then reads
 * as it runs, in questions and for rules. Any other command, with substitutions for example, gets
 * them as positional parameters: the shell never parses the value of a parameter as code, even if
 * the quotes around it were misjudged here. Expressions are the exception: see check_expressions.
 */
typedef enum { QUOTE_NONE, QUOTE_SINGLE, QUOTE_DOUBLE } quote_t;
enum { DEPTH_MAX = 16 };

typedef struct {
    quote_t quote[DEPTH_MAX];   /* in each $(…) that is open */
    bool arithmetic[DEPTH_MAX]; /* it is $((…)) */
    int parentheses[DEPTH_MAX]; /* inside it */
    int depth;
    const char *here; /* the word that ends the here-document; NULL: there is none */
    size_t here_len;  /* of the word */
    bool here_quoted; /* the shell expands nothing in it */
    bool here_tabs;   /* its lines may begin with tabs, as may the word */
    bool in_here;     /* its first line has begun */
    bool in_comment;  /* up to the end of the line; quotes mean nothing in it */
} quoting_t;

static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Whether a placeholder directly follows a $ or $NAME: its text would become part of the name, or
 * of an expansion that the $ begins. */
static bool would_join(const char *after_dollar, const char *end)
{
    while (after_dollar < end && is_name_byte(*after_dollar)) {
        after_dollar++;
    }
    return find_placeholder(after_dollar, end).len > 0;
}

static bool starts_comment(const char *command, const char *at)
{
    return *at == '#' && (at == command || strchr(" \t\n;&|()<>", at[-1]) != NULL);
}

static bool follows_exactly(const char *command, size_t len)
{
    const char *end = command + len;
    quote_t quote = QUOTE_NONE;
    for (const char *at = command; at < end; at++) {
        placeholder_t placeholder = find_placeholder(at, end);
        if (placeholder.len > 0) {
            at += placeholder.len - 1;
            if (quote == QUOTE_NONE && at + 1 < end && strchr("#<(", at[1]) != NULL) {
                return false; /* without the argument it might begin a comment, "<<" or "((" */
            }
            continue;
        }
        at += at[0] == '\\' && at + 1 < end && at[1] == '$'; /* the shell gets only the $ */
        char next = at + 1 < end ? at[1] : '\0';
        if (quote == QUOTE_SINGLE) {
            quote = *at == '\'' ? QUOTE_NONE : quote;
        } else if (*at == '\\') {
            at++;
        } else if (*at == '$' && (next == '(' || next == '{' || next == '\'' || next == '"' ||
                                  next == '[' || would_join(at + 1, end))) {
            return false;
        } else if (*at == '"') {
            quote = quote == QUOTE_NONE ? QUOTE_DOUBLE : QUOTE_NONE;
        } else if (quote == QUOTE_NONE && *at == '\'') {
            quote = QUOTE_SINGLE;
        } else if (quote == QUOTE_NONE &&
                   (starts_comment(command, at) || (*at == '<' && next == '<') ||
                    (*at == '(' && next == '('))) {
            return false;
        }
    }
    return quote == QUOTE_NONE;
}

/* Appends a value so that the shell reads exactly it, as part of a word. */
static void append_quoted(ik_buffer_t *out, const char *value, quote_t quote)
{
    ik_buffer_append_text(out, quote == QUOTE_NONE ? "'" : "");
    for (; *value != '\0'; value++) {
        if (quote == QUOTE_DOUBLE && strchr("$`\"\\", *value) != NULL) {
            ik_buffer_append_byte(out, '\\');
            ik_buffer_append_byte(out, *value);
        } else if (quote != QUOTE_DOUBLE && *value == '\'') {
            ik_buffer_append_text(out, "'\\''");
        } else {
            ik_buffer_append_byte(out, *value);
        }
    }
    ik_buffer_append_text(out, quote == QUOTE_NONE ? "'" : "");
}

/* Follows the quotes over the byte at `at`; returns how many bytes were taken. */
static size_t follow(quoting_t *quoting, const char *at, const char *end)
{
    int top = quoting->depth;
    quote_t *quote = &quoting->quote[top];
    size_t left = (size_t)(end - at);
    if (*quote == QUOTE_SINGLE) {
        *quote = *at == '\'' ? QUOTE_NONE : QUOTE_SINGLE;
    } else if (*at == '\\' && left > 1) {
        return 2;
    } else if (*at == '$' && left > 1 && at[1] == '(' && top + 1 < DEPTH_MAX) {
        bool arithmetic = left > 2 && at[2] == '(';
        quoting->depth++;
        quoting->quote[top + 1] = QUOTE_NONE;
        quoting->arithmetic[top + 1] = arithmetic;
        quoting->parentheses[top + 1] = arithmetic ? 1 : 0;
        return arithmetic ? 3 : 2;
    } else if (*at == '"') {
        *quote = *quote == QUOTE_DOUBLE ? QUOTE_NONE : QUOTE_DOUBLE;
    } else if (*quote == QUOTE_NONE && *at == '\'') {
        *quote = QUOTE_SINGLE;
    } else if (*quote == QUOTE_NONE && *at == '(') {
        quoting->parentheses[top]++;
    } else if (*quote == QUOTE_NONE && *at == ')') {
        if (quoting->parentheses[top] > 0) {
            quoting->parentheses[top]--;
        } else if (top > 0) {
            quoting->depth--;
        }
    }
    return 1;
}

/* Notes the here-document that "<<" begins, if there is one. Only one of a line is followed. */
static void note_here(quoting_t *quoting, const char *at, const char *end)
{
    size_t left = (size_t)(end - at);
    bool begins = quoting->here == NULL && quoting->quote[quoting->depth] == QUOTE_NONE &&
                  left > 2 && at[0] == '<' && at[1] == '<' && at[2] != '<';
    if (!begins) {
        return;
    }
    at += 2;
    quoting->here_tabs = *at == '-';
    at += quoting->here_tabs;
    while (at < end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    quoting->here_quoted = at < end && strchr("'\"\\", *at) != NULL;
    const char *stop = " \t\n;&|()<>";
    if (quoting->here_quoted) {
        stop = *at == '\'' ? "'" : *at == '"' ? "\"" : stop;
        at++;
    }
    size_t len = 0;
    while (at + len < end && strchr(stop, at[len]) == NULL) {
        len++;
    }
    quoting->here = len == 0 ? NULL : at;
    quoting->here_len = len;
}

/* Whether the line at `at` is the word that ends the here-document. */
static bool ends_here(const quoting_t *quoting, const char *at, const char *end)
{
    while (quoting->here_tabs && at < end && *at == '\t') {
        at++;
    }
    size_t left = (size_t)(end - at);
    return left >= quoting->here_len && memcmp(at, quoting->here, quoting->here_len) == 0 &&
           (left == quoting->here_len || at[quoting->here_len] == '\n');
}

/* Follows comments and here-documents as well; returns how many bytes were taken. */
static size_t follow_text(quoting_t *quoting, const char *command, const char *at, const char *end)
{
    if (quoting->in_here) {
        return at[0] == '\\' && at + 1 < end && at[1] == '\\' ? 2 : 1;
    }
    if (quoting->quote[quoting->depth] == QUOTE_NONE) {
        quoting->in_comment = *at != '\n' && (quoting->in_comment || starts_comment(command, at));
    }
    if (quoting->in_comment) {
        return 1;
    }
    if (at == command || at[-1] != '<') {
        note_here(quoting, at, end);
    }
    quoting->in_here = quoting->here != NULL && *at == '\n';
    return follow(quoting, at, end);
}

static bool in_arithmetic(const quoting_t *quoting)
{
    for (int i = 1; i <= quoting->depth; i++) {
        if (quoting->arithmetic[i]) {
            return true;
        }
    }
    return false;
}

/* Appends one parameter of the shell, number from 1, so that it expands to exactly its value. */
static void append_parameter(ik_buffer_t *out, size_t number, const quoting_t *quoting)
{
    quote_t quote = quoting->quote[quoting->depth];
    bool bare = quote == QUOTE_DOUBLE || quoting->in_here || in_arithmetic(quoting);
    const char *format = quote == QUOTE_SINGLE ? "'\"${%zu}\"'" : bare ? "${%zu}" : "\"${%zu}\"";
    ik_buffer_append_format(out, format, number);
}

/* A shell evaluates variables, and some shells even commands, in the value of a parameter inside of
 * $((…)). */
static res_t check_arithmetic(const char *value)
{
    size_t sign = value[0] == '-' || value[0] == '+' ? 1 : 0;
    if (value[sign] == '\0' || value[sign + strspn(value + sign, "0123456789")] != '\0') {
        return ERR(INVALID, "'%.100s' is not a number, and the command computes with it", value);
    }
    return OK;
}

/* Appends what a placeholder stands for. */
static res_t append_argument(filling_t *filling, ik_buffer_t *out, const placeholder_t *placeholder,
                             const quoting_t *quoting, bool exact)
{
    quote_t quote = quoting->quote[quoting->depth];
    bool each = placeholder->all && quote == QUOTE_NONE && !quoting->in_here;
    const char *value = value_of(filling, placeholder);
    if (quoting->in_here && quoting->here_quoted) {
        return ERR(INVALID, "An argument cannot be used in a here-document whose word is quoted");
    }
    if (value != NULL && !each && in_arithmetic(quoting)) {
        TRY(check_arithmetic(value));
    }
    bool fits = filling->size <= VALUES_MAX;
    for (size_t i = 0; each && fits && i < filling->word_count; i++) {
        if (in_arithmetic(quoting)) {
            TRY(check_arithmetic(filling->words[i]));
        }
        ik_buffer_append_text(out, i == 0 ? "" : " ");
        if (exact) {
            append_quoted(out, filling->words[i], QUOTE_NONE);
        } else {
            append_parameter(out, i + 1, quoting);
        }
    }
    bool missing = each ? filling->word_count == 0 : value == NULL;
    if (missing && !exact && quote != QUOTE_SINGLE) {
        /* adds no word, and separates a $NAME before it from what follows */
        ik_buffer_append_format(out, "${%zu-}", filling->word_count + 2);
    }
    if (each || missing) {
        return OK;
    }
    if (exact) {
        append_quoted(out, value, quote);
    } else {
        /* the parameter after the words is the whole of what was typed */
        append_parameter(out, placeholder->all ? filling->word_count + 1 : placeholder->word + 1,
                         quoting);
    }
    return OK;
}

/* Whether the text contains the word, not as part of a longer one. */
static bool has_word(const char *text, const char *word)
{
    size_t len = strlen(word);
    const char *at = text;
    while ((at = strstr(at, word)) != NULL) {
        bool alone = (at == text || !is_name_byte(at[-1]) || !is_name_byte(word[0])) &&
                     (!is_name_byte(at[len]) || !is_name_byte(word[len - 1]));
        if (alone) {
            return true;
        }
        at++;
    }
    return false;
}

/*
 * bash evaluates values as expressions in many places, and runs the commands in the subscript of
 * an array there: a[$(id)]. The command may pass an argument on to such a place through a
 * variable, or add the brackets, so that the whole of it counts. An argument without "$" and "`"
 * holds no command.
 */
static res_t check_expressions(const filling_t *filling, const char *source, size_t len)
{
    static const char *const evaluators[] = {
        "((",      "[[",      "$[",    "${",    "=(",     "let",     "read",   "-v",      "wait",
        "declare", "typeset", "local", "unset", "RANDOM", "SRANDOM", "OPTIND", "HISTCMD",
    };
    char *command = ik_strndup(filling->out, source, len);
    const char *found = NULL;
    bool has_bracket = strchr(command, '[') != NULL || strchr(filling->typed, '[') != NULL;
    if (strpbrk(filling->typed, "$`") != NULL && has_bracket) {
        for (size_t i = 0; found == NULL && i < sizeof(evaluators) / sizeof(evaluators[0]); i++) {
            found = has_word(command, evaluators[i]) ? evaluators[i] : NULL;
        }
        for (size_t i = 1; found == NULL && i < len; i++) {
            found = command[i] == '[' && is_name_byte(command[i - 1]) ? "NAME[" : NULL;
        }
    }
    talloc_free(command);
    return found == NULL ? OK
                         : ERR(INVALID,
                               "An argument with $ or ` cannot be used in a command with %s, where "
                               "some shells would run it",
                               found);
}

static res_t add_shell(filling_t *filling, const char *command, size_t len)
{
    const char *end = command + len;
    bool exact = follows_exactly(command, len);
    bool before = filling->used;
    quoting_t quoting = {0};
    ik_buffer_t text;
    ik_buffer_init(&text, filling->out,
                   IK_BUFFER_UNLIMITED); /* bounded by the template, VALUES_MAX */
    filling->used = false;
    for (const char *at = command; at < end;) {
        placeholder_t placeholder = find_placeholder(at, end);
        if (quoting.in_here && at[-1] == '\n' && ends_here(&quoting, at, end)) {
            quoting.in_here = false;
            quoting.here = NULL;
        }
        if (placeholder.len > 0) {
            TRY(append_argument(filling, &text, &placeholder, &quoting, exact));
            at += placeholder.len;
            continue;
        }
        at += at[0] == '\\' && at + 1 < end && at[1] == '$';
        bool expands = quoting.in_here || quoting.quote[quoting.depth] != QUOTE_SINGLE;
        if (*at == '$' && expands && find_placeholder(at + 1, end).len > 0) {
            ik_buffer_append_byte(&text, '\\'); /* or the $ would begin an expansion */
        }
        size_t taken = follow_text(&quoting, command, at, end);
        ik_buffer_append(&text, at, taken);
        at += taken;
    }
    if (filling->used) {
        TRY(check_expressions(filling, command, len));
    }
    if (!exact && filling->used) {
        ik_buffer_t whole;
        ik_buffer_init(&whole, filling->out, IK_BUFFER_UNLIMITED); /* as above */
        ik_buffer_append_text(&whole, "set --");
        bool fits = has_room(filling, filling->typed) && has_room(filling, filling->typed);
        for (size_t i = 0; fits && i <= filling->word_count; i++) {
            ik_buffer_append_byte(&whole, ' ');
            append_quoted(&whole, i < filling->word_count ? filling->words[i] : filling->typed,
                          QUOTE_NONE);
        }
        ik_buffer_append_byte(&whole, '\n');
        ik_buffer_append(&whole, text.data, text.len);
        ik_buffer_reset(&text);
        text = whole;
    }
    filling->used = filling->used || before;
    add_part(filling, IK_TEMPLATE_SHELL, &text);
    return OK;
}

/* --- the template ------------------------------------------------------------------------ */

/* Reads "@path" up to the next blank and adds it. Returns the position after it. */
static const char *add_file(filling_t *filling, const char *at, const char *end)
{
    ik_buffer_t path;
    ik_buffer_init(&path, filling->out,
                   IK_BUFFER_UNLIMITED); /* bounded by the template, VALUES_MAX */
    at++;
    while (at < end && strchr(" \t\r\n", *at) == NULL) {
        placeholder_t placeholder = find_placeholder(at, end);
        if (placeholder.len > 0) {
            const char *value = value_of(filling, &placeholder);
            ik_buffer_append_text(&path, value == NULL ? "" : value);
            at += placeholder.len;
        } else {
            at += *at == '\\' && at + 1 < end && at[1] == '$';
            ik_buffer_append_byte(&path, *at++);
        }
    }
    add_part(filling, IK_TEMPLATE_FILE, &path);
    return at;
}

static res_t fill(filling_t *filling, const char *body, size_t len)
{
    const char *end = body + len;
    ik_buffer_t text;
    ik_buffer_init(&text, filling->out,
                   IK_BUFFER_UNLIMITED); /* bounded by the template, VALUES_MAX */
    for (const char *at = body; at < end;) {
        size_t left = (size_t)(end - at);
        bool starts_word = at == body || strchr(" \t\r\n", at[-1]) != NULL;
        const char *close =
            left > 2 && at[0] == '!' && at[1] == '`' ? memchr(at + 2, '`', left - 2) : NULL;
        placeholder_t placeholder = find_placeholder(at, end);
        if (placeholder.len > 0) {
            const char *value = value_of(filling, &placeholder);
            ik_buffer_append_text(&text, value == NULL ? "" : value);
            at += placeholder.len;
        } else if (left > 1 && at[0] == '\\' && at[1] == '$') {
            ik_buffer_append_byte(&text, '$');
            at += 2;
        } else if (close != NULL && close > at + 2) {
            add_part(filling, IK_TEMPLATE_TEXT, &text);
            TRY(add_shell(filling, at + 2, (size_t)(close - at - 2)));
            at = close + 1;
        } else if (starts_word && *at == '@' && left > 1 && strchr(" \t\r\n@", at[1]) == NULL) {
            add_part(filling, IK_TEMPLATE_TEXT, &text);
            at = add_file(filling, at, end);
        } else {
            ik_buffer_append_byte(&text, *at++);
        }
    }
    if (!filling->used && *filling->typed != '\0') {
        ik_buffer_append_text(&text, "\n\n");
        ik_buffer_append_text(&text, filling->typed);
    }
    add_part(filling, IK_TEMPLATE_TEXT, &text);
    return OK;
}

res_t ik_command_template_fill(const void *ctx, const char *body, size_t len, const char *arguments,
                               ik_template_t **out)
{
    static const char blanks[] = " \t\r\n";
    filling_t filling = {.out = ik_new(ctx, ik_template_t)};
    arguments += strspn(arguments, blanks);
    size_t typed = strlen(arguments);
    while (typed > 0 && strchr(blanks, arguments[typed - 1]) != NULL) {
        typed--;
    }
    while (len > 0 && strchr(blanks, *body) != NULL) {
        body++;
        len--;
    }
    while (len > 0 && strchr(blanks, body[len - 1]) != NULL) {
        len--;
    }
    filling.typed = ik_strndup(filling.out, arguments, typed);
    filling.words = ik_argument_words_split(filling.out, filling.typed, &filling.word_count);
    res_t filled = fill(&filling, body, len);
    if (is_ok(&filled) && filling.size > VALUES_MAX) {
        filled = ERR(LIMIT, "With these arguments its text is longer than 16 MB");
    }
    if (is_err(&filled)) {
        talloc_free(filling.out);
        return filled;
    }
    *out = filling.out;
    return OK;
}
