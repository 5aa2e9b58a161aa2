#include "terminal/backlog.h"

#include <string.h>

#include "base/alloc.h"
#include "terminal/rows.h"

enum {
    SLICE = 4096,      /* bytes of an answer laid out at once */
    KEPT = 256 * 1024, /* bytes of memory kept while the queue is empty */
};

#define NO_LAST SIZE_MAX

typedef enum {
    ITEM_ROW,
    ITEM_GAP,
    ITEM_SENTENCE,
    ITEM_PICTURE,
    ITEM_TEXT,
    ITEM_END,
    ITEM_DROP
} kind_t;

/* The header of an item, followed by its text. */
typedef struct {
    kind_t kind;
    ik_role_t role;              /* of a sentence */
    ik_backlog_answer_t *answer; /* of TEXT, END and DROP */
    size_t len;                  /* of the text */
} item_t;

struct ik_backlog_answer {
    ik_backlog_t *backlog;
    ik_markdown_t *markdown;
    bool is_whole;
};

struct ik_backlog {
    ik_backlog_options_t options;
    int columns; /* as of the last print, like max_open */
    int max_open;
    ik_buffer_t items; /* headers, each followed by its text */
    size_t taken;      /* bytes of items that are printed */
    size_t begun;      /* printed bytes of the first item's text */
    size_t last;       /* offset of the last item; NO_LAST: it is printed */
    bool ends_empty;
    uint64_t added;    /* number of calls of add */
    uint64_t item_end; /* `added` after the last block of one row */
    size_t given;      /* bytes of rows in this print */
    bool blocked;      /* the first item is a picture that cannot be printed yet */
};

ik_backlog_t *ik_backlog_create(const void *ctx, const ik_backlog_options_t *options)
{
    ik_backlog_t *backlog = ik_new(ctx, ik_backlog_t);
    backlog->options = *options;
    backlog->columns = 80;
    backlog->max_open = 1;
    backlog->ends_empty = true;
    backlog->last = NO_LAST;
    ik_buffer_init(&backlog->items, backlog, IK_BUFFER_UNLIMITED); /* no output may be lost */
    return backlog;
}

bool ik_backlog_ends_empty(const ik_backlog_t *backlog)
{
    return backlog->ends_empty;
}

/* --- adding ------------------------------------------------------------------------------ */

static item_t read_item(const ik_backlog_t *backlog, size_t at)
{
    item_t item;
    memcpy(&item, backlog->items.data + at, sizeof(item));
    return item;
}

/* Adds an item. More text of an answer extends the last item if that is text of it, too. */
static void add(ik_backlog_t *backlog, item_t item, const char *text)
{
    ik_buffer_t *items = &backlog->items;
    bool grows = false;
    if (item.kind == ITEM_TEXT && backlog->last != NO_LAST) {
        item_t before = read_item(backlog, backlog->last);
        grows = before.kind == ITEM_TEXT && before.answer == item.answer;
        before.len += grows ? item.len : 0;
        memcpy(items->data + backlog->last, &before, sizeof(before));
    }
    if (!grows) {
        backlog->last = items->len;
        ik_buffer_append(items, (const char *)&item, sizeof(item));
    }
    ik_buffer_append(items, text, item.len);
    backlog->added++;
    backlog->options.on_waiting(backlog->options.data);
}

void ik_backlog_add_row(ik_backlog_t *backlog, const char *bytes, size_t len)
{
    add(backlog, (item_t){.kind = ITEM_ROW, .len = len}, bytes);
}

void ik_backlog_add_gap(ik_backlog_t *backlog)
{
    add(backlog, (item_t){.kind = ITEM_GAP}, "");
}

void ik_backlog_add_item_gap(ik_backlog_t *backlog)
{
    if (backlog->added != backlog->item_end) {
        ik_backlog_add_gap(backlog);
    }
    backlog->item_end = backlog->added + 1;
}

void ik_backlog_add_sentence(ik_backlog_t *backlog, ik_role_t role, const char *text)
{
    item_t item = {.kind = ITEM_SENTENCE, .role = role, .len = strlen(text)};
    add(backlog, item, text);
}

void ik_backlog_add_picture(ik_backlog_t *backlog, const char *png, size_t len)
{
    add(backlog, (item_t){.kind = ITEM_PICTURE, .len = len}, png);
}

static void give_row(void *data, const char *bytes, size_t len)
{
    ik_backlog_t *backlog = data;
    backlog->ends_empty = len == 0;
    backlog->given += len + 1;
    backlog->options.on_row(backlog->options.data, bytes, len);
}

static int max_open_of(const ik_backlog_answer_t *answer)
{
    return answer->is_whole ? IK_ROWS_MAX : answer->backlog->max_open;
}

