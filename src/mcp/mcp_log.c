#include "mcp/mcp_log.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/utf8.h"

enum { ENTRIES = 100, LINE_KEPT = 2000, TAIL = 4096 };

typedef struct {
    char *level;
    char *text;
} entry_t;

/* The ring and the tail are made when the server says something: few of those that are configured
 * are started. */
struct ik_mcp_log {
    entry_t *entries; /* a ring */
    size_t first;
    size_t count;
    ik_buffer_t line; /* of standard error, incomplete */
    char *tail;       /* what standard error ended with */
    size_t tail_len;
    bool is_new;
};

ik_mcp_log_t *ik_mcp_log_create(const void *ctx)
{
    ik_mcp_log_t *log = ik_new(ctx, ik_mcp_log_t);
    ik_buffer_init(&log->line, log, LINE_KEPT);
    return log;
}

void ik_mcp_log_add(ik_mcp_log_t *log, const char *level, const char *text, size_t len)
{
    if (log->entries == NULL) {
        log->entries = ik_new_array(log, entry_t, ENTRIES);
    }
    entry_t *entry = &log->entries[(log->first + log->count) % ENTRIES];
    if (log->count == ENTRIES) {
        log->first = (log->first + 1) % ENTRIES;
    } else {
        log->count++;
    }
    talloc_free(entry->level);
    talloc_free(entry->text);
    ik_buffer_t clean;
    ik_buffer_init(&clean, log, IK_BUFFER_UNLIMITED); /* bounded by LINE_KEPT */
    ik_buffer_append_text(&clean, "");
    ik_utf8_append_clean(&clean, text, ik_utf8_cut(text, len, LINE_KEPT));
    for (size_t i = 0; i < clean.len; i++) {
        clean.data[i] = clean.data[i] == '\0' ? ' ' : clean.data[i];
    }
    *entry = (entry_t){.level = ik_strdup(log, level), .text = ik_buffer_finish(&clean)};
    log->is_new = true;
}

void ik_mcp_log_end(ik_mcp_log_t *log)
{
    size_t len = log->line.len;
    while (len > 0 && log->line.data[len - 1] == '\r') {
        len--;
    }
    if (len > 0) {
        ik_mcp_log_add(log, "stderr", log->line.data, len);
    }
    ik_buffer_reset(&log->line);
}

void ik_mcp_log_feed(ik_mcp_log_t *log, const char *bytes, size_t len)
{
    if (log->tail == NULL) {
        log->tail = ik_new_array(log, char, TAIL);
    }
    size_t kept = len < TAIL ? len : TAIL;
    size_t old = log->tail_len + kept > TAIL ? TAIL - kept : log->tail_len;
    memmove(log->tail, log->tail + log->tail_len - old, old);
    memcpy(log->tail + old, bytes + len - kept, kept);
    log->tail_len = old + kept;
    const char *end = bytes + len;
    while (bytes < end) {
        const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
        ik_buffer_append(&log->line, bytes, (size_t)((newline == NULL ? end : newline) - bytes));
        if (newline != NULL) {
            ik_mcp_log_end(log);
        }
        bytes = newline == NULL ? end : newline + 1;
    }
}

char *ik_mcp_log_tail(const void *ctx, const ik_mcp_log_t *log)
{
    size_t from = 0; /* not inside a character */
    while (from < log->tail_len && from < 4 && ((unsigned char)log->tail[from] & 0xc0) == 0x80) {
        from++;
    }
    return log->tail_len == 0 ? ik_strdup(ctx, "")
                              : ik_strndup(ctx, log->tail + from, log->tail_len - from);
}

void ik_mcp_log_restart(ik_mcp_log_t *log)
{
    ik_mcp_log_end(log);
    log->tail_len = 0;
}

json_t *ik_mcp_log_to_json(ik_mcp_log_t *log)
{
    json_t *list = json_array();
    for (size_t i = 0; i < log->count; i++) {
        const entry_t *entry = &log->entries[(log->first + i) % ENTRIES];
        json_array_append_new(list,
                              json_pack("{s:s, s:s}", "level", entry->level, "text", entry->text));
    }
    log->is_new = false;
    return list;
}

void ik_mcp_log_load(ik_mcp_log_t *log, json_t *entries)
{
    size_t i;
    json_t *each;
    json_array_foreach(entries, i, each)
    {
        const char *level = json_string_value(json_object_get(each, "level"));
        const char *text = json_string_value(json_object_get(each, "text"));
        if (level != NULL && text != NULL) {
            ik_mcp_log_add(log, level, text, strlen(text));
        }
    }
    log->is_new = false;
}

bool ik_mcp_log_is_new(const ik_mcp_log_t *log)
{
    return log->is_new;
}
