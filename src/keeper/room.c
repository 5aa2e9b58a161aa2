#include "keeper/room.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <linux/openat2.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/keeper_protocol.h"
#include "keeper/restriction.h"
#include "keeper/supervisor.h"

static ik_room_result_t failed(ik_room_part_t part)
{
    return (ik_room_result_t){.error = errno != 0 ? errno : EINVAL, .part = part};
}

static const ik_room_result_t made = {0};

/* --- namespaces -------------------------------------------------------------------------- */

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    int error = errno;
    if (fd >= 0) {
        close(fd);
    }
    errno = error;
    return written;
}

ik_room_result_t ik_room_unshare(const ik_room_request_t *request)
{
    char users[64];
    char groups[64];
    snprintf(users, sizeof(users), "%u %u 1\n", (unsigned)geteuid(), (unsigned)geteuid());
    snprintf(groups, sizeof(groups), "%u %u 1\n", (unsigned)getegid(), (unsigned)getegid());
    if (unshare(CLONE_NEWUSER) < 0 || !write_text("/proc/self/uid_map", users) ||
        !write_text("/proc/self/setgroups", "deny") || !write_text("/proc/self/gid_map", groups)) {
        return failed(IK_ROOM_PART_USER_NAMESPACE);
    }
    int own_network = (request->flags & IK_ROOM_NETWORK) == 0 ? CLONE_NEWNET : 0;
    if (unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | own_network) < 0) {
        return failed(IK_ROOM_PART_NAMESPACES);
    }
    return made;
}

static bool raise_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool up = fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &request) == 0;
    request.ifr_flags |= IFF_UP;
    up = up && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return up;
}

/* --- mounts ------------------------------------------------------------------------------ */

/* The new tree is built on a file system in memory, mounted where every system has a folder. The
 * places to show are opened before, because that mount may cover them. */
#define BASE "/tmp"
#define ROOT BASE "/root"     /* becomes the root folder */
#define STUBS BASE "/stubs"   /* below it, the folders that overlays show in addition */
#define MEMORY BASE "/memory" /* below it, the changes of copies that are kept in memory */
#define EMPTY BASE "/empty"   /* a file to hide another file with */

typedef struct {
    char kind;
    const char *path;
    const char *other; /* the second string, of IK_ROOM_COPY and IK_ROOM_LINK */
    int source;        /* of an overlay: a folder; of others: a detached mount; -1: skipped */
    int upper;         /* of a copy: where changes are kept, and the folder overlays work in */
    int work;
    bool is_folder;
    bool hides; /* something is mounted over the place to hide */
} step_t;

static bool is_overlay(const step_t *step)
{
    return step->kind == IK_ROOM_OVERLAY || step->kind == IK_ROOM_COPY;
}

