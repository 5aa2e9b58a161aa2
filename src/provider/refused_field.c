#include "provider/refused_field.h"

#include <ctype.h>
#include <string.h>

#include "base/array.h"
#include "provider/provider.h"

#define REASONING (IK_FIELD_THINKING | IK_FIELD_EFFORT | IK_FIELD_SUMMARY)

/* A space stands for any way to join two words: reasoning_effort, reasoning.effort,
 * reasoningEffort, reasoning effort. */
typedef struct {
    const char *words;
    unsigned field;
    bool common; /* an English word: in a sentence it must be quoted or set off as a name */
    bool valued; /* servers complain about its value more often than they refuse it */
} spelling_t;

static const spelling_t spellings[] = {
    {"stream options", IK_FIELD_STREAM_OPTIONS, false, false},
    {"parallel tool calls", IK_FIELD_PARALLEL_TOOL_CALLS, false, false},
    {"disable parallel tool use", IK_FIELD_PARALLEL_TOOL_CALLS, false, false},
    {"strict", IK_FIELD_STRICT, true, false},
    {"reasoning effort", IK_FIELD_EFFORT, false, false},
    {"thinking level", IK_FIELD_EFFORT, false, false},
    {"output config", IK_FIELD_EFFORT, false, false},
    {"effort", IK_FIELD_EFFORT, false, false},
    {"reasoning summary", IK_FIELD_SUMMARY, false, false},
    {"thinking", REASONING, false, false},
    {"thinking config", REASONING, false, false},
    {"thinking budget", REASONING, false, false},
    {"budget tokens", REASONING, false, false},
    {"include thoughts", REASONING, false, false},
    {"reasoning", REASONING, true, false},
    {"tool choice", IK_FIELD_TOOL_CHOICE, false, false},
    {"tool config", IK_FIELD_TOOL_CHOICE, false, false},
    {"function calling config", IK_FIELD_TOOL_CHOICE, false, false},
    {"max tokens", IK_FIELD_MAX_TOKENS, false, true},
    {"max completion tokens", IK_FIELD_MAX_TOKENS, false, true},
    {"max output tokens", IK_FIELD_MAX_TOKENS, false, true},
    {"prompt cache key", IK_FIELD_CACHE_KEY, false, false},
    {"include", IK_FIELD_INCLUDE, true, false},
    {"reasoning encrypted content", IK_FIELD_INCLUDE, false, false},
    {"store", IK_FIELD_STORE, true, false},
    {"cache control", IK_FIELD_CACHE_CONTROL, false, false},
    {"reasoning content", IK_FIELD_REASONING_CONTENT, false, false},
    {"reasoning details", IK_FIELD_REASONING_CONTENT, false, false},
    {"parameters json schema", IK_FIELD_JSON_SCHEMA, false, false},
    {"response json schema", IK_FIELD_JSON_SCHEMA, false, false},
    {NULL, 0, false, false},
};

/* Phrases of a refusal. A sentence with none of them complains about the field's value. */
static const char *const refusals[] = {
    "unsupported",
    "not supported",
    "not support ",
    "n't support ",
    "unknown",
    "unrecognized",
    "unrecognised",
    "unexpected",
    "extra_forbidden",
    "extra inputs",
    "not permitted",
    "not allowed",
    "cannot find field",
    "must be verified",
    "does not match any of the expected tags",
    NULL,
};

/* --- finding a spelling ------------------------------------------------------------------ */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* The length of the words where they stand at the beginning of text; 0: they do not. */
static size_t match_words(const char *text, const char *words)
{
    const char *at = text;
    for (; *words != '\0'; words++) {
        if (*words == ' ') {
            at += *at != '\0' && strchr("_-. ", *at) != NULL;
        } else if (tolower((unsigned char)*at) == *words) {
            at++;
        } else {
            return 0;
        }
    }
    return is_word(*at) ? 0 : (size_t)(at - text);
}

/* Matches "'store'", "`store`", "store: not allowed" and "unknown argument: store". */
static bool is_set_off(const char *text, const char *at, size_t len)
{
    static const char marks[] = "'\"`.[";
    char before = at > text ? at[-1] : '\0';
    char after = at[len];
    return (before != '\0' && strchr(marks, before) != NULL) || after == ':' ||
           (before == ' ' && at - text > 1 && at[-2] == ':');
}

/* The first field that the text names, by its longest spelling: reasoning.effort is the effort, not
 * reasoning as a whole. is_name: the text is a parameter's name, not a sentence. */
static const spelling_t *find_spelling(const char *text, bool is_name)
{
    const spelling_t *found = NULL;
    size_t longest = 0;
    for (const char *at = text; *at != '\0' && found == NULL; at++) {
        bool begins = at == text || !is_word(at[-1]);
        for (const spelling_t *s = spellings; begins && s->words != NULL; s++) {
            size_t len = match_words(at, s->words);
            if (len > longest && (is_name || !s->common || is_set_off(text, at, len))) {
                found = s;
                longest = len;
            }
        }
    }
    return found;
}

static bool is_refusal(const ik_error_body_t *body)
{
    for (const char *const *phrase = refusals; *phrase != NULL; phrase++) {
        if (body->message != NULL && strcasestr(body->message, *phrase) != NULL) {
            return true;
        }
    }
    return ik_error_body_has_name(body, "extra_forbidden") ||
           ik_error_body_has_name(body, "unsupported_parameter") ||
           ik_error_body_has_name(body, "unknown_parameter");
}

/* "The `reasoning_content` in the thinking mode must be passed back to the API." */
static bool misses_reasoning(const char *message)
{
    return message != NULL && strcasestr(message, "reasoning_content") != NULL &&
           (strcasestr(message, "passed back") != NULL || strcasestr(message, "missing") != NULL);
}

/* "Budget 0 is invalid. This model only works in thinking mode." Its thoughts can stay. */
static bool must_think(const char *message)
{
    static const char *const sayings[] = {"only works in thinking mode",
                                          "thinking can't be disabled", "thinking_budget to 0"};
    bool found = false;
    for (size_t i = 0; message != NULL && i < IK_LENGTH(sayings); i++) {
        found = found || strcasestr(message, sayings[i]) != NULL;
    }
    return found;
}

unsigned ik_refused_field_find(const ik_error_body_t *body)
{
    bool refusal = is_refusal(body);
    if (misses_reasoning(body->message)) {
        return IK_FIELD_NO_REASONING_CONTENT;
    }
    if (must_think(body->message)) {
        return IK_FIELD_EFFORT;
    }
    const spelling_t *named = body->param == NULL ? NULL : find_spelling(body->param, true);
    if (named != NULL && (refusal || !named->valued)) {
        return named->field;
    }
    if (!refusal || body->message == NULL) {
        return 0;
    }
    named = find_spelling(body->message, false);
    return named == NULL ? 0 : named->field;
}
