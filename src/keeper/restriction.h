/*
 * Restricts this process and everything it starts, for good: no privileges, writes only below the
 * given folders (Landlock), no system calls that would defeat the rest (seccomp).
 */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const char **writable; /* folders and files below which everything may be written */
    size_t writable_count;
    const char **readable; /* what may be read; none: everything */
    size_t readable_count;
    bool no_sockets;  /* no socket at all, for lack of a network namespace */
    bool no_metadata; /* no change of modes, owners, times and attributes */
    bool no_mounts;   /* no mount makes a place read-only: Landlock has to do it alone */
} ik_restriction_t;

typedef struct {
    struct sock_filter code[512];
    unsigned short len;
} ik_restriction_filter_t;

/* Gives up all capabilities and the way to gain any. Returns errno. */
int ik_restriction_drop_privileges(void);
/* Returns errno. A place that does not exist is skipped. */
int ik_restriction_landlock(const ik_restriction_t *restriction);
/* The filter that ik_restriction_seccomp installs on a kernel with that version of Landlock, and
 * the one that ik_restriction_listen does. */
void ik_restriction_build_filter(ik_restriction_filter_t *filter,
                                 const ik_restriction_t *restriction, int landlock_abi);
void ik_restriction_build_listener(ik_restriction_filter_t *filter);
/* Returns errno. */
int ik_restriction_seccomp(const ik_restriction_t *restriction);
/* From now on, changes of modes, owners, times and attributes by the calling thread and what it
 * starts wait for the answer of a supervisor. Returns the descriptor it reads them from; -1 with
 * errno. */
int ik_restriction_listen(void);
/* Prepares a Landlock ruleset whose processes can neither signal nor trace those outside of it;
 * restrict_call enters it and may be called after vfork. -1: the kernel cannot do this. */
int ik_restriction_prepare_call(void);
void ik_restriction_restrict_call(int ruleset);
