/*
 * A message, independent of providers. The store and every wire format are made from it. content is
 * for people, data_json for programs:
 *
 *   kind         content                         data_json
 *   system       the system prompt               NULL
 *   user         what the user wrote             {images, command, steering, typed, …} or NULL
 *   assistant    the text of the answer          {model, stop, usage, reasoning, …} or NULL
 *   tool_call    glob(pattern="*.c")             {id, type, function: {name, arguments}, …}
 *   tool_result  3 files found                   {tool_call_id, name, success, …, images, output}
 *   compaction   12 tool results removed         {trimmed_results, dropped, target, images}
 *   compaction   summarised: 9,000 to 800 tokens {reason, summary, tokens_before, …}
 *   mode         the mode was set                {mode}
 *   checkpoint   NULL                            {phase, states}
 *   undo         what was taken back             {agent, message, until, turns, prompt, …}
 *   redo         what was brought back           {agent, turns, prompt, before, after, …}
 *   delegation   NULL                            {name, tool_call_id, tools}
 *   end          the agent was ended             NULL
 *
 * The messages of one answer (text and calls, in order) are a step. The first message of a step
 * names the model ("provider/model"). It also holds the data that this provider wants back
 * verbatim, in a member with the provider's name, with the number of messages of the step and the
 * ids of its calls (step, calls): the data is sent only while these still match. A call and its
 * result name the provider whose id they have.
 *
 * Hooks can add text to what the user wrote; typed is then the length of the part before it.
 *
 * A checkpoint is a record: it says what the files were like and is not part of the conversation.
 * Its phase is "before" (the first call of a step that may write) or "after" (its last call has
 * ended); both together are a segment of the agent, which is open while there is no "after". states
 * are ids of the program checkpoint, later ones override earlier ones; "after" without any means
 * that the state could not be recorded. late says that another process recorded it, after a crash:
 * it has the changes of others since then, too. next says that the calls belong to the message of
 * the user that follows: a custom command has run them to make it.
 *
 * undo and redo are records, too. The first event of an agent that takes the place of another one
 * says in agent which one: that agent is hidden from then on. Without agent the conversation
 * stayed. before and after are states of the restored files around the restoring. Of an undo,
 * message and until are the seqs of the first and last event that were taken back, restricted says
 * that it was limited to named files, and finishes that it continues the undo before it. conflicts
 * are files that were left alone: [{path or path_base64, reason}].
 *
 * delegation is a record as well (conversation/delegation.h). The task of a sub-agent is a user
 * message with {"delegated":true}, which does not count as a turn of the user.
 *
 * A message is immutable. Up to a megabyte it is one block of memory, because a long session has a
 * hundred thousand of them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/blob.h"
#include "base/display.h"
#include "base/json.h"
#include "conversation/usage.h"

#define IK_MSG_SYSTEM "system"
#define IK_MSG_USER "user"
#define IK_MSG_ASSISTANT "assistant"
#define IK_MSG_TOOL_CALL "tool_call"
#define IK_MSG_TOOL_RESULT "tool_result"
#define IK_MSG_COMPACTION "compaction"
#define IK_MSG_MODE "mode"
#define IK_MSG_CHECKPOINT "checkpoint"
#define IK_MSG_UNDO "undo"
#define IK_MSG_REDO "redo"
#define IK_MSG_DELEGATION "delegation"
#define IK_MSG_END "end"

enum { IK_MSG_NAME_MAX = 64 }; /* bytes of a tool's name that every provider accepts */

typedef struct {
    const char *kind;
    const char *content;   /* NULL when there is none */
    const char *data_json; /* a JSON object, or NULL */
    size_t data_len;       /* of data_json */
    bool clean;            /* arguments or output are an object in the sense of json_clean.h */
    /* Where the value of output, the last member, begins in data_json; 0: not known. It is most of
     * a long conversation, and is neither searched for nor skipped byte by byte. */
    uint32_t output_at;
} ik_msg_t;

/* What the first message of a step says about it. Members that are NULL, zero or unknown are left
 * out. */
typedef struct {
    const char *model;     /* provider/model */
    const char *stop;      /* why the model stopped */
    const char *reasoning; /* readable, for people */
    bool incomplete;       /* the answer was cut off */
    bool refused;          /* the provider asks to leave this turn out of later requests */
    ik_usage_t usage;
    double cost;              /* USD */
    const char *provider;     /* that private_json belongs to */
    const char *private_json; /* a JSON value; NULL: the next four are ignored */
    size_t messages;          /* in the step */
    const char *const *call_ids;
    size_t call_count;
    int64_t prefix; /* hash of tools and system prompt that private_json is bound to */
} ik_msg_step_t;

