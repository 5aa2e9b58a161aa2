/*
 * What ikigai and the keeper say to each other over a SOCK_SEQPACKET pair: one packet, one message.
 *
 * ikigai sends a start request (with the descriptors of the new process attached) or an end
 * request. The keeper answers every start with exactly one report, when the process and everything
 * it left behind is gone.
 */
#pragma once

#include <stdint.h>

enum {
    IK_KEEPER_SOCKET = 3,   /* descriptor number of the keeper's end */
    IK_KEEPER_PROGRESS = 3, /* where a started process finds its progress pipe */
    IK_KEEPER_MAX_FDS = 4,  /* stdin, stdout, stderr and, optionally, progress */
    IK_KEEPER_MAX_PACKET = 131072,
    /* SIGKILL follows SIGTERM after this. A little under half a second, so that the promise
     * "ends at most 0.5 s after its deadline" holds with the killing itself included. */
    IK_KEEPER_GRACE_MS = 420,
};

/* Set by the keeper in every process it starts; how an orphan is known to belong to a call even
 * after it left its session. */
#define IK_KEEPER_TAG "IKIGAI_KEEPER_TAG"

typedef enum {
    IK_KEEPER_START = 1,
    IK_KEEPER_END = 2,
} ik_keeper_kind_t;

/* Followed, for a start, by NUL-terminated strings: the working folder, argv, then "NAME=VALUE"
 * strings that are added to (or replace those of) the keeper's own environment. */
typedef struct {
    uint32_t kind;
    uint32_t id; /* chosen by ikigai, unique while the process lives */
    uint32_t argc;
    uint32_t envc;
} ik_keeper_request_t;

typedef struct {
    uint32_t id;
    int32_t error;       /* errno when it could not be started, else 0 */
    int32_t wait_status; /* as wait4 gives it */
    uint32_t leftovers;  /* processes it left running, which were ended */
    uint64_t user_us;
    uint64_t system_us;
    uint64_t max_rss_kb;
} ik_keeper_report_t;
