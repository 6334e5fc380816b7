#define _GNU_SOURCE
#include "opencl_layer/second_build/second_build.h"

#include "base/bytes.h"
#include "base/children.h"
#include "base/files.h"
#include "base/folders.h"
#include "base/loader.h"
#include "base/locks.h"
#include "base/owned.h"
#include "opencl_layer/compilers/snapshots.h"
#include "opencl_layer/second_build/job.h"
#include "opencl_layer/second_build/target.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char PROGRAM[] = "kernlens_second_build";

enum { DEFAULT_SECONDS = 120, LOWEST_DESCRIPTOR = 64, LONGEST_END = 2000 /* milliseconds */ };

struct second_build {
    const char *stage; /* NULL: the user hears of nothing */
    char *folder;
    pid_t process; /* whose number it is while the socket is open */
    int socket;
    int job;
    char *answer; /* NULL until it came */
    char *reason; /* why it came to nothing */
};

/* Finds the program beside this library. Free it. */
static char *program_path(void)
{
    const char *layer = loader_path_of((void *)program_path);
    if (layer == NULL)
        return NULL;
    const char *slash = strrchr(layer, '/');
    return slash == NULL ? strdup(PROGRAM) : text_format("%.*s/%s", (int)(slash - layer), layer, PROGRAM);
}

/* Duplicates a descriptor to a high number, so that none of a child's fixed numbers is taken, and closes this one. */
static int raise_descriptor(int low)
{
    CLOSED int descriptor = low;
    return descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR);
}

static int spawn(struct second_build *build, const char *const *command, char *const *environment, int socket)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    /* What a compiler prints is kept: it says why a build failed. */
    FREED char *log = text_format("%s/output.log", build->folder);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log != NULL ? log : "/dev/null", O_WRONLY | O_CREAT, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions, socket, JOB_SOCKET);
    posix_spawn_file_actions_adddup2(&actions, build->job, JOB_FILE);
    int error = child_start(command, environment, &actions, &build->process);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Starts the program for a target, by the loader that this process was started with. Returns an error number, or 0. */
static int start_program(struct second_build *build, const struct target *target, char **environment, int socket)
{
    FREED char *program = program_path();
    if (program == NULL)
        return ENOMEM;
    RELEASED_BY(named_loader_free) struct named_loader loader = named_loader_find();
    const char *command[3 + ARGUMENTS + 1] = {NULL};
    size_t count = 0;
    if (loader.path != NULL) {
        command[count++] = loader.path;
        if (loader.folders != NULL) {
            command[count++] = "--library-path";
            command[count++] = loader.folders;
        }
    }
    const char **arguments = command + count;
    arguments[0] = program;
    arguments[ARGUMENT_DRIVER] = target->driver;
    arguments[ARGUMENT_PLATFORM] = target->platform;
    arguments[ARGUMENT_DEVICE] = target->device;
    arguments[ARGUMENT_FOLDER] = build->folder;
    return spawn(build, command, environment, socket);
}

/* Returns NULL, or why the process could not be started. */
static const char *start(struct second_build *build, cl_device_id device, const struct stage_form *form)
{
    struct target target;
    const char *reason = target_find(&target, device);
    if (reason != NULL)
        return reason;
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        return strerror(errno);
    build->socket = raise_descriptor(sockets[0]);
    CLOSED int far_end = raise_descriptor(sockets[1]);
    build->job = raise_descriptor(memfd_create("kernlens-job", MFD_CLOEXEC));
    if (build->socket < 0 || far_end < 0 || build->job < 0)
        return strerror(errno);
    RELEASED_BY(environment_free) struct environment settings = {0};
    if (form->stage != NULL || form->compiler->kernels_on_query)
        form->compiler->set_dumps(&settings, form, build->folder);
    FREED char **environment = environment_list(&settings);
    int error = environment != NULL ? start_program(build, &target, environment, far_end) : ENOMEM;
    return error != 0 ? strerror(error) : NULL;
}

static const char *start_locked(struct second_build *build, cl_device_id device, const struct stage_form *form)
{
    lock_take(LOCK_START);
    const char *reason = start(build, device, form);
    lock_give(LOCK_START);
    return reason;
}

