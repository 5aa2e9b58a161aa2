#include <string.h>

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

int main(void)
{
    Suite *suite = suite_create("url_host");
    TCase *tests = tcase_create("url_host");
    tcase_add_loop_test(tests, hosts, 0, (int)(sizeof(cases) / sizeof(cases[0])));
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
