/*
 * Runs a program on a kernel that lacks something: withhold_driver WHAT,WHAT PROGRAM ARGUMENT...
 * WHAT is namespaces, landlock, seccomp, mounts or close_range.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct sock_filter code[64];
static unsigned short len;

static void emit(unsigned short operation, unsigned value, unsigned char yes, unsigned char no)
{
    code[len++] = (struct sock_filter){.code = operation, .k = value, .jt = yes, .jf = no};
}

static void refuse(long call, int error)
{
    emit(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1);
    emit(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error, 0, 0);
}

/* If the first argument has one of these bits, or is this value. */
static void refuse_argument(long call, unsigned short test, unsigned value, int error)
{
    emit(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 4);
    emit(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args), 0, 0);
    emit(BPF_JMP | test | BPF_K, value, 0, 1);
    emit(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error, 0, 0);
    emit(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        return 2;
    }
    emit(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
    if (strstr(argv[1], "landlock") != NULL) {
        refuse(SYS_landlock_create_ruleset, ENOSYS);
    }
    if (strstr(argv[1], "namespaces") != NULL) {
        refuse_argument(SYS_unshare, BPF_JSET, CLONE_NEWUSER, EPERM);
    }
    if (strstr(argv[1], "close_range") != NULL) {
        refuse(SYS_close_range, ENOSYS);
    }
    if (strstr(argv[1], "mounts") != NULL) {
        refuse(SYS_move_mount, EPERM);
    }
    if (strstr(argv[1], "seccomp") != NULL) {
        refuse(SYS_seccomp, ENOSYS);
        refuse_argument(SYS_prctl, BPF_JEQ, PR_SET_SECCOMP, EINVAL);
    }
    emit(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    struct sock_fprog program = {.len = len, .filter = code};
    if (geteuid() != 0) {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    }
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
        perror("withhold_driver");
        return 2;
    }
    execv(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
