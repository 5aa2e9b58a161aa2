/* Glob patterns: any pattern, any name, all flags. Input: flags byte, pattern, NUL, name. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tools/common/glob_match.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    void *ctx = talloc_new(NULL);
    /* Copies of the exact size, so that reading beyond an end is seen. */
    char *input = malloc(size);
    memcpy(input, data + 1, size - 1);
    char *separator = memchr(input, '\0', size - 1);
    size_t pattern_len = separator == NULL ? size - 1 : (size_t)(separator - input);
    size_t name_len = separator == NULL ? 0 : size - 2 - pattern_len;
    char *name = malloc(name_len + 1);
    memcpy(name, separator == NULL ? input : separator + 1, name_len);
    ik_glob_t glob;
    ik_glob_prepare(&glob, ctx, input, pattern_len, data[0] & 7);
    bool matched = ik_glob_matches(&glob, name, name_len);
    /* A pattern without special characters matches itself and nothing else. */
    if (glob.kind == IK_GLOB_LITERAL && !(data[0] & IK_GLOB_PERIOD)) {
        bool same = name_len == pattern_len && memcmp(name, input, name_len) == 0;
        if (same != matched) {
            abort();
        }
    }
    free(name);
    free(input);
    talloc_free(ctx);
    return 0;
}
