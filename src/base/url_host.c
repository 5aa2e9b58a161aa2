#include "base/url_host.h"

#include <string.h>
#include <strings.h>

#include "base/alloc.h"

ik_url_host_t ik_url_host_find(const char *url)
{
    const char *scheme = strstr(url, "://");
    const char *authority = scheme == NULL ? url : scheme + 3;
    const char *end = authority + strcspn(authority, "/?#");
    const char *at = memrchr(authority, '@', (size_t)(end - authority));
    const char *host = at == NULL ? authority : at + 1;
    const char *bracket = *host == '[' ? memchr(host, ']', (size_t)(end - host)) : NULL;
    const char *from = bracket == NULL ? host : bracket;
    const char *colon = memchr(from, ':', (size_t)(end - from));
    return (ik_url_host_t){host, (size_t)((colon == NULL ? end : colon) - host), end};
}

bool ik_url_host_is(ik_url_host_t host, const char *name)
{
    return host.len == strlen(name) && strncasecmp(host.text, name, host.len) == 0;
}

char *ik_url_host_append(const void *ctx, const char *url, const char *path)
{
    size_t len = strcspn(url, "?#");
    const char *query = url[len] == '?' ? url + len + 1 : "";
    size_t query_len = strcspn(query, "#");
    const char *separator = query_len == 0 ? "" : strchr(path, '?') == NULL ? "?" : "&";
    while (len > 0 && url[len - 1] == '/') {
        len--;
    }
    return ik_sprintf(ctx, "%.*s%s%s%.*s", (int)len, url, path, separator, (int)query_len, query);
}

char *ik_url_host_redirect(const void *ctx, const char *url, const char *location)
{
    size_t origin = (size_t)(ik_url_host_find(url).end - url);
    if (location == NULL) {
        return NULL;
    }
    size_t len = strcspn(location, "#");
    if (location[0] == '/' && location[1] != '/') {
        return ik_sprintf(ctx, "%.*s%.*s", (int)origin, url, (int)len, location);
    }
    bool same = len > origin && strncasecmp(location, url, origin) == 0 &&
                (location[origin] == '/' || location[origin] == '?');
    return same ? ik_strndup(ctx, location, len) : NULL;
}
