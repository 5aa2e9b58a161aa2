#include "tools/common/host_relay.h"

#include "base/host_client.h"
#include "base/json.h"

void ik_host_relay_run(ik_tool_call_t *call, const char *op, const char *const *params)
{
    json_t *request = json_pack("{s:s}", "op", op);
    for (size_t i = 0; params[i] != NULL; i++) {
        json_object_set(request, params[i], json_object_get(call->params, params[i]));
    }
    ik_host_relay_send(call, request);
}

void ik_host_relay_send(ik_tool_call_t *call, json_t *request)
{
    ik_host_answer_t answer;
    ik_json_adopt(call->ctx, request);
    res_t done = ik_host_client_run(call->ctx, request, &answer);
    if (is_err(&done) && done.code != IK_ERR_NOT_FOUND) {
        return; /* ikigai has closed the channel: it is about to end the call */
    }
    if (is_err(&done)) {
        ik_tool_answer_error(call, "NO_HOST", "%s", done.message);
    } else if (answer.result == NULL) {
        ik_tool_answer_error(call, answer.code, "%s", answer.error);
    } else if (ik_tool_answer_write_part(answer.result, answer.result_len, true)) {
        ik_tool_answer_done(call);
    }
}
