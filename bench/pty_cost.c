/*
 * Measures a program on a terminal, for bench_terminal.py. The terminal is a pseudo terminal of 80
 * columns and 24 rows that controls a session of its own; all output is read at once.
 *
 *   pty_cost start EMPTY COMMAND [ARGUMENT]...
 *
 * prints the microseconds from fork to the end of EMPTY, to the first output of COMMAND that shows
 * its prompt, and to the echo of a key that is pressed at that moment.
 *
 *   pty_cost drive COMMAND [ARGUMENT]...
 *
 * reads commands from stdin, one per line, and answers each with a line of numbers; TEXT is a JSON
 * string:
 *
 *   send TEXT             types the text as fast as the program reads it
 *   wait MS TEXT          waits until the text is printed after the text of the last wait
 *   quiet MS              waits until nothing has been printed for MS milliseconds
 *   keys COUNT ERASE MS   types COUNT keys MS milliseconds apart, each after the previous echo, and
 *                         erases each when ERASE is 1; answers with the microseconds to the echo:
 *                         median, p99 and slowest
 *   frames COUNT MS TEXT  types the keys in TEXT, which are separated by newlines, in turn, COUNT
 *                         keys in all, MS milliseconds apart; answers with the microseconds to the
 *                         frame that follows: median, p99 and slowest
 *   bytes                 answers with the number of bytes printed so far
 *   cpu                   answers with the microseconds of processor time used so far
 *   pid                   answers with the pid of COMMAND
 *
 * The end of stdin hangs up the terminal.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"

enum {
    COLUMNS = 80,
    ROWS = 24,
    PATIENCE_MS = 20000, /* for a key and for the first frame */
    HANG_UP_MS = 3000,   /* until a program that does not end is killed */
    UNSEEN_MAX = 65536,
};

typedef struct {
    int master;
    pid_t pid;
    bool gone;          /* no process has the terminal open */
    uint64_t bytes;     /* printed so far */
    double printed_us;  /* when the last byte was read */
    ik_buffer_t unseen; /* the end of the output after the last wait */
} pty_t;

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("pty_cost: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

/* --- the terminal ------------------------------------------------------------------------ */

static void __attribute__((noreturn)) become(int slave, char **argv)
{
    setsid();
    ioctl(slave, TIOCSCTTY, 0);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        dup2(slave, fd);
    }
    execv(argv[0], argv);
    _exit(127);
}

/* The other end is open before the fork: a terminal that no process has open reads as hung up. */
static int open_ends(int *slave)
{
    struct winsize size = {.ws_col = COLUMNS, .ws_row = ROWS};
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
        fail("no pseudo terminal: %s", strerror(errno));
    }
    *slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*slave < 0 || ioctl(*slave, TIOCSWINSZ, &size) != 0) {
        fail("%s: %s", ptsname(master), strerror(errno));
    }
    return master;
}

static void start(pty_t *pty, char **argv)
{
    int slave;
    *pty = (pty_t){.master = open_ends(&slave)};
    ik_buffer_init(&pty->unseen, NULL, IK_BUFFER_UNLIMITED);
    pty->pid = fork();
    if (pty->pid < 0) {
        fail("fork: %s", strerror(errno));
    }
    if (pty->pid == 0) {
        become(slave, argv);
    }
    close(slave);
}

static void forget(pty_t *pty, size_t len)
{
    pty->unseen.len -= len;
    memmove(pty->unseen.data, pty->unseen.data + len, pty->unseen.len);
}

static void take_output(pty_t *pty)
{
    size_t room = ik_buffer_reserve(&pty->unseen, UNSEEN_MAX);
    ssize_t got = read(pty->master, pty->unseen.data + pty->unseen.len, room);
    if (got > 0) {
        pty->printed_us = now_us();
        pty->bytes += (uint64_t)got;
        pty->unseen.len += (size_t)got;
    } else if (got == 0 || errno == EIO) {
        pty->gone = true;
    }
    if (pty->unseen.len > UNSEEN_MAX) {
        forget(pty, pty->unseen.len - UNSEEN_MAX);
    }
}

/* Waits for output, with a time limit; returns whether there was some. */
static bool read_some(pty_t *pty, int patience_ms)
{
    uint64_t before = pty->bytes;
    struct pollfd wanted = {.fd = pty->master, .events = POLLIN};
    if (!pty->gone && poll(&wanted, 1, patience_ms) > 0) {
        take_output(pty);
    }
    return pty->bytes > before;
}

