#include "cli/cli_roff.h"

#include <md4c.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "cli/cli_roff_flow.h"
#include "terminal/markdown_entity.h"

/* The name of a column is repeated in every row of a table: a short text may make a long page. */
enum { ROOM = 64 * 1024, GROWTH = 64 };

typedef enum { TITLE = 1, SECTION, SUBSECTION, PARAGRAPH } heading_t;

/* The outermost link that is open. */
typedef struct {
    int depth;         /* a picture may stand in it */
    ik_buffer_t words; /* as they are */
    ik_cli_roff_text_t before;
    size_t before_len;
} link_t;

typedef struct {
    ik_cli_roff_flow_t flow;
    res_t problem;
    heading_t heading; /* 0: none. Words of the first three go to heading_text */
    ik_buffer_t heading_words;
    ik_cli_roff_text_t heading_text;
    ik_buffer_t title; /* the words of the first line, as they are */
    bool has_title;
    ik_cli_roff_table_t *table;
    ik_cli_roff_text_t *cell; /* of the table, which words go to; NULL: none */
    bool in_code;             /* a block of it, which is gathered */
    ik_buffer_t code;
    int strong, emphasis, literal; /* how many of these spans are open */
    link_t link;
} page_t;

/* --- headings ---------------------------------------------------------------------------- */

static heading_t heading_of(const page_t *page, unsigned level)
{
    if (page->flow.depth > 0 || level > 3) {
        return PARAGRAPH;
    }
    return level == 1 ? (page->has_title ? SECTION : TITLE) : (heading_t)level;
}

static void begin_heading(page_t *page, unsigned level)
{
    page->heading = heading_of(page, level);
    if (page->heading == PARAGRAPH) {
        page->strong++;
        return;
    }
    page->heading_words.len = 0;
    ik_cli_roff_text_init(&page->heading_text, &page->heading_words);
    page->heading_text.is_one_line = true;
    page->heading_text.is_capitals = page->heading == SECTION;
}

static void end_heading(page_t *page)
{
    if (page->heading == PARAGRAPH) {
        page->strong--;
    } else if (page->heading == TITLE) {
        page->has_title = true;
    } else if (page->heading_words.len > 0) {
        ik_cli_roff_flow_add_heading(&page->flow, page->heading == SECTION ? ".SH" : ".SS",
                                     page->heading_words.data);
    }
    page->heading = 0;
}

/* --- the title --------------------------------------------------------------------------- */

/* An argument of a request, with a space before it. */
static void append_argument(ik_buffer_t *out, const char *words, size_t len, bool is_capitals)
{
    ik_cli_roff_text_t text;
    ik_buffer_append_text(out, " \"");
    ik_cli_roff_text_init(&text, out);
    text.is_one_line = true;
    text.is_capitals = is_capitals;
    ik_cli_roff_text_add(&text, words, len);
    ik_buffer_append_byte(out, '"');
}

static bool is_date(const char *date)
{
    return strlen(date) == strlen("YYYY-MM-DD") && strspn(date, "0123456789-") == strlen(date);
}

/* ikigai 1 "User Commands" */
static res_t append_title(ik_buffer_t *out, const char *title, const char *date)
{
    const char *section = title + strcspn(title, " ");
    size_t name = (size_t)(section - title);
    section += strspn(section, " ");
    const char *heading = section + strcspn(section, " ");
    size_t section_len = (size_t)(heading - section);
    heading += strspn(heading, " \"");
    if (name == 0 || section_len == 0 || *heading == '\0') {
        return ERR(INVALID, "The title of a manual page is: # NAME SECTION \"Heading\"");
    }
    if (!is_date(date)) {
        return ERR(INVALID, "A date is YYYY-MM-DD, not '%s'", date);
    }
    ik_buffer_append_text(out, ".TH");
    append_argument(out, title, name, true);
    append_argument(out, section, section_len, false);
    ik_buffer_append_format(out, " %s", date);
    append_argument(out, "ikigai " IKIGAI_VERSION, strlen("ikigai " IKIGAI_VERSION), false);
    append_argument(out, heading, strcspn(heading, "\""), false);
    ik_buffer_append_byte(out, '\n');
    return OK;
}

/* --- tables and code --------------------------------------------------------------------- */

static int begin_cell(page_t *page)
{
    page->cell = ik_cli_roff_table_next_cell(page->table);
    if (page->cell == NULL) {
        page->problem = ERR(LIMIT, "A table has too many cells");
    }
    return is_err(&page->problem);
}

