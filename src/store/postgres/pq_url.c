#include "store/postgres/pq_url.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"

/* Shorter passwords are not masked: they occur in ordinary words. */
enum { PASSWORD_MIN = 4 };

static const char *after_scheme(const char *text)
{
    static const char *const schemes[] = {"postgresql://", "postgres://"};
    for (size_t i = 0; i < IK_LENGTH(schemes); i++) {
        if (strncmp(text, schemes[i], strlen(schemes[i])) == 0) {
            return text + strlen(schemes[i]);
        }
    }
    return NULL;
}

bool ik_pq_url_is_one(const char *text)
{
    return after_scheme(text) != NULL;
}

/* As in libpq, user and password end at the first "@" unless a "/" comes before it. Another "@"
 * after that belongs to a password that was not percent-encoded; its rest would be taken for a host
 * or database name, and printed. */
static bool has_stray_at(const char *rest)
{
    const char *end = rest + strcspn(rest, "@/");
    const char *place = *end == '@' ? end + 1 : rest;
    return memchr(place, '@', strcspn(place, "?")) != NULL;
}

res_t ik_pq_url_refuse(const char *problem)
{
    int len = (int)strcspn(problem, "\"\n");
    while (len > 0 && strchr(": (", problem[len - 1]) != NULL) {
        len--;
    }
    return ERR(INVALID, "the URL of the database is wrong: %.*s", len, problem);
}

/* On ctx; NULL when the URL does not have it. */
static char *option(const void *ctx, const ik_pq_option_t *options, const char *keyword)
{
    for (; options->keyword != NULL; options++) {
        if (strcmp(options->keyword, keyword) == 0 && options->val != NULL &&
            options->val[0] != '\0') {
            return ik_strdup(ctx, options->val);
        }
    }
    return NULL;
}

res_t ik_pq_url_parse(const void *ctx, const ik_pq_library_t *library, const char *text,
                      ik_pq_url_t **out)
{
    const char *rest = after_scheme(text);
    if (rest == NULL) {
        return ERR(INVALID, "the URL of a shared history must begin with postgresql://");
    }
    if (has_stray_at(rest)) {
        return ERR(INVALID, "the URL of the database has an \"@\" where none can be; in a password "
                            "write %%40 for \"@\", %%2F for \"/\" and %%25 for \"%%\"");
    }
    char *problem = NULL;
    ik_pq_option_t *options = library->conninfoParse(text, &problem);
    if (options == NULL) {
        res_t refused = ik_pq_url_refuse(problem == NULL ? "it cannot be read" : problem);
        library->freemem(problem);
        return refused;
    }
    ik_pq_url_t *url = ik_new(ctx, ik_pq_url_t);
    url->text = ik_strdup(url, text);
    url->password = option(url, options, "password");
    url->host = option(url, options, "host");
    url->port = option(url, options, "port");
    url->hostaddr = option(url, options, "hostaddr");
    const char *host = url->host != NULL ? url->host : url->hostaddr;
    url->name = host == NULL ? "PostgreSQL" : ik_sprintf(url, "PostgreSQL at %s", host);
    library->conninfoFree(options);
    *out = url;
    return OK;
}

res_t ik_pq_url_mask(const ik_pq_url_t *url, res_t result)
{
    size_t len = url->password == NULL ? 0 : strlen(url->password);
    if (len < PASSWORD_MIN) {
        return result;
    }
    for (char *at = result.message; (at = strstr(at, url->password)) != NULL; at += len) {
        memset(at, '*', len);
    }
    return result;
}
