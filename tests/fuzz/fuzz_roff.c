/*
 * Any bytes as the text of a manual page. What comes out is printable ASCII; every line that roff
 * takes for a request is one of ours in its full form, every escape is one of ours, and what is
 * opened is closed: then nothing in a document is roff's language.
 */
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "cli/cli_roff.h"
#include "pieces.h"

#define SETTINGS_END "\n.ss 12 0\n"

/* --- requests ---------------------------------------------------------------------------- */

/* All of these return what is behind, or NULL. */
static const char *skip_text(const char *at, const char *text)
{
    size_t len = strlen(text);
    return at != NULL && strncmp(at, text, len) == 0 ? at + len : NULL;
}

static const char *skip_number(const char *at)
{
    size_t digits = at == NULL ? 0 : strspn(at, "0123456789");
    return digits == 0 ? NULL : at + digits;
}

static const char *skip_quoted(const char *at)
{
    at = skip_text(at, "\"");
    at = at == NULL ? NULL : at + strcspn(at, "\"\n");
    return skip_text(at, "\"");
}

/* The mark of an item, or a tag: \(bu, 12., 3), "tag" */
static const char *skip_mark(const char *at)
{
    const char *number = skip_number(at);
    if (number != NULL) {
        return *number == '.' || *number == ')' ? number + 1 : NULL;
    }
    return *at == '"' ? skip_quoted(at) : skip_text(at, "\\(bu");
}

static const char *skip_request(const char *at)
{
    static const char *const whole[] = {".PP\n", ".RE\n",   ".EX\n", ".EE\n",
                                        ".PD\n", ".PD 0\n", ".br\n"};
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        if (skip_text(at, whole[i]) != NULL) {
            return at + strlen(whole[i]);
        }
    }
    if (skip_text(at, ".RS ") != NULL || skip_text(at, ".TP ") != NULL) {
        return skip_text(skip_number(at + 4), "\n");
    }
    if (skip_text(at, ".SH ") != NULL || skip_text(at, ".SS ") != NULL) {
        return skip_text(skip_quoted(at + 4), "\n");
    }
    at = skip_text(at, ".IP ");
    return at == NULL ? NULL : skip_text(skip_number(skip_text(skip_mark(at), " ")), "\n");
}

/* --- text -------------------------------------------------------------------------------- */

static const char *skip_code_point(const char *at)
{
    size_t digits = strspn(at, "0123456789ABCDEF");
    REQUIRE(digits >= 4 && digits <= 6);
    return skip_text(at + digits, "]");
}

static const char *skip_escape(const char *at)
{
    static const char *const ours[] = {"\\(rs", "\\(aq",  "\\(ga", "\\(ha", "\\(ti",
                                       "\\(dq", "\\-",    "\\&",   "\\~",   "\\%",
                                       "\\fR",  "\\f(BI", "\\fB",  "\\fI"};
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        if (skip_text(at, ours[i]) != NULL) {
            return at + strlen(ours[i]);
        }
    }
    at = skip_text(at, "\\[u");
    return at == NULL ? NULL : skip_code_point(at);
}

/* Up to the end of the line, which text has and is not empty. */
static const char *skip_line(const char *at)
{
    REQUIRE(*at != '\n' && *at != '\0');
    while (*at != '\n') {
        REQUIRE(*at >= ' ' && *at <= '~');
        at = *at == '\\' ? skip_escape(at) : at + 1;
        REQUIRE(at != NULL);
    }
    return at + 1;
}

/* --- the page ---------------------------------------------------------------------------- */

/* What stands in quotes in a request is text, too. */
static void check_argument(const char *request, const char *end)
{
    const char *quote = memchr(request, '"', (size_t)(end - request));
    if (quote != NULL && quote[1] != '"') {
        REQUIRE(skip_line(quote + 1) == end);
    }
}

static void check_body(const char *at)
{
    int depth = 0;
    bool in_code = false;
    while (*at != '\0') {
        if (*at != '.' && *at != '\'') {
            at = skip_line(at);
            continue;
        }
        const char *end = skip_request(at);
        REQUIRE(end != NULL);
        check_argument(at, end);
        REQUIRE(!in_code || strncmp(at, ".EE", 3) == 0);
        in_code = strncmp(at, ".EX", 3) == 0;
        depth += (strncmp(at, ".RS", 3) == 0) - (strncmp(at, ".RE", 3) == 0);
        REQUIRE(depth >= 0);
        at = end;
    }
    REQUIRE(depth == 0 && !in_code);
}

/* The comment, fallbacks, title and settings. */
static const char *skip_head(const char *at)
{
    const char *end = strstr(at, SETTINGS_END);
    REQUIRE(end != NULL);
    for (; at < end; at = strchr(at, '\n') + 1) {
        REQUIRE(*at == '.');
    }
    return end + strlen(SETTINGS_END);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len > 16384) {
        return 0;
    }
    void *ctx = talloc_new(NULL);
    char *page = NULL;
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&text, "# a 1 \"b\"\n\n");
    ik_buffer_append(&text, (const char *)bytes, len);
    res_t made = ik_cli_roff_format(ctx, text.data, text.len, "2026-11-15", &page);
    REQUIRE(is_ok(&made) || made.code == IK_ERR_LIMIT);
    if (is_ok(&made)) {
        check_body(skip_head(page));
    }
    talloc_free(ctx);
    return 0;
}