static void end_table(page_t *page)
{
    ik_cli_roff_flow_add_table(&page->flow, page->table);
    talloc_free(page->table);
    page->table = NULL;
}

static void begin_code(page_t *page)
{
    page->in_code = true;
    page->code.len = 0;
}

static void end_code(page_t *page)
{
    page->in_code = false;
    if (page->code.len > 0) {
        ik_cli_roff_flow_add_code(&page->flow, page->code.data, page->code.len);
    }
}

/* --- words ------------------------------------------------------------------------------- */

static bool is_in_heading(const page_t *page)
{
    return page->heading != 0 && page->heading != PARAGRAPH;
}

static ik_cli_roff_text_t *find_text(page_t *page)
{
    if (is_in_heading(page)) {
        return &page->heading_text;
    }
    return page->cell != NULL ? page->cell : ik_cli_roff_flow_open(&page->flow);
}

/* Where words go now, in the font that is wanted now. Headings have one of their own. */
static ik_cli_roff_text_t *words_of(page_t *page)
{
    ik_cli_roff_text_t *words = find_text(page);
    bool is_bold = page->strong > 0 || page->literal > 0;
    words->font = IK_CLI_ROFF_ROMAN;
    if (!is_in_heading(page)) {
        words->font |= is_bold ? IK_CLI_ROFF_BOLD : 0;
        words->font |= page->emphasis > 0 ? IK_CLI_ROFF_ITALIC : 0;
    }
    words->is_literal = page->literal > 0;
    return words;
}

static void add_words(page_t *page, const char *words, size_t len)
{
    if (page->in_code) {
        ik_buffer_append(&page->code, words, len);
        return;
    }
    ik_cli_roff_text_add(words_of(page), words, len);
    if (page->link.depth > 0) {
        ik_buffer_append(&page->link.words, words, len);
    }
    if (page->heading == TITLE) {
        ik_buffer_append(&page->title, words, len);
    }
}

/* A bar in a table is written \|, in code, too, where md4c leaves the backslash. */
static void add_code(page_t *page, const char *code, size_t len)
{
    size_t from = 0;
    for (size_t i = 0; page->cell != NULL && i + 1 < len; i++) {
        if (code[i] == '\\' && code[i + 1] == '|') {
            add_words(page, code + from, i - from);
            from = i + 1;
        }
    }
    add_words(page, code + from, len - from);
}

static void add_entity(page_t *page, const char *entity, size_t len)
{
    char character[IK_MARKDOWN_ENTITY_MAX];
    size_t size = ik_markdown_entity_decode(character, entity, len);
    add_words(page, size > 0 ? character : entity, size > 0 ? size : len);
}

/* <br> in all its forms is what tables have for a new line; other HTML is left out. */
static void take_html(page_t *page, const char *html, size_t len)
{
    bool has_words = page->flow.is_open || page->cell != NULL;
    if (has_words && len >= 4 && strncasecmp(html, "<br", 3) == 0 &&
        strchr(" />", html[3]) != NULL) {
        ik_cli_roff_text_break(words_of(page));
    }
}

/* --- links ------------------------------------------------------------------------------- */

static char *decode_address(const void *ctx, const MD_ATTRIBUTE *address)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&out, "");
    for (size_t i = 0; address->text != NULL && address->substr_offsets[i] < address->size; i++) {
        const char *part = address->text + address->substr_offsets[i];
        size_t len = address->substr_offsets[i + 1] - address->substr_offsets[i];
        char character[IK_MARKDOWN_ENTITY_MAX];
        size_t size = address->substr_types[i] == MD_TEXT_ENTITY
                          ? ik_markdown_entity_decode(character, part, len)
                          : 0;
        ik_buffer_append(&out, size > 0 ? character : part, size > 0 ? size : len);
    }
    return ik_buffer_finish(&out);
}

static bool is_link_words(const page_t *page, const char *text, size_t len)
{
    return page->link.words.len == len && memcmp(page->link.words.data, text, len) == 0;
}

/* Words that are a document's file name say nothing to a reader who has no such file. */
static bool names_document(const page_t *page, const char *address, size_t *name_len)
{
    size_t len = strcspn(address, "#");
    *name_len = len > 3 ? len - 3 : 0;
    return *name_len > 0 && memcmp(address + *name_len, ".md", 3) == 0 &&
           memchr(address, '/', len) == NULL && is_link_words(page, address, len);
}

