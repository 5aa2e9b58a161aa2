#define PCRE2_CODE_UNIT_WIDTH 8
#include "tools/grep/grep_pattern.h"

#include <pcre2.h>
#include <pthread.h>
#include <regex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/code_point.h"
#include "base/utf8.h"
#include "tools/grep/ere.h"
#include "tools/grep/ere_literals.h"
#include "tools/grep/ere_pcre.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
    LINE_STEPS = 1000000,   /* match limit for one line */
    BLOCK_STEPS = 20000000, /* match limit for a block of lines; beyond it they are tried singly */
    HEAP_KIB = 65536,
    JIT_STACK_START = 32 * 1024,
    JIT_STACK_MAX = 1024 * 1024,
    SKIPPED_MAX = 100,
    PIECE = 4096, /* bytes per call, because each call checks the UTF-8 of its subject */
};

struct ik_grep_pattern {
    ik_ere_t ere;
    bool ignore_case;
    ik_ere_literals_t literals;
    ik_literal_scan_t scan;
    bool needs_characters;
    pcre2_code *bytes;          /* NULL when the pattern is not ASCII */
    _Atomic(pcre2_code *) wide; /* for characters; compiled when a line needs it */
    bool wide_failed;
    pthread_mutex_t lock; /* guards the compiling of wide */
    pcre2_general_context *general;
    atomic_size_t skipped;
};

struct ik_grep_matcher {
    ik_grep_pattern_t *pattern;
    pcre2_match_data *data;
    pcre2_match_context *line_limits;
    pcre2_match_context *block_limits;
    pcre2_jit_stack *stack;
    const char *ascii_end; /* bytes before this one are ASCII */
    uint32_t edges;        /* PCRE2_NOTBOL, PCRE2_NOTEOL: the subject is a piece of a line */
};

/* --- checking with regcomp --------------------------------------------------------------- */

static int compare_codes(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* The characters beyond ASCII, sorted, each once; *count is their number. */
static uint32_t *foreign_characters(const void *ctx, const char *text, size_t len, size_t *count)
{
    uint32_t *codes = ik_new_array(ctx, uint32_t, len + 1);
    *count = 0;
    for (const char *at = text; at < text + len;) {
        uint32_t c = ik_code_point_take(&at, text + len);
        codes[*count] = c;
        *count += c >= 0x80;
    }
    qsort(codes, *count, sizeof(*codes), compare_codes);
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        if (kept == 0 || codes[i] != codes[kept - 1]) {
            codes[kept++] = codes[i];
        }
    }
    *count = kept;
    return codes;
}

/* Maps each character to one byte and keeps their order, so that regcomp in the C locale accepts
 * what it would accept in a UTF-8 locale, which may not be installed. */
static char single_byte(uint32_t c, const uint32_t *foreign, size_t count)
{
    if (c < 0x80) {
        return c == 0 ? '\1' : (char)c;
    }
    const uint32_t *found = bsearch(&c, foreign, count, sizeof(*foreign), compare_codes);
    size_t rank = (size_t)(found - foreign);
    return (char)(0x80 + (rank < 0x7f ? rank : 0x7f));
}

/* The pattern for regcomp, with ( for (?:. */
static char *posix_form(const void *ctx, const char *text, size_t len, const ik_ere_t *ere)
{
    size_t count;
    uint32_t *foreign = foreign_characters(ctx, text, len, &count);
    char *form = ik_new_array(ctx, char, len + 1);
    size_t used = 0;
    size_t group = 0;
    for (const char *at = text; at < text + len;) {
        if (group < ere->plain_count && (size_t)(at - text) == ere->plain[group]) {
            at += 2;
            group++;
            continue;
        }
        form[used++] = single_byte(ik_code_point_take(&at, text + len), foreign, count);
    }
    form[used] = '\0';
    return form;
}

static res_t ask_regcomp(const void *ctx, const char *text, size_t len, const ik_ere_t *ere)
{
    regex_t compiled;
    int code = regcomp(&compiled, posix_form(ctx, text, len, ere), REG_EXTENDED | REG_NOSUB);
    if (code == 0) {
        regfree(&compiled);
        return OK;
    }
    if (code == REG_ESPACE) {
        ik_alloc_fail();
    }
    char message[256];
    regerror(code, NULL, message, sizeof(message));
    return ERR(INVALID, "%s", message);
}

