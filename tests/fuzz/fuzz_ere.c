/*
 * Patterns: any pattern on any line. Input: flags byte, pattern, NUL, text. What the literal sieve
 * lets through must be exactly what matching finds, so every line is also asked for by itself.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "pieces.h"
#include "tools/grep/grep_pattern.h"
#include "tools/grep/literal_scan.h"

enum { PATTERN_MAX = 256 };

/* The first matching line, asked for one by one; NULL when none does. */
static const char *find_slowly(ik_grep_matcher_t *matcher, const char *from, const char *end)
{
    while (from < end) {
        const char *newline = memchr(from, '\n', (size_t)(end - from));
        const char *stop = newline == NULL ? end : newline + 1;
        ik_grep_matcher_begin(matcher);
        if (ik_grep_matcher_find(matcher, from, stop) != NULL) {
            return from;
        }
        from = stop;
    }
    return NULL;
}

static const char *line_start(const char *from, const char *at)
{
    const char *newline = at == NULL ? NULL : memrchr(from, '\n', (size_t)(at - from));
    return newline != NULL ? newline + 1 : at == NULL ? NULL : from;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    size_t pattern_len = size < 2 ? 0 : pieces_find(bytes + 1, size - 1, '\0');
    if (pattern_len + 2 > size || pattern_len > PATTERN_MAX ||
        !ik_utf8_valid((const char *)bytes + 1, pattern_len)) {
        return 0;
    }
    void *ctx = talloc_new(NULL);
    ik_grep_pattern_t *pattern;
    res_t compiled =
        ik_grep_pattern_compile(ctx, (const char *)bytes + 1, pattern_len, bytes[0] & 1, &pattern);
    if (is_ok(&compiled)) {
        size_t len = size - pattern_len - 2;
        char *text = calloc(1, len + IK_LITERAL_SCAN_PAD);
        memcpy(text, bytes + size - len, len);
        ik_grep_matcher_t *matcher = ik_grep_matcher_create(ctx, pattern);
        const char *found = ik_grep_matcher_find(matcher, text, text + len);
        const char *slowly = find_slowly(matcher, text, text + len);
        REQUIRE(line_start(text, found) == slowly || ik_grep_pattern_skipped(pattern) > 0);
        free(text);
    }
    talloc_free(ctx);
    return 0;
}
