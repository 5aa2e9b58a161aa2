/* Select graphic rendition, as others write it: the parameters of CSI … m and the style they lead
 * to. */
#pragma once

#include <stddef.h>

#include "base/style.h"

/* Parameters are digits, ';' and ':'; with other bytes among them it is another sequence, and
 * nothing changes. What no style has (blinking, hidden text, fonts) is passed over. */
void ik_sgr_apply(ik_style_t *style, const char *parameters, size_t len);
