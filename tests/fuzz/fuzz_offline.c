/*
 * Plain words to the provider that is no model: whatever they are, they make a call of a tool that
 * is there, with JSON for arguments, or a problem, or nothing.
 */
#include <stdint.h>
#include <string.h>

#include "../provider/driver.h"
#include "pieces.h"
#include "provider/offline/offline_command.h"

static const char *const tools[] = {"bash", "file_read", "glob", "grep"};
enum { TOOLS = sizeof(tools) / sizeof(tools[0]) };

static bool is_tool(const char *name)
{
    size_t at = 0;
    while (at < TOOLS && strcmp(tools[at], name) != 0) {
        at++;
    }
    return at < TOOLS;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (!ik_utf8_valid((const char *)bytes, len)) {
        return 0;
    }
    void *ctx = talloc_new(NULL);
    json_t *parameters = json_object();
    ik_request_t *request =
        ik_request_create(ctx, driver_target(ctx, "chat", "p", "http://127.0.0.1", "m"));
    for (size_t i = 0; i < TOOLS; i++) {
        ik_request_add_tool(request, tools[i], "", parameters, NULL);
    }
    ik_offline_command_t command;
    ik_offline_command_parse(ctx, ik_strndup(ctx, (const char *)bytes, len), request, &command);
    REQUIRE(command.tool == NULL || (is_tool(command.tool) && command.problem == NULL));
    REQUIRE((command.tool == NULL) == (command.arguments == NULL));
    REQUIRE(command.problem == NULL || ik_utf8_valid(command.problem, strlen(command.problem)));
    if (command.arguments != NULL) {
        pieces_require_json(command.arguments, strlen(command.arguments));
    }
    json_decref(parameters);
    talloc_free(ctx);
    return 0;
}
