/*
 * A transfer is what libcurl works on; a request is the handle that its owner holds. A request can
 * be freed at any time, even from a callback of libcurl, where a transfer must not be removed. The
 * transfer is then left without its request and removed when libcurl has returned. For the same
 * reason a request started from such a callback waits in the list until then, as all requests do
 * until the library is loaded. For the silence limit each read only notes the time; the watchdog
 * checks it when it fires.
 */
#include "io/http.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "io/curl_library.h"
#include "io/http_certificates.h"
#include "io/http_failure.h"
#include "io/http_head.h"
#include "io/loop_uv.h"

typedef struct transfer transfer_t;

enum { LOAD_STACK = 1024 * 1024 };

/* Used by a worker thread until on_loaded, so not a child of http. The thread does not come from
 * libuv's pool, which ends the program when the system cannot create a thread. */
typedef struct {
    uv_async_t loaded;
    uv_thread_t thread;
    bool threaded;
    ik_http_t *http; /* NULL when it was freed meanwhile */
} load_t;

struct ik_http {
    ik_loop_t *loop;
    load_t *load;                  /* while the library is being loaded */
    const ik_curl_library_t *curl; /* NULL until it is loaded */
    CURLM *multi;
    ik_timer_t *timer; /* for libcurl's own timeouts */
    bool inside;       /* libcurl is running and must not be called again */
    bool distrusted;   /* a server was, so all certificates are needed (http_certificates.h) */
    transfer_t *transfers;
};

/* A socket of libcurl. libuv holds the handle, so it is freed in on_socket_closed. */
typedef struct {
    uv_poll_t poll;
    ik_http_t *http;
    curl_socket_t fd;
    int wanted; /* UV_READABLE, UV_WRITABLE */
    /* When data arrives in a rush of small reads, a short rest lets several arrive together. */
    unsigned reads;   /* since the time below */
    uint64_t since;   /* in ms of the loop */
    bool rushing;     /* the last RUSH_READS reads took no longer than RUSH_MS */
    ik_timer_t *rest; /* NULL until it is needed */
} socket_t;

/* Above the rate at which models stream answers (50 to 300 reads a second), so a rest never delays
 * text that a person is reading. */
enum { RUSH_READS = 32, RUSH_MS = 32, REST_MS = 1 };

struct ik_http_request {
    transfer_t *transfer;
};

struct transfer {
    ik_http_t *http;
    transfer_t *next;
    transfer_t **link;          /* the pointer to this transfer */
    ik_http_request_t *request; /* NULL: freed by its owner */
    ik_http_options_t options;  /* with copies of strings and parts */
    CURL *easy;                 /* NULL while it waits */
    struct curl_slist *headers;
    size_t part;   /* index of the part of the body to read next */
    size_t offset; /* in that part */
    ik_http_head_t head;
    bool answered;
    bool head_too_large;
    bool folder_only; /* not all certificates are used (http_certificates.h) */
    bool refused;     /* by on_body */
    bool ended;
    ik_timer_t *watchdog;
    bool overdue; /* the silence limit has passed; pending input is read before the end */
    int64_t begun_ms;
    int64_t byte_ms; /* when the last byte was received or sent */
    char error[CURL_ERROR_SIZE];
};

/* --- the list of transfers ----------------------------------------------------------------- */

static void unlink_transfer(transfer_t *transfer)
{
    *transfer->link = transfer->next;
    if (transfer->next != NULL) {
        transfer->next->link = transfer->link;
    }
}

static void drop(transfer_t *transfer)
{
    unlink_transfer(transfer);
    talloc_free(transfer);
}

/* Removes the transfer from libcurl. */
static int release(transfer_t *transfer)
{
    ik_http_t *http = transfer->http;
    if (transfer->easy != NULL) {
        http->curl->multi_remove_handle(http->multi, transfer->easy);
        http->curl->easy_cleanup(transfer->easy);
        http->curl->slist_free_all(transfer->headers);
        transfer->easy = NULL;
        transfer->headers = NULL;
    }
    return 0;
}

static int abandon(ik_http_request_t *request)
{
    transfer_t *transfer = request->transfer;
    transfer->request = NULL;
    if (!transfer->ended && !transfer->http->inside) {
        drop(transfer);
    }
    return 0;
}

