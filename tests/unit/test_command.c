/* Slash commands with a host that writes down what it is asked for. Registry, history, agent and
 * project are real ones. */
#include "base/alloc.h"
#include "base/file.h"
#include "command/command.h"
#include "scratch.h"
#include "terminal/key_table.h"

static void *ctx;
static ik_paths_t *paths;
static ik_config_t *config;
static ik_shared_ctx_t shared;
static ik_session_t *session;
static ik_agent_t *agent;
static const ik_target_t *target;
static ik_command_host_t host;

/* --- the host ------------------------------------------------------------------------------ */

static ik_buffer_t said;   /* what was printed and asked for since the last command */
static ik_buffer_t copied; /* what is in the clipboard */
static ik_command_answer_fn on_answer;
static void *question_data;
static ik_command_usage_t usage;
static ik_command_agent_t agents[12];
static size_t agent_count;

static void print(ik_command_host_t *self, const char *text)
{
    ck_assert_ptr_eq(self, &host);
    ik_buffer_append_text(&said, text);
}

static void print_line(ik_command_host_t *self, const char *text)
{
    ck_assert_ptr_eq(self, &host);
    ik_buffer_append_format(&said, "%s\n", text);
}

static void complain(ik_command_host_t *self, const char *text)
{
    ck_assert_ptr_eq(self, &host);
    ik_buffer_append_format(&said, "FAILED: %s\n", text);
}

static void ask(ik_command_host_t *self, const char *question, ik_command_answer_fn answer,
                void *data)
{
    ck_assert_ptr_eq(self, &host);
    ik_buffer_append_format(&said, "ASKED: %s\n", question);
    on_answer = answer;
    question_data = data;
}

static ik_agent_t *get_agent(ik_command_host_t *self)
{
    (void)self;
    return agent;
}

static ik_session_t *get_session(ik_command_host_t *self)
{
    (void)self;
    return session;
}

static const ik_target_t *get_target(ik_command_host_t *self)
{
    (void)self;
    return target;
}

static res_t set_model(ik_command_host_t *self, const char *model)
{
    (void)self;
    return ik_target_create(ctx, config, shared.models, model, &target);
}

static void get_usage(ik_command_host_t *self, ik_command_usage_t *out)
{
    (void)self;
    *out = usage;
}

static void note(const char *action, const char *argument)
{
    ik_buffer_append_format(&said, "[%s%s%s]\n", action, argument == NULL ? "" : " ",
                            argument == NULL ? "" : argument);
}

static void refresh(ik_command_host_t *self)
{
    (void)self;
    note("refresh", NULL);
}

static void begin_session(ik_command_host_t *self)
{
    (void)self;
    note("begin", NULL);
}

static void resume_session(ik_command_host_t *self, const char *id)
{
    (void)self;
    note("resume", id);
}

static ik_command_agent_t *get_agents(ik_command_host_t *self, const void *owner, size_t *count)
{
    (void)self;
    ik_command_agent_t *list = ik_new_array(owner, ik_command_agent_t, agent_count);
    memcpy(list, agents, agent_count * sizeof(*list));
    *count = agent_count;
    return list;
}

static void fork_agent(ik_command_host_t *self, const char *prompt)
{
    (void)self;
    note("fork", prompt);
}

static res_t act_on(const char *action, int64_t number, int64_t last)
{
    if (number > last) {
        return ERR(NOT_FOUND, "There is no number %lld", (long long)number);
    }
    ik_buffer_append_format(&said, "[%s %lld]\n", action, (long long)number);
    return OK;
}

static res_t switch_agent(ik_command_host_t *self, int64_t number)
{
    (void)self;
    return act_on("switch", number, 2);
}

static res_t kill_agent(ik_command_host_t *self, int64_t number)
{
    (void)self;
    return act_on("kill", number, 2);
}

static res_t show_result(ik_command_host_t *self, size_t number)
{
    (void)self;
    return act_on("show", (int64_t)number, 2);
}

static void copy(ik_command_host_t *self, const char *text, size_t len)
{
    (void)self;
    copied.len = 0;
    ik_buffer_append(&copied, text, len);
    ik_buffer_append_byte(&copied, '\0');
}

static void open_pager(ik_command_host_t *self)
{
    (void)self;
    note("pager", NULL);
}

static void show_text(ik_command_host_t *self, const char *title, const char *text)
{
    note(title, text);
    (void)self;
}

static void leave(ik_command_host_t *self)
{
    (void)self;
    note("leave", NULL);
}

static const ik_command_actions_t actions = {
    .print = print,
    .print_line = print_line,
    .fail = complain,
    .ask = ask,
    .agent = get_agent,
    .session = get_session,
    .target = get_target,
    .set_model = set_model,
    .usage = get_usage,
    .refresh = refresh,
    .begin_session = begin_session,
    .resume_session = resume_session,
    .agents = get_agents,
    .fork = fork_agent,
    .switch_agent = switch_agent,
    .kill_agent = kill_agent,
    .show_result = show_result,
    .copy = copy,
    .open_pager = open_pager,
    .show_text = show_text,
    .leave = leave,
};

/* --- the stage ----------------------------------------------------------------------------- */

static ik_models_t *make_models(void)
{
    static const char text[] = "{\"models\": {"
                               "\"openai/big\": {\"limits\": {\"context\": 1050000}, "
                               "\"prices\": [{\"input\": 2.5, \"output\": 10}]},"
                               "\"openaix/other\": {\"limits\": {\"context\": 1}},"
                               "\"anthropic/keyless\": {\"limits\": {\"context\": 200000}}}}";
    ik_models_t *models = ik_models_create(ctx);
    res_t parsed = ik_models_parse(models, "models.json", text, strlen(text));
    ck_assert_msg(is_ok(&parsed), "%s", parsed.message);
    return models;
}

static void add_tool(ik_tool_registry_t *registry, const char *name, ik_tool_source_t source,
                     const char *schema_text)
{
    ik_tool_schema_t *schema;
    char *path = ik_sprintf(ctx, "/tools/%s", name);
    res_t parsed = ik_tool_schema_parse(ctx, schema_text, strlen(schema_text), &schema);
    ck_assert_msg(is_ok(&parsed), "%s", parsed.message);
    res_t added = ik_tool_registry_add(registry, path, path, source, false, schema);
    ck_assert_msg(is_ok(&added), "%s", added.message);
}

