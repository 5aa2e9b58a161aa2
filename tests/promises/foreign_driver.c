/*
 * Hostile bytes by the million through every way that leads to a terminal, read by a strict reader
 * of its own that knows what may be printed and calls everything else a violation:
 *
 *   foreign_driver COUNT SEED
 *
 * prints one JSON object: how many inputs and bytes went in, how many rows, lines and frames came
 * out and were read, how many of them had styles, and the violations, each with the smallest input
 * that shows it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/code_language.h"
#include "base/json.h"
#include "base/print.h"
#include "base/width.h"
#include "terminal/code_rows.h"
#include "terminal/markdown.h"
#include "terminal/prompt.h"
#include "terminal/screen.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

enum { INPUT_MAX = 4096, VIOLATIONS_MAX = 5 };

/* --- chance ------------------------------------------------------------------------------ */

typedef struct {
    uint64_t state;
} chance_t;

static uint64_t roll(chance_t *chance)
{
    chance->state ^= chance->state >> 12;
    chance->state ^= chance->state << 25;
    chance->state ^= chance->state >> 27;
    return chance->state * UINT64_C(0x2545f4914f6cdd1d);
}

static size_t below(chance_t *chance, size_t limit)
{
    return (size_t)(roll(chance) >> 33) % limit;
}

/* --- inputs ------------------------------------------------------------------------------ */

/* %: a number; ^: any byte. */
static const char *const fragments[] = {
    /* what terminals obey */
    "\033[%m",
    "\033[%;%;%m",
    "\033[38;2;%;%;%m",
    "\033[48:5:%m",
    "\033[2J",
    "\033[3J",
    "\033[%;%H",
    "\033[%A",
    "\033[?1049h",
    "\033[?%l",
    "\033[6n",
    "\033[%;%r",
    "\033[%S",
    "\033[>%;%m",
    "\033[^",
    "\033[%",
    "\033[",
    "\033]0;title\007",
    "\033]52;c;QUJD\007",
    "\033]8;;http://example.org/\033\\",
    "\033]^",
    "\033]8;",
    "\033P+q544e\033\\",
    "\033_Gi=1\033\\",
    "\033^private\033\\",
    "\033Xstring\033\\",
    "\033c",
    "\033(0",
    "\033#8",
    "\033Z",
    "\033^",
    "\033",
    "\033\\",
    "\302\233%m",
    "\302\2350;x\302\234",
    "\302\220",
    "\302\205",
    "\233%m",
    "\2350;x\234",
    "\220",
    "\007",
    "\b",
    "\f",
    "\016",
    "\017",
    "\005",
    "\030",
    "\032",
    "\177",
    "\r",
    "\r\n",
    "\n",
    "\n\n",
    "\t",
    /* what is not seen */
    "\u202e",
    "\u2066",
    "\u200b",
    "\u200c",
    "\u200d",
    "\u2028",
    "\ufeff",
    "\u00ad",
    "\ufe0f",
    "\u3164",
    "\U000e0041",
    "\U000e0101",
    "\U0010ff00",
    "\U0010fffd",
    "\uffff",
    /* what is none */
    "\303",
    "\342\200",
    "\360\237",
    "\355\240\200",
    "\377",
    "^",
    "^^^^",
    /* what is text */
    "word ",
    "a",
    " ",
    "%",
    "e\u0301",
    "\u65e5\u672c",
    "\U0001f469",
    "\u2764",
    "\U0001f1e9\U0001f1ea",
    "\u0645\u06cc",
    "\u0915\u094d",
    "/path/to/file.c",
    /* what is Markdown, or code */
    "# ",
    "## heading\n",
    "- ",
    "1. ",
    "> ",
    "* * *\n",
    "**",
    "_",
    "~~",
    "`",
    "```\n",
    "```c\n",
    "\n```diff\n",
    "~~~\n",
    "[text](",
    "http://x.example/",
    "javascript:",
    ")",
    "<http://y.example/>",
    "![",
    "](",
    "| a | b |\n|---|---|\n| c | d |\n",
    "|",
    "&amp;&#27;&#x1b;&#x9b;&#8238;",
    "&#155;",
    "<b>",
    "\\",
    "\"",
    "'",
    "/*",
    "*/",
    "//",
    "#include ",
    "@@ -1 +1 @@\n",
    "+",
    "-",
    "@",
    "/",
};

