#include "base/send_message.h"

#include <errno.h>
#include <time.h>

enum { ATTEMPTS = 1000 };

bool ik_send_message(int socket, const struct msghdr *message)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    ssize_t sent = sendmsg(socket, message, MSG_NOSIGNAL);
    for (int i = 0; sent < 0 && (errno == EINTR || (errno == ETOOMANYREFS && i < ATTEMPTS)); i++) {
        if (errno == ETOOMANYREFS) {
            nanosleep(&pause, NULL);
        }
        sent = sendmsg(socket, message, MSG_NOSIGNAL);
    }
    return sent >= 0;
}
