/* How a session begins: the era of the server, the version of the protocol, and what the server
 * says about itself. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/json_clean.h"
#include "mcp/mcp_server_state.h"

#define META "io.modelcontextprotocol/"
#define CLIENT_INFO "{\"name\":\"ikigai\",\"version\":\"" IKIGAI_VERSION "\"}"
#define CAPABILITIES "{\"roots\":{},\"elicitation\":{\"form\":{},\"url\":{}}}"

/* The versions with a handshake, newest first: the first is offered. */
static const char *const legacy_versions[] = {"2025-11-25", "2025-06-18", "2025-03-26",
                                              "2024-11-05"};

char *ik_mcp_server_make_params(const void *ctx, const ik_mcp_server_t *server, const char *members,
                                int64_t token)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the members */
    ik_buffer_append_format(&out, "{%s", members);
    if (server->facts.modern || server->probing || token > 0) {
        ik_buffer_append_format(&out, "%s\"_meta\":{", *members == '\0' ? "" : ",");
        if (server->facts.modern || server->probing) {
            ik_buffer_append_format(&out,
                                    "\"" META "protocolVersion\":\"%s\",\"" META
                                    "clientCapabilities\":" CAPABILITIES ",\"" META
                                    "clientInfo\":" CLIENT_INFO ",\"" META "logLevel\":\"info\"%s",
                                    IK_MCP_MODERN, token > 0 ? "," : "");
        }
        if (token > 0) {
            ik_buffer_append_format(&out, "\"progressToken\":%" PRId64, token);
        }
        ik_buffer_append_byte(&out, '}');
    }
    ik_buffer_append_byte(&out, '}');
    return ik_buffer_finish(&out);
}

char *ik_mcp_server_describe_error(const void *ctx, const char *what, const ik_rpc_answer_t *answer)
{
    char *text = answer->text.len > 0 ? ik_json_decode(ctx, answer->text, NULL) : NULL;
    char *code = answer->code == 0 ? NULL : ik_sprintf(ctx, " (%" PRId64 ")", answer->code);
    return ik_sprintf(ctx, "it refused %s: %.300s%s", what, text == NULL ? "" : text,
                      code == NULL ? "" : code);
}

/* Keeps what the server says about itself; result is that of either opening. */
static void take_facts(ik_mcp_server_t *server, json_t *result, bool modern, const char *version)
{
    ik_mcp_facts_t *facts = &server->facts;
    json_t *meta = json_object_get(result, "_meta");
    json_t *info =
        modern ? json_object_get(meta, META "serverInfo") : json_object_get(result, "serverInfo");
    json_t *capabilities = json_object_get(result, "capabilities");
    json_t *instructions = json_object_get(result, "instructions");
    const ik_mcp_tools_t *tools = facts->tools;
    void *old = server->texts;
    server->texts = talloc_new(server);
    *facts = (ik_mcp_facts_t){
        .status = facts->status, .modern = modern, .version = ik_strdup(server->texts, version)};
    facts->name = ik_mcp_server_keep_text(server, json_object_get(info, "name"));
    facts->server_version = ik_mcp_server_keep_text(server, json_object_get(info, "version"));
    if (json_string_length(instructions) <= IK_MCP_TEXT_MAX) {
        facts->instructions = ik_mcp_server_keep_text(server, instructions);
    }
    if (tools != NULL) {
        facts->tools = talloc_steal(server->texts, (void *)tools);
    }
    talloc_free(old);
    json_t *of_tools = json_object_get(capabilities, "tools");
    server->has_tools = json_is_object(of_tools);
    server->tells_changes = json_is_true(json_object_get(of_tools, "listChanged"));
    server->probing = false;
    server->listed_again = false;
    server->state = IK_MCP_SERVER_LISTING;
}

