/* Foreign bytes become text and styles, and nothing that a terminal would obey. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/alloc.h"
#include "base/invisible.h"
#include "base/sanitiser.h"
#include "base/utf8.h"
#include "suite.h"

#define FFFD "\xef\xbf\xbd"
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static void *ctx;

static void set_up(void)
{
    ctx = talloc_new(NULL);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

/* --- texts ------------------------------------------------------------------------------- */

static const struct {
    const char *bytes;
    const char *text;
} cases[] = {
    {"", ""},
    {"plain ~ text", "plain ~ text"},
    {"a\nb\tc", "a\nb\tc"},
    {"gr\u00fc\u00df \u65e5\u672c \U0001f600", "gr\u00fc\u00df \u65e5\u672c \U0001f600"},
    /* control characters */
    {"a\001\002\007\010\013\014\016\017\037\177b", "ab"},
    {"a\302\200\302\205\302\23331m\302\2350;t\302\234b", "a31m0;tb"},
    /* line ends */
    {"a\r\nb", "a\nb"},
    {"a\rb\rc", "a\nb\nc"},
    {"a\r\r\nb", "a\nb"},
    {"a\n\rb", "a\nb"},
    {"\r10%\r20%\n", "10%\n20%\n"},
    {"\r\n\r\n", "\n\n"},
    {"a\r\033[K\nb", "a\nb"},
    {"a\r\n\nb", "a\n\nb"},
    {"a\rb\n", "a\nb\n"},
    /* escapes */
    {"a\033cb", "ab"},
    {"a\0337\0338\033=\033Mb", "ab"},
    {"a\033(0b\033)B\033 F\033#8c", "abc"},
    {"a\033\033\033b", "a"},
    {"a\033\nb", "a\nb"},
    {"a\033\u00e9", "a\u00e9"},
    {"a\033(\u00e9", "a\u00e9"},
    {"a\033\177b", "ab"},
    {"a\033", "a"},
    /* CSI */
    {"a\033[2Jb\033[1;1H\033[?1049h\033[6n\033[>4;2m\033[3 qc", "abc"},
    {"a\033[31mb\033[0mc", "abc"},
    {"a\033[\nb", "a\nb"},
    {"a\033[3\u00e9mb", "a\u00e9mb"},
    {"a\033[3\x18mb\033[3\x1amc", "ambmc"},
    {"a\033[3\033[4mb", "ab"},
    {"a\033[12", "a"},
    /* strings, with each terminator */
    {"a\033]0;title\007b", "ab"},
    {"a\033]0;title\033\\b", "ab"},
    {"a\033]0;title\302\234b", "ab"},
    {"a\033]0;t\u00e9\xc2\302\234b", "ab"},
    {"a\033]0;title\030b", "ab"},
    {"a\033]0;title\032b", "ab"},
    {"a\033]0;title\033[31mb", "ab"},
    {"a\033]0;title\nb", "a\nb"},
    {"a\033]8;;http://x/\033\\link\033]8;;\033\\b", "alinkb"},
    {"a\033]52;c;AAAA\007b\033P$qm\033\\c\033_Gx\033\\d\033^pm\033\\e\033Xsos\033\\f", "abcdef"},
    {"a\033]0;title", "a"},
    /* invalid UTF-8 */
    {"\x9b\xff\xc3", FFFD FFFD FFFD},
    {"\xed\xa0\x80", FFFD FFFD FFFD},
    {"\xe2\x82", FFFD},
    {"\xe2\x82x\xf0\x9f\x98", FFFD "x" FFFD},
    {"\xc0\xaf\xf4\x90\x80\x80", FFFD FFFD FFFD FFFD FFFD FFFD},
    {"\xc3\033[2J", FFFD},
    /* invisible characters */
    {"a\u202eb\u202c", "a<U+202E>b<U+202C>"},
    {"\u061c\u200e\u200f\u2066\u2069", "<U+061C><U+200E><U+200F><U+2066><U+2069>"},
    {"a\u200bb\u2060\ufeff\u00ad\u034f", "a<U+200B>b<U+2060><U+FEFF><U+00AD><U+034F>"},
    {"a\u2028b\u2029", "a<U+2028>b<U+2029>"},
    {"\ufff9a\ufffab\ufffb", "<U+FFF9>a<U+FFFA>b<U+FFFB>"},
    {"\u115f\u1160\u3164\uffa0\u180e", "<U+115F><U+1160><U+3164><U+FFA0><U+180E>"},
    {"\U000e0001\U000e0041\U000e007f", "<U+E0001><U+E0041><U+E007F>"},
    {"\U0010ff00\U0010fffd\U0010feff", "<U+10FF00><U+10FFFD>\U0010feff"},
    {"\uffff\ufdd0\U0001fffe", "<U+FFFF><U+FDD0><U+1FFFE>"},
    /* joiners */
    {"pay\u200dpal\u200cx", "pay<U+200D>pal<U+200C>x"},
    {"\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"},
    {"\u0915\u094d\u200d\u0937", "\u0915\u094d\u200d\u0937"},
    {"\u0645\u200c x", "\u0645<U+200C> x"},
    {"\u0645\u200c", "\u0645<U+200C>"},
    {"\u0645\u200c\u200c\u0645", "\u0645<U+200C><U+200C>\u0645"},
    {"\u0645\u200c\033[2J\u0645", "\u0645<U+200C>\u0645"},
    {"\u0645\033[2J\u200c\u0645", "\u0645<U+200C>\u0645"},
    {"\u0645\u200c\xff", "\u0645<U+200C>" FFFD},
    {"\u0645\u200c\xd9x", "\u0645<U+200C>" FFFD "x"},
    {"\u0645\u200c\u202e", "\u0645<U+200C><U+202E>"},
    {"\U0001f469\u200d\u2764\ufe0f\u200d\U0001f468",
     "\U0001f469\u200d\u2764\ufe0f\u200d\U0001f468"},
    {"\U0001f3f4\u200d\u2620\ufe0f", "\U0001f3f4\u200d\u2620\ufe0f"},
    {"\u200d\U0001f469", "<U+200D>\U0001f469"},
    {"\u200dx", "<U+200D>x"},
    {"\ufe0f\u20e3", "<U+FE0F>\u20e3"},
    /* variation selectors */
    {"1\ufe0f\u20e3 #\ufe0f\u20e3", "1\ufe0f\u20e3 #\ufe0f\u20e3"},
    {"1\ufe0fx", "1<U+FE0F>x"},
    {"a\ufe0f\u20e3", "a<U+FE0F>\u20e3"},
    {"\u2764\ufe0f\ufe0f", "\u2764\ufe0f<U+FE0F>"},
    {"\u8fbb\U000e0100\U000e0101", "\u8fbb\U000e0100<U+E0101>"},
    {"\u1820\u180b\u1820", "\u1820\u180b\u1820"},
    {"a\U000e0100", "a<U+E0100>"},
};