typedef struct {
    char bytes[INPUT_MAX + 1]; /* with a NUL behind */
    size_t len;
} input_t;

static void add_byte(input_t *input, char byte)
{
    if (input->len < INPUT_MAX) {
        input->bytes[input->len++] = byte;
        input->bytes[input->len] = '\0';
    }
}

static void add_number(input_t *input, chance_t *chance)
{
    char digits[16];
    int len =
        snprintf(digits, sizeof(digits), "%zu", below(chance, 4) == 0 ? 0 : below(chance, 120));
    for (int i = 0; i < len; i++) {
        add_byte(input, digits[i]);
    }
}

static void add_fragment(input_t *input, chance_t *chance)
{
    for (const char *c = fragments[below(chance, LENGTH(fragments))]; *c != '\0'; c++) {
        if (*c == '%') {
            add_number(input, chance);
        } else if (*c == '^') {
            add_byte(input, (char)below(chance, 256));
        } else {
            add_byte(input, *c);
        }
    }
}

static void make_input(input_t *input, chance_t *chance)
{
    size_t count = below(chance, 50) == 0 ? below(chance, 400) : 1 + below(chance, 16);
    input->len = 0;
    input->bytes[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        add_fragment(input, chance);
    }
}

/* --- the reader -------------------------------------------------------------------------- */

/* What is in force; all zero is the terminal's own style. */
typedef struct {
    bool on[10]; /* by their numbers in SGR */
    bool coloured[2];
    bool linked;
    bool any; /* a sequence was seen */
} force_t;

typedef struct {
    const unsigned char *at;
    const unsigned char *end;
    force_t force;
    bool is_frame; /* of the screen: the cursor may be moved in ways that are ours */
    bool is_text;  /* of several lines, without any sequence */
    const char *problem;
} reader_t;

static bool complain(reader_t *reader, const char *problem)
{
    reader->problem = reader->problem == NULL ? problem : reader->problem;
    return false;
}

static bool starts_with(const reader_t *reader, const char *text)
{
    size_t len = strlen(text);
    return (size_t)(reader->end - reader->at) >= len && memcmp(reader->at, text, len) == 0;
}

/* The parameters of one SGR as numbers; false when they are none. */
static bool read_numbers(reader_t *reader, unsigned *numbers, size_t *count)
{
    *count = 1;
    numbers[0] = 0;
    for (; reader->at < reader->end; reader->at++) {
        if (*reader->at >= '0' && *reader->at <= '9') {
            numbers[*count - 1] = numbers[*count - 1] * 10 + (unsigned)(*reader->at - '0');
        } else if (*reader->at != ';' || *count == 32) {
            return true;
        } else {
            numbers[(*count)++] = 0;
        }
        if (numbers[*count - 1] > 255) {
            return false;
        }
    }
    return false;
}

/* How many of the numbers a colour takes; 0: it is none of ours. */
static size_t read_colour(force_t *force, const unsigned *numbers, size_t count)
{
    unsigned first = numbers[0];
    bool back = (first >= 40 && first <= 49) || first >= 100;
    if (first == 38 || first == 48) {
        size_t len = count < 3 ? 0 : numbers[1] == 5 ? 3 : numbers[1] == 2 ? 5 : 0;
        force->coloured[back] = true;
        return len <= count ? len : 0;
    }
    bool plain = (first >= 30 && first <= 49) || (first >= 90 && first <= 97) ||
                 (first >= 100 && first <= 107);
    force->coloured[back] = first != 39 && first != 49;
    return plain ? 1 : 0;
}

static size_t read_attribute(force_t *force, unsigned number)
{
    bool known = (number >= 1 && number <= 4) || number == 7 || number == 9;
    if (number == 0) {
        force->any = true;
        memset(force->on, 0, sizeof(force->on));
        memset(force->coloured, 0, sizeof(force->coloured));
    } else if (known) {
        force->on[number] = true;
    } else if (number == 22) {
        force->on[1] = force->on[2] = false;
    } else if (number >= 23 && number <= 29 && number != 25 && number != 26 && number != 28) {
        force->on[number - 20] = false;
    } else {
        return 0;
    }
    return 1;
}