typedef struct {
    const char *id;
    const char *name;
    const char *arguments; /* as the model wrote them, JSON text or not */
    size_t arguments_len;
    const char *provider; /* that made the id; may be NULL */
} ik_msg_call_t;

/* An image of a user's message or of a tool result. Its bytes are a blob (base/blob.h), and were
 * checked (base/image.h) before it was stored. */
typedef struct {
    const char *name; /* of its file, or made up; one line */
    ik_blob_name_t sha256;
    const char *media_type; /* static text */
    uint64_t bytes;
    uint32_t width;
    uint32_t height;
    bool for_user; /* shown, and not sent to a model */
} ik_msg_image_t;

/* The data of a tool result begins with this if the tool asked a model; an object with model, usage
 * and cost_usd follows. */
#define IK_MSG_COMPLETIONS "{\"completions\":"
/* What a model was asked by a tool while it ran. */
typedef struct {
    const char *model; /* the last one, "provider/model"; NULL: none was asked */
    ik_usage_t usage;
    double cost; /* USD; negative: not known */
} ik_msg_completions_t;

typedef struct {
    const char *call_id;
    const char *name;
    const char *provider; /* as in the call */
    const char *output;   /* the envelope, exactly as the model gets it */
    bool success;
    const ik_msg_image_t *images;
    size_t image_count;
    const char *err; /* what a successful tool wrote to stderr, for people; NULL: nothing */
    int64_t wall_ms; /* this and the next two: -1 when not known */
    int64_t cpu_us;
    int64_t max_rss_kb;
    ik_display_t display; /* how its tool wants it to be shown */
    ik_msg_completions_t completions;
} ik_msg_result_t;

/* All strings are copied. content and data_json may be NULL. */
ik_msg_t *ik_msg_create(const void *ctx, const char *kind, const char *content,
                        const char *data_json);
/* For texts whose lengths are known. */
ik_msg_t *ik_msg_create_sized(const void *ctx, const char *kind, const char *content,
                              size_t content_len, const char *data_json, size_t data_len);
ik_msg_t *ik_msg_copy(const void *ctx, const ik_msg_t *message);
/* step is NULL for text that no model made. */
ik_msg_t *ik_msg_create_assistant(const void *ctx, const char *text, const ik_msg_step_t *step);
/* step is NULL except for the first message of a step. content becomes a summary of the call. */
ik_msg_t *ik_msg_create_call(const void *ctx, const ik_msg_call_t *call, const ik_msg_step_t *step);
/* content becomes a summary of the envelope. */
ik_msg_t *ik_msg_create_result(const void *ctx, const ik_msg_result_t *result);
ik_msg_t *ik_msg_create_compaction(const void *ctx, size_t trimmed_results);

/* What a provider refused of the messages before a compaction, and how they are sent instead. */
typedef enum {
    IK_MSG_DROP_REASONING, /* without reasoning */
    IK_MSG_DROP_CALLS,     /* calls and results as plain text as well */
} ik_msg_drop_t;
/* "reasoning", "calls": the member dropped. */
const char *ik_msg_drop_name(ik_msg_drop_t drop);
/* A compaction that records it for requests to target (provider/model); trimmed_results is what it
 * was before. */
ik_msg_t *ik_msg_create_drop(const void *ctx, ik_msg_drop_t drop, const char *target,
                             size_t trimmed_results);

/* A compaction that records images which a provider refused: markers are sent in their place from
 * then on, to every provider. */
ik_msg_t *ik_msg_create_image_drop(const void *ctx, const ik_msg_image_t *images, size_t count,
                                   const char *target, size_t trimmed_results);
/* A compaction that makes a summary stand for older messages (context.h). */
typedef struct {
    const char *reason;  /* "full", "overflow", "user" */
    const char *summary; /* not blank */
    int64_t tokens_before;
    int64_t tokens_after;
    const char *focus;  /* what the user wants to be kept; NULL: not given */
    size_t covers;      /* messages of user and model that are no longer sent, from the first */
    size_t words_limit; /* bytes of the user's own words among them that are still sent */
    /* The answer that is the summary; model is NULL when older messages were only removed. */
    const char *model; /* provider/model */
    ik_usage_t usage;
    double cost; /* USD */
} ik_msg_summary_t;
ik_msg_t *ik_msg_create_summary(const void *ctx, const ik_msg_summary_t *summary);
/* Whether the message is such a compaction. */
bool ik_msg_is_summary(const ik_msg_t *message);

