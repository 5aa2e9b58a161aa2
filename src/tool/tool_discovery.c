#include "tool/tool_discovery.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/ownership.h"
#include "tool/tool_cache.h"
#include "tool/tool_schema.h"
#include "tool/tool_search.h"
#include "trust/trust_copy.h"

enum {
    SCHEMA_MAX = 1024 * 1024,
    YOUNG_MS = 100, /* a tool that takes longer frees its slot, but keeps its timeout */
    YOUNG_TOOLS_PER_CORE = 4,
};

typedef struct {
    ik_tool_discovery_t *discovery;
    const char *path;   /* what is executed */
    const char *origin; /* where the author put it */
    const char *file;   /* base name */
    ik_tool_source_t source;
    struct stat status;
    bool cached;
    bool young;
    bool lost; /* the keeper died while it ran; this tool or another one may have killed it */
    bool asked_alone;
    int64_t started_ms;
    ik_process_t *process;
    ik_tool_schema_t *schema; /* NULL when it failed */
} candidate_t;

struct ik_tool_discovery {
    ik_tool_discovery_options_t options;
    ik_tool_cache_t *cache;
    candidate_t **candidates;
    size_t count;
    size_t next;    /* the first that was not started yet */
    size_t waiting; /* started and not ended */
    size_t young;
    size_t young_max;
    ik_timer_t *timer;
    void *servers; /* they are being asked; NULL: they are not */
    bool complete;
    ik_tool_discovery_result_t result;
    void (*on_done)(void *data);
    void *data;
};

/* --- problems ---------------------------------------------------------------------------- */

const char ik_tool_discovery_none[] =
    "No tools were found; continuing without tools. `ikigai doctor` says more.";

/* File names and messages of tools may contain line breaks, which become spaces. */
static void add_line(ik_tool_discovery_t *discovery, char ***lines, size_t *count, const char *text)
{
    char *line = ik_strdup(discovery, text);
    for (char *c = line; (c = strpbrk(c, "\r\n")) != NULL; c++) {
        *c = ' ';
    }
    *lines = ik_resize_array(discovery, *lines, char *, *count + 1);
    (*lines)[(*count)++] = line;
}

static void add_problem(ik_tool_discovery_t *discovery, const char *text)
{
    add_line(discovery, &discovery->result.problems, &discovery->result.problem_count, text);
}

static void add_schema_problem(const candidate_t *candidate, const char *reason)
{
    const char *kept = candidate->schema == NULL ? "" : "; its last answer is used";
    char *line = ik_sprintf(candidate, "Debug: tool '%s' schema failed (%s%s)", candidate->file,
                            reason, kept);
    add_problem(candidate->discovery, line);
}

/* --- first lines ------------------------------------------------------------------------- */

/* The beginning of a file as text; "" when it cannot be read. */
static void read_start(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t len = fd < 0 ? 0 : read(fd, text, size - 1);
    if (fd >= 0) {
        close(fd);
    }
    text[len < 0 ? 0 : len] = '\0';
}

/* Whether the file was meant to be run: a script that names its interpreter, or a program. */
static bool looks_like_program(const char *path)
{
    char start[8];
    read_start(path, start, sizeof(start));
    return strncmp(start, "#!", 2) == 0 || strncmp(start, "\177ELF", 4) == 0;
}

/* What is wrong with the #! line of a script; NULL: nothing obvious. */
static const char *describe_first_line(const void *ctx, const char *path)
{
    char start[256];
    read_start(path, start, sizeof(start));
    if (strncmp(start, "#!", 2) != 0) {
        return NULL;
    }
    size_t len = strcspn(start, "\n");
    if (len > 0 && start[len - 1] == '\r') {
        return "its first line ends with a carriage return; save it with Unix line endings";
    }
    start[len] = '\0';
    char *rest = start + 2;
    const char *interpreter = strtok_r(rest, " \t", &rest);
    const char *argument = interpreter == NULL ? NULL : strtok_r(rest, " \t", &rest);
    if (interpreter == NULL) {
        return "its first line names no program after #!";
    }
    struct stat status;
    bool runs = stat(interpreter, &status) == 0 && access(interpreter, X_OK) == 0;
    if (!runs || !S_ISREG(status.st_mode)) {
        return ik_sprintf(ctx, "its first line names %s, which cannot be run: %s", interpreter,
                          runs ? "it is not a file" : strerror(errno));
    }
    const char *slash = strrchr(interpreter, '/');
    if (argument != NULL && slash != NULL && strcmp(slash, "/env") == 0 && argument[0] != '-') {
        return ik_sprintf(ctx, "its first line asks for %s; is it installed?", argument);
    }
    return NULL;
}

