#include <check.h>
#include <string.h>

#include "base/utf8.h"
#include "provider/provider_error.h"
#include "suite.h"

enum { NOW = 1794729600 }; /* 2026-11-15T08:00:00Z */

/* "name: value\nname: value" */
static const char *find_header(void *data, const char *name)
{
    static char values[16][256]; /* the caller may hold two at a time */
    static unsigned next;
    size_t len = strlen(name);
    for (const char *line = data; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, len) == 0 && line[len] == ':') {
            char *value = values[next++ % 16];
            snprintf(value, sizeof(values[0]), "%.*s", (int)strcspn(line + len + 2, "\n"),
                     line + len + 2);
            return value;
        }
    }
    return NULL;
}

static ik_provider_error_t parse(int status, const char *headers, const char *body)
{
    ik_provider_error_t error;
    ik_provider_error_parse(&error, status, body, strlen(body), find_header, (void *)headers, NOW);
    return error;
}

static ik_provider_error_t parse_event(const char *json)
{
    ik_provider_error_t error;
    ik_json_span_t value;
    ck_assert_msg(ik_json_scan(json, strlen(json), &value, NULL), "%s", json);
    ik_provider_error_from_event(&error, value);
    return error;
}

/* --- messages: bodies of all vendors ----------------------------------------------------- */

typedef struct {
    int status;
    const char *body;
    const char *code;
    const char *message;
} body_case_t;

static const body_case_t bodies[] = {
    /* OpenAI: the code, or the type when there is no code */
    {401,
     "{\"error\":{\"message\":\"Incorrect key.\",\"type\":\"invalid_request_error\",\"param\":null,"
     "\"code\":\"invalid_api_key\"}}",
     "invalid_api_key", "Incorrect key."},
    {400, "{\"error\":{\"message\":\"Bad.\",\"type\":\"invalid_request_error\",\"code\":null}}",
     "invalid_request_error", "Bad."},
    /* Anthropic, with and without details */
    {529,
     "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"},"
     "\"request_id\":\"req_1\"}",
     "overloaded_error", "Overloaded"},
    {429,
     "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"Limit.\","
     "\"details\":{\"error_code\":\"enforced_spend_limit_reached\"}}}",
     "enforced_spend_limit_reached", "Limit."},
    /* Gemini, plain and in an array */
    {503,
     "{\"error\":{\"code\":503,\"message\":\"Busy.\",\"status\":\"UNAVAILABLE\",\"details\":[]}}",
     "UNAVAILABLE", "Busy."},
    {503, "[{\"error\":{\"code\":503,\"message\":\"Busy.\",\"status\":\"UNAVAILABLE\"}}]",
     "UNAVAILABLE", "Busy."},
    /* Mistral, the message a string or an object */
    {400, "{\"object\":\"error\",\"message\":\"No.\",\"type\":\"invalid\",\"code\":null}",
     "invalid", "No."},
    {422,
     "{\"object\":\"error\",\"message\":{\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":["
     "\"body\","
     "\"metadata\"],\"msg\":\"Extra inputs are not permitted\",\"input\":{}}]},"
     "\"type\":\"invalid_request_error\"}",
     "invalid_request_error", "metadata: Extra inputs are not permitted"},
    {400, "{\"object\":\"error\",\"message\":{\"message\":\"Deeper.\"}}", "", "Deeper."},
    /* xAI */
    {400, "{\"code\":\"Some words\",\"error\":\"text\"}", "Some words", "text"},
    /* vLLM */
    {400, "{\"object\":\"error\",\"message\":\"m\",\"type\":\"BadRequestError\",\"code\":400}",
     "BadRequestError", "m"},
    /* OpenRouter: a number as the code, and the message of the server behind it */
    {502, "{\"error\":{\"code\":502,\"message\":\"Upstream closed\"}}", "502", "Upstream closed"},
    {400,
     "{\"error\":{\"code\":400,\"message\":\"Provider returned error\",\"metadata\":{\"raw\":"
     "\"no such thing\",\"provider_name\":\"X\"}}}",
     "400", "Provider returned error: no such thing"},
    /* FastAPI */
    {404, "{\"detail\":\"Not Found\"}", "", "Not Found"},
    {422, "{\"detail\":[{\"type\":\"missing\",\"loc\":[\"body\",\"model\"],\"msg\":\"Required\"}]}",
     "missing", "model: Required"},
    /* strings, and JSON without a message */
    {500, "\"it broke\"", "", "it broke"},
    {500, "{\"error\":\"it broke\"}", "", "it broke"},
    {400, "{\n \"a\": 1\n}", "", "HTTP 400 Bad Request: { \"a\": 1 }"},
    {400, "{\"error\":{\"message\":\"\",\"code\":\"x\"}}", "x",
     "HTTP 400 Bad Request: {\"error\":{\"message\":\"\",\"code\":\"x\"}}"},
    {400, "{\"message\":[[[[[[[\"too deep\"]]]]]]]}", "",
     "HTTP 400 Bad Request: {\"message\":[[[[[[[\"too deep\"]]]]]]]}"},
    /* pages and texts of proxies */
    {502,
     "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><h1>nginx</h1></body></html>",
     "", "HTTP 502 Bad Gateway: 502 Bad Gateway"},
    {503, "<html><body>\n\n<p class=\"a\">Down for <b>work</b></p></body></html>", "",
     "HTTP 503 Service Unavailable: Down for work"},
    {502, "<title>never closed", "", "HTTP 502 Bad Gateway: never closed"},
    {504, "\n  upstream timed out  \nsecond line", "",
     "HTTP 504 Gateway Timeout: upstream timed out"},
    {500, "", "", "HTTP 500 Internal Server Error"},
    {524, "", "", "HTTP 524 server error"},
    {405, "", "", "HTTP 405 Method Not Allowed"},
    {407, "", "", "HTTP 407 Proxy Authentication Required"},
    {418, " \n\t\n", "", "HTTP 418 request refused"},
    {200, "<html><title>Log in</title></html>", "", "HTTP 200 unexpected answer: Log in"},
    /* as the data of an event, and behind a byte order mark */
    {429, "event: error\r\ndata: {\"error\":{\"message\":\"m\",\"code\":\"c\"}}\r\n\r\n", "c", "m"},
    {429, ": hm\n\ndata:{\"error\":{\"message\":\"m\",\"code\":\"c\"}}", "c", "m"},
    {500, "\xef\xbb\xbf{\"error\":\"it broke\"}", "", "it broke"},
    {503, "data: gone\nnow", "", "HTTP 503 Service Unavailable: gone"},
    {503,
     "\xef\xbb\xbf"
     "data",
     "", "HTTP 503 Service Unavailable: data"},
    {503, "Sorry\ndata: {\"error\":\"x\"}", "", "HTTP 503 Service Unavailable: Sorry"},
    /* one line without control characters, whatever was sent */
    {400, "{\"error\":{\"message\":\" a\\u0007b\\r\\n\\tc\\u009bd\\u001b[1m \"}}", "", "ab cd[1m"},
    {400, "{\"error\":{\"message\":\"bad \xff byte\"}}", "", "bad \xef\xbf\xbd byte"},
};