/* Reads output meanwhile: a program that waits for its terminal reads no keys. */
static void send_keys(pty_t *pty, const char *keys, size_t len)
{
    while (len > 0) {
        struct pollfd wanted = {.fd = pty->master, .events = POLLIN | POLLOUT};
        if (pty->gone || poll(&wanted, 1, PATIENCE_MS) <= 0) {
            fail("the program takes no keys");
        }
        if ((wanted.revents & ~POLLOUT) != 0) {
            take_output(pty);
        }
        ssize_t sent = write(pty->master, keys, len);
        if (sent > 0) {
            keys += sent;
            len -= (size_t)sent;
        }
    }
}

static void wait_for(pty_t *pty, const char *text, size_t len, int patience_ms)
{
    double deadline = now_us() + patience_ms * 1e3;
    for (;;) {
        const char *found =
            pty->unseen.len == 0 ? NULL : memmem(pty->unseen.data, pty->unseen.len, text, len);
        if (found != NULL) {
            forget(pty, (size_t)(found - pty->unseen.data) + len);
            return;
        }
        double left = deadline - now_us();
        if (left <= 0 || pty->gone) {
            fail("'%.*s' was not printed", (int)len, text);
        }
        read_some(pty, (int)(left / 1e3) + 1);
    }
}

static void wait_until_gone(pty_t *pty)
{
    while (!pty->gone) {
        read_some(pty, PATIENCE_MS);
    }
}

static void wait_until_quiet(pty_t *pty, int ms)
{
    while (read_some(pty, ms)) {
    }
}

static void linger(pty_t *pty, int ms)
{
    double end = now_us() + ms * 1e3;
    for (double left; !pty->gone && (left = end - now_us()) > 0;) {
        read_some(pty, (int)(left / 1e3) + 1);
    }
}

static void hang_up(pty_t *pty)
{
    double deadline = now_us() + HANG_UP_MS * 1e3;
    close(pty->master);
    while (waitpid(pty->pid, NULL, WNOHANG) == 0) {
        if (now_us() > deadline) {
            kill(pty->pid, SIGKILL);
        }
        usleep(1000);
    }
    ik_buffer_reset(&pty->unseen);
}

/* --- keys -------------------------------------------------------------------------------- */

/* Letters that end no escape sequence and occur in no text of bench_terminal.py, so that an echo
 * cannot be confused with other output. */
static const char letters[] = {'Q', 'V', 'W', 'Y', 'Z'};

