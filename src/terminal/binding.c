#include "terminal/binding.h"

static bool is_key(const ik_binding_t *binding, const ik_key_t *key)
{
    if (binding->kind != key->kind) {
        return false;
    }
    switch (key->kind) {
    case IK_KEY_TEXT:
        return key->len > 0 && key->text[0] != '\0' && key->text[0] == binding->code;
    case IK_KEY_CHAR:
        return key->modifiers == binding->modifiers && key->code == (uint32_t)binding->code;
    default:
        return binding->alone ? key->modifiers == 0
                              : (key->modifiers & binding->modifiers) == binding->modifiers;
    }
}

bool ik_binding_matches(const ik_binding_t *keys, size_t max, const ik_key_t *key, char before)
{
    for (size_t i = 0; i < max; i++) {
        if (is_key(&keys[i], key) && (keys[i].after == '\0' || keys[i].after == before)) {
            return true;
        }
    }
    return false;
}
