/* `ikigai doctor`: reports what was found, wrong and missing. It never prints secrets. */
#include "cli/cli_doctor.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent_target.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/print.h"
#include "base/utf8.h"
#include "command/command.h"
#include "io/http.h"
#include "provider/provider.h"
#include "workspace/extension_status.h"

/* --- output ------------------------------------------------------------------------------ */

/* With --json: where the next lines go. NULL: to standard output. */
static json_t *json_lines;

static void add_line(json_t *lines, const char *line)
{
    ik_buffer_t text;
    ik_buffer_init(&text, NULL, IK_BUFFER_UNLIMITED); /* bounded by the line */
    ik_buffer_append_text(&text, "");
    line += strspn(line, " ");
    ik_utf8_append_clean(&text, line, strlen(line));
    json_array_append_new(lines, json_stringn(text.data, text.len));
    ik_buffer_reset(&text);
}

static void print_line(const char *mark, json_t *lines, const char *format, va_list args)
{
    char *line = ik_vsprintf(NULL, format, args);
    if (lines != NULL) {
        add_line(lines, line);
    } else {
        fputs(mark, stdout);
        ik_print_line(stdout, line);
    }
    talloc_free(line);
}

void ik_cli_doctor_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line("", json_lines, format, args);
    va_end(args);
}

void ik_cli_doctor_begin(ik_cli_doctor_t *doctor, const char *title)
{
    if (doctor->report != NULL) {
        json_lines = json_array();
        json_object_set_new(json_object_get(doctor->report, "sections"), title, json_lines);
        return;
    }
    putchar('\n');
    ik_cli_doctor_say("%s:", title);
}

void ik_cli_doctor_complain(ik_cli_doctor_t *doctor, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    json_t *lines = doctor->report == NULL ? NULL : json_object_get(doctor->report, "problems");
    print_line("  problem: ", lines, format, args);
    va_end(args);
    doctor->problems++;
}

/* --- sections ---------------------------------------------------------------------------- */

static const char *presence(const char *path)
{
    return access(path, F_OK) == 0 ? "" : " (missing)";
}

static void report_installation(ik_cli_doctor_t *doctor)
{
    const ik_paths_t *paths = doctor->cli->paths;
    ik_cli_doctor_say("ikigai %s", IKIGAI_VERSION);
    ik_cli_doctor_say("Installation: %s", paths->prefix);
    ik_cli_doctor_say("  system tools   %s%s", paths->system_tools, presence(paths->system_tools));
    ik_cli_doctor_say("  user tools     %s%s", paths->user_tools, presence(paths->user_tools));
    if (paths->project_tools != NULL) {
        ik_cli_doctor_say("  project tools  %s%s", paths->project_tools,
                          presence(paths->project_tools));
    }
    ik_cli_doctor_say("  home           %s%s", paths->home, presence(paths->home));
    ik_cli_doctor_say("  keeper         %s", paths->keeper);
    if (access(paths->keeper, X_OK) != 0) {
        ik_cli_doctor_complain(doctor,
                               "the keeper is missing, so no tool can run: reinstall ikigai");
    }
    if (access("/bin/sh", X_OK) != 0) {
        ik_cli_doctor_complain(doctor, "/bin/sh is missing, so the bash tool cannot work");
    }
}

/* Reports keys of a section with the source of their values: all keys, or only those that are set.
 */
static void report_keys(const ik_cli_doctor_t *doctor, ik_config_section_t section,
                        const char *prefix, const void *data, bool all)
{
    for (size_t i = 0; i < IK_CONFIG_KEY_COUNT; i++) {
        const ik_config_key_t *key = &ik_config_keys[i];
        if (key->section != section ||
            (!all && ik_config_key_source(key, data) == IK_CONFIG_BUILT_IN)) {
            continue;
        }
        char *name = ik_sprintf(doctor->cli->ctx, "%s%s", prefix, key->name);
        char *value = ik_config_format_key(doctor->cli->ctx, key, data);
        ik_cli_doctor_say("  %-24s %s (%s)", name, *value == '\0' ? "-" : value,
                          ik_config_source_name(ik_config_key_source(key, data)));
    }
}

