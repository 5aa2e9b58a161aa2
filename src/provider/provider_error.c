#include "provider/provider_error.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "provider/error_body.h"
#include "provider/refused_field.h"
#include "provider/refused_tool.h"
#include "provider/retry_hint.h"

enum { BODY_READ_MAX = 64 * 1024 }; /* bytes of a body that are searched for a message */

/* --- what a status means ----------------------------------------------------------------- */

typedef struct {
    int status;
    ik_fault_t fault;
    bool retryable;
    const char *phrase;
} status_rule_t;

static const status_rule_t statuses[] = {
    {400, IK_FAULT_INVALID, false, "Bad Request"},
    {401, IK_FAULT_AUTH, false, "Unauthorized"},
    {402, IK_FAULT_QUOTA, false, "Payment Required"},
    {403, IK_FAULT_AUTH, false, "Forbidden"},
    {404, IK_FAULT_NOT_FOUND, false, "Not Found"},
    {405, IK_FAULT_NOT_FOUND, false, "Method Not Allowed"}, /* base_url may be wrong */
    {407, IK_FAULT_INVALID, false, "Proxy Authentication Required"},
    {408, IK_FAULT_SERVER, true, "Request Timeout"},
    {409, IK_FAULT_SERVER, true, "Conflict"},
    {413, IK_FAULT_TOO_LARGE, false, "Content Too Large"},
    {422, IK_FAULT_INVALID, false, "Unprocessable Content"},
    {429, IK_FAULT_RATE_LIMIT, true, "Too Many Requests"},
    {500, IK_FAULT_SERVER, true, "Internal Server Error"},
    {502, IK_FAULT_SERVER, true, "Bad Gateway"},
    {503, IK_FAULT_SERVER, true, "Service Unavailable"},
    {504, IK_FAULT_SERVER, true, "Gateway Timeout"},
    {529, IK_FAULT_SERVER, true, "Overloaded"},
    {0, IK_FAULT_NONE, false, NULL},
};
static const status_rule_t redirect = {0, IK_FAULT_INVALID, false, "redirects are not followed"};
static const status_rule_t other_request = {0, IK_FAULT_INVALID, false, "request refused"};
static const status_rule_t other_server = {0, IK_FAULT_SERVER, true, "server error"};
/* Below 300 or no status: the request was accepted, so the server failed. */
static const status_rule_t accepted = {0, IK_FAULT_SERVER, true, "unexpected answer"};

static const status_rule_t *find_status(int status)
{
    for (const status_rule_t *rule = statuses; rule->status != 0; rule++) {
        if (rule->status == status) {
            return rule;
        }
    }
    return status < 300   ? &accepted
           : status < 400 ? &redirect
           : status < 500 ? &other_request
                          : &other_server;
}

/* --- what names mean --------------------------------------------------------------------- */

/* The HTTP status that stands for a name, for errors that come without a status. */
typedef struct {
    const char *name;
    int status;
} name_status_t;

static const name_status_t name_statuses[] = {
    {"invalid_request_error", 400}, {"INVALID_ARGUMENT", 400},  {"FAILED_PRECONDITION", 400},
    {"OUT_OF_RANGE", 400},          {"invalid_prompt", 400},    {"authentication_error", 401},
    {"UNAUTHENTICATED", 401},       {"permission_error", 403},  {"PERMISSION_DENIED", 403},
    {"not_found_error", 404},       {"model_not_found", 404},   {"NOT_FOUND", 404},
    {"conflict_error", 409},        {"ABORTED", 409},           {"request_too_large", 413},
    {"rate_limit_exceeded", 429},   {"rate_limit_error", 429},  {"RESOURCE_EXHAUSTED", 429},
    {"server_error", 500},          {"api_error", 500},         {"INTERNAL", 500},
    {"UNAVAILABLE", 503},           {"server_overloaded", 503}, {"timeout_error", 504},
    {"DEADLINE_EXCEEDED", 504},     {"overloaded_error", 529},  {NULL, 0},
};

