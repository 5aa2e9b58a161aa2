/*
 * Completion for shells: `ikigai completion bash` prints a script made of the model
 * (cli_completion_model.h). Each script holds what may follow as data in that shell's language, and
 * asks `ikigai completion --list` (cli_completion_words.h) for what changes.
 *
 * The scripts agree on this: a command is the first words of the line. Options are offered where
 * a word begins with a dash, or where no argument may stand, each once. The list is asked of the
 * ikigai in PATH, never of the program named on the line, which the user has not run yet.
 */
#pragma once

#include "base/buffer.h"
#include "cli/cli_completion_model.h"

void ik_cli_completion_bash_append(ik_buffer_t *out, const ik_cli_completion_model_t *model);
void ik_cli_completion_zsh_append(ik_buffer_t *out, const ik_cli_completion_model_t *model);
void ik_cli_completion_fish_append(ik_buffer_t *out, const ik_cli_completion_model_t *model);

/* --- for the scripts: */

/* Text between quotes that keep every character but the quote, as bash and zsh have them. */
void ik_cli_completion_quote(ik_buffer_t *out, const char *text);
/* Text with a backslash before each of these characters. */
void ik_cli_completion_escape(ik_buffer_t *out, const char *text, const char *special);
/* "list sessions", "words bash zsh fish", "files", "folders", "text", or "maybe" for text that may
 * be left out. */
void ik_cli_completion_append_place(ik_buffer_t *out, const ik_cli_completion_place_t *place);

/* where: "session export --format" for the value of an option, "session export 1" for an argument,
 * "session delete ..." for all further ones. */
typedef void (*ik_cli_completion_place_fn)(ik_buffer_t *out, const char *where,
                                           const ik_cli_completion_place_t *place);
void ik_cli_completion_each_place(ik_buffer_t *out, const ik_cli_completion_model_t *model,
                                  ik_cli_completion_place_fn append);
