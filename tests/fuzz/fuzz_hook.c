/* What hooks say. Input: the event, the exit status, standard output, NUL, standard error. */
#include <stdint.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "hook/hook_answer.h"
#include "hook/hook_payload.h"
#include "pieces.h"

static void require_text(const char *text)
{
    REQUIRE(text == NULL || (*text != '\0' && ik_utf8_valid(text, strlen(text))));
}

static void require_object(const char *text)
{
    ik_json_span_t value;
    REQUIRE(text == NULL || (ik_json_scan(text, strlen(text), &value, NULL) &&
                             ik_json_kind(value) == IK_JSON_OBJECT));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len < 2) {
        return 0;
    }
    void *ctx = talloc_new(NULL);
    ik_hook_event_t event = (ik_hook_event_t)(bytes[0] % IK_HOOK_EVENTS);
    size_t out_len = pieces_find(bytes + 2, len - 2, '\0');
    size_t err_len = len - 2 - out_len;
    char *out = pieces_copy(bytes + 2, out_len);
    char *err = pieces_copy(bytes + 2 + out_len, err_len);
    ik_hook_output_t output = {
        .status = (int8_t)bytes[1], .out = {out, out_len}, .err = {err, err_len}};
    ik_hook_answer_t answer = ik_hook_answer_parse(ctx, event, &output);
    require_text(answer.failure);
    require_text(answer.reason);
    require_text(answer.context);
    require_text(answer.message);
    require_object(answer.input);
    REQUIRE(answer.failure == NULL || (answer.decision == IK_HOOK_SILENCE && !answer.stops));
    ik_hook_outcome_t outcome = {0};
    for (int i = 0; i < 2 && answer.failure == NULL; i++) {
        ik_hook_decision_t before = outcome.decision;
        ik_hook_outcome_add(ctx, &outcome, &answer, "event/hook", i == 0, "{\"a\":[1],\"b\":2}");
        REQUIRE(outcome.decision >= before);
        REQUIRE(i > 0 || outcome.decision != IK_HOOK_ALLOW);
        require_object(outcome.input);
    }
    REQUIRE((outcome.decision != IK_HOOK_DENY && !outcome.stops) || outcome.reason != NULL);
    if (outcome.input != NULL) { /* one line, whatever the hook wrote */
        size_t payload_len;
        ik_json_span_t payload;
        char *text = ik_hook_payload_format(
            ctx, &(ik_hook_occasion_t){.event = IK_HOOK_BEFORE_TOOL, .tool = "t", .call_id = "c"},
            &(ik_hook_agent_t){.session_id = "s", .model = "m"}, "/", outcome.input, &payload_len);
        REQUIRE(pieces_find((const uint8_t *)text, payload_len, '\n') == payload_len - 1);
        REQUIRE(ik_json_scan(text, payload_len, &payload, NULL));
    }
    talloc_free(ctx);
    free(out);
    free(err);
    return 0;
}