/* Files with credentials must not be accessible to others. */
static void check_env_files(ik_cli_doctor_t *doctor, const ik_config_tool_t *tool)
{
    for (size_t i = 0; tool->env != NULL && tool->env[i] != NULL; i++) {
        const char *file = ik_config_tool_env_file(doctor->cli->ctx, tool->env[i]);
        struct stat status;
        if (file != NULL && stat(file, &status) == 0 && (status.st_mode & 077) != 0) {
            ik_cli_doctor_complain(doctor,
                                   "tools.%s.env: other users can access %s: run chmod 600 '%s'",
                                   tool->name, file, file);
        }
    }
}

/* Without valid rules no conversation begins. */
static void check_rules(ik_cli_doctor_t *doctor)
{
    ik_permission_rules_t *rules;
    const char *const *warnings;
    res_t loaded = ik_permission_rules_load(doctor->cli->ctx, doctor->cli->paths, NULL, &rules);
    if (is_err(&loaded)) {
        ik_cli_doctor_complain(doctor, "%s", loaded.message);
        return;
    }
    doctor->rules = rules;
    size_t count = ik_permission_rules_warnings(rules, &warnings);
    for (size_t i = 0; i < count; i++) {
        ik_cli_doctor_complain(doctor, "%s", warnings[i]);
    }
}

static void report_configuration(ik_cli_doctor_t *doctor)
{
    const ik_config_t *config = doctor->cli->config;
    const ik_paths_t *paths = doctor->cli->paths;
    ik_cli_doctor_begin(doctor, "Configuration");
    ik_cli_doctor_say("  system   %s%s", paths->system_config, presence(paths->system_config));
    ik_cli_doctor_say("  user     %s%s", paths->user_config, presence(paths->user_config));
    ik_cli_doctor_say("  keys     %s%s", paths->keys, presence(paths->keys));
    if (paths->project_config != NULL) {
        ik_cli_doctor_say("  project  %s%s", paths->project_config,
                          presence(paths->project_config));
    }
    report_keys(doctor, IK_CONFIG_TOP, "", config, true);
    for (size_t i = 0; i < config->tool_count; i++) {
        char *prefix = ik_sprintf(doctor->cli->ctx, "tools.%s.", config->tools[i]->name);
        report_keys(doctor, IK_CONFIG_TOOL, prefix, config->tools[i], false);
        check_env_files(doctor, config->tools[i]);
    }
    for (size_t i = 0; i < config->hook_count; i++) {
        char *prefix = ik_sprintf(doctor->cli->ctx, "hooks.%s.", config->hooks[i]->name);
        report_keys(doctor, IK_CONFIG_HOOK, prefix, config->hooks[i], false);
    }
    if (is_err(&doctor->cli->config_error)) {
        ik_cli_doctor_complain(doctor, "%s", doctor->cli->config_error.message);
    }
    for (size_t i = 0; i < config->warning_count; i++) {
        ik_cli_doctor_complain(doctor, "%s", config->warnings[i]);
    }
    check_rules(doctor);
}

/* The servers that are only known by name are listed, too; whether they run is not checked. */
static void report_providers(ik_cli_doctor_t *doctor)
{
    const ik_config_t *config = doctor->cli->config;
    const ik_config_key_t *base_url = ik_config_find_key(IK_CONFIG_PROVIDER, "base_url");
    ik_cli_doctor_begin(doctor, "Providers");
    for (size_t i = 0; i < config->provider_count; i++) {
        const ik_config_provider_t *provider = config->providers[i];
        /* The configuration leaves out a password when it formats a URL. */
        char *url = ik_config_format_key(doctor->cli->ctx, base_url, provider);
        ik_cli_doctor_say("  %-12s %-10s %s  %s", provider->name,
                          ik_config_provider_type_name(provider->type), url,
                          ik_config_provider_describe_key(doctor->cli->ctx, provider));
    }
}

/* The first line: what answers, and who chose it. */
static void report_model(ik_cli_doctor_t *doctor)
{
    const ik_config_t *config = doctor->cli->config;
    char *model = ik_agent_target_describe(doctor->cli->ctx, config, doctor->models);
    if (model == NULL) {
        ik_cli_doctor_say("Model: none. Run ikigai setup.");
        return;
    }
    const ik_config_provider_t *provider = NULL;
    const char *name;
    ik_cli_doctor_say("Model: %s", model);
    if (config->model != NULL) {
        res_t known = ik_config_resolve_model(config, config->model, &provider, &name);
        if (is_ok(&known) && !provider->configured) {
            ik_cli_doctor_say("  %s has no key: set %s or run ikigai setup", provider->name,
                              provider->api_key_env);
        }
    }
}

