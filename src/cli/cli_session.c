#include "cli/cli_session.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/print.h"
#include "base/width.h"
#include "conversation/figure.h"
#include "store/session_lines.h"

/* --- for people -------------------------------------------------------------------------- */

void ik_cli_session_print_line(const ik_store_session_t *session)
{
    enum { FOLDER_MAX = 40 };
    ik_buffer_t line;
    void *scratch = talloc_new(NULL);
    ik_figure_t age = ik_figure_of_age(session->updated_us, ik_store_now_us());
    ik_buffer_init(&line, scratch, IK_BUFFER_UNLIMITED); /* bounded by the title */
    ik_buffer_append_format(&line, "  %s  %4s  %4" PRId64 " message%s  ", session->id, age.text,
                            session->messages, session->messages == 1 ? " " : "s");
    ik_width_append(&line, ik_session_lines_folder(scratch, session->cwd), FOLDER_MAX,
                    IK_WIDTH_KEEP_END);
    ik_buffer_append_text(&line, "  ");
    ik_width_append(&line, session->title, IK_WIDTH_UNLIMITED, IK_WIDTH_KEEP_START);
    ik_print_line(stdout, line.data);
    talloc_free(scratch);
}

/* --- for programs ------------------------------------------------------------------------ */

void ik_cli_session_add_time(ik_buffer_t *object, const char *name, int64_t us)
{
    ik_buffer_append_format(object, ",\"%s_at\":\"%s\",\"%s_us\":%" PRId64, name,
                            ik_figure_of_utc_time(us).text, name, us);
}

void ik_cli_session_add_facts(ik_buffer_t *object, const ik_store_session_t *session)
{
    ik_json_add_text(object, "id", session->id);
    ik_json_add_text(object, "title", session->title);
    ik_json_add_text(object, "cwd", session->cwd);
    ik_json_add_text(object, "host", session->host);
    ik_json_add_text(object, "model", session->model);
    ik_cli_session_add_time(object, "created", session->created_us);
    ik_cli_session_add_time(object, "updated", session->updated_us);
    ik_json_add_number(object, "turns", session->turns);
    ik_json_begin_member(object, "usage");
    ik_usage_format(object, &session->usage);
    ik_json_begin_member(object, "cost_usd");
    if (session->cost < 0) {
        ik_buffer_append_text(object, "null");
    } else {
        ik_buffer_append_format(object, "%.6f", session->cost);
    }
}