START_TEST(bodies_of_all_vendors)
{
    const body_case_t *expected = &bodies[_i];
    ik_provider_error_t error = parse(expected->status, "", expected->body);
    ck_assert_int_eq(error.status, expected->status);
    ck_assert_str_eq(error.code, expected->code);
    ck_assert_str_eq(error.message, expected->message);
}
END_TEST

START_TEST(long_messages_are_cut_between_characters)
{
    char body[2048] = "{\"error\":{\"code\":\"";
    for (int i = 0; i < 40; i++) {
        strncat(body, "\xc3\xa4", 3);
    }
    strncat(body, "\",\"message\":\"", 20);
    for (int i = 0; i < 300; i++) {
        strncat(body, "\xe2\x82\xac", 4);
    }
    strncat(body, "\"}}", 4);
    ik_provider_error_t error = parse(400, "", body);
    ck_assert(ik_utf8_valid(error.message, strlen(error.message)));
    ck_assert_uint_gt(strlen(error.message), sizeof(error.message) - 8);
    ck_assert_str_eq(error.message + strlen(error.message) - 6, "\xe2\x82\xac\xe2\x80\xa6");
    ck_assert(ik_utf8_valid(error.code, strlen(error.code)));
    ck_assert_uint_gt(strlen(error.code), sizeof(error.code) - 8);
}
END_TEST

START_TEST(messages_that_just_fit)
{
    ik_provider_error_t error;
    char text[600];
    for (size_t len = sizeof(error.message) - 2; len <= sizeof(error.message) + 1; len++) {
        snprintf(text, sizeof(text), "\"%0*d\"", (int)len, 0);
        error = parse(400, "", text);
        bool fits = len < sizeof(error.message);
        ck_assert_int_eq(fits, strstr(error.message, "\xe2\x80\xa6") == NULL);
        ck_assert_uint_eq(strlen(error.message), fits ? len : sizeof(error.message) - 1);
    }
}
END_TEST

START_TEST(a_redirect_says_where_to)
{
    ik_provider_error_t error = parse(308, "location: https://other.example/v1", "");
    ck_assert_int_eq(error.fault, IK_FAULT_INVALID);
    ck_assert(!error.retryable);
    ck_assert_str_eq(error.message,
                     "HTTP 308 redirects are not followed: https://other.example/v1");
}
END_TEST

/* --- classes ----------------------------------------------------------------------------- */

typedef struct {
    int status; /* 0: inside a stream */
    const char *body;
    ik_fault_t fault;
    bool retryable;
} meaning_t;

#define CODE(code) "{\"error\":{\"code\":\"" code "\",\"message\":\"m\"}}"
#define TYPE(type) "{\"type\":\"error\",\"error\":{\"type\":\"" type "\",\"message\":\"m\"}}"
#define STATUS(status) "{\"error\":{\"status\":\"" status "\",\"message\":\"m\"}}"
#define SAYS(message) "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"" message "\"}}"

