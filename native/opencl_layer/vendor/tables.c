#define _GNU_SOURCE
#include "opencl_layer/vendor/tables.h"

#include "base/loader.h"
#include "base/locks.h"
#include "base/owned.h"
#include "opencl_layer/vendor/from_type.h"
#include "opencl_layer/vendor/functions.h"
#include "opencl_layer/vendor/regions.h"
#include "recording/spool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

enum { FIRST_ROOM = 64, MOST_TABLES = 16384 }; /* drivers have one each, or one for each type of object, or for each object */

static const cl_icd_dispatch *ours, *not_ours;

#define ENTRY(name, release) {#name, offsetof(cl_icd_dispatch, name), release},
static const struct {
    const char *name;
    size_t offset;
    unsigned release;
} FUNCTIONS[] = {EACH_FUNCTION(ENTRY)};
enum { COUNT = sizeof FUNCTIONS / sizeof FUNCTIONS[0] };

struct known_table {
    const void *table;
    cl_icd_dispatch real; /* what is called in place of ours */
    bool is_held[COUNT];  /* which of it the table held */
    struct owner owner;
};

/* The known tables by their addresses, each at the first free place from its own on; at least half of the places are free. */
struct places {
    const struct places *smaller; /* the earlier ones, which may be being read */
    size_t room;
    _Atomic(struct known_table *) items[];
};

/* LOCK_PLATFORMS; read without it. */
static _Atomic(struct places *) known;
static size_t known_count;
#define OFFSET(name) offsetof(cl_icd_dispatch, name),
static const size_t SEEING[] = {EACH_SEEING_FUNCTION(OFFSET)};

static void *entry_of(const cl_icd_dispatch *table, size_t offset)
{
    void *entry;
    memcpy(&entry, (const char *)table + offset, sizeof entry);
    return entry;
}

static void *table_of(const void *object)
{
    void *table;
    memcpy(&table, object, sizeof table);
    return table;
}

