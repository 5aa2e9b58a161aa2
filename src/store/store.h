/*
 * Where events go before anything else happens with them. A store keeps sessions; a session is a
 * tree of agents, an agent an ordered log of events, and the log is all there is: title, turns,
 * tokens and cost of a session are derived from its events as they are written, so that an import,
 * a delivery to a server and a resumed session need nothing but the events.
 *
 * One interface, two stores (store_sqlite.h, store_postgres.h): a store is a const table of
 * functions and its own data. Every call blocks; every write is one transaction, and a write that
 * fails leaves nothing behind.
 */
#pragma once

#include "base/error.h"
#include "conversation/usage.h"
#include "store/holder.h"

typedef struct ik_store ik_store_t;

/* How much must be safe when a write returns. */
typedef enum {
    IK_STORE_NORMAL, /* survives the end of the program */
    IK_STORE_FULL,   /* survives the end of the machine: what the user said, the end of a turn */
} ik_store_safety_t;

enum { IK_STORE_ID_LEN = 16, IK_STORE_ROOT_AGENT = 1 };

/* What is written of a session and what was derived. Times are microseconds since 1970. */
typedef struct {
    const char *id;   /* 16 hexadecimal digits */
    const char *cwd;  /* the working folder */
    const char *host; /* where it was begun */
    int64_t created_us;
    /* Of a session that is written only the above and the model count. */
    const char *model; /* provider/model of the last answer; before the first, the one chosen */
    const char *title; /* from the first words of the user to the root agent; "": none yet */
    int64_t updated_us;
    int64_t turns;    /* messages of the user */
    int64_t messages; /* all of them */
    ik_usage_t usage; /* sums */
    double cost;      /* USD, as far as it is known; negative: nothing is */
} ik_store_session_t;

typedef struct {
    ik_store_session_t *sessions; /* the last one used first */
    size_t count;
} ik_store_list_t;

/* An agent begins with the log of its parent up to and including the event forked_at; its own
 * events go on counting from there. */
typedef struct {
    const char *session_id;
    int64_t number;    /* in its session, from IK_STORE_ROOT_AGENT */
    int64_t parent;    /* 0: none */
    int64_t forked_at; /* 0: none */
    int64_t created_us;
    /* derived: of its last own event; what it began with when it has none */
    int64_t last_seq;
    int64_t updated_us;
} ik_store_agent_t;

typedef struct {
    ik_store_agent_t *agents; /* by number */
    size_t count;
} ik_store_agents_t;

/* A message (conversation/message.h) and its place. seq counts from 1 without gaps. */
typedef struct {
    const char *session_id;
    int64_t agent;
    int64_t seq;
    int64_t created_us;
    const char *kind;
    const char *content;   /* NULL: none */
    const char *data_json; /* NULL: none */
} ik_store_event_t;

/* Written in this order, together or not at all. What is there already and equal is left alone (of
 * a session its id is enough); what is there and different is IK_ERR_CONFLICT: somebody else wrote,
 * and the message begins with the id of the session. To a session that was removed from a shared
 * history nothing can be written any more, and what is written is dropped. */
typedef struct {
    const ik_store_session_t *sessions;
    size_t session_count;
    const ik_store_agent_t *agents;
    size_t agent_count;
    const ik_store_event_t *events;
    size_t event_count;
    ik_store_safety_t safety;
} ik_store_batch_t;

/* The event is valid inside the callback only. An error ends the reading and is its result. */
typedef res_t (*ik_store_event_fn)(void *data, const ik_store_event_t *event);

typedef struct {
    const char *cwd; /* NULL: of all folders */
    size_t limit;    /* 0: all */
    bool uncounted;  /* messages may be 0: counting them means looking at every log */
} ik_store_filter_t;

typedef struct {
    const char *text;       /* as the user typed it (word_query.h) */
    const char *session_id; /* NULL: in all sessions */
    size_t limit;
} ik_store_search_t;

typedef struct {
    size_t offset; /* in the snippet's text, bytes */
    size_t len;
} ik_store_mark_t;

/* One line of a message that shows why it was found. */
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

typedef struct {
    res_t (*write)(ik_store_t *store, const ik_store_batch_t *batch);
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

/* Sessions with their derived figures, the last one used first. */
res_t ik_store_list(const void *ctx, ik_store_t *store, const ik_store_filter_t *filter,
                    ik_store_list_t **out);
/* The one session whose id begins so. IK_ERR_NOT_FOUND; IK_ERR_INVALID when there are several
 * (their ids are named) or when the prefix cannot be one of an id. */
res_t ik_store_find(const void *ctx, ik_store_t *store, const char *prefix,
                    ik_store_session_t *out);
/* IK_ERR_NOT_FOUND when there is no such session. */
res_t ik_store_agents(const void *ctx, ik_store_t *store, const char *session_id,
                      ik_store_agents_t **out);
/* NULL when there is none of that number. */
const ik_store_agent_t *ik_store_find_agent(const ik_store_agents_t *agents, int64_t number);
/* The agent's own events behind seq after, in order. */
res_t ik_store_read(ik_store_t *store, const ik_store_agent_t *agent, int64_t after,
                    ik_store_event_fn on_event, void *data);
/* All that agent knows: its ancestors' events up to where it was forked, then its own. */
res_t ik_store_read_all(ik_store_t *store, const char *session_id, int64_t agent,
                        ik_store_event_fn on_event, void *data);

/* Any text is a search; one without a single word finds nothing. */
res_t ik_store_search(const void *ctx, ik_store_t *store, const ik_store_search_t *search,
                      ik_store_hits_t **out);

/* IK_ERR_NOT_FOUND when there is no such session. */
res_t ik_store_remove(ik_store_t *store, const char *session_id);

/* Makes self the one writer of a session, which need not exist yet. Held by a living one it is
 * IK_ERR_CONFLICT and *other says by whom. Claiming twice is no conflict. */
res_t ik_store_claim(ik_store_t *store, const char *session_id, const ik_holder_t *self,
                     ik_holder_t *other);
/* Nothing when self does not hold it. */
res_t ik_store_release(ik_store_t *store, const char *session_id, const ik_holder_t *self);

/* Brings what from has of a session and to does not, under new_id (the same id when NULL). What
 * both have must be equal: IK_ERR_CONFLICT otherwise. */
res_t ik_store_copy(ik_store_t *from, const char *session_id, ik_store_t *to, const char *new_id);

/* A fresh id on ctx. */
char *ik_store_new_id(const void *ctx);
/* Now. */
int64_t ik_store_now_us(void);
