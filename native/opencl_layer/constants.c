#include "constants.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct constant {
    cl_program program;
    cl_uint identifier;
    size_t size;
    unsigned char *value;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct constant *constants;
static atomic_size_t count;

static void drop(size_t index)
{
    free(constants[index].value);
    constants[index] = constants[count - 1];
    --count;
}

void constant_keep(cl_program program, cl_uint identifier, size_t size, const void *value)
{
    unsigned char *copy = malloc(size);
    if (copy == NULL)
        return;
    memcpy(copy, value, size);
    pthread_mutex_lock(&lock);
    for (size_t index = count; index-- > 0;)
        if (constants[index].program == program && constants[index].identifier == identifier)
            drop(index);
    struct constant *grown = realloc(constants, (count + 1) * sizeof *grown);
    if (grown != NULL) {
        constants = grown;
        constants[count++] =
            (struct constant){.program = program, .identifier = identifier, .size = size, .value = copy};
        copy = NULL;
    }
    pthread_mutex_unlock(&lock);
    free(copy);
}

void constants_forget(cl_program program)
{
    if (count == 0)
        return;
    pthread_mutex_lock(&lock);
    for (size_t index = count; index-- > 0;)
        if (constants[index].program == program)
            drop(index);
    pthread_mutex_unlock(&lock);
}

void constants_write(cl_program program, struct writer *writer)
{
    pthread_mutex_lock(&lock);
    uint64_t found = 0;
    for (size_t index = 0; index < count; ++index)
        found += constants[index].program == program;
    write_number(writer, found);
    for (size_t index = 0; index < count; ++index)
        if (constants[index].program == program) {
            write_number(writer, constants[index].identifier);
            write_block(writer, constants[index].value, constants[index].size);
        }
    pthread_mutex_unlock(&lock);
}