static ik_tool_registry_t *make_registry(void)
{
    ik_tool_registry_t *registry = ik_tool_registry_create(ctx);
    add_tool(registry, "zap", IK_TOOL_USER, "{\"name\":\"zap\",\"description\":\"Zaps.\"}");
    add_tool(registry, "bash", IK_TOOL_SYSTEM,
             "{\"name\":\"bash\",\"description\":\"Runs.\",\"parameters\":{\"type\":\"object\","
             "\"properties\":{\"command\":{\"type\":\"string\",\"description\":\"What.\"},"
             "\"note\":{\"type\":\"string\"}},\"required\":[\"command\"]}}");
    return registry;
}

static void use_session(ik_history_t *history)
{
    shared.history = history;
    session = ik_session_create(
        ctx, history, &(ik_session_facts_t){.cwd = paths->cwd, .model = "offline/offline"});
}

static void on_event(void *data, const ik_agent_event_t *event)
{
    (void)data;
    (void)event;
}

static ik_agent_options_t agent_options(const char *prompt)
{
    return (ik_agent_options_t){.shared = &shared,
                                .target = target,
                                .session = session,
                                .system_prompt = prompt,
                                .on_event = on_event};
}

/* The agent goes on with what say and its like stored. */
static void take_up(void)
{
    ik_agent_options_t options = agent_options(NULL);
    talloc_free(agent);
    res_t resumed = ik_agent_resume(ctx, &options, IK_STORE_ROOT_AGENT, &agent);
    ck_assert_msg(is_ok(&resumed), "%s", resumed.message);
}

static void store(ik_msg_t *message)
{
    res_t stored = ik_session_append(session, IK_STORE_ROOT_AGENT, &message, 1, IK_STORE_NORMAL);
    ck_assert_msg(is_ok(&stored), "%s", stored.message);
}

static void say(const char *kind, const char *text, const char *data_json)
{
    store(ik_msg_create(ctx, kind, text, data_json));
}

/* A conversation that ends with this answer. */
static void answer(const char *text)
{
    say(IK_MSG_USER, "please", NULL);
    say(IK_MSG_ASSISTANT, text, NULL);
    take_up();
}

static void set_up(void)
{
    scratch_empty();
    ctx = talloc_new(NULL);
    scratch_make_folder("home");
    scratch_make_folder("project");
    scratch_make_folder("project/.ikigai");
    setenv("OPENAI_API_KEY", "secret", 1);
    setenv("HOME", scratch_path("home"), 1);
    ik_paths_origin_t origin = {.default_prefix = "/nonexistent",
                                .user_home = scratch_path("home"),
                                .cwd = scratch_path("project")};
    ck_assert_int_eq(ik_paths_create_from(ctx, &origin, &paths).code, IK_ERR_NONE);
    ck_assert_int_eq(ik_config_load(ctx, paths, NULL, &config).code, IK_ERR_NONE);
    ck_assert_int_eq(ik_target_create(ctx, config, NULL, "offline/offline", &target).code,
                     IK_ERR_NONE);
    shared = (ik_shared_ctx_t){.config = config,
                               .models = make_models(),
                               .tool_registry = make_registry(),
                               .tool_scan_state = TOOL_SCAN_COMPLETE};
    ck_assert_int_eq(ik_loop_create(ctx, &shared.loop).code, IK_ERR_NONE);
    use_session(
        ik_history_create(ctx, &(ik_history_options_t){.db = ":memory:", .loop = shared.loop}));
    ik_agent_options_t options = agent_options("You are a test.");
    agent = ik_agent_create(ctx, &options);
    host = (ik_command_host_t){
        .actions = &actions, .ctx = talloc_new(ctx), .paths = paths, .shared = &shared};
    ik_buffer_init(&said, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&copied, ctx, IK_BUFFER_UNLIMITED);
    on_answer = NULL;
    usage = (ik_command_usage_t){.usage = IK_USAGE_NONE, .cost = -1};
    agent_count = 0;
}

static void tear_down(void)
{
    talloc_free(host.ctx);
    talloc_free(agent);
    talloc_free(session);
    talloc_free(shared.history);
    talloc_free(ctx);
}

/* What the command said and did. */
static const char *run(const char *line)
{
    said.len = 0;
    ik_command_run(&host, line, false);
    ik_buffer_append_byte(&said, '\0');
    return said.data;
}

static void on_moment(void *data)
{
    *(bool *)data = true;
}

/* The same for one whose answer comes from the loop. */
static const char *run_and_wait(const char *line)
{
    bool over = false;
    run(line);
    ck_assert_str_eq(said.data, "");
    said.len = 0;
    ik_timer_t *moment = ik_timer_create(ctx, shared.loop, on_moment, &over);
    ik_timer_start(moment, 20);
    ck_assert(ik_loop_run_until(shared.loop, &over));
    talloc_free(moment);
    ik_buffer_append_byte(&said, '\0');
    return said.data;
}

static const char *answer_question(bool yes)
{
    ck_assert_ptr_nonnull(on_answer);
    said.len = 0;
    on_answer(&host, question_data, yes);
    talloc_free(question_data);
    on_answer = NULL;
    ik_buffer_append_byte(&said, '\0');
    return said.data;
}

/* Words for an argument, "text(note) …". */
static const char *completed(const char *name, int word)
{
    const ik_command_t *command = ik_command_find(name, strlen(name));
    ik_command_words_t words = {.ctx = ctx};
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    command->complete(&host, word, &words);
    for (size_t i = 0; i < words.count; i++) {
        ik_buffer_append_format(&text, "%s%s(%s)", i == 0 ? "" : " ", words.texts[i],
                                words.notes[i] == NULL ? "" : words.notes[i]);
    }
    return ik_buffer_finish(&text);
}

static void assert_has(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "'%s' is not in:\n%s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) == NULL, "'%s' is in:\n%s", part, text);
}

/* --- the table ----------------------------------------------------------------------------- */

static const char *const promised[] = {
    "help", "tool",   "refresh", "trust",  "model",    "clear",  "compact",
    "fork", "agents", "switch",  "kill",   "sessions", "resume", "search",
    "show", "copy",   "usage",   "system", "export",   "exit",   "pager",
};
enum { PROMISED = sizeof(promised) / sizeof(promised[0]) };

