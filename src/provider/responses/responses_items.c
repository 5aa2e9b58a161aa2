#include "provider/responses/responses_items.h"

#include <string.h>

#include "base/alloc.h"
#include "provider/openai/openai_endpoint.h"

typedef struct {
    int64_t output_index;   /* -1: it came without one */
    ik_buffer_t id;         /* the literal; for a call without an id, its call_id */
    bool opened;            /* by output_item.added, not only by a delta */
    ik_stream_call_t *call; /* NULL: not a function call */
    int64_t shown;          /* text parts below this index have been shown */
    int64_t thought;        /* reasoning parts below this index have been shown */
    bool closed;
    ik_buffer_t final; /* the final form as it came */
} slot_t;

struct ik_responses_items {
    ik_stream_t *stream;
    slot_t **slots; /* by output_index; items without one stand where they came */
    size_t count;
    const slot_t *last_text; /* whose text was shown last */
    const slot_t *last_thought;
    int64_t last_thought_part;
    size_t size; /* of all final forms */
    bool any_closed;
    bool refused;
    bool incomplete;
};

ik_responses_items_t *ik_responses_items_create(ik_stream_t *stream)
{
    ik_responses_items_t *items = ik_new(stream, ik_responses_items_t);
    items->stream = stream;
    return items;
}

bool ik_responses_items_has_closed(const ik_responses_items_t *items)
{
    return items->any_closed;
}

bool ik_responses_items_has_refusal(const ik_responses_items_t *items)
{
    return items->refused;
}

bool ik_responses_items_has_incomplete(const ik_responses_items_t *items)
{
    return items->incomplete;
}

void ik_responses_items_add_refusal(ik_responses_items_t *items)
{
    items->refused = true;
}

/* --- finding the item ---------------------------------------------------------------------- */

static bool has_id(const slot_t *slot, ik_json_span_t id)
{
    return id.len > 2 && slot->id.len == id.len && memcmp(slot->id.data, id.text, id.len) == 0;
}

/* Finds an item by its index, and by its id where several items share an index. When the event or
 * the item has no index, the id alone decides; an event with neither belongs to the last item. A
 * different id does not mean a different item while the item of that index is open: some proxies
 * give each event an id of its own. */
static slot_t *find(const ik_responses_items_t *items, const ik_responses_place_t *place)
{
    int64_t index = ik_stream_read_index(place->output_index);
    bool named = place->item_id.len > 2;
    slot_t *open = NULL;
    slot_t *closed = NULL;
    for (size_t i = items->count; i > 0; i--) {
        slot_t *slot = items->slots[i - 1];
        bool both = index >= 0 && slot->output_index >= 0;
        if (has_id(slot, place->item_id) && (!both || slot->output_index == index)) {
            return slot;
        }
        if (both && slot->output_index == index) {
            open = open == NULL && !slot->closed ? slot : open;
            closed = closed == NULL && slot->closed ? slot : closed;
        }
    }
    if (open != NULL || (closed != NULL && !named)) {
        return open != NULL ? open : closed;
    }
    bool nameless = index < 0 && !named;
    return nameless && items->count > 0 ? items->slots[items->count - 1] : NULL;
}

static void insert(ik_responses_items_t *items, slot_t *slot)
{
    size_t at = items->count;
    items->slots = ik_resize_array(items, items->slots, slot_t *, items->count + 1);
    while (at > 0 && slot->output_index >= 0 &&
           items->slots[at - 1]->output_index > slot->output_index) {
        items->slots[at] = items->slots[at - 1];
        at--;
    }
    items->slots[at] = slot;
    items->count++;
}

/* NULL, and the stream has failed, when there are too many. */
static slot_t *open_slot(ik_responses_items_t *items, const ik_responses_place_t *place)
{
    if (items->count == IK_RESPONSES_ITEMS_MAX) {
        ik_stream_fail_size(items->stream, "the answer has too many items");
        return NULL;
    }
    slot_t *slot = ik_new(items, slot_t);
    slot->output_index = ik_stream_read_index(place->output_index);
    ik_buffer_init(&slot->id, slot, 1024);
    ik_buffer_append(&slot->id, place->item_id.text, place->item_id.len);
    ik_buffer_init(&slot->final, slot, IK_STREAM_MAX);
    insert(items, slot);
    return slot;
}

static slot_t *find_or_open(ik_responses_items_t *items, const ik_responses_place_t *place)
{
    slot_t *slot = find(items, place);
    return slot == NULL ? open_slot(items, place) : slot;
}

/* --- text and reasoning -------------------------------------------------------------------- */

static void show_text(ik_responses_items_t *items, const slot_t *slot, ik_json_span_t literal)
{
    if (items->last_text != slot) {
        ik_stream_close_text(items->stream);
    }
    items->last_text = slot;
    ik_stream_add_text_literal(items->stream, literal);
}

