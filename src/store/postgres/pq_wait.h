/* Waits for a descriptor until a deadline or until another thread cancels. */
#pragma once

#include <stdint.h>

typedef enum {
    IK_PQ_WAIT_READY,
    IK_PQ_WAIT_LATE,  /* the deadline has passed */
    IK_PQ_WAIT_WOKEN, /* wake_fd is readable; takes precedence */
} ik_pq_wait_t;

typedef struct {
    int wake_fd; /* -1: none */
    int64_t deadline_ms;
} ik_pq_patience_t;

/* events are those of poll(); fd may be -1. */
ik_pq_wait_t ik_pq_wait(int fd, short events, const ik_pq_patience_t *patience);
