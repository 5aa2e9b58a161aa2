/*
 * A set of call ids that answers in constant time whether an id is taken. It stores 64-bit hashes
 * only: a collision makes a new id look taken, but a taken id is never missed.
 */
#pragma once

#include <stdbool.h>

typedef struct ik_id_set ik_id_set_t;

ik_id_set_t *ik_id_set_create(const void *ctx);
void ik_id_set_add(ik_id_set_t *set, const char *id);
bool ik_id_set_has(const ik_id_set_t *set, const char *id);