/* Each part of reasoning is shown as a paragraph. */
static void show_reasoning(ik_responses_items_t *items, const slot_t *slot, int64_t part,
                           ik_json_span_t literal)
{
    bool another = items->last_thought != slot || items->last_thought_part != part;
    if (!ik_json_has_text(literal)) {
        return;
    }
    if (another && items->stream->reasoning.len > 0) {
        ik_stream_add_reasoning(items->stream, "\n\n", 2);
    }
    items->last_thought = slot;
    items->last_thought_part = part;
    ik_stream_add_reasoning_literal(items->stream, literal);
}

/* Whether to show a piece of a part, or a whole part: a whole part is shown only if no piece was.
 * Records that it was shown. */
static bool take_part(int64_t *shown, int64_t part, bool whole)
{
    part = part < 0 ? 0 : part;
    if (whole && part < *shown) {
        return false;
    }
    *shown = part >= *shown ? part + 1 : *shown;
    return true;
}

void ik_responses_items_text(ik_responses_items_t *items, const ik_responses_place_t *place,
                             ik_json_span_t literal, bool whole)
{
    slot_t *slot = find_or_open(items, place);
    if (slot != NULL && take_part(&slot->shown, ik_stream_read_index(place->part), whole)) {
        show_text(items, slot, literal);
    }
}

void ik_responses_items_reasoning(ik_responses_items_t *items, const ik_responses_place_t *place,
                                  ik_json_span_t literal, bool whole)
{
    slot_t *slot = find_or_open(items, place);
    int64_t part = ik_stream_read_index(place->part);
    if (slot != NULL && take_part(&slot->thought, part, whole)) {
        show_reasoning(items, slot, part, literal);
    }
}

static void show_part(ik_responses_items_t *items, const slot_t *slot, ik_json_span_t part)
{
    static const char *const names[] = {"text", "refusal"};
    ik_json_span_t values[2];
    ik_json_find_members(part, names, 2, values);
    items->refused = items->refused || ik_json_has_text(values[1]);
    show_text(items, slot, values[0]);
    show_text(items, slot, values[1]);
}

/* Shows the parts of a message that were not shown yet. */
static void show_message(ik_responses_items_t *items, slot_t *slot, ik_json_span_t content)
{
    size_t position = 0;
    ik_json_span_t part;
    for (int64_t i = 0;
         ik_json_is(content, IK_JSON_ARRAY) && ik_json_next_element(content, &position, &part);
         i++) {
        if (take_part(&slot->shown, i, true)) {
            show_part(items, slot, part);
        }
    }
}

static void show_thoughts(ik_responses_items_t *items, slot_t *slot, ik_json_span_t parts)
{
    size_t position = 0;
    ik_json_span_t part;
    ik_json_span_t text;
    for (int64_t i = 0;
         ik_json_is(parts, IK_JSON_ARRAY) && ik_json_next_element(parts, &position, &part); i++) {
        if (ik_json_kind(part) == IK_JSON_OBJECT && ik_json_find(part, "text", &text) &&
            take_part(&slot->thought, i, true)) {
            show_reasoning(items, slot, i, text);
        }
    }
}

/* --- calls --------------------------------------------------------------------------------- */

static void replace(ik_buffer_t *buffer, ik_json_span_t literal)
{
    if (ik_json_has_text(literal)) {
        buffer->len = 0;
        ik_stream_append_literal(buffer, literal);
    }
}

static void replace_arguments(ik_stream_t *stream, ik_stream_call_t *call, ik_json_span_t value)
{
    if (value.len > 2) { /* neither "" nor {} */
        ik_stream_drop_arguments(stream, call);
        ik_stream_add_arguments_value(stream, call, value);
    }
}

static ik_stream_call_t *call_of(ik_responses_items_t *items, slot_t *slot)
{
    if (slot->call == NULL) {
        slot->call = ik_stream_add_call(items->stream);
    }
    return slot->call;
}

void ik_responses_items_arguments(ik_responses_items_t *items, const ik_responses_place_t *place,
                                  ik_json_span_t literal, bool whole)
{
    slot_t *slot = find_or_open(items, place);
    if (slot == NULL || slot->closed) {
        return;
    }
    if (whole) {
        replace_arguments(items->stream, call_of(items, slot), literal);
    } else {
        ik_stream_add_arguments_value(items->stream, call_of(items, slot), literal);
    }
}

/* --- opening and closing ------------------------------------------------------------------- */

enum { TYPE, ID, CALL_ID, NAME, ARGUMENTS, CONTENT, SUMMARY, ENCRYPTED, STATUS, MEMBERS };

static void read_item(ik_json_span_t item, ik_json_span_t *values)
{
    static const char *const names[MEMBERS] = {
        "type",    "id",      "call_id",           "name",  "arguments",
        "content", "summary", "encrypted_content", "status"};
    ik_json_find_members(item, names, MEMBERS, values);
}

static ik_json_span_t identity(const ik_json_span_t *values)
{
    return values[ID].len > 2 ? values[ID] : values[CALL_ID];
}

