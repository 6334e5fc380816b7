#define _GNU_SOURCE
#include "opencl_layer/vendor/regions.h"

#include "base/owned.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

bool region_holds(const struct region *region, uintptr_t address)
{
    return region->begin <= address && address + sizeof(void *) <= region->end;
}

bool region_find(uintptr_t address, struct region *region)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    FREED char *line = NULL;
    size_t room = 0;
    bool is_there = false;
    while (maps != NULL && !is_there && getline(&line, &room, maps) > 0) {
        char rights[5];
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &region->begin, &region->end, rights) != 3)
            continue;
        region->rights = (rights[0] == 'r' ? PROT_READ : 0) | (rights[1] == 'w' ? PROT_WRITE : 0) |
                         (rights[2] == 'x' ? PROT_EXEC : 0);
        is_there = region_holds(region, address);
    }
    if (maps != NULL)
        fclose(maps);
    return is_there;
}

bool region_write(uintptr_t place, void *function, struct region *region)
{
    if (!region_holds(region, place) && !region_find(place, region))
        return false;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *start = (void *)(place / page * page);
    bool locked = (region->rights & PROT_WRITE) == 0;
    if (locked && mprotect(start, page, region->rights | PROT_WRITE) != 0)
        return false;
    __atomic_store_n((void **)place, function, __ATOMIC_RELEASE);
    if (locked)
        mprotect(start, page, region->rights);
    return true;
}
