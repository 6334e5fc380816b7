#define _GNU_SOURCE
#include "base/zeros.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Command stream receivers that reach no hardware: one that writes a file, and a null device. */
enum { RECEIVER_FILE = 1, RECEIVER_NULL = 5 };
enum { BLOCK = 4096 };

static long setting(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? strtol(text, NULL, 0) : 0;
}

bool device_is_simulated(void)
{
    long receiver = setting("SetCommandStreamReceiver");
    return setting("NEOReadDebugKeys") == 1 && (receiver == RECEIVER_FILE || receiver == RECEIVER_NULL);
}

void clear_new(void *memory, size_t size)
{
    static const uint8_t zeros[BLOCK];
    for (uint8_t *at = memory; size > 0;) {
        size_t part = size < BLOCK ? size : BLOCK;
        if (memcmp(at, zeros, part) != 0)
            memset(at, 0, part);
        at += part;
        size -= part;
    }
}

static bool clear(int zeros, uint8_t *memory, size_t size)
{
    while (size > 0) {
        ssize_t part = read(zeros, memory, size);
        if (part < 0 && errno == EINTR)
            continue;
        if (part <= 0)
            return false;
        memory += part;
        size -= (size_t)part;
    }
    return true;
}

void clear_box(void *memory, size_t width, size_t height, size_t depth, size_t pitch, size_t slice_pitch)
{
    int saved = errno, zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    bool goes_on = zeros >= 0;
    for (size_t z = 0; goes_on && z < depth; ++z)
        for (size_t y = 0; goes_on && y < height; ++y)
            goes_on = clear(zeros, (uint8_t *)memory + z * slice_pitch + y * pitch, width);
    if (zeros >= 0)
        close(zeros);
    errno = saved;
}
