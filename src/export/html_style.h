/*
 * How the page looks: light and dark as the reader's system is, on a wide screen, a phone and
 * paper, with the fonts that are there. Text stands out from its ground by at least 4.5 to 1.
 */
#pragma once

#include "base/buffer.h"

extern const char ik_html_style[];

/* What lets a browser use this style and nothing else: no script, no other style, no picture, no
 * connection. */
void ik_html_style_append_policy(ik_buffer_t *out);