static const meaning_t meanings[] = {
    /* the status alone */
    {400, "", IK_FAULT_INVALID, false},
    {401, "", IK_FAULT_AUTH, false},
    {402, "", IK_FAULT_QUOTA, false},
    {403, "", IK_FAULT_AUTH, false},
    {404, "", IK_FAULT_NOT_FOUND, false},
    {408, "", IK_FAULT_SERVER, true},
    {409, "", IK_FAULT_SERVER, true},
    {413, "", IK_FAULT_TOO_LARGE, false},
    {418, "", IK_FAULT_INVALID, false},
    {422, "", IK_FAULT_INVALID, false},
    {429, "", IK_FAULT_RATE_LIMIT, true},
    {500, "", IK_FAULT_SERVER, true},
    {502, "<html>", IK_FAULT_SERVER, true},
    {503, "", IK_FAULT_SERVER, true},
    {504, "", IK_FAULT_SERVER, true},
    {524, "", IK_FAULT_SERVER, true},
    {529, "", IK_FAULT_SERVER, true},
    {302, "", IK_FAULT_INVALID, false},
    /* the status takes precedence over a name */
    {404, CODE("rate_limit_exceeded"), IK_FAULT_NOT_FOUND, false},
    {429, CODE("rate_limit_exceeded"), IK_FAULT_RATE_LIMIT, true},
    {413, CODE("rate_limit_exceeded"), IK_FAULT_TOO_LARGE, false},
    {503, TYPE("invalid_request_error"), IK_FAULT_SERVER, true},
    /* except names that are more specific */
    {429, CODE("insufficient_quota"), IK_FAULT_QUOTA, false},
    {429, CODE("credit_balance_exhausted"), IK_FAULT_QUOTA, false},
    {429,
     "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"m\",\"details\":{"
     "\"error_code\":\"enforced_spend_limit_reached\"}}}",
     IK_FAULT_QUOTA, false},
    {400, TYPE("billing_error"), IK_FAULT_QUOTA, false},
    {400, CODE("billing_hard_limit_reached"), IK_FAULT_QUOTA, false},
    {400, CODE("model_context_window_exceeded"), IK_FAULT_OVERFLOW, false},
    {400,
     "{\"error\":{\"code\":400,\"message\":\"m\",\"status\":\"INVALID_ARGUMENT\",\"details\":[{"
     "\"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\",\"reason\":\"API_KEY_INVALID\"}]}}",
     IK_FAULT_AUTH, false},
    {400, CODE("tool_use_failed"), IK_FAULT_SERVER, true},
    {400, CODE("context_length_exceeded"), IK_FAULT_OVERFLOW, false},
    {400, TYPE("exceed_context_size_error"), IK_FAULT_OVERFLOW, false},
    {400, CODE("invalid_encrypted_content"), IK_FAULT_REASONING, false},
    /* a short wait lifts a quota per minute, but not one per day */
    {429,
     "{\"error\":{\"status\":\"RESOURCE_EXHAUSTED\",\"message\":\"m\",\"details\":[{\"violations\":"
     "[{"
     "\"quotaId\":\"RequestsPerMinutePerProject\"},{\"quotaId\":\"RequestsPerDayPerProject\"}]}]}}",
     IK_FAULT_QUOTA, false},
    {429,
     "{\"error\":{\"status\":\"RESOURCE_EXHAUSTED\",\"message\":\"m\",\"details\":[{\"violations\":"
     "[{"
     "\"quotaMetric\":\"x.googleapis.com/requests_per_day\"}]}]}}",
     IK_FAULT_QUOTA, false},
    {429,
     "{\"error\":{\"status\":\"RESOURCE_EXHAUSTED\",\"message\":\"m\",\"details\":[{\"violations\":"
     "[{"
     "\"quotaId\":\"RequestsPerMinutePerProject\"}]}]}}",
     IK_FAULT_RATE_LIMIT, true},
    {429,
     "{\"error\":{\"status\":\"RESOURCE_EXHAUSTED\",\"message\":\"Requests per day used up\"}}",
     IK_FAULT_QUOTA, false},
    {429,
     "{\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"Limit of requests per day\"}}",
     IK_FAULT_RATE_LIMIT, true},
    /* sentences */
    {400, SAYS("API key not valid. Please pass a valid API key."), IK_FAULT_AUTH, false},
    {400, SAYS("Your credit balance is too low to access the API."), IK_FAULT_QUOTA, false},
    {400, SAYS("You have reached your specified API usage limits."), IK_FAULT_QUOTA, false},
    {400, SAYS("prompt is too long: 210000 tokens > 200000 maximum"), IK_FAULT_OVERFLOW, false},
    {400, SAYS("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"),
     IK_FAULT_OVERFLOW, false},
    {400, SAYS("The input token count (1200000) exceeds the maximum number of tokens allowed"),
     IK_FAULT_OVERFLOW, false},
    {500, SAYS("Context size has been exceeded."), IK_FAULT_OVERFLOW, false},
    {400, SAYS("the request exceeds the available context size"), IK_FAULT_OVERFLOW, false},
    {400, SAYS("This model's maximum context length is 8192 tokens."), IK_FAULT_OVERFLOW, false},
    {413, SAYS("It does not fit the context window."), IK_FAULT_OVERFLOW, false},
    {400, SAYS("prompt too long; exceeded max context length by 42 tokens"), IK_FAULT_OVERFLOW,
     false},
    {400, SAYS("The input (5000 tokens) is longer than the model's context length (4096 tokens)."),
     IK_FAULT_OVERFLOW, false},
    {400,
     SAYS("The number of tokens to keep from the initial prompt is greater than the context "
          "length."),
     IK_FAULT_OVERFLOW, false},
    {0,
     SAYS("Trying to keep the first 10136 tokens when context the overflows. However, the model is "
          "loaded with context length of only 7866 tokens, which is not enough."),
     IK_FAULT_OVERFLOW, false},
    {400, SAYS("The decoder prompt (length 5000) is longer than the maximum model length of 4096."),
     IK_FAULT_OVERFLOW, false},
    {400,
     "{\"code\":\"Client specified an invalid argument\",\"error\":\"This model's maximum prompt "
     "length is 131072 but the request contains 537812 tokens.\"}",
     IK_FAULT_OVERFLOW, false},
    {400, SAYS("Invalid request: Your request exceeded model token limit: 8192"), IK_FAULT_OVERFLOW,
     false},
    {400, SAYS("The input length exceeds the maximum allowed input length of 32768 tokens."),
     IK_FAULT_OVERFLOW, false},
    {400, SAYS("Input is too long for requested model."), IK_FAULT_OVERFLOW, false},
    {400, SAYS("context length must be a number"), IK_FAULT_INVALID, false},
    {429, SAYS("The tokens of this minute exceed the context length"), IK_FAULT_RATE_LIMIT, true},
    {422, SAYS("Too many tokens in the prompt"), IK_FAULT_OVERFLOW, false},
    {429, SAYS("Too many tokens, please wait"), IK_FAULT_RATE_LIMIT, true},
    {503, SAYS("No context window left on any worker"), IK_FAULT_SERVER, true},
    {400, SAYS("messages.1.content.0: Invalid `signature` in `thinking` block"), IK_FAULT_REASONING,
     false},
    {400,
     SAYS("`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
          "modified."),
     IK_FAULT_REASONING, false},
    {400, SAYS("messages.3.content.0: what is before this thinking block has changed"),
     IK_FAULT_REASONING, false},
    {400, SAYS("Function call is missing a thought_signature in functionCall parts."),
     IK_FAULT_REASONING, false},
    {400, SAYS("Corrupted thought signature."), IK_FAULT_REASONING, false},
    {400,
     SAYS("messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
          "`tool_use`."),
     IK_FAULT_REASONING, false},
    {400, SAYS("When thinking is disabled, an assistant message cannot contain `thinking`."),
     IK_FAULT_REASONING, false},
    {400, SAYS("Invalid thoughtSignature."), IK_FAULT_REASONING, false},
    {400, SAYS("The encrypted content for item rs_1 could not be verified."), IK_FAULT_REASONING,
     false},
    {400, SAYS("Item 'rs_1' of type 'reasoning' was provided without its required following item."),
     IK_FAULT_REASONING, false},
    {404, SAYS("Item with id 'rs_1' not found. Items are not persisted when `store` is false."),
     IK_FAULT_REASONING, false},
    /* inside a stream there is only the body */
    {0, TYPE("overloaded_error"), IK_FAULT_SERVER, true},
    {0, TYPE("api_error"), IK_FAULT_SERVER, true},
    {0, TYPE("timeout_error"), IK_FAULT_SERVER, true},
    {0, TYPE("conflict_error"), IK_FAULT_SERVER, true},
    {0, TYPE("rate_limit_error"), IK_FAULT_RATE_LIMIT, true},
    {0, TYPE("invalid_request_error"), IK_FAULT_INVALID, false},
    {0, TYPE("authentication_error"), IK_FAULT_AUTH, false},
    {0, TYPE("permission_error"), IK_FAULT_AUTH, false},
    {0, TYPE("not_found_error"), IK_FAULT_NOT_FOUND, false},
    {0, TYPE("request_too_large"), IK_FAULT_TOO_LARGE, false},
    {0, CODE("rate_limit_exceeded"), IK_FAULT_RATE_LIMIT, true},
    {0, CODE("server_error"), IK_FAULT_SERVER, true},
    {0, CODE("invalid_prompt"), IK_FAULT_INVALID, false},
    {0, CODE("model_not_found"), IK_FAULT_NOT_FOUND, false},
    {0, CODE("insufficient_quota"), IK_FAULT_QUOTA, false},
    {0, CODE("context_length_exceeded"), IK_FAULT_OVERFLOW, false},
    {0, STATUS("UNAVAILABLE"), IK_FAULT_SERVER, true},
    {0, STATUS("INTERNAL"), IK_FAULT_SERVER, true},
    {0, STATUS("DEADLINE_EXCEEDED"), IK_FAULT_SERVER, true},
    {0, STATUS("ABORTED"), IK_FAULT_SERVER, true},
    {0, STATUS("RESOURCE_EXHAUSTED"), IK_FAULT_RATE_LIMIT, true},
    {0, STATUS("INVALID_ARGUMENT"), IK_FAULT_INVALID, false},
    {0, STATUS("FAILED_PRECONDITION"), IK_FAULT_INVALID, false},
    {0, STATUS("UNAUTHENTICATED"), IK_FAULT_AUTH, false},
    {0, STATUS("PERMISSION_DENIED"), IK_FAULT_AUTH, false},
    {0, STATUS("NOT_FOUND"), IK_FAULT_NOT_FOUND, false},
    {0, "{\"error\":{\"code\":502,\"message\":\"m\"}}", IK_FAULT_SERVER, true},
    {0, "{\"error\":{\"code\":401,\"message\":\"m\"}}", IK_FAULT_AUTH, false},
    {0, "{\"error\":{\"code\":-32000,\"message\":\"m\"}}", IK_FAULT_SERVER, true},
    {0, "{\"code\":\"never heard of\",\"message\":\"m\"}", IK_FAULT_SERVER, true},
    {0, "\"Context size has been exceeded.\"", IK_FAULT_OVERFLOW, false},
    {0, "{\"type\":\"overloaded_error\",\"message\":\"No context window left\"}", IK_FAULT_SERVER,
     true},
    {0, "null", IK_FAULT_SERVER, true},
    /* a whole body that came with 200 */
    {200, CODE("invalid_api_key"), IK_FAULT_AUTH, false},
    {200, "{\"error\":{\"code\":429,\"message\":\"m\"}}", IK_FAULT_RATE_LIMIT, true},
};

