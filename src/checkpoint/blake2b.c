#include "checkpoint/blake2b.h"

#include <string.h>

enum { BLOCK = 128, ROUNDS = 12 };

static const uint64_t start[8] = {
    UINT64_C(0x6a09e667f3bcc908), UINT64_C(0xbb67ae8584caa73b), UINT64_C(0x3c6ef372fe94f82b),
    UINT64_C(0xa54ff53a5f1d36f1), UINT64_C(0x510e527fade682d1), UINT64_C(0x9b05688c2b3e6c1f),
    UINT64_C(0x1f83d9abfb41bd6b), UINT64_C(0x5be0cd19137e2179),
};

/* The order in which a round takes the words of the block. The last two rounds repeat the first. */
static const unsigned char order[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static inline uint64_t turn_right(uint64_t word, int bits)
{
    return word >> bits | word << (64 - bits);
}

static inline uint64_t load(const unsigned char *bytes)
{
    uint64_t word = 0;
    for (int i = 7; i >= 0; i--) {
        word = word << 8 | bytes[i];
    }
    return word;
}

static inline void mix(uint64_t v[16], int a, int b, int c, int d, uint64_t x, uint64_t y)
{
    v[a] += v[b] + x;
    v[d] = turn_right(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = turn_right(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = turn_right(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = turn_right(v[b] ^ v[c], 63);
}

static void compress(ik_blake2b_t *hash, const unsigned char *block, uint64_t last)
{
    uint64_t m[16];
    uint64_t v[16];
    for (int i = 0; i < 16; i++) {
        m[i] = load(block + 8 * i);
        v[i] = i < 8 ? hash->state[i] : start[i - 8];
    }
    v[12] ^= hash->counted; /* the upper half of the 128-bit counter is always 0 here */
    v[14] ^= last;
#pragma GCC unroll 12
    for (int round = 0; round < ROUNDS; round++) {
        const unsigned char *s = order[round % 10];
        mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
        mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
        mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
        mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
        mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
        mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
        mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
        mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
    }
    for (int i = 0; i < 8; i++) {
        hash->state[i] ^= v[i] ^ v[i + 8];
    }
}

void ik_blake2b_init(ik_blake2b_t *hash)
{
    memset(hash, 0, sizeof(*hash));
    memcpy(hash->state, start, sizeof(start));
    hash->state[0] ^= 0x01010000 ^ IK_BLAKE2B_SIZE; /* no key, sequential */
}

/* The last block is compressed by finish, so a full block waits until more bytes come. */
void ik_blake2b_update(ik_blake2b_t *hash, const void *bytes, size_t len)
{
    const unsigned char *from = bytes;
    while (len > 0) {
        if (hash->filled == BLOCK) {
            hash->counted += BLOCK;
            compress(hash, hash->block, 0);
            hash->filled = 0;
        }
        if (hash->filled == 0) {
            for (; len > BLOCK; from += BLOCK, len -= BLOCK) {
                hash->counted += BLOCK;
                compress(hash, from, 0);
            }
        }
        size_t take = BLOCK - hash->filled < len ? BLOCK - hash->filled : len;
        memcpy(hash->block + hash->filled, from, take);
        hash->filled += take;
        from += take;
        len -= take;
    }
}

void ik_blake2b_finish(ik_blake2b_t *hash, unsigned char out[IK_BLAKE2B_SIZE])
{
    hash->counted += hash->filled;
    memset(hash->block + hash->filled, 0, BLOCK - hash->filled);
    compress(hash, hash->block, UINT64_MAX);
    for (int i = 0; i < IK_BLAKE2B_SIZE; i++) {
        out[i] = (unsigned char)(hash->state[i / 8] >> (8 * (i % 8)));
    }
}
