/*
 * Finds and signals every process of a tool call, even those that detached. Works in a process that
 * is a child subreaper: the keeper, or ikigai once the keeper was killed. A process belongs to a
 * call when it descends from the call's first process, or when it was orphaned to us and either has
 * the call's tag in its environment or is still in the call's session. An orphan with neither (it
 * cleared its environment and started its own session) is a stray and is counted as part of the
 * first call that ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct {
    pid_t *pids;
    size_t count;
} ik_process_list_t;

typedef struct {
    pid_t root; /* first process of the call and leader of its session */
    bool root_alive;
    const char *tag; /* "IKIGAI_KEEPER_TAG=..." */
    bool wanted;     /* search for its processes */
    ik_process_list_t found;
} ik_process_tree_t;

/* Finds the processes of all wanted trees in one search, each process once: hundreds of trees may
 * be ending at a time. trees must hold every call, because processes of the others are left alone.
 * found is allocated on ctx. False when children of ours had just ended, so that processes which
 * they started may have been missed. */
bool ik_process_tree_find(const void *ctx, ik_process_tree_t *const *trees, size_t count);

/* Sends the signals (0 for none) to the processes found and returns their number. Processes that
 * may not be signalled because they changed their user (sudo) are not counted, so that no caller
 * waits for them. */
size_t ik_process_tree_signal(const ik_process_tree_t *tree, int first_signal, int second_signal);

/* Binds the newest orphans, and thus whatever they start, to a single processor, and us to the
 * others: a fork bomb then leaves us a processor to keep up with it. */
void ik_process_tree_confine(ik_process_tree_t *const *trees, size_t count);

/* Lets us use all processors again, as before the first ik_process_tree_confine. */
void ik_process_tree_share_processors(void);

/* Kills the processes of all wanted trees and lists them in found. Each is stopped (SIGSTOP) as
 * soon as it is seen, and the search is repeated for what they started meanwhile, before the first
 * is killed: so a fork bomb cannot outrun the search for long, and killed processes are not
 * replaced by new ones. False when new processes still appeared after a few searches; the caller,
 * which may have other work, should call again at once. */
bool ik_process_tree_kill(const void *ctx, ik_process_tree_t *const *trees, size_t count);

/* As ik_process_tree_signal, for every descendant of this process. */
size_t ik_process_tree_signal_all(int first_signal, int second_signal);
/* Kills and reaps every descendant until none is left. Gives up and returns false after limit_ms,
 * or when SIGKILL has reached them all and some still exist after unkillable_ms (uninterruptible
 * sleep). */
bool ik_process_tree_kill_all(int64_t limit_ms, int64_t unkillable_ms);

/* Leaves a child of ours, and what it started, alone in all of the above: a keeper that is no
 * orphan of another one. */
void ik_process_tree_spare(pid_t child, bool spared);
