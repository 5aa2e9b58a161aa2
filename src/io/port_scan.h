/* Looks for servers on ports of this machine. It connects and disconnects; it sends no data. */
#pragma once

#include <stddef.h>

#include "io/loop.h"

enum { IK_PORT_SCAN_MAX = 16 }; /* ports of one scan */

typedef struct ik_port_scan ik_port_scan_t;

/* open[i]: a server listens on ports[i]; false for port 0. */
typedef void (*ik_port_scan_fn)(void *data, const bool *open);

/* Looks on all ports at the same time. on_done is called once, from the loop, when every port has
 * answered, after 100 ms at most; it may free the scan. Freeing it earlier ends it without on_done.
 */
ik_port_scan_t *ik_port_scan_start(const void *ctx, ik_loop_t *loop, const int *ports, size_t count,
                                   ik_port_scan_fn on_done, void *data);

/* Looks on one port, and blocks for 50 ms at most. */
bool ik_port_scan_is_open(int port);