static int status_of(const ik_error_body_t *body)
{
    for (const name_status_t *row = name_statuses; row->name != NULL; row++) {
        if (ik_error_body_has_name(body, row->name)) {
            return row->status;
        }
    }
    return 0;
}

/* Names that are more specific than the status. */
typedef struct {
    const char *name;
    ik_fault_t fault;
    bool retryable;
    unsigned field;
} name_rule_t;

static const name_rule_t name_rules[] = {
    {"insufficient_quota", IK_FAULT_QUOTA, false, 0},
    {"credit_balance_exhausted", IK_FAULT_QUOTA, false, 0},
    {"enforced_spend_limit_reached", IK_FAULT_QUOTA, false, 0},
    {"billing_hard_limit_reached", IK_FAULT_QUOTA, false, 0},
    {"billing_error", IK_FAULT_QUOTA, false, 0},
    {"API_KEY_INVALID", IK_FAULT_AUTH, false, 0},
    {"invalid_api_key", IK_FAULT_AUTH, false, 0},
    {"context_length_exceeded", IK_FAULT_OVERFLOW, false, 0},
    {"exceed_context_size_error", IK_FAULT_OVERFLOW, false, 0},
    {"model_context_window_exceeded", IK_FAULT_OVERFLOW, false, 0},
    {"invalid_encrypted_content", IK_FAULT_REASONING, false, 0},
    {"invalid_image", IK_FAULT_IMAGE, false, 0},
    {"invalid_image_format", IK_FAULT_IMAGE, false, 0},
    {"invalid_image_mode", IK_FAULT_IMAGE, false, 0},
    {"invalid_base64_image", IK_FAULT_IMAGE, false, 0},
    {"image_too_large", IK_FAULT_IMAGE, false, 0},
    {"image_too_small", IK_FAULT_IMAGE, false, 0},
    {"image_parse_error", IK_FAULT_IMAGE, false, 0},
    {"image_content_policy_violation", IK_FAULT_IMAGE, false, 0},
    {"image_file_too_large", IK_FAULT_IMAGE, false, 0},
    {"unsupported_image_media_type", IK_FAULT_IMAGE, false, 0},
    {"empty_image_file", IK_FAULT_IMAGE, false, 0},
    /* The model wrote a call that the server could not read; a retry may succeed. */
    {"tool_use_failed", IK_FAULT_SERVER, true, 0},
    /* The server does not accept a schema that we sent as strict. */
    {"invalid_function_parameters", IK_FAULT_FIELD, false, IK_FIELD_STRICT},
    {NULL, IK_FAULT_NONE, false, 0},
};

static bool apply_names(ik_provider_error_t *error, const ik_error_body_t *body)
{
    for (const name_rule_t *rule = name_rules; rule->name != NULL; rule++) {
        if (ik_error_body_has_name(body, rule->name)) {
            error->fault = rule->fault;
            error->retryable = rule->retryable;
            error->field = rule->field;
            return true;
        }
    }
    return false;
}

/* --- what sentences mean ----------------------------------------------------------------- */

typedef struct {
    ik_fault_t fault;
    const char *words[2]; /* both must occur, in upper or lower case; the second may be NULL */
} text_rule_t;

