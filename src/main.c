/* Parses the options, creates the parts and connects them. */
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "acp/acp.h"
#include "base/alloc.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/cli_options.h"
#include "headless/headless.h"
#include "io/tty_restore.h"
#include "repl/repl.h"
#include "store/history.h"

static bool output_closed; /* at the start */

/* If a standard descriptor is closed at start, the next file opened would take its number. */
static void open_standard_descriptors(void)
{
    int fd;
    output_closed = fcntl(STDOUT_FILENO, F_GETFD) < 0;
    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO) {
        close(fd);
    }
}

/* Another program that shares the pipe or terminal may have made it non-blocking; reads and writes
 * would then fail instead of waiting. */
static void make_standard_descriptors_block(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        int flags = fcntl(fd, F_GETFL);
        if (flags != -1 && (flags & O_NONBLOCK) != 0) {
            fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
        }
    }
}

/* Running out of memory, often because of ulimit -v, is an ordinary failure and needs no core dump.
 */
static void on_out_of_memory(void)
{
    static const char line[] =
        "\nikigai: out of memory; free some, or raise the limit (ulimit -v)\n";
    size_t skip = isatty(STDERR_FILENO) ? 0 : 1; /* on a terminal the cursor may be within a line */
    ik_tty_restore_run();
    ssize_t ignored = write(STDERR_FILENO, line + skip, sizeof(line) - 1 - skip);
    (void)ignored;
    _exit(IK_CLI_FAILED);
}

static int run_headless(ik_cli_t *cli, const ik_cli_options_t *options)
{
    ik_headless_options_t headless = {
        .paths = cli->paths,
        .config = cli->config,
        .loop = cli->loop,
        .host = cli->host,
        .start = &options->start,
        .json = options->json,
    };
    return ik_headless_run(cli->ctx, &headless);
}

static int run_interactive(ik_cli_t *cli, const ik_cli_options_t *options)
{
    ik_repl_options_t repl = {
        .paths = cli->paths,
        .config = cli->config,
        .loop = cli->loop,
        .host = cli->host,
        .start = &options->start,
        .plain = options->plain,
        .db = options->flags.db,
    };
    return ik_repl_run(cli->ctx, &repl);
}

static int run_acp(ik_cli_t *cli, const ik_config_flags_t *flags, bool trust)
{
    ik_acp_options_t acp = {
        .paths = cli->paths,
        .config = cli->config,
        .flags = flags,
        .loop = cli->loop,
        .host = cli->host,
        .version = IKIGAI_VERSION,
        .trust = trust,
    };
    return ik_acp_run(cli->ctx, &acp);
}

/* A conversation, or one turn when standard input is not a terminal. */
static int talk(ik_cli_t *cli, const ik_cli_options_t *options)
{
    if (!ik_cli_accept_config(cli)) {
        return IK_CLI_USAGE;
    }
    res_t db = ik_history_check_db(cli->config->db, cli->paths->database);
    if (is_ok(&db) && options->start.resume != NULL && options->flags.db != NULL) {
        db = ik_history_check_file(cli->config->db, cli->paths->database);
    }
    if (is_err(&db)) {
        ik_cli_fail(db.message);
        return IK_CLI_USAGE;
    }
    if (!ik_cli_accept_confinement(cli)) {
        return IK_CLI_USAGE;
    }
    bool interactive = !options->headless && isatty(STDIN_FILENO);
    return interactive ? run_interactive(cli, options) : run_headless(cli, options);
}

/* options is NULL when a command was given. */
static int run(void *ctx, const ik_cli_options_t *options, int argc, char **argv)
{
    ik_cli_t cli = {.ctx = ctx, .output_closed = output_closed, .run_acp = run_acp};
    ik_paths_t *paths;
    ik_config_t *config;
    res_t ready = ik_paths_create(ctx, &paths);
    if (is_ok(&ready)) {
        cli.paths = paths;
        cli.config_error =
            ik_config_load(ctx, paths, options == NULL ? NULL : &options->flags, &config);
        cli.config = config;
        ik_config_scrub_environment(config);
        ready = ik_loop_create(ctx, &cli.loop);
    }
    if (is_err(&ready)) {
        ik_cli_fail(ready.message);
        return ready.code == IK_ERR_INVALID ? IK_CLI_USAGE : IK_CLI_FAILED;
    }
    cli.host = ik_process_host_create(ctx, cli.loop, paths->keeper);
    ik_confinement_options_t confinement = {.loop = cli.loop, .paths = paths, .config = cli.config};
    cli.confinement = ik_confinement_create(ctx, &confinement);
    int status = options == NULL ? ik_cli_run(&cli, argc, argv) : talk(&cli, options);
    talloc_free(cli.confinement);
    talloc_free(cli.host);
    return status;
}

/* Arguments that do not begin with a command are options and a prompt. */
static int start(void *ctx, int argc, char **argv)
{
    ik_cli_options_t options = {0};
    if (argc > 0 && ik_cli_begins_command(argv[0])) {
        return run(ctx, NULL, argc, argv);
    }
    if (!ik_cli_options_parse(ctx, &options, argc, argv)) {
        return IK_CLI_USAGE;
    }
    switch (options.asked) {
    case IK_CLI_ASKED_HELP:
        ik_cli_print_help();
        return IK_CLI_DONE;
    case IK_CLI_ASKED_VERSION:
        printf("ikigai %s\n", IKIGAI_VERSION);
        return IK_CLI_DONE;
    default:
        return run(ctx, &options, argc, argv);
    }
}

/* Whether standard output is a pipe whose reader has seen enough, as `head` has. */
static bool is_reader_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

int main(int argc, char **argv)
{
    open_standard_descriptors();
    make_standard_descriptors_block();
    /* Keeps other processes of this user from reading our memory and environment, which hold the
     * keys. */
    prctl(PR_SET_DUMPABLE, 0);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* makes writing beyond RLIMIT_FSIZE an ordinary error */
    ik_alloc_on_failure(on_out_of_memory);
    ik_json_seed();
#ifdef M_MMAP_THRESHOLD
    /* Otherwise the C library raises this threshold with the first large buffer it frees, and no
     * longer returns such memory to the system. */
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
#endif
    void *ctx = talloc_new(NULL);
    int status = start(ctx, argc - (argc > 0), argv + (argc > 0));
    talloc_free(ctx);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        if (status != IK_CLI_DONE || !is_reader_gone()) {
            fputs("ikigai: cannot write to standard output\n", stderr);
        }
        status = status == IK_CLI_DONE ? IK_CLI_FAILED : status;
    }
    return status;
}
