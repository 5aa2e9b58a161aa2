/*
 * The protocol between ikigai and the keeper, over a SOCK_SEQPACKET pair: each packet is a message.
 *
 * ikigai sends a start request (with the descriptors of the new process attached) or an end
 * request. The keeper answers every start with exactly one report, once the process and everything
 * it left behind are gone.
 *
 * A keeper whose first packet is a room request confines itself, and thus every process it starts
 * later, before it reads the next packet. It answers with one report of id 0 and exits if that
 * fails. With IK_ROOM_NAMESPACES the keeper that serves the room is a new process, the first one of
 * its PID namespace; a report of id 0 with its pid in wait_status comes before or after the other.
 */
#pragma once

#include <stdint.h>

enum {
    IK_KEEPER_SOCKET = 3,       /* descriptor number of the keeper's end */
    IK_KEEPER_PROGRESS = 3,     /* where a started process finds its progress pipe */
    IK_KEEPER_CHANNEL = 4,      /* and its host channel */
    IK_KEEPER_MAX_FDS = 5,      /* stdin, stdout, stderr and, optionally, progress and channel */
    IK_KEEPER_MAX_MOUNTS = 240, /* descriptors of mounts in a room request or its report */
    IK_KEEPER_MOUNT_SETS = 18,  /* the copies are reported this often, if they are not too many */
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
    IK_KEEPER_ROOM = 3,
} ik_keeper_kind_t;

/* The flags of a room request, which are in its envc. */
typedef enum {
    IK_ROOM_NAMESPACES = 1 << 0, /* own user, mount, PID and IPC namespaces; else only Landlock */
    IK_ROOM_NETWORK = 1 << 1,    /* the network of the user; else none but an own loopback */
    IK_ROOM_FIXED = 1 << 2,      /* without namespaces: no change of modes, owners, times, xattrs */
    IK_ROOM_TRIAL = 1 << 3,      /* only report whether the room could be made, and exit */
    IK_ROOM_SHARE = 1 << 4,      /* report the mounts of each IK_ROOM_COPY */
    /* With IK_ROOM_NAMESPACES: take the steps in an existing room, whose mount namespace is given
     * as a descriptor, report and exit. The steps are IK_ROOM_READABLE and IK_ROOM_WRITABLE; places
     * that are mount points already are skipped. */
    IK_ROOM_JOIN = 1 << 5,
} ik_room_flag_t;

/* The descriptors in the report of a room with namespaces that is not a trial. */
enum {
    IK_ROOM_HANDLE_NAMESPACE, /* its mount namespace, for IK_ROOM_JOIN */
    IK_ROOM_HANDLE_ROOT,      /* its root folder, to look at (O_PATH) */
    IK_ROOM_HANDLES,
};

/* A room request is followed by argc strings: steps, taken in this order, that fill an empty root
 * folder. The first byte of a step is its kind, the rest an absolute path without symbolic links. A
 * place that does not exist is skipped, but for IK_ROOM_WRITABLE. /proc and /dev are there. */
typedef enum {
    IK_ROOM_FOLDER = 'd',    /* an empty folder, to be filled by later steps */
    IK_ROOM_LINK = 'l',      /* a symbolic link; the next string is its target */
    IK_ROOM_OVERLAY = 'o',   /* a folder, read-only; sockets in it cannot be connected to */
    IK_ROOM_COPY = 'c',      /* a writable folder; the next string is the folder that keeps the
                                changes, or "": they are kept in memory */
    IK_ROOM_STUB = 'e',      /* an empty folder shown in the overlay, if it does not exist there */
    IK_ROOM_SHARED = 's',    /* a mount of another room, given as the next descriptor; no path: it
                                is not shown */
    IK_ROOM_READABLE = 'r',  /* the place itself, read-only */
    IK_ROOM_WRITABLE = 'w',  /* the place itself; it cannot be renamed */
    IK_ROOM_HIDDEN = 'h',    /* replaced by an empty folder or file */
    IK_ROOM_MAY_WRITE = 'W', /* Landlock: everything below may be written */
    IK_ROOM_MAY_READ = 'R',  /* Landlock: everything below may be read; none: everything may */
} ik_room_step_t;

/* Limits of a started process. The kernel enforces all but the number of processes, for each
 * process on its own. RLIMIT_NPROC would count whatever the user runs, and root is exempt from it,
 * so the keeper counts the processes of a call itself and ends it when there are too many. */
enum {
    IK_KEEPER_LIMIT_MEMORY,    /* bytes of address space */
    IK_KEEPER_LIMIT_FILE_SIZE, /* bytes */
    IK_KEEPER_LIMIT_PROCESSES, /* at a time, the first one included */
    IK_KEEPER_LIMIT_CPU_SECONDS,
    IK_KEEPER_LIMITS,
};

/* A start request is followed by NUL-terminated strings: the working folder, argv, then
 * "NAME=VALUE" strings that are added to the keeper's own environment or replace its values. */
typedef struct {
    uint32_t kind;
    uint32_t id; /* chosen by ikigai, unique while the process lives */
    uint32_t argc;
    uint32_t envc;
    uint64_t limits[IK_KEEPER_LIMITS]; /* 0: none */
} ik_keeper_request_t;

typedef struct {
    uint32_t id;
    int32_t error;       /* errno when it could not be started, else 0 */
    int32_t wait_status; /* as wait4 gives it; of a room: the keeper's pid */
    uint32_t leftovers;  /* processes it left running, which the keeper ended; of a room: the
                            ik_room_part_t that failed */
    uint32_t crowded;    /* it was ended because it had too many processes */
    uint64_t user_us;
    uint64_t system_us;
    uint64_t max_rss_kb;
} ik_keeper_report_t;

/* What of a room could not be made, for the report. */
typedef enum {
    IK_ROOM_PART_NONE,
    IK_ROOM_PART_USER_NAMESPACE,
    IK_ROOM_PART_NAMESPACES, /* the others */
    IK_ROOM_PART_MOUNTS,
    IK_ROOM_PART_PROC,
    IK_ROOM_PART_OVERLAY,
    IK_ROOM_PART_LOOPBACK,
    IK_ROOM_PART_LANDLOCK,
    IK_ROOM_PART_SECCOMP,
} ik_room_part_t;
