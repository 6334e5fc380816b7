/* What a crash and a lack of memory or time do to the disassembler. */
#define _GNU_SOURCE
#include "disassembler/limits.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MOST_MEMORY = 2047 << 20 };

uint32_t crash_offset;

static void limit(int resource, rlim_t most)
{
    struct rlimit both;
    if (getrlimit(resource, &both) != 0)
        return;
    both.rlim_cur = most < both.rlim_max ? most : both.rlim_max;
    (void)setrlimit(resource, &both);
}

/* Says where LLVM crashed, for a next process that passes over these bytes. */
static void crash(int signal_number)
{
    char text[64];
    int length = snprintf(text, sizeof text, "\nsignal %d at offset %u\n", signal_number, crash_offset);
    ssize_t written = write(STDERR_FILENO, text, length > 0 ? (size_t)length : 0);
    _exit(written > 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

static void let_crashes_tell(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    static char stack[1 << 16];
    stack_t apart = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = crash, .sa_flags = SA_ONSTACK};
    if (sigaltstack(&apart, NULL) != 0)
        return;
    for (size_t index = 0; index < sizeof signals / sizeof signals[0]; index++)
        sigaction(signals[index], &action, NULL);
}

static void let_time_end(void)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPROF, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void limit_process(void)
{
    limit(RLIMIT_AS, MOST_MEMORY);
    limit(RLIMIT_CORE, 0);
    let_time_end();
    let_crashes_tell();
}
