/*
 * A tool whose processes never stay: COMETS of them, each of which forks a successor, exits, and
 * begins a new session in the successor, without end and deaf to every polite signal. Arguments on
 * stdin, as JSON that is looked into and not parsed:
 *
 *   "early"   the tool itself exits at once
 *   "twice"   each process forks a second one, too, which only exits
 *   "bare"    the environment, by which orphans are known, is erased
 *
 * With TREE_FIFO all of them hold that pipe open, so that its end is the end of the last of them.
 * The file TREE_READY.all says that all have begun.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COMETS = 60 };

static void ignore_signals(void)
{
    for (int i = 1; i < NSIG; i++) {
        if (i != SIGCHLD) {
            signal(i, SIG_IGN);
        }
    }
}

static void erase_environment(void)
{
    for (char **variable = environ; *variable != NULL; variable++) {
        memset(*variable, 'x', strlen(*variable));
    }
}

static void fly(bool twice)
{
    for (;;) {
        if (twice && fork() == 0) {
            _exit(0);
        }
        if (fork() > 0) {
            _exit(0);
        }
        setsid();
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--schema") == 0) {
        puts("{\"name\":\"comets\",\"description\":\"comets for tests\"}");
        return 0;
    }
    char arguments[256] = "";
    if (read(STDIN_FILENO, arguments, sizeof(arguments) - 1) < 0) {
        return 1;
    }
    const char *ready = getenv("TREE_READY");
    const char *fifo = getenv("TREE_FIFO");
    char path[4096] = "";
    if (ready != NULL) {
        snprintf(path, sizeof(path), "%s.all", ready);
    }
    if (fifo != NULL && open(fifo, O_WRONLY) < 0) {
        return 1;
    }
    ignore_signals();
    if (strstr(arguments, "bare") != NULL) {
        erase_environment();
    }
    for (int i = 0; i < COMETS; i++) {
        if (fork() == 0) {
            fly(strstr(arguments, "twice") != NULL);
        }
    }
    if (path[0] != '\0') {
        close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    }
    if (strstr(arguments, "early") != NULL) {
        puts("{}");
        fflush(stdout);
        _exit(0);
    }
    for (;;) {
        pause();
    }
}
