/* One configuration file, read into the layer the loader stands at. */
#pragma once

#include "base/config_loader.h"

/* A missing file is fine; path may be NULL. Complaints go to the loader. */
void ik_config_file_load(ik_config_loader_t *loader, const char *path);
/* The same for bytes that are already here; text[len] must be NUL. */
void ik_config_file_parse(ik_config_loader_t *loader, const char *path, const char *text,
                          size_t len);
