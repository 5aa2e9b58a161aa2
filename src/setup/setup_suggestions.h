/* Things to try in a folder, for users who have just set up a model. */
#pragma once

/* One message per line, on ctx: "explain this project", then what the files of the folder suggest.
 */
char *ik_setup_suggestions(const void *ctx, const char *folder);
