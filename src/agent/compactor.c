#include "agent/compactor.h"

#include <string.h>

#include "agent/adaptation.h"
#include "agent/agent_request.h"
#include "agent/agent_state.h"
#include "agent/compaction.h"
#include "agent/summariser.h"
#include "base/alloc.h"
#include "base/utf8.h"
#include "conversation/figure.h"

enum {
    FULL_PERCENT = 85,  /* of the window: a request that would pass it is not sent as it is */
    WORDS_PART = 4,     /* of the window: the user's words, where they take too much of it */
    WORDS_LEAST = 4096, /* bytes of them that are kept in any window */
    TRIMS_MAX = 8,      /* each removes at least a third of the request */
    /* Parts of a request: a summary that replaces less is not worth asking for. */
    FIRST_GAIN = 64,
    LATER_GAIN = 8,     /* after an earlier summary, so that summaries do not follow each other */
    CUT_SUMMARY = 4096, /* bytes of an earlier summary that the second cut leaves */
};

static const double FEW_TOKENS = 1.0 / 4;  /* per byte, before the first answer: plain text */
static const double MANY_TOKENS = 1.0 / 3; /* on the high side */

static const char removed_text[] =
    "(Older messages were removed here because they did not fit the context window.)";

struct ik_compactor {
    ik_agent_t *agent;
    ik_compactor_end_fn on_end;
    void *data;

    int trims;
    ik_compaction_keep_t next_cut; /* what the next cut keeps */
    bool cut_all;                  /* nothing is left to cut */
    bool asked;                    /* for a summary, before the request that is due */
    bool failed;                   /* a summary failed: none is asked for again */
    bool unseen;                   /* the request for a summary was refused as too long */

    /* While a summary is asked for: */
    ik_summariser_t *summariser;
    ik_request_t *request; /* for the summary */
    ik_wire_t *wire;       /* of the request */
    const ik_request_t *due;
    const char *reason;
    char *prompt;
    char *focus;
    ik_compaction_summary_t plan;
    size_t bytes; /* of the request that is due */
    int64_t tokens;
    size_t refused; /* bytes of the request that a server refused; 0: none */

    ik_adaptation_t adaptation;
};

ik_compactor_t *ik_compactor_create(const void *ctx, ik_agent_t *agent, ik_compactor_end_fn on_end,
                                    void *data)
{
    ik_compactor_t *compactor = ik_new(ctx, ik_compactor_t);
    compactor->agent = agent;
    compactor->on_end = on_end;
    compactor->data = data;
    return compactor;
}

void ik_compactor_accept_answer(ik_compactor_t *compactor)
{
    compactor->trims = 0;
    compactor->next_cut = IK_COMPACTION_LAST_STEPS;
    compactor->asked = compactor->unseen = compactor->cut_all = false;
}

void ik_compactor_start_over(ik_compactor_t *compactor)
{
    ik_compactor_accept_answer(compactor);
    compactor->failed = false;
}

int64_t ik_compactor_silent_ms(const ik_compactor_t *compactor)
{
    return compactor->summariser == NULL ? -1 : ik_summariser_silent_ms(compactor->summariser);
}

/* Frees text. */
static void notice(const ik_compactor_t *compactor, char *text)
{
    ik_agent_notice(compactor->agent, text);
    talloc_free(text);
}

static void append(ik_compactor_t *compactor, ik_msg_t *message)
{
    ik_agent_append(compactor->agent, message, IK_STORE_FULL);
    notice(compactor, ik_strdup(NULL, message->content));
}

/* --- estimates --------------------------------------------------------------------------- */

static bool has_server(const ik_request_t *request)
{
    return request->target->provider->answer == NULL;
}

/* The bytes of a request; for a provider without a server, of its texts. */
static size_t measure(ik_compactor_t *compactor, const ik_request_t *request, ik_wire_t *wire)
{
    ik_wire_body_t body;
    if (!has_server(request)) {
        return ik_context_size(ik_agent_context(compactor->agent));
    }
    ik_wire_format(wire, request, &body);
    return body.text;
}

static double tokens_per_byte(const ik_agent_t *agent, double unknown)
{
    return agent->tokens_per_byte > 0 ? agent->tokens_per_byte : unknown;
}

