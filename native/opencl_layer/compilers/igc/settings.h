/* The settings of the IGC library in this process.
 *
 * IGC reads its variables (IGC_ShaderDumpEnable and the like) once, into a table in its own memory that every compile looks
 * into (settings_table.h). Settings in it are changed for the length of a build, so that any build of a process can keep any
 * stage.
 */
#ifndef KERNLENS_SETTINGS_H
#define KERNLENS_SETTINGS_H

#include "base/children.h"

#include <stdbool.h>

/* Tells whether the settings can be changed: their table is found. */
bool igc_settings_found(void);
/* Sets those of the "IGC_NAME=value" settings that this version of IGC has. False, and nothing is changed, if it has no such
 * table or not all the room for a value, or if they are changed already. */
bool igc_settings_change(const struct environment *dumps);
/* Puts back what was there, also what IGC itself derived from the changed settings. */
void igc_settings_restore(void);

#endif
