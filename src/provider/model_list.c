#include "provider/model_list.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/invisible.h"
#include "base/json.h"
#include "base/url_host.h"
#include "base/utf8.h"
#include "provider/request.h"

/* --- the request --------------------------------------------------------------------------- */

static const char open_router[] = "https://openrouter.ai/";

char *ik_model_list_format_url(const void *ctx, const ik_config_provider_t *provider)
{
    const char *path = "/models";
    if (provider->type == IK_CONFIG_TYPE_ANTHROPIC) {
        path = "/v1/models?limit=1000";
    } else if (provider->type == IK_CONFIG_TYPE_GOOGLE) {
        path = "/v1beta/models?pageSize=1000";
    } else if (provider->api_key != NULL &&
               strncmp(provider->base_url, open_router, strlen(open_router)) == 0) {
        /* The plain list is public and would accept every key. */
        path = "/models/user";
    }
    return ik_url_host_append(ctx, provider->base_url, path);
}

char **ik_model_list_format_headers(const void *ctx, const ik_config_provider_t *provider)
{
    ik_target_t target = {.config = provider, .provider = ik_provider_of(provider)};
    ik_request_t request = {.target = &target};
    char **headers = target.provider->format_headers(ctx, &request);
    size_t kept = 0;
    /* Those of a request with a body and a stream as its answer. */
    for (size_t i = 0; headers[i] != NULL; i++) {
        if (strncasecmp(headers[i], "content-type:", 13) != 0 &&
            strncasecmp(headers[i], "accept:", 7) != 0) {
            headers[kept++] = headers[i];
        }
    }
    headers[kept++] = ik_strdup(headers, "Accept: application/json");
    headers[kept] = NULL;
    return headers;
}

/* --- the answer ---------------------------------------------------------------------------- */

/* Names are shown and typed: one word of visible characters. */
static bool is_clean(const char *name, size_t len)
{
    bool valid = true;
    for (size_t at = 0; at < len;) {
        size_t step = ik_utf8_step(name + at, len - at, &valid);
        int32_t code = valid ? ik_utf8_decode(name + at, step) : 0;
        bool control = code <= ' ' || (code >= 0x7f && code <= 0xa0);
        if (!valid || control || code == 0xfffd || ik_invisible(code)) {
            return false;
        }
        at += step;
    }
    return len > 0 && len <= IK_MODEL_LIST_NAME_MAX;
}

/* Each vendor has its own name for the context window. */
static int64_t read_context(ik_json_span_t entry)
{
    static const char *const names[] = {"context_length",   "max_model_len",
                                        "context_window",   "max_context_length",
                                        "max_input_tokens", "inputTokenLimit"};
    enum { COUNT = sizeof(names) / sizeof(names[0]), DIGITS_MAX = 12 };
    ik_json_span_t values[COUNT + 1] = {0};
    ik_json_span_t meta;
    ik_json_find_members(entry, names, COUNT, values);
    if (ik_json_find_kind(entry, "meta", IK_JSON_OBJECT, &meta)) {
        ik_json_find(meta, "n_ctx_train", &values[COUNT]);
    }
    for (size_t i = 0; i <= COUNT; i++) {
        if (ik_json_is(values[i], IK_JSON_NUMBER) && values[i].len <= DIGITS_MAX &&
            strspn(values[i].text, "0123456789") >= values[i].len) {
            return strtoll(values[i].text, NULL, 10);
        }
    }
    return 0;
}

/* OpenRouter writes the price of a token as a string, and -1 when it depends. */
static double read_price(ik_json_span_t entry, const char *name)
{
    ik_json_span_t pricing;
    ik_json_span_t value;
    if (!ik_json_find_kind(entry, "pricing", IK_JSON_OBJECT, &pricing) ||
        !ik_json_find_kind(pricing, name, IK_JSON_STRING, &value)) {
        return -1;
    }
    json_error_t error;
    json_t *number = ik_json_parse(value.text + 1, value.len - 2, &error);
    double price = json_is_number(number) ? json_number_value(number) * 1e6 : -1;
    json_decref(number);
    return price >= 0 && price <= 1e6 ? price : -1;
}

