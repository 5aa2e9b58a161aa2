#include "permission/permission_gate.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/sanitiser.h"
#include "tool/tool_wrapper.h"

typedef struct {
    ik_permission_gate_options_t options;
    ik_call_gate_t gate;
} gate_t;

/* One call on its way through the gate. */
typedef struct {
    gate_t *gate;
    ik_permission_call_t call;
    int64_t agent;
    const char *call_id;
    const char *name;
    ik_mode_t mode;
    bool confined; /* held to effects; else the call runs as the user's own programs do */
    ik_effects_t effects;
    bool rule_asks;           /* a rule has the user asked, which beats rules that allow */
    ik_hook_decision_t hooks; /* what hooks say */
    const char *hook_reason;  /* why; NULL: not known */
    const char *said;         /* by hooks that were asked here, for the model; NULL */
    char *rewritten;          /* the arguments as hooks that were asked here left them; NULL */
    char *rule;               /* what "always" adds; NULL: nothing */
    ik_permission_question_t question;
    ik_call_verdict_fn on_verdict;
    void *data;
    bool returned; /* decide has returned */
    bool decided;
} decision_t;

/* --- verdicts ---------------------------------------------------------------------------- */

static void give_verdict(decision_t *decision, const ik_call_verdict_t *verdict)
{
    ik_call_verdict_t given = *verdict;
    given.arguments = decision->rewritten;
    given.arguments_len = decision->rewritten == NULL ? 0 : decision->call.arguments_len;
    given.said = decision->said;
    decision->decided = true;
    ik_alloc_take(decision); /* on_verdict may free the context */
    decision->on_verdict(decision->data, &given);
    if (decision->returned) {
        talloc_free(decision);
    }
}

static void deny(decision_t *decision, const char *why)
{
    give_verdict(decision, &(ik_call_verdict_t){.denied = why});
}

/* Whether an unconfined call may write. Of tools that nothing holds to what they declare, only the
 * shipped ones are believed. */
static bool is_free_to_write(const ik_tool_registry_entry_t *entry)
{
    ik_effects_t declared;
    return entry->source != IK_TOOL_SYSTEM || !ik_tool_registry_effects(entry, &declared) ||
           declared.write != IK_WRITE_NONE;
}

/* Denies a call that would not be confined as the configuration requires: the level has fallen
 * since the program started. */
static bool deny_weaker(decision_t *decision, ik_confinement_level_t level)
{
    const ik_config_t *config = decision->gate->options.config;
    bool weaker =
        config->confinement == IK_CONFIG_CONFINEMENT_REQUIRED && level != IK_CONFINEMENT_FULL;
    if (weaker) {
        deny(decision, "The configuration requires full confinement, which is no longer possible; "
                       "see ikigai doctor");
    }
    return weaker;
}

static void on_room(void *data, ik_process_host_t *room)
{
    decision_t *decision = data;
    const ik_permission_gate_options_t *options = &decision->gate->options;
    if (deny_weaker(decision, ik_confinement_facts(options->confinement)->level)) {
        return;
    }
    if (room == NULL) {
        deny(decision, "This call can no longer be confined; see ikigai doctor");
        return;
    }
    char *limits = ik_confinement_describe(decision, options->confinement, decision->effects);
    ik_call_verdict_t verdict = {
        .room = room,
        .confined =
            decision->mode == IK_MODE_PLAN ? ik_sprintf(decision, "plan mode: %s", limits) : limits,
        .open_places = ik_confinement_facts(options->confinement)->level != IK_CONFINEMENT_FULL,
        .may_write = decision->effects.write != IK_WRITE_NONE,
    };
    give_verdict(decision, &verdict);
}

/* Lets the call run with what it is allowed by now. */
static void run(decision_t *decision)
{
    if (decision->confined) {
        ik_confinement_prepare(decision, decision->gate->options.confinement, decision->effects,
                               on_room, decision);
    } else {
        const ik_tool_registry_entry_t *entry = decision->call.entry;
        give_verdict(decision,
                     &(ik_call_verdict_t){.may_write = entry != NULL && is_free_to_write(entry)});
    }
}

/* Nothing is written and there is no network, whatever the tool declares and whatever it asks for.
 * Where nothing can be confined, only shipped tools that declare this are believed. */
