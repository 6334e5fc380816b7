/* To be preloaded in front of AddressSanitizer: no thread is in its allocator when another forks.
 *
 * The C library's allocator looks after its own locks at a fork. That of GCC's sanitizers before 14 does not: a child waits for ever in
 * malloc() if another thread of its parent held the lock of a size class (SizeClassAllocator64::GetFromAllocator). Here every call to it
 * holds a lock that forks take alone. This constructor runs first, so its handler is the last before a fork and the first after. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

static pthread_rwlock_t calls = PTHREAD_RWLOCK_INITIALIZER; /* prefers readers: a call within a call waits for nobody */

static void before_fork(void)
{
    pthread_rwlock_wrlock(&calls);
}

static void after_fork_in_parent(void)
{
    pthread_rwlock_unlock(&calls);
}

static void after_fork_in_child(void)
{
    calls = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
}

__attribute__((constructor)) static void handle_forks(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* The sanitizer's functions by their other names, as the dynamic loader allocates before anything can be looked up; the C library's in
 * programs without sanitizers, which the tests start as well. */
#define CALL(NAME, PARAMETERS, ARGUMENTS)                                                                                      \
    void *__interceptor_##NAME PARAMETERS __attribute__((weak));                                                               \
    void *__libc_##NAME PARAMETERS;                                                                                            \
    void *NAME PARAMETERS                                                                                                      \
    {                                                                                                                          \
        if (__interceptor_##NAME == NULL)                                                                                      \
            return __libc_##NAME ARGUMENTS;                                                                                    \
        pthread_rwlock_rdlock(&calls);                                                                                         \
        void *given = __interceptor_##NAME ARGUMENTS;                                                                          \
        pthread_rwlock_unlock(&calls);                                                                                         \
        return given;                                                                                                          \
    }

CALL(malloc, (size_t size), (size))
CALL(calloc, (size_t count, size_t size), (count, size))
CALL(realloc, (void *block, size_t size), (block, size))

void __interceptor_free(void *block) __attribute__((weak));
void __libc_free(void *block);
void free(void *block)
{
    if (__interceptor_free == NULL) {
        __libc_free(block);
        return;
    }
    pthread_rwlock_rdlock(&calls);
    __interceptor_free(block);
    pthread_rwlock_unlock(&calls);
}

/* The sanitizer's does not come by malloc(). */
char *strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    return copy != NULL ? memcpy(copy, text, size) : NULL;
}