/* --- the end ------------------------------------------------------------------------------- */

/* The transfer must have been unlinked: on_end may start requests and free any of them. */
static void end(transfer_t *transfer, const ik_http_failure_t *failure)
{
    const ik_curl_library_t *curl = transfer->http->curl;
    long connects = 0;
    if (transfer->easy != NULL) {
        curl->easy_getinfo(transfer->easy, CURLINFO_NUM_CONNECTS, &connects);
    }
    ik_http_end_t result = {.outcome = failure->outcome,
                            .message = ik_http_failure_describe(transfer, curl, failure),
                            .answered = transfer->answered,
                            .new_connection = connects > 0,
                            .cut = ik_http_failure_is_cut(failure)};
    release(transfer);
    transfer->ended = true;
    transfer->options.on_end(transfer->options.data, &result);
    talloc_free(transfer->request);
    talloc_free(transfer);
}

/* Whether the request is being sent or was sent, and since when. */
static bool is_sent(const transfer_t *transfer, int64_t *since_ms)
{
    curl_off_t connecting_us = 0;
    transfer->http->curl->easy_getinfo(transfer->easy, CURLINFO_PRETRANSFER_TIME_T, &connecting_us);
    *since_ms = transfer->begun_ms + connecting_us / 1000;
    return connecting_us > 0;
}

/* The cause in cases where libcurl's own message misleads, or where it accepts an incomplete
 * response; otherwise NULL. */
static const char *explain(const transfer_t *transfer, CURLcode code)
{
    if (transfer->answered) {
        return NULL;
    }
    if (transfer->head_too_large) {
        return "its header is too large";
    }
    if (code == CURLE_OUT_OF_MEMORY) {
        return "a line of its header is too large"; /* memory itself never runs out: curl_library.c
                                                     */
    }
    if (code == CURLE_UNSUPPORTED_PROTOCOL) {
        return "the response is not HTTP";
    }
    return code == CURLE_OK ? "its header is cut off" : NULL;
}

static void end_by_curl(transfer_t *transfer, CURLcode code)
{
    const ik_curl_library_t *curl = transfer->http->curl;
    int64_t since_ms;
    bool sent = is_sent(transfer, &since_ms);
    long error = 0;
    curl->easy_getinfo(transfer->easy, CURLINFO_OS_ERRNO, &error);
    ik_http_failure_t failure = {.outcome = ik_http_failure_outcome(code, sent),
                                 .url = transfer->options.url,
                                 .detail = transfer->error[0] == '\0' ? curl->easy_strerror(code)
                                                                      : transfer->error,
                                 .connect_errno = (int)error,
                                 .limit_ms = transfer->options.connect_ms};
    const char *explanation = sent ? explain(transfer, code) : NULL;
    if (transfer->refused) {
        failure.outcome = IK_HTTP_REFUSED;
    } else if (explanation != NULL) {
        failure.outcome = IK_HTTP_BROKEN;
        failure.detail = explanation;
    }
    unlink_transfer(transfer);
    end(transfer, &failure);
}

/* A round of the loop runs timers before sockets: if ikigai itself was suspended (stopped, a laptop
 * asleep), bytes may have arrived in time without having been read. The request is therefore ended
 * one round after the limit. While it connects, connect_ms applies instead. */
static void on_watchdog(void *data)
{
    transfer_t *transfer = data;
    int64_t now = ik_clock_now_ms();
    int64_t last_ms;
    if (!is_sent(transfer, &last_ms)) {
        last_ms = now;
    } else if (transfer->byte_ms > last_ms) {
        last_ms = transfer->byte_ms;
    }
    int64_t left = last_ms + transfer->options.silence_ms - now;
    if (left > 0 || !transfer->overdue) {
        transfer->overdue = left <= 0;
        ik_timer_start(transfer->watchdog, left > 0 ? left : 1);
        return;
    }
    ik_http_failure_t failure = {.outcome = IK_HTTP_SILENT,
                                 .url = transfer->options.url,
                                 .detail = "",
                                 .limit_ms = transfer->options.silence_ms};
    unlink_transfer(transfer);
    end(transfer, &failure);
}

/* --- callbacks for data --------------------------------------------------------------------- */

