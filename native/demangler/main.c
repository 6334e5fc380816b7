/* Demangles C++ names with libstdc++, for a process that goes on if this one is ended.
 *
 * Each line of standard input is a name. Its answer is a line of standard output: the name as C++ source has it, or an empty
 * line if libstdc++ does not read it or the text is too long. The process ends with standard input, or without an answer where
 * a name exceeds the limits: a short name can stand for gigabytes of text or for endless work, as parts of it are named again
 * and again. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

typedef char *(*demangle_function)(const char *name, char *text, size_t *size, int *status);

enum { MOST_TEXT = 16 << 10, MOST_MEMORY = 64 << 20 };

/* Microseconds of processor time: each name adds some to what those before it left, up to a most. */
enum { FOR_A_NAME = 500, MOST_LEFT = 50000 };

static void limit(int resource, rlim_t most)
{
    struct rlimit both;
    if (getrlimit(resource, &both) != 0)
        return;
    both.rlim_cur = most < both.rlim_max ? most : both.rlim_max;
    (void)setrlimit(resource, &both);
}

/* SIGPROF ends this process when its time is over, whatever the process that started it does with the signal. */
static void let_time_end(void)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPROF, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static long time_used(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec * 1000000L + used.tv_nsec / 1000;
}

int main(void)
{
    close_range(STDERR_FILENO + 1, ~0U, 0); /* the files of an application that left them to its children */
    void *library = dlopen("libstdc++.so.6", RTLD_NOW);
    demangle_function demangle = library == NULL ? NULL : (demangle_function)dlsym(library, "__cxa_demangle");
    if (demangle == NULL)
        return EXIT_FAILURE;
    limit(RLIMIT_AS, MOST_MEMORY);
    limit(RLIMIT_CORE, 0);
    let_time_end();
    char *name = NULL;
    size_t room = 0;
    long end = time_used() + MOST_LEFT;
    for (ssize_t length; (length = getline(&name, &room, stdin)) > 0;) {
        name[length - 1] = '\0';
        long now = time_used();
        end = end + FOR_A_NAME < now + MOST_LEFT ? end + FOR_A_NAME : now + MOST_LEFT;
        /* A timer runs up to a tick of the kernel longer, so what was used is counted here. */
        struct itimerval timer = {.it_value.tv_usec = end - now};
        if (end <= now || setitimer(ITIMER_PROF, &timer, NULL) != 0)
            return EXIT_FAILURE;
        char *text = demangle(name, NULL, NULL, NULL);
        if (text != NULL && strlen(text) <= MOST_TEXT)
            fputs(text, stdout);
        free(text);
        putchar('\n');
        if (fflush(stdout) != 0)
            return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
