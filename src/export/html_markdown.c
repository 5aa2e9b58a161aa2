#include "export/html_markdown.h"

#include <md4c.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/markdown_code.h"
#include "base/utf8.h"
#include "export/html_code.h"
#include "export/html_escape.h"

/* A short text can expand without bound: a table of many columns with empty rows, deep nesting. The
 * HTML may have ROOM + GROWTH times the text's length. */
enum { LONGEST = 256 * 1024, ROOM = 64 * 1024, GROWTH = 24, MOST_DEPTH = 64 };

/* An open element. */
typedef struct {
    const char *close;
    size_t start;   /* of its content in the output */
    bool is_target; /* a link that cannot be followed: its target is written after it */
} open_t;

typedef struct {
    ik_buffer_t *out;
    open_t open[MOST_DEPTH];
    size_t depth; /* elements nested deeper than MOST_DEPTH get no tags */
    bool in_link;
    bool in_code; /* a code block, collected in code */
    ik_markdown_code_t code;
    char *language;
} page_t;

/* --- tags -------------------------------------------------------------------------------- */

static bool has_room(const page_t *page)
{
    return page->depth < MOST_DEPTH;
}

/* Returns the element, or NULL when it is nested too deeply for tags. */
static open_t *push(page_t *page, const char *tag, const char *close)
{
    open_t *opened = has_room(page) ? &page->open[page->depth] : NULL;
    page->depth++;
    if (opened != NULL) {
        ik_buffer_append_text(page->out, tag);
        *opened = (open_t){.close = close, .start = page->out->len};
    }
    return opened;
}

/* Returns the element that ends, or NULL when it has no tags. */
static const open_t *pop(page_t *page)
{
    page->depth--;
    return has_room(page) ? &page->open[page->depth] : NULL;
}

static void close_last(page_t *page)
{
    const open_t *left = pop(page);
    if (left != NULL) {
        ik_buffer_append_text(page->out, left->close);
    }
}

/* --- entities ---------------------------------------------------------------------------- */

static const struct {
    const char *name;
    const char *text;
} entities[] = {
    {"&amp;", "&"},   {"&lt;", "<"},    {"&gt;", ">"},     {"&quot;", "\""}, {"&apos;", "'"},
    {"&nbsp;", " "},  {"&copy;", "©"},  {"&reg;", "®"},    {"&trade;", "™"}, {"&hellip;", "…"},
    {"&mdash;", "—"}, {"&ndash;", "–"}, {"&larr;", "←"},   {"&rarr;", "→"},  {"&uarr;", "↑"},
    {"&darr;", "↓"},  {"&times;", "×"}, {"&middot;", "·"}, {"&bull;", "•"},  {"&deg;", "°"},
    {"&le;", "≤"},    {"&ge;", "≥"},    {"&ne;", "≠"},     {"&euro;", "€"},  {"&check;", "✓"},
    {"&lsquo;", "‘"}, {"&rsquo;", "’"}, {"&ldquo;", "“"},  {"&rdquo;", "”"}, {"&plusmn;", "±"},
};

/* An unknown entity stays as it was written. */
static void append_entity(ik_buffer_t *text, const char *entity, size_t len)
{
    if (len > 2 && entity[1] == '#') {
        bool hex = entity[2] == 'x' || entity[2] == 'X';
        unsigned long code = strtoul(entity + (hex ? 3 : 2), NULL, hex ? 16 : 10);
        bool valid = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
        char bytes[4];
        ik_buffer_append(text, bytes, ik_utf8_encode(bytes, valid ? (uint32_t)code : 0xfffd));
        return;
    }
    for (size_t i = 0; i < IK_LENGTH(entities); i++) {
        if (strlen(entities[i].name) == len && memcmp(entities[i].name, entity, len) == 0) {
            ik_buffer_append_text(text, entities[i].text);
            return;
        }
    }
    ik_buffer_append(text, entity, len);
}

