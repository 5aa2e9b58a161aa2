#include "provider/key_mask.h"

#include <string.h>

enum { SECRET_MIN = 8 };

static const char *secret(const char *key)
{
    return key != NULL && strlen(key) >= SECRET_MIN ? key : NULL;
}

/* The number of bytes at the end of text that begin the key, without being all of it. */
static size_t measure_begun(const char *text, size_t len, const char *key, size_t key_len)
{
    size_t begun = len < key_len ? len : key_len - 1;
    while (begun > 0 && memcmp(text + len - begun, key, begun) != 0) {
        begun--;
    }
    return begun;
}

void ik_key_mask_init(ik_key_mask_t *mask, const void *ctx, const char *key)
{
    *mask = (ik_key_mask_t){.key = secret(key)};
    mask->len = mask->key == NULL ? 0 : strlen(mask->key);
    ik_buffer_init(&mask->held, ctx, IK_BUFFER_UNLIMITED); /* shorter than the key */
}

void ik_key_mask_add(ik_key_mask_t *mask, const char *text, size_t len, ik_buffer_t *out)
{
    size_t from = out->len;
    if (mask->key == NULL) {
        ik_buffer_append(out, text, len);
        return;
    }
    ik_buffer_append(out, mask->held.data, mask->held.len);
    ik_buffer_append(out, text, len);
    mask->held.len = 0;
    char *at = out->data + from;
    size_t left = out->len - from;
    for (char *found; left > 0 && (found = memmem(at, left, mask->key, mask->len)) != NULL;) {
        memset(found, '*', mask->len);
        mask->found = true;
        left -= (size_t)(found + mask->len - at);
        at = found + mask->len;
    }
    size_t begun = measure_begun(at, left, mask->key, mask->len);
    ik_buffer_append(&mask->held, at + left - begun, begun);
    out->len -= begun;
    if (begun > 0) {
        out->data[out->len] = '\0';
    }
}

void ik_key_mask_finish(ik_key_mask_t *mask, ik_buffer_t *out)
{
    if (mask->held.len >= SECRET_MIN) {
        memset(mask->held.data, '*', mask->held.len);
        mask->found = true;
    }
    ik_buffer_append(out, mask->held.data, mask->held.len);
    mask->held.len = 0;
}

static const char stand_in[] = "[[ikigai:api-key]]";

static void substitute(ik_buffer_t *out, ik_json_span_t json, const char *from, const char *to)
{
    const char *at = json.text;
    const char *end = json.text + json.len;
    for (const char *found; (found = memmem(at, (size_t)(end - at), from, strlen(from))) != NULL;) {
        ik_buffer_append(out, at, (size_t)(found - at));
        ik_buffer_append_text(out, to);
        at = found + strlen(from);
    }
    ik_buffer_append(out, at, (size_t)(end - at));
}

bool ik_key_mask_json(ik_buffer_t *out, ik_json_span_t json, const char *key)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.~+:";
    if (secret(key) == NULL) {
        ik_buffer_append(out, json.text, json.len);
        return true;
    }
    substitute(out, json, key, stand_in);
    return key[strspn(key, plain)] == '\0';
}

void ik_key_unmask_json(ik_buffer_t *out, ik_json_span_t *json, const char *key)
{
    if (secret(key) != NULL && json->len > 0 &&
        memmem(json->text, json->len, stand_in, strlen(stand_in)) != NULL) {
        out->len = 0;
        substitute(out, *json, stand_in, key);
        *json = (ik_json_span_t){out->data, out->len};
    }
}

void ik_key_mask_line(char *line, const char *key)
{
    ik_key_mask_line_always(line, secret(key));
}

void ik_key_mask_line_always(char *line, const char *key)
{
    static const char ellipsis[] = "…";
    size_t mark = sizeof(ellipsis) - 1;
    if (key == NULL || key[0] == '\0') {
        return;
    }
    for (char *at = line; (at = strstr(at, key)) != NULL;) {
        memset(at, '*', strlen(key));
    }
    size_t len = strlen(line);
    len -= len >= mark && strcmp(line + len - mark, ellipsis) == 0 ? mark : 0;
    size_t begun = measure_begun(line, len, key, strlen(key));
    if (begun >= SECRET_MIN) {
        memset(line + len - begun, '*', begun);
    }
}
