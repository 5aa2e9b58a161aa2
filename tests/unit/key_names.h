/* Keys in Emacs notation: "C-a", "M-f", "S-Enter", "C-Left", "Up", "F5"; several are separated by
 * spaces. */
#pragma once

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "terminal/key.h"

static inline bool key_names_find(const char *name, size_t len, ik_key_kind_t *kind)
{
    static const struct {
        const char *name;
        ik_key_kind_t kind;
    } names[] = {
        {"Enter", IK_KEY_ENTER},   {"Tab", IK_KEY_TAB},        {"Backspace", IK_KEY_BACKSPACE},
        {"Esc", IK_KEY_ESCAPE},    {"Up", IK_KEY_UP},          {"Down", IK_KEY_DOWN},
        {"Left", IK_KEY_LEFT},     {"Right", IK_KEY_RIGHT},    {"Home", IK_KEY_HOME},
        {"End", IK_KEY_END},       {"PageUp", IK_KEY_PAGE_UP}, {"PageDown", IK_KEY_PAGE_DOWN},
        {"Delete", IK_KEY_DELETE}, {"Focus", IK_KEY_FOCUS_IN},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i].name) == len && memcmp(names[i].name, name, len) == 0) {
            *kind = names[i].kind;
            return true;
        }
    }
    return false;
}

static inline ik_key_t key_names_parse(const char *name, size_t len)
{
    ik_key_t key = {.kind = IK_KEY_CHAR};
    while (len > 2 && name[1] == '-' && strchr("CMS", name[0]) != NULL) {
        key.modifiers |= name[0] == 'C' ? IK_KEY_CTRL : name[0] == 'M' ? IK_KEY_ALT : IK_KEY_SHIFT;
        name += 2;
        len -= 2;
    }
    if (key_names_find(name, len, &key.kind)) {
        return key;
    }
    if (len > 1 && name[0] == 'F') {
        key.kind = IK_KEY_FUNCTION;
        key.code = (uint32_t)atoi(name + 1);
        return key;
    }
    ck_assert_msg(len == 1, "no key: %.*s", (int)len, name);
    key.code = (unsigned char)name[0];
    return key;
}

/* Parses the first key of names and advances *names past it. */
static inline ik_key_t key_names_next(const char **names)
{
    size_t len = strcspn(*names, " ");
    ik_key_t key = key_names_parse(*names, len);
    *names += len;
    *names += strspn(*names, " ");
    return key;
}

static inline ik_key_t key_names_text(ik_key_kind_t kind, const char *text)
{
    return (ik_key_t){.kind = kind, .text = text, .len = strlen(text)};
}
