#include "mcp/mcp_elicitation.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/sanitiser.h"
#include "base/utf8.h"

enum { FIELDS_MAX = 50, ANSWER_MAX = 64 * 1024 };

typedef struct {
    const ik_mcp_options_t *options;
    char *server;
    json_t *params;
    const char *url;    /* to visit, of params; NULL: it is a form */
    json_t *properties; /* borrowed; NULL: the question is yes or no */
    void *iterator;     /* the field that is asked */
    json_t *content;
    char *note;     /* why the field is asked again; NULL: it is not */
    void *question; /* the open one */
    bool asking;    /* ask has not returned yet */
    bool answered;  /* it was answered meanwhile */
    ik_mcp_elicited_fn on_done;
    void *data;
    bool returned; /* ik_mcp_elicit has returned */
    bool done;
} form_t;

const char *ik_mcp_elicitation_fault(ik_json_span_t params)
{
    ik_json_span_t value;
    if (!ik_json_find_kind(params, "message", IK_JSON_STRING, &value)) {
        return "message is missing";
    }
    /* Valid JSON may hold numbers and names that no tree can. */
    json_t *tree = ik_json_parse(params.text, params.len, NULL);
    bool readable = tree != NULL;
    json_decref(tree);
    if (!readable) {
        return "a number or name in the params is not supported";
    }
    bool has_mode = ik_json_find_kind(params, "mode", IK_JSON_STRING, &value);
    if (has_mode && ik_json_is_text(value, "url")) {
        return ik_json_find_kind(params, "url", IK_JSON_STRING, &value) ? NULL : "url is missing";
    }
    if (has_mode && !ik_json_is_text(value, "form")) {
        return "the mode is not supported";
    }
    return ik_json_find_kind(params, "requestedSchema", IK_JSON_OBJECT, &value)
               ? NULL
               : "requestedSchema is missing";
}

/* --- the end ----------------------------------------------------------------------------- */

static void finish(form_t *form, const char *action)
{
    json_t *result = json_pack("{s:s}", "action", action);
    if (strcmp(action, "accept") == 0 && form->url == NULL) { /* a form may have no fields */
        json_object_set(result, "content", form->content);
    }
    char *text = ik_json_format(form, result);
    json_decref(result);
    form->done = true;
    ik_alloc_take(form); /* the callback may free its parent */
    form->on_done(form->data, text);
    if (form->returned && !form->asking) {
        talloc_free(form);
    }
}

/* --- choices ----------------------------------------------------------------------------- */

static json_t *choice_value(json_t *choice)
{
    json_t *constant = json_object_get(choice, "const");
    return constant == NULL ? choice : constant;
}

/* The choices of a field, a list of strings or of {const, title}; NULL: any value. */
static json_t *choices_of(json_t *field)
{
    static const char *const names[] = {"enum", "oneOf", "anyOf"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        json_t *list = json_object_get(field, names[i]);
        if (json_array_size(list) > 0) {
            return list;
        }
    }
    return NULL;
}

static const char *choice_title(json_t *field, size_t index, json_t *choice)
{
    const char *title = json_string_value(json_object_get(choice, "title"));
    const char *named =
        json_string_value(json_array_get(json_object_get(field, "enumNames"), index));
    const char *value = json_string_value(choice_value(choice));
    return title != NULL ? title : named != NULL ? named : value != NULL ? value : "?";
}

/* By number, text or title; NULL: none. Borrowed. */
static json_t *find_choice(json_t *field, json_t *choices, const char *text)
{
    char *end;
    long number = strtol(text, &end, 10);
    size_t i;
    json_t *each;
    json_array_foreach(choices, i, each)
    {
        const char *value = json_string_value(choice_value(each));
        if (value != NULL &&
            (strcasecmp(value, text) == 0 || strcasecmp(choice_title(field, i, each), text) == 0)) {
            return choice_value(each);
        }
    }
    bool counts = *end == '\0' && number >= 1 && number <= (long)json_array_size(choices);
    return counts ? choice_value(json_array_get(choices, (size_t)number - 1)) : NULL;
}

/* --- values ------------------------------------------------------------------------------ */

