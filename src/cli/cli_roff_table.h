/*
 * A table of a manual page as a tagged list: columns do not fit beside each other where a page is
 * read. The first cell is the tag, the last one the text; what stands between them goes to the tag,
 * with the name of its column. Short rows stand close, their texts in one column.
 */
#pragma once

#include "cli/cli_roff_text.h"

typedef struct ik_cli_roff_table ik_cli_roff_table_t;

ik_cli_roff_table_t *ik_cli_roff_table_create(const void *ctx, size_t columns);
/* Where the words of the next cell go, row by row; the first row holds the columns' names. Ends
 * the cell before. NULL: there are too many. */
ik_cli_roff_text_t *ik_cli_roff_table_next_cell(ik_cli_roff_table_t *table);
void ik_cli_roff_table_append(ik_buffer_t *out, ik_cli_roff_table_t *table);
