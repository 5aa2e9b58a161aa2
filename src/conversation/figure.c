#include "conversation/figure.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

enum { MINUTE = 60, HOUR = 60 * MINUTE, DAY = 24 * HOUR, WEEK = 7 * DAY, YEAR = 365 * DAY };
enum { US_PER_SECOND = 1000000 };

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
    /* A clock that was set back is no news from the future. */
    int64_t seconds = now_us > then_us ? now_us / US_PER_SECOND - then_us / US_PER_SECOND : 0;
    size_t i = 0;
    while (seconds < units[i].from) {
        i++;
    }
    ik_figure_t age;
    snprintf(age.text, sizeof(age.text), "%" PRId64 "%c", seconds / units[i].unit, units[i].name);
    return age;
}

ik_figure_t ik_figure_of_count(int64_t count)
{
    ik_figure_t figure;
    snprintf(figure.text, sizeof(figure.text), "%" PRId64, count);
    return figure;
}

/* One decimal, cut and not rounded: 999,999 are no 1000.0k. */
static ik_figure_t shorten(int64_t count, int64_t unit, char name)
{
    ik_figure_t figure;
    snprintf(figure.text, sizeof(figure.text), "%" PRId64 ".%" PRId64 "%c", count / unit,
             count % unit * 10 / unit, name);
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
    if (count >= 1000000) {
        return shorten(count, 1000000, 'M');
    }
    return count >= 1000 ? shorten(count, 1000, 'k') : ik_figure_of_count(count);
}

ik_figure_t ik_figure_of_cost(double cost)
{
    ik_figure_t figure = {"-"};
    if (cost >= 0) {
        snprintf(figure.text, sizeof(figure.text), "$%.*f", cost < 10 ? 4 : 2, cost);
    }
    return figure;
}

/* Whole seconds, downwards: what was before 1970 has its time, too. */
static time_t split(int64_t us, int *rest)
{
    int64_t seconds = us / US_PER_SECOND - (us % US_PER_SECOND < 0);
    *rest = (int)(us - seconds * US_PER_SECOND);
    return (time_t)seconds;
}

ik_figure_t ik_figure_of_local_time(int64_t us)
{
    int rest;
    struct tm day;
    time_t seconds = split(us, &rest);
    ik_figure_t figure = {"-"};
    if (localtime_r(&seconds, &day) != NULL) {
        strftime(figure.text, sizeof(figure.text), "%Y-%m-%d %H:%M:%S", &day);
    }
    return figure;
}

ik_figure_t ik_figure_of_time(int64_t us)
{
    int rest;
    struct tm day;
    time_t seconds = split(us, &rest);
    ik_figure_t figure = {"-"};
    if (gmtime_r(&seconds, &day) != NULL) {
        size_t len = strftime(figure.text, sizeof(figure.text), "%Y-%m-%dT%H:%M:%S", &day);
        snprintf(figure.text + len, sizeof(figure.text) - len, ".%06dZ", rest);
    }
    return figure;
}
