#include "provider/offline/offline_command.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/json.h"

/* --- words ------------------------------------------------------------------------------- */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static char *trim(const void *ctx, const char *text, size_t len)
{
    while (len > 0 && is_space(text[len - 1])) {
        len--;
    }
    while (len > 0 && is_space(*text)) {
        text++;
        len--;
    }
    return ik_strndup(ctx, text, len);
}

/* The text after the words, if it begins with them as whole words; otherwise NULL. */
static const char *skip_words(const char *text, const char *words)
{
    size_t len = strlen(words);
    if (strncasecmp(text, words, len) != 0 || (text[len] != '\0' && !is_space(text[len]))) {
        return NULL;
    }
    text += len;
    while (is_space(*text)) {
        text++;
    }
    return text;
}

static const char *skip_politeness(const char *text)
{
    static const char *const phrases[] = {"please", "can you", "could you", "now",
                                          "then",   "just",    NULL};
    size_t i = 0;
    while (phrases[i] != NULL) {
        const char *rest = skip_words(text, phrases[i]);
        bool polite = rest != NULL && *rest != '\0';
        text = polite ? rest : text;
        i = polite ? 0 : i + 1;
    }
    return text;
}

/* The request without "please" on either side. */
static char *strip_politeness(const void *ctx, const char *text)
{
    static const char please[] = " please";
    char *request = trim(ctx, text, strlen(text));
    size_t len = strlen(request);
    size_t tail = sizeof(please) - 1;
    if (len > tail && strcasecmp(request + len - tail, please) == 0) {
        len -= tail;
        len -= request[len - 1] == ',';
        request = trim(ctx, request, len);
    }
    return ik_strdup(ctx, skip_politeness(request));
}

/* Removes quotes that enclose the whole text. */
static char *unquote(const void *ctx, const char *text)
{
    size_t len = strlen(text);
    bool quoted = len >= 2 && strchr("'\"`", text[0]) != NULL && text[len - 1] == text[0] &&
                  memchr(text + 1, text[0], len - 2) == NULL;
    return quoted ? ik_strndup(ctx, text + 1, len - 2) : ik_strdup(ctx, text);
}

/* Splits "WHAT in WHERE" at the last " in ", if a single word or a quoted text follows it. */
static void split_path(const void *ctx, const char *text, char **what, char **where)
{
    const char *found = NULL;
    for (const char *at = text; (at = strcasestr(at, " in ")) != NULL; at++) {
        found = at;
    }
    const char *path = found == NULL ? NULL : found + strlen(" in ");
    char *plain = path == NULL ? NULL : unquote(ctx, path);
    bool one = plain != NULL && (strlen(plain) < strlen(path) || strpbrk(plain, " \t\n") == NULL);
    *where = one && *plain != '\0' ? plain : NULL;
    *what = unquote(ctx, *where == NULL ? text : trim(ctx, text, (size_t)(found - text)));
}

static char *first_line(const void *ctx, const char *text)
{
    return trim(ctx, text, strcspn(text, "\n"));
}

/* --- arguments --------------------------------------------------------------------------- */

/* {"name":"value"}, with a second member when its value is not NULL. */
static char *format_arguments(const void *ctx, const char *name, const char *value,
                              const char *second, const char *second_value)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the request */
    ik_buffer_append_format(&out, "{\"%s\":", name);
    ik_json_append_text(&out, value);
    if (second_value != NULL) {
        ik_buffer_append_format(&out, ",\"%s\":", second);
        ik_json_append_text(&out, second_value);
    }
    ik_buffer_append_byte(&out, '}');
    return ik_buffer_finish(&out);
}

static const char *skip_article(const char *text)
{
    static const char *const articles[] = {"the file", "file", "the", NULL};
    for (size_t i = 0; articles[i] != NULL; i++) {
        const char *rest = skip_words(text, articles[i]);
        if (rest != NULL && *rest != '\0') {
            return rest;
        }
    }
    return text;
}

/* A full stop at the end belongs to the sentence: file names rarely end in one. */
static char *read_arguments(const void *ctx, const char *rest)
{
    char *line = first_line(ctx, skip_article(rest));
    size_t len = strlen(line);
    if (len > 1 && strchr(".!?", line[len - 1]) != NULL && isalnum((unsigned char)line[len - 2])) {
        line[len - 1] = '\0';
    }
    char *path = unquote(ctx, line);
    return *path == '\0' ? NULL : format_arguments(ctx, "file_path", path, NULL, NULL);
}