/* --- listing ----------------------------------------------------------------------------- */

/* Reports a file that was meant to be a tool and cannot be used; ignores other files. */
static void pass_over(const candidate_t *candidate, bool exists)
{
    ik_tool_discovery_result_t *result = &candidate->discovery->result;
    const char *line = NULL;
    if (!exists) {
        line = ik_sprintf(candidate, "Tool '%s' is not used: %s is a broken link (%s)",
                          candidate->file, candidate->origin, strerror(errno));
    } else if (S_ISREG(candidate->status.st_mode) && looks_like_program(candidate->path)) {
        line = ik_sprintf(candidate, "Tool '%s' is not used: it is not executable; chmod +x '%s'",
                          candidate->file, candidate->origin);
    }
    if (line != NULL) {
        add_line(candidate->discovery, &result->unused, &result->unused_count, line);
    }
}

static void add_candidate(ik_tool_discovery_t *discovery, const char *folder, const char *file,
                          const char *origin_folder, ik_tool_source_t source)
{
    candidate_t *candidate = ik_new(discovery, candidate_t);
    candidate->discovery = discovery;
    candidate->source = source;
    candidate->file = ik_strdup(candidate, file);
    candidate->path = ik_sprintf(candidate, "%s/%s", folder, file);
    candidate->origin = ik_sprintf(candidate, "%s/%s", origin_folder, file);
    bool exists = stat(candidate->path, &candidate->status) == 0;
    if (!exists || !S_ISREG(candidate->status.st_mode) || access(candidate->path, X_OK) != 0) {
        pass_over(candidate, exists);
        talloc_free(candidate);
        return;
    }
    res_t owned = ik_ownership_check_file(candidate->path);
    if (is_err(&owned)) {
        add_problem(discovery,
                    ik_sprintf(candidate, "Debug: tool '%s' skipped (%s)", file, owned.message));
        talloc_free(candidate);
        return;
    }
    discovery->candidates =
        ik_resize_array(discovery, discovery->candidates, candidate_t *, discovery->count + 1);
    discovery->candidates[discovery->count++] = candidate;
}

static int skip_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void list_folder(ik_tool_discovery_t *discovery, const char *folder,
                        const char *origin_folder, ik_tool_source_t source)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, skip_hidden, by_bytes);
    if (count < 0 && errno != ENOENT) {
        add_problem(discovery, ik_sprintf(discovery, "Debug: tool folder %s cannot be read (%s)",
                                          folder, strerror(errno)));
    }
    for (int i = 0; i < count; i++) {
        add_candidate(discovery, folder, entries[i]->d_name, origin_folder, source);
        free(entries[i]);
    }
    if (count >= 0) {
        free(entries);
    }
}

/* The folder may be a link, which does not exist in rooms. */
static void list_user(ik_tool_discovery_t *discovery)
{
    const char *folder = discovery->options.paths->user_tools;
    char real[PATH_MAX];
    bool is_link = readlink(folder, real, sizeof(real)) > 0 && realpath(folder, real) != NULL;
    list_folder(discovery, is_link ? real : folder, folder, IK_TOOL_USER);
}

