#include "opencl_layer/compilers/kept_folder.h"

#include "base/folders.h"

#include <pthread.h>
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

static void forget(void)
{
    folder = NULL;
}

/* Runs when the layer is loaded: the environment still says what the user wants, and there is one thread as a rule. */
__attribute__((constructor)) static void prepare(void)
{
    kept_folder();
    pthread_atfork(NULL, NULL, forget);
}
