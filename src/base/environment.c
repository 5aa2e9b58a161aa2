#include "base/environment.h"

#include "base/array.h"

#define USER IK_ENVIRONMENT_USER
#define PROVIDER IK_ENVIRONMENT_PROVIDER
#define NETWORK IK_ENVIRONMENT_NETWORK
#define TOOL IK_ENVIRONMENT_TOOL

static const ik_environment_t table[] = {
    {"IKIGAI_HOME", USER, "the folder to use instead of `~/.ikigai`; an absolute path"},
    {"IKIGAI_MODEL", USER, "the model; beats `model` of the configuration"},
    {"IKIGAI_DB", USER, "where sessions are kept; beats `db` of the configuration"},
    {"NO_COLOR", USER,
     "set to anything: no colours on the terminal; in a conversation bold and dim stay"},
    {"TERM", USER, "`dumb`: lines only, and no escape sequence at all"},
    {"VISUAL", USER, "the editor for a draft (Ctrl-G)"},
    {"EDITOR", USER, "the editor when `VISUAL` is not set; vi otherwise"},
    {"PAGER", USER, "what `ikigai trust` shows files with; less when it is not set"},
    {"TMUX", USER, "set: `/copy` goes through tmux"},
    {"WAYLAND_DISPLAY", USER, "set: `/copy` goes through wl-copy"},
    {"DISPLAY", USER, "set: `/copy` goes through xclip"},
    {"SSH_CONNECTION", USER,
     "set: `/copy` uses neither wl-copy nor xclip but, outside of tmux, the terminal itself "
     "(OSC 52), as it does where nothing else is there"},
    {"HOME", USER, "where `~/.ikigai` is; an absolute path"},
    {"PATH", USER, "where programs are looked for"},

    {"OPENAI_API_KEY", PROVIDER, "the key of the provider `openai`"},
    {"OPENAI_BASE_URL", PROVIDER, "another address of the provider `openai`; ends in `/v1`"},
    {"ANTHROPIC_API_KEY", PROVIDER, "the key of the provider `anthropic`"},
    {"ANTHROPIC_BASE_URL", PROVIDER, "another address of the provider `anthropic`"},
    {"GEMINI_API_KEY", PROVIDER, "the key of the provider `google`"},
    {"GOOGLE_API_KEY", PROVIDER, "the same, when `GEMINI_API_KEY` is not set"},
    {"GEMINI_BASE_URL", PROVIDER, "another address of the provider `google`"},

    {"https_proxy", NETWORK, "the proxy for https, as libcurl reads it"},
    {"http_proxy", NETWORK, "the proxy for http"},
    {"all_proxy", NETWORK, "the proxy for both, where the others say nothing"},
    {"no_proxy", NETWORK, "hosts that are reached without a proxy"},
    {"CURL_CA_BUNDLE", NETWORK, "a file of certificates to accept instead of the system's"},
    {"SSL_CERT_FILE", NETWORK, "the same, when `CURL_CA_BUNDLE` is not set"},
    {"SSL_CERT_DIR", NETWORK, "a folder of certificates, when `CURL_CA_BUNDLE` is not set"},
    {"PGPASSFILE", NETWORK, "passwords for a shared history, as libpq reads them"},

    {"IKIGAI_TOOL_CALL_ID", TOOL, "id of this call"},
    {"IKIGAI_SESSION_ID", TOOL, "id of the session"},
    {"IKIGAI_MAX_OUTPUT", TOOL,
     "how many bytes of text (before JSON escaping) the user wants at most; unset: no limit"},
    {"IKIGAI_PROGRESS_FD", TOOL, "descriptor for progress lines"},
    {"IKIGAI_KEEPER_TAG", TOOL, "by which processes that a call leaves behind are found; keep it"},
};

const ik_environment_t *ik_environment_table(size_t *count)
{
    *count = IK_LENGTH(table);
    return table;
}
