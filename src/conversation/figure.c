#include "conversation/figure.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

enum { MINUTE = 60, HOUR = 60 * MINUTE, DAY = 24 * HOUR, WEEK = 7 * DAY, YEAR = 365 * DAY };
enum { US_PER_SECOND = 1000000 };

/* --- counts ------------------------------------------------------------------------------ */

ik_figure_t ik_figure_of_count(int64_t count)
{
    ik_figure_t figure = {"-"};
    char digits[32];
    size_t to = 0;
    if (count < 0) {
        return figure;
    }
    int len = snprintf(digits, sizeof(digits), "%" PRId64, count);
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0) {
            figure.text[to++] = ',';
        }
        figure.text[to++] = digits[i];
    }
    figure.text[to] = '\0';
    return figure;
}

ik_figure_t ik_figure_of_tokens(const ik_usage_t *usage)
{
    int64_t in = usage->in == IK_USAGE_UNKNOWN ? 0 : usage->in;
    int64_t out = usage->out == IK_USAGE_UNKNOWN ? 0 : usage->out;
    int64_t count;
    if (usage->in == IK_USAGE_UNKNOWN && usage->out == IK_USAGE_UNKNOWN) {
        return (ik_figure_t){"-"};
    }
    if (__builtin_add_overflow(in, out, &count)) {
        count = INT64_MAX; /* an imported file may claim anything */
    }
    if (count < 1000) {
        return ik_figure_of_count(count);
    }
    /* One decimal, cut and not rounded: 999,999 tokens are 999.9k, not 1000.0k. */
    int64_t unit = count < 1000000 ? 1000 : 1000000;
    ik_figure_t figure;
    snprintf(figure.text, sizeof(figure.text), "%" PRId64 ".%d%c", count / unit,
             (int)(count % unit * 10 / unit), unit == 1000 ? 'k' : 'M');
    return figure;
}

ik_figure_t ik_figure_of_window(int64_t tokens)
{
    ik_figure_t figure;
    int64_t tenths = tokens / 100000; /* of a million */
    if (tokens < 1000) {
        return ik_figure_of_count(tokens);
    }
    if (tokens < 1000000) {
        snprintf(figure.text, sizeof(figure.text), "%" PRId64 "k", tokens / 1000);
    } else if (tenths % 10 == 0) {
        snprintf(figure.text, sizeof(figure.text), "%" PRId64 "M", tenths / 10);
    } else {
        snprintf(figure.text, sizeof(figure.text), "%" PRId64 ".%dM", tenths / 10,
                 (int)(tenths % 10));
    }
    return figure;
}

char *ik_figure_format_usage(const void *ctx, const ik_usage_t *usage)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, 128); /* three counts of at most 25 characters */
    ik_buffer_append_text(&out, "");
    if (usage->in != IK_USAGE_UNKNOWN) {
        ik_buffer_append_format(&out, "%s in", ik_figure_of_count(usage->in).text);
        if (usage->cached > 0) {
            ik_buffer_append_format(&out, " (%s cached)", ik_figure_of_count(usage->cached).text);
        }
    }
    if (usage->out != IK_USAGE_UNKNOWN) {
        ik_buffer_append_format(&out, "%s%s out", out.len == 0 ? "" : ", ",
                                ik_figure_of_count(usage->out).text);
    }
    return ik_buffer_finish(&out);
}

ik_figure_t ik_figure_of_cost(double cost)
{
    ik_figure_t figure = {"-"};
    if (cost >= 0) {
        snprintf(figure.text, sizeof(figure.text), "$%.*f", cost > 0 && cost < 0.01 ? 4 : 2, cost);
    }
    return figure;
}

ik_figure_t ik_figure_of_size(size_t bytes)
{
    ik_figure_t figure;
    if (bytes < 1000) {
        snprintf(figure.text, sizeof(figure.text), "%zu bytes", bytes);
    } else if (bytes < 1000000) {
        snprintf(figure.text, sizeof(figure.text), "%zu KB", (bytes + 500) / 1000);
    } else {
        snprintf(figure.text, sizeof(figure.text), "%.1f MB", (double)bytes / 1000000);
    }
    return figure;
}

/* --- times ------------------------------------------------------------------------------- */

ik_figure_t ik_figure_of_duration(int64_t ms)
{
    ik_figure_t figure;
    if (ms < 1000) {
        snprintf(figure.text, sizeof(figure.text), "%" PRId64 " ms", ms);
    } else if (ms < 60000) {
        snprintf(figure.text, sizeof(figure.text), "%.1f s", (double)ms / 1000);
    } else {
        snprintf(figure.text, sizeof(figure.text), "%" PRId64 " min %d s", ms / 60000,
                 (int)(ms / 1000 % 60));
    }
    return figure;
}

ik_figure_t ik_figure_of_age(int64_t then_us, int64_t now_us)
{
    static const struct {
        int64_t from; /* seconds */
        int64_t unit;
        char name;
    } units[] = {
        {YEAR, YEAR, 'y'}, {2 * WEEK, WEEK, 'w'}, {DAY, DAY, 'd'},
        {HOUR, HOUR, 'h'}, {MINUTE, MINUTE, 'm'}, {0, 1, 's'},
    };
    /* After the clock was set back a message may lie in the future. */
    int64_t seconds = now_us > then_us ? now_us / US_PER_SECOND - then_us / US_PER_SECOND : 0;
    size_t i = 0;
    while (seconds < units[i].from) {
        i++;
    }
    ik_figure_t age;
    snprintf(age.text, sizeof(age.text), "%" PRId64 "%c", seconds / units[i].unit, units[i].name);
    return age;
}

/* convert is gmtime_r or localtime_r. */
static ik_figure_t format_time(int64_t us, struct tm *(*convert)(const time_t *, struct tm *),
                               const char *format)
{
    ik_figure_t figure = {""};
    struct tm parts;
    time_t seconds = (time_t)(us / US_PER_SECOND - (us % US_PER_SECOND < 0)); /* round down */
    if (convert(&seconds, &parts) != NULL && parts.tm_year >= -900 && parts.tm_year < 8100) {
        strftime(figure.text, sizeof(figure.text), format, &parts);
    }
    return figure;
}

ik_figure_t ik_figure_of_local_time(int64_t us)
{
    return format_time(us, localtime_r, "%Y-%m-%d %H:%M:%S");
}

ik_figure_t ik_figure_of_utc_minute(int64_t us)
{
    return format_time(us, gmtime_r, "%Y-%m-%d %H:%M UTC");
}

ik_figure_t ik_figure_of_utc_second(int64_t us)
{
    return format_time(us, gmtime_r, "%Y-%m-%dT%H:%M:%SZ");
}

ik_figure_t ik_figure_of_utc_time(int64_t us)
{
    char format[] = "%Y-%m-%dT%H:%M:%S.000000Z";
    int64_t fraction = us % US_PER_SECOND;
    snprintf(format, sizeof(format), "%%Y-%%m-%%dT%%H:%%M:%%S.%06dZ",
             (int)(fraction < 0 ? fraction + US_PER_SECOND : fraction));
    return format_time(us, gmtime_r, format);
}
