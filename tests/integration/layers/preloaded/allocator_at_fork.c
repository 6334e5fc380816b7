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

/* C++, and what is aligned, come to the same allocator by other ways: Intel's driver is C++. The sanitizer has no other names of these. */
#define NEXT(RESULT, NAME, PARAMETERS, ARGUMENTS)                                                                              \
    RESULT NAME PARAMETERS;                                                                                                    \
    RESULT NAME PARAMETERS                                                                                                     \
    {                                                                                                                          \
        static RESULT(*next) PARAMETERS;                                                                                       \
        if (next == NULL)                                                                                                      \
            next = (RESULT(*) PARAMETERS)dlsym(RTLD_NEXT, #NAME);                                                              \
        pthread_rwlock_rdlock(&calls);                                                                                         \
        RESULT given = next ARGUMENTS;                                                                                         \
        pthread_rwlock_unlock(&calls);                                                                                         \
        return given;                                                                                                          \
    }
#define NEXT_FREE(NAME, PARAMETERS, ARGUMENTS)                                                                                 \
    void NAME PARAMETERS;                                                                                                      \
    void NAME PARAMETERS                                                                                                       \
    {                                                                                                                          \
        static void (*next) PARAMETERS;                                                                                        \
        if (next == NULL)                                                                                                      \
            next = (void (*) PARAMETERS)dlsym(RTLD_NEXT, #NAME);                                                               \
        pthread_rwlock_rdlock(&calls);                                                                                         \
        next ARGUMENTS;                                                                                                        \
        pthread_rwlock_unlock(&calls);                                                                                         \
    }
/* The operators new and delete of one object (w, l) and of arrays (a): plain, sized, aligned, and those that throw nothing. */
#define OPERATORS(NEW, DELETE)                                                                                                 \
    NEXT(void *, _Zn##NEW##m, (size_t size), (size))                                                                           \
    NEXT(void *, _Zn##NEW##mRKSt9nothrow_t, (size_t size, const void *tag), (size, tag))                                       \
    NEXT(void *, _Zn##NEW##mSt11align_val_t, (size_t size, size_t alignment), (size, alignment))                               \
    NEXT(void *, _Zn##NEW##mSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment, const void *tag),                   \
         (size, alignment, tag))                                                                                               \
    NEXT_FREE(_Zd##DELETE##Pv, (void *block), (block))                                                                         \
    NEXT_FREE(_Zd##DELETE##Pvm, (void *block, size_t size), (block, size))                                                     \
    NEXT_FREE(_Zd##DELETE##PvRKSt9nothrow_t, (void *block, const void *tag), (block, tag))                                     \
    NEXT_FREE(_Zd##DELETE##PvSt11align_val_t, (void *block, size_t alignment), (block, alignment))                             \
    NEXT_FREE(_Zd##DELETE##PvmSt11align_val_t, (void *block, size_t size, size_t alignment), (block, size, alignment))         \
    NEXT_FREE(_Zd##DELETE##PvSt11align_val_tRKSt9nothrow_t, (void *block, size_t alignment, const void *tag),                  \
              (block, alignment, tag))
OPERATORS(w, l)
OPERATORS(a, a)
NEXT(int, posix_memalign, (void **block, size_t alignment, size_t size), (block, alignment, size))
NEXT(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size))
NEXT(void *, memalign, (size_t alignment, size_t size), (alignment, size))

/* The sanitizer's does not come by malloc(). */
char *strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    return copy != NULL ? memcpy(copy, text, size) : NULL;
}