/* Not clean alone, but as parts of a text. */
static const char *const parts[] = {"\u0645\u200c", "\u200d\U0001f469", "\ufe0f\u20e3"};

static bool is_part(const char *bytes)
{
    size_t i = 0;
    while (i < LENGTH(parts) && strcmp(parts[i], bytes) != 0) {
        i++;
    }
    return i < LENGTH(parts);
}

static char *sanitise(const char *bytes, size_t len)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_sanitise_append(&out, bytes, len);
    return ik_buffer_finish(&out);
}

START_TEST(shown_text)
{
    const char *bytes = cases[_i].bytes;
    ck_assert_str_eq(sanitise(bytes, strlen(bytes)), cases[_i].text);
    bool same = strcmp(bytes, cases[_i].text) == 0;
    ck_assert_int_eq(ik_sanitise_is_clean(bytes, strlen(bytes)), same || is_part(bytes));
}
END_TEST

/* Clean text is unchanged by all functions. */
START_TEST(clean_text_is_clean)
{
    const char *text = cases[_i].text;
    ck_assert_str_eq(sanitise(text, strlen(text)), text);
    ck_assert(ik_sanitise_is_clean(text, strlen(text)));
}
END_TEST

/* So a clean text may be cut anywhere. */
START_TEST(parts_of_clean_text_are_clean)
{
    const char *text = cases[_i].text;
    size_t len = strlen(text);
    bool valid;
    for (size_t begin = 0; begin < len; begin += ik_utf8_step(text + begin, len - begin, &valid)) {
        for (size_t end = begin; end < len;) {
            end += ik_utf8_step(text + end, len - end, &valid);
            ck_assert(ik_sanitise_is_clean(text + begin, end - begin));
        }
    }
}
END_TEST

