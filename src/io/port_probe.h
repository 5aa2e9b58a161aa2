/* Whether something listens on a port of this machine. Connects and hangs up; says nothing. */
#pragma once

#include <stdbool.h>

bool ik_port_probe(int port);
