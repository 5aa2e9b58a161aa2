#include "provider/retry_hint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const double LONGEST_MS = 30.0 * 24 * 3600 * 1000; /* longer hints are cut to this */

static int64_t to_hint(double ms)
{
    return (int64_t)(ms < LONGEST_MS ? ms : LONGEST_MS);
}

/* --- durations --------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* strtod would accept "inf" and, in some locales, a comma. */
static bool take_decimal(const char **at, double *value)
{
    const char *p = *at;
    if (!is_digit(*p)) {
        return false;
    }
    double scale = 1;
    for (*value = 0; is_digit(*p); p++) {
        *value = *value * 10 + (*p - '0');
    }
    if (*p == '.' && is_digit(p[1])) {
        for (p++; is_digit(*p); p++) {
            scale /= 10;
            *value += (*p - '0') * scale;
        }
    }
    *at = p;
    return true;
}

typedef struct {
    const char *name;
    double ms;
} unit_t;

static const unit_t units[] = {
    {"ms", 1},          {"milliseconds", 1}, {"s", 1000},       {"sec", 1000},
    {"second", 1000},   {"seconds", 1000},   {"m", 60000},      {"min", 60000},
    {"minute", 60000},  {"minutes", 60000},  {"h", 3600000},    {"hour", 3600000},
    {"hours", 3600000}, {"d", 86400000},     {"day", 86400000}, {"days", 86400000},
    {NULL, 0},
};

static bool take_unit(const char **at, double *ms)
{
    const char *name = *at + strspn(*at, " ");
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz");
    for (const unit_t *unit = units; unit->name != NULL; unit++) {
        if (strlen(unit->name) == len && strncmp(unit->name, name, len) == 0) {
            *ms = unit->ms;
            *at = name + len;
            return true;
        }
    }
    return false;
}

int64_t ik_retry_hint_parse_duration(const char *text)
{
    double sum = 0;
    double value;
    double ms;
    const char *at = text;
    while (take_decimal(&at, &value)) {
        if (!take_unit(&at, &ms)) {
            return -1;
        }
        sum += value * ms;
    }
    return at == text ? -1 : to_hint(sum);
}

/* A number without a unit. */
static int64_t parse_count(const char *text, double ms)
{
    double value;
    if (text == NULL || !take_decimal(&text, &value) || text[strspn(text, " ")] != '\0') {
        return -1;
    }
    return to_hint(value * ms);
}

/* --- dates ------------------------------------------------------------------------------- */

static int64_t until(struct tm *date, int64_t zone_seconds, int64_t now)
{
    if (now < 0) {
        return -1;
    }
    int64_t seconds = (int64_t)timegm(date) - zone_seconds - now;
    return seconds > 0 ? to_hint((double)seconds * 1000) : 0;
}

/* Wed, 21 Oct 2026 07:28:00 GMT. strptime would expect the names in the user's language. */
static int64_t parse_http_date(const char *text, int64_t now)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct tm date = {0};
    char month[4];
    if (sscanf(text, "%*3s, %2d %3s %4d %2d:%2d:%2d", &date.tm_mday, month, &date.tm_year,
               &date.tm_hour, &date.tm_min, &date.tm_sec) != 6) {
        return -1;
    }
    const char *found = strstr(months, month);
    if (found == NULL || strlen(month) != 3 || (found - months) % 3 != 0) {
        return -1;
    }
    date.tm_mon = (int)(found - months) / 3;
    date.tm_year -= 1900;
    return until(&date, 0, now);
}

/* 2026-11-15T08:00:00Z, or with an offset. */
static int64_t parse_rfc3339(const char *text, int64_t now)
{
    struct tm date = {0};
    int used = 0;
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &date.tm_year, &date.tm_mon, &date.tm_mday,
               &date.tm_hour, &date.tm_min, &date.tm_sec, &used) != 6) {
        return -1;
    }
    const char *zone = text + used;
    zone += *zone == '.' ? 1 + strspn(zone + 1, "0123456789") : 0;
    int hours = 0;
    int minutes = 0;
    if (*zone != 'Z' && sscanf(zone + (*zone != '\0'), "%2d:%2d", &hours, &minutes) != 2) {
        return -1;
    }
    date.tm_year -= 1900;
    date.tm_mon -= 1;
    return until(&date, (*zone == '-' ? -60 : 60) * (hours * 60 + minutes), now);
}

/* --- headers and messages ---------------------------------------------------------------- */

int64_t ik_retry_hint_from_headers(ik_retry_hint_header_fn *header, void *data, int64_t now)
{
    int64_t hint = parse_count(header(data, "retry-after-ms"), 1);
    const char *after = header(data, "retry-after");
    if (hint < 0) {
        hint = parse_count(after, 1000);
    }
    return hint < 0 && after != NULL ? parse_http_date(after, now) : hint;
}

typedef struct {
    const char *remaining;
    const char *reset;
} limit_t;

#define OPENAI(what) "x-ratelimit-remaining-" what, "x-ratelimit-reset-" what
#define ANTHROPIC(what)                                                                            \
    "anthropic-ratelimit-" what "-remaining", "anthropic-ratelimit-" what "-reset"

static const limit_t limits[] = {
    {OPENAI("requests")},  {OPENAI("tokens")},          {ANTHROPIC("requests")},
    {ANTHROPIC("tokens")}, {ANTHROPIC("input-tokens")}, {ANTHROPIC("output-tokens")},
    {NULL, NULL},
};

int64_t ik_retry_hint_from_limits(ik_retry_hint_header_fn *header, void *data, int64_t now)
{
    int64_t longest = -1;
    for (const limit_t *limit = limits; limit->reset != NULL; limit++) {
        const char *remaining = header(data, limit->remaining);
        const char *reset = header(data, limit->reset);
        if (remaining != NULL && reset != NULL && strcmp(remaining, "0") == 0) {
            int64_t hint = ik_retry_hint_parse_duration(reset);
            hint = hint < 0 ? parse_count(reset, 1000) : hint;
            hint = hint < 0 ? parse_rfc3339(reset, now) : hint;
            longest = hint > longest ? hint : longest;
        }
    }
    return longest;
}

int64_t ik_retry_hint_from_message(const char *message)
{
    static const char *const phrases[] = {"try again in ", "retry in ", "retry after ",
                                          "try again after ", NULL};
    for (const char *const *phrase = phrases; *phrase != NULL; phrase++) {
        const char *found = strcasestr(message, *phrase);
        if (found != NULL) {
            return ik_retry_hint_parse_duration(found + strlen(*phrase));
        }
    }
    return -1;
}
