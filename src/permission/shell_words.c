#include "permission/shell_words.h"

#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/utf8.h"

enum { DEPTH_MAX = 50 }; /* of lists within each other; deeper ones are read as one list */

/* A here-document whose body follows the current line. */
typedef struct {
    char *end;   /* the line that ends it */
    bool tabs;   /* may stand before that line */
    bool quoted; /* that word was: a backslash does not join lines */
} document_t;

/* How a list is read. */
enum {
    IN_DOCUMENT = 1 << 0, /* it is the body of a here-document */
    AS_BASH = 1 << 1,     /* with $'…', $"…" and NAME[…]=…, which not every shell has */
};

/* What the next word is. */
typedef enum { WORD, TARGET, DOCUMENT, TABBED_DOCUMENT } role_t;

/* Where in "case SUBJECT in PATTERN) list;; esac" the next word is. */
typedef enum { CASE_LIST, CASE_SUBJECT, CASE_IN, CASE_PATTERN } case_part_t;

/* A command list that is being read: the whole text, what is between $( and ) or between
 * backquotes, or the body of a here-document. */
typedef struct {
    ik_shell_words_t *out;
    size_t command; /* index of the current one */
    size_t before;  /* the command before &>, which goes on in some shells; else as command */
    unsigned how;
    int brackets; /* open ones, of NAME[…]= */
    ik_buffer_t word;
    bool in_word; /* a quoted empty word counts */
    bool mixed;   /* the word is quoted or expanded in part, so it is neither a number nor { */
    role_t role;
    bool at_start;     /* a reserved word would be one here */
    case_part_t part;  /* of the innermost case that is not over */
    size_t case_depth; /* cases within each other */
    document_t *documents;
    size_t document_count;
} splitter_t;

static void add_command(splitter_t *splitter)
{
    ik_shell_words_t *out = splitter->out;
    out->commands = ik_resize_array(out, out->commands, ik_shell_command_words_t, out->count + 1);
    out->commands[out->count] = (ik_shell_command_words_t){0};
    splitter->command = splitter->before = out->count++;
    splitter->at_start = true;
}

static void add_word(ik_shell_words_t *out, size_t index, char *word)
{
    ik_shell_command_words_t *command = &out->commands[index];
    command->words = ik_resize_array(out, command->words, char *, command->count + 1);
    command->words[command->count++] = word;
}

