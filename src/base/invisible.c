#include "base/invisible.h"

#include <stddef.h>

#include "base/array.h"

/* Default_Ignorable_Code_Point of Unicode, U+2028, U+2029, and interlinear annotations; sorted. */
static const struct {
    int32_t first;
    int32_t last;
} invisible[] = {
    {0x00ad, 0x00ad},   {0x034f, 0x034f},   {0x061c, 0x061c}, {0x115f, 0x1160}, {0x17b4, 0x17b5},
    {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164},
    {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

bool ik_invisible(int32_t code)
{
    for (size_t i = 0; i < IK_LENGTH(invisible) && code >= invisible[i].first; i++) {
        if (code <= invisible[i].last) {
            return true;
        }
    }
    return false;
}

enum {
    JOINED = 1 << 0,    /* by U+200C and U+200D, in words or emoji */
    STYLED = 1 << 1,    /* by U+FE0E and U+FE0F, as text or emoji */
    VARIED = 1 << 2,    /* by the other variation selectors, in shape */
    MONGOLIAN = 1 << 3, /* by the Mongolian variation selectors */
};

/* The blocks that use them, sorted. Latin, Greek and Cyrillic do not, so no invisible character can
 * hide in a name or an address. */
static const struct {
    int32_t first;
    int32_t last;
    unsigned uses;
} users[] = {
    {0x00a9, 0x00a9, STYLED},
    {0x00ae, 0x00ae, STYLED},
    {0x0600, 0x0fff, JOINED}, /* Arabic, Syriac, the scripts of India, Tibetan */
    {0x1000, 0x109f, JOINED | VARIED},
    {0x1700, 0x17ff, JOINED},
    {0x1800, 0x18af, JOINED | MONGOLIAN},
    {0x1900, 0x1cff, JOINED},
    {0x203c, 0x203c, STYLED},
    {0x2049, 0x2049, STYLED},
    {0x2100, 0x214f, STYLED},
    {0x2190, 0x21ff, JOINED | STYLED},
    {0x2200, 0x22ff, VARIED},
    {0x2300, 0x23ff, STYLED},
    {0x24c2, 0x24c2, STYLED},
    {0x25a0, 0x25ff, STYLED},
    {0x2600, 0x27bf, JOINED | STYLED},
    {0x2900, 0x297f, STYLED},
    {0x2b00, 0x2bff, JOINED | STYLED},
    {0x3001, 0x3002, VARIED},
    {0x3030, 0x303d, STYLED},
    {0x3297, 0x3299, STYLED},
    {0x3400, 0x9fff, VARIED},
    {0xa800, 0xabff, JOINED},
    {0xf900, 0xfaff, VARIED},
    {0xfb50, 0xfdff, JOINED},
    {0xfe0f, 0xfe0f, JOINED}, /* an emoji with a style can be joined as well */
    {0xfe70, 0xfefc, JOINED},
    {0x10a00, 0x11fff, JOINED},
    {0x1e900, 0x1e95f, JOINED},
    {0x1f000, 0x1faff, JOINED | STYLED},
    {0x20000, 0x3ffff, VARIED},
};

static unsigned uses_of(int32_t code)
{
    if (code == IK_INVISIBLE_ANY) {
        return ~0U;
    }
    for (size_t i = 0; i < IK_LENGTH(users) && code >= users[i].first; i++) {
        if (code <= users[i].last) {
            return users[i].uses;
        }
    }
    return 0;
}

static bool is_joiner(int32_t code)
{
    return code == 0x200c || code == 0x200d;
}

/* The use that the previous character must have for this one to fit. */
static unsigned use_of(int32_t code)
{
    if (is_joiner(code)) {
        return JOINED;
    }
    if (code == 0xfe0e || code == 0xfe0f) {
        return STYLED;
    }
    if ((code >= 0xfe00 && code <= 0xfe0d) || (code >= 0xe0100 && code <= 0xe01ef)) {
        return VARIED;
    }
    return (code >= 0x180b && code <= 0x180d) || code == 0x180f ? MONGOLIAN : 0;
}

enum { KEY_CAP = 0x20e3 };

ik_invisible_fit_t ik_invisible_after(int32_t previous, int32_t code)
{
    /* A key cap is one of these characters, U+FE0F and U+20E3. */
    bool is_on_key = (previous >= '0' && previous <= '9') || previous == '#' || previous == '*';
    if (code == 0xfe0f && is_on_key) {
        return IK_INVISIBLE_DEPENDS;
    }
    if ((uses_of(previous) & use_of(code)) == 0) {
        return IK_INVISIBLE_STRAY;
    }
    return is_joiner(code) ? IK_INVISIBLE_DEPENDS : IK_INVISIBLE_FITS;
}

bool ik_invisible_fits_before(int32_t code, int32_t next)
{
    if (is_joiner(code)) {
        return (uses_of(next) & JOINED) != 0 && !ik_invisible(next);
    }
    return next == KEY_CAP || next == IK_INVISIBLE_ANY;
}