static int64_t read_used(const ik_msg_t *message)
{
    ik_json_span_t object;
    if (ik_msg_is_summary(message)) {
        return ik_msg_field_number(message, "tokens_after", 0);
    }
    if (!ik_msg_field(message, "usage", &object) || !ik_json_is(object, IK_JSON_OBJECT)) {
        return 0;
    }
    ik_usage_t usage = ik_usage_parse(object);
    int64_t reasoning = usage.reasoning > 0 ? usage.reasoning : 0; /* it is not sent again */
    return usage.in <= 0 ? 0 : usage.in + (usage.out > reasoning ? usage.out - reasoning : 0);
}

/* What the usage of the last answer, or the last summary, says about the next request: all that was
 * sent and answered then, and what came since. 0: not known, or no longer true. */
static int64_t count_used(const ik_agent_t *agent)
{
    const ik_conversation_t *conversation = agent->conversation;
    size_t since = 0;
    size_t i = conversation->count;
    while (i > 0 && !ik_msg_begins_step(conversation->messages[i - 1]) &&
           !ik_msg_is(conversation->messages[i - 1], IK_MSG_COMPACTION)) {
        const ik_msg_t *message = conversation->messages[--i];
        since += ik_msg_side(message) == IK_MSG_USER_SIDE ? ik_context_size_of(message, false) : 0;
    }
    int64_t used = i == 0 ? 0 : read_used(conversation->messages[i - 1]);
    return used <= 0 ? 0 : used + (int64_t)((double)since * tokens_per_byte(agent, FEW_TOKENS));
}

static int64_t estimate(const ik_agent_t *agent, size_t bytes)
{
    int64_t by_size = (int64_t)((double)bytes * tokens_per_byte(agent, FEW_TOKENS));
    int64_t by_usage = count_used(agent);
    bool measured = agent->tokens_per_byte > 0 || by_usage == 0;
    return measured && by_size > by_usage ? by_size : by_usage;
}

/* The size of the window in bytes; 0: not known. A refused request shows that it is smaller. */
static size_t window_bytes(const ik_compactor_t *compactor)
{
    double window = (double)compactor->agent->target->facts->context;
    double per_byte = compactor->tokens > 0 && compactor->bytes > 0
                          ? (double)compactor->tokens / (double)compactor->bytes
                          : MANY_TOKENS;
    size_t room = (size_t)(window / per_byte);
    size_t less = compactor->refused / 3 * 2;
    return less > 0 && (room == 0 || less < room) ? less : room;
}

/* --- trimming ---------------------------------------------------------------------------- */

static bool trim_to(ik_compactor_t *compactor, size_t now, size_t trimmed)
{
    if (trimmed <= now || ++compactor->trims > TRIMS_MAX) {
        return false;
    }
    append(compactor, ik_msg_create_compaction(NULL, trimmed));
    return true;
}

/* The number of results that are not sent whole now. */
static size_t count_trimmed(ik_agent_t *agent)
{
    size_t trimmed = ik_conversation_trimmed_results(agent->conversation);
    size_t skipped = ik_agent_context(agent)->skipped_results;
    return trimmed > skipped ? trimmed : skipped;
}

/* Trims results by the estimated excess of a request, at least by a third of it. */
static size_t excess_of(size_t sent, double room)
{
    size_t surplus = room > 0 && (double)sent > room ? (size_t)((double)sent - room) : 0;
    size_t third = sent / 3;
    return surplus > third ? surplus : third;
}

/* --- summaries --------------------------------------------------------------------------- */

/* The bytes of the request that is due if the message were in the conversation. */
static size_t measure_with(ik_compactor_t *compactor, const ik_msg_t *summary)
{
    const ik_agent_t *agent = compactor->agent;
    ik_context_t *preview = ik_context_preview(NULL, agent->conversation, summary);
    ik_request_t *request = ik_new(preview, ik_request_t);
    *request = *compactor->due;
    ik_conversation_t *sent = ik_conversation_create(preview);
    for (size_t i = 0; i < preview->sent->count; i++) {
        ik_conversation_share(sent, preview->sent->messages[i]);
    }
    ik_conversation_share(sent, (ik_msg_t *)summary); /* it voids earlier reasoning */
    ik_request_set_messages(request, preview, sent);
    size_t bytes = has_server(request) ? measure(compactor, request, ik_wire_create(preview))
                                       : ik_context_size(preview);
    talloc_free(preview);
    return bytes;
}

/* Records the summary with its figures. In a small window the user's words leave too little room:
 * then only the latest of them are kept. */
