#include "setup/setup_address.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/url_host.h"

char *ik_setup_address_trim(const void *ctx, const char *text)
{
    static const char blanks[] = " \t\r\n";
    text += strspn(text, blanks);
    size_t len = strlen(text);
    while (len > 0 && strchr(blanks, text[len - 1]) != NULL) {
        len--;
    }
    return ik_strndup(ctx, text, len);
}

static bool is_number(ik_url_host_t host)
{
    return host.len > 0 && (host.text[0] == '[' || strspn(host.text, "0123456789.") >= host.len);
}

char *ik_setup_address_complete(const void *ctx, const char *typed, char **bare)
{
    char *text = ik_setup_address_trim(ctx, typed);
    ik_url_host_t host = ik_url_host_find(text);
    *bare = NULL;
    for (size_t len = strlen(text); host.len > 0 && text[len - 1] == '/'; len--) {
        text[len - 1] = '\0';
    }
    if (host.len == 0 || strpbrk(text, " \t\r\n") != NULL) {
        return NULL;
    }
    bool plain = is_number(host) || ik_url_host_is(host, "localhost");
    const char *scheme = strstr(text, "://") != NULL ? "" : plain ? "http://" : "https://";
    char *url = ik_sprintf(ctx, "%s%s", scheme, text);
    if (*host.end != '\0') {
        return url;
    }
    *bare = url;
    return ik_sprintf(ctx, "%s/v1", url);
}

static bool is_local(ik_url_host_t host)
{
    return ik_url_host_is(host, "127.0.0.1") || ik_url_host_is(host, "localhost") ||
           ik_url_host_is(host, "[::1]");
}

/* A URL is stored without a slash at its end. */
static bool is_same_url(const char *stored, const char *url)
{
    size_t len = strlen(url);
    while (len > 0 && url[len - 1] == '/') {
        len--;
    }
    return stored != NULL && strlen(stored) == len && strncmp(stored, url, len) == 0;
}

char *ik_setup_address_name(const void *ctx, const ik_config_t *config, const char *url)
{
    enum { HOST_MAX = 48 }; /* of the 64 characters that a name may have */
    ik_url_host_t host = ik_url_host_find(url);
    for (size_t i = 0; i < config->provider_count; i++) {
        if (is_same_url(config->providers[i]->base_url, url) &&
            config->providers[i]->type == IK_CONFIG_TYPE_OPENAI) {
            return ik_strdup(ctx, config->providers[i]->name);
        }
    }
    char *stem = is_local(host)
                     ? ik_strdup(ctx, "local")
                     : ik_strndup(ctx, host.text, host.len > HOST_MAX ? HOST_MAX : host.len);
    for (char *c = stem; *c != '\0'; c++) {
        bool upper = *c >= 'A' && *c <= 'Z';
        bool kept = (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9');
        *c = upper ? (char)(*c - 'A' + 'a') : kept ? *c : '-';
    }
    char *name = stem;
    for (int number = 2; ik_config_provider(config, name) != NULL; number++) {
        name = ik_sprintf(ctx, "%s-%d", stem, number);
    }
    return name;
}

int ik_setup_address_local_port(const char *url)
{
    ik_url_host_t host = ik_url_host_find(url);
    if (!is_local(host)) {
        return 0;
    }
    const char *after = host.text + host.len;
    long port = *after == ':'                   ? strtol(after + 1, NULL, 10)
                : strncmp(url, "https", 5) == 0 ? 443
                                                : 80;
    return port > 0 && port < 65536 ? (int)port : 0;
}