/* A name or pattern without a slash is searched for in all folders. */
static char *find_arguments(const void *ctx, const char *rest)
{
    char *pattern;
    char *path;
    split_path(ctx, first_line(ctx, rest), &pattern, &path);
    if (*pattern == '\0') {
        return NULL;
    }
    if (strchr(pattern, '/') == NULL) {
        pattern = ik_sprintf(ctx, "**/%s", pattern);
    }
    return format_arguments(ctx, "pattern", pattern, "path", path);
}

static char *list_arguments(const void *ctx, const char *rest)
{
    const char *directory = skip_words(first_line(ctx, rest), "in");
    if (directory == NULL && *rest != '\0') {
        return strpbrk(rest, "*?[") == NULL ? NULL : find_arguments(ctx, rest);
    }
    char *path = directory == NULL || *directory == '\0' ? NULL : unquote(ctx, directory);
    return format_arguments(ctx, "pattern", "*", "path", path);
}

static char *grep_arguments(const void *ctx, const char *rest)
{
    char *pattern;
    char *path;
    split_path(ctx, first_line(ctx, rest), &pattern, &path);
    return *pattern == '\0' ? NULL : format_arguments(ctx, "pattern", pattern, "path", path);
}

/* "search" takes text, "grep" a pattern: the text is escaped. */
static char *search_arguments(const void *ctx, const char *rest)
{
    char *words;
    char *path;
    ik_buffer_t pattern;
    split_path(ctx, first_line(ctx, rest), &words, &path);
    ik_buffer_init(&pattern, ctx, IK_BUFFER_UNLIMITED); /* bounded by the request */
    for (const char *c = words; *c != '\0'; c++) {
        if (strchr("\\^$.[]|()?*+{}", *c) != NULL) {
            ik_buffer_append_byte(&pattern, '\\');
        }
        ik_buffer_append_byte(&pattern, *c);
    }
    return pattern.len == 0
               ? NULL
               : format_arguments(ctx, "pattern", ik_buffer_finish(&pattern), "path", path);
}

static char *run_arguments(const void *ctx, const char *rest)
{
    char *command = unquote(ctx, rest);
    return *command == '\0' ? NULL : format_arguments(ctx, "command", command, NULL, NULL);
}

/* --- requests ---------------------------------------------------------------------------- */

typedef struct {
    const char *words;
    const char *tool;
    /* Returns the arguments for the rest of the request; NULL when it makes no sense. */
    char *(*format)(const void *ctx, const char *rest);
    const char *usage; /* its line in the list of requests; NULL: a synonym, which is not listed */
    const char *example; /* its line among the suggestions, Markdown; NULL: none */
} verb_t;

