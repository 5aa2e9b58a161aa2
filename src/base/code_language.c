#include "base/code_language.h"

#include "base/array.h"

#define C_KEYWORDS                                                                                 \
    " auto break case char const continue default do double else enum extern float for goto if "   \
    "inline int long register restrict return short signed sizeof static struct switch typedef "   \
    "union unsigned void volatile while bool true false NULL nullptr _Bool _Atomic _Generic "      \
    "_Noreturn _Static_assert alignas alignof static_assert thread_local "
#define JS_KEYWORDS                                                                                \
    " async await break case catch class const continue debugger default delete do else export "   \
    "extends false finally for from function get if import in instanceof let new null of return "  \
    "set static super switch this throw true try typeof undefined var void while with yield "

const ik_code_language_t ik_code_languages[] = {
    {
        .names = " c h ",
        .keywords = C_KEYWORDS,
        .line_comment = "//",
        .block_open = "/*",
        .block_close = "*/",
        .quotes = "\"'",
        .escapes = true,
        .directives = true,
    },
    {
        .names = " cpp c++ cc cxx hpp hh hxx objc m mm ",
        .keywords = C_KEYWORDS
        "catch class co_await co_return co_yield concept consteval constexpr constinit decltype "
        "delete explicit export final friend mutable namespace new noexcept operator override "
        "private protected public requires template this throw try typeid typename using virtual ",
        .line_comment = "//",
        .block_open = "/*",
        .block_close = "*/",
        .quotes = "\"'",
        .escapes = true,
        .directives = true,
    },
    {
        .names = " rust rs ",
        .keywords = " as async await break const continue crate dyn else enum extern false fn for "
                    "if impl in let loop match mod move mut pub ref return self Self static struct "
                    "super trait true type union unsafe use where while bool char str String u8 "
                    "u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 ",
        .line_comment = "//",
        .block_open = "/*",
        .block_close = "*/",
        .quotes = "'",
        .long_quotes = "\"",
        .escapes = true,
        .lifetimes = true,
        .raw_strings = true,
    },
    {
        .names = " go golang ",
        .keywords = " break case chan const continue default defer else fallthrough for func go "
                    "goto if import interface map package range return select struct switch type "
                    "var any bool byte error false float32 float64 int int8 int16 int32 int64 iota "
                    "nil rune string true uint uint8 uint16 uint32 uint64 uintptr append cap close "
                    "copy delete len make new panic recover ",
        .line_comment = "//",
        .block_open = "/*",
        .block_close = "*/",
        .quotes = "\"'",
        .long_quotes = "`",
        .escapes = true,
    },
    {
        .names = " java kotlin kt scala cs csharp swift ",
        .keywords =
            " abstract as assert boolean break byte case catch char class const continue default "
            "do double else enum extends false final finally float for fun func goto guard if "
            "implements import in instanceof int interface internal is let long match namespace "
            "native new null object override package private protected public record return short "
            "static string struct super switch synchronized this throw throws transient true try "
            "using val var void volatile when while with yield ",
        .line_comment = "//",
        .block_open = "/*",
        .block_close = "*/",
        .quotes = "\"'",
        .escapes = true,
        .triple_quotes = true,
    },
    {
        .names = " js javascript jsx mjs cjs node ",
        .keywords = JS_KEYWORDS,
        .line_comment = "//",
        .block_open = "/*",
        .block_close = "*/",
        .quotes = "\"'",
        .long_quotes = "`",
        .word_marks = "$",
        .escapes = true,
    },
    {
        .names = " ts typescript tsx mts cts ",
        .keywords = JS_KEYWORDS
        "abstract any as asserts bigint boolean declare enum implements infer interface is keyof "
        "namespace never number object override private protected public readonly satisfies string "
        "symbol type unique unknown ",
        .line_comment = "//",
        .block_open = "/*",
        .block_close = "*/",
        .quotes = "\"'",
        .long_quotes = "`",
        .word_marks = "$",
        .escapes = true,
    },
    {
        .names = " python py python3 pyi ",
        .keywords =
            " False None True and as assert async await break case class continue def del elif "
            "else except finally for from global if import in is lambda match nonlocal not or pass "
            "raise return self try while with yield ",
        .line_comment = "#",
        .quotes = "\"'",
        .escapes = true,
        .triple_quotes = true,
    },
    {
        .names = " sh bash shell zsh console shell-session fish ksh ",
        .keywords = " case do done elif else esac export fi for function if in local readonly "
                    "return select set shift then time trap unset until while cd echo exit source ",
        .line_comment = "#",
        .long_quotes = "\"'",
        .word_marks = "-",
        .escapes = true,
        .comment_alone = true,
    },
    {
        .names = " json jsonc json5 jsonl ndjson ",
        .keywords = " true false null ",
        .line_comment = "//",
        .quotes = "\"",
        .escapes = true,
        .keys = true,
    },
    {
        .names = " yaml yml toml ini conf cfg ",
        .keywords = " true false null yes no on off ",
        .line_comment = "#",
        .quotes = "\"'",
        .word_marks = "-",
        .escapes = true,
        .comment_alone = true,
        .keys = true,
    },
    {
        .names = " sql sqlite postgresql postgres mysql pgsql ",
        .keywords =
            " add all alter analyze and any as asc begin between bigint blob boolean by cascade "
            "case check collate column commit conflict constraint create cross current_timestamp "
            "default delete desc distinct do drop else end except exists explain foreign from full "
            "function group having if in index inner insert int integer intersect into is join "
            "jsonb key language left like limit not nothing null offset on or order outer "
            "partition pragma primary real references replace returning returns right rollback "
            "select set table temporary text then to transaction trigger union unique update using "
            "values varchar view virtual when where with ",
        .line_comment = "--",
        .block_open = "/*",
        .block_close = "*/",
        .long_quotes = "'\"",
        .any_case = true,
    },
    {
        .names = " html htm xml svg xhtml vue ",
        .keywords = " ",
        .block_open = "<!--",
        .block_close = "-->",
        .long_quotes = "\"'",
        .word_marks = "-",
        .markup = true,
    },
    {
        .names = " css scss less ",
        .keywords = " @media @import @supports @keyframes @font-face @layer @container @page "
                    "important inherit initial unset none auto var calc ",
        .block_open = "/*",
        .block_close = "*/",
        .quotes = "\"'",
        .word_marks = "-@",
        .escapes = true,
        .keys = true,
    },
};

const size_t ik_code_language_count = IK_LENGTH(ik_code_languages);
