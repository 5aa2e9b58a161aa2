/*
 * libcurl, loaded instead of linked: the dozens of libraries it brings would be loaded at every
 * start, before main, and cost more than everything else a start does.
 */
#pragma once

#define CURL_DISABLE_DEPRECATION /* what a new libcurl deprecates, an old one may need */
#include <curl/curl.h>

#define IK_CURL_LIBRARY_CALLS(X)                                                                   \
    X(easy_cleanup)                                                                                \
    X(easy_getinfo)                                                                                \
    X(easy_init)                                                                                   \
    X(easy_setopt)                                                                                 \
    X(easy_strerror)                                                                               \
    X(free)                                                                                        \
    X(global_init)                                                                                 \
    X(multi_add_handle)                                                                            \
    X(multi_assign)                                                                                \
    X(multi_cleanup)                                                                               \
    X(multi_info_read)                                                                             \
    X(multi_init)                                                                                  \
    X(multi_remove_handle)                                                                         \
    X(multi_setopt)                                                                                \
    X(multi_socket_action)                                                                         \
    X(slist_append)                                                                                \
    X(slist_free_all)                                                                              \
    X(url)                                                                                         \
    X(url_cleanup)                                                                                 \
    X(url_get)                                                                                     \
    X(url_set)                                                                                     \
    X(version)

/* library->easy_init is curl_easy_init, and so on. */
typedef struct {
#define IK_CURL_LIBRARY_MEMBER(name) __typeof__(curl_##name) *(name);
    IK_CURL_LIBRARY_CALLS(IK_CURL_LIBRARY_MEMBER)
#undef IK_CURL_LIBRARY_MEMBER
} ik_curl_library_t;

/* Loads at the first call and waits for whoever is loading it; from any thread. NULL when there is
 * no usable libcurl, for good: then *problem says why. It stays loaded to the end. */
const ik_curl_library_t *ik_curl_library_load(const char **problem);
