#define _GNU_SOURCE
#include "base/children.h"

#include "base/bytes.h"
#include "base/locks.h"
#include "base/owned.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void environment_set(struct environment *environment, const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    FREED char *value = text_format_list(format, arguments);
    va_end(arguments);
    FREED char *setting = value != NULL ? text_format("%s=%s", name, value) : NULL;
    if (setting == NULL || environment->count == ENVIRONMENT_SETTINGS)
        environment->failed = true;
    else
        environment->settings[environment->count++] = GIVE(setting);
}

static bool is_set(const struct environment *environment, const char *variable)
{
    size_t length = strcspn(variable, "=") + 1;
    for (size_t index = 0; index < environment->count; ++index)
        if (strncmp(environment->settings[index], variable, length) == 0)
            return true;
    return false;
}

char **environment_list(const struct environment *environment)
{
    size_t inherited = 0;
    while (environ != NULL && environ[inherited] != NULL)
        ++inherited;
    char **list = environment->failed ? NULL : calloc(inherited + environment->count + 1, sizeof *list);
    if (list == NULL)
        return NULL;
    size_t count = 0;
    for (size_t index = 0; index < inherited && environ[index] != NULL; ++index)
        if (!is_set(environment, environ[index]))
            list[count++] = environ[index];
    memcpy(list + count, environment->settings, environment->count * sizeof *list);
    return list;
}

void environment_free(struct environment *environment)
{
    for (size_t index = 0; index < environment->count; ++index)
        free(environment->settings[index]);
    *environment = (struct environment){0};
}

struct start {
    const char *const *command;
    char *const *environment;
    const posix_spawn_file_actions_t *actions;
    const posix_spawnattr_t *attributes;
    pid_t process;
};

/* In the process between: starts the child. Returns an error number, or 0. */
static int start(void *argument)
{
    struct start *child = argument;
#ifdef SYS_close_range
    enum { ON_EXEC = 4 }; /* CLOSE_RANGE_CLOEXEC, which older headers lack; an older kernel refuses it */
    syscall(SYS_close_range, STDERR_FILENO + 1U, ~0U, ON_EXEC); /* a pipe of the application's would not end before the child does */
#endif
    return posix_spawn(&child->process, child->command[0], child->actions, child->attributes, (char *const *)(const void *)child->command,
                       child->environment);
}

/* Runs `start` in a process that shares this one's memory while the calling thread stands still, as vfork(2) does it. That one ends
 * without a signal, and only a wait with __WCLONE or __WALL sees it; but the execution of a program gives a process SIGCHLD back
 * (execve(2)), so that the child must be its child, and not this process's. Returns an error number, or 0. */
static int start_between(struct start *child)
{
    enum { STACK = 1 << 18 };
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED)
        return errno;
    int status = 0;
    pid_t between = clone(start, stack + STACK, CLONE_VM | CLONE_VFORK, child);
    int error = between < 0 ? errno : 0;
    while (error == 0 && waitpid(between, &status, __WALL) < 0 && errno == EINTR)
        continue;
    munmap(stack, STACK);
    return error != 0 || !WIFEXITED(status) ? error : WEXITSTATUS(status);
}

int child_start(const char *const *command, char *const *environment, const posix_spawn_file_actions_t *actions, pid_t *process)
{
    sigset_t none, all, before;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    /* The application's handlers must not run in the process between. */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    struct start child = {command, environment, actions, &attributes, -1};
    int error = start_between(&child);
    *process = child.process;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    posix_spawnattr_destroy(&attributes);
    return error;
}

/* What the shell runs, as this process cannot wait for a tool: its standard output tells whether a tool succeeded. */
static const char SCRIPT[] = "umask 077; output=$1; shift\n"
                             "for tool in $0; do \"$tool\" \"$@\" >\"$output\" && echo && exit; done";

/* Starts the shell. Returns where its standard output is read, or -1. */
static int start_shell(const char *const *command)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t process;
    int error = child_start(command, environ, &actions, &process);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error == 0)
        return ends[0];
    close(ends[0]);
    return -1;
}

enum { TOOL_ARGUMENTS = 8 };

bool tool_run(const char *programs, const char *const *arguments, const char *input, const char *output)
{
    const char *command[5 + TOOL_ARGUMENTS + 2] = {"/bin/sh", "-c", SCRIPT, programs, output};
    size_t count = 5;
    for (size_t index = 0; arguments[index] != NULL && index < TOOL_ARGUMENTS; ++index)
        command[count++] = arguments[index];
    command[count] = input;
    lock_take(LOCK_START);
    CLOSED int answer = start_shell(command);
    lock_give(LOCK_START);
    char line;
    ssize_t size = -1;
    while (answer >= 0 && (size = read(answer, &line, 1)) < 0 && errno == EINTR)
        continue;
    return size == 1;
}
