#include "tools/grep/literal_scan.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif
#endif

enum { WINDOW = 64 }; /* the rarest bytes are chosen among this many */

/* How common each byte is in C, Python and Perl sources, manuals and change logs: 12 * log2 of its
 * occurrences in 16 million bytes. Only the order matters. */
static const unsigned char commonness[256] = {
    /* clang-format off */
    0, 0, 0, 0, 0, 0, 0, 8, 0, 214, 227, 0, 14, 50, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    255, 159, 197, 189, 178, 152, 170, 195, 205, 205, 198, 164, 209, 205, 204, 201,
    212, 200, 198, 190, 187, 187, 187, 183, 189, 186, 197, 198, 191, 202, 199, 141,
    160, 200, 184, 199, 191, 203, 188, 182, 177, 199, 146, 171, 195, 188, 195, 194,
    193, 148, 197, 201, 201, 182, 171, 171, 175, 168, 145, 175, 174, 175, 134, 225,
    171, 229, 205, 222, 220, 239, 214, 206, 213, 229, 168, 197, 222, 213, 228, 227,
    217, 174, 230, 230, 234, 216, 198, 196, 198, 201, 168, 181, 163, 181, 147, 0,
    146, 135, 137, 128, 137, 129, 126, 127, 133, 127, 123, 127, 137, 125, 118, 133,
    125, 118, 109, 115, 131, 125, 128, 121, 127, 126, 137, 123, 136, 123, 117, 129,
    128, 127, 115, 114, 125, 125, 121, 120, 135, 115, 119, 113, 115, 124, 130, 132,
    130, 115, 110, 116, 119, 110, 123, 115, 144, 124, 133, 134, 139, 131, 120, 127,
    0, 0, 95, 114, 70, 76, 26, 22, 28, 42, 34, 21, 34, 6, 105, 86,
    120, 102, 28, 26, 20, 29, 80, 97, 78, 78, 20, 18, 0, 0, 0, 0,
    111, 77, 126, 140, 151, 160, 154, 150, 145, 138, 99, 121, 125, 102, 0, 131,
    114, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    /* clang-format on */
};

static unsigned byte_cost(unsigned char c, bool ignore_case)
{
    unsigned other = ignore_case && isalpha(c) ? commonness[c ^ 0x20] : 0;
    return commonness[c] > other ? commonness[c] : other;
}

/* Chooses the two rarest bytes of the literal; for a literal of one byte, both are that byte. */
static void choose_pair(const char *text, size_t len, bool ignore_case, size_t offset[2])
{
    size_t window = len < WINDOW ? len : WINDOW;
    offset[0] = 0;
    offset[1] = window - 1;
    for (size_t i = 0; i < window; i++) {
        unsigned cost = byte_cost((unsigned char)text[i], ignore_case);
        if (cost < byte_cost((unsigned char)text[offset[0]], ignore_case)) {
            offset[0] = i;
        }
    }
    if (offset[1] == offset[0] && window > 1) {
        offset[1] = 0;
    }
    for (size_t i = 0; i < window; i++) {
        unsigned cost = byte_cost((unsigned char)text[i], ignore_case);
        bool better = cost < byte_cost((unsigned char)text[offset[1]], ignore_case);
        if (i != offset[0] && better) {
            offset[1] = i;
        }
    }
}

unsigned ik_literal_scan_cost(const char *text, size_t len, bool ignore_case)
{
    size_t offset[2];
    choose_pair(text, len, ignore_case, offset);
    unsigned first = byte_cost((unsigned char)text[offset[0]], ignore_case);
    unsigned second = len > 1 ? byte_cost((unsigned char)text[offset[1]], ignore_case) : 255;
    return first + second;
}

#ifdef __SSE2__
static bool has_avx2(void)
{
#ifdef CPU_FEATURE_ACTIVE
    /* glibc asked the processor when the program started. The other way asks again before main(),
     * which a virtual machine intercepts: a tenth of a short run. */
    return CPU_FEATURE_ACTIVE(AVX2);
#else
    return __builtin_cpu_supports("avx2");
#endif
}
#endif

void ik_literal_scan_init(ik_literal_scan_t *scan, bool ignore_case)
{
    *scan = (ik_literal_scan_t){.ignore_case = ignore_case};
#ifdef __SSE2__
    scan->avx2 = has_avx2();
#endif
}

void ik_literal_scan_add(ik_literal_scan_t *scan, const char *text, size_t len)
{
    ik_literal_t *item = &scan->items[scan->count++];
    *item = (ik_literal_t){.text = text, .len = len};
    choose_pair(text, len, scan->ignore_case, item->offset);
    for (int i = 0; i < 2; i++) {
        item->byte[i] = (unsigned char)text[item->offset[i]];
        item->fold[i] = scan->ignore_case && isalpha(item->byte[i]) ? 0x20 : 0;
    }
    if (scan->shortest == 0 || len < scan->shortest) {
        scan->shortest = len;
    }
}

