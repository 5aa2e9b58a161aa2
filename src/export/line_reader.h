/*
 * Reads a file line by line, with any bytes in them. Line ends (LF, CRLF) and a byte order mark
 * before the first line are removed.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/error.h"

typedef struct ik_line_reader ik_line_reader_t;

/* Reads from the current position of the file. max limits the bytes of one line. */
ik_line_reader_t *ik_line_reader_create(const void *ctx, FILE *in, size_t max);

/* *out is valid until the next call; NULL at the end of the file. IK_ERR_LIMIT when the line is too
 * long, IK_ERR_SYSTEM when the file cannot be read. */
res_t ik_line_reader_next(ik_line_reader_t *reader, const ik_buffer_t **out);
/* The number of the last line, also of one that could not be read; from 1. */
int64_t ik_line_reader_number(const ik_line_reader_t *reader);
