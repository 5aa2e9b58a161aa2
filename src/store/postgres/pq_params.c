/*
 * The binary format of an array, as the server's array_recv() reads it, in network byte order:
 * number of dimensions, whether there may be NULLs, type of the elements; size and lowest index of
 * the one dimension; then each element after its length (-1: NULL).
 */
#include "store/postgres/pq_params.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"

enum { HEADER_WORDS = 5, HEADER_SIZE = HEADER_WORDS * 4 };

/* Type OIDs by ik_pq_array_kind_t; those of built-in types never change. */
static const uint32_t type_numbers[] = {25, 20, 701};

void ik_pq_params_init(ik_pq_params_t *params, const void *ctx)
{
    *params = (ik_pq_params_t){.ctx = ctx};
}

static void add(ik_pq_params_t *params, const char *bytes, size_t len, int format)
{
    assert(params->count < IK_PQ_PARAMS_MAX);
    params->values[params->count] = bytes;
    params->lengths[params->count] = (int)len;
    params->formats[params->count++] = format;
}

void ik_pq_params_add_text(ik_pq_params_t *params, const char *text)
{
    add(params, text, 0, 0);
}

void ik_pq_params_add_number(ik_pq_params_t *params, int64_t number)
{
    ik_pq_params_add_text(params, ik_sprintf(params->ctx, "%" PRId64, number));
}

static void put_word(char *out, uint64_t word, int size)
{
    for (int i = size - 1; i >= 0; i--) {
        out[i] = (char)(word & 0xff);
        word >>= 8;
    }
}

static void append_word(ik_buffer_t *out, uint64_t word, int size)
{
    char bytes[8];
    put_word(bytes, word, size);
    ik_buffer_append(out, bytes, (size_t)size);
}

void ik_pq_array_init(ik_pq_array_t *array, const void *ctx, ik_pq_array_kind_t kind)
{
    static const char header[HEADER_SIZE];
    *array = (ik_pq_array_t){.kind = kind};
    ik_buffer_init(&array->elements, ctx, IK_BUFFER_UNLIMITED); /* bounded by the batch */
    ik_buffer_append(&array->elements, header,
                     sizeof(header)); /* filled in by ik_pq_params_add_array */
}

static void begin_element(ik_pq_array_t *array, size_t len)
{
    array->count++;
    append_word(&array->elements, (uint32_t)len, 4);
}

void ik_pq_array_add_null(ik_pq_array_t *array)
{
    begin_element(array, UINT32_MAX);
}

void ik_pq_array_add_text(ik_pq_array_t *array, const char *text)
{
    assert(array->kind == IK_PQ_ARRAY_TEXT);
    if (text == NULL) {
        ik_pq_array_add_null(array);
        return;
    }
    size_t len = strlen(text);
    begin_element(array, len);
    ik_buffer_append(&array->elements, text, len);
}

void ik_pq_array_add_number(ik_pq_array_t *array, int64_t number)
{
    assert(array->kind == IK_PQ_ARRAY_NUMBER);
    begin_element(array, 8);
    append_word(&array->elements, (uint64_t)number, 8);
}

void ik_pq_array_add_real(ik_pq_array_t *array, double number)
{
    uint64_t bits;
    assert(array->kind == IK_PQ_ARRAY_REAL);
    memcpy(&bits, &number, sizeof(bits));
    begin_element(array, 8);
    append_word(&array->elements, bits, 8);
}

void ik_pq_params_add_array(ik_pq_params_t *params, ik_pq_array_t *array)
{
    uint32_t header[HEADER_WORDS] = {array->count > 0, 1, type_numbers[array->kind], array->count,
                                     1};
    for (int i = 0; i < HEADER_WORDS; i++) {
        put_word(array->elements.data + i * 4, header[i], 4);
    }
    size_t len = array->count > 0 ? array->elements.len
                                  : HEADER_SIZE - 8; /* an empty array has no dimension */
    add(params, array->elements.data, len, 1);
}
