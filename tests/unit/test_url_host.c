#include <string.h>

#include "base/alloc.h"
#include "base/url_host.h"
#include "suite.h"

static const struct {
    const char *url;
    const char *host;
    const char *after; /* port and path */
} cases[] = {
    {"https://api.openai.com/v1", "api.openai.com", "/v1"},
    {"https://API.OpenAI.com:443/v1", "api.openai.com", ":443/v1"},
    {"https://api.openai.com", "api.openai.com", ""},
    {"https://api.openai.com.evil.example/v1", "api.openai.com.evil.example", "/v1"},
    {"https://me:pw@api.openai.com/v1", "api.openai.com", "/v1"},
    {"https://me:p@ss@host:8080", "host", ":8080"},
    {"https://api.openai.com@evil.example/v1", "evil.example", "/v1"},
    {"https://api.openai.com:x@evil.example:1/v1", "evil.example", ":1/v1"},
    {"https://proxy.example/@api.openai.com", "proxy.example", "/@api.openai.com"},
    {"https://proxy.example?x=a@b", "proxy.example", "?x=a@b"},
    {"https://proxy.example#a@b", "proxy.example", "#a@b"},
    {"http://[::1]:11434/v1", "[::1]", ":11434/v1"},
    {"http://[::1]", "[::1]", ""},
    {"http://[::1", "[", "::1"},
    {"localhost:8080", "localhost", ":8080"},
    {"box", "box", ""},
    {"https://", "", ""},
    {"https://:80", "", ":80"},
    {"", "", ""},
};

START_TEST(hosts)
{
    ik_url_host_t host = ik_url_host_find(cases[_i].url);
    ck_assert_msg(ik_url_host_is(host, cases[_i].host), "%s: %.*s", cases[_i].url, (int)host.len,
                  host.text);
    ck_assert_str_eq(host.text + host.len, cases[_i].after);
    ck_assert_str_eq(host.end, cases[_i].after + strcspn(cases[_i].after, "/?#"));
    ck_assert(!ik_url_host_is(host, "x.example"));
}
END_TEST

static const struct {
    const char *url;
    const char *location;
    const char *leads;
} redirects[] = {
    {"http://h:1/mcp", "http://h:1/mcp/", "http://h:1/mcp/"},
    {"http://h:1/mcp", "HTTP://H:1/mcp/?a=b#c", "HTTP://H:1/mcp/?a=b"},
    {"http://h:1/mcp", "/mcp/#top", "http://h:1/mcp/"},
    {"http://h:1", "/mcp", "http://h:1/mcp"},
    {"http://h:1/mcp?x", "http://h:1?y", "http://h:1?y"},
    {"http://u:p@h/mcp", "/mcp/", "http://u:p@h/mcp/"},
    {"http://h:1/mcp", NULL, NULL},
    {"http://h:1/mcp", "", NULL},
    {"http://h:1/mcp", "mcp/", NULL},
    {"http://h:1/mcp", "http://h:1", NULL},
    {"http://h:1/mcp", "http://h:11/mcp", NULL},
    {"http://h:1/mcp", "http://h:1@evil.example/mcp", NULL},
    {"http://h:1/mcp", "//evil.example/mcp", NULL},
    {"http://h:1/mcp", "https://h:1/mcp", NULL},
    {"http://h/mcp", "http://h.evil.example/mcp", NULL},
};

START_TEST(same_origin)
{
    char *leads = ik_url_host_redirect(NULL, redirects[_i].url, redirects[_i].location);
    if (redirects[_i].leads == NULL) {
        ck_assert_ptr_null(leads);
    } else {
        ck_assert_str_eq(leads, redirects[_i].leads);
    }
    talloc_free(leads);
}
END_TEST

static const struct {
    const char *url;
    const char *path;
    const char *whole;
} longer[] = {
    {"http://h:1", "/v1/x", "http://h:1/v1/x"},
    {"http://h/v1", "/x?a=b", "http://h/v1/x?a=b"},
    {"http://h/v1?k=v", "/x", "http://h/v1/x?k=v"},
    {"http://h/v1/?k=v&l", "/x", "http://h/v1/x?k=v&l"},
    {"http://h?k=v", "/x?a=b", "http://h/x?a=b&k=v"},
    {"http://h/v1?", "/x", "http://h/v1/x"},
    {"http://h/v1#top", "/x", "http://h/v1/x"},
    {"http://h/v1?k=v#top", "/x", "http://h/v1/x?k=v"},
    {"http://h/v1#top?k=v", "/x", "http://h/v1/x"},
};

START_TEST(a_path_stands_before_the_query)
{
    char *whole = ik_url_host_append(NULL, longer[_i].url, longer[_i].path);
    ck_assert_str_eq(whole, longer[_i].whole);
    talloc_free(whole);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("url_host");
    TCase *tests = tcase_create("url_host");
    tcase_add_loop_test(tests, hosts, 0, (int)(sizeof(cases) / sizeof(cases[0])));
    tcase_add_loop_test(tests, same_origin, 0, (int)(sizeof(redirects) / sizeof(redirects[0])));
    tcase_add_loop_test(tests, a_path_stands_before_the_query, 0,
                        (int)(sizeof(longer) / sizeof(longer[0])));
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
