#define _GNU_SOURCE
#include "base/environment.h"

#include "base/owned.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
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
