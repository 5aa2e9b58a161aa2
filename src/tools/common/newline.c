#include "tools/common/newline.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* An eight-bit lane overflows after this many steps. */
#define LANE_STEPS 255

#ifdef __SSE2__

#define STEP 16

/* The comparison yields -1 for equal bytes; subtracting that adds one to their lane. */
static size_t count_steps(const char *bytes, size_t steps)
{
    const __m128i newline = _mm_set1_epi8('\n');
    const __m128i zero = _mm_setzero_si128();
    __m128i lanes = zero;
    for (size_t i = 0; i < steps; i++) {
        __m128i block = _mm_loadu_si128((const __m128i *)(const void *)(bytes + i * STEP));
        lanes = _mm_sub_epi8(lanes, _mm_cmpeq_epi8(block, newline));
    }
    __m128i sums = _mm_sad_epu8(lanes, zero);
    return (size_t)_mm_cvtsi128_si32(sums) + (size_t)_mm_cvtsi128_si32(_mm_srli_si128(sums, 8));
}

#else

#define STEP 8

static size_t count_steps(const char *bytes, size_t steps)
{
    const uint64_t ones = 0x0101010101010101u;
    const uint64_t low = 0x7f7f7f7f7f7f7f7fu;
    uint64_t lanes = 0;
    for (size_t i = 0; i < steps; i++) {
        uint64_t block;
        memcpy(&block, bytes + i * STEP, STEP);
        block ^= ones * '\n';
        /* In filled, the high bit of a byte is clear exactly where that byte of block is 0. */
        uint64_t filled = ((block & low) + low) | block;
        lanes += (~filled >> 7) & ones;
    }
    size_t sum = 0;
    for (int shift = 0; shift < 64; shift += 8) {
        sum += (lanes >> shift) & 0xff;
    }
    return sum;
}

#endif

size_t ik_newline_count(const char *bytes, size_t len)
{
    size_t count = 0;
    while (len >= STEP) {
        size_t steps = len / STEP < LANE_STEPS ? len / STEP : LANE_STEPS;
        count += count_steps(bytes, steps);
        bytes += steps * STEP;
        len -= steps * STEP;
    }
    for (size_t i = 0; i < len; i++) {
        count += bytes[i] == '\n';
    }
    return count;
}

size_t ik_newline_skip(const char *bytes, size_t len, uint64_t *lines)
{
    const size_t block = (size_t)LANE_STEPS * STEP;
    size_t at = 0;
    while (*lines > 0 && len - at >= block) {
        size_t count = count_steps(bytes + at, LANE_STEPS);
        if (count >= *lines) {
            break; /* the wanted newline is in this block */
        }
        *lines -= count;
        at += block;
    }
    while (*lines > 0 && at < len) {
        const char *found = memchr(bytes + at, '\n', len - at);
        if (found == NULL) {
            return len;
        }
        at = (size_t)(found - bytes) + 1;
        --*lines;
    }
    return at;
}
