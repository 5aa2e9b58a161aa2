/*
 * What somebody may have meant who wrote a word that nobody knows: of all the words offered, one
 * that begins so, or the one that is the fewest slips of the fingers away, if those are few. Case
 * does not count.
 */
#pragma once

#include <stddef.h>

typedef struct {
    const char *word; /* as it was written */
    size_t len;
    const char *found; /* the nearest so far; NULL: none is near */
    int slips;         /* from there; what is this far or farther is no better */
} ik_nearest_t;

void ik_nearest_init(ik_nearest_t *nearest, const char *word, size_t len);
/* candidate must live as long as found is looked at. Of several equally near the first one stays.
 */
void ik_nearest_offer(ik_nearest_t *nearest, const char *candidate);

/* How many letters must be put in, left out, exchanged or swapped with their neighbour to make one
 * of the other; INT_MAX when one is too long to be a slip of anything. */
int ik_nearest_slips(const char *a, size_t a_len, const char *b, size_t b_len);
