/*
 * Makes HTTP requests as its standard input says and prints what came of them, all in JSON:
 *
 *   {"steps": [[request, ...], ...], "linger_ms": 20}
 *
 * The requests of a step run side by side; a step is over when each has ended or was freed, and
 * linger_ms later (0: at once) the next one begins. A request:
 *
 *   url, headers, parts    as in io/http.h; fill adds a part of that many bytes
 *   connect_ms, silence_ms
 *   names                  of headers to report of the response
 *   sse                    the body is also parsed as server-sent events, which are counted
 *   refuse                 this piece of the body (from 1) is refused
 *   waits                  it is not started by the step but by another request
 *   on_start, on_head, on_body (the first), on_end:
 *       {"start": [numbers of requests], "free": [numbers]}    what to do then
 *
 * "describe": true adds what ik_http_describe says.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/json.h"
#include "io/http.h"
#include "provider/sse.h"

enum { LIMIT_MS = 60000, BODY_MAX = 64 * 1024 * 1024 };

static const char *const outcomes[] = {
    [IK_HTTP_DONE] = "DONE",
    [IK_HTTP_UNAVAILABLE] = "UNAVAILABLE",
    [IK_HTTP_BAD_REQUEST] = "BAD_REQUEST",
    [IK_HTTP_NO_CONNECTION] = "NO_CONNECTION",
    [IK_HTTP_CONNECT_TIMEOUT] = "CONNECT_TIMEOUT",
    [IK_HTTP_TLS] = "TLS",
    [IK_HTTP_BROKEN] = "BROKEN",
    [IK_HTTP_SILENT] = "SILENT",
    [IK_HTTP_REFUSED] = "REFUSED",
};

typedef struct exchange exchange_t;

typedef struct {
    ik_loop_t *loop;
    ik_http_t *http;
    int64_t linger_ms;
    exchange_t *exchanges; /* of the step under way */
    size_t count;
    size_t pending;
    bool step_done;
} driver_t;

struct exchange {
    driver_t *driver;
    json_t *spec;
    json_t *report;
    ik_http_request_t *request;
    ik_http_part_t *parts;
    ik_sse_t *sse;
    ik_buffer_t body;
    int heads;
    int pieces;
    int ends;
    int events;
    bool calling; /* into ik_http_start: no callback may come */
};

static void require(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "http_driver: %s\n", what);
        abort();
    }
}

static int64_t integer(const json_t *object, const char *key, int64_t otherwise)
{
    json_t *value = json_object_get(object, key);
    return value == NULL ? otherwise : json_integer_value(value);
}

static void set(json_t *object, const char *key, json_t *value)
{
    require(json_object_set_new(object, key, value) == 0, "no JSON for an answer");
}

/* --- one request --------------------------------------------------------------------------- */

static void begin(exchange_t *exchange);

static void release(exchange_t *exchange)
{
    driver_t *driver = exchange->driver;
    exchange->request = NULL;
    talloc_free(exchange->parts); /* they must not be read any more */
    driver->pending--;
    driver->step_done = driver->pending == 0;
}

static void free_request(exchange_t *exchange)
{
    if (exchange->request != NULL) {
        talloc_free(exchange->request);
        set(exchange->report, "freed", json_true());
        release(exchange);
    }
}

/* What the request is told to do at this moment. */
static void act(exchange_t *exchange, const char *moment)
{
    json_t *actions = json_object_get(exchange->spec, moment);
    size_t i;
    json_t *number;
    json_array_foreach(json_object_get(actions, "start"), i, number)
    {
        begin(&exchange->driver->exchanges[json_integer_value(number)]);
    }
    json_array_foreach(json_object_get(actions, "free"), i, number)
    {
        free_request(&exchange->driver->exchanges[json_integer_value(number)]);
    }
}

static void on_head(void *data, const ik_http_head_t *head)
{
    exchange_t *exchange = data;
    json_t *values = json_object();
    size_t i;
    json_t *name;
    require(!exchange->calling && exchange->request != NULL, "on_head came at a wrong time");
    require(exchange->pieces == 0, "on_head came after the body");
    exchange->heads++;
    set(exchange->report, "status", json_integer(ik_http_head_status(head)));
    json_array_foreach(json_object_get(exchange->spec, "names"), i, name)
    {
        const char *value = ik_http_head_value(head, json_string_value(name));
        set(values, json_string_value(name), value == NULL ? json_null() : json_string(value));
    }
    set(exchange->report, "values", values);
    act(exchange, "on_head");
}