/* Uses the loop's cached time, taken when the socket became ready: no system call. */
static void note_byte(transfer_t *transfer)
{
    transfer->byte_ms = (int64_t)uv_now(ik_loop_uv(transfer->http->loop));
}

static size_t on_header(char *line, size_t size, size_t count, void *data)
{
    transfer_t *transfer = data;
    size_t len = size * count;
    if (transfer->request == NULL) {
        return 0;
    }
    note_byte(transfer);
    if (transfer->answered) {
        return len; /* a trailer */
    }
    ik_http_head_state_t state = ik_http_head_add(&transfer->head, line, len);
    transfer->head_too_large = state == IK_HTTP_HEAD_TOO_LARGE;
    if (state == IK_HTTP_HEAD_COMPLETE) {
        transfer->answered = true;
        transfer->options.on_head(transfer->options.data, &transfer->head);
    }
    return transfer->request == NULL || transfer->head_too_large ? 0 : len;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *data)
{
    transfer_t *transfer = data;
    size_t len = size * count;
    if (transfer->request == NULL) {
        return 0;
    }
    note_byte(transfer);
    transfer->refused = !transfer->options.on_body(transfer->options.data, bytes, len);
    return transfer->request == NULL || transfer->refused ? 0 : len;
}

static size_t on_read(char *target, size_t size, size_t count, void *data)
{
    transfer_t *transfer = data;
    size_t room = size * count;
    size_t filled = 0;
    if (transfer->request == NULL) {
        return CURL_READFUNC_ABORT;
    }
    note_byte(transfer);
    while (filled < room && transfer->part < transfer->options.part_count) {
        const ik_http_part_t *part = &transfer->options.parts[transfer->part];
        size_t left = part->len - transfer->offset;
        size_t len = left < room - filled ? left : room - filled;
        if (len > 0) { /* an empty part may have no bytes at all */
            memcpy(target + filled, part->bytes + transfer->offset, len);
        }
        filled += len;
        transfer->offset += len;
        if (transfer->offset == part->len) {
            transfer->part++;
            transfer->offset = 0;
        }
    }
    return filled;
}

/* When a reused connection turns out to be dead, libcurl sends the body again on a new one. */
static int on_seek(void *data, curl_off_t offset, int origin)
{
    transfer_t *transfer = data;
    if (transfer->request == NULL || origin != SEEK_SET || offset != 0) {
        return CURL_SEEKFUNC_FAIL;
    }
    transfer->part = 0;
    transfer->offset = 0;
    return CURL_SEEKFUNC_OK;
}

/* --- preparing a transfer ------------------------------------------------------------------- */

static const struct {
    CURLoption option;
    long value;
} fixed_options[] = {
    {CURLOPT_NOSIGNAL, 1},
    {CURLOPT_NOPROGRESS, 1},
    {CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS},
    {CURLOPT_FOLLOWLOCATION, 0},
    {CURLOPT_NETRC, CURL_NETRC_IGNORED},
    {CURLOPT_HEADEROPT, CURLHEADER_SEPARATE}, /* a tunnelling proxy must not see our headers */
    {CURLOPT_SUPPRESS_CONNECT_HEADERS, 1},
    {CURLOPT_TCP_NODELAY, 1},
    {CURLOPT_TCP_KEEPALIVE, 1},
#if LIBCURL_VERSION_NUM >= 0x075700
    {CURLOPT_QUICK_EXIT, 1}, /* do not wait for a hanging resolver when a request is freed */
#endif
};

static void allow_only_http(const ik_curl_library_t *curl, CURL *easy)
{
#if LIBCURL_VERSION_NUM >= 0x075500
    if (curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK) {
        return;
    }
#endif
    curl->easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
}

static void set_headers(transfer_t *transfer)
{
    const ik_curl_library_t *curl = transfer->http->curl;
    struct curl_slist *list = curl->slist_append(NULL, "Expect:"); /* no waiting for 100 Continue */
    for (size_t i = 0; list != NULL && transfer->options.headers[i] != NULL; i++) {
        list = curl->slist_append(list, transfer->options.headers[i]);
    }
    if (list == NULL) {
        ik_alloc_fail();
    }
    transfer->headers = list;
    curl->easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, list);
}

