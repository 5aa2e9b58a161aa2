/* A page stays one that a browser can open: of a very long text it shows the beginning, and says
 * so. */
#pragma once

#include "base/buffer.h"

enum { IK_HTML_CUT_MOST = 200 * 1000 };

/* How many bytes of a text are shown; it is cut between characters. */
size_t ik_html_cut(const char *text, size_t len);
/* Nothing when all of it is shown. */
void ik_html_cut_append_note(ik_buffer_t *out, size_t shown, size_t len);
