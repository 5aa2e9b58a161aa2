#include "terminal/markdown_entity.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"

typedef struct {
    const char *name;
    uint32_t code;
} entity_t;

/* Sorted bytewise. The standard has two thousand; these are the ones that occur in prose. */
static const entity_t entities[] = {
    {"AMP", '&'},       {"Alpha", 0x391},   {"Beta", 0x392},    {"Delta", 0x394},
    {"GT", '>'},        {"Gamma", 0x393},   {"LT", '<'},        {"Lambda", 0x39b},
    {"Omega", 0x3a9},   {"Phi", 0x3a6},     {"Pi", 0x3a0},      {"Psi", 0x3a8},
    {"QUOT", '"'},      {"Sigma", 0x3a3},   {"Theta", 0x398},   {"alpha", 0x3b1},
    {"amp", '&'},       {"and", 0x2227},    {"apos", '\''},     {"approx", 0x2248},
    {"ast", '*'},       {"asymp", 0x2248},  {"beta", 0x3b2},    {"bull", 0x2022},
    {"cap", 0x2229},    {"cent", 0xa2},     {"check", 0x2713},  {"chi", 0x3c7},
    {"colon", ':'},     {"comma", ','},     {"copy", 0xa9},     {"cross", 0x2717},
    {"cup", 0x222a},    {"curren", 0xa4},   {"dArr", 0x21d3},   {"dagger", 0x2020},
    {"darr", 0x2193},   {"deg", 0xb0},      {"delta", 0x3b4},   {"divide", 0xf7},
    {"dollar", '$'},    {"emsp", 0x2003},   {"ensp", 0x2002},   {"epsilon", 0x3b5},
    {"equals", '='},    {"equiv", 0x2261},  {"eta", 0x3b7},     {"euro", 0x20ac},
    {"excl", '!'},      {"exist", 0x2203},  {"forall", 0x2200}, {"frac12", 0xbd},
    {"frac14", 0xbc},   {"frac34", 0xbe},   {"gamma", 0x3b3},   {"ge", 0x2265},
    {"gt", '>'},        {"hArr", 0x21d4},   {"harr", 0x2194},   {"hearts", 0x2665},
    {"hellip", 0x2026}, {"iexcl", 0xa1},    {"infin", 0x221e},  {"int", 0x222b},
    {"iota", 0x3b9},    {"iquest", 0xbf},   {"isin", 0x2208},   {"kappa", 0x3ba},
    {"lArr", 0x21d0},   {"lambda", 0x3bb},  {"laquo", 0xab},    {"larr", 0x2190},
    {"lbrace", '{'},    {"lbrack", '['},    {"ldquo", 0x201c},  {"le", 0x2264},
    {"lowbar", '_'},    {"lpar", '('},      {"lsaquo", 0x2039}, {"lsqb", '['},
    {"lsquo", 0x2018},  {"lt", '<'},        {"mdash", 0x2014},  {"micro", 0xb5},
    {"middot", 0xb7},   {"minus", 0x2212},  {"mu", 0x3bc},      {"nabla", 0x2207},
    {"nbsp", 0xa0},     {"ndash", 0x2013},  {"ne", 0x2260},     {"not", 0xac},
    {"notin", 0x2209},  {"nu", 0x3bd},      {"num", '#'},       {"omega", 0x3c9},
    {"or", 0x2228},     {"para", 0xb6},     {"part", 0x2202},   {"percnt", '%'},
    {"period", '.'},    {"phi", 0x3c6},     {"pi", 0x3c0},      {"plus", '+'},
    {"plusmn", 0xb1},   {"pound", 0xa3},    {"prime", 0x2032},  {"prod", 0x220f},
    {"psi", 0x3c8},     {"quest", '?'},     {"quot", '"'},      {"rArr", 0x21d2},
    {"radic", 0x221a},  {"raquo", 0xbb},    {"rarr", 0x2192},   {"rbrace", '}'},
    {"rbrack", ']'},    {"rdquo", 0x201d},  {"reg", 0xae},      {"rho", 0x3c1},
    {"rpar", ')'},      {"rsaquo", 0x203a}, {"rsqb", ']'},      {"rsquo", 0x2019},
    {"sect", 0xa7},     {"semi", ';'},      {"sigma", 0x3c3},   {"sol", '/'},
    {"starf", 0x2605},  {"sub", 0x2282},    {"sube", 0x2286},   {"sum", 0x2211},
    {"sup", 0x2283},    {"sup1", 0xb9},     {"sup2", 0xb2},     {"sup3", 0xb3},
    {"supe", 0x2287},   {"szlig", 0xdf},    {"tau", 0x3c4},     {"theta", 0x3b8},
    {"thinsp", 0x2009}, {"times", 0xd7},    {"trade", 0x2122},  {"uArr", 0x21d1},
    {"uarr", 0x2191},   {"vert", '|'},      {"xi", 0x3be},      {"yen", 0xa5},
    {"zeta", 0x3b6},
};

typedef struct {
    const char *text;
    size_t len;
} name_t;

static int compare(const void *key, const void *element)
{
    const name_t *wanted = key;
    const entity_t *entity = element;
    int order = strncmp(wanted->text, entity->name, wanted->len);
    return order != 0 ? order : -(entity->name[wanted->len] != '\0');
}

/* md4c accepts at most seven decimal or six hexadecimal digits, so the number cannot overflow. */
static uint32_t parse_number(const char *digits, size_t len)
{
    bool hex = len > 0 && (digits[0] == 'x' || digits[0] == 'X');
    char number[16] = "";
    if (len >= sizeof(number)) {
        return 0;
    }
    memcpy(number, digits + hex, len - hex);
    return (uint32_t)strtoul(number, NULL, hex ? 16 : 10);
}

size_t ik_markdown_entity_decode(char out[IK_MARKDOWN_ENTITY_MAX], const char *text, size_t len)
{
    if (len < 4 || text[0] != '&' || text[len - 1] != ';') {
        return 0;
    }
    uint32_t code = 0;
    if (text[1] == '#') {
        code = parse_number(text + 2, len - 3);
    } else {
        name_t name = {.text = text + 1, .len = len - 2};
        const entity_t *found =
            bsearch(&name, entities, IK_LENGTH(entities), sizeof(entities[0]), compare);
        code = found == NULL ? 0 : found->code;
    }
    bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
    return code == 0 || code > 0x10ffff || is_surrogate ? 0 : ik_utf8_encode(out, code);
}