static void replace_link(page_t *page, const char *name, size_t len)
{
    ik_cli_roff_text_t *words = words_of(page);
    words->out->len = page->link.before_len;
    *words = page->link.before;
    page->literal++;
    words = words_of(page);
    ik_cli_roff_text_add(words, "ikigai help ", strlen("ikigai help "));
    ik_cli_roff_text_add(words, name, len);
    page->literal--;
}

/* Whether a link leads to a place that is not said by its words. */
static bool is_address_missing(const page_t *page, const char *address)
{
    bool is_web =
        strncasecmp(address, "http://", 7) == 0 || strncasecmp(address, "https://", 8) == 0;
    return is_web && !is_link_words(page, address, strlen(address));
}

static void begin_link(page_t *page)
{
    ik_cli_roff_text_t *words = words_of(page);
    if (page->link.depth++ == 0) {
        page->link.before = *words;
        page->link.before_len = words->out->len;
        page->link.words.len = 0;
    }
}

static void end_link(page_t *page, const MD_ATTRIBUTE *target)
{
    size_t name_len;
    if (--page->link.depth > 0) {
        return;
    }
    char *address = decode_address(page, target);
    if (names_document(page, address, &name_len)) {
        replace_link(page, address, name_len);
    } else if (is_address_missing(page, address)) {
        ik_cli_roff_text_t *words = words_of(page);
        ik_cli_roff_text_add(words, " <", 2);
        ik_cli_roff_text_add(words, address, strlen(address));
        ik_cli_roff_text_add(words, ">", 1);
    }
    talloc_free(address);
}

/* --- what md4c calls --------------------------------------------------------------------- */

/* Not zero ends the parsing. */
static int check(page_t *page, MD_BLOCKTYPE type)
{
    bool is_nothing = type == MD_BLOCK_DOC || type == MD_BLOCK_HTML;
    if (!page->has_title && page->heading != TITLE && !is_nothing) {
        page->problem =
            ERR(INVALID, "A manual page begins with its title: # NAME SECTION \"Heading\"");
    }
    return is_err(&page->problem) || page->flow.body.dropped > 0;
}

static void begin_list(page_t *page, MD_BLOCKTYPE type, const void *detail)
{
    if (type == MD_BLOCK_UL) {
        const MD_BLOCK_UL_DETAIL *list = detail;
        ik_cli_roff_flow_begin_list(&page->flow, list->is_tight, '\0', 0);
    } else {
        const MD_BLOCK_OL_DETAIL *list = detail;
        ik_cli_roff_flow_begin_list(&page->flow, list->is_tight, list->mark_delimiter, list->start);
    }
}

static void begin_item(page_t *page, const MD_BLOCK_LI_DETAIL *item)
{
    char task = item->task_mark == ' ' ? ' ' : 'x';
    ik_cli_roff_flow_begin_item(&page->flow, item->is_task ? task : '\0');
}

static int on_enter_block(MD_BLOCKTYPE type, void *detail, void *data)
{
    page_t *page = data;
    ik_cli_roff_flow_end_paragraph(&page->flow);
    switch (type) {
    case MD_BLOCK_QUOTE:
        ik_cli_roff_flow_begin_quote(&page->flow);
        break;
    case MD_BLOCK_UL:
    case MD_BLOCK_OL:
        begin_list(page, type, detail);
        break;
    case MD_BLOCK_LI:
        begin_item(page, detail);
        break;
    case MD_BLOCK_HR:
        add_words(page, "* * *", 5);
        break;
    case MD_BLOCK_H:
        begin_heading(page, ((const MD_BLOCK_H_DETAIL *)detail)->level);
        break;
    case MD_BLOCK_CODE:
        begin_code(page);
        break;
    case MD_BLOCK_TABLE:
        page->table =
            ik_cli_roff_table_create(page, ((const MD_BLOCK_TABLE_DETAIL *)detail)->col_count);
        break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD:
        return begin_cell(page);
    default: /* paragraphs begin with their words */
        break;
    }
    return check(page, type);
}

static int on_leave_block(MD_BLOCKTYPE type, void *detail, void *data)
{
    page_t *page = data;
    (void)detail;
    ik_cli_roff_flow_end_paragraph(&page->flow);
    page->cell = NULL;
    switch (type) {
    case MD_BLOCK_QUOTE:
    case MD_BLOCK_UL:
    case MD_BLOCK_OL:
        ik_cli_roff_flow_end_container(&page->flow);
        break;
    case MD_BLOCK_LI:
        ik_cli_roff_flow_end_item(&page->flow);
        break;
    case MD_BLOCK_H:
        end_heading(page);
        break;
    case MD_BLOCK_CODE:
        end_code(page);
        break;
    case MD_BLOCK_TABLE:
        end_table(page);
        break;
    default:
        break;
    }
    return is_err(&page->problem);
}

