#include "provider/refused_tool.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"

/* The number after prefix in the text, which suffix follows; -1: there is none. */
static int index_after(const char *text, const char *prefix, const char *suffix)
{
    enum { INDEX_MAX = 100000 };
    for (const char *at = text; (at = strcasestr(at, prefix)) != NULL;) {
        bool begins = at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_');
        at += strlen(prefix);
        if (begins && isdigit((unsigned char)*at)) {
            char *end;
            long index = strtol(at, &end, 10);
            if (strncmp(end, suffix, strlen(suffix)) == 0) {
                return index < INDEX_MAX ? (int)index : -1;
            }
        }
    }
    return -1;
}

/* Gemini has one tool that holds all the declarations, so their index comes first. "tools, 128" and
 * "128 tools" speak of the number of tools. */
static int find_index(const char *text)
{
    static const struct {
        const char *before;
        const char *after;
    } forms[] = {
        {"function_declarations[", "]"},
        {"functionDeclarations[", "]"},
        {"tools[", "]"},
        {"tools.", ""},
        {"tools/", ""},
        {"tools', ", ""},
        {"tool ", " function"},
    };
    int index = -1;
    for (size_t i = 0; text != NULL && i < IK_LENGTH(forms) && index < 0; i++) {
        index = index_after(text, forms[i].before, forms[i].after);
    }
    return index;
}

int ik_refused_tool_find_index(const ik_error_body_t *body)
{
    int index = find_index(body->param);
    return index >= 0 ? index : find_index(body->message);
}

/* A tool's name may be a common word, so it must be quoted. */
static bool quotes(const char *message, const char *name)
{
    static const char marks[] = "'\"`";
    for (const char *at = message; (at = strstr(at, name)) != NULL; at++) {
        char after = at[strlen(name)];
        if (at > message && after == at[-1] && strchr(marks, after) != NULL) {
            return true;
        }
    }
    return false;
}

const ik_request_tool_t *ik_refused_tool_find_name(const ik_request_t *request, const char *message)
{
    static const char *const about[] = {"schema", "parameters", "declaration"};
    bool is_definition = false;
    for (size_t i = 0; i < IK_LENGTH(about); i++) {
        is_definition = is_definition || strcasestr(message, about[i]) != NULL;
    }
    for (size_t i = 0; is_definition && i < request->tool_count; i++) {
        if (quotes(message, request->tools[i].name)) {
            return &request->tools[i];
        }
    }
    return NULL;
}
