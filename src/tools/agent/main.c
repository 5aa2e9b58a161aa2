/* agent: gives a task to a sub-agent, over the host channel. */
#include "tools/common/host_relay.h"

static void run(ik_tool_call_t *call)
{
    static const char *const members[] = {"prompt", "agent", "tools", "model", "mode", NULL};
    ik_host_relay_run(call, "agent", members);
}

static const ik_tool_param_t params[] = {
    {.name = "prompt",
     .type = IK_TOOL_PARAM_STRING,
     .required = true,
     .text = true,
     .description = "The task, with everything that the sub-agent must know: it sees nothing of "
                    "this conversation. Say what it should report"},
    {.name = "agent",
     .type = IK_TOOL_PARAM_STRING,
     .text = true,
     .description = "Name of the agent to start; without it, one like you"},
    {.name = "tools",
     .type = IK_TOOL_PARAM_ARRAY,
     .items = "{\"type\":\"string\"}",
     .description = "The only tools it has; without it, yours"},
    {.name = "model",
     .type = IK_TOOL_PARAM_STRING,
     .text = true,
     .description = "Its model, as provider/model; without it, yours"},
    {.name = "mode",
     .type = IK_TOOL_PARAM_STRING,
     .text = true,
     .description = "How far it may go: full, auto, ask or plan; never further than you"},
    {0},
};

static const ik_tool_program_t program = {
    .name = "agent",
    .description = "Give a task to a sub-agent, which works on it with a conversation of its own "
                   "and returns its last message. Use it for work that takes many steps and whose "
                   "steps you do not need, such as searching a large code base. Several calls in "
                   "one answer work side by side",
    .params = params,
    .returns =
        "{\"type\":\"object\",\"properties\":{"
        "\"text\":{\"type\":\"string\",\"description\":\"The last message of the sub-agent\"},"
        "\"usage\":{\"type\":\"object\",\"description\":\"Tokens and cost of its work\"},"
        "\"agent\":{\"type\":\"integer\",\"description\":\"Its number in the session\"}},"
        "\"required\":[\"text\",\"usage\",\"agent\"]}",
    .limits =
        "The task takes at most 1 MiB, the arguments 1 GB; more than 96 KB of the answer are cut.",
    .display = IK_DISPLAY_MARKDOWN,
    .parallel = true,
    .effects = {.write = IK_WRITE_NONE},
    .host = IK_HOST_AGENT,
    .run = run,
};

int main(int argc, char **argv)
{
    return ik_tool_program_main(&program, argc, argv);
}
