/*
 * Which parts of a piece of code are comments, strings, numbers and keywords, well enough to be
 * coloured: one lexer and a table of what languages have in common. It never looks back and never
 * fails; code it misunderstands has a wrong colour and nothing worse.
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
    IK_CODE_NAME, /* a key of an object, a property */
} ik_code_class_t;

typedef struct ik_code_language ik_code_language_t;

/* By what stands behind a fence ("c", "Rust", "python3") or by the suffix of a file; NULL when it
 * is not known. */
const ik_code_language_t *ik_code_colour_find(const char *name, size_t len);

typedef void (*ik_code_colour_fn)(void *data, ik_code_class_t kind, const char *text, size_t len);

/* Hands out every byte of text once, in order, in pieces of one class. language may be NULL. */
void ik_code_colour_run(const ik_code_language_t *language, const char *text, size_t len,
                        ik_code_colour_fn on_piece, void *data);

/* What goes on over the end of a line; nothing at the beginning of a text ({0}). */
typedef struct {
    char close[12]; /* what ends it, or nothing */
    ik_code_class_t kind;
    bool escapes; /* a backslash before the end hides it */
    bool in_tag;
} ik_code_state_t;

/* The same for a text that comes line by line, each without its end. */
void ik_code_colour_line(const ik_code_language_t *language, ik_code_state_t *state,
                         const char *line, size_t len, ik_code_colour_fn on_piece, void *data);