START_TEST(meanings_of_statuses_names_and_sentences)
{
    const meaning_t *expected = &meanings[_i];
    ik_provider_error_t error = expected->status == 0 ? parse_event(expected->body)
                                                      : parse(expected->status, "", expected->body);
    ck_assert_msg(error.fault == expected->fault, "%d %s: %s", expected->status, expected->body,
                  ik_fault_name(error.fault));
    ck_assert_msg(error.retryable == expected->retryable, "%d %s", expected->status,
                  expected->body);
    ck_assert_int_eq(error.status, expected->status);
    ck_assert_uint_eq(error.field, 0);
    ck_assert_str_ne(error.message, "");
}
END_TEST

typedef struct {
    const char *json;
    const char *code;
    const char *message;
} event_case_t;

static const event_case_t events[] = {
    /* nested and flat */
    {"{\"type\":\"error\",\"sequence_number\":1,\"error\":{\"type\":\"invalid_request_error\","
     "\"code\":\"context_length_exceeded\",\"message\":\"Input too long.\",\"param\":\"input\"}}",
     "context_length_exceeded", "Input too long."},
    {"{\"type\":\"error\",\"sequence_number\":3,\"code\":\"rate_limit_exceeded\",\"message\":"
     "\"Slow "
     "down.\",\"param\":null}",
     "rate_limit_exceeded", "Slow down."},
    /* inner objects and strings */
    {"{\"code\":\"server_error\",\"message\":\"failed\"}", "server_error", "failed"},
    {"{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}", "overloaded_error",
     "Overloaded"},
    {"{\"code\":503,\"message\":\"Full.\",\"status\":\"UNAVAILABLE\"}", "UNAVAILABLE", "Full."},
    {"{\"id\":\"g1\",\"error\":{\"code\":502,\"message\":\"Upstream closed\"},\"choices\":[]}",
     "502", "Upstream closed"},
    {"{\"error\":\"just words\"}", "", "just words"},
    {"\"just words\"", "", "just words"},
    /* never without a message */
    {"{\"error\":{\"code\":\"server_error\"}}", "server_error",
     "the provider reported an error: server_error"},
    {"{\"type\":\"error\"}", "", "the provider reported an error"},
    {"[]", "", "the provider reported an error"},
};

