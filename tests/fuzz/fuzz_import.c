/*
 * Any bytes as an export. What is refused is refused with its line and leaves nothing; what is
 * taken can be written again, and that is read back as the same.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "export/export.h"
#include "export/import.h"
#include "pieces.h"
#include "store/sqlite/store_sqlite.h"

static ik_store_t *new_store(void *ctx)
{
    ik_store_t *store;
    res_t opened = ik_store_sqlite_open(ctx, ":memory:", &store);
    REQUIRE(is_ok(&opened));
    return store;
}

static res_t import(void *ctx, const char *bytes, size_t len, ik_store_t *store, ik_import_t **out,
                    size_t *count)
{
    FILE *in = fmemopen((void *)bytes, len, "r");
    REQUIRE(in != NULL);
    res_t read = ik_import_read(ctx, in, "FILE", store, NULL, out, count);
    fclose(in);
    return read;
}

static size_t count_sessions(void *ctx, ik_store_t *store)
{
    ik_store_list_t *list;
    res_t listed = ik_store_list(ctx, store, &(ik_store_filter_t){.limit = 0}, &list);
    REQUIRE(is_ok(&listed));
    return list->count;
}

/* All of them, one behind the other. */
static char *export(void *ctx, ik_store_t *store, const ik_import_t *imported, size_t count)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    for (size_t i = 0; i < count; i++) {
        ik_store_session_t session;
        res_t done = ik_store_find(ctx, store, imported[i].session_id, &session);
        done = is_ok(&done) ? ik_export_jsonl.write(
                                  out, &(ik_export_source_t){.store = store, .session = &session})
                            : done;
        REQUIRE(is_ok(&done));
    }
    fclose(out);
    REQUIRE(ik_utf8_valid(text, len) && strlen(text) == len);
    char *copy = ik_strndup(ctx, text, len);
    free(text);
    return copy;
}

static void check_again(void *ctx, ik_store_t *store, const ik_import_t *imported, size_t count)
{
    ik_import_t *again;
    size_t again_count;
    ik_store_t *other = new_store(ctx);
    char *text = export(ctx, store, imported, count);
    res_t read = import(ctx, text, strlen(text), other, &again, &again_count);
    REQUIRE(is_ok(&read) && again_count == count);
    REQUIRE(strcmp(export(ctx, other, again, count), text) == 0);
    read = import(ctx, text, strlen(text), other, &again, &again_count);
    REQUIRE(is_ok(&read) && again[0].known && again[count - 1].known);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    void *ctx = talloc_new(NULL);
    ik_store_t *store = new_store(ctx);
    ik_import_t *imported;
    size_t count;
    /* fmemopen wants at least one byte. */
    res_t read = import(ctx, len == 0 ? "\n" : (const char *)bytes, len == 0 ? 1 : len, store,
                        &imported, &count);
    if (is_ok(&read)) {
        REQUIRE(count_sessions(ctx, store) == count);
        check_again(ctx, store, imported, count);
    } else {
        REQUIRE(strncmp(read.message, "FILE:", 5) == 0);
        REQUIRE(count_sessions(ctx, store) == 0);
    }
    talloc_free(ctx);
    return 0;
}
