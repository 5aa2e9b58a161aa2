#include "provider/blocks.h"

#include "provider/words.h"

ik_buffer_t *ik_blocks_begin(ik_blocks_t *blocks)
{
    if (blocks->out != NULL) {
        ik_buffer_append_byte(blocks->out, ',');
        return blocks->out;
    }
    blocks->out = ik_wire_begin_element(blocks->wire);
    ik_buffer_append_text(blocks->out, blocks->opening);
    return blocks->out;
}

static bool is_among(ik_json_span_t key, const char *const *names)
{
    while (*names != NULL && !ik_json_key_is(key, *names)) {
        names++;
    }
    return *names != NULL;
}

void ik_blocks_append_members(ik_buffer_t *out, ik_json_span_t object, const char *const *except)
{
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t value;
    while (object.len > 0 && ik_json_next_member(object, &position, &key, &value)) {
        if (!is_among(key, except)) {
            ik_buffer_append_byte(out, ',');
            ik_buffer_append(out, key.text, (size_t)(value.text + value.len - key.text));
        }
    }
}

/* --- the user's side --------------------------------------------------------------------- */

static void append_images(ik_blocks_t *blocks, const ik_msg_t *message)
{
    size_t position = 0;
    ik_wire_image_t *image;
    while ((image = ik_wire_image_next(blocks->wire, message, &position)) != NULL) {
        blocks->format->append_image(blocks, image);
    }
}

static void append_user(ik_blocks_t *blocks, ik_msg_t *const *messages, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (ik_msg_is(messages[i], IK_MSG_TOOL_RESULT)) {
            blocks->format->append_result(blocks, messages[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (!ik_msg_is(messages[i], IK_MSG_USER)) {
            continue;
        }
        if (blocks->format->images_first) {
            append_images(blocks, messages[i]);
        }
        blocks->format->append_text(blocks, messages[i]);
        if (!blocks->format->images_first) {
            append_images(blocks, messages[i]);
        }
    }
}

/* --- the model's side -------------------------------------------------------------------- */

static void rebuild_step(ik_blocks_t *blocks, const ik_wire_step_t *step)
{
    bool first = true;
    for (size_t i = 0; i < step->count; i++) {
        if (ik_msg_is(step->messages[i], IK_MSG_TOOL_CALL)) {
            blocks->format->append_call(blocks, step->messages[i], (ik_json_span_t){0}, first);
            first = false;
        } else {
            blocks->format->append_text(blocks, step->messages[i]);
        }
    }
}

/* Whether the private data has one placeholder for each call of the step. */
static bool can_replay(const ik_blocks_t *blocks, const ik_wire_step_t *step)
{
    ik_json_span_t block;
    size_t position = 0;
    size_t call = 0;
    if (step->private_json.len == 0 || ik_json_kind(step->private_json) != IK_JSON_ARRAY) {
        return false;
    }
    while (ik_json_next_element(step->private_json, &position, &block)) {
        if (ik_json_kind(block) != IK_JSON_OBJECT ||
            (blocks->format->is_call(block) && ik_wire_next_call(step, &call) == NULL)) {
            return false;
        }
    }
    return ik_wire_next_call(step, &call) == NULL;
}

static void replay_step(ik_blocks_t *blocks, const ik_wire_step_t *step)
{
    ik_json_span_t block;
    size_t position = 0;
    size_t call = 0;
    bool first = true;
    while (ik_json_next_element(step->private_json, &position, &block)) {
        if (blocks->format->is_call(block)) {
            blocks->format->append_call(blocks, ik_wire_next_call(step, &call), block, first);
            first = false;
        } else if (blocks->format->is_words(block)) {
            ik_words_append_json(ik_blocks_begin(blocks), block);
        } else {
            ik_buffer_append(ik_blocks_begin(blocks), block.text, block.len);
        }
    }
}

static void append_answer(ik_blocks_t *blocks, ik_msg_t *const *messages, size_t count)
{
    ik_wire_step_t step;
    size_t position = 0;
    while (ik_wire_next_step(blocks->wire, blocks->request, messages, count, &position, &step)) {
        if (can_replay(blocks, &step)) {
            replay_step(blocks, &step);
        } else {
            rebuild_step(blocks, &step);
        }
    }
}

size_t ik_blocks_format_group(const ik_blocks_format_t *format, ik_wire_t *wire,
                              const ik_request_t *request, ik_msg_t *const *messages, size_t count)
{
    bool answer =
        ik_msg_is(messages[0], IK_MSG_ASSISTANT) || ik_msg_is(messages[0], IK_MSG_TOOL_CALL);
    ik_blocks_t blocks = {format, wire, request, answer ? format->model : format->user, NULL};
    (answer ? append_answer : append_user)(&blocks, messages, count);
    if (blocks.out == NULL) {
        return SIZE_MAX;
    }
    size_t brace = blocks.out->len - 1;
    ik_buffer_append_text(blocks.out, "]}");
    return answer ? SIZE_MAX : brace;
}
