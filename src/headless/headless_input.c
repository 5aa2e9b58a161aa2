#include "headless/headless_input.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/utf8.h"
#include "conversation/message.h"

/* Nothing is piped in from a terminal, /dev/null or a closed descriptor. */
static bool is_piped(void)
{
    struct stat status;
    return fstat(STDIN_FILENO, &status) == 0 &&
           (S_ISFIFO(status.st_mode) || S_ISREG(status.st_mode) || S_ISSOCK(status.st_mode));
}

static res_t read_all(ik_buffer_t *input)
{
    enum { STEP = 65536 };
    for (;;) {
        size_t room = ik_buffer_reserve(input, STEP);
        ssize_t got = read(STDIN_FILENO, input->data + input->len, room);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return ERR(SYSTEM, "cannot read standard input: %s", strerror(errno));
        }
        if (got == 0) {
            input->data[input->len] = '\0';
            return OK;
        }
        input->len += (size_t)got;
        if (input->len > IK_HEADLESS_INPUT_MAX) {
            return ERR(LIMIT, "more than %d MB on standard input: give the model a file to read",
                       IK_HEADLESS_INPUT_MAX / 1024 / 1024);
        }
    }
}

/* UTF-8 without NUL, which would end the text where it stands. */
static void append_clean(ik_buffer_t *out, const char *bytes, size_t len)
{
    while (len > 0) {
        const char *nul = memchr(bytes, '\0', len);
        size_t part = nul == NULL ? len : (size_t)(nul - bytes);
        ik_utf8_append_clean(out, bytes, part);
        if (nul != NULL) {
            ik_buffer_append_text(out, IK_UTF8_REPLACEMENT);
            part++;
        }
        bytes += part;
        len -= part;
    }
}

res_t ik_headless_input_read(const void *ctx, const char *prompt, char **out)
{
    ik_buffer_t input;
    ik_buffer_t text;
    ik_buffer_init(&input, ctx, 2 * (size_t)IK_HEADLESS_INPUT_MAX);
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    if (prompt != NULL) {
        append_clean(&text, prompt, strlen(prompt));
    }
    if (is_piped()) {
        TRY(read_all(&input));
    }
    if (input.len > 0 && text.len > 0) {
        ik_buffer_append_text(&text, "\n\n");
    }
    append_clean(&text, input.data, input.len);
    ik_buffer_reset(&input);
    if (ik_msg_text_is_blank(text.data)) {
        return ERR(INVALID, "no prompt: give one behind -p, or pipe it in");
    }
    *out = ik_buffer_take(ctx, &text);
    return OK;
}
