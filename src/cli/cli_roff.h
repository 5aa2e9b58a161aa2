/*
 * Markdown as a manual page: what man(1) reads. The first line of the text is the title,
 * `# ikigai 1 "User Commands"`: name, section, heading. A table becomes a tagged list: the first
 * cell is the tag, the last one the text, and what stands between them goes to the tag with the
 * name of its column. A link to another document is its words, or, where those are the document's
 * file name, the command that shows it. HTML is left out.
 *
 * The page is ASCII, with a fallback for every other character, so that it can be shown anywhere.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* On ctx. date is printed at the foot of the page: "2026-11-15". */
res_t ik_cli_roff_format(const void *ctx, const char *markdown, size_t len, const char *date,
                         char **out);
