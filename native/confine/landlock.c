/* Landlock, landlock(7): what is not shown cannot be opened, though stat(2) still tells that it is there. */
#define _GNU_SOURCE
#include "confine/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From linux/landlock.h, which older headers lack; the numbers of the calls are the same on all architectures. */
enum { CALL_CREATE_RULESET = 444, CALL_ADD_RULE = 445, CALL_RESTRICT_SELF = 446 };
enum { ASK_VERSION = 1, RULE_BELOW_PATH = 1 };
enum { ACCESS_EXECUTE = 1, ACCESS_WRITE_FILE = 2, ACCESS_READ_FILE = 4, ACCESS_READ_FOLDER = 8 };
enum { ACCESS_MAKE_CHARACTER_DEVICE = 1 << 6, ACCESS_MAKE_BLOCK_DEVICE = 1 << 11, ACCESS_TRUNCATE = 1 << 14, ACCESS_DEVICE = 1 << 15 };

/* How many kinds of access each version knows, from version 1 on. */
static const int KINDS[] = {13, 14, 15, 15, 16};
/* The first versions that know TCP (binding, connecting), and what reaches other processes (abstract sockets, signals). */
enum { VERSION_WITH_TCP = 4, VERSION_WITH_SCOPES = 6 };

struct rules {
    uint64_t files, tcp, scopes;
};

struct rule_below_path {
    uint64_t allowed;
    int32_t folder;
} __attribute__((packed));

static void allow(int rules, struct shown_path shown, uint64_t handled)
{
    int path = open(shown.path, O_PATH | O_CLOEXEC);
    struct stat state;
    if (path < 0 && (errno == ENOENT || errno == ENOTDIR))
        return;
    if (path < 0 || fstat(path, &state) != 0)
        confine_fail("showing", shown.path);
    uint64_t allowed = ACCESS_EXECUTE | ACCESS_READ_FILE | ACCESS_READ_FOLDER;
    if (shown.how == SHOWN_LISTED)
        allowed = ACCESS_READ_FOLDER;
    if (shown.how == SHOWN_TO_WRITE && strncmp(shown.path, "/proc/", strlen("/proc/")) == 0)
        allowed |= ACCESS_WRITE_FILE | ACCESS_TRUNCATE;
    else if (shown.how == SHOWN_TO_WRITE)
        allowed = ~(uint64_t)(ACCESS_MAKE_CHARACTER_DEVICE | ACCESS_MAKE_BLOCK_DEVICE | ACCESS_DEVICE);
    if (strncmp(shown.path, "/dev/", strlen("/dev/")) == 0)
        allowed = ACCESS_WRITE_FILE | ACCESS_READ_FILE | ACCESS_READ_FOLDER | ACCESS_DEVICE;
    if (!S_ISDIR(state.st_mode))
        allowed &= ACCESS_EXECUTE | ACCESS_WRITE_FILE | ACCESS_READ_FILE | ACCESS_TRUNCATE | ACCESS_DEVICE;
    struct rule_below_path rule = {.allowed = allowed & handled, .folder = path};
    if (syscall(CALL_ADD_RULE, rules, RULE_BELOW_PATH, &rule, 0) != 0)
        confine_fail("showing", shown.path);
    close(path);
}

void landlock_restrict(struct shown_paths shown)
{
    long version = syscall(CALL_CREATE_RULESET, NULL, 0, ASK_VERSION);
    if (version < 1)
        confine_fail("Landlock", "");
    size_t last = sizeof KINDS / sizeof KINDS[0];
    struct rules handled = {.files = (UINT64_C(1) << KINDS[((size_t)version < last ? (size_t)version : last) - 1]) - 1};
    size_t size = sizeof handled.files;
    if (version >= VERSION_WITH_TCP) {
        handled.tcp = 3;
        size += sizeof handled.tcp;
    }
    if (version >= VERSION_WITH_SCOPES) {
        handled.scopes = 3;
        size += sizeof handled.scopes;
    }
    long rules = syscall(CALL_CREATE_RULESET, &handled, size, 0);
    if (rules < 0)
        confine_fail("Landlock", "");
    for (size_t i = 0; i < shown.count; i++)
        allow((int)rules, shown.items[i], handled.files);
    if (shown.has_processes)
        allow((int)rules, (struct shown_path){.path = "/proc/self", .how = shown.is_cuda ? SHOWN_TO_WRITE : SHOWN_TO_READ}, handled.files);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(CALL_RESTRICT_SELF, rules, 0) != 0)
        confine_fail("Landlock", "");
    close((int)rules);
}
