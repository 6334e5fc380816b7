/* Runs a program that can open only what it is shown.
 *
 *     kernlens_confine namespaces|landlock [--own-processes] [--show PATH | --write PATH | --list PATH]... -- [PROGRAM [ARGUMENT...]]
 *     kernlens_confine landlock --own-processes --cuda ...
 *
 * PATHs are real ones, without links in them, but a PATH that is a link itself is shown as one; those that are not there are left
 * out. A path stands behind those that it lies below. Without PROGRAM all is done but that: the exit status tells whether this
 * kernel allows it. What fails is told on standard error, the exit status is 125, and PROGRAM is not run. */
#define _GNU_SOURCE
#include "confine/confine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* By `enum shown_how`. */
static const char *const HOW[] = {"--show", "--write", "--list"};

static _Noreturn void refuse_words(const char *word)
{
    errno = EINVAL;
    confine_fail("the command line, at", word);
}

/* Reads the words in front of "--" into `shown`, with room for as many paths; returns the place of the program behind it. */
static int read_words(int count, char **words, struct shown_path *items, struct shown_paths *shown)
{
    int place = 2;
    for (; place < count && strcmp(words[place], "--") != 0; place += 2) {
        bool is_processes = strcmp(words[place], "--own-processes") == 0, is_cuda = strcmp(words[place], "--cuda") == 0;
        if (is_processes || is_cuda) {
            shown->has_processes |= is_processes;
            shown->is_cuda |= is_cuda;
            place--;
            continue;
        }
        size_t how = 0;
        while (how < sizeof HOW / sizeof HOW[0] && strcmp(words[place], HOW[how]) != 0)
            how++;
        if (how == sizeof HOW / sizeof HOW[0] || place + 1 >= count || words[place + 1][0] != '/')
            refuse_words(words[place]);
        items[shown->count++] = (struct shown_path){.path = words[place + 1], .how = (enum shown_how)how};
    }
    if (place >= count)
        refuse_words("the end");
    return place + 1;
}

int main(int count, char **words)
{
    struct shown_path *items = calloc((size_t)count, sizeof *items);
    struct shown_paths shown = {.items = items, .count = 0};
    if (items == NULL)
        confine_fail("memory", "");
    int program = read_words(count, words, items, &shown);
    bool has_names = strcmp(words[1], "namespaces") != 0;
    if (!has_names && !shown.is_cuda) {
        namespaces_enter();
        namespaces_show(shown);
        namespaces_start();
    } else if (strcmp(words[1], "landlock") == 0) {
        landlock_restrict(shown);
    } else {
        refuse_words(words[1]);
    }
    calls_restrict(has_names, shown.is_cuda);
    if (program == count)
        return 0;
    execvp(words[program], words + program);
    confine_fail("starting", words[program]);
}
