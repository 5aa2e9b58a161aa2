/* Long texts for tests. */
#pragma once

#include "base/buffer.h"

static inline char *repeat(const void *ctx, const char *text, size_t count)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < count; i++) {
        ik_buffer_append_text(&out, text);
    }
    return ik_buffer_finish(&out);
}
