#include "terminal/markdown_inline.h"

#include <md4c.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/sanitiser.h"
#include "terminal/markdown_entity.h"

enum { LEAD_LEN = sizeof(IK_MARKDOWN_INLINE_LEAD) - 1, SPANS_MAX = 32 };

typedef struct {
    MD_SPANTYPE type;
    ik_style_t style;
    uint32_t link;
    size_t start; /* offset of its text */
} span_t;

typedef struct {
    ik_markdown_inline_t *flat;
    const char *source;
    size_t len;
    span_t spans[SPANS_MAX]; /* the open ones; the first is the whole text */
    size_t depth;            /* may exceed SPANS_MAX */
} reader_t;

void ik_markdown_inline_init(ik_markdown_inline_t *flat, const void *ctx, const ik_theme_t *theme)
{
    *flat = (ik_markdown_inline_t){.theme = theme};
    ik_buffer_init(&flat->text, ctx, IK_BUFFER_UNLIMITED);  /* bounded by the source */
    ik_buffer_init(&flat->links, ctx, IK_BUFFER_UNLIMITED); /* bounded by the source */
}

void ik_markdown_inline_clear(ik_markdown_inline_t *flat)
{
    ik_markdown_inline_rewind(flat, (ik_markdown_inline_mark_t){0});
}

ik_markdown_inline_mark_t ik_markdown_inline_mark(const ik_markdown_inline_t *flat)
{
    return (ik_markdown_inline_mark_t){
        .text = flat->text.len, .links = flat->links.len, .count = flat->count};
}

void ik_markdown_inline_rewind(ik_markdown_inline_t *flat, ik_markdown_inline_mark_t mark)
{
    flat->text.len = mark.text;
    flat->links.len = mark.links;
    flat->count = mark.count;
}

/* --- runs -------------------------------------------------------------------------------- */

static const span_t *current(const reader_t *reader)
{
    return &reader->spans[reader->depth < SPANS_MAX ? reader->depth : SPANS_MAX - 1];
}

/* Whether text appended now continues the last run, in its look and in the source. */
static bool continues(const ik_markdown_inline_t *flat, const ik_markdown_run_t *next)
{
    if (flat->count == 0) {
        return false;
    }
    const ik_markdown_run_t *last = &flat->runs[flat->count - 1];
    bool follows = last->source == IK_MARKDOWN_INLINE_NOWHERE
                       ? next->source == IK_MARKDOWN_INLINE_NOWHERE
                       : next->source == last->source + (next->start - last->start);
    return follows && last->link == next->link && last->depth == next->depth &&
           ik_style_equal(last->style, next->style);
}

static void begin_run(reader_t *reader, ik_style_t style, uint32_t source)
{
    ik_markdown_inline_t *flat = reader->flat;
    ik_markdown_run_t run = {.start = flat->text.len,
                             .style = style,
                             .link = current(reader)->link,
                             .source = source,
                             .depth = (uint32_t)reader->depth};
    if (continues(flat, &run)) {
        return;
    }
    if (flat->count == flat->capacity) {
        flat->capacity = flat->capacity == 0 ? 32 : flat->capacity * 2;
        flat->runs = ik_resize_array(flat->text.ctx, flat->runs, ik_markdown_run_t, flat->capacity);
    }
    flat->runs[flat->count++] = run;
}

static void append_styled(reader_t *reader, ik_style_t style, uint32_t source, const char *text,
                          size_t len)
{
    if (len > 0) {
        begin_run(reader, style, source);
        ik_buffer_append(&reader->flat->text, text, len);
    }
}

static void append(reader_t *reader, uint32_t source, const char *text, size_t len)
{
    append_styled(reader, current(reader)->style, source, text, len);
}

static uint32_t source_of(const reader_t *reader, const char *text)
{
    bool inside = text >= reader->source && text < reader->source + reader->len;
    return inside ? (uint32_t)(text - reader->source) : IK_MARKDOWN_INLINE_NOWHERE;
}

/* Appends a part of the source without the lead, with spaces for tabs. */
static void append_words(reader_t *reader, const char *text, size_t len)
{
    uint32_t source = source_of(reader, text);
    size_t lead = source < LEAD_LEN ? LEAD_LEN - source : 0;
    if (len <= lead) {
        return;
    }
    size_t start = reader->flat->text.len;
    append(reader, source == IK_MARKDOWN_INLINE_NOWHERE ? source : source + (uint32_t)lead,
           text + lead, len - lead);
    for (char *at = reader->flat->text.data + start; (at = strchr(at, '\t')) != NULL;) {
        *at = ' ';
    }
}

/* --- entities ---------------------------------------------------------------------------- */

