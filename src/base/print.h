/* Printing what others wrote without letting it drive the terminal or deceive who reads it: as
 * sanitiser.h has it, without styles; in JSON by escapes. */
#pragma once

#include <stdio.h>

/* Newlines and tabs stay. */
void ik_print(FILE *stream, const char *bytes, size_t len);
void ik_print_text(FILE *stream, const char *text);
/* As exactly one line, so that a name with a newline cannot pass for two. */
void ik_print_line(FILE *stream, const char *text);
/* Valid JSON on one line; an escape in a string means the same. */
void ik_print_json(FILE *stream, const char *text, size_t len);
