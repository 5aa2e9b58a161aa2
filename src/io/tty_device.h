/* Opens a terminal a second time by its name. */
#pragma once

/* A new, non-blocking descriptor for the terminal behind fd that shares no flags with fd; -1 when
 * it cannot be opened (another user's terminal, no /dev). */
int ik_tty_device_open(int fd);