static void append_summary(ik_compactor_t *compactor, ik_msg_summary_t *summary)
{
    size_t room = window_bytes(compactor);
    size_t most = room / WORDS_PART > WORDS_LEAST ? room / WORDS_PART : WORDS_LEAST;
    ik_msg_t *draft = ik_msg_create_summary(NULL, summary);
    size_t bytes = measure_with(compactor, draft);
    if (room > 0 && bytes > room / 100 * FULL_PERCENT && summary->words_limit > most) {
        talloc_free(draft);
        summary->words_limit = most;
        draft = ik_msg_create_summary(NULL, summary);
        bytes = measure_with(compactor, draft);
    }
    summary->tokens_before = compactor->tokens;
    summary->tokens_after = (int64_t)((double)compactor->tokens * (double)bytes /
                                      (double)(compactor->bytes == 0 ? 1 : compactor->bytes));
    talloc_free(draft);
    append(compactor, ik_msg_create_summary(NULL, summary));
}

/* Removes older messages without a summary, or with an earlier one. */
static bool cut(ik_compactor_t *compactor)
{
    ik_agent_t *agent = compactor->agent;
    bool shorter = false;
    while (!shorter && !compactor->cut_all) {
        const ik_context_t *context = ik_agent_context(agent);
        bool least = compactor->next_cut == IK_COMPACTION_LEAST;
        ik_compaction_summary_t plan;
        ik_compaction_plan_summary(context, window_bytes(compactor), compactor->next_cut, &plan);
        char *earlier =
            context->summary == NULL ? NULL : ik_msg_field_text(NULL, context->summary, "summary");
        if (earlier != NULL && least) {
            earlier[ik_utf8_cut(earlier, strlen(earlier), CUT_SUMMARY)] = '\0';
        }
        char *text = earlier == NULL ? ik_strdup(NULL, removed_text)
                     : strstr(earlier, removed_text) != NULL
                         ? ik_strdup(NULL, earlier)
                         : ik_sprintf(NULL, "%s\n\n%s", earlier, removed_text);
        ik_msg_summary_t summary = {.reason = compactor->reason,
                                    .summary = text,
                                    .focus = compactor->focus,
                                    .covers = plan.covers,
                                    .words_limit = plan.words_limit,
                                    .usage = IK_USAGE_NONE};
        ik_msg_t *draft = ik_msg_create_summary(NULL, &summary);
        shorter = measure_with(compactor, draft) < compactor->bytes;
        if (shorter) {
            append_summary(compactor, &summary);
        }
        compactor->cut_all = least;
        compactor->next_cut = IK_COMPACTION_LEAST;
        talloc_free(draft);
        talloc_free(text);
        talloc_free(earlier);
    }
    return shorter;
}

static void end(ik_compactor_t *compactor, bool changed)
{
    TALLOC_FREE(compactor->summariser);
    TALLOC_FREE(compactor->request);
    compactor->on_end(compactor->data, changed);
}

static void on_summary(void *data, const ik_summariser_result_t *result);

static void ask(ik_compactor_t *compactor)
{
    ik_agent_t *agent = compactor->agent;
    ik_request_build_from_conversation(compactor, agent, agent->wire_registry, &compactor->request);
    compactor->wire = agent->wire;
    /* The messages that are kept need no summary: without them a request may fit. */
    if (compactor->refused > 0) {
        const ik_context_t *context = ik_agent_context(agent);
        ik_request_set_messages(
            compactor->request, context,
            ik_context_older(compactor->request, context, compactor->plan.index));
        compactor->wire = ik_wire_create(compactor->request);
    }
    ik_summariser_options_t options = {
        .shared = agent->shared,
        .request = compactor->request,
        .wire = compactor->wire,
        .prompt = compactor->prompt,
        .focus = compactor->focus,
        .on_end = on_summary,
        .data = compactor,
    };
    compactor->summariser = ik_summariser_start(compactor, &options);
}

static void repeat(ik_compactor_t *compactor)
{
    TALLOC_FREE(compactor->summariser);
    TALLOC_FREE(compactor->request);
    ask(compactor);
}

/* Repeats a request that the server refused without what it refused, as a turn does. */
static bool repeat_adapted(ik_compactor_t *compactor, const ik_stream_t *stream)
{
    if (stream->stop != IK_STOP_ERROR || ik_stream_is_visible(stream) ||
        !ik_adaptation_apply(&compactor->adaptation, compactor->agent, compactor->request,
                             compactor->wire, &stream->error)) {
        return false;
    }
    repeat(compactor);
    return true;
}