ik_backlog_answer_t *ik_backlog_begin_answer(ik_backlog_t *backlog, bool is_whole)
{
    ik_backlog_answer_t *answer = ik_new(backlog, ik_backlog_answer_t);
    answer->backlog = backlog;
    answer->is_whole = is_whole;
    ik_markdown_options_t options = {.theme = backlog->options.theme,
                                     .columns = backlog->columns,
                                     .max_open = max_open_of(answer),
                                     .on_row = give_row,
                                     .data = backlog};
    answer->markdown = ik_markdown_create(answer, &options);
    return answer;
}

void ik_backlog_feed_answer(ik_backlog_answer_t *answer, const char *text, size_t len)
{
    if (len > 0) {
        add(answer->backlog, (item_t){.kind = ITEM_TEXT, .answer = answer, .len = len}, text);
    }
}

void ik_backlog_end_answer(ik_backlog_answer_t *answer)
{
    add(answer->backlog, (item_t){.kind = ITEM_END, .answer = answer}, "");
}

void ik_backlog_drop_answer(ik_backlog_answer_t *answer)
{
    add(answer->backlog, (item_t){.kind = ITEM_DROP, .answer = answer}, "");
}

/* --- printing ---------------------------------------------------------------------------- */

static void fit(ik_backlog_answer_t *answer)
{
    ik_markdown_resize(answer->markdown, answer->backlog->columns, max_open_of(answer));
}

void ik_backlog_draw_open(ik_backlog_answer_t *answer, ik_markdown_row_fn on_row, void *data)
{
    fit(answer);
    ik_markdown_draw_open(answer->markdown, on_row, data);
}

static void print_sentence(ik_backlog_t *backlog, ik_role_t role, const char *text, size_t len)
{
    ik_rows_t rows = {.theme = backlog->options.theme,
                      .columns = backlog->columns,
                      .on_row = give_row,
                      .data = backlog};
    char *sentence = ik_strndup(backlog, text, len);
    ik_rows_say(&rows, role, sentence);
    talloc_free(sentence);
}

/* False: how it is shown is not known yet. */
static bool print_picture(ik_backlog_t *backlog, const char *png, size_t len)
{
    ik_backlog_picture_t picture = {.ctx = backlog};
    const ik_backlog_options_t *options = &backlog->options;
    if (options->on_picture != NULL && !options->on_picture(options->data, png, len, &picture)) {
        return false;
    }
    if (picture.row != NULL) {
        for (int i = 0; i < picture.above; i++) {
            give_row(backlog, "", 0);
        }
        give_row(backlog, picture.row, strlen(picture.row));
        backlog->ends_empty = picture.ends_empty;
        talloc_free(picture.row);
    }
    return true;
}

/* Prints the first item or a slice of it; true if all of it is printed. */
static bool print_item(ik_backlog_t *backlog, const item_t *item)
{
    const char *text = backlog->items.data + backlog->taken + sizeof(*item);
    size_t left = item->len - backlog->begun;
    size_t part = left < SLICE ? left : SLICE;
    switch (item->kind) {
    case ITEM_ROW:
        give_row(backlog, text, item->len);
        break;
    case ITEM_GAP:
        if (!backlog->ends_empty) {
            give_row(backlog, "", 0);
        }
        break;
    case ITEM_SENTENCE:
        print_sentence(backlog, item->role, text, item->len);
        break;
    case ITEM_PICTURE:
        backlog->blocked = !print_picture(backlog, text, item->len);
        return !backlog->blocked;
    case ITEM_TEXT:
        fit(item->answer);
        ik_markdown_feed(item->answer->markdown, text + backlog->begun, part);
        backlog->begun += part;
        return backlog->begun == item->len;
    case ITEM_END:
        fit(item->answer);
        ik_markdown_end(item->answer->markdown);
        talloc_free(item->answer);
        break;
    case ITEM_DROP:
        talloc_free(item->answer);
        break;
    }
    return true;
}

static void forget_taken(ik_backlog_t *backlog)
{
    ik_buffer_t *items = &backlog->items;
    size_t left = items->len - backlog->taken;
    if (left == 0 && items->capacity > KEPT) {
        ik_buffer_reset(items);
    } else if (left < backlog->taken) { /* cheaper than what was printed since the last move */
        memmove(items->data, items->data + backlog->taken, left);
        items->len = left;
    } else {
        return;
    }
    if (backlog->last != NO_LAST) {
        backlog->last -= backlog->taken;
    }
    backlog->taken = 0;
}

bool ik_backlog_print(ik_backlog_t *backlog, int columns, int max_open, size_t most)
{
    backlog->columns = columns;
    backlog->max_open = max_open;
    backlog->given = 0;
    backlog->blocked = false;
    while (backlog->taken < backlog->items.len && backlog->given < most && !backlog->blocked) {
        item_t item = read_item(backlog, backlog->taken);
        bool is_last = backlog->taken == backlog->last;
        if (print_item(backlog, &item)) {
            backlog->taken += sizeof(item) + item.len;
            backlog->begun = 0;
            backlog->last = is_last ? NO_LAST : backlog->last;
        }
    }
    bool done = backlog->taken == backlog->items.len;
    forget_taken(backlog);
    return done;
}
