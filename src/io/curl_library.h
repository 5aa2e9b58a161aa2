/*
 * Loads libcurl at run time. Linked, it and the dozens of libraries it depends on would be loaded
 * at every start, which would take longer than everything else a start does.
 */
#pragma once

#define CURL_DISABLE_DEPRECATION /* older versions need options that newer ones deprecate */
#include <curl/curl.h>

#define IK_CURL_LIBRARY_CALLS(X)                                                                   \
    X(easy_cleanup)                                                                                \
    X(easy_getinfo)                                                                                \
    X(easy_init)                                                                                   \
    X(easy_setopt)                                                                                 \
    X(easy_strerror)                                                                               \
    X(free)                                                                                        \
    X(global_init_mem)                                                                             \
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

/* Loads the library at the first call; a call from another thread waits for that. When there is no
 * usable libcurl, this and every later call return NULL and *problem says why. */
const ik_curl_library_t *ik_curl_library_load(const char **problem);
