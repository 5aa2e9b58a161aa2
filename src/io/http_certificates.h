/*
 * Whose certificates are accepted: what SSL_CERT_FILE, SSL_CERT_DIR or CURL_CA_BUNDLE name, which
 * libcurl does not read itself, and otherwise what libcurl was built to use.
 *
 * That is often a file of all certificates, which takes 20 ms to read for every new connection, and
 * also a folder in which OpenSSL finds the one it needs at once. Then the folder alone is used
 * first; someone may have added to the file by hand, so it is asked before a server is distrusted.
 */
#pragma once

#include <stdbool.h>

#include "io/curl_library.h"

/* Sets a new handle's options. True when the folder alone is trusted now, so that a server which is
 * not trusted must be tried again with everything. */
bool ik_http_certificates_apply(const ik_curl_library_t *curl, CURL *easy, bool everything);