static bool is_type(json_t *field, const char *type)
{
    const char *name = json_string_value(json_object_get(field, "type"));
    return name != NULL && strcmp(name, type) == 0;
}

/* Without surrounding blanks, in place. */
static char *trim(char *text)
{
    text += strspn(text, " ");
    for (char *end = text + strlen(text); end > text && end[-1] == ' ';) {
        *--end = '\0';
    }
    return text;
}

static json_t *parse_number(json_t *field, const char *text, const char **fault)
{
    char *end;
    errno = 0;
    bool whole = is_type(field, "integer");
    long long integer = strtoll(text, &end, 10);
    bool is_integer = *end == '\0' && errno == 0;
    double real = strtod(text, &end);
    json_t *low = json_object_get(field, "minimum");
    json_t *high = json_object_get(field, "maximum");
    if (*end != '\0' || !isfinite(real) || (whole && !is_integer)) {
        *fault = whole ? "a whole number, please" : "a number, please";
    } else if ((low != NULL && real < json_number_value(low)) ||
               (high != NULL && real > json_number_value(high))) {
        *fault = "this number is out of range";
    }
    return *fault != NULL ? NULL : is_integer ? json_integer(integer) : json_real(real);
}

static json_t *parse_string(json_t *field, const char *text, const char **fault)
{
    size_t length = 0;
    for (const char *c = text; *c != '\0'; c++) {
        length += ((unsigned char)*c & 0xc0) != 0x80;
    }
    json_t *least = json_object_get(field, "minLength");
    json_t *most = json_object_get(field, "maxLength");
    const char *format = json_string_value(json_object_get(field, "format"));
    format = format == NULL ? "" : format;
    if (least != NULL && (json_int_t)length < json_integer_value(least)) {
        *fault = "this is too short";
    } else if (most != NULL && (json_int_t)length > json_integer_value(most)) {
        *fault = "this is too long";
    } else if (strcmp(format, "email") == 0 && strchr(text, '@') == NULL) {
        *fault = "an e-mail address, please";
    } else if (strcmp(format, "uri") == 0 && strchr(text, ':') == NULL) {
        *fault = "a URI, please";
    } else if (strncmp(format, "date", 4) == 0 && (strlen(text) < 10 || text[4] != '-')) {
        *fault = "a date such as 2026-01-31, please";
    }
    return *fault == NULL ? json_string(text) : NULL;
}

static json_t *parse_boolean(const char *text, const char **fault)
{
    static const char *const yes[] = {"y", "yes", "true", "1", NULL};
    static const char *const no[] = {"n", "no", "false", "0", NULL};
    for (int i = 0; yes[i] != NULL; i++) {
        if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
            return json_boolean(strcasecmp(text, yes[i]) == 0);
        }
    }
    *fault = "yes or no, please";
    return NULL;
}

/* Several choices, separated by commas. */
static json_t *parse_list(const void *ctx, json_t *field, const char *text, const char **fault)
{
    json_t *items = json_object_get(field, "items");
    json_t *choices = choices_of(items);
    json_t *list = json_array();
    char *copy = ik_strdup(ctx, text);
    char *rest = copy;
    for (char *word; *fault == NULL && (word = strsep(&rest, ",")) != NULL;) {
        word = trim(word);
        json_t *choice = choices == NULL ? NULL : find_choice(items, choices, word);
        if (choices != NULL && choice == NULL && *word != '\0') {
            *fault = "one or more of the choices, please, separated by commas";
        } else if (*word != '\0') {
            json_array_append_new(list, choice == NULL ? json_string(word) : json_incref(choice));
        }
    }
    talloc_free(copy);
    json_t *least = json_object_get(field, "minItems");
    json_t *most = json_object_get(field, "maxItems");
    if (*fault == NULL &&
        ((json_int_t)json_array_size(list) < json_integer_value(least) ||
         (most != NULL && (json_int_t)json_array_size(list) > json_integer_value(most)))) {
        *fault = "more or fewer choices, please";
    }
    return list;
}

