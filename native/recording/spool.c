#define _GNU_SOURCE
#include "recording/spool.h"

#include "base/bytes.h"
#include "base/files.h"
#include "base/locks.h"
#include "base/owned.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* `kernlens capture` makes the list of what is missing before the application starts, with room for so many entries: on a full
 * disk there would be none for it. */
enum { ENTRIES = 256, ENTRY_SIZE = 256, LIST_SIZE = ENTRIES * ENTRY_SIZE };

static const char *folder; /* NULL: nothing is captured */
static uint64_t process;   /* 0: not drawn yet */
static uint64_t file_count;
static uint64_t builds; /* the number of this process's file of builds that is written to; 0: there is none yet */
static uint64_t builds_size;
static atomic_uint missing_count;
/* The list as memory: a process that changes its root or gives up rights can write to it still. NULL where that cannot be. */
static char *missing_list;

void field_bytes(struct writer *fields, const char *name, const void *bytes, size_t size)
{
    write_text(fields, name);
    write_block(fields, bytes, size);
}

void field_text(struct writer *fields, const char *name, const char *text)
{
    field_bytes(fields, name, text, strlen(text));
}

void field_number(struct writer *fields, const char *name, uint64_t number)
{
    field_bytes(fields, name, &number, sizeof number);
}

static void after_fork(bool (*damaged)(enum lock lock))
{
    (void)damaged;
    process = 0;
    file_count = 0;
    builds = 0;
}

/* Tells whether the file's pages can be written to as memory for as long as it is there. Elsewhere a page may be without its place on
 * the disk again once it was written there, and whoever writes to that when the disk is full is ended by a signal. */
static bool keeps_pages(int file)
{
    struct statfs status;
    if (fstatfs(file, &status) != 0)
        return false;
    switch ((unsigned long)status.f_type) {
    case EXT4_SUPER_MAGIC: /* ext2's and ext3's, too */
    case XFS_SUPER_MAGIC:
    case TMPFS_MAGIC:
        return true;
    case OVERLAYFS_SUPER_MAGIC: /* in containers: before one of these, or Btrfs, which does not count files */
        return status.f_files != 0;
    default:
        return false;
    }
}

static void open_missing_list(void)
{
    FREED char *path = text_format("%s/missing", folder);
    CLOSED int list = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    struct stat status;
    if (list < 0 || fstat(list, &status) != 0 || status.st_size != LIST_SIZE || !keeps_pages(list))
        return;
    void *memory = mmap(NULL, LIST_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, list, 0);
    missing_list = memory != MAP_FAILED ? memory : NULL;
}

bool spool_open(void)
{
    const char *named = getenv("KERNLENS_CAPTURE");
    if (named == NULL || named[0] != '/' || (folder = strdup(named)) == NULL)
        return false;
    int before = errno;
    open_missing_list();
    errno = before;
    forks_watch(after_fork);
    return true;
}

void spool_here(void)
{
    static const struct writer NOTHING;
    spool_file("process", &NOTHING, "a process");
}

uint64_t spool_process(void)
{
    while (process == 0)
        if (getrandom(&process, sizeof process, GRND_NONBLOCK) != sizeof process) {
            struct timespec now; /* no chance to be had: a time and a number that no other living process has */
            clock_gettime(CLOCK_MONOTONIC, &now);
            process = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec << 22 ^ (uint64_t)getpid();
        }
    return process;
}

char *spool_path(const char *start, const char *name)
{
    return text_format("%s/%s%s", folder, start, name);
}

char *spool_name(const char *kind)
{
    uint64_t own = spool_process();
    return text_format("%016" PRIx64 "-%010" PRIu64 ".%s", own, ++file_count, kind);
}