/* Makes path and its parents; those that exist stay as they are. */
static bool make_folders(const char *path)
{
    char *copy = ik_strdup(NULL, path);
    for (char *slash = strchr(copy + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(copy, 0755);
        *slash = '/';
    }
    bool exists = mkdir(copy, 0755) == 0 || errno == EEXIST;
    talloc_free(copy);
    return exists;
}

typedef enum { AS_IT_IS, AS_FOLDER, AS_FILE } wanted_t;

/* Opens a place in the new tree, which is created if it is wanted as a folder or file. Processes in
 * other rooms may change the project meanwhile: a symbolic link on the way is an error, because it
 * would lead out of the new tree. */
static int open_place(const char *path, wanted_t wanted)
{
    enum { FOLDER = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
    int at = open(ROOT, FOLDER);
    int cause = 0; /* why it could not be created */
    char *copy = ik_strdup(NULL, path);
    char *rest = NULL;
    for (char *name = strtok_r(copy, "/", &rest); name != NULL && at >= 0;) {
        char *next = strtok_r(NULL, "/", &rest);
        bool is_last = next == NULL;
        if (is_last && wanted == AS_FILE) {
            close(openat(at, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0644));
        } else if (wanted != AS_IT_IS && mkdirat(at, name, 0755) < 0 && errno != EEXIST) {
            cause = errno;
        }
        bool folder = !is_last || wanted == AS_FOLDER;
        int below = openat(at, name, folder ? FOLDER : O_PATH | O_NOFOLLOW | O_CLOEXEC);
        int error = cause != 0 && errno == ENOENT ? cause : errno;
        close(at);
        errno = error;
        at = below;
        name = next;
    }
    talloc_free(copy);
    return at;
}

/* mount() takes no descriptor. */
static const char *path_of(const void *ctx, int fd)
{
    return ik_sprintf(ctx, "/proc/self/fd/%d", fd);
}

static bool close_keeping_errno(int fd)
{
    int error = errno;
    close(fd);
    errno = error;
    return true;
}

/* Neither set-user-ID programs nor device files work. */
enum { SAFE = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };

static bool set_attributes(int mount, uint64_t attributes)
{
    struct mount_attr attr = {.attr_set = attributes};
    return mount_setattr(mount, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) == 0;
}

/* Opens the folders in which a copy keeps changes. */
static bool open_store(const void *ctx, step_t *step, const char *store)
{
    enum { FOLDER = O_PATH | O_DIRECTORY | O_CLOEXEC };
    step->upper = open(ik_sprintf(ctx, "%s/upper", store), FOLDER);
    step->work = open(ik_sprintf(ctx, "%s/work", store), FOLDER);
    return step->upper >= 0 && step->work >= 0;
}

static bool make_memory_store(const void *ctx, step_t *step)
{
    char *store = ik_sprintf(ctx, MEMORY "%s", step->path);
    char *upper = ik_sprintf(ctx, "%s/upper", store);
    return make_folders(store) && mount("copy", store, "tmpfs", MS_NOSUID | MS_NODEV, NULL) == 0 &&
           mkdir(upper, 0700) == 0 && chmod(upper, 01777) == 0 &&
           mkdir(ik_sprintf(ctx, "%s/work", store), 0700) == 0 && open_store(ctx, step, store);
}

static int open_without_links(const char *path, uint64_t flags)
{
    struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC | flags,
                           .resolve = RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

/* A detached mount of the place and of what is mounted below it. */
static int clone_mount(int place)
{
    return open_tree(place, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH);
}

/* Opens what the step shows, in the user's own tree. False on an error other than absence. */
static bool open_source(const void *ctx, step_t *step)
{
    struct stat status;
    step->is_folder = lstat(step->path, &status) == 0 && S_ISDIR(status.st_mode);
    if (step->kind == IK_ROOM_COPY && step->other[0] != '\0' &&
        !open_store(ctx, step, step->other)) {
        return false;
    }
    if (!is_overlay(step) && step->kind != IK_ROOM_READABLE && step->kind != IK_ROOM_WRITABLE) {
        return true;
    }
    step->source = open_without_links(step->path, is_overlay(step) ? O_DIRECTORY : 0);
    if (step->source >= 0 && !is_overlay(step)) {
        int place = step->source;
        step->source = clone_mount(place);
        close_keeping_errno(place);
    }
    bool absent = errno == ENOENT || errno == ENOTDIR || errno == EACCES;
    return step->source >= 0 || (absent && step->kind != IK_ROOM_WRITABLE);
}

/* Attaches a detached mount at a place in the new tree, which is created where that is possible. */
static bool attach(int mount, const char *path, bool is_folder)
{
    int target = open_place(path, is_folder ? AS_FOLDER : AS_FILE);
    bool attached =
        target >= 0 &&
        move_mount(mount, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0;
    return close_keeping_errno(target) && attached;
}

/* Mounts an overlay of the source and the stubs below it. The options name descriptors, so that no
 * character of a path needs to be escaped. The source of a copy may be missing. */
static bool mount_overlay(const void *ctx, step_t *step)
{
    bool writable = step->kind == IK_ROOM_COPY;
    if (writable && step->upper < 0 && !make_memory_store(ctx, step)) {
        return false;
    }
    int target = open_place(step->path, AS_FOLDER);
    if (target < 0) {
        return false;
    }
    char *stubs_path = ik_sprintf(ctx, STUBS "%s", step->path);
    make_folders(stubs_path);
    int stubs = open(stubs_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *options = ik_strdup(ctx, "userxattr,lowerdir=");
    if (step->source >= 0) {
        options = ik_sprintf(ctx, "%s/proc/self/fd/%d:", options, step->source);
    }
    options = ik_sprintf(ctx, "%s/proc/self/fd/%d", options, stubs);
    if (writable) {
        options = ik_sprintf(ctx, "%s,upperdir=/proc/self/fd/%d,workdir=/proc/self/fd/%d", options,
                             step->upper, step->work);
    }
    unsigned long flags = MS_NODEV | MS_NOSUID | (writable ? 0 : MS_RDONLY);
    bool mounted = mount("overlay", path_of(ctx, target), "overlay", flags, options) == 0;
    return close_keeping_errno(stubs) && close_keeping_errno(target) && mounted;
}

/* The kernel does not allow an overlay of a folder below which something is mounted. A copy of such
 * a folder begins empty. */
static bool mount_copy(const void *ctx, step_t *step)
{
    int source = step->source;
    bool mounted = mount_overlay(ctx, step);
    if (!mounted && errno == EINVAL && source >= 0) {
        step->source = -1;
        mounted = mount_overlay(ctx, step);
        step->source = source;
    }
    return mounted;
}

/* Some file systems cannot be the lower layer of an overlay. They are shown read-only as they are.
 * An overlay that is not allowed at all fails in the trial of a room. */
static bool mount_instead(const step_t *step)
{
    int mount = clone_mount(step->source);
    bool mounted = mount >= 0 && set_attributes(mount, MOUNT_ATTR_RDONLY | SAFE) &&
                   attach(mount, step->path, true);
    return close_keeping_errno(mount) && mounted;
}

static bool hide(const void *ctx, step_t *step)
{
    int target = open_place(step->path, AS_IT_IS);
    struct stat status;
    if (target < 0 || fstat(target, &status) < 0 || S_ISLNK(status.st_mode)) {
        bool absent = target >= 0 || errno == ENOENT || errno == ENOTDIR;
        return close_keeping_errno(target) && absent;
    }
    const char *path = path_of(ctx, target);
    step->hides = S_ISDIR(status.st_mode) ? mount("hidden", path, "tmpfs", MS_NODEV | MS_NOSUID,
                                                  "mode=755,size=64k") == 0
                                          : mount(EMPTY, path, NULL, MS_BIND, NULL) == 0;
    return close_keeping_errno(target) && step->hides;
}

static bool take_step(const void *ctx, step_t *step)
{
    int folder;
    switch (step->kind) {
    case IK_ROOM_OVERLAY:
        return step->source < 0 || mount_overlay(ctx, step) || mount_instead(step);
    case IK_ROOM_COPY:
        return mount_copy(ctx, step);
    case IK_ROOM_FOLDER:
        folder = open_place(step->path, AS_FOLDER);
        return close_keeping_errno(folder) && folder >= 0;
    case IK_ROOM_LINK:
        return symlink(step->other, ik_sprintf(ctx, ROOT "%s", step->path)) == 0;
    case IK_ROOM_SHARED:
        return step->path[0] == '\0' || attach(step->source, step->path, true);
    case IK_ROOM_WRITABLE:
        return set_attributes(step->source, SAFE) &&
               attach(step->source, step->path, step->is_folder);
    case IK_ROOM_READABLE:
        return step->source < 0 || (set_attributes(step->source, MOUNT_ATTR_RDONLY | SAFE) &&
                                    attach(step->source, step->path, step->is_folder));
    case IK_ROOM_HIDDEN:
        return hide(ctx, step);
    default:
        return true;
    }
}

/* Hidden places were writable while places within them were mounted. */
static bool seal(const step_t *step)
{
    int place = step->hides ? open_place(step->path, AS_IT_IS) : -1;
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    bool sealed = !step->hides || mount_setattr(place, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0;
    return close_keeping_errno(place) && sealed;
}

static const char *const devices[] = {"null", "zero", "full", "random", "urandom", "tty"};
static const char *const device_links[][2] = {
    {"/proc/self/fd", "fd"},       {"/proc/self/fd/0", "stdin"}, {"/proc/self/fd/1", "stdout"},
    {"/proc/self/fd/2", "stderr"}, {"pts/ptmx", "ptmx"},
};

/* Detached mounts of the devices, taken while the user's own /dev is in reach. */
static void open_devices(const void *ctx, int *mounts)
{
    for (size_t i = 0; i < IK_LENGTH(devices); i++) {
        mounts[i] = open_tree(AT_FDCWD, ik_sprintf(ctx, "/dev/%s", devices[i]),
                              OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    }
}

/* A /dev without terminals, but with pseudo-terminals of its own. */
static bool furnish_devices(const void *ctx, const int *mounts)
{
    if (mount("dev", ROOT "/dev", "tmpfs", MS_NOSUID, "mode=755,size=64k") < 0 ||
        mkdir(ROOT "/dev/pts", 0755) < 0 || mkdir(ROOT "/dev/shm", 01777) < 0) {
        return false;
    }
    for (size_t i = 0; i < IK_LENGTH(devices); i++) {
        char *target = ik_sprintf(ctx, ROOT "/dev/%s", devices[i]);
        int fd = open(target, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
        close(fd);
        /* A read-only device can be written, but not its mode and times. */
        if (mounts[i] < 0 || !set_attributes(mounts[i], MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC) ||
            move_mount(mounts[i], "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) < 0) {
            return false;
        }
    }
    for (size_t i = 0; i < IK_LENGTH(device_links); i++) {
        if (symlink(device_links[i][0], ik_sprintf(ctx, ROOT "/dev/%s", device_links[i][1])) < 0) {
            return false;
        }
    }
    return mount("devpts", ROOT "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
                 "newinstance,ptmxmode=0666,mode=620") == 0 &&
           mount("shm", ROOT "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") == 0;
}

/* The user's own tree is out of reach afterwards. */
static bool change_root(void)
{
    return chdir(ROOT) == 0 && syscall(SYS_pivot_root, ".", ".") == 0 &&
           umount2(".", MNT_DETACH) == 0 && chdir("/") == 0;
}

/* Splits the strings of the request into steps; of a copy, two strings are one step. */
static size_t collect_steps(const ik_room_request_t *request, step_t *steps)
{
    size_t count = 0;
    size_t mounts = 0;
    for (size_t i = 0; i < request->count; i++) {
        step_t *step = &steps[count++];
        *step = (step_t){.kind = request->steps[i][0],
                         .path = request->steps[i] + 1,
                         .source = -1,
                         .upper = -1,
                         .work = -1};
        if ((step->kind == IK_ROOM_COPY || step->kind == IK_ROOM_LINK) && i + 1 < request->count) {
            step->other = request->steps[++i];
        } else if (step->kind == IK_ROOM_SHARED && mounts < request->mount_count) {
            step->source = request->mounts[mounts++];
        }
    }
    return count;
}

static ik_room_result_t furnish(const void *ctx, const ik_room_request_t *request)
{
    step_t *steps = ik_new_array(ctx, step_t, request->count);
    size_t count = collect_steps(request, steps);
    int device_mounts[IK_LENGTH(devices)];
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
        return failed(IK_ROOM_PART_MOUNTS);
    }
    for (size_t i = 0; i < count; i++) {
        if (!open_source(ctx, &steps[i])) {
            return failed(IK_ROOM_PART_MOUNTS);
        }
    }
    open_devices(ctx, device_mounts);
    if (mount("room", BASE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=700,size=1m") < 0 ||
        mkdir(ROOT, 0755) < 0 || mkdir(STUBS, 0755) < 0 ||
        mount("root", ROOT, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m") < 0 ||
        mkdir(ROOT "/proc", 0555) < 0 || mkdir(ROOT "/dev", 0755) < 0) {
        return failed(IK_ROOM_PART_MOUNTS);
    }
    if (mount("proc", ROOT "/proc", "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) <
        0) {
        return failed(IK_ROOM_PART_PROC);
    }
    if (!furnish_devices(ctx, device_mounts)) {
        return failed(IK_ROOM_PART_MOUNTS);
    }
    close(open(EMPTY, O_CREAT | O_WRONLY | O_CLOEXEC, 0));
    for (size_t i = 0; i < count; i++) {
        if (steps[i].kind == IK_ROOM_STUB) {
            make_folders(ik_sprintf(ctx, STUBS "%s", steps[i].path));
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (!take_step(ctx, &steps[i])) {
            return failed(is_overlay(&steps[i]) ? IK_ROOM_PART_OVERLAY : IK_ROOM_PART_MOUNTS);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (!seal(&steps[i])) {
            return failed(IK_ROOM_PART_MOUNTS);
        }
        if (steps[i].kind != IK_ROOM_SHARED) { /* those are closed by the caller */
            close(steps[i].source);
        }
        close(steps[i].upper);
        close(steps[i].work);
    }
    struct mount_attr sealed = {.attr_set = MOUNT_ATTR_RDONLY};
    if (mount_setattr(AT_FDCWD, ROOT, 0, &sealed, sizeof(sealed)) < 0) {
        return failed(IK_ROOM_PART_MOUNTS);
    }
    return change_root() ? made : failed(IK_ROOM_PART_MOUNTS);
}

ik_room_result_t ik_room_furnish(const ik_room_request_t *request)
{
    errno = 0;
    if ((request->flags & IK_ROOM_NETWORK) == 0 && !raise_loopback()) {
        return failed(IK_ROOM_PART_LOOPBACK);
    }
    void *ctx = talloc_new(NULL);
    ik_room_result_t result = furnish(ctx, request);
    talloc_free(ctx);
    return result;
}

ik_room_result_t ik_room_share(const ik_room_request_t *request, int mounts[IK_KEEPER_MAX_MOUNTS],
                               size_t *count)
{
    struct rlimit limit = {0};
    ik_room_result_t result = made;
    step_t *steps = ik_new_array(NULL, step_t, request->count);
    size_t step_count = collect_steps(request, steps);
    size_t copies = 0;
    for (size_t i = 0; i < step_count; i++) {
        copies += steps[i].kind == IK_ROOM_COPY;
    }
    getrlimit(RLIMIT_NOFILE, &limit);   /* cannot fail */
    size_t most = IK_KEEPER_MAX_MOUNTS; /* then that of further sets */
    for (size_t set = 0; set < IK_KEEPER_MOUNT_SETS && result.error == 0 && *count + copies <= most;
         set++) {
        most = limit.rlim_cur / 2 < most ? (size_t)limit.rlim_cur / 2 : most;
        for (size_t i = 0; i < step_count && result.error == 0; i++) {
            if (steps[i].kind == IK_ROOM_COPY) {
                int mount = open_tree(AT_FDCWD, steps[i].path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
                if (mount < 0) {
                    result = failed(IK_ROOM_PART_MOUNTS);
                } else {
                    mounts[(*count)++] = mount;
                }
            }
        }
    }
    while (result.error != 0 && *count > 0) {
        close(mounts[--*count]);
    }
    talloc_free(steps);
    return result;
}

/* --- a room that exists ------------------------------------------------------------------ */

ik_room_result_t ik_room_open(int handles[IK_ROOM_HANDLES])
{
    handles[IK_ROOM_HANDLE_NAMESPACE] = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    handles[IK_ROOM_HANDLE_ROOT] = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool opened = handles[IK_ROOM_HANDLE_NAMESPACE] >= 0 && handles[IK_ROOM_HANDLE_ROOT] >= 0;
    return opened ? made : failed(IK_ROOM_PART_MOUNTS);
}

/* Mounts the place onto itself. Processes in the room may change the project meanwhile: it is
 * opened once, and when it is gone, there is nothing to protect. */
static bool protect(const char *path, bool writable)
{
    int place = open_without_links(path, 0);
    if (place < 0) {
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP;
    }
    struct statx status;
    bool protected = statx(place, "", AT_EMPTY_PATH, STATX_TYPE, &status) == 0 &&
                     (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    if (!protected) {
        int mount = clone_mount(place);
        protected =
            mount >= 0 && set_attributes(mount, writable ? SAFE : MOUNT_ATTR_RDONLY | SAFE) &&
            move_mount(mount, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) ==
                0;
        protected = protected || errno == ENOENT; /* it was removed just now */
        close_keeping_errno(mount);
    }
    return close_keeping_errno(place) && protected;
}

ik_room_result_t ik_room_join(const ik_room_request_t *request)
{
    int namespace = request->mount_count == 1 ? request->mounts[0] : -1;
    int owner = ioctl(namespace, NS_GET_USERNS);
    if (owner < 0 || setns(owner, CLONE_NEWUSER) < 0 || setns(namespace, CLONE_NEWNS) < 0) {
        return failed(IK_ROOM_PART_NAMESPACES);
    }
    for (size_t i = 0; i < request->count; i++) {
        if (!protect(request->steps[i] + 1, request->steps[i][0] == IK_ROOM_WRITABLE)) {
            return failed(IK_ROOM_PART_MOUNTS);
        }
    }
    return made;
}

/* --- restriction ------------------------------------------------------------------------- */

/* What may be written may also get other modes, owners, times and attributes; devices may not. */
static int supervise(const ik_restriction_t *restriction)
{
    const char **places = ik_new_array(NULL, const char *, restriction->writable_count + 1);
    size_t count = 0;
    for (size_t i = 0; i < restriction->writable_count; i++) {
        const char *path = restriction->writable[i];
        if (strncmp(path, "/dev/", 5) != 0 || strcmp(path, "/dev/shm") == 0) {
            places[count++] = ik_strdup(places, path);
        }
    }
    return ik_supervisor_start(places, count);
}

ik_room_result_t ik_room_restrict(const ik_room_request_t *request)
{
    void *ctx = talloc_new(NULL);
    bool in_namespaces = (request->flags & IK_ROOM_NAMESPACES) != 0;
    ik_restriction_t restriction = {
        .writable = ik_new_array(ctx, const char *, request->count + 1),
        .readable = ik_new_array(ctx, const char *, request->count + 1),
        .no_sockets = !in_namespaces && (request->flags & IK_ROOM_NETWORK) == 0,
        .no_metadata = !in_namespaces && (request->flags & IK_ROOM_FIXED) != 0,
        .no_mounts = !in_namespaces,
    };
    for (size_t i = 0; i < request->count; i++) {
        const char *path = request->steps[i] + 1;
        if (request->steps[i][0] == IK_ROOM_MAY_WRITE) {
            restriction.writable[restriction.writable_count++] = path;
        } else if (request->steps[i][0] == IK_ROOM_MAY_READ) {
            restriction.readable[restriction.readable_count++] = path;
        }
    }
    ik_room_result_t result = made;
    if ((errno = ik_restriction_drop_privileges()) != 0) {
        result = failed(IK_ROOM_PART_SECCOMP);
    } else if ((errno = ik_restriction_landlock(&restriction)) != 0) {
        result = failed(IK_ROOM_PART_LANDLOCK);
    } else if ((errno = ik_restriction_seccomp(&restriction)) != 0) {
        result = failed(IK_ROOM_PART_SECCOMP);
    } else if (restriction.no_mounts && !restriction.no_metadata &&
               (errno = supervise(&restriction)) != 0) {
        result = failed(IK_ROOM_PART_SECCOMP);
    }
    talloc_free(ctx);
    return result;
}
