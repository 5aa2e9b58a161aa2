#include "setup/setup_address.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"

typedef struct {
    const char *text;
    size_t len;
} part_t;

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

/* The host of a URL or of an address without a scheme. *after is what follows it: a port, a path or
 * nothing. */
static part_t find_host(const char *url, const char **after)
{
    const char *scheme = strstr(url, "://");
    const char *start = scheme == NULL ? url : scheme + 3;
    size_t len = strcspn(start, "/?#");
    const char *at = memrchr(start, '@', len);
    if (at != NULL) {
        len -= (size_t)(at + 1 - start);
        start = at + 1;
    }
    size_t host = *start == '[' ? strcspn(start, "]") + 1 : strcspn(start, ":/?#");
    host = host > len ? len : host;
    *after = start + host;
    return (part_t){start, host};
}

static bool is_host(part_t host, const char *name)
{
    return host.len == strlen(name) && strncasecmp(host.text, name, host.len) == 0;
}

static bool is_number(part_t host)
{
    return host.len > 0 && (host.text[0] == '[' || strspn(host.text, "0123456789.") >= host.len);
}

char *ik_setup_address_complete(const void *ctx, const char *typed, char **bare)
{
    const char *after;
    char *text = ik_setup_address_trim(ctx, typed);
    part_t host = find_host(text, &after);
    *bare = NULL;
    for (size_t len = strlen(text); host.len > 0 && text[len - 1] == '/'; len--) {
        text[len - 1] = '\0';
    }
    if (host.len == 0 || strpbrk(text, " \t\r\n") != NULL) {
        return NULL;
    }
    bool plain = is_number(host) || is_host(host, "localhost");
    const char *scheme = strstr(text, "://") != NULL ? "" : plain ? "http://" : "https://";
    char *url = ik_sprintf(ctx, "%s%s", scheme, text);
    if (strpbrk(after, "/?#") != NULL) {
        return url;
    }
    *bare = url;
    return ik_sprintf(ctx, "%s/v1", url);
}

static bool is_local(part_t host)
{
    return is_host(host, "127.0.0.1") || is_host(host, "localhost") || is_host(host, "[::1]");
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
    const char *after;
    part_t host = find_host(url, &after);
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
    const char *after;
    part_t host = find_host(url, &after);
    if (!is_local(host)) {
        return 0;
    }
    long port = *after == ':'                   ? strtol(after + 1, NULL, 10)
                : strncmp(url, "https", 5) == 0 ? 443
                                                : 80;
    return port > 0 && port < 65536 ? (int)port : 0;
}