static const text_rule_t text_rules[] = {
    {IK_FAULT_AUTH, {"API key not valid"}},
    {IK_FAULT_QUOTA, {"credit balance is too low"}},
    {IK_FAULT_QUOTA, {"specified API usage limits"}},
    {IK_FAULT_REASONING, {"thinking", "signature"}},
    {IK_FAULT_REASONING, {"thinking", "block"}}, /* modified, or what was before it */
    {IK_FAULT_REASONING, {"redacted_thinking", "but found"}},
    {IK_FAULT_REASONING, {"thinking is disabled", "cannot contain"}},
    {IK_FAULT_REASONING, {"thought", "signature"}},
    {IK_FAULT_REASONING, {"encrypted content", "could not be"}},
    {IK_FAULT_REASONING, {"'reasoning'", "without its required"}},
    {IK_FAULT_REASONING, {"'rs_", "not found"}},
    {IK_FAULT_OVERFLOW, {"prompt is too long"}},
    {IK_FAULT_OVERFLOW, {"exceed context limit"}},
    {IK_FAULT_OVERFLOW, {"input token count", "exceeds the maximum"}},
    {IK_FAULT_OVERFLOW, {"context size", "exceed"}},
    {IK_FAULT_OVERFLOW, {"maximum context length"}},
    {IK_FAULT_OVERFLOW, {"context length", "exceed"}},       /* Ollama */
    {IK_FAULT_OVERFLOW, {"context length", "longer than"}},  /* SGLang, Together */
    {IK_FAULT_OVERFLOW, {"context length", "greater than"}}, /* LM Studio; so is the next one */
    {IK_FAULT_OVERFLOW, {"context length", " only "}},
    {IK_FAULT_OVERFLOW, {"maximum model length"}},         /* vLLM */
    {IK_FAULT_OVERFLOW, {"maximum prompt length"}},        /* xAI */
    {IK_FAULT_OVERFLOW, {"model token limit", "exceed"}},  /* Moonshot */
    {IK_FAULT_OVERFLOW, {"maximum allowed input length"}}, /* OpenRouter */
    {IK_FAULT_OVERFLOW, {"input is too long"}},            /* Bedrock, behind a gateway */
    {IK_FAULT_OVERFLOW, {"context window"}},
    {IK_FAULT_OVERFLOW, {"too many tokens"}},
    {IK_FAULT_IMAGES, {"support image"}},
    {IK_FAULT_IMAGES, {"image input", "not support"}},
    {IK_FAULT_IMAGES, {"image input", "not enabled"}},
    {IK_FAULT_IMAGES, {"images are not supported"}},
    {IK_FAULT_IMAGES, {"image_url", "only supported by"}},
    {IK_FAULT_IMAGES, {"image_url", "unknown variant"}},
    {IK_FAULT_IMAGES, {"image_url", "is not supported"}},
    {IK_FAULT_IMAGES, {"not a multimodal model"}},
    {IK_FAULT_IMAGES, {"multimodal", "not support"}},
    {IK_FAULT_IMAGES, {"support vision"}},
    {IK_FAULT_IMAGES, {"mmproj"}},
    {IK_FAULT_NONE, {NULL}},
};

/* Whether the status is vague enough for the message to decide: "too many tokens" with 429 means
 * the rate, not the context. */
static bool is_vague(int status)
{
    static const int vague[] = {400, 404, 413, 422, 500, 0};
    for (const int *candidate = vague; *candidate != 0; candidate++) {
        if (*candidate == status) {
            return true;
        }
    }
    return find_status(status) == &accepted;
}

static bool apply_texts(ik_provider_error_t *error, const char *message, int status)
{
    if (message == NULL || !is_vague(status)) {
        return false;
    }
    for (const text_rule_t *rule = text_rules; rule->fault != IK_FAULT_NONE; rule++) {
        if (strcasestr(message, rule->words[0]) != NULL &&
            (rule->words[1] == NULL || strcasestr(message, rule->words[1]) != NULL)) {
            error->fault = rule->fault;
            error->retryable = false;
            return true;
        }
    }
    return false;
}

/* --- classifying ------------------------------------------------------------------------- */

/* Whether a refusal is about an image: "image.source.base64", "Could not process image",
 * "Invalid 'input[3].content[1].image_url'", "inline_data". */
static bool names_image(const ik_error_body_t *body)
{
    const char *texts[] = {body->message, body->param, body->code};
    for (size_t i = 0; i < IK_LENGTH(texts); i++) {
        if (texts[i] != NULL &&
            (strcasestr(texts[i], "image") != NULL || strcasestr(texts[i], "inline_data") != NULL ||
             strcasestr(texts[i], "inlineData") != NULL)) {
            return true;
        }
    }
    return false;
}

