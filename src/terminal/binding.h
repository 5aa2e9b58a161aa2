/*
 * Key bindings: the const tables that map keys to commands. Each row also carries the help text of
 * its command, so that help and manual (key_help.h) are generated from the bindings themselves.
 */
#pragma once

#include "terminal/key.h"

/* Six bytes, because a table is searched on every key press. */
typedef struct {
    uint8_t kind; /* ik_key_kind_t; IK_KEY_TEXT for a typed character */
    uint8_t modifiers;
    char code;  /* of IK_KEY_CHAR and IK_KEY_TEXT, ASCII; IK_KEY_TEXT with NUL is an unused slot */
    char after; /* the character that must precede, such as IK_BINDING_CTRL_X; NUL: any */
    bool alone; /* a named key without modifiers; otherwise further modifiers are ignored */
    bool hidden_in_help; /* another terminal's encoding of a listed key, or a prefix key */
} ik_binding_t;

enum { IK_BINDING_CTRL_X = 'x' & 0x1f };

#define IK_BINDING(named)                                                                          \
    {                                                                                              \
        .kind = IK_KEY_##named                                                                     \
    }
#define IK_BINDING_ALONE(named)                                                                    \
    {                                                                                              \
        .kind = IK_KEY_##named, .alone = true                                                      \
    }
#define IK_BINDING_WITH(held, named)                                                               \
    {                                                                                              \
        .kind = IK_KEY_##named, .modifiers = IK_KEY_##held                                         \
    }
#define IK_BINDING_CTRL(character)                                                                 \
    {                                                                                              \
        .kind = IK_KEY_CHAR, .modifiers = IK_KEY_CTRL, .code = (character)                         \
    }
#define IK_BINDING_ALT(character)                                                                  \
    {                                                                                              \
        .kind = IK_KEY_CHAR, .modifiers = IK_KEY_ALT, .code = (character)                          \
    }
#define IK_BINDING_TYPED(character)                                                                \
    {                                                                                              \
        .kind = IK_KEY_TEXT, .code = (character)                                                   \
    }

/* Whether key matches one of the first max bindings. before is the preceding character, or NUL. */
bool ik_binding_matches(const ik_binding_t *keys, size_t max, const ik_key_t *key, char before);

/* The section of the help that lists a binding. */
typedef enum {
    IK_BINDING_PROMPT,
    IK_BINDING_LIST,
    IK_BINDING_EDITING,
    IK_BINDING_VI,
    IK_BINDING_SEARCH,
    IK_BINDING_PAGER,
} ik_binding_group_t;

/* One command with its keys, as the help lists it. */
typedef struct {
    ik_binding_group_t group;
    const ik_binding_t *keys; /* max slots; the first unused one ends the list */
    size_t max;
    const char *word; /* placeholder for what is typed after the key, such as "FILE"; or NULL */
    const char *does; /* half a line, without a full stop */
} ik_binding_row_t;

/* Each file with a table of bindings has one of these. Returns false past the last row. */
typedef bool (*ik_binding_rows_fn)(size_t index, ik_binding_row_t *out);
