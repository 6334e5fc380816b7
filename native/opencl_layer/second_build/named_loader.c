#define _GNU_SOURCE
#include "opencl_layer/second_build/named_loader.h"

#include "base/owned.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* Reads the value of --library-path among the loader's arguments, which come before the program's path. */
static char *library_path(void)
{
    static const char OPTION[] = "--library-path";
    FILE *file = fopen("/proc/self/cmdline", "re");
    FREED char *argument = NULL;
    char *value = NULL;
    size_t room = 0;
    bool options = true, wanted = false;
    for (int place = 0; file != NULL && options && value == NULL && getdelim(&argument, &room, '\0', file) > 0; ++place) {
        if (wanted)
            value = strdup(argument);
        wanted = place > 0 && strcmp(argument, OPTION) == 0;
        options = place == 0 || wanted || text_starts_with(argument, "--");
    }
    if (file != NULL)
        fclose(file);
    return value;
}

struct named_loader named_loader_find(void)
{
    /* The kernel tells a program where its loader is, and a loader that it started by itself nothing (getauxval(3)). */
    if (getauxval(AT_BASE) != 0)
        return (struct named_loader){0};
    return (struct named_loader){.path = realpath("/proc/self/exe", NULL), .folders = library_path()};
}

void named_loader_free(struct named_loader *loader)
{
    free(loader->path);
    free(loader->folders);
}
