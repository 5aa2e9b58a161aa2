/*
 * The smallest program that can ask a model: libcurl, linked dynamically, one POST after the other
 * on one connection, with the answers discarded.
 *
 *   curl_yardstick URL ROUNDS
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

static size_t on_body(char *bytes, size_t size, size_t count, void *data)
{
    (void)bytes;
    (void)data;
    return size * count;
}

int main(int argc, char **argv)
{
    static const char body[] = "{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"user\","
                               "\"content\":\"hi\"}]}";
    if (argc != 3) {
        fputs("usage: curl_yardstick URL ROUNDS\n", stderr);
        return 2;
    }
    CURL *easy = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "content-type: application/json");
    curl_easy_setopt(easy, CURLOPT_URL, argv[1]);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    for (int i = atoi(argv[2]); i > 0; i--) {
        CURLcode code = curl_easy_perform(easy);
        if (code != CURLE_OK) {
            fprintf(stderr, "curl_yardstick: %s\n", curl_easy_strerror(code));
            return 1;
        }
    }
    curl_slist_free_all(headers);
    curl_easy_cleanup(easy);
    return 0;
}
