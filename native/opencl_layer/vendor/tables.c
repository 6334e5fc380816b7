#define _GNU_SOURCE
#include "opencl_layer/vendor/tables.h"

#include "base/locks.h"
#include "base/owned.h"
#include "opencl_layer/vendor/functions.h"
#include "recording/spool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

enum { TABLES = 64 }; /* drivers have one each; those that make one for each object get no further ones */

struct known_table {
    const void *table;
    cl_icd_dispatch real;
    struct owner owner;
};

static struct known_table *known[TABLES]; /* LOCK_PLATFORMS; read without it up to the count */
static atomic_uint known_count;
static const cl_icd_dispatch *ours, *not_ours;

#define ENTRY(name, release) {#name, offsetof(cl_icd_dispatch, name), release},
static const struct {
    const char *name;
    size_t offset;
    unsigned release;
} FUNCTIONS[] = {EACH_FUNCTION(ENTRY)};
enum { COUNT = sizeof FUNCTIONS / sizeof FUNCTIONS[0] };

#define OFFSET(name) offsetof(cl_icd_dispatch, name),
static const size_t SEEING[] = {EACH_SEEING_FUNCTION(OFFSET)};

static void *entry_of(const cl_icd_dispatch *table, size_t offset)
{
    void *entry;
    memcpy(&entry, (const char *)table + offset, sizeof entry);
    return entry;
}

/* Returns what is to stand in front of a function of drivers; NULL if nothing is. */
static void *in_front_of(size_t offset)
{
    bool is_ours = entry_of(ours, offset) != entry_of(not_ours, offset);
    for (size_t index = 0; index < sizeof SEEING / sizeof SEEING[0]; ++index)
        is_ours = is_ours || SEEING[index] == offset;
    return is_ours ? entry_of(ours, offset) : NULL;
}

static void *table_of(const void *object)
{
    void *table;
    memcpy(&table, object, sizeof table);
    return table;
}

static const struct known_table *find(const void *table)
{
    unsigned count = atomic_load_explicit(&known_count, memory_order_acquire);
    for (unsigned index = 0; index < count; ++index)
        if (known[index]->table == table)
            return known[index];
    return NULL;
}

const cl_icd_dispatch *real_of(const void *object)
{
    if (object == NULL)
        return NULL;
    const void *table = table_of(object);
    const struct known_table *entry = find(table);
    return entry != NULL ? &entry->real : table;
}

/* Memory of this process: from where to where, and with which rights. */
struct region {
    uintptr_t begin, end;
    int rights;
};

static bool holds(const struct region *region, uintptr_t address)
{
    return region->begin <= address && address + sizeof(void *) <= region->end;
}

/* Finds the memory around an address; false if there is none, or the system does not say. */
static bool region_find(uintptr_t address, struct region *region)
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
        is_there = holds(region, address);
    }
    if (maps != NULL)
        fclose(maps);
    return is_there;
}

/* Writes one entry of a table, which may be in memory that is only to be read. Other threads call through it meanwhile. */
static bool entry_write(uintptr_t place, void *function, struct region *region)
{
    if (!holds(region, place) && !region_find(place, region))
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

/* Returns the driver's own function of a table's entry; NULL if the table may end before it, or has none.
 *
 * A table is as long as its driver knew functions: what stands behind its end is something else. A driver has the functions of the
 * release that it says it has, and a newer one if it gives the same by its name. */
static void *own_function(const struct owner *owner, const cl_icd_dispatch *table, size_t index, struct region *region)
{
    size_t offset = FUNCTIONS[index].offset;
    if (!owner->managed && FUNCTIONS[index].release <= owner->version)
        return entry_of(table, offset);
    uintptr_t place = (uintptr_t)table + offset;
    void *named = owner->find(owner->driver, owner->platform, FUNCTIONS[index].name);
    if (named == NULL || (!holds(region, place) && !region_find(place, region)) || (region->rights & PROT_READ) == 0)
        return NULL;
    return entry_of(table, offset) == named ? named : NULL;
}

/* Keeps what stands in the table, and puts ours in its place. With the lock held. */
static void put_in_front(struct known_table *entry, cl_icd_dispatch *table)
{
    struct region region = {0};
    void *own[COUNT];
    for (size_t index = 0; index < COUNT; ++index) {
        own[index] = own_function(&entry->owner, table, index, &region);
        void *called = own[index];
        if (entry->owner.managed)
            called = entry->owner.find(entry->owner.driver, entry->owner.platform, FUNCTIONS[index].name);
        memcpy((char *)&entry->real + FUNCTIONS[index].offset, &called, sizeof called);
    }
    known[known_count] = entry;
    atomic_fetch_add_explicit(&known_count, 1, memory_order_release); /* before the first entry of ours is called */
    for (size_t index = 0; index < COUNT; ++index) {
        void *function = in_front_of(FUNCTIONS[index].offset);
        if (own[index] == NULL || function == NULL)
            continue;
        if (!entry_write((uintptr_t)table + FUNCTIONS[index].offset, function, &region)) {
            spool_missing("calls of a driver whose table of functions cannot be written", EACCES);
            return;
        }
    }
}

static void add(const struct owner *owner, void *table)
{
    if (table == NULL || find(table) != NULL)
        return;
    lock_take(LOCK_PLATFORMS);
    if (find(table) == NULL && known_count < TABLES) {
        struct known_table *entry = calloc(1, sizeof *entry);
        if (entry != NULL) {
            entry->table = table;
            entry->owner = *owner;
            put_in_front(entry, table);
        }
    }
    lock_give(LOCK_PLATFORMS);
}

void tables_add(const struct owner *owner)
{
    add(owner, table_of(owner->platform));
}

void *tables_seen(const void *parent, void *object)
{
    const struct known_table *of_parent = object != NULL ? find(table_of(parent)) : NULL;
    if (of_parent != NULL)
        add(&of_parent->owner, table_of(object));
    return object;
}

void *tables_in_front(cl_platform_id platform, const char *name, void *function)
{
    for (size_t index = 0; index < COUNT; ++index) {
        if (strcmp(FUNCTIONS[index].name, name) != 0)
            continue;
        void *in_front = in_front_of(FUNCTIONS[index].offset);
        const cl_icd_dispatch *real = real_of(platform);
        bool is_real = real != NULL && entry_of(real, FUNCTIONS[index].offset) == function;
        return is_real && in_front != NULL ? in_front : function;
    }
    return function;
}

void tables_open(const cl_icd_dispatch *in_front, const cl_icd_dispatch *behind)
{
    ours = in_front;
    not_ours = behind;
}
