/*
 * Messages of any bytes as a page and as a document. Every tag of the page is one of ours with
 * attributes of ours, and each is closed where it was opened: then nothing anybody wrote is markup.
 * In the document md4c sees only the HTML that is ours. The input is contents and data in turn,
 * with a NUL behind each.
 */
#include <md4c.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "export/export.h"
#include "pieces.h"

/* --- a store that holds the input -------------------------------------------------------- */

static const char *const kinds[] = {"user",   "assistant",  "tool_call", "tool_result",
                                    "system", "compaction", "assistant", "?"};

static const char *events;
static size_t events_len;

static const char *next_text(size_t *at)
{
    if (*at >= events_len) {
        return NULL;
    }
    const char *text = events + *at;
    *at += strlen(text) + 1; /* there is a NUL behind the last */
    return text;
}

static res_t read_events(ik_store_t *store, const ik_store_agent_t *agent, int64_t after,
                         ik_store_event_fn on_event, void *data)
{
    size_t at = 0;
    const char *content;
    (void)store;
    (void)agent;
    for (int64_t seq = after + 1; (content = next_text(&at)) != NULL; seq++) {
        TRY(on_event(data, &(ik_store_event_t){.session_id = "0",
                                               .agent = 1,
                                               .seq = seq,
                                               .kind = kinds[seq % 8],
                                               .content = content,
                                               .data_json = next_text(&at)}));
    }
    return OK;
}

static res_t one_agent(const void *ctx, ik_store_t *store, const char *session_id,
                       ik_store_agents_t **out)
{
    (void)store;
    *out = ik_new(ctx, ik_store_agents_t);
    (*out)->agents = ik_new(*out, ik_store_agent_t);
    (*out)->agents[0] = (ik_store_agent_t){.session_id = session_id, .number = 1};
    (*out)->count = 1;
    return OK;
}

static char *export(const void *ctx, const ik_export_t *format, const char *words)
{
    static const ik_store_kind_t kind = {.agents = one_agent, .read = read_events};
    ik_store_t store = {.kind = &kind};
    ik_store_session_t session = {.id = "0",
                                  .cwd = words,
                                  .host = words,
                                  .model = words,
                                  .title = words,
                                  .usage = IK_USAGE_NONE,
                                  .cost = -1};
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    res_t written = format->write(out, &(ik_export_source_t){.store = &store, .session = &session});
    fclose(out);
    REQUIRE(is_ok(&written) && ik_utf8_valid(text, len) && strlen(text) == len);
    char *copy = ik_strndup(ctx, text, len);
    free(text);
    return copy;
}

/* --- looking at a page ------------------------------------------------------------------- */

enum { DEEPEST = 100, LONGEST_NAME = 12 };

typedef struct {
    char open[DEEPEST][LONGEST_NAME + 1];
    size_t depth;
    bool in_link;
} page_t;

static bool is_listed(const char *list, const char *name)
{
    char wanted[32];
    snprintf(wanted, sizeof(wanted), " %s ", name);
    return strstr(list, wanted) != NULL;
}

/* ="value" without anything that could end it early. Returns what is behind. */
static const char *skip_value(const char *at, bool is_href)
{
    REQUIRE(at[0] == '=' && at[1] == '"');
    const char *value = at + 2;
    const char *end = value + strcspn(value, "\"<>");
    REQUIRE(*end == '"');
    if (is_href) {
        REQUIRE(*value == '#' || strncasecmp(value, "https://", 8) == 0 ||
                strncasecmp(value, "http://", 7) == 0 || strncasecmp(value, "mailto:", 7) == 0);
    }
    return end + 1;
}

static const char *skip_attributes(const char *at)
{
    while (*at == ' ') {
        char name[LONGEST_NAME + 1];
        size_t len = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz-");
        REQUIRE(len > 0 && len <= LONGEST_NAME);
        memcpy(name, at + 1, len);
        name[len] = '\0';
        REQUIRE(is_listed(" class id href rel start datetime role aria-label lang charset content "
                          "name http-equiv ",
                          name));
        at = skip_value(at + 1 + len, strcmp(name, "href") == 0);
    }
    REQUIRE(*at == '>');
    return at + 1;
}

