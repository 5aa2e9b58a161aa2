/*
 * Keys as tables of bindings name them. Such a table is const and made for obeying keys; each row
 * says as well what its command does, so that help and manual (key_table.h) are made of nothing
 * else, and only when somebody asks.
 */
#pragma once

#include "terminal/key.h"

/* Six bytes: a table is searched with every key. */
typedef struct {
    uint8_t kind; /* ik_key_kind_t; IK_KEY_TEXT: the character itself is typed */
    uint8_t modifiers;
    char code;   /* of IK_KEY_CHAR and IK_KEY_TEXT, in ASCII; NUL in the latter: no key */
    char after;  /* the character that comes before it, such as IK_BINDING_CTRL_X; NUL: any */
    bool alone;  /* with nothing held down; else a key with a name is meant with whatever is */
    bool untold; /* of no interest to people: only how some terminals send another key of the row,
                    or the first key of a sequence */
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

/* Whether key is one of the first max. before is the character that came before it, or NUL. */
bool ik_binding_matches(const ik_binding_t *keys, size_t max, const ik_key_t *key, char before);

/* Where people look for it. */
typedef enum {
    IK_BINDING_PROMPT,
    IK_BINDING_EDITING,
    IK_BINDING_SEARCH,
    IK_BINDING_PAGER,
} ik_binding_group_t;

/* One command and its keys, told by the file that has the table. */
typedef struct {
    ik_binding_group_t group;
    const ik_binding_t *keys; /* at most max of them, up to one that is no key */
    size_t max;
    const char *word; /* stands for what is typed behind the key: "FILE"; or NULL */
    const char *does; /* half a line, without a stop */
} ik_binding_row_t;

/* The row at an index. False: behind the last one. */
typedef bool (*ik_binding_rows_fn)(size_t index, ik_binding_row_t *out);