/* Whether the message is such a compaction. */
bool ik_msg_is_image_drop(const ik_msg_t *message);

/* The phase of a checkpoint. */
typedef enum { IK_MSG_BEFORE, IK_MSG_AFTER } ik_msg_phase_t;
typedef struct {
    ik_msg_phase_t phase;
    bool next;                 /* it belongs to the next message of the user */
    bool late;                 /* "after": recorded after a crash */
    const char *const *states; /* ids */
    size_t count;
} ik_msg_checkpoint_t;
ik_msg_t *ik_msg_create_checkpoint(const void *ctx, const ik_msg_checkpoint_t *checkpoint);
/* Reads the data of a checkpoint. states, on ctx, ends with NULL. False when it is not valid. */
bool ik_msg_parse_checkpoint(const void *ctx, const char *data_json, ik_msg_checkpoint_t *out);
/* Checks the bytes (ik_image_check) and stores them in the folder of blobs. name is borrowed. The
 * message of an error says what is wrong with the image, without its name. */
res_t ik_msg_image_store(const char *folder, const char *name, const char *bytes, size_t len,
                         ik_msg_image_t *image);
/* The data of a user's message with these images: {"images":[{"name",…}]}, on ctx; NULL if there
 * are none. */
char *ik_msg_format_images(const void *ctx, const ik_msg_image_t *images, size_t count);
/* Reads the images of a message. Entries that are not valid are left out. *images is on ctx, and
 * NULL when the result is 0. */
size_t ik_msg_images(const void *ctx, const ik_msg_t *message, ik_msg_image_t **images);
/* "NAME, image/png, 640x480, 12 KB", on ctx: how people see an image. The name is not sanitised. */
char *ik_msg_image_describe(const void *ctx, const ik_msg_image_t *image);
/* The text that is sent in place of an image: "[image NAME, image/png, 1x1, 70 bytes: why]". */
extern const char ik_msg_image_dropped[]; /* why: it was removed to fit the context */
char *ik_msg_image_marker(const void *ctx, const ik_msg_image_t *image, const char *why);

bool ik_msg_is(const ik_msg_t *message, const char *kind);
/* Who speaks in a message, as providers see it. */
typedef enum {
    IK_MSG_NEITHER,    /* it is not sent */
    IK_MSG_USER_SIDE,  /* user, tool_result */
    IK_MSG_MODEL_SIDE, /* assistant, tool_call */
} ik_msg_side_t;
ik_msg_side_t ik_msg_side(const ik_msg_t *message);
/* Whether it is the first message of a step, which names the model that made it. */
bool ik_msg_begins_step(const ik_msg_t *message);
/* Whether events of this kind are records: stored, but neither sent nor shown. */
bool ik_msg_kind_is_record(const char *kind);
/* A user message that holds what a command of the user's own ("!make") printed. */
bool ik_msg_is_shell_note(const ik_msg_t *message);
/* A user message that joined a running turn behind its tool results. */
bool ik_msg_is_steering(const ik_msg_t *message);
/* Such a message with the text and the images of this one. */
ik_msg_t *ik_msg_create_steering(const void *ctx, const ik_msg_t *message);
/* The bytes of a user's message before what hooks added to it. */
size_t ik_msg_typed_len(const ik_msg_t *message);
/* The data of a user's message of which the first bytes were typed and the rest was added by hooks,
 * on ctx; NULL if it needs none. data, which may be NULL, is that of the message without it. */
char *ik_msg_format_typed(const void *ctx, const char *data, const char *content, size_t typed);
/* Whether the text is NULL, empty or only white space, which providers refuse as a message. */
bool ik_msg_text_is_blank(const char *text);

/* Finds the first member of that name in data_json, without reading further. False when there is
 * none. The data must be valid JSON, which ik_conversation_take_repaired ensures for stored
 * messages. */
bool ik_msg_field(const ik_msg_t *message, const char *name, ik_json_span_t *value);
/* Finds several members of a scanned object in one walk: values[i] is the first member called
 * names[i], of length 0 when there is none. A name may be NULL. */
void ik_msg_find_fields(ik_json_span_t object, const char *const *names, size_t count,
                        ik_json_span_t *values);
/* The member decoded, on ctx; NULL when it is not a string. */
char *ik_msg_field_text(const void *ctx, const ik_msg_t *message, const char *name);
/* The member as a number; fallback when it is not a number. */
int64_t ik_msg_field_number(const ik_msg_t *message, const char *name, int64_t fallback);
/* Finds the literal of a string in function: "name" or "arguments". */
bool ik_msg_call_field(const ik_msg_t *call, const char *name, ik_json_span_t *literal);
