/* What a disassembler of foreign bytes may ask of the kernel, seccomp(2): nothing with a name. */
#define _GNU_SOURCE
#include "disassembler/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "say which of linux/audit.h this processor is"
#endif

static const unsigned ALLOWED[] = {
    SYS_read, SYS_write, SYS_writev, SYS_exit, SYS_exit_group, SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_madvise,
    SYS_futex, SYS_fstat, SYS_newfstatat, SYS_setitimer, SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_getrandom, SYS_getpid,
    SYS_gettid, SYS_tgkill,
};

enum { COUNT = sizeof ALLOWED / sizeof ALLOWED[0] };

void confine_to_pipes(void)
{
    struct sock_filter filter[5 + 2 * COUNT];
    unsigned short size = 0;
    const struct sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    filter[size++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    filter[size++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    filter[size++] = refuse;
    filter[size++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t index = 0; index < COUNT; index++) {
        filter[size++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ALLOWED[index], 0, 1);
        filter[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    filter[size++] = refuse;
    struct sock_fprog program = {size, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