/* The status gives a first answer, which names and sentences refine. */
static void classify(ik_provider_error_t *error, const ik_error_body_t *body)
{
    int status = error->status >= 300 ? error->status : body->status;
    status = status == 0 ? status_of(body) : status;
    const status_rule_t *rule = find_status(status);
    error->fault = rule->fault;
    error->retryable = rule->retryable;
    if (apply_names(error, body) || apply_texts(error, body->message, status)) {
        return;
    }
    bool daily =
        body->per_day || (ik_error_body_has_name(body, "RESOURCE_EXHAUSTED") &&
                          body->message != NULL && strcasestr(body->message, "per day") != NULL);
    if (error->fault == IK_FAULT_RATE_LIMIT && daily) {
        error->fault = IK_FAULT_QUOTA;
        error->retryable = false;
    } else if (status == 400 || status == 422) { /* both are IK_FAULT_INVALID */
        error->field = ik_refused_field_find(body);
        error->fault = error->field != 0 ? IK_FAULT_FIELD : error->fault;
    }
    if (error->fault == IK_FAULT_INVALID && error->tool >= 0) {
        error->fault = IK_FAULT_TOOL;
    } else if (error->fault == IK_FAULT_INVALID && names_image(body)) {
        error->fault = IK_FAULT_IMAGE;
    }
}

/* --- messages ---------------------------------------------------------------------------- */

/* The length of the blank or control character (C0, space, DEL, C1) at this position; 0: none. */
static size_t skip_blank(const char *at)
{
    unsigned char c = (unsigned char)at[0];
    if (c <= ' ' || c == 0x7f) {
        return c == '\0' ? 0 : 1;
    }
    return c == 0xc2 && (unsigned char)at[1] >= 0x80 && (unsigned char)at[1] < 0xa0 ? 2 : 0;
}

/* Appends the text as one line: white space becomes a space, other control characters vanish. */
static void append_line(ik_buffer_t *out, const char *text)
{
    bool gap = false;
    while (*text != '\0') {
        size_t blank = skip_blank(text);
        if (blank > 0) {
            gap = gap || *text == ' ' || (*text >= '\t' && *text <= '\r');
            text += blank;
            continue;
        }
        if (gap && out->len > 0) {
            ik_buffer_append_byte(out, ' ');
        }
        gap = false;
        ik_buffer_append_byte(out, *text++);
    }
}

/* Copies the text as one line into an array of the error, cut between characters. */
static void set_line(const void *ctx, char *out, size_t size, const char *text)
{
    static const char ellipsis[] = "…";
    ik_buffer_t clean;
    ik_buffer_t line;
    ik_buffer_init(&clean, ctx, IK_BUFFER_UNLIMITED); /* bounded by the text */
    ik_buffer_init(&line, ctx, IK_BUFFER_UNLIMITED);  /* and so is the line */
    ik_utf8_append_clean(&clean, text, strlen(text));
    ik_buffer_append_text(&clean, "");
    append_line(&line, clean.data);
    ik_buffer_append_text(&line, "");
    if (line.len < size) {
        memcpy(out, line.data, line.len + 1);
        return;
    }
    size_t kept = ik_utf8_cut(line.data, line.len, size - sizeof(ellipsis));
    memcpy(out, line.data, kept);
    memcpy(out + kept, ellipsis, sizeof(ellipsis));
}

static bool has_words(const char *line)
{
    while (*line != '\0' && skip_blank(line) > 0) {
        line += skip_blank(line);
    }
    return *line != '\0';
}

/* The first line that is not blank, or NULL. */
static char *take_first_line(const void *ctx, const char *text)
{
    for (;;) {
        size_t len = strcspn(text, "\n");
        char *line = ik_strndup(ctx, text, len);
        if (has_words(line)) {
            return line;
        }
        if (text[len] == '\0') {
            return NULL;
        }
        text += len + 1;
    }
}