static bool read_sgr(reader_t *reader, const unsigned *numbers, size_t count)
{
    reader->force.any = true;
    for (size_t i = 0; i < count;) {
        size_t len = numbers[i] >= 30 ? read_colour(&reader->force, numbers + i, count - i)
                                      : read_attribute(&reader->force, numbers[i]);
        if (len == 0) {
            return complain(reader, "SGR that is not ours");
        }
        i += len;
    }
    return true;
}

/* Movements of the main view: up, down, left, right; erasing what is behind the cursor. */
static bool read_movement(reader_t *reader, char final, const unsigned *numbers, size_t count)
{
    bool moves = strchr("ABCD", final) != NULL;
    bool erases = (final == 'J' || final == 'K') && numbers[0] == 0;
    return (reader->is_frame && count == 1 && (moves || erases)) ||
           complain(reader, "CSI that is not ours");
}

static bool read_csi(reader_t *reader)
{
    static const char *const modes[] = {"\033[?25l", "\033[?25h", "\033[?2026h", "\033[?2026l"};
    for (size_t i = 0; reader->is_frame && i < LENGTH(modes); i++) {
        if (starts_with(reader, modes[i])) {
            reader->at += strlen(modes[i]);
            return true;
        }
    }
    unsigned numbers[32];
    size_t count;
    reader->at += 2;
    if (!read_numbers(reader, numbers, &count)) {
        return complain(reader, "CSI without an end");
    }
    char final = (char)*reader->at++;
    return final == 'm' ? read_sgr(reader, numbers, count)
                        : read_movement(reader, final, numbers, count);
}

/* OSC 8 with an address of printable ASCII, ended by ST. */
static bool read_link(reader_t *reader)
{
    static const char start[] = "\033]8;;";
    if (!starts_with(reader, start)) {
        return complain(reader, "a sequence that is not ours");
    }
    reader->at += sizeof(start) - 1;
    const unsigned char *address = reader->at;
    while (reader->at<reader->end && * reader->at> ' ' && *reader->at <= '~') {
        reader->at++;
    }
    reader->force.linked = reader->at > address;
    if (!starts_with(reader, "\033\\")) {
        return complain(reader, "an address that does not end");
    }
    reader->at += 2;
    return true;
}

