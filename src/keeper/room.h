/*
 * A room: namespaces in which the user's files look as the steps of the request say. The process
 * that calls ik_room_make and everything it starts later live in it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/keeper_protocol.h"

typedef struct {
    uint32_t flags; /* ik_room_flag_t */
    char **steps;   /* as in keeper_protocol.h */
    size_t count;
    const int *mounts; /* one for each IK_ROOM_SHARED */
    size_t mount_count;
} ik_room_request_t;

typedef struct {
    int error; /* errno; 0: made */
    int part;  /* ik_room_part_t that failed */
} ik_room_result_t;

/* Creates the namespaces; the next child is the first process of the PID namespace. */
ik_room_result_t ik_room_unshare(const ik_room_request_t *request);
/* In that child: mounts everything, and makes it the root folder. */
ik_room_result_t ik_room_furnish(const ik_room_request_t *request);
/* Fills in detached mounts of each IK_ROOM_COPY for other rooms to share, as often as
 * keeper_protocol.h says: a mount can be attached only once. Returns how many. */
size_t ik_room_share(const ik_room_request_t *request, int mounts[IK_KEEPER_MAX_MOUNTS]);
/* Gives up all privileges for good, with or without namespaces. */
ik_room_result_t ik_room_restrict(const ik_room_request_t *request);
