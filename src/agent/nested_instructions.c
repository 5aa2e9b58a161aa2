#include "agent/nested_instructions.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent_state.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "tool/tool_wrapper.h"

static const char member[] = "instructions";

/* --- what the model has ------------------------------------------------------------------ */

/* Adds the paths of the instructions in an envelope. */
static void add_paths(ik_id_set_t *known, const char *envelope, size_t len)
{
    ik_json_span_t whole;
    ik_json_span_t list;
    ik_json_span_t entry;
    ik_json_span_t path;
    if (!ik_json_scan(envelope, len, &whole, NULL) || !ik_json_is(whole, IK_JSON_OBJECT) ||
        !ik_json_find_kind(whole, member, IK_JSON_ARRAY, &list)) {
        return;
    }
    for (size_t at = 0; ik_json_next_element(list, &at, &entry);) {
        if (ik_json_is(entry, IK_JSON_OBJECT) &&
            ik_json_find_kind(entry, "path", IK_JSON_STRING, &path)) {
            char *text = ik_json_decode(known, path, NULL);
            ik_id_set_add(known, text);
            talloc_free(text);
        }
    }
}

/* The paths in the results that the next request contains. */
static ik_id_set_t *collect_known(const void *ctx, ik_agent_t *agent)
{
    /* how the member begins in the stored literal, whose quotes are escaped */
    static const char begin[] = "\\\"instructions\\\":[";
    const ik_context_t *context = ik_agent_context(agent);
    size_t trimmed = ik_context_trimmed_results(context);
    size_t results = 0;
    ik_id_set_t *known = ik_id_set_create(ctx);
    for (size_t i = 0; i < context->sent->count; i++) {
        const ik_msg_t *message = context->sent->messages[i];
        ik_json_span_t output;
        if (!ik_msg_is(message, IK_MSG_TOOL_RESULT) || ++results <= trimmed ||
            !ik_msg_field(message, "output", &output) ||
            memmem(output.text, output.len, begin, sizeof(begin) - 1) == NULL) {
            continue;
        }
        size_t len;
        char *envelope = ik_json_decode(known, output, &len);
        add_paths(known, envelope, len);
        talloc_free(envelope);
    }
    return known;
}

typedef struct {
    ik_agent_t *agent;
    ik_id_set_t *known; /* NULL: not collected yet */
} knowledge_t;

/* Paths are compared as the model gets them: as valid UTF-8. */
static bool is_known(void *data, const char *path)
{
    knowledge_t *knowledge = data;
    const char *system = ik_agent_system(knowledge->agent);
    void *scratch = talloc_new(NULL);
    ik_buffer_t clean;
    ik_buffer_init(&clean, scratch, IK_BUFFER_UNLIMITED); /* bounded by the path */
    ik_utf8_append_clean(&clean, path, strlen(path));
    path = ik_buffer_finish(&clean);
    bool known = system != NULL &&
                 strstr(system, ik_sprintf(scratch, "<agents_md path=\"%s\">", path)) != NULL;
    if (!known && knowledge->known == NULL) {
        knowledge->known = collect_known(NULL, knowledge->agent);
    }
    known = known || ik_id_set_has(knowledge->known, path);
    talloc_free(scratch);
    return known;
}

/* --- joining ----------------------------------------------------------------------------- */

/* Whether the tool did what it was called for. */
static bool is_success(const char *envelope)
{
    ik_json_span_t whole;
    ik_json_span_t result;
    ik_json_span_t error;
    return ik_json_scan(envelope, strlen(envelope), &whole, NULL) &&
           ik_json_find_kind(whole, "result", IK_JSON_OBJECT, &result) &&
           !ik_json_find(result, "error", &error);
}

/* The file that the call reads, without symlinks, on ctx; NULL: none. */
static char *find_file(const void *ctx, const ik_agent_t *agent, const ik_call_t *call)
{
    ik_json_span_t arguments;
    ik_json_span_t literal;
    char real[PATH_MAX];
    if (strcmp(call->name, "file_read") != 0 ||
        !ik_json_scan(call->arguments, call->arguments_len, &arguments, NULL) ||
        !ik_json_find_kind(arguments, "file_path", IK_JSON_STRING, &literal)) {
        return NULL;
    }
    char *path = ik_json_decode(ctx, literal, NULL);
    if (path[0] != '/') {
        path = ik_file_join(ctx, agent->shared->tool_context.folder, path);
    }
    return realpath(path, real) == NULL ? NULL : ik_strdup(ctx, real);
}

/* Keeps the problems that the user was not told of; a file that cannot be used is met at every read
 * below its folder. */
static void keep_news(ik_agent_t *agent, ik_instructions_t *found)
{
    size_t kept = 0;
    if (agent->told_problems == NULL) {
        agent->told_problems = ik_id_set_create(agent);
    }
    for (size_t i = 0; i < found->problem_count; i++) {
        ik_instruction_problem_t problem = found->problems[i];
        if (!ik_id_set_has(agent->told_problems, problem.text)) {
            ik_id_set_add(agent->told_problems, problem.text);
            found->problems[kept++] = problem;
        }
    }
    found->problem_count = kept;
}

ik_instructions_t *ik_nested_instructions_find(const void *ctx, ik_agent_t *agent,
                                               const ik_call_t *call, const char *envelope)
{
    knowledge_t knowledge = {.agent = agent};
    ik_instructions_t *found = NULL;
    void *scratch = talloc_new(NULL);
    char *file = find_file(scratch, agent, call);
    if (file != NULL) {
        found = ik_instructions_find_below(ctx, agent->shared->tool_context.folder, file, is_known,
                                           &knowledge);
    }
    if (found != NULL && !is_success(envelope)) {
        TALLOC_FREE(found);
    }
    if (found != NULL) {
        keep_news(agent, found);
    }
    talloc_free(knowledge.known);
    talloc_free(scratch);
    return found;
}

char *ik_nested_instructions_append(const void *ctx, char *envelope, const ik_instructions_t *found)
{
    ik_buffer_t list;
    if (found->count == 0) {
        return envelope;
    }
    ik_buffer_init(&list, ctx, IK_BUFFER_UNLIMITED); /* bounded by IK_INSTRUCTIONS_MAX */
    for (size_t i = 0; i < found->count; i++) {
        ik_buffer_append_text(&list, i == 0 ? "[{\"path\":" : ",{\"path\":");
        ik_json_append_text(&list, found->files[i].path);
        ik_buffer_append_text(&list, ",\"text\":");
        ik_json_append_text(&list, found->files[i].text);
        ik_buffer_append_byte(&list, '}');
    }
    ik_buffer_append_byte(&list, ']');
    return ik_tool_wrap_add_member(ctx, envelope, member, ik_buffer_finish(&list));
}