static void set_body(transfer_t *transfer)
{
    const ik_curl_library_t *curl = transfer->http->curl;
    curl_off_t len = 0;
    for (size_t i = 0; i < transfer->options.part_count; i++) {
        len += (curl_off_t)transfer->options.parts[i].len;
    }
    if (transfer->options.part_count > 0) {
        curl->easy_setopt(transfer->easy, CURLOPT_POST, 1L);
        curl->easy_setopt(transfer->easy, CURLOPT_POSTFIELDSIZE_LARGE, len);
        curl->easy_setopt(transfer->easy, CURLOPT_READFUNCTION, on_read);
        curl->easy_setopt(transfer->easy, CURLOPT_READDATA, transfer);
        curl->easy_setopt(transfer->easy, CURLOPT_SEEKFUNCTION, on_seek);
        curl->easy_setopt(transfer->easy, CURLOPT_SEEKDATA, transfer);
    }
}

static void set_options(transfer_t *transfer)
{
    const ik_curl_library_t *curl = transfer->http->curl;
    CURL *easy = transfer->easy;
    for (size_t i = 0; i < IK_LENGTH(fixed_options); i++) {
        curl->easy_setopt(easy, fixed_options[i].option, fixed_options[i].value);
    }
    allow_only_http(curl, easy);
    transfer->folder_only = ik_http_certificates_apply(curl, easy, transfer->http->distrusted);
    curl->easy_setopt(easy, CURLOPT_URL, transfer->options.url);
    curl->easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, ""); /* every encoding it supports */
    curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)transfer->options.connect_ms);
    curl->easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
    curl->easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    curl->easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl->easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl->easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    set_headers(transfer);
    set_body(transfer);
    if (transfer->options.method != NULL) {
        curl->easy_setopt(easy, CURLOPT_CUSTOMREQUEST, transfer->options.method);
    }
}

/* Passes the transfer to libcurl, which only asks for a timer at this point. */
static void admit(transfer_t *transfer)
{
    ik_http_t *http = transfer->http;
    transfer->easy = http->curl->easy_init();
    if (transfer->easy == NULL) {
        ik_alloc_fail();
    }
    set_options(transfer);
    transfer->begun_ms = ik_clock_now_ms();
    ik_timer_start(transfer->watchdog, transfer->options.silence_ms);
    CURLMcode code = http->curl->multi_add_handle(http->multi, transfer->easy);
    if (code != CURLM_OK) {
        PANIC("libcurl does not accept a request: %d", (int)code);
    }
}

/* --- libcurl on the loop -------------------------------------------------------------------- */

/* Does what had to wait until libcurl returned. */
static void settle(ik_http_t *http)
{
    transfer_t *next;
    for (transfer_t *transfer = http->transfers; transfer != NULL; transfer = next) {
        next = transfer->next;
        if (transfer->request == NULL) {
            drop(transfer);
        } else if (transfer->easy == NULL) {
            admit(transfer);
        }
    }
}

static void report_ends(ik_http_t *http)
{
    int left;
    CURLMsg *message;
    while ((message = http->curl->multi_info_read(http->multi, &left)) != NULL) {
        transfer_t *transfer = NULL;
        CURLcode code = message->data.result;
        http->curl->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
        if (code == CURLE_PEER_FAILED_VERIFICATION && transfer->folder_only) {
            http->distrusted = true;
            release(transfer);
            admit(transfer);
        } else {
            end_by_curl(transfer, code);
        }
    }
}

static void run_curl(ik_http_t *http, curl_socket_t fd, int ready)
{
    int running;
    http->inside = true;
    http->curl->multi_socket_action(http->multi, fd, ready, &running);
    http->inside = false;
    settle(http);
    report_ends(http);
}

static void on_timer(void *data)
{
    run_curl(data, CURL_SOCKET_TIMEOUT, 0);
}

static int on_timer_wanted(CURLM *multi, long after_ms, void *data)
{
    (void)multi;
    ik_http_t *http = data;
    if (after_ms < 0) {
        ik_timer_stop(http->timer);
    } else {
        ik_timer_start(http->timer, after_ms);
    }
    return 0;
}

static void on_socket_ready(uv_poll_t *handle, int status, int events);

