/*
 * Attacks that a shell cannot make, one for each word: attack_driver ATTACK [ARGUMENT]...
 *
 * What an attack changes is seen by its victim. One that leaves no trace prints TAKEN when it
 * succeeds. The exit status is that of the attack: 0 when it succeeded.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

typedef struct {
    const char *name;
    int (*attack)(char **arguments); /* 0: it succeeded */
} attack_t;

/* Spelled so that no shell can print it by quoting a command. */
static int taken(void)
{
    char word[] = {'T', 'A', 'K', 'E', 'N', '\n'};
    return write(STDOUT_FILENO, word, sizeof(word)) < 0;
}

static int taken_if(int success)
{
    return success ? taken() : 1;
}

/* --- files ------------------------------------------------------------------------------- */

static int exchange(char **arguments)
{
    return renameat2(AT_FDCWD, arguments[0], AT_FDCWD, arguments[1], RENAME_EXCHANGE) != 0;
}

static int link_descriptor(char **arguments)
{
    char path[64];
    int fd = open(arguments[0], O_PATH | O_CLOEXEC);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, path, AT_FDCWD, arguments[1], AT_SYMLINK_FOLLOW) != 0;
}

static int link_unnamed(char **arguments)
{
    char path[64];
    int fd = open(".", O_TMPFILE | O_RDWR, 0600);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, path, AT_FDCWD, arguments[0], AT_SYMLINK_FOLLOW) != 0;
}

static int change_mode_of_descriptor(char **arguments)
{
    return fchmod(open(arguments[0], O_RDONLY), 0640) != 0;
}

static int change_mode_newly(char **arguments)
{
    return syscall(452 /* fchmodat2 */, AT_FDCWD, arguments[0], 0640, 0) != 0;
}

static int change_mode_by_link(char **arguments)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", open(arguments[0], O_PATH));
    return chmod(path, 0640) != 0;
}

static int change_owner_of_descriptor(char **arguments)
{
    return fchown(open(arguments[0], O_RDONLY), geteuid(), getegid()) != 0;
}

static int change_times_of_descriptor(char **arguments)
{
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    return futimens(open(arguments[0], O_RDONLY), times) != 0;
}

static int change_times_of_folder(char **arguments)
{
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    int folder = open(arguments[0], O_RDONLY | O_DIRECTORY);
    return utimensat(folder, "victim", times, 0) != 0;
}

static int set_attribute(char **arguments)
{
    return setxattr(arguments[0], "user.taken", "x", 1, 0) != 0;
}

static int set_attribute_of_descriptor(char **arguments)
{
    return fsetxattr(open(arguments[0], O_RDONLY), "user.taken", "x", 1, 0) != 0;
}

static int remove_attribute(char **arguments)
{
    return removexattr(arguments[0], "user.kept") != 0;
}

static int set_attribute_newly(char **arguments)
{
    struct {
        uint64_t value;
        uint32_t size;
        uint32_t flags;
    } value = {.value = (uintptr_t) "x", .size = 1};
    return syscall(463 /* setxattrat */, AT_FDCWD, arguments[0], 0, "user.taken", &value,
                   sizeof(value)) != 0;
}

static int set_flags(char **arguments)
{
    int flags = 0;
    int fd = open(arguments[0], O_RDONLY);
    if (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0) {
        return 1;
    }
    flags ^= FS_NODUMP_FL;
    return ioctl(fd, FS_IOC_SETFLAGS, &flags) != 0;
}

static int write_descriptors(char **arguments)
{
    for (int fd = 3; fd < 1024; fd++) {
        int victim = openat(fd, arguments[0], O_WRONLY | O_TRUNC);
        if (victim >= 0) {
            taken();
        }
        if (write(fd, "taken", 5) == 5) {
            taken();
        }
    }
    return 1;
}

