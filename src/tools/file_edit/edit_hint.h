/*
 * Why a text was not found: what would have matched but for line ends, trailing white space,
 * indentation or letter case; otherwise where the file comes closest. Costs time and memory linear
 * in what is examined, which is bounded, so a hint is never slower than the search it follows.
 */
#pragma once

#include "tools/file_edit/edit_match.h"

/* One or two sentences for the reader of the error, allocated on ctx. wanted is not empty and not
 * in file. */
char *ik_edit_hint_find(const void *ctx, ik_edit_text_t file, ik_edit_text_t wanted);
