#include "opencl_layer/compilers/igc/settings.h"

#include "base/bytes.h"
#include "base/locks.h"
#include "opencl_layer/compilers/igc/settings_table.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

bool igc_settings_found(void)
{
    struct settings_table table;
    lock_take(LOCK_SETTINGS);
    bool is_there = settings_table_find(&table);
    lock_give(LOCK_SETTINGS);
    return is_there;
}

/* What IGC switches on by itself when it finds IGC_ShaderDumpEnable set while it reads its variables. */
static const char *const DERIVED[] = {"DumpLLVMIR",       "EnableCosDump",    "DumpOCLProgramInfo",
                                      "EnableVISAOutput", "EnableVISABinary", "EnableVISADumpCommonISA",
                                      "EnableCapsDump",   "DumpPatchTokens",  "RayTracingDumpYaml"};

enum { PLACES = COUNT(DERIVED) + ENVIRONMENT_SETTINGS };

/* What the change replaced. Each counts only when it is there as a whole, and before the value changes: so it can be put back at
 * any moment, also in a child process forked in the middle. */
static struct {
    char *value;
    size_t size;
    char bytes[SETTING_VALUE_SIZE];
} before[PLACES];
static volatile sig_atomic_t before_count;

static void keep(char *value, size_t size)
{
    before[before_count].value = value;
    before[before_count].size = size;
    memcpy(before[before_count].bytes, value, size);
    atomic_signal_fence(memory_order_seq_cst);
    before_count = before_count + 1;
    atomic_signal_fence(memory_order_seq_cst);
}

/* A setting "NAME=value" or "NAME", and where its value is; NULL if this IGC has none of that name. */
struct place {
    const char *setting;
    char *value;
};

/* Lists what is set or may be derived. The derived ones come first: restoring goes backwards. */
static size_t list_places(const struct environment *dumps, struct place *places)
{
    static const char PREFIX[] = "IGC_";
    size_t count = 0;
    for (size_t index = 0; index < COUNT(DERIVED); ++index)
        places[count++].setting = DERIVED[index];
    for (size_t index = 0; index < dumps->count; ++index)
        if (text_starts_with(dumps->settings[index], PREFIX))
            places[count++].setting = dumps->settings[index] + sizeof PREFIX - 1;
    return count;
}

static void find_values(const struct settings_table *table, struct place *places, size_t count)
{
    for (size_t number = 0; number < table->count; ++number) {
        char *value;
        const char *name = settings_table_name(table, number, &value);
        size_t length = name != NULL ? strlen(name) : 0;
        for (size_t place = 0; name != NULL && place < count; ++place)
            if (strncmp(places[place].setting, name, length) == 0 &&
                (places[place].setting[length] == '=' || places[place].setting[length] == '\0'))
                places[place].value = value;
    }
}

static bool is_text(const char *setting)
{
    static const char *const TEXTS[] = {SETTING_FOLDER "=", "ShaderDumpFilter=", "ShaderDumpRegexFilter=", "VISAOptions="};
    for (size_t index = 0; index < COUNT(TEXTS); ++index)
        if (text_starts_with(setting, TEXTS[index]))
            return true;
    return false;
}

static bool put(char *value, size_t value_size, const char *setting)
{
    const char *text = strchr(setting, '=') + 1;
    if (!is_text(setting)) {
        uint32_t number = (uint32_t)strtoul(text, NULL, 0);
        memcpy(value, &number, sizeof number);
        return true;
    }
    if (strlen(text) >= value_size)
        return false;
    strcpy(value, text);
    return true;
}

static void restore(void)
{
    /* The last first: of a setting that was kept twice, the first is what it was. */
    while (before_count > 0) {
        int last = before_count - 1;
        memcpy(before[last].value, before[last].bytes, before[last].size);
        atomic_signal_fence(memory_order_seq_cst);
        before_count = last;
    }
}

static bool change(const struct environment *dumps)
{
    struct settings_table table;
    if (dumps->failed || before_count > 0 || !settings_table_find(&table))
        return false;
    struct place places[PLACES] = {0};
    size_t count = list_places(dumps, places), size = settings_table_value_size(&table);
    find_values(&table, places, count);
    bool folder = false, all = true;
    for (size_t index = 0; index < count && all; ++index) {
        const struct place *place = &places[index];
        if (place->value == NULL)
            continue; /* another version's */
        keep(place->value, size);
        if (strchr(place->setting, '=') != NULL)
            all = put(place->value, size, place->setting);
        folder = folder || text_starts_with(place->setting, SETTING_FOLDER);
    }
    if (!all || !folder)
        restore();
    return all && folder;
}

bool igc_settings_change(const struct environment *dumps)
{
    lock_take(LOCK_SETTINGS);
    bool changed = change(dumps);
    lock_give(LOCK_SETTINGS);
    return changed;
}

void igc_settings_restore(void)
{
    lock_take(LOCK_SETTINGS);
    restore();
    lock_give(LOCK_SETTINGS);
}

/* A child's builds keep nothing. */
static void after_fork(bool (*damaged)(enum lock lock))
{
    if (damaged(LOCK_SETTINGS))
        settings_table_forget();
    restore();
}

__attribute__((constructor)) static void watch_forks(void)
{
    forks_watch(after_fork);
}