static res_t parse(const void *ctx, const char *text, size_t len, ik_ere_t *ere)
{
    ik_ere_result_t parsed = ik_ere_parse(ctx, text, len, ere);
    if (parsed == IK_ERE_TOO_BIG) {
        return ERR(LIMIT, "Regular expression too big");
    }
    TRY(ask_regcomp(ctx, text, len, ere));
    return parsed == IK_ERE_OK ? OK : ERR(INVALID, "Invalid regular expression");
}

/* --- compiling --------------------------------------------------------------------------- */

static void *allocate(size_t size, void *data)
{
    (void)data;
    return ik_alloc_plain(size);
}

static void release(void *memory, void *data)
{
    (void)data;
    free(memory);
}

static res_t compile(const ik_grep_pattern_t *pattern, bool characters, pcre2_code **code)
{
    ik_buffer_t text;
    ik_buffer_init(&text, NULL, IK_BUFFER_UNLIMITED); /* bounded by the expression */
    ik_buffer_append_text(&text, "");
    ik_ere_pcre_format(&pattern->ere, pattern->ignore_case, characters, &text);
    uint32_t options = PCRE2_MULTILINE | PCRE2_ALT_CIRCUMFLEX | PCRE2_NEVER_BACKSLASH_C;
    if (characters) {
        options |= PCRE2_UTF | PCRE2_UCP | (pattern->ere.ascii ? 0 : PCRE2_MATCH_INVALID_UTF);
    }
    pcre2_compile_context *context = pcre2_compile_context_create(pattern->general);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    int error;
    PCRE2_SIZE offset;
    *code = pcre2_compile((PCRE2_SPTR)text.data, text.len, options, &error, &offset, context);
    pcre2_compile_context_free(context);
    ik_buffer_reset(&text);
    if (*code == NULL) {
        PCRE2_UCHAR message[256];
        pcre2_get_error_message(error, message, sizeof(message));
        return ERR(INVALID, "%s", (char *)message);
    }
    pcre2_jit_compile(*code, PCRE2_JIT_COMPLETE); /* without a JIT, matching is slower */
    return OK;
}

static int release_pattern(ik_grep_pattern_t *pattern)
{
    pcre2_code_free(pattern->bytes);
    pcre2_code_free(atomic_load(&pattern->wide));
    pcre2_general_context_free(pattern->general);
    pthread_mutex_destroy(&pattern->lock);
    return 0;
}

static void prepare_scan(ik_grep_pattern_t *pattern)
{
    ik_ere_literals_find(pattern, &pattern->ere, pattern->ignore_case, &pattern->literals);
    ik_literal_scan_init(&pattern->scan, pattern->ignore_case);
    for (size_t i = 0; i < pattern->literals.count; i++) {
        const ik_ere_literal_t *literal = &pattern->literals.items[i];
        ik_literal_scan_add(&pattern->scan, literal->text, literal->len);
    }
}

res_t ik_grep_pattern_compile(const void *ctx, const char *text, size_t len, bool ignore_case,
                              ik_grep_pattern_t **result)
{
    ik_grep_pattern_t *pattern = ik_new(ctx, ik_grep_pattern_t);
    pattern->ignore_case = ignore_case;
    pthread_mutex_init(&pattern->lock, NULL);
    /* Our allocator, so that PCRE2 runs out of memory as everything else does. */
    pattern->general = pcre2_general_context_create(allocate, release, NULL);
    if (pattern->general == NULL) {
        ik_alloc_fail();
    }
    talloc_set_destructor(pattern, release_pattern);
    TRY(parse(pattern, text, len, &pattern->ere));
    pattern->needs_characters = ik_ere_needs_characters(&pattern->ere);
    prepare_scan(pattern);
    if (!pattern->literals.sufficient && pattern->ere.ascii) {
        TRY(compile(pattern, false, &pattern->bytes));
    } else if (!pattern->literals.sufficient) {
        pcre2_code *wide;
        TRY(compile(pattern, true, &wide));
        atomic_store(&pattern->wide, wide);
    }
    *result = pattern;
    return OK;
}

