/*
 * The style sheet: light and dark as the system prefers, for wide screens, phones and print, with
 * system fonts. Text has a contrast of at least 4.5 to 1.
 */
#pragma once

#include "base/buffer.h"

extern const char ik_html_style[];

/* Appends the content security policy that allows this style sheet, by its hash, and forbids
 * scripts, other styles, images and connections. */
void ik_html_style_append_policy(ik_buffer_t *out);
