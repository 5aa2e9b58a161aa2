/*
 * The file is read twice: the first time to see that it is whole and agrees with what the store
 * has, the second time to write it. A file that cannot be read twice is copied to one without a
 * name first. So a file of any size is imported in little memory, and one that is wrong leaves
 * nothing.
 */
#include "export/import.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "export/import_batch.h"
#include "export/import_session.h"
#include "export/line_reader.h"

/* A little below what one piece of memory can be. */
enum { MOST_LINE_BYTES = 256 * 1000 * 1000 };

/* A session of the file. */
typedef struct {
    ik_import_t result;
    int64_t line;
    bool stored; /* some of it is in the store, and it is claimed while the rest is added */
    bool claimed;
} section_t;

typedef struct {
    const char *name;
    ik_store_t *store;
    void *scratch;
    section_t **sections;
    size_t count;
    ik_line_reader_t *lines;
    ik_import_session_t *session; /* of the section being read; NULL before the first */
    ik_import_batch_t *batch;     /* NULL the first time */
    size_t at;                    /* the section being read, counted from 1 */
} importer_t;

static res_t blame(const importer_t *importer, int64_t line, res_t error)
{
    return ik_error_make(error.code, "%s:%" PRId64 ": %s", importer->name, line, error.message);
}

/* --- the end and the beginning of a session ---------------------------------------------- */

static res_t end_session(importer_t *importer)
{
    if (importer->session == NULL) {
        return OK;
    }
    section_t *section = importer->sections[importer->at - 1];
    int64_t line = section->line;
    res_t ended = ik_import_session_end(importer->session, &line);
    if (is_err(&ended)) {
        return blame(importer, line, ended);
    }
    if (importer->batch == NULL) {
        section->result.messages = ik_import_session_messages(importer->session);
        section->result.known = ik_import_session_is_known(importer->session);
        section->stored = ik_import_session_is_stored(importer->session);
    }
    talloc_free(importer->session);
    importer->session = NULL;
    return OK;
}

static void add_section(importer_t *importer, const ik_import_line_t *line, int64_t number)
{
    if ((importer->count & (importer->count - 1)) == 0) { /* full at every power of two */
        size_t capacity = importer->count == 0 ? 1 : importer->count * 2;
        importer->sections =
            ik_resize_array(importer->scratch, importer->sections, section_t *, capacity);
    }
    section_t *section = ik_new(importer->scratch, section_t);
    section->result.session_id = ik_strdup(section, line->session.id);
    section->line = number;
    importer->sections[importer->count++] = section;
}

static res_t begin_session(importer_t *importer, const ik_import_line_t *line, int64_t number)
{
    TRY(end_session(importer));
    importer->at++;
    if (importer->batch == NULL) {
        add_section(importer, line, number);
    }
    ik_store_t *compared = importer->batch == NULL ? importer->store : NULL;
    res_t begun = ik_import_session_create(importer->scratch, line, compared, &importer->session);
    return is_ok(&begun) ? OK : blame(importer, number, begun);
}

/* --- lines ------------------------------------------------------------------------------- */

static res_t write_line(importer_t *importer, void *ctx, const ik_import_line_t *line)
{
    const section_t *section = importer->sections[importer->at - 1];
    if (importer->batch == NULL || section->result.known) {
        return OK;
    }
    return ik_import_batch_take(importer->batch, ctx, line, section->result.session_id);
}

/* False only when the file is not the same the second time. */
static bool is_expected(const importer_t *importer, const ik_import_line_t *line)
{
    return importer->at <= importer->count &&
           strcmp(importer->sections[importer->at - 1]->result.session_id, line->session.id) == 0;
}

static res_t take_parsed(importer_t *importer, void *ctx, const ik_import_line_t *line)
{
    int64_t number = ik_line_reader_number(importer->lines);
    if (line->type == IK_IMPORT_SESSION) {
        TRY(begin_session(importer, line, number));
        return is_expected(importer, line)
                   ? write_line(importer, ctx, line)
                   : ERR(CONFLICT, "%s has changed while it was read", importer->name);
    }
    res_t taken = importer->session == NULL
                      ? ERR(INVALID, "expected a line of type \"session\" before all others")
                      : ik_import_session_take(importer->session, line, number);
    return is_ok(&taken) ? write_line(importer, ctx, line) : blame(importer, number, taken);
}

static res_t take_line(importer_t *importer, const ik_buffer_t *text)
{
    ik_import_line_t line;
    void *ctx = talloc_new(importer->scratch);
    res_t taken = ik_import_line_parse(ctx, text->data, text->len, &line);
    taken = is_ok(&taken) ? take_parsed(importer, ctx, &line)
                          : blame(importer, ik_line_reader_number(importer->lines), taken);
    if (talloc_parent(ctx) == importer->scratch) { /* nobody took it */
        talloc_free(ctx);
    }
    return taken;
}

static bool is_blank(const ik_buffer_t *line)
{
    for (size_t i = 0; i < line->len; i++) {
        if (line->data[i] != ' ' && line->data[i] != '\t') {
            return false;
        }
    }
    return true;
}

static res_t next_line(importer_t *importer, const ik_buffer_t **line)
{
    res_t read = ik_line_reader_next(importer->lines, line);
    if (read.code == IK_ERR_SYSTEM) {
        return ERR(SYSTEM, "%s %s", importer->name, read.message);
    }
    return is_ok(&read) ? OK : blame(importer, ik_line_reader_number(importer->lines), read);
}

