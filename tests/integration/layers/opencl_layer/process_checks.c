/* Processes that fork, and processes that end before they could put anything away. */
#define _GNU_SOURCE
#include "checks.h"

#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 60 }; /* a lock that nobody gives back would keep a child for ever */

/* Builds with requests on one thread while another makes child processes that build. The programs are SPIR-V: the front end for OpenCL C
 * has a lock that a child gets as it stood, with or without the layer. */
struct building {
    void *module;
    size_t size;
    atomic_bool stop;
};

static void *keep_building(void *argument)
{
    struct building *building = argument;
    while (!building->stop) {
        cl_program program = program_from(building->module, building->size);
        struct received received = expecting();
        request(program, device, late_stage()->name, 0, receive, &received);
        clBuildProgram(program, 1, &device, "", NULL, NULL);
        forget(&received);
        clReleaseProgram(program);
    }
    return NULL;
}

/* What of this process's code is the layer's, and what is the C library's and the loader's. */
static struct code {
    uintptr_t start, end;
    bool is_layer;
} known_code[64];
static size_t code_count;

static void find_code(void)
{
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    void *frame;
    backtrace(&frame, 1); /* which loads a library the first time */
    while (maps != NULL && code_count < sizeof known_code / sizeof *known_code && fgets(line, sizeof line, maps) != NULL) {
        struct code code = {.is_layer = strstr(line, "/libkernlens") != NULL};
        bool is_system = strstr(line, "/libc.so") != NULL || strstr(line, "/ld-linux") != NULL;
        if ((code.is_layer || is_system) && sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &code.start, &code.end) == 2)
            known_code[code_count++] = code;
    }
    if (maps != NULL)
        fclose(maps);
}

enum { HANGS_IN_DRIVER = 14 };

/* A child that waits for ever: 13 if it is the layer that waits, or what it called of the C library. */
static void tell_who_waits(int number)
{
    void *frames[64];
    (void)number;
    int count = backtrace(frames, 64);
    bool is_interrupted = false; /* behind the frames of this handler, which the C library calls */
    for (int frame = 1; frame < count; ++frame) {
        const struct code *code = known_code, *end = known_code + code_count;
        while (code < end && ((uintptr_t)frames[frame] < code->start || (uintptr_t)frames[frame] >= code->end))
            ++code;
        if (code < end && !code->is_layer)
            is_interrupted = true;
        else if (is_interrupted)
            _exit(code < end ? 13 : HANGS_IN_DRIVER);
    }
    _exit(12);
}

void check_fork(const char *path)
{
    checking("a child process forked during a build");
    enum { CHILDREN = 5 };
    struct building building = {0};
    building.module = file_contents(path, &building.size);
    find_code();
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, keep_building, &building) == 0);
    for (int child = 0; child < CHILDREN; ++child) {
        usleep(30000);
        pid_t process = fork();
        if (process == 0) {
            signal(SIGALRM, tell_who_waits);
            alarm(SECONDS / 3);
            cl_program program = program_from(building.module, building.size);
            _exit(clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS ? 0 : 1);
        }
        int status = -1;
        CHECK(waitpid(process, &status, 0) == process);
        /* In one of some 20 runs without the layer a child of the newest driver waits for a lock of its own for ever. */
        if (!WIFEXITED(status) || WEXITSTATUS(status) != HANGS_IN_DRIVER)
            CHECK_EQUAL(status, 0);
    }
    building.stop = true;
    pthread_join(thread, NULL);
    free(building.module);
}

/* Asks without end, and never builds. */
static void *keep_asking(void *stop)
{
    while (!*(atomic_bool *)stop) {
        cl_program program = program_with(SOURCE);
        struct received received = expecting();
        cl_uint count = 0;
        for (int time = 0; time < 100 && !*(atomic_bool *)stop; ++time)
            request(program, device, late_stage()->name, 0, receive, &received);
        request_list(program, device, NULL, &count);
        request(program, device, "source", 0, receive, &received);
        clReleaseProgram(program);
    }
    return NULL;
}