START_TEST(every_promised_command_is_there_and_no_other)
{
    size_t count;
    ik_command_table(&count);
    ck_assert_uint_eq(count, PROMISED);
    for (size_t i = 0; i < PROMISED; i++) {
        const ik_command_t *found = ik_command_find(promised[i], strlen(promised[i]));
        ck_assert_msg(found != NULL, "/%s", promised[i]);
        ck_assert_str_eq(found->name, promised[i]);
    }
}
END_TEST

START_TEST(the_table_is_sorted_and_complete)
{
    size_t count;
    const ik_command_t *const *table = ik_command_table(&count);
    for (size_t i = 0; i < count; i++) {
        ck_assert(i == 0 || strcmp(table[i - 1]->name, table[i]->name) < 0);
        ck_assert_ptr_nonnull(table[i]->run);
        ck_assert_uint_le(table[i]->min_args, table[i]->max_args);
        ck_assert_int_eq(*table[i]->usage == '\0', table[i]->max_args == 0);
        ck_assert_int_eq(table[i]->help[strlen(table[i]->help) - 1], '.');
    }
}
END_TEST

START_TEST(a_name_is_found_with_and_without_the_slash_but_whole)
{
    ck_assert_str_eq(ik_command_find("/model", 6)->name, "model");
    ck_assert_str_eq(ik_command_find("model", 5)->name, "model");
    ck_assert_str_eq(ik_command_find("/model x", 6)->name, "model");
    ck_assert_ptr_null(ik_command_find("/mode", 5));
    ck_assert_ptr_null(ik_command_find("/models", 7));
    ck_assert_ptr_null(ik_command_find("//model", 7));
    ck_assert_ptr_null(ik_command_find("/", 1));
    ck_assert_ptr_null(ik_command_find("", 0));
}
END_TEST

/* --- the dispatcher ------------------------------------------------------------------------ */

START_TEST(unknown_names_suggest_the_nearest)
{
    static const char *const cases[][2] = {
        {"/modle", "model"},  {"/ehpl", "help"},       {"/exot", "exit"},
        {"/agent", "agents"}, {"/sess", "sessions"},   {"/tools", "tool"},
        {"/seach", "search"}, {"/comapct", "compact"}, {"/sesions x", "sessions"},
        {"/u", "usage"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *end = ik_sprintf(ctx, "Did you mean /%s?\n", cases[i][1]);
        assert_has(run(cases[i][0]), end);
    }
    ck_assert_str_eq(run("/modle x"), "FAILED: There is no command /modle. Did you mean /model?\n");
}
END_TEST

START_TEST(what_is_near_nothing_gets_no_suggestion)
{
    static const char *const cases[] = {
        "/xyzzy", "/",
        "/ help", "/usr/bin/env is broken",
        "/ls",    "/a-name-that-is-longer-than-any-command-would-ever-be"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_lacks(run(cases[i]), "Did you mean");
        assert_has(said.data, "FAILED: There is no command /");
        assert_has(said.data, "/help lists all.");
    }
}
END_TEST

START_TEST(wrong_use_prints_the_usage_line)
{
    size_t count;
    const ik_command_t *const *table = ik_command_table(&count);
    for (size_t i = 0; i < count; i++) {
        char *usage_line = ik_sprintf(ctx, "FAILED: Usage: /%s%s%s\n", table[i]->name,
                                      *table[i]->usage == '\0' ? "" : " ", table[i]->usage);
        char *line = ik_sprintf(ctx, "/%s", table[i]->name);
        if (table[i]->min_args > 0) {
            ck_assert_str_eq(run(line), usage_line);
        }
        for (size_t k = 0; k <= table[i]->max_args; k++) {
            line = ik_sprintf(ctx, "%s x", line);
        }
        if (!(table[i]->flags & IK_COMMAND_TAKES_REST)) {
            ck_assert_str_eq(run(line), usage_line);
        }
    }
}
END_TEST

START_TEST(words_are_cut_at_white_space_that_is_not_quoted)
{
    ck_assert_str_eq(run("/resume abc"), "[resume abc]\n");
    ck_assert_str_eq(run("/resume \t abc\n"), "[resume abc]\n");
    ck_assert_str_eq(run("/resume 'a b'"), "[resume a b]\n");
    ck_assert_str_eq(run("/resume \"a 'b\""), "[resume a 'b]\n");
    ck_assert_str_eq(run("/resume a\" b\"c"), "[resume a bc]\n");
    ck_assert_str_eq(run("/resume ''"), "[resume ]\n");
    ck_assert_str_eq(run("/resume 'never closed "), "[resume never closed]\n");
    ck_assert_str_eq(run("/resume 'a' b"), "FAILED: Usage: /resume [ID]\n");
}
END_TEST

START_TEST(the_rest_of_the_line_stays_as_it_is)
{
    ck_assert_str_eq(run("/fork  it's \"one\"  thing\nand more \n"),
                     "[fork it's \"one\"  thing\nand more]\n");
    ck_assert_str_eq(run("/fork"), "[fork]\n");
    ck_assert_str_eq(run("/fork \t"), "[fork]\n");
}
END_TEST

START_TEST(some_wait_for_the_end_of_the_turn)
{
    size_t count;
    const ik_command_t *const *table = ik_command_table(&count);
    ik_buffer_t idle;
    ik_buffer_init(&idle, ctx, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < count; i++) {
        if (!(table[i]->flags & IK_COMMAND_NEEDS_IDLE)) {
            continue;
        }
        said.len = 0;
        ik_buffer_append_format(&idle, "%s ", table[i]->name);
        ik_command_run(&host, ik_sprintf(ctx, "/%s", table[i]->name), true);
        assert_has(said.data, "has to wait until the turn has ended");
    }
    ck_assert_str_eq(idle.data, "clear compact fork model resume ");
    said.len = 0;
    ik_command_run(&host, "/exit", true);
    ck_assert_str_eq(said.data, "[leave]\n");
}
END_TEST

START_TEST(some_wait_for_tools)
{
    static const char *const waiting[] = {"/tool", "/tool bash", "/trust", "/refresh"};
    static const char *const others[] = {"/tool a b", "/exit", "/nonsense"};
    for (size_t i = 0; i < sizeof(waiting) / sizeof(waiting[0]); i++) {
        shared.tool_scan_state = TOOL_SCAN_IN_PROGRESS;
        ck_assert(ik_command_must_wait(&host, waiting[i]));
        shared.tool_scan_state = TOOL_SCAN_COMPLETE;
        ck_assert(!ik_command_must_wait(&host, waiting[i]));
    }
    shared.tool_scan_state = TOOL_SCAN_IN_PROGRESS;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        ck_assert(!ik_command_must_wait(&host, others[i]));
    }
}
END_TEST

