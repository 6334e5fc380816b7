#include "unbuilt.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cl_program *programs;
static size_t room;
static atomic_size_t count;

/* The program's place, or `count`. */
static size_t find(cl_program program)
{
    size_t index = 0;
    while (index < count && programs[index] != program)
        ++index;
    return index;
}

void unbuilt_add(cl_program program)
{
    pthread_mutex_lock(&lock);
    if (count == room) {
        size_t more = room ? room * 2 : 16;
        cl_program *grown = realloc(programs, more * sizeof *grown);
        if (grown != NULL) {
            programs = grown;
            room = more;
        }
    }
    if (count < room && find(program) == count)
        programs[count++] = program;
    pthread_mutex_unlock(&lock);
}

void unbuilt_remove(cl_program program)
{
    if (count == 0)
        return;
    pthread_mutex_lock(&lock);
    size_t index = find(program);
    if (index < count) {
        programs[index] = programs[count - 1];
        --count;
    }
    pthread_mutex_unlock(&lock);
}

bool unbuilt_has(cl_program program)
{
    pthread_mutex_lock(&lock);
    bool has = find(program) < count;
    pthread_mutex_unlock(&lock);
    return has;
}