/* Project tools are run from their trusted copy only, never from the project itself. */
static void list_project(ik_tool_discovery_t *discovery)
{
    const ik_tool_discovery_options_t *options = &discovery->options;
    ik_trust_status_t *trust =
        ik_trust_check(discovery, options->paths, options->paths->project_tools);
    discovery->result.trust = trust;
    bool usable = trust->state == IK_TRUST_GIVEN ||
                  (options->trust_project &&
                   (trust->state == IK_TRUST_NEVER || trust->state == IK_TRUST_CHANGED));
    if (!usable) {
        return;
    }
    char *copy;
    res_t copied = ik_trust_copy_create(discovery, options->paths->trusted, trust->snapshot, &copy);
    if (is_err(&copied)) {
        trust->state = IK_TRUST_REFUSED;
        trust->reason = ik_strdup(trust, copied.message);
        return;
    }
    trust->state = IK_TRUST_GIVEN;
    list_folder(discovery, copy, options->paths->project_tools, IK_TOOL_PROJECT);
}

/* --- the end ----------------------------------------------------------------------------- */

static void on_server_problem(void *data, const char *line)
{
    add_problem(data, line);
}

/* Tools are added in the order of the listing, which is the order of precedence, not in the order
 * of their answers. */
static void build_registry(ik_tool_discovery_t *discovery)
{
    ik_tool_registry_t *registry = ik_tool_registry_create(discovery);
    for (size_t i = 0; i < discovery->count; i++) {
        candidate_t *c = discovery->candidates[i];
        if (c->schema == NULL) {
            continue;
        }
        res_t added =
            ik_tool_registry_add(registry, c->path, c->origin, c->source, c->cached, c->schema);
        if (is_err(&added)) {
            c->schema = NULL;
            add_schema_problem(c, added.message);
        }
    }
    const ik_tool_supplier_t *servers = discovery->options.servers;
    if (servers != NULL) {
        ik_tool_supply_t supply = {
            .registry = registry, .problem = on_server_problem, .data = discovery};
        servers->supply(servers->supplier, &supply);
        ik_tool_search_add(registry);
        discovery->result.servers_line = servers->describe_trust(discovery, servers->supplier);
    }
    discovery->result.none = registry->count == 0;
    ik_tool_registry_remove_disabled(registry, discovery->options.config);
    discovery->result.registry = registry;
    for (size_t i = 0; i < registry->count; i++) {
        ik_tool_registry_entry_t *entry = registry->entries[i];
        entry->more_granted =
            entry->source == IK_TOOL_PROJECT &&
            (discovery->options.trust_project ||
             ik_trust_allows(discovery->result.trust, entry->name, entry->schema->effects));
        entry->host_granted =
            entry->source == IK_TOOL_PROJECT &&
            (discovery->options.trust_project ||
             ik_trust_allows_host(discovery->result.trust, entry->name, entry->schema->host));
        if (entry->overrides != NULL) {
            add_line(discovery, &discovery->result.hiding, &discovery->result.hiding_count,
                     ik_sprintf(discovery, "Tool '%s' from %s overrides the one from %s",
                                entry->name, entry->origin, entry->overrides));
        }
    }
}

/* --- asking ------------------------------------------------------------------------------ */

static void start_more(ik_tool_discovery_t *discovery);

static void grow_up(candidate_t *candidate)
{
    if (candidate->young) {
        candidate->young = false;
        candidate->discovery->young--;
    }
}

static void take_schema(candidate_t *candidate, const char *text, size_t len)
{
    ik_tool_schema_t *schema;
    res_t parsed = ik_tool_schema_parse(candidate, text, len, &schema);
    if (is_err(&parsed)) {
        add_schema_problem(candidate, parsed.message);
    } else {
        if (candidate->schema != NULL && !json_equal(candidate->schema->root, schema->root)) {
            ik_tool_discovery_result_t *result = &candidate->discovery->result;
            result->changed = ik_sprintf(candidate->discovery, "%s%s%s",
                                         result->changed == NULL ? "" : result->changed,
                                         result->changed == NULL ? "" : ", ", schema->name);
        }
        talloc_free(candidate->schema);
        candidate->schema = schema;
        candidate->cached = false;
        ik_tool_cache_put(candidate->discovery->cache, candidate->path, &candidate->status, text,
                          len);
    }
}

