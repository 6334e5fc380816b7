/* The settings of the IGC library in this process.
 *
 * IGC reads its variables (IGC_ShaderDumpEnable and the like) once, into a table in its own memory that every compile looks
 * into. Here that table is found and settings in it are changed for the length of a build, so that any build of a process can
 * keep any stage. Nothing is assumed that is not checked: the table is an array of hundreds of elements that each lead to their
 * own setting's name; if the library's writable memory holds no such array, no setting is changed.
 *
 * Source of the two layouts: intel-graphics-compiler, IGC/common/igc_regkeys.hpp, `SRegKeyVariableMetaData` (IGC 1) and
 * `IGCFlag` (IGC 2).
 */
#ifndef KERNLENS_IGC_SETTINGS_H
#define KERNLENS_IGC_SETTINGS_H

#include "environment.h"

#include <stdbool.h>

/* What a change replaced. */
struct igc_settings_before;

/* Whether the settings can be changed: one IGC is loaded, its table is found, and the application does not use Level Zero, whose
 * compiles nobody could hold back meanwhile. */
bool igc_settings_found(void);
/* Sets those of the "IGC_NAME=value" settings that this version of IGC has. NULL, and nothing is changed, if it has no such
 * table or not all the room for a value. */
struct igc_settings_before *igc_settings_change(const struct environment *wanted);
/* Puts back what was there, also what IGC itself derived from the changed settings. */
void igc_settings_restore(struct igc_settings_before *before);

#endif