static void watch_socket(socket_t *socket)
{
    uv_poll_start(&socket->poll, socket->wanted, on_socket_ready);
}

static void on_rested(void *data)
{
    watch_socket(data);
}

/* Whether reads follow so fast that waking up for each is wasteful; measured over RUSH_READS. */
static bool is_rush(socket_t *socket)
{
    if (++socket->reads >= RUSH_READS) {
        uint64_t now = uv_now(socket->poll.loop);
        socket->rushing = now - socket->since <= RUSH_MS;
        socket->since = now;
        socket->reads = 0;
    }
    return socket->rushing;
}

static void rest(socket_t *socket)
{
    if (socket->rest == NULL) {
        socket->rest = ik_timer_create(socket, socket->http->loop, on_rested, socket);
    }
    uv_poll_stop(&socket->poll);
    ik_timer_start(socket->rest, REST_MS);
}

/* libuv stops watching at an error. libcurl still has to read the data before it, which can take
 * several rounds, and find the error itself; so watching goes on until libcurl removes the socket.
 */
static void on_socket_ready(uv_poll_t *handle, int status, int events)
{
    socket_t *socket = handle->data;
    if (status < 0) {
        watch_socket(socket);
        events = socket->wanted;
    }
    int ready = ((events & UV_READABLE) != 0 ? CURL_CSELECT_IN : 0) |
                ((events & UV_WRITABLE) != 0 ? CURL_CSELECT_OUT : 0);
    run_curl(socket->http, socket->fd, ready);
    bool gone = uv_is_closing((uv_handle_t *)handle) != 0;
    if (!gone && status >= 0 && socket->wanted == UV_READABLE && is_rush(socket)) {
        rest(socket);
    }
}

static void on_socket_closed(uv_handle_t *handle)
{
    talloc_free(handle->data);
}

static socket_t *create_socket(ik_http_t *http, curl_socket_t fd)
{
    socket_t *socket = ik_new(NULL, socket_t);
    socket->http = http;
    socket->fd = fd;
    socket->poll.data = socket;
    if (uv_poll_init_socket(ik_loop_uv(http->loop), &socket->poll, fd) != 0) {
        PANIC("socket %d cannot be watched", (int)fd);
    }
    http->curl->multi_assign(http->multi, fd, socket);
    return socket;
}

/* libcurl removes a socket here before it closes it. */
static int on_socket_wanted(CURL *easy, curl_socket_t fd, int what, void *data, void *assigned)
{
    (void)easy;
    socket_t *socket = assigned;
    if (what == CURL_POLL_REMOVE) {
        if (socket != NULL) {
            TALLOC_FREE(socket->rest);
            uv_close((uv_handle_t *)&socket->poll, on_socket_closed);
        }
        return 0;
    }
    if (socket == NULL) {
        socket = create_socket(data, fd);
    }
    socket->wanted = ((what & CURL_POLL_IN) != 0 ? UV_READABLE : 0) |
                     ((what & CURL_POLL_OUT) != 0 ? UV_WRITABLE : 0);
    watch_socket(socket);
    return 0;
}

static void create_multi(ik_http_t *http)
{
    const ik_curl_library_t *curl = http->curl;
    http->multi = curl->multi_init();
    if (http->multi == NULL) {
        ik_alloc_fail();
    }
    http->timer = ik_timer_create(http, http->loop, on_timer, http);
    curl->multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, on_socket_wanted);
    curl->multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
    curl->multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, on_timer_wanted);
    curl->multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
}

/* --- loading the library -------------------------------------------------------------------- */

/* Runs in a worker thread. */
static void on_load(void *data)
{
    const char *problem;
    ik_curl_library_load(&problem);
    uv_async_send(&((load_t *)data)->loaded);
}

static void on_load_closed(uv_handle_t *handle)
{
    talloc_free(handle->data);
}

/* Requests that on_end starts wait for another attempt. */
static void end_all_waiting(ik_http_t *http, const char *problem)
{
    transfer_t *waiting = http->transfers;
    http->transfers = NULL;
    if (waiting != NULL) {
        waiting->link = &waiting;
    }
    while (waiting != NULL) {
        transfer_t *transfer = waiting;
        ik_http_failure_t failure = {.outcome = IK_HTTP_UNAVAILABLE, .detail = problem};
        unlink_transfer(transfer);
        end(transfer, &failure);
    }
}