static char *describe_exit(const candidate_t *candidate, int exit_code)
{
    enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127 };
    const char *why = exit_code == NOT_EXECUTABLE || exit_code == NOT_FOUND
                          ? describe_first_line(candidate, candidate->path)
                          : NULL;
    if (exit_code > 128 && exit_code < 128 + NSIG) {
        return ik_sprintf(candidate, "killed by signal %d", exit_code - 128);
    }
    return ik_sprintf(candidate, "exit code %d%s%s", exit_code, why == NULL ? "" : ": ",
                      why == NULL ? "" : why);
}

/* A limit that is too low concerns all tools and is reported once. */
static void note_not_started(candidate_t *candidate, res_t error)
{
    if (error.code == IK_ERR_LIMIT) {
        candidate->discovery->result.limit = error;
    } else {
        const char *why = describe_first_line(candidate, candidate->path);
        add_schema_problem(candidate, why == NULL ? error.message : why);
    }
}

static void take_answer(candidate_t *candidate, ik_process_result_t *result)
{
    switch (result->end) {
    case IK_PROCESS_EXITED:
        if (result->exit_code != 0) {
            add_schema_problem(candidate, describe_exit(candidate, result->exit_code));
        } else if (result->out.len == 0) {
            add_schema_problem(candidate, "no output");
        } else {
            take_schema(candidate, result->out.data, result->out.len);
        }
        break;
    case IK_PROCESS_IDLE:
    case IK_PROCESS_OVERTIME:
        add_schema_problem(candidate, "timeout");
        break;
    case IK_PROCESS_FLOODED:
        add_schema_problem(candidate, "too much output");
        break;
    case IK_PROCESS_CANCELLED:
        add_schema_problem(candidate, "cancelled");
        break;
    case IK_PROCESS_LOST:
        candidate->lost = !candidate->asked_alone;
        if (candidate->lost) {
            break;
        }
        /* fall through */
    case IK_PROCESS_NOT_STARTED:
        note_not_started(candidate, result->error);
        break;
    }
}

static void on_answer(void *data, ik_process_result_t *result)
{
    candidate_t *candidate = data;
    ik_tool_discovery_t *discovery = candidate->discovery;
    candidate->process = NULL;
    take_answer(candidate, result);
    grow_up(candidate);
    discovery->waiting--;
    start_more(discovery);
}

static res_t run_schema(candidate_t *candidate, ik_process_host_t *host)
{
    ik_tool_discovery_t *discovery = candidate->discovery;
    const char *argv[] = {candidate->path, "--schema", NULL};
    int64_t limit = discovery->options.config->schema_timeout_ms;
    ik_process_options_t options = {.argv = argv,
                                    .folder = discovery->options.paths->cwd,
                                    .max_out = SCHEMA_MAX,
                                    .stop_when_full = true,
                                    .impatient = true,
                                    .idle_ms = limit,
                                    .max_ms = limit,
                                    .on_end = on_answer,
                                    .data = candidate};
    return ik_process_start(candidate, host, &options, &candidate->process);
}

/* host runs the tool; NULL: it cannot be confined, and runs as the user's own programs do, since
 * the user has agreed to these bytes, unless confinement is required. */
static void on_host(void *data, ik_process_host_t *host)
{
    candidate_t *candidate = data;
    ik_tool_discovery_t *discovery = candidate->discovery;
    const ik_tool_discovery_options_t *options = &discovery->options;
    bool required = options->config->confinement == IK_CONFIG_CONFINEMENT_REQUIRED;
    res_t started = host == NULL && required
                        ? ERR(DENIED, "it cannot be confined here; see ikigai doctor")
                        : run_schema(candidate, host == NULL ? options->host : host);
    if (is_ok(&started)) {
        discovery->result.started++;
        return;
    }
    note_not_started(candidate, started);
    grow_up(candidate);
    discovery->waiting--;
    ik_timer_start(discovery->timer, 0); /* if the room came from the loop, nothing else goes on */
}

