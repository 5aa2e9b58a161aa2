#include "conversation/usage.h"

#include <stddef.h>

#include "base/array.h"

typedef struct {
    const char *name;
    size_t offset;
} figure_t;

static const figure_t figures[] = {
    {"in", offsetof(ik_usage_t, in)},
    {"cached", offsetof(ik_usage_t, cached)},
    {"cache_write", offsetof(ik_usage_t, cache_write)},
    {"out", offsetof(ik_usage_t, out)},
    {"reasoning", offsetof(ik_usage_t, reasoning)},
};
enum { FIGURE_COUNT = IK_LENGTH(figures) };

static int64_t read_figure(const ik_usage_t *usage, size_t i)
{
    return *(const int64_t *)((const char *)usage + figures[i].offset);
}

bool ik_usage_known(const ik_usage_t *usage)
{
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        if (read_figure(usage, i) != IK_USAGE_UNKNOWN) {
            return true;
        }
    }
    return false;
}

void ik_usage_add(ik_usage_t *sum, const ik_usage_t *more)
{
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        int64_t *total = (int64_t *)((char *)sum + figures[i].offset);
        int64_t added = read_figure(more, i);
        if (added == IK_USAGE_UNKNOWN) {
            continue;
        }
        *total = *total == IK_USAGE_UNKNOWN ? added : *total + added;
    }
}

void ik_usage_format(ik_buffer_t *out, const ik_usage_t *usage)
{
    const char *separator = "";
    ik_buffer_append_byte(out, '{');
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        int64_t figure = read_figure(usage, i);
        if (figure != IK_USAGE_UNKNOWN) {
            ik_buffer_append_format(out, "%s\"%s\":%lld", separator, figures[i].name,
                                    (long long)figure);
            separator = ",";
        }
    }
    ik_buffer_append_byte(out, '}');
}
