#include "cli/cli_completion_model.h"

#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buffer.h"
#include "cli/cli_options.h"

/* --- places ------------------------------------------------------------------------------ */

typedef struct {
    const char *name;
    ik_cli_completion_kind_t kind;
    const char *list;
} meaning_t;

/* What the names in usages stand for. Any other is text. */
static const meaning_t meanings[] = {
    {"DIR", IK_CLI_COMPLETION_FOLDERS, ""},
    {"FILE", IK_CLI_COMPLETION_FILES, ""},
    {"ID", IK_CLI_COMPLETION_LIST, "sessions"},
    {"NAME", IK_CLI_COMPLETION_LIST, "tools"},
    {"PATH", IK_CLI_COMPLETION_FILES, ""},
    {"PROVIDER/MODEL", IK_CLI_COMPLETION_LIST, "models"},
    {"TOPIC", IK_CLI_COMPLETION_LIST, "topics"},
    {"URL", IK_CLI_COMPLETION_FILES, ""}, /* of a database: usually a file */
};

/* What stands before a bar: "FILE|-" is a file. */
static const meaning_t *find_meaning(const char *name)
{
    size_t len = strcspn(name, "|");
    for (size_t i = 0; i < IK_LENGTH(meanings); i++) {
        if (strlen(meanings[i].name) == len && strncmp(meanings[i].name, name, len) == 0) {
            return &meanings[i];
        }
    }
    return NULL;
}

/* Words are written as they are typed, what stands for something in capitals. */
static void set_kind(const void *ctx, ik_cli_completion_place_t *place, bool new_name)
{
    const meaning_t *meaning = find_meaning(place->name);
    bool is_new = new_name && strcmp(place->name, "NAME") == 0;
    if (islower((unsigned char)place->name[0])) {
        char *words = ik_strdup(ctx, place->name);
        for (char *bar = words; (bar = strchr(bar, '|')) != NULL;) {
            *bar = ' ';
        }
        place->kind = IK_CLI_COMPLETION_WORDS;
        place->words = words;
    } else if (meaning != NULL && !is_new) {
        place->kind = meaning->kind;
        place->words = meaning->list;
    }
}

/* usage: "[TOPIC...]", len bytes of it. */
static ik_cli_completion_place_t parse_place(const void *ctx, const char *usage, size_t len,
                                             bool new_name)
{
    ik_cli_completion_place_t place = {.words = ""};
    if (len > 2 && usage[0] == '[' && usage[len - 1] == ']') {
        place.optional = true;
        usage++;
        len -= 2;
    }
    if (len > 3 && strncmp(usage + len - 3, "...", 3) == 0) {
        place.repeats = true;
        len -= 3;
    }
    place.name = ik_strndup(ctx, usage, len);
    set_kind(ctx, &place, new_name);
    return place;
}

/* --- nodes ------------------------------------------------------------------------------- */

static ik_cli_completion_node_t *obtain_node(ik_cli_completion_model_t *model, const char *name,
                                             size_t len)
{
    for (size_t i = 0; i < model->count; i++) {
        const char *known = model->nodes[i]->name;
        if (strlen(known) == len && strncmp(known, name, len) == 0) {
            return model->nodes[i];
        }
    }
    ik_cli_completion_node_t *node = ik_new(model, ik_cli_completion_node_t);
    node->name = ik_strndup(node, name, len);
    model->nodes =
        ik_resize_array(model, model->nodes, ik_cli_completion_node_t *, model->count + 1);
    model->nodes[model->count++] = node;
    return node;
}

static void add_spelling(ik_cli_completion_node_t *node, ik_cli_completion_word_t word)
{
    node->options =
        ik_resize_array(node, node->options, ik_cli_completion_word_t, node->option_count + 1);
    node->options[node->option_count++] = word;
}

