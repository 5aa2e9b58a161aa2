/* Addresses of OpenAI-compatible servers as users type them. Pure. */
#pragma once

#include "base/config.h"

/* The text without surrounding white space, on ctx. */
char *ik_setup_address_trim(const void *ctx, const char *text);
/* The base URL that a typed address stands for, on ctx: http is the scheme of numbers and
 * localhost, https that of other names, and /v1 is the path where none was typed. *bare is then the
 * URL without /v1, otherwise NULL. NULL: it is not an address. */
char *ik_setup_address_complete(const void *ctx, const char *typed, char **bare);
/* A name for the server in providers, on ctx: that of the provider with this URL, or one that is
 * not taken yet and follows from the host ("llm-example-com"; "local" for this machine). */
char *ik_setup_address_name(const void *ctx, const ik_config_t *config, const char *url);
/* The port of a URL on this machine; 0: it is elsewhere. */
int ik_setup_address_local_port(const char *url);