static void report_models(ik_cli_doctor_t *doctor)
{
    char *library;
    ik_cli_doctor_begin(doctor, "Models");
    if (is_err(&doctor->models_error)) {
        ik_cli_doctor_complain(doctor, "%s", doctor->models_error.message);
    }
    res_t described = ik_http_describe(doctor->cli->ctx, &library);
    if (is_err(&described)) {
        ik_cli_doctor_complain(doctor, "%s", described.message);
    } else {
        ik_cli_doctor_say("  HTTP     %s", library);
    }
}

static const char *describe_trust(const ik_trust_status_t *trust)
{
    switch (trust->state) {
    case IK_TRUST_ABSENT:
        return "none";
    case IK_TRUST_NEVER:
        return "not trusted";
    case IK_TRUST_CHANGED:
        return "changed since they were trusted";
    case IK_TRUST_GIVEN:
        return "trusted";
    case IK_TRUST_REFUSED:
        return "cannot be trusted in their present state";
    }
    return "";
}

static void list_tools(const ik_tool_registry_t *registry)
{
    for (size_t i = 0; i < registry->count; i++) {
        const ik_tool_registry_entry_t *entry = registry->entries[i];
        ik_cli_doctor_say("  %-12s %-8s %s%s%s", entry->name, ik_tool_source_name(entry->source),
                          entry->server == NULL ? entry->origin : entry->server,
                          entry->overrides == NULL ? "" : "  overrides ",
                          entry->overrides == NULL ? "" : entry->overrides);
    }
}

static void report_servers(const ik_mcp_t *mcp)
{
    static const char *const states[] = {"new", "ready", "failed", "needs a login"};
    for (size_t i = 0; i < ik_mcp_count(mcp); i++) {
        const ik_mcp_item_t *item = ik_mcp_item(mcp, i);
        const ik_mcp_facts_t *facts =
            item->server == NULL ? NULL : ik_mcp_server_facts(item->server);
        ik_cli_doctor_say("  Server %s: %s%s%s", item->config->name,
                          facts != NULL     ? states[facts->status]
                          : item->untrusted ? "not trusted"
                                            : "disabled",
                          facts == NULL || facts->version == NULL ? "" : ", protocol ",
                          facts == NULL || facts->version == NULL ? "" : facts->version);
    }
}

/* Hints, not problems: the tool may belong to another project. */
static void doubt_rules(const ik_cli_doctor_t *doctor, const ik_tool_registry_t *registry)
{
    ik_permission_rule_t rule;
    for (size_t i = 0; doctor->rules != NULL && ik_permission_rules_at(doctor->rules, i, &rule);
         i++) {
        char *doubt = ik_permission_rules_doubt(doctor->cli->ctx, &rule, registry);
        if (doubt != NULL) {
            ik_cli_doctor_say("  The rule %s (%s) has no effect: %s", rule.rule, rule.source,
                              doubt);
        }
    }
}

/* Asks every tool and server for its schemas again, so that the cache hides no problem. */
static void report_tools(ik_cli_doctor_t *doctor)
{
    ik_cli_t *cli = doctor->cli;
    const ik_tool_discovery_result_t *found;
    ik_tool_discovery_options_t options = {.paths = cli->paths,
                                           .config = cli->config,
                                           .host = cli->host,
                                           .confinement = cli->confinement,
                                           .servers = ik_mcp_supplier(ik_cli_servers(cli, false)),
                                           .refresh = true};
    ik_cli_doctor_begin(doctor, "Tools");
    if (is_err(&cli->config_error)) {
        /* Provider keys are removed from the environment of tools. Without a valid configuration
         * not all of their names are known. */
        ik_cli_doctor_say("  not asked until the configuration is valid");
        return;
    }
    res_t discovered = ik_tool_discovery_run(cli->ctx, &options, &found);
    if (is_err(&discovered)) {
        ik_cli_doctor_complain(doctor, "%s", discovered.message);
        return;
    }
    list_tools(found->registry);
    ik_cli_doctor_say("  Project tools: %s", describe_trust(found->trust));
    report_servers(cli->mcp);
    doubt_rules(doctor, found->registry);
    if (found->servers_line != NULL) {
        ik_cli_doctor_say("  %s", found->servers_line);
    }
    char *line = ik_tool_discovery_trust_line(cli->ctx, found);
    if (found->trust->state == IK_TRUST_REFUSED) {
        ik_cli_doctor_complain(doctor, "%s", line);
    } else if (line != NULL) {
        ik_cli_doctor_say("  %s", line);
    }
    for (size_t i = 0; i < found->problem_count; i++) {
        ik_cli_doctor_complain(doctor, "%s", found->problems[i]);
    }
    for (size_t i = 0; i < found->unused_count; i++) {
        ik_cli_doctor_complain(doctor, "%s", found->unused[i]);
    }
    if (found->registry->count == 0) {
        ik_cli_doctor_complain(doctor, "no tools were found");
    }
}