static int open_handle(char **arguments)
{
    struct {
        struct file_handle head;
        unsigned char bytes[128];
    } handle = {.head.handle_bytes = 128};
    int mount_id;
    int folder = open("/", O_RDONLY | O_DIRECTORY);
    if (name_to_handle_at(AT_FDCWD, arguments[0], &handle.head, &mount_id, 0) < 0) {
        return 1;
    }
    int fd = open_by_handle_at(folder, &handle.head, O_WRONLY | O_TRUNC);
    return write(fd, "taken", 5) != 5;
}

static int open_to_write(char **arguments)
{
    return taken_if(open(arguments[0], O_WRONLY | O_NOCTTY) >= 0);
}

static int open_to_read(char **arguments)
{
    return taken_if(open(arguments[0], O_RDONLY | O_NOCTTY | O_NONBLOCK) >= 0);
}

static int make_device(char **arguments)
{
    struct stat status;
    return taken_if(stat("/", &status) == 0 &&
                    mknod(arguments[0], S_IFCHR | 0600, makedev(1, 11)) == 0 &&
                    open(arguments[0], O_RDONLY | O_NONBLOCK) >= 0);
}

/* --- mounts and namespaces --------------------------------------------------------------- */

static int mount_old(char **arguments)
{
    if (mount("none", arguments[0], "tmpfs", 0, NULL) < 0) {
        return 1;
    }
    umount2(arguments[0], MNT_DETACH);
    return taken();
}

static int mount_new(char **arguments)
{
    int fd = open_tree(AT_FDCWD, arguments[0], OPEN_TREE_CLONE | AT_RECURSIVE);
    int fs = fsopen("tmpfs", 0);
    return taken_if(fd >= 0 || fs >= 0);
}

static int remount(char **arguments)
{
    struct mount_attr attr = {.attr_clr = MOUNT_ATTR_RDONLY};
    if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof(attr)) == 0) {
        taken();
    }
    if (mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL) == 0) {
        taken();
    }
    (void)arguments;
    return 1;
}

static int unmount(char **arguments)
{
    return umount2(arguments[0], MNT_DETACH) != 0;
}

static int new_user_namespace(char **arguments)
{
    (void)arguments;
    return taken_if(unshare(CLONE_NEWUSER) == 0);
}

static int new_namespaces(char **arguments)
{
    (void)arguments;
    return taken_if(unshare(CLONE_NEWNS) == 0);
}

static int clone_namespace(char **arguments)
{
    (void)arguments;
    long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        _exit(0);
    }
    return taken_if(pid > 0);
}

static int clone3_namespace(char **arguments)
{
    (void)arguments;
    struct clone_args clone = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
    long pid = syscall(SYS_clone3, &clone, sizeof(clone));
    if (pid == 0) {
        _exit(0);
    }
    return taken_if(pid > 0);
}

static int enter_namespaces(char **arguments)
{
    static const char *const kinds[] = {"mnt", "user", "net", "pid"};
    char path[64];
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        snprintf(path, sizeof(path), "/proc/%s/ns/%s", arguments[0], kinds[i]);
        int fd = open(path, O_RDONLY);
        if (fd >= 0 && setns(fd, 0) == 0) {
            taken();
        }
    }
    return 1;
}

static int change_root(char **arguments)
{
    return taken_if(chroot(arguments[0]) == 0);
}

/* --- processes --------------------------------------------------------------------------- */

static int trace(char **arguments)
{
    pid_t pid = atoi(arguments[0]);
    if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) < 0) {
        return 1;
    }
    waitpid(pid, NULL, __WALL);
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
    return taken();
}

static int seize(char **arguments)
{
    return taken_if(ptrace(PTRACE_SEIZE, atoi(arguments[0]), NULL, NULL) == 0);
}

static int open_memory(char **arguments)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%s/mem", arguments[0]);
    return taken_if(open(path, O_RDWR) >= 0);
}

static int take_descriptor(char **arguments)
{
    int process = (int)syscall(SYS_pidfd_open, atoi(arguments[0]), 0);
    for (int fd = 0; process >= 0 && fd < 16; fd++) {
        int got = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
        if (got >= 0 && write(got, "taken", 5) == 5) {
            return taken();
        }
    }
    return 1;
}

