#include "io/tty_device.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A terminal of another mount namespace may have the name of one in ours, so the devices are
 * compared. */
static int open_name(const char *name, int fd)
{
    unsigned int device;
    unsigned int opened_device;
    int opened = open(name, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (opened >= 0 && (ioctl(fd, TIOCGDEV, &device) != 0 ||
                        ioctl(opened, TIOCGDEV, &opened_device) != 0 || device != opened_device)) {
        close(opened);
        return -1;
    }
    return opened;
}

int ik_tty_device_open(int fd)
{
    char name[PATH_MAX] = "";
    int opened = ttyname_r(fd, name, sizeof(name)) == 0 ? open_name(name, fd) : -1;
    return opened >= 0 ? opened : open_name("/dev/tty", fd);
}