START_TEST(a_session_is_not_left_while_an_agent_works)
{
    agents[0] = (ik_command_agent_t){.number = 1, .current = true, .model = "a/b", .title = ""};
    agents[1] = (ik_command_agent_t){.number = 3, .busy = true, .model = "a/b", .title = ""};
    agent_count = 2;
    assert_has(run("/clear"), "FAILED: Agent 3 is still working: wait for it, or /kill 3.\n");
    assert_has(run("/resume abc"), "FAILED: Agent 3 is still working");
    agents[1].busy = false;
    ck_assert_str_eq(run("/clear"), "[begin]\n");
}
END_TEST

START_TEST(numbers_are_checked)
{
    static const char *const names[] = {"switch", "kill", "show"};
    static const char *const wrong[] = {"x",  "0",   "-1", "1x",
                                        "+1", "1.5", "''", "99999999999999999999"};
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
            run(ik_sprintf(ctx, "/%s %s", names[i], wrong[k]));
            assert_has(said.data, "is no number from 1 on. Usage: /");
            assert_lacks(said.data, "[");
        }
        run(ik_sprintf(ctx, "/%s 3", names[i]));
        ck_assert_str_eq(said.data, "FAILED: There is no number 3\n");
    }
    ck_assert_str_eq(run("/switch 2"), "[switch 2]\n");
    ck_assert_str_eq(run("/kill 2"), "[kill 2]\nAgent 2 is gone.\n");
    ck_assert_str_eq(run("/show 2"), "[show 2]\n");
}
END_TEST

/* --- help ---------------------------------------------------------------------------------- */

START_TEST(help_names_all_commands_with_aligned_texts)
{
    size_t count;
    const ik_command_t *const *table = ik_command_table(&count);
    const char *text = run("/help");
    long column = -1;
    for (size_t i = 0; i < count; i++) {
        const char *use = strstr(text, ik_sprintf(ctx, "\n  /%s", table[i]->name));
        const char *help = strstr(text, table[i]->help);
        ck_assert_msg(use != NULL && help != NULL && use < help, "/%s", table[i]->name);
        while (help[-1] != '\n') {
            help--;
        }
        long at = strstr(help, table[i]->help) - help;
        ck_assert(column == -1 || column == at);
        column = at;
    }
}
END_TEST

/* Each row with its keys before its text; lines end before the last column, and with no space. */
static void check_keys(const char *text, const ik_key_table_t *table, size_t columns)
{
    for (size_t i = 0; i < table->count; i++) {
        char *first = ik_strndup(ctx, table->rows[i].keys, strcspn(table->rows[i].keys, ","));
        const char *keys = strstr(text, ik_sprintf(ctx, "\n  %s", first));
        ck_assert_msg(keys != NULL, "%s", first);
        const char *word = ik_strndup(ctx, table->rows[i].does, strcspn(table->rows[i].does, " "));
        ck_assert_msg(strstr(keys, word) != NULL, "%s", word);
    }
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        size_t len = strcspn(line, "\n");
        ck_assert_msg(len < columns && (len == 0 || line[len - 1] != ' '), "%.*s", (int)len, line);
    }
}

START_TEST(help_names_the_keys_of_the_prompt)
{
    size_t count;
    const ik_key_table_t *tables = ik_key_table_create(ctx, &count);
    const char *text = run("/help");
    check_keys(text, &tables[IK_BINDING_PROMPT], 80);
    ck_assert_ptr_null(strstr(text, tables[IK_BINDING_EDITING].rows[0].does));
    assert_has(text, "\n  Ctrl-D             leaves, on an empty draft");
    host.columns = 50;
    check_keys(run("/help"), &tables[IK_BINDING_PROMPT], 50);
}
END_TEST

START_TEST(help_tells_all_keys)
{
    static const size_t widths[] = {0, 50, 80, 200};
    size_t count;
    const ik_key_table_t *tables = ik_key_table_create(ctx, &count);
    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        host.columns = widths[i];
        const char *at = run("/help keys");
        ck_assert_int_ne(*at, '\n');
        for (size_t group = 0; group < count; group++) {
            at = strstr(at, ik_sprintf(ctx, "%s:\n  ", tables[group].title));
            ck_assert_msg(at != NULL, "%s", tables[group].title);
            check_keys(at, &tables[group], widths[i] == 0 ? 80 : widths[i]);
        }
    }
    assert_has(completed("help", 1), "keys(Lists all keys.)");
}
END_TEST

START_TEST(help_explains_one_command)
{
    const char *model =
        "Usage: /model [NAME]\nLists the models, or takes another one from now on.\n";
    ck_assert_str_eq(run("/help model"), model);
    ck_assert_str_eq(run("/help /model"), model);
    ck_assert_str_eq(run("/help exit"),
                     "Usage: /exit\nLeaves ikigai; ikigai -c goes on later. Also: /quit\n");
    ck_assert_str_eq(run("/help quit"), run("/help exit"));
    ck_assert_str_eq(run("/help modle"),
                     "FAILED: There is no command /modle. Did you mean /model?\n");
    assert_has(completed("help", 1), "usage(Shows tokens, cost and how full the context is.)");
    ck_assert_str_eq(completed("help", 2), "");
}
END_TEST

/* --- tools --------------------------------------------------------------------------------- */

START_TEST(tools_are_listed_and_described)
{
    ck_assert_str_eq(run("/tool"), "Available tools:\n  bash  Runs.\n  zap   Zaps. (user)\n");
    run("/tool bash");
    assert_has(said.data, "bash - Runs.\n\nParameters:\n  command (string, required)\n    What.\n"
                          "  note (string)\n\nReturns:\n");
    assert_has(said.data, "File: /tools/bash\nSource: system\n");
    ck_assert_str_eq(run("/tool x"),
                     "FAILED: Tool 'x' not found. Run /tool to see available tools.\n");
    ck_assert_str_eq(completed("tool", 1), "bash(Runs.) zap(Zaps.)");
    ck_assert_str_eq(completed("tool", 2), "");
}
END_TEST

