/*
 * Chooses the CA certificates: those named by SSL_CERT_FILE, SSL_CERT_DIR or CURL_CA_BUNDLE, which
 * libcurl does not read itself, or else those that libcurl was built to use. When the file that it
 * was built to use does not exist, the places of other distributions are tried.
 *
 * The latter are often a file of all certificates, which takes 20 ms to read for every new
 * connection, and a folder in which OpenSSL finds the one it needs at once. In that case the folder
 * alone is used first. A certificate may have been added to the file by hand, so a server is
 * refused only after a second attempt with both.
 */
#pragma once

#include <stdbool.h>

#include "io/curl_library.h"

/* Sets a new handle's options. True when only the folder is used, so that a server which is not
 * trusted must be tried again with everything. */
bool ik_http_certificates_apply(const ik_curl_library_t *curl, CURL *easy, bool everything);
