#include "base/nearest.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum { WORD_MAX_LEN = 40 }; /* of a word that gets suggestions */

static int least(int a, int b)
{
    return a < b ? a : b;
}

static bool is_same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

int ik_nearest_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    int rows[WORD_MAX_LEN + 1][WORD_MAX_LEN + 1];
    if (a_len > WORD_MAX_LEN || b_len > WORD_MAX_LEN) {
        return INT_MAX;
    }
    for (size_t i = 0; i <= a_len; i++) {
        for (size_t k = 0; k <= b_len; k++) {
            if (i == 0 || k == 0) {
                rows[i][k] = (int)(i + k);
                continue;
            }
            rows[i][k] = least(rows[i - 1][k - 1] + !is_same(a[i - 1], b[k - 1]),
                               least(rows[i - 1][k], rows[i][k - 1]) + 1);
            if (i > 1 && k > 1 && is_same(a[i - 1], b[k - 2]) && is_same(a[i - 2], b[k - 1])) {
                rows[i][k] = least(rows[i][k], rows[i - 2][k - 2] + 1);
            }
        }
    }
    return rows[a_len][b_len];
}

void ik_nearest_init(ik_nearest_t *nearest, const char *word, size_t len)
{
    *nearest = (ik_nearest_t){.word = word, .len = len, .distance = len < 4 ? 2 : 3};
}

void ik_nearest_offer(ik_nearest_t *nearest, const char *candidate)
{
    if (nearest->len == 0) {
        return;
    }
    bool is_prefix = strncasecmp(candidate, nearest->word, nearest->len) == 0;
    int distance =
        is_prefix ? 0
                  : ik_nearest_distance(nearest->word, nearest->len, candidate, strlen(candidate));
    if (distance < nearest->distance) {
        nearest->found = candidate;
        nearest->distance = distance;
    }
}
