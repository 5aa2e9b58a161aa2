/* Text as the server takes it. */
#pragma once

/* The text itself, or, when it is not UTF-8, a clean copy on ctx. NULL stays NULL. */
const char *ik_postgres_text_clean(const void *ctx, const char *text);
