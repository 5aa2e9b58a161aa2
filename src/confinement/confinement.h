/*
 * Holds tools to their effects. Confined calls run in rooms: processes whose keeper has confined
 * itself (src/keeper/room.h). There is one room for each kind of effects, made when it is first
 * needed; all rooms of a program share one /tmp and one copy of each cache folder.
 *
 * What the kernel allows is found out once, by a trial, and never assumed:
 *   full     namespaces, Landlock and seccomp
 *   partial  Landlock and seccomp only
 *   none     anything less: no call can be confined
 * A room that cannot be made although the trial succeeded lowers the level, and on_fall says so.
 */
#pragma once

#include "base/config.h"
#include "base/effects.h"
#include "base/paths.h"
#include "io/process.h"

typedef struct ik_confinement ik_confinement_t;

typedef enum {
    IK_CONFINEMENT_NONE,
    IK_CONFINEMENT_PARTIAL,
    IK_CONFINEMENT_FULL,
} ik_confinement_level_t;

/* "none", "partial", "full" */
const char *ik_confinement_level_name(ik_confinement_level_t level);

typedef struct {
    ik_confinement_level_t level;
    int landlock_abi; /* 0: none */
    bool user_namespaces;
    bool seccomp;
    const char *cause; /* why the level is not full, one sentence; "" at level full */
} ik_confinement_facts_t;

typedef struct {
    ik_loop_t *loop;
    const ik_paths_t *paths;
    const ik_config_t *config;
    /* The level has fallen since it was found out; facts->cause says why. May be NULL. */
    void (*on_fall)(void *data, const ik_confinement_facts_t *facts);
    void *data;
} ik_confinement_options_t;

/* Does no I/O. options' pointers must outlive it. Freeing it ends the rooms and removes what their
 * tools left in /tmp. */
ik_confinement_t *ik_confinement_create(const void *ctx, const ik_confinement_options_t *options);

/* Finds out the level, once; later calls answer from memory. on_known is called from the loop, or
 * before this returns if the level is known. Freeing ctx cancels it. */
typedef void (*ik_confinement_known_fn)(void *data, const ik_confinement_facts_t *facts);
void ik_confinement_detect(const void *ctx, ik_confinement_t *confinement,
                           ik_confinement_known_fn on_known, void *data);
/* NULL while the level is not known. */
const ik_confinement_facts_t *ik_confinement_facts(const ik_confinement_t *confinement);

/* One line for the user about a level below full, on ctx. */
char *ik_confinement_describe_level(const void *ctx, const ik_confinement_facts_t *facts);
/* If the configuration requires confinement: IK_ERR_INVALID with the cause where the level is not
 * full. Blocks: runs the loop until the level is known. */
res_t ik_confinement_require(ik_confinement_t *confinement);

/* Makes the room for these effects, if it does not exist, and protects places in it that have
 * appeared since. on_ready gets the host whose processes are held to the effects; NULL: they cannot
 * be held as the configuration wants. It is called exactly once, from the loop, or before this
 * returns if the room is there; freeing ctx cancels it. on_ready NULL: the room is only made ready
 * for later. */
typedef void (*ik_confinement_ready_fn)(void *data, ik_process_host_t *host);
void ik_confinement_prepare(const void *ctx, ik_confinement_t *confinement, ik_effects_t effects,
                            ik_confinement_ready_fn on_ready, void *data);

/* Watches the project's protected places during a call: a place that does not exist cannot be
 * protected, and a link can come to lead elsewhere when a folder on its way is replaced. changes:
 * contents are watched, too, because at level partial no place is protected. */
typedef struct ik_confinement_watch ik_confinement_watch_t;
ik_confinement_watch_t *ik_confinement_watch(const void *ctx, const char *project, bool changes);
/* "Protected places appeared: .envrc" or "Protected places appeared or changed: .envrc", on ctx;
 * NULL: none did. */
char *ik_confinement_changes(const void *ctx, const ik_confinement_watch_t *watch);

/* "writes only in PROJECT and /tmp, no network", on ctx: the limits of a call with these effects.
 */
char *ik_confinement_describe(const void *ctx, const ik_confinement_t *confinement,
                              ik_effects_t effects);
