/* What a confined program may not ask of the kernel, seccomp(2), beside opening files. */
#define _GNU_SOURCE
#include "confine/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "say which of linux/audit.h this processor is"
#endif

/* Calls of another interface of the same processor (x32) have numbers from here on. */
#define FOREIGN_CALLS 0x40000000

static const int ALWAYS[] = {
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_keyctl, SYS_add_key, SYS_request_key,
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, 425 /* io_uring_setup */, 438 /* pidfd_getfd */,
};

static const int WITH_NAMES[] = {
    SYS_fchmodat, SYS_fchownat, SYS_utimensat, SYS_setxattr, SYS_lsetxattr, SYS_removexattr, SYS_lremovexattr,
#if defined(__x86_64__)
    SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat,
#endif
    452 /* fchmodat2 */,
};

enum { COUNT_ALWAYS = sizeof ALWAYS / sizeof ALWAYS[0], COUNT_WITH_NAMES = sizeof WITH_NAMES / sizeof WITH_NAMES[0] };

static void drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    /* Root would get all of them back with the program; without CAP_SETPCAP there are none that it could. */
    prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0);
    if (syscall(SYS_capset, &header, none) != 0)
        confine_fail("dropping capabilities", "");
}

/* Adds what refuses sockets, or with `is_cuda` allows those of this machine that only a connection can lead out of, and refuses
 * connections. Pairs of sockets are of these types too: a datagram can be sent to any name. The accumulator holds the call's
 * number before and after it. Returns the new size. */
static unsigned short restrict_sockets(struct sock_filter *filter, unsigned short size, bool is_cuda)
{
    const struct sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    const struct sock_filter connected[] = {
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 8, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socketpair, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 8),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (unsigned)~(SOCK_CLOEXEC | SOCK_NONBLOCK)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOCK_SEQPACKET, 1, 0),
        refuse,
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    if (!is_cuda) {
        filter[size++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1);
        filter[size++] = refuse;
    }
    memcpy(filter + size, connected, sizeof connected);
    return (unsigned short)(size + sizeof connected / sizeof *connected);
}

void calls_restrict(bool is_visible, bool is_cuda)
{
    drop_capabilities();
    struct sock_filter filter[22 + 2 * (COUNT_ALWAYS + COUNT_WITH_NAMES)];
    unsigned short size = 0;
    const struct sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    filter[size++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    filter[size++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    filter[size++] = refuse;
    filter[size++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    filter[size++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FOREIGN_CALLS, 0, 1);
    filter[size++] = refuse;
    size = restrict_sockets(filter, size, is_cuda);
    for (int i = 0; i < COUNT_ALWAYS + (is_visible ? COUNT_WITH_NAMES : 0); i++) {
        unsigned call = (unsigned)(i < COUNT_ALWAYS ? ALWAYS[i] : WITH_NAMES[i - COUNT_ALWAYS]);
        filter[size++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
        filter[size++] = refuse;
    }
    filter[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = size, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
        confine_fail("seccomp", "");
}
