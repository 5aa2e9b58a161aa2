/*
 * bin/ikigai of a static bundle (script/static-bundle): starts the real program with the loader and
 * the libraries of the bundle, so that nothing depends on those of the system.
 *
 * The loader is called lib64/ikigai. The kernel names a process after the file that it executes, and
 * ikigai finds its other parts two folders above that file (src/base/paths.c).
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { OWN_ARGUMENTS = 6 };

/* The folder above bin, without a slash at the end. Where /proc is not mounted, the path is what the
 * kernel was asked to execute. */
static int find_prefix(char *prefix)
{
    ssize_t len = readlink("/proc/self/exe", prefix, PATH_MAX - 1);
    if (len > 0) {
        prefix[len] = '\0';
    } else if (realpath((const char *)getauxval(AT_EXECFN), prefix) == NULL) {
        return -1;
    }
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(prefix, '/');
        if (slash == NULL) {
            errno = ENOENT;
            return -1;
        }
        *slash = '\0';
    }
    return 0;
}

int main(int argc, char **argv)
{
    char prefix[PATH_MAX];
    char libraries[PATH_MAX + 32];
    char loader[PATH_MAX + 32];
    char program[PATH_MAX + 32];
    char **arguments = calloc((size_t)argc + OWN_ARGUMENTS + 2, sizeof(char *));
    if (arguments == NULL || find_prefix(prefix) != 0) {
        fprintf(stderr, "ikigai: cannot find the folder of this program: %s\n", strerror(errno));
        return 1;
    }
    snprintf(libraries, sizeof(libraries), "%s/lib64", prefix);
    snprintf(loader, sizeof(loader), "%s/lib64/ikigai", prefix);
    snprintf(program, sizeof(program), "%s/lib64/ikigai.bin", prefix);
    char *own[OWN_ARGUMENTS + 1] = {loader,           "--inhibit-cache", "--argv0",
                                    argc > 0 ? argv[0] : "ikigai", "--library-path", libraries,
                                    program};
    memcpy(arguments, own, sizeof(own));
    for (int i = 1; i < argc; i++) {
        arguments[OWN_ARGUMENTS + i] = argv[i];
    }
    execv(loader, arguments);
    fprintf(stderr, "ikigai: cannot start %s: %s\n", loader, strerror(errno));
    return 1;
}
