/* settings_test LIBRARY [hidden]: finds the settings of an IGC library, or of one that is made like it, changes some and puts them back.
 * Prints how many there are and how large a value is. */
#include "base/children.h"
#include "base/locks.h"
#include "opencl_layer/compilers/igc/settings.h"
#include "opencl_layer/compilers/igc/settings_table.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct settings_table table;

/* The value of a setting, as the table has it. */
static char *value_of(const char *wanted)
{
    for (size_t number = 0; number < table.count; ++number) {
        char *value;
        const char *name = settings_table_name(&table, number, &value);
        if (name != NULL && strcmp(name, wanted) == 0)
            return value;
    }
    fprintf(stderr, "there is no setting %s\n", wanted);
    exit(1);
}

static void expect(int passed, const char *what)
{
    if (passed)
        return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* A library without a table is searched once. */
static int find_none(void *library)
{
    void (*made_hide)(int hidden) = (void (*)(int))dlsym(library, "made_hide");
    expect(made_hide != NULL, "the library hides nothing");
    made_hide(1);
    expect(!igc_settings_found(), "hidden settings are found");
    made_hide(0);
    expect(!igc_settings_found(), "the library is searched again");
    return 0;
}

int main(int count, char **arguments)
{
    void *library = count >= 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    if (count == 3)
        return find_none(library);
    expect(igc_settings_found(), "the settings are not found");
    lock_take(LOCK_SETTINGS);
    expect(settings_table_find(&table), "the table is not found");
    lock_give(LOCK_SETTINGS);
    size_t size = settings_table_value_size(&table);
    char *folder = value_of("DumpToCustomDir"), *number = value_of("DumpLLVMIR");
    char *before = malloc(size), *numbers = malloc(size);
    memcpy(before, folder, size);
    memcpy(numbers, number, size);

    struct environment wanted = {0};
    environment_set(&wanted, "IGC_DumpToCustomDir", "/a/folder/");
    environment_set(&wanted, "IGC_DumpLLVMIR", "1");
    environment_set(&wanted, "IGC_NoSuchSetting", "1");
    expect(igc_settings_change(&wanted), "nothing is changed");
    expect(strcmp(folder, "/a/folder/") == 0 && *(unsigned *)(void *)number == 1, "something else is changed");
    expect(!igc_settings_change(&wanted), "they are changed twice");
    const char *(*made_value)(const char *, unsigned *) =
        (const char *(*)(const char *, unsigned *))dlsym(library, "made_value");
    unsigned room = 0;
    if (made_value != NULL) {
        expect(made_value("DumpToCustomDir", &room) == folder && room == size, "the folder is elsewhere");
        expect(made_value("DumpLLVMIR", &room) == number, "the number is elsewhere");
    }
    igc_settings_restore();
    expect(memcmp(before, folder, size) == 0 && memcmp(numbers, number, size) == 0, "not all is as before");

    struct environment longest = {0};
    environment_set(&longest, "IGC_DumpToCustomDir", "%0*d", (int)size, 0);
    expect(!igc_settings_change(&longest), "a value longer than its room is taken");
    expect(memcmp(before, folder, size) == 0, "a value longer than its room is written");
    environment_free(&wanted);
    environment_free(&longest);
    printf("%zu %zu\n", table.count, size);
    return 0;
}