/* Appends the character of an entity, or the entity itself if it is unknown. */
static void append_entity(ik_buffer_t *out, const char *text, size_t len)
{
    char character[IK_MARKDOWN_ENTITY_MAX];
    size_t size = ik_markdown_entity_decode(character, text, len);
    if (size == 0) {
        ik_buffer_append(out, text, len);
    } else if (size == 1 && (character[0] == '\n' || character[0] == '\t')) {
        ik_buffer_append_byte(out, ' ');
    } else if (ik_sanitise_is_clean(character, size)) {
        ik_buffer_append(out, character, size);
    } else {
        ik_sanitise_append(out, character, size);
    }
}

/* --- links ------------------------------------------------------------------------------- */

static uint32_t add_address(ik_markdown_inline_t *flat, const MD_ATTRIBUTE *address)
{
    size_t start = flat->links.len;
    for (size_t i = 0; address->size > 0 && address->substr_offsets[i] < address->size; i++) {
        const char *part = address->text + address->substr_offsets[i];
        size_t len = address->substr_offsets[i + 1] - address->substr_offsets[i];
        if (address->substr_types[i] == MD_TEXT_ENTITY) {
            append_entity(&flat->links, part, len);
        } else {
            ik_buffer_append(&flat->links, part, len);
        }
    }
    ik_buffer_append(&flat->links, "", 1);
    return flat->links.len == start + 1 ? 0 : (uint32_t)start + 1;
}

static const char *address_of(const ik_markdown_inline_t *flat, uint32_t link)
{
    return flat->links.data + link - 1;
}

/* Whether the text of a link is its address, apart from the scheme and a final slash. */
static bool says_address(const char *words, size_t len, const char *address)
{
    static const char *const schemes[] = {"", "mailto:", "http://", "https://"};
    for (size_t i = 0; i < IK_LENGTH(schemes); i++) {
        size_t scheme_len = strlen(schemes[i]);
        if (strncasecmp(address, schemes[i], scheme_len) != 0) {
            continue;
        }
        const char *rest = address + scheme_len;
        size_t rest_len = strlen(rest);
        rest_len -= rest_len == len + 1 && rest[len] == '/';
        if (rest_len == len && memcmp(words, rest, len) == 0) {
            return true;
        }
    }
    return false;
}

/* Appends the address in parentheses after the text of its link. */
static void show_address(reader_t *reader)
{
    const span_t *span = current(reader);
    ik_markdown_inline_t *flat = reader->flat;
    const char *address = address_of(flat, span->link);
    size_t len = flat->text.len - span->start;
    if (len > 0 && says_address(flat->text.data + span->start, len, address)) {
        return;
    }
    ik_style_t dim = ik_theme_style(flat->theme, IK_ROLE_DIM);
    if (len > 0) {
        append_styled(reader, dim, IK_MARKDOWN_INLINE_NOWHERE, " (", 2);
    }
    append_styled(reader, dim, IK_MARKDOWN_INLINE_NOWHERE, address, strlen(address));
    if (len > 0) {
        append_styled(reader, dim, IK_MARKDOWN_INLINE_NOWHERE, ")", 1);
    }
}

/* --- callbacks of md4c ------------------------------------------------------------------- */

static int on_block(MD_BLOCKTYPE type, void *detail, void *data)
{
    (void)type;
    (void)detail;
    (void)data;
    return 0;
}

static ik_role_t role_of(MD_SPANTYPE type)
{
    switch (type) {
    case MD_SPAN_EM:
        return IK_ROLE_EMPHASIS;
    case MD_SPAN_STRONG:
        return IK_ROLE_STRONG;
    case MD_SPAN_DEL:
        return IK_ROLE_STRIKE;
    case MD_SPAN_CODE:
        return IK_ROLE_CODE;
    case MD_SPAN_A:
    case MD_SPAN_IMG:
        return IK_ROLE_LINK;
    default:
        return IK_ROLE_TEXT;
    }
}

static int on_enter(MD_SPANTYPE type, void *detail, void *data)
{
    reader_t *reader = data;
    span_t span = *current(reader);
    reader->depth++;
    if (reader->depth >= SPANS_MAX) {
        return 0;
    }
    ik_style_t style = ik_theme_style(reader->flat->theme, role_of(type));
    span.type = type;
    span.style.bits |= style.bits;
    span.style.fg = style.fg != 0 ? style.fg : span.style.fg;
    span.style.bg = style.bg != 0 ? style.bg : span.style.bg;
    span.start = reader->flat->text.len;
    if (span.link == 0 && type == MD_SPAN_A) {
        span.link = add_address(reader->flat, &((MD_SPAN_A_DETAIL *)detail)->href);
    } else if (span.link == 0 && type == MD_SPAN_IMG) { /* an image in a link keeps its address */
        span.link = add_address(reader->flat, &((MD_SPAN_IMG_DETAIL *)detail)->src);
    }
    reader->spans[reader->depth] = span;
    return 0;
}