START_TEST(bytes_behind_a_nul)
{
    ck_assert_str_eq(sanitise("a\0b", 3), "ab");
    ck_assert_str_eq(sanitise("a\033]0;\0\0\007b", 9), "ab");
    ck_assert(!ik_sanitise_is_clean("a\0b", 3));
}
END_TEST

START_TEST(one_line)
{
    ck_assert_str_eq(ik_sanitise_line(ctx, "a\nb\tc\r\nd\033[2Je\u202e"), "a b c de<U+202E>");
    ck_assert_str_eq(ik_sanitise_line(ctx, ""), "");
}
END_TEST

START_TEST(what_is_decided_about_is_written_out)
{
    static const char text[] = "a\x01\0b\tc\nd\033[8me\r\xc2\x9b\x7f";
    ck_assert_str_eq(ik_sanitise_write_out(ctx, text, sizeof(text) - 1),
                     "a<U+0001><U+0000>b\tc\nd<U+001B>[8me<U+000D><U+009B><U+007F>");
    ck_assert_str_eq(ik_sanitise_write_out(ctx, "", 0), "");
}
END_TEST

/* --- sequences without end --------------------------------------------------------------- */

/* An unterminated sequence of any kind is dropped up to the maximum and no further. */
START_TEST(endless_sequence)
{
    static const char *const beginnings[] = {"]", "P", "X", "^", "_", "[", "(", "[?"};
    size_t len = 3 * IK_SANITISER_SEQUENCE_MAX;
    const char *beginning = beginnings[_i];
    char filler = beginning[0] == '[' ? ';' : beginning[0] == '(' ? '/' : 'x';
    char *bytes = ik_new_array(ctx, char, len + 8);
    memset(bytes, filler, len);
    bytes[0] = '\033';
    memcpy(bytes + 1, beginning, strlen(beginning));
    char *out = sanitise(bytes, len);
    ck_assert_uint_eq(strlen(out), len - 1 - IK_SANITISER_SEQUENCE_MAX);
    ck_assert_uint_eq(strspn(out, (char[]){filler, '\0'}), strlen(out));
}
END_TEST

START_TEST(longest_sequence)
{
    enum { MAX = IK_SANITISER_SEQUENCE_MAX };
    char bytes[MAX + 16] = "\033]";
    memset(bytes + 2, 'x', MAX - 2);
    strncpy(bytes + MAX, "\007b", 3);
    ck_assert_str_eq(sanitise(bytes, strlen(bytes)), "b");
    strncpy(bytes + MAX, "x\007b", 4);
    ck_assert_str_eq(sanitise(bytes, strlen(bytes)), "b");
    strncpy(bytes + MAX, "xx\007b", 5);
    ck_assert_str_eq(sanitise(bytes, strlen(bytes)), "xb");
}
END_TEST

/* --- styles ------------------------------------------------------------------------------ */

#define BOLD IK_STYLE_BOLD
#define DIM IK_STYLE_DIM
#define ITALIC IK_STYLE_ITALIC
#define LINE IK_STYLE_UNDERLINE
#define REVERSE IK_STYLE_REVERSE
#define STRIKE IK_STYLE_STRIKE
#define I(n) IK_COLOUR_INDEX(n)
#define RGB IK_COLOUR_RGB

