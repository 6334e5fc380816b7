/* Processes that fork, and processes that end before they could put anything away. */
#define _GNU_SOURCE
#include "checks.h"

#include <dirent.h>
#include <dlfcn.h>
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

void check_fork(const char *path)
{
    checking("a child process forked during a build");
    enum { CHILDREN = 5 };
    struct building building = {0};
    building.module = file_contents(path, &building.size);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, keep_building, &building) == 0);
    for (int child = 0; child < CHILDREN; ++child) {
        usleep(30000);
        pid_t process = fork();
        if (process == 0) {
            alarm(SECONDS);
            cl_program program = program_from(building.module, building.size);
            _exit(clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS ? 0 : 1);
        }
        int status = -1;
        CHECK(waitpid(process, &status, 0) == process);
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
