#include "terminal/sheet.h"

#include <string.h>

/* How many bytes of text fit; at least the first word or list item. */
static size_t fit(const char *text, size_t width, bool is_list)
{
    size_t len = strlen(text);
    size_t best = 0;
    for (size_t i = 1; i < len && len > width; i++) {
        bool breaks = text[i] == ' ' && (!is_list || text[i - 1] == ',');
        if (breaks && (best == 0 || i <= width)) {
            best = i;
        }
    }
    return best == 0 ? len : best;
}

static const char *skip(const char *text, size_t len)
{
    return text + len + strspn(text + len, " ");
}

bool ik_sheet_next(ik_sheet_t *sheet, size_t left_width, size_t right_width, ik_sheet_line_t *out)
{
    size_t left_len = fit(sheet->left, left_width, true);
    size_t right_len = left_len > left_width ? 0 : fit(sheet->right, right_width, false);
    *out = (ik_sheet_line_t){
        .left = sheet->left,
        .left_len = (int)left_len,
        .right = sheet->right,
        .right_len = (int)right_len,
    };
    sheet->left = skip(sheet->left, left_len);
    sheet->right = skip(sheet->right, right_len);
    return left_len > 0 || right_len > 0;
}
