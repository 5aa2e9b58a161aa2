#include "agent/call_review.h"

#include <string.h>

#include "base/alloc.h"

enum { OVERLAP_MAX = 8 }; /* calls reviewed at once */

typedef struct {
    ik_call_review_t *review;
    ik_stream_call_t *call;
    const ik_tool_registry_entry_t *entry; /* NULL: there is no such tool */
    void *run;                             /* NULL: no hooks are running */
    ik_hook_outcome_t *outcome;            /* NULL: none */
} item_t;

struct ik_call_review {
    ik_call_review_options_t options;
    item_t *items;
    size_t count;
    size_t started;
    size_t running;
    bool stops;
};

char *ik_call_review_arguments(const void *ctx, const ik_target_t *target,
                               const ik_tool_registry_entry_t *entry, const char *arguments,
                               size_t *len)
{
    ik_json_span_t value;
    ik_buffer_t restored;
    ik_buffer_init(&restored, ctx, IK_BUFFER_UNLIMITED); /* shorter than the arguments */
    if (entry != NULL && target->provider->restore_arguments != NULL &&
        ik_json_scan(arguments, *len, &value, NULL) &&
        target->provider->restore_arguments(&restored, target, entry->schema->parameters, value)) {
        *len = restored.len;
        return ik_buffer_take(ctx, &restored);
    }
    ik_buffer_reset(&restored);
    char *copy = talloc_memdup(ctx, arguments, *len + 1);
    copy[*len] = '\0';
    return copy;
}

static void advance(ik_call_review_t *review);

static void on_outcome(void *data, const ik_hook_outcome_t *outcome)
{
    item_t *item = data;
    ik_call_review_t *review = item->review;
    ik_hook_outcome_t *kept = ik_new(review, ik_hook_outcome_t);
    item->run = NULL;
    *kept = *outcome;
    kept->reason = outcome->reason == NULL ? NULL : ik_strdup(kept, outcome->reason);
    kept->hook = outcome->hook == NULL ? NULL : ik_strdup(kept, outcome->hook);
    kept->context = outcome->context == NULL ? NULL : ik_strdup(kept, outcome->context);
    kept->input = NULL;
    if (outcome->input != NULL && outcome->decision != IK_HOOK_DENY && !outcome->stops) {
        ik_buffer_t *arguments = &item->call->arguments;
        ik_buffer_reset(arguments);
        ik_buffer_append_text(arguments, outcome->input);
        if (review->options.stream->target->provider->signs_calls) {
            ik_buffer_reset(&review->options.stream->private_json);
        }
    }
    item->outcome = kept;
    review->stops = review->stops || outcome->stops;
    review->running--;
    advance(review);
}

static void start(item_t *item)
{
    ik_call_review_t *review = item->review;
    const ik_call_review_options_t *options = &review->options;
    const ik_stream_call_t *call = item->call;
    ik_json_span_t value;
    review->started++;
    if (item->entry == NULL ||
        !ik_hooks_any(options->shared->hooks, IK_HOOK_BEFORE_TOOL, item->entry->name)) {
        return;
    }
    size_t len = call->arguments.len;
    char *arguments = ik_call_review_arguments(review, options->stream->target, item->entry,
                                               call->arguments.data, &len);
    if (ik_json_scan(arguments, len, &value, NULL) && ik_json_kind(value) == IK_JSON_OBJECT) {
        review->running++;
        item->run = ik_hooks_start(review, options->shared->hooks,
                                   &(ik_hook_occasion_t){.event = IK_HOOK_BEFORE_TOOL,
                                                         .agent = options->agent,
                                                         .tool = item->entry->name,
                                                         .input = value.text,
                                                         .input_len = value.len,
                                                         .call_id = call->id},
                                   on_outcome, item);
    }
    talloc_free(arguments);
}

static bool may_start(const ik_call_review_t *review)
{
    size_t next = review->started;
    if (next == review->count || review->stops) {
        return false;
    }
    return review->running == 0 ||
           (review->running < OVERLAP_MAX && review->items[next].entry != NULL &&
            review->items[next].entry->schema->parallel && review->items[next - 1].entry != NULL &&
            review->items[next - 1].entry->schema->parallel);
}

static void advance(ik_call_review_t *review)
{
    while (may_start(review)) {
        start(&review->items[review->started]);
    }
    if (review->running == 0) {
        review->options.on_end(review->options.data);
    }
}

ik_call_review_t *ik_call_review_start(const void *ctx, const ik_call_review_options_t *options)
{
    const ik_stream_t *stream = options->stream;
    const ik_tool_registry_t *registry = options->registry;
    bool wanted = false;
    ik_call_review_t *review = ik_new(ctx, ik_call_review_t);
    review->options = *options;
    review->items = ik_new_array(review, item_t, stream->item_count);
    for (size_t i = 0; i < stream->item_count; i++) {
        ik_stream_call_t *call = stream->items[i]->call;
        if (call != NULL) {
            const ik_tool_registry_entry_t *entry =
                registry == NULL ? NULL : ik_tool_registry_lookup(registry, call->name.data);
            wanted = wanted || (entry != NULL && ik_hooks_any(options->shared->hooks,
                                                              IK_HOOK_BEFORE_TOOL, entry->name));
            review->items[review->count++] =
                (item_t){.review = review, .call = call, .entry = entry};
        }
    }
    if (!wanted) {
        talloc_free(review);
        return NULL;
    }
    while (may_start(review)) {
        start(&review->items[review->started]);
    }
    if (review->running == 0) { /* no call can run */
        talloc_free(review);
        return NULL;
    }
    return review;
}

const ik_hook_outcome_t *ik_call_review_outcome(const ik_call_review_t *review, size_t index)
{
    return review == NULL || index >= review->count ? NULL : review->items[index].outcome;
}

bool ik_call_review_stops(const ik_call_review_t *review)
{
    return review->stops;
}