/* Reduces a page to its title or, without one, to its text without the tags. */
static void strip_tags(char *html)
{
    char *title = strcasestr(html, "<title");
    char *in = title == NULL ? html : title;
    char *end = title == NULL ? NULL : strcasestr(title, "</title");
    char *out = html;
    bool inside = false;
    for (; *in != '\0' && in != end; in++) {
        inside = *in == '<' || (inside && in[-1] != '>');
        if (!inside) {
            *out++ = *in;
        }
    }
    *out = '\0';
}

/* Describes a body without a message: unknown JSON as it is, or the first line of the page or text
 * that a proxy answered with. */
static char *describe_body(const void *ctx, const char *bytes, size_t len)
{
    char *text = ik_strndup(ctx, bytes, len < BODY_READ_MAX ? len : BODY_READ_MAX);
    char first = text[strspn(text, " \t\r\n")];
    if (first == '{' || first == '[') {
        return text;
    }
    if (first == '<') {
        strip_tags(text);
    }
    return take_first_line(ctx, text);
}

/* --- the error --------------------------------------------------------------------------- */

static void fill(const void *ctx, ik_provider_error_t *error, const ik_error_body_t *body,
                 const char *message)
{
    error->tool = ik_refused_tool_find_index(body);
    classify(error, body);
    set_line(ctx, error->code, sizeof(error->code), body->code == NULL ? "" : body->code);
    set_line(ctx, error->place, sizeof(error->place), body->param == NULL ? "" : body->param);
    set_line(ctx, error->message, sizeof(error->message), message);
}

/* The server's explicit hint is followed, unless the same request cannot succeed. */
static void apply_should_retry(ik_provider_error_t *error, const char *value)
{
    bool hopeless = error->fault == IK_FAULT_QUOTA || error->fault == IK_FAULT_OVERFLOW ||
                    error->fault == IK_FAULT_REASONING || error->fault == IK_FAULT_FIELD ||
                    error->fault == IK_FAULT_TOOL || error->fault == IK_FAULT_IMAGE ||
                    error->fault == IK_FAULT_IMAGES;
    if (value != NULL && strcmp(value, "true") == 0) {
        error->retryable = !hopeless;
    } else if (value != NULL && strcmp(value, "false") == 0) {
        error->retryable = false;
    }
}

static void apply_hints(ik_provider_error_t *error, const ik_error_body_t *body,
                        ik_retry_hint_header_fn *header, void *data, int64_t now)
{
    int64_t hint = ik_retry_hint_from_headers(header, data, now);
    if (hint < 0 && body->retry_delay != NULL) {
        hint = ik_retry_hint_parse_duration(body->retry_delay);
    }
    if (hint < 0 && body->message != NULL) {
        hint = ik_retry_hint_from_message(body->message);
    }
    if (hint < 0) {
        hint = ik_retry_hint_from_limits(header, data, now);
    }
    error->retry_after_ms = error->retryable ? hint : -1;
}

/* The body without a byte order mark. A server that fails while it streams may send its error as an
 * event: then the first data. */
static ik_json_span_t unwrap(const char *body, size_t len)
{
    static const char bom[] = "\xef\xbb\xbf";
    const char *end = body + len;
    if (len >= strlen(bom) && memcmp(body, bom, strlen(bom)) == 0) {
        body += strlen(bom);
    }
    const char *data = body;
    while (data != NULL && end - data > 5 && memcmp(data, "data:", 5) != 0) {
        const char *newline = memchr("dei:r\r\n", *data, 7) == NULL /* no line of an event */
                                  ? NULL
                                  : memchr(data, '\n', (size_t)(end - data));
        data = newline == NULL ? NULL : newline + 1;
    }
    if (data == NULL || end - data <= 5) {
        return (ik_json_span_t){body, (size_t)(end - body)};
    }
    const char *newline = memchr(data, '\n', (size_t)(end - data));
    return (ik_json_span_t){data + 5, (size_t)((newline == NULL ? end : newline) - data - 5)};
}

