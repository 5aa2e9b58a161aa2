#include "base/environment.h"

#include "base/array.h"

#define USER IK_ENVIRONMENT_USER
#define PROVIDER IK_ENVIRONMENT_PROVIDER
#define NETWORK IK_ENVIRONMENT_NETWORK
#define TOOL IK_ENVIRONMENT_TOOL

static const ik_environment_t table[] = {
    {"IKIGAI_HOME", USER, "the folder to use instead of `~/.ikigai`; an absolute path"},
    {"IKIGAI_MODE", USER, "the mode; overrides `mode` of the configuration"},
    {"IKIGAI_MODEL", USER, "the model; overrides `model` of the configuration"},
    {"IKIGAI_DB", USER, "where sessions are kept; overrides `db` of the configuration"},
    {"NO_COLOR", USER,
     "if set and not empty, no colours on the terminal; a conversation still uses bold and dim"},
    {"COLORTERM", USER,
     "`truecolor` or `24bit`: a conversation uses 24-bit colours, else the nearest of 256"},
    {"TERM", USER, "`dumb`: plain lines without escape sequences"},
    {"VISUAL", USER, "the editor for a draft (Ctrl-G)"},
    {"EDITOR", USER, "the editor when `VISUAL` is not set; vi otherwise"},
    {"BROWSER", USER, "opens the address of `ikigai mcp login`; xdg-open when it is not set"},
    {"PAGER", USER, "the pager of `ikigai trust`; less when it is not set"},
    {"TMUX", USER, "if set, `/copy` goes through tmux"},
    {"WAYLAND_DISPLAY", USER, "if set, `/copy` goes through wl-copy"},
    {"DISPLAY", USER, "if set, `/copy` goes through xclip"},
    {"SSH_CONNECTION", USER,
     "if set, `/copy` does not use wl-copy or xclip; outside tmux it asks the terminal itself "
     "(OSC 52), as it does when none of these programs is available"},
    {"HOME", USER, "where `~/.ikigai` is; an absolute path"},
    {"PATH", USER, "where programs are looked for"},
    {"XDG_CONFIG_HOME", USER, "where git's own configuration is, as git reads it"},
    {"GIT_CONFIG_GLOBAL", USER,
     "another configuration of git; undo follows what it says about ignored files"},
    {"GIT_CONFIG_SYSTEM", USER, "the same for the system's configuration of git"},
    {"GIT_CONFIG_NOSYSTEM", USER, "if true, the system's configuration of git is not read"},

    {"OPENAI_API_KEY", PROVIDER, "the key of the provider `openai`"},
    {"OPENAI_BASE_URL", PROVIDER, "another address of the provider `openai`; ends in `/v1`"},
    {"ANTHROPIC_API_KEY", PROVIDER, "the key of the provider `anthropic`"},
    {"ANTHROPIC_BASE_URL", PROVIDER, "another address of the provider `anthropic`"},
    {"GEMINI_API_KEY", PROVIDER, "the key of the provider `google`"},
    {"GOOGLE_API_KEY", PROVIDER,
     "the key of the provider `google` when `GEMINI_API_KEY` is not set"},
    {"GEMINI_BASE_URL", PROVIDER, "another address of the provider `google`"},
    {"OPENROUTER_API_KEY", PROVIDER, "the key of the provider `openrouter`"},
    {"VLLM_API_KEY", PROVIDER, "the key of the provider `vllm`, if its server wants one"},

    {"https_proxy", NETWORK, "the proxy for https, as libcurl reads it"},
    {"http_proxy", NETWORK, "the proxy for http"},
    {"all_proxy", NETWORK, "the proxy for both when the variable of the scheme is not set"},
    {"no_proxy", NETWORK, "hosts that are reached without a proxy"},
    {"CURL_CA_BUNDLE", NETWORK, "a file of certificates to accept instead of the system's"},
    {"SSL_CERT_FILE", NETWORK, "a file of certificates when `CURL_CA_BUNDLE` is not set"},
    {"SSL_CERT_DIR", NETWORK, "a folder of certificates when `CURL_CA_BUNDLE` is not set"},
    {"PGPASSFILE", NETWORK, "passwords for a shared history, as libpq reads them"},

    {"IKIGAI_TOOL_CALL_ID", TOOL, "id of this call"},
    {"IKIGAI_SESSION_ID", TOOL, "id of the session"},
    {"IKIGAI_MAX_OUTPUT", TOOL,
     "the most bytes of text (before JSON escaping) the user wants; unset: no limit"},
    {"IKIGAI_PROGRESS_FD", TOOL, "descriptor for progress lines"},
    {"IKIGAI_HOST_FD", TOOL, "the socket of the host channel, if the tool declares `host`"},
    {"IKIGAI_BIN", TOOL, "the path of ikigai, for `ikigai host`, if the tool declares `host`"},
    {"IKIGAI_KEEPER_TAG", TOOL, "identifies processes that a call leaves behind; do not unset it"},
};

const ik_environment_t *ik_environment_table(size_t *count)
{
    *count = IK_LENGTH(table);
    return table;
}
