/* Namespaces that need no privilege, user_namespaces(7): nothing that is not shown has a name. */
#define _GNU_SOURCE
#include "confine/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* From linux/mount.h, which older headers lack and which cannot be included beside sys/mount.h; the numbers of the calls are the
 * same on all architectures. */
enum { CALL_OPEN_TREE = 428, CALL_MOVE_MOUNT = 429, CALL_MOUNT_SETATTR = 442 };
enum { TREE_CLONE = 1, TREE_CLOSE_ON_EXEC = O_CLOEXEC, TREE_RECURSIVE = 0x8000, MOVE_FROM_DESCRIPTOR = 4 };
enum { ATTRIBUTE_READ_ONLY = 1, ATTRIBUTE_NO_SETUID = 2, ATTRIBUTE_NO_DEVICE = 4 };

struct mount_attributes {
    unsigned long long set, clear, propagation, user_namespace;
};

/* Covered by the new root, while that is made: it is in every container, and what it holds is no longer needed by then. */
static const char BASE[] = "/dev";

/* Where the first process of the namespace tells how the program ended. */
static int status_pipe;

static void write_text(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, text, strlen(text)) < 0)
        confine_fail("writing", path);
    close(file);
}

/* Ends as the process ended of which waitpid(2) said `status`. */
static _Noreturn void end_like(int status)
{
    if (!WIFSIGNALED(status))
        _exit(WEXITSTATUS(status));
    prctl(PR_SET_DUMPABLE, 0);
    raise(WTERMSIG(status));
    _exit(128 + WTERMSIG(status));
}

/* A process that is killed when the one that starts it ends. */
static pid_t start_process(void)
{
    pid_t process = fork();
    if (process < 0)
        confine_fail("a process", "");
    if (process == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return process;
}

/* Enters namespaces for all but mounts and processes, which only the next process can be in. */
static void leave_others(void)
{
    char text[64];
    unsigned user = geteuid(), group = getegid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) != 0)
        confine_fail("namespaces", "");
    write_text("/proc/self/setgroups", "deny");
    snprintf(text, sizeof text, "%u %u 1", user, user);
    write_text("/proc/self/uid_map", text);
    snprintf(text, sizeof text, "%u %u 1", group, group);
    write_text("/proc/self/gid_map", text);
}

void namespaces_enter(void)
{
    int ends[2];
    leave_others();
    if (pipe2(ends, O_CLOEXEC) != 0)
        confine_fail("a pipe", "");
    if (start_process() != 0) {
        int status = CONFINE_FAILED << 8; /* As of a process that told nothing, since it had to give up before. */
        close(ends[1]);
        if (read(ends[0], &status, sizeof status) == 0)
            waitpid(-1, &status, 0);
        end_like(status);
    }
    if (unshare(CLONE_NEWNS) != 0)
        confine_fail("namespaces", "");
    status_pipe = ends[1];
}

void namespaces_start(void)
{
    /* This process is the first of its namespace, which must live as long as any other there, and be none that signals spare. */
    pid_t confined = start_process();
    if (confined == 0)
        return;
    int status;
    pid_t ended;
    for (int file = 0; file < 3; file++)
        close(file); /* Who reads what the program writes does not wait for this one. */
    while ((ended = waitpid(-1, &status, 0)) != confined)
        if (ended < 0 && errno != EINTR)
            _exit(CONFINE_FAILED);
    if (write(status_pipe, &status, sizeof status) != sizeof status)
        _exit(CONFINE_FAILED);
    _exit(0);
}

/* Makes the folders that lead to `path`. */
static void make_way(const char *path)
{
    char place[PATH_MAX];
    if (snprintf(place, sizeof place, "%s", path) >= (int)sizeof place) {
        errno = ENAMETOOLONG;
        confine_fail("showing", path);
    }
    for (char *end = place + 1; (end = strchr(end, '/')) != NULL; end++) {
        *end = '\0';
        if (mkdir(place, 0755) != 0 && errno != EEXIST)
            confine_fail("showing", path);
        *end = '/';
    }
}

/* Makes the folder `path`, or an empty file to mount on. */
static void make_place(const char *path, bool is_folder)
{
    make_way(path);
    struct stat there;
    if (stat(path, &there) == 0)
        return; /* It lies below one that is shown already. */
    int file = is_folder ? mkdir(path, 0755) : open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        confine_fail("showing", path);
    if (!is_folder)
        close(file);
}

