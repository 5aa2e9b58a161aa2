/*
 * Changes one member of a JSON file of the user and leaves every other byte as it is: order,
 * indentation, unknown members. The file is replaced atomically and keeps its owner and mode, and a
 * symlink is followed; a new file gets mode 0600, and a new folder 0700. Processes that change
 * files of one folder at the same time take turns. A file that is not a JSON object, or that other
 * users can write, is an error and stays as it is.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* The names that lead to a member: {"providers", "box", NULL}. */
typedef const char *const *ik_json_file_path_t;

/* Gives the member the value, which is JSON text; objects that are missing on the way are added. */
res_t ik_json_file_set(const char *file, ik_json_file_path_t path, const char *value);
/* *removed is false when there is no such member, or no file. */
res_t ik_json_file_remove(const char *file, ik_json_file_path_t path, bool *removed);
