/*
 * Runs the shipped tools for files on what an editor has, which may differ from the disk: file_read
 * sees changes that are not saved, and the editor writes what file_write and file_edit make. The
 * tool itself works on a private copy; it does not know. Without an editor, for a file that the
 * editor does not give, and for one outside of the project or with a hidden folder in its path, the
 * call runs as that of every other tool, in its room.
 */
#pragma once

#include "tool/tool_runner.h"

/* text is NULL if the editor does not give the file. */
typedef void (*ik_tool_editor_read_fn)(void *data, const char *text, size_t len);
typedef void (*ik_tool_editor_written_fn)(void *data, bool written);

/* Both functions call back exactly once, from the loop, and return NULL instead if they cannot.
 * Freeing the returned object earlier gives it up; it frees itself otherwise. Paths are absolute.
 */
struct ik_tool_editor {
    void *(*read)(void *editor, const char *path, ik_tool_editor_read_fn on_read, void *data);
    /* NULL: the editor writes nothing. */
    void *(*write)(void *editor, const char *path, const char *text, size_t len,
                   ik_tool_editor_written_fn on_written, void *data);
    void *editor;
};

extern const ik_tool_runner_t ik_tool_editor_runner;

/* Whether calls of a tool of this name and source run so. */
bool ik_tool_editor_serves(const char *name, ik_tool_source_t source);
/* The file that a call of such a tool names, if the editor may have it; on ctx. NULL: the call runs
 * on the disk. */
char *ik_tool_editor_find(const void *ctx, const char *folder, const ik_config_t *config,
                          const char *arguments, size_t len);
/* Whether the disk has this text. */
bool ik_tool_editor_is_saved(const char *path, const char *text, size_t len);
