/* .gitignore files: any text, any path. Input: the path, NUL, the text of the file. */
#include <stdint.h>

#include "base/alloc.h"
#include "base/ignore.h"
#include "pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    size_t path_len = pieces_find(bytes, len, '\0');
    if (path_len == len) {
        return 0;
    }
    size_t text_len = len - path_len - 1;
    char *path = pieces_copy(bytes, path_len);
    char *text = pieces_copy(bytes + path_len + 1, text_len);
    size_t name = path_len;
    while (name > 0 && path[name - 1] != '/') {
        name--;
    }
    void *ctx = talloc_new(NULL);
    ik_ignore_t *outer = ik_ignore_parse(ctx, text, text_len, 0, NULL);
    ik_ignore_t *inner = ik_ignore_parse(ctx, text, text_len, name, outer);
    ik_ignore_decide(inner, path, path_len, name, false);
    ik_ignore_decide(inner, path, path_len, name, true);
    talloc_free(ctx);
    free(path);
    free(text);
    return 0;
}
