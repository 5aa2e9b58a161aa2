#include "base/config_loader.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/config_secret.h"
#include "base/utf8.h"

enum { SHOWN_NAME_MAX = 80 };

/* --- errors and warnings ----------------------------------------------------------------- */

char *ik_config_loader_place(const ik_config_loader_t *loader, const char *at)
{
    if (loader->text == NULL || at == NULL) {
        return ik_strdup(loader->config, loader->origin);
    }
    size_t line = 1;
    for (const char *p = loader->text; (p = memchr(p, '\n', (size_t)(at - p))) != NULL; p++) {
        line++;
    }
    return ik_sprintf(loader->config, "%s:%zu", loader->origin, line);
}

static void keep_warning(ik_config_t *config, char *text)
{
    size_t count = config->warning_count;
    config->warnings = ik_resize_array(config, config->warnings, const char *, count + 1);
    config->warnings[count] = text;
    config->warning_count = count + 1;
}

/* Whether one more warning may be kept; the last one allowed says that others were left out. */
static bool has_room(ik_config_t *config)
{
    if (config->warning_count == IK_CONFIG_WARNING_MAX - 1) {
        keep_warning(config, ik_strdup(config, "further warnings about the configuration are left "
                                               "out"));
    }
    return config->warning_count < IK_CONFIG_WARNING_MAX;
}

static char *join(const void *ctx, const char *place, const char *message)
{
    return place == NULL ? ik_strdup(ctx, message) : ik_sprintf(ctx, "%s: %s", place, message);
}

void ik_config_loader_warn_at(ik_config_loader_t *loader, const char *place, const char *message)
{
    if (has_room(loader->config)) {
        keep_warning(loader->config, join(loader->config, place, message));
    }
}

void ik_config_loader_fail_at(ik_config_loader_t *loader, const char *place, const res_t *error)
{
    if (is_ok(&loader->error) && loader->source != IK_CONFIG_PROJECT) {
        loader->error =
            ik_error_make(error->code, "%s", join(loader->scratch, place, error->message));
    } else {
        ik_config_loader_warn_at(loader, place, error->message);
    }
}

void ik_config_loader_fail_file(ik_config_loader_t *loader, const char *path, const res_t *error)
{
    /* Where the path is a link, the error may name only what it leads to. */
    bool named = strstr(error->message, path) != NULL;
    ik_config_loader_fail_at(loader, named ? NULL : path, error);
}

void ik_config_loader_warn(ik_config_loader_t *loader, const char *at, const char *format, ...)
{
    if (!has_room(loader->config)) {
        return; /* before lines are counted, which would be slow for thousands of warnings */
    }
    va_list args;
    va_start(args, format);
    char *message = ik_vsprintf(loader->scratch, format, args);
    va_end(args);
    ik_config_loader_warn_at(loader, ik_config_loader_place(loader, at), message);
}

void ik_config_loader_fail(ik_config_loader_t *loader, ik_error_code_t code, const char *at,
                           const char *format, ...)
{
    bool warns = is_err(&loader->error) || loader->source == IK_CONFIG_PROJECT;
    if (warns && !has_room(loader->config)) {
        return;
    }
    va_list args;
    va_start(args, format);
    char *message = ik_vsprintf(loader->scratch, format, args);
    va_end(args);
    res_t error = ik_error_make(code, "%s", message);
    ik_config_loader_fail_at(loader, ik_config_loader_place(loader, at), &error);
}

const char *ik_config_loader_show(const ik_config_loader_t *loader, const char *name)
{
    size_t len = strlen(name);
    size_t shown = ik_utf8_cut(name, len, SHOWN_NAME_MAX);
    char *copy = ik_sprintf(loader->scratch, "%.*s%s", (int)shown, name, shown < len ? "..." : "");
    for (unsigned char *p = (unsigned char *)copy; *p != '\0'; p++) {
        if (*p < 0x20 || *p == 0x7f) {
            *p = '?';
        } else if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0) { /* U+0080 to U+009F */
            p[0] = p[1] = '?';
        }
    }
    return copy;
}

/* --- checks of text ---------------------------------------------------------------------- */

static bool is_plain_line(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f) {
            return false;
        }
    }
    return true;
}

static bool is_url(const char *text)
{
    const char *host = strncmp(text, "https://", 8) == 0  ? text + 8
                       : strncmp(text, "http://", 7) == 0 ? text + 7
                                                          : NULL;
    return host != NULL && strcspn(host, "/?#") > 0 && strchr(text, ' ') == NULL;
}