/* 0: it is no UTF-8. */
static uint32_t read_code(reader_t *reader)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = *reader->at;
    size_t len = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc0 || first > 0xf7 || (size_t)(reader->end - reader->at) < len) {
        return 0;
    }
    uint32_t code = first & (0x7fU >> len);
    for (size_t i = 1; i < len; i++) {
        if ((reader->at[i] & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | (reader->at[i] & 0x3f);
    }
    reader->at += len;
    return code < least[len] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? 0 : code;
}

static bool is_unseen(uint32_t code)
{
    static const uint32_t unseen[][2] = {
        {0x80, 0x9f},       {0xad, 0xad},         {0x34f, 0x34f},   {0x61c, 0x61c},
        {0x115f, 0x1160},   {0x17b4, 0x17b5},     {0x180e, 0x180e}, {0x200b, 0x200b},
        {0x200e, 0x200f},   {0x2028, 0x202e},     {0x2060, 0x206f}, {0x3164, 0x3164},
        {0xfeff, 0xfeff},   {0xffa0, 0xffa0},     {0xfff9, 0xfffb}, {0x1d173, 0x1d17a},
        {0xe0000, 0xe00ff}, {0x10ff00, 0x10ffff},
    };
    for (size_t i = 0; i < LENGTH(unseen); i++) {
        if (code >= unseen[i][0] && code <= unseen[i][1]) {
            return true;
        }
    }
    return false;
}

static bool read_one(reader_t *reader)
{
    unsigned char c = *reader->at;
    if (c == '\033') {
        return !reader->is_text && reader->at + 1 < reader->end && reader->at[1] == '['
                   ? read_csi(reader)
                   : !reader->is_text && read_link(reader);
    }
    if (c >= 0x80) {
        uint32_t code = read_code(reader);
        return (code != 0 || complain(reader, "no UTF-8")) &&
               (!is_unseen(code) || complain(reader, "a character that is not seen"));
    }
    reader->at++;
    bool allowed = c >= ' ' ? c < 0x7f
                            : c == '\t' || (c == '\n' && (reader->is_text || reader->is_frame)) ||
                                  (c == '\r' && reader->is_frame);
    return allowed || complain(reader, "a control character");
}

static bool is_plain(const force_t *force)
{
    static const force_t none;
    force_t now = *force;
    now.any = false;
    return memcmp(&now, &none, sizeof(now)) == 0;
}

/* Reads all there is; NULL when every byte of it is ours or text. */
static const char *read_all(reader_t *reader)
{
    while (reader->at < reader->end) {
        if (!read_one(reader)) {
            return complain(reader, "an escape"), reader->problem;
        }
    }
    return is_plain(&reader->force) ? NULL : "a style that stays";
}

/* --- what comes out ---------------------------------------------------------------------- */

typedef enum { ROW, FRAME, PLAIN } kind_t;

typedef struct {
    void *ctx; /* of one input */
    const ik_theme_t *theme;
    chance_t chance;
    const char *problem; /* the first one of this input */
    size_t read;
    size_t styled;
    ik_screen_t *screen; /* rows go there, too */
    ik_row_t row;
} run_t;

static void read_output(run_t *run, kind_t kind, const char *bytes, size_t len)
{
    reader_t reader = {.at = (const unsigned char *)bytes,
                       .end = (const unsigned char *)bytes + len,
                       .is_frame = kind == FRAME,
                       .is_text = kind == PLAIN || !run->theme->escapes};
    if (len == 0) {
        return;
    }
    const char *problem = read_all(&reader);
    run->problem = run->problem == NULL ? problem : run->problem;
    run->read++;
    run->styled += reader.force.any;
}

static void on_row(void *data, const char *bytes, size_t len)
{
    run_t *run = data;
    read_output(run, ROW, bytes, len);
    if (len > 0 && memchr(bytes, '\n', len) != NULL) {
        run->problem = run->problem == NULL ? "a row of two lines" : run->problem;
    }
    if (below(&run->chance, 4) == 0) {
        ik_screen_commit(run->screen, bytes, len);
    } else if (below(&run->chance, 4) == 0) {
        ik_screen_add_live(run->screen, bytes, len);
    }
    if (below(&run->chance, 4) == 0) {
        ik_buffer_t cut;
        ik_buffer_init(&cut, run->ctx, IK_BUFFER_UNLIMITED);
        ik_row_fit(&cut, bytes, len, (int)below(&run->chance, 40));
        read_output(run, ROW, cut.data, cut.len);
    }
}

static void end_row(run_t *run)
{
    ik_row_end(&run->row);
    on_row(run, run->row.bytes.data, run->row.bytes.len);
    ik_row_clear(&run->row);
}

static void on_frame(void *data, const char *bytes, size_t len)
{
    read_output(data, FRAME, bytes, len);
}

static bool always(void *data)
{
    (void)data;
    return true;
}

/* --- the ways ---------------------------------------------------------------------------- */

/* The output of a tool. */
static void show_output(run_t *run, const input_t *input)
{
    ik_code_rows_output(run->theme, input->bytes, input->len, 0, 0, on_row, run);
}

/* What a model says, as it streams in. */
static void show_answer(run_t *run, const input_t *input)
{
    ik_markdown_options_t options = {.theme = run->theme,
                                     .columns = 10 + (int)below(&run->chance, 80),
                                     .max_open = 1 + (int)below(&run->chance, 12),
                                     .on_row = on_row,
                                     .data = run};
    ik_markdown_t *markdown = ik_markdown_create(run->ctx, &options);
    for (size_t at = 0; at < input->len;) {
        size_t len = 1 + below(&run->chance, 64);
        len = len < input->len - at ? len : input->len - at;
        ik_markdown_feed(markdown, input->bytes + at, len);
        at += len;
        if (below(&run->chance, 8) == 0) {
            ik_markdown_draw_open(markdown, on_row, run);
        }
    }
    ik_markdown_end(markdown);
}

/* A name of a file, a tool, a session; an argument; an error. */
static void show_name(run_t *run, const input_t *input)
{
    ik_row_add_role(&run->row, IK_ROLE_TOOL, input->bytes);
    ik_row_add_format(&run->row, IK_ROLE_ERROR, " %s: %.20s", input->bytes, input->bytes);
    ik_row_add(&run->row, (ik_style_t){.fg = IK_COLOUR_INDEX(3)}, input->bytes, input->len);
    end_row(run);
}

static void show_link(run_t *run, const input_t *input)
{
    char url[64];
    snprintf(url, sizeof(url), "https://x.example/%.40s", input->bytes);
    ik_row_add_link(&run->row, (ik_style_t){.bits = IK_STYLE_UNDERLINE}, input->bytes, input->len,
                    below(&run->chance, 2) == 0 ? url : input->bytes);
    end_row(run);
}

/* A file that is shown: in its colours, or as what became of it. */
static void show_code(run_t *run, const input_t *input)
{
    ik_code_rows_t rows;
    const ik_code_language_t *language =
        &ik_code_languages[below(&run->chance, ik_code_language_count)];
    ik_code_rows_init(&rows, run->theme, language);
    ik_code_rows_add(&rows, &run->row, input->bytes, input->len);
    end_row(run);
    ik_code_rows_add(&rows, &run->row, input->bytes, input->len / 2);
    end_row(run);
    ik_patch_place_t place = {.language = language};
    ik_code_rows_add_diff(&place, &run->row, input->bytes, input->len);
    end_row(run);
    place = (ik_patch_place_t){.language = language};
    ik_code_rows_patch(run->theme, &place, input->bytes, input->len, on_row, run);
}

static void show_change(run_t *run, const input_t *input)
{
    size_t half = input->len / 2;
    const ik_code_language_t *language =
        &ik_code_languages[below(&run->chance, ik_code_language_count)];
    ik_code_rows_change(run->theme, language, input->bytes, half, input->bytes + half,
                        input->len - half, on_row, run);
}

/* Completions are names of files. */
static void give_files(void *data, ik_completions_t *out)
{
    const input_t *input = data;
    static ik_choice_row_t items[2];
    items[0] = items[1] = (ik_choice_row_t){.text = input->bytes, .note = input->bytes};
    *out = (ik_completions_t){.items = items, .count = 2};
}

static void give_arguments(void *data, const char *command, int word, ik_completions_t *out)
{
    (void)command;
    (void)word;
    give_files(data, out);
}

/* A paste, an earlier message, a draft that was saved, and lists beside it. */
static void show_draft(run_t *run, const input_t *input)
{
    ik_completion_source_t source = {.commands = give_files,
                                     .arguments = give_arguments,
                                     .files = give_files,
                                     .data = (void *)input};
    ik_recall_t *recall = ik_recall_create(run->ctx, NULL);
    ik_recall_add(recall, input->bytes);
    ik_prompt_t *prompt = ik_prompt_create(run->ctx, run->theme, recall, &source);
    ik_key_t keys[] = {{.kind = IK_KEY_PASTE, .text = input->bytes, .len = input->len},
                       {.kind = IK_KEY_TEXT, .text = " @", .len = 2},
                       {.kind = IK_KEY_TEXT, .text = "/m ", .len = 3},
                       {.kind = IK_KEY_CHAR, .modifiers = IK_KEY_CTRL, .code = 'r'},
                       {.kind = IK_KEY_UP}};
    if (below(&run->chance, 2) == 0) {
        ik_prompt_set_text(prompt, input->bytes);
    }
    for (int i = 0; i < 2; i++) {
        ik_prompt_key(prompt, &keys[below(&run->chance, LENGTH(keys))]);
        ik_prompt_draw(prompt, 10 + (int)below(&run->chance, 80), 1 + (int)below(&run->chance, 12),
                       on_row, run);
    }
}

/* What the commands print, in lines. */
static void print_it(run_t *run, const input_t *input)
{
    static char memory[32 * INPUT_MAX];
    static void (*const prints[])(FILE *, const char *) = {ik_print_text, ik_print_line};
    FILE *stream = fmemopen(memory, sizeof(memory), "w");
    if (below(&run->chance, 3) == 0) {
        ik_buffer_t json;
        ik_buffer_init(&json, run->ctx, IK_BUFFER_UNLIMITED);
        ik_json_append_string(&json, input->bytes, input->len);
        ik_print_json(stream, json.data, json.len);
    } else {
        prints[below(&run->chance, 2)](stream, input->bytes);
    }
    size_t len = (size_t)ftell(stream);
    fclose(stream);
    read_output(run, PLAIN, memory, len);
}

/* A cell of a table. */
static void show_cell(run_t *run, const input_t *input)
{
    ik_buffer_t out;
    size_t max = below(&run->chance, 40);
    ik_buffer_init(&out, run->ctx, IK_BUFFER_UNLIMITED);
    size_t columns =
        ik_width_append(&out, input->bytes, max,
                        below(&run->chance, 2) == 0 ? IK_WIDTH_KEEP_START : IK_WIDTH_KEEP_END);
    read_output(run, PLAIN, out.data, out.len);
    if (columns > max || (out.len > 0 && memchr(out.data, '\n', out.len) != NULL)) {
        run->problem = "a cell that is too wide";
    }
}

typedef void (*way_fn)(run_t *run, const input_t *input);
static const struct {
    const char *name;
    way_fn show;
} ways[] = {
    {"tool output", show_output}, {"answer", show_answer}, {"name", show_name},
    {"link", show_link},          {"code", show_code},     {"change", show_change},
    {"draft", show_draft},        {"print", print_it},     {"cell", show_cell},
};

/* --- runs -------------------------------------------------------------------------------- */

static ik_theme_t themes[3];

/* The same input with the same chances is the same run. */
static const char *show_in(size_t way, const input_t *input, uint64_t seed, run_t *run)
{
    *run = (run_t){.ctx = talloc_new(NULL), .chance = {seed | 1}};
    run->theme = &themes[below(&run->chance, 8) < 6 ? 0 : 1 + below(&run->chance, 2)];
    ik_screen_options_t options = {.write = on_frame, .is_drained = always, .data = run};
    run->screen = ik_screen_create(run->ctx, &options, 20 + (int)below(&run->chance, 60),
                                   4 + (int)below(&run->chance, 20));
    ik_row_init(&run->row, run->ctx, run->theme);
    ik_screen_begin_live(run->screen);
    ways[way].show(run, input);
    if (run->theme->escapes) {
        ik_screen_flush(run->screen);
    }
    talloc_free(run->ctx);
    return run->problem;
}

/* Leaves out what is not needed to show the problem, in pieces of halving size. */
static void shrink(size_t way, input_t *input, uint64_t seed)
{
    for (size_t size = input->len / 2 + 1; size > 0; size /= 2) {
        for (size_t at = 0; at + size <= input->len;) {
            run_t run;
            input_t less = *input;
            memmove(less.bytes + at, less.bytes + at + size, less.len - at - size + 1);
            less.len -= size;
            if (show_in(way, &less, seed, &run) != NULL) {
                *input = less;
            } else {
                at++;
            }
        }
    }
}

static void add_violation(json_t *violations, size_t way, const input_t *input, uint64_t seed)
{
    if (json_array_size(violations) >= VIOLATIONS_MAX) {
        return;
    }
    run_t run;
    input_t least = *input;
    char hex[2 * INPUT_MAX + 1] = "";
    shrink(way, &least, seed);
    const char *problem = show_in(way, &least, seed, &run);
    for (size_t i = 0; i < least.len; i++) {
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char)least.bytes[i]);
    }
    json_array_append_new(violations, json_pack("{ssssss}", "way", ways[way].name, "what",
                                                problem == NULL ? "?" : problem, "hex", hex));
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "Usage: foreign_driver COUNT SEED\n");
        return 2;
    }
    long long count = atoll(argv[1]);
    chance_t chance = {strtoull(argv[2], NULL, 10) * UINT64_C(0x9e3779b97f4a7c15) | 1};
    json_t *violations = json_array();
    long long bad = 0, bytes = 0, outputs = 0, styled = 0;
    ik_theme_init(&themes[0], IK_BACKGROUND_DARK, true, true);
    ik_theme_init(&themes[1], IK_BACKGROUND_LIGHT, false, true);
    ik_theme_init(&themes[2], IK_BACKGROUND_UNKNOWN, false, false);
    for (long long i = 0; i < count; i++) {
        static input_t input;
        run_t run;
        make_input(&input, &chance);
        size_t way = below(&chance, LENGTH(ways));
        uint64_t seed = roll(&chance);
        if (show_in(way, &input, seed, &run) != NULL) {
            bad++;
            add_violation(violations, way, &input, seed);
        }
        bytes += (long long)input.len;
        outputs += (long long)run.read;
        styled += (long long)run.styled;
    }
    json_t *report =
        json_pack("{sIsIsIsIsIsisO}", "inputs", count, "bytes", bytes, "read", outputs, "styled",
                  styled, "bad", bad, "ways", (int)LENGTH(ways), "violations", violations);
    json_dumpf(report, stdout, 0);
    putchar('\n');
    json_decref(report);
    json_decref(violations);
    return 0;
}