/* The text of an attribute, on ctx. */
static char *decode(const void *ctx, const MD_ATTRIBUTE *attribute)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED); /* bounded by LONGEST */
    ik_buffer_append_text(&text, "");
    for (size_t i = 0; attribute->text != NULL && attribute->substr_offsets[i] < attribute->size;
         i++) {
        MD_OFFSET from = attribute->substr_offsets[i];
        size_t len = attribute->substr_offsets[i + 1] - from;
        if (attribute->substr_types[i] == MD_TEXT_ENTITY) {
            append_entity(&text, attribute->text + from, len);
        } else {
            ik_buffer_append(&text, attribute->text + from, len);
        }
    }
    return ik_buffer_finish(&text);
}

/* --- links and images -------------------------------------------------------------------- */

static bool may_be_followed(const char *target)
{
    return strncasecmp(target, "https://", 8) == 0 || strncasecmp(target, "http://", 7) == 0 ||
           strncasecmp(target, "mailto:", 7) == 0;
}

/* HTML has no nested links: an image inside a link becomes text. */
static void open_link(page_t *page, const MD_ATTRIBUTE *target, const char *class)
{
    char *address = decode(NULL, target);
    if (may_be_followed(address) && !page->in_link && has_room(page)) {
        ik_buffer_append_format(page->out, "<a%s href=\"", class);
        ik_html_escape_attribute(page->out, address, strlen(address));
        push(page, "\" rel=\"noopener noreferrer nofollow\">", "</a>");
        page->in_link = true;
    } else {
        open_t *opened = push(page, "", "");
        if (opened != NULL) {
            opened->is_target = true;
        }
    }
    talloc_free(address);
}

/* The words of a link may begin with tags, such as <em>. */
static bool looks_like_address(const char *words, size_t len)
{
    const char *end = words + len;
    while (words < end && *words == '<') {
        const char *behind = memchr(words, '>', (size_t)(end - words));
        words = behind == NULL ? end : behind + 1;
    }
    return end - words > 4 &&
           (strncasecmp(words, "http", 4) == 0 || strncasecmp(words, "www.", 4) == 0);
}

/* Whether the words are the address, with or without the scheme that md4c adds. */
static bool is_same_address(const char *words, size_t len, const ik_buffer_t *address)
{
    static const char *const added[] = {"", "http://", "mailto:"};
    for (size_t i = 0; i < IK_LENGTH(added); i++) {
        size_t before = strlen(added[i]);
        if (address->len == before + len && memcmp(address->data, added[i], before) == 0 &&
            memcmp(address->data + before, words, len) == 0) {
            return true;
        }
    }
    return false;
}

/* The target is written after a link that cannot be followed, has no words, or whose words look
 * like another address. */
static bool must_show_target(const page_t *page, const open_t *left, const ik_buffer_t *escaped)
{
    const char *words = page->out->data + left->start;
    size_t len = page->out->len - left->start;
    return escaped->len > 0 && !is_same_address(words, len, escaped) &&
           (left->is_target || len == 0 || looks_like_address(words, len));
}

static void close_link(page_t *page, const MD_ATTRIBUTE *target)
{
    const open_t *left = pop(page);
    if (left == NULL) {
        return;
    }
    char *address = decode(NULL, target);
    ik_buffer_t escaped;
    ik_buffer_init(&escaped, NULL, IK_BUFFER_UNLIMITED); /* bounded by LONGEST */
    ik_html_escape(&escaped, address, strlen(address));
    bool shown = must_show_target(page, left, &escaped);
    ik_buffer_append_text(page->out, left->close);
    page->in_link = page->in_link && left->is_target;
    if (shown) {
        ik_buffer_append_text(page->out, " <span class=\"target\">(");
        ik_buffer_append(page->out, escaped.data, escaped.len);
        ik_buffer_append_text(page->out, ")</span>");
    }
    ik_buffer_reset(&escaped);
    talloc_free(address);
}

/* --- blocks ------------------------------------------------------------------------------ */

