/* Memory of this process that a driver's tables of functions lie in. */
#ifndef KERNLENS_REGIONS_H
#define KERNLENS_REGIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Memory of this process: from where to where, and with which rights. */
struct region {
    uintptr_t begin, end;
    int rights;
};

/* Tells whether a pointer at the address lies in it. */
bool region_holds(const struct region *region, uintptr_t address);
/* Finds the memory around an address; false if there is none, or the system does not say. */
bool region_find(uintptr_t address, struct region *region);
/* Writes one entry of a table, which may be in memory that is only to be read. Other threads call through it meanwhile. */
bool region_write(uintptr_t place, void *function, struct region *region);

#endif
