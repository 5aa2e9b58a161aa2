/*
 * The terminal as io/tty shows it, for tests: what happens is written, a line each, to the file
 * named by the first argument; keys tell what to do.
 *
 *   q leave and exit      r leave by freeing alone     z suspend       b write 2 MB of lines
 *   k kitty's keyboard    m modifyOtherKeys            a A the alternate screen on and off
 *   t tick 20 times       l an open link, a cut title  e the program in TTY_DRIVER_PROGRAM
 *   p panic               s write to nowhere           o overflow the stack
 *   x exit at once, without putting anything back (which must be seen)
 *   w whether the size of the window is settled        i ignore SIGWINCH from here on
 *
 * With TTY_DRIVER_LINGER it takes some time to end after a signal.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "io/foreground.h"
#include "io/tty.h"

enum { LINES = 32768, LINE_LEN = 64, TICK_MS = 20, TICKS = 20, LINGER_MS = 100, PATIENCE_MS = 500 };

typedef struct {
    ik_loop_t *loop;
    ik_tty_t *tty;
    ik_timer_t *tick;
    ik_timer_t *linger;
    ik_foreground_t *program;
    int log;
    int ticks;
    int status;
    bool done;
} driver_t;

static void say(const driver_t *driver, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(const driver_t *driver, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vdprintf(driver->log, format, args);
    va_end(args);
}

static void finish(driver_t *driver, int status)
{
    driver->status = status;
    driver->done = true;
}

static void say_size(const driver_t *driver, const char *what)
{
    int columns;
    int rows;
    ik_tty_size(driver->tty, &columns, &rows);
    say(driver, "%s %dx%d\n", what, columns, rows);
}

/* --- what keys do -------------------------------------------------------------------------- */

static void write_lines(driver_t *driver)
{
    ik_buffer_t lines;
    ik_buffer_init(&lines, driver, IK_BUFFER_UNLIMITED);
    for (int i = 0; i < LINES; i++) {
        ik_buffer_append_format(&lines, "%0*d\r\n", LINE_LEN - 2, i);
    }
    ik_tty_write(driver->tty, lines.data, lines.len);
    ik_buffer_reset(&lines);
    say(driver, "wrote %s\n", ik_tty_is_drained(driver->tty) ? "all" : "some");
}

static void on_tick(void *data)
{
    driver_t *driver = data;
    say(driver, "tick %d\n", ++driver->ticks);
    if (driver->ticks % TICKS != 0) {
        ik_timer_start(driver->tick, TICK_MS);
    }
}

static void on_program_end(void *data, int status)
{
    driver_t *driver = data;
    driver->program = NULL;
    say(driver, "program ended %d\n", status);
    ik_tty_enter(driver->tty);
    say_size(driver, "back");
}

static void start_program(driver_t *driver)
{
    const char *command = getenv("TTY_DRIVER_PROGRAM");
    const char *argv[] = {command == NULL ? "no-such-program" : "sh", "-c", command, NULL};
    ik_tty_leave(driver->tty, PATIENCE_MS);
    res_t started =
        ik_foreground_start(driver, driver->loop, argv, on_program_end, driver, &driver->program);
    say(driver, "program %s\n", is_ok(&started) ? "started" : started.message);
    if (is_err(&started)) {
        ik_tty_enter(driver->tty);
    }
}

__attribute__((noinline)) static int overflow_stack(int depth)
{
    volatile char frame[65536];
    frame[0] = (char)depth;
    return depth == 0 ? 0 : overflow_stack(depth - 1) + frame[0];
}

static void crash(driver_t *driver, char key)
{
    /* A page that is read-only: a pointer to nowhere is what a sanitizer looks for. */
    volatile char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    say(driver, "crashing\n");
    if (key == 'p') {
        PANIC("as the test wants it");
    } else if (key == 'o') {
        say(driver, "%d\n", overflow_stack(1 << 20));
    } else if (key == 'x') {
        _exit(7);
    } else {
        *page = 1;
    }
}

