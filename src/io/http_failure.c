#include "io/http_failure.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"

static bool is_about_tls(CURLcode code)
{
    switch ((int)code) { /* an int, because a newer libcurl may return codes not in our header */
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_ENGINE_SETFAILED:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ENGINE_INITFAILED:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CRL_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_INVALIDCERTSTATUS:
        return true;
    default:
        return false;
    }
}

ik_http_outcome_t ik_http_failure_outcome(CURLcode code, bool sent)
{
    if (code == CURLE_OK) {
        return IK_HTTP_DONE;
    }
    if (code == CURLE_URL_MALFORMAT || (code == CURLE_UNSUPPORTED_PROTOCOL && !sent)) {
        return IK_HTTP_BAD_REQUEST;
    }
    /* The timeout for connecting is the only one we let libcurl enforce. */
    if (code == CURLE_OPERATION_TIMEDOUT) {
        return IK_HTTP_CONNECT_TIMEOUT;
    }
    if (is_about_tls(code)) {
        return IK_HTTP_TLS;
    }
    /* "sent" does not rule this out: a reused connection may break, and a new one may fail. */
    if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
        code == CURLE_COULDNT_RESOLVE_PROXY || !sent) {
        return IK_HTTP_NO_CONNECTION;
    }
    return IK_HTTP_BROKEN;
}

/* libcurl has one code for all that goes wrong in a handshake; only its words tell. Those of
 * OpenSSL come first, the last are of GnuTLS. */
bool ik_http_failure_is_cut(const ik_http_failure_t *failure)
{
    static const char *const words[] = {"SSL_ERROR_SYSCALL",       "unexpected eof",
                                        "Connection reset",        "Broken pipe",
                                        "non-properly terminated", "pull function"};
    bool cut = false;
    for (size_t i = 0; failure->outcome == IK_HTTP_TLS && i < IK_LENGTH(words); i++) {
        cut = cut || strstr(failure->detail, words[i]) != NULL;
    }
    return cut;
}

/* "host:port", as libcurl parses the URL. */
static char *place_of(const void *ctx, const ik_curl_library_t *curl, const char *url)
{
    CURLU *parsed = curl->url();
    char *host = NULL;
    char *port = NULL;
    if (parsed != NULL && curl->url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK) {
        curl->url_get(parsed, CURLUPART_HOST, &host, 0);
        curl->url_get(parsed, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
    }
    char *place = host == NULL || port == NULL ? ik_strdup(ctx, "the server")
                                               : ik_sprintf(ctx, "%s:%s", host, port);
    curl->free(host);
    curl->free(port);
    curl->url_cleanup(parsed);
    return place;
}

/* Removes what must not reach the terminal: libcurl quotes bytes from the server and, when the URL
 * of a proxy is wrong, that URL with its password. */
static char *clean(const void *ctx, const char *detail)
{
    bool has_url = strchr(detail, '@') != NULL;
    char *text = ik_strdup(ctx, has_url ? "a URL is wrong, perhaps that of a proxy" : detail);
    size_t len = strlen(text);
    while (len > 0 && text[len - 1] == ' ') {
        text[--len] = '\0';
    }
    for (char *at = text; *at != '\0'; at++) {
        if (*at < ' ' || *at > '~') {
            *at = '?';
        }
    }
    return text;
}

/* libcurl says "Failed to connect to HOST port PORT after 0 ms: Couldn't connect to server"; errno
 * gives the cause and is shown instead, unless HOST is a proxy, which the message must name. */
static const char *connect_cause(const void *ctx, const ik_http_failure_t *failure,
                                 const char *place)
{
    const char *host = place[0] == '[' ? place + 1 : place;
    char *named = ik_sprintf(ctx, "%.*s port", (int)strcspn(host, place == host ? ":" : "]"), host);
    bool direct = strstr(failure->detail, named) != NULL;
    return direct && failure->connect_errno != 0 ? strerror(failure->connect_errno)
                                                 : clean(ctx, failure->detail);
}

char *ik_http_failure_describe(const void *ctx, const ik_curl_library_t *curl,
                               const ik_http_failure_t *failure)
{
    void *scratch = talloc_new(NULL);
    const char *place = curl == NULL ? "the server" : place_of(scratch, curl, failure->url);
    const char *detail = clean(scratch, failure->detail);
    double seconds = (double)failure->limit_ms / 1000;
    char *message = NULL;
    switch (failure->outcome) {
    case IK_HTTP_DONE:
        break;
    case IK_HTTP_UNAVAILABLE:
        message = ik_sprintf(ctx, "libcurl cannot be loaded: %s", detail);
        break;
    case IK_HTTP_BAD_REQUEST:
        message = ik_sprintf(ctx, "the URL cannot be used: %s", detail);
        break;
    case IK_HTTP_NO_CONNECTION:
        message = ik_sprintf(ctx, "cannot connect to %s: %s", place,
                             connect_cause(scratch, failure, place));
        break;
    case IK_HTTP_CONNECT_TIMEOUT:
        message = ik_sprintf(ctx, "cannot connect to %s: no answer within %g s", place, seconds);
        break;
    case IK_HTTP_TLS:
        message = ik_sprintf(ctx, "no secure connection to %s: %s", place, detail);
        break;
    case IK_HTTP_BROKEN:
        message = ik_sprintf(ctx, "the connection to %s broke: %s", place, detail);
        break;
    case IK_HTTP_SILENT:
        message = ik_sprintf(ctx, "no data from %s for %g s", place, seconds);
        break;
    case IK_HTTP_REFUSED:
        message = ik_sprintf(ctx, "the response of %s was refused", place);
        break;
    }
    talloc_free(scratch);
    return message;
}
