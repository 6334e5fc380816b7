#include "decoder/encodings.h"

#include "base/arrays.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

void encoding_set_init(encoding_set *set)
{
    memset(set, 0, sizeof *set);
    /* Differs from run to run, so that no file can be made whose instructions all meet in one slot. */
    set->seed = (uint64_t)time(NULL) * 0x9E3779B97F4A7C15u ^ (uint64_t)(uintptr_t)set ^ (uint64_t)clock() << 32;
}

void encoding_set_free(encoding_set *set)
{
    free(set->encodings);
    free(set->slots);
    free(set->numbers);
    memset(set, 0, sizeof *set);
}

static uint64_t mixed(uint64_t value)
{
    value ^= value >> 32;
    value *= 0xD6E8FEB86659FD93u;
    value ^= value >> 32;
    value *= 0xD6E8FEB86659FD93u;
    return value ^ value >> 32;
}

static uint64_t hash_of(const encoding_set *set, const encoding *e)
{
    uint64_t low = (uint64_t)e->words[1] << 32 | e->words[0], high = (uint64_t)e->words[3] << 32 | e->words[2];
    return mixed(mixed(low ^ set->seed) + high);
}

static bool grow_slots(encoding_set *set)
{
    size_t slot_count = set->slot_count ? set->slot_count * 2 : 1024;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL)
        return false;
    for (size_t number = 0; number < set->count; number++) {
        size_t slot = hash_of(set, &set->encodings[number]) & (slot_count - 1);
        while (slots[slot])
            slot = (slot + 1) & (slot_count - 1);
        slots[slot] = (uint32_t)number + 1;
    }
    free(set->slots);
    set->slots = slots;
    set->slot_count = slot_count;
    return true;
}

/* Makes room for the numbers of `size` more bytes of code, which hold at most size / 8 instructions. */
static bool reserve_numbers(encoding_set *set, size_t size)
{
    size_t count = set->number_count + size / 8;
    uint32_t *numbers = array_reserve(set->numbers, &set->number_capacity, count, sizeof *numbers);
    if (numbers != NULL)
        set->numbers = numbers;
    return numbers != NULL;
}

/* Adds an encoding; its number is `count` before. */
static bool add_encoding(encoding_set *set, const encoding *e)
{
    encoding *encodings = array_reserve(set->encodings, &set->capacity, set->count + 1, sizeof *encodings);
    if (encodings == NULL)
        return false;
    set->encodings = encodings;
    set->encodings[set->count++] = *e;
    return true;
}

/* Returns the encoding's number, a new one if need be; UINT32_MAX if there is no memory. */
static uint32_t number_of(encoding_set *set, const encoding *e)
{
    if (set->count * 2 >= set->slot_count && !grow_slots(set))
        return UINT32_MAX;
    size_t slot = hash_of(set, e) & (set->slot_count - 1);
    while (set->slots[slot]) {
        uint32_t number = set->slots[slot] - 1;
        if (memcmp(&set->encodings[number], e, sizeof *e) == 0)
            return number;
        slot = (slot + 1) & (set->slot_count - 1);
    }
    if (set->count >= UINT32_MAX - 1 || !add_encoding(set, e))
        return UINT32_MAX;
    set->slots[slot] = (uint32_t)set->count;
    return (uint32_t)set->count - 1;
}

bool encoding_set_add(encoding_set *set, const uint8_t *code, size_t size)
{
    if (!reserve_numbers(set, size))
        return false;
    size_t offset = 0;
    while (size - offset >= 8) {
        encoding e = {{0, 0, 0, 0}};
        memcpy(e.words, code + offset, 8);
        if (ENCODING_SIZE(&e) == 16) {
            if (size - offset < 16)
                break;
            memcpy(e.words + 2, code + offset + 8, 8);
        }
        uint32_t number = number_of(set, &e);
        if (number == UINT32_MAX)
            return false;
        set->numbers[set->number_count++] = number;
        offset += ENCODING_SIZE(&e);
    }
    return true;
}
