#define _GNU_SOURCE
#include "base/processes.h"

#include "base/owned.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads when the process of this number started; 0 if it cannot be read. */
static uint64_t start_of(uint32_t number)
{
    enum { STATE = 3, START = 22 }; /* proc(5) counts the fields of this file from 1 */
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", number);
    CLOSED int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (size <= 0)
        return 0;
    text[size] = '\0';
    const char *place = strrchr(text, ')'); /* the program's name, in brackets, may hold anything */
    for (int field = STATE; place != NULL && field <= START; ++field)
        place = strchr(place + 1, ' ');
    return place != NULL ? strtoull(place, NULL, 10) : 0;
}

static uint32_t own_space(void)
{
    char text[64];
    ssize_t size = readlink("/proc/self/ns/pid", text, sizeof text - 1);
    if (size <= 0)
        return 0;
    text[size] = '\0';
    const char *bracket = strchr(text, '['); /* "pid:[4026531836]" */
    return bracket != NULL ? (uint32_t)strtoul(bracket + 1, NULL, 10) : 0;
}

struct process process_self(void)
{
    uint32_t number = (uint32_t)getpid();
    return (struct process){.space = own_space(), .number = number, .start = start_of(number)};
}

bool process_has_ended(const struct process *process)
{
    if (process->space == 0 || process->start == 0 || process->number == 0 || process->space != own_space())
        return false;
    uint64_t start = start_of(process->number);
    if (start != 0)
        return start != process->start;
    return kill((pid_t)process->number, 0) != 0 && errno == ESRCH;
}