/* Where an automatic link contains marks, md4c leaves spans that it did not enter and enters spans
 * that it does not leave. So this closes the innermost open span of the type, if there is one. */
static int on_leave(MD_SPANTYPE type, void *detail, void *data)
{
    reader_t *reader = data;
    size_t depth = reader->depth;
    (void)detail;
    while (depth > 0 && depth < SPANS_MAX && reader->spans[depth].type != type) {
        depth--;
    }
    if (depth == 0) {
        return 0;
    }
    reader->depth = depth;
    bool is_link = depth < SPANS_MAX && (type == MD_SPAN_A || type == MD_SPAN_IMG);
    if (is_link && reader->spans[depth - 1].link == 0 && current(reader)->link != 0) {
        show_address(reader);
    }
    reader->depth--;
    return 0;
}

/* <br>, <br/> or <br />: the only line break inside a table cell. */
static bool is_line_break(const char *text, size_t len)
{
    if (len < 4 || strncasecmp(text, "<br", 3) != 0) {
        return false;
    }
    for (size_t i = 3; i < len; i++) {
        if (text[i] != ' ' && text[i] != '/' && text[i] != '>') {
            return false;
        }
    }
    return true;
}

static int on_text(MD_TEXTTYPE type, const char *text, MD_SIZE len, void *data)
{
    reader_t *reader = data;
    switch (type) {
    case MD_TEXT_BR:
        append(reader, IK_MARKDOWN_INLINE_NOWHERE, "\n", 1);
        break;
    case MD_TEXT_SOFTBR:
        append(reader, IK_MARKDOWN_INLINE_NOWHERE, " ", 1);
        break;
    case MD_TEXT_ENTITY:
        begin_run(reader, current(reader)->style, source_of(reader, text));
        append_entity(&reader->flat->text, text, len);
        break;
    case MD_TEXT_HTML:
        if (is_line_break(text, len)) {
            append(reader, IK_MARKDOWN_INLINE_NOWHERE, "\n", 1);
            break;
        }
        append_words(reader, text, len);
        break;
    default:
        append_words(reader, text, len);
        break;
    }
    return 0;
}

void ik_markdown_inline_parse(ik_markdown_inline_t *flat, const char *source, size_t len,
                              ik_style_t style)
{
    static const MD_PARSER parser = {
        .flags = MD_FLAG_STRIKETHROUGH | MD_FLAG_PERMISSIVEURLAUTOLINKS | MD_FLAG_NOHTMLBLOCKS,
        .enter_block = on_block,
        .leave_block = on_block,
        .enter_span = on_enter,
        .leave_span = on_leave,
        .text = on_text,
    };
    reader_t reader = {.flat = flat, .source = source, .len = len};
    reader.spans[0].style = style;
    md_parse(source, (MD_SIZE)len, &parser, &reader);
}

/* --- drawing ----------------------------------------------------------------------------- */

static size_t end_of(const ik_markdown_inline_t *flat, size_t run)
{
    return run + 1 < flat->count ? flat->runs[run + 1].start : flat->text.len;
}

size_t ik_markdown_inline_run_at(const ik_markdown_inline_t *flat, size_t run, size_t at)
{
    while (run + 1 < flat->count && end_of(flat, run) <= at) {
        run++;
    }
    return run;
}

/* The end of the text that looks like this run: the next runs may differ only in their source. */
static size_t end_of_look(const ik_markdown_inline_t *flat, size_t run, size_t to)
{
    const ik_markdown_run_t *first = &flat->runs[run];
    while (end_of(flat, run) < to && flat->runs[run + 1].link == first->link &&
           ik_style_equal(flat->runs[run + 1].style, first->style)) {
        run++;
    }
    return end_of(flat, run) < to ? end_of(flat, run) : to;
}

void ik_markdown_inline_draw(const ik_markdown_inline_t *flat, size_t run, size_t from, size_t to,
                             ik_row_t *row)
{
    while (from < to) {
        run = ik_markdown_inline_run_at(flat, run, from);
        const ik_markdown_run_t *part = &flat->runs[run];
        size_t end = end_of_look(flat, run, to);
        if (part->link != 0) {
            ik_row_add_link(row, part->style, flat->text.data + from, end - from,
                            address_of(flat, part->link));
        } else {
            ik_row_add(row, part->style, flat->text.data + from, end - from);
        }
        from = end;
    }
}
