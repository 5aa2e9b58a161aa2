/* Gives the rest of this folder access to the libuv loop. */
#pragma once

#include <uv.h>

#include "io/loop.h"

uv_loop_t *ik_loop_uv(ik_loop_t *loop);
