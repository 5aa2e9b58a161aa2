/*
 * Markdown as a manual page: what man(1) reads. The first line of the text is the title,
 * `# ikigai 1 "User Commands"`: name, section, heading. A table of two columns becomes a tagged
 * list; other tables become tbl's.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* On ctx. date is printed at the foot of the page: "2026-11-15". */
res_t ik_cli_roff_format(const void *ctx, const char *markdown, size_t len, const char *date,
                         char **out);
