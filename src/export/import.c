/*
 * The file is read twice: first to check that it is complete and agrees with the store, then to
 * write it, in one transaction. Input that cannot be read twice (a pipe) is first copied to a
 * temporary file. So a file of any size is imported in little memory, and a faulty one, or one that
 * cannot be stored to its end, writes nothing.
 */
#include "export/import.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "conversation/message.h"
#include "export/import_session.h"
#include "export/line_reader.h"

enum {
    MOST_LINE_BYTES = 256 * 1000 * 1000, /* a little below the largest talloc block */
    BATCH_LINES = 1000,
    BATCH_BYTES = 1 << 20,
};

/* A session of the file. */
typedef struct {
    ik_import_t result;
    int64_t line;
    bool stored;  /* the store has some of it */
    bool claimed; /* by us, while the rest is added */
} section_t;

/* Lines that are read and not written yet. */
typedef struct {
    void *scratch; /* everything below */
    ik_store_session_t *sessions;
    size_t session_count;
    ik_store_agent_t *agents;
    size_t agent_count;
    ik_store_event_t *events;
    size_t event_count;
    size_t bytes;
} batch_t;

typedef struct {
    const char *name;
    ik_store_t *store;
    const char *images; /* folder of the blobs; NULL: none */
    void *scratch;
    section_t **sections;
    size_t count;
    ik_line_reader_t *lines;
    ik_import_session_t *session; /* of the section being read; NULL before the first */
    batch_t *batch;               /* NULL during the first reading */
    FILE *copy;                   /* of what cannot be read twice; NULL: of nothing */
    size_t at;                    /* number of the section being read, from 1 */
} importer_t;

/* Adds the line to the message. */
static res_t blame(const importer_t *importer, int64_t line, res_t error)
{
    return ik_error_make(error.code, "%s:%" PRId64 ": %s", importer->name, line, error.message);
}

/* --- sessions ---------------------------------------------------------------------------- */

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