static void decide_plan(decision_t *decision)
{
    const ik_confinement_facts_t *facts = ik_confinement_facts(decision->gate->options.confinement);
    const ik_tool_registry_entry_t *entry = decision->call.entry;
    ik_effects_t declared;
    bool harmless = ik_tool_registry_effects(entry, &declared) && declared.write == IK_WRITE_NONE &&
                    !declared.network && entry->source == IK_TOOL_SYSTEM;
    decision->mode = IK_MODE_PLAN;
    if (entry->source == IK_TOOL_SERVER &&
        decision->gate->options.config->confinement == IK_CONFIG_CONFINEMENT_OFF) {
        /* Servers run in no room then, whatever their entries declare. */
        deny(decision, "plan mode: the configuration turns confinement off, so the server of this "
                       "tool is not held to reading");
        return;
    }
    if (entry->source == IK_TOOL_SERVER && (!ik_tool_registry_effects(entry, &declared) ||
                                            declared.write != IK_WRITE_NONE || declared.network)) {
        deny(decision, "plan mode: the server of this tool is not confined to reading; in its "
                       "entry, effects would have to be write none and network false");
        return;
    }
    decision->effects = (ik_effects_t){.write = IK_WRITE_NONE};
    decision->confined = facts != NULL && facts->level != IK_CONFINEMENT_NONE;
    if (!decision->confined && !harmless) {
        deny(decision, "plan mode: this tool cannot be confined here, so it does not run in plan "
                       "mode");
        return;
    }
    run(decision);
}

/* --- questions --------------------------------------------------------------------------- */

/* The answer is yes. It gives nothing in plan mode, which may have begun since the question. */
static void grant(decision_t *decision)
{
    const ik_permission_gate_options_t *options = &decision->gate->options;
    bool plans = options->mode_of(options->data, decision->agent) == IK_MODE_PLAN;
    (plans ? decide_plan : run)(decision);
}

static void on_answer(void *data, ik_permission_answer_t answer, const char *text)
{
    decision_t *decision = data;
    const ik_permission_gate_options_t *options = &decision->gate->options;
    if (answer == IK_PERMISSION_ALWAYS && decision->rule != NULL) {
        res_t added = ik_permission_rules_add(options->rules, decision->rule);
        if (is_err(&added)) {
            options->warn(options->data, added.message);
        }
    }
    if (answer == IK_PERMISSION_YES || answer == IK_PERMISSION_ALWAYS) {
        grant(decision);
        return;
    }
    int64_t agent = decision->agent;
    deny(decision, text == NULL
                       ? "The user denied this call"
                       : ik_sprintf(decision, "The user denied this call and says: %s", text));
    if (answer == IK_PERMISSION_STOP && options->stop_turn != NULL) {
        options->stop_turn(options->data, agent);
    }
}

/* Why the call is made: what a hook that asks says, or else the model; NULL: not known. */
static char *find_reason(const decision_t *decision)
{
    const ik_permission_call_t *call = &decision->call;
    const char *said = decision->hook_reason;
    ik_json_span_t arguments;
    ik_json_span_t value;
    size_t len;
    if (decision->hooks == IK_HOOK_ASK && said != NULL) {
        return ik_sanitise_write_out(decision, said, strlen(said));
    }
    if (!ik_json_scan(call->arguments, call->arguments_len, &arguments, NULL) ||
        !ik_json_find_kind(arguments, "reason", IK_JSON_STRING, &value)) {
        return NULL;
    }
    char *reason = ik_json_decode(decision, value, &len);
    return ik_sanitise_write_out(decision, reason, len);
}

/* What lets a call run where there is no user to ask. A hook's question is asked in every mode and
 * overrides rules, as that of a rule overrides --allow network. */
static const char *find_remedy(const decision_t *decision)
{
    const ik_permission_gate_options_t *options = &decision->gate->options;
    bool hook_asks = decision->hooks == IK_HOOK_ASK;
    ik_permission_extra_t extra = decision->call.extra;
    if (options->remedy != NULL) {
        return hook_asks ? options->remedy
                         : ik_sprintf(decision, "%s, or %s", options->remedy, options->full_remedy);
    }
    return hook_asks || extra == IK_PERMISSION_ALL ? "pass --allow all"
           : extra == IK_PERMISSION_NETWORK && !decision->rule_asks
               ? "pass --allow network"
               : "pass --allow all or --mode full";
}

static void ask(decision_t *decision, const char *wants)
{
    const ik_permission_gate_options_t *options = &decision->gate->options;
    if (options->allow_all) {
        grant(decision);
        return;
    }
    if (options->unattended) {
        const char *said = decision->hooks == IK_HOOK_ASK ? decision->hook_reason : NULL;
        deny(decision, ik_sprintf(decision,
                                  "This call needs the user's permission (%s%s%s), and there is no "
                                  "user to ask: %s",
                                  wants, said == NULL ? "" : "; a hook asks: ",
                                  said == NULL ? "" : said, find_remedy(decision)));
        return;
    }
    char *rule = decision->hooks == IK_HOOK_ASK || decision->rule_asks /* it would ask again */
                     ? NULL
                     : ik_permission_rules_suggest(decision, &decision->call);
    decision->rule = rule;
    decision->question = (ik_permission_question_t){
        .agent = decision->agent,
        .call_id = decision->call_id,
        .tool = decision->name,
        .arguments = decision->call.arguments,
        .arguments_len = decision->call.arguments_len,
        .reason = find_reason(decision),
        .wants = wants,
        .rule = rule == NULL ? NULL : ik_sanitise_write_out(decision, rule, strlen(rule)),
    };
    options->ask(options->data, decision, &decision->question, on_answer, decision);
}

