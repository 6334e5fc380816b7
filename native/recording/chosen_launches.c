/* Which launches of which kernels are to be kept: lines of KERNLENS_CAPTURE_LAUNCH, each a pattern of names, and behind the last colon
 * "at=N" (the N-th of a name), "every=K" (the first, and each K-th from there) or "slowest". */
#define _GNU_SOURCE
#include "recording/chosen_launches.h"

#include "base/locks.h"
#include "base/owned.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum mode { AT, EVERY, SLOWEST };
struct choice {
    char *pattern;
    enum mode mode;
    uint64_t number;
    struct choice *next;
};

struct chosen_name {
    struct chosen_name *next;
    uint64_t launches;
    uint64_t slowest, slowest_size; /* of the launch that is kept as the slowest: nanoseconds, bytes */
    char *slowest_file;
    bool is_chosen;
    char text[];
};

static struct choice *choices;    /* as they are read once */
static struct chosen_name *names; /* LOCK_RECORDER */
static uint64_t room;             /* LOCK_RECORDER: bytes that may be kept still */

/* A child process counts its own launches, and has room of its own. */
static void after_fork(bool (*damaged)(enum lock lock))
{
    if (damaged(LOCK_RECORDER))
        names = NULL;
    for (struct chosen_name *name = names; name != NULL; name = name->next) {
        name->launches = name->slowest = name->slowest_size = 0;
        name->slowest_file = NULL;
    }
}

static void add_choice(char *line)
{
    char *colon = strrchr(line, ':');
    struct choice *choice = colon != NULL ? calloc(1, sizeof *choice) : NULL;
    if (choice == NULL)
        return;
    *colon = '\0';
    const char *number = strchr(colon + 1, '=');
    *choice = (struct choice){.pattern = line, .next = choices};
    choice->mode = number == NULL ? SLOWEST : strncmp(colon + 1, "every", 5) == 0 ? EVERY : AT;
    choice->number = number != NULL ? strtoull(number + 1, NULL, 10) : 1;
    if (choice->number == 0)
        choice->number = 1;
    choices = choice;
}

bool chosen_open(void)
{
    const char *lines = getenv("KERNLENS_CAPTURE_LAUNCH"), *bytes = getenv("KERNLENS_CAPTURE_LAUNCH_BYTES");
    char *copy = lines != NULL ? strdup(lines) : NULL, *rest = NULL; /* the patterns are parts of it */
    for (char *line = copy != NULL ? strtok_r(copy, "\n", &rest) : NULL; line != NULL; line = strtok_r(NULL, "\n", &rest))
        add_choice(line);
    room = bytes != NULL ? strtoull(bytes, NULL, 10) : 0;
    if (choices != NULL)
        forks_watch(after_fork);
    return choices != NULL;
}

static bool is_chosen(const char *kernel)
{
    for (const struct choice *choice = choices; choice != NULL; choice = choice->next)
        if (fnmatch(choice->pattern, kernel, 0) == 0)
            return true;
    return false;
}

struct chosen_name *chosen_name_of(const char *kernel)
{
    struct chosen_name *name = names;
    while (name != NULL && strcmp(name->text, kernel) != 0)
        name = name->next;
    size_t size = strlen(kernel) + 1;
    if (name == NULL && (name = calloc(1, sizeof *name + size)) != NULL) {
        memcpy(name->text, kernel, size);
        name->is_chosen = is_chosen(kernel);
        name->next = names;
        names = name;
    }
    return name != NULL && name->is_chosen ? name : NULL;
}

const char *chosen_name_text(const struct chosen_name *name)
{
    return name->text;
}

uint64_t chosen_launch(struct chosen_name *name, bool *if_slowest)
{
    uint64_t number = ++name->launches;
    bool is_kept = false, is_watched = false;
    for (const struct choice *choice = choices; choice != NULL; choice = choice->next) {
        if (fnmatch(choice->pattern, name->text, 0) != 0)
            continue;
        is_kept = is_kept || (choice->mode == AT && number == choice->number) ||
                  (choice->mode == EVERY && (number - 1) % choice->number == 0);
        is_watched = is_watched || choice->mode == SLOWEST;
    }
    *if_slowest = !is_kept;
    return is_kept || is_watched ? number : 0;
}

bool chosen_is_slowest(struct chosen_name *name, uint64_t nanoseconds, const char *file, uint64_t size, char **former,
                       uint64_t *former_size)
{
    *former = NULL;
    char *copy = nanoseconds > name->slowest ? strdup(file) : NULL;
    if (copy == NULL)
        return false;
    *former = name->slowest_file;
    *former_size = name->slowest_size;
    name->slowest = nanoseconds;
    name->slowest_size = size;
    name->slowest_file = copy;
    return true;
}

bool chosen_take(uint64_t size)
{
    if (size > room)
        return false;
    room -= size;
    return true;
}

void chosen_give_back(uint64_t size)
{
    room += size;
}