static void take_item(ik_responses_items_t *items, slot_t *slot, const ik_json_span_t *values)
{
    if (slot->id.len == 0) {
        ik_json_span_t id = identity(values);
        ik_buffer_append(&slot->id, id.text, id.len);
    }
    if (ik_json_is_text(values[TYPE], "function_call")) {
        ik_stream_call_t *call = call_of(items, slot);
        replace(&call->given_id, values[CALL_ID]);
        replace(&call->name, values[NAME]);
        replace_arguments(items->stream, call, values[ARGUMENTS]);
    }
}

void ik_responses_items_open(ik_responses_items_t *items, const ik_responses_place_t *place,
                             ik_json_span_t item)
{
    ik_json_span_t values[MEMBERS];
    read_item(item, values);
    ik_responses_place_t at = {.output_index = place->output_index, .item_id = identity(values)};
    slot_t *slot =
        ik_stream_read_index(at.output_index) < 0 && at.item_id.len <= 2 ? NULL : find(items, &at);
    bool another = slot != NULL && slot->opened && at.item_id.len > 2 && !has_id(slot, at.item_id);
    slot = slot == NULL || another ? open_slot(items, &at) : slot;
    if (slot != NULL && !slot->closed) {
        slot->opened = true;
        take_item(items, slot, values);
    }
}

void ik_responses_items_close(ik_responses_items_t *items, const ik_responses_place_t *place,
                              ik_json_span_t item)
{
    ik_json_span_t values[MEMBERS];
    read_item(item, values);
    ik_responses_place_t at = {.output_index = place->output_index, .item_id = identity(values)};
    slot_t *slot = ik_json_is(item, IK_JSON_OBJECT) ? find_or_open(items, &at) : NULL;
    if (slot == NULL || slot->closed) {
        return;
    }
    items->size += item.len;
    if (items->size > IK_STREAM_MAX) {
        ik_stream_fail_size(items->stream, "the answer is too long");
        return;
    }
    take_item(items, slot, values);
    if (ik_json_is_text(values[TYPE], "message")) {
        show_message(items, slot, values[CONTENT]);
    } else if (ik_json_is_text(values[TYPE], "reasoning")) {
        show_thoughts(items, slot, values[SUMMARY]);
        show_thoughts(items, slot, values[CONTENT]);
    }
    items->incomplete = items->incomplete || ik_json_is_text(values[STATUS], "incomplete");
    slot->closed = items->any_closed = true;
    ik_buffer_append(&slot->final, item.text, item.len);
}

/* --- what goes back ------------------------------------------------------------------------ */

static bool is_among_items(const ik_stream_t *stream, const ik_stream_call_t *call)
{
    for (size_t i = 0; i < stream->item_count; i++) {
        if (stream->items[i]->call == call) {
            return true;
        }
    }
    return false;
}

/* The server stores nothing, so reasoning must go back with its content: encrypted, or in the clear
 * to servers of open models. */
static bool is_complete_reasoning(const ik_responses_items_t *items, const ik_json_span_t *values)
{
    bool clear = ik_json_is(values[CONTENT], IK_JSON_ARRAY) && values[CONTENT].len > 2;
    return ik_json_has_text(values[ENCRYPTED]) ||
           (clear && !ik_openai_endpoint_is_openai(items->stream->target));
}

/* A call that was dropped or has no id would have no result, and a call without arguments is stored
 * with {} instead. */
static bool can_go_back(const ik_responses_items_t *items, const slot_t *slot)
{
    ik_json_span_t values[MEMBERS];
    if (!slot->closed) {
        return false;
    }
    read_item((ik_json_span_t){slot->final.data, slot->final.len}, values);
    if (slot->call != NULL) {
        return slot->call->given_id.len > 0 && ik_json_has_text(values[ARGUMENTS]) &&
               is_among_items(items->stream, slot->call);
    }
    return !ik_json_is_text(values[TYPE], "reasoning") || is_complete_reasoning(items, values);
}

/* Another item must follow reasoning, so reasoning at the end of a cut answer does not go back. */
static size_t count_without_last_reasoning(const ik_responses_items_t *items)
{
    ik_json_span_t values[MEMBERS];
    size_t count = items->count;
    for (; count > 0 && items->slots[count - 1]->closed; count--) {
        const ik_buffer_t *final = &items->slots[count - 1]->final;
        read_item((ik_json_span_t){final->data, final->len}, values);
        if (!ik_json_is_text(values[TYPE], "reasoning")) {
            break;
        }
    }
    return count;
}

void ik_responses_items_format(const ik_responses_items_t *items, ik_buffer_t *out)
{
    size_t count = count_without_last_reasoning(items);
    for (size_t i = 0; i < count; i++) {
        if (!can_go_back(items, items->slots[i])) {
            return;
        }
    }
    for (size_t i = 0; i < count; i++) {
        ik_buffer_append_byte(out, i == 0 ? '[' : ',');
        ik_buffer_append(out, items->slots[i]->final.data, items->slots[i]->final.len);
    }
    ik_buffer_append_text(out, count > 0 ? "]" : "");
}