static void ask(candidate_t *candidate)
{
    static const ik_effects_t none = {.write = IK_WRITE_NONE};
    ik_tool_discovery_t *discovery = candidate->discovery;
    const ik_tool_discovery_options_t *options = &discovery->options;
    candidate->started_ms = ik_clock_now_ms();
    candidate->young = true;
    discovery->young++;
    discovery->waiting++;
    if (candidate->source == IK_TOOL_PROJECT && options->confinement != NULL &&
        options->config->confinement != IK_CONFIG_CONFINEMENT_OFF) {
        ik_confinement_prepare(candidate, options->confinement, none, on_host, candidate);
    } else {
        on_host(candidate, options->host);
    }
}

/* Takes the schema from the cache. A damaged entry counts as none. */
static bool remember(candidate_t *candidate)
{
    const ik_tool_discovery_t *discovery = candidate->discovery;
    size_t len;
    const char *known =
        ik_tool_cache_lookup(discovery->cache, candidate->path, &candidate->status, &len);
    if (known != NULL) {
        res_t parsed = ik_tool_schema_parse(candidate, known, len, &candidate->schema);
        candidate->cached = is_ok(&parsed);
    }
    return candidate->cached;
}

/* Makes a schema of the file name, if it is a valid name for a tool. */
static void guess(candidate_t *candidate)
{
    char *name = ik_tool_schema_name_of_file(candidate, candidate->file);
    if (ik_tool_schema_valid_name(name)) {
        char *text = ik_sprintf(candidate, "{\"name\":\"%s\",\"description\":\"\"}", name);
        ik_tool_schema_parse(candidate, text, strlen(text), &candidate->schema);
        candidate->schema->description[0] = '\0'; /* the parser put the name there */
    }
}

static void look_up(candidate_t *candidate)
{
    const ik_tool_discovery_options_t *options = &candidate->discovery->options;
    if (!options->refresh && remember(candidate)) {
        candidate->discovery->result.remembered += candidate->source == IK_TOOL_USER;
        if (!options->ask_user_again || candidate->source != IK_TOOL_USER) {
            return;
        }
    }
    if (options->cache_only) {
        guess(candidate);
    } else {
        ask(candidate);
    }
}

/* Lost tools are asked again when all others are done, one at a time, so that only the tool that
 * kills the keeper fails. */
static void ask_lost(ik_tool_discovery_t *discovery)
{
    for (size_t i = 0; i < discovery->count && discovery->waiting == 0; i++) {
        candidate_t *candidate = discovery->candidates[i];
        if (candidate->lost) {
            candidate->lost = false;
            candidate->asked_alone = true;
            ask(candidate);
        }
    }
}

/* Starts the timer for the moment at which the oldest young tool frees its slot. */
static void set_timer(ik_tool_discovery_t *discovery)
{
    if (discovery->young < discovery->young_max || discovery->next == discovery->count) {
        ik_timer_stop(discovery->timer);
        return;
    }
    for (size_t i = 0; i < discovery->next; i++) {
        if (discovery->candidates[i]->young) {
            ik_timer_start(discovery->timer,
                           discovery->candidates[i]->started_ms + YOUNG_MS - ik_clock_now_ms());
            return;
        }
    }
}

static void start_more(ik_tool_discovery_t *discovery)
{
    while (discovery->next < discovery->count && discovery->young < discovery->young_max) {
        look_up(discovery->candidates[discovery->next++]);
    }
    if (discovery->next == discovery->count && discovery->waiting == 0) {
        ask_lost(discovery);
    }
    if (discovery->next == discovery->count && discovery->waiting == 0 &&
        discovery->servers == NULL) {
        build_registry(discovery);
        ik_tool_cache_save(discovery->cache);
        ik_timer_stop(discovery->timer);
        discovery->complete = true;
        discovery->on_done(discovery->data);
    } else {
        set_timer(discovery);
    }
}

static void on_timer(void *data)
{
    ik_tool_discovery_t *discovery = data;
    int64_t now = ik_clock_now_ms();
    for (size_t i = 0; i < discovery->next; i++) {
        candidate_t *candidate = discovery->candidates[i];
        if (candidate->young && now - candidate->started_ms >= YOUNG_MS) {
            grow_up(candidate);
        }
    }
    start_more(discovery);
}

static void on_servers(void *data)
{
    ik_tool_discovery_t *discovery = data;
    TALLOC_FREE(discovery->servers);
    ik_timer_start(discovery->timer, 0);
}