/* The style of the last text. */
static const struct {
    const char *bytes;
    ik_style_t style;
} styles[] = {
    {"x", {0, 0, 0}},
    {"\033[1;2;3;4;7;9mx", {BOLD | DIM | ITALIC | LINE | REVERSE | STRIKE, 0, 0}},
    {"\033[1;2;3;4;7;9m\033[22mx", {ITALIC | LINE | REVERSE | STRIKE, 0, 0}},
    {"\033[1;2;3;4;7;9m\033[23;24mx", {BOLD | DIM | REVERSE | STRIKE, 0, 0}},
    {"\033[1;2;3;4;7;9m\033[27m\033[29mx", {BOLD | DIM | ITALIC | LINE, 0, 0}},
    {"\033[1;31mx\033[mx", {0, 0, 0}},
    {"\033[1;31mx\033[0mx", {0, 0, 0}},
    {"\033[31;1;mx", {0, 0, 0}},
    {"\033[;1mx", {BOLD, 0, 0}},
    {"\033[21mx", {LINE, 0, 0}},
    {"\033[4:3mx", {LINE, 0, 0}},
    {"\033[4m\033[4:0mx", {0, 0, 0}},
    {"\033[30;47mx", {0, I(0), I(7)}},
    {"\033[37;40mx", {0, I(7), I(0)}},
    {"\033[97;100mx", {0, I(15), I(8)}},
    {"\033[90;107mx", {0, I(8), I(15)}},
    {"\033[31;41m\033[39mx", {0, 0, I(1)}},
    {"\033[31;41m\033[49mx", {0, I(1), 0}},
    {"\033[98;99;108;109mx", {0, 0, 0}},
    {"\033[38;5;208mx", {0, I(208), 0}},
    {"\033[48;5;255;1mx", {BOLD, 0, I(255)}},
    {"\033[38;5;256mx", {0, 0, 0}},
    {"\033[38;2;1;2;3mx", {0, RGB(1, 2, 3), 0}},
    {"\033[3;48;2;255;254;0;1mx", {ITALIC | BOLD, 0, RGB(255, 254, 0)}},
    {"\033[38;2;1;2;256mx", {0, 0, 0}},
    {"\033[38;5mx", {0, 0, 0}},
    {"\033[38mx", {0, 0, 0}},
    {"\033[38;2;1;2mx", {0, 0, 0}},
    {"\033[38;7;1mx", {BOLD, 0, 0}},
    {"\033[38:5:208mx", {0, I(208), 0}},
    {"\033[38:2:1:2:3mx", {0, RGB(1, 2, 3), 0}},
    {"\033[38:2::1:2:3mx", {0, RGB(1, 2, 3), 0}},
    {"\033[48:2:0:1:2:3:9:9:9:9mx", {0, 0, RGB(1, 2, 3)}},
    {"\033[38:5mx", {0, 0, 0}},
    {"\033[58;5;1mx", {0, 0, 0}},
    {"\033[58;2;1;2;3;4mx", {LINE, 0, 0}},
    {"\033[58:2::1:2:3mx", {0, 0, 0}},
    {"\033[5;6;8;10;20;25;28;51;73mx", {0, 0, 0}},
    {"\033[99999999999999999999mx", {0, 0, 0}},
    {"\033[4294967297mx", {0, 0, 0}},
    {"\033[>1mx", {0, 0, 0}},
    {"\033[?1mx", {0, 0, 0}},
    {"\033[1 mx", {0, 0, 0}},
    {"\033[1;\n31mx", {0, 0, 0}},
    {"\033[1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1mx", {BOLD, 0, 0}},
    /* too many parameters */
    {"\033[1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;mx", {0, 0, 0}},
};

static void on_styled(void *data, ik_style_t style, const char *bytes, size_t len)
{
    (void)bytes;
    ck_assert_uint_gt(len, 0);
    *(ik_style_t *)data = style;
}

START_TEST(shown_style)
{
    ik_sanitiser_t machine;
    ik_style_t last = {.bits = 12345};
    ik_sanitiser_init(&machine);
    ik_sanitiser_feed(&machine, styles[_i].bytes, strlen(styles[_i].bytes), on_styled, &last);
    ik_sanitiser_end(&machine, on_styled, &last);
    ck_assert_uint_eq(last.bits, styles[_i].style.bits);
    ck_assert_uint_eq(last.fg, styles[_i].style.fg);
    ck_assert_uint_eq(last.bg, styles[_i].style.bg);
    ik_sanitiser_feed(&machine, "x", 1, on_styled, &last);
    ck_assert(ik_style_equal(last, (ik_style_t){0}));
}
END_TEST

/* --- chunks ------------------------------------------------------------------------------ */