START_TEST(events_of_all_vendors)
{
    ik_provider_error_t error = parse_event(events[_i].json);
    ck_assert_str_eq(error.code, events[_i].code);
    ck_assert_str_eq(error.message, events[_i].message);
    ck_assert_int_eq(error.status, 0);
}
END_TEST

/* --- how long to wait -------------------------------------------------------------------- */

typedef struct {
    int status;
    const char *headers;
    const char *body;
    bool retryable;
    int64_t hint;
} hint_case_t;

#define DELAY(text) "{\"error\":{\"message\":\"m\",\"details\":[{\"retryDelay\":\"" text "\"}]}}"

static const hint_case_t hints[] = {
    {429, "", "", true, -1},
    {429, "retry-after-ms: 1500", "", true, 1500},
    {429, "retry-after-ms: 1500.7", "", true, 1500},
    {429, "retry-after: 3", "", true, 3000},
    {503, "retry-after: 0.25", "", true, 250},
    {429, "retry-after: 0", "", true, 0},
    {429, "retry-after-ms: 20\nretry-after: 3", "", true, 20},
    {429, "retry-after-ms: soon\nretry-after: 3", "", true, 3000},
    {429, "retry-after: -3", "", true, -1},
    {429, "retry-after: inf", "", true, -1},
    {429, "retry-after: 3 apples", "", true, -1},
    {429, "retry-after: 99999999999999999999999999", "", true, 2592000000},
    {429, "retry-after: Sun, 15 Nov 2026 08:01:30 GMT", "", true, 90000},
    {429, "retry-after: Sun, 15 Nov 2026 07:00:00 GMT", "", true, 0},
    {429, "retry-after: Sun, 15 Foo 2026 08:01:30 GMT", "", true, -1},
    {429, "retry-after: Sun, 15 anF 2026 08:01:30 GMT", "", true, -1},
    {429, "retry-after: tomorrow", "", true, -1},
    /* the body's own hint comes second */
    {429, "", DELAY("34s"), true, 34000},
    {429, "", DELAY("0.5s"), true, 500},
    {429, "", DELAY("x"), true, -1},
    {429, "retry-after: 3", DELAY("34s"), true, 3000},
    {429, "retry-after: 0", DELAY("34s"), true, 0},
    /* the message third */
    {429, "", SAYS("Limit reached. Please try again in 6.57s. Visit us."), true, 6570},
    {429, "", SAYS("Please retry in 34.074s."), true, 34074},
    {429, "", SAYS("Please try again in 120ms."), true, 120},
    {429, "", SAYS("Please try again in 1m30s."), true, 90000},
    {429, "", SAYS("Please retry after 20 seconds."), true, 20000},
    {429, "", SAYS("Please try again in 2 hours."), true, 7200000},
    {429, "", SAYS("Please retry in 1h2m."), true, 3720000},
    {429, "", SAYS("Please try again in 1 day."), true, 86400000},
    {429, "", SAYS("Please try again in 3 minutes."), true, 180000},
    {429, "", SAYS("Please try again in a while."), true, -1},
    {429, "retry-after: 0", SAYS("Please try again in 2s."), true, 0},
    {429, "x-ratelimit-remaining-tokens: 0\nx-ratelimit-reset-tokens: 9s", SAYS("Try again in 2s"),
     true, 2000},
    /* limits last, and only those that are used up */
    {429, "x-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: 120ms", "", true, 120},
    {429, "x-ratelimit-remaining-requests: 5\nx-ratelimit-reset-requests: 1h", "", true, -1},
    {429, "x-ratelimit-reset-requests: 1h", "", true, -1},
    {429,
     "x-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: 6.57s\n"
     "x-ratelimit-remaining-tokens: 0\nx-ratelimit-reset-tokens: 1m30s",
     "", true, 90000},
    {429,
     "anthropic-ratelimit-input-tokens-remaining: 0\n"
     "anthropic-ratelimit-input-tokens-reset: 2026-11-15T08:00:12Z",
     "", true, 12000},
    {429,
     "anthropic-ratelimit-requests-remaining: 0\n"
     "anthropic-ratelimit-requests-reset: 2026-11-15T10:00:30.5+02:00",
     "", true, 30000},
    {429,
     "anthropic-ratelimit-tokens-remaining: 0\n"
     "anthropic-ratelimit-tokens-reset: 2026-11-15T08:00:30",
     "", true, -1},
    /* the server's explicit hint */
    {503, "x-should-retry: false\nretry-after: 3", "", false, -1},
    {400, "x-should-retry: true\nretry-after: 3", "", true, 3000},
    {429, "x-should-retry: true", CODE("insufficient_quota"), false, -1},
    {400, "x-should-retry: true", CODE("context_length_exceeded"), false, -1},
    {400, "x-should-retry: true", CODE("invalid_encrypted_content"), false, -1},
    {400, "x-should-retry: true", CODE("invalid_function_parameters"), false, -1},
    {503, "x-should-retry: perhaps", "", true, -1},
    /* an error that is not retried has no hint */
    {401, "retry-after: 3", "", false, -1},
};

