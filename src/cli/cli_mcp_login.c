/* `ikigai mcp login`: lets the user log in to a server over HTTP. */
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/config_server.h"
#include "base/print.h"
#include "cli/cli.h"
#include "mcp/mcp_oauth.h"

enum { PATIENCE_MS = 300 * 1000 };

/* The browser outlives us and must not write to our terminal. */
static void open_browser(const char *address)
{
    const char *browser = getenv("BROWSER");
    const char *program = browser == NULL || *browser == '\0' ? "xdg-open" : browser;
    char *const argv[] = {(char *)program, (char *)address, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    for (int fd = 0; fd <= 2; fd++) {
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    }
    posix_spawnp(&pid, program, &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
}

static void visit(void *data, const char *address)
{
    fputs("Log in at this address:\n", stderr);
    ik_print_line(stdout, address);
    fflush(stdout);
    if (*(bool *)data) {
        open_browser(address);
    }
}

static int run(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const char *name = args->args[0];
    ik_mcp_t *mcp = ik_cli_servers(cli, false);
    bool opens = !ik_cli_args_has(args, "--no-browser");
    ik_mcp_load(mcp);
    const ik_mcp_item_t *item = ik_mcp_find(mcp, name);
    if (item == NULL || item->config->type != IK_CONFIG_SERVER_HTTP || item->config->url == NULL) {
        return ik_cli_fail(ik_sprintf(cli->ctx,
                                      item == NULL ? "There is no server '%s'. Run ikigai mcp list "
                                                     "to see them."
                                                   : "The server '%s' has no URL, so there is no "
                                                     "login.",
                                      name));
    }
    if (item->untrusted) {
        return ik_cli_fail("The project's servers are not trusted. Review: ikigai trust");
    }
    char *missing;
    bool of_project = item->config->source == IK_CONFIG_PROJECT;
    const char *url =
        ik_config_server_expand(cli->ctx, cli->config, of_project, item->config->url, &missing);
    if (url == NULL) {
        return ik_cli_fail(ik_sprintf(cli->ctx, "The variable %s is not set", missing));
    }
    res_t done =
        ik_mcp_oauth_login(&(ik_mcp_oauth_login_t){.loop = cli->loop,
                                                   .http = ik_http_create(cli->ctx, cli->loop),
                                                   .paths = cli->paths,
                                                   .config = item->config,
                                                   .url = url,
                                                   .patience_ms = PATIENCE_MS,
                                                   .visit = visit,
                                                   .data = &opens});
    if (is_err(&done)) {
        return ik_cli_fail(done.message);
    }
    ik_mcp_server_forget(cli->paths, item->config); /* it is asked again with the token */
    fputs("You are logged in.\n", stderr);
    return IK_CLI_DONE;
}

const ik_cli_command_t ik_cli_mcp_login = {
    .name = "mcp login",
    .args = "SERVER",
    .help = "Logs in to a server over HTTP that requires a login.",
    .more = "Prints an address on a line of its own and waits until you have logged in there.",
    .options =
        (const ik_cli_option_t[]){{.name = "--no-browser", .help = "only print the address"}, {0}},
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