START_TEST(without_tools_that_is_said)
{
    shared.tool_registry = NULL;
    shared.tool_scan_state = TOOL_SCAN_FAILED;
    assert_has(run("/tool"), "/refresh");
    shared.tool_scan_state = TOOL_SCAN_NOT_STARTED;
    ck_assert_str_eq(run("/tool bash"), "Tools are switched off.\n");
    ck_assert_str_eq(completed("tool", 1), "");
}
END_TEST

START_TEST(refresh_says_so_and_leaves_the_rest_to_the_host)
{
    ck_assert_str_eq(run("/refresh"), "Refreshing tools...\n[refresh]\n");
}
END_TEST

/* --- trust --------------------------------------------------------------------------------- */

static void make_project_tool(const char *name)
{
    char *path = ik_sprintf(ctx, "project/.ikigai/tools/%s", name);
    ck_assert_int_eq(chmod(scratch_write(path, "#!/bin/sh\n"), 0755), 0);
}

START_TEST(trust_says_when_there_is_nothing_to_trust)
{
    run("/trust");
    assert_has(said.data, "There are no tools in ");
    ck_assert_ptr_null(on_answer);
    paths->project_tools = NULL;
    assert_has(run("/trust"), "holds your own tools; they need no trust");
    ck_assert_ptr_null(on_answer);
}
END_TEST

START_TEST(trust_shows_what_it_is_about_and_asks)
{
    scratch_make_folder("project/.ikigai/tools");
    make_project_tool("bash");
    make_project_tool("a\033[8mb\nc");
    run("/trust");
    assert_has(said.data, "About to trust ");
    assert_has(said.data, "\n  bash                                  10 bytes  mode 0755  sha256 ");
    assert_has(said.data, "  a\xef\xbf\xbd[8mb\xef\xbf\xbd"
                          "c ");
    assert_has(said.data, "\nOverrides bash (/tools/bash)\n2 tools, 2 files, 20 bytes. ");
    assert_has(said.data, "ASKED: Trust them?\n");
    ck_assert_str_eq(answer_question(false), "Not trusted.\n");
    run("/trust");
    ck_assert_str_eq(answer_question(true),
                     "Trusted. Any change in the folder takes the trust back.\n[refresh]\n");
    ck_assert_str_eq(run("/trust"), "Already trusted.\n");
    ck_assert_ptr_null(on_answer);
}
END_TEST

START_TEST(what_changed_behind_the_question_is_not_trusted)
{
    scratch_make_folder("project/.ikigai/tools");
    make_project_tool("bash");
    run("/trust");
    scratch_write("project/.ikigai/tools/bash", "#!/bin/sh\nrm -rf /\n");
    ck_assert_int_eq(chmod(scratch_path("project/.ikigai/tools/bash"), 0755), 0);
    assert_has(answer_question(true), "FAILED: ");
    assert_lacks(said.data, "[refresh]");
}
END_TEST

/* A tool of the project that is in the registry still hides what it hid. */
START_TEST(a_changed_folder_says_what_changed_and_what_it_hides)
{
    scratch_make_folder("project/.ikigai/tools");
    make_project_tool("bash");
    run("/trust");
    answer_question(true);
    ik_tool_registry_t *registry = make_registry();
    add_tool(registry, "project/bash", IK_TOOL_PROJECT,
             "{\"name\":\"bash\",\"description\":\"Other.\"}");
    shared.tool_registry = registry;
    make_project_tool("new");
    run("/trust");
    assert_has(said.data, "(trusted before; ");
    assert_has(said.data, "Overrides bash (/tools/bash)\n");
    answer_question(false);
}
END_TEST

START_TEST(a_folder_that_cannot_be_trusted_is_refused)
{
    scratch_make_folder("project/.ikigai/tools");
    make_project_tool("bash");
    ck_assert_int_eq(symlink("/etc/passwd", scratch_path("project/.ikigai/tools/out")), 0);
    assert_has(run("/trust"), "FAILED: Cannot trust ");
    ck_assert_ptr_null(on_answer);
}
END_TEST

/* --- models -------------------------------------------------------------------------------- */

START_TEST(models_are_listed)
{
    ck_assert_str_eq(
        run("/model"),
        "Current model: offline/offline\n"
        "Configured models:\n"
        "  openai/big       1,050,000 tokens of context, $2.5 in and $10 out per million\n"
        "* offline/offline  no language model; runs tools by name\n"
        "Without a key: anthropic (set ANTHROPIC_API_KEY), google (set GEMINI_API_KEY)\n");
}
END_TEST

START_TEST(another_model_can_be_taken)
{
    ck_assert_str_eq(run("/model openai/big"), "Model: openai/big\n");
    assert_has(run("/model"), "\n* openai/big ");
    ck_assert_str_eq(run("/model openai/unheard-of"), "Model: openai/unheard-of\n");
}
END_TEST

START_TEST(a_model_that_cannot_be_had_changes_nothing)
{
    assert_has(run("/model nobody/x"), "FAILED: model 'nobody/x': there is no provider 'nobody'");
    assert_has(run("/model anthropic/x"), "FAILED: anthropic has no key: set ANTHROPIC_API_KEY");
    assert_has(run("/model big"), "FAILED: model 'big' must be written provider/model");
    assert_has(run("/model"), "Current model: offline/offline\n");
}
END_TEST

START_TEST(an_endpoint_of_unknown_models_stands_with_its_name)
{
    scratch_make_folder("home/.ikigai");
    scratch_write("home/.ikigai/config.json",
                  "{\"providers\": {\"box\": {\"base_url\": \"http://127.0.0.1:1/v1\"}}}");
    ck_assert_int_eq(ik_config_load(ctx, paths, NULL, &config).code, IK_ERR_NONE);
    shared.config = config;
    assert_has(run("/model"), "\n  box/             any model it has\n");
    assert_has(completed("model", 1), "openai/big(1,050,000 tokens of context, $2.5 in and $10 "
                                      "out per million) offline/offline(");
    assert_has(completed("model", 1), " box/(any model it has)");
    ck_assert_str_eq(completed("model", 2), "");
}
END_TEST