struct second_build *second_build_start(cl_device_id device, const struct stage_form *form, bool tell)
{
    tell = tell && form->stage != NULL;
    struct second_build *build = calloc(1, sizeof *build);
    if (build == NULL) {
        if (tell)
            problem(form->stage->name, "the second build cannot be started (%s): no memory", PROGRAM);
        return NULL;
    }
    *build = (struct second_build){.stage = form->stage != NULL ? form->stage->name : NULL, .process = -1, .socket = -1, .job = -1};
    build->folder = folder_make();
    const char *reason = build->folder != NULL ? start_locked(build, device, form) : strerror(errno);
    if (reason == NULL)
        return build;
    if (tell && build->folder == NULL)
        problem(build->stage, "no folder can be made for the compiler's files: %s", reason);
    else if (tell)
        problem(build->stage, "the second build cannot be started (%s): %s", PROGRAM, reason);
    second_build_free(build);
    return NULL;
}

/* Keeps why it came to nothing, and tells the user. */
__attribute__((format(printf, 2, 3))) static void came_to_nothing(struct second_build *build, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    free(build->reason);
    build->reason = text_format_list(format, arguments);
    va_end(arguments);
    if (build->stage != NULL && build->reason != NULL)
        problem(build->stage, "%s", build->reason);
}

bool second_build_run(struct second_build *build, const struct writer *job)
{
    if (job->failed || !file_write_all(build->job, job->bytes, job->size)) {
        came_to_nothing(build, "the program cannot be handed to the second build: %s", strerror(job->failed ? ENOMEM : errno));
        return false;
    }
    /* Not write(): a child that died must not raise SIGPIPE here. second_build_wait finds out why. */
    ssize_t sent = send(build->socket, "b", 1, MSG_NOSIGNAL);
    (void)sent;
    return true;
}

static int64_t now_milliseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Receives all that comes until the other end closes. False if the time is up first. */
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

/* Has the process end if it has not, and waits until it is gone and writes nothing more into the folder. */
static void end(const struct second_build *build)
{
    RELEASED_BY(writer_free) struct writer rest = {0};
    shutdown(build->socket, SHUT_WR);
    if (receive_all(build->socket, &rest, now_milliseconds() + LONGEST_END) || build->process <= 0)
        return;
    kill(build->process, SIGKILL); /* it does not listen */
    receive_all(build->socket, &rest, now_milliseconds() + LONGEST_END);
}

/* Reads what the process's watcher says at last: its status; -1 if it said nothing. The rest is the answer. */
static int read_status(struct reader *received)
{
    struct reader last = *received;
    last.offset = last.size < sizeof(uint64_t) ? last.size : last.size - sizeof(uint64_t);
    received->size = last.offset;
    uint64_t status = read_number(&last);
    return last.failed ? -1 : (int)status;
}

static long seconds_allowed(void)
{
    const char *setting = getenv("KERNLENS_SNAPSHOT_TIMEOUT");
    long seconds = setting != NULL ? strtol(setting, NULL, 10) : 0;
    return seconds > 0 && seconds <= 86400 ? seconds : DEFAULT_SECONDS;
}

/* Tells why the process ended without an answer. */
static void tell_death(struct second_build *build, int status)
{
    if (status != -1 && WIFSIGNALED(status))
        came_to_nothing(build, "the second build's process died: %s%s", strsignal(WTERMSIG(status)),
                        folder_full(build->folder) ? "; the folder for the compiler's files is full" : "");
    else
        came_to_nothing(build, "the second build's process ended without an answer (exit status %d)", status == -1 ? -1 : WEXITSTATUS(status));
}

bool second_build_wait(struct second_build *build)
{
    RELEASED_BY(writer_free) struct writer received = {0};
    if (!receive_all(build->socket, &received, now_milliseconds() + seconds_allowed() * 1000)) {
        end(build);
        came_to_nothing(build, "the second build took more than %ld seconds longer (KERNLENS_SNAPSHOT_TIMEOUT sets how many it may)", seconds_allowed());
        return false;
    }
    struct reader reader = {.bytes = received.bytes, .size = received.size};
    int status = read_status(&reader);
    const char *answer = read_text(&reader);
    build->answer = reader.failed ? NULL : strdup(answer);
    if (build->answer == NULL)
        tell_death(build, status);
    return build->answer != NULL;
}

const char *second_build_folder(const struct second_build *build)
{
    return build->folder;
}

const char *second_build_answer(const struct second_build *build)
{
    return build->answer != NULL ? build->answer : "";
}

const char *second_build_reason(const struct second_build *build)
{
    return build->reason != NULL ? build->reason : second_build_answer(build);
}

void second_build_leave(struct second_build *build)
{
    if (build == NULL)
        return;
    owned_close(&build->socket);
    owned_close(&build->job);
    free(build->folder);
    free(build->answer);
    free(build->reason);
    free(build);
}

void second_build_free(struct second_build *build)
{
    if (build == NULL)
        return;
    if (build->socket >= 0)
        end(build);
    folder_remove(build->folder);
    second_build_leave(build);
}
