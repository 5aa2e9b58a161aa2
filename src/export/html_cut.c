#include "export/html_cut.h"

#include "base/utf8.h"
#include "conversation/figure.h"

size_t ik_html_cut(const char *text, size_t len)
{
    return ik_utf8_cut(text, len, IK_HTML_CUT_MOST);
}

void ik_html_cut_append_note(ik_buffer_t *out, size_t shown, size_t len)
{
    if (shown < len) {
        ik_buffer_append_format(
            out,
            "<p class=\"cut\">Shows the first %s of %s. A JSON Lines export has "
            "all of it.</p>\n",
            ik_figure_of_size(shown).text, ik_figure_of_size(len).text);
    }
}
