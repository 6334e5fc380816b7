#define _GNU_SOURCE
#include "replay.h"

#include "environment.h"
#include "files.h"
#include "job.h"
#include "layer.h"
#include "own_loader.h"
#include "problems.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char PROGRAM[] = "kernlens_snapshot_build";

enum { DEFAULT_SECONDS = 120, LOWEST_DESCRIPTOR = 64 };

struct replay {
    const struct stage *stage;
    char *folder;
    pid_t process; /* -1 once it is gone */
    int socket;
    int job;
    char *answer;
};

bool replay_needed(const struct compiler *compiler, const struct stage *stage, bool text)
{
    return compiler->set_dumps != NULL &&
           (stage->origin == ORIGIN_COMPILER || (stage->origin == ORIGIN_SPIRV && text && stage->text != NULL));
}

/* The library of the device's platform: every OpenCL object starts with a pointer to its platform's functions. */
static const char *driver_path(cl_device_id device)
{
    const cl_icd_dispatch *functions = *(const cl_icd_dispatch *const *)device;
    Dl_info place;
    if (functions == NULL || functions->clGetDeviceInfo == NULL ||
        dladdr((void *)functions->clGetDeviceInfo, &place) == 0)
        return NULL;
    return place.dli_fname;
}

/* The program beside this library. Free it. */
static char *program_path(void)
{
    Dl_info place;
    if (dladdr((void *)program_path, &place) == 0)
        return NULL;
    const char *slash = strrchr(place.dli_fname, '/');
    return slash == NULL ? strdup(PROGRAM) : text_format("%.*s/%s", (int)(slash - place.dli_fname), place.dli_fname, PROGRAM);
}

/* The device's place among its platform's devices, of a sub-device that of the whole device; -1 if it cannot be found. */
static int device_place(cl_platform_id platform, cl_device_id device)
{
    cl_device_id whole = NULL;
    while (below->clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof whole, &whole, NULL) == CL_SUCCESS &&
           whole != NULL)
        device = whole;
    cl_uint count = 0;
    if (below->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count) != CL_SUCCESS || count == 0)
        return -1;
    cl_device_id *devices = calloc(count, sizeof *devices);
    int place = -1;
    if (devices != NULL && below->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices, NULL) == CL_SUCCESS)
        for (cl_uint index = 0; index < count; ++index)
            if (devices[index] == device)
                place = (int)index;
    free(devices);
    return place;
}

/* Duplicates a descriptor to a high number, so that none of a child's fixed numbers is taken, and closes the given one. */
static int raise_descriptor(int descriptor)
{
    int raised = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR);
    if (descriptor >= 0)
        close(descriptor);
    return raised;
}

static int spawn(struct replay *replay, const char *program, char **arguments, char **environment, int socket)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    /* What a compiler prints is kept: it says why a build failed. */
    char *log = text_format("%s/output.log", replay->folder);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log != NULL ? log : "/dev/null", O_WRONLY | O_CREAT, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions, socket, JOB_SOCKET);
    posix_spawn_file_actions_adddup2(&actions, replay->job, JOB_FILE);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int error = posix_spawn(&replay->process, program, &actions, &attributes, arguments, environment);
    if (error != 0)
        replay->process = -1;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    free(log);
    return error;
}

/* Returns NULL, or why the process could not be started. */
static const char *start(struct replay *replay, const struct request *request)
{
    char name[256], place[16];
    cl_platform_id platform = NULL;
    const char *driver = driver_path(request->device);
    if (driver == NULL ||
        below->clGetDeviceInfo(request->device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) != CL_SUCCESS ||
        below->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL) != CL_SUCCESS)
        return "the platform's library cannot be found";
    int device = device_place(platform, request->device);
    if (device < 0)
        return "the device is not among its platform's devices";
    snprintf(place, sizeof place, "%d", device);
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        return strerror(errno);
    replay->socket = raise_descriptor(sockets[0]);
    int far_end = raise_descriptor(sockets[1]);
    replay->job = raise_descriptor(memfd_create("kernlens-job", MFD_CLOEXEC));
    if (replay->socket < 0 || far_end < 0 || replay->job < 0) {
        if (far_end >= 0)
            close(far_end);
        return strerror(errno);
    }
    char *program = program_path();
    struct environment settings = {0};
    request->compiler->set_dumps(&settings, request->stage, request->text, replay->folder);
    char **environment = environment_list(&settings);
    struct own_loader loader = own_loader();
    char *arguments[3 + ARGUMENTS + 1];
    size_t count = 0;
    if (loader.path != NULL) {
        arguments[count++] = loader.path;
        if (loader.folders != NULL) {
            arguments[count++] = "--library-path";
            arguments[count++] = loader.folders;
        }
    }
    char *of_the_program[] = {program, (char *)driver, name, place, replay->folder, NULL};
    memcpy(arguments + count, of_the_program, sizeof of_the_program);
    int error =
        program != NULL && environment != NULL ? spawn(replay, arguments[0], arguments, environment, far_end) : ENOMEM;
    own_loader_free(&loader);
    free(environment);
    environment_free(&settings);
    free(program);
    close(far_end);
    return error != 0 ? strerror(error) : NULL;
}

