/*
 * The store of sessions. Every event is stored before anything else is done with it. A session is a
 * tree of agents, and an agent is an ordered log of events. Title, turns, tokens and cost of a
 * session are derived from its events as they are written, so that an import, a delivery to a
 * server and a resumed session need only the events.
 *
 * There are two stores (store_sqlite.h, store_postgres.h), each a const table of functions and its
 * own data. Every call blocks; every write is one transaction, and a write that fails changes
 * nothing.
 */
#pragma once

#include "base/error.h"
#include "conversation/usage.h"
#include "store/holder.h"

typedef struct ik_store ik_store_t;

/* What the written data survives when a write returns. */
typedef enum {
    IK_STORE_NORMAL, /* a crash of the program */
    IK_STORE_FULL,   /* a crash of the machine: for messages of the user and ends of turns */
} ik_store_safety_t;

enum { IK_STORE_ID_LEN = 16, IK_STORE_ROOT_AGENT = 1 };

/* A session and its derived figures. Times are microseconds since 1970. */
typedef struct {
    const char *id;   /* 16 hexadecimal digits */
    const char *cwd;  /* the working folder */
    const char *host; /* on which it was begun */
    int64_t created_us;
    /* The rest is derived; of a session that is written only the model is used. */
    const char *model; /* provider/model of the last answer; before the first one, as written */
    const char *title; /* from the first message of the user to the root agent; "": none yet */
    int64_t updated_us;
    int64_t turns;    /* messages of the user */
    int64_t messages; /* all events but records */
    ik_usage_t usage; /* sums */
    double cost;      /* USD, the sum of known costs; negative: none is known */
} ik_store_session_t;

typedef struct {
    ik_store_session_t *sessions; /* the most recently used first */
    size_t count;
} ik_store_list_t;

/* An agent begins with the log of its parent up to and including event forked_at. Its own events
 * continue the numbering. */
typedef struct {
    const char *session_id;
    int64_t number;    /* in its session, from IK_STORE_ROOT_AGENT */
    int64_t parent;    /* 0: none */
    int64_t forked_at; /* 0: none */
    int64_t created_us;
    /* derived from its last own event; the start values when it has none */
    int64_t last_seq;
    int64_t updated_us;
} ik_store_agent_t;

typedef struct {
    ik_store_agent_t *agents; /* by number */
    size_t count;
} ik_store_agents_t;

/* A message (conversation/message.h) and its position. seq counts from 1 without gaps. */
typedef struct {
    const char *session_id;
    int64_t agent;
    int64_t seq;
    int64_t created_us;
    const char *kind;
    const char *content;   /* NULL: none */
    const char *data_json; /* NULL: none */
} ik_store_event_t;

/* What to write, in this order, all or nothing. What is already stored and equal is left alone (a
 * session is equal if its id is). What is stored and different is IK_ERR_CONFLICT, because another
 * process wrote it; the message begins with the id of the session. Writes to a session that was
 * deleted from a shared history are dropped. */
typedef struct {
    const ik_store_session_t *sessions;
    size_t session_count;
    const ik_store_agent_t *agents;
    size_t agent_count;
    const ik_store_event_t *events;
    size_t event_count;
    ik_store_safety_t safety;
} ik_store_batch_t;

/* The event is valid only inside the callback. An error ends the reading and is returned. */
typedef res_t (*ik_store_event_fn)(void *data, const ik_store_event_t *event);

typedef struct {
    const char *cwd; /* NULL: all folders */
    size_t limit;    /* 0: all */
    bool uncounted;  /* messages may be 0, which is faster: counting reads every log */
    bool begun;      /* not those without a message, which an editor opened and left */
} ik_store_filter_t;

typedef struct {
    const char *text;       /* as the user typed it (word_query.h) */
    const char *session_id; /* NULL: all sessions */
    size_t limit;
} ik_store_search_t;

typedef struct {
    size_t offset; /* in the text of the snippet, in bytes */
    size_t len;
} ik_store_mark_t;

/* One line of a message with the words that were found. */
typedef struct {
    char *text;             /* valid UTF-8, "…" where something was cut */
    ik_store_mark_t *marks; /* the words that matched */
    size_t count;
} ik_store_snippet_t;

typedef struct {
    const char *session_id;
    const char *title;
    const char *cwd;
    int64_t agent;
    int64_t seq;
    int64_t created_us;
    const char *kind;
    ik_store_snippet_t snippet;
} ik_store_hit_t;

