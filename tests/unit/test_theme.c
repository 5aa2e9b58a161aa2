/* Colours: contrast as WCAG defines it, the nearest of 256, and themes that can be read. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "suite.h"
#include "terminal/contrast.h"
#include "terminal/row.h"

static ik_config_theme_t wanted;
static ik_theme_t theme;

static void set_up(void)
{
    wanted.base = IK_CONFIG_THEME_AUTO;
    memset(wanted.colours, 0xff, sizeof(wanted.colours));
}

/* ---- contrast */

START_TEST(contrast_is_that_of_wcag)
{
    static const struct {
        uint32_t a;
        uint32_t b;
        double ratio;
    } known[] = {
        {0x000000, 0xffffff, 21.00}, {0x777777, 0xffffff, 4.48}, {0x767676, 0xffffff, 4.54},
        {0xff0000, 0xffffff, 4.00},  {0x0000ff, 0xffffff, 8.59}, {0x00ff00, 0xffffff, 1.37},
        {0x123456, 0x123456, 1.00},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        ck_assert_double_eq_tol(ik_contrast_ratio(known[i].a, known[i].b), known[i].ratio, 0.005);
        ck_assert_double_eq_tol(ik_contrast_ratio(known[i].b, known[i].a), known[i].ratio, 0.005);
    }
    ck_assert(ik_contrast_is_light(0xffffff));
    ck_assert(ik_contrast_is_light(0xfdf6e3));
    ck_assert(!ik_contrast_is_light(0x000000));
    ck_assert(!ik_contrast_is_light(0x1e1e2e));
    ck_assert(!ik_contrast_is_light(0x0000ff));
}
END_TEST

static uint32_t pseudo_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static int hue(uint32_t colour)
{
    double r = colour >> 16 & 0xff;
    double g = colour >> 8 & 0xff;
    double b = colour & 0xff;
    return (int)lround(atan2(sqrt(3) * (g - b), 2 * r - g - b) * 180 / M_PI);
}

