/* The ids of a conversation's calls, to see at once whether one is taken. It knows hashes only: it
 * may, very rarely, take a new id for a known one, but never the other way round. */
#pragma once

#include <stdbool.h>

typedef struct ik_id_set ik_id_set_t;

ik_id_set_t *ik_id_set_create(const void *ctx);
void ik_id_set_add(ik_id_set_t *set, const char *id);
bool ik_id_set_has(const ik_id_set_t *set, const char *id);
