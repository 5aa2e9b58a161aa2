#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/config.h"

enum {
    DAY = 24 * 60 * 60,
    LINE_MAX_BYTES = 4096,
    NAME_MAX_BYTES = 128,
    VALUE_MAX_BYTES = 64 * 1024,
};

#define LIMIT_MAX (1L << 50) /* more memory than a process can address */

static const char *const TYPES[] = {"openai", "anthropic", "google", NULL};
static const char *const EDITING[] = {"emacs", "vi", NULL};
static const char *const APIS[] = {"chat", "responses", NULL};
static const char *const MODES[] = {"auto", "ask", "plan", "full", NULL};
static const char *const CONFINEMENTS[] = {"preferred", "required", "off", NULL};
static const char *const ON_FAILURE[] = {"go_on", "block", NULL};
static const char *const TOOL_OUTPUTS[] = {"full", "short", NULL};
static const char *const NOTIFICATIONS[] = {"auto", "bell", "osc9", "osc99", "osc777", "off", NULL};

#define TOP(field_) IK_CONFIG_TOP, #field_, offsetof(ik_config_t, field_)
#define PROVIDER(field_) IK_CONFIG_PROVIDER, #field_, offsetof(ik_config_provider_t, field_)
#define TOOL(field_) IK_CONFIG_TOOL, #field_, offsetof(ik_config_tool_t, field_)
#define HOOK(field_) IK_CONFIG_HOOK, #field_, offsetof(ik_config_hook_t, field_)

/* A member of the object limits. */
#define LIMIT(section_, struct_, field_, help_)                                                    \
    {                                                                                              \
        section_, "limits." #field_, offsetof(struct_, limits.field_), IK_CONFIG_INTEGER,          \
            IK_CONFIG_FORBID, 0, LIMIT_MAX, NULL, help_                                            \
    }
#define TOP_LIMIT(field_, help_) LIMIT(IK_CONFIG_TOP, ik_config_t, field_, help_)
#define TOOL_LIMIT(field_) LIMIT(IK_CONFIG_TOOL, ik_config_tool_t, field_, OWN_LIMIT_HELP)
#define OWN_LIMIT_HELP "overrides the general one; 0: no limit"

#define FORBID IK_CONFIG_FORBID
#define INTEGER IK_CONFIG_INTEGER
#define LINE IK_CONFIG_LINE

/*
 * To add a key: add a field to its section's struct (config.h) and a row here, and count it in
 * IK_CONFIG_KEY_COUNT; a built-in value goes into config.c. Keep FORBID unless a hostile project
 * could do no harm with the key.
 */
