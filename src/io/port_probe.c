#include "io/port_probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* On the loopback interface a connection is immediate unless the listener's queue is full. */
static bool has_connected(int fd)
{
    enum { PATIENCE_MS = 50 };
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    int error = 0;
    socklen_t len = sizeof(error);
    return poll(&wait, 1, PATIENCE_MS) == 1 &&
           getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == 0;
}

bool ik_port_probe(int port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bool open = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 ||
                (errno == EINPROGRESS && has_connected(fd));
    close(fd);
    return open;
}
