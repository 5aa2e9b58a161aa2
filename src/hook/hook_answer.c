#include "hook/hook_answer.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/utf8.h"

enum { EXIT_BLOCK = 2, EXIT_HALT = 49, EXIT_SIGNAL = 128, QUOTE_MAX = 200 };

/* --- texts ------------------------------------------------------------------------------- */

/* Valid UTF-8 without blanks around it, NUL replaced; NULL when nothing is left. */
static char *clean(const void *ctx, const char *bytes, size_t len)
{
    static const char blanks[] = " \t\r\n";
    while (len > 0 && memchr(blanks, bytes[len - 1], sizeof(blanks) - 1) != NULL) {
        len--;
    }
    while (len > 0 && memchr(blanks, bytes[0], sizeof(blanks) - 1) != NULL) {
        bytes++;
        len--;
    }
    if (len == 0) {
        return NULL;
    }
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED); /* bounded by what the hook printed */
    for (size_t at = 0, part; at < len; at += part + 1) {
        const char *nul = memchr(bytes + at, '\0', len - at);
        part = nul == NULL ? len - at : (size_t)(nul - bytes) - at;
        ik_utf8_append_clean(&text, bytes + at, part);
        ik_buffer_append_text(&text, nul == NULL ? "" : IK_UTF8_REPLACEMENT);
    }
    return ik_buffer_finish(&text);
}

static char *decode(const void *ctx, ik_json_span_t value)
{
    if (!ik_json_is(value, IK_JSON_STRING)) {
        return NULL;
    }
    size_t len;
    char *text = ik_json_decode(NULL, value, &len);
    char *cleaned = clean(ctx, text, len);
    talloc_free(text);
    return cleaned;
}

static const char *join(const void *ctx, const char *first, const char *second)
{
    return first == NULL    ? second
           : second == NULL ? first
                            : ik_sprintf(ctx, "%s\n%s", first, second);
}

/* A text, or an array of texts. */
static const char *read_context(const void *ctx, ik_json_span_t value)
{
    const char *joined = decode(ctx, value);
    size_t position = 0;
    ik_json_span_t element;
    while (ik_json_is(value, IK_JSON_ARRAY) && ik_json_next_element(value, &position, &element)) {
        joined = join(ctx, joined, decode(ctx, element));
    }
    return joined;
}

/* --- the object that a hook prints ------------------------------------------------------- */

enum {
    CONTINUE,
    STOP_REASON,
    MESSAGE,
    DECISION,
    PERMISSION_DECISION,
    REASON,
    PERMISSION_REASON,
    UPDATED_INPUT,
    PATCH,
    ADDITIONAL_CONTEXT,
    CONTEXT,
    HALT,
    SPECIFIC,
    MEMBERS,
};

static const char *const members[MEMBERS] = {
    [CONTINUE] = "continue",
    [STOP_REASON] = "stopReason",
    [MESSAGE] = "systemMessage",
    [DECISION] = "decision",
    [PERMISSION_DECISION] = "permissionDecision",
    [REASON] = "reason",
    [PERMISSION_REASON] = "permissionDecisionReason",
    [UPDATED_INPUT] = "updatedInput",
    [PATCH] = "updated_input",
    [ADDITIONAL_CONTEXT] = "additionalContext",
    [CONTEXT] = "context",
    [HALT] = "halt",
    [SPECIFIC] = "hookSpecificOutput",
};

static const struct {
    const char *word;
    ik_hook_decision_t decision;
} words[] = {
    {"allow", IK_HOOK_ALLOW}, {"approve", IK_HOOK_ALLOW}, {"deny", IK_HOOK_DENY},
    {"block", IK_HOOK_DENY},  {"ask", IK_HOOK_ASK},       {"defer", IK_HOOK_SILENCE},
};

/* Of two decisions in one answer the stronger one counts; false when a word is not known. */
static bool read_decision(ik_hook_answer_t *answer, ik_json_span_t value)
{
    if (value.len == 0 || ik_json_is_text(value, "")) {
        return true;
    }
    for (size_t i = 0; i < IK_LENGTH(words); i++) {
        if (ik_json_is_text(value, words[i].word)) {
            answer->decision =
                words[i].decision > answer->decision ? words[i].decision : answer->decision;
            return true;
        }
    }
    return false;
}

static void set_input(const void *ctx, ik_hook_answer_t *answer, ik_json_span_t value, bool patches)
{
    if (value.len > 0 && ik_json_kind(value) != IK_JSON_OBJECT) {
        answer->failure = ik_sprintf(ctx, "%s in its answer is not an object",
                                     patches ? "updated_input" : "updatedInput");
    } else if (value.len > 0) {
        answer->input = ik_strndup(ctx, value.text, value.len);
        answer->patches = patches;
    }
}

/* Claude Code writes some members into an object of their own, others beside it. */
static void read_members(const void *ctx, ik_hook_answer_t *answer, const ik_json_span_t *values)
{
    if (!read_decision(answer, values[DECISION]) ||
        !read_decision(answer, values[PERMISSION_DECISION])) {
        answer->failure = "the decision in its answer is not known";
    }
    const char *reason = decode(ctx, values[PERMISSION_REASON]);
    reason = reason == NULL ? decode(ctx, values[REASON]) : reason;
    answer->reason = reason == NULL ? answer->reason : reason;
    set_input(ctx, answer, values[PATCH], true);
    set_input(ctx, answer, values[UPDATED_INPUT], false);
    answer->context = join(ctx, answer->context, read_context(ctx, values[ADDITIONAL_CONTEXT]));
    answer->context = join(ctx, answer->context, read_context(ctx, values[CONTEXT]));
}

