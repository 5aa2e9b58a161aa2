#include "tools/common/host_relay.h"

#include "base/host_client.h"
#include "base/json.h"

void ik_host_relay_run(ik_tool_call_t *call, const char *op, const char *const *params)
{
    ik_host_answer_t answer;
    json_t *request = ik_json_adopt(call->ctx, json_pack("{s:s}", "op", op));
    for (size_t i = 0; params[i] != NULL; i++) {
        json_object_set(request, params[i], json_object_get(call->params, params[i]));
    }
    res_t done = ik_host_client_run(call->ctx, request, &answer);
    if (is_err(&done)) {
        ik_tool_answer_error(call, "NO_HOST", "%s", done.message);
    } else if (answer.result == NULL) {
        ik_tool_answer_error(call, answer.code, "%s", answer.error);
    } else if (ik_tool_answer_write_part(answer.result, answer.result_len, true)) {
        ik_tool_answer_done(call);
    }
}
