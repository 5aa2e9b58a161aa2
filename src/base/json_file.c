#include "base/json_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/config.h"
#include "base/file.h"
#include "base/json.h"
#include "base/ownership.h"
#include "base/replace_file.h"
#include "base/utf8.h"

enum { MAX_ATTEMPTS = 5 }; /* an attempt fails when another program changes the file meanwhile */

/* --- the text ---------------------------------------------------------------------------- */

typedef struct {
    const char *text;
    size_t len;
    ik_json_span_t root;
} document_t;

/* A member with its surroundings. Names may appear more than once; the last one counts. */
typedef struct {
    ik_json_span_t key; /* len 0: there is no such member */
    ik_json_span_t value;
    const char *before; /* the end of the member before it; NULL: it is the first */
    const char *next;   /* the key of the member after it; NULL: it is the last */
} member_t;

static const char *end_of(ik_json_span_t span)
{
    return span.text + span.len;
}

/* name NULL: the last member, whatever it is called. */
static member_t find_last(ik_json_span_t object, const char *name)
{
    member_t found = {0};
    member_t member = {0};
    size_t position = 0;
    bool after_found = false;
    while (ik_json_next_member(object, &position, &member.key, &member.value)) {
        if (after_found) {
            found.next = member.key.text;
        }
        after_found = name == NULL || ik_json_key_is(member.key, name);
        if (after_found) {
            found = member;
        }
        member.before = end_of(member.value);
    }
    return found;
}

static void replace(ik_buffer_t *out, const document_t *document, const char *from, const char *to,
                    const char *insertion)
{
    ik_buffer_append(out, document->text, (size_t)(from - document->text));
    ik_buffer_append_text(out, insertion);
    ik_buffer_append(out, to, (size_t)(document->text + document->len - to));
}

/* The white space at the start of the line that contains at. */
static char *indentation(const void *ctx, const document_t *document, const char *at)
{
    const char *line = memrchr(document->text, '\n', (size_t)(at - document->text));
    line = line == NULL ? document->text : line + 1;
    return ik_strndup(ctx, line, strspn(line, " \t"));
}

/* Appends "a": {"b": value}, the objects on lines of their own unless lead is NULL. lead is a
 * newline and the indentation of the first name. */
static void append_members(ik_buffer_t *out, ik_json_file_path_t path, const char *value,
                           const char *lead, const char *colon)
{
    ik_json_append_text(out, path[0]);
    ik_buffer_append_text(out, colon);
    if (path[1] == NULL) {
        ik_buffer_append_text(out, value);
        return;
    }
    char *deeper = lead == NULL ? NULL : ik_sprintf(NULL, "%s  ", lead);
    ik_buffer_append_format(out, "{%s", deeper == NULL ? "" : deeper);
    append_members(out, path + 1, value, deeper, colon);
    ik_buffer_append_format(out, "%s}", lead == NULL ? "" : lead);
    talloc_free(deeper);
}

/* Adds the member in the style of the object's last member. */
static void insert(ik_buffer_t *out, const document_t *document, ik_json_span_t object,
                   ik_json_file_path_t path, const char *value)
{
    ik_buffer_t text;
    member_t last = find_last(object, NULL);
    ik_buffer_init(&text, out->ctx, IK_BUFFER_UNLIMITED); /* a value of the program's own */
    if (last.key.len == 0) {
        char *base = indentation(text.ctx, document, object.text);
        char *lead = ik_sprintf(text.ctx, "\n%s  ", base);
        ik_buffer_append_text(&text, lead);
        append_members(&text, path, value, lead, ": ");
        ik_buffer_append_format(&text, "\n%s", base);
        replace(out, document, object.text + 1, end_of(object) - 1, text.data);
        return;
    }
    const char *start = last.key.text;
    while (strchr(" \t\r\n", start[-1]) != NULL) {
        start--;
    }
    char *lead = ik_strndup(text.ctx, start, (size_t)(last.key.text - start));
    bool lines = strchr(lead, '\n') != NULL;
    bool spaced = last.value.text[-1] == ' ' || lead[0] != '\0';
    ik_buffer_append_format(&text, ",%s", lead[0] == '\0' && spaced ? " " : lead);
    append_members(&text, path, value, lines ? lead : NULL, spaced ? ": " : ":");
    replace(out, document, end_of(last.value), end_of(last.value), text.data);
}

/* Descends as far as the path exists: *object is the innermost object, *path what is missing in
 * it, or the last name. */
static res_t descend(ik_json_span_t *object, ik_json_file_path_t *path)
{
    for (; (*path)[1] != NULL; (*path)++) {
        member_t member = find_last(*object, (*path)[0]);
        if (member.key.len == 0) {
            return OK;
        }
        if (ik_json_kind(member.value) != IK_JSON_OBJECT) {
            return ERR(INVALID, "%s must be an object", (*path)[0]);
        }
        *object = member.value;
    }
    return OK;
}