static void read_object(const void *ctx, ik_hook_answer_t *answer, ik_json_span_t object)
{
    ik_json_span_t values[MEMBERS];
    ik_json_span_t specific[MEMBERS];
    ik_json_find_members(object, members, MEMBERS, values);
    ik_json_find_members(values[SPECIFIC], members, MEMBERS, specific);
    read_members(ctx, answer, values);
    read_members(ctx, answer, specific);
    answer->message = decode(ctx, values[MESSAGE]);
    bool halts = ik_json_is(values[HALT], IK_JSON_BOOLEAN) && values[HALT].text[0] == 't';
    bool ends = ik_json_is(values[CONTINUE], IK_JSON_BOOLEAN) && values[CONTINUE].text[0] == 'f';
    if (halts || ends) {
        const char *why = decode(ctx, values[STOP_REASON]);
        answer->stops = true;
        answer->reason = why == NULL ? answer->reason : why;
    }
}

/* --- parsing ----------------------------------------------------------------------------- */

static const char *describe_status(const void *ctx, const ik_hook_output_t *output)
{
    char *said = clean(ctx, output->err.text, output->err.len);
    if (said != NULL) {
        said[ik_utf8_cut(said, strcspn(said, "\r\n"), QUOTE_MAX)] = '\0';
    }
    char *how = output->status < 0 ? ik_strdup(ctx, "its exit status is not known")
                : output->status > EXIT_SIGNAL
                    ? ik_sprintf(ctx, "signal %d ended it", output->status - EXIT_SIGNAL)
                    : ik_sprintf(ctx, "it exited with status %d", output->status);
    return said == NULL ? how : ik_sprintf(ctx, "%s: %s", how, said);
}

static bool takes_plain_text(ik_hook_event_t event)
{
    return event == IK_HOOK_SESSION_START || event == IK_HOOK_USER_PROMPT ||
           event == IK_HOOK_AFTER_TOOL;
}

/* Exit status 0. */
static void read_output(const void *ctx, ik_hook_answer_t *answer, ik_hook_event_t event,
                        ik_json_span_t out)
{
    size_t blank = 0;
    while (blank < out.len && memchr(" \t\r\n", out.text[blank], 4) != NULL) {
        blank++;
    }
    ik_json_span_t object;
    ik_json_fault_t fault;
    if (blank == out.len || out.text[blank] != '{') {
        answer->context = takes_plain_text(event) ? clean(ctx, out.text, out.len) : NULL;
    } else if (!ik_utf8_valid(out.text, out.len)) {
        answer->failure = "it printed JSON that is not UTF-8";
    } else if (!ik_json_scan(out.text, out.len, &object, &fault)) {
        answer->failure = ik_sprintf(ctx, "it printed broken JSON: %s", fault.reason);
    } else {
        read_object(ctx, answer, object);
    }
}

ik_hook_answer_t ik_hook_answer_parse(const void *ctx, ik_hook_event_t event,
                                      const ik_hook_output_t *output)
{
    ik_hook_answer_t answer = {0};
    switch (output->status) {
    case 0:
        read_output(ctx, &answer, event, output->out);
        break;
    case EXIT_BLOCK:
        answer.decision = IK_HOOK_DENY;
        answer.reason = clean(ctx, output->err.text, output->err.len);
        break;
    case EXIT_HALT:
        answer.stops = true;
        answer.reason = clean(ctx, output->err.text, output->err.len);
        break;
    default:
        answer.failure = describe_status(ctx, output);
    }
    if (answer.failure != NULL) {
        return (ik_hook_answer_t){.failure = answer.failure};
    }
    return answer;
}

/* --- joining ----------------------------------------------------------------------------- */

/* The arguments with the members of a patch. */
static char *merge(const void *ctx, const char *input, const char *patch)
{
    ik_json_span_t object = {0};
    ik_json_span_t changes = {0};
    if (!ik_json_scan(input, strlen(input), &object, NULL) || !ik_json_is(object, IK_JSON_OBJECT) ||
        !ik_json_scan(patch, strlen(patch), &changes, NULL) ||
        !ik_json_is(changes, IK_JSON_OBJECT)) {
        return ik_strdup(ctx, patch);
    }
    ik_buffer_t merged;
    ik_buffer_init(&merged, ctx, IK_BUFFER_UNLIMITED); /* bounded by both */
    ik_json_append_merged(&merged, object, changes);
    return ik_buffer_finish(&merged);
}

void ik_hook_outcome_add(const void *ctx, ik_hook_outcome_t *outcome,
                         const ik_hook_answer_t *answer, const char *hook, bool of_project,
                         const char *input)
{
    ik_hook_decision_t decision = answer->decision;
    if (decision == IK_HOOK_ALLOW && of_project) {
        decision = IK_HOOK_SILENCE;
    }
    bool stops_first = answer->stops && !outcome->stops;
    if (stops_first || (!outcome->stops && decision > outcome->decision)) {
        bool needs = answer->stops || decision == IK_HOOK_DENY;
        outcome->hook = ik_strdup(ctx, hook);
        outcome->names_hook = answer->reason == NULL || answer->failure != NULL;
        outcome->reason = answer->reason != NULL ? answer->reason
                          : needs                ? ik_sprintf(ctx, "The hook %s %s", hook,
                                               answer->stops ? "ended the turn" : "denied this")
                                                 : NULL;
    }
    outcome->decision = decision > outcome->decision ? decision : outcome->decision;
    outcome->stops = outcome->stops || answer->stops;
    outcome->context = join(ctx, outcome->context, answer->context);
    if (answer->input != NULL && input != NULL) {
        const char *before = outcome->input == NULL ? input : outcome->input;
        outcome->input =
            answer->patches ? merge(ctx, before, answer->input) : ik_strdup(ctx, answer->input);
    }
}