static void on_loaded(uv_async_t *loaded)
{
    load_t *load = loaded->data;
    ik_http_t *http = load->http;
    if (load->threaded) {
        uv_thread_join(&load->thread);
    }
    uv_close((uv_handle_t *)loaded, on_load_closed);
    if (http == NULL) {
        return;
    }
    const char *problem;
    http->load = NULL;
    http->curl = ik_curl_library_load(&problem);
    if (http->curl == NULL) {
        end_all_waiting(http, problem);
    } else {
        create_multi(http);
        settle(http);
    }
}

/* If no thread can be created, on_loaded loads the library and blocks the loop meanwhile. The
 * thread blocks all signals, which belong to the loop. */
static void start_loading(load_t *load)
{
    uv_thread_options_t options = {.flags = UV_THREAD_HAS_STACK_SIZE, .stack_size = LOAD_STACK};
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    load->threaded = uv_thread_create_ex(&load->thread, &options, on_load, load) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!load->threaded) {
        uv_async_send(&load->loaded);
    }
}

void ik_http_prepare(ik_http_t *http)
{
    if (http->multi == NULL && http->load == NULL) {
        load_t *load = http->load = ik_new(NULL, load_t);
        load->http = http;
        load->loaded.data = load;
        uv_async_init(ik_loop_uv(http->loop), &load->loaded, on_loaded);
        start_loading(load);
    }
}

res_t ik_http_describe(const void *ctx, char **out)
{
    const char *problem;
    const ik_curl_library_t *curl = ik_curl_library_load(&problem);
    if (curl == NULL) {
        return ERR(NOT_FOUND, "libcurl cannot be loaded: %s", problem);
    }
    *out = ik_strdup(ctx, curl->version());
    return OK;
}

/* --- the interface -------------------------------------------------------------------------- */

static int close_http(ik_http_t *http)
{
    assert(http->transfers == NULL && !http->inside);
    if (http->load != NULL) {
        http->load->http = NULL;
    }
    if (http->multi != NULL) {
        http->curl->multi_cleanup(http->multi);
    }
    return 0;
}

ik_http_t *ik_http_create(const void *ctx, ik_loop_t *loop)
{
    ik_http_t *http = ik_new(ctx, ik_http_t);
    http->loop = loop;
    talloc_set_destructor(http, close_http);
    return http;
}

/* Cuts a header at a line break, as at the end of a key read from a file: it would end all headers.
 */
static const char *const *copy_headers(const void *ctx, const char *const *headers)
{
    size_t count = 0;
    while (headers != NULL && headers[count] != NULL) {
        count++;
    }
    const char **copy = ik_new_array(ctx, const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        copy[i] = ik_strndup(copy, headers[i], strcspn(headers[i], "\r\n"));
    }
    return copy;
}

static transfer_t *create_transfer(ik_http_t *http, const ik_http_options_t *options)
{
    transfer_t *transfer = ik_new(http, transfer_t);
    size_t count = options->part_count;
    ik_http_part_t *parts = ik_new_array(transfer, ik_http_part_t, count);
    if (count > 0) {
        memcpy(parts, options->parts, count * sizeof(*parts));
    }
    transfer->http = http;
    transfer->options = *options;
    transfer->options.url = ik_strdup(transfer, options->url);
    transfer->options.headers = copy_headers(transfer, options->headers);
    transfer->options.parts = parts;
    transfer->watchdog = ik_timer_create(transfer, http->loop, on_watchdog, transfer);
    ik_http_head_init(&transfer->head, transfer);
    talloc_set_destructor(transfer, release);
    return transfer;
}

ik_http_request_t *ik_http_start(const void *ctx, ik_http_t *http, const ik_http_options_t *options)
{
    ik_http_request_t *request = ik_new(ctx, ik_http_request_t);
    transfer_t *transfer = create_transfer(http, options);
    request->transfer = transfer;
    transfer->request = request;
    talloc_set_destructor(request, abandon);
    transfer_t **link = &http->transfers;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = transfer;
    transfer->link = link;
    ik_http_prepare(http);
    if (http->multi != NULL && !http->inside) {
        admit(transfer);
    }
    return request;
}