const ik_config_key_t ik_config_keys[] = {
    {TOP(model), LINE, IK_CONFIG_ALLOW, 1, LINE_MAX_BYTES, NULL,
     "the model to talk to, as `provider/model`"},
    {TOP(effort), LINE, FORBID, 1, NAME_MAX_BYTES, NULL,
     "the reasoning effort, in the provider's own terms"},
    {TOP(max_output_tokens), INTEGER, FORBID, 1, 100000000, NULL,
     "the longest answer, in tokens; not set: the model's own maximum"},
    {TOP(max_tool_turns), INTEGER, IK_CONFIG_ALLOW, 1, 1000000, NULL,
     "how many times a model may call tools in one turn"},
    {TOP(max_output_size), INTEGER, IK_CONFIG_LOWER, 1, 256L * 1024 * 1024, NULL,
     "the most bytes of a tool's result that a model receives"},
    {TOP(tool_timeout_seconds), INTEGER, FORBID, 1, DAY, NULL,
     "how long a tool may go without progress"},
    {TOP(tool_max_seconds), INTEGER, FORBID, 1, DAY, NULL, "how long a tool may take at all"},
    {TOP(schema_timeout_ms), INTEGER, FORBID, 1, 60000, NULL, "how long `--schema` may take"},
    {TOP(hook_timeout_seconds), INTEGER, FORBID, 1, DAY, NULL, "how long a hook may take"},
    {TOP(connect_timeout_seconds), INTEGER, FORBID, 1, DAY, NULL,
     "how long it may take to reach a provider"},
    {TOP(silence_timeout_seconds), INTEGER, FORBID, 1, DAY, NULL,
     "how long a model may send no byte at all"},
    {TOP(idle_stream_seconds), INTEGER, FORBID, 1, DAY, NULL,
     "how long a model may send keep-alives and no part of an answer"},
    {TOP(db), LINE, FORBID, 1, LINE_MAX_BYTES, NULL,
     "where sessions are kept: a file, or a `postgresql://` URL for a shared history"},
    {TOP(system_prompt), IK_CONFIG_TEXT, FORBID, 0, IK_CONFIG_FILE_MAX, NULL,
     "the system prompt, instead of the built-in one"},
    {TOP(mode), IK_CONFIG_CHOICE, FORBID, 0, 0, MODES,
     "how far an agent may go without asking; not set: `auto`"},
    {TOP(confinement), IK_CONFIG_CHOICE, FORBID, 0, 0, CONFINEMENTS,
     "whether tools are confined; `required` ends the program where they cannot be confined fully, "
     "`off` runs them unconfined except in plan mode"},
    {TOP(writable), IK_CONFIG_PATHS, FORBID, 1, LINE_MAX_BYTES, NULL,
     "places that confined tools may write besides the project; a list of paths that begin "
     "with `/` or `~/`"},
    {TOP(hidden), IK_CONFIG_PATHS, FORBID, 1, LINE_MAX_BYTES, NULL,
     "more places that confined tools may not read; a list of paths"},
    {TOP(caches), IK_CONFIG_PATHS, FORBID, 1, LINE_MAX_BYTES, NULL,
     "more folders of caches: confined tools write to a copy of each, and the folder itself does "
     "not change; a list of paths"},
    {TOP(pass_env), IK_CONFIG_NAMES, FORBID, 1, NAME_MAX_BYTES, NULL,
     "variables with secrets, such as `GITHUB_TOKEN`, that every tool gets nevertheless"},
    TOP_LIMIT(memory, "how many bytes of address space a process of a tool may have; 0: no limit"),
    TOP_LIMIT(file_size, "how many bytes a file that a tool writes may have; 0: no limit"),
    TOP_LIMIT(processes, "how many processes a call of a tool may have at a time; 0: no limit"),
    TOP_LIMIT(cpu_seconds, "how much processor time a process of a tool may use; 0: no limit"),
    {TOP(undo_max_files), INTEGER, FORBID, 0, 100000000, NULL,
     "how many files a checkpoint for undo covers; beyond it only what `file_write` and "
     "`file_edit` change; 0: no checkpoints"},
    {TOP(undo_max_bytes), INTEGER, FORBID, 0, LIMIT_MAX, NULL,
     "how many bytes of contents are kept for undo, all sessions together; 0: no checkpoints"},
    {TOP(tool_output), IK_CONFIG_CHOICE, FORBID, 0, 0, TOOL_OUTPUTS,
     "how much of a tool's result the terminal shows; Ctrl-T switches"},
    {TOP(theme), LINE, FORBID, 1, LINE_MAX_BYTES, NULL,
     "the colours: `auto`, `dark`, `light`, `mono` or the path of a theme file"},
    {TOP(notify), IK_CONFIG_CHOICE, FORBID, 0, 0, NOTIFICATIONS,
     "how to notify you while the terminal does not have the focus"},
    {TOP(notify_after_seconds), INTEGER, FORBID, 0, DAY, NULL,
     "the shortest turn whose end notifies you"},
    {TOP(keys), IK_CONFIG_CHOICE, FORBID, 0, 0, EDITING, "the keys that edit the draft"},

    {PROVIDER(type), IK_CONFIG_CHOICE, FORBID, 0, 0, TYPES, "the API it speaks; default: `openai`"},
    {PROVIDER(api), IK_CONFIG_CHOICE, FORBID, 0, 0, APIS,
     "which API of OpenAI it speaks, if its type is `openai`; default: `responses` for OpenAI's "
     "own "
     "server, `chat` for any other"},
    {PROVIDER(base_url), IK_CONFIG_URL, FORBID, 1, LINE_MAX_BYTES, NULL,
     "its address; of OpenAI's API with `/v1` at the end, of the others without"},
    {PROVIDER(api_key_env), IK_CONFIG_VARIABLE, FORBID, 1, NAME_MAX_BYTES, NULL,
     "the environment variable that holds its key; leave it out for a provider of your own that "
     "needs no key"},

    {TOOL(timeout_seconds), INTEGER, FORBID, 1, DAY, NULL,
     "how long it may go without progress; overrides what the tool asks for"},
    {TOOL(enabled), IK_CONFIG_BOOLEAN, IK_CONFIG_FALSE, 0, 0, NULL, "`false` removes the tool"},
    {TOOL(pass_env), IK_CONFIG_NAMES, FORBID, 1, NAME_MAX_BYTES, NULL,
     "variables with secrets that this tool gets nevertheless"},
    {TOOL(env), IK_CONFIG_VALUES, FORBID, 0, VALUE_MAX_BYTES, NULL,
     "variables to set for calls of this tool, an object of names and values; `\"file:PATH\"` "
     "stands for the text of that file. Read at each call"},
    TOOL_LIMIT(memory),
    TOOL_LIMIT(file_size),
    TOOL_LIMIT(processes),
    TOOL_LIMIT(cpu_seconds),

    {HOOK(on_failure), IK_CONFIG_CHOICE, FORBID, 0, 0, ON_FAILURE,
     "whether the call, prompt or summary goes on when the hook fails; default: `go_on`"},
    {HOOK(tools), IK_CONFIG_PATTERNS, FORBID, 1, NAME_MAX_BYTES, NULL,
     "the tools whose calls it runs for: a list of names or patterns; default: all"},
    {HOOK(timeout_seconds), INTEGER, FORBID, 1, DAY, NULL,
     "how long it may take; overrides `hook_timeout_seconds`"},
};