/* The code for characters, or the one for bytes if that cannot be compiled. */
static pcre2_code *wide_code(ik_grep_pattern_t *pattern)
{
    pcre2_code *code = atomic_load(&pattern->wide);
    if (code != NULL) {
        return code;
    }
    pthread_mutex_lock(&pattern->lock);
    code = atomic_load(&pattern->wide);
    if (code == NULL && !pattern->wide_failed) {
        res_t compiled = compile(pattern, true, &code);
        pattern->wide_failed = is_err(&compiled);
        atomic_store(&pattern->wide, code);
    }
    pthread_mutex_unlock(&pattern->lock);
    return code != NULL ? code : pattern->bytes;
}

size_t ik_grep_pattern_skipped(const ik_grep_pattern_t *pattern)
{
    return atomic_load_explicit(&pattern->skipped, memory_order_relaxed);
}

bool ik_grep_pattern_exhausted(const ik_grep_pattern_t *pattern)
{
    return ik_grep_pattern_skipped(pattern) >= SKIPPED_MAX;
}

/* --- matching ---------------------------------------------------------------------------- */

static int release_matcher(ik_grep_matcher_t *matcher)
{
    pcre2_match_data_free(matcher->data);
    pcre2_match_context_free(matcher->line_limits);
    pcre2_match_context_free(matcher->block_limits);
    pcre2_jit_stack_free(matcher->stack);
    return 0;
}

static pcre2_match_context *create_limits(pcre2_general_context *general, pcre2_jit_stack *stack,
                                          uint32_t steps)
{
    pcre2_match_context *limits = pcre2_match_context_create(general);
    pcre2_set_match_limit(limits, steps);
    pcre2_set_heap_limit(limits, HEAP_KIB);
    pcre2_jit_stack_assign(limits, NULL, stack);
    return limits;
}

static bool has_jit(void)
{
    uint32_t jit = 0;
    return pcre2_config(PCRE2_CONFIG_JIT, &jit) == 0 && jit != 0;
}

ik_grep_matcher_t *ik_grep_matcher_create(const void *ctx, ik_grep_pattern_t *pattern)
{
    ik_grep_matcher_t *matcher = ik_new(ctx, ik_grep_matcher_t);
    matcher->pattern = pattern;
    if (!pattern->literals.sufficient) {
        pcre2_general_context *general = pattern->general;
        matcher->data = pcre2_match_data_create(1, general);
        matcher->stack = pcre2_jit_stack_create(JIT_STACK_START, JIT_STACK_MAX, general);
        if (matcher->stack == NULL && has_jit()) {
            ik_alloc_fail();
        }
        matcher->line_limits = create_limits(general, matcher->stack, LINE_STEPS);
        matcher->block_limits = create_limits(general, matcher->stack, BLOCK_STEPS);
        talloc_set_destructor(matcher, release_matcher);
    }
    return matcher;
}

void ik_grep_matcher_begin(ik_grep_matcher_t *matcher)
{
    matcher->ascii_end = NULL;
}

static const char *line_end(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline == NULL ? end : newline;
}

/* The first byte beyond ASCII, or end. */
static const char *find_foreign(const char *at, const char *end)
{
#ifdef __SSE2__
    for (; end - at >= 16; at += 16) {
        int high = _mm_movemask_epi8(_mm_loadu_si128((const __m128i *)(const void *)at));
        if (high != 0) {
            return at + __builtin_ctz((unsigned)high);
        }
    }
#endif
    while (at < end && (unsigned char)*at < 0x80) {
        at++;
    }
    return at;
}

/* Returns the position of the first match, or NULL; *limited: a match limit was reached. */
static const char *match(ik_grep_matcher_t *m, const pcre2_code *code, const char *from,
                         const char *end, pcre2_match_context *limits, bool *limited)
{
    /* Without the last newline, after which PCRE2 would see one more, empty line. */
    size_t len = (size_t)(end - from);
    len -= len > 0 && end[-1] == '\n';
    uint32_t options = m->edges | (m->pattern->ere.ascii ? PCRE2_NO_UTF_CHECK : 0);
    int result = pcre2_match(code, (PCRE2_SPTR)from, len, 0, options, m->data, limits);
    *limited = result < 0 && result != PCRE2_ERROR_NOMATCH;
    return result < 0 ? NULL : from + pcre2_get_ovector_pointer(m->data)[0];
}

