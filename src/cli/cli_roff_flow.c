#include "cli/cli_roff_flow.h"

typedef ik_cli_roff_flow_t flow_t;
typedef ik_cli_roff_container_t container_t;

/* Columns. */
enum { CODE_INDENT = 4, QUOTE_INDENT = 4, BULLET_INDENT = 2, NUMBER_INDENT = 4 };

void ik_cli_roff_flow_init(flow_t *flow, const void *ctx, size_t max)
{
    *flow = (flow_t){0};
    ik_buffer_init(&flow->body, ctx, max);
    ik_buffer_append_text(&flow->body, "");
}

/* The innermost list or quotation, or NULL. */
static container_t *innermost(flow_t *flow)
{
    size_t depth = flow->depth < IK_CLI_ROFF_FLOW_DEPTH ? flow->depth : IK_CLI_ROFF_FLOW_DEPTH;
    return depth == 0 ? NULL : &flow->containers[depth - 1];
}

static void set_close(flow_t *flow, bool is_close)
{
    if (flow->is_close != is_close) {
        ik_buffer_append_text(&flow->body, is_close ? ".PD 0\n" : ".PD\n");
        flow->is_close = is_close;
    }
}

/* --- items ------------------------------------------------------------------------------- */

/* An item stands close to what is before it when its list is, or begins in one that is. */
static bool is_item_close(const flow_t *flow, const container_t *list)
{
    bool is_inner = list > flow->containers && list[-1].is_list && list[-1].is_close;
    return list->is_close && (!list->is_first || is_inner);
}

static void write_mark(flow_t *flow, container_t *list)
{
    set_close(flow, is_item_close(flow, list));
    if (list->task != '\0') {
        ik_buffer_append_format(&flow->body, ".IP \"[%c]\" %zu\n", list->task, list->indent);
    } else if (list->delimiter != '\0') {
        ik_buffer_append_format(&flow->body, ".IP %u%c %zu\n", list->number, list->delimiter,
                                list->indent);
    } else {
        ik_buffer_append_format(&flow->body, ".IP \\(bu %zu\n", list->indent);
    }
    list->has_begun = true;
}

/* How far from the margin the contents of an item are, whose mark is written now if it was not; 0
 * outside of lists. */
static size_t item_indent(flow_t *flow)
{
    container_t *container = innermost(flow);
    if (container == NULL || !container->is_list) {
        return 0;
    }
    if (!container->has_begun) {
        write_mark(flow, container);
    }
    return container->indent;
}

void ik_cli_roff_flow_begin_item(flow_t *flow, char task)
{
    container_t *list = innermost(flow);
    list->has_begun = false;
    list->task = task;
    list->indent = task != '\0' ? NUMBER_INDENT : list->indent;
}

void ik_cli_roff_flow_end_item(flow_t *flow)
{
    container_t *list = innermost(flow);
    item_indent(flow); /* an item without words has its mark */
    list->is_first = false;
    list->number++;
}

/* --- paragraphs -------------------------------------------------------------------------- */

static void begin_paragraph(flow_t *flow)
{
    container_t *container = innermost(flow);
    bool is_in_list = container != NULL && container->is_list;
    if (is_in_list && !container->has_begun) {
        write_mark(flow, container);
        return;
    }
    set_close(flow, false);
    if (is_in_list) {
        ik_buffer_append_format(&flow->body, ".IP \"\" %zu\n", container->indent);
    } else if (!flow->is_fresh) {
        ik_buffer_append_text(&flow->body, ".PP\n");
    }
}

ik_cli_roff_text_t *ik_cli_roff_flow_open(flow_t *flow)
{
    if (!flow->is_open) {
        begin_paragraph(flow);
        ik_cli_roff_text_init(&flow->text, &flow->body);
        flow->is_open = true;
        flow->is_fresh = false;
    }
    return &flow->text;
}

void ik_cli_roff_flow_end_paragraph(flow_t *flow)
{
    if (!flow->is_open) {
        return;
    }
    ik_cli_roff_text_end(&flow->text);
    if (flow->text.line < flow->body.len) { /* it may have had no words */
        ik_buffer_append_byte(&flow->body, '\n');
    }
    flow->is_open = false;
}

/* --- lists and quotations ---------------------------------------------------------------- */

static void begin_margin(flow_t *flow, size_t indent)
{
    if (indent > 0) {
        ik_buffer_append_format(&flow->body, ".RS %zu\n", indent);
    }
}

static void end_margin(flow_t *flow, bool is_there)
{
    if (is_there) {
        ik_buffer_append_text(&flow->body, ".RE\n");
    }
}

static void begin_container(flow_t *flow, container_t container, size_t more)
{
    if (flow->depth < IK_CLI_ROFF_FLOW_DEPTH) {
        size_t indent = item_indent(flow) + more;
        begin_margin(flow, indent);
        container.is_nested = indent > 0;
        flow->containers[flow->depth] = container;
    }
    flow->depth++;
}

void ik_cli_roff_flow_begin_quote(flow_t *flow)
{
    begin_container(flow, (container_t){0}, QUOTE_INDENT);
}

void ik_cli_roff_flow_begin_list(flow_t *flow, bool is_close, char delimiter, unsigned first)
{
    container_t list = {.is_list = true,
                        .is_close = is_close,
                        .is_first = true,
                        .delimiter = delimiter,
                        .number = first,
                        .indent = delimiter == '\0' ? BULLET_INDENT : NUMBER_INDENT};
    begin_container(flow, list, 0);
}

void ik_cli_roff_flow_end_container(flow_t *flow)
{
    flow->depth--;
    if (flow->depth < IK_CLI_ROFF_FLOW_DEPTH) {
        end_margin(flow, flow->containers[flow->depth].is_nested);
    }
}

/* --- headings, code, tables -------------------------------------------------------------- */

void ik_cli_roff_flow_add_heading(flow_t *flow, const char *request, const char *words)
{
    set_close(flow, false);
    ik_buffer_append_format(&flow->body, "%s \"%s\"\n", request, words);
    flow->is_fresh = true;
}

void ik_cli_roff_flow_add_code(flow_t *flow, const char *code, size_t len)
{
    size_t indent = item_indent(flow) + CODE_INDENT;
    bool is_first = flow->is_fresh; /* .IP would leave an empty line below the heading */
    set_close(flow, false);
    ik_buffer_append_format(&flow->body, "%s %zu\n.EX\n", is_first ? ".RS" : ".IP \"\"", indent);
    ik_cli_roff_text_append_code(&flow->body, code, len);
    ik_buffer_append_text(&flow->body, is_first ? ".EE\n.RE\n" : ".EE\n");
    flow->is_fresh = false;
}

void ik_cli_roff_flow_add_table(flow_t *flow, ik_cli_roff_table_t *table)
{
    size_t indent = item_indent(flow);
    begin_margin(flow, indent);
    set_close(flow, false);
    ik_cli_roff_table_append(&flow->body, table);
    end_margin(flow, indent > 0);
    flow->is_fresh = false;
}

void ik_cli_roff_flow_end(flow_t *flow)
{
    ik_cli_roff_flow_end_paragraph(flow);
    set_close(flow, false);
}
