/* The seccomp filters of a room, and the packets of the keeper, for the architecture they are built
 * for. The numbers of system calls are written down here, as the kernel has fixed them for each
 * architecture, and the filters are interpreted, so that the tests need no kernel that installs
 * them. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/keeper_protocol.h"
#include "keeper/restriction.h"
#include "suite.h"

enum {
    LAST_CALL = 600, /* beyond all that exist */
    NEWEST_LANDLOCK = 6,
    NO_CALL = -1, /* this architecture does not have it */
    REFUSED = SECCOMP_RET_ERRNO | EPERM,
    ABSENT = SECCOMP_RET_ERRNO | ENOSYS,
    DENIED = SECCOMP_RET_ERRNO | EACCES,
    NO_FAMILY = SECCOMP_RET_ERRNO | EAFNOSUPPORT,
};

#if defined(__x86_64__)
#define CALL(x86_64, arm64) (x86_64)
enum { OWN = AUDIT_ARCH_X86_64, OTHER = AUDIT_ARCH_AARCH64 };
#elif defined(__aarch64__)
#define CALL(x86_64, arm64) (arm64)
enum { OWN = AUDIT_ARCH_AARCH64, OTHER = AUDIT_ARCH_X86_64 };
#endif

enum {
    READ = CALL(0, 63),
    OPEN = CALL(2, NO_CALL),
    IOCTL = CALL(16, 29),
    SOCKET = CALL(41, 198),
    CLONE = CALL(56, 220),
    TRUNCATE = CALL(76, 45),
    OPENAT = CALL(257, 56),
    UNSHARE = CALL(272, 97),
    OPENAT2 = 437,
    CHMOD = CALL(90, NO_CALL),
    FCHMODAT = CALL(268, 53),
};

typedef struct {
    const char *name;
    int number;
} call_t;

static const call_t refused[] = {
    {"mount", CALL(165, 40)},
    {"umount2", CALL(166, 39)},
    {"pivot_root", CALL(155, 41)},
    {"chroot", CALL(161, 51)},
    {"move_mount", 429},
    {"open_tree", 428},
    {"open_tree_attr", 467},
    {"fsopen", 430},
    {"fsconfig", 431},
    {"fsmount", 432},
    {"fspick", 433},
    {"mount_setattr", 442},
    {"setns", CALL(308, 268)},
    {"open_by_handle_at", CALL(304, 265)},
    {"bpf", CALL(321, 280)},
    {"perf_event_open", CALL(298, 241)},
    {"userfaultfd", CALL(323, 282)},
    {"keyctl", CALL(250, 219)},
    {"add_key", CALL(248, 217)},
    {"request_key", CALL(249, 218)},
    {"init_module", CALL(175, 105)},
    {"finit_module", CALL(313, 273)},
    {"delete_module", CALL(176, 106)},
    {"kexec_load", CALL(246, 104)},
    {"kexec_file_load", CALL(320, 294)},
    {"reboot", CALL(169, 142)},
    {"swapon", CALL(167, 224)},
    {"swapoff", CALL(168, 225)},
    {"acct", CALL(163, 89)},
    {"quotactl", CALL(179, 60)},
    {"quotactl_fd", 443},
    {"settimeofday", CALL(164, 170)},
    {"clock_settime", CALL(227, 112)},
    {"syslog", CALL(103, 116)},
    {"vhangup", CALL(153, 58)},
    {"fanotify_init", CALL(300, 262)},
    {"pidfd_getfd", 438},
    {"iopl", CALL(172, NO_CALL)},
    {"ioperm", CALL(173, NO_CALL)},
};

static const call_t absent[] = {
    {"clone3", 435},
    {"io_uring_setup", 425},
    {"io_uring_enter", 426},
    {"io_uring_register", 427},
};

static const call_t metadata[] = {
    {"chmod", CHMOD},
    {"chown", CALL(92, NO_CALL)},
    {"lchown", CALL(94, NO_CALL)},
    {"utime", CALL(132, NO_CALL)},
    {"utimes", CALL(235, NO_CALL)},
    {"futimesat", CALL(261, NO_CALL)},
    {"fchmod", CALL(91, 52)},
    {"fchmodat", FCHMODAT},
    {"fchmodat2", 452},
    {"fchown", CALL(93, 55)},
    {"fchownat", CALL(260, 54)},
    {"utimensat", CALL(280, 88)},
    {"setxattr", CALL(188, 5)},
    {"lsetxattr", CALL(189, 6)},
    {"fsetxattr", CALL(190, 7)},
    {"setxattrat", 463},
    {"removexattr", CALL(197, 14)},
    {"lremovexattr", CALL(198, 15)},
    {"fremovexattr", CALL(199, 16)},
    {"removexattrat", 466},
    {"file_setattr", 469},
};

