#include "store/postgres/postgres_text.h"

#include <string.h>

#include "base/buffer.h"
#include "base/utf8.h"

const char *ik_postgres_text_clean(const void *ctx, const char *text)
{
    if (text == NULL || ik_utf8_valid(text, strlen(text))) {
        return text;
    }
    ik_buffer_t clean;
    ik_buffer_init(&clean, ctx, IK_BUFFER_UNLIMITED);
    ik_utf8_append_clean(&clean, text, strlen(text));
    return ik_buffer_take(ctx, &clean);
}
