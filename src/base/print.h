/* Prints text from elsewhere without letting it control the terminal or deceive the reader: cleaned
 * by the sanitiser (sanitiser.h), without styles; JSON is escaped instead. */
#pragma once

#include <stdio.h>

/* Keeps newlines and tabs. */
void ik_print(FILE *stream, const char *bytes, size_t len);
void ik_print_text(FILE *stream, const char *text);
/* Prints exactly one line, so that a name with a newline in it cannot pass for two. */
void ik_print_line(FILE *stream, const char *text);
/* Prints valid JSON on one line; unsafe characters in strings become escapes. */
void ik_print_json(FILE *stream, const char *text, size_t len);