static bool equal_folded(const char *text, const char *literal, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (tolower((unsigned char)text[i]) != (unsigned char)literal[i]) {
            return false;
        }
    }
    return true;
}

/* Whether a literal occurs at this position. */
static bool stands_at(const ik_literal_scan_t *scan, const char *at, const char *end)
{
    for (size_t i = 0; i < scan->count; i++) {
        const ik_literal_t *item = &scan->items[i];
        if ((size_t)(end - at) < item->len) {
            continue;
        }
        bool equal = scan->ignore_case ? equal_folded(at, item->text, item->len)
                                       : memcmp(at, item->text, item->len) == 0;
        if (equal) {
            return true;
        }
    }
    return false;
}

#ifdef __SSE2__

/* Without 32-byte registers the compiler splits it into halves. */
typedef unsigned char block_t __attribute__((vector_size(32)));

/* One bit for each byte of a comparison. */
#define BLOCK_MASK(block)                                                                          \
    ({                                                                                             \
        __m128i halves_[2];                                                                        \
        memcpy(halves_, &(block), sizeof(halves_));                                                \
        (uint32_t) _mm_movemask_epi8(halves_[0]) | (uint32_t)_mm_movemask_epi8(halves_[1]) << 16;  \
    })

/* count and fold are constants where this is inlined, so the compiler specialises each loop. */
static inline __attribute__((always_inline)) const char *find_pairs(const ik_literal_scan_t *scan,
                                                                    const char *from,
                                                                    const char *end, size_t count,
                                                                    bool fold)
{
    block_t byte[IK_LITERAL_SCAN_MAX][2];
    block_t mask[IK_LITERAL_SCAN_MAX][2];
    size_t offset[IK_LITERAL_SCAN_MAX][2];
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < 2; k++) {
            unsigned char set = scan->items[i].fold[k];
            byte[i][k] = (block_t){0} + (unsigned char)(scan->items[i].byte[k] | set);
            mask[i][k] = (block_t){0} + set;
            offset[i][k] = scan->items[i].offset[k];
        }
    }
    if ((size_t)(end - from) < scan->shortest) {
        return NULL;
    }
    const char *last = end - scan->shortest;
    for (const char *at = from; at <= last; at += sizeof(block_t)) {
        block_t any = {0};
        for (size_t i = 0; i < count; i++) {
            block_t first;
            block_t second;
            memcpy(&first, at + offset[i][0], sizeof(first));
            memcpy(&second, at + offset[i][1], sizeof(second));
            if (fold) {
                first |= mask[i][0];
                second |= mask[i][1];
            }
            any |= (block_t)(first == byte[i][0]) & (block_t)(second == byte[i][1]);
        }
        for (uint32_t hits = BLOCK_MASK(any); hits != 0; hits &= hits - 1) {
            const char *place = at + __builtin_ctz(hits);
            if (place <= last && stands_at(scan, place, end)) {
                return place;
            }
        }
    }
    return NULL;
}

#define FIND_CASE(count)                                                                           \
    case count:                                                                                    \
        return scan->ignore_case ? find_pairs(scan, from, end, count, true)                        \
                                 : find_pairs(scan, from, end, count, false)
#define FIND_SWITCH                                                                                \
    switch (scan->count) {                                                                         \
        FIND_CASE(1);                                                                              \
        FIND_CASE(2);                                                                              \
        FIND_CASE(3);                                                                              \
        FIND_CASE(4);                                                                              \
        FIND_CASE(5);                                                                              \
        FIND_CASE(6);                                                                              \
        FIND_CASE(7);                                                                              \
        FIND_CASE(8);                                                                              \
    default:                                                                                       \
        return NULL;                                                                               \
    }

static __attribute__((target("avx2"))) const char *find_avx2(const ik_literal_scan_t *scan,
                                                             const char *from, const char *end)
{
    FIND_SWITCH
}

static const char *find_sse2(const ik_literal_scan_t *scan, const char *from, const char *end)
{
    FIND_SWITCH
}

const char *ik_literal_scan_find(const ik_literal_scan_t *scan, const char *from, const char *end)
{
    return scan->avx2 ? find_avx2(scan, from, end) : find_sse2(scan, from, end);
}

#else

const char *ik_literal_scan_find(const ik_literal_scan_t *scan, const char *from, const char *end)
{
    const ik_literal_t *only = scan->count == 1 ? &scan->items[0] : NULL;
    if (only == NULL || only->fold[0] != 0) {
        while (from < end && !stands_at(scan, from, end)) {
            from++;
        }
        return from < end ? from : NULL;
    }
    while ((size_t)(end - from) >= only->len) {
        size_t room = (size_t)(end - from) - (only->len - 1);
        const char *rare = memchr(from + only->offset[0], only->byte[0], room);
        if (rare == NULL) {
            return NULL;
        }
        from = rare - only->offset[0];
        if (stands_at(scan, from, end)) {
            return from;
        }
        from++;
    }
    return NULL;
}

#endif
