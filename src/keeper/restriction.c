#include "keeper/restriction.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"

/* --- capabilities ------------------------------------------------------------------------ */

int ik_restriction_drop_privileges(void)
{
    /* With uid 0, exec would restore capabilities; an empty bounding set and these bits, which
     * cannot be cleared again, prevent that. A keeper without capabilities cannot do either and
     * does not need to. */
    prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                 SECBIT_NO_SETUID_FIXUP_LOCKED);
    for (int i = 0; prctl(PR_CAPBSET_READ, i) >= 0; i++) {
        prctl(PR_CAPBSET_DROP, i);
    }
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    if (syscall(SYS_capset, &header, none) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        return errno;
    }
    return 0;
}

/* --- Landlock ---------------------------------------------------------------------------- */

/* The kernel's interface, newer than the header of the oldest supported distribution. */
typedef struct {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;
    uint64_t scoped;
} ruleset_attr_t;

enum {
    ACCESS_EXECUTE = 1 << 0,
    ACCESS_WRITE_FILE = 1 << 1,
    ACCESS_READ_FILE = 1 << 2,
    ACCESS_READ_DIR = 1 << 3,
    ACCESS_REMOVE_AND_MAKE = 0x1FF << 4,
    ACCESS_REFER = 1 << 13,     /* from ABI 2 */
    ACCESS_TRUNCATE = 1 << 14,  /* from ABI 3 */
    ACCESS_IOCTL_DEV = 1 << 15, /* from ABI 5 */
    ACCESS_TO_FILES = ACCESS_WRITE_FILE | ACCESS_READ_FILE | ACCESS_TRUNCATE | ACCESS_IOCTL_DEV,
    SCOPE_ABSTRACT_SOCKETS = 1 << 0, /* from ABI 6 */
    SCOPE_SIGNALS = 1 << 1,
};

/* The version of Landlock that the kernel has; 0: none. */
static int find_landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return abi < 0 ? 0 : (int)abi;
}

static int create_ruleset(const ruleset_attr_t *attr, int abi)
{
    size_t size = abi >= 6 ? sizeof(*attr) : offsetof(ruleset_attr_t, handled_access_net);
    return (int)syscall(SYS_landlock_create_ruleset, attr, size, 0);
}

/* Returns errno. */
static int allow(int ruleset, const char *path, uint64_t access)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT || errno == EACCES ? 0 : errno;
    }
    struct stat status;
    fstat(fd, &status);
    struct landlock_path_beneath_attr rule = {
        .allowed_access = S_ISDIR(status.st_mode) ? access : access & ACCESS_TO_FILES,
        .parent_fd = fd,
    };
    int error = 0;
    if (rule.allowed_access != 0 &&
        syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0) {
        error = errno;
    }
    close(fd);
    return error;
}

int ik_restriction_landlock(const ik_restriction_t *restriction)
{
    int abi = find_landlock_abi();
    if (abi < 1) {
        return ENOSYS;
    }
    uint64_t writing = ACCESS_WRITE_FILE | ACCESS_REMOVE_AND_MAKE | (abi >= 2 ? ACCESS_REFER : 0) |
                       (abi >= 3 ? ACCESS_TRUNCATE : 0) | (abi >= 5 ? ACCESS_IOCTL_DEV : 0);
    uint64_t reading = restriction->readable_count > 0 ? ACCESS_READ_FILE : 0;
    ruleset_attr_t attr = {
        .handled_access_fs = writing | reading,
        .scoped = abi >= 6 ? SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS : 0,
    };
    int ruleset = create_ruleset(&attr, abi);
    if (ruleset < 0) {
        return errno;
    }
    int error = 0;
    for (size_t i = 0; i < restriction->writable_count && error == 0; i++) {
        error = allow(ruleset, restriction->writable[i], writing | reading);
    }
    for (size_t i = 0; i < restriction->readable_count && error == 0; i++) {
        error = allow(ruleset, restriction->readable[i], reading);
    }
    if (error == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0) {
        error = errno;
    }
    close(ruleset);
    return error;
}

int ik_restriction_prepare_call(void)
{
    int abi = find_landlock_abi();
    ruleset_attr_t attr = {.scoped = SCOPE_SIGNALS | SCOPE_ABSTRACT_SOCKETS};
    int ruleset = abi < 6 ? -1 : create_ruleset(&attr, abi);
    if (ruleset < 0) {
        return -1;
    }
    int kept = fcntl(ruleset, F_DUPFD_CLOEXEC, 10); /* above the descriptors of calls */
    close(ruleset);
    return kept;
}

void ik_restriction_restrict_call(int ruleset)
{
    syscall(SYS_landlock_restrict_self, ruleset, 0);
}

/* --- seccomp ----------------------------------------------------------------------------- */

