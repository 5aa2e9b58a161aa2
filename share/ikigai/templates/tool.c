/* A tool for ikigai: JSON in on stdin, JSON out on stdout.
 *   cc -O2 -o @FILE@ @FILE@.c -ljansson
 *   ikigai tool check @FILE@
 */
#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* 1. The description of the tool. Print it quickly, without network, credentials or settings.
 *    The kernel holds the tool to its effects; write is "none", "project" or "anywhere".
 *    "host": ["ask", "complete"] would let it ask the user and the model while it runs:
 *    ikigai help tool-protocol */
static const char schema[] =
    "{\"name\": \"@NAME@\", \"description\": \"Count the words of a text\","
    " \"parameters\": {\"type\": \"object\", \"properties\": {"
    " \"text\": {\"type\": \"string\", \"description\": \"The text\"},"
    " \"unit\": {\"type\": \"string\", \"description\": \"words (default) or lines\"}},"
    " \"required\": [\"text\"]},"
    " \"returns\": {\"type\": \"object\", \"properties\":"
    " {\"count\": {\"type\": \"integer\", \"description\": \"How many\"}}},"
    " \"effects\": {\"write\": \"none\", \"network\": false}}";

/* 2. If the operation fails, answer with error and error_code, and exit with status 0. */
static json_t *fail(const char *error)
{
    return json_pack("{s:s, s:s}", "error", error, "error_code", "INVALID_ARG");
}

static json_t *count(const char *text, int lines)
{
    int n = 0;
    int inside = 0;
    for (; *text != '\0'; text++) {
        int separator = lines ? *text == '\n' : isspace((unsigned char)*text);
        n += !separator && !inside;
        inside = !separator;
    }
    return json_pack("{s:i}", "count", n);
}

static json_t *run(json_t *params)
{
    json_t *text = json_object_get(params, "text");
    const char *unit = json_string_value(json_object_get(params, "unit"));
    if (!json_is_object(params)) {
        return fail("One JSON object is expected on standard input");
    }
    if (!json_is_string(text)) {
        return fail("Parameter text is missing or not a string");
    }
    if (unit != NULL && strcmp(unit, "words") != 0 && strcmp(unit, "lines") != 0) {
        return fail("unit is words or lines");
    }
    return count(json_string_value(text), unit != NULL && strcmp(unit, "lines") == 0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--schema") == 0) {
        puts(schema);
        return 0;
    }
    /* 3. Read the parameters, which may be invalid, and answer with one JSON value. */
    json_t *params = json_loadf(stdin, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
    json_t *answer = run(params);
    json_dumpf(answer, stdout, JSON_COMPACT);
    json_decref(answer);
    json_decref(params);
    return 0;
}
