/* An own SHA-256, as the layers run in other people's processes: a library that they bring (libcrypto, of whichever version) may
 * be another than the application's, and is one more that can be missing. Only the recorder's --replace hashes anything. The
 * tests compare it with Python's. */
#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 64, WORDS = 8, ROUNDS = 64 };

static const uint32_t ROUND_CONSTANTS[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turned(uint32_t word, unsigned places)
{
    return word >> places | word << (32 - places);
}

static uint32_t read_word(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void add_block(uint32_t hash[WORDS], const unsigned char *block)
{
    uint32_t schedule[ROUNDS], state[WORDS];
    for (unsigned round = 0; round < ROUNDS; ++round) {
        if (round < 16) {
            schedule[round] = read_word(block + 4 * round);
            continue;
        }
        uint32_t early = schedule[round - 15], late = schedule[round - 2];
        schedule[round] = schedule[round - 16] + schedule[round - 7] + (turned(early, 7) ^ turned(early, 18) ^ early >> 3) +
                          (turned(late, 17) ^ turned(late, 19) ^ late >> 10);
    }
    memcpy(state, hash, sizeof state);
    for (unsigned round = 0; round < ROUNDS; ++round) {
        uint32_t a = state[0], e = state[4];
        uint32_t choice = (e & state[5]) ^ (~e & state[6]);
        uint32_t majority = (a & state[1]) ^ (a & state[2]) ^ (state[1] & state[2]);
        uint32_t first = state[7] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + choice + ROUND_CONSTANTS[round] +
                         schedule[round];
        memmove(state + 1, state, 7 * sizeof *state);
        state[0] = first + (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + majority;
        state[4] += first;
    }
    for (unsigned word = 0; word < WORDS; ++word)
        hash[word] += state[word];
}

void sha256_text(const struct view *bytes, char text[SHA256_TEXT])
{
    uint32_t hash[WORDS] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    size_t whole = bytes->size / BLOCK * BLOCK, rest = bytes->size - whole;
    for (size_t offset = 0; offset < whole; offset += BLOCK)
        add_block(hash, bytes->bytes + offset);
    unsigned char end[2 * BLOCK] = {0};
    if (rest > 0)
        memcpy(end, bytes->bytes + whole, rest);
    end[rest] = 0x80;
    size_t size = rest + 9 <= BLOCK ? BLOCK : 2 * BLOCK;
    for (unsigned byte = 0; byte < 8; ++byte)
        end[size - 1 - byte] = (unsigned char)((uint64_t)bytes->size * 8 >> (8 * byte));
    for (size_t offset = 0; offset < size; offset += BLOCK)
        add_block(hash, end + offset);
    for (unsigned word = 0; word < WORDS; ++word)
        snprintf(text + (size_t)8 * word, 9, "%08x", hash[word]);
}
