#include "cli/cli_manual_lines.h"

#include <string.h>

bool ik_cli_manual_lines_begins(const ik_cli_manual_line_t *line, const char *text)
{
    size_t len = strlen(text);
    return line->len >= len && strncmp(line->text, text, len) == 0;
}

bool ik_cli_manual_lines_next(ik_cli_manual_lines_t *lines, ik_cli_manual_line_t *line)
{
    if (*lines->at == '\0') {
        return false;
    }
    size_t len = strcspn(lines->at, "\n");
    *line = (ik_cli_manual_line_t){.text = lines->at, .len = len + (lines->at[len] == '\n')};
    lines->at += line->len;
    bool is_fence =
        ik_cli_manual_lines_begins(line, "```") || ik_cli_manual_lines_begins(line, "~~~");
    line->is_code = is_fence || lines->fence != '\0';
    if (is_fence && lines->fence == '\0') {
        lines->fence = *line->text;
    } else if (is_fence && lines->fence == *line->text) {
        lines->fence = '\0';
    }
    return true;
}

bool ik_cli_manual_lines_is_comment(const ik_cli_manual_line_t *line)
{
    return !line->is_code && ik_cli_manual_lines_begins(line, "<!--");
}

size_t ik_cli_manual_lines_heading(const ik_cli_manual_line_t *line)
{
    size_t depth = 0;
    while (!line->is_code && depth < line->len && line->text[depth] == '#') {
        depth++;
    }
    return depth > 0 && depth < line->len && line->text[depth] == ' ' ? depth : 0;
}