static bool on_event(void *user, const char *event, const char *data, size_t len)
{
    (void)event;
    (void)data;
    (void)len;
    ((exchange_t *)user)->events++;
    return true;
}

static bool on_body(void *data, const char *bytes, size_t len)
{
    exchange_t *exchange = data;
    require(!exchange->calling && exchange->request != NULL, "on_body came at a wrong time");
    require(exchange->heads == 1, "on_body came before on_head");
    require(integer(exchange->spec, "refuse", 0) == 0 ||
                exchange->pieces < integer(exchange->spec, "refuse", 0),
            "on_body came after it was refused");
    exchange->pieces++;
    if (exchange->sse != NULL) {
        require(ik_sse_feed(exchange->sse, bytes, len), "the event stream stopped");
    } else {
        ik_buffer_append(&exchange->body, bytes, len);
    }
    if (exchange->pieces == 1) {
        act(exchange, "on_body");
    }
    return exchange->pieces != integer(exchange->spec, "refuse", 0);
}

static void on_end(void *data, const ik_http_end_t *end)
{
    exchange_t *exchange = data;
    require(!exchange->calling && exchange->request != NULL, "on_end came at a wrong time");
    require(end->answered == (exchange->heads > 0), "answered is wrong");
    require((end->message == NULL) == (end->outcome == IK_HTTP_DONE), "the message is wrong");
    exchange->ends++;
    set(exchange->report, "outcome", json_string(outcomes[end->outcome]));
    set(exchange->report, "message",
        end->message == NULL ? json_null() : json_string(end->message));
    set(exchange->report, "new_connection", json_boolean(end->new_connection));
    set(exchange->report, "cut", json_boolean(end->cut));
    act(exchange, "on_end");
    if (exchange->request != NULL) { /* or it was freed just now */
        release(exchange);
    }
}

static const char **strings(const void *ctx, json_t *array)
{
    const char **copy = ik_new_array(ctx, const char *, json_array_size(array) + 1);
    size_t i;
    json_t *value;
    json_array_foreach(array, i, value)
    {
        copy[i] = json_string_value(value);
    }
    return copy;
}

static size_t make_parts(json_t *spec, ik_http_part_t *parts)
{
    size_t count = 0;
    size_t i;
    json_t *value;
    json_array_foreach(json_object_get(spec, "parts"), i, value)
    {
        parts[count++] = (ik_http_part_t){json_string_value(value), json_string_length(value)};
    }
    size_t fill = (size_t)integer(spec, "fill", 0);
    if (fill > 0) {
        char *bytes = ik_new_array(parts, char, fill);
        memset(bytes, 'x', fill);
        parts[count++] = (ik_http_part_t){bytes, fill};
    }
    return count;
}

static void begin(exchange_t *exchange)
{
    driver_t *driver = exchange->driver;
    json_t *spec = exchange->spec;
    void *scratch = talloc_new(NULL);
    size_t most = json_array_size(json_object_get(spec, "parts")) + 1;
    exchange->parts = ik_new_array(driver->exchanges, ik_http_part_t, most);
    char *url = ik_strdup(scratch, json_string_value(json_object_get(spec, "url")));
    ik_http_options_t options = {.url = url,
                                 .headers = strings(scratch, json_object_get(spec, "headers")),
                                 .parts = exchange->parts,
                                 .part_count = make_parts(spec, exchange->parts),
                                 .connect_ms = integer(spec, "connect_ms", LIMIT_MS),
                                 .silence_ms = integer(spec, "silence_ms", LIMIT_MS),
                                 .on_head = on_head,
                                 .on_body = on_body,
                                 .on_end = on_end,
                                 .data = exchange};
    if (json_is_true(json_object_get(spec, "sse"))) {
        exchange->sse = ik_sse_create(driver->exchanges, on_event, exchange);
    }
    driver->pending++;
    exchange->calling = true;
    exchange->request = ik_http_start(driver->exchanges, driver->http, &options);
    exchange->calling = false;
    talloc_free(scratch); /* strings are copied */
    act(exchange, "on_start");
}

/* --- steps --------------------------------------------------------------------------------- */

static void on_lingered(void *data)
{
    *(bool *)data = true;
}