/* The text with its styles as one string, independent of the pieces. */
typedef struct {
    ik_buffer_t text;
    ik_style_t style;
} record_t;

static void on_recorded(void *data, ik_style_t style, const char *bytes, size_t len)
{
    record_t *record = data;
    if (!ik_style_equal(style, record->style)) {
        ik_buffer_append_format(&record->text, "{%x,%x,%x}", style.bits, style.fg, style.bg);
        record->style = style;
    }
    ck_assert(ik_utf8_valid(bytes, len));
    ik_buffer_append(&record->text, bytes, len);
}

/* Feeds pieces that end at the given offsets. */
static char *record(const char *bytes, size_t len, const size_t *ends, size_t count)
{
    ik_sanitiser_t machine;
    record_t recorded = {0};
    size_t at = 0;
    ik_buffer_init(&recorded.text, ctx, IK_BUFFER_UNLIMITED);
    ik_sanitiser_init(&machine);
    for (size_t i = 0; i < count; i++) {
        ik_sanitiser_feed(&machine, bytes + at, ends[i] - at, on_recorded, &recorded);
        at = ends[i];
    }
    ik_sanitiser_feed(&machine, bytes + at, len - at, on_recorded, &recorded);
    ik_sanitiser_end(&machine, on_recorded, &recorded);
    return ik_buffer_finish(&recorded.text);
}

static void assert_same_in_chunks(const char *bytes, size_t len)
{
    char *whole = record(bytes, len, NULL, 0);
    size_t *all = ik_new_array(ctx, size_t, len + 1);
    for (size_t i = 0; i < len; i++) {
        all[i] = i;
        ck_assert_str_eq(record(bytes, len, &i, 1), whole);
    }
    ck_assert_str_eq(record(bytes, len, all, len), whole);
}

START_TEST(any_split_gives_the_same_text)
{
    assert_same_in_chunks(cases[_i].bytes, strlen(cases[_i].bytes));
}
END_TEST

START_TEST(any_split_gives_the_same_styles)
{
    assert_same_in_chunks(styles[_i].bytes, strlen(styles[_i].bytes));
}
END_TEST

/* All cases in a row, in random order and random pieces. */
START_TEST(any_chunks_give_the_same)
{
    ik_buffer_t bytes;
    ik_buffer_init(&bytes, ctx, IK_BUFFER_UNLIMITED);
    srandom((unsigned)_i);
    for (size_t i = 0; i < 100; i++) {
        ik_buffer_append_text(&bytes, random() % 4 != 0
                                          ? cases[(size_t)random() % LENGTH(cases)].bytes
                                          : styles[(size_t)random() % LENGTH(styles)].bytes);
    }
    size_t ends[1000];
    size_t count = 0;
    for (size_t at = (size_t)random() % 5; at < bytes.len && count < LENGTH(ends); count++) {
        ends[count] = at;
        at += (size_t)random() % 12;
    }
    ck_assert_str_eq(record(bytes.data, bytes.len, ends, count),
                     record(bytes.data, bytes.len, NULL, 0));
}
END_TEST

/* A long plain stretch is one piece, so that megabytes are not split up. */
static void on_counted(void *data, ik_style_t style, const char *bytes, size_t len)
{
    (void)style;
    (void)bytes;
    (void)len;
    ++*(size_t *)data;
}

START_TEST(harmless_text_is_one_piece)
{
    enum { COUNT = 100000 };
    static const char line[] = "int main(void) {\n\treturn 0; // gr\u00fcn \u65e5\u672c\n}\n";
    ik_buffer_t bytes;
    ik_sanitiser_t machine;
    size_t pieces = 0;
    ik_buffer_init(&bytes, ctx, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < COUNT; i++) {
        ik_buffer_append_text(&bytes, line);
    }
    ik_sanitiser_init(&machine);
    ik_sanitiser_feed(&machine, bytes.data, bytes.len, on_counted, &pieces);
    ck_assert_uint_eq(pieces, 1);
}
END_TEST

/* --- whatever comes ---------------------------------------------------------------------- */