static bool is_legacy_version(const char *version)
{
    for (size_t i = 0; version != NULL && i < IK_LENGTH(legacy_versions); i++) {
        if (strcmp(version, legacy_versions[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void send_discover(ik_mcp_server_t *server);

static void on_initialize(void *data, const ik_rpc_answer_t *answer)
{
    ik_mcp_server_t *server = data;
    if (answer->closed) {
        return;
    }
    void *scratch = talloc_new(NULL);
    json_t *result = answer->failed ? NULL : ik_json_parse_clean(answer->result);
    ik_json_adopt(scratch, result);
    const char *version = json_string_value(json_object_get(result, "protocolVersion"));
    bool automatic = server->config->protocol == IK_CONFIG_PROTOCOL_AUTO;
    if (answer->failed && automatic && !server->tried_modern) {
        send_discover(server);
    } else if (answer->failed) {
        ik_mcp_server_fail_start(server,
                                 ik_mcp_server_describe_error(scratch, "initialize", answer));
    } else if (!is_legacy_version(version)) {
        ik_mcp_server_fail_start(server,
                                 ik_sprintf(scratch,
                                            "it speaks version %.40s of the protocol, which "
                                            "ikigai does not know",
                                            version == NULL ? "?" : version));
    } else {
        take_facts(server, result, false, version);
        if (server->http != NULL) {
            ik_mcp_http_set_version(server->http, version, false);
        }
        ik_rpc_notify(server->rpc, "notifications/initialized", NULL);
        if (server->http == NULL) { /* else when the server has answered that */
            ik_mcp_server_begin_list(server);
        }
    }
    talloc_free(scratch);
}

void ik_mcp_server_initialize(ik_mcp_server_t *server)
{
    server->tried_legacy = true;
    server->probing = false;
    server->facts.modern = false;
    if (server->http != NULL) {
        ik_mcp_http_set_version(server->http, NULL, false);
    }
    char *params = ik_sprintf(server,
                              "{\"protocolVersion\":\"%s\",\"capabilities\":" CAPABILITIES
                              ",\"clientInfo\":" CLIENT_INFO "}",
                              legacy_versions[0]);
    ik_rpc_call(server->rpc, "initialize", params, on_initialize, server);
    talloc_free(params);
}

static void on_discover(void *data, const ik_rpc_answer_t *answer)
{
    ik_mcp_server_t *server = data;
    if (answer->closed || !server->probing) {
        return; /* it is too late: the handshake goes on */
    }
    void *scratch = talloc_new(NULL);
    ik_json_span_t told = answer->failed ? answer->detail : answer->result;
    json_t *result = told.len == 0 ? NULL : ik_json_parse_clean(told);
    ik_json_adopt(scratch, result);
    json_t *versions = json_object_get(result, answer->failed ? "supported" : "supportedVersions");
    json_t *ours = ik_json_adopt(scratch, json_string(IK_MCP_MODERN));
    bool common = ik_json_array_has(versions, ours);
    bool modern = common && !answer->failed;
    bool may_be_legacy =
        server->config->protocol != IK_CONFIG_PROTOCOL_MODERN && !server->tried_legacy;
    if (modern) {
        take_facts(server, result, true, IK_MCP_MODERN);
        ik_mcp_server_begin_list(server);
    } else if (common && !server->tried_again) {
        server->tried_again = true;
        send_discover(server);
    } else if (json_is_array(versions) && !may_be_legacy) {
        ik_mcp_server_fail_start(server, "it has no version of the protocol that ikigai knows");
    } else if (may_be_legacy) {
        ik_mcp_server_initialize(server);
    } else {
        ik_mcp_server_fail_start(server,
                                 ik_mcp_server_describe_error(scratch, "server/discover", answer));
    }
    talloc_free(scratch);
}

static void send_discover(ik_mcp_server_t *server)
{
    server->tried_modern = true;
    server->probing = true;
    if (server->http != NULL) {
        ik_mcp_http_set_version(server->http, IK_MCP_MODERN, true);
    }
    char *params = ik_mcp_server_make_params(server, server, "", 0);
    ik_rpc_call(server->rpc, "server/discover", params, on_discover, server);
    talloc_free(params);
}

void ik_mcp_server_begin_session(ik_mcp_server_t *server)
{
    bool was_modern = server->facts.modern && !server->tried_modern;
    if (server->config->protocol == IK_CONFIG_PROTOCOL_MODERN ||
        (server->config->protocol == IK_CONFIG_PROTOCOL_AUTO && was_modern)) {
        send_discover(server);
    } else {
        ik_mcp_server_initialize(server);
    }
}
