/*
 * Sends messages with descriptors over a local socket. The kernel refuses them with ETOOMANYREFS
 * while more of the user's descriptors are on their way, those of all programs together, than the
 * sender may have open (ulimit -n). As a rule they arrive within microseconds, so sending is tried
 * again for a second.
 */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

/* False: errno says why. May block. */
bool ik_send_message(int socket, const struct msghdr *message);