/* As the kernel does it; fails on instructions that it would not accept. */
static uint32_t interpret(const ik_restriction_filter_t *filter, const struct seccomp_data *data)
{
    uint32_t a = 0;
    for (size_t i = 0; i < filter->len; i++) {
        const struct sock_filter *each = &filter->code[i];
        bool jump = true;
        switch (each->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            ck_assert_uint_eq(each->k % 4, 0);
            ck_assert_uint_le(each->k + 4, sizeof(*data));
            memcpy(&a, (const char *)data + each->k, sizeof(a));
            continue;
        case BPF_ALU | BPF_AND | BPF_K:
            a &= each->k;
            continue;
        case BPF_RET | BPF_K:
            return each->k;
        case BPF_JMP | BPF_JEQ | BPF_K:
            jump = a == each->k;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            jump = a >= each->k;
            break;
        case BPF_JMP | BPF_JSET | BPF_K:
            jump = (a & each->k) != 0;
            break;
        default:
            ck_abort_msg("instruction %zu is not known: %#x", i, each->code);
        }
        i += jump ? each->jt : each->jf;
    }
    ck_abort_msg("the filter ends without an answer");
}

static ik_restriction_filter_t build(ik_restriction_t restriction, int landlock_abi)
{
    ik_restriction_filter_t filter;
    ik_restriction_build_filter(&filter, &restriction, landlock_abi);
    ck_assert_uint_gt(filter.len, 0);
    ck_assert_uint_lt(filter.len, IK_LENGTH(filter.code));
    return filter;
}

static uint32_t ask(const ik_restriction_filter_t *filter, int number, uint64_t first,
                    uint64_t second, uint64_t third)
{
    struct seccomp_data data = {.nr = number, .arch = OWN, .args = {first, second, third}};
    return interpret(filter, &data);
}

static void must_answer(const ik_restriction_filter_t *filter, const call_t *calls, size_t count,
                        uint32_t answer)
{
    for (size_t i = 0; i < count; i++) {
        if (calls[i].number != NO_CALL) {
            uint32_t got = ask(filter, calls[i].number, 0, 0, 0);
            ck_assert_msg(got == answer, "%s: %#x, not %#x", calls[i].name, got, answer);
        }
    }
}

static bool is_in(const call_t *calls, size_t count, int number)
{
    for (size_t i = 0; i < count; i++) {
        if (calls[i].number == number) {
            return true;
        }
    }
    return false;
}

START_TEST(dangerous_calls_are_refused_and_no_others)
{
    ik_restriction_filter_t filter = build((ik_restriction_t){0}, NEWEST_LANDLOCK);
    must_answer(&filter, refused, IK_LENGTH(refused), REFUSED);
    must_answer(&filter, absent, IK_LENGTH(absent), ABSENT);
    must_answer(&filter, metadata, IK_LENGTH(metadata), SECCOMP_RET_ALLOW);
    for (int number = 0; number < LAST_CALL; number++) {
        if (!is_in(refused, IK_LENGTH(refused), number) &&
            !is_in(absent, IK_LENGTH(absent), number) && number != SOCKET) {
            ck_assert_msg(ask(&filter, number, 0, 0, 0) == SECCOMP_RET_ALLOW, "%d", number);
        }
    }
}
END_TEST

/* With their own numbers, the 32-bit calls and those of x32 would bypass the filter. */
START_TEST(calls_of_another_architecture_kill)
{
    static const uint32_t others[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, OTHER, 0, OWN ^ 0x80000000};
    static const ik_restriction_t restrictions[] = {
        {.no_sockets = false}, {.no_sockets = true, .no_metadata = true, .no_mounts = true}};
    for (size_t r = 0; r < IK_LENGTH(restrictions); r++) {
        ik_restriction_filter_t filter = build(restrictions[r], 0);
        for (size_t i = 0; i < IK_LENGTH(others); i++) {
            for (int number = 0; number < LAST_CALL; number++) {
                struct seccomp_data data = {.nr = number, .arch = others[i]};
                ck_assert_msg(interpret(&filter, &data) == SECCOMP_RET_KILL_PROCESS, "%#x: %d",
                              others[i], number);
            }
        }
#ifdef __x86_64__
        for (int number = 0; number < LAST_CALL; number++) {
            ck_assert_uint_eq(ask(&filter, 0x40000000 | number, 0, 0, 0), SECCOMP_RET_KILL_PROCESS);
        }
        ck_assert_uint_eq(ask(&filter, -1, 0, 0, 0), SECCOMP_RET_KILL_PROCESS);
#endif
    }
}
END_TEST