/* In the modes that ask no questions of their own. */
static void ask_for_hook(decision_t *decision)
{
    ask(decision, "run");
}

/* --- deciding ---------------------------------------------------------------------------- */

/* Reads the parameter with which a call asks for more; false when its value is not known. */
static bool read_extra(decision_t *decision)
{
    ik_permission_call_t *call = &decision->call;
    const char *name = call->entry->schema->escalation;
    ik_json_span_t arguments;
    ik_json_span_t value = {0};
    /* the runner refuses what is not JSON */
    if (name != NULL && ik_json_scan(call->arguments, call->arguments_len, &arguments, NULL)) {
        ik_json_find_members(arguments, &name, 1, &value);
    }
    bool nothing = value.len == 0 || ik_json_is_text(value, "");
    bool network = ik_json_is_text(value, "network");
    bool all = ik_json_is_text(value, "all");
    call->extra = network ? IK_PERMISSION_NETWORK : all ? IK_PERMISSION_ALL : IK_PERMISSION_NOTHING;
    return nothing || network || all;
}

static void refuse(decision_t *decision, const char *why)
{
    give_verdict(decision, &(ik_call_verdict_t){.code = IK_TOOL_INVALID_PARAMS, .denied = why});
}

static void decide(decision_t *decision, ik_confinement_level_t level)
{
    const ik_permission_gate_options_t *options = &decision->gate->options;
    const char *rule = NULL;
    ik_permission_effect_t effect =
        ik_permission_rules_match(options->rules, &decision->call, &rule);
    decision->confined = ik_tool_registry_effects(decision->call.entry, &decision->effects);
    if (effect == IK_PERMISSION_DENY) {
        deny(decision, ik_sprintf(decision, "Denied by the rule %s", rule));
        return;
    }
    bool hook_asks = decision->hooks == IK_HOOK_ASK;
    if (decision->mode == IK_MODE_FULL) {
        decision->confined = false;
        (hook_asks ? ask_for_hook : run)(decision);
        return;
    }
    if (decision->mode == IK_MODE_PLAN) {
        (hook_asks ? ask_for_hook : decide_plan)(decision);
        return;
    }
    bool off = options->config->confinement == IK_CONFIG_CONFINEMENT_OFF;
    if (decision->confined && decision->call.extra != IK_PERMISSION_ALL &&
        deny_weaker(decision, level)) {
        return;
    }
    bool may_write = !decision->confined || decision->effects.write != IK_WRITE_NONE;
    bool unguarded = level == IK_CONFINEMENT_NONE && !off && may_write;
    const char *wants = may_write ? "write" : NULL;
    decision->rule_asks = effect == IK_PERMISSION_ASK;
    bool asks = decision->rule_asks;
    if (decision->call.extra != IK_PERMISSION_NOTHING && !off) {
        wants = decision->call.extra == IK_PERMISSION_ALL ? "no confinement" : "network";
        asks = asks || effect != IK_PERMISSION_ALLOW;
    }
    if ((decision->mode == IK_MODE_ASK && may_write) || unguarded) {
        asks = asks || effect != IK_PERMISSION_ALLOW;
    }
    decision->effects.network =
        decision->effects.network || decision->call.extra == IK_PERMISSION_NETWORK;
    decision->confined = decision->confined && decision->call.extra != IK_PERMISSION_ALL && !off &&
                         level != IK_CONFINEMENT_NONE;
    if (hook_asks || (asks && decision->hooks != IK_HOOK_ALLOW)) {
        ask(decision, wants == NULL ? "run" : wants);
    } else {
        run(decision);
    }
}

static void on_level(void *data, const ik_confinement_facts_t *facts)
{
    decide(data, facts->level);
}