static bool is_variable(const char *text)
{
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    static const char more[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    return strspn(text, first) > 0 && text[strspn(text, more)] == '\0';
}

/* The reason why the text cannot be this key's value, or NULL. */
static const char *find_fault(const ik_config_key_t *key, const char *text)
{
    size_t len = strlen(text);
    if ((long)len < key->min) {
        return "must not be empty";
    }
    if ((long)len > key->max) {
        return "is too long";
    }
    if (!ik_utf8_valid(text, len)) {
        return "is not UTF-8";
    }
    if (key->type != IK_CONFIG_TEXT && !is_plain_line(text)) {
        return "must not contain control characters";
    }
    if (key->type == IK_CONFIG_URL && !is_url(text)) {
        return "must be a URL that begins with http:// or https://";
    }
    if ((key->type == IK_CONFIG_VARIABLE || key->type == IK_CONFIG_NAMES) && !is_variable(text)) {
        return "must be the name of an environment variable";
    }
    if (key->type == IK_CONFIG_PATHS && text[0] != '/' && strncmp(text, "~/", 2) != 0) {
        return "must begin with / or ~/";
    }
    bool is_root = key->type == IK_CONFIG_PATHS && strspn(text, "/") == len;
    if (is_root && key->offset != offsetof(ik_config_t, writable)) {
        return "must not be /";
    }
    return NULL;
}

/* --- storing ----------------------------------------------------------------------------- */

static void *value_of(const ik_config_key_t *key, void *data)
{
    return (char *)data + key->offset;
}

static void note_source(ik_config_loader_t *loader, const ik_config_key_t *key, void *data)
{
    size_t index = (size_t)(key - ik_config_keys);
    switch (key->section) {
    case IK_CONFIG_TOP:
        ((ik_config_t *)data)->sources[index] = loader->source;
        break;
    case IK_CONFIG_PROVIDER:
        ((ik_config_provider_t *)data)->sources[index] = loader->source;
        break;
    case IK_CONFIG_TOOL:
        ((ik_config_tool_t *)data)->sources[index] = loader->source;
        break;
    case IK_CONFIG_HOOK:
        ((ik_config_hook_t *)data)->sources[index] = loader->source;
        break;
    }
}

static void store_text(ik_config_loader_t *loader, const ik_config_key_t *key, void *data,
                       const char *text)
{
    size_t len = strlen(text);
    while (key->type == IK_CONFIG_URL && text[len - 1] == '/') {
        len--;
    }
    *(const char **)value_of(key, data) = ik_strndup(data, text, len);
    note_source(loader, key, data);
    if (key->type == IK_CONFIG_VARIABLE) {
        ik_config_secret_add(loader->config, text);
    }
}

static char *list_choices(const void *ctx, const char *const *choices)
{
    char *list = ik_sprintf(ctx, "\"%s\"", choices[0]);
    for (size_t i = 1; choices[i] != NULL; i++) {
        list =
            ik_sprintf(ctx, "%s%s\"%s\"", list, choices[i + 1] == NULL ? " or " : ", ", choices[i]);
    }
    return list;
}

/* text is NULL when the value is not a string. */
static void set_choice(ik_config_loader_t *loader, const ik_config_key_t *key, void *data,
                       const char *label, const char *at, const char *text)
{
    for (int i = 0; text != NULL && key->choices[i] != NULL; i++) {
        if (strcmp(text, key->choices[i]) == 0) {
            *(int *)value_of(key, data) = i + 1;
            note_source(loader, key, data);
            return;
        }
    }
    ik_config_loader_fail(loader, IK_ERR_INVALID, at, "%s must be %s", label,
                          list_choices(loader->scratch, key->choices));
}

void ik_config_loader_set_text(ik_config_loader_t *loader, const ik_config_key_t *key, void *data,
                               const char *label, const char *at, const char *value)
{
    if (key->type == IK_CONFIG_CHOICE) {
        set_choice(loader, key, data, label, at, value);
        return;
    }
    const char *fault = find_fault(key, value);
    bool is_model = key->section == IK_CONFIG_TOP && key->offset == offsetof(ik_config_t, model);
    if (fault != NULL) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, at, "%s %s", label, fault);
    } else if (is_model) {
        loader->models[loader->source] = (ik_config_model_t){
            .model = ik_strdup(loader->config, value),
            .place = ik_config_loader_place(loader, at),
        };
    } else {
        store_text(loader, key, data, value);
        if (value_of(key, data) == (void *)&loader->config->theme) {
            loader->theme_place = ik_config_loader_place(loader, at);
        }
    }
}