static double press(pty_t *pty, char key)
{
    pty->unseen.len = 0;
    double begin = now_us();
    send_keys(pty, &key, 1);
    wait_for(pty, &key, 1, PATIENCE_MS);
    return pty->printed_us - begin;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_times(double *times, size_t count)
{
    qsort(times, count, sizeof(*times), by_value);
    printf("%.1f %.1f %.1f\n", times[count / 2], times[count * 99 / 100], times[count - 1]);
}

static void type(pty_t *pty, size_t count, bool erase, int pause_ms)
{
    double *times = ik_new_array(NULL, double, count);
    for (size_t i = 0; i < count; i++) {
        times[i] = press(pty, letters[i % sizeof(letters)]);
        linger(pty, pause_ms);
        if (erase) {
            send_keys(pty, "\x7f", 1);
            linger(pty, pause_ms);
        }
    }
    print_times(times, count);
    talloc_free(times);
}

/* Every key must change the screen. A frame is one write. */
static void type_for_frames(pty_t *pty, size_t count, int pause_ms, const char *keys)
{
    double *times = ik_new_array(NULL, double, count);
    const char *key = keys;
    for (size_t i = 0; i < count; i++) {
        size_t len = strcspn(key, "\n");
        double begin = now_us();
        send_keys(pty, key, len);
        if (!read_some(pty, PATIENCE_MS)) {
            fail("key %zu changed nothing", i);
        }
        times[i] = pty->printed_us - begin;
        linger(pty, pause_ms);
        key = key[len] == '\0' ? keys : key + len + 1;
    }
    print_times(times, count);
    talloc_free(times);
}

/* --- start ------------------------------------------------------------------------------- */

/* A prompt counts only when the terminal is raw: before, the kernel would echo the key. */
static void require_raw(const pty_t *pty)
{
    struct termios modes;
    if (tcgetattr(pty->master, &modes) != 0 || (modes.c_lflag & (ECHO | ICANON)) != 0) {
        fail("the prompt is shown and the terminal is not raw");
    }
}

static double time_empty(char *program)
{
    pty_t pty;
    double begin = now_us();
    start(&pty, (char *[]){program, NULL});
    wait_until_gone(&pty);
    double end = now_us();
    hang_up(&pty);
    return end - begin;
}

static void measure_start(char *empty, char **argv)
{
    pty_t pty;
    double empty_us = time_empty(empty);
    double begin = now_us();
    start(&pty, argv);
    wait_for(&pty, "> ", 2, PATIENCE_MS);
    double frame_us = pty.printed_us - begin;
    require_raw(&pty);
    press(&pty, letters[0]);
    printf("%.1f %.1f %.1f\n", empty_us, frame_us, pty.printed_us - begin);
    hang_up(&pty);
}

/* --- drive ------------------------------------------------------------------------------- */

static char *decode(const char *text, size_t *len)
{
    ik_json_span_t value;
    if (!ik_json_scan(text, strlen(text), &value, NULL) || !ik_json_is(value, IK_JSON_STRING)) {
        fail("no JSON string: %s", text);
    }
    return ik_json_decode(NULL, value, len);
}

static void send_text(pty_t *pty, const char *text)
{
    size_t len;
    char *keys = decode(text, &len);
    send_keys(pty, keys, len);
    talloc_free(keys);
    puts("0");
}

static void wait_text(pty_t *pty, const char *rest)
{
    size_t len;
    char *end;
    long ms = strtol(rest, &end, 10);
    char *text = decode(end, &len);
    wait_for(pty, text, len, (int)ms);
    talloc_free(text);
    puts("0");
}

static void time_frames(pty_t *pty, const char *rest)
{
    size_t len;
    char *end;
    unsigned long count = strtoul(rest, &end, 10);
    long ms = strtol(end, &end, 10);
    char *keys = decode(end, &len);
    type_for_frames(pty, count, (int)ms, keys);
    talloc_free(keys);
}

static void print_cpu(const pty_t *pty)
{
    clockid_t its_clock;
    struct timespec used;
    if (clock_getcpuclockid(pty->pid, &its_clock) != 0 || clock_gettime(its_clock, &used) != 0) {
        fail("the program's processor time cannot be read");
    }
    printf("%.1f\n", (double)used.tv_sec * 1e6 + (double)used.tv_nsec / 1e3);
}

static void obey(pty_t *pty, const char *line)
{
    unsigned long count;
    int erase;
    int ms;
    if (strncmp(line, "send ", 5) == 0) {
        send_text(pty, line + 5);
    } else if (strncmp(line, "wait ", 5) == 0) {
        wait_text(pty, line + 5);
    } else if (sscanf(line, "quiet %d", &ms) == 1) {
        wait_until_quiet(pty, ms);
        puts("0");
    } else if (sscanf(line, "keys %lu %d %d", &count, &erase, &ms) == 3 && count > 0) {
        type(pty, count, erase == 1, ms);
    } else if (strncmp(line, "frames ", 7) == 0) {
        time_frames(pty, line + 7);
    } else if (strcmp(line, "bytes\n") == 0) {
        printf("%llu\n", (unsigned long long)pty->bytes);
    } else if (strcmp(line, "cpu\n") == 0) {
        print_cpu(pty);
    } else if (strcmp(line, "pid\n") == 0) {
        printf("%d\n", (int)pty->pid);
    } else {
        fail("what is %s", line);
    }
    fflush(stdout);
}

/* Each line is answered before the next one is sent, so that none waits in the stream's buffer. */
static void drive(pty_t *pty)
{
    char *line = NULL;
    size_t size = 0;
    for (;;) {
        struct pollfd wanted[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                                  {.fd = pty->gone ? -1 : pty->master, .events = POLLIN}};
        poll(wanted, 2, -1);
        if (wanted[1].revents != 0) {
            take_output(pty);
        }
        if (wanted[0].revents != 0) {
            if (getline(&line, &size, stdin) <= 0) {
                break;
            }
            obey(pty, line);
        }
    }
    free(line);
}

int main(int argc, char **argv)
{
    if (argc >= 4 && strcmp(argv[1], "start") == 0) {
        measure_start(argv[2], argv + 3);
        return 0;
    }
    if (argc >= 3 && strcmp(argv[1], "drive") == 0) {
        pty_t pty;
        start(&pty, argv + 2);
        drive(&pty);
        hang_up(&pty);
        return 0;
    }
    fputs("usage: pty_cost start EMPTY COMMAND [ARGUMENT]...\n"
          "       pty_cost drive COMMAND [ARGUMENT]...\n",
          stderr);
    return 2;
}
