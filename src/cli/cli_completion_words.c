#include "cli/cli_completion_words.h"

#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/sanitiser.h"
#include "base/width.h"
#include "cli/cli_manual.h"
#include "command/command_model.h"
#include "store/history.h"
#include "store/sqlite/store_sqlite.h"

/* Of a note; and of sessions, the newest: who looks for an older one searches. */
enum { NOTE_COLUMNS = 60, SESSION_COUNT = 50 };

/* --- the lists --------------------------------------------------------------------------- */

static void list_models(ik_cli_t *cli, ik_command_words_t *out)
{
    ik_models_t *models;
    res_t loaded = ik_models_load(cli->ctx, cli->paths, &models);
    (void)loaded; /* what could be read is there all the same */
    ik_command_model_collect(out, cli->config, models);
}

/* SQLite would make a database of a file that is missing or empty. */
static bool holds_something(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
}

/* Those of this machine: nobody waits for a server while typing. */
static void list_sessions(ik_cli_t *cli, ik_command_words_t *out)
{
    const char *file = ik_history_local_file(cli->config->db, cli->paths->database);
    ik_store_filter_t filter = {.limit = SESSION_COUNT, .uncounted = true};
    ik_store_t *store;
    ik_store_list_t *list;
    if (!holds_something(file)) {
        return;
    }
    res_t read = ik_store_sqlite_open(cli->ctx, file, &store);
    if (is_ok(&read)) {
        read = ik_store_list(cli->ctx, store, &filter, &list);
    }
    for (size_t i = 0; is_ok(&read) && i < list->count; i++) {
        ik_command_words_add(out, list->sessions[i].id, list->sessions[i].title);
    }
}

static void list_tools(ik_cli_t *cli, ik_command_words_t *out)
{
    ik_tool_discovery_options_t options = {
        .paths = cli->paths, .config = cli->config, .host = cli->host, .ask_nobody = true};
    const ik_tool_discovery_result_t *found;
    res_t looked = ik_tool_discovery_run(cli->ctx, &options, &found);
    for (size_t i = 0; is_ok(&looked) && i < found->registry->count; i++) {
        const ik_tool_registry_entry_t *entry = found->registry->entries[i];
        ik_command_words_add(out, entry->name, entry->schema->description);
    }
}

static void list_topics(ik_cli_t *cli, ik_command_words_t *out)
{
    size_t count;
    const ik_cli_topic_t *topics = ik_cli_manual_topics(cli->ctx, cli->paths, &count);
    for (size_t i = 0; i < count; i++) {
        ik_command_words_add(out, topics[i].name, topics[i].help);
    }
}

/* --- printing ---------------------------------------------------------------------------- */

/* A word is inserted as it is: one that would have to be cleaned for a terminal, or would end the
 * line or begin the note, cannot be. */
static bool is_word(const char *text)
{
    return *text != '\0' && strpbrk(text, "\t\n") == NULL &&
           ik_sanitise_is_clean(text, strlen(text));
}

static void append_line(ik_buffer_t *out, const char *word, const char *note)
{
    ik_buffer_append_text(out, word);
    if (note != NULL && *note != '\0') {
        ik_buffer_append_byte(out, '\t');
        ik_width_append(out, note, NOTE_COLUMNS, IK_WIDTH_KEEP_START);
    }
    ik_buffer_append_byte(out, '\n');
}

static void print_words(const ik_command_words_t *words)
{
    ik_buffer_t out;
    ik_buffer_init(&out, words->ctx, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < words->count; i++) {
        if (is_word(words->texts[i])) {
            append_line(&out, words->texts[i], words->notes[i]);
        }
    }
    if (out.len > 0) {
        fwrite(out.data, 1, out.len, stdout);
    }
}

typedef struct {
    const char *kind;
    void (*list)(ik_cli_t *cli, ik_command_words_t *out);
} list_t;

bool ik_cli_completion_words_print(ik_cli_t *cli, const char *kind)
{
    static const list_t lists[] = {{"models", list_models},
                                   {"sessions", list_sessions},
                                   {"tools", list_tools},
                                   {"topics", list_topics}};
    for (size_t i = 0; i < IK_LENGTH(lists); i++) {
        if (strcmp(lists[i].kind, kind) == 0) {
            ik_command_words_t words = {.ctx = cli->ctx};
            lists[i].list(cli, &words);
            print_words(&words);
            return true;
        }
    }
    return false;
}