void spool_missing(const char *what, int error)
{
    int before = errno;
    char entry[ENTRY_SIZE];
    /* The number's meaning is looked up later, by who has locales. */
    snprintf(entry, sizeof entry, "%d %s", error, what);
    /* Processes begin at different entries, by chance. */
    unsigned count = missing_count++;
    off_t place = (off_t)((process + count) % ENTRIES * ENTRY_SIZE);
    if (missing_list != NULL) {
        strcpy(missing_list + place, entry);
        errno = before;
        return;
    }
    FREED char *path = text_format("%s/missing", folder);
    CLOSED int list = path != NULL ? open(path, O_WRONLY | O_CLOEXEC) : -1;
    bool listed = list >= 0 && lseek(list, place, SEEK_SET) == place && file_write_all(list, entry, strlen(entry) + 1);
    /* Whoever may not write a byte (RLIMIT_FSIZE) can still make an empty file. */
    FREED char *named = listed ? NULL : text_format("%s/%016" PRIx64 "-%u.%s.missing", folder, process, count, entry);
    CLOSED int empty = named != NULL ? open(named, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1;
    (void)empty;
    errno = before;
}

static int open_builds(const struct spool_entry *entry, int flags)
{
    FREED char *path = text_format("%s/%016" PRIx64 "-%010" PRIu64 ".builds", folder, entry->process, entry->file);
    if (path != NULL)
        return open(path, O_WRONLY | O_CLOEXEC | flags, 0666);
    errno = ENOMEM;
    return -1;
}

static bool write_at(int file, uint64_t offset, const void *bytes, size_t size)
{
    return lseek(file, (off_t)offset, SEEK_SET) == (off_t)offset && file_write_all(file, bytes, size);
}

/* What stands before an entry's fields. */
struct entry_head {
    uint64_t size, kind, time;
};
/* A larger file is followed by another one. */
static const uint64_t BUILDS_SIZE = UINT64_C(1) << 28;

/* Makes room for an entry, which is void. Returns the file, opened; negative if that cannot be. With LOCK_RECORDER held. */
static int reserve(const struct entry_head *head, struct spool_entry *entry)
{
    uint64_t limit = file_size_limit(), whole = sizeof *head + head->size;
    if (whole > limit) {
        errno = EFBIG;
        return -1;
    }
    if (builds == 0 || builds_size + whole > (limit < BUILDS_SIZE ? limit : BUILDS_SIZE)) {
        builds = ++file_count;
        builds_size = 0;
    }
    *entry = (struct spool_entry){spool_process(), builds, builds_size};
    int file = open_builds(entry, O_CREAT);
    if (file >= 0 && !write_at(file, entry->offset, head, sizeof *head)) {
        owned_close(&file);
        return -1;
    }
    if (file >= 0)
        builds_size += whole;
    return file;
}

int spool_add(enum entry_kind kind, uint64_t time, const struct writer *fields, struct spool_entry *entry)
{
    int before = errno;
    *entry = (struct spool_entry){0};
    if (fields->failed)
        return ENOMEM;
    const struct entry_head head = {fields->size, ENTRY_VOID, time};
    struct spool_entry reserved = {0};
    lock_take(LOCK_RECORDER);
    CLOSED int file = reserve(&head, &reserved);
    int error = file < 0 ? errno : 0;
    lock_give(LOCK_RECORDER);
    /* Its kind comes last: until then it is void, whatever ends the process. */
    const uint64_t written = kind;
    if (file >= 0 && (!write_at(file, reserved.offset + sizeof head, fields->bytes, fields->size) ||
                      !write_at(file, reserved.offset + offsetof(struct entry_head, kind), &written, sizeof written)))
        error = errno;
    if (error == 0)
        *entry = reserved;
    errno = before;
    return error;
}

void spool_take_back(const struct spool_entry *entry)
{
    static const uint64_t VOID = ENTRY_VOID;
    int before = errno;
    CLOSED int file = open_builds(entry, 0);
    if (file >= 0)
        write_at(file, entry->offset + offsetof(struct entry_head, kind), &VOID, sizeof VOID);
    errno = before;
}

static int spool_write(const char *name, const struct writer *fields)
{
    int before = errno;
    FREED char *path = spool_path("", name);
    FREED char *partial = spool_path(".", name);
    int error = 0;
    if (fields->failed || path == NULL || partial == NULL)
        error = ENOMEM;
    else if (fields->size > file_size_limit())
        error = EFBIG;
    else if (!file_write(partial, fields->bytes, fields->size) || rename(partial, path) != 0)
        error = errno;
    if (error != 0 && partial != NULL)
        unlink(partial);
    errno = before;
    return error;
}

void *spool_memory(const char *kind, size_t size)
{
    int before = errno;
    FREED char *name = spool_name(kind);
    FREED char *path = name != NULL ? spool_path("", name) : NULL;
    FREED void *zeros = size <= file_size_limit() ? calloc(1, size) : NULL;
    CLOSED int file = path != NULL && zeros != NULL ? open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
    void *memory = MAP_FAILED;
    if (file >= 0 && keeps_pages(file) && file_write_all(file, zeros, size)) /* the disk has room for it from now on */
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0 && memory == MAP_FAILED)
        unlink(path);
    errno = before;
    return memory;
}

void spool_file(const char *kind, const struct writer *fields, const char *what)
{
    lock_take(LOCK_RECORDER);
    FREED char *name = spool_name(kind);
    lock_give(LOCK_RECORDER);
    int error = name != NULL ? spool_write(name, fields) : ENOMEM;
    if (error != 0)
        spool_missing(what, error);
}