_Static_assert(IK_LENGTH(ik_config_keys) == IK_CONFIG_KEY_COUNT,
               "IK_CONFIG_KEY_COUNT must be the length of the table");

const ik_config_key_t *ik_config_find_key(ik_config_section_t section, const char *name)
{
    for (size_t i = 0; i < IK_CONFIG_KEY_COUNT; i++) {
        const ik_config_key_t *key = &ik_config_keys[i];
        if (key->section == section && strcmp(key->name, name) == 0) {
            return key;
        }
    }
    return NULL;
}

static const ik_config_source_t *sources_of(const ik_config_key_t *key, const void *section_data)
{
    switch (key->section) {
    case IK_CONFIG_PROVIDER:
        return ((const ik_config_provider_t *)section_data)->sources;
    case IK_CONFIG_TOOL:
        return ((const ik_config_tool_t *)section_data)->sources;
    case IK_CONFIG_HOOK:
        return ((const ik_config_hook_t *)section_data)->sources;
    default:
        return ((const ik_config_t *)section_data)->sources;
    }
}

ik_config_source_t ik_config_key_source(const ik_config_key_t *key, const void *section_data)
{
    return sources_of(key, section_data)[key - ik_config_keys];
}

const char *ik_config_source_name(ik_config_source_t source)
{
    static const char *const names[IK_CONFIG_SOURCE_COUNT] = {
        [IK_CONFIG_BUILT_IN] = "built-in",
        [IK_CONFIG_SYSTEM] = "system",
        [IK_CONFIG_USER] = "user",
        [IK_CONFIG_PROJECT] = "project",
        [IK_CONFIG_ENVIRONMENT] = "environment",
        [IK_CONFIG_FLAG] = "flag",
    };
    return names[source];
}