static bool is_clean_output(const char *out, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)out[i];
        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ||
            (c == 0xc2 && (unsigned char)out[i + 1] < 0xa0)) {
            return false;
        }
    }
    return ik_utf8_valid(out, len);
}

START_TEST(nothing_drives_the_terminal)
{
    for (int a = 0; a < 256; a++) {
        for (int b = 0; b < 256; b++) {
            char bytes[] = {(char)a, (char)b, 'x', '\033', (char)a, (char)b, '\n'};
            ik_buffer_t out;
            ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
            ik_sanitise_append(&out, bytes, sizeof(bytes));
            ck_assert(is_clean_output(out.data, out.len));
            ck_assert(ik_sanitise_is_clean(out.data, out.len));
            ik_buffer_reset(&out);
        }
    }
}
END_TEST

/* Our table agrees with Unicode for every character. Unassigned code points in it are reserved for
 * characters of the same kind. */
START_TEST(invisible_characters_are_those_of_unicode)
{
    for (int32_t code = 0; code <= 0x10ffff; code++) {
        bool expected = utf8proc_get_property(code)->ignorable || code == 0x2028 ||
                        code == 0x2029 || (code >= 0xfff9 && code <= 0xfffb);
        bool reserved = utf8proc_category(code) == UTF8PROC_CATEGORY_CN;
        ck_assert_msg(ik_invisible(code) == expected || (reserved && !expected), "U+%04X",
                      (unsigned)code);
    }
}
END_TEST

/* Every invisible character is written out if it is alone. */
START_TEST(invisible_characters_are_written_out)
{
    for (int32_t code = 0xa0; code <= 0x10ffff; code++) {
        char bytes[8] = "a";
        char expected[16];
        size_t len = 1 + ik_utf8_encode(bytes + 1, (uint32_t)code);
        snprintf(expected, sizeof(expected), "a<U+%04X>", (unsigned)code);
        if (ik_invisible(code)) {
            ck_assert_str_eq(sanitise(bytes, len), expected);
        }
    }
}
END_TEST

/* --- for a reader ------------------------------------------------------------------------ */

static const struct {
    const char *bytes;
    const char *text;
} readings[] = {
    {"a\033[31mb\033]0;t\007c\x01\x7f\302\205\b", "abc\x01\x7f\b"},
    {"a\r\nb\rc\td\fe\v", "a\r\nb\rc\td\fe\v"},
    {"a\u202eb\u200b\u200d\U000e0041\U0010ff00\ufeff\uffff",
     "a\u202eb\u200b\u200d\U000e0041\U0010ff00\ufeff\uffff"},
    {"\xff", FFFD},
};

START_TEST(a_reader_gets_all_characters)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_sanitise_append_for_reader(&out, readings[_i].bytes, strlen(readings[_i].bytes));
    ck_assert_str_eq(out.data, readings[_i].text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sanitiser");
    TCase *tests = tcase_create("sanitiser");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, shown_text, 0, (int)LENGTH(cases));
    tcase_add_loop_test(tests, clean_text_is_clean, 0, (int)LENGTH(cases));
    tcase_add_loop_test(tests, parts_of_clean_text_are_clean, 0, (int)LENGTH(cases));
    tcase_add_test(tests, bytes_behind_a_nul);
    tcase_add_test(tests, one_line);
    tcase_add_test(tests, what_is_decided_about_is_written_out);
    tcase_add_loop_test(tests, endless_sequence, 0, 8);
    tcase_add_test(tests, longest_sequence);
    tcase_add_loop_test(tests, shown_style, 0, (int)LENGTH(styles));
    tcase_add_loop_test(tests, any_split_gives_the_same_text, 0, (int)LENGTH(cases));
    tcase_add_loop_test(tests, any_split_gives_the_same_styles, 0, (int)LENGTH(styles));
    tcase_add_loop_test(tests, any_chunks_give_the_same, 0, 50);
    tcase_add_test(tests, harmless_text_is_one_piece);
    tcase_add_test(tests, nothing_drives_the_terminal);
    tcase_add_test(tests, invisible_characters_are_those_of_unicode);
    tcase_add_test(tests, invisible_characters_are_written_out);
    tcase_add_loop_test(tests, a_reader_gets_all_characters, 0, (int)LENGTH(readings));
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
