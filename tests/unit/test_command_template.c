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
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_str_eq(fill(rows[i].body, rows[i].arguments), rows[i].filled);
    }
}
END_TEST

START_TEST(only_numbers_are_computed_with)
{
    ik_template_t *filled;
    const char *body = "!`echo $(( $1 ))`";
    res_t result = ik_command_template_fill(ctx, body, strlen(body), "a[$(id)]", &filled);
    ck_assert_int_eq(result.code, IK_ERR_INVALID);
}
END_TEST

/* Runs filled commands in a shell: whatever the quotes, an argument is printed and not executed. */
START_TEST(an_argument_is_never_code)
{
    static const char *const bodies[] = {
        "printf '[%s]' $1",
        "printf '[%s]' \"$1\"",
        "printf '[%s]' '$1'",
        "printf '[%s]' \"\"$1''",
        "printf '[%s]' \"$(echo \"$1\")\"",
        "printf '[%s]' \"$(echo '$1')\"",
        "printf '[%s]' \"${x:-$1}\"",
        "printf '[%s]' \"`",
        "# don't\nprintf '[%s]' $1",
    };
    static const char *const values[] = {
        "; echo HACKED",        "$(echo HACKED)",        "`echo HACKED`",
        "' ; echo HACKED ; '",  "\" ; echo HACKED ; \"", "\\'; echo HACKED #",
        "\\\"; echo HACKED #",  "&& echo HACKED",        "\n echo HACKED\n",
        "${x:-$(echo HACKED)}", "| echo HACKED",         "* ? [a-z]",
    };
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        for (size_t j = 0; j < sizeof(values) / sizeof(values[0]); j++) {
            /* the typed text quotes the value, so that it is one argument */
            char quote = strchr(values[j], '\'') == NULL ? '\'' : '"';
            if (quote == '"' && strchr(values[j], '"') != NULL) {
                continue;
            }
            char *typed = ik_sprintf(ctx, "%c%s%c", quote, values[j], quote);
            char *body = ik_sprintf(ctx, "!`%s`", bodies[i]);
            ik_template_t *filled;
            res_t result = ik_command_template_fill(ctx, body, strlen(body), typed, &filled);
            ck_assert(is_ok(&result));
            if (filled->parts[0].kind != IK_TEMPLATE_SHELL) {
                continue; /* not closed */
            }
            FILE *script = tmpfile();
            fputs(filled->parts[0].text, script);
            rewind(script);
            char *command = ik_sprintf(ctx, "sh /dev/fd/%d 2>&1", fileno(script));
            FILE *shell = popen(command, "r");
            char output[4096];
            size_t len = fread(output, 1, sizeof(output) - 1, shell);
            output[len] = '\0';
            pclose(shell);
            fclose(script);
            for (char *at = output; (at = strstr(at, "HACKED")) != NULL; at++) {
                /* as part of the argument it follows the word echo */
                ck_assert_msg(at - output >= 5 && strncmp(at - 5, "echo ", 5) == 0,
                              "%s with %s printed %s", bodies[i], values[j], output);
            }
            ck_assert_msg(len > 0, "%s with %s printed nothing", bodies[i], values[j]);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("command_template");
    TCase *cases = tcase_create("all");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, texts);
    tcase_add_test(cases, commands_that_read_as_they_run);
    tcase_add_test(cases, other_commands_get_parameters);
    tcase_add_test(cases, only_numbers_are_computed_with);
    tcase_add_test(cases, an_argument_is_never_code);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
