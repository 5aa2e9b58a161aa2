#include "checkpoint/git_config.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/file.h"

enum { FILE_MAX = 1 << 20, FILES_MAX = 100 };

typedef struct {
    const char *at;
    const char *end;
    ik_buffer_t section; /* "core." */
    ik_buffer_t name;
    ik_buffer_t value;
} reader_t;

static void skip_line(reader_t *in)
{
    while (in->at < in->end && *in->at != '\n') {
        in->at++;
    }
}

/* [section], [section "subsection"]; the subsection is skipped. */
static void read_section(reader_t *in)
{
    ik_buffer_reset(&in->section);
    in->at++;
    while (in->at < in->end && *in->at != ']' && *in->at != '\n' && *in->at != '"') {
        if (!isspace((unsigned char)*in->at)) {
            ik_buffer_append_byte(&in->section, (char)tolower((unsigned char)*in->at));
        }
        in->at++;
    }
    if (in->at < in->end && *in->at == '"') {
        for (in->at++; in->at < in->end && *in->at != '"' && *in->at != '\n'; in->at++) {
            in->at += *in->at == '\\' && in->at + 1 < in->end;
        }
        while (in->at < in->end && *in->at != ']' && *in->at != '\n') {
            in->at++;
        }
    }
    in->at += in->at < in->end && *in->at == ']';
    ik_buffer_append_byte(&in->section, '.');
}

/* After the equals sign, up to the end of the line. */
static void read_value(reader_t *in)
{
    bool quoted = false;
    size_t kept = 0; /* length without white space at the end */
    for (; in->at < in->end && *in->at != '\n'; in->at++) {
        char c = *in->at;
        if (c == '\r' && in->at + 1 < in->end && in->at[1] == '\n') {
            continue;
        }
        if (!quoted && (c == '#' || c == ';')) {
            skip_line(in);
            break;
        }
        if (c == '"') {
            quoted = !quoted;
            kept = in->value.len;
            continue;
        }
        if (c == '\\' && in->at + 1 < in->end) {
            c = *++in->at;
            if (c == '\r' && in->at + 1 < in->end && in->at[1] == '\n') {
                c = *++in->at;
            }
            if (c == '\n') {
                continue; /* the value goes on in the next line */
            }
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'b' ? '\b' : c;
            ik_buffer_append_byte(&in->value, c);
            kept = in->value.len;
            continue;
        }
        bool space = !quoted && isspace((unsigned char)c);
        if (space && in->value.len == 0) {
            continue;
        }
        ik_buffer_append_byte(&in->value, c);
        kept = space ? kept : in->value.len;
    }
    if (in->value.data != NULL) {
        in->value.len = kept;
        in->value.data[kept] = '\0';
    }
}

static void read_variable(reader_t *in, ik_git_config_fn on_value, void *data)
{
    ik_buffer_reset(&in->name);
    ik_buffer_reset(&in->value);
    if (in->section.len > 0) {
        ik_buffer_append(&in->name, in->section.data, in->section.len);
    }
    while (in->at < in->end && (isalnum((unsigned char)*in->at) || *in->at == '-')) {
        ik_buffer_append_byte(&in->name, (char)tolower((unsigned char)*in->at++));
    }
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\t')) {
        in->at++;
    }
    bool has_value = in->at < in->end && *in->at == '=';
    if (has_value) {
        in->at++;
        read_value(in);
    } else {
        skip_line(in);
    }
    const char *value = !has_value ? "true" : in->value.data == NULL ? "" : in->value.data;
    on_value(data, in->name.data == NULL ? "" : in->name.data, value);
}

void ik_git_config_parse(const char *text, size_t len, ik_git_config_fn on_value, void *data)
{
    void *scratch = talloc_new(NULL);
    reader_t in = {.at = text, .end = text + len};
    ik_buffer_init(&in.section, scratch, FILE_MAX);
    ik_buffer_init(&in.name, scratch, FILE_MAX);
    ik_buffer_init(&in.value, scratch, FILE_MAX);
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        in.at += 3;
    }
    while (in.at < in.end) {
        if (isspace((unsigned char)*in.at)) {
            in.at++;
        } else if (*in.at == '[') {
            read_section(&in);
        } else if (isalpha((unsigned char)*in.at)) {
            read_variable(&in, on_value, data);
        } else {
            skip_line(&in);
        }
    }
    talloc_free(scratch);
}

/* --- files --------------------------------------------------------------------------------- */

typedef struct {
    const char *path;
    int *left; /* number of files that may still be read */
    ik_git_config_fn on_value;
    void *data;
    int64_t *ctime_ns;
} file_t;

static void read_at_depth(const file_t *file);

static void on_value_of_file(void *data, const char *name, const char *value)
{
    const file_t *file = data;
    file->on_value(file->data, name, value);
    if ((strcmp(name, "include.path") == 0 || strcmp(name, "includeif.path") == 0) &&
        value[0] != '\0' && *file->left > 0) {
        void *scratch = talloc_new(NULL);
        const char *home = getenv("HOME");
        const char *path =
            value[0] == '/' ? value
            : strncmp(value, "~/", 2) == 0 && home != NULL
                ? ik_sprintf(scratch, "%s/%s", home, value + 2)
                : ik_sprintf(scratch, "%s/%s", ik_file_folder(scratch, file->path), value);
        file_t included = *file;
        included.path = path;
        --*included.left;
        read_at_depth(&included);
        talloc_free(scratch);
    }
}

static void read_at_depth(const file_t *file)
{
    void *scratch = talloc_new(NULL);
    char *text;
    size_t len;
    struct stat st;
    res_t result = ik_file_read(scratch, file->path, FILE_MAX, &text, &len);
    if (is_ok(&result) && stat(file->path, &st) == 0) {
        int64_t ctime = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
        *file->ctime_ns = ctime > *file->ctime_ns ? ctime : *file->ctime_ns;
        file_t copy = *file;
        ik_git_config_parse(text, len, on_value_of_file, &copy);
    }
    talloc_free(scratch);
}

void ik_git_config_read(const char *path, ik_git_config_fn on_value, void *data, int64_t *ctime_ns)
{
    int left = FILES_MAX;
    file_t file = {
        .path = path, .left = &left, .on_value = on_value, .data = data, .ctime_ns = ctime_ns};
    read_at_depth(&file);
}
