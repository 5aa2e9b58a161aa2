/* Whether a server listens on a port of this machine. Connects and disconnects; sends no data. */
#pragma once

#include <stdbool.h>

bool ik_port_probe(int port);