/* The counter of a kind of span, or NULL. */
static int *count_of(page_t *page, MD_SPANTYPE type)
{
    switch (type) {
    case MD_SPAN_EM:
        return &page->emphasis;
    case MD_SPAN_STRONG:
        return &page->strong;
    case MD_SPAN_CODE:
        return &page->literal;
    default:
        return NULL;
    }
}

static int on_enter_span(MD_SPANTYPE type, void *detail, void *data)
{
    page_t *page = data;
    int *count = count_of(page, type);
    (void)detail;
    if (count != NULL) {
        ++*count;
    } else if (type == MD_SPAN_A || type == MD_SPAN_IMG) {
        begin_link(page);
    }
    return 0;
}

static int on_leave_span(MD_SPANTYPE type, void *detail, void *data)
{
    page_t *page = data;
    int *count = count_of(page, type);
    if (count != NULL) {
        --*count;
    } else if (type == MD_SPAN_A) {
        end_link(page, &((const MD_SPAN_A_DETAIL *)detail)->href);
    } else if (type == MD_SPAN_IMG) {
        end_link(page, &((const MD_SPAN_IMG_DETAIL *)detail)->src);
    }
    return 0;
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE len, void *data)
{
    page_t *page = data;
    switch (type) {
    case MD_TEXT_BR:
        ik_cli_roff_text_break(words_of(page));
        break;
    case MD_TEXT_SOFTBR:
        add_words(page, " ", 1);
        break;
    case MD_TEXT_NULLCHAR:
        add_words(page, IK_UTF8_REPLACEMENT, 3);
        break;
    case MD_TEXT_ENTITY:
        add_entity(page, text, len);
        break;
    case MD_TEXT_HTML:
        take_html(page, text, len);
        break;
    case MD_TEXT_CODE:
        add_code(page, text, len);
        break;
    default:
        add_words(page, text, len);
        break;
    }
    return 0;
}

/* --- the page ---------------------------------------------------------------------------- */

static page_t *create_page(const void *ctx, size_t len)
{
    page_t *page = ik_new(ctx, page_t);
    ik_cli_roff_flow_init(&page->flow, page, ROOM + GROWTH * len);
    ik_buffer_init(&page->heading_words, page, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&page->title, page, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&page->code, page, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&page->link.words, page, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&page->title, "");
    return page;
}

static res_t parse(page_t *page, const char *markdown, size_t len)
{
    static const MD_PARSER parser = {
        .flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS,
        .enter_block = on_enter_block,
        .leave_block = on_leave_block,
        .enter_span = on_enter_span,
        .leave_span = on_leave_span,
        .text = on_text,
    };
    bool done = md_parse(markdown, (MD_SIZE)len, &parser, page) == 0;
    ik_cli_roff_flow_end(&page->flow);
    if (page->flow.body.dropped > 0) {
        return ERR(LIMIT, "The page would be too long");
    }
    return done || is_err(&page->problem) ? page->problem : ERR(INVALID, "This is no Markdown");
}

/* Neither hyphens that are not there nor gaps: what is read here is also copied. */
static const char settings[] = ".nr HY 0\n.nh\n.ds AD l\n.ad l\n.ss 12 0\n";

static res_t format(page_t *page, const char *date, ik_buffer_t *out)
{
    ik_buffer_t rest;
    ik_buffer_init(&rest, page, IK_BUFFER_UNLIMITED);
    TRY(append_title(&rest, page->title.data, date));
    ik_buffer_append_text(&rest, settings);
    ik_buffer_append(&rest, page->flow.body.data, page->flow.body.len);
    ik_buffer_append_text(out, ".\\\" Made of Markdown by: ikigai help --roff\n");
    ik_cli_roff_text_append_fallbacks(out, rest.data);
    ik_buffer_append(out, rest.data, rest.len);
    return OK;
}

res_t ik_cli_roff_format(const void *ctx, const char *markdown, size_t len, const char *date,
                         char **out)
{
    page_t *page = create_page(ctx, len);
    ik_buffer_t roff;
    ik_buffer_init(&roff, ctx, IK_BUFFER_UNLIMITED);
    res_t result = parse(page, markdown, len);
    if (is_ok(&result)) {
        result = format(page, date, &roff);
    }
    if (is_ok(&result)) {
        *out = ik_buffer_finish(&roff);
    }
    talloc_free(page);
    return result;
}
