/* /usage: shows tokens and cost of the session, and of each model in this conversation. */
#include <string.h>

#include "base/alloc.h"
#include "command/command_list.h"
#include "conversation/figure.h"
#include "store/event_facts.h"

/* --- by model, from the answers of this conversation --------------------------------------- */

typedef struct {
    const char *model;
    int64_t answers;
    ik_usage_t usage;
    double cost; /* negative: not known */
} share_t;

typedef struct {
    share_t *list; /* in the order of their first answers */
    size_t count;
} shares_t;

static share_t *open_share(const void *ctx, shares_t *shares, const char *model)
{
    for (size_t i = 0; i < shares->count; i++) {
        if (strcmp(shares->list[i].model, model) == 0) {
            return &shares->list[i];
        }
    }
    shares->list = ik_resize_array(ctx, shares->list, share_t, shares->count + 1);
    share_t *share = &shares->list[shares->count++];
    *share = (share_t){.model = ik_strdup(ctx, model), .usage = IK_USAGE_NONE, .cost = -1};
    return share;
}

static void add_answer(const void *ctx, shares_t *shares, const ik_msg_t *message)
{
    ik_store_event_t event = {.kind = message->kind, .data_json = message->data_json};
    void *scratch = talloc_new(NULL);
    ik_event_facts_t facts = ik_event_facts(scratch, &event);
    if (facts.answer) {
        share_t *share = open_share(ctx, shares, facts.model);
        share->answers++;
        ik_usage_add(&share->usage, &facts.usage);
        if (facts.cost >= 0) {
            share->cost = (share->cost < 0 ? 0 : share->cost) + facts.cost;
        }
    }
    talloc_free(scratch);
}

/* --- printing ------------------------------------------------------------------------------ */

static void append_sums(ik_buffer_t *out, const ik_workspace_t *workspace)
{
    const ik_workspace_usage_t *sums = ik_workspace_usage(workspace);
    const char *tokens = ik_figure_format_usage(out->ctx, &sums->usage);
    int64_t used = ik_workspace_agent_context(workspace, ik_workspace_focus(workspace));
    int64_t size = ik_workspace_target(workspace)->facts->context;
    ik_buffer_append_format(out, "Turns    %s\n", ik_figure_of_count(sums->turns).text);
    ik_buffer_append_format(out, "Tokens   %s\n", *tokens == '\0' ? "-" : tokens);
    ik_buffer_append_format(out, "Cost     %s\n", ik_figure_of_cost(sums->cost).text);
    ik_buffer_append_format(out, "Context  %s",
                            ik_figure_of_count(used > 0 ? used : IK_USAGE_UNKNOWN).text);
    if (size > 0) {
        ik_buffer_append_format(out, " of %s tokens (%d%%)", ik_figure_of_count(size).text,
                                (int)(used * 100 / size));
    }
    ik_buffer_append_byte(out, '\n');
}

enum { NUMBER_COLUMNS = 5 };

typedef struct {
    ik_figure_t cells[NUMBER_COLUMNS];
} numbers_t;

static numbers_t numbers_of(const share_t *share)
{
    return (numbers_t){{ik_figure_of_count(share->answers), ik_figure_of_count(share->usage.in),
                        ik_figure_of_count(share->usage.cached),
                        ik_figure_of_count(share->usage.out), ik_figure_of_cost(share->cost)}};
}

static int widest(int width, const char *text)
{
    int len = (int)strlen(text);
    return len > width ? len : width;
}

/* Columns are as wide as their content, so that the table fits into 80 columns. */
static void append_shares(ik_buffer_t *out, const shares_t *shares)
{
    static const char *const heads[NUMBER_COLUMNS] = {"answers", "in", "cached", "out", "cost"};
    int name_width = widest(0, "model");
    int widths[NUMBER_COLUMNS];
    for (size_t k = 0; k < NUMBER_COLUMNS; k++) {
        widths[k] = widest(0, heads[k]);
    }
    for (size_t i = 0; i < shares->count; i++) {
        numbers_t numbers = numbers_of(&shares->list[i]);
        name_width = widest(name_width, shares->list[i].model);
        for (size_t k = 0; k < NUMBER_COLUMNS; k++) {
            widths[k] = widest(widths[k], numbers.cells[k].text);
        }
    }
    ik_buffer_append_format(out, "\nThis conversation:\n  %-*s", name_width, "model");
    for (size_t k = 0; k < NUMBER_COLUMNS; k++) {
        ik_buffer_append_format(out, "  %*s", widths[k], heads[k]);
    }
    for (size_t i = 0; i < shares->count; i++) {
        numbers_t numbers = numbers_of(&shares->list[i]);
        ik_buffer_append_format(out, "\n  %-*s", name_width, shares->list[i].model);
        for (size_t k = 0; k < NUMBER_COLUMNS; k++) {
            ik_buffer_append_format(out, "  %*s", widths[k], numbers.cells[k].text);
        }
    }
    ik_buffer_append_byte(out, '\n');
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    const ik_conversation_t *conversation =
        ik_agent_conversation(ik_workspace_require_agent(host->workspace));
    shares_t shares = {0};
    ik_buffer_t out;
    ik_buffer_init(&out, args, IK_BUFFER_UNLIMITED); /* bounded by the number of models */
    append_sums(&out, host->workspace);
    for (size_t i = 0; i < conversation->count; i++) {
        add_answer(args, &shares, conversation->messages[i]);
    }
    if (shares.count > 0) {
        append_shares(&out, &shares);
    }
    host->screen->print(host, out.data);
}

const ik_command_t ik_command_usage = {
    .name = "usage",
    .alias = "cost",
    .usage = "",
    .help = "Shows tokens, cost and the use of the context.",
    .run = run,
};
