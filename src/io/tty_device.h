/* A terminal's own name, to open it anew. */
#pragma once

/* A new, non-blocking descriptor for the terminal behind fd, which shares no flags with it; -1 when
 * it cannot be had (another user's terminal, no /dev). */
int ik_tty_device_open(int fd);
