#include "extend/command_template.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "suite.h"

static void *ctx;

static void set_up(void)
{
    ctx = talloc_new(NULL);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

/* The parts as one text: "text", "<@path>", "<!command>". */
static const char *fill(const char *body, const char *arguments)
{
    ik_template_t *filled;
    ik_buffer_t out;
    res_t result = ik_command_template_fill(ctx, body, strlen(body), arguments, &filled);
    ck_assert_msg(is_ok(&result), "%s: %s", body, result.message);
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&out, "");
    for (size_t i = 0; i < filled->count; i++) {
        const ik_template_part_t *part = &filled->parts[i];
        ck_assert_uint_eq(strlen(part->text), part->len);
        ik_buffer_append_format(&out,
                                part->kind == IK_TEMPLATE_TEXT   ? "%s"
                                : part->kind == IK_TEMPLATE_FILE ? "<@%s>"
                                                                 : "<!%s>",
                                part->text);
    }
    return ik_buffer_finish(&out);
}

START_TEST(texts)
{
    static const struct {
        const char *body;
        const char *arguments;
        const char *filled;
    } rows[] = {
        {"A $1 B $2 C $ARGUMENTS", "x \"y z\" w", "A x B y z C x \"y z\" w"},
        {"$@", "  a  b ", "a  b"},
        {"Hi $1", "!`id`", "Hi !`id`"},
        {"Hi $1", "$2 x", "Hi $2"},
        {"Hi $1", "@file", "Hi @file"},
        {"Hi $1!", "", "Hi !"},
        {"$10 $1", "a b c d e f g h i j", "j a"},
        {"$0 $99999999999999999999", "a", " "},
        {"\\$1 costs $$ and \\$ARGUMENTS $x $", "a", "$1 costs $$ and $ARGUMENTS $x $\n\na"},
        {"$ARGUMENTS_X $ARGUMENTS2", "a", "$ARGUMENTS_X $ARGUMENTS2\n\na"},
        {"$$1", "a", "$a"},
        {"\n\nno placeholder \n\n", "a 'b", "no placeholder\n\na 'b"},
        {"no placeholder", " ", "no placeholder"},
        {"", "a", "\n\na"},
        {"See @src/a.c and me@x.org @", "", "See <@src/a.c> and me@x.org @"},
        {"@$1 (@b) @@c", "x.c", "<@x.c> (@b) @@c"},
        {"@src/$1.c\n@$2", "x", "<@src/x.c>\n<@>"},
        {"!`` !`open $1", "a", "!`` !`open a"},
        {"Status: !`git status`.", "", "Status: <!git status>."},
        {"!`date`", "now", "<!date>\n\nnow"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_str_eq(fill(rows[i].body, rows[i].arguments), rows[i].filled);
    }
}
END_TEST

START_TEST(values_are_bounded)
{
    static const char *const bodies[] = {"$@ ", "@$@", "!`echo $@`", "!`x=\"$@\"; echo $x`"};
    size_t len = 100 * 1000;
    char *argument = ik_alloc_array(ctx, 1, len + 1, "argument");
    memset(argument, 'x', len);
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        ik_buffer_t body;
        ik_template_t *filled;
        ik_buffer_init(&body, ctx, IK_BUFFER_UNLIMITED);
        for (int n = 0; n < 1000; n++) {
            ik_buffer_append_text(&body, bodies[i]);
        }
        res_t result = ik_command_template_fill(ctx, body.data, body.len, argument, &filled);
        ck_assert_int_eq(result.code, IK_ERR_LIMIT);
        ck_assert_str_eq(result.message, "With these arguments its text is longer than 16 MB");
    }
    ck_assert_uint_eq(strlen(fill("$1 $1", argument)), 2 * len + 1);
}
END_TEST

