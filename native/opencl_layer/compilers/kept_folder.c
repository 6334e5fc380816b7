#include "opencl_layer/compilers/kept_folder.h"

#include "base/folders.h"
#include "base/locks.h"

#include <stdbool.h>
#include <stddef.h>

static char *folder;

const char *kept_folder(void)
{
    static bool named;
    if (!named)
        folder = folder_name();
    named = true;
    return folder;
}

static void forget(bool (*damaged)(enum lock lock))
{
    (void)damaged;
    folder = NULL;
}

/* Runs when the layer is loaded: the environment still says what the user wants, and there is one thread as a rule. */
__attribute__((constructor)) static void prepare(void)
{
    folders_sweep();
    kept_folder();
    forks_watch(forget);
}
