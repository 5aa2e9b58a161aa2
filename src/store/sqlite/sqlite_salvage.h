/*
 * Saves the readable part of a damaged SQLite file. The file is renamed, never changed or deleted,
 * and a new file with what was saved takes its place.
 */
#pragma once

#include "store/history_survey.h"

/* For a file that store_sqlite.h reports as damaged. Where messages were lost, the rest of the log
 * is renumbered. A session of which only messages are left gets a new id and no folder. On an
 * error, such as IK_ERR_CONFLICT when a process uses the file, nothing has changed. */
res_t ik_sqlite_salvage(const void *ctx, const char *path, ik_history_salvage_t *report);
