/*
 * Paragraphs, lists, quotations, code and tables of a manual page one below the other, each with
 * the margin and the distance that its place wants. A paragraph begins with its first word.
 */
#pragma once

#include "cli/cli_roff_table.h"
#include "cli/cli_roff_text.h"

enum { IK_CLI_ROFF_FLOW_DEPTH = 16 };

/* A list, or a quotation. */
typedef struct {
    bool is_list;
    bool is_close;  /* no empty lines between items */
    char delimiter; /* behind the number of an item; '\0': it has a bullet */
    unsigned number;
    size_t indent;  /* from the margin to the words of an item */
    char task;      /* ' ' or 'x'; '\0': the item is none */
    bool has_begun; /* its item: the mark is written */
    bool is_first;  /* of its items */
    bool is_nested; /* it has a margin of its own */
} ik_cli_roff_container_t;

typedef struct {
    ik_buffer_t body; /* the page so far */
    ik_cli_roff_container_t containers[IK_CLI_ROFF_FLOW_DEPTH];
    size_t depth; /* may be more than there is room for: those have no margin */
    ik_cli_roff_text_t text;
    bool is_open;  /* a paragraph, whose words go to text */
    bool is_fresh; /* nothing stands below the heading yet */
    bool is_close; /* paragraphs have no distance (.PD) */
} ik_cli_roff_flow_t;

/* Whatever comes, the page is no longer than max: body.dropped tells. */
void ik_cli_roff_flow_init(ik_cli_roff_flow_t *flow, const void *ctx, size_t max);

/* Where the words of a paragraph go. Begins one if none is open. */
ik_cli_roff_text_t *ik_cli_roff_flow_open(ik_cli_roff_flow_t *flow);
/* Everything below wants the paragraph to be ended. */
void ik_cli_roff_flow_end_paragraph(ik_cli_roff_flow_t *flow);

void ik_cli_roff_flow_begin_quote(ik_cli_roff_flow_t *flow);
/* delimiter: '\0' for bullets. */
void ik_cli_roff_flow_begin_list(ik_cli_roff_flow_t *flow, bool is_close, char delimiter,
                                 unsigned first);
/* task: ' ' and 'x' for what is to be done and what is, '\0' for an ordinary item. */
void ik_cli_roff_flow_begin_item(ik_cli_roff_flow_t *flow, char task);
void ik_cli_roff_flow_end_item(ik_cli_roff_flow_t *flow);
/* The list, or the quotation. */
void ik_cli_roff_flow_end_container(ik_cli_roff_flow_t *flow);

/* request: ".SH" or ".SS". */
void ik_cli_roff_flow_add_heading(ik_cli_roff_flow_t *flow, const char *request, const char *words);
void ik_cli_roff_flow_add_code(ik_cli_roff_flow_t *flow, const char *code, size_t len);
void ik_cli_roff_flow_add_table(ik_cli_roff_flow_t *flow, ik_cli_roff_table_t *table);
/* After everything. */
void ik_cli_roff_flow_end(ik_cli_roff_flow_t *flow);
