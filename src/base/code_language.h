/* What the lexer of code_colour.h knows about a language. To add one, add a row to the table. */
#pragma once

#include <stdbool.h>

#include "base/code_colour.h"

/* Lists are words with a space before, between and behind them. */
struct ik_code_language {
    const char *names;
    const char *keywords;
    const char *line_comment; /* NULL: there is none */
    const char *block_open;   /* NULL: there is none */
    const char *block_close;
    const char *quotes;      /* strings that end with their line */
    const char *long_quotes; /* strings that may go on over lines */
    const char *word_marks;  /* what else may be in a word: $ or - */
    bool escapes;            /* a backslash takes the meaning of the next character */
    bool triple_quotes;      /* three of a kind make a long string */
    bool lifetimes;          /* 'a is none, 'a' is one */
    bool raw_strings;        /* r#"…"# */
    bool directives;         /* #include and the like, at the beginning of a line */
    bool comment_alone;      /* a comment begins only behind white space */
    bool any_case;           /* of keywords */
    bool keys;               /* what stands before a colon is a name */
    bool markup;             /* <tags>, and text between them */
};

extern const ik_code_language_t ik_code_languages[];
extern const size_t ik_code_language_count;
