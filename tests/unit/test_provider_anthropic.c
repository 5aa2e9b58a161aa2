/* What the recorded streams in tests/provider cannot show: which events count as a sign of life,
 * and that a server which never stops does not exhaust memory. */
#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "provider/stream.h"
#include "suite.h"

static ik_target_t *target;

static void set_up(void)
{
    static const ik_config_provider_t config = {.name = "anthropic",
                                                .base_url = "http://127.0.0.1:9"};
    target = ik_new(NULL, ik_target_t);
    *target = (ik_target_t){&config, &ik_provider_anthropic, "anthropic/m", "m",
                            ik_new(target, ik_model_t)};
}

static void tear_down(void)
{
    talloc_free(target);
}

static ik_stream_t *begin(void)
{
    ik_stream_t *stream = ik_stream_create(target, target, &(ik_stream_listener_t){0});
    ik_stream_begin(stream, "text/event-stream");
    return stream;
}

static void feed(ik_stream_t *stream, const char *json)
{
    char *event = ik_sprintf(NULL, "data: %s\n\n", json);
    ck_assert_msg(ik_stream_feed(stream, event, strlen(event)), "%s", stream->error.message);
    talloc_free(event);
}

static void finish(ik_stream_t *stream)
{
    feed(stream, "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}");
    feed(stream, "{\"type\":\"message_stop\"}");
    ik_stream_finish(stream, true);
    ck_assert_int_eq(stream->stop, IK_STOP_END);
}

START_TEST(blocks_without_end_are_not_kept)
{
    enum { PIECE = 1024 * 1024, PIECES = IK_STREAM_MAX / PIECE };
    ik_stream_t *stream = begin();
    char *data = ik_new_array(target, char, PIECE + 1);
    memset(data, 'x', PIECE);
    char *block = ik_sprintf(target,
                             "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{"
                             "\"type\":\"odd\",\"data\":\"%s\"}}",
                             data);
    for (int i = 0; i < PIECES; i++) {
        feed(stream, block);
    }
    finish(stream);
    ck_assert_uint_gt(stream->private_json.len, 0);
    ck_assert_uint_lt(stream->private_json.len, IK_STREAM_MAX / 3 + 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("provider_anthropic");
    TCase *tests = tcase_create("provider_anthropic");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, blocks_without_end_are_not_kept);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