static void check_name(const char *name)
{
    REQUIRE(
        is_listed(" html head meta title style body header p h1 dl div dt dd nav ul li a main "
                  "section h2 h3 time details summary span b pre code table thead tbody tr th td "
                  "ol strong em del blockquote hr br h4 h5 h6 footer ",
                  name));
}

static void open_element(page_t *page, const char *name)
{
    if (is_listed(" meta br hr ", name)) {
        return;
    }
    REQUIRE(page->depth < DEEPEST);
    if (strcmp(name, "a") == 0) {
        REQUIRE(!page->in_link);
        page->in_link = true;
    }
    snprintf(page->open[page->depth++], LONGEST_NAME + 1, "%s", name);
}

static void close_element(page_t *page, const char *name)
{
    REQUIRE(page->depth > 0 && strcmp(page->open[page->depth - 1], name) == 0);
    page->depth--;
    page->in_link = page->in_link && strcmp(name, "a") != 0;
}

/* A tag, from its bracket on. Returns what is behind. */
static const char *check_tag(page_t *page, const char *at)
{
    bool closes = at[1] == '/';
    const char *begin = at + (closes ? 2 : 1);
    size_t len = strspn(begin, "abcdefghijklmnopqrstuvwxyz123456");
    char name[LONGEST_NAME + 1];
    REQUIRE(len > 0 && len <= LONGEST_NAME);
    memcpy(name, begin, len);
    name[len] = '\0';
    check_name(name);
    if (closes) {
        close_element(page, name);
        REQUIRE(begin[len] == '>');
        return begin + len + 1;
    }
    open_element(page, name);
    at = skip_attributes(begin + len);
    return strcmp(name, "style") == 0 ? strstr(at, "</style>") : at;
}

static void check_html(const char *at)
{
    page_t page = {0};
    while ((at = strchr(at, '<')) != NULL) {
        at = check_tag(&page, at);
    }
    REQUIRE(page.depth == 0);
}

/* --- looking at a document --------------------------------------------------------------- */

static int on_block(MD_BLOCKTYPE type, void *detail, void *data)
{
    (void)type;
    (void)detail;
    (void)data;
    return 0;
}

static int on_span(MD_SPANTYPE type, void *detail, void *data)
{
    (void)type;
    (void)detail;
    (void)data;
    return 0;
}

static bool is_ours(const char *text, size_t len)
{
    static const char *const ours[] = {"<details><summary>Reasoning</summary>",
                                       "<details><summary>System prompt</summary>",
                                       "</details>",
                                       "<sub>",
                                       "</sub>",
                                       "\n"};
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        if (strlen(ours[i]) == len && memcmp(ours[i], text, len) == 0) {
            return true;
        }
    }
    return false;
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE len, void *data)
{
    (void)data;
    REQUIRE(type != MD_TEXT_HTML || is_ours(text, len));
    return 0;
}

static void check_markdown(const char *text)
{
    static const MD_PARSER parser = {.flags = MD_DIALECT_GITHUB,
                                     .enter_block = on_block,
                                     .leave_block = on_block,
                                     .enter_span = on_span,
                                     .leave_span = on_span,
                                     .text = on_text};
    REQUIRE(md_parse(text, (MD_SIZE)strlen(text), &parser, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len > 16384) {
        return 0;
    }
    void *ctx = talloc_new(NULL);
    events = ik_strndup(ctx, (const char *)bytes, len);
    events_len = len;
    char *page = export(ctx, &ik_export_html, events);
    REQUIRE(strncmp(page, "<!DOCTYPE html>\n", 16) == 0);
    check_html(page + 16);
    check_markdown(export(ctx, &ik_export_markdown, events));
    talloc_free(ctx);
    return 0;
}