START_TEST(waiting)
{
    const hint_case_t *expected = &hints[_i];
    ik_provider_error_t error = parse(expected->status, expected->headers, expected->body);
    ck_assert_msg(error.retryable == expected->retryable, "%s %s", expected->headers,
                  expected->body);
    ck_assert_msg(error.retry_after_ms == expected->hint, "%s %s: %lld", expected->headers,
                  expected->body, (long long)error.retry_after_ms);
}
END_TEST

START_TEST(events_carry_hints_too)
{
    ik_provider_error_t error =
        parse_event("{\"type\":\"error\",\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":"
                    "\"Slow. Please try again in 6.57s.\",\"headers\":{\"a\":\"b\"}}}");
    ck_assert_int_eq(error.retry_after_ms, 6570);
    error = parse_event("{\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"Slow.\","
                        "\"headers\":{\"x-ratelimit-remaining-tokens\":\"0\","
                        "\"x-ratelimit-reset-tokens\":\"1m3s\"}}}");
    ck_assert_int_eq(error.retry_after_ms, 63000);
    error = parse_event(DELAY("2s"));
    ck_assert_int_eq(error.retry_after_ms, 2000);
    /* There is no clock here to compare a date with. */
    error = parse_event("{\"error\":{\"message\":\"m\",\"headers\":{\"retry-after\":\"Sun, 15 Nov "
                        "2026 08:01:30 GMT\"}}}");
    ck_assert_int_eq(error.retry_after_ms, -1);
    error = parse_event(CODE("server_error"));
    ck_assert_int_eq(error.retry_after_ms, -1);
}
END_TEST

/* --- refused fields ---------------------------------------------------------------------- */

typedef struct {
    int status;
    const char *body;
    unsigned field; /* 0: not a refusal of one of ours */
} field_case_t;

#define PARAM(param, message)                                                                      \
    "{\"error\":{\"type\":\"invalid_request_error\",\"param\":\"" param                            \
    "\",\"message\":\"" message "\"}}"
#define ALL_REASONING (IK_FIELD_THINKING | IK_FIELD_EFFORT | IK_FIELD_SUMMARY)

