#include "provider/openai/chat_think.h"

#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"

static const char open_tag[] = "<think>";
static const char close_tag[] = "</think>";
enum { BLANK_MAX = 64 }; /* bytes of white space that may precede the tag */

typedef enum {
    BEGIN,  /* only white space or a part of the tag has come */
    INSIDE, /* thinking */
    GAP,    /* white space between thinking and answer */
    ANSWER,
} phase_t;

struct ik_chat_think {
    ik_stream_t *stream;
    phase_t phase;
    ik_buffer_t held; /* bytes that may be part of a tag */
};

ik_chat_think_t *ik_chat_think_create(ik_stream_t *stream)
{
    ik_chat_think_t *think = ik_new(stream, ik_chat_think_t);
    think->stream = stream;
    ik_buffer_init(&think->held, think, IK_STREAM_MAX);
    return think;
}

static size_t count_blank(const char *text, size_t len)
{
    size_t blank = 0;
    while (blank < len && text[blank] != '\0' && strchr(" \t\r\n", text[blank]) != NULL) {
        blank++;
    }
    return blank;
}

/* Removes the first bytes of the buffer. */
static void skip(ik_buffer_t *held, size_t len)
{
    memmove(held->data, held->data + len, held->len - len);
    held->len -= len;
}

static void begin_answer(ik_chat_think_t *think)
{
    think->phase = ANSWER;
    ik_stream_add_text(think->stream, think->held.data, think->held.len);
    think->held.len = 0;
}

/* The settle functions return whether the phase changed, so that the held bytes are read again. */

static bool settle_begin(ik_chat_think_t *think)
{
    ik_buffer_t *held = &think->held;
    size_t blank = count_blank(held->data, held->len);
    size_t rest = held->len - blank;
    size_t tag = sizeof(open_tag) - 1;
    if (blank > BLANK_MAX || memcmp(held->data + blank, open_tag, rest < tag ? rest : tag) != 0) {
        begin_answer(think);
        return false;
    }
    if (rest < tag) {
        return false;
    }
    skip(held, blank + tag);
    think->phase = INSIDE;
    return true;
}

/* The number of bytes at the end that could begin the closing tag. */
static size_t count_tag_begin(const ik_buffer_t *held)
{
    size_t most = sizeof(close_tag) - 2;
    for (size_t len = held->len < most ? held->len : most; len > 0; len--) {
        if (memcmp(held->data + held->len - len, close_tag, len) == 0) {
            return len;
        }
    }
    return 0;
}

static bool settle_inside(ik_chat_think_t *think)
{
    ik_buffer_t *held = &think->held;
    const char *tag = memmem(held->data, held->len, close_tag, sizeof(close_tag) - 1);
    size_t thought = tag == NULL ? held->len - count_tag_begin(held) : (size_t)(tag - held->data);
    ik_stream_add_reasoning(think->stream, held->data, thought);
    skip(held, tag == NULL ? thought : thought + sizeof(close_tag) - 1);
    think->phase = tag == NULL ? INSIDE : GAP;
    return tag != NULL;
}

static void settle(ik_chat_think_t *think)
{
    bool again = think->held.len > 0;
    while (again && think->held.len > 0) {
        switch (think->phase) {
        case BEGIN:
            again = settle_begin(think);
            break;
        case INSIDE:
            again = settle_inside(think);
            break;
        default:
            skip(&think->held, count_blank(think->held.data, think->held.len));
            if (think->held.len > 0) {
                begin_answer(think);
            }
            again = false;
            break;
        }
    }
}

void ik_chat_think_add(ik_chat_think_t *think, ik_json_span_t literal)
{
    if (think->phase == ANSWER) {
        ik_stream_add_text_literal(think->stream, literal);
        return;
    }
    size_t len;
    char *text = ik_json_decode(NULL, literal, &len);
    for (char *nul; (nul = memchr(text, '\0', len)) != NULL;) {
        *nul = ' ';
    }
    ik_utf8_append_clean(&think->held, text, len);
    talloc_free(text);
    settle(think);
}

void ik_chat_think_flush(ik_chat_think_t *think)
{
    if (think->phase == BEGIN && think->held.len > 0) {
        begin_answer(think);
    } else if (think->phase == INSIDE) {
        ik_stream_add_reasoning(think->stream, think->held.data, think->held.len);
        think->held.len = 0;
    }
}
