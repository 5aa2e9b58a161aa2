/*
 * Explains why a text was not found: names a match that differs only in line endings, trailing
 * white space, indentation or letter case, or else the closest line. Time and memory are linear in
 * the size of the texts, of which a bounded part is examined.
 */
#pragma once

#include "tools/file_edit/edit_match.h"

/* Returns one or two sentences, allocated on ctx. wanted must not be empty and not occur in file.
 */
char *ik_edit_hint_find(const void *ctx, ik_edit_text_t file, ik_edit_text_t wanted);
