#include "opencl_layer/compilers/igc/settings.h"

#include "base/text.h"
#include "opencl_layer/compilers/igc/settings_table.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

bool igc_settings_found(void)
{
    struct settings_table table;
    return settings_table_find(&table);
}

/* What IGC switches on by itself when it finds IGC_ShaderDumpEnable set while it reads its variables. */
static const char *const DERIVED[] = {"DumpLLVMIR",       "EnableCosDump",    "DumpOCLProgramInfo",
                                      "EnableVISAOutput", "EnableVISABinary", "EnableVISADumpCommonISA",
                                      "EnableCapsDump",   "DumpPatchTokens",  "RayTracingDumpYaml"};

enum { PLACES = COUNT(DERIVED) + ENVIRONMENT_SETTINGS };

struct igc_settings_before {
    size_t count;
    struct {
        char *value;
        char bytes[SETTING_VALUE_SIZE];
    } items[PLACES];
};

static void keep(struct igc_settings_before *before, char *value)
{
    before->items[before->count].value = value;
    memcpy(before->items[before->count++].bytes, value, SETTING_VALUE_SIZE);
}

/* A setting "NAME=value" or "NAME", and where its value is; NULL if this IGC has none of that name. */
struct place {
    const char *setting;
    char *value;
};

/* Lists what is set or may be derived. The derived ones come first: restoring goes backwards. */
static size_t list_places(const struct environment *wanted, struct place *places)
{
    static const char PREFIX[] = "IGC_";
    size_t count = 0;
    for (size_t index = 0; index < COUNT(DERIVED); ++index)
        places[count++].setting = DERIVED[index];
    for (size_t index = 0; index < wanted->count; ++index)
        if (text_starts_with(wanted->settings[index], PREFIX))
            places[count++].setting = wanted->settings[index] + sizeof PREFIX - 1;
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

static bool put(char *value, const char *setting)
{
    const char *text = strchr(setting, '=') + 1;
    if (!is_text(setting)) {
        uint32_t number = (uint32_t)strtoul(text, NULL, 0);
        memcpy(value, &number, sizeof number);
        return true;
    }
    if (strlen(text) >= SETTING_VALUE_SIZE)
        return false;
    strcpy(value, text);
    return true;
}

struct igc_settings_before *igc_settings_change(const struct environment *wanted)
{
    struct settings_table table;
    struct igc_settings_before *before =
        !wanted->failed && settings_table_find(&table) ? calloc(1, sizeof *before) : NULL;
    if (before == NULL)
        return NULL;
    struct place places[PLACES] = {0};
    size_t count = list_places(wanted, places);
    find_values(&table, places, count);
    bool folder = false, all = true;
    for (size_t index = 0; index < count && all; ++index) {
        const struct place *place = &places[index];
        if (place->value == NULL)
            continue; /* another version's */
        keep(before, place->value);
        if (strchr(place->setting, '=') != NULL)
            all = put(place->value, place->setting);
        folder = folder || text_starts_with(place->setting, SETTING_FOLDER);
    }
    if (all && folder)
        return before;
    igc_settings_restore(before);
    return NULL;
}

void igc_settings_restore(struct igc_settings_before *before)
{
    /* The last first: of a setting that was kept twice, the first is what it was. */
    while (before->count > 0) {
        --before->count;
        memcpy(before->items[before->count].value, before->items[before->count].bytes, SETTING_VALUE_SIZE);
    }
    free(before);
}