struct replay *replay_start(const struct request *request, bool tell)
{
    struct replay *replay = calloc(1, sizeof *replay);
    const char *reason = "no memory";
    if (replay != NULL) {
        *replay = (struct replay){.stage = request->stage, .process = -1, .socket = -1, .job = -1};
        replay->folder = folder_make();
        if (replay->folder == NULL)
            reason = strerror(errno);
        else
            reason = start(replay, request);
        if (reason == NULL)
            return replay;
    }
    if (tell && replay != NULL && replay->folder == NULL)
        problem(request->stage->name, "no folder can be made for the compiler's files: %s", reason);
    else if (tell)
        problem(request->stage->name, "the second build cannot be started (%s): %s", PROGRAM, reason);
    replay_free(replay);
    return NULL;
}

bool replay_build(struct replay *replay, const struct writer *job)
{
    size_t done = 0;
    while (!job->failed && done < job->size) {
        ssize_t count = write(replay->job, job->bytes + done, job->size - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        done += (size_t)count;
    }
    if (job->failed || done < job->size) {
        problem(replay->stage->name, "the program cannot be handed to the second build: no memory");
        return false;
    }
    /* Not write(): a child that died must not raise SIGPIPE here. replay_wait finds out why. */
    ssize_t sent = send(replay->socket, "b", 1, MSG_NOSIGNAL);
    (void)sent;
    return true;
}

static int64_t now_milliseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* All that comes until the other end closes. False if the time is up first. */
static bool receive_all(int socket, struct writer *answer, int64_t deadline)
{
    for (;;) {
        int64_t left = deadline - now_milliseconds();
        struct pollfd poll_socket = {.fd = socket, .events = POLLIN};
        int ready = left <= 0 ? 0 : poll(&poll_socket, 1, left > 1000 ? 1000 : (int)left);
        if (left <= 0)
            return false;
        if (ready <= 0)
            continue;
        char part[4096];
        ssize_t count = recv(socket, part, sizeof part, 0);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return true;
        write_bytes(answer, part, (size_t)count);
    }
}

/* Waits for the process. Its status, or -1 if the application's own waiting took it. */
static int reap(struct replay *replay)
{
    int status = 0;
    pid_t process = replay->process;
    replay->process = -1;
    while (waitpid(process, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

static long seconds_allowed(void)
{
    const char *given = getenv("KERNLENS_SNAPSHOT_TIMEOUT");
    long seconds = given != NULL ? strtol(given, NULL, 10) : 0;
    return seconds > 0 && seconds <= 86400 ? seconds : DEFAULT_SECONDS;
}

bool replay_wait(struct replay *replay)
{
    struct writer received = {0};
    if (!receive_all(replay->socket, &received, now_milliseconds() + seconds_allowed() * 1000)) {
        kill(replay->process, SIGKILL);
        reap(replay);
        writer_free(&received);
        problem(replay->stage->name,
                "the second build took more than %ld seconds longer (KERNLENS_SNAPSHOT_TIMEOUT sets how many it may)",
                seconds_allowed());
        return false;
    }
    int status = reap(replay);
    struct reader reader = {.bytes = received.bytes, .size = received.size};
    const char *answer = read_text(&reader);
    if (!reader.failed)
        replay->answer = strdup(answer);
    writer_free(&received);
    if (replay->answer != NULL)
        return true;
    if (status != -1 && WIFSIGNALED(status))
        problem(replay->stage->name, "the second build's process died: %s%s", strsignal(WTERMSIG(status)),
                folder_full(replay->folder) ? "; the folder for the compiler's files is full" : "");
    else
        problem(replay->stage->name, "the second build's process ended without an answer (exit status %d)",
                status == -1 ? -1 : WEXITSTATUS(status));
    return false;
}

const char *replay_folder(const struct replay *replay)
{
    return replay->folder;
}

const char *replay_answer(const struct replay *replay)
{
    return replay->answer != NULL ? replay->answer : "";
}

void replay_free(struct replay *replay)
{
    if (replay == NULL)
        return;
    if (replay->process > 0) {
        kill(replay->process, SIGKILL);
        reap(replay);
    }
    if (replay->socket >= 0)
        close(replay->socket);
    if (replay->job >= 0)
        close(replay->job);
    if (replay->folder != NULL)
        folder_remove(replay->folder);
    free(replay->folder);
    free(replay->answer);
    free(replay);
}