ik_tool_discovery_t *ik_tool_discovery_start(const void *ctx,
                                             const ik_tool_discovery_options_t *options,
                                             void (*on_done)(void *data), void *data)
{
    ik_tool_discovery_t *discovery = ik_new(ctx, ik_tool_discovery_t);
    cpu_set_t set;
    int cores = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    discovery->options = *options;
    discovery->on_done = on_done;
    discovery->data = data;
    discovery->young_max = YOUNG_TOOLS_PER_CORE * (size_t)cores;
    discovery->cache = ik_tool_cache_create(discovery, options->paths->cache);
    discovery->timer =
        ik_timer_create(discovery, ik_process_host_loop(options->host), on_timer, discovery);
    if (!options->only_project) {
        list_folder(discovery, options->paths->system_tools, options->paths->system_tools,
                    IK_TOOL_SYSTEM);
        list_user(discovery);
    }
    list_project(discovery);
    if (options->servers != NULL && !options->cache_only) {
        discovery->servers = options->servers->start(discovery, options->servers->supplier,
                                                     options->refresh, on_servers, discovery);
    }
    /* Started from the loop, so that on_done is never called before this returns. */
    ik_timer_start(discovery->timer, 0);
    return discovery;
}

const ik_tool_discovery_result_t *ik_tool_discovery_result(const ik_tool_discovery_t *discovery)
{
    return discovery->complete ? &discovery->result : NULL;
}

static void on_blocking_done(void *data)
{
    *(bool *)data = true;
}

res_t ik_tool_discovery_run(const void *ctx, const ik_tool_discovery_options_t *options,
                            const ik_tool_discovery_result_t **out)
{
    bool done = false;
    ik_tool_discovery_t *discovery = ik_tool_discovery_start(ctx, options, on_blocking_done, &done);
    if (!ik_loop_run_until(ik_process_host_loop(options->host), &done)) {
        talloc_free(discovery);
        return ERR(SYSTEM, "The search for tools ended early");
    }
    *out = &discovery->result;
    return discovery->result.limit;
}

/* --- the untrusted project --------------------------------------------------------------- */

/* The names are guessed from the file names, because untrusted tools must not be run. */
static void append_overrides(ik_buffer_t *line, const ik_tool_discovery_result_t *result)
{
    const ik_trust_snapshot_t *snapshot = result->trust->snapshot;
    const char *separator = "; would override ";
    for (size_t i = 0; i < snapshot->tool_count; i++) {
        char *name = ik_tool_schema_name_of_file(line->ctx, snapshot->tools[i]);
        if (ik_tool_registry_lookup(result->registry, name) != NULL) {
            ik_buffer_append_text(line, separator);
            ik_buffer_append_text(line, name);
            separator = ", ";
        }
        talloc_free(name);
    }
}

char *ik_tool_discovery_trust_line(const void *ctx, const ik_tool_discovery_result_t *result)
{
    const ik_trust_status_t *trust = result->trust;
    ik_buffer_t line;
    ik_buffer_init(&line, ctx, IK_BUFFER_UNLIMITED); /* bounded by the tools of the project */
    switch (trust->state) {
    case IK_TRUST_ABSENT:
    case IK_TRUST_GIVEN:
        return NULL;
    case IK_TRUST_REFUSED:
        ik_buffer_append_format(&line, "Project tools are not used: %s", trust->reason);
        return ik_buffer_finish(&line);
    case IK_TRUST_NEVER:
        ik_buffer_append_format(&line, "%zu project tool%s not trusted and not used",
                                trust->snapshot->tool_count,
                                trust->snapshot->tool_count == 1 ? " is" : "s are");
        break;
    case IK_TRUST_CHANGED:
        ik_buffer_append_format(&line, "%zu project tool%s no longer trusted and not used: %s",
                                trust->snapshot->tool_count,
                                trust->snapshot->tool_count == 1 ? " is" : "s are", trust->changed);
        break;
    }
    append_overrides(&line, result);
    ik_buffer_append_text(&line, ". Review: /trust or ikigai trust");
    return ik_buffer_finish(&line);
}
