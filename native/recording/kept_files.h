/* The files of launches that are kept. */
#ifndef KERNLENS_KEPT_FILES_H
#define KERNLENS_KEPT_FILES_H

#include "recording/reached.h"

/* Takes room for what the launch reaches, and writes the beginning of its file; returns its name. NULL, and what is missing is noted, if
 * it cannot be kept. Free it. `offset` and `local` may be NULL. */
char *kept_file_begin(const struct given_kernel *given_kernel, const struct reached_list *list, const void *device, unsigned dimensions,
                      const size_t *offset, const size_t *global, const size_t *local);
/* Writes the contents, and the device's time (0: not known): the file is whole then. False if it cannot be, and is gone. */
bool kept_file_end(const char *name, const struct reached_list *list, uint64_t nanoseconds);
/* The launch is not kept after all. `name` may be a whole file's. */
void kept_file_drop(const char *name, bool is_whole);
/* Gives room back. */
void kept_room_back(uint64_t size);

#endif
