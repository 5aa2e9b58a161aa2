#include "io/curl_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/alloc.h"
#include "base/array.h"

/* The second is Debian's name for the build with GnuTLS. */
static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
enum { NAME_COUNT = IK_LENGTH(names) };

static uv_once_t once = UV_ONCE_INIT;
static ik_curl_library_t library;
static bool loaded;
static char why_not[300];

/* Keeps the first reason: it concerns the usual name. */
static void note_problem(const char *what)
{
    if (why_not[0] == '\0') {
        snprintf(why_not, sizeof(why_not), "%s", what);
    }
}

static bool find_calls(void *handle)
{
    /* POSIX allows to convert a void pointer to a function pointer, C does not. */
#define FIND(call)                                                                                 \
    *(void **)&library.call = dlsym(handle, "curl_" #call);                                        \
    if (library.call == NULL) {                                                                    \
        note_problem("it lacks curl_" #call);                                                      \
        return false;                                                                              \
    }
    IK_CURL_LIBRARY_CALLS(FIND)
#undef FIND
    return true;
}

/* libcurl reports an allocation that failed as a broken connection, or not at all, and then waits
 * for a socket that it does not watch. With these functions running out of memory ends the program
 * as it does everywhere else. */
static void *allocate_zeroed(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        ik_alloc_fail();
    }
    return memset(ik_alloc_plain(bytes), 0, bytes);
}

static void *reallocate(void *memory, size_t size)
{
    void *resized = realloc(memory, size == 0 ? 1 : size);
    if (resized == NULL) {
        ik_alloc_fail();
    }
    return resized;
}

static char *duplicate(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(ik_alloc_plain(size), text, size);
}

static bool load(const char *name)
{
    void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (handle == NULL) {
        note_problem(dlerror());
        return false;
    }
    if (!find_calls(handle)) {
        dlclose(handle);
        return false;
    }
    CURLcode code = library.global_init_mem(CURL_GLOBAL_DEFAULT, ik_alloc_plain, free, reallocate,
                                            duplicate, allocate_zeroed);
    if (code != CURLE_OK) {
        note_problem(library.easy_strerror(code));
    }
    return code == CURLE_OK;
}

static void load_any(void)
{
    for (size_t i = 0; i < NAME_COUNT && !loaded; i++) {
        loaded = load(names[i]);
    }
}

const ik_curl_library_t *ik_curl_library_load(const char **problem)
{
    uv_once(&once, load_any);
    *problem = loaded ? NULL : why_not;
    return loaded ? &library : NULL;
}
