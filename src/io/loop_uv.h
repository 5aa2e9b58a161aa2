/* What the rest of this folder needs to put libuv handles of its own on the loop. */
#pragma once

#include <uv.h>

#include "io/loop.h"

uv_loop_t *ik_loop_uv(ik_loop_t *loop);
