/* Reads one configuration file into the loader's current layer. */
#pragma once

#include "base/config_loader.h"

/* A missing file is not an error; path may be NULL. Errors go to the loader. */
void ik_config_file_load(ik_config_loader_t *loader, const char *path);
/* Parses bytes that were read from path already; text[len] must be NUL. */
void ik_config_file_parse(ik_config_loader_t *loader, const char *path, const char *text,
                          size_t len);
