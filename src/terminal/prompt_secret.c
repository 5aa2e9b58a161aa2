/*
 * A question whose answer is a secret, such as an API key. The answer is not shown and passes
 * through no part that keeps text: neither the editor with its undo and kill ring, nor the earlier
 * messages, nor an external editor. Only its length is shown, so that a paste can be noticed.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/width.h"
#include "terminal/prompt_state.h"

enum { SECRET_MAX = 4096 };

void ik_prompt_secret_open(ik_prompt_t *prompt)
{
    prompt->secret = ik_new_array(prompt, char, SECRET_MAX + 1);
    prompt->secret_len = 0;
}

static void set_len(ik_prompt_t *prompt, size_t len)
{
    explicit_bzero(prompt->secret + len, SECRET_MAX + 1 - len);
    prompt->secret_len = len;
}

void ik_prompt_secret_close(ik_prompt_t *prompt)
{
    if (prompt->secret != NULL) {
        set_len(prompt, 0);
        TALLOC_FREE(prompt->secret);
    }
}

char *ik_prompt_secret_take(const void *ctx, ik_prompt_t *prompt)
{
    char *text = ik_strndup(ctx, prompt->secret, prompt->secret_len);
    set_len(prompt, 0);
    return text;
}

/* Too long an answer is cut; no key is that long. */
static void type(ik_prompt_t *prompt, const ik_key_t *key)
{
    size_t room = SECRET_MAX - prompt->secret_len;
    size_t len = key->len < room ? key->len : room;
    memcpy(prompt->secret + prompt->secret_len, key->text, len);
    prompt->secret_len += len;
}

ik_prompt_action_t ik_prompt_secret_key(ik_prompt_t *prompt, const ik_key_t *key)
{
    bool ctrl = key->kind == IK_KEY_CHAR && key->modifiers == IK_KEY_CTRL;
    bool empty = prompt->secret_len == 0;
    if (key->kind == IK_KEY_TEXT || key->kind == IK_KEY_PASTE) {
        type(prompt, key);
    } else if (key->kind == IK_KEY_ENTER) {
        return IK_PROMPT_SUBMIT;
    } else if (key->kind == IK_KEY_ESCAPE) {
        return IK_PROMPT_ESCAPE;
    } else if (ctrl && key->code == 'c' && empty) {
        return IK_PROMPT_CANCEL;
    } else if (ctrl && key->code == 'd' && empty) {
        return IK_PROMPT_END;
    } else if (ctrl && key->code == 'z') {
        return IK_PROMPT_SUSPEND;
    } else if (ctrl && key->code == 'l') {
        return IK_PROMPT_REDRAW;
    } else if (ctrl && (key->code == 'c' || key->code == 'u' || key->code == 'w')) {
        set_len(prompt, 0);
    } else if (!empty && (key->kind == IK_KEY_BACKSPACE || (ctrl && key->code == 'h'))) {
        set_len(prompt, ik_width_step_back(prompt->secret, prompt->secret_len));
    }
    return IK_PROMPT_NONE;
}

size_t ik_prompt_secret_characters(const ik_prompt_t *prompt)
{
    size_t count = 0;
    for (size_t i = 0; i < prompt->secret_len; i++) {
        count += ((unsigned char)prompt->secret[i] & 0xc0) != 0x80; /* not inside a character */
    }
    return count;
}