void ik_config_loader_set_integer(ik_config_loader_t *loader, const ik_config_key_t *key,
                                  void *data, const char *label, const char *at, long value)
{
    long *stored = value_of(key, data);
    if (value < key->min || value > key->max) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, at, "%s must be from %ld to %ld", label,
                              key->min, key->max);
        return;
    }
    bool restricted = loader->source == IK_CONFIG_PROJECT && key->project == IK_CONFIG_LOWER;
    if (restricted && value > *stored) {
        ik_config_loader_warn(loader, at,
                              "a %s above %ld is not honoured from a project's config file", label,
                              *stored);
        return;
    }
    *stored = value;
    note_source(loader, key, data);
}

/* --- from JSON --------------------------------------------------------------------------- */

/* The string, or NULL after reporting why not. */
static char *take_text(ik_config_loader_t *loader, const char *label, ik_json_span_t value)
{
    size_t len;
    if (ik_json_kind(value) != IK_JSON_STRING) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, value.text, "%s must be a string", label);
        return NULL;
    }
    char *text = ik_json_decode(loader->scratch, value, &len);
    if (strlen(text) != len) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, value.text, "%s must not contain \\u0000",
                              label);
        return NULL;
    }
    return text;
}

static void set_integer(ik_config_loader_t *loader, const ik_config_key_t *key, void *data,
                        const char *label, ik_json_span_t value)
{
    if (ik_json_kind(value) != IK_JSON_NUMBER || strspn(value.text, "-0123456789") < value.len) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, value.text, "%s must be a whole number",
                              label);
        return;
    }
    /* strtol stops at the end of the span or at the NUL after the file's text; an overflow
     * saturates, which is out of every range. */
    long number = strtol(value.text, NULL, 10);
    ik_config_loader_set_integer(loader, key, data, label, value.text, number);
}

static void set_boolean(ik_config_loader_t *loader, const ik_config_key_t *key, void *data,
                        const char *label, ik_json_span_t value)
{
    if (ik_json_kind(value) != IK_JSON_BOOLEAN) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, value.text, "%s must be true or false",
                              label);
        return;
    }
    bool truth = value.text[0] == 't';
    if (truth && loader->source == IK_CONFIG_PROJECT && key->project == IK_CONFIG_FALSE) {
        ik_config_loader_warn(loader, value.text,
                              "%s: true is not honoured from a project's config file", label);
        return;
    }
    *(bool *)value_of(key, data) = truth;
    note_source(loader, key, data);
}

/* The next name or path of the list, or NULL after reporting why not. */
static const char *take_name(ik_config_loader_t *loader, const ik_config_key_t *key,
                             const char *label, ik_json_span_t value)
{
    const char *text = take_text(loader, ik_sprintf(loader->scratch, "each of %s", label), value);
    const char *fault = text == NULL ? NULL : find_fault(key, text);
    if (fault != NULL) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, value.text, "each of %s %s", label, fault);
        return NULL;
    }
    const char *home = getenv("HOME");
    bool below_home = text != NULL && key->type == IK_CONFIG_PATHS && text[0] == '~';
    return below_home ? ik_sprintf(loader->scratch, "%s%s", home == NULL ? "" : home, text + 1)
                      : text;
}

static void set_names(ik_config_loader_t *loader, const ik_config_key_t *key, void *data,
                      const char *label, ik_json_span_t value)
{
    if (ik_json_kind(value) != IK_JSON_ARRAY) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, value.text, "%s must be an array of strings",
                              label);
        return;
    }
    const char **names = ik_new_array(data, const char *, 1);
    size_t count = 0;
    size_t position = 0;
    ik_json_span_t element;
    while (ik_json_next_element(value, &position, &element)) {
        const char *name = take_name(loader, key, label, element);
        if (name == NULL) {
            return;
        }
        if (key->type != IK_CONFIG_NAMES && count == IK_CONFIG_PATHS_MAX) {
            ik_config_loader_fail(loader, IK_ERR_LIMIT, element.text, "%s has more than %d %s",
                                  label, IK_CONFIG_PATHS_MAX,
                                  key->type == IK_CONFIG_PATHS ? "paths" : "entries");
            return;
        }
        names = ik_resize_array(data, names, const char *, count + 2);
        names[count++] = ik_strdup(names, name);
    }
    names[count] = NULL;
    *(const char ***)value_of(key, data) = names;
    note_source(loader, key, data);
}