/* The page itself uses h1 to h3. */
static void open_heading(page_t *page, unsigned level)
{
    static const char *const opening[] = {"<h4>", "<h5>", "<h6>"};
    static const char *const closing[] = {"</h4>\n", "</h5>\n", "</h6>\n"};
    unsigned index = level > 3 ? 2 : level - 1;
    push(page, opening[index], closing[index]);
}

static void open_cell(page_t *page, const MD_BLOCK_TD_DETAIL *detail, const char *name,
                      const char *close)
{
    static const char *const classes[] = {[MD_ALIGN_DEFAULT] = "",
                                          [MD_ALIGN_LEFT] = "",
                                          [MD_ALIGN_CENTER] = " class=\"center\"",
                                          [MD_ALIGN_RIGHT] = " class=\"right\""};
    if (has_room(page)) {
        ik_buffer_append_format(page->out, "<%s%s", name, classes[detail->align]);
    }
    push(page, ">", close);
}

static void open_item(page_t *page, const MD_BLOCK_LI_DETAIL *detail)
{
    if (!detail->is_task) {
        push(page, "<li>", "</li>\n");
    } else if (detail->task_mark == ' ') {
        push(page, "<li class=\"task\">☐ ", "</li>\n");
    } else {
        push(page, "<li class=\"task\">☑ ", "</li>\n");
    }
}

static void open_numbers(page_t *page, const MD_BLOCK_OL_DETAIL *detail)
{
    if (has_room(page)) {
        ik_buffer_append_format(page->out, "<ol start=\"%u\"", detail->start);
    }
    push(page, ">\n", "</ol>\n");
}

static void open_code(page_t *page, const MD_BLOCK_CODE_DETAIL *detail)
{
    page->in_code = true;
    ik_markdown_code_begin(&page->code);
    page->language = decode(NULL, &detail->lang);
    push(page, "<pre><code>", "</code></pre>\n");
}

static void close_code(page_t *page)
{
    const ik_buffer_t *code = &page->code.text;
    const ik_code_language_t *language =
        ik_code_colour_find(page->language, strlen(page->language));
    bool is_diff = strcmp(page->language, "diff") == 0 || strcmp(page->language, "patch") == 0;
    if (code->len > 0 && is_diff) {
        ik_html_code_append_diff(page->out, code->data, code->len);
    } else if (code->len > 0) {
        ik_html_code_append(page->out, language, code->data, code->len);
    }
    close_last(page);
    page->in_code = false;
    talloc_free(page->language);
    page->language = NULL;
}

/* --- callbacks of md4c ------------------------------------------------------------------- */

/* A callback that returns nonzero ends the parsing. */
static int is_full(const page_t *page)
{
    return page->out->dropped > 0;
}

static int on_enter_block(MD_BLOCKTYPE type, void *detail, void *data)
{
    page_t *page = data;
    switch (type) {
    case MD_BLOCK_QUOTE:
        push(page, "<blockquote>\n", "</blockquote>\n");
        break;
    case MD_BLOCK_UL:
        push(page, "<ul>\n", "</ul>\n");
        break;
    case MD_BLOCK_OL:
        open_numbers(page, detail);
        break;
    case MD_BLOCK_LI:
        open_item(page, detail);
        break;
    case MD_BLOCK_HR:
        push(page, "<hr>\n", "");
        break;
    case MD_BLOCK_H:
        open_heading(page, ((const MD_BLOCK_H_DETAIL *)detail)->level);
        break;
    case MD_BLOCK_CODE:
        open_code(page, detail);
        break;
    case MD_BLOCK_P:
        push(page, "<p>", "</p>\n");
        break;
    case MD_BLOCK_TABLE:
        push(page, "<div class=\"wide\"><table>\n", "</table></div>\n");
        break;
    case MD_BLOCK_THEAD:
        push(page, "<thead>", "</thead>\n");
        break;
    case MD_BLOCK_TBODY:
        push(page, "<tbody>\n", "</tbody>\n");
        break;
    case MD_BLOCK_TR:
        push(page, "<tr>", "</tr>\n");
        break;
    case MD_BLOCK_TH:
        open_cell(page, detail, "th", "</th>");
        break;
    case MD_BLOCK_TD:
        open_cell(page, detail, "td", "</td>");
        break;
    default: /* the document, and raw HTML, which is switched off */
        push(page, "", "");
        break;
    }
    return is_full(page);
}

