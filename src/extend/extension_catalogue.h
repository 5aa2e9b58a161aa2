/* The skills as the system prompt lists them: name, description and path of each, sorted, so that
 * the same skills always give the same bytes. The model reads the file when a task calls for it. */
#pragma once

#include "extend/extension.h"

enum { IK_SKILL_CATALOGUE_MAX = 16 * 1024 };

/* On ctx; NULL: there is nothing to list. A last line says how many skills did not fit. */
char *ik_skill_catalogue_format(const void *ctx, const ik_extensions_t *skills);
