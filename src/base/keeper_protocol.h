/*
 * The protocol between ikigai and the keeper, over a SOCK_SEQPACKET pair: each packet is a message.
 *
 * ikigai sends a start request (with the descriptors of the new process attached) or an end
 * request. The keeper answers every start with exactly one report, once the process and everything
 * it left behind are gone.
 */
#pragma once

#include <stdint.h>

enum {
    IK_KEEPER_SOCKET = 3,   /* descriptor number of the keeper's end */
    IK_KEEPER_PROGRESS = 3, /* where a started process finds its progress pipe */
    IK_KEEPER_MAX_FDS = 4,  /* stdin, stdout, stderr and, optionally, progress */
    IK_KEEPER_MAX_PACKET = 131072,
    /* Time between SIGTERM and SIGKILL. A little under half a second, so that "ends at most 0.5 s
     * after its deadline" includes the time that killing takes. */
    IK_KEEPER_GRACE_MS = 420,
};

/* The variable the keeper sets in every process it starts. It identifies an orphan's call even
 * after the orphan has left its session. */
#define IK_KEEPER_TAG "IKIGAI_KEEPER_TAG"

typedef enum {
    IK_KEEPER_START = 1,
    IK_KEEPER_END = 2,
} ik_keeper_kind_t;

/* A start request is followed by NUL-terminated strings: the working folder, argv, then
 * "NAME=VALUE" strings that are added to the keeper's own environment or replace its values. */
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
    uint32_t leftovers;  /* processes it left running, which the keeper ended */
    uint64_t user_us;
    uint64_t system_us;
    uint64_t max_rss_kb;
} ik_keeper_report_t;
