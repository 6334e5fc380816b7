/* Values that are released where their scope ends, on every way out of it. */
#ifndef KERNLENS_OWNED_H
#define KERNLENS_OWNED_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Calls function(&variable) at the end of the variable's scope. The variable needs a value from the start. */
#define RELEASED_BY(function) __attribute__((cleanup(function)))
/* Frees what the pointer points to. */
#define FREED RELEASED_BY(owned_free)
/* Closes a file descriptor, unless it is negative. */
#define CLOSED RELEASED_BY(owned_close)

/* Gives a FREED pointer away, to the caller for example: its scope's end frees nothing. */
#define GIVE(pointer)                                                                                                \
    __extension__({                                                                                                  \
        __typeof__(pointer) taken_out = (pointer);                                                                   \
        (pointer) = NULL;                                                                                            \
        taken_out;                                                                                                   \
    })

static inline void owned_free(void *variable)
{
    int before = errno;
    void *pointer;
    memcpy(&pointer, variable, sizeof pointer);
    free(pointer);
    errno = before;
}

static inline void owned_close(const int *descriptor)
{
    int before = errno;
    if (*descriptor >= 0)
        close(*descriptor);
    errno = before;
}

#endif
