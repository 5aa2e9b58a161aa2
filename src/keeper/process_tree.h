/*
 * Finding and signalling every process of a call, wherever it went. A process belongs to a call
 * when it descends from the call's first process, or when it was orphaned to us (we are the
 * subreaper) and carries the call's tag in its environment or is still in its session. An orphan
 * that shows neither (it emptied its environment and made a session of its own) is a stray and
 * counted to whichever call ends first: it hid, so nobody can claim it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct {
    pid_t root; /* first process of the call and leader of its session */
    bool root_alive;
    const char *tag; /* "IKIGAI_KEEPER_TAG=..." */
} ik_process_tree_t;

/* Sends the signals (0 for none) to every process of the tree and returns how many there were.
 * trees are all running calls: their first processes and their own orphans are left alone. */
size_t ik_process_tree_signal(const ik_process_tree_t *tree, const ik_process_tree_t *const *trees,
                              size_t count, int first_signal, int second_signal);

/* The same for every descendant of this process. */
size_t ik_process_tree_signal_all(int first_signal, int second_signal);
