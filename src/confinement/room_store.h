/*
 * Where rooms keep what is written to the copies that they show: /tmp for as long as the store
 * lives, caches for every later session of the same project.
 *
 * ROOMS/session-PID[-K]/N  /tmp, and caches while another session of the project runs
 * ROOMS/project-HASH/N     caches
 * Each of the two folders is locked by its user. What a killed program left is removed by the next.
 */
#pragma once

#include <stddef.h>

typedef struct ik_room_store ik_room_store_t;

/* Makes the folders in rooms for the copies (ik_room_plan_copies), of which the first is /tmp.
 * Freeing it removes what belongs to the session. */
ik_room_store_t *ik_room_store_create(const void *ctx, const char *rooms, const char *project,
                                      const char *const *copies);
/* One folder for each copy, with upper and work in it; "": it could not be made, or an overlay
 * cannot use it because it lies in the copied folder. */
const char *const *ik_room_store_folders(const ik_room_store_t *store);
