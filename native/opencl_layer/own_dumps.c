#define _GNU_SOURCE
#include "own_dumps.h"

#include "files.h"
#include "job.h"
#include "layer.h"
#include "problems.h"

#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Strings of the environment that wait to become IGC's variables. They are put there when the layer is loaded, and later
 * rewritten in place: setenv() might move the environment while another thread reads it. */
enum { SLOTS = 7, SLOT_SIZE = 512 };
static char slots[SLOTS][SLOT_SIZE];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;      /* of what follows */
static pthread_rwlock_t building = PTHREAD_RWLOCK_INITIALIZER; /* held alone by a build whose files are wanted */
static atomic_bool variables_read; /* by IGC; before that, its dumps can still be switched on */
static atomic_bool dumping;        /* they are on */
static struct environment settings; /* with these variables */
static char *root;                  /* will hold "current", the link, and "unwanted", the folder it names between builds */
static pid_t owner; /* the process that made it */

static void clear_slot(int slot)
{
    /* The first letter last: until then the string is not the variable that it was. */
    char name[32];
    int length = snprintf(name, sizeof name, "KERNLENS_SNAPSHOT_SLOT_%d=", slot);
    slots[slot][0] = '_';
    memset(slots[slot] + 1, 0, SLOT_SIZE - 1);
    memcpy(slots[slot] + 1, name + 1, (size_t)length - 1);
    slots[slot][0] = name[0];
}

static bool fill_slots(void)
{
    int slot = 0;
    for (size_t index = 0; index < settings.count; ++index) {
        const char *setting = settings.settings[index];
        if (strncmp(setting, "IGC_", 4) != 0)
            continue;
        if (slot == SLOTS || strlen(setting) >= SLOT_SIZE)
            return false;
        slots[slot][0] = '_';
        strcpy(slots[slot] + 1, setting + 1);
        slots[slot++][0] = setting[0];
    }
    return true;
}

bool own_dumps_setting(const char *setting)
{
    return (uintptr_t)setting >= (uintptr_t)slots && (uintptr_t)setting < (uintptr_t)(slots + SLOTS);
}

static void clear_slots(void)
{
    for (int slot = 0; slot < SLOTS; ++slot)
        clear_slot(slot);
}

/* Points the link at a folder, in one step. */
static bool point_link(const char *folder)
{
    char *link = text_format("%s/current", root), *new_link = text_format("%s/next", root);
    bool done = link != NULL && new_link != NULL && symlink(folder, new_link) == 0 && rename(new_link, link) == 0;
    free(new_link);
    free(link);
    return done;
}

static bool point_away(void)
{
    char *unwanted = text_format("%s/unwanted", root);
    bool done = unwanted != NULL && point_link(unwanted);
    free(unwanted);
    return done;
}

static void remove_root(void)
{
    if (owner == getpid())
        folder_remove(root);
}

/* Makes the folder of a root that has a name. */
static bool make_root(void)
{
    if (owner == getpid())
        return true;
    char *unwanted = text_format("%s/unwanted", root);
    bool made = unwanted != NULL && folder_make_named(root) && folder_make_named(unwanted) && point_away();
    free(unwanted);
    if (made) {
        owner = getpid();
        atexit(remove_root);
    }
    return made;
}

/* Whether the user makes dumps of his own; they are left alone. */
static bool dumps_of_the_user(void)
{
    return getenv("IGC_DumpToCustomDir") != NULL || getenv("IGC_ShaderDumpEnable") != NULL ||
           getenv("IGC_ShaderDumpEnableAll") != NULL || getenv("IGC_DumpToCurrentDir") != NULL;
}

static int is_igc(struct dl_phdr_info *library, size_t size, void *second_version)
{
    (void)size;
    const char *name = library->dlpi_name != NULL ? strstr(library->dlpi_name, "/libigc.so.") : NULL;
    if (name == NULL)
        return 0;
    *(bool *)second_version = strncmp(name, "/libigc.so.1", strlen("/libigc.so.1")) != 0;
    return 1;
}

/* The variables for a stage. */
static struct environment settings_for(const struct stage *stage, bool text)
{
    struct environment wanted = {0};
    char *link = root != NULL ? text_format("%s/current", root) : NULL;
    if (link != NULL)
        igc_compiler.set_dumps(&wanted, stage, text, link);
    free(link);
    return wanted;
}

static bool same(const struct environment *left, const struct environment *right)
{
    bool equal = left->count == right->count && left->count > 0;
    for (size_t index = 0; equal && index < left->count; ++index)
        equal = strcmp(left->settings[index], right->settings[index]) == 0;
    return equal;
}

/* With the lock held. */
static bool switch_on(const struct stage *stage, bool text)
{
    if (root == NULL)
        root = folder_name();
    settings = settings_for(stage, text);
    bool on = !settings.failed && fill_slots();
    if (!on) {
        clear_slots();
        environment_free(&settings);
    }
    dumping = on;
    return on;
}

