/*
 * The key file, ~/.ikigai/keys.json: {"PROVIDER": {"api_key": "…"}}, accessible to its owner alone.
 * No message quotes what it contains.
 */
#pragma once

#include "base/config_loader.h"

/* Gives the providers their keys; call before ik_config_provider_settle, where variables of the
 * environment override them. A missing file is not an error; path may be NULL. */
void ik_config_key_file_load(ik_config_loader_t *loader, const char *path);

/* IK_ERR_DENIED when other users can access the file; the message names the chmod. A missing file
 * is not an error. */
res_t ik_config_key_file_check(const char *path);
