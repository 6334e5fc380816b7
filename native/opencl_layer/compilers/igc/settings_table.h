/* The table in IGC's memory that holds its settings.
 *
 * Nothing is assumed that is not checked: the table is an array of hundreds of elements that each lead to their own setting's
 * name; if the library's writable memory holds no such array, there is no table.
 *
 * Source of the five layouts: intel-graphics-compiler, IGC/common/igc_regkeys.hpp by version, `SRegKeyVariableMetaData` (to
 * 2.37) and `IGCFlag`.
 */
#ifndef KERNLENS_SETTINGS_TABLE_H
#define KERNLENS_SETTINGS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SETTING_VALUE_SIZE = 1024 }; /* the most of any version */
enum { LIBRARY_SEGMENTS = 16 };

struct segment {
    uintptr_t start, end;
    unsigned flags; /* PF_R, PF_W, PF_X */
};

/* The IGC library as it is mapped into this process. */
struct library {
    struct segment segments[LIBRARY_SEGMENTS];
    size_t count;
    uintptr_t read_only_start, read_only_end; /* within a writable segment */
};

struct settings_table {
    struct library library;
    const struct layout *layout;
    uintptr_t start;
    size_t count;
};

/* A setting of every version, by which the table is found. */
#define SETTING_FOLDER "DumpToCustomDir"

/* Finds the table of the one IGC library of this process; false if there is none. Called with LOCK_SETTINGS held. */
bool settings_table_find(struct settings_table *table);
/* Has the next call search again. */
void settings_table_forget(void);

/* Tells how large values are: of a text; a number has its first four bytes. */
size_t settings_table_value_size(const struct settings_table *table);
/* Reads the name of the setting of this number; NULL if it has none. `value` gets where its value is. */
const char *settings_table_name(const struct settings_table *table, size_t number, char **value);

#endif