/* What a child does: it asks as well. Its driver's own locks are as its parent's threads had them, so it uses no more of the driver
 * than the layer does. Returns its exit status. */
static int ask_in_child(cl_program program)
{
    struct received received = expecting();
    for (int time = 0; time < 3; ++time)
        if (request(program, device, late_stage()->name, 0, receive, &received) != CL_SUCCESS ||
            request(program, device, "source", 0, receive, &received) != CL_SUCCESS)
            return 1;
    /* Drivers load their compilers when they first build something. */
    return dlopen("libanl.so.1", RTLD_NOW) != NULL ? 0 : 2;
}

void check_forks(int children)
{
    checking("child processes forked while two threads ask");
    enum { ASKING = 2 };
    atomic_bool stop = false;
    pthread_t threads[ASKING];
    cl_program program = program_with(SOURCE);
    for (int number = 0; number < ASKING; ++number)
        CHECK(pthread_create(&threads[number], NULL, keep_asking, &stop) == 0);
    int hung = 0;
    for (int child = 0; child < children && hung < 3; ++child) {
        pid_t process = fork();
        if (process == 0) {
            alarm(SECONDS / 3);
            _exit(ask_in_child(program));
        }
        int status = -1;
        CHECK(waitpid(process, &status, 0) == process);
        CHECK_EQUAL(status, 0);
        hung += WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    }
    stop = true;
    for (int number = 0; number < ASKING; ++number)
        pthread_join(threads[number], NULL);
    clReleaseProgram(program);
}

/* Kills this process as soon as something is in the folder. */
static void *wait_to_kill(void *folder)
{
    for (bool found = false; !found;) {
        DIR *listing = opendir(folder);
        const struct dirent *entry;
        while (listing != NULL && (entry = readdir(listing)) != NULL)
            found = found || entry->d_name[0] != '.';
        if (listing != NULL)
            closedir(listing);
    }
    kill(getpid(), SIGKILL);
    return NULL;
}

void be_killed(const char *folder)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, wait_to_kill, (void *)folder) == 0);
    cl_program program = program_with(SOURCE);
    struct received received = expecting();
    CHECK_EQUAL(request(program, device, late_stage()->name, 0, receive, &received), CL_SUCCESS);
    CHECK_EQUAL(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_SUCCESS);
    CHECK(!"there was a folder");
}

void run_child(const char *stage)
{
    checking("a child process started while a stage is requested");
    cl_program program = program_with(SOURCE);
    struct received received = expecting();
    CHECK_EQUAL(request(program, device, stage, 0, receive, &received), CL_SUCCESS);
    fflush(stdout);
    CHECK_EQUAL(system("env"), 0);
    CHECK_EQUAL(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_SUCCESS);
    CHECK_EQUAL(system("env"), 0);
    forget(&received);
    clReleaseProgram(program);
}

static int signals_seen;

static void see_signal(int number)
{
    signals_seen += number == SIGXFSZ || number == SIGPIPE;
}

void check_limited(const char *stage, bool refused)
{
    checking("files are limited in size");
    struct sigaction seen = {.sa_handler = see_signal}, after;
    sigaction(SIGXFSZ, &seen, NULL);
    sigaction(SIGPIPE, &seen, NULL);
    cl_program program = program_with(SOURCE);
    struct received received = expecting();
    CHECK_EQUAL(request(program, device, stage, CL_PROGRAM_BINARY_FORMAT_TEXT_CODEPLAY, receive, &received), CL_SUCCESS);
    /* Data for no function: the driver refuses it, after the layer has done its part. PoCL's own builds fail with such limits. */
    CHECK_EQUAL(clBuildProgram(program, 1, &device, "", NULL, refused ? &received : NULL),
                refused ? CL_INVALID_VALUE : CL_SUCCESS);
    CHECK_EQUAL(signals_seen, 0);
    sigaction(SIGXFSZ, NULL, &after);
    CHECK(after.sa_handler == see_signal);
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    CHECK(!sigismember(&blocked, SIGXFSZ) && !sigismember(&blocked, SIGPIPE));
    forget(&received);
    clReleaseProgram(program);
}
