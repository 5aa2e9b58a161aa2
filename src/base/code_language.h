/* The languages that code_colour.h knows. To add one, add a row to the table. */
#pragma once

#include <stdbool.h>

#include "base/code_colour.h"

/* names and keywords are lists of words, each with a space before and after it. */
struct ik_code_language {
    const char *names;
    const char *keywords;
    const char *line_comment; /* NULL: none */
    const char *block_open;   /* NULL: none */
    const char *block_close;
    const char *quotes;      /* of strings that end with the line */
    const char *long_quotes; /* of strings that may span lines */
    const char *word_marks;  /* further characters of words, such as $ or - */
    bool escapes;            /* a backslash escapes the next character */
    bool triple_quotes;      /* """ and ''' enclose strings that may span lines */
    bool lifetimes;          /* 'a is not a character, 'a' is one */
    bool raw_strings;        /* r#"…"# */
    bool directives;         /* #include etc. at the start of a line */
    bool comment_alone;      /* a comment must follow white space */
    bool any_case;           /* keywords ignore case */
    bool keys;               /* a word before a colon is a name */
    bool markup;             /* <tags>, and text between them */
};

extern const ik_code_language_t ik_code_languages[];
extern const size_t ik_code_language_count;
