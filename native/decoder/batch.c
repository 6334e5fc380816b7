#include "decoder/batch.h"

#include "decoder/work.h"

#include <stdlib.h>
#include <string.h>

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

void traverse_chunk(const traversal *t, size_t chunk, size_t total)
{
    size_t first = chunk * CHUNK_SIZE, left = total - first;
    traverse(t, first, left < CHUNK_SIZE ? left : CHUNK_SIZE);
}

size_t chunk_count(size_t total)
{
    return (total + CHUNK_SIZE - 1) / CHUNK_SIZE;
}

static uint32_t number_itself(void *context, size_t index)
{
    (void)context;
    return (uint32_t)index;
}

static void visit_record(void *context, size_t index, const kv_t *view, int32_t place)
{
    batch *decoded = context;
    uint8_t size = (uint8_t)ENCODING_SIZE(&decoded->set.encodings[index]);
    if (view == NULL)
        record_fill_illegal(&decoded->records[index], &decoded->ops, size);
    else
        record_fill(&decoded->records[index], decoded->library, &decoded->ops, decoded->platform, view, place, size);
}

static void decode_chunk(void *context, size_t chunk)
{
    batch *decoded = context;
    traversal t = {.batch = decoded, .context = decoded, .number_at = number_itself, .visit = visit_record};
    traverse_chunk(&t, chunk, decoded->set.count);
}

bool batch_decode(batch *decoded, unsigned threads)
{
    if (decoded->set.count == 0)
        return true;
    decoded->records = calloc(decoded->set.count, sizeof *decoded->records);
    if (decoded->records == NULL)
        return false;
    work_run(decode_chunk, decoded, chunk_count(decoded->set.count), threads);
    return true;
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
    size_t total = decoded->starts[index + 1] - decoded->starts[index];
    for (size_t chunk = 0; chunk < chunk_count(total); chunk++)
        traverse_chunk(&t, chunk, total);
}
