/*
 * A room: namespaces in which the user's files look as the steps of the request say. The process
 * that calls ik_room_furnish and everything it starts later live in it.
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
 * keeper_protocol.h says: a mount can be attached only once. Where few descriptors are allowed,
 * they take at most half of them, but are there once. */
ik_room_result_t ik_room_share(const ik_room_request_t *request, int mounts[IK_KEEPER_MAX_MOUNTS],
                               size_t *count);
/* Opens what lets ikigai look at the room and join it later. */
ik_room_result_t ik_room_open(int handles[IK_ROOM_HANDLES]);
/* Enters the namespaces of an existing room, whose mount namespace is the only descriptor in
 * mounts, and takes the steps there. This process sees the processes of the room in /proc instead
 * of its own afterwards, so it must exit. */
ik_room_result_t ik_room_join(const ik_room_request_t *request);
/* Gives up all privileges for good, with or without namespaces. */
ik_room_result_t ik_room_restrict(const ik_room_request_t *request);
