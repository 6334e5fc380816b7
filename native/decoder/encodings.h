/* Splits code into instructions and numbers the distinct ones.
 *
 * More than half of a program's instructions repeat an earlier one byte for byte, and what an instruction means depends
 * on its bytes alone (branch targets are relative). So each distinct encoding is decoded once.
 */
#ifndef KERNLENS_ENCODINGS_H
#define KERNLENS_ENCODINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t words[4]; /* the two last are 0 in a compacted instruction */
} encoding;

typedef struct {
    encoding *encodings;
    size_t count, capacity;
    uint32_t *slots; /* hash table: encoding number + 1, 0 is free */
    size_t slot_count;
    uint64_t seed;
    uint32_t *numbers; /* encoding number of every instruction, in order, of every buffer added */
    size_t number_count, number_capacity;
} encoding_set;

#define ENCODING_SIZE(e) ((e)->words[0] & 1u << 29 ? 8u : 16u) /* bit 29, CmptCtrl */

void encoding_set_init(encoding_set *set);
void encoding_set_free(encoding_set *set);

/* Adds one buffer's instructions; a tail shorter than its instruction is left out. False: out of memory. */
bool encoding_set_add(encoding_set *set, const uint8_t *code, size_t size);

#endif
