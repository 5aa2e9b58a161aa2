/* The files of a session as the editor has them: fs/read_text_file and fs/write_text_file. */
#include <string.h>

#include "acp/acp_state.h"
#include "base/alloc.h"

/* A request to the editor. Freeing it gives it up. */
typedef struct {
    ik_acp_session_t *session;
    ik_rpc_call_t *call;
    char *path;
    char *text; /* that is written; NULL: it is read */
    ik_tool_editor_read_fn on_read;
    ik_tool_editor_written_fn on_written;
    void *data;
} transfer_t;

static int give_up(transfer_t *transfer)
{
    if (transfer->call != NULL) {
        ik_acp_cancel_call(transfer->session->acp, transfer->call);
    }
    return 0;
}

static void on_read_answer(void *data, const ik_rpc_answer_t *answer)
{
    transfer_t *transfer = data;
    ik_json_span_t content;
    size_t len = 0;
    void *scratch = talloc_new(NULL);
    bool given = !answer->closed && !answer->failed &&
                 ik_json_find_kind(answer->result, "content", IK_JSON_STRING, &content);
    char *text = given ? ik_json_decode(scratch, content, &len) : NULL;
    ik_tool_editor_read_fn on_read = transfer->on_read;
    void *read_data = transfer->data;
    if (text != NULL) {
        ik_acp_call_note_file(transfer->session, transfer->path, text, false);
    }
    transfer->call = NULL;
    talloc_free(transfer);
    on_read(read_data, text, len);
    talloc_free(scratch);
}

static void on_write_answer(void *data, const ik_rpc_answer_t *answer)
{
    transfer_t *transfer = data;
    ik_tool_editor_written_fn on_written = transfer->on_written;
    void *written_data = transfer->data;
    bool written = !answer->closed && !answer->failed;
    if (written) {
        ik_acp_call_note_file(transfer->session, transfer->path, transfer->text, true);
    }
    transfer->call = NULL;
    talloc_free(transfer);
    on_written(written_data, written);
}

static transfer_t *begin(ik_acp_session_t *session, const char *path, void *data)
{
    transfer_t *transfer = ik_new(session, transfer_t);
    transfer->session = session;
    transfer->path = ik_strdup(transfer, path);
    transfer->data = data;
    return transfer;
}

/* Sends the request; returns NULL if the connection is closed. */
static void *send_request(transfer_t *transfer, const char *method, ik_rpc_answer_fn on_answer)
{
    ik_acp_session_t *session = transfer->session;
    ik_buffer_t params;
    ik_buffer_init(&params, transfer, IK_BUFFER_UNLIMITED); /* bounded by the file */
    ik_json_add_text(&params, "sessionId", session->id);
    ik_json_add_text(&params, "path", transfer->path);
    if (transfer->text != NULL) {
        ik_json_add_text(&params, "content", transfer->text);
    }
    ik_buffer_append_byte(&params, '}');
    transfer->call = ik_rpc_call(session->acp->rpc, method, params.data, on_answer, transfer);
    ik_buffer_reset(&params);
    if (transfer->call == NULL) {
        talloc_free(transfer);
        return NULL;
    }
    talloc_set_destructor(transfer, give_up);
    return transfer;
}

static void *read_file(void *editor, const char *path, ik_tool_editor_read_fn on_read, void *data)
{
    transfer_t *transfer = begin(editor, path, data);
    transfer->on_read = on_read;
    return send_request(transfer, "fs/read_text_file", on_read_answer);
}

static void *write_file(void *editor, const char *path, const char *text, size_t len,
                        ik_tool_editor_written_fn on_written, void *data)
{
    if (memchr(text, '\0', len) != NULL) {
        return NULL; /* not a text */
    }
    transfer_t *transfer = begin(editor, path, data);
    transfer->text = ik_strndup(transfer, text, len);
    transfer->on_written = on_written;
    return send_request(transfer, "fs/write_text_file", on_write_answer);
}

const ik_tool_editor_t *ik_acp_files_create(ik_acp_session_t *session)
{
    const ik_acp_t *acp = session->acp;
    if (!acp->client_reads) {
        return NULL;
    }
    ik_tool_editor_t *editor = ik_new(session, ik_tool_editor_t);
    *editor = (ik_tool_editor_t){
        .read = read_file, .write = acp->client_writes ? write_file : NULL, .editor = session};
    return editor;
}