/* --- the conversation ---------------------------------------------------------------------- */

START_TEST(simple_wishes_reach_the_host)
{
    ck_assert_str_eq(run("/clear"), "[begin]\n");
    ck_assert_str_eq(run("/exit"), "[leave]\n");
    ck_assert_str_eq(run("/pager"), "[pager]\n");
}
END_TEST

/* With a result that is longer than its marker. */
static void call_tool(const char *id)
{
    char *output = ik_sprintf(ctx, "{\"tool_success\":true,\"result\":\"%0500d\"}", 1);
    ik_msg_call_t call = {.id = id, .name = "bash", .arguments = "{}", .arguments_len = 2};
    ik_msg_result_t result = {.call_id = id, .name = "bash", .output = output, .success = true};
    store(ik_msg_create_call(ctx, &call, NULL));
    store(ik_msg_create_result(ctx, &result));
}

START_TEST(compact_says_how_much_it_trimmed)
{
    ck_assert_str_eq(run("/compact"), "There is nothing to trim.\n");
    say(IK_MSG_USER, "go", NULL);
    call_tool("a");
    call_tool("b");
    call_tool("c");
    take_up();
    ck_assert_str_eq(run("/compact"), "2 tool results are sent as a short marker from now on.\n");
    ck_assert_str_eq(run("/compact"), "There is nothing to trim.\n");
    ck_assert_uint_eq(ik_conversation_trimmed_results(ik_agent_conversation(agent)), 2);
}
END_TEST

START_TEST(the_system_prompt_is_shown_or_missed)
{
    ck_assert_str_eq(run("/system"), "You are a test.");
    ik_agent_options_t options = agent_options(NULL);
    talloc_free(agent);
    agent = ik_agent_create(ctx, &options);
    ck_assert_str_eq(run("/system"), "There is no system prompt.\n");
}
END_TEST

START_TEST(agents_have_a_line_each)
{
    agents[0] = (ik_command_agent_t){
        .number = 1, .unseen = true, .messages = 1, .model = "a/b", .title = ""};
    agents[1] = (ik_command_agent_t){.number = 2,
                                     .parent = 1,
                                     .current = true,
                                     .busy = true,
                                     .messages = 14,
                                     .model = "a/b",
                                     .title = "fix it"};
    agents[2] = (ik_command_agent_t){.number = 12, .parent = 2, .model = "c/d", .title = "look"};
    agent_count = 2;
    ck_assert_str_eq(run("/agents"), "1           has news     1 message   a/b\n"
                                     "2 * from 1  working     14 messages  a/b  fix it\n");
    agent_count = 3;
    run("/agents");
    assert_has(said.data, "\n2  * from 1   working     14 messages  a/b  fix it\n"
                          "12   from 2   idle         0 messages  c/d  look\n");
    ck_assert_str_eq(completed("switch", 1), "1() 2(fix it) 12(look)");
    ck_assert_str_eq(completed("kill", 1), "1() 2(fix it) 12(look)");
    ck_assert_str_eq(completed("kill", 2), "");
}
END_TEST

START_TEST(the_usage_has_sums_and_shares)
{
    ck_assert_str_eq(run("/usage"), "Turns    0\nTokens   -\nCost     -\nContext  -\n");
    usage = (ik_command_usage_t){.usage = {.in = 1234567, .cached = 1000, .out = 999},
                                 .cost = 0.5,
                                 .turns = 3,
                                 .context_used = 50000,
                                 .context_size = 200000};
    say(IK_MSG_USER, "go", NULL);
    say(IK_MSG_ASSISTANT, "one",
        "{\"model\":\"a/b\",\"usage\":{\"in\":1000,\"cached\":10,\"out\":5},\"cost_usd\":0.25}");
    say(IK_MSG_USER, "go", NULL);
    say(IK_MSG_ASSISTANT, "two", "{\"model\":\"c/long\",\"usage\":{\"in\":7}}");
    say(IK_MSG_USER, "go", NULL);
    say(IK_MSG_ASSISTANT, "three",
        "{\"model\":\"a/b\",\"usage\":{\"in\":500,\"out\":5},\"cost_usd\":0.5}");
    take_up();
    ck_assert_str_eq(
        run("/usage"),
        "Turns    3\nTokens   1,234,567 in (1,000 cached), 999 out\nCost     $0.5000\n"
        "Context  50,000 of 200,000 tokens (25%)\n\n"
        "This conversation:\n"
        "  model   answers             in         cached            out        cost\n"
        "  a/b           2          1,500             10             10     $0.7500\n"
        "  c/long        1              7              -              -           -\n");
}
END_TEST

/* --- the clipboard ------------------------------------------------------------------------- */

START_TEST(the_last_answer_is_copied)
{
    ck_assert_str_eq(run("/copy"), "There is no answer yet.\n");
    ck_assert_str_eq(run("/copy code"), "There is no answer yet.\n");
    answer("first");
    answer("a\nb\n");
    say(IK_MSG_USER, "more", NULL);
    take_up();
    ck_assert_str_eq(run("/copy"), "");
    ck_assert_str_eq(copied.data, "a\nb\n");
    ck_assert_str_eq(run("/copy code"), "The last answer has no code block.\n");
    ck_assert_str_eq(run("/copy 1"), "The last answer has no code block.\n");
    ck_assert_str_eq(copied.data, "a\nb\n");
}
END_TEST

START_TEST(code_blocks_are_copied_without_their_fences)
{
    answer("Run `this`:\n\n```sh\nmake\n\nmake check\n```\n\n- then\n\n  ~~~\n  ```\n  x & <b>\n  "
           "~~~\n\nand\n```c\nint x;\n```\ndone");
    ck_assert_str_eq(run("/copy code"), "");
    ck_assert_str_eq(copied.data, "int x;\n");
    ck_assert_str_eq(run("/copy 1"), "");
    ck_assert_str_eq(copied.data, "make\n\nmake check\n");
    run("/copy 2");
    ck_assert_str_eq(copied.data, "```\nx & <b>\n");
    ck_assert_str_eq(run("/copy 4"), "The last answer has 3 code blocks.\n");
    assert_has(run("/copy 0"), "Usage: /copy [N|code]");
    assert_has(run("/copy all"), "Usage: /copy [N|code]");
    ck_assert_str_eq(completed("copy", 1), "code(the last code block of the last answer)");
    ck_assert_str_eq(completed("copy", 2), "");
}
END_TEST