static void linger(driver_t *driver)
{
    bool done = false;
    ik_timer_t *timer = ik_timer_create(driver, driver->loop, on_lingered, &done);
    ik_timer_start(timer, driver->linger_ms);
    require(ik_loop_run_until(driver->loop, &done), "the loop stopped");
    talloc_free(timer);
}

static json_t *finish(exchange_t *exchange)
{
    json_t *report = exchange->report;
    json_t *text = json_stringn(exchange->body.data, exchange->body.len);
    if (exchange->sse != NULL) {
        require(ik_sse_finish(exchange->sse), "the event stream stopped");
    }
    set(report, "body", text == NULL ? json_null() : text);
    set(report, "body_len", json_integer((json_int_t)exchange->body.len));
    set(report, "heads", json_integer(exchange->heads));
    set(report, "pieces", json_integer(exchange->pieces));
    set(report, "ends", json_integer(exchange->ends));
    set(report, "events", json_integer(exchange->events));
    return report;
}

static void start_all(driver_t *driver, json_t *specs)
{
    driver->count = json_array_size(specs);
    driver->exchanges = ik_new_array(driver, exchange_t, driver->count);
    for (size_t i = 0; i < driver->count; i++) {
        exchange_t *exchange = &driver->exchanges[i];
        exchange->driver = driver;
        exchange->spec = json_array_get(specs, i);
        exchange->report = json_object();
        ik_buffer_init(&exchange->body, driver->exchanges, BODY_MAX);
        ik_buffer_append(&exchange->body, "", 0);
    }
    for (size_t i = 0; i < driver->count; i++) {
        if (!json_is_true(json_object_get(driver->exchanges[i].spec, "waits"))) {
            begin(&driver->exchanges[i]);
        }
    }
}

static json_t *run_step(driver_t *driver, json_t *specs)
{
    driver->pending = 0;
    driver->step_done = false;
    start_all(driver, specs);
    driver->step_done = driver->pending == 0;
    require(ik_loop_run_until(driver->loop, &driver->step_done), "the loop stopped");
    if (driver->linger_ms > 0) {
        linger(driver);
    }
    json_t *reports = json_array();
    for (size_t i = 0; i < driver->count; i++) {
        json_array_append_new(reports, finish(&driver->exchanges[i]));
    }
    talloc_free(driver->exchanges);
    return reports;
}

static size_t count_descriptors(void)
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL) {
        return 0;
    }
    while (readdir(dir) != NULL) {
        count++;
    }
    closedir(dir);
    return count;
}

static json_t *measure(void)
{
    struct timespec cpu;
    json_t *figures = json_object();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    set(figures, "cpu_us", json_integer(cpu.tv_sec * 1000000 + cpu.tv_nsec / 1000));
    set(figures, "blocks", json_integer((json_int_t)talloc_total_blocks(NULL)));
    set(figures, "descriptors", json_integer((json_int_t)count_descriptors()));
    return figures;
}

static void describe(json_t *report)
{
    char *text = NULL;
    res_t described = ik_http_describe(NULL, &text);
    set(report, "describe", json_string(is_ok(&described) ? text : described.message));
    set(report, "described", json_boolean(is_ok(&described)));
    talloc_free(text);
}

int main(void)
{
    json_error_t error;
    talloc_enable_null_tracking();
    json_t *script = json_loadf(stdin, 0, &error);
    require(script != NULL, error.text);
    driver_t *driver = ik_new(NULL, driver_t);
    driver->linger_ms = integer(script, "linger_ms", 20);
    res_t created = ik_loop_create(driver, &driver->loop);
    require(is_ok(&created), created.message);
    driver->http = ik_http_create(driver, driver->loop);
    json_t *report = json_object();
    json_t *steps = json_array();
    json_t *figures = json_array();
    size_t i;
    json_t *specs;
    json_array_foreach(json_object_get(script, "steps"), i, specs)
    {
        json_array_append_new(steps, run_step(driver, specs));
        json_array_append_new(figures, measure());
    }
    if (json_is_true(json_object_get(script, "describe"))) {
        describe(report);
    }
    talloc_free(driver->http);
    talloc_free(driver->loop);
    talloc_free(driver);
    set(report, "steps", steps);
    set(report, "figures", figures);
    json_dumpf(report, stdout, 0);
    json_decref(report);
    json_decref(script);
    talloc_disable_null_tracking();
    return 0;
}