static int signal_process(char **arguments)
{
    return taken_if(kill(atoi(arguments[0]), SIGTERM) == 0);
}

static int share_memory(char **arguments)
{
    char *memory = shmat(atoi(arguments[0]), NULL, 0);
    return taken_if(memory != (char *)-1);
}

/* --- the kernel -------------------------------------------------------------------------- */

static int setup_io_uring(char **arguments)
{
    (void)arguments;
    char params[256] = {0};
    return taken_if(syscall(SYS_io_uring_setup, 4, params) >= 0);
}

static int load_program(char **arguments)
{
    (void)arguments;
    union bpf_attr attr = {
        .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
    return taken_if(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)) >= 0);
}

static int watch_events(char **arguments)
{
    (void)arguments;
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof(attr),
                                   .config = PERF_COUNT_SW_CPU_CLOCK,
                                   .exclude_kernel = 1};
    return taken_if(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) >= 0);
}

static int handle_faults(char **arguments)
{
    (void)arguments;
    return taken_if(syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */) >= 0);
}

static int add_key(char **arguments)
{
    (void)arguments;
    return taken_if(syscall(SYS_add_key, "user", "ikigai", "x", 1, -3) >= 0);
}

static int set_host_name(char **arguments)
{
    (void)arguments;
    char name[256];
    return taken_if(gethostname(name, sizeof(name)) == 0 && sethostname(name, strlen(name)) == 0);
}

static int read_kernel_log(char **arguments)
{
    (void)arguments;
    return taken_if(syscall(SYS_syslog, 8 /* console level */, NULL, 7) >= 0);
}

static int raise_privileges(char **arguments)
{
    (void)arguments;
    int fd = geteuid() == getuid() ? -1 : open("/etc/shadow", O_RDONLY);
    return taken_if(fd >= 0);
}

/* The 32-bit calls have other numbers, and pointers below 4 GB; here the first argument is a path.
 */
static int call_32_bit(long number, const char *name, long second)
{
#if defined(__x86_64__)
    char *path =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    snprintf(path, 4096, "%s", name);
    long result;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(number), "b"(path), "c"(second), "d"(0L)
                     : "memory", "r8", "r9", "r10", "r11");
    return result < 0;
#else
    (void)number;
    (void)name;
    (void)second;
    return 1;
#endif
}

static int open_32_bit(char **arguments)
{
    return call_32_bit(5, arguments[0], O_WRONLY | O_TRUNC);
}

static int chmod_32_bit(char **arguments)
{
    return call_32_bit(15, arguments[0], 0640);
}

static int call_x32(char **arguments)
{
#if defined(__x86_64__)
    return syscall(0x40000000 | SYS_chmod, arguments[0], 0640) != 0;
#else
    (void)arguments;
    return 1;
#endif
}

/* --- terminals --------------------------------------------------------------------------- */

static int push_input(char **arguments)
{
    int fd = open(arguments[0], O_RDWR | O_NOCTTY);
    return taken_if(fd >= 0 && ioctl(fd, TIOCSTI, "x") == 0);
}

static int push_input_disguised(char **arguments)
{
    int fd = open(arguments[0], O_RDWR | O_NOCTTY);
    return taken_if(fd >= 0 && syscall(SYS_ioctl, fd, TIOCSTI | 1UL << 32, "x") == 0);
}

static int steal_terminal(char **arguments)
{
    setsid();
    int fd = open(arguments[0], O_RDWR);
    return taken_if(fd >= 0 && ioctl(fd, TIOCSCTTY, 1) == 0);
}

static int push_own_input(char **arguments)
{
    (void)arguments;
    for (int fd = 0; fd < 3; fd++) {
        if (isatty(fd) && ioctl(fd, TIOCSTI, "x") == 0) {
            return taken();
        }
    }
    int fd = open("/dev/tty", O_RDWR);
    return taken_if(fd >= 0);
}

