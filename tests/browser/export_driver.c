/*
 * Sessions in, a page out: imports JSON Lines from standard input into a store in memory and writes
 * its last session to standard output.
 *
 *   export_driver jsonl|md|html
 */
#include <stdio.h>

#include "base/alloc.h"
#include "export/export.h"
#include "export/import.h"
#include "store/sqlite/store_sqlite.h"

static res_t run(const void *ctx, const ik_export_t *format)
{
    ik_store_t *store;
    ik_import_t *imported;
    size_t count;
    ik_store_session_t session;
    TRY(ik_store_sqlite_open(ctx, ":memory:", &store));
    TRY(ik_import_read(ctx, stdin, "stdin", store, NULL, &imported, &count));
    TRY(ik_store_find(ctx, store, imported[count - 1].session_id, &session));
    return format->write(stdout, &(ik_export_source_t){.store = store, .session = &session});
}

int main(int argc, char **argv)
{
    const ik_export_t *format = argc == 2 ? ik_export_find(argv[1]) : NULL;
    if (format == NULL) {
        fprintf(stderr, "usage: export_driver FORMAT (%s)\n", ik_export_names);
        return 2;
    }
    void *ctx = talloc_new(NULL);
    res_t done = run(ctx, format);
    if (is_err(&done)) {
        fprintf(stderr, "%s\n", done.message);
    }
    talloc_free(ctx);
    return is_ok(&done) && fflush(stdout) == 0 ? 0 : 1;
}