/* Google also lists models that only embed text or draw. */
static bool can_talk(ik_json_span_t entry)
{
    ik_json_span_t methods;
    ik_json_span_t method;
    size_t position = 0;
    if (!ik_json_find_kind(entry, "supportedGenerationMethods", IK_JSON_ARRAY, &methods)) {
        return true;
    }
    while (ik_json_next_element(methods, &position, &method)) {
        if (ik_json_is_text(method, "generateContent")) {
            return true;
        }
    }
    return false;
}

/* The name of the model, or NULL when it cannot be used. */
static char *read_name(const void *ctx, const ik_config_provider_t *provider, ik_json_span_t entry)
{
    static const char folder[] = "models/"; /* Google's */
    ik_json_span_t value;
    size_t len;
    if (!ik_json_find_kind(entry, "id", IK_JSON_STRING, &value) &&
        !ik_json_find_kind(entry, "name", IK_JSON_STRING, &value)) {
        return NULL;
    }
    char *name = ik_json_decode(ctx, value, &len);
    bool has_key = provider->api_key != NULL && strstr(name, provider->api_key) != NULL;
    if (!is_clean(name, len) || has_key || !can_talk(entry)) {
        talloc_free(name);
        return NULL;
    }
    if (provider->type == IK_CONFIG_TYPE_GOOGLE && strncmp(name, folder, strlen(folder)) == 0) {
        memmove(name, name + strlen(folder), len + 1 - strlen(folder));
    }
    return name;
}

typedef struct {
    const char *name;
    size_t index;
} order_t;

static int compare(const void *left, const void *right)
{
    const order_t *a = left;
    const order_t *b = right;
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

/* By sorting: comparing every pair of 5,000 names would take too long. */
static void drop_duplicates(ik_model_list_t *list)
{
    order_t *sorted = ik_new_array(NULL, order_t, list->count + 1);
    for (size_t i = 0; i < list->count; i++) {
        sorted[i] = (order_t){list->entries[i].name, i};
    }
    qsort(sorted, list->count, sizeof(sorted[0]), compare);
    for (size_t i = 1; i < list->count; i++) {
        if (strcmp(sorted[i - 1].name, sorted[i].name) == 0) {
            list->entries[sorted[i].index].name = NULL;
        }
    }
    talloc_free(sorted);
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->entries[i].name != NULL) {
            list->entries[kept++] = list->entries[i];
        }
    }
    list->count = kept;
}

/* {"data": […]}, Google's {"models": […]}, or the array alone. Ollama without a model answers
 * {"data": null}. */
static bool find_array(const char *body, size_t len, ik_json_span_t *array)
{
    static const char empty[] = "[]";
    ik_json_span_t root;
    if (!ik_json_scan(body, len, &root, NULL)) {
        return false;
    }
    *array = root;
    if (ik_json_kind(root) == IK_JSON_ARRAY ||
        ik_json_find_kind(root, "data", IK_JSON_ARRAY, array) ||
        ik_json_find_kind(root, "models", IK_JSON_ARRAY, array)) {
        return true;
    }
    bool is_null = ik_json_find_kind(root, "data", IK_JSON_NULL, array);
    *array = (ik_json_span_t){.text = empty, .len = sizeof(empty) - 1};
    return is_null;
}

res_t ik_model_list_parse(const void *ctx, const ik_config_provider_t *provider, const char *body,
                          size_t len, ik_model_list_t *out)
{
    ik_json_span_t array;
    ik_json_span_t entry;
    size_t position = 0;
    size_t capacity = 0;
    *out = (ik_model_list_t){0};
    if (!find_array(body, len, &array)) {
        return ERR(INVALID, "the answer is not a list of models");
    }
    while (out->count < IK_MODEL_LIST_MAX && ik_json_next_element(array, &position, &entry)) {
        char *name = ik_json_kind(entry) == IK_JSON_OBJECT ? read_name(ctx, provider, entry) : NULL;
        if (name == NULL) {
            continue;
        }
        if (out->count == capacity) {
            capacity = capacity == 0 ? 16 : capacity * 2;
            out->entries = ik_resize_array(ctx, out->entries, ik_model_list_entry_t, capacity);
        }
        out->entries[out->count++] = (ik_model_list_entry_t){
            .name = name,
            .context = read_context(entry),
            .input = read_price(entry, "prompt"),
            .output = read_price(entry, "completion"),
        };
    }
    drop_duplicates(out);
    return OK;
}