void ik_provider_error_parse(ik_provider_error_t *error, int status, const char *body, size_t len,
                             const char *(*header)(void *data, const char *name), void *data,
                             int64_t now)
{
    void *scratch = talloc_new(NULL);
    ik_error_body_t facts = {0};
    ik_json_span_t text = unwrap(body, len);
    ik_json_span_t value;
    *error = (ik_provider_error_t){.status = status};
    if (ik_json_scan(text.text, text.len, &value, NULL)) {
        ik_error_body_read(scratch, value, &facts);
    }
    const char *message = facts.message;
    if (message == NULL || !has_words(message)) {
        bool moved = status >= 300 && status < 400;
        const char *words =
            moved ? header(data, "location") : describe_body(scratch, text.text, text.len);
        message = ik_sprintf(scratch, "HTTP %d %s%s%s", status, find_status(status)->phrase,
                             words == NULL ? "" : ": ", words == NULL ? "" : words);
    }
    fill(scratch, error, &facts, message);
    apply_should_retry(error, header(data, "x-should-retry"));
    apply_hints(error, &facts, header, data, now);
    talloc_free(scratch);
}

void ik_provider_error_from_text(ik_provider_error_t *error, const char *message, const char *text,
                                 size_t len)
{
    void *scratch = talloc_new(NULL);
    const char *words = describe_body(scratch, text, len);
    *error = (ik_provider_error_t){
        .fault = IK_FAULT_SERVER, .retryable = true, .retry_after_ms = -1, .tool = -1};
    set_line(scratch, error->code, sizeof(error->code), "invalid_response");
    set_line(scratch, error->message, sizeof(error->message),
             words == NULL ? message : ik_sprintf(scratch, "%s: %s", message, words));
    talloc_free(scratch);
}

/* Headers that stand inside the body. */
typedef struct {
    const void *ctx;
    ik_json_span_t object;
} body_headers_t;

static const char *find_body_header(void *data, const char *name)
{
    const body_headers_t *headers = data;
    ik_json_span_t value;
    return ik_json_find_kind(headers->object, name, IK_JSON_STRING, &value)
               ? ik_json_decode(headers->ctx, value, NULL)
               : NULL;
}

void ik_provider_error_from_event(ik_provider_error_t *error, ik_json_span_t value)
{
    void *scratch = talloc_new(NULL);
    ik_error_body_t facts;
    *error = (ik_provider_error_t){0};
    ik_error_body_read(scratch, value, &facts);
    const char *message = facts.message;
    if (message == NULL || !has_words(message)) {
        message = ik_sprintf(scratch, "the provider reported an error%s%s",
                             facts.code == NULL ? "" : ": ", facts.code == NULL ? "" : facts.code);
    }
    fill(scratch, error, &facts, message);
    body_headers_t headers = {.ctx = scratch, .object = facts.headers};
    apply_hints(error, &facts, find_body_header, &headers, -1);
    talloc_free(scratch);
}

const char *ik_fault_name(ik_fault_t fault)
{
    static const char *const names[] = {
        [IK_FAULT_NONE] = "none",           [IK_FAULT_AUTH] = "auth",
        [IK_FAULT_QUOTA] = "quota",         [IK_FAULT_RATE_LIMIT] = "rate_limit",
        [IK_FAULT_SERVER] = "server",       [IK_FAULT_NOT_FOUND] = "not_found",
        [IK_FAULT_TOO_LARGE] = "too_large", [IK_FAULT_OVERFLOW] = "overflow",
        [IK_FAULT_REASONING] = "reasoning", [IK_FAULT_FIELD] = "field",
        [IK_FAULT_TOOL] = "tool",           [IK_FAULT_IMAGE] = "image",
        [IK_FAULT_IMAGES] = "images",       [IK_FAULT_INVALID] = "invalid",
        [IK_FAULT_NETWORK] = "network",
    };
    return names[fault];
}
