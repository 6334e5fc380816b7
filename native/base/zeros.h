/* Simulated devices compute nothing. What an application reads back from one would be whatever lay in the memory that it gets, and
 * what it builds next, which may depend on that, would differ from run to run: so it is filled with zeros. */
#ifndef KERNLENS_ZEROS_H
#define KERNLENS_ZEROS_H

#include <stdbool.h>
#include <stddef.h>

/* Tells whether Intel's driver for GPUs simulates its devices, by the variables that tell it so
 * (src/kernlens/toolchain/simulation.py). */
bool device_is_simulated(void);

/* Fills memory that the driver has just made. Pages that nobody has written are only read, so they take no memory. */
void clear_new(void *memory, size_t size);

/* Fills a box of bytes of the application's: `depth` slices, `slice_pitch` bytes apart, of `height` rows, `pitch` bytes apart, of
 * `width` bytes. The kernel writes it: an address that the application may not write is an error, not a signal, as it is to the
 * driver, which does not write it either. */
void clear_box(void *memory, size_t width, size_t height, size_t depth, size_t pitch, size_t slice_pitch);

#endif
