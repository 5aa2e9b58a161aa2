#include "repl/repl_working.h"

#include "base/alloc.h"
#include "base/array.h"

enum {
    SILENCE_MS = 3000, /* shorter ones are not mentioned */
    WHAT_MIN = 12,     /* columns; with fewer, `what` is left out rather than cut further */
};

/* Adds `what` and the end, if both have room; `what` may be cut. */
static bool put(ik_row_t *row, const ik_row_t *what, const char *end, int room)
{
    ik_row_t tail;
    ik_row_init(&tail, row->bytes.ctx, row->theme);
    ik_row_add_role(&tail, IK_ROLE_DIM, end);
    int left = room - tail.width;
    bool fits = left >= (what->width < WHAT_MIN ? what->width : WHAT_MIN);
    if (fits) {
        if (what->width > 0) {
            ik_row_fit(&row->bytes, what->bytes.data, what->bytes.len, left);
        }
        ik_row_add_role(row, IK_ROLE_DIM, end);
        ik_row_end(row);
    }
    return fits;
}

void ik_repl_working_draw(ik_row_t *row, const ik_repl_working_t *working, const char *spinner,
                          int columns)
{
    void *scratch = talloc_new(NULL);
    long long seconds = (long long)working->elapsed_ms / 1000;
    const char *key = "esc to interrupt";
    const char *time = ik_sprintf(scratch, "%lld s · %s", seconds, key);
    const char *silence = ik_sprintf(scratch, "nothing received for %lld s · %s",
                                     (long long)working->silent_ms / 1000, key);
    bool stalled = working->silent_ms >= SILENCE_MS;
    ik_row_t nothing;
    ik_row_t what;
    ik_row_init(&nothing, scratch, row->theme);
    ik_row_init(&what, scratch, row->theme);
    ik_row_add_format(&what, working->role, "%s %s", spinner, working->what);
    ik_row_end(&what);
    const struct {
        bool applies;
        const ik_row_t *what;
        const char *end;
    } forms[] = {
        {stalled, &what, ik_sprintf(scratch, " · %lld s · %s", seconds, silence)},
        {stalled, &what, ik_sprintf(scratch, " · %s", silence)},
        {stalled, &nothing, silence},
        {true, &what, ik_sprintf(scratch, " · %s", time)},
        {true, &nothing, time},
        {true, &nothing, key},
    };
    for (size_t i = 0; i < IK_LENGTH(forms); i++) {
        if (forms[i].applies && put(row, forms[i].what, forms[i].end, columns - 1)) {
            break;
        }
    }
    talloc_free(scratch);
}