/* A choice, a truth value or a number. New reference; NULL with a fault. */
static json_t *parse_word(json_t *field, const char *word, const char **fault)
{
    json_t *choices = choices_of(field);
    if (choices != NULL) {
        json_t *choice = find_choice(field, choices, word);
        *fault = choice == NULL ? "one of the choices, please" : NULL;
        return json_incref(choice);
    }
    return is_type(field, "boolean") ? parse_boolean(word, fault)
                                     : parse_number(field, word, fault);
}

/* New reference; NULL with a fault. */
static json_t *parse_value(const void *ctx, json_t *field, const char *text, const char **fault)
{
    *fault = NULL;
    if (is_type(field, "array")) {
        return parse_list(ctx, field, text, fault);
    }
    if (choices_of(field) == NULL && !is_type(field, "boolean") && !is_type(field, "integer") &&
        !is_type(field, "number")) {
        return parse_string(field, text, fault);
    }
    char *copy = ik_strdup(ctx, text);
    json_t *value = parse_word(field, trim(copy), fault);
    talloc_free(copy);
    return value;
}

/* --- asking ------------------------------------------------------------------------------ */

static bool is_required(const form_t *form, const char *name)
{
    json_t *schema = json_object_get(form->params, "requestedSchema");
    json_t *wanted = json_string(name);
    bool required = ik_json_array_has(json_object_get(schema, "required"), wanted);
    json_decref(wanted);
    return required;
}

static void append_value(ik_buffer_t *out, json_t *value)
{
    char *text = json_is_string(value) ? NULL : ik_json_format(out->ctx, value);
    ik_buffer_append_text(out, text == NULL ? json_string_value(value) : text);
    talloc_free(text);
}

/* "title: description (1 red, 2 green) [default]" */
static void append_field(ik_buffer_t *out, const char *name, json_t *field)
{
    const char *title = json_string_value(json_object_get(field, "title"));
    const char *description = json_string_value(json_object_get(field, "description"));
    json_t *holder = is_type(field, "array") ? json_object_get(field, "items") : field;
    json_t *choices = choices_of(holder);
    json_t *fallback = json_object_get(field, "default");
    size_t i;
    json_t *each;
    ik_buffer_append_text(out, title == NULL ? name : title);
    if (description != NULL) {
        ik_buffer_append_format(out, ", %s", description);
    }
    json_array_foreach(choices, i, each)
    {
        ik_buffer_append_format(out, "%s%zu %s", i == 0 ? " (" : ", ", i + 1,
                                choice_title(holder, i, each));
    }
    ik_buffer_append_text(out, choices != NULL             ? ")"
                               : is_type(field, "boolean") ? " (yes or no)"
                                                           : "");
    if (fallback != NULL && !json_is_null(fallback)) {
        ik_buffer_append_text(out, " [");
        append_value(out, fallback);
        ik_buffer_append_byte(out, ']');
    }
}

static void ask_next(form_t *form);

/* Takes the answer to a field; false: ask again. */
static bool take_field(form_t *form, const char *answer)
{
    const char *name = json_object_iter_key(form->iterator);
    json_t *field = json_object_iter_value(form->iterator);
    json_t *fallback = json_object_get(field, "default");
    const char *fault = NULL;
    TALLOC_FREE(form->note);
    if (answer[strspn(answer, " ")] != '\0') {
        json_t *value = parse_value(form, field, answer, &fault);
        if (fault != NULL) {
            json_decref(value);
            form->note = ik_strdup(form, fault);
            return false;
        }
        json_object_set_new(form->content, name, value);
    } else if (fallback != NULL && !json_is_null(fallback)) {
        json_object_set(form->content, name, fallback);
    } else if (is_required(form, name)) {
        form->note = ik_strdup(form, "an answer is required");
        return false;
    }
    form->iterator = json_object_iter_next(form->properties, form->iterator);
    return true;
}

static void on_answer(void *data, const char *answer)
{
    form_t *form = data;
    form->question = NULL;
    if (answer == NULL) {
        finish(form, "cancel");
        return;
    }
    if (form->properties == NULL) {
        const char *fault = NULL;
        json_t *yes = *answer == '\0' ? json_false() : parse_boolean(answer, &fault);
        finish(form, json_is_true(yes) ? "accept" : "decline");
        return;
    }
    take_field(form, answer);
    if (form->iterator == NULL) {
        finish(form, "accept");
    } else if (form->asking) {
        form->answered = true;
    } else {
        ask_next(form);
    }
}