static bool match_line(ik_grep_matcher_t *m, const pcre2_code *code, const char *from,
                       const char *end)
{
    bool limited;
    const char *place = match(m, code, from, end, m->line_limits, &limited);
    if (limited) {
        atomic_fetch_add_explicit(&m->pattern->skipped, 1, memory_order_relaxed);
    }
    return place != NULL;
}

/* Matches many lines with one call, or one by one if that reaches the limit. */
static const char *match_lines(ik_grep_matcher_t *m, const pcre2_code *code, const char *from,
                               const char *end)
{
    bool limited;
    const char *place = match(m, code, from, end, m->block_limits, &limited);
    while (limited && from < end && !ik_grep_pattern_exhausted(m->pattern)) {
        const char *stop = line_end(from, end);
        if (match_line(m, code, from, stop)) {
            return from;
        }
        from = stop + 1;
    }
    return place;
}

/* The code to match one line with. */
static const pcre2_code *code_for(ik_grep_pattern_t *pattern, const char *from, const char *end)
{
    if (pattern->bytes == NULL) {
        return wide_code(pattern);
    }
    bool wide = pattern->needs_characters && find_foreign(from, end) != end &&
                ik_utf8_valid(from, (size_t)(end - from));
    return wide ? wide_code(pattern) : pattern->bytes;
}

/* The end of a piece of whole lines, at most PIECE bytes unless its first line is longer. */
static const char *piece_end(const char *from, const char *end)
{
    if (end - from <= PIECE) {
        return end;
    }
    const char *newline = memrchr(from, '\n', PIECE);
    const char *stop = newline != NULL ? newline : line_end(from, end);
    return stop == end ? end : stop + 1;
}

/* Searches the next lines that one code can match, and advances *from past them. */
static const char *match_stretch(ik_grep_matcher_t *m, const char **from, const char *end)
{
    const char *start = *from;
    const pcre2_code *code = m->pattern->bytes;
    if (code == NULL) {
        *from = piece_end(start, end);
        return match_lines(m, wide_code(m->pattern), start, *from);
    }
    if (!m->pattern->needs_characters) {
        *from = end;
        return match_lines(m, code, start, end);
    }
    if (m->ascii_end == NULL || m->ascii_end < start) {
        m->ascii_end = find_foreign(start, end);
    }
    if (m->ascii_end >= end) {
        *from = end;
        return match_lines(m, code, start, end);
    }
    const char *newline = memrchr(start, '\n', (size_t)(m->ascii_end - start));
    if (newline != NULL) {
        *from = newline + 1;
        return match_lines(m, code, start, *from);
    }
    const char *stop = line_end(m->ascii_end, end);
    *from = stop == end ? end : stop + 1;
    return match_line(m, code_for(m->pattern, start, stop), start, stop) ? start : NULL;
}

static const char *find_with_literals(ik_grep_matcher_t *m, const char *from, const char *end)
{
    ik_grep_pattern_t *pattern = m->pattern;
    while (from < end) {
        const char *hit = ik_literal_scan_find(&pattern->scan, from, end);
        if (hit == NULL || pattern->literals.sufficient) {
            return hit;
        }
        const char *newline = memrchr(from, '\n', (size_t)(hit - from));
        const char *start = newline == NULL ? from : newline + 1;
        const char *stop = line_end(hit, end);
        if (match_line(m, code_for(pattern, start, stop), start, stop)) {
            return hit;
        }
        if (ik_grep_pattern_exhausted(pattern)) {
            return NULL;
        }
        from = stop == end ? end : stop + 1;
    }
    return NULL;
}

const char *ik_grep_matcher_find(ik_grep_matcher_t *matcher, const char *from, const char *end)
{
    if (matcher->pattern->literals.count > 0) {
        return find_with_literals(matcher, from, end);
    }
    const char *hit = NULL;
    while (hit == NULL && from < end && !ik_grep_pattern_exhausted(matcher->pattern)) {
        hit = match_stretch(matcher, &from, end);
    }
    return hit;
}

const char *ik_grep_matcher_find_piece(ik_grep_matcher_t *matcher, const char *from,
                                       const char *end, bool begins, bool ends)
{
    ik_grep_matcher_begin(matcher);
    matcher->edges = (begins ? 0 : PCRE2_NOTBOL) | (ends ? 0 : PCRE2_NOTEOL);
    const char *hit = ik_grep_matcher_find(matcher, from, end);
    matcher->edges = 0;
    return hit;
}
