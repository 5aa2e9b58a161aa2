/* The yardstick for calls through a server: an MCP server that answers at once. It looks for what
 * it has to answer with strstr, because its clients write their messages without blanks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    static char line[1 << 16];
    while (fgets(line, sizeof(line), stdin) != NULL) {
        const char *id = strstr(line, "\"id\":");
        const char *result =
            strstr(line, "\"method\":\"tools/call\"") != NULL
                ? "{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}"
            : strstr(line, "\"method\":\"tools/list\"") != NULL
                ? "{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\"}}]}"
                : "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
                  "\"serverInfo\":{\"name\":\"echo\",\"version\":\"1\"}}";
        if (id != NULL) {
            printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":%s}\n", strtol(id + 5, NULL, 10),
                   result);
            fflush(stdout);
        }
    }
    return 0;
}
