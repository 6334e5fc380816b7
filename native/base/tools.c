#define _GNU_SOURCE
#include "base/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TOOL_ARGUMENTS = 8 };

static bool run(const char *program, const char *const *arguments, const char *input, const char *output)
{
    const char *command[TOOL_ARGUMENTS + 3];
    size_t count = 0;
    command[count++] = program;
    for (size_t index = 0; arguments[index] != NULL && index < TOOL_ARGUMENTS; ++index)
        command[count++] = arguments[index];
    command[count++] = input;
    command[count] = NULL;

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t process = -1;
    int error = posix_spawnp(&process, program, &actions, NULL, (char *const *)(void *)command, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        return false;
    int status = 0;
    while (waitpid(process, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool tool_run(const char *const *programs, const char *const *arguments, const char *input, const char *output)
{
    for (; *programs != NULL; ++programs)
        if (run(*programs, arguments, input, output))
            return true;
    return false;
}
