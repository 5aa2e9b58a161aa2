#include "base/key_host.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/config_provider.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_file.h"
#include "base/ownership.h"
#include "base/url_host.h"

enum { FILE_MAX = 1024 * 1024 };

/* Scheme, host and port of a URL: "https://gateway.example", "http://box:8080", on ctx. */
static char *origin_of(const void *ctx, const char *url)
{
    ik_url_host_t host = ik_url_host_find(url);
    char *origin = ik_sprintf(ctx, "%.*s://%.*s", (int)strcspn(url, ":"), url,
                              (int)(host.end - host.text), host.text);
    for (char *c = origin; *c != '\0'; c++) {
        *c = (char)tolower((unsigned char)*c);
    }
    const char *usual = strncmp(origin, "https:", 6) == 0 ? ":443" : ":80";
    size_t whole = strlen(origin);
    if (whole > strlen(usual) && strcmp(origin + whole - strlen(usual), usual) == 0) {
        origin[whole - strlen(usual)] = '\0';
    }
    return origin;
}

/* What only looks like an address, 127.0.0.256, is a name for the resolver. */
static bool is_loopback(const char *origin)
{
    ik_url_host_t host = ik_url_host_find(origin);
    char text[INET_ADDRSTRLEN];
    struct in_addr address;
    if (ik_url_host_is(host, "localhost") || ik_url_host_is(host, "[::1]")) {
        return true;
    }
    if (host.len >= sizeof(text) || strspn(host.text, "0123456789.") != host.len) {
        return false;
    }
    memcpy(text, host.text, host.len);
    text[host.len] = '\0';
    return strncmp(text, "127.", 4) == 0 && inet_aton(text, &address) != 0;
}

/* Whether the rules let the key go there without a question. */
static bool is_free(const void *ctx, const ik_config_provider_t *provider, const char *origin)
{
    const ik_config_key_t *key = ik_config_find_key(IK_CONFIG_PROVIDER, "base_url");
    const char *own = ik_config_provider_own_url(provider->name);
    if (is_loopback(origin) || own == NULL || strcmp(origin_of(ctx, own), origin) == 0) {
        return true;
    }
    return ik_config_key_source(key, provider) == IK_CONFIG_ENVIRONMENT && !provider->key_from_file;
}

/* The user's file, a new reference; NULL: there is none, it is not JSON, or others can change it.
 */
static json_t *load_permissions(const void *ctx, const ik_paths_t *paths)
{
    char *text;
    size_t len;
    json_error_t error;
    res_t owned = ik_ownership_check_file(paths->permissions);
    res_t read =
        is_ok(&owned) ? ik_file_read(ctx, paths->permissions, FILE_MAX, &text, &len) : owned;
    return is_ok(&read) ? ik_json_parse(text, len, &error) : NULL;
}

static bool is_confirmed(const void *ctx, const ik_paths_t *paths, const char *provider,
                         const char *origin)
{
    json_t *root = load_permissions(ctx, paths);
    json_t *list = json_object_get(json_object_get(root, "hosts"), provider);
    bool found = false;
    size_t i;
    json_t *value;
    json_array_foreach(list, i, value)
    {
        const char *kept = json_string_value(value);
        found = found || (kept != NULL && strstr(kept, "://") != NULL &&
                          strcmp(origin_of(ctx, kept), origin) == 0);
    }
    json_decref(root);
    return found;
}

char *ik_key_host_to_confirm(const void *ctx, const ik_paths_t *paths,
                             const ik_config_provider_t *provider)
{
    if (provider->base_url == NULL) {
        return NULL;
    }
    char *origin = origin_of(ctx, provider->base_url);
    void *scratch = talloc_new(NULL);
    bool needed = !is_free(scratch, provider, origin) &&
                  !is_confirmed(scratch, paths, provider->name, origin);
    talloc_free(scratch);
    return needed ? origin : NULL;
}

res_t ik_key_host_confirm(const ik_paths_t *paths, const char *provider, const char *origin)
{
    void *scratch = talloc_new(NULL);
    json_t *root = load_permissions(scratch, paths);
    json_t *before = json_object_get(json_object_get(root, "hosts"), provider);
    json_t *list = json_is_array(before) ? json_copy(before) : json_array();
    json_array_append_new(list, json_string(origin));
    char *value = json_dumps(list, JSON_COMPACT);
    res_t kept =
        ik_json_file_set(paths->permissions, (const char *[]){"hosts", provider, NULL}, value);
    free(value);
    json_decref(list);
    json_decref(root);
    talloc_free(scratch);
    return kept;
}
