#include "base/records.h"

#include <stdint.h>

/* Handles are addresses: their lowest bits are the same, the next ones differ. */
static size_t bucket_of(const void *handle)
{
    uintptr_t address = (uintptr_t)handle;
    return (address >> 4 ^ address >> 12) % RECORD_BUCKETS;
}

bool records_none(struct records *records)
{
    return records->count == 0;
}

struct record *records_find(const struct records *records, const void *handle)
{
    struct record *record = records->buckets[bucket_of(handle)];
    while (record != NULL && record->handle != handle)
        record = record->next;
    return record;
}

void records_add(struct records *records, struct record *record)
{
    struct record **bucket = &records->buckets[bucket_of(record->handle)];
    record->next = *bucket;
    *bucket = record;
    ++records->count;
}

struct record *records_remove(struct records *records, const void *handle)
{
    struct record **place = &records->buckets[bucket_of(handle)];
    while (*place != NULL && (*place)->handle != handle)
        place = &(*place)->next;
    struct record *record = *place;
    if (record != NULL) {
        *place = record->next;
        --records->count;
    }
    return record;
}

void records_visit(const struct records *records, void (*visit)(const struct record *record, void *context), void *context)
{
    for (size_t bucket = 0; bucket < RECORD_BUCKETS; ++bucket)
        for (const struct record *record = records->buckets[bucket]; record != NULL; record = record->next)
            visit(record, context);
}
