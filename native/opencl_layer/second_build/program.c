/* Builds an OpenCL program as an application does at the same time, with the compiler's dumps on (job.h, second_build.h). */
#define _GNU_SOURCE
#include "base/bytes.h"
#include "base/files.h"
#include "base/folders.h"
#include "base/owned.h"
#include "opencl_layer/second_build/job.h"

#include <CL/cl.h>
#include <CL/cl_icd.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The OpenCL platform of the application's program, in this process, with no loader between. */
struct driver {
    const cl_icd_dispatch *functions;
    cl_device_id device;
    cl_context context;
};

typedef cl_int(CL_API_CALL *get_platforms_fn)(cl_uint count, cl_platform_id *platforms, cl_uint *count_ret);
typedef void *(CL_API_CALL *get_function_fn)(const char *name);

static get_platforms_fn find_get_platforms(void *library)
{
    static const char NAME[] = "clIcdGetPlatformIDsKHR";
    get_function_fn get_function = (get_function_fn)dlsym(library, "clGetExtensionFunctionAddress");
    void *function = get_function != NULL ? get_function(NAME) : NULL;
    return (get_platforms_fn)(function != NULL ? function : dlsym(library, NAME));
}

static cl_platform_id find_platform(get_platforms_fn get_platforms, const char *platform_name)
{
    cl_platform_id platforms[16];
    cl_uint count = 0;
    if (get_platforms(sizeof platforms / sizeof *platforms, platforms, &count) != CL_SUCCESS)
        return NULL;
    for (cl_uint index = 0; index < count && index < sizeof platforms / sizeof *platforms; ++index) {
        const cl_icd_dispatch *functions = *(const cl_icd_dispatch *const *)(const void *)platforms[index];
        char name[256];
        if (functions->clGetPlatformInfo(platforms[index], CL_PLATFORM_NAME, sizeof name, name, NULL) == CL_SUCCESS &&
            strcmp(name, platform_name) == 0)
            return platforms[index];
    }
    return NULL;
}

static cl_device_id find_device(const cl_icd_dispatch *functions, cl_platform_id platform, unsigned place)
{
    cl_uint count = 0;
    if (functions->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count) != CL_SUCCESS || place >= count)
        return NULL;
    FREED cl_device_id *devices = calloc(count, sizeof *devices);
    if (devices == NULL || functions->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices, NULL) != CL_SUCCESS)
        return NULL;
    return devices[place];
}

/* Loads it. Returns NULL, or why it failed. */
static const char *driver_load(struct driver *driver, const char *path, const char *platform_name, unsigned device)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL)
        return dlerror();
    get_platforms_fn get_platforms = find_get_platforms(library);
    cl_platform_id platform = get_platforms != NULL ? find_platform(get_platforms, platform_name) : NULL;
    if (platform == NULL)
        return "the driver's library does not give the platform";
    driver->functions = *(const cl_icd_dispatch *const *)(const void *)platform;
    driver->device = find_device(driver->functions, platform, device);
    if (driver->device == NULL)
        return "the platform does not have the device";
    cl_int error = CL_SUCCESS;
    driver->context = driver->functions->clCreateContext(NULL, 1, &driver->device, NULL, NULL, &error);
    return error == CL_SUCCESS ? NULL : "clCreateContext failed";
}

static const char DAMAGED[] = "the job is damaged";

/* Maps the whole job, once the application's process says that it is written. False if that process ended instead. */
static bool receive_job(struct reader *job)
{
    char word;
    ssize_t count;
    do
        count = recv(JOB_SOCKET, &word, 1, 0);
    while (count < 0 && errno == EINTR);
    struct stat status;
    if (count != 1 || fstat(JOB_FILE, &status) != 0)
        return false;
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, JOB_FILE, 0);
    *job = (struct reader){.bytes = bytes, .size = bytes == MAP_FAILED ? 0 : (size_t)status.st_size};
    return bytes != MAP_FAILED;
}

static const char *error_text(const char *call, cl_int error)
{
    char *text = text_format("%s: %d", call, error);
    return text != NULL ? text : call;
}

/* Creates one program of the job, with its constants set. Returns NULL, or why it failed. */
static const char *create_program(const struct driver *driver, struct reader *job, cl_program *created)
{
    const cl_icd_dispatch *cl = driver->functions;
    struct job_program program = job_read_program(job);
    const void *bytes = program.bytes.bytes;
    size_t size = program.bytes.size;
    cl_int error = CL_INVALID_VALUE;
    if (job->failed)
        return DAMAGED;
    if (program.form == FORM_SOURCE)
        *created = cl->clCreateProgramWithSource(driver->context, 1, (const char **)&bytes, &size, &error);
    else if (program.form == FORM_IL && cl->clCreateProgramWithIL != NULL)
        *created = cl->clCreateProgramWithIL(driver->context, bytes, size, &error);
    else if (program.form == FORM_BINARY)
        *created = cl->clCreateProgramWithBinary(driver->context, 1, &driver->device, &size,
                                                 (const unsigned char **)&bytes, NULL, &error);
    if (error != CL_SUCCESS)
        return error_text("the program cannot be created", error);
    for (uint64_t index = 0; index < program.constant_count && !job->failed; ++index) {
        struct job_constant constant = job_read_constant(job);
        if (!job->failed && cl->clSetProgramSpecializationConstant != NULL)
            cl->clSetProgramSpecializationConstant(*created, constant.identifier, constant.value.size,
                                                   constant.value.bytes);
    }
    return job->failed ? DAMAGED : NULL;
}

