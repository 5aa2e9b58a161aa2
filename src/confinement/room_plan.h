/*
 * Decides what a room shows: the steps of a room request (base/keeper_protocol.h) for a project,
 * the user's home and the configuration.
 *
 * In a room with namespaces, later steps cover earlier ones: first the whole system read-only, then
 * /tmp and the caches as copies, then the project, then what is protected in it, and last what is
 * hidden. So neither a project that contains the home nor a configured folder opens a hidden place.
 */
#pragma once

#include <stddef.h>

#include "base/effects.h"

typedef struct {
    const char *project;      /* where calls run */
    const char *user_home;    /* NULL: not known */
    const char *ikigai_home;  /* hidden, but for its tools, skills and trusted copies */
    const char *system_tools; /* NULL: not known */
    const char *program;      /* ikigai, which tools may run; NULL: not known */
    const char *user_tools;
    const char *trusted;
    const char *const *writable; /* absolute paths, NULL-terminated; may be NULL */
    const char *const *hidden;
    const char *const *caches; /* further ones */
} ik_room_places_t;

typedef struct {
    const char **steps; /* NULL-terminated */
    size_t count;
    const char **copies; /* as ik_room_plan_copies; NULL without namespaces */
    size_t copy_count;
    const char **protected; /* as ik_room_plan_protected; NULL: there are none */
    size_t protected_count;
} ik_room_plan_t;

/* With namespaces. stores has one folder for each copy, in the order of ik_room_plan_copies; "":
 * changes stay in memory; NULL: the copies are mounts of another room, in that order. */
ik_room_plan_t *ik_room_plan_create(const void *ctx, const ik_room_places_t *places,
                                    ik_effects_t effects, const char *const *stores);
/* Only the steps that protect places in the project: those of a room with namespaces in which the
 * project is writable. */
ik_room_plan_t *ik_room_plan_create_guard(const void *ctx, const ik_room_places_t *places);
/* Without namespaces: only what Landlock may let through. */
ik_room_plan_t *ik_room_plan_create_partial(const void *ctx, const ik_room_places_t *places,
                                            ik_effects_t effects);
/* The folders that a room shows as copies, NULL-terminated: /tmp first, then the caches. */
const char **ik_room_plan_copies(const void *ctx, const ik_room_places_t *places);

/* The protected places of the project (a path without links), whether they exist or not,
 * NULL-terminated; those in git folders only if the folder exists. */
const char **ik_room_plan_protected(const void *ctx, const char *project);