/* What is done instead of a summary; true when on_summary follows again. */
static bool fall_back(ik_compactor_t *compactor, size_t too_long, bool *changed)
{
    ik_agent_t *agent = compactor->agent;
    size_t now = count_trimmed(agent);
    bool whole = compactor->refused == 0;
    compactor->unseen = whole && too_long > 0;
    compactor->failed = !compactor->unseen;
    *changed = true;
    if (strcmp(compactor->reason, "full") == 0) {
        return false; /* ik_compactor_prepare trims */
    }
    if (whole && trim_to(compactor, now, ik_compaction_plan_all(agent->conversation, now))) {
        return false;
    }
    if (compactor->unseen) {
        compactor->refused = too_long;
        repeat(compactor);
        return true;
    }
    *changed = too_long + compactor->refused > 0 && cut(compactor);
    return false;
}

static void on_summary(void *data, const ik_summariser_result_t *result)
{
    ik_compactor_t *compactor = data;
    ik_agent_t *agent = compactor->agent;
    const ik_stream_t *stream = result->stream;
    const char *why = result->why;
    double cost = ik_model_cost(stream->target->facts, &stream->usage);
    if (ik_usage_known(&stream->usage)) {
        ik_agent_emit(agent, &(ik_agent_event_t){
                                 .kind = IK_AGENT_USAGE, .usage = stream->usage, .cost = cost});
    }
    if (stream->usage.in > 0 && result->sent > 0) {
        agent->tokens_per_byte = (double)stream->usage.in / (double)result->sent;
    }
    if (repeat_adapted(compactor, stream)) {
        return;
    }
    if (why == NULL && strlen(result->text) >= compactor->plan.gain) {
        why = "the summary is not shorter than what it would replace";
    }
    if (why == NULL) {
        append_summary(compactor, &(ik_msg_summary_t){.reason = compactor->reason,
                                                      .summary = result->text,
                                                      .focus = compactor->focus,
                                                      .covers = compactor->plan.covers,
                                                      .words_limit = compactor->plan.words_limit,
                                                      .model = stream->target->name,
                                                      .usage = stream->usage,
                                                      .cost = cost});
        end(compactor, true);
        return;
    }
    notice(compactor, ik_sprintf(NULL, "The conversation was not summarised: %s", why));
    bool too_long = (stream->stop == IK_STOP_ERROR && stream->error.fault == IK_FAULT_OVERFLOW) ||
                    stream->stop == IK_STOP_CONTEXT_FULL;
    bool changed;
    if (!fall_back(compactor, too_long ? result->sent : 0, &changed)) {
        end(compactor, changed);
    }
}

/* Says why and how full the context is. */
static void announce(const ik_compactor_t *compactor)
{
    int64_t window = compactor->agent->target->facts->context;
    ik_figure_t tokens = ik_figure_of_count(compactor->tokens);
    char *share = window > 0 ? ik_sprintf(NULL, ", %lld%% of the context window",
                                          (long long)(100 * compactor->tokens / window))
                             : ik_strdup(NULL, "");
    const char *why = strcmp(compactor->reason, "overflow") == 0
                          ? "The conversation is too long for the model"
                      : strcmp(compactor->reason, "full") == 0 ? "The context is nearly full"
                                                               : "Compacting the conversation";
    notice(compactor, ik_sprintf(NULL, "%s (%s tokens%s): asking the model for a summary.", why,
                                 tokens.text, share));
    talloc_free(share);
}

/* What hooks say about the summary. */
static void on_hooks(void *data, const ik_hook_outcome_t *outcome)
{
    ik_compactor_t *compactor = data;
    bool changed = false;
    if (outcome->decision != IK_HOOK_DENY && !outcome->stops) {
        announce(compactor);
        ask(compactor);
        return;
    }
    notice(compactor, ik_sprintf(NULL, "The conversation was not summarised: %s", outcome->reason));
    bool by_user = strcmp(compactor->reason, "user") == 0;
    if (by_user || !fall_back(compactor, 0, &changed)) {
        end(compactor, changed);
    }
}

/* Asks the hooks first, if there are some. */
static void begin_summary(ik_compactor_t *compactor)
{
    const ik_agent_t *agent = compactor->agent;
    bool by_user = strcmp(compactor->reason, "user") == 0;
    if (!ik_hooks_any(agent->shared->hooks, IK_HOOK_BEFORE_COMPACT, NULL)) {
        announce(compactor);
        ask(compactor);
        return;
    }
    ik_hooks_start(compactor, agent->shared->hooks,
                   &(ik_hook_occasion_t){.event = IK_HOOK_BEFORE_COMPACT,
                                         .agent = agent->number,
                                         .trigger = by_user ? "manual" : "auto"},
                   on_hooks, compactor);
}