/* --- network ----------------------------------------------------------------------------- */

static int open_socket(int family, int type, int protocol)
{
    int fd = socket(family, type, protocol);
    struct timeval soon = {.tv_sec = 2};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon));
    return fd;
}

static struct sockaddr_in address(const char *port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)atoi(port)),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int connect_and_send(int fd, char **arguments)
{
    struct sockaddr_in to = address(arguments[0]);
    return connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0 || send(fd, "taken", 5, 0) != 5;
}

static int tcp(char **arguments)
{
    return connect_and_send(open_socket(AF_INET, SOCK_STREAM, 0), arguments);
}

static int mptcp(char **arguments)
{
    return connect_and_send(open_socket(AF_INET, SOCK_STREAM, 262), arguments);
}

static int fast_open(char **arguments)
{
    struct sockaddr_in to = address(arguments[0]);
    return sendto(open_socket(AF_INET, SOCK_STREAM, 0), "taken", 5, MSG_FASTOPEN,
                  (struct sockaddr *)&to, sizeof(to)) != 5;
}

static int fast_open_by_connect(char **arguments)
{
    int fd = open_socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(fd, IPPROTO_TCP, 30 /* TCP_FASTOPEN_CONNECT */, &(int){1}, sizeof(int));
    return connect_and_send(fd, arguments);
}

static int tcp6(char **arguments)
{
    struct sockaddr_in6 to = {.sin6_family = AF_INET6,
                              .sin6_port = htons((uint16_t)atoi(arguments[0])),
                              .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = open_socket(AF_INET6, SOCK_STREAM, 0);
    return connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0 || send(fd, "taken", 5, 0) != 5;
}

static int mapped(char **arguments)
{
    struct sockaddr_in6 to = {.sin6_family = AF_INET6,
                              .sin6_port = htons((uint16_t)atoi(arguments[0]))};
    static const unsigned char bytes[16] = {[10] = 255, [11] = 255, [12] = 127, [15] = 1};
    memcpy(&to.sin6_addr, bytes, sizeof(bytes));
    int fd = open_socket(AF_INET6, SOCK_STREAM, 0);
    return connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0 || send(fd, "taken", 5, 0) != 5;
}

static int udp(char **arguments)
{
    struct sockaddr_in to = address(arguments[0]);
    return sendto(open_socket(AF_INET, SOCK_DGRAM, 0), "taken", 5, 0, (struct sockaddr *)&to,
                  sizeof(to)) != 5;
}

static int udp_many(char **arguments)
{
    struct sockaddr_in to = address(arguments[0]);
    struct iovec part = {.iov_base = (void *)"taken", .iov_len = 5};
    struct mmsghdr message = {
        .msg_hdr = {.msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &part, .msg_iovlen = 1}};
    return sendmmsg(open_socket(AF_INET, SOCK_DGRAM, 0), &message, 1, 0) != 1;
}

/* A query for a name, as a resolver sends it. */
static int dns(char **arguments)
{
    static const unsigned char query[] = {0,   1,   1,   0,   0,   1,   0,   0,   0, 0,
                                          0,   0,   5,   't', 'a', 'k', 'e', 'n', 4, 'e',
                                          'v', 'i', 'l', 0,   0,   1,   0,   1};
    struct sockaddr_in to = address(arguments[0]);
    return sendto(open_socket(AF_INET, SOCK_DGRAM, 0), query, sizeof(query), 0,
                  (struct sockaddr *)&to, sizeof(to)) != (ssize_t)sizeof(query);
}

static int own_socket(char **arguments)
{
    return taken_if(socket(atoi(arguments[0]), atoi(arguments[1]), atoi(arguments[2])) >= 0);
}

static int unix_path(char **arguments)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof(to.sun_path), "%s", arguments[0]);
    int fd = open_socket(AF_UNIX, SOCK_STREAM, 0);
    return connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0 || send(fd, "taken", 5, 0) != 5;
}

