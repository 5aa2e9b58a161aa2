/*
 * What a model gives to a shipped tool: run() sees checked parameters, or there is an answer that
 * says what is wrong; in any case there is one answer, and it is JSON.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "pieces.h"
#include "tools/common/tool_program.h"

static const ik_tool_param_t params[] = {
    {"text", IK_TOOL_PARAM_STRING, true, "", 0, 0, true, NULL},
    {"bytes", IK_TOOL_PARAM_STRING, false, "", 0, 0, false, NULL},
    {"number", IK_TOOL_PARAM_INTEGER, false, "", 1, 600, false, NULL},
    {"any", IK_TOOL_PARAM_INTEGER, false, "", 0, 0, false, NULL},
    {"flag", IK_TOOL_PARAM_BOOLEAN, false, "", 0, 0, false, NULL},
    {NULL, 0, false, NULL, 0, 0, false, NULL},
};

static void run(ik_tool_call_t *call)
{
    size_t len;
    const char *text = ik_tool_param_string(call, "text", &len, NULL);
    REQUIRE(text != NULL && strlen(text) == len && ik_utf8_valid(text, len));
    int64_t number = ik_tool_param_integer(call, "number", 1);
    REQUIRE(number >= 1 && number <= 600);
    const char *bytes = ik_tool_param_string(call, "bytes", &len, "");
    ik_tool_answer_output(call, bytes, len);
    ik_tool_answer_integer(call, "any", ik_tool_param_integer(call, "any", 0));
    ik_tool_answer_boolean(call, "flag", ik_tool_param_boolean(call, "flag"));
    ik_tool_answer_string(call, "text", text);
    ik_tool_answer_send(call);
}

static const ik_tool_program_t program = {
    .name = "fuzzed", .description = "", .params = params, .returns = "{}", .run = run};

/* A file in memory for a standard stream; returns a descriptor to put back. */
static int replace(int stream, const char *text, size_t len)
{
    int fd = memfd_create("stream", MFD_CLOEXEC);
    int saved = dup(stream);
    REQUIRE(fd >= 0 && write(fd, text, len) == (ssize_t)len && lseek(fd, 0, SEEK_SET) == 0);
    REQUIRE(dup2(fd, stream) == stream);
    close(fd);
    return saved;
}

static void put_back(int stream, int saved)
{
    if (saved < 0) {
        close(stream);
        return;
    }
    REQUIRE(dup2(saved, stream) == stream);
    close(saved);
}

static void check_answer(void)
{
    off_t len = lseek(STDOUT_FILENO, 0, SEEK_END);
    char *answer = ik_new_array(NULL, char, (size_t)len + 1);
    REQUIRE(pread(STDOUT_FILENO, answer, (size_t)len, 0) == len);
    ik_json_span_t value = pieces_require_json(answer, (size_t)len);
    REQUIRE(ik_json_kind(value) == IK_JSON_OBJECT);
    talloc_free(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char *argv[] = {"fuzzed", NULL};
    int in = replace(STDIN_FILENO, (const char *)bytes, len);
    int out = replace(STDOUT_FILENO, "", 0);
    REQUIRE(ik_tool_program_main(&program, 1, argv) == 0);
    check_answer();
    put_back(STDIN_FILENO, in);
    put_back(STDOUT_FILENO, out);
    return 0;
}
