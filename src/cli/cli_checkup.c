#include "cli/cli_checkup.h"

#include <stdarg.h>

#include "base/alloc.h"
#include "base/print.h"

static void print_line(const char *mark, const char *format, va_list args)
{
    char *line = ik_vsprintf(NULL, format, args);
    fputs(mark, stdout);
    ik_print_line(stdout, line);
    talloc_free(line);
}

void ik_cli_checkup_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line("", format, args);
    va_end(args);
}

void ik_cli_checkup_begin(const char *title)
{
    putchar('\n');
    ik_cli_checkup_say("%s:", title);
}

void ik_cli_checkup_complain(ik_cli_checkup_t *checkup, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line("  problem: ", format, args);
    va_end(args);
    checkup->problems++;
}