/* --- sessions ------------------------------------------------------------------------------ */

/* A session of its own in that folder. */
static void add_session(const char *folder, const char *title)
{
    ik_session_t *other = ik_session_create(ctx, shared.history,
                                            &(ik_session_facts_t){.cwd = folder, .model = "m/m"});
    ik_msg_t *message = ik_msg_create(ctx, IK_MSG_USER, title, NULL);
    res_t stored = ik_session_append(other, IK_STORE_ROOT_AGENT, &message, 1, IK_STORE_FULL);
    ck_assert_msg(is_ok(&stored), "%s", stored.message);
    talloc_free(other);
}

START_TEST(sessions_of_this_folder_are_listed)
{
    ck_assert_str_eq(run_and_wait("/sessions"), "There are no sessions in this folder yet.\n");
    ck_assert_str_eq(run_and_wait("/sessions --all"), "There are no sessions yet.\n");
    ck_assert_str_eq(completed("resume", 1), "");
    add_session(paths->cwd, "here");
    add_session("/elsewhere", "there");
    run_and_wait("/sessions");
    ck_assert_int_eq(strncmp(said.data, "ID ", 3), 0);
    assert_has(said.data, "  here\n");
    assert_lacks(said.data, "there");
    assert_lacks(said.data, "FOLDER");
    assert_has(said.data, "Go on with one: /resume ID\n");
    run_and_wait("/sessions --all");
    assert_has(said.data, "FOLDER");
    assert_has(said.data, "/elsewhere");
    assert_has(said.data, "here\n");
    ck_assert_str_eq(run("/sessions all"), "FAILED: Usage: /sessions [--all]\n");
    ck_assert_str_eq(completed("sessions", 1), "--all(of all folders)");
    ck_assert_str_eq(completed("sessions", 2), "");
}
END_TEST

START_TEST(no_more_than_twenty_are_listed)
{
    for (int i = 0; i < 20; i++) {
        add_session(paths->cwd, ik_sprintf(ctx, "number-%d.", i));
    }
    assert_lacks(run_and_wait("/sessions"), "There are more");
    assert_has(said.data, "number-0.");
    add_session(paths->cwd, "the latest");
    assert_has(run_and_wait("/sessions"), "There are more: ikigai session list --here\n");
    assert_has(said.data, "the latest");
    assert_lacks(said.data, "number-0.");
    assert_has(run_and_wait("/sessions --all"), "There are more: ikigai session list\n");
}
END_TEST

START_TEST(the_table_fits_the_screen)
{
    add_session(paths->cwd, "a title that is much longer than the screen is wide, so it is cut");
    host.columns = 60;
    run_and_wait("/sessions");
    ck_assert_uint_lt(strcspn(said.data, "\n"), 60);
    assert_has(said.data, "…\n");
    host.columns = 0;
    assert_has(run_and_wait("/sessions"), "so it is cut\n");
}
END_TEST

START_TEST(resume_without_an_id_lists_what_it_then_completes)
{
    add_session(paths->cwd, "earlier");
    assert_has(run_and_wait("/resume"), "Choose one: /resume ID; ");
    char *id = ik_strndup(ctx, strchr(said.data, '\n') + 1, IK_STORE_ID_LEN);
    ck_assert_str_eq(completed("resume", 1), ik_sprintf(ctx, "%s(earlier)", id));
    ck_assert_str_eq(completed("resume", 2), "");
    ck_assert_str_eq(run(ik_sprintf(ctx, "/resume %s", id)), ik_sprintf(ctx, "[resume %s]\n", id));
}
END_TEST

START_TEST(what_was_said_is_found)
{
    add_session("/elsewhere", "look for the blue elephant");
    run_and_wait("/search  blue   elephant ");
    assert_has(said.data, "  /elsewhere  user  look for the blue elephant\n");
    assert_has(said.data, "\n    look for the blue elephant\n");
    ck_assert_str_eq(run_and_wait("/search pink"), "No match.\n");
    ck_assert_str_eq(run("/search"), "FAILED: Usage: /search TEXT\n");
}
END_TEST

START_TEST(a_front_end_that_leaves_hears_nothing)
{
    add_session("/elsewhere", "blue");
    said.len = 0;
    ik_command_run(&host, "/search blue", false);
    ik_command_run(&host, "/sessions", false);
    TALLOC_FREE(host.ctx);
    bool over = false;
    ik_timer_t *moment = ik_timer_create(ctx, shared.loop, on_moment, &over);
    ik_timer_start(moment, 20);
    ck_assert(ik_loop_run_until(shared.loop, &over));
    ck_assert_uint_eq(said.len, 0);
    talloc_free(moment);
}
END_TEST

START_TEST(without_a_history_that_is_said)
{
    talloc_free(session);
    talloc_free(shared.history);
    use_session(NULL);
    assert_has(run("/sessions"), "FAILED: Nothing is stored");
    assert_has(run("/resume"), "FAILED: Nothing is stored");
    assert_has(run("/search x"), "FAILED: Nothing is stored");
    assert_has(run("/export"), "FAILED: Nothing is stored");
}
END_TEST

/* --- export -------------------------------------------------------------------------------- */

static const char *content_of(const char *name)
{
    char *bytes;
    size_t len;
    res_t read = ik_file_read(ctx, scratch_path(name), 1 << 20, &bytes, &len);
    ck_assert_msg(is_ok(&read), "%s", read.message);
    return bytes;
}

START_TEST(a_session_is_exported_as_the_name_says)
{
    answer("the answer");
    ck_assert_str_eq(run("/export"), ik_sprintf(ctx, "Exported to %s/ikigai-%s.md\n", paths->cwd,
                                                ik_session_id(session)));
    char *name = ik_sprintf(ctx, "project/ikigai-%s.md", ik_session_id(session));
    assert_has(content_of(name), "the answer");
    ck_assert_uint_eq(scratch_mode(name), 0600);
    run("/export page.html");
    assert_has(content_of("project/page.html"), "<html");
    run("/export lines.jsonl");
    ck_assert_int_eq(content_of("project/lines.jsonl")[0], '{');
    run("/export notes.txt");
    ck_assert_str_eq(content_of("project/notes.txt"), content_of(name));
    run("/export plain");
    ck_assert_str_eq(content_of("project/plain"), content_of(name));
}
END_TEST