typedef struct {
    ik_store_hit_t *hits; /* the best first */
    size_t count;
} ik_store_hits_t;

typedef res_t (*ik_store_work_fn)(void *data);

typedef struct {
    res_t (*write)(ik_store_t *store, const ik_store_batch_t *batch);
    /* NULL: every batch is a transaction of its own. */
    res_t (*transact)(ik_store_t *store, ik_store_work_fn work, void *data);
    res_t (*list)(const void *ctx, ik_store_t *store, const ik_store_filter_t *filter,
                  ik_store_list_t **out);
    res_t (*find)(const void *ctx, ik_store_t *store, const char *prefix, ik_store_list_t **out);
    res_t (*agents)(const void *ctx, ik_store_t *store, const char *session_id,
                    ik_store_agents_t **out);
    res_t (*read)(ik_store_t *store, const ik_store_agent_t *agent, int64_t after,
                  ik_store_event_fn on_event, void *data);
    res_t (*search)(const void *ctx, ik_store_t *store, const ik_store_search_t *search,
                    ik_store_hits_t **out);
    res_t (*remove)(ik_store_t *store, const char *session_id);
    res_t (*claim)(ik_store_t *store, const char *session_id, const ik_holder_t *self,
                   ik_holder_t *other);
    res_t (*release)(ik_store_t *store, const char *session_id, const ik_holder_t *self);
} ik_store_kind_t;

struct ik_store {
    const ik_store_kind_t *kind;
};

res_t ik_store_write(ik_store_t *store, const ik_store_batch_t *batch);
/* Runs work, which must return the first error of a write. In the local store all batches that it
 * writes are one transaction: they are there after the return, on the disk, or none of them is,
 * also after a crash. Other writers wait meanwhile. */
res_t ik_store_transact(ik_store_t *store, ik_store_work_fn work, void *data);

/* Sessions with their derived figures, the most recently used first. */
res_t ik_store_list(const void *ctx, ik_store_t *store, const ik_store_filter_t *filter,
                    ik_store_list_t **out);
/* The only session whose id begins with prefix. IK_ERR_NOT_FOUND when there is none; IK_ERR_INVALID
 * when there are several, which the message names, or when no id can begin so. */
res_t ik_store_find(const void *ctx, ik_store_t *store, const char *prefix,
                    ik_store_session_t *out);
/* IK_ERR_NOT_FOUND when there is no such session. */
res_t ik_store_agents(const void *ctx, ik_store_t *store, const char *session_id,
                      ik_store_agents_t **out);
/* NULL when there is no agent of that number. */
const ik_store_agent_t *ik_store_find_agent(const ik_store_agents_t *agents, int64_t number);
/* The agent's own events with a seq greater than after, in order. */
res_t ik_store_read(ik_store_t *store, const ik_store_agent_t *agent, int64_t after,
                    ik_store_event_fn on_event, void *data);
/* All events of an agent: those of its ancestors up to where it was forked, then its own. */
res_t ik_store_read_all(ik_store_t *store, const char *session_id, int64_t agent,
                        ik_store_event_fn on_event, void *data);

/* Any text is a valid search; one without a word finds nothing. */
res_t ik_store_search(const void *ctx, ik_store_t *store, const ik_store_search_t *search,
                      ik_store_hits_t **out);

/* IK_ERR_NOT_FOUND when there is no such session. */
res_t ik_store_remove(ik_store_t *store, const char *session_id);

/* Makes self the only writer of a session, which need not exist yet. IK_ERR_CONFLICT when a running
 * process holds it; *other is that process. Claiming it twice succeeds. */
res_t ik_store_claim(ik_store_t *store, const char *session_id, const ik_holder_t *self,
                     ik_holder_t *other);
/* Does nothing when self does not hold the session. */
res_t ik_store_release(ik_store_t *store, const char *session_id, const ik_holder_t *self);

/* Copies to the store to what it lacks of a session in from, under new_id (NULL: under its own id).
 * IK_ERR_CONFLICT when what both have differs. */
res_t ik_store_copy(ik_store_t *from, const char *session_id, ik_store_t *to, const char *new_id);

/* A random id, on ctx. */
char *ik_store_new_id(const void *ctx);
/* The current time. */
int64_t ik_store_now_us(void);
