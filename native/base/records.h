/* Records of living objects of a driver, one for each, found by the object's handle.
 *
 * What is known of an object starts with a `struct record`, so that a pointer to the one is a pointer to the other. All
 * functions but records_none are called with the lock held that guards them. */
#ifndef KERNLENS_RECORDS_H
#define KERNLENS_RECORDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { RECORD_BUCKETS = 256 };

struct record {
    const void *handle;
    struct record *next;
};

struct records {
    atomic_size_t count;
    struct record *buckets[RECORD_BUCKETS];
};

/* Tells whether there is no record at all, without the lock: a process without any pays nothing. */
bool records_none(struct records *records);
/* Finds a record; NULL if the object has none. */
struct record *records_find(const struct records *records, const void *handle);
/* Adds the record of an object that has none. */
void records_add(struct records *records, struct record *record);
/* Removes the object's record and returns it; NULL if it has none. */
struct record *records_remove(struct records *records, const void *handle);
/* Calls back with each record. */
void records_visit(const struct records *records, void (*visit)(const struct record *record, void *context), void *context);

#endif
