/*
 * Words in roff's language: whatever they mean to roff, a reader of the page sees what stood there.
 * No line of them begins with a character that would make it a request.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Bits: strong emphasis is both. */
typedef enum {
    IK_CLI_ROFF_ROMAN = 0,
    IK_CLI_ROFF_BOLD = 1,
    IK_CLI_ROFF_ITALIC = 2,
} ik_cli_roff_font_t;

typedef struct {
    ik_buffer_t *out;
    bool is_one_line; /* it never breaks and may be an argument: a heading, a tag */
    bool is_capitals;
    bool is_literal; /* spaces count, and capitals do not */
    int font;        /* ik_cli_roff_font_t of what comes */
    int written;     /* the one in force at the end of out */
    size_t line;     /* where the last line of out begins */
    size_t columns;  /* how many a reader sees */
    size_t spaces;   /* not written yet, like the break: they vanish at both ends */
    bool is_broken;  /* what comes begins on a new line */
} ik_cli_roff_text_t;

/* Begins at the end of out, which is the beginning of a line or stands for one. */
void ik_cli_roff_text_init(ik_cli_roff_text_t *text, ik_buffer_t *out);
/* White space separates words; a long line is broken at it. */
void ik_cli_roff_text_add(ik_cli_roff_text_t *text, const char *words, size_t len);
/* What comes begins on a new line of the page. */
void ik_cli_roff_text_break(ik_cli_roff_text_t *text);
/* Back to the roman font; the line is not ended. */
void ik_cli_roff_text_end(ik_cli_roff_text_t *text);

/* Lines of code between .EX and .EE, as they are, each with its end; tabs become spaces. */
void ik_cli_roff_text_append_code(ik_buffer_t *out, const char *code, size_t len);
/* What to show for the characters in roff, which is text made here, where a device lacks them. */
void ik_cli_roff_text_append_fallbacks(ik_buffer_t *out, const char *roff);