START_TEST(namespaces_are_refused)
{
    static const uint64_t kinds[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                     CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};
    ik_restriction_filter_t filter = build((ik_restriction_t){0}, NEWEST_LANDLOCK);
    for (size_t i = 0; i < IK_LENGTH(kinds); i++) {
        ck_assert_uint_eq(ask(&filter, CLONE, kinds[i] | CLONE_VM, 0, 0), REFUSED);
        ck_assert_uint_eq(ask(&filter, UNSHARE, kinds[i], 0, 0), REFUSED);
        /* The upper half of an argument does not matter to the kernel. */
        ck_assert_uint_eq(ask(&filter, UNSHARE, kinds[i] | 1ULL << 32, 0, 0), REFUSED);
        ck_assert_uint_eq(ask(&filter, READ, kinds[i], 0, 0), SECCOMP_RET_ALLOW);
    }
    ck_assert_uint_eq(ask(&filter, CLONE, CLONE_VM | CLONE_VFORK, 0, 0), SECCOMP_RET_ALLOW);
    ck_assert_uint_eq(ask(&filter, UNSHARE, CLONE_FILES, 0, 0), SECCOMP_RET_ALLOW);
}
END_TEST

START_TEST(sockets_have_few_families)
{
    ik_restriction_filter_t mounts = build((ik_restriction_t){0}, NEWEST_LANDLOCK);
    ik_restriction_filter_t no_mounts =
        build((ik_restriction_t){.no_mounts = true}, NEWEST_LANDLOCK);
    ik_restriction_filter_t none = build((ik_restriction_t){.no_sockets = true}, NEWEST_LANDLOCK);
    for (uint64_t family = 0; family < AF_MAX; family++) {
        bool plain = family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
        ck_assert_uint_eq(ask(&mounts, SOCKET, family, 0, 0),
                          plain || family == AF_UNIX ? SECCOMP_RET_ALLOW : NO_FAMILY);
        ck_assert_uint_eq(ask(&no_mounts, SOCKET, family, 0, 0),
                          plain ? SECCOMP_RET_ALLOW : NO_FAMILY);
        ck_assert_uint_eq(ask(&none, SOCKET, family, 0, 0), REFUSED);
    }
}
END_TEST

START_TEST(metadata_are_refused_or_supervised)
{
    static const char *const newer[] = {"setxattrat", "removexattrat", "file_setattr"};
    ik_restriction_filter_t fixed = build((ik_restriction_t){.no_metadata = true}, NEWEST_LANDLOCK);
    must_answer(&fixed, metadata, IK_LENGTH(metadata), REFUSED);
    ik_restriction_filter_t listener;
    ik_restriction_build_listener(&listener);
    for (size_t i = 0; i < IK_LENGTH(metadata); i++) {
        bool is_newer = false;
        for (size_t j = 0; j < IK_LENGTH(newer); j++) {
            is_newer = is_newer || strcmp(metadata[i].name, newer[j]) == 0;
        }
        must_answer(&listener, &metadata[i], 1, is_newer ? ABSENT : SECCOMP_RET_USER_NOTIF);
    }
    for (int number = 0; number < LAST_CALL; number++) {
        ck_assert(is_in(metadata, IK_LENGTH(metadata), number) ||
                  ask(&listener, number, 0, 0, 0) == SECCOMP_RET_ALLOW);
    }
}
END_TEST

START_TEST(ioctls_that_type_or_set_flags_are_refused)
{
    static const uint64_t typing[] = {0x5412, 0x541C}; /* TIOCSTI, TIOCLINUX */
    static const uint64_t flags[] = {0x40086602, 0x40046602, 0x401c5820};
    ik_restriction_filter_t mounts = build((ik_restriction_t){0}, NEWEST_LANDLOCK);
    ik_restriction_filter_t no_mounts =
        build((ik_restriction_t){.no_mounts = true}, NEWEST_LANDLOCK);
    for (size_t i = 0; i < IK_LENGTH(typing); i++) {
        ck_assert_uint_eq(ask(&mounts, IOCTL, 0, typing[i], 0), REFUSED);
        ck_assert_uint_eq(ask(&no_mounts, IOCTL, 0, typing[i] | 1ULL << 40, 0), REFUSED);
    }
    for (size_t i = 0; i < IK_LENGTH(flags); i++) {
        ck_assert_uint_eq(ask(&mounts, IOCTL, 0, flags[i], 0), SECCOMP_RET_ALLOW);
        ck_assert_uint_eq(ask(&no_mounts, IOCTL, 0, flags[i], 0), REFUSED);
    }
    ck_assert_uint_eq(ask(&no_mounts, IOCTL, 0, TIOCGWINSZ, 0), SECCOMP_RET_ALLOW);
}
END_TEST