/* Checks the call with the arguments that hooks left. */
static void check_call(decision_t *decision)
{
    const ik_permission_gate_options_t *options = &decision->gate->options;
    const ik_tool_registry_entry_t *entry = decision->call.entry;
    const char *unchecked =
        entry == NULL ? NULL : ik_permission_rules_unchecked(options->rules, &decision->call);
    if (decision->hooks == IK_HOOK_DENY) {
        deny(decision, decision->hook_reason);
    } else if (entry == NULL) {
        run(decision); /* the runner reports that there is no such tool */
    } else if (!read_extra(decision)) {
        refuse(decision, ik_sprintf(decision, "%s must be \"network\" or \"all\"",
                                    entry->schema->escalation));
    } else if (unchecked != NULL) {
        refuse(decision, ik_sprintf(decision,
                                    "%s contains a NUL character, so the user's rules about %s "
                                    "cannot be checked; leave it out",
                                    unchecked, entry->name));
    } else if (decision->mode == IK_MODE_FULL) {
        decide(decision, IK_CONFINEMENT_NONE); /* nothing is confined, so the level is not needed */
    } else {
        ik_confinement_detect(decision, options->confinement, on_level, decision);
    }
}

static void take_outcome(decision_t *decision, const ik_hook_outcome_t *outcome)
{
    decision->hooks = outcome->stops ? IK_HOOK_DENY : outcome->decision;
    decision->hook_reason = outcome->reason == NULL ? NULL : ik_strdup(decision, outcome->reason);
}

static void on_hooks(void *data, const ik_hook_outcome_t *outcome)
{
    decision_t *decision = data;
    const ik_permission_gate_options_t *options = &decision->gate->options;
    int64_t agent = decision->agent;
    take_outcome(decision, outcome);
    decision->said = outcome->context == NULL ? NULL : ik_strdup(decision, outcome->context);
    if (outcome->input != NULL) {
        decision->rewritten = ik_strdup(decision, outcome->input);
        decision->call.arguments = decision->rewritten;
        decision->call.arguments_len = strlen(decision->rewritten);
    }
    check_call(decision);
    if (outcome->stops && options->stop_turn != NULL) {
        options->stop_turn(options->data, agent);
    }
}

static bool is_for_hooks(const gate_t *gate, const ik_call_t *call)
{
    return !call->reviewed && call->entry != NULL &&
           ik_hooks_any(gate->options.hooks, IK_HOOK_BEFORE_TOOL, call->entry->name);
}

static void *begin(void *gate, const void *ctx, const ik_call_t *call,
                   ik_call_verdict_fn on_verdict, void *data)
{
    decision_t *decision = ik_new(ctx, decision_t);
    decision->gate = gate;
    decision->call = (ik_permission_call_t){
        .entry = call->entry, .arguments = call->arguments, .arguments_len = call->arguments_len};
    decision->agent = call->agent;
    decision->call_id = call->id;
    decision->name = call->name;
    decision->on_verdict = on_verdict;
    decision->data = data;
    const ik_permission_gate_options_t *options = &decision->gate->options;
    decision->mode = options->mode_of(options->data, call->agent);
    if (call->hooks != NULL) {
        take_outcome(decision, call->hooks);
    }
    if (is_for_hooks(gate, call)) {
        ik_hooks_start(decision, options->hooks,
                       &(ik_hook_occasion_t){.event = IK_HOOK_BEFORE_TOOL,
                                             .agent = call->agent,
                                             .tool = call->entry->name,
                                             .input = call->arguments,
                                             .input_len = call->arguments_len,
                                             .call_id = call->id},
                       on_hooks, decision);
    } else {
        check_call(decision);
    }
    decision->returned = true;
    if (decision->decided) {
        talloc_free(decision);
        return NULL;
    }
    return decision;
}

/* Makes the room that the call needs if it asks for nothing more. */
static bool expect(void *data, int64_t agent, const ik_tool_registry_entry_t *entry)
{
    const ik_permission_gate_options_t *options = &((gate_t *)data)->options;
    ik_mode_t mode = options->mode_of(options->data, agent);
    bool off = options->config->confinement == IK_CONFIG_CONFINEMENT_OFF;
    ik_effects_t effects;
    bool confined = ik_tool_registry_effects(entry, &effects) && !off && mode != IK_MODE_FULL;
    if (mode == IK_MODE_PLAN) {
        ik_confinement_prepare(data, options->confinement, (ik_effects_t){.write = IK_WRITE_NONE},
                               NULL, NULL);
        return false;
    }
    if (confined) {
        ik_confinement_prepare(data, options->confinement, effects, NULL, NULL);
    }
    return confined ? effects.write != IK_WRITE_NONE : is_free_to_write(entry);
}

const ik_call_gate_t *ik_permission_gate_create(const void *ctx,
                                                const ik_permission_gate_options_t *options)
{
    gate_t *gate = ik_new(ctx, gate_t);
    gate->options = *options;
    gate->gate = (ik_call_gate_t){.decide = begin, .expect = expect, .gate = gate};
    return &gate->gate;
}
