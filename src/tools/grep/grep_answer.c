#include "tools/grep/grep_answer.h"

#include <inttypes.h>

#include "base/json.h"
#include "tools/grep/escape.h"

enum { WRITE_SIZE = 128 * 1024 };

static void flush(ik_grep_answer_t *answer, bool last)
{
    if (!answer->broken) {
        answer->broken =
            !ik_tool_answer_write_part(answer->pending.data, answer->pending.len, last);
    }
    answer->pending.len = 0;
}

static void append(ik_grep_answer_t *answer, const char *text, size_t len)
{
    if (answer->pending.len + len > WRITE_SIZE && answer->pending.len > 0) {
        flush(answer, false);
    }
    ik_buffer_append(&answer->pending, text, len);
}

void ik_grep_answer_begin(ik_grep_answer_t *answer, ik_tool_call_t *call)
{
    *answer = (ik_grep_answer_t){.call = call};
    ik_buffer_init(&answer->pending, call->ctx, IK_BUFFER_UNLIMITED); /* flushed at WRITE_SIZE */
    ik_buffer_append_text(&answer->pending, "{\"output\":\"");
}

void ik_grep_answer_add(ik_grep_answer_t *answer, ik_grep_part_t *part)
{
    size_t skip = 0;
    if (answer->lines == 0 && part->lines > 0) { /* the output does not begin with a newline */
        skip = part->text.len >= 2 ? 2 : 0;
        part->bytes -= 1;
    }
    uint64_t room = answer->call->max_output - answer->kept;
    size_t len = part->text.len - skip;
    size_t kept = part->bytes;
    if (!answer->full && part->bytes > room) {
        len = ik_escape_cut(part->text.data + skip, len, room, &kept);
        answer->full = true;
        append(answer, part->text.data + skip, len);
        answer->kept += kept;
    } else if (!answer->full && len > 0) {
        append(answer, part->text.data + skip, len);
        answer->kept += kept;
    }
    answer->bytes += part->bytes;
    answer->lines += part->lines;
    part->text.len = 0;
    part->bytes = 0;
    part->lines = 0;
}

void ik_grep_answer_end(ik_grep_answer_t *answer, const char *note,
                        const ik_warning_list_t *warnings)
{
    ik_buffer_t *out = &answer->pending;
    ik_buffer_append_format(out, "\",\"count\":%" PRIu64, answer->lines);
    if (answer->kept < answer->bytes) {
        ik_buffer_append_format(out, ",\"truncated\":true,\"total_bytes\":%" PRIu64, answer->bytes);
    }
    if (note != NULL) {
        ik_buffer_append_text(out, ",\"note\":");
        ik_json_append_text(out, note);
    }
    ik_warning_list_append(warnings, out);
    ik_buffer_append_byte(out, '}');
    flush(answer, true);
    if (!answer->broken) {
        ik_tool_answer_done(answer->call);
    }
}