/* Reserved words behind which a command begins, in every shell. */
static bool begins_command(const char *word)
{
    static const char *const words[] = {"if",    "then",  "else", "elif", "do",
                                        "while", "until", "{",    "!"};
    for (size_t i = 0; i < IK_LENGTH(words); i++) {
        if (strcmp(word, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Follows the parts of case: the ) behind a pattern does not end a list. */
static void follow_case(splitter_t *splitter, const char *word)
{
    bool reserved = splitter->at_start && !splitter->mixed;
    bool ends = !splitter->mixed && strcmp(word, "esac") == 0;
    splitter->at_start = reserved && begins_command(word);
    if (splitter->part == CASE_SUBJECT) {
        splitter->part = CASE_IN;
    } else if (splitter->part == CASE_IN && !splitter->mixed && strcmp(word, "in") == 0) {
        splitter->part = CASE_PATTERN;
    } else if (splitter->case_depth > 0 && ((ends && reserved) || splitter->part == CASE_IN ||
                                            (ends && splitter->part == CASE_PATTERN))) {
        splitter->case_depth--;
        splitter->part = CASE_LIST;
    } else if (splitter->part == CASE_LIST && reserved && strcmp(word, "case") == 0) {
        splitter->case_depth++;
        splitter->part = CASE_SUBJECT;
    }
}

static void end_word(splitter_t *splitter)
{
    ik_shell_words_t *out = splitter->out;
    if (!splitter->in_word) {
        return;
    }
    char *word =
        ik_strndup(out, splitter->word.len == 0 ? "" : splitter->word.data, splitter->word.len);
    bool brace = !splitter->mixed && strcmp(word, "{") == 0;
    if (splitter->role == WORD) {
        follow_case(splitter, word);
    }
    if (splitter->role == DOCUMENT || splitter->role == TABBED_DOCUMENT) {
        splitter->documents =
            ik_resize_array(out, splitter->documents, document_t, splitter->document_count + 1);
        splitter->documents[splitter->document_count++] = (document_t){
            .end = word, .tabs = splitter->role == TABBED_DOCUMENT, .quoted = splitter->mixed};
    } else if (splitter->role == WORD && brace && out->commands[splitter->command].count > 0) {
        add_command(splitter); /* the body of a function */
    } else if (splitter->role == WORD) {
        add_word(out, splitter->command, word);
        if (splitter->before != splitter->command) {
            add_word(out, splitter->before, word);
        }
    }
    splitter->word.len = 0;
    splitter->in_word = splitter->mixed = false;
    splitter->role = WORD;
}

static void begin_command(splitter_t *splitter)
{
    end_word(splitter);
    splitter->role = WORD;
    add_command(splitter);
}

static void add_byte(splitter_t *splitter, char byte)
{
    ik_buffer_append_byte(&splitter->word, byte);
    splitter->in_word = true;
}

/* --- quotes ------------------------------------------------------------------------------ */

/* Reads digits up to a number of them, and returns the position after them. */
static size_t read_digits(const char *text, size_t len, size_t i, unsigned base, size_t most,
                          uint32_t *value)
{
    static const char digits[] = "0123456789abcdef";
    const char *digit;
    *value = 0;
    for (; most > 0 && i < len && text[i] != '\0'; most--, i++) {
        digit = memchr(digits, tolower((unsigned char)text[i]), base);
        if (digit == NULL) {
            break;
        }
        *value = *value * base + (uint32_t)(digit - digits);
    }
    return i;
}

/* Reads what follows a backslash at position i into bytes, and returns the position after it. */
static size_t read_escape(const char *text, size_t len, size_t i, char bytes[5], size_t *count)
{
    static const char names[] = "abeEfnrtv\\'\"?";
    static const char values[] = "\a\b\x1b\x1b\f\n\r\t\v\\'\"?";
    char c = text[i];
    const char *name = c == '\0' ? NULL : strchr(names, c);
    bool braced = c == 'x' && i + 1 < len && text[i + 1] == '{';
    bool octal = c >= '0' && c <= '7';
    size_t digits = octal ? i : braced ? i + 2 : i + 1;
    size_t most = octal ? 3 : braced ? len : c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t code;
    size_t end = read_digits(text, len, digits, octal ? 8 : 16, most, &code);
    *count = 1;
    if (end > digits) {
        bool unicode = c == 'u' || c == 'U';
        bytes[0] = (char)code;
        *count = unicode ? ik_utf8_encode(bytes, code <= 0x10ffff ? code : 0xfffd) : 1;
        return braced && end < len && text[end] == '}' ? end + 1 : end;
    }
    if (c == 'c' && i + 1 < len && text[i + 1] != '\'') { /* \c\\ has two backslashes */
        bytes[0] = (char)(toupper((unsigned char)text[i + 1]) & 0x1f);
        return text[i + 1] == '\\' && i + 2 < len ? i + 3 : i + 2;
    }
    if (name != NULL) {
        bytes[0] = values[name - names];
    } else {
        bytes[0] = '\\';
        bytes[1] = c;
        *count = 2;
    }
    return i + 1;
}

/* Reads what follows $' up to the closing quote, and returns the position of that. NUL ends the
 * text, but not the quotes. */
static size_t read_ansi_quotes(splitter_t *splitter, const char *text, size_t len, size_t i)
{
    bool ended = false;
    splitter->in_word = splitter->mixed = true;
    while (i < len && text[i] != '\'') {
        char bytes[5] = {text[i]};
        size_t count = 1;
        i = text[i] == '\\' && i + 1 < len ? read_escape(text, len, i + 1, bytes, &count) : i + 1;
        ended = ended || bytes[0] == '\0';
        for (size_t k = 0; k < count && !ended; k++) {
            add_byte(splitter, bytes[k]);
        }
    }
    return i;
}

/* --- redirections ------------------------------------------------------------------------ */

/* The length of a variable's name or, in bash, of an array's element: name, name[1]. 0: neither. */
static size_t name_length(const char *word, size_t len)
{
    size_t i = 0;
    while (i < len && (isalnum((unsigned char)word[i]) || word[i] == '_')) {
        i++;
    }
    if (i == 0 || isdigit((unsigned char)word[0])) {
        return 0;
    }
    const char *close = i < len && word[i] == '[' ? memrchr(word + i, ']', len - i) : NULL;
    return close == NULL ? i : (size_t)(close - word) + 1;
}

/* The word before < or > belongs to it: 2>f, {name}>f. */
static bool is_descriptor(const splitter_t *splitter)
{
    const char *word = splitter->word.data;
    size_t len = splitter->word.len;
    size_t digits = 0;
    if (len > 2 && word[0] == '{' && word[len - 1] == '}') { /* what is in [ ] may be expanded */
        return name_length(word + 1, len - 2) == len - 2;
    }
    while (digits < len && isdigit((unsigned char)word[digits])) {
        digits++;
    }
    return len > 0 && digits == len && !splitter->mixed;
}

/* Reads the operator at position i and returns the position of its last character. */
static size_t begin_redirection(splitter_t *splitter, const char *text, size_t len, size_t i)
{
    size_t from = i;
    if (is_descriptor(splitter)) {
        splitter->word.len = 0;
        splitter->in_word = false;
    }
    end_word(splitter);
    splitter->at_start = false;
    while (i + 1 < len && strchr("<>&|", text[i + 1]) != NULL) {
        i++;
    }
    bool document = i == from + 1 && text[from] == '<' && text[i] == '<';
    bool tabbed = document && i + 1 < len && text[i + 1] == '-';
    splitter->role = tabbed ? TABBED_DOCUMENT : document ? DOCUMENT : TARGET;
    return tabbed ? i + 1 : i;
}

/* Whether a backslash joins the line before this position, which is that of a newline, with the
 * next one. */
static bool is_joined(const char *text, size_t i)
{
    size_t count = 0;
    while (count < i && text[i - count - 1] == '\\') {
        count++;
    }
    return count % 2 == 1;
}

/* Finds the line that ends the document whose body begins at i. Returns the position after that
 * line's newline, and sets *end to where the body ends. */
static size_t find_end(const document_t *document, const char *text, size_t len, size_t i,
                       size_t *end)
{
    bool goes_on = false; /* the line before goes on in this one */
    while (i < len) {
        const char *newline = memchr(text + i, '\n', len - i);
        size_t next = newline == NULL ? len : (size_t)(newline - text) + 1;
        size_t line = i;
        while (document->tabs && line < next && text[line] == '\t') {
            line++;
        }
        size_t line_len = (newline == NULL ? len : next - 1) - line;
        if (!goes_on && line_len == strlen(document->end) &&
            memcmp(text + line, document->end, line_len) == 0) {
            *end = i;
            return next;
        }
        goes_on = !document->quoted && newline != NULL && is_joined(text, next - 1);
        i = next;
    }
    *end = len;
    return len;
}

/* --- commands ---------------------------------------------------------------------------- */

/* NAME=VALUE before a command. */
static bool is_assignment(const char *word)
{
    const char *sign = strchr(word, '=');
    const char *bracket = strchr(word, '[');
    if (sign != NULL && bracket != NULL && bracket < sign) { /* NAME[a==b]=VALUE */
        const char *end = strstr(bracket, "]=");
        const char *more = strstr(bracket, "]+=");
        sign = end != NULL ? end + 1 : more != NULL ? more + 2 : sign;
    }
    size_t len = sign == NULL ? 0 : (size_t)(sign - word);
    len -= len > 0 && word[len - 1] == '+';
    return len > 0 && name_length(word, len) == len;
}

static bool is_reserved(const char *word)
{
    static const char *const reserved[] = {
        "if",   "then",     "else",  "elif", "fi",      "do",      "done", "case",
        "esac", "while",    "until", "for",  "in",      "{",       "}",    "!",
        "time", "function", "[[",    "exec", "command", "builtin", "eval", "coproc"};
    for (size_t i = 0; i < IK_LENGTH(reserved); i++) {
        if (strcmp(word, reserved[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The number of words at the beginning that are options of time, command or exec. Not counted:
 * command -v, which runs nothing. */
static size_t count_options(const ik_shell_command_words_t *command)
{
    size_t count = 0;
    while (count < command->count) {
        const char *word = command->words[count];
        const char *end = word + 1 + (word[0] == '-' ? strspn(word + 1, "pcl") : 0);
        bool named = word[0] == '-' && *end == 'a'; /* exec -a NAME, -aNAME */
        bool takes_next = named && end[1] == '\0' && count + 1 < command->count;
        if (!named && strcmp(word, "--") != 0 &&
            (word[0] != '-' || word[1] == '\0' || *end != '\0')) {
            break;
        }
        count += takes_next ? 2 : 1;
    }
    return count;
}

/* Leaves out what stands before a command's own name. */
static void strip_prefixes(ik_shell_words_t *out)
{
    for (size_t i = 0; i < out->count; i++) {
        ik_shell_command_words_t *command = &out->commands[i];
        while (command->count > 0) {
            bool reserved = is_reserved(command->words[0]);
            if (!reserved && !is_assignment(command->words[0])) {
                break;
            }
            command->words++;
            command->count--;
            size_t options = reserved ? count_options(command) : 0;
            command->words += options;
            command->count -= options;
            out->plain = false;
        }
    }
}

static size_t split(ik_shell_words_t *out, const char *text, size_t len, size_t i, char end,
                    unsigned how, int depth);

/* Reads the bodies of the here-documents that the line before i began; returns the position after
 * them. A shell may get them as input, so they are read as commands. */
static size_t split_documents(splitter_t *splitter, const char *text, size_t len, size_t i,
                              int depth)
{
    for (size_t k = 0; k < splitter->document_count && depth < DEPTH_MAX; k++) {
        size_t end;
        size_t next = find_end(&splitter->documents[k], text, len, i, &end);
        split(splitter->out, text, end, i, '\0', splitter->how | IN_DOCUMENT, depth + 1);
        i = next;
    }
    splitter->document_count = 0;
    return i;
}

/* Reads what is between ` and `, from position i, and returns the position of its end: the next
 * backquote, whatever quotes are open. Backslashes there hide a substitution within it from the
 * shell that looks for the end, and are gone when the list is read. */
static size_t split_backquotes(splitter_t *splitter, const char *text, size_t len, size_t i,
                               bool quoted, int depth)
{
    ik_buffer_t list;
    ik_buffer_init(&list, splitter->out, len + 1);
    ik_buffer_append_text(&list, "");
    for (; i < len && text[i] != '`'; i++) {
        if (text[i] == '\\' && i + 1 < len) {
            i++;
            if (strchr(quoted ? "$`\\\"" : "$`\\", text[i]) == NULL) {
                ik_buffer_append_byte(&list, '\\');
            }
        }
        ik_buffer_append_byte(&list, text[i]);
    }
    split(splitter->out, list.data, list.len, 0, '\0', splitter->how & AS_BASH, depth + 1);
    ik_buffer_reset(&list);
    return i;
}

/* Reads what begins with $(, <(, >(, ( or ` at position i, and returns the position of its end.
 * What is substituted is a list of its own; the word around it goes on. */
static size_t split_inner(splitter_t *splitter, const char *text, size_t len, size_t i, bool quoted,
                          int depth)
{
    char c = text[i];
    size_t from = c == '(' || c == '`' ? i + 1 : i + 2;
    splitter->out->plain = false;
    if (c == '(' || depth >= DEPTH_MAX) {
        begin_command(splitter);
        splitter->part =
            splitter->part == CASE_PATTERN ? CASE_LIST : splitter->part; /* (PATTERN) */
    } else {
        splitter->in_word = splitter->mixed = true;
    }
    if (depth >= DEPTH_MAX) {
        return from - 1;
    }
    return c == '`'
               ? split_backquotes(splitter, text, len, from, quoted, depth)
               : split(splitter->out, text, len, from, ')', splitter->how & AS_BASH, depth + 1);
}

/* Whether the list ends with the character that may end it. */
static bool ends_list(splitter_t *splitter, char end)
{
    end_word(splitter);
    return end != ')' || splitter->part != CASE_PATTERN;
}

/* An operator; next is the character after it. */
static void read_operator(splitter_t *splitter, char c, char next)
{
    begin_command(splitter);
    bool in_head = splitter->part == CASE_SUBJECT || splitter->part == CASE_IN;
    if (in_head && c != '\n') { /* it is not a case */
        splitter->case_depth--;
        splitter->part = CASE_LIST;
    } else if (c == ')' && splitter->part == CASE_PATTERN) {
        splitter->part = CASE_LIST;
    } else if (c == ';' && (next == ';' || next == '&') && splitter->case_depth > 0) {
        splitter->part = CASE_PATTERN;
    }
}

/* Whether a word that begins here can be an assignment. */
static bool may_assign(const splitter_t *splitter)
{
    const ik_shell_command_words_t *command = &splitter->out->commands[splitter->command];
    const char *last = command->count == 0 ? NULL : command->words[command->count - 1];
    return last == NULL || is_reserved(last) || is_assignment(last);
}

/* Whether the character belongs to the index of an array, in which blanks and operators are
 * characters like others. */
static bool is_in_brackets(splitter_t *splitter, char c)
{
    size_t len = splitter->word.len;
    bool named = len > 0 && !splitter->mixed && name_length(splitter->word.data, len) == len;
    if (c == '[' && (splitter->brackets > 0 || (named && may_assign(splitter)))) {
        splitter->brackets++;
        return true;
    }
    bool within = splitter->brackets > 0;
    splitter->brackets -= within && c == ']';
    return within && strchr("] \t\n;&|<>()#", c) != NULL;
}

/* Reads a list of commands from position i up to `end` or the end of the text, and returns the
 * position of that end. In a document quotes and # are characters like others: an apostrophe there
 * must not hide a substitution after it. */
static size_t split(ik_shell_words_t *out, const char *text, size_t len, size_t i, char end,
                    unsigned how, int depth)
{
    bool is_document = (how & IN_DOCUMENT) != 0;
    splitter_t splitter = {.out = out, .how = how};
    char quote = '\0';
    ik_buffer_init(&splitter.word, out, len + 1);
    begin_command(&splitter);
    for (; i < len; i++) {
        char c = text[i];
        char next = i + 1 < len ? text[i + 1] : '\0';
        bool bare = quote == '\0';
        if (quote == '\'') {
            if (c == '\'') {
                quote = '\0';
            } else {
                add_byte(&splitter, c);
            }
        } else if (bare && how == AS_BASH && is_in_brackets(&splitter, c)) {
            add_byte(&splitter, c);
        } else if (bare && c == end && ends_list(&splitter, end)) {
            break;
        } else if (c == '\\' && i + 1 < len) {
            i++;
            if (!bare && strchr("$`\"\\\n", next) == NULL) {
                add_byte(&splitter, '\\');
            }
            if (next != '\n') {
                splitter.mixed = true;
                add_byte(&splitter, next);
            }
        } else if ((c == '$' && next == '(') || c == '`' ||
                   (bare && (c == '(' || (strchr("<>", c) != NULL && next == '(')))) {
            quote = depth < DEPTH_MAX ? quote : '\0';
            i = split_inner(&splitter, text, len, i, !bare, depth);
        } else if (c == '$' && bare && (next == '\'' || next == '"') && how == AS_BASH) {
            out->plain = false; /* of $"…", the quotes are read next */
            i = next == '"' ? i : read_ansi_quotes(&splitter, text, len, i + 2);
        } else if (c == '$') { /* a variable is left in the word */
            out->plain = false;
            splitter.mixed = true;
            add_byte(&splitter, c);
        } else if (!bare) {
            if (c == '"') {
                quote = '\0';
            } else {
                add_byte(&splitter, c);
            }
        } else if ((c == '\'' || c == '"') && !is_document) {
            quote = c;
            splitter.in_word = splitter.mixed = true;
        } else if (c == '\n' || c == ';' || c == '&' || c == '|' || c == ')') {
            size_t before = splitter.command;
            out->plain = false;
            read_operator(&splitter, c, next);
            if (c == '&' && next == '>') { /* in some shells one operator, a redirection */
                splitter.before = before;
            } else if (c == '\n') {
                i = split_documents(&splitter, text, len, i + 1, depth) - 1;
            }
        } else if (c == '<' || c == '>') {
            out->plain = false;
            i = begin_redirection(&splitter, text, len, i);
        } else if (c == '#' && !splitter.in_word && !is_document) { /* a comment */
            out->plain = false;
            while (i + 1 < len && text[i + 1] != '\n') {
                i++;
            }
        } else if (c == ' ' || c == '\t') {
            end_word(&splitter);
        } else {
            out->plain = out->plain && c != '{' && c != '}';
            add_byte(&splitter, c);
        }
    }
    end_word(&splitter);
    out->plain = out->plain && quote == '\0';
    return i;
}

ik_shell_words_t *ik_shell_words_split(const void *ctx, const char *text, size_t len)
{
    ik_shell_words_t *out = ik_new(ctx, ik_shell_words_t);
    out->plain = true;
    split(out, text, len, 0, '\0', 0, 0);
    static const char *const bash[] = {"$'", "$\"", "]=", "]+="};
    for (size_t i = 0; i < IK_LENGTH(bash); i++) {
        if (memmem(text, len, bash[i], strlen(bash[i])) != NULL) {
            split(out, text, len, 0, '\0', AS_BASH, 0); /* whichever shell runs it */
            break;
        }
    }
    strip_prefixes(out);
    out->plain = out->plain && out->count == 1 && out->commands[0].count > 0;
    return out;
}