/* Asks for a summary; false when there is nothing to summarise, or no prompt. */
static bool start_summary(ik_compactor_t *compactor, const ik_request_t *due, const char *reason,
                          size_t gain_least)
{
    const ik_context_t *context = ik_agent_context(compactor->agent);
    compactor->due = due;
    compactor->reason = reason;
    if (!ik_compaction_plan_summary(context, window_bytes(compactor), IK_COMPACTION_LAST_STEPS,
                                    &compactor->plan) ||
        compactor->plan.gain < gain_least) {
        return false;
    }
    char *problem;
    talloc_free(compactor->prompt);
    compactor->prompt = ik_summariser_read_prompt(compactor, compactor->agent->shared, &problem);
    if (problem != NULL) {
        notice(compactor, problem);
    }
    if (compactor->prompt == NULL) {
        return false;
    }
    compactor->asked = true;
    compactor->unseen = false;
    begin_summary(compactor);
    return true;
}

/* --- when -------------------------------------------------------------------------------- */

static void set_due(ik_compactor_t *compactor, const ik_request_t *request)
{
    compactor->due = request;
    compactor->bytes = measure(compactor, request, compactor->agent->wire);
    compactor->tokens = estimate(compactor->agent, compactor->bytes);
}

ik_compactor_outcome_t ik_compactor_prepare(ik_compactor_t *compactor, const ik_request_t *request)
{
    ik_agent_t *agent = compactor->agent;
    int64_t most = agent->target->facts->context * FULL_PERCENT / 100;
    if (most <= 0 || !has_server(request)) {
        return IK_COMPACTOR_NONE;
    }
    set_due(compactor, request);
    compactor->refused = 0;
    if (compactor->tokens <= most) {
        return IK_COMPACTOR_NONE;
    }
    bool first = ik_agent_context(agent)->summary == NULL;
    if (!compactor->asked && !compactor->failed &&
        start_summary(compactor, request, "full",
                      compactor->bytes / (first ? FIRST_GAIN : LATER_GAIN))) {
        return IK_COMPACTOR_ASKS;
    }
    size_t now = count_trimmed(agent);
    double room = (double)compactor->bytes * (double)most / (double)compactor->tokens;
    size_t bytes = excess_of(compactor->bytes, room);
    return trim_to(compactor, now, ik_compaction_plan_older(agent->conversation, now, bytes))
               ? IK_COMPACTOR_CHANGED
               : IK_COMPACTOR_NONE;
}

ik_compactor_outcome_t ik_compactor_recover(ik_compactor_t *compactor, const ik_request_t *request,
                                            size_t sent, bool continues)
{
    ik_agent_t *agent = compactor->agent;
    size_t now = count_trimmed(agent);
    double room = (double)agent->target->facts->context / tokens_per_byte(agent, MANY_TOKENS);
    if (trim_to(compactor, now,
                ik_compaction_plan(agent->conversation, now, excess_of(sent, room)))) {
        return IK_COMPACTOR_CHANGED;
    }
    if (continues) {
        return IK_COMPACTOR_NONE;
    }
    set_due(compactor, request);
    compactor->refused = sent;
    bool may_ask = (!compactor->asked || compactor->unseen) && !compactor->failed;
    if (may_ask && start_summary(compactor, request, "overflow", 1)) {
        return IK_COMPACTOR_ASKS;
    }
    compactor->reason = "overflow";
    return cut(compactor) ? IK_COMPACTOR_CHANGED : IK_COMPACTOR_NONE;
}

ik_compactor_outcome_t ik_compactor_compact(ik_compactor_t *compactor, const ik_request_t *request,
                                            const char *focus)
{
    ik_agent_t *agent = compactor->agent;
    size_t now = count_trimmed(agent);
    set_due(compactor, request);
    compactor->focus = focus == NULL ? NULL : ik_strdup(compactor, focus);
    if (start_summary(compactor, request, "user", 0)) {
        return IK_COMPACTOR_ASKS;
    }
    return trim_to(compactor, now, ik_compaction_plan_all(agent->conversation, now))
               ? IK_COMPACTOR_CHANGED
               : IK_COMPACTOR_NONE;
}