START_TEST(truncation_is_denied_where_landlock_cannot)
{
    ik_restriction_filter_t old = build((ik_restriction_t){.no_mounts = true}, 2);
    ik_restriction_filter_t new = build((ik_restriction_t){.no_mounts = true}, 3);
    ck_assert_uint_eq(ask(&old, TRUNCATE, 0, 0, 0), DENIED);
    ck_assert_uint_eq(ask(&old, OPENAT2, 0, 0, 0), ABSENT);
    ck_assert_uint_eq(ask(&new, TRUNCATE, 0, 0, 0), SECCOMP_RET_ALLOW);
    ck_assert_uint_eq(ask(&new, OPENAT2, 0, 0, 0), SECCOMP_RET_ALLOW);
    static const struct {
        uint64_t flags;
        uint32_t answer;
    } opened[] = {{O_RDONLY, SECCOMP_RET_ALLOW},
                  {O_RDONLY | O_TRUNC | O_CLOEXEC, DENIED},
                  {O_RDONLY | O_DIRECTORY | O_NOFOLLOW, SECCOMP_RET_ALLOW},
                  {O_WRONLY | O_TRUNC | O_CREAT, SECCOMP_RET_ALLOW}, /* Landlock controls these */
                  {O_RDWR | O_TRUNC, SECCOMP_RET_ALLOW}};
    for (size_t i = 0; i < IK_LENGTH(opened); i++) {
        ck_assert_uint_eq(ask(&old, OPENAT, 0, 0, opened[i].flags), opened[i].answer);
        ck_assert_uint_eq(ask(&new, OPENAT, 0, 0, opened[i].flags), SECCOMP_RET_ALLOW);
        if (OPEN >= 0) {
            ck_assert_uint_eq(ask(&old, OPEN, 0, opened[i].flags, 0), opened[i].answer);
        }
    }
}
END_TEST

/* The kernel may be too old to have such a ruleset; then no descriptor stays open. */
START_TEST(a_ruleset_for_calls_takes_one_descriptor)
{
    int lowest = open("/dev/null", O_RDONLY);
    ck_assert_int_ge(lowest, 0);
    close(lowest);
    int ruleset = ik_restriction_prepare_call();
    ck_assert(ruleset < 0 || ruleset >= 10); /* no descriptor of a call */
    int next = open("/dev/null", O_RDONLY);
    ck_assert_int_eq(next, lowest);
    close(next);
    if (ruleset >= 0) {
        close(ruleset);
    }
}
END_TEST

/* ikigai and the keeper are programs of their own: the layout is what they agree on. */
START_TEST(packets_have_one_layout_everywhere)
{
    ck_assert_uint_eq(sizeof(ik_keeper_request_t), 48);
    ck_assert_uint_eq(offsetof(ik_keeper_request_t, envc), 12);
    ck_assert_uint_eq(offsetof(ik_keeper_request_t, limits), 16);
    ck_assert_uint_eq(sizeof(ik_keeper_report_t), 48);
    ck_assert_uint_eq(offsetof(ik_keeper_report_t, crowded), 16);
    ck_assert_uint_eq(offsetof(ik_keeper_report_t, user_us), 24);
    ck_assert_uint_eq(offsetof(ik_keeper_report_t, max_rss_kb), 40);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("restriction");
    TCase *cases = tcase_create("restriction");
    tcase_add_test(cases, dangerous_calls_are_refused_and_no_others);
    tcase_add_test(cases, calls_of_another_architecture_kill);
    tcase_add_test(cases, namespaces_are_refused);
    tcase_add_test(cases, sockets_have_few_families);
    tcase_add_test(cases, metadata_are_refused_or_supervised);
    tcase_add_test(cases, ioctls_that_type_or_set_flags_are_refused);
    tcase_add_test(cases, truncation_is_denied_where_landlock_cannot);
    tcase_add_test(cases, a_ruleset_for_calls_takes_one_descriptor);
    tcase_add_test(cases, packets_have_one_layout_everywhere);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