static int unix_datagram(char **arguments)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof(to.sun_path), "%s", arguments[0]);
    return sendto(open_socket(AF_UNIX, SOCK_DGRAM, 0), "taken", 5, 0, (struct sockaddr *)&to,
                  sizeof(to)) != 5;
}

static int unix_abstract(char **arguments)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path + 1, sizeof(to.sun_path) - 1, "%s", arguments[0]);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(arguments[0]));
    int fd = open_socket(AF_UNIX, SOCK_STREAM, 0);
    return connect(fd, (struct sockaddr *)&to, len) != 0 || send(fd, "taken", 5, 0) != 5;
}

/* Sees the interfaces of the machine: more than a loopback. */
static int list_interfaces(char **arguments)
{
    (void)arguments;
    struct if_nameindex *all = if_nameindex();
    for (size_t i = 0; all != NULL && all[i].if_index != 0; i++) {
        if (strcmp(all[i].if_name, "lo") != 0) {
            return taken();
        }
    }
    return 1;
}

static int send_descriptors(char **arguments)
{
    (void)arguments;
    for (int fd = 3; fd < 1024; fd++) {
        send(fd, "taken", 5, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    return 1;
}

static const attack_t attacks[] = {
    {"exchange", exchange},
    {"link-descriptor", link_descriptor},
    {"link-unnamed", link_unnamed},
    {"fchmod", change_mode_of_descriptor},
    {"fchmodat2", change_mode_newly},
    {"chmod-link", change_mode_by_link},
    {"fchown", change_owner_of_descriptor},
    {"futimens", change_times_of_descriptor},
    {"utimensat", change_times_of_folder},
    {"setxattr", set_attribute},
    {"fsetxattr", set_attribute_of_descriptor},
    {"removexattr", remove_attribute},
    {"setxattrat", set_attribute_newly},
    {"set-flags", set_flags},
    {"write-descriptors", write_descriptors},
    {"open-handle", open_handle},
    {"open-to-write", open_to_write},
    {"open-to-read", open_to_read},
    {"make-device", make_device},
    {"mount", mount_old},
    {"mount-new", mount_new},
    {"remount", remount},
    {"unmount", unmount},
    {"user-namespace", new_user_namespace},
    {"mount-namespace", new_namespaces},
    {"clone", clone_namespace},
    {"clone3", clone3_namespace},
    {"setns", enter_namespaces},
    {"chroot", change_root},
    {"ptrace", trace},
    {"seize", seize},
    {"memory", open_memory},
    {"take-descriptor", take_descriptor},
    {"kill", signal_process},
    {"shared-memory", share_memory},
    {"io-uring", setup_io_uring},
    {"bpf", load_program},
    {"perf", watch_events},
    {"userfaultfd", handle_faults},
    {"key", add_key},
    {"host-name", set_host_name},
    {"kernel-log", read_kernel_log},
    {"privileges", raise_privileges},
    {"int80", open_32_bit},
    {"int80-chmod", chmod_32_bit},
    {"x32", call_x32},
    {"push-input", push_input},
    {"push-input-disguised", push_input_disguised},
    {"steal-terminal", steal_terminal},
    {"push-own-input", push_own_input},
    {"tcp", tcp},
    {"mptcp", mptcp},
    {"fast-open", fast_open},
    {"fast-open-connect", fast_open_by_connect},
    {"tcp6", tcp6},
    {"mapped", mapped},
    {"udp", udp},
    {"udp-many", udp_many},
    {"dns", dns},
    {"socket", own_socket},
    {"unix-path", unix_path},
    {"unix-datagram", unix_datagram},
    {"unix-abstract", unix_abstract},
    {"interfaces", list_interfaces},
    {"send-descriptors", send_descriptors},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof(attacks) / sizeof(attacks[0]); i++) {
        if (strcmp(attacks[i].name, argv[1]) == 0) {
            return attacks[i].attack(argv + 2);
        }
    }
    fprintf(stderr, "attack_driver: no such attack\n");
    return 2;
}