static res_t read_lines(importer_t *importer, FILE *in)
{
    const ik_buffer_t *line;
    importer->lines = ik_line_reader_create(importer->scratch, in, MOST_LINE_BYTES);
    importer->at = 0;
    TRY(next_line(importer, &line));
    while (line != NULL) {
        if (!is_blank(line)) {
            TRY(take_line(importer, line));
        }
        TRY(next_line(importer, &line));
    }
    talloc_free(importer->lines);
    return end_session(importer);
}

/* --- between the two times --------------------------------------------------------------- */

static int compare_sections(const void *a, const void *b)
{
    const section_t *first = *(section_t *const *)a;
    const section_t *second = *(section_t *const *)b;
    int order = strcmp(first->result.session_id, second->result.session_id);
    return order != 0 ? order : (first->line > second->line) - (first->line < second->line);
}

static res_t refuse_doubles(const importer_t *importer)
{
    section_t **sorted = ik_new_array(importer->scratch, section_t *, importer->count);
    memcpy(sorted, importer->sections, importer->count * sizeof(*sorted));
    qsort(sorted, importer->count, sizeof(*sorted), compare_sections);
    for (size_t i = 1; i < importer->count; i++) {
        const char *id = sorted[i]->result.session_id;
        if (strcmp(sorted[i - 1]->result.session_id, id) == 0) {
            return blame(importer, sorted[i]->line,
                         ERR(INVALID, "expected session %s only once: it begins in line %" PRId64,
                             id, sorted[i - 1]->line));
        }
    }
    return OK;
}

static res_t claim(importer_t *importer, section_t *section)
{
    ik_holder_t self = ik_holder_self();
    ik_holder_t other;
    const char *id = section->result.session_id;
    res_t claimed = ik_store_claim(importer->store, id, &self, &other);
    if (claimed.code == IK_ERR_CONFLICT) {
        return ERR(CONFLICT, "%s: session %s is in use by process %" PRId64 " on %s",
                   importer->name, id, other.pid, other.host);
    }
    section->claimed = is_ok(&claimed);
    return claimed;
}

/* Sessions to which something is added must not be written by somebody else meanwhile. */
static res_t claim_all(importer_t *importer)
{
    for (size_t i = 0; i < importer->count; i++) {
        section_t *section = importer->sections[i];
        if (section->stored && !section->result.known) {
            TRY(claim(importer, section));
        }
    }
    return OK;
}

static void release_all(importer_t *importer)
{
    ik_holder_t self = ik_holder_self();
    for (size_t i = 0; i < importer->count; i++) {
        section_t *section = importer->sections[i];
        if (section->claimed) {
            /* Whoever finds it held by a process that is no more takes it over. */
            (void)ik_store_release(importer->store, section->result.session_id, &self);
        }
    }
}

/* --- the whole --------------------------------------------------------------------------- */

static res_t check_file(importer_t *importer, FILE *in)
{
    TRY(read_lines(importer, in));
    if (importer->count == 0) {
        return ERR(INVALID, "%s: expected a line of type \"session\", and there is none",
                   importer->name);
    }
    return refuse_doubles(importer);
}

static res_t write_file(importer_t *importer, FILE *in)
{
    TRY(claim_all(importer));
    importer->batch = ik_import_batch_create(importer->scratch, importer->store);
    TRY(read_lines(importer, in));
    return ik_import_batch_end(importer->batch);
}

static res_t read_twice(importer_t *importer, FILE *in, off_t start)
{
    TRY(check_file(importer, in));
    if (fseeko(in, start, SEEK_SET) < 0) {
        return ERR(SYSTEM, "%s cannot be read again: %s", importer->name, strerror(errno));
    }
    clearerr(in);
    return write_file(importer, in);
}

static res_t spool(const importer_t *importer, FILE *in, FILE *copy)
{
    static char block[65536];
    size_t len;
    while (!ferror(copy) && (len = fread(block, 1, sizeof(block), in)) > 0) {
        fwrite(block, 1, len, copy);
    }
    if (ferror(in)) {
        return ERR(SYSTEM, "%s cannot be read: %s", importer->name, strerror(errno));
    }
    if (fflush(copy) != 0 || ferror(copy)) {
        return ERR(SYSTEM, "%s cannot be copied to a temporary file: %s", importer->name,
                   strerror(errno));
    }
    rewind(copy);
    return OK;
}

static res_t read_once(importer_t *importer, FILE *in)
{
    FILE *copy = tmpfile();
    if (copy == NULL) {
        return ERR(SYSTEM, "no temporary file can be made: %s", strerror(errno));
    }
    res_t read = spool(importer, in, copy);
    if (is_ok(&read)) {
        read = read_twice(importer, copy, 0);
    }
    fclose(copy);
    return read;
}

static void hand_out(const void *ctx, const importer_t *importer, ik_import_t **out, size_t *count)
{
    *out = ik_new_array(ctx, ik_import_t, importer->count);
    *count = importer->count;
    for (size_t i = 0; i < importer->count; i++) {
        (*out)[i] = importer->sections[i]->result;
        (*out)[i].session_id = ik_strdup(*out, (*out)[i].session_id);
    }
}

res_t ik_import_read(const void *ctx, FILE *in, const char *name, ik_store_t *store,
                     ik_import_t **out, size_t *count)
{
    importer_t importer = {.name = name, .store = store, .scratch = talloc_new(NULL)};
    off_t start = ftello(in);
    res_t read = start < 0 ? read_once(&importer, in) : read_twice(&importer, in, start);
    release_all(&importer);
    if (is_ok(&read)) {
        hand_out(ctx, &importer, out, count);
    }
    talloc_free(importer.scratch);
    return read;
}