static res_t begin_session(importer_t *importer, const ik_import_line_t *line, int64_t number)
{
    TRY(end_session(importer));
    importer->at++;
    if (importer->batch == NULL) {
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
    bool partly = importer->batch != NULL && importer->at <= importer->count &&
                  importer->sections[importer->at - 1]->stored;
    ik_store_t *compared = importer->batch == NULL || partly ? importer->store : NULL;
    res_t begun = ik_import_session_create(importer->scratch, line, compared, &importer->session);
    return is_ok(&begun) ? OK : blame(importer, number, begun);
}

/* --- lines ------------------------------------------------------------------------------- */

static void begin_batch(batch_t *batch)
{
    void *parent = talloc_parent(batch->scratch);
    talloc_free(batch->scratch);
    *batch = (batch_t){.scratch = talloc_new(parent)};
    batch->sessions = ik_new_array(batch->scratch, ik_store_session_t, BATCH_LINES);
    batch->agents = ik_new_array(batch->scratch, ik_store_agent_t, BATCH_LINES);
    batch->events = ik_new_array(batch->scratch, ik_store_event_t, BATCH_LINES);
}

static size_t count_lines(const batch_t *batch)
{
    return batch->session_count + batch->agent_count + batch->event_count;
}

static res_t write_batch(importer_t *importer)
{
    batch_t *batch = importer->batch;
    ik_store_batch_t written = {
        .sessions = batch->sessions,
        .session_count = batch->session_count,
        .agents = batch->agents,
        .agent_count = batch->agent_count,
        .events = batch->events,
        .event_count = batch->event_count,
    };
    res_t result = count_lines(batch) == 0 ? OK : ik_store_write(importer->store, &written);
    begin_batch(batch);
    return result;
}

/* The batch takes over ctx, which owns the strings of the line. */
static res_t take_to_write(importer_t *importer, void *ctx, const ik_import_line_t *line)
{
    const section_t *section = importer->sections[importer->at - 1];
    const char *id = section->result.session_id;
    batch_t *batch = importer->batch;
    if (batch == NULL || section->result.known) {
        return OK;
    }
    if (count_lines(batch) == BATCH_LINES || batch->bytes >= BATCH_BYTES) {
        TRY(write_batch(importer));
    }
    talloc_steal(batch->scratch, ctx);
    switch (line->type) {
    case IK_IMPORT_SESSION:
        batch->sessions[batch->session_count++] = line->session;
        break;
    case IK_IMPORT_AGENT:
        batch->agents[batch->agent_count] = line->agent;
        batch->agents[batch->agent_count++].session_id = id;
        break;
    case IK_IMPORT_MESSAGE:
        if (ik_import_session_has(importer->session, &line->event)) {
            break;
        }
        batch->events[batch->event_count] = line->event;
        if (strcmp(line->event.kind, IK_MSG_MODE) == 0) { /* other people's file sets no mode */
            batch->events[batch->event_count].data_json = NULL;
        }
        batch->events[batch->event_count++].session_id = id;
        batch->bytes += line->event.content == NULL ? 0 : strlen(line->event.content);
        batch->bytes += line->event.data_json == NULL ? 0 : strlen(line->event.data_json);
        break;
    }
    return OK;
}

/* False only when the file has changed between the two readings. */
static bool is_expected(const importer_t *importer, const ik_import_line_t *line)
{
    return importer->at <= importer->count &&
           strcmp(importer->sections[importer->at - 1]->result.session_id, line->session.id) == 0;
}

/* Stores the images of a message, before the message. */
static res_t store_images(const importer_t *importer, const ik_import_line_t *line)
{
    ik_blob_name_t name;
    for (size_t i = 0; importer->images != NULL && importer->batch != NULL && i < line->image_count;
         i++) {
        TRY(ik_blob_put(importer->images, line->images[i].bytes, line->images[i].len, &name));
    }
    return OK;
}

static res_t take_parsed(importer_t *importer, void *ctx, const ik_import_line_t *line)
{
    int64_t number = ik_line_reader_number(importer->lines);
    if (line->type == IK_IMPORT_SESSION) {
        TRY(begin_session(importer, line, number));
        return is_expected(importer, line)
                   ? take_to_write(importer, ctx, line)
                   : ERR(CONFLICT, "%s changed while it was read", importer->name);
    }
    res_t taken = importer->session == NULL
                      ? ERR(INVALID, "expected a line of type \"session\" first")
                      : ik_import_session_take(importer->session, line, number);
    if (is_err(&taken)) {
        return blame(importer, number, taken);
    }
    TRY(store_images(importer, line));
    return take_to_write(importer, ctx, line);
}

static res_t take_line(importer_t *importer, const ik_buffer_t *text)
{
    ik_import_line_t line;
    void *ctx = talloc_new(importer->scratch);
    res_t taken = ik_import_line_parse(ctx, text->data, text->len, &line);
    taken = is_ok(&taken) ? take_parsed(importer, ctx, &line)
                          : blame(importer, ik_line_reader_number(importer->lines), taken);
    if (talloc_parent(ctx) == importer->scratch) { /* the batch did not take it */
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

/* The copy is made while the lines are checked: what is refused may have no end. */
static res_t keep_line(const importer_t *importer, const ik_buffer_t *line)
{
    if (importer->copy == NULL || importer->batch != NULL) {
        return OK;
    }
    fwrite(line->data, 1, line->len, importer->copy);
    putc('\n', importer->copy);
    return ferror(importer->copy) ? ERR(SYSTEM, "%s cannot be copied to a temporary file: %s",
                                        importer->name, strerror(errno))
                                  : OK;
}

static res_t read_lines(importer_t *importer, FILE *in)
{
    const ik_buffer_t *line;
    importer->lines = ik_line_reader_create(importer->scratch, in, MOST_LINE_BYTES);
    importer->at = 0;
    TRY(next_line(importer, &line));
    while (line != NULL) {
        TRY(keep_line(importer, line));
        if (!is_blank(line)) {
            TRY(take_line(importer, line));
        }
        TRY(next_line(importer, &line));
    }
    talloc_free(importer->lines);
    return end_session(importer);
}

/* --- between the two readings ------------------------------------------------------------ */

static int compare_sections(const void *a, const void *b)
{
    const section_t *first = *(section_t *const *)a;
    const section_t *second = *(section_t *const *)b;
    int order = strcmp(first->result.session_id, second->result.session_id);
    return order != 0 ? order : (first->line > second->line) - (first->line < second->line);
}

static res_t refuse_duplicates(const importer_t *importer)
{
    section_t **sorted = ik_new_array(importer->scratch, section_t *, importer->count);
    memcpy(sorted, importer->sections, importer->count * sizeof(*sorted));
    qsort(sorted, importer->count, sizeof(*sorted), compare_sections);
    for (size_t i = 1; i < importer->count; i++) {
        const char *id = sorted[i]->result.session_id;
        if (strcmp(sorted[i - 1]->result.session_id, id) == 0) {
            return blame(importer, sorted[i]->line,
                         ERR(INVALID,
                             "expected session %s only once; line %" PRId64 " begins it, too", id,
                             sorted[i - 1]->line));
        }
    }
    return OK;
}

/* Claims the sessions to which messages are added, so that no other process writes them. */
static res_t claim_all(importer_t *importer)
{
    ik_holder_t self = ik_holder_self();
    for (size_t i = 0; i < importer->count; i++) {
        section_t *section = importer->sections[i];
        const char *id = section->result.session_id;
        ik_holder_t other;
        if (!section->stored || section->result.known) {
            continue;
        }
        res_t claimed = ik_store_claim(importer->store, id, &self, &other);
        if (claimed.code == IK_ERR_CONFLICT) {
            return ERR(CONFLICT, "%s: session %s is %s", importer->name, id,
                       ik_holder_describe_use(&other).text);
        }
        TRY(claimed);
        section->claimed = true;
    }
    return OK;
}

static void release_all(importer_t *importer)
{
    ik_holder_t self = ik_holder_self();
    for (size_t i = 0; i < importer->count; i++) {
        section_t *section = importer->sections[i];
        if (section->claimed) {
            /* A claim that stays behind does no harm: its holder is dead soon. */
            (void)ik_store_release(importer->store, section->result.session_id, &self);
        }
    }
}

/* --- the whole --------------------------------------------------------------------------- */

typedef struct {
    importer_t *importer;
    FILE *in;
} writing_t;

static res_t write_lines(void *data)
{
    const writing_t *writing = data;
    TRY(read_lines(writing->importer, writing->in));
    return write_batch(writing->importer);
}

static res_t read_twice(importer_t *importer, FILE *in, off_t start)
{
    TRY(read_lines(importer, in));
    if (importer->count == 0) {
        return ERR(INVALID, "%s: expected a line of type \"session\", found none", importer->name);
    }
    TRY(refuse_duplicates(importer));
    if (importer->copy != NULL) {
        in = importer->copy;
    }
    if (fseeko(in, start, SEEK_SET) < 0) {
        return ERR(SYSTEM, "%s cannot be read again: %s", importer->name, strerror(errno));
    }
    clearerr(in);
    TRY(claim_all(importer));
    importer->batch = ik_new(importer->scratch, batch_t);
    importer->batch->scratch = talloc_new(importer->scratch);
    begin_batch(importer->batch);
    return ik_store_transact(importer->store, write_lines, &(writing_t){importer, in});
}

static res_t read_once(importer_t *importer, FILE *in)
{
    importer->copy = tmpfile();
    if (importer->copy == NULL) {
        return ERR(SYSTEM, "cannot create a temporary file: %s", strerror(errno));
    }
    res_t read = read_twice(importer, in, 0);
    fclose(importer->copy);
    return read;
}

res_t ik_import_read(const void *ctx, FILE *in, const char *name, ik_store_t *store,
                     const char *images, ik_import_t **out, size_t *count)
{
    importer_t importer = {
        .name = name, .store = store, .images = images, .scratch = talloc_new(NULL)};
    off_t start = ftello(in);
    res_t read = start < 0 ? read_once(&importer, in) : read_twice(&importer, in, start);
    release_all(&importer);
    if (is_ok(&read)) {
        *out = ik_new_array(ctx, ik_import_t, importer.count);
        *count = importer.count;
        for (size_t i = 0; i < importer.count; i++) {
            (*out)[i] = importer.sections[i]->result;
            (*out)[i].session_id = ik_strdup(*out, (*out)[i].session_id);
        }
    }
    talloc_free(importer.scratch);
    return read;
}
