/* Many kernels of one platform, decoded together. */
#ifndef KERNLENS_BATCH_H
#define KERNLENS_BATCH_H

#include "decoder/encodings.h"
#include "decoder/record.h"

typedef struct {
    const iga_library *library;
    uint32_t platform;
    iga_ops ops;
    encoding_set set;
    instruction_record *records; /* one per distinct encoding; offset 0, targets relative */
    size_t *starts;              /* kernel i has set.numbers[starts[i]] up to, without, [starts[i + 1]] */
    size_t kernel_count;
} batch;

/* Makes room for a record of each encoding of `set`. False: out of memory. */
bool batch_reserve(batch *decoded);

/* Fills `records` from `set`. Call without the interpreter's lock. */
void batch_decode(batch *decoded, unsigned threads);

/* Fills the record of encoding `index`, in a walk whose context is the batch. */
void batch_visit_record(void *decoded, size_t index, const kv_t *view, int32_t place);

/* Writes kernel `index`'s records, starts[index + 1] - starts[index] of them. */
void batch_expand(const batch *decoded, size_t index, instruction_record *out);

/* Writes the regions of kernel `index`'s instructions, starts[index + 1] - starts[index] of them. Call without the
 * interpreter's lock. */
void batch_regions(const batch *decoded, size_t index, instruction_regions *out);

/* Instructions that go into one kv_create. Few is fast: the library finds each in a tree by its offset. */
enum { CHUNK_SIZE = 16 };

/* A walk over some of the batch's encodings. `visit` gets a view and the encoding's place in it, or NULL for one that
 * the library refuses to decode at all. */
typedef struct {
    const batch *batch;
    void *context;
    uint32_t (*number_at)(void *context, size_t index);
    void (*visit)(void *context, size_t index, const kv_t *view, int32_t place);
} traversal;

size_t chunk_count(size_t total);

/* Visits all of them, chunk by chunk, from up to `threads` threads; returns when all are done. A thread that cannot be started is
 * done without. */
void traverse_all(const traversal *t, size_t total, unsigned threads);

#endif
