/*
 * getaddrinfo() can be neither interrupted nor given a deadline, so a thread calls it. When the
 * caller stops waiting, the thread ends whenever the resolver does. Both share a reference-counted
 * lookup_t.
 */
#include "store/postgres/pq_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"

/* More addresses of one name would only take longer to fail. */
enum { ADDRESS_MAX = 8, LIST_MAX = 16 * 1024 };

/* Allocated with malloc because two threads use it and talloc contexts belong to one. */
typedef struct {
    char *host;
    int pipe[2]; /* its writing end is closed when the answer is there */
    struct addrinfo *answer;
    int failure; /* result of getaddrinfo */
    atomic_int users;
} lookup_t;

static void release(lookup_t *lookup)
{
    if (atomic_fetch_sub(&lookup->users, 1) > 1) {
        return;
    }
    close(lookup->pipe[0]);
    if (lookup->answer != NULL) {
        freeaddrinfo(lookup->answer);
    }
    free(lookup->host);
    free(lookup);
}

static void *look_up(void *data)
{
    lookup_t *lookup = data;
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    lookup->failure = getaddrinfo(lookup->host, NULL, &hints, &lookup->answer);
    close(lookup->pipe[1]);
    release(lookup);
    return NULL;
}

/* The thread blocks all signals, which are for the main thread. */
static bool start_thread(lookup_t *lookup)
{
    sigset_t all;
    sigset_t before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(&thread, NULL, look_up, lookup);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure == 0) {
        pthread_detach(thread);
    }
    errno = failure;
    return failure == 0;
}

/* NULL, with errno set, when the system refuses a pipe or a thread. */
static lookup_t *start_lookup(const char *host)
{
    lookup_t *lookup = calloc(1, sizeof(*lookup));
    char *copy = strdup(host);
    if (lookup == NULL || copy == NULL) {
        ik_alloc_fail();
    }
    lookup->host = copy;
    atomic_init(&lookup->users, 2);
    if (pipe2(lookup->pipe, O_CLOEXEC) != 0) {
        free(lookup->host);
        free(lookup);
        return NULL;
    }
    if (!start_thread(lookup)) {
        atomic_store(&lookup->users, 1);
        close(lookup->pipe[1]);
        release(lookup);
        return NULL;
    }
    return lookup;
}

/* --- lists ------------------------------------------------------------------------------- */

typedef struct {
    const char *host;
    const char *port; /* "": the default */
} place_t;

/* The lists being built; they have count items each. */
typedef struct {
    ik_buffer_t host;
    ik_buffer_t hostaddr;
    ik_buffer_t port;
    size_t count;
    bool asked; /* the resolver was needed */
} lists_t;

static void append_item(ik_buffer_t *list, size_t count, const char *item)
{
    ik_buffer_append_text(list, count > 0 ? "," : "");
    ik_buffer_append_text(list, item);
}

static void append_place(lists_t *lists, const place_t *place, const char *hostaddr)
{
    append_item(&lists->host, lists->count, place->host);
    append_item(&lists->hostaddr, lists->count, hostaddr);
    append_item(&lists->port, lists->count, place->port);
    lists->count++;
}

static void append_answer(lists_t *lists, const place_t *place, const struct addrinfo *answer)
{
    for (size_t i = 0; answer != NULL && i < ADDRESS_MAX; answer = answer->ai_next, i++) {
        char text[NI_MAXHOST];
        if (getnameinfo(answer->ai_addr, answer->ai_addrlen, text, sizeof(text), NULL, 0,
                        NI_NUMERICHOST) == 0) {
            append_place(lists, place, text);
        }
    }
}

/* Copies the next item, on ctx. A list of one item, such as a port for all hosts, repeats it. */
static char *next_item(const void *ctx, const char **list)
{
    size_t len = strcspn(*list, ",");
    char *item = ik_strndup(ctx, *list, len);
    *list += (*list)[len] == ',' ? len + 1 : 0;
    return item;
}

/* --- finding ----------------------------------------------------------------------------- */

static bool needs_resolver(const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];
    return host[0] != '\0' && host[0] != '/' && host[0] != '@' &&
           inet_pton(AF_INET, host, address) != 1 && inet_pton(AF_INET6, host, address) != 1;
}

static res_t wait_for_answer(const lookup_t *lookup, const ik_pq_patience_t *patience)
{
    switch (ik_pq_wait(lookup->pipe[0], POLLIN, patience)) {
    case IK_PQ_WAIT_WOKEN:
        return ERR(GONE, "host %s: cancelled", lookup->host);
    case IK_PQ_WAIT_LATE:
        return ERR(GONE, "host %s: the resolver did not answer in time", lookup->host);
    case IK_PQ_WAIT_READY:
        break;
    }
    if (lookup->failure != 0) {
        return ERR(GONE, "host %s: %s", lookup->host, gai_strerror(lookup->failure));
    }
    return OK;
}

static res_t resolve(lists_t *lists, const place_t *place, const ik_pq_patience_t *patience)
{
    lookup_t *lookup = start_lookup(place->host);
    if (lookup == NULL) {
        return ERR(SYSTEM, "host %s cannot be resolved: %s", place->host, strerror(errno));
    }
    res_t found = wait_for_answer(lookup, patience);
    if (is_ok(&found)) {
        append_answer(lists, place, lookup->answer);
    }
    release(lookup);
    return found;
}

/* Names that cannot be resolved are skipped. The result is that of the last name. */
static res_t find_all(const void *ctx, lists_t *lists, const ik_pq_url_t *url,
                      const ik_pq_patience_t *patience)
{
    res_t last = OK;
    const char *hosts = url->host;
    const char *ports = url->port == NULL ? "" : url->port;
    for (bool more = true; more;) {
        more = strchr(hosts, ',') != NULL;
        place_t place = {.host = next_item(ctx, &hosts), .port = next_item(ctx, &ports)};
        if (needs_resolver(place.host)) {
            lists->asked = true;
            last = resolve(lists, &place, patience);
        } else {
            append_place(lists, &place, "");
        }
    }
    return last;
}

res_t ik_pq_address_find(const void *ctx, const ik_pq_url_t *url, const ik_pq_patience_t *patience,
                         ik_pq_address_t *out)
{
    *out = (ik_pq_address_t){0};
    if (url->host == NULL || url->hostaddr != NULL) {
        return OK;
    }
    lists_t lists = {0};
    ik_buffer_init(&lists.host, ctx, LIST_MAX);
    ik_buffer_init(&lists.hostaddr, ctx, LIST_MAX);
    ik_buffer_init(&lists.port, ctx, LIST_MAX);
    res_t last = find_all(ctx, &lists, url, patience);
    if (lists.count == 0) {
        return last;
    }
    if (lists.asked) {
        out->host = ik_buffer_finish(&lists.host);
        out->hostaddr = ik_buffer_finish(&lists.hostaddr);
        out->port = url->port == NULL ? NULL : ik_buffer_finish(&lists.port);
    }
    return OK;
}
