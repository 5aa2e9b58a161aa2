/*
 * Finding and signalling every process of a call, wherever it went; for a process that is a child
 * subreaper (the keeper; ikigai, when the keeper was killed). A process belongs to a call when it
 * descends from the call's first process, or when it was orphaned to us and carries the call's tag
 * in its environment or is still in its session. An orphan that shows neither (it emptied its
 * environment and made a session of its own) is a stray and counted to whichever call ends first:
 * it hid, so nobody can claim it.
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
    bool wanted;     /* its processes are to be found */
    ik_process_list_t found;
} ik_process_tree_t;

/* Finds the processes of all wanted trees, each process once, in one look for all: hundreds of
 * trees may be ending at a time. trees are all calls there are: what belongs to the others is left
 * alone. found is allocated on ctx. False when children of ours were just ending, so that there may
 * be others which they had started. */
bool ik_process_tree_find(const void *ctx, ik_process_tree_t *const *trees, size_t count);

/* Sends the signals (0 for none) to what was found and returns how many processes that were,
 * leaving out those that we may not signal because they became somebody else (sudo): nobody waits
 * for what cannot be ended. */
size_t ik_process_tree_signal(const ik_process_tree_t *tree, int first_signal, int second_signal);

/* Keeps the newest orphans, and with them whatever they start, to a single processor, which is not
 * the one we run on: so that a storm of them leaves us one to keep up with it. */
void ik_process_tree_confine(ik_process_tree_t *const *trees, size_t count);

/* Kills the processes of all wanted trees, which are in found afterwards. Each is stopped as soon
 * as it is seen, and what they started meanwhile is looked for again, before the first is killed:
 * processes that fork faster than they are found cannot outrun this for long, and the place of a
 * killed one is not taken by the next. False when there was no end of new ones after a few looks;
 * then the caller, who may have others to serve, comes back at once. */
bool ik_process_tree_kill(const void *ctx, ik_process_tree_t *const *trees, size_t count);

/* Every descendant of this process: sends the signals, as above. */
size_t ik_process_tree_signal_all(int first_signal, int second_signal);
/* Kills and reaps them until none is left. Gives up (false) after that long, or when SIGKILL has
 * reached them all and they are still there after unkillable_ms (uninterruptible sleep). */
bool ik_process_tree_kill_all(int64_t limit_ms, int64_t unkillable_ms);
