/* ask_user: asks the user a question, over the host channel. */
#include "base/host_protocol.h"
#include "tools/common/host_relay.h"
#include "tools/common/tool_program.h"

static void run(ik_tool_call_t *call)
{
    static const char *const members[] = {"question", "choices", "default", NULL};
    ik_host_relay_run(call, "ask", members);
}

static const ik_tool_param_t params[] = {
    {.name = "question",
     .type = IK_TOOL_PARAM_STRING,
     .required = true,
     .text = true,
     .description = "The question, as the user will read it"},
    {.name = "choices",
     .type = IK_TOOL_PARAM_ARRAY,
     .items = "{\"type\":\"string\"}",
     .description = "Answers to choose from; the user may also type another one"},
    {.name = "default",
     .type = IK_TOOL_PARAM_STRING,
     .text = true,
     .description = "The answer that Enter gives"},
    {0},
};

static const ik_tool_program_t program = {
    .name = "ask_user",
    .description = "Ask the user a question and wait for the answer. Use it when a decision is the "
                   "user's and guessing wrong would cost more than asking",
    .params = params,
    .returns = "{\"type\":\"object\",\"properties\":{"
               "\"answer\":{\"type\":\"string\",\"description\":\"What the user chose or typed\"}},"
               "\"required\":[\"answer\"]}",
    .limits = "The arguments take at most 1 MB; 100 choices.",
    .effects = {.write = IK_WRITE_NONE},
    .host = IK_HOST_ASK,
    .run = run,
};

int main(int argc, char **argv)
{
    return ik_tool_program_main(&program, argc, argv);
}
