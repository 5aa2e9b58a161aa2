/*
 * Messages that are lists of blocks, as in the formats of Anthropic ("content") and Google
 * ("parts"). A group becomes one message. On the user's side it holds all results, then the user's
 * messages, each with its images;
 * on the model's side it holds the steps in order, each replayed from its private data or, without
 * any, rebuilt from its messages.
 *
 * The private data of a step is an array of blocks. The block of a call is a placeholder in it: the
 * call itself comes from the step's message, so that it always matches its result and is stored
 * only once.
 */
#pragma once

#include "provider/wire_image.h"

typedef struct ik_blocks ik_blocks_t;

typedef struct {
    const char *user;  /* the text that opens a user's message, up to and including "[" */
    const char *model; /* the text that opens a model's message; both are closed by "]}" */
    bool images_first; /* the user's images precede the text */
    bool (*is_call)(ik_json_span_t block);
    bool (*is_words)(ik_json_span_t block); /* plain text, which may be cleaned (words.h) */
    /* Each of these begins its block with ik_blocks_begin, unless it writes none. */
    void (*append_text)(ik_blocks_t *blocks, const ik_msg_t *message);
    void (*append_image)(ik_blocks_t *blocks, ik_wire_image_t *image); /* or its marker */
    void (*append_result)(ik_blocks_t *blocks, const ik_msg_t *result);
    /* placeholder is its block in the private data (len 0: none); first: the step's first call. */
    void (*append_call)(ik_blocks_t *blocks, const ik_msg_t *call, ik_json_span_t placeholder,
                        bool first);
} ik_blocks_format_t;

/* A message being written. It is opened by its first block: servers refuse an empty message. */
struct ik_blocks {
    const ik_blocks_format_t *format;
    ik_wire_t *wire;
    const ik_request_t *request;
    const char *opening;
    ik_buffer_t *out; /* NULL before the first block */
};

/* Implements ik_provider_t.format_group. Returns the offset of a cache mark (wire.h) in the last
 * block of a user's message; SIZE_MAX when no such block was written. */
size_t ik_blocks_format_group(const ik_blocks_format_t *format, ik_wire_t *wire,
                              const ik_request_t *request, ik_msg_t *const *messages, size_t count);

/* Opens the message or appends a comma; returns the buffer to append the block to. */
ik_buffer_t *ik_blocks_begin(ik_blocks_t *blocks);
/* Appends the members of an object, each after a comma, except those named in except
 * (NULL-terminated). */
void ik_blocks_append_members(ik_buffer_t *out, ik_json_span_t object, const char *const *except);
