#include "provider/openai/openai_members.h"

#include <string.h>

static void take_member(const char *const *names, size_t count, ik_json_span_t key,
                        ik_json_span_t value, ik_json_span_t *values)
{
    for (size_t i = 0; i < count; i++) {
        if (ik_json_key_is(key, names[i])) {
            values[i] = value;
            values[i].len = ik_json_kind(value) == IK_JSON_NULL ? 0 : value.len;
            return;
        }
    }
}

void ik_openai_members_find(ik_json_span_t object, const char *const *names, size_t count,
                            ik_json_span_t *values)
{
    memset(values, 0, count * sizeof(*values));
    if (!ik_openai_members_is(object, IK_JSON_OBJECT)) {
        return;
    }
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t value;
    while (ik_json_next_member(object, &position, &key, &value)) {
        take_member(names, count, key, value, values);
    }
}
