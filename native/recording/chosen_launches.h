/* Which launches of which kernels a capture keeps whole, and room for them. */
#ifndef KERNLENS_CHOSEN_LAUNCHES_H
#define KERNLENS_CHOSEN_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

/* Takes that from the environment; false if none is. For a loading layer. */
bool chosen_open(void);
/* Kernels of one name, of which launches are to be kept. It lasts as long as the process. */
struct chosen_name;
/* Returns that of a kernel's name; NULL if none of its launches is to be kept. With LOCK_RECORDER held. */
struct chosen_name *chosen_name_of(const char *kernel);
const char *chosen_name_text(const struct chosen_name *name);
/* Counts a launch, and returns its number; 0 if it is not to be kept. `if_slowest`: only if none takes longer. With LOCK_RECORDER
 * held. */
uint64_t chosen_launch(struct chosen_name *name, bool *if_slowest);
/* Tells whether a launch of this time (nanoseconds) is the slowest so far, whose file is then this one; the file that was is in
 * `former`, with its size: free it. With LOCK_RECORDER held. */
bool chosen_is_slowest(struct chosen_name *name, uint64_t nanoseconds, const char *file, uint64_t size, char **former,
                       uint64_t *former_size);
/* Takes so many bytes of what may be kept; false if there are not so many. With LOCK_RECORDER held. */
bool chosen_take(uint64_t size);
void chosen_give_back(uint64_t size);

#endif
