/*
 * A tsvector knows 16,383 positions and keeps 256 of a word. Positions of a longer text begin again
 * from 1: what stands together deep inside of it is still found together, and two words that only
 * seem to be neighbours are the smaller harm. Further ones of a word the server drops by itself,
 * and it also brings the places of a word together, so each is written as it comes.
 */
#include "store/postgres/postgres_words.h"

#include "base/buffer.h"
#include "store/words/event_text.h"
#include "store/words/text_words.h"

enum {
    POSITION_MAX = 16383,
    /* The server takes a megabyte, of the words as they are written, and of each word once with its
     * places. Only text whose characters grow when they are folded comes near. */
    BYTES_MAX = 1 << 19,
};

typedef struct {
    ik_buffer_t text;
    size_t count;
    size_t bytes;
} writer_t;

/* No word has quotes or backslashes in it: it consists of letters and digits. */
static bool on_word(void *data, const ik_text_word_t *word)
{
    writer_t *writer = data;
    writer->bytes += word->len;
    if (writer->bytes > BYTES_MAX) {
        return false;
    }
    ik_buffer_append_byte(&writer->text, '\'');
    ik_buffer_append(&writer->text, word->word, word->len);
    ik_buffer_append_format(&writer->text, "':%zu ", 1 + writer->count++ % POSITION_MAX);
    return true;
}

char *ik_postgres_words_format(const void *ctx, const ik_store_event_t *event)
{
    ik_buffer_t text;
    writer_t writer = {0};
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&writer.text, ctx, IK_BUFFER_UNLIMITED);
    ik_event_text_append(&text, event);
    if (text.len > 0) {
        ik_text_words(text.data, text.len, on_word, &writer);
    }
    ik_buffer_reset(&text);
    return writer.text.data;
}
