/* The theme: one style per role, for dark and light backgrounds, with the colours of a theme file,
 * without colours (NO_COLOR), or without any escape sequence (TERM=dumb). */
#pragma once

#include "base/config.h"
#include "base/style.h"

typedef enum {
    IK_ROLE_TEXT,
    IK_ROLE_DIM,    /* secondary text: reasoning, hints, elapsed time */
    IK_ROLE_STRONG, /* **strong** */
    IK_ROLE_EMPHASIS,
    IK_ROLE_STRIKE,
    IK_ROLE_HEADING,
    IK_ROLE_CODE, /* `inline` */
    IK_ROLE_LINK,
    IK_ROLE_QUOTE,
    IK_ROLE_RULE, /* lines and borders */
    IK_ROLE_USER, /* what the user said */
    IK_ROLE_MARK, /* the mark before the draft */
    IK_ROLE_TOOL, /* names of tools */
    IK_ROLE_NAME, /* names of arguments and fields; keys in code */
    IK_ROLE_GOOD,
    IK_ROLE_WARNING,
    IK_ROLE_ERROR,
    IK_ROLE_ADDED, /* lines of a diff */
    IK_ROLE_REMOVED,
    IK_ROLE_HUNK,
    IK_ROLE_KEYWORD, /* in code */
    IK_ROLE_STRING,
    IK_ROLE_NUMBER,
    IK_ROLE_COMMENT,
    IK_ROLE_CHOSEN, /* the chosen line of a list */
    IK_ROLE_MATCH,  /* what a search found */
    IK_ROLE_STATUS, /* the status line */
    IK_ROLE_COUNT,
} ik_role_t;

typedef enum { IK_BACKGROUND_UNKNOWN, IK_BACKGROUND_DARK, IK_BACKGROUND_LIGHT } ik_background_t;

typedef struct {
    bool escapes; /* false: rows are plain text */
    bool colours; /* false: attributes only; colours in tool output are dropped as well */
    ik_style_t styles[IK_ROLE_COUNT];
} ik_theme_t;

/* The built-in theme. Its colours for a known background are RGB. */
void ik_theme_init(ik_theme_t *theme, ik_background_t background, bool colours, bool escapes);
/* Sets the colours of a theme file and makes all fixed ones fit for the terminal: readable on its
 * background (NULL: not known) and, unless it is deep (24 bits), of its 256 colours. */
void ik_theme_adapt(ik_theme_t *theme, const ik_config_theme_t *wanted, const uint32_t *background,
                    bool is_deep);

static inline ik_style_t ik_theme_style(const ik_theme_t *theme, ik_role_t role)
{
    return theme->styles[role];
}
