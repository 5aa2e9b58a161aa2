/*
 * Reads git's configuration files: sections, variables, quoting, comments and included files.
 * Conditions of includes are taken as fulfilled; callers only look for settings that could apply.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* name is in lower case, without a subsection ("core.autocrlf"). value is "true" for a variable
 * without one. */
typedef void (*ik_git_config_fn)(void *data, const char *name, const char *value);

void ik_git_config_parse(const char *text, size_t len, ik_git_config_fn on_value, void *data);
/* Reads a file and the files it includes, where they exist. *ctime_ns becomes the time of the
 * youngest of them, if that is later. */
void ik_git_config_read(const char *path, ik_git_config_fn on_value, void *data, int64_t *ctime_ns);