#if defined(__x86_64__)
enum { OWN_ARCH = AUDIT_ARCH_X86_64, X32_CALLS = 0x40000000 };
#elif defined(__aarch64__)
enum { OWN_ARCH = AUDIT_ARCH_AARCH64 };
#else
#error "seccomp: this architecture is not known"
#endif

/* System calls newer than the headers of the oldest supported distribution. */
enum {
    CALL_FCHMODAT2 = 452,
    CALL_SETXATTRAT = 463,
    CALL_REMOVEXATTRAT = 466,
    CALL_OPEN_TREE_ATTR = 467,
    CALL_FILE_SETATTR = 469,
    NAMESPACE_FLAGS = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                      CLONE_NEWPID | CLONE_NEWNET,
};

/* New namespaces and mounts would give back what the room takes away; io_uring and the 32-bit calls
 * bypass this filter; the others concern the whole machine or have a history of kernel bugs. */
static const int forbidden[] = {
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_move_mount,
    SYS_open_tree,
    CALL_OPEN_TREE_ATTR,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_setns,
    SYS_open_by_handle_at,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    SYS_quotactl_fd,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_syslog,
    SYS_vhangup,
    SYS_fanotify_init,
    SYS_pidfd_getfd,
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
#endif
};

/* Programs fall back to older calls when these do not exist: clone3 hides its flags from a filter
 * behind a pointer. */
static const int missing[] = {
    SYS_clone3,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
};

/* Changes of a file that Landlock does not control. */
static const int metadata[] = {
#ifdef SYS_chmod
    SYS_chmod,       SYS_chown,        SYS_lchown,       SYS_utime,          SYS_utimes,
    SYS_futimesat,
#endif
    SYS_fchmod,      SYS_fchmodat,     CALL_FCHMODAT2,   SYS_fchown,         SYS_fchownat,
    SYS_utimensat,   SYS_setxattr,     SYS_lsetxattr,    SYS_fsetxattr,      CALL_SETXATTRAT,
    SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, CALL_REMOVEXATTRAT, CALL_FILE_SETATTR,
};

/* Newer forms of these calls, which a supervisor need not know: programs fall back. */
static const int unsupervised[] = {CALL_SETXATTRAT, CALL_REMOVEXATTRAT, CALL_FILE_SETATTR};

/* Pushing characters into a terminal's input, and flags of files. */
static const uint32_t forbidden_ioctls[] = {TIOCSTI, TIOCLINUX};
static const uint32_t metadata_ioctls[] = {
    0x40086602, /* FS_IOC_SETFLAGS */
    0x40046602, /* FS_IOC32_SETFLAGS */
    0x401c5820, /* FS_IOC_FSSETXATTR */
};

/* Without mounts, sockets of the user's services could be connected to: AF_UNIX comes last. */
static const uint32_t families[] = {AF_INET, AF_INET6, AF_NETLINK, AF_UNIX};

static void emit(ik_restriction_filter_t *filter, unsigned short code, uint32_t value,
                 unsigned char if_true, unsigned char if_false)
{
    filter->code[filter->len++] =
        (struct sock_filter){.code = code, .k = value, .jt = if_true, .jf = if_false};
}

static void emit_return(ik_restriction_filter_t *filter, uint32_t action)
{
    emit(filter, BPF_RET | BPF_K, action, 0, 0);
}

/* Loads the low half of an argument, which is all that the kernel looks at for flags, ioctl
 * requests and socket families. */
static void emit_load_argument(ik_restriction_filter_t *filter, int index)
{
    emit(filter, BPF_LD | BPF_W | BPF_ABS,
         (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (size_t)index), 0, 0);
}

