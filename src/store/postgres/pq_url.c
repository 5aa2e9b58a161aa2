#include "store/postgres/pq_url.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"

/* A password shorter than this is found in every other word. */
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

/* Cut as libpq cuts it: user and password end at the first "@" unless a "/" comes before it. With
 * another "@" behind that, what follows is the rest of a password that was not written as it must
 * be, and would be taken, and shown to everybody, for the name of a host or of a database. */
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

static res_t check_form(const char *text)
{
    const char *rest = after_scheme(text);
    if (rest == NULL) {
        return ERR(INVALID, "the URL of a shared history begins with postgresql://");
    }
    if (has_stray_at(rest)) {
        return ERR(INVALID, "the URL of the database has an \"@\" where none can be; in a password "
                            "write %%40 for \"@\", %%2F for \"/\" and %%25 for \"%%\"");
    }
    return OK;
}

/* On ctx; NULL when the URL does not say. */
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

static char *format_name(const void *ctx, const ik_pq_url_t *url)
{
    const char *place = url->host != NULL ? url->host : url->hostaddr;
    return place == NULL ? ik_strdup(ctx, "PostgreSQL")
                         : ik_sprintf(ctx, "PostgreSQL at %s", place);
}

res_t ik_pq_url_parse(const void *ctx, const ik_pq_library_t *library, const char *text,
                      ik_pq_url_t **out)
{
    TRY(check_form(text));
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
    url->name = format_name(url, url);
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
