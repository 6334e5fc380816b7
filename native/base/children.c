#define _GNU_SOURCE
#include "base/children.h"

#include "base/bytes.h"
#include "base/owned.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
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
