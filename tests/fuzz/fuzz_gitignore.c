/* .gitignore files: any text, any path. Input: the path, NUL, the text of the file. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tools/grep/ignore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *separator = size == 0 ? NULL : memchr(data, '\0', size);
    if (separator == NULL) {
        return 0;
    }
    size_t path_len = (size_t)(separator - data);
    size_t text_len = size - path_len - 1;
    char *path = malloc(path_len + 1);
    memcpy(path, data, path_len);
    char *text = malloc(text_len + 1);
    memcpy(text, separator + 1, text_len);
    size_t name = path_len;
    while (name > 0 && path[name - 1] != '/') {
        name--;
    }
    void *ctx = talloc_new(NULL);
    ik_ignore_t *outer = ik_ignore_parse(ctx, text, text_len, 0, NULL);
    ik_ignore_t *inner = ik_ignore_parse(ctx, text, text_len, name, outer);
    ik_ignore_excludes(inner, path, path_len, name, false);
    ik_ignore_excludes(inner, path, path_len, name, true);
    talloc_free(ctx);
    free(path);
    free(text);
    return 0;
}
