#include "extend/argument_words.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"

static const char blanks[] = " \t\r\n";

/* Reads the word at `at`, which is not a blank, and returns the position after it. */
static const char *read_word(ik_buffer_t *word, const char *at)
{
    char quote = '\0';
    ik_buffer_append_text(word, "");
    for (; *at != '\0' && (quote != '\0' || strchr(blanks, *at) == NULL); at++) {
        if (*at == quote) {
            quote = '\0';
        } else if (quote == '\0' && (*at == '"' || *at == '\'')) {
            quote = *at;
        } else {
            ik_buffer_append_byte(word, *at);
        }
    }
    return at;
}

char **ik_argument_words_split(const void *ctx, const char *text, size_t *count)
{
    char **words = NULL;
    *count = 0;
    for (const char *at = text + strspn(text, blanks); *at != '\0'; at += strspn(at, blanks)) {
        ik_buffer_t word;
        ik_buffer_init(&word, ctx, IK_BUFFER_UNLIMITED); /* bounded by the text */
        at = read_word(&word, at);
        words = ik_resize_array(ctx, words, char *, *count + 1);
        words[(*count)++] = ik_buffer_finish(&word);
    }
    return words;
}
