/* The part of `ikigai doctor` about what was said: the file, its library, the shared history. */
#pragma once

#include "cli/cli_checkup.h"

/* db is a file or a postgresql:// URL. A damaged file is replaced by what can be read of it. */
void ik_cli_doctor_sessions(ik_cli_checkup_t *checkup, const char *db);