static int saturation(uint32_t colour)
{
    int low = 255;
    int high = 0;
    for (int shift = 0; shift <= 16; shift += 8) {
        int value = (int)(colour >> shift & 0xff);
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
    return high - low;
}

/* On any background, any colour becomes readable; one that is readable stays; the hue stays as far
 * as eight bits allow. */
START_TEST(a_repaired_colour_can_be_read)
{
    uint32_t state = 1;
    for (int i = 0; i < 20000; i++) {
        uint32_t colour = pseudo_random(&state);
        uint32_t background = pseudo_random(&state);
        uint32_t repaired = ik_contrast_repair(colour, background);
        if (ik_contrast_ratio(colour, background) >= 3) {
            ck_assert_uint_eq(repaired, colour);
        }
        ck_assert_msg(ik_contrast_ratio(repaired, background) >= 3, "%06x on %06x: %06x", colour,
                      background, repaired);
        if (saturation(repaired) > 60) {
            int turn = abs(hue(colour) - hue(repaired)) % 360;
            ck_assert_msg(turn < 8 || turn > 352, "%06x on %06x: %06x", colour, background,
                          repaired);
        }
    }
    ck_assert_uint_eq(ik_contrast_repair(0, 0) >> 16, ik_contrast_repair(0, 0) & 0xff);
    ck_assert_int_gt(saturation(ik_contrast_repair(0x000040, 0)), 60);
}
END_TEST

/* ---- the 256 colours */

static uint32_t palette(int index)
{
    static const uint32_t levels[] = {0x00, 0x5f, 0x87, 0xaf, 0xd7, 0xff};
    if (index < 232) {
        return levels[(index - 16) / 36] << 16 | levels[(index - 16) / 6 % 6] << 8 |
               levels[(index - 16) % 6];
    }
    uint32_t grey = 8 + 10 * (uint32_t)(index - 232);
    return grey << 16 | grey << 8 | grey;
}

static double far(uint32_t a, uint32_t b)
{
    double r = (double)(a >> 16) - (b >> 16);
    double g = (double)(a >> 8 & 0xff) - (b >> 8 & 0xff);
    double blue = (double)(a & 0xff) - (b & 0xff);
    return sqrt(r * r + g * g + blue * blue);
}

START_TEST(the_nearest_of_256_is_found)
{
    uint32_t state = 2;
    for (int i = 0; i < 5000; i++) {
        uint32_t colour = pseudo_random(&state);
        uint32_t background = pseudo_random(&state);
        int found = ik_contrast_find_index(colour, NULL);
        int readable = ik_contrast_find_index(colour, &background);
        ck_assert_double_ge(ik_contrast_ratio(palette(readable), background), 3);
        for (int index = 16; index < 256; index++) {
            ck_assert_double_ge(far(colour, palette(index)), far(colour, palette(found)));
            if (ik_contrast_ratio(palette(index), background) >= 3) {
                ck_assert_double_ge(far(colour, palette(index)), far(colour, palette(readable)));
            }
        }
    }
    for (int index = 16; index < 256; index++) {
        ck_assert_uint_eq(palette(ik_contrast_find_index(palette(index), NULL)), palette(index));
    }
}
END_TEST

/* ---- themes */

static const uint32_t dark[] = {0x000000, 0x1e1e1e, 0x1e1e2e, 0x282c34, 0x2e3440,
                                0x002b36, 0x272822, 0x300a24, 0x0c0c0c, 0x282a36};
static const uint32_t light[] = {0xffffff, 0xfdf6e3, 0xeff1f5, 0xfafafa, 0xeee8d5, 0xf0f0f0};

static void assert_palette(ik_background_t background, const uint32_t *usual, size_t count)
{
    ik_theme_init(&theme, background, true, true);
    for (int role = 0; role < IK_ROLE_COUNT; role++) {
        ik_style_t style = ik_theme_style(&theme, (ik_role_t)role);
        ck_assert(style.fg == 0 || style.fg >> 24 == 2);
        for (size_t i = 0; style.fg != 0 && i < count; i++) {
            double ratio = ik_contrast_ratio(style.fg & 0xffffff, usual[i]);
            ck_assert_msg(ratio >= 3, "role %d on %06x: %.2f", role, usual[i], ratio);
        }
    }
}

START_TEST(the_built_in_palettes_can_be_read)
{
    assert_palette(IK_BACKGROUND_DARK, dark, sizeof(dark) / sizeof(dark[0]));
    assert_palette(IK_BACKGROUND_LIGHT, light, sizeof(light) / sizeof(light[0]));
}
END_TEST

/* Yellow and cyan cannot be read on white, blue not on black. */
START_TEST(an_unknown_background_gets_colours_for_both)
{
    ik_theme_init(&theme, IK_BACKGROUND_UNKNOWN, true, true);
    ik_theme_adapt(&theme, &wanted, NULL, true);
    for (int role = 0; role < IK_ROLE_COUNT; role++) {
        ik_colour_t fg = ik_theme_style(&theme, (ik_role_t)role).fg;
        ck_assert_uint_eq(ik_theme_style(&theme, (ik_role_t)role).bg, 0);
        ck_assert(fg == 0 || fg == IK_COLOUR_INDEX(1) || fg == IK_COLOUR_INDEX(2) ||
                  fg == IK_COLOUR_INDEX(5));
    }
}
END_TEST

static void assert_readable(uint32_t background, bool deep)
{
    for (int role = 0; role < IK_ROLE_COUNT; role++) {
        ik_style_t style = ik_theme_style(&theme, (ik_role_t)role);
        if (style.fg == 0) {
            continue;
        }
        ck_assert_uint_eq(style.fg >> 24, deep ? 2 : 1);
        uint32_t colour = deep ? style.fg & 0xffffff : palette((int)(style.fg & 0xff));
        ck_assert_msg(ik_contrast_ratio(colour, background) >= 3, "role %d: %06x on %06x", role,
                      colour, background);
        ck_assert_uint_eq(style.bits & IK_STYLE_DIM, 0);
    }
}

/* Even the dark theme on white, and any colours of a file. */
START_TEST(every_theme_can_be_read_on_every_background)
{
    uint32_t state = 3;
    for (int i = 0; i < 200; i++) {
        uint32_t background = i == 0 ? 0 : i == 1 ? 0xffffff : pseudo_random(&state);
        for (int name = 0; i % 2 == 1 && name < IK_CONFIG_COLOUR_COUNT; name++) {
            wanted.colours[name] = pseudo_random(&state);
        }
        for (int deep = 0; deep < 2; deep++) {
            ik_theme_init(&theme, IK_BACKGROUND_DARK, true, true);
            ik_theme_adapt(&theme, &wanted, &background, deep);
            assert_readable(background, deep);
            ik_theme_init(&theme, IK_BACKGROUND_LIGHT, true, true);
            ik_theme_adapt(&theme, &wanted, &background, deep);
            assert_readable(background, deep);
        }
    }
}
END_TEST

START_TEST(the_colours_of_a_file_are_used)
{
    static const ik_role_t roles[] = {
        IK_ROLE_TEXT,  IK_ROLE_DIM,     IK_ROLE_HEADING, IK_ROLE_CODE,  IK_ROLE_LINK,  IK_ROLE_TOOL,
        IK_ROLE_ADDED, IK_ROLE_REMOVED, IK_ROLE_WARNING, IK_ROLE_ERROR, IK_ROLE_STATUS};
    for (uint32_t i = 0; i < IK_CONFIG_COLOUR_COUNT; i++) {
        wanted.colours[i] = 0xd0d0d0 + i;
    }
    ik_theme_init(&theme, IK_BACKGROUND_DARK, true, true);
    ik_theme_adapt(&theme, &wanted, NULL, true);
    for (uint32_t i = 0; i < IK_CONFIG_COLOUR_COUNT; i++) {
        ck_assert_uint_eq(ik_theme_style(&theme, roles[i]).fg, 0x02d0d0d0 + i);
    }
    /* Text without a colour of its own takes that of the text. */
    ik_row_t row;
    ik_row_init(&row, NULL, &theme);
    ik_row_add_role(&row, IK_ROLE_STRONG, "a");
    ik_row_add(&row, (ik_style_t){0}, "b", 1);
    ik_row_end(&row);
    ck_assert_str_eq(row.bytes.data, "\033[1;38;2;208;208;208ma\033[22mb\033[m");
    ik_buffer_reset(&row.bytes);
}
END_TEST

START_TEST(without_colours_a_file_has_none)
{
    wanted.colours[IK_CONFIG_COLOUR_TEXT] = 0xffffff;
    for (int escapes = 0; escapes < 2; escapes++) {
        ik_theme_init(&theme, IK_BACKGROUND_DARK, false, escapes);
        ik_theme_adapt(&theme, &wanted, NULL, true);
        for (int role = 0; role < IK_ROLE_COUNT; role++) {
            ck_assert_uint_eq(ik_theme_style(&theme, (ik_role_t)role).fg, 0);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("theme");
    TCase *all = tcase_create("theme");
    tcase_add_checked_fixture(all, set_up, NULL);
    tcase_set_timeout(all, 60);
    tcase_add_test(all, contrast_is_that_of_wcag);
    tcase_add_test(all, a_repaired_colour_can_be_read);
    tcase_add_test(all, the_nearest_of_256_is_found);
    tcase_add_test(all, the_built_in_palettes_can_be_read);
    tcase_add_test(all, an_unknown_background_gets_colours_for_both);
    tcase_add_test(all, every_theme_can_be_read_on_every_background);
    tcase_add_test(all, the_colours_of_a_file_are_used);
    tcase_add_test(all, without_colours_a_file_has_none);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