static void report_extensions(ik_cli_doctor_t *doctor)
{
    ik_extension_options_t options = {.paths = doctor->cli->paths,
                                      .is_built_in = ik_command_is_built_in};
    json_t *status = ik_extension_status_create(&options);
    char *text = ik_extension_status_format(doctor->cli->ctx, status);
    char *rest = NULL;
    ik_cli_doctor_begin(doctor, "Extensions");
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        ik_cli_doctor_say("  %s", line);
    }
    json_decref(status);
}

static bool in_path(const char *program)
{
    const char *path = getenv("PATH");
    for (const char *at = path == NULL ? "" : path; *at != '\0';) {
        size_t len = strcspn(at, ":");
        char *candidate = ik_sprintf(NULL, "%.*s/%s", (int)len, at, program);
        bool found = access(candidate, X_OK) == 0;
        talloc_free(candidate);
        if (found) {
            return true;
        }
        at += len + (at[len] == ':');
    }
    return false;
}

static void report_optional(ik_cli_doctor_t *doctor)
{
    static const struct {
        const char *program;
        const char *purpose;
    } optional[] = {
        {"python3", "tools written in Python, `ikigai tool new --lang python`"},
        {"cc", "`ikigai tool new --lang c`"},
    };
    ik_cli_doctor_begin(doctor, "Optional parts");
    for (size_t i = 0; i < IK_LENGTH(optional); i++) {
        ik_cli_doctor_say("  %-8s %s: %s", optional[i].program,
                          in_path(optional[i].program) ? "found" : "missing", optional[i].purpose);
    }
}

static int run_doctor(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const char *db = ik_cli_args_value(args, "--db");
    ik_cli_doctor_t doctor = {.cli = cli};
    ik_models_t *models;
    doctor.models_error = ik_models_load(cli->ctx, cli->paths, &models);
    doctor.models = models;
    if (ik_cli_args_has(args, "--json")) {
        doctor.report = json_pack("{s:s, s:[], s:{s:[]}}", "version", IKIGAI_VERSION, "problems",
                                  "sections", "Installation");
        json_lines = json_object_get(json_object_get(doctor.report, "sections"), "Installation");
    }
    report_model(&doctor);
    report_installation(&doctor);
    report_configuration(&doctor);
    report_providers(&doctor);
    report_models(&doctor);
    report_tools(&doctor);
    report_extensions(&doctor);
    ik_cli_doctor_confinement(&doctor);
    ik_cli_doctor_sessions(&doctor, db == NULL ? cli->config->db : db);
    report_optional(&doctor);
    if (doctor.report != NULL) {
        json_lines = NULL;
        ik_cli_print_json(doctor.report);
        json_decref(doctor.report);
        return doctor.problems == 0 ? IK_CLI_DONE : IK_CLI_FAILED;
    }
    putchar('\n');
    if (doctor.problems == 0) {
        ik_cli_doctor_say("No problems found.");
        return IK_CLI_DONE;
    }
    ik_cli_doctor_say("%zu problem%s found.", doctor.problems, doctor.problems == 1 ? "" : "s");
    return IK_CLI_FAILED;
}

const ik_cli_command_t ik_cli_doctor = {
    .name = "doctor",
    .help = "Checks the installation and salvages a damaged database.",
    .more =
        "Shows the model, the configuration with the source of each value, providers and where "
        "their keys come from (never the keys), tools, sessions, how tools are confined "
        "and which variables are held back from them. The exit status is 1 if there is a problem.",
    .options = (const ik_cli_option_t[]){IK_CLI_DB_OPTION, IK_CLI_JSON_OPTION, {0}},
    .without_config = true,
    .run = run_doctor,
};
