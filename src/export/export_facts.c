#include "export/export_facts.h"

#include "base/alloc.h"
#include "conversation/figure.h"

const char *ik_export_facts_title(const ik_store_session_t *session)
{
    return session->title == NULL || *session->title == '\0' ? "Untitled session" : session->title;
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
    add(&list, "Started", ik_figure_of_utc_minute(session->created_us).text, false);
    add(&list, "Last message", ik_figure_of_utc_minute(session->updated_us).text, false);
    add(&list, "Turns", ik_figure_of_count(session->turns).text, false);
    add(&list, "Tokens", ik_figure_format_usage(scratch, &session->usage), false);
    add(&list, "Cost", session->cost < 0 ? "" : ik_figure_of_cost(session->cost).text, false);
    add(&list, "Session", session->id, true);
    talloc_free(scratch);
    return list.count;
}
