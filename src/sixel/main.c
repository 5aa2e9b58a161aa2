/*
 * sixel WIDTH HEIGHT COLOURS: reads a PNG file and prints it as Sixel data of that size, for the
 * preview of an image in the terminal. A program of its own, because images come from anywhere: it
 * has limits of memory and time, and before it looks at the first byte it gives up every system
 * call but those for memory, reading, writing and leaving.
 *
 * Exit status: 0; 1: the picture cannot be shown; 2: usage.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "sixel/sixel.h"

enum {
    INPUT_MAX = 4 * 1024 * 1024,
    OUTPUT_MAX = 4 * 1024 * 1024,
    MEMORY_MAX = 384 * 1024 * 1024,
    SECONDS_MAX = 5,
};

/* --- giving up rights -------------------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED true
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED false
#endif

#if defined(__x86_64__)
enum { OWN_ARCH = AUDIT_ARCH_X86_64 };
#elif defined(__aarch64__)
enum { OWN_ARCH = AUDIT_ARCH_AARCH64 };
#else
#error "seccomp: this architecture is not known"
#endif

/* A sanitizer needs more memory and more system calls. */
static bool give_up_rights(void)
{
    static const int allowed[] = {SYS_read,       SYS_write,    SYS_brk,     SYS_mmap,
                                  SYS_munmap,     SYS_mremap,   SYS_madvise, SYS_exit,
                                  SYS_exit_group, SYS_getrandom /* malloc */};
    struct sock_filter code[2 * IK_LENGTH(allowed) + 5];
    unsigned short len = 0;
    if (IS_SANITIZED) {
        return true;
    }
    code[len++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    code[len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0);
    code[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    code[len++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < IK_LENGTH(allowed); i++) {
        code[len++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowed[i], 0, 1);
        code[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {.len = len, .filter = code};
    struct rlimit memory = {MEMORY_MAX, MEMORY_MAX};
    struct rlimit seconds = {SECONDS_MAX, SECONDS_MAX};
    return setrlimit(RLIMIT_AS, &memory) == 0 && setrlimit(RLIMIT_CPU, &seconds) == 0 &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

/* --- input and output -------------------------------------------------------------------- */

static bool read_all(ik_buffer_t *in)
{
    ssize_t got = 1;
    while (got > 0 && in->len < INPUT_MAX) {
        size_t room = ik_buffer_reserve(in, INPUT_MAX - in->len);
        got = read(STDIN_FILENO, in->data + in->len, room);
        in->len += got > 0 ? (size_t)got : 0;
        got = got < 0 && errno == EINTR ? 1 : got;
    }
    return got == 0;
}

static bool write_all(const ik_buffer_t *out)
{
    size_t at = 0;
    while (at < out->len) {
        ssize_t put = write(STDOUT_FILENO, out->data + at, out->len - at);
        if (put < 0 && errno != EINTR) {
            return false;
        }
        at += put > 0 ? (size_t)put : 0;
    }
    return true;
}

static bool show(uint32_t width, uint32_t height, size_t colours)
{
    void *scratch = talloc_new(NULL);
    ik_buffer_t in;
    ik_buffer_t out;
    ik_png_t picture;
    ik_buffer_init(&in, scratch, INPUT_MAX);
    ik_buffer_init(&out, scratch, OUTPUT_MAX);
    bool decoded = read_all(&in) &&
                   ik_png_decode(scratch, (const uint8_t *)in.data, in.len, &picture) &&
                   width <= picture.width && height <= picture.height;
    if (decoded) {
        ik_sixel_append(&out, &picture, width, height, colours);
    }
    return decoded && out.dropped == 0 && write_all(&out);
}

int main(int argc, char **argv)
{
    unsigned long numbers[3] = {0};
    for (int i = 0; i < 3 && i + 1 < argc; i++) {
        numbers[i] = strtoul(argv[i + 1], NULL, 10);
    }
    if (argc != 4 || numbers[0] < 1 || numbers[0] > IK_PNG_SIDE_MAX || numbers[1] < 1 ||
        numbers[1] > IK_PNG_SIDE_MAX || numbers[2] < 2 || numbers[2] > IK_SIXEL_COLOURS_MAX) {
        return 2;
    }
    return give_up_rights() && show((uint32_t)numbers[0], (uint32_t)numbers[1], numbers[2]) ? 0 : 1;
}
