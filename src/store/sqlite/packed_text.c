#include "store/sqlite/packed_text.h"

#include <string.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/buffer.h"

enum {
    PACK_FROM = 512, /* bytes; shorter texts gain nothing */
    LEVEL = -1,      /* reads a long session in half the time of level 1, for 10 % more space */
    COLUMNS = 8,
};

struct ik_packer {
    ZSTD_CCtx *packing;
    ZSTD_DCtx *unpacking;
    ik_buffer_t bound[COLUMNS + 1];
    ik_buffer_t read[COLUMNS + 1];
};

static int free_states(ik_packer_t *packer)
{
    ZSTD_freeCCtx(packer->packing);
    ZSTD_freeDCtx(packer->unpacking);
    return 0;
}

ik_packer_t *ik_packer_create(const void *ctx)
{
    ik_packer_t *packer = ik_new(ctx, ik_packer_t);
    for (size_t i = 0; i <= COLUMNS; i++) {
        ik_buffer_init(&packer->bound[i], packer, IK_BUFFER_UNLIMITED); /* bounded by the message */
        ik_buffer_init(&packer->read[i], packer, IK_BUFFER_UNLIMITED);  /* bounded by the frame */
    }
    talloc_set_destructor(packer, free_states);
    return packer;
}

/* --- binding ----------------------------------------------------------------------------- */

/* False when the text does not get shorter or there is no memory for a context. */
static bool pack(ik_packer_t *packer, const char *text, size_t len, ik_buffer_t *out)
{
    if (packer->packing == NULL) {
        packer->packing = ZSTD_createCCtx();
    }
    out->len = 0;
    size_t room = ik_buffer_reserve(out, ZSTD_compressBound(len));
    if (packer->packing == NULL || room < ZSTD_compressBound(len)) {
        return false;
    }
    size_t packed = ZSTD_compressCCtx(packer->packing, out->data, room, text, len, LEVEL);
    out->len = ZSTD_isError(packed) ? 0 : packed;
    return !ZSTD_isError(packed) && packed < len;
}

void ik_packed_text_bind(ik_packer_t *packer, sqlite3_stmt *statement, int index, const char *text)
{
    size_t len = text == NULL ? 0 : strlen(text);
    ik_buffer_t *buffer = &packer->bound[index];
    if (text == NULL) {
        sqlite3_bind_null(statement, index);
    } else if (len >= PACK_FROM && pack(packer, text, len, buffer)) {
        sqlite3_bind_blob64(statement, index, buffer->data, buffer->len, SQLITE_STATIC);
    } else {
        sqlite3_bind_text64(statement, index, text, len, SQLITE_STATIC, SQLITE_UTF8);
    }
}

/* --- reading ----------------------------------------------------------------------------- */

static res_t unpack(ik_packer_t *packer, const void *frame, size_t frame_len, ik_buffer_t *out)
{
    unsigned long long len = ZSTD_getFrameContentSize(frame, frame_len);
    if (packer->unpacking == NULL) {
        packer->unpacking = ZSTD_createDCtx();
    }
    out->len = 0;
    bool known = len != ZSTD_CONTENTSIZE_UNKNOWN && len != ZSTD_CONTENTSIZE_ERROR;
    /* zstd compresses to 1/40000 at best; a frame that claims more would only take memory. */
    bool credible = known && len / 40000 <= frame_len;
    if (!credible || packer->unpacking == NULL || ik_buffer_reserve(out, len) < len ||
        ZSTD_decompressDCtx(packer->unpacking, out->data, len, frame, frame_len) != len) {
        return ERR(DAMAGED,
                   "a stored text cannot be decompressed; `ikigai doctor` saves what can be read");
    }
    out->len = len;
    out->data[len] = '\0';
    return OK;
}

res_t ik_packed_text_read(ik_packer_t *packer, sqlite3_stmt *statement, int column,
                          const char **text, size_t *len)
{
    ik_buffer_t *buffer = &packer->read[column];
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
        *text = NULL;
        *len = 0;
        return OK;
    case SQLITE_BLOB:
        TRY(unpack(packer, sqlite3_column_blob(statement, column),
                   (size_t)sqlite3_column_bytes(statement, column), buffer));
        *text = buffer->data;
        *len = buffer->len;
        return OK;
    default:
        *text = (const char *)sqlite3_column_text(statement, column);
        *len = (size_t)sqlite3_column_bytes(statement, column);
        return OK;
    }
}