static int on_leave_block(MD_BLOCKTYPE type, void *detail, void *data)
{
    page_t *page = data;
    (void)detail;
    if (type == MD_BLOCK_CODE) {
        close_code(page);
    } else {
        close_last(page);
    }
    return is_full(page);
}

static int on_enter_span(MD_SPANTYPE type, void *detail, void *data)
{
    page_t *page = data;
    switch (type) {
    case MD_SPAN_EM:
        push(page, "<em>", "</em>");
        break;
    case MD_SPAN_STRONG:
        push(page, "<strong>", "</strong>");
        break;
    case MD_SPAN_CODE:
        push(page, "<code>", "</code>");
        break;
    case MD_SPAN_DEL:
        push(page, "<del>", "</del>");
        break;
    case MD_SPAN_A:
        open_link(page, &((const MD_SPAN_A_DETAIL *)detail)->href, "");
        break;
    case MD_SPAN_IMG:
        open_link(page, &((const MD_SPAN_IMG_DETAIL *)detail)->src, " class=\"image\"");
        break;
    default:
        push(page, "", "");
        break;
    }
    return is_full(page);
}

static int on_leave_span(MD_SPANTYPE type, void *detail, void *data)
{
    page_t *page = data;
    if (type == MD_SPAN_A) {
        close_link(page, &((const MD_SPAN_A_DETAIL *)detail)->href);
    } else if (type == MD_SPAN_IMG) {
        close_link(page, &((const MD_SPAN_IMG_DETAIL *)detail)->src);
    } else {
        close_last(page);
    }
    return is_full(page);
}

static void append_text(page_t *page, MD_TEXTTYPE type, const char *text, size_t len)
{
    ik_buffer_t plain;
    if (type != MD_TEXT_ENTITY) {
        ik_html_escape(page->out, text, len);
        return;
    }
    ik_buffer_init(&plain, NULL, IK_BUFFER_UNLIMITED); /* one entity */
    append_entity(&plain, text, len);
    ik_html_escape(page->out, plain.data, plain.len);
    ik_buffer_reset(&plain);
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE len, void *data)
{
    page_t *page = data;
    switch (type) {
    case MD_TEXT_BR:
        ik_buffer_append_text(page->out, "<br>\n");
        break;
    case MD_TEXT_SOFTBR:
        ik_buffer_append_byte(page->out, '\n');
        break;
    default:
        if (page->in_code) {
            ik_markdown_code_append(&page->code, text, len);
        } else {
            append_text(page, type, text, len);
        }
        break;
    }
    return is_full(page);
}

static const MD_PARSER parser = {
    .flags = MD_DIALECT_GITHUB | MD_FLAG_NOHTML,
    .enter_block = on_enter_block,
    .leave_block = on_leave_block,
    .enter_span = on_enter_span,
    .leave_span = on_leave_span,
    .text = on_text,
};

bool ik_html_markdown_append(ik_buffer_t *out, const char *text, size_t len)
{
    if (len > LONGEST) {
        return false;
    }
    void *scratch = talloc_new(NULL);
    ik_buffer_t html;
    page_t page = {.out = &html};
    ik_buffer_init(&html, scratch, ROOM + GROWTH * len);
    ik_markdown_code_init(&page.code, scratch, text, len);
    bool done = md_parse(text, (MD_SIZE)len, &parser, &page) == 0 && html.dropped == 0;
    if (done) {
        ik_buffer_append(out, html.data, html.len);
    }
    talloc_free(page.language);
    talloc_free(scratch);
    return done;
}