static size_t place_of(const struct places *places, const void *table)
{
    size_t place = (size_t)(((uint64_t)(uintptr_t)table * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (places->room - 1);
    const struct known_table *entry;
    while ((entry = atomic_load_explicit(&places->items[place], memory_order_acquire)) != NULL && entry->table != table)
        place = (place + 1) & (places->room - 1);
    return place;
}

static struct known_table *find(const void *table)
{
    struct places *places = atomic_load_explicit(&known, memory_order_acquire);
    return places != NULL ? atomic_load_explicit(&places->items[place_of(places, table)], memory_order_acquire) : NULL;
}

static void keep(struct places *places, struct known_table *entry)
{
    atomic_store_explicit(&places->items[place_of(places, entry->table)], entry, memory_order_release);
}

/* Makes room for one more table; false if there is no memory. With the lock held. */
static bool known_reserve(void)
{
    struct places *places = known;
    size_t room = places != NULL ? places->room : 0;
    if (2 * (known_count + 1) <= room)
        return true;
    size_t larger = room > 0 ? 2 * room : FIRST_ROOM;
    struct places *grown = calloc(1, sizeof *grown + larger * sizeof grown->items[0]);
    if (grown == NULL)
        return false;
    grown->smaller = places;
    grown->room = larger;
    for (size_t place = 0; place < room; ++place)
        if (places->items[place] != NULL)
            keep(grown, places->items[place]);
    atomic_store_explicit(&known, grown, memory_order_release);
    return true;
}

const cl_icd_dispatch *real_of(const void *object)
{
    if (object == NULL)
        return NULL;
    const void *table = table_of(object);
    const struct known_table *entry = find(table);
    return entry != NULL ? &entry->real : table;
}

/* Returns the OpenCL loader's function of a name. A driver that exports the name itself may have it in
 * its table in place of its own; calls through the loader then go round for ever. */
static void *of_loader(size_t index)
{
    return loader_function("libOpenCL.so.1", FUNCTIONS[index].name);
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
    if (named == NULL || (!region_holds(region, place) && !region_find(place, region)) || (region->rights & PROT_READ) == 0)
        return NULL;
    return entry_of(table, offset) == named || entry_of(table, offset) == of_loader(index) ? named : NULL;
}

/* Keeps what stands in the table. With the lock held. */
static void keep_own(struct known_table *entry, const cl_icd_dispatch *table)
{
    struct region region = {0};
    for (size_t index = 0; index < COUNT; ++index) {
        void *own = own_function(&entry->owner, table, index, &region), *called = own;
        if (entry->owner.managed)
            called = entry->owner.find(entry->owner.driver, entry->owner.platform, FUNCTIONS[index].name);
        memcpy((char *)&entry->real + FUNCTIONS[index].offset, &called, sizeof called);
        entry->is_held[index] = own != NULL;
    }
}

static void see_context(const struct owner *owner, cl_context context);

/* Returns what is to stand in front of this function of a driver; NULL if nothing is. */
static void *in_front_of(size_t offset, void *function, const struct owner *owner)
{
    if (offset == offsetof(cl_icd_dispatch, clCreateContextFromType))
        return (void *)from_type_in_front((cl_api_clCreateContextFromType)function, owner, see_context);
    bool is_ours = entry_of(ours, offset) != entry_of(not_ours, offset);
    for (size_t index = 0; index < sizeof SEEING / sizeof SEEING[0]; ++index)
        is_ours = is_ours || SEEING[index] == offset;
    return is_ours ? entry_of(ours, offset) : NULL;
}

/* Puts ours in the place of what the table has of its own. With the lock held. */
static void put_in_front(const struct known_table *entry, cl_icd_dispatch *table)
{
    struct region region = {0};
    for (size_t index = 0; index < COUNT; ++index) {
        size_t offset = FUNCTIONS[index].offset;
        void *own = entry_of(&entry->real, offset);
        void *function = entry->is_held[index] ? in_front_of(offset, own, &entry->owner) : NULL;
        void *stands = entry_of(table, offset);
        if (function == NULL || (stands != own && (FUNCTIONS[index].release <= entry->owner.version || stands != of_loader(index))))
            continue;
        if (!region_write((uintptr_t)table + offset, function, &region)) {
            spool_missing("calls of a driver whose table of functions cannot be written", EACCES);
            return;
        }
    }
}

/* Tells whether the driver's function stands again where ours stood: it made the table anew, in the same memory. */
static bool is_made_anew(const struct known_table *entry, const void *table)
{
    enum { WATCHED = 1 }; /* clGetDeviceIDs, which every driver has */
    return entry->is_held[WATCHED] && entry_of(table, FUNCTIONS[WATCHED].offset) == entry_of(&entry->real, FUNCTIONS[WATCHED].offset);
}

static void add_new(const struct owner *owner, void *table)
{
    static bool is_told;
    struct known_table *entry = known_count < MOST_TABLES && known_reserve() ? calloc(1, sizeof *entry) : NULL;
    if (entry == NULL) {
        if (!is_told)
            spool_missing("calls of a driver that has too many tables of functions", ENOMEM);
        is_told = true;
        return;
    }
    entry->table = table;
    entry->owner = *owner;
    keep_own(entry, table);
    ++known_count;
    keep(known, entry); /* before the first entry of ours is called */
    put_in_front(entry, table);
}

static void add(const struct owner *owner, void *table)
{
    const struct known_table *entry = table != NULL ? find(table) : NULL;
    if (table == NULL || (entry != NULL && !is_made_anew(entry, table)))
        return;
    lock_take(LOCK_PLATFORMS);
    entry = find(table);
    if (entry == NULL)
        add_new(owner, table);
    else if (is_made_anew(entry, table))
        put_in_front(entry, table);
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

/* Its devices may never be listed otherwise. */
static void see_context(const struct owner *owner, cl_context context)
{
    cl_device_id devices[64];
    size_t size = 0;
    add(owner, table_of(context));
    if (real_of(context)->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &size) != CL_SUCCESS)
        return;
    for (size_t index = 0; index < size / sizeof devices[0]; ++index)
        tables_seen(context, devices[index]);
}

void *tables_in_front(cl_platform_id platform, const char *name, void *function)
{
    const struct known_table *entry = platform != NULL ? find(table_of(platform)) : NULL;
    for (size_t index = 0; entry != NULL && index < COUNT; ++index) {
        if (strcmp(FUNCTIONS[index].name, name) != 0)
            continue;
        bool is_real = entry_of(&entry->real, FUNCTIONS[index].offset) == function;
        void *in_front = is_real ? in_front_of(FUNCTIONS[index].offset, function, &entry->owner) : NULL;
        return in_front != NULL ? in_front : function;
    }
    return function;
}

void tables_open(const cl_icd_dispatch *in_front, const cl_icd_dispatch *behind)
{
    ours = in_front;
    not_ours = behind;
}
