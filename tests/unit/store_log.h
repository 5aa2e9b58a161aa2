/*
 * Writing to a store with few words, and all that it holds as one text, so that two of them can be
 * compared byte for byte.
 */
#pragma once

#include <check.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "store/store.h"

#define LOG_ID "00000000000000a1"
#define LOG_TIME INT64_C(1700000000123456)

static inline void log_assert_ok(res_t result)
{
    ck_assert_msg(is_ok(&result), "%s", result.message);
}

static inline void log_assert_code(res_t result, ik_error_code_t code)
{
    ck_assert_msg(result.code == code, "code %d and not %d: %s", result.code, code, result.message);
}

static inline ik_store_session_t log_session(const char *id)
{
    return (ik_store_session_t){
        .id = id, .cwd = "/work", .host = "here", .created_us = LOG_TIME, .model = "p/chosen"};
}

static inline ik_store_agent_t log_root(const char *id)
{
    return (ik_store_agent_t){
        .session_id = id, .number = IK_STORE_ROOT_AGENT, .created_us = LOG_TIME};
}

static inline ik_store_event_t log_event(const char *id, int64_t seq, const char *kind,
                                         const char *content, const char *data_json)
{
    return (ik_store_event_t){.session_id = id,
                              .agent = IK_STORE_ROOT_AGENT,
                              .seq = seq,
                              .created_us = LOG_TIME + seq,
                              .kind = kind,
                              .content = content,
                              .data_json = data_json};
}

static inline res_t log_write(ik_store_t *store, const ik_store_event_t *events, size_t count)
{
    return ik_store_write(store, &(ik_store_batch_t){.events = events, .event_count = count});
}

static inline res_t log_write_one(ik_store_t *store, ik_store_event_t event)
{
    return log_write(store, &event, 1);
}

/* A session with its root agent and nothing said. */
static inline res_t log_begin(ik_store_t *store, const char *id)
{
    ik_store_session_t session = log_session(id);
    ik_store_agent_t root = log_root(id);
    return ik_store_write(
        store, &(ik_store_batch_t){
                   .sessions = &session, .session_count = 1, .agents = &root, .agent_count = 1});
}

/* Also writes a message of the user, all in one batch. */
static inline void log_say(ik_store_t *store, const char *id, const char *words)
{
    ik_store_session_t session = log_session(id);
    ik_store_agent_t root = log_root(id);
    ik_store_event_t event = log_event(id, 1, "user", words, NULL);
    log_assert_ok(ik_store_write(store, &(ik_store_batch_t){.sessions = &session,
                                                            .session_count = 1,
                                                            .agents = &root,
                                                            .agent_count = 1,
                                                            .events = &event,
                                                            .event_count = 1,
                                                            .safety = IK_STORE_FULL}));
}

static inline ik_store_session_t log_find(const void *ctx, ik_store_t *store, const char *id)
{
    ik_store_session_t session;
    log_assert_ok(ik_store_find(ctx, store, id, &session));
    return session;
}

/* --- all of it as text ------------------------------------------------------------------- */

/* Told apart: nothing, and an empty text. */
static inline void log_add_text(ik_buffer_t *out, const char *text)
{
    if (text == NULL) {
        ik_buffer_append_text(out, " none");
    } else {
        ik_buffer_append_format(out, " %zu:", strlen(text));
        ik_buffer_append_text(out, text);
    }
}

static inline res_t log_on_event(void *data, const ik_store_event_t *event)
{
    ik_buffer_t *out = data;
    ik_buffer_append_format(out, "    %" PRId64 "/%" PRId64 " %" PRId64, event->agent, event->seq,
                            event->created_us);
    log_add_text(out, event->kind);
    log_add_text(out, event->content);
    log_add_text(out, event->data_json);
    ik_buffer_append_byte(out, '\n');
    return OK;
}

static inline void log_add_session(ik_buffer_t *out, const ik_store_session_t *session)
{
    const ik_usage_t *usage = &session->usage;
    log_add_text(out, session->cwd);
    log_add_text(out, session->host);
    log_add_text(out, session->model);
    log_add_text(out, session->title);
    ik_buffer_append_format(out, " %" PRId64 " %" PRId64 " turns %" PRId64 " messages %" PRId64,
                            session->created_us, session->updated_us, session->turns,
                            session->messages);
    ik_buffer_append_format(out, " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %g",
                            usage->in, usage->cached, usage->cache_write, usage->out,
                            usage->reasoning, session->cost);
    ik_buffer_append_byte(out, '\n');
}

static inline void log_add_agents(ik_buffer_t *out, ik_store_t *store, const char *id)
{
    void *scratch = talloc_new(NULL);
    ik_store_agents_t *agents;
    log_assert_ok(ik_store_agents(scratch, store, id, &agents));
    for (size_t i = 0; i < agents->count; i++) {
        const ik_store_agent_t *agent = &agents->agents[i];
        ik_buffer_append_format(out, "  agent %" PRId64 " of %" PRId64 " at %" PRId64,
                                agent->number, agent->parent, agent->forked_at);
        ik_buffer_append_format(out, " %" PRId64 " to %" PRId64 " %" PRId64 "\n", agent->created_us,
                                agent->last_seq, agent->updated_us);
        log_assert_ok(ik_store_read(store, agent, 0, log_on_event, out));
    }
    talloc_free(scratch);
}

/* Of one session: what was derived, its agents, their own events. Its id is left out. */
static inline char *log_dump(const void *ctx, ik_store_t *store, const char *id)
{
    ik_store_session_t session = log_find(ctx, store, id);
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    log_add_session(&out, &session);
    log_add_agents(&out, store, id);
    return ik_buffer_finish(&out);
}

/* Of all of them, in the order of the list. */
static inline char *log_dump_all(const void *ctx, ik_store_t *store)
{
    ik_store_list_t *list;
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    log_assert_ok(ik_store_list(ctx, store, &(ik_store_filter_t){.limit = 0}, &list));
    for (size_t i = 0; i < list->count; i++) {
        ik_buffer_append_text(&out, list->sessions[i].id);
        log_add_session(&out, &list->sessions[i]);
        log_add_agents(&out, store, list->sessions[i].id);
    }
    return ik_buffer_finish(&out);
}

/* Shows where they begin to differ: libcheck takes no long messages. */
static inline void log_assert_same(const char *a, const char *b)
{
    size_t at = 0;
    while (a[at] != '\0' && a[at] == b[at]) {
        at++;
    }
    size_t begin = at < 100 ? 0 : at - 100;
    ck_assert_msg(a[at] == b[at], "from byte %zu on\n%.300s\n--- is not ---\n%.300s", at, a + begin,
                  b + begin);
}

/* What an agent knows, its ancestors' part first. */
static inline char *log_dump_known(const void *ctx, ik_store_t *store, const char *id,
                                   int64_t agent)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    log_assert_ok(ik_store_read_all(store, id, agent, log_on_event, &out));
    return ik_buffer_finish(&out);
}