static void emit_refuse(ik_restriction_filter_t *filter, uint32_t value, int error)
{
    emit(filter, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    emit_return(filter, SECCOMP_RET_ERRNO | (uint32_t)error);
}

static void emit_refuse_calls(ik_restriction_filter_t *filter, const int *calls, size_t count,
                              int error)
{
    for (size_t i = 0; i < count; i++) {
        emit_refuse(filter, (uint32_t)calls[i], error);
    }
}

/* The call creates namespaces if one of these bits is set in its first argument. */
static void emit_refuse_namespaces(ik_restriction_filter_t *filter, int call)
{
    emit(filter, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 4);
    emit_load_argument(filter, 0);
    emit(filter, BPF_JMP | BPF_JSET | BPF_K, NAMESPACE_FLAGS, 0, 1);
    emit_return(filter, SECCOMP_RET_ERRNO | EPERM);
    emit_return(filter, SECCOMP_RET_ALLOW);
}

static void emit_sockets(ik_restriction_filter_t *filter, bool with_unix)
{
    size_t count = IK_LENGTH(families) - (with_unix ? 0 : 1);
    emit(filter, BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, (unsigned char)(2 * count + 2));
    emit_load_argument(filter, 0);
    for (size_t i = 0; i < count; i++) {
        emit(filter, BPF_JMP | BPF_JEQ | BPF_K, families[i], 0, 1);
        emit_return(filter, SECCOMP_RET_ALLOW);
    }
    emit_return(filter, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
}

static void emit_ioctls(ik_restriction_filter_t *filter, bool no_flags)
{
    size_t count = IK_LENGTH(forbidden_ioctls) + (no_flags ? IK_LENGTH(metadata_ioctls) : 0);
    emit(filter, BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, (unsigned char)(2 * count + 2));
    emit_load_argument(filter, 1);
    for (size_t i = 0; i < count; i++) {
        size_t other = i - IK_LENGTH(forbidden_ioctls);
        emit_refuse(filter,
                    i < IK_LENGTH(forbidden_ioctls) ? forbidden_ioctls[i] : metadata_ioctls[other],
                    EPERM);
    }
    emit_return(filter, SECCOMP_RET_ALLOW);
}

/* Landlock controls truncation from ABI 3 on. Before that, opening a file for reading can truncate
 * it; openat2 hides its flags behind a pointer. */
static void emit_truncation(ik_restriction_filter_t *filter)
{
    static const int opens[][2] = {
#ifdef SYS_open
        {SYS_open, 1},
#endif
        {SYS_openat, 2},
    };
    emit_refuse(filter, SYS_truncate, EACCES);
    emit_refuse(filter, SYS_openat2, ENOSYS);
    for (size_t i = 0; i < IK_LENGTH(opens); i++) {
        emit(filter, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)opens[i][0], 0, 5);
        emit_load_argument(filter, opens[i][1]);
        emit(filter, BPF_ALU | BPF_AND | BPF_K, O_ACCMODE | O_TRUNC, 0, 0);
        emit(filter, BPF_JMP | BPF_JEQ | BPF_K, O_RDONLY | O_TRUNC, 0, 1);
        emit_return(filter, SECCOMP_RET_ERRNO | EACCES);
        emit_return(filter, SECCOMP_RET_ALLOW);
    }
}

/* The architecture is not looked at: the filter of ik_restriction_seccomp is installed already and
 * kills a process that makes the calls of another one. */
void ik_restriction_build_listener(ik_restriction_filter_t *filter)
{
    filter->len = 0;
    emit(filter, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
    emit_refuse_calls(filter, unsupervised, IK_LENGTH(unsupervised), ENOSYS);
    for (size_t i = 0; i < IK_LENGTH(metadata); i++) {
        emit(filter, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)metadata[i], 0, 1);
        emit_return(filter, SECCOMP_RET_USER_NOTIF);
    }
    emit_return(filter, SECCOMP_RET_ALLOW);
}

void ik_restriction_build_filter(ik_restriction_filter_t *filter,
                                 const ik_restriction_t *restriction, int landlock_abi)
{
    filter->len = 0;
    emit(filter, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
    emit(filter, BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0);
    emit_return(filter, SECCOMP_RET_KILL_PROCESS);
    emit(filter, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
#ifdef __x86_64__
    emit(filter, BPF_JMP | BPF_JGE | BPF_K, X32_CALLS, 0, 1);
    emit_return(filter, SECCOMP_RET_KILL_PROCESS);
#endif
    emit_refuse_calls(filter, forbidden, IK_LENGTH(forbidden), EPERM);
    emit_refuse_calls(filter, missing, IK_LENGTH(missing), ENOSYS);
    if (restriction->no_metadata) {
        emit_refuse_calls(filter, metadata, IK_LENGTH(metadata), EPERM);
    }
    if (restriction->no_sockets) {
        emit_refuse(filter, SYS_socket, EPERM);
    } else {
        emit_sockets(filter, !restriction->no_mounts);
    }
    if (restriction->no_mounts && landlock_abi < 3) {
        emit_truncation(filter);
    }
    emit_refuse_namespaces(filter, SYS_clone);
    emit_refuse_namespaces(filter, SYS_unshare);
    emit_ioctls(filter, restriction->no_mounts);
    emit_return(filter, SECCOMP_RET_ALLOW);
}

int ik_restriction_seccomp(const ik_restriction_t *restriction)
{
    ik_restriction_filter_t filter;
    ik_restriction_build_filter(&filter, restriction, find_landlock_abi());
    struct sock_fprog program = {.len = filter.len, .filter = filter.code};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? errno : 0;
}

int ik_restriction_listen(void)
{
    ik_restriction_filter_t filter;
    ik_restriction_build_listener(&filter);
    struct sock_fprog program = {.len = filter.len, .filter = filter.code};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                        &program);
}
