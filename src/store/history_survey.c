#include "store/history_survey.h"

#include "base/alloc.h"
#include "store/postgres/store_postgres.h"
#include "store/sqlite/sqlite_salvage.h"
#include "store/sqlite/sqlite_survey.h"
#include "store/sqlite/store_sqlite.h"

res_t ik_history_survey_sqlite(const void *ctx, char **out)
{
    return ik_sqlite_survey_library(ctx, out);
}

res_t ik_history_survey_open(const void *ctx, const char *path, ik_store_t **out)
{
    TRY(ik_store_sqlite_open(ctx, path, out));
    res_t checked = ik_sqlite_survey_check(*out);
    if (is_err(&checked)) {
        TALLOC_FREE(*out);
    }
    return checked;
}

res_t ik_history_survey_salvage(const void *ctx, const char *path, ik_history_salvage_t *out)
{
    return ik_sqlite_salvage(ctx, path, out);
}

res_t ik_history_survey_local(const void *ctx, ik_store_t *local, ik_history_survey_t *out)
{
    return ik_sqlite_survey(ctx, local, out);
}

res_t ik_history_survey_libpq(const void *ctx, char **out)
{
    return ik_store_postgres_describe(ctx, out);
}

res_t ik_history_survey_server(const void *ctx, const char *url, char **identity)
{
    ik_store_t *server;
    ik_store_postgres_options_t options = {.url = url, .wake_fd = -1};
    TRY(ik_store_postgres_open(ctx, &options, &server));
    *identity = ik_strdup(ctx, ik_store_postgres_identity(server));
    talloc_free(server);
    return OK;
}

res_t ik_history_survey_undelivered(ik_store_t *local, const char *identity, const char *address,
                                    int64_t *messages, int64_t *withheld)
{
    ik_store_consent_t consent;
    *withheld = 0;
    TRY(ik_sqlite_survey_undelivered(local, identity, address, messages));
    return identity == NULL ? OK
                            : ik_store_sqlite_read_consent(local, identity, &consent, withheld);
}