/* Asks for the binary and writes it into the folder. */
static void query_binary(const struct driver *driver, cl_program program, const char *folder)
{
    size_t size = 0;
    if (driver->functions->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) != CL_SUCCESS)
        return;
    FREED unsigned char *binary = malloc(size + 1);
    FREED char *path = text_format("%s/%s", folder, JOB_BINARY);
    if (binary == NULL || path == NULL || size == 0 ||
        driver->functions->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) != CL_SUCCESS)
        return;
    if (!file_write(path, binary, size))
        unlink(path); /* a part of it is none */
}

/* Does the job. Returns NULL, or why it failed. */
static const char *run(const struct driver *driver, struct reader *reader, const char *folder)
{
    const cl_icd_dispatch *cl = driver->functions;
    struct job job = job_read(reader);
    if (reader->failed)
        return DAMAGED;
    FREED cl_program *programs = calloc(job.count, sizeof *programs);
    if (programs == NULL)
        return "no memory";
    for (uint64_t index = 0; index < job.count; ++index) {
        const char *problem = create_program(driver, reader, &programs[index]);
        if (problem != NULL)
            return problem;
    }
    cl_int error = CL_SUCCESS;
    cl_program built = programs[0];
    if (job.operation == JOB_BUILD)
        error = cl->clBuildProgram(built, 1, &driver->device, job.options, NULL, NULL);
    else
        built = cl->clLinkProgram(driver->context, 1, &driver->device, job.options, (cl_uint)job.count, programs, NULL,
                                  NULL, &error);
    if (error != CL_SUCCESS)
        return error_text(job.operation == JOB_BUILD ? "clBuildProgram" : "clLinkProgram", error);
    if (job.queries_binary)
        query_binary(driver, built, folder);
    return NULL;
}

static void send_answer(const char *problem)
{
    RELEASED_BY(writer_free) struct writer answer = {0};
    write_text(&answer, problem != NULL ? problem : "");
    if (!answer.failed)
        send(JOB_SOCKET, answer.bytes, answer.size, MSG_NOSIGNAL);
}

/* Does the job. Never returns. */
_Noreturn static void work(char **arguments)
{
    struct driver driver = {0};
    struct reader job;
    const char *problem = driver_load(&driver, arguments[ARGUMENT_DRIVER], arguments[ARGUMENT_PLATFORM],
                                      (unsigned)strtoul(arguments[ARGUMENT_DEVICE], NULL, 10));
    bool received = receive_job(&job);
    if (received && problem == NULL)
        problem = run(&driver, &job, arguments[ARGUMENT_FOLDER]);
    fflush(NULL);
    if (received)
        send_answer(problem);
    _exit(0); /* what the driver would do at exit costs time and is nobody's need */
}

/* Waits for the worker's end, or for the application to shut its end of the socket, which ends the worker. Returns the worker's
 * status. */
static int watch(pid_t worker, int life)
{
    struct pollfd events[] = {{.fd = life}, {.fd = JOB_SOCKET, .events = POLLRDHUP}};
    while (poll(events, sizeof events / sizeof *events, -1) < 0 && errno == EINTR)
        continue;
    if (events[0].revents == 0)
        kill(worker, SIGKILL);
    int status = 0;
    while (waitpid(worker, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

/* Tells whether the application ended, or wants nothing more. */
static bool is_shut(void)
{
    struct pollfd event = {.fd = JOB_SOCKET, .events = POLLRDHUP};
    return poll(&event, 1, 0) > 0 && (event.revents & (POLLRDHUP | POLLHUP)) != 0;
}

/* Starts the worker and watches it: the application cannot, whose child this process is not (base/children.h). */
static void work_watched(char **arguments)
{
    pid_t watcher = getpid();
    int life[2]; /* a pipe whose second end is the worker's alone, and is closed when it ends */
    pid_t worker = pipe2(life, O_CLOEXEC) == 0 ? fork() : -1;
    if (worker == 0) {
        close(life[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == watcher)
            work(arguments);
        _exit(1);
    }
    int status = -1;
    if (worker > 0) {
        close(life[1]);
        status = watch(worker, life[0]);
    }
    if (is_shut())
        folder_remove(arguments[ARGUMENT_FOLDER]);
    RELEASED_BY(writer_free) struct writer last = {0};
    write_number(&last, (uint64_t)status);
    send(JOB_SOCKET, last.bytes, last.size, MSG_NOSIGNAL);
}

int main(int argument_count, char **arguments)
{
    if (argument_count != ARGUMENTS || fcntl(JOB_SOCKET, F_SETFD, FD_CLOEXEC) != 0 ||
        fcntl(JOB_FILE, F_SETFD, FD_CLOEXEC) != 0) {
        fprintf(stderr, "%s is started by kernlens' OpenCL layer, not by hand\n", arguments[0]);
        return 2;
    }
    setrlimit(RLIMIT_CORE, &(struct rlimit){0}); /* a compiler that dies leaves no memory image in the application's folder */
    work_watched(arguments);
    return 0;
}
