#include "rpc/elicitation.h"

#include <string.h>

#include "base/alloc.h"

void ik_elicitation_append_schema(ik_buffer_t *out, const char *const *choices,
                                  const char *fallback)
{
    ik_buffer_append_text(out, "{\"type\":\"object\",\"properties\":{"
                               "\"answer\":{\"type\":\"string\",\"title\":\"Answer\"");
    for (size_t i = 0; choices != NULL && choices[i] != NULL; i++) {
        ik_buffer_append_text(out, i == 0 ? ",\"enum\":[" : ",");
        ik_json_append_text(out, choices[i]);
        ik_buffer_append_text(out, choices[i + 1] == NULL ? "]" : "");
    }
    if (fallback != NULL) {
        ik_json_add_text(out, "default", fallback);
    }
    ik_buffer_append_text(out, "}},\"required\":[\"answer\"]}");
}

char *ik_elicitation_read_answer(const void *ctx, ik_json_span_t result)
{
    ik_json_span_t action, content, answer;
    size_t len;
    if (!ik_json_find_kind(result, "action", IK_JSON_STRING, &action) ||
        !ik_json_is_text(action, "accept") ||
        !ik_json_find_kind(result, "content", IK_JSON_OBJECT, &content) ||
        !ik_json_find_kind(content, "answer", IK_JSON_STRING, &answer)) {
        return NULL;
    }
    char *text = ik_json_decode(ctx, answer, &len);
    return strlen(text) == len ? text : NULL;
}