const char *ik_config_provider_type_name(int type)
{
    return type == IK_CONFIG_TYPE_OFFLINE ? "offline" : TYPES[type - 1];
}

/* --- formatting -------------------------------------------------------------------------- */

/* Output of doctor ends up in bug reports. Hides the secret in scheme://user:secret@host and in
 * password=secret, which may be the end of another name: sslpassword. */
char *ik_config_hide_password(const void *ctx, const char *text)
{
    const char *scheme = strstr(text, "://");
    if (scheme == NULL) {
        return ik_strdup(ctx, text);
    }
    const char *authority = scheme + 3;
    /* The last @ counts: a password may contain one that was not escaped. */
    const char *at = memrchr(authority, '@', strcspn(authority, "/?#"));
    const char *colon = at == NULL ? NULL : memchr(authority, ':', (size_t)(at - authority));
    ik_buffer_t shown;
    ik_buffer_init(&shown, ctx, IK_BUFFER_UNLIMITED); /* bounded by the text */
    if (colon != NULL) {
        ik_buffer_append(&shown, text, (size_t)(colon - text));
        ik_buffer_append_text(&shown, ":***");
        text = at;
    }
    for (const char *parameter; (parameter = strstr(text, "password=")) != NULL;) {
        const char *secret = parameter + strlen("password=");
        ik_buffer_append(&shown, text, (size_t)(secret - text));
        ik_buffer_append_text(&shown, "***");
        text = secret + strcspn(secret, "&");
    }
    ik_buffer_append_text(&shown, text);
    return ik_buffer_finish(&shown);
}

static char *format_names(const void *ctx, const char *const *names)
{
    ik_buffer_t list;
    ik_buffer_init(&list, ctx, IK_CONFIG_FILE_MAX);
    ik_buffer_append_text(&list, "");
    for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
        ik_buffer_append_format(&list, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    return ik_buffer_finish(&list);
}

/* The names, and the files that values are read from; a value itself is a secret. */
static char *format_values(const void *ctx, const char *const *values)
{
    ik_buffer_t list;
    ik_buffer_init(&list, ctx, IK_CONFIG_FILE_MAX);
    ik_buffer_append_text(&list, "");
    for (size_t i = 0; values != NULL && values[i] != NULL; i++) {
        const char *value = strchr(values[i], '=') + 1;
        bool in_file = strncmp(value, "file:", 5) == 0;
        ik_buffer_append_format(&list, "%s%.*s%s%s%s", i == 0 ? "" : ", ",
                                (int)(value - 1 - values[i]), values[i], in_file ? " (" : "",
                                in_file ? value : "", in_file ? ")" : "");
    }
    return ik_buffer_finish(&list);
}

char *ik_config_format_key(const void *ctx, const ik_config_key_t *key, const void *section_data)
{
    const void *value = (const char *)section_data + key->offset;
    const char *text;
    long number;
    int choice;
    switch (key->type) {
    case IK_CONFIG_INTEGER:
        number = *(const long *)value;
        /* Unless a key's range begins with 0, 0 means not set. */
        return number == 0 && key->min > 0 ? ik_strdup(ctx, "") : ik_sprintf(ctx, "%ld", number);
    case IK_CONFIG_BOOLEAN:
        return ik_strdup(ctx, *(const bool *)value ? "true" : "false");
    case IK_CONFIG_CHOICE:
        choice = *(const int *)value;
        text = choice == 0             ? ""
               : key->choices == TYPES ? ik_config_provider_type_name(choice)
                                       : key->choices[choice - 1];
        return ik_strdup(ctx, text);
    case IK_CONFIG_NAMES:
    case IK_CONFIG_PATHS:
    case IK_CONFIG_PATTERNS:
        return format_names(ctx, *(const char *const *const *)value);
    case IK_CONFIG_VALUES:
        return format_values(ctx, *(const char *const *const *)value);
    default:
        text = *(const char *const *)value;
        return text == NULL ? ik_strdup(ctx, "") : ik_config_hide_password(ctx, text);
    }
}
