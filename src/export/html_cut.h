/* Limits the length of one text in a page, so that a browser can open it. */
#pragma once

#include "base/buffer.h"

enum { IK_HTML_CUT_MOST = 200 * 1000 };

/* Returns how many bytes of the text to show; the cut is between characters. */
size_t ik_html_cut(const char *text, size_t len);
/* Says that the text was cut; appends nothing when shown is len. */
void ik_html_cut_append_note(ik_buffer_t *out, size_t shown, size_t len);
