#include "permission/shell_words.h"

#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buffer.h"

enum { DEPTH_MAX = 50 }; /* of substitutions within each other; deeper ones are text */

/* A command list that is being read: the whole text, or what is between $( and ). */
typedef struct {
    ik_shell_words_t *out;
    size_t command; /* index of the current one */
    ik_buffer_t word;
    bool in_word; /* a quoted empty word counts */
} splitter_t;

static void end_word(splitter_t *splitter)
{
    if (!splitter->in_word) {
        return;
    }
    ik_shell_words_t *out = splitter->out;
    ik_shell_command_words_t *command = &out->commands[splitter->command];
    command->words = ik_resize_array(out, command->words, char *, command->count + 1);
    command->words[command->count++] =
        ik_strndup(out, splitter->word.len == 0 ? "" : splitter->word.data, splitter->word.len);
    splitter->word.len = 0;
    splitter->in_word = false;
}

static void begin_command(splitter_t *splitter)
{
    ik_shell_words_t *out = splitter->out;
    end_word(splitter);
    out->commands = ik_resize_array(out, out->commands, ik_shell_command_words_t, out->count + 1);
    out->commands[out->count] = (ik_shell_command_words_t){0};
    splitter->command = out->count++;
}

static void add_byte(splitter_t *splitter, char byte)
{
    ik_buffer_append_byte(&splitter->word, byte);
    splitter->in_word = true;
}

/* NAME=VALUE before a command. */
static bool is_assignment(const char *word)
{
    size_t len = strcspn(word, "=");
    if (word[len] != '=' || len == 0 || isdigit((unsigned char)word[0])) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (!isalnum((unsigned char)word[i]) && word[i] != '_' && word[i] != '+') {
            return false;
        }
    }
    return true;
}

static bool is_reserved(const char *word)
{
    static const char *const reserved[] = {
        "if",   "then",     "else",  "elif", "fi",      "do",      "done", "case",
        "esac", "while",    "until", "for",  "in",      "{",       "}",    "!",
        "time", "function", "[[",    "exec", "command", "builtin", "eval"};
    for (size_t i = 0; i < IK_LENGTH(reserved); i++) {
        if (strcmp(word, reserved[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Leaves out what stands before a command's own name. */
static void strip_prefixes(ik_shell_words_t *out)
{
    for (size_t i = 0; i < out->count; i++) {
        ik_shell_command_words_t *command = &out->commands[i];
        while (command->count > 0 &&
               (is_assignment(command->words[0]) || is_reserved(command->words[0]))) {
            command->words++;
            command->count--;
            out->plain = false;
        }
    }
}

/* Reads a list of commands from position i up to `end` or the end of the text, and returns the
 * position after it. What is substituted is a list of its own; the word around it goes on. */
static size_t split(ik_shell_words_t *out, const char *text, size_t len, size_t i, char end,
                    int depth)
{
    splitter_t splitter = {.out = out};
    char quote = '\0';
    ik_buffer_init(&splitter.word, out, len + 1);
    begin_command(&splitter);
    for (; i < len; i++) {
        char c = text[i];
        bool bare = quote == '\0';
        if (quote == '\'') {
            if (c == '\'') {
                quote = '\0';
            } else {
                add_byte(&splitter, c);
            }
        } else if (bare && c == end) {
            break;
        } else if (c == '\\' && i + 1 < len) {
            i++;
            if (!bare && strchr("$`\"\\\n", text[i]) == NULL) {
                add_byte(&splitter, '\\');
            }
            if (text[i] != '\n') {
                add_byte(&splitter, text[i]);
            }
        } else if ((c == '$' && i + 1 < len && text[i + 1] == '(') || c == '`' ||
                   (bare &&
                    (c == '(' || (strchr("<>", c) != NULL && i + 1 < len && text[i + 1] == '(')))) {
            out->plain = false;
            size_t from = c == '$' || c == '<' || c == '>' ? i + 2 : i + 1;
            if (depth < DEPTH_MAX) {
                splitter.in_word = c != '(';
                i = split(out, text, len, from, c == '`' ? '`' : ')', depth + 1);
            }
        } else if (c == '$') { /* a variable is left in the word */
            out->plain = false;
            add_byte(&splitter, c);
        } else if (!bare) {
            if (c == '"') {
                quote = '\0';
            } else {
                add_byte(&splitter, c);
            }
        } else if (c == '\'' || c == '"') {
            quote = c;
            splitter.in_word = true;
        } else if (c == '\n' || c == ';' || c == '&' || c == '|' || c == ')') {
            out->plain = false;
            begin_command(&splitter);
        } else if (c == '<' || c == '>') {
            out->plain = false;
            end_word(&splitter);
        } else if (c == '#' && !splitter.in_word) { /* a comment */
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
    split(out, text, len, 0, '\0', 0);
    strip_prefixes(out);
    out->plain = out->plain && out->count == 1 && out->commands[0].count > 0;
    return out;
}