static void switch_off(void)
{
    clear_slots();
    environment_free(&settings);
    dumping = false;
}

/* With the lock held. */
static bool can_switch_on(void)
{
    bool second_version = false;
    return !dumping && !variables_read && slots[0][0] != '\0' && !dumps_of_the_user() &&
           (dl_iterate_phdr(is_igc, &second_version) == 0 || !second_version);
}

bool own_dumps_possible(const struct request *request)
{
    if (request->compiler != &igc_compiler)
        return false;
    pthread_mutex_lock(&lock);
    bool possible = can_switch_on();
    if (dumping) {
        struct environment wanted = settings_for(request->stage, request->text);
        possible = same(&settings, &wanted);
        environment_free(&wanted);
    }
    pthread_mutex_unlock(&lock);
    return possible;
}

char *own_dumps_begin(const struct request *request)
{
    if (request->compiler != &igc_compiler)
        return NULL;
    pthread_mutex_lock(&lock);
    bool on = can_switch_on() && switch_on(request->stage, request->text);
    if (on && !make_root())
        switch_off();
    pthread_mutex_unlock(&lock);
    if (!own_dumps_possible(request))
        return NULL;
    pthread_rwlock_wrlock(&building);
    char *folder = folder_make();
    if (dumping && folder != NULL && point_link(folder))
        return folder;
    pthread_rwlock_unlock(&building);
    if (folder != NULL)
        folder_remove(folder);
    free(folder);
    return NULL;
}

bool own_dumps_end(const char *folder)
{
    point_away();
    pthread_mutex_lock(&lock);
    struct file_names names;
    bool wrote = !file_names_read(folder, &names) || names.count > 0;
    file_names_free(&names);
    if (!wrote)
        switch_off();
    variables_read = true;
    clear_slots(); /* IGC has them now; the application's children need them not */
    pthread_mutex_unlock(&lock);
    pthread_rwlock_unlock(&building);
    return wrote;
}

static bool is_for_igc(cl_program program)
{
    cl_device_id devices[32];
    size_t size = 0;
    return below->clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof devices, devices, &size) == CL_SUCCESS &&
           size >= sizeof *devices && compiler_of(devices[0]) == &igc_compiler;
}

bool own_dumps_pass_begin(cl_program program)
{
    if (!variables_read && program != NULL && is_for_igc(program)) {
        pthread_mutex_lock(&lock);
        variables_read = true;
        pthread_mutex_unlock(&lock);
    }
    return dumping && pthread_rwlock_rdlock(&building) == 0;
}

void own_dumps_pass_end(bool passing)
{
    if (!passing)
        return;
    char *unwanted = text_format("%s/unwanted", root);
    if (unwanted != NULL)
        folder_empty(unwanted);
    free(unwanted);
    pthread_rwlock_unlock(&building);
}

void own_dumps_loaded(void)
{
    pthread_mutex_lock(&lock);
    if (dumping && !make_root())
        switch_off();
    pthread_mutex_unlock(&lock);
}

/* Variables that a parent process of this one set for itself: one with this layer preloaded, a shell for example. */
static void remove_inherited(void)
{
    static const char *const NAMES[] = {
        "IGC_DumpToCustomDir", "IGC_DumpLLVMIR",          "IGC_ShaderDumpFilter",        "IGC_ShaderDumpRegexFilter",
        "IGC_ShaderDumpEnable", "IGC_SpvAsmDumpEnable",    "IGC_EnableVISAOutput",        "IGC_EnableVISABinary",
        "IGC_ElfDumpEnable",    "IGC_EnableVISASlowpath", "IGC_EnableVISADumpCommonISA", "IGC_VISAOptions"};
    const char *folder = getenv("IGC_DumpToCustomDir");
    if (folder == NULL || strstr(folder, "/kernlens-snapshot-") == NULL)
        return;
    for (size_t index = 0; index < sizeof NAMES / sizeof *NAMES; ++index)
        unsetenv(NAMES[index]);
}

/* When the layer is loaded; as a preloaded library before the driver is. */
__attribute__((constructor)) static void reserve_slots(void)
{
    bool second_version = false;
    if (getenv(SECOND_BUILD_VARIABLE) != NULL)
        return;
    remove_inherited();
    for (int slot = 0; slot < SLOTS; ++slot) {
        clear_slot(slot);
        putenv(slots[slot]);
    }
    const char *name = getenv("KERNLENS_SNAPSHOT_STAGE");
    if (name == NULL || name[0] == '\0')
        return;
    const struct stage *stage = stage_named(&igc_compiler, name);
    if (stage == NULL || (stage->origin != ORIGIN_COMPILER && stage->origin != ORIGIN_SPIRV))
        problem(name, "KERNLENS_SNAPSHOT_STAGE names no stage that IGC dumps");
    else if (!dumps_of_the_user() && dl_iterate_phdr(is_igc, &second_version) == 0)
        switch_on(stage, stage_as_text(stage, 0));
}