static const field_case_t fields[] = {
    /* named by param */
    {400, PARAM("stream_options", "m"), IK_FIELD_STREAM_OPTIONS},
    {400, PARAM("parallel_tool_calls", "m"), IK_FIELD_PARALLEL_TOOL_CALLS},
    {400, PARAM("tools[0].function.strict", "m"), IK_FIELD_STRICT},
    {400,
     PARAM("reasoning_effort", "Function tools with reasoning_effort are not supported for x in "
                               "/v1/chat/completions. Please use /v1/responses instead."),
     IK_FIELD_EFFORT},
    {400, PARAM("reasoning.effort", "m"), IK_FIELD_EFFORT},
    {400, PARAM("reasoning.summary", "Your organization must be verified."), IK_FIELD_SUMMARY},
    {400, PARAM("reasoning", "m"), ALL_REASONING},
    {400, PARAM("tool_choice", "m"), IK_FIELD_TOOL_CHOICE},
    {400, PARAM("max_tokens", "Unsupported parameter: use 'max_completion_tokens' instead."),
     IK_FIELD_MAX_TOKENS},
    {400, PARAM("prompt_cache_key", "m"), IK_FIELD_CACHE_KEY},
    {400, PARAM("include[0]", "Encrypted content is not supported with this model."),
     IK_FIELD_INCLUDE},
    {400, PARAM("store", "m"), IK_FIELD_STORE},
    {400, PARAM("messages[2].reasoning_content", "m"), IK_FIELD_REASONING_CONTENT},
    /* named by the location in a list of errors */
    {422,
     "{\"object\":\"error\",\"message\":{\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":["
     "\"body\","
     "\"max_completion_tokens\"],\"msg\":\"Extra inputs are not permitted\"}]}}",
     IK_FIELD_MAX_TOKENS},
    {422,
     "{\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":[\"body\",\"messages\",1,\"assistant\","
     "\"reasoning_content\"],\"msg\":\"Extra\"}]}",
     IK_FIELD_REASONING_CONTENT},
    /* named in a sentence */
    {400, SAYS("Unrecognized request argument supplied: stream_options"), IK_FIELD_STREAM_OPTIONS},
    {400, SAYS("property 'parallel_tool_calls' is unsupported"), IK_FIELD_PARALLEL_TOOL_CALLS},
    {400, SAYS("tool_choice.disable_parallel_tool_use: Extra inputs are not permitted"),
     IK_FIELD_TOOL_CHOICE},
    {400, SAYS("tools.0.custom.strict: Extra inputs are not permitted"), IK_FIELD_STRICT},
    {400, SAYS("Model x does not support parameter reasoningEffort."), IK_FIELD_EFFORT},
    {400, SAYS("This model does not support the effort parameter."), IK_FIELD_EFFORT},
    {400, SAYS("output_config: Extra inputs are not permitted"), IK_FIELD_EFFORT},
    {400, SAYS("Thinking level is not supported for this model."), IK_FIELD_EFFORT},
    {400, SAYS("Budget 0 is invalid. This model only works in thinking mode."), IK_FIELD_EFFORT},
    {400,
     SAYS("Unable to submit request because Thinking can't be disabled for this model. Remove "
          "'thinking_config.thinking_budget' from your request"),
     IK_FIELD_EFFORT},
    {400, SAYS("The model does not support setting thinking_budget to 0."), IK_FIELD_EFFORT},
    {400,
     SAYS("Invalid JSON payload received. Unknown name \\\"thinkingLevel\\\" at "
          "'generation_config.thinking_config': Cannot find field."),
     IK_FIELD_EFFORT},
    {400, SAYS("Unknown name \\\"thinkingConfig\\\" at 'generation_config': Cannot find field."),
     ALL_REASONING},
    {400, SAYS("\\\"llama3\\\" does not support thinking"), ALL_REASONING},
    {400, SAYS("adaptive thinking is not supported on this model"), ALL_REASONING},
    {400,
     SAYS("thinking: Input tag 'adaptive' found using 'type' does not match any of the expected "
          "tags: 'disabled', 'enabled'"),
     ALL_REASONING},
    {400, SAYS("Unknown parameter: 'reasoning'."), ALL_REASONING},
    {400, SAYS("Unknown name \\\"thinkingBudget\\\": Cannot find field."), ALL_REASONING},
    {400, SAYS("budget_tokens: Extra inputs are not permitted"), ALL_REASONING},
    {400, SAYS("Unknown name \\\"includeThoughts\\\": Cannot find field."), ALL_REASONING},
    {400, SAYS("Unknown parameter: 'reasoning.generate_summary'."), ALL_REASONING},
    {400, SAYS("Unsupported value: 'reasoning.summary' is not supported"), IK_FIELD_SUMMARY},
    {400, SAYS("Unknown parameter: 'include'."), IK_FIELD_INCLUDE},
    {400, SAYS("reasoning.encrypted_content is not supported"), IK_FIELD_INCLUDE},
    {400, SAYS("Unsupported parameter: 'max_tokens'."), IK_FIELD_MAX_TOKENS},
    {400, SAYS("Unsupported parameter: max_output_tokens"), IK_FIELD_MAX_TOKENS},
    {400, SAYS("messages.1: unknown field `reasoning_details`"), IK_FIELD_REASONING_CONTENT},
    {400, SAYS("Unexpected field: disable_parallel_tool_use"), IK_FIELD_PARALLEL_TOOL_CALLS},
    /* or missed */
    {400, SAYS("The `reasoning_content` in the thinking mode must be passed back to the API."),
     IK_FIELD_NO_REASONING_CONTENT},
    {400, PARAM("messages[2].reasoning_content", "Missing `reasoning_content` field"),
     IK_FIELD_NO_REASONING_CONTENT},
    {400, SAYS("Unknown name \\\"functionCallingConfig\\\": Cannot find field."),
     IK_FIELD_TOOL_CHOICE},
    {400, SAYS("Unrecognized request argument supplied: store"), IK_FIELD_STORE},
    {400, SAYS("system.0.cache_control: Extra inputs are not permitted"), IK_FIELD_CACHE_CONTROL},
    {400,
     SAYS(
         "Unknown name \\\"parametersJsonSchema\\\" at 'tools[0].function_declarations[0]': Cannot "
         "find field."),
     IK_FIELD_JSON_SCHEMA},
    {400, SAYS("Unknown name \\\"responseJsonSchema\\\": Cannot find field."),
     IK_FIELD_JSON_SCHEMA},
    {400, SAYS("Unknown name \\\"toolConfig\\\": Cannot find field."), IK_FIELD_TOOL_CHOICE},
    {400, "{\"error\":{\"code\":\"invalid_function_parameters\",\"message\":\"m\"}}",
     IK_FIELD_STRICT},
    /* an event */
    {0, PARAM("reasoning.summary", "m"), IK_FIELD_SUMMARY},
    /* about the value, not the field */
    {400, PARAM("max_output_tokens", "max_output_tokens is too large: 200000"), 0},
    {400, SAYS("max_tokens: 200000 > 128000, which is the maximum allowed"), 0},
    {400, SAYS("tool_choice: Input should be 'auto' or 'any'"), 0},
    /* words that only look like a field */
    {400, SAYS("Requests that include images are not supported"), 0},
    {400, SAYS("The store is unknown"), 0},
    {400, SAYS("Unknown model deepseek-reasoning"), 0},
    {400, SAYS("Unknown model: max-thinking-pro"), 0},
    {400, SAYS("x does not support tools"), 0},
    {400, PARAM("model", "m"), 0},
    /* only where the request is at fault */
    {404, PARAM("stream_options", "not supported"), 0},
    {500, PARAM("stream_options", "not supported"), 0},
    {429, SAYS("stream_options not supported"), 0},
};

START_TEST(refused_fields)
{
    const field_case_t *expected = &fields[_i];
    ik_provider_error_t error = expected->status == 0 ? parse_event(expected->body)
                                                      : parse(expected->status, "", expected->body);
    ck_assert_msg(error.field == expected->field, "%s: %x", expected->body, error.field);
    ck_assert_int_eq(error.fault == IK_FAULT_FIELD, expected->field != 0);
    if (expected->field != 0) {
        ck_assert(!error.retryable);
    }
}
END_TEST

START_TEST(every_fault_has_a_name)
{
    for (int fault = IK_FAULT_NONE; fault <= IK_FAULT_NETWORK; fault++) {
        ck_assert_ptr_nonnull(ik_fault_name((ik_fault_t)fault));
    }
    ck_assert_str_eq(ik_fault_name(IK_FAULT_RATE_LIMIT), "rate_limit");
}
END_TEST

#define LENGTH(table) (int)(sizeof(table) / sizeof((table)[0]))

/* --- refused tools ------------------------------------------------------------------------- */

static const struct {
    const char *body;
    int tool;
} refused_tools[] = {
    {"{\"error\":{\"message\":\"no\",\"param\":\"tools[3].function.parameters\"}}", 3},
    {"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":"
     "\"tools.12.custom.input_schema: no\"}}",
     12},
    {"{\"error\":{\"code\":400,\"status\":\"INVALID_ARGUMENT\",\"message\":\"* "
     "GenerateContentRequest.tools[0].function_declarations[2].parameters: no\"}}",
     2},
    {"{\"error\":{\"code\":400,\"status\":\"INVALID_ARGUMENT\",\"message\":\"Invalid value at "
     "'tools[0].functionDeclarations[5].parameters'\"}}",
     5},
    {"{\"detail\":[{\"type\":\"dict_type\",\"loc\":[\"body\",\"tools\",4,\"function\"],"
     "\"msg\":\"Input should be a valid dictionary\"}]}",
     4},
    {"{\"object\":\"error\",\"message\":\"1 validation error:\\n  {'type': 'missing', 'loc': "
     "('body', "
     "'tools', 7, 'function', 'name'), 'msg': 'Field required'}\"}",
     7},
    {"{\"object\":\"error\",\"message\":\"Tool 11 function has invalid 'parameters' schema: True "
     "is "
     "not of type 'array'\"}",
     11},
    {"{\"error\":{\"message\":\"/tools/6/function/parameters must be object\"}}", 6},
    {"{\"error\":{\"message\":\"Too many tools, 128 are allowed: 130 tools\"}}", -1},
    {"{\"error\":{\"message\":\"Tool 3 did not answer\"}}", -1},
    {"{\"error\":{\"message\":\"messages[2].tool_calls[1].id: no\"}}", -1},
    {"{\"error\":{\"message\":\"mytools[1] and tools: no\"}}", -1},
};

START_TEST(refused_tools_are_told)
{
    ik_provider_error_t error = parse(400, "", refused_tools[_i].body);
    ck_assert_int_eq(error.tool, refused_tools[_i].tool);
    ck_assert_int_eq(error.fault, error.tool < 0 ? IK_FAULT_INVALID : IK_FAULT_TOOL);
}
END_TEST

static const struct {
    int status;
    const char *body;
    ik_fault_t fault;
} image_refusals[] = {
    {400,
     "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":"
     "\"messages.3.content.1.image.source.base64: image exceeds 5 MB maximum: 5281812 bytes > "
     "5242880\"}}",
     IK_FAULT_IMAGE},
    {400,
     "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"Could not "
     "process image\"}}",
     IK_FAULT_IMAGE},
    {400,
     "{\"error\":{\"message\":\"Invalid 'input[2].content[1].image_url'. Expected a "
     "base64-encoded data URL\",\"param\":\"input[2].content[1].image_url\"}}",
     IK_FAULT_IMAGE},
    {400, "{\"error\":{\"message\":\"no\",\"code\":\"invalid_base64_image\"}}", IK_FAULT_IMAGE},
    {400,
     "{\"error\":{\"code\":400,\"status\":\"INVALID_ARGUMENT\",\"message\":\"Invalid value at "
     "'contents[1].parts[0].inline_data.data'\"}}",
     IK_FAULT_IMAGE},
    {400, "{\"error\":{\"message\":\"image_url is only supported by certain models\"}}",
     IK_FAULT_IMAGES},
    {404, "{\"error\":{\"message\":\"No endpoints found that support image input\"}}",
     IK_FAULT_IMAGES},
    {500, "{\"error\":{\"message\":\"image input is not supported - hint: mmproj\"}}",
     IK_FAULT_IMAGES},
    {422, "{\"detail\":\"unknown variant `image_url`, expected `text`\"}", IK_FAULT_IMAGES},
    /* not about an image that was sent */
    {500, "{\"error\":{\"message\":\"the image server is down\"}}", IK_FAULT_SERVER},
    {401, "{\"error\":{\"message\":\"no key for images\"}}", IK_FAULT_AUTH},
    {400, "{\"error\":{\"message\":\"no\",\"param\":\"tools[1].function.image\"}}", IK_FAULT_TOOL},
    {400, "{\"error\":{\"message\":\"prompt is too long: 20 images\"}}", IK_FAULT_OVERFLOW},
};

START_TEST(refused_images_are_told)
{
    ik_provider_error_t error = parse(image_refusals[_i].status, "", image_refusals[_i].body);
    ck_assert_str_eq(ik_fault_name(error.fault), ik_fault_name(image_refusals[_i].fault));
    ck_assert(error.retryable == (error.fault == IK_FAULT_SERVER));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("provider_error");
    TCase *tests = tcase_create("provider_error");
    tcase_add_loop_test(tests, bodies_of_all_vendors, 0, LENGTH(bodies));
    tcase_add_test(tests, long_messages_are_cut_between_characters);
    tcase_add_test(tests, messages_that_just_fit);
    tcase_add_test(tests, a_redirect_says_where_to);
    tcase_add_loop_test(tests, refused_images_are_told, 0, LENGTH(image_refusals));
    tcase_add_loop_test(tests, meanings_of_statuses_names_and_sentences, 0, LENGTH(meanings));
    tcase_add_loop_test(tests, events_of_all_vendors, 0, LENGTH(events));
    tcase_add_loop_test(tests, waiting, 0, LENGTH(hints));
    tcase_add_test(tests, events_carry_hints_too);
    tcase_add_loop_test(tests, refused_fields, 0, LENGTH(fields));
    tcase_add_test(tests, every_fault_has_a_name);
    tcase_add_loop_test(tests, refused_tools_are_told, 0,
                        sizeof(refused_tools) / sizeof(refused_tools[0]));
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
