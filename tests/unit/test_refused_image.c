/* Which image a refusal means: requests of every format are made, and the place of each image in
 * them is written as the vendor writes it. */
#include <check.h>
#include <string.h>

#include "../provider/driver.h"
#include "base/base64.h"
#include "provider/refused_image.h"
#include "suite.h"

#define PNG                                                                                        \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg" \
    "gg=="

static void *ctx;
static ik_conversation_t *conversation;

static bool read_png(void *data, const void *on, const char *sha256, char **bytes, size_t *len)
{
    ik_buffer_t contents;
    (void)data;
    (void)sha256;
    ik_buffer_init(&contents, on, IK_BUFFER_UNLIMITED);
    ck_assert(ik_base64_append_decoded(&contents, PNG, strlen(PNG)));
    *len = contents.len;
    *bytes = ik_buffer_finish(&contents);
    return true;
}

static ik_msg_image_t image(char digit)
{
    ik_msg_image_t made = {.media_type = "image/png", .bytes = 70, .width = 1, .height = 1};
    memset(made.sha256.hex, digit, IK_BLOB_NAME_LEN);
    made.name = ik_sprintf(ctx, "%c.png", digit);
    return made;
}

/* The user sends a and b; a tool returns c. */
static void set_up(void)
{
    ctx = talloc_new(NULL);
    conversation = ik_conversation_create(ctx);
    ik_msg_image_t sent[] = {image('a'), image('b')};
    ik_msg_image_t returned = image('c');
    ik_msg_call_t call = {.id = "c1", .name = "shoot", .arguments = "{}", .arguments_len = 2};
    ik_msg_result_t result = {.call_id = "c1",
                              .name = "shoot",
                              .output = "{}",
                              .success = true,
                              .images = &returned,
                              .image_count = 1,
                              .wall_ms = -1,
                              .cpu_us = -1,
                              .max_rss_kb = -1};
    ik_conversation_append(
        conversation, ik_msg_create(NULL, IK_MSG_USER, "look", ik_msg_format_images(ctx, sent, 2)));
    ik_conversation_append(conversation, ik_msg_create_call(NULL, &call, NULL));
    ik_conversation_append(conversation, ik_msg_create_result(NULL, &result));
}

static void tear_down(void)
{
    talloc_free(ctx);
}

/* "ac": the images that are named. */
static const char *find(const char *wire_name, const char *text, bool blind)
{
    const ik_target_t *target = driver_target(ctx, wire_name, "p", "http://127.0.0.1:9", "m");
    ik_request_t *request = ik_request_create(ctx, target);
    request->conversation = conversation;
    request->system = "Be brief.";
    request->images = (ik_request_images_t){.read = read_png, .blind = blind};
    ik_wire_t *wire = ik_wire_create(ctx);
    ik_wire_body_t body;
    const ik_msg_image_t *images;
    ik_wire_format(wire, request, &body);
    size_t count = ik_refused_image_find(ctx, wire, text, &images);
    char *found = ik_strdup(ctx, "");
    for (size_t i = 0; i < count; i++) {
        found = ik_sprintf(ctx, "%s%c", found, images[i].sha256.hex[0]);
    }
    return found;
}

static const struct {
    const char *wire;
    const char *text;
    const char *images;
} cases[] = {
    /* the system prompt is message 0 here */
    {"chat", "Invalid 'messages[1].content[1].image_url.url'. Expected a data URL.", "a"},
    {"chat", "messages[1].content[2].image_url.url", "b"},
    {"chat", "messages[4].content[1]: no", "c"},
    {"chat", "messages[1]: an image is refused", "ab"},
    {"chat", "messages[2]: an image is refused", "abc"}, /* there is none */
    {"chat", "messages[99].content[0]", "abc"},
    {"chat", "The image is not valid", "abc"},
    {"responses", "Invalid 'input[0].content[1].image_url'.", "a"},
    {"responses", "Invalid 'input[0].content[2].image_url'.", "b"},
    {"responses", "Invalid 'input[2].output[1].image_url'.", "c"},
    {"anthropic", "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum", "a"},
    {"anthropic", "messages.0.content.1.image.source.base64.data: no", "b"},
    {"anthropic", "messages.2.content.0.tool_result.content.1.image.source.base64: no", "c"},
    {"anthropic", "Could not process image", "abc"},
    {"google", "Invalid value at 'contents[0].parts[1].inline_data.data'", "a"},
    {"google", "Invalid value at 'contents[0].parts[2].inlineData'", "b"},
    {"google", "contents[2].parts[0].functionResponse.parts[0].inlineData", "c"},
    {"google", "Unable to process input image", "abc"},
    {"google", "contents[].parts[].x contents[99999999999].parts[0]", "abc"},
};

START_TEST(the_place_names_the_image)
{
    ck_assert_str_eq(find(cases[_i].wire, cases[_i].text, false), cases[_i].images);
    ck_assert_str_eq(find(cases[_i].wire, cases[_i].text, true), "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("refused_image");
    TCase *tests = tcase_create("refused_image");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, the_place_names_the_image, 0,
                        (int)(sizeof(cases) / sizeof(cases[0])));
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
