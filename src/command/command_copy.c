/* /copy: copies the last answer, or a code block of it, to the clipboard. The screen reports the
 * outcome. */
#include <inttypes.h>
#include <md4c.h>
#include <string.h>

#include "base/alloc.h"
#include "base/markdown_code.h"
#include "command/command_list.h"

/* --- code blocks, as md4c sees them -------------------------------------------------------- */

typedef struct {
    int64_t wanted; /* from 1; 0: the last one */
    int64_t count;
    bool inside; /* a block that may be the wanted one */
    ik_markdown_code_t code;
} blocks_t;

static int on_enter_block(MD_BLOCKTYPE type, void *detail, void *data)
{
    (void)detail;
    blocks_t *blocks = data;
    if (type == MD_BLOCK_CODE) {
        blocks->count++;
        blocks->inside = blocks->wanted == 0 || blocks->wanted == blocks->count;
        if (blocks->inside) {
            ik_markdown_code_begin(&blocks->code);
        }
    }
    return 0;
}

static int on_leave_block(MD_BLOCKTYPE type, void *detail, void *data)
{
    (void)type;
    (void)detail;
    ((blocks_t *)data)->inside = false;
    return 0;
}

static int on_span(MD_SPANTYPE type, void *detail, void *data)
{
    (void)type;
    (void)detail;
    (void)data;
    return 0;
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE len, void *data)
{
    (void)type;
    blocks_t *blocks = data;
    if (blocks->inside) {
        ik_markdown_code_append(&blocks->code, text, len);
    }
    return 0;
}

static void find_blocks(const char *answer, blocks_t *blocks)
{
    static const MD_PARSER parser = {
        .flags = MD_DIALECT_GITHUB,
        .enter_block = on_enter_block,
        .leave_block = on_leave_block,
        .enter_span = on_span,
        .leave_span = on_span,
        .text = on_text,
    };
    md_parse(answer, (MD_SIZE)strlen(answer), &parser, blocks);
}

/* --- the command --------------------------------------------------------------------------- */

static const char *find_last_answer(const ik_conversation_t *conversation)
{
    for (size_t i = conversation->count; i > 0; i--) {
        const ik_msg_t *message = conversation->messages[i - 1];
        if (ik_msg_is(message, IK_MSG_ASSISTANT) && !ik_msg_text_is_blank(message->content)) {
            return message->content;
        }
    }
    return NULL;
}

static void copy_code(ik_command_host_t *host, const ik_command_args_t *args, const char *answer,
                      int64_t wanted)
{
    blocks_t blocks = {.wanted = wanted};
    ik_markdown_code_init(&blocks.code, args, answer, strlen(answer));
    find_blocks(answer, &blocks);
    if (blocks.count == 0) {
        host->screen->print_line(host, "The last answer has no code block.");
    } else if (wanted > blocks.count) {
        host->screen->print_line(host,
                                 ik_sprintf(args, "The last answer has %" PRId64 " code block%s.",
                                            blocks.count, blocks.count == 1 ? "" : "s"));
    } else {
        const ik_buffer_t *code = &blocks.code.text;
        host->screen->copy(host, code->len == 0 ? "" : code->data, code->len);
    }
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    const char *answer =
        find_last_answer(ik_agent_conversation(ik_workspace_require_agent(host->workspace)));
    int64_t number = 0;
    bool code = args->count > 0;
    if (code && strcmp(args->words[0], "code") != 0 &&
        !ik_command_parse_number(host, &ik_command_copy, args->words[0], &number)) {
        return;
    }
    if (answer == NULL) {
        host->screen->print_line(host, "There is no answer yet.");
    } else if (code) {
        copy_code(host, args, answer, number);
    } else {
        host->screen->copy(host, answer, strlen(answer));
    }
}

static void complete(ik_command_host_t *host, int word, ik_command_words_t *out)
{
    (void)host;
    if (word == 1) {
        ik_command_words_add(out, "code", "the last code block of the last answer");
    }
}

const ik_command_t ik_command_copy = {
    .name = "copy",
    .usage = "[N|code]",
    .help = "Copies the last answer, its last code block or its Nth one.",
    .max_args = 1,
    .run = run,
    .complete = complete,
};
