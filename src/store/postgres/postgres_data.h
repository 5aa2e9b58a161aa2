/*
 * Of the data of an event what is worth asking for in SQL: the small members of the object, as far
 * as jsonb takes them. It refuses what text of JSON may well say: \u0000, half a surrogate pair,
 * numbers without measure. The whole of it stands in data_json.
 */
#pragma once

/* On ctx; NULL when there is nothing. data_json is UTF-8, or NULL. */
char *ik_postgres_data_format(const void *ctx, const char *data_json);
