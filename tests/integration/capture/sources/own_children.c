/* Builds in a thread, as often as the second word says, while the program looks after children of its own, and prints what it
 * hears of children:
 *
 *     own_children signals    a handler of SIGCHLD, while a read blocks
 *     own_children blocked    SIGCHLD blocked, and looked for afterwards
 *     own_children wait       children of its own, each followed by a wait for any child
 *     own_children ignored    SIGCHLD ignored, then only the zombies refused
 *     own_children locked     a file's lock given back while a build is prepared
 *
 * With a layer that has cl_codeplay_program_snapshot each build has a request, and the file that SNAPSHOTS names gets a letter for
 * each snapshot. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_codeplay_program_snapshot.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STAGES = 32 };

static unsigned builds;

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static int pipe_ends[2];
static volatile sig_atomic_t signals, ended;

static void CL_CALLBACK receive(size_t size, const char *bytes, void *label, void *data)
{
    (void)size, (void)bytes, (void)label, (void)data;
    int file = open(getenv("SNAPSHOTS"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || write(file, "s", 1) != 1)
        abort();
    close(file);
}

/* Asks for the stage of this number among those that there are. */
static void ask(cl_program program, unsigned number)
{
    clRequestProgramSnapshotListCODEPLAY_fn list = (clRequestProgramSnapshotListCODEPLAY_fn)(size_t)
        clGetExtensionFunctionAddressForPlatform(platform, "clRequestProgramSnapshotListCODEPLAY");
    clRequestProgramSnapshotCODEPLAY_fn request = (clRequestProgramSnapshotCODEPLAY_fn)(size_t)
        clGetExtensionFunctionAddressForPlatform(platform, "clRequestProgramSnapshotCODEPLAY");
    const char *stages[STAGES];
    cl_uint count = 0, room = STAGES;
    if (list == NULL || request == NULL || getenv("SNAPSHOTS") == NULL)
        return;
    if (list(program, device, NULL, &count) != CL_SUCCESS || count == 0 || count > STAGES ||
        list(program, device, stages, &room) != CL_SUCCESS ||
        request(program, device, stages[count - 1 - number % count], CL_PROGRAM_BINARY_FORMAT_TEXT_CODEPLAY, receive, NULL) != CL_SUCCESS)
        abort();
}

static cl_program prepared(unsigned number)
{
    char source[128];
    const char *text = source;
    snprintf(source, sizeof source, "kernel void own%u(global int *a) { a[get_global_id(0)] += %u; }\n", number, number + 5);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    ask(program, number);
    return program;
}

static void *build(void *unused)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &child, NULL);
    for (unsigned number = 0; number < builds; ++number) {
        cl_program program = prepared(number);
        if (clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS)
            abort();
        clReleaseProgram(program);
    }
    ended = 1;
    if (write(pipe_ends[1], "e", 1) != 1)
        abort();
    return unused;
}

static void handle(int number)
{
    (void)number;
    ++signals;
}

static void set_handler(void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(SIGCHLD, &action, NULL);
}

/* Returns how often it was interrupted. */
static int read_end(void)
{
    char letter;
    int interruptions = 0;
    while (read(pipe_ends[0], &letter, 1) < 0 && errno == EINTR)
        ++interruptions;
    return interruptions;
}

static pid_t start_own(void)
{
    pid_t own = fork();
    if (own == 0)
        _exit(7);
    return own;
}

static void look_after_own(void)
{
    int strangers = 0, refused = 0, others = 0;
    while (!ended) {
        int status = 0;
        pid_t own = start_own(), waited;
        while ((waited = wait(&status)) != own && waited > 0)
            ++strangers;
        refused += waited < 0;
        others += waited == own && (!WIFEXITED(status) || WEXITSTATUS(status) != 7);
        siginfo_t end;
        if (waitid(P_ALL, 0, &end, WEXITED | WNOHANG) == 0 || errno != ECHILD)
            ++strangers; /* there is a child, ended or not */
        usleep(30000); /* the build needs the processor */
    }
    printf("strangers %d refused %d others %d\n", strangers, refused, others);
}

/* A lock belongs to the open file: it stays as long as any process has it open. */
static void give_lock_back(void)
{
    char path[] = "locked-XXXXXX";
    int file = mkstemp(path);
    if (file < 0 || flock(file, LOCK_EX) != 0)
        abort();
    cl_program program = prepared(0);
    close(file);
    file = open(path, O_RDWR);
    printf("locked again %d\n", flock(file, LOCK_EX | LOCK_NB));
    clReleaseProgram(program);
}

int main(int count, char **words)
{
    if (count != 3)
        return 2;
    const char *mode = words[1];
    builds = (unsigned)atoi(words[2]);
    pthread_t builder;
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS || pipe2(pipe_ends, O_CLOEXEC) != 0 ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return 2;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    sigset_t child, pending;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    if (strcmp(mode, "signals") == 0 || strcmp(mode, "blocked") == 0)
        set_handler(handle, 0);
    if (strcmp(mode, "blocked") == 0)
        pthread_sigmask(SIG_BLOCK, &child, NULL);
    if (strcmp(mode, "ignored") == 0)
        set_handler(SIG_IGN, 0);
    pthread_create(&builder, NULL, build, NULL);
    if (strcmp(mode, "wait") == 0)
        look_after_own();
    int interruptions = read_end();
    pthread_join(builder, NULL);
    sigpending(&pending);
    printf("signals %d interruptions %d pending %d\n", (int)signals, interruptions, sigismember(&pending, SIGCHLD));
    if (strcmp(mode, "ignored") == 0) {
        set_handler(SIG_DFL, SA_NOCLDWAIT);
        build(NULL);
        pid_t own = start_own();
        pid_t waited = waitpid(own, NULL, 0);
        printf("waited %d errno %d\n", (int)waited, errno);
    }
    if (strcmp(mode, "locked") == 0)
        give_lock_back();
    if (strcmp(mode, "wait") == 0) /* its own have taken some */
        return 0;
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    printf("children took more than a tenth of a second %d\n", usage.ru_utime.tv_sec >= 1 || usage.ru_utime.tv_usec > 100000);
    return 0;
}
