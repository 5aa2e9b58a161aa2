/*
 * Messages that are lists of blocks, as Anthropic ("content") and Google ("parts") have them. A
 * group is one message: of the user's side first all results, then the text; of the model's side
 * step after step, each as its provider left it or else rebuilt from its messages.
 *
 * What a provider left is an array of blocks in which the block of a call is only a place: the call
 * itself is taken from the step's message, so it always fits its result and is stored once.
 */
#pragma once

#include "provider/wire.h"

typedef struct ik_blocks ik_blocks_t;

typedef struct {
    const char *user;  /* how a message of the user's side begins, up to and with "[" */
    const char *model; /* the same of the model's; both end with "]}" */
    bool (*is_call)(ik_json_span_t block);
    bool (*is_words)(ik_json_span_t block); /* what may be cleaned (words.h) */
    /* Each begins its block, if there is to be one, with ik_blocks_begin. */
    void (*append_text)(ik_blocks_t *blocks, const ik_msg_t *message);
    void (*append_result)(ik_blocks_t *blocks, const ik_msg_t *result);
    /* place: what the provider left of it; len 0: nothing. first: of its step. */
    void (*append_call)(ik_blocks_t *blocks, const ik_msg_t *call, ik_json_span_t place,
                        bool first);
} ik_blocks_format_t;

/* A message being written. It begins with its first block: servers refuse one without. */
struct ik_blocks {
    const ik_blocks_format_t *format;
    ik_wire_t *wire;
    const ik_request_t *request;
    const char *opening;
    ik_buffer_t *out; /* NULL before the first block */
};

/* What ik_provider_t.format_group does. Returns where the last block of the user's side could take
 * another member: SIZE_MAX when there is none. */
size_t ik_blocks_format_group(const ik_blocks_format_t *format, ik_wire_t *wire,
                              const ik_request_t *request, ik_msg_t *const *messages, size_t count);

/* The buffer to append a block to. */
ik_buffer_t *ik_blocks_begin(ik_blocks_t *blocks);
/* Appends the members of an object, each after a comma, but for those that are named
 * (NULL-terminated). */
void ik_blocks_append_members(ik_buffer_t *out, ik_json_span_t object, const char *const *except);
