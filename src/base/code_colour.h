/*
 * Syntax colouring: one lexer for comments, strings, numbers and keywords, and a table of languages
 * (code_language.c). It never looks back and never fails; code that it misunderstands only gets a
 * wrong colour.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    IK_CODE_PLAIN,
    IK_CODE_COMMENT,
    IK_CODE_STRING,
    IK_CODE_NUMBER,
    IK_CODE_KEYWORD,
    IK_CODE_NAME, /* the key of an object, a property */
} ik_code_class_t;

typedef struct ik_code_language ik_code_language_t;

/* Finds a language by the info string of a fence ("c", "Rust", "python3") or the suffix of a file.
 * Returns NULL if it is unknown. */
const ik_code_language_t *ik_code_colour_find(const char *name, size_t len);

typedef void (*ik_code_colour_fn)(void *data, ik_code_class_t kind, const char *text, size_t len);

/* Passes text to on_piece in order, without gaps, in pieces of one class. language may be NULL. */
void ik_code_colour_run(const ik_code_language_t *language, const char *text, size_t len,
                        ik_code_colour_fn on_piece, void *data);

/* What continues on the next line. Starts as {0}. */
typedef struct {
    char close[12]; /* the end of the open comment or string; empty if none is open */
    ik_code_class_t kind;
    bool escapes; /* a backslash escapes the end */
    bool in_tag;
} ik_code_state_t;

/* Colours one line, given without its newline, of a text that comes line by line. */
void ik_code_colour_line(const ik_code_language_t *language, ik_code_state_t *state,
                         const char *line, size_t len, ik_code_colour_fn on_piece, void *data);
