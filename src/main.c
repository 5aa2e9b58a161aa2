/* Options and wiring, nothing else. */
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/cli_options.h"
#include "headless/headless.h"
#include "io/tty_restore.h"
#include "repl/repl.h"
#include "store/history.h"

/* A program started with a closed standard descriptor would open its files in its place. */
static void open_standard_descriptors(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO) {
        close(fd);
    }
}

/* Another program with the same pipe or terminal may have made it non-blocking; what does not fit
 * at once would then be lost, and what is not there yet be missed. */
static void make_standard_descriptors_block(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        int flags = fcntl(fd, F_GETFL);
        if (flags != -1 && (flags & O_NONBLOCK) != 0) {
            fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
        }
    }
}

/* Large buffers (answers, results, requests) come and go. The C library would learn from the first
 * of them to keep such memory for itself. */
static void keep_memory_returnable(void)
{
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
#endif
}

/* A limit (ulimit -v) or the machine's own: an ordinary failure, and no reason for a core dump. */
static void on_out_of_memory(void)
{
    static const char line[] =
        "\nikigai: out of memory; free some, or raise the limit (ulimit -v)\n";
    size_t newline = isatty(STDERR_FILENO) ? 0 : 1; /* the cursor may be inside of what was drawn */
    ik_tty_restore_run();
    ssize_t told = write(STDERR_FILENO, line + newline, sizeof(line) - 1 - newline);
    (void)told;
    _exit(IK_CLI_FAILED);
}

static int run_headless(ik_cli_t *cli, const ik_cli_options_t *options)
{
    ik_headless_options_t headless = {
        .paths = cli->paths,
        .config = cli->config,
        .loop = cli->loop,
        .host = cli->host,
        .wish = &options->wish,
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
        .wish = &options->wish,
        .plain = options->plain,
    };
    return ik_repl_run(cli->ctx, &repl);
}

/* Without a terminal to type at there is one turn. */
static int talk(ik_cli_t *cli, const ik_cli_options_t *options)
{
    if (!ik_cli_accept_config(cli)) {
        return IK_CLI_USAGE;
    }
    res_t db = ik_history_check_db(cli->config->db, cli->paths->database);
    if (is_err(&db)) {
        ik_cli_fail(db.message);
        return IK_CLI_USAGE;
    }
    bool interactive = !options->headless && isatty(STDIN_FILENO);
    return interactive ? run_interactive(cli, options) : run_headless(cli, options);
}

/* options is NULL when a command was given. */
static int run(void *ctx, const ik_cli_options_t *options, int argc, char **argv)
{
    ik_cli_t cli = {.ctx = ctx};
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
    int status = options == NULL ? ik_cli_run(&cli, argc, argv) : talk(&cli, options);
    talloc_free(cli.host);
    return status;
}

static int start_in(void *ctx, int argc, char **argv)
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

/* What is no command is options and a prompt: talking to a model. */
static int start(int argc, char **argv)
{
    void *ctx = talloc_new(NULL);
    int status = start_in(ctx, argc, argv);
    talloc_free(ctx);
    return status;
}

int main(int argc, char **argv)
{
    open_standard_descriptors();
    make_standard_descriptors_block();
    /* Nobody else of this user may read our memory or environment, where the keys are. */
    prctl(PR_SET_DUMPABLE, 0);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file over the limit is an error like any other */
    ik_alloc_on_failure(on_out_of_memory);
    ik_json_seed();
    keep_memory_returnable();
    int status = start(argc - (argc > 0), argv + (argc > 0));
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("ikigai: cannot write to standard output\n", stderr);
        status = status == IK_CLI_DONE ? IK_CLI_FAILED : status;
    }
    return status;
}
