#include "base/dir_list.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/types.h>

enum { LIST_CHUNK = 32768 };

int ik_dir_list_read(int fd, ik_buffer_t *records)
{
    for (;;) {
        if (records->len > IK_DIR_LIST_MAX) {
            return EFBIG;
        }
        size_t room = ik_buffer_reserve(records, LIST_CHUNK);
        ssize_t got = getdents64(fd, records->data + records->len, room);
        if (got == 0 || (got < 0 && errno == ENOENT)) {
            return 0; /* ENOENT: the folder was removed after it was opened */
        }
        if (got < 0) {
            return errno;
        }
        records->len += (size_t)got;
    }
}

bool ik_dir_list_next(const ik_buffer_t *records, size_t *position, size_t end,
                      ik_dir_entry_t *entry)
{
    if (*position >= end) {
        return false;
    }
    const struct dirent64 *record = (const void *)(records->data + *position);
    *position += record->d_reclen;
    entry->name = record->d_name;
    entry->len = strlen(record->d_name);
    entry->type = record->d_type;
    return true;
}

bool ik_dir_list_is_dots(const ik_dir_entry_t *entry)
{
    return entry->name[0] == '.' && (entry->len == 1 || (entry->len == 2 && entry->name[1] == '.'));
}
