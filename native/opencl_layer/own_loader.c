#define _GNU_SOURCE
#include "own_loader.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* The value of --library-path among the loader's own arguments, which come before the program's path. */
static char *library_path(void)
{
    static const char OPTION[] = "--library-path";
    FILE *file = fopen("/proc/self/cmdline", "re");
    char *argument = NULL, *value = NULL;
    size_t room = 0;
    bool options = true, wanted = false;
    for (int place = 0; file != NULL && options && value == NULL && getdelim(&argument, &room, '\0', file) > 0; ++place) {
        if (wanted)
            value = strdup(argument);
        wanted = place > 0 && strcmp(argument, OPTION) == 0;
        options = place == 0 || wanted || strncmp(argument, "--", 2) == 0;
    }
    free(argument);
    if (file != NULL)
        fclose(file);
    return value;
}

struct own_loader own_loader(void)
{
    /* The kernel tells a program where its loader is, and a loader that it started itself nothing (getauxval(3)). */
    if (getauxval(AT_BASE) != 0)
        return (struct own_loader){0};
    return (struct own_loader){.path = realpath("/proc/self/exe", NULL), .folders = library_path()};
}

void own_loader_free(struct own_loader *loader)
{
    free(loader->path);
    free(loader->folders);
}
