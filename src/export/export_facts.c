#include "export/export_facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"

static char *format_time(const void *ctx, int64_t us, const char *format)
{
    char text[64] = "";
    struct tm parts;
    time_t seconds = (time_t)(us / 1000000);
    bool usual = gmtime_r(&seconds, &parts) != NULL && parts.tm_year >= 0 && parts.tm_year < 8100;
    if (usual) {
        strftime(text, sizeof(text), format, &parts);
    }
    return ik_strdup(ctx, text);
}

char *ik_export_facts_time(const void *ctx, int64_t us)
{
    return format_time(ctx, us, "%Y-%m-%d %H:%M UTC");
}

char *ik_export_facts_datetime(const void *ctx, int64_t us)
{
    return format_time(ctx, us, "%Y-%m-%dT%H:%M:%SZ");
}

char *ik_export_facts_number(const void *ctx, int64_t number)
{
    char digits[32];
    char grouped[48];
    int len = snprintf(digits, sizeof(digits), "%" PRId64, number);
    size_t to = 0;
    for (int i = 0; i < len; i++) {
        grouped[to++] = digits[i];
        if (digits[i] != '-' && (len - i) % 3 == 1 && i + 1 < len) {
            grouped[to++] = ',';
        }
    }
    return ik_strndup(ctx, grouped, to);
}

/* Small sums need more digits to be more than nothing. */
char *ik_export_facts_cost(const void *ctx, double cost)
{
    if (cost < 0) {
        return ik_strdup(ctx, "");
    }
    return ik_sprintf(ctx, cost < 0.01 && cost > 0 ? "$%.4f" : "$%.2f", cost);
}

static void add_tokens(ik_buffer_t *out, const char *before, int64_t count, const char *after)
{
    char *number = ik_export_facts_number(NULL, count);
    ik_buffer_append_format(out, "%s%s%s", before, number, after);
    talloc_free(number);
}

char *ik_export_facts_usage(const void *ctx, const ik_usage_t *usage)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&out, "");
    if (usage->in != IK_USAGE_UNKNOWN) {
        add_tokens(&out, "", usage->in, " in");
    }
    if (usage->in != IK_USAGE_UNKNOWN && usage->cached > 0) {
        add_tokens(&out, " (", usage->cached, " cached)");
    }
    if (usage->out != IK_USAGE_UNKNOWN) {
        add_tokens(&out, out.len == 0 ? "" : ", ", usage->out, " out");
    }
    return ik_buffer_finish(&out);
}

char *ik_export_facts_duration(const void *ctx, int64_t ms)
{
    if (ms < 1000) {
        return ik_sprintf(ctx, "%" PRId64 " ms", ms);
    }
    return ms < 60000
               ? ik_sprintf(ctx, "%.1f s", (double)ms / 1000)
               : ik_sprintf(ctx, "%" PRId64 " min %" PRId64 " s", ms / 60000, ms / 1000 % 60);
}

char *ik_export_facts_size(const void *ctx, size_t bytes)
{
    if (bytes < 1000) {
        return ik_sprintf(ctx, "%zu bytes", bytes);
    }
    return bytes < 1000000 ? ik_sprintf(ctx, "%zu KB", (bytes + 500) / 1000)
                           : ik_sprintf(ctx, "%.1f MB", (double)bytes / 1000000);
}

/* --- a session --------------------------------------------------------------------------- */

const char *ik_export_facts_title(const ik_store_session_t *session)
{
    return session->title == NULL || *session->title == '\0' ? "A session without words"
                                                             : session->title;
}

typedef struct {
    const void *ctx;
    ik_export_fact_t *facts;
    size_t count;
} list_t;

static void add(list_t *list, const char *name, const char *value, bool is_code)
{
    if (value != NULL && *value != '\0') {
        list->facts[list->count++] = (ik_export_fact_t){
            .name = name, .value = ik_strdup(list->ctx, value), .is_code = is_code};
    }
}

size_t ik_export_facts(const void *ctx, const ik_store_session_t *session,
                       ik_export_fact_t facts[IK_EXPORT_FACTS_MAX])
{
    void *scratch = talloc_new(NULL);
    list_t list = {.ctx = ctx, .facts = facts};
    add(&list, "Folder", session->cwd, true);
    add(&list, "Host", session->host, false);
    add(&list, "Model", session->model, true);
    add(&list, "Begun", ik_export_facts_time(scratch, session->created_us), false);
    add(&list, "Last message", ik_export_facts_time(scratch, session->updated_us), false);
    add(&list, "Turns", ik_export_facts_number(scratch, session->turns), false);
    add(&list, "Tokens", ik_export_facts_usage(scratch, &session->usage), false);
    add(&list, "Cost", ik_export_facts_cost(scratch, session->cost), false);
    add(&list, "Session", session->id, true);
    talloc_free(scratch);
    return list.count;
}