static void ask_next(form_t *form)
{
    const char *message = json_string_value(json_object_get(form->params, "message"));
    do {
        ik_buffer_t text;
        ik_buffer_init(&text, form, ANSWER_MAX);
        ik_buffer_append_format(&text, "%s asks: %s", form->server, message);
        if (form->url != NULL) {
            ik_buffer_append_format(&text, " Visit %s", form->url);
        }
        if (form->properties == NULL) {
            ik_buffer_append_text(&text, " [y/N]");
        } else {
            ik_buffer_append_text(&text, " - ");
            append_field(&text, json_object_iter_key(form->iterator),
                         json_object_iter_value(form->iterator));
        }
        if (form->note != NULL) {
            ik_buffer_append_format(&text, " (%s)", form->note);
        }
        ik_buffer_append_text(&text, ": ");
        char *line = ik_sanitise_line(form, text.data);
        ik_buffer_reset(&text);
        form->answered = false;
        form->asking = true;
        form->question = form->options->ask(form->options->data, line, on_answer, form);
        form->asking = false;
        talloc_free(line);
    } while (form->answered);
    if (form->done && form->returned) {
        talloc_free(form);
    }
}

static void on_form(void *data, const char *answer)
{
    form_t *form = data;
    json_t *result =
        answer == NULL ? NULL : ik_json_adopt(form, ik_json_parse(answer, strlen(answer), NULL));
    const char *action = json_string_value(json_object_get(result, "action"));
    json_t *content = json_object_get(result, "content");
    form->question = NULL;
    if (action != NULL && strcmp(action, "accept") == 0 &&
        (json_is_object(content) || form->properties == NULL)) {
        json_object_update(form->content, content);
        finish(form, "accept");
    } else {
        finish(form, action != NULL && strcmp(action, "decline") == 0 ? "decline" : "cancel");
    }
}

static void ask_whole(form_t *form, json_t *schema)
{
    const char *message = json_string_value(json_object_get(form->params, "message"));
    char *line = ik_sprintf(form, "%s asks: %s", form->server, message);
    char *text = form->url == NULL ? ik_json_format(form, schema) : NULL;
    form->question = form->options->ask_form(form->options->data, ik_sanitise_line(line, line),
                                             text, form->url, on_form, form);
}

static int cancel_question(form_t *form)
{
    talloc_free(form->question);
    return 0;
}

void *ik_mcp_elicit(const void *ctx, const ik_mcp_options_t *options, const char *server,
                    ik_json_span_t params, ik_mcp_elicited_fn on_done, void *data)
{
    if (options->ask == NULL) {
        on_done(data, "{\"action\":\"cancel\"}");
        return NULL;
    }
    form_t *form = ik_new(ctx, form_t);
    talloc_set_destructor(form, cancel_question);
    form->options = options;
    form->server = ik_strdup(form, server);
    form->on_done = on_done;
    form->data = data;
    form->params = ik_json_adopt(form, ik_json_parse(params.text, params.len, NULL));
    form->content = ik_json_adopt(form, json_object());
    const char *mode = json_string_value(json_object_get(form->params, "mode"));
    if (mode != NULL && strcmp(mode, "url") == 0) {
        form->url = json_string_value(json_object_get(form->params, "url"));
    }
    json_t *schema = json_object_get(form->params, "requestedSchema");
    json_t *properties = form->url == NULL ? json_object_get(schema, "properties") : NULL;
    if (json_object_size(properties) > FIELDS_MAX) {
        finish(form, "cancel");
    } else {
        form->properties = json_object_size(properties) > 0 ? properties : NULL;
        form->iterator = json_object_iter(form->properties);
        if (options->ask_form != NULL) {
            ask_whole(form, schema);
        } else {
            ask_next(form);
        }
    }
    form->returned = true;
    if (form->done) {
        talloc_free(form);
        return NULL;
    }
    return form;
}
