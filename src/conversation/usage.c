#include "conversation/usage.h"

#include <stdlib.h>

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

/* An absurdly large count is unknown, so that sums do not overflow. */
static int64_t read_count(ik_json_span_t number)
{
    static const long long most = INT64_C(1) << 50;
    if (!ik_json_is(number, IK_JSON_NUMBER)) {
        return IK_USAGE_UNKNOWN;
    }
    char *end;
    long long count = strtoll(number.text, &end, 10);
    bool whole = end == number.text + number.len;
    return whole && count >= 0 && count <= most ? count : IK_USAGE_UNKNOWN;
}

void ik_usage_format_cost(ik_buffer_t *out, const ik_usage_t *usage, double cost)
{
    size_t start = out->len;
    ik_usage_format(out, usage);
    if (cost >= 0) {
        out->len--;
        ik_buffer_append_format(out, "%s\"cost_usd\":%.6f}", out->len == start + 1 ? "" : ",",
                                cost);
    }
}

ik_usage_t ik_usage_parse(ik_json_span_t object)
{
    enum { IN, CACHED, CACHE_WRITE, OUT, REASONING, COUNT };
    static const char *const names[COUNT] = {"in", "cached", "cache_write", "out", "reasoning"};
    ik_json_span_t values[COUNT];
    ik_json_find_members(object, names, COUNT, values);
    return (ik_usage_t){
        .in = read_count(values[IN]),
        .cached = read_count(values[CACHED]),
        .cache_write = read_count(values[CACHE_WRITE]),
        .out = read_count(values[OUT]),
        .reasoning = read_count(values[REASONING]),
    };
}
