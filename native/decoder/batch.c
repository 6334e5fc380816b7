#include "decoder/batch.h"

#include <stdlib.h>
#include <string.h>

#ifdef _WIN32 /* untested: no Windows machine has run this yet */
#include <windows.h>
typedef HANDLE thread;
typedef volatile LONG64 shared_counter;
#define TAKE_NEXT(counter) ((size_t)(InterlockedIncrement64(counter) - 1))
#else
#include <pthread.h>
#include <stdatomic.h>
typedef pthread_t thread;
typedef atomic_size_t shared_counter;
#define TAKE_NEXT(counter) atomic_fetch_add_explicit(counter, 1, memory_order_relaxed)
#endif

/* Decodes the encodings first .. first + count - 1 as if they were a kernel of their own, and visits each.
 *
 * They are at least 8 bytes, which kv_create needs: with 1 to 7 it crashes. It gives no view at all where a decoder
 * error goes past it; halving then finds the instructions to blame and keeps the others.
 */
static void traverse(const traversal *t, size_t first, size_t count)
{
    uint8_t code[CHUNK_SIZE * 16] = {0};
    size_t size = 0;
    for (size_t index = first; index < first + count; index++) {
        const encoding *e = &t->batch->set.encodings[t->number_at(t->context, index)];
        memcpy(code + size, e->words, 16);
        size += ENCODING_SIZE(e);
    }
    int status = 0;
    kv_t *view = t->batch->library->kv_create(t->batch->platform, code, size, &status, NULL, 0, 0);
    if (view == NULL && count > 1) {
        traverse(t, first, count / 2);
        traverse(t, first + count / 2, count - count / 2);
        return;
    }
    size_t place = 0;
    for (size_t index = first; index < first + count; index++) {
        const encoding *e = &t->batch->set.encodings[t->number_at(t->context, index)];
        t->visit(t->context, index, view, (int32_t)place);
        place += ENCODING_SIZE(e);
    }
    if (view != NULL)
        t->batch->library->kv_delete(view);
}

size_t chunk_count(size_t total)
{
    return (total + CHUNK_SIZE - 1) / CHUNK_SIZE;
}

enum { MAX_THREADS = 64 };

/* A traversal whose chunks several threads take. */
typedef struct {
    const traversal *traversal;
    size_t total;
    shared_counter next;
} work;

static void take_chunks(work *shared)
{
    for (;;) {
        size_t chunk = TAKE_NEXT(&shared->next);
        if (chunk >= chunk_count(shared->total))
            return;
        size_t first = chunk * CHUNK_SIZE, left = shared->total - first;
        traverse(shared->traversal, first, left < CHUNK_SIZE ? left : CHUNK_SIZE);
    }
}

#ifdef _WIN32
static DWORD WINAPI run(LPVOID shared)
{
    take_chunks(shared);
    return 0;
}

static int start(thread *started, work *shared)
{
    *started = CreateThread(NULL, 0, run, shared, 0, NULL);
    return *started != NULL;
}

static void finish(thread started)
{
    WaitForSingleObject(started, INFINITE);
    CloseHandle(started);
}
#else
static void *run(void *shared)
{
    take_chunks(shared);
    return NULL;
}

static int start(thread *started, work *shared)
{
    return pthread_create(started, NULL, run, shared) == 0;
}

static void finish(thread started)
{
    pthread_join(started, NULL);
}
#endif

void traverse_all(const traversal *t, size_t total, unsigned threads)
{
    work shared = {.traversal = t, .total = total};
    size_t count = chunk_count(total);
    thread others[MAX_THREADS];
    unsigned started = 0;
    while (started + 1 < threads && started + 1 < count && started < MAX_THREADS && start(&others[started], &shared))
        started++;
    take_chunks(&shared);
    while (started > 0)
        finish(others[--started]);
}

static uint32_t number_itself(void *context, size_t index)
{
    (void)context;
    return (uint32_t)index;
}

void batch_visit_record(void *context, size_t index, const kv_t *view, int32_t place)
{
    batch *decoded = context;
    uint8_t size = (uint8_t)ENCODING_SIZE(&decoded->set.encodings[index]);
    if (view == NULL)
        record_fill_illegal(&decoded->records[index], &decoded->ops, size);
    else
        record_fill(&decoded->records[index], decoded->library, &decoded->ops, decoded->platform, view, place, size);
}

bool batch_reserve(batch *decoded)
{
    decoded->records = calloc(decoded->set.count + 1, sizeof *decoded->records);
    return decoded->records != NULL;
}

void batch_decode(batch *decoded, unsigned threads)
{
    traversal t = {.batch = decoded, .context = decoded, .number_at = number_itself, .visit = batch_visit_record};
    traverse_all(&t, decoded->set.count, threads);
}

void batch_expand(const batch *decoded, size_t index, instruction_record *out)
{
    uint32_t offset = 0;
    for (size_t at = decoded->starts[index]; at < decoded->starts[index + 1]; at++, out++) {
        *out = decoded->records[decoded->set.numbers[at]];
        out->offset = offset;
        if (out->flags & RECORD_LABEL && !(out->flags & RECORD_ABSOLUTE_TARGET)) {
            for (int target = 0; target < 2; target++)
                if (out->targets[target] != NO_TARGET)
                    out->targets[target] = (int32_t)((uint32_t)out->targets[target] + offset);
        }
        offset += out->size;
    }
}

typedef struct {
    const uint32_t *numbers;
    const iga_library *library;
    instruction_regions *out;
} region_reading;

static uint32_t number_in_kernel(void *context, size_t index)
{
    return ((region_reading *)context)->numbers[index];
}

static void visit_regions(void *context, size_t index, const kv_t *view, int32_t place)
{
    region_reading *reading = context;
    if (view == NULL)
        memset(&reading->out[index], NO_REGION, sizeof *reading->out);
    else
        regions_fill(&reading->out[index], reading->library, view, place);
}

void batch_regions(const batch *decoded, size_t index, instruction_regions *out)
{
    region_reading reading = {decoded->set.numbers + decoded->starts[index], decoded->library, out};
    traversal t = {.batch = decoded, .context = &reading, .number_at = number_in_kernel, .visit = visit_regions};
    traverse_all(&t, decoded->starts[index + 1] - decoded->starts[index], 1);
}