/* The reason why the entry cannot be in a tool's env, or NULL. It never quotes the value, which is
 * a secret. */
static const char *find_value_fault(const char *name, const char *value, long max)
{
    if (!is_variable(name)) {
        return "is not the name of an environment variable";
    }
    if (strncmp(name, "IKIGAI_", 7) == 0) {
        return "is reserved for ikigai";
    }
    if ((long)strlen(value) > max) {
        return "is too long";
    }
    if (strncmp(value, "file:", 5) == 0 && value[5] != '/' && strncmp(value + 5, "~/", 2) != 0) {
        return "must name a file that begins with / or ~/";
    }
    return NULL;
}

/* "NAME=VALUE" of the next member, or NULL after reporting why not. */
static char *take_value(ik_config_loader_t *loader, const ik_config_key_t *key, const char *label,
                        ik_json_span_t name_span, ik_json_span_t value_span)
{
    size_t len;
    char *name = ik_json_decode(loader->scratch, name_span, &len);
    const char *shown =
        ik_sprintf(loader->scratch, "%s.%s", label, ik_config_loader_show(loader, name));
    const char *value = take_text(loader, shown, value_span);
    if (value == NULL) {
        return NULL;
    }
    const char *fault = find_value_fault(strlen(name) == len ? name : "", value, key->max);
    if (fault != NULL) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, name_span.text, "%s %s", shown, fault);
        return NULL;
    }
    return ik_sprintf(loader->scratch, "%s=%s", name, value);
}

static void set_values(ik_config_loader_t *loader, const ik_config_key_t *key, void *data,
                       const char *label, ik_json_span_t object)
{
    if (ik_json_kind(object) != IK_JSON_OBJECT) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, object.text,
                              "%s must be an object of names and values", label);
        return;
    }
    const char **values = ik_new_array(data, const char *, 1);
    size_t count = 0;
    size_t position = 0;
    ik_json_span_t name;
    ik_json_span_t value;
    while (ik_json_next_member(object, &position, &name, &value)) {
        const char *entry = take_value(loader, key, label, name, value);
        if (entry == NULL) {
            return;
        }
        if (count == IK_CONFIG_ENTRY_MAX) {
            ik_config_loader_fail(loader, IK_ERR_LIMIT, name.text, "more than %d variables",
                                  IK_CONFIG_ENTRY_MAX);
            return;
        }
        values = ik_resize_array(data, values, const char *, count + 2);
        values[count++] = ik_strdup(values, entry);
    }
    values[count] = NULL;
    *(const char ***)value_of(key, data) = values;
    note_source(loader, key, data);
}

void ik_config_loader_set_json(ik_config_loader_t *loader, const ik_config_key_t *key, void *data,
                               const char *label, ik_json_span_t value)
{
    if (loader->source == IK_CONFIG_PROJECT && key->project == IK_CONFIG_FORBID) {
        ik_config_loader_warn(loader, value.text, "%s is not honoured from a project's config file",
                              label);
        return;
    }
    const char *text;
    switch (key->type) {
    case IK_CONFIG_INTEGER:
        set_integer(loader, key, data, label, value);
        break;
    case IK_CONFIG_BOOLEAN:
        set_boolean(loader, key, data, label, value);
        break;
    case IK_CONFIG_CHOICE:
        set_choice(loader, key, data, label, value.text,
                   ik_json_kind(value) == IK_JSON_STRING
                       ? ik_json_decode(loader->scratch, value, NULL)
                       : NULL);
        break;
    case IK_CONFIG_VALUES:
        set_values(loader, key, data, label, value);
        break;
    case IK_CONFIG_NAMES:
    case IK_CONFIG_PATHS:
    case IK_CONFIG_PATTERNS:
        set_names(loader, key, data, label, value);
        break;
    default:
        text = take_text(loader, label, value);
        if (text != NULL) {
            ik_config_loader_set_text(loader, key, data, label, value.text, text);
        }
        break;
    }
}
