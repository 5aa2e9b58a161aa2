/* SGR (select graphic rendition), "CSI … m", as any program may write it. */
#pragma once

#include <stddef.h>

#include "base/style.h"

/* Applies the parameters of a sequence to a style. Parameters with bytes other than digits, ';' and
 * ':' belong to another sequence and change nothing. Ignores attributes that ik_style_t does not
 * have (blinking, hidden text, fonts). */
void ik_sgr_apply(ik_style_t *style, const char *parameters, size_t len);