/* The first match wins, so a phrase stands before any shorter one that it begins with. */
static const verb_t verbs[] = {
    {"read", "file_read", read_arguments, "read FILE", "`read README.md` to see a file"},
    {"show me", "file_read", read_arguments, NULL, NULL},
    {"show", "file_read", read_arguments, NULL, NULL},
    {"open", "file_read", read_arguments, NULL, NULL},
    {"cat", "file_read", read_arguments, NULL, NULL},
    {"file_read", "file_read", read_arguments, NULL, NULL},
    {"list the files", "glob", list_arguments, NULL, NULL},
    {"list all files", "glob", list_arguments, NULL, NULL},
    {"list files", "glob", list_arguments, "list files in DIR", "`list files` to see what is here"},
    {"list", "glob", list_arguments, NULL, NULL},
    {"find files", "glob", find_arguments, NULL, NULL},
    {"find", "glob", find_arguments, "find PATTERN", "`find *.c` to find files in all folders"},
    {"glob", "glob", find_arguments, NULL, NULL},
    {"search for", "grep", search_arguments, NULL, NULL},
    {"search", "grep", search_arguments, "search TEXT in DIR",
     "`search TODO` to find text in files"},
    {"look for", "grep", search_arguments, NULL, NULL},
    {"grep for", "grep", grep_arguments, NULL, NULL},
    {"grep", "grep", grep_arguments, NULL, NULL},
    {"run the command", "bash", run_arguments, NULL, NULL},
    {"run", "bash", run_arguments, "run COMMAND", "`run git status` to run a command"},
    {"execute", "bash", run_arguments, NULL, NULL},
    {"bash", "bash", run_arguments, NULL, NULL},
    {"$", "bash", run_arguments, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static bool is_name(const char *text, size_t len, const char *name)
{
    bool same = strlen(name) == len;
    for (size_t i = 0; same && i < len; i++) {
        char c = text[i] == '-' ? '_' : text[i];
        same = tolower((unsigned char)c) == tolower((unsigned char)name[i]);
    }
    return same;
}

static const char *find_tool(const ik_request_t *request, const char *name, size_t len)
{
    for (size_t i = 0; i < request->tool_count; i++) {
        if (is_name(name, len, request->tools[i].name)) {
            return request->tools[i].name;
        }
    }
    return NULL;
}

static void set_call(ik_offline_command_t *command, const char *tool, const char *arguments)
{
    command->tool = tool;
    command->arguments = arguments;
}

static void parse_json(const void *ctx, const char *name, size_t len, const char *json,
                       const ik_request_t *request, ik_offline_command_t *command)
{
    ik_json_span_t object;
    ik_json_fault_t fault;
    const char *tool = find_tool(request, name, len);
    if (tool == NULL) {
        command->problem = ik_sprintf(ctx, "There is no tool `%.*s`.", (int)len, name);
    } else if (!ik_json_scan(json, strlen(json), &object, &fault)) {
        command->problem = ik_sprintf(ctx, "What follows `%s` is not JSON: %s at character %zu.",
                                      tool, fault.reason, fault.offset + 1);
    } else {
        set_call(command, tool, ik_strndup(ctx, object.text, object.len));
    }
}

/* Parses TOOL and TOOL {json}: the name of a tool takes precedence over every verb. False when the
 * text is neither. */
static bool parse_tool(const void *ctx, const char *text, const ik_request_t *request,
                       ik_offline_command_t *command)
{
    size_t len = strcspn(text, " \t\n{");
    const char *rest = text + len + strspn(text + len, " \t\n");
    const char *tool = find_tool(request, text, len);
    if (*rest == '{' && len > 0) {
        parse_json(ctx, text, len, rest, request, command);
    } else if (*rest == '\0' && tool != NULL) {
        set_call(command, tool, "{}");
    }
    return command->tool != NULL || command->problem != NULL;
}

static void parse_verb(const void *ctx, const char *text, const ik_request_t *request,
                       ik_offline_command_t *command)
{
    const verb_t *verb = verbs;
    const char *rest = NULL;
    while (verb->words != NULL && (rest = skip_words(text, verb->words)) == NULL) {
        verb++;
    }
    char *arguments = verb->words == NULL ? NULL : verb->format(ctx, rest);
    if (arguments == NULL) {
        return;
    }
    const char *tool = find_tool(request, verb->tool, strlen(verb->tool));
    if (tool == NULL) {
        command->problem =
            ik_sprintf(ctx, "That needs the tool `%s`, which is not available.", verb->tool);
    } else {
        set_call(command, tool, arguments);
    }
}

static bool is_greeting(const char *text)
{
    static const char *const greetings[] = {"hi", "hello", "help", NULL};
    size_t len = strlen(text);
    while (len > 0 && strchr(".!?", text[len - 1]) != NULL) {
        len--;
    }
    for (size_t i = 0; greetings[i] != NULL; i++) {
        if (strlen(greetings[i]) == len && strncasecmp(text, greetings[i], len) == 0) {
            return true;
        }
    }
    return false;
}

void ik_offline_command_parse(const void *ctx, const char *text, const ik_request_t *request,
                              ik_offline_command_t *command)
{
    *command = (ik_offline_command_t){0};
    const char *plain = strip_politeness(ctx, text);
    if (!parse_tool(ctx, plain, request, command)) {
        command->greeting = is_greeting(plain);
        parse_verb(ctx, plain, request, command);
    }
}

void ik_offline_command_suggest(ik_buffer_t *out, const ik_request_t *request)
{
    for (const verb_t *verb = verbs; verb->words != NULL; verb++) {
        if (verb->example != NULL && find_tool(request, verb->tool, strlen(verb->tool)) != NULL) {
            ik_buffer_append_format(out, "- %s\n", verb->example);
        }
    }
}

void ik_offline_command_describe(ik_buffer_t *out, const ik_request_t *request)
{
    for (const verb_t *verb = verbs; verb->words != NULL; verb++) {
        if (verb->usage != NULL && find_tool(request, verb->tool, strlen(verb->tool)) != NULL) {
            ik_buffer_append_format(out, "- `%s`\n", verb->usage);
        }
    }
    ik_buffer_append_text(out, "- `TOOL {json}`, any tool with its arguments:");
    for (size_t i = 0; i < request->tool_count; i++) {
        ik_buffer_append_format(out, "%s `%s`", i == 0 ? "" : ",", request->tools[i].name);
    }
    ik_buffer_append_byte(out, '\n');
}
