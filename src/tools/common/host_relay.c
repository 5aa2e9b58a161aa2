#include "tools/common/host_relay.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/host_client.h"
#include "base/json.h"
#include "base/utf8.h"

enum { PROGRESS_MAX = 2048 }; /* bytes of text: escaped, it fits into a line */

/* The pipe does not block: a line that does not fit is lost. */
static void on_progress(void *data, const char *text)
{
    const char *fd = getenv("IKIGAI_PROGRESS_FD");
    ik_buffer_t line;
    (void)data;
    if (fd == NULL) {
        return;
    }
    ik_buffer_init(&line, NULL, IK_BUFFER_UNLIMITED); /* bounded by PROGRESS_MAX */
    ik_json_begin_member(&line, "text");
    ik_json_append_string(&line, text, ik_utf8_cut(text, strlen(text), PROGRESS_MAX));
    ik_buffer_append_text(&line, "}\n");
    ssize_t put = write(atoi(fd), line.data, line.len);
    (void)put;
    ik_buffer_reset(&line);
}

void ik_host_relay_run(ik_tool_call_t *call, const char *op, const char *const *params)
{
    ik_host_answer_t answer;
    json_t *request = ik_json_adopt(call->ctx, json_pack("{s:s}", "op", op));
    for (size_t i = 0; params[i] != NULL; i++) {
        json_object_set(request, params[i], json_object_get(call->params, params[i]));
    }
    res_t done = ik_host_client_run(call->ctx, request, on_progress, NULL, &answer);
    if (is_err(&done)) {
        ik_tool_answer_error(call, "NO_HOST", "%s", done.message);
    } else if (answer.result == NULL) {
        ik_tool_answer_error(call, answer.code, "%s", answer.error);
    } else if (ik_tool_answer_write_part(answer.result, answer.result_len, true)) {
        ik_tool_answer_done(call);
    }
}
