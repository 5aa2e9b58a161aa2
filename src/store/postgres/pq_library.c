#include "store/postgres/pq_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static const char file_name[] = "libpq.so.5";

/* Older versions refuse tcp_user_timeout. */
enum { OLDEST = 120000 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static ik_pq_library_t library;
static bool loaded;
static char why_not[300];

static bool complain(const char *what)
{
    snprintf(why_not, sizeof(why_not), "%s", what);
    return false;
}

static bool find_calls(void *handle)
{
    /* POSIX allows storing a function pointer in a void pointer; C has no cast for it. */
#define FIND(result_, name_, ...)                                                                  \
    *(void **)&library.name_ = dlsym(handle, "PQ" #name_);                                         \
    if (library.name_ == NULL) {                                                                   \
        return complain("it lacks PQ" #name_);                                                     \
    }
    IK_PQ_LIBRARY_CALLS(FIND)
#undef FIND
    return library.libVersion() >= OLDEST || complain("it is older than version 12");
}

static void load(void)
{
    void *handle = dlopen(file_name, RTLD_LAZY | RTLD_LOCAL);
    if (handle == NULL) {
        complain(dlerror());
        return;
    }
    loaded = find_calls(handle);
    if (!loaded) {
        dlclose(handle);
    }
}

res_t ik_pq_library_load(const ik_pq_library_t **out)
{
    pthread_once(&once, load);
    *out = &library;
    return loaded ? OK
                  : ERR(NOT_FOUND,
                        "the shared history needs libpq (Debian: libpq5), which cannot be loaded "
                        "(%s); everything is kept in the local file meanwhile",
                        why_not);
}
