/* One input event: a key press, a paste, or a reply of the terminal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    IK_KEY_TEXT,  /* text, len: printable UTF-8, one or more characters */
    IK_KEY_PASTE, /* text, len: a whole bracketed paste, not sanitised */
    IK_KEY_CHAR,  /* code with modifiers: Ctrl-a is 'a' with CTRL, Alt-f is 'f' with ALT */
    IK_KEY_ENTER,
    IK_KEY_TAB,
    IK_KEY_BACKSPACE,
    IK_KEY_ESCAPE,
    IK_KEY_UP,
    IK_KEY_DOWN,
    IK_KEY_LEFT,
    IK_KEY_RIGHT,
    IK_KEY_HOME,
    IK_KEY_END,
    IK_KEY_PAGE_UP,
    IK_KEY_PAGE_DOWN,
    IK_KEY_INSERT,
    IK_KEY_DELETE,
    IK_KEY_FUNCTION, /* code: 1 to 24 */
    /* reports and replies of the terminal */
    IK_KEY_FOCUS_IN,
    IK_KEY_FOCUS_OUT,
    IK_KEY_ATTRIBUTES, /* DA1: every terminal sends it, after all other replies; value 1: Sixel */
    IK_KEY_KITTY,      /* code: the flags of the kitty keyboard protocol */
    IK_KEY_MODE,       /* DECRPM: code is the mode, value its state 0 to 4 */
    IK_KEY_BACKGROUND, /* OSC 11: code is 0xRRGGBB */
    IK_KEY_VERSION,    /* XTVERSION: text, len: name and version of the terminal, not sanitised */
    IK_KEY_GRAPHICS,   /* the kitty graphics protocol: code is the id asked with, value 1: "OK" */
    IK_KEY_CELL,       /* XTWINOPS: pixels of a character cell, code wide and value high */
    IK_KEY_COLOURS,    /* XTSMGRAPHICS: code is the number of colours of a Sixel picture */
} ik_key_kind_t;

typedef enum {
    IK_KEY_SHIFT = 1 << 0,
    IK_KEY_ALT = 1 << 1,
    IK_KEY_CTRL = 1 << 2,
} ik_key_modifier_t;

/* text is valid during the callback only. */
typedef struct {
    ik_key_kind_t kind;
    unsigned modifiers;
    uint32_t code;
    int value;
    const char *text;
    size_t len;
} ik_key_t;

/* Whether the event comes from the user rather than the terminal. */
static inline bool ik_key_is_pressed(const ik_key_t *key)
{
    return key->kind < IK_KEY_FOCUS_IN;
}
