/*
 * The text of a custom command with the user's arguments put in. The template is read once, from
 * left to right, so that nothing inside an argument is ever a placeholder, a file or a command.
 *
 *   $ARGUMENTS, $@   what was typed        $1, $2 …   a word of it; "" if it is missing
 *   \$               $                     @path      a file, at the start of a word
 *   !`command`       the output of a shell command
 *
 * In a shell command an argument is data, whatever quotes and "$" surround it: one word where it is
 * not quoted, $ARGUMENTS one word per argument. Where a shell might run it nevertheless, because it
 * evaluates values as expressions, it is refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef enum {
    IK_TEMPLATE_TEXT,
    IK_TEMPLATE_FILE,  /* text: the path; stays "@path" if it is not a file of the project */
    IK_TEMPLATE_SHELL, /* text: the command, for sh */
} ik_template_kind_t;

typedef struct {
    ik_template_kind_t kind;
    char *text;
    size_t len;
} ik_template_part_t;

typedef struct {
    ik_template_part_t *parts;
    size_t count;
} ik_template_t;

/* Without any placeholder, the arguments follow after a blank line. IK_ERR_INVALID: an argument
 * cannot be used where the template has it. */
res_t ik_command_template_fill(const void *ctx, const char *body, size_t len, const char *arguments,
                               ik_template_t **out);