START_TEST(commands_that_read_as_they_run)
{
    static const struct {
        const char *body;
        const char *arguments;
        const char *filled;
    } rows[] = {
        {"!`git log $1`", ";rm", "<!git log ';rm'>"},
        {"!`git log $1`", "it's", "<!git log 'its'>"},
        {"!`git log $1`", "\"it's\"", "<!git log 'it'\\''s'>"},
        {"!`git log \"$1\"`", "'a\"$(id)`\\'", "<!git log \"a\\\"\\$(id)\\`\\\\\">"},
        {"!`git log '$1'`", "\"a'b\"", "<!git log 'a'\\''b'>"},
        {"!`git log --x=$1`", "'a b'", "<!git log --x='a b'>"},
        {"!`git log $1 $2`", "a", "<!git log 'a' >"},
        {"!`git log $1`", "\"\"", "<!git log ''>"},
        {"!`git log $ARGUMENTS`", "a 'b c'", "<!git log 'a' 'b c'>"},
        {"!`git log \"$ARGUMENTS\"`", "a 'b c'", "<!git log \"a 'b c'\">"},
        {"!`awk '{print \\$1}' $1`", "f", "<!awk '{print $1}' 'f'>"},
        {"!`echo $HOME \\\\$1`", "a", "<!echo $HOME \\\\'a'>"},
        {"!`echo $HOME/$1$2 '$$1$X$1'`", "a b", "<!echo $HOME/'a''b' '$a$Xa'>"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_str_eq(fill(rows[i].body, rows[i].arguments), rows[i].filled);
    }
}
END_TEST

START_TEST(other_commands_get_parameters)
{
    static const struct {
        const char *body;
        const char *arguments;
        const char *filled;
    } rows[] = {
        {"!`echo \"$(cat \"$1\" '$2')\"`", "a 'b c'",
         "<!set -- 'a' 'b c' 'a '\\''b c'\\'''\necho \"$(cat \"${1}\" ''\"${2}\"'')\">"},
        {"!`echo $(cat $ARGUMENTS)`", "a b",
         "<!set -- 'a' 'b' 'a b'\necho $(cat \"${1}\" \"${2}\")>"},
        {"!`cat <<X\n$ARGUMENTS\nX`", "", "<!set -- ''\ncat <<X\n${1}\nX>"},
        {"!`cat <<X; echo $1\n'$1' \"$2\" $ARGUMENTS.\nX\necho '$1' $ARGUMENTS`", "a b",
         "<!set -- 'a' 'b' 'a b'\ncat <<X; echo \"${1}\"\n'${1}' \"${2}\" ${3}.\nX\n"
         "echo ''\"${1}\"'' \"${1}\" \"${2}\">"},
        {"!`cat <<-  END\n\t$1\n\tEND\necho $1`", "x",
         "<!set -- 'x' 'x'\ncat <<-  END\n\t${1}\n\tEND\necho \"${1}\">"},
        {"!`cat <<'X'\nX Y\nX\necho $1`", "x",
         "<!set -- 'x' 'x'\ncat <<'X'\nX Y\nX\necho \"${1}\">"},
        {"!`cat <<<$1\necho $1`", "x", "<!set -- 'x' 'x'\ncat <<<\"${1}\"\necho \"${1}\">"},
        {"!`echo $(($1 + 1))`", "-2", "<!set -- '-2' '-2'\necho $((${1} + 1))>"},
        {"!`echo $(date)`", "", "<!echo $(date)>"},
        {"!`echo \"\\$$1\"`", "(id)", "<!set -- '(id)' '(id)'\necho \"\\$${1}\">"},
        {"!`echo $$1`", "a", "<!set -- 'a' 'a'\necho \\$\"${1}\">"},
        {"!`echo \"$X$1\"`", "a", "<!set -- 'a' 'a'\necho \"$X${1}\">"},
        {"!`echo \"$X$2b\"`", "a", "<!set -- 'a' 'a'\necho \"$X${3-}b\">"},
        {"!`echo $X$@b`", "", "<!set -- ''\necho $X${2-}b>"},
        {"!`cat <<X\n\\\\$$1\nX`", "a", "<!set -- 'a' 'a'\ncat <<X\n\\\\\\$${1}\nX>"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_str_eq(fill(rows[i].body, rows[i].arguments), rows[i].filled);
    }
}
END_TEST

static int code_of(const char *body, const char *arguments)
{
    ik_template_t *filled;
    return ik_command_template_fill(ctx, body, strlen(body), arguments, &filled).code;
}

START_TEST(only_numbers_are_computed_with)
{
    ck_assert_int_eq(code_of("!`echo $(( $1 ))`", "x=1"), IK_ERR_INVALID);
    ck_assert_int_eq(code_of("!`echo \\$(( $1 ))`", "x=1"), IK_ERR_INVALID);
    ck_assert_int_eq(code_of("!`echo \\$(( $1 ))`", "+12"), OK.code);
}
END_TEST

/* Only what could run is refused: a value with "$" or "`" beside a bracket, in such a command. */
START_TEST(other_values_are_not_refused)
{
    ck_assert_int_eq(code_of("!`grep -e $1 *.c`", "'[a-z]$'"), OK.code);
    ck_assert_int_eq(code_of("!`git commit -m \"$ARGUMENTS\"`", "[parser] read `x`"), OK.code);
    ck_assert_int_eq(code_of("!`[ -f $1 ] && cat $1`", "a[$x]"), OK.code);
    ck_assert_int_eq(code_of("!`[[ -f $1 ]] && cat $1`", "a[1]"), OK.code);
    ck_assert_int_eq(code_of("!`grep -v $1 already`", "'a$'"), OK.code);
    ck_assert_int_eq(code_of("!`[[ a = b ]]` $1", "a[$x]"), OK.code);
}
END_TEST

/* The shells that /bin/sh may be. */
static const char *const shells[] = {"sh", "bash --posix"};

/* What the shell prints for the command, stderr included. */
static const char *run(const char *shell, const char *command)
{
    FILE *script = tmpfile();
    fputs(command, script);
    rewind(script);
    FILE *started = popen(ik_sprintf(ctx, "exec %s /dev/fd/%d 2>&1", shell, fileno(script)), "r");
    char output[4096];
    size_t len = fread(output, 1, sizeof(output) - 1, started);
    pclose(started);
    fclose(script);
    return ik_strndup(ctx, output, len);
}

/* Fills the command and requires that the argument, where it is not refused, is not executed:
 * HACKED then follows the word echo, as it does in the argument. Returns what was printed, NULL for
 * a refusal. */
static const char *run_with(const char *shell, const char *command, const char *value)
{
    /* the typed text quotes the value, so that it is one argument */
    char quote = strchr(value, '\'') == NULL ? '\'' : '"';
    char *typed = ik_sprintf(ctx, "%c%s%c", quote, value, quote);
    char *body = ik_sprintf(ctx, "!`%s`", command);
    ik_template_t *filled;
    res_t result = ik_command_template_fill(ctx, body, strlen(body), typed, &filled);
    if (is_err(&result)) {
        return NULL;
    }
    const char *output = run(shell, filled->parts[0].text);
    for (const char *at = output; (at = strstr(at, "HACKED")) != NULL; at++) {
        ck_assert_msg(at - output >= 5 && strncmp(at - 5, "echo ", 5) == 0,
                      "%s: %s with %s printed %s", shell, command, value, output);
    }
    return output;
}

/* Whatever the quotes, the argument is printed. */
START_TEST(an_argument_is_never_code)
{
    static const struct {
        const char *command;
        const char *before; /* the argument */
        const char *after;
    } rows[] = {
        {"printf '[%s]' $1", "[", "]"},
        {"printf '[%s]' \"$1\"", "[", "]"},
        {"printf '[%s]' '$1'", "[", "]"},
        {"printf '[%s]' \"\"$1''", "[", "]"},
        {"printf '[%s]' \"$(printf %s \"$1\")\"", "[", "]"},
        {"printf '[%s]' \"$(printf %s '$1')\"", "[", "]"},
        {"printf '<%s>' \"${x:-$1}\"", "<", ">"},
        {"printf '[%s]' \"costs \\$$1\"", "[costs $", "]"},
        {"printf '[%s]' \"$$1\"", "[$", "]"},
        {"printf '[%s]' \"$$2$1\"", "[$", "]"},
        {"printf '[%s]' '$$1'", "[$", "]"},
        {"printf '[%s]' $$1", "[$", "]"},
        {"printf '[%s]' \\$$1", "[$", "]"},
        {"printf '[%s]' \"$$1$(echo)\"", "[$", "]"},
        {"X=abc; printf '[%s]' \"$X$1\"", "[abc", "]"},
        {"X=abc; printf '[%s]' \"\\$X$1\"", "[abc", "]"},
        {"X=abc; printf '[%s]' $X$1", "[abc", "]"},
        {"X=abc; printf '[%s]' \"$X$2d$1\"", "[abcd", "]"},
        {"printf '[%s]' $2#$1", "[#", "]"},
        {"# don't\nprintf '[%s]' $1", "[", "]"},
        {"printf '[#%s]' $1 # \"it's $1 <<X", "[#", "]"},
        {"printf '[%s]' \"$(: # (don't\nprintf %s $1)\"", "[", "]"},
        {"cat <<X\n<$1>\nX", "<", ">\n"},
        {"cat <<X # don't\n# don't <$1>\nX", "# don't <", ">\n"},
        {"cat <<X\n$$1\nX", "$", "\n"},
        {"cat <<X\n\\\\\\$$1\nX", "\\$", "\n"},
    };
    static const char *const values[] = {
        "; echo HACKED",
        "$(echo HACKED)",
        "`echo HACKED`",
        "' ; echo HACKED ; '",
        "\" ; echo HACKED ; \"",
        "\\'; echo HACKED #",
        "\\\"; echo HACKED #",
        "&& echo HACKED",
        "\n echo HACKED\n.",
        "${x:-$(echo HACKED)}",
        "| echo HACKED",
        "* ? [a-z]",
        "(echo HACKED)",
        "{x:-$(echo HACKED)}",
        "((a[$(echo HACKED)]))",
        "\\';echo HACKED #",
        "def",
        "1",
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (size_t j = 0; j < sizeof(values) / sizeof(values[0]); j++) {
            bool refused = strstr(rows[i].command, "${") != NULL && strchr(values[j], '[') != NULL;
            for (size_t k = 0; k < sizeof(shells) / sizeof(shells[0]); k++) {
                const char *output = run_with(shells[k], rows[i].command, values[j]);
                if (output != NULL || !refused) {
                    ck_assert_str_eq(output, ik_sprintf(ctx, "%s%s%s", rows[i].before, values[j],
                                                        rows[i].after));
                }
            }
        }
    }
}
END_TEST

/* Where a shell evaluates values as expressions, an argument with a command in it is refused. */
START_TEST(an_argument_is_no_expression)
{
    static const char *const commands[] = {
        "(( $1 > 3 ))",
        "[[ $1 -eq 3 ]]",
        "[[ -v $1 ]]",
        "[ -v $1 ]",
        "test -v \"$1\"",
        "let y=$1",
        "let y[$1]=1",
        "echo $[ $1 ]",
        "echo \\$[ $1 ]",
        "echo $(($1 + 1))",
        "echo \\$(($1 + 1))",
        "x=$1; echo $((x))",
        "cat <<X\n$(($1))\nX",
        "for ((i = $1; i < 1; i++)); do :; done",
        "x=1; echo ${x[$1]}",
        "x=1; echo \\${x:$1}",
        "x=$1; echo ${!x}",
        "x[$1]=3",
        "x=([$1]=3)",
        "x=( [$1]=3 )",
        "printf -v \"$1\" x",
        "read \"$1\" </dev/null",
        "read \"x[$1]\" </dev/null",
        "mapfile a </dev/null; unset \"$1\"",
        "declare \"$1=2\"",
        "typeset -i x; x=$1",
        "f() { local \"$1=2\"; }; f",
        "true & wait -n -p \"$1\"",
        "RANDOM=$1",
        "OPTIND=$1",
        "HISTCMD=$1",
        "SRANDOM=$1",
    };
    static const char *const values[] = {
        "a[$(echo HACKED >&2)]",
        "$(echo HACKED >&2)",
        "`echo HACKED >&2`",
        "a[`echo HACKED >&2`]",
    };
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        for (size_t j = 0; j < sizeof(values) / sizeof(values[0]); j++) {
            run_with("bash --posix", commands[i], values[j]);
        }
        ck_assert_ptr_null(run_with("sh", commands[i], values[0]));
    }
    ck_assert_int_eq(code_of("!`(( $1$2 ))`", "'a[$' '(id)]'"), IK_ERR_INVALID);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("command_template");
    TCase *cases = tcase_create("all");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, texts);
    tcase_add_test(cases, values_are_bounded);
    tcase_add_test(cases, commands_that_read_as_they_run);
    tcase_add_test(cases, other_commands_get_parameters);
    tcase_add_test(cases, only_numbers_are_computed_with);
    tcase_add_test(cases, other_values_are_not_refused);
    tcase_add_test(cases, an_argument_is_never_code);
    tcase_add_test(cases, an_argument_is_no_expression);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
