/*
 * The lines of a file, one at a time, whatever bytes are in them: their ends (LF, CRLF, or the end
 * of the file) are taken off, and so is a byte order mark before the first.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/error.h"

typedef struct ik_line_reader ik_line_reader_t;

/* Reads from where the file stands. max is of one line, in bytes. */
ik_line_reader_t *ik_line_reader_create(const void *ctx, FILE *in, size_t max);

/* *line stays until the next call; NULL at the end of the file. IK_ERR_LIMIT when it is too long,
 * IK_ERR_SYSTEM when the file cannot be read. */
res_t ik_line_reader_next(ik_line_reader_t *reader, const ik_buffer_t **line);
/* Of the last line, or of the one that could not be read; from 1. */
int64_t ik_line_reader_number(const ik_line_reader_t *reader);