START_TEST(a_format_can_be_chosen)
{
    answer("the answer");
    run("/export --format html a.md");
    assert_has(content_of("project/a.md"), "<html");
    run("/export 'two words' --format jsonl");
    ck_assert_int_eq(content_of("project/two words")[0], '{');
    assert_has(run("/export --format html"), ".html\n");
    assert_has(run("/export --format pdf"),
               "FAILED: There is no format 'pdf'. Usage: /export [FILE] [--format jsonl|md|html]");
    static const char *const wrong[] = {"--format", "a b", "--force", "--format md --format md",
                                        "a --format"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_has(run(ik_sprintf(ctx, "/export %s", wrong[i])), "FAILED: Usage: /export");
    }
    ck_assert_int_ne(access(scratch_path("project/a"), F_OK), 0);
}
END_TEST

START_TEST(a_path_is_from_the_project_or_the_home_folder)
{
    answer("the answer");
    run("/export ~/mine.md");
    assert_has(content_of("home/mine.md"), "the answer");
    run(ik_sprintf(ctx, "/export %s", scratch_path("abs.md")));
    assert_has(content_of("abs.md"), "the answer");
    assert_has(run("/export missing/x.md"), "FAILED: Cannot write ");
}
END_TEST

START_TEST(nothing_is_ever_overwritten)
{
    answer("the answer");
    scratch_write("project/notes.md", "mine");
    assert_has(run("/export notes.md"), "notes.md exists already");
    ck_assert_str_eq(content_of("project/notes.md"), "mine");
    ck_assert_int_eq(symlink(scratch_path("target"), scratch_path("project/link.md")), 0);
    assert_has(run("/export link.md"), "link.md exists already");
    ck_assert_int_ne(access(scratch_path("target"), F_OK), 0);
    run("/export");
    assert_has(run("/export"), "exists already: name another file");
}
END_TEST

START_TEST(a_session_without_words_has_nothing_to_export)
{
    ck_assert_str_eq(run("/export"), "FAILED: Nothing was said in this session yet.\n");
    char *name = ik_sprintf(ctx, "project/ikigai-%s.md", ik_session_id(session));
    ck_assert_int_ne(access(scratch_path(name), F_OK), 0);
}
END_TEST

START_TEST(export_completes_its_formats)
{
    ck_assert_str_eq(completed("export", 1), "--format(jsonl, md or html)");
    assert_has(completed("export", 2), "html(one page for a browser)");
    assert_has(completed("export", 3), "jsonl(everything, can be imported) md(Markdown)");
    assert_lacks(completed("export", 3), "--format");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("command");
    TCase *tests = tcase_create("command");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, every_promised_command_is_there_and_no_other);
    tcase_add_test(tests, the_table_is_sorted_and_complete);
    tcase_add_test(tests, a_name_is_found_with_and_without_the_slash_but_whole);
    tcase_add_test(tests, unknown_names_suggest_the_nearest);
    tcase_add_test(tests, what_is_near_nothing_gets_no_suggestion);
    tcase_add_test(tests, wrong_use_prints_the_usage_line);
    tcase_add_test(tests, words_are_cut_at_white_space_that_is_not_quoted);
    tcase_add_test(tests, the_rest_of_the_line_stays_as_it_is);
    tcase_add_test(tests, some_wait_for_the_end_of_the_turn);
    tcase_add_test(tests, some_wait_for_tools);
    tcase_add_test(tests, a_session_is_not_left_while_an_agent_works);
    tcase_add_test(tests, numbers_are_checked);
    tcase_add_test(tests, help_names_all_commands_with_aligned_texts);
    tcase_add_test(tests, help_names_the_keys_of_the_prompt);
    tcase_add_test(tests, help_tells_all_keys);
    tcase_add_test(tests, help_explains_one_command);
    tcase_add_test(tests, tools_are_listed_and_described);
    tcase_add_test(tests, without_tools_that_is_said);
    tcase_add_test(tests, refresh_says_so_and_leaves_the_rest_to_the_host);
    tcase_add_test(tests, trust_says_when_there_is_nothing_to_trust);
    tcase_add_test(tests, trust_shows_what_it_is_about_and_asks);
    tcase_add_test(tests, what_changed_behind_the_question_is_not_trusted);
    tcase_add_test(tests, a_changed_folder_says_what_changed_and_what_it_hides);
    tcase_add_test(tests, a_folder_that_cannot_be_trusted_is_refused);
    tcase_add_test(tests, models_are_listed);
    tcase_add_test(tests, another_model_can_be_taken);
    tcase_add_test(tests, a_model_that_cannot_be_had_changes_nothing);
    tcase_add_test(tests, an_endpoint_of_unknown_models_stands_with_its_name);
    tcase_add_test(tests, simple_wishes_reach_the_host);
    tcase_add_test(tests, compact_says_how_much_it_trimmed);
    tcase_add_test(tests, the_system_prompt_is_shown_or_missed);
    tcase_add_test(tests, agents_have_a_line_each);
    tcase_add_test(tests, the_usage_has_sums_and_shares);
    tcase_add_test(tests, the_last_answer_is_copied);
    tcase_add_test(tests, code_blocks_are_copied_without_their_fences);
    tcase_add_test(tests, sessions_of_this_folder_are_listed);
    tcase_add_test(tests, no_more_than_twenty_are_listed);
    tcase_add_test(tests, the_table_fits_the_screen);
    tcase_add_test(tests, resume_without_an_id_lists_what_it_then_completes);
    tcase_add_test(tests, what_was_said_is_found);
    tcase_add_test(tests, a_front_end_that_leaves_hears_nothing);
    tcase_add_test(tests, without_a_history_that_is_said);
    tcase_add_test(tests, a_session_is_exported_as_the_name_says);
    tcase_add_test(tests, a_format_can_be_chosen);
    tcase_add_test(tests, a_path_is_from_the_project_or_the_home_folder);
    tcase_add_test(tests, nothing_is_ever_overwritten);
    tcase_add_test(tests, a_session_without_words_has_nothing_to_export);
    tcase_add_test(tests, export_completes_its_formats);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}