static void write_cut_off(driver_t *driver)
{
    static const char cut[] = "\x1b]8;;https://example.org\x1b\\link\x1b]2;half a tit";
    ik_tty_write(driver->tty, cut, sizeof(cut) - 1);
    say(driver, "cut\n");
}

static void act(driver_t *driver, char key)
{
    switch (key) {
    case 'q':
    case 'r':
        if (key == 'q') {
            ik_tty_leave(driver->tty, PATIENCE_MS);
        }
        finish(driver, 0);
        break;
    case 'z':
    case '\x1a':
        ik_tty_suspend(driver->tty);
        break;
    case 'k':
    case 'm':
        ik_tty_use_keyboard(driver->tty, key == 'k');
        break;
    case 'a':
    case 'A':
        ik_tty_use_alternate(driver->tty, key == 'a');
        break;
    case 'b':
        write_lines(driver);
        break;
    case 't':
        ik_timer_start(driver->tick, TICK_MS);
        break;
    case 'l':
        write_cut_off(driver);
        break;
    case 'e':
        start_program(driver);
        break;
    case 'w':
        say(driver, "%s\n", ik_tty_is_settled(driver->tty) ? "settled" : "changing");
        break;
    case 'i':
        signal(SIGWINCH, SIG_IGN);
        say(driver, "ignoring\n");
        break;
    case 'p':
    case 's':
    case 'o':
    case 'x':
        crash(driver, key);
        break;
    default:
        say(driver, "key %02x\n", (unsigned char)key);
    }
}

/* --- what happens -------------------------------------------------------------------------- */

static void on_input(void *data, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        act(data, bytes[i]);
    }
}

static void on_drained(void *data)
{
    say(data, "drained\n");
}

static void on_resize(void *data)
{
    say_size(data, "resize");
}

static void on_lingered(void *data)
{
    ((driver_t *)data)->done = true;
}

static void on_signal(void *data, int signal)
{
    driver_t *driver = data;
    say(driver, "signal %d\n", signal);
    driver->status = 128 + signal;
    if (getenv("TTY_DRIVER_LINGER") != NULL) {
        ik_timer_start(driver->linger, LINGER_MS);
    } else {
        driver->done = true;
    }
}

static void on_gone(void *data)
{
    say(data, "gone\n");
    finish(data, 99);
}

static void on_continued(void *data)
{
    say_size(data, "continued");
}

static void on_stop(void *data)
{
    driver_t *driver = data;
    say(driver, "stop\n");
    ik_tty_suspend(driver->tty);
}

static int run(driver_t *driver)
{
    ik_tty_listener_t listener = {.on_input = on_input,
                                  .on_drained = on_drained,
                                  .on_resize = on_resize,
                                  .on_signal = on_signal,
                                  .on_gone = on_gone,
                                  .on_continued = on_continued,
                                  .on_stop = on_stop,
                                  .data = driver};
    res_t ready = ik_loop_create(driver, &driver->loop);
    if (is_ok(&ready)) {
        driver->tick = ik_timer_create(driver, driver->loop, on_tick, driver);
        driver->linger = ik_timer_create(driver, driver->loop, on_lingered, driver);
        ready = ik_tty_create(driver, driver->loop, &listener, &driver->tty);
    }
    if (is_err(&ready)) {
        say(driver, "%s\n", ready.message);
        return 2;
    }
    ik_tty_enter(driver->tty);
    say_size(driver, "entered");
    ik_loop_run_until(driver->loop, &driver->done);
    talloc_free(driver->program);
    talloc_free(driver->tty);
    talloc_free(driver->tick);
    talloc_free(driver->linger);
    say(driver, "end\n");
    return driver->status;
}

int main(int argc, char **argv)
{
    driver_t *driver = ik_new(NULL, driver_t);
    driver->log = argc < 2 ? -1 : open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (driver->log < 0) {
        fprintf(stderr, "usage: tty_driver LOG\n");
        return 2;
    }
    int status = run(driver);
    talloc_free(driver);
    return status;
}
