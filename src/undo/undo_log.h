/*
 * The log of a session as undo reads it: the turns of each agent, the segments in which their calls
 * changed files, and what was undone and redone before. Everything is derived from the stored
 * events (conversation/message.h), so that it is the same after a crash and in another process.
 *
 * A turn is a message of the user with everything that followed it. Text that joined a running turn
 * and the output of the user's own commands belong to the turn before them. What a custom command
 * ran to make the message belongs to the turn; if no message came of it, to the next one. What
 * sub-agents did belongs to the call that started them.
 */
#pragma once

#include "store/store.h"

typedef struct ik_undo_log ik_undo_log_t;

/* What one batch of calls, or one restoring, did to the files. */
typedef struct {
    int64_t agent;
    int64_t seq; /* of the event that begins it */
    int64_t at;  /* seq in the line: that event, or the call that started a sub-agent */
    int64_t begun_us;
    int64_t ended_us;          /* INT64_MAX: its end was not recorded */
    const char *const *before; /* states, NULL-terminated */
    const char *const *after;  /* NULL: its end was not recorded */
    bool unsure; /* its end was not recorded, or too late: it may have changes of others */
} ik_undo_segment_t;

typedef struct {
    ik_undo_segment_t *items;
    size_t count;
} ik_undo_segments_t;

typedef struct {
    int64_t
        seq; /* of the message of the user, or of the first segment of the command that made it */
    const char *prompt;
    const char *mode; /* that was set before it; NULL: none was */
} ik_undo_turn_t;

/* An undo that can be redone, or finished if it left conflicts. */
typedef struct {
    int64_t agent;   /* whose conversation was taken back; 0: the conversation stayed */
    int64_t message; /* seq of the oldest message of the user that it took back */
    int64_t until;   /* seq of the last event of that log */
    int64_t turns;
    const char *prompt;
    bool restricted;             /* to files that were named */
    ik_undo_segments_t restores; /* of the undo and of what finished it */
    const char *conflicts;       /* that are left: a JSON array; NULL: none */
} ik_undo_record_t;

/* A file that a call named as the one to change. */
typedef struct {
    int64_t seq;
    const char *path; /* as the model wrote it */
    const char *call_id;
    bool unrecorded; /* it was changed, and no state of the files was recorded in its turn */
} ik_undo_named_t;

/* The log of one agent with its ancestors. */
typedef struct {
    int64_t agent;
    int64_t last_seq;
    ik_undo_turn_t *turns; /* the oldest first */
    size_t turn_count;
    ik_undo_segments_t segments;    /* of all turns, in order */
    const ik_undo_record_t *undone; /* the last undo; NULL: none since the last message */
    const char *mode;               /* that was set last; NULL: none was */
    ik_undo_named_t *named;
    size_t named_count;
} ik_undo_line_t;

/* Reads the events of all agents. IK_ERR_NOT_FOUND when there is no such session. */
res_t ik_undo_log_read(const void *ctx, ik_store_t *store, const char *session_id,
                       ik_undo_log_t **out);
/* The agent with the last event, of those that are neither ended nor undone. */
int64_t ik_undo_log_last_agent(const ik_undo_log_t *log);
/* Whether another agent took its place by an undo or redo. */
bool ik_undo_log_is_replaced(const ik_undo_log_t *log, int64_t agent);
/* Belongs to the log. */
const ik_undo_line_t *ik_undo_log_line(ik_undo_log_t *log, int64_t agent);
/* The segments of the line from event `from` to event `until`. */
ik_undo_segments_t ik_undo_log_between(const ik_undo_line_t *line, int64_t from, int64_t until);
/* The segments of all agents, undone or not, and all restoring, in the order of time: what the
 * session did to the files. */
ik_undo_segments_t ik_undo_log_everything(ik_undo_log_t *log);

/* Segments as one sequence: those of several agents are put in the order of time, and those that
 * overlap become one, from the state before the first to the state after the last. On ctx. */
ik_undo_segments_t ik_undo_log_join(const void *ctx, const ik_undo_segments_t *segments);

/* Segments of other agents that ran at the same time as one of segments: those of the session, and
 * of other sessions in its folder, a folder above it or below it. Also those of segments that are
 * unsure: changes of others cannot be distinguished from theirs. segments are of the line, whose
 * other ones came before or after them, whatever the clock said. On the log. */
res_t ik_undo_log_find_others(ik_undo_log_t *log, ik_store_t *store, const char *folder,
                              const ik_undo_line_t *line, const ik_undo_segments_t *segments,
                              ik_undo_segments_t *out);
