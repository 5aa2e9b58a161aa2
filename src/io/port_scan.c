#include "io/port_scan.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"

enum { LIMIT_MS = 100 }; /* a listener whose queue is full does not answer at all */

typedef struct {
    ik_port_scan_t *scan;
    int fd;            /* -1: decided */
    ik_watch_t *watch; /* NULL: decided */
} connection_t;

struct ik_port_scan {
    ik_timer_t *timer; /* the limit, or the end once every port has answered */
    connection_t connections[IK_PORT_SCAN_MAX];
    bool open[IK_PORT_SCAN_MAX];
    size_t count;
    size_t waiting;
    ik_port_scan_fn on_done;
    void *data;
};

/* Begins a connection. Returns a descriptor to wait for, or -1 when *open is known already. */
static int begin_connection(int port, bool *open)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = port == 0 ? -1 : socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *open = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    if (fd >= 0 && !*open && errno == EINPROGRESS) {
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

static bool has_connected(int fd)
{
    int error = 0;
    socklen_t len = sizeof(error);
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == 0;
}

static void disconnect(connection_t *connection)
{
    TALLOC_FREE(connection->watch);
    if (connection->fd >= 0) {
        close(connection->fd);
        connection->fd = -1;
    }
}

static int disconnect_all(ik_port_scan_t *scan)
{
    for (size_t i = 0; i < scan->count; i++) {
        disconnect(&scan->connections[i]);
    }
    return 0;
}

static void on_timer(void *data)
{
    ik_port_scan_t *scan = data;
    disconnect_all(scan);
    scan->on_done(scan->data, scan->open);
}

static void on_answer(void *data)
{
    connection_t *connection = data;
    ik_port_scan_t *scan = connection->scan;
    scan->open[connection - scan->connections] = has_connected(connection->fd);
    disconnect(connection);
    scan->waiting--;
    if (scan->waiting == 0) {
        ik_timer_start(scan->timer, 0);
    }
}

ik_port_scan_t *ik_port_scan_start(const void *ctx, ik_loop_t *loop, const int *ports, size_t count,
                                   ik_port_scan_fn on_done, void *data)
{
    assert(count <= IK_PORT_SCAN_MAX);
    ik_port_scan_t *scan = ik_new(ctx, ik_port_scan_t);
    scan->count = count;
    scan->on_done = on_done;
    scan->data = data;
    scan->timer = ik_timer_create(scan, loop, on_timer, scan);
    talloc_set_destructor(scan, disconnect_all);
    for (size_t i = 0; i < count; i++) {
        connection_t *connection = &scan->connections[i];
        *connection =
            (connection_t){.scan = scan, .fd = begin_connection(ports[i], &scan->open[i])};
        if (connection->fd >= 0) {
            scan->waiting++;
            connection->watch = ik_watch_create_borrowed(scan, loop, connection->fd,
                                                         IK_WATCH_WRITABLE, on_answer, connection);
        }
    }
    ik_timer_start(scan->timer, scan->waiting == 0 ? 0 : LIMIT_MS);
    return scan;
}

bool ik_port_scan_is_open(int port)
{
    enum { PATIENCE_MS = 50 };
    bool open;
    int fd = begin_connection(port, &open);
    if (fd >= 0) {
        open = poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, PATIENCE_MS) == 1 &&
               has_connected(fd);
        close(fd);
    }
    return open;
}