/* Takes the path, with all that is mounted below it, out of the present root; -1 if it is a link or not there. */
static int take_tree(struct shown_path shown, mode_t mode)
{
    bool has_devices = strncmp(shown.path, "/dev/", strlen("/dev/")) == 0;
    if (S_ISLNK(mode))
        return -1;
    long tree = syscall(CALL_OPEN_TREE, AT_FDCWD, shown.path,
                        TREE_CLONE | TREE_CLOSE_ON_EXEC | TREE_RECURSIVE | AT_SYMLINK_NOFOLLOW);
    struct mount_attributes attributes = {
        .set = ATTRIBUTE_NO_SETUID | (shown.how == SHOWN_TO_WRITE ? 0 : ATTRIBUTE_READ_ONLY) | (has_devices ? 0 : ATTRIBUTE_NO_DEVICE)};
    if (tree < 0 || syscall(CALL_MOUNT_SETATTR, tree, "", AT_EMPTY_PATH | TREE_RECURSIVE, &attributes, sizeof attributes) != 0)
        confine_fail("taking", shown.path);
    return (int)tree;
}

/* Mounts a /proc that knows the processes of this namespace only, as far as a process looks at itself. */
static void show_own_processes(void)
{
    static const char *const FOLDERS[] = {"/proc", "/proc/own"};
    char place[sizeof BASE + 16];
    for (size_t i = 0; i < sizeof FOLDERS / sizeof FOLDERS[0]; i++) {
        snprintf(place, sizeof place, "%s%s", BASE, FOLDERS[i]);
        if (mkdir(place, 0755) != 0)
            confine_fail("making", FOLDERS[i]);
    }
    if (mount("proc", place, "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "subset=pid") != 0)
        confine_fail("a /proc of its own", "");
    snprintf(place, sizeof place, "%s/proc/self", BASE);
    if (symlink("own/self", place) != 0)
        confine_fail("making", "/proc/self");
}

/* Makes an empty root, and lets go of the old one. */
static void change_root(bool has_processes)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        confine_fail("keeping mounts private", "");
    if (mount("tmpfs", BASE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=16m") != 0)
        confine_fail("an empty root", "");
    if (has_processes) /* The kernel allows it only as long as the old one can be seen. */
        show_own_processes();
    if (chdir(BASE) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0 || chdir("/") != 0)
        confine_fail("changing the root", "");
}

void namespaces_show(struct shown_paths shown)
{
    char working_folder[PATH_MAX], link[PATH_MAX];
    int *trees = calloc(shown.count + 1, sizeof *trees);
    char **links = calloc(shown.count + 1, sizeof *links);
    struct stat *states = calloc(shown.count + 1, sizeof *states);
    if (trees == NULL || links == NULL || states == NULL || getcwd(working_folder, sizeof working_folder) == NULL)
        confine_fail("the working folder", "");
    for (size_t i = 0; i < shown.count; i++) {
        trees[i] = -1;
        if (shown.items[i].how == SHOWN_LISTED || lstat(shown.items[i].path, &states[i]) != 0)
            continue;
        trees[i] = take_tree(shown.items[i], states[i].st_mode);
        ssize_t size = trees[i] < 0 ? readlink(shown.items[i].path, link, sizeof link - 1) : -1;
        links[i] = size < 0 ? NULL : strndup(link, (size_t)size);
    }
    change_root(shown.has_processes);
    for (size_t i = 0; i < shown.count; i++) {
        const char *path = shown.items[i].path;
        if (trees[i] < 0)
            continue;
        make_place(path, S_ISDIR(states[i].st_mode));
        if (syscall(CALL_MOVE_MOUNT, trees[i], "", AT_FDCWD, path, MOVE_FROM_DESCRIPTOR) != 0)
            confine_fail("showing", path);
    }
    for (size_t i = 0; i < shown.count; i++) {
        if (links[i] == NULL || lstat(shown.items[i].path, &states[i]) == 0)
            continue; /* It lies below one that is shown already. */
        make_way(shown.items[i].path);
        if (symlink(links[i], shown.items[i].path) != 0)
            confine_fail("showing", shown.items[i].path);
    }
    if (access(working_folder, F_OK) != 0)
        make_place(working_folder, true); /* Empty, but for what is shown below it: so relative paths mean what they meant. */
    struct mount_attributes attributes = {.set = ATTRIBUTE_READ_ONLY};
    if (syscall(CALL_MOUNT_SETATTR, AT_FDCWD, "/", 0, &attributes, sizeof attributes) != 0)
        confine_fail("closing the root", "");
    if (chdir(working_folder) != 0)
        confine_fail("the working folder", working_folder);
}
