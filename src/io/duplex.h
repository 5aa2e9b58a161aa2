/*
 * A connection to another program by two descriptors, one for each direction, such as standard
 * input and output. It never blocks: what the other side has not taken yet is kept. Writes of one
 * round of the loop leave together.
 */
#pragma once

#include <stddef.h>

#include "io/loop.h"

typedef struct ik_duplex ik_duplex_t;

typedef struct {
    ik_loop_t *loop;
    int in; /* borrowed, as out; a pipe, a socket, a file or a terminal */
    int out;
    size_t max_unsent; /* if the other side leaves more than this waiting, it counts as gone */
    /* May free the duplex. */
    void (*on_bytes)(void *data, const char *bytes, size_t len);
    /* Once, from the loop: the input has ended, or the other side is gone. */
    void (*on_end)(void *data);
    void *data;
} ik_duplex_options_t;

ik_duplex_t *ik_duplex_create(const void *ctx, const ik_duplex_options_t *options);
void ik_duplex_write(ik_duplex_t *duplex, const char *bytes, size_t len);
/* Writes what is kept, for at most patience_ms; for the end of a program. */
void ik_duplex_flush(ik_duplex_t *duplex, int patience_ms);
/* Why the output cannot be written; OK: it could be written so far. Another side that ended its
 * input first need not read the rest. */
res_t ik_duplex_failure(const ik_duplex_t *duplex);