static void add_option(ik_cli_completion_node_t *node, const ik_cli_option_t *option)
{
    ik_cli_completion_word_t word = {.name = option->name, .help = option->help};
    if (option->value != NULL) {
        ik_cli_completion_place_t *value = ik_new(node, ik_cli_completion_place_t);
        *value = parse_place(node, option->value, strlen(option->value), false);
        word.value = value;
    }
    add_spelling(node, word);
    if (option->long_name != NULL) {
        word.name = option->long_name;
        add_spelling(node, word);
    }
}

static void add_arguments(ik_cli_completion_node_t *node, const char *usage, bool new_name)
{
    for (const char *at = usage; *at != '\0';) {
        size_t len = strcspn(at, " ");
        node->arguments = ik_resize_array(node, node->arguments, ik_cli_completion_place_t,
                                          node->argument_count + 1);
        node->arguments[node->argument_count++] = parse_place(node, at, len, new_name);
        at += len + strspn(at + len, " ");
    }
}

static bool has_next(const ik_cli_completion_node_t *node, const char *word, size_t len)
{
    for (size_t i = 0; i < node->next_count; i++) {
        if (strlen(node->next[i].name) == len && strncmp(node->next[i].name, word, len) == 0) {
            return true;
        }
    }
    return false;
}

static void add_next(ik_cli_completion_node_t *node, const char *word, size_t len, const char *help)
{
    if (has_next(node, word, len)) {
        return;
    }
    node->next = ik_resize_array(node, node->next, ik_cli_completion_word_t, node->next_count + 1);
    node->next[node->next_count++] =
        (ik_cli_completion_word_t){.name = ik_strndup(node, word, len), .help = help};
}

/* "list, show, run": all that is to be said of the first half of some commands. */
static char *format_next(const void *ctx, const ik_cli_completion_node_t *node)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < node->next_count; i++) {
        ik_buffer_append_format(&text, "%s%s", i == 0 ? "" : ", ", node->next[i].name);
    }
    return ik_buffer_finish(&text);
}

/* --- the tables -------------------------------------------------------------------------- */

static void add_talking(ik_cli_completion_model_t *model)
{
    ik_cli_completion_node_t *node = obtain_node(model, "", 0);
    const ik_cli_option_t *option;
    for (size_t i = 0; (option = ik_cli_options_at(i)) != NULL; i++) {
        add_option(node, option);
    }
    add_arguments(node, "[PROMPT...]", false);
}

/* Every command takes it, and half of one, too. */
static const ik_cli_option_t help_option = {.name = "--help", .help = "show how it is used"};

static void add_command(ik_cli_completion_model_t *model, const ik_cli_command_t *command)
{
    ik_cli_completion_node_t *node = model->nodes[0];
    const char *name = command->name;
    for (size_t at = 0, end; name[at] != '\0'; at = end + strspn(name + end, " ")) {
        end = at + strcspn(name + at, " ");
        add_next(node, name + at, end - at, name[end] == '\0' ? command->help : NULL);
        node = obtain_node(model, name, end);
    }
    for (const ik_cli_option_t *o = command->options; o != NULL && o->name != NULL; o++) {
        add_option(node, o);
    }
    add_option(node, &help_option);
    add_arguments(node, command->args == NULL ? "" : command->args, command->new_name);
}

static void finish_halves(ik_cli_completion_model_t *model)
{
    ik_cli_completion_node_t *root = model->nodes[0];
    for (size_t i = 0; i < root->next_count; i++) {
        const char *name = root->next[i].name;
        if (root->next[i].help == NULL) {
            ik_cli_completion_node_t *half = obtain_node(model, name, strlen(name));
            root->next[i].help = format_next(model, half);
            add_option(half, &help_option);
        }
    }
}

ik_cli_completion_model_t *ik_cli_completion_model_create(const void *ctx)
{
    ik_cli_completion_model_t *model = ik_new(ctx, ik_cli_completion_model_t);
    size_t count;
    const ik_cli_command_t *const *commands = ik_cli_commands(&count);
    add_talking(model);
    for (size_t i = 0; i < count; i++) {
        add_command(model, commands[i]);
    }
    finish_halves(model);
    return model;
}
