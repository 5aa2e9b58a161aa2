/* Glob patterns: any pattern, any name, all flags. Input: flags byte, pattern, NUL, name. */
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/glob_match.h"
#include "pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len < 1) {
        return 0;
    }
    void *ctx = talloc_new(NULL);
    int flags = bytes[0] & 7;
    size_t pattern_len = pieces_find(bytes + 1, len - 1, '\0');
    size_t name_len = pattern_len + 1 < len ? len - pattern_len - 2 : 0;
    char *pattern = pieces_copy(bytes + 1, pattern_len);
    char *name = pieces_copy(bytes + len - name_len, name_len);
    ik_glob_t glob;
    ik_glob_prepare(&glob, ctx, pattern, pattern_len, flags);
    bool matched = ik_glob_matches(&glob, name, name_len);
    /* A pattern without special characters matches itself and nothing else. */
    if (glob.kind == IK_GLOB_LITERAL && !(flags & IK_GLOB_PERIOD)) {
        REQUIRE(matched == (name_len == pattern_len && memcmp(name, pattern, name_len) == 0));
    }
    free(name);
    free(pattern);
    talloc_free(ctx);
    return 0;
}