static res_t set(ik_buffer_t *out, const document_t *document, ik_json_file_path_t path,
                 const char *value)
{
    ik_json_span_t object = document->root;
    TRY(descend(&object, &path));
    member_t member = find_last(object, path[0]);
    if (member.key.len > 0 && path[1] == NULL) {
        replace(out, document, member.value.text, end_of(member.value), value);
    } else {
        insert(out, document, object, path, value);
    }
    return OK;
}

/* Removes the last member of that name; out stays empty when there is none. */
static res_t drop(ik_buffer_t *out, const document_t *document, ik_json_file_path_t path)
{
    ik_json_span_t object = document->root;
    TRY(descend(&object, &path));
    member_t member = find_last(object, path[0]);
    if (member.key.len == 0 || path[1] != NULL) {
        return OK;
    }
    if (member.next != NULL) {
        replace(out, document, member.key.text, member.next, "");
    } else if (member.before != NULL) {
        replace(out, document, member.before, end_of(member.value), "");
    } else {
        replace(out, document, object.text + 1, end_of(object) - 1, "");
    }
    return OK;
}

/* --- the file ---------------------------------------------------------------------------- */

static res_t scan(document_t *document)
{
    ik_json_fault_t fault = {.offset = 0, .reason = "it is not UTF-8"};
    bool valid = ik_utf8_valid(document->text, document->len) &&
                 ik_json_scan(document->text, document->len, &document->root, &fault);
    if (!valid) {
        size_t line = 1;
        for (size_t i = 0; i < fault.offset; i++) {
            line += document->text[i] == '\n';
        }
        return ERR(INVALID, "broken JSON in line %zu (%s)", line, fault.reason);
    }
    return ik_json_kind(document->root) == IK_JSON_OBJECT ? OK : ERR(INVALID, "not a JSON object");
}

/* One change of the text; value NULL: removes all members of that name. */
static res_t change_text(const void *ctx, document_t *document, ik_json_file_path_t path,
                         const char *value, bool *changed)
{
    *changed = false;
    while (true) {
        ik_buffer_t out;
        ik_buffer_init(&out, ctx, 2 * IK_CONFIG_FILE_MAX);
        TRY(scan(document));
        if (value == NULL) {
            TRY(drop(&out, document, path));
        } else {
            TRY(set(&out, document, path, value));
        }
        if (out.len == 0) {
            return OK;
        }
        if (out.len > IK_CONFIG_FILE_MAX) {
            return ERR(LIMIT, "it would become larger than %d bytes", IK_CONFIG_FILE_MAX);
        }
        *changed = true;
        document->len = out.len;
        document->text = ik_buffer_finish(&out);
        if (value != NULL) {
            return OK;
        }
    }
}

/* Returns IK_ERR_CONFLICT when the file changed while it was edited. */
static res_t attempt(const void *ctx, const char *file, ik_json_file_path_t path, const char *value,
                     bool *changed)
{
    document_t document = {.text = "{}\n", .len = 3};
    struct stat status;
    bool exists = stat(file, &status) == 0;
    if (exists) {
        char *text;
        TRY(ik_ownership_check_file(file));
        TRY(ik_file_read(ctx, file, IK_CONFIG_FILE_MAX, &text, &document.len));
        document.text = text;
    }
    res_t edited = change_text(ctx, &document, path, value, changed);
    if (is_err(&edited)) {
        return ik_error_make(edited.code, "%s was not changed: %s", file, edited.message);
    }
    if (!*changed) {
        return OK;
    }
    if (!exists) {
        return ik_file_write_private(file, document.text, document.len);
    }
    ik_replace_options_t options = {.expected = &status, .unguarded = true};
    int error = ik_replace_file(file, document.text, document.len, &options).error;
    if (error == ESTALE) {
        return ERR(CONFLICT, "%s was changed by another program; try again", file);
    }
    return error == 0 ? OK : ERR(SYSTEM, "cannot write %s: %s", file, strerror(error));
}

static res_t change(const char *file, ik_json_file_path_t path, const char *value, bool *changed)
{
    void *scratch = talloc_new(NULL);
    char *folder = ik_file_folder(scratch, file);
    res_t result = ik_file_make_private_folder(folder);
    if (is_ok(&result)) {
        /* Without locks (some network filesystems) the check of the file's state remains. */
        int lock = ik_file_lock_folder(folder);
        result = ERR(CONFLICT, " ");
        for (int i = 0; i < MAX_ATTEMPTS && result.code == IK_ERR_CONFLICT; i++) {
            result = attempt(scratch, file, path, value, changed);
        }
        if (lock >= 0) {
            close(lock);
        }
    }
    talloc_free(scratch);
    return result;
}

res_t ik_json_file_set(const char *file, ik_json_file_path_t path, const char *value)
{
    bool changed;
    return change(file, path, value, &changed);
}

res_t ik_json_file_remove(const char *file, ik_json_file_path_t path, bool *removed)
{
    *removed = false;
    return access(file, F_OK) < 0 && errno == ENOENT ? OK : change(file, path, NULL, removed);
}
