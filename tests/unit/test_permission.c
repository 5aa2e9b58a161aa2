/* Rules about tool calls, and the words of shell commands that they test. */
#include <check.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "permission/permission_gate.h"
#include "permission/shell_words.h"
#include "scratch.h"
#include "suite.h"

static void *ctx;
static ik_paths_t paths;
static ik_tool_registry_t *registry;

static void add_tool(const char *name, const char *parameter)
{
    char *text = ik_sprintf(ctx,
                            "{\"name\":\"%s\",\"description\":\"d\",\"parameters\":{\"type\":"
                            "\"object\",\"properties\":{\"%s\":{\"type\":\"string\"}},"
                            "\"required\":[\"%s\"]}}",
                            name, parameter, parameter);
    ik_tool_schema_t *schema;
    ck_assert(ik_tool_schema_parse(ctx, text, strlen(text), &schema).code == IK_ERR_NONE);
    ik_tool_registry_add(registry, name, name, IK_TOOL_SYSTEM, false, schema);
}

static void set_up(void)
{
    scratch_empty();
    ctx = talloc_new(NULL);
    paths = (ik_paths_t){.home = ik_sprintf(ctx, "%s/home", scratch_folder),
                         .permissions = ik_sprintf(ctx, "%s/home/permissions.json", scratch_folder),
                         .user_tools = ik_sprintf(ctx, "%s/home/tools", scratch_folder),
                         .rooms = ik_sprintf(ctx, "%s/home/rooms", scratch_folder),
                         .trusted = ik_sprintf(ctx, "%s/home/trusted", scratch_folder),
                         .cwd = ik_sprintf(ctx, "%s/a[b] c", scratch_folder)};
    ck_assert(ik_file_make_private_folder(paths.home).code == IK_ERR_NONE);
    ck_assert(ik_file_make_private_folder(paths.cwd).code == IK_ERR_NONE);
    registry = ik_tool_registry_create(ctx);
    add_tool("bash", "command");
    add_tool("file_write", "file_path");
    add_tool("fetch", "url");
}

static void tear_down(void)
{
    talloc_free(ctx);
}

/* --- words -------------------------------------------------------------------------------- */

/* "a b|c" for a plain or compound list of commands; a plain one begins with '='. */
static const char *split(const char *text)
{
    ik_shell_words_t *words = ik_shell_words_split(ctx, text, strlen(text));
    char *out = ik_strdup(ctx, words->plain ? "=" : "");
    for (size_t i = 0; i < words->count; i++) {
        for (size_t k = 0; k < words->commands[i].count; k++) {
            out = ik_sprintf(ctx, "%s%s[%s]", out, k == 0 && i > 0 ? "|" : "",
                             words->commands[i].words[k]);
        }
    }
    return out;
}

START_TEST(words_of_commands)
{
    static const char *const cases[][2] = {
        {"npm test", "=[npm][test]"},
        {"  npm   test ", "=[npm][test]"},
        {"echo 'a b' \"c d\" e\\ f ''", "=[echo][a b][c d][e f][]"},
        {"echo a\\\nb", "=[echo][ab]"},
        {"echo \"a\\$b\\c\"", "=[echo][a$b\\c]"},
        {"", ""},
        {"a; b", "[a]|[b]"},
        {"a && b || c | d & e", "[a]|[b]|[c]|[d]|[e]"},
        {"a\nb", "[a]|[b]"},
        {"a > f", "[a]"},
        {"a < f", "[a]"},
        {"a 2>&1", "[a]"},
        {"a >f b", "[a][b]"},
        {"a b>f", "[a][b]"},
        {"a \\\n2\\\n>f", "[a]"},
        {"a \"2\">f", "[a][2]"},
        {"a x2>f", "[a][x2]"},
        {"a {fd}>f b", "[a][b]"},
        {"a >>f 2>|g <>h b", "[a][b]"},
        {"a 2>&- <&3 b", "[a][b]"},
        {"a <<<'x y' b", "[a][b]"},
        {"a > \"$(b)\" c", "[a][c]|[b]"},
        {"a < <(b) c", "[a][c]|[b]"},
        {">f a", "[a]"},
        {"X=1 2>f a", "[a]"},
        {"a >f; b", "[a]|[b]"},
        {"a >\nb", "[a]|[b]"},
        {"a &> f b", "[a][b]|[b]"}, /* sh: a & > f b */
        {"a <<E b\nc 'd\nE\ne", "[a][b]|[e]|[c]['d]"},
        {"a <<-'E'; b\n\tc\n\tE\nd", "[a]|[b]|[d]|[c]"},
        {"a <<A <<B\nb\nA\nc\nB\nd", "[a]|[d]|[b]|[c]"},
        {"a <<E\nb \\\nE\nit's\nE\nc", "[a]|[c]|[b][E]|[it's]"},
        {"a <<E\nb \\\\\nE\nc", "[a]|[c]|[b][\\]"},
        {"a <<'E'\nb \\\nE\nc", "[a]|[c]|[b]"},
        {"a <<E\nit's # $(b c)\nE", "[a]|[it's][#][]|[b][c]"},
        {"a <<E\nb", "[a]|[b]"},
        {"a $((1<<2))\nb", "[a][]|[b]"},
        {"a $x", "[a][$x]"},
        {"a \"$x\"", "[a][$x]"},
        /* sh: a variable and quotes; bash: quotes */
        {"$'a\\x20\\142' c", "[$a\\x20\\142][c]|[a b][c]"},
        {"$'\\u00e9\\x{61}\\n\\q\\0z'", "[$\\u00e9\\x{61}\\n\\q\\0z]|[\u00e9a\n\\q]"},
        {"a $'b\\'; c'; d", "[a][$b\\]|[c; d]|[a][b'; c]|[d]"},
        {"a $'\\c'; b", "[a][$\\c]|[b]|[a][\\c]|[b]"},
        {"$\"a\" b", "[$a][b]|[a][b]"},
        {"a \"$'b'\"", "[a][$'b']|[a][$'b']"},
        {"X=1 a", "[a]"},
        {"a $(b c) d", "[a][][d]|[b][c]"},
        {"a \"$(b c)\"; d", "[a][]|[b][c]|[d]"},
        {"a `b c` d", "[a][][d]|[b][c]"},
        {"a \"`b c`\"; d", "[a][]|[b][c]|[d]"},
        {"a `b \\`c \\\\\\`d\\\\\\`\\`` e", "[a][][e]|[b][]|[c][]|[d]"},
        {"a \"`b \\\"c d\\\" '\\\\e'`\"; f", "[a][]|[b][c d][\\e]|[f]"},
        {"a `b \\$(c) '\\d'`", "[a][]|[b][][\\d]|[c]"},
        {"a `b 'c`; d; e `'`", "[a][]|[b][c]|[d]|[e][]|[]"}, /* the first ` ends it */
        {"a `b", "[a][]|[b]"},
        {"a \"$(b \"$(c)\")\"; d", "[a][]|[b][]|[c]|[d]"},
        {"a <(b) >(c)", "[a][][]|[b]|[c]"},
        {"(a; b)", "|[a]|[b]"},
        {"{ a; }", "[a]"},
        {"f() { a b; }; f", "[f]|[a][b]|[f]"},
        {"function f { a b; }", "[f]|[a][b]"},
        {"a '{' b", "=[a][{][b]"},
        {"case a in (a) b;; esac", "[a][in]|[b]|[a]"},
        {"case a in a) b;; esac", "[a][in][a]|[b]"},
        {"a $(case b in c) d;; (e) f;; esac) g", "[a][][g]|[b][in][c]|[d]|[f]|[e]"},
        {"a \"$(case b in c) d;; esac)\"; e", "[a][]|[b][in][c]|[d]|[e]"},
        {"a \"$(case b in esac)\"; e", "[a][]|[b][in][esac]|[e]"},
        {"a \"$(case b in c) case d in e) f;; esac;; g) h; esac)\"; i",
         "[a][]|[b][in][c]|[d][in][e]|[f]|[g]|[h]|[i]"},
        {"a \"$(case b\nin c) d\nesac)\"; e", "[a][]|[b]|[c]|[d]|[e]"},
        {"a \"$(>f case b in)\"; c", "[a][]|[b][in]|[c]"}, /* not reserved words */
        {"a \"$(X=1 case b in)\"; c", "[a][]|[b][in]|[c]"},
        {"a \"$(echo case b in)\"; c", "[a][]|[echo][case][b][in]|[c]"},
        {"a \"$([[ b &&\ncase && in && in ]])\"; c", "[a][]|[b]|[]]]|[c]"},
        {"if (a) then b; fi", "|[b]|[a]"},
        {"time -p a -p", "[a][-p]"},
        {"time -p command -- exec -cl -a b a", "[a]"},
        {"exec -cla b a", "[a]"},
        {"exec -ab a", "[a]"},
        {"command -v a", "[-v][a]"},
        {"coproc a b", "[a][b]"},
        {"if a; then b; fi", "[a]|[b]"},
        {"! a", "[a]"},
        {"a # b; c", "[a]"},
        {"a # b\nc", "[a]|[c]"},
        {"a {b,c}", "[a][{b,c}]"},
        {"a[0]=b c", "[c]|[c]"},
        {"a[i==1]+=b c", "[c]|[c]"},
        {"a[1 + b[2]]=c d; e", "[a[1][+][b[2]]=c][d]|[e]|[d]|[e]"}, /* sh: words */
        {"if a[1<<$(b)]=c d; then e; fi", "[a[1][d]|[b]|[e]|[d]|[b]|[e]"},
        {"a [b ]=c", "[a][[b][]=c]|[a][[b][]=c]"},
        {"a+b=c d", "=[a+b=c][d]"},
        {"{a[0]}>f b", "[b]"},
        {"{a[$b]}>f c", "[c]"},
        {"a 'open", "[a][open]"},
        {"a '$(b)'", "=[a][$(b)]"},
        {"exec a", "[a]"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *got = split(cases[i][0]);
        ck_assert_msg(strcmp(got, cases[i][1]) == 0, "%s: %s, not %s", cases[i][0], got,
                      cases[i][1]);
    }
}
END_TEST

/* --- rules -------------------------------------------------------------------------------- */

static ik_permission_rules_t *load(const char *json)
{
    ik_permission_rules_t *rules;
    ck_assert(ik_file_write_private(paths.permissions, json, strlen(json)).code == IK_ERR_NONE);
    res_t loaded = ik_permission_rules_load(ctx, &paths, NULL, &rules);
    ck_assert_msg(is_ok(&loaded), "%s", loaded.message);
    return rules;
}

static ik_permission_call_t call_of(const char *tool, const char *value)
{
    const ik_tool_registry_entry_t *entry = ik_tool_registry_lookup(registry, tool);
    const char *name = json_string_value(
        json_array_get(json_object_get(entry->schema->parameters, "required"), 0));
    json_t *arguments = json_pack("{s:s}", name, value);
    char *text = json_dumps(arguments, 0);
    ik_permission_call_t call = {.entry = entry, .arguments = ik_strdup(ctx, text)};
    call.arguments_len = strlen(call.arguments);
    free(text);
    json_decref(arguments);
    return call;
}

static bool matches(const char *effect, const char *rule, const char *tool, const char *value,
                    ik_permission_extra_t extra)
{
    json_t *list = json_pack("{s:[s]}", effect, rule);
    char *text = json_dumps(list, 0);
    ik_permission_rules_t *rules = load(text);
    ik_permission_call_t call = call_of(tool, value);
    call.extra = extra;
    free(text);
    json_decref(list);
    return ik_permission_rules_match(rules, &call, NULL) != IK_PERMISSION_NO_RULE;
}

START_TEST(what_a_rule_matches)
{
    static const struct {
        const char *rule, *tool, *value;
        bool allow, deny;
    } cases[] = {
        {"bash", "bash", "anything; at all", true, true},
        {"bash", "fetch", "x", false, false},
        {"Bash", "bash", "x", false, true},
        {"BASH(rm *)", "bash", "rm x", false, true},
        {"bash(npm test *)", "bash", "npm test", true, true},
        {"bash(npm test *)", "bash", "npm test a b", true, true},
        {"bash(npm test *)", "bash", "npm  'test'", true, true},
        {"bash(npm test *)", "bash", "npm tests", false, false},
        {"bash(npm test *)", "bash", "npm", false, false},
        {"bash(npm test *)", "bash", "npm test; rm x", false, true},
        {"bash(npm test *)", "bash", "npm test > f", false, true},
        {"bash(npm test *)", "bash", "npm test $(rm x)", false, true},
        {"bash(npm test *)", "bash", "npm test $X", false, true},
        {"bash(rm *)", "bash", "echo \"$(rm x)\"", false, true},
        {"bash(rm *)", "bash", "echo \"$(date)\"; rm x", false, true},
        {"bash(rm *)", "bash", "echo `date`; rm x", false, true},
        {"bash(rm *)", "bash", "echo `echo \\`rm x\\``", false, true},
        {"bash(rm *)", "bash", "$'\\162m' x", false, true},
        {"bash(rm *)", "bash", "$\"rm\" x", false, true},
        {"bash(rm *)", "bash", "echo 'rm x'", false, false},
        {"bash(rm *)", "bash", ">/dev/null rm x", false, true},
        {"bash(rm *)", "bash", "f() { rm x; }; f", false, true},
        {"bash(rm *)", "bash", "case a in (a) rm x;; esac", false, true},
        {"bash(rm *)", "bash", "time -p rm x", false, true},
        {"bash(rm *)", "bash", "exec -ax rm x", false, true},
        {"bash(rm *)", "bash", "x[0]=1 rm x", false, true},
        {"bash(rm *)", "bash", "cat <<E\nit's\nE\nrm x", false, true},
        {"bash(rm *)", "bash", "cat <<E\nit's $(rm x)\nE", false, true},
        {"bash(rm *)", "bash", "cat <<E\na \\\nE\nit's\nE\n'rm' x", false, true},
        {"bash(git push)", "bash", "git push 2>&1", false, true},
        {"bash(git push)", "bash", "git push >/dev/null", false, true},
        {"bash(git push)", "bash", "git >/dev/null push", false, true},
        {"bash(git push)", "bash", "echo \"$(git push 2>/dev/null)\"", false, true},
        {"bash(git push)", "bash", "git &>/dev/null push", false, true},
        {"bash(git push)", "bash", "git push </dev/null", false, true},
        {"bash(npm run b*d)", "bash", "npm run build", true, true},
        {"bash(npm run b*d)", "bash", "npm run b d", false, false},
        {"bash(npm *)", "bash", "X=1 npm test", false, true},
        {"bash(a 'b c')", "bash", "a \"b c\"", true, true},
        {"bash(a 'b*')", "bash", "a bc", false, false},
        {"bash(a *b*c)", "bash", "a xbybzc", true, true},
        {"bash(a b*b)", "bash", "a b", false, false},
        {"bash(a *)", "bash", "a", true, true},
        {"bash(*)", "bash", "a b c", true, true},
        {"bash(*)", "bash", "a; b c", false, true},
        {"bash('*')", "bash", "a", false, false},
        {"bash(rm *)", "bash", "echo \"$(case a in a) rm x;; esac)\"", false, true},
        {"bash(rm *)", "bash", "echo \"$(case a in esac)\"; rm x", false, true},
        {"bash(a **)", "bash", "a", false, false},
        {"bash(a \x01)", "bash", "a b", false, false},
        {"bash(a \x01)", "bash", "a \x01", true, true},
        {"bash(a '\x01')", "bash", "a b", false, false},
        {"bash(*a*a*a*a*a*a*a*a*b)", "bash", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
         false, false},
        {"file_write(*.md)", "file_write", "a.md", true, true},
        {"file_write(*.md)", "file_write", "./a.md", true, true},
        {"file_write(*.md)", "file_write", "x/../a.md", true, true},
        {"file_write(*.md)", "file_write", "x/a.md", false, false},
        {"file_write(*.md)", "file_write", "../a.md", false, false},
        {"file_write(src/**)", "file_write", "src/a/b.c", true, true},
        {"file_write(./a.md)", "file_write", "a.md", true, true},
        {"file_write(**)", "file_write", "~/a.md", true, true},
        {"file_write(~/a.md)", "file_write", "~/a.md", false, true},
        {"fetch(https://a/*)", "fetch", "https://a/b", true, true},
        {"fetch(https://a/*)", "fetch", "https://b/a", false, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *tool = cases[i].tool;
        const char *value = cases[i].value;
        bool allow = matches("allow", cases[i].rule, tool, value, IK_PERMISSION_NOTHING);
        bool ask = matches("ask", cases[i].rule, tool, value, IK_PERMISSION_NOTHING);
        bool deny = matches("deny", cases[i].rule, tool, value, IK_PERMISSION_NOTHING);
        ck_assert_msg(allow == cases[i].allow && deny == cases[i].deny && ask == deny,
                      "%s: %s: %d %d %d", cases[i].rule, value, allow, ask, deny);
    }
    char *absolute = ik_sprintf(ctx, "%s/x/../a.md", paths.cwd);
    ck_assert(matches("deny", "file_write(*.md)", "file_write", absolute, IK_PERMISSION_NOTHING));
    ck_assert(matches("allow", "network", "bash", "x", IK_PERMISSION_NETWORK));
    ck_assert(!matches("allow", "network", "bash", "x", IK_PERMISSION_NOTHING));
    ck_assert(!matches("allow", "network", "bash", "x", IK_PERMISSION_ALL));
}
END_TEST

START_TEST(substitutions_within_each_other_end)
{
    char *deep = ik_strdup(ctx, "");
    for (int i = 0; i < 1000; i++) {
        deep = ik_sprintf(ctx, "%s\"$(", deep);
    }
    ck_assert(!ik_shell_words_split(ctx, deep, strlen(deep))->plain);
    ck_assert(matches("deny", "bash(rm *)", "bash", ik_sprintf(ctx, "%srm x", deep),
                      IK_PERMISSION_NOTHING));
}
END_TEST

START_TEST(what_only_some_parsers_read_is_judged)
{
    static const char *const others[] = {"\"\\u0000\"", "1e999", "123456789012345678901234567890",
                                         "\"\\ud800\"", "{\"\\u0000\":0}"};
    ik_permission_rules_t *rules = load("{\"deny\":[\"fetch(bad*)\"]}");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        ik_permission_call_t call = call_of("fetch", "");
        call.arguments = ik_sprintf(ctx, "{\"url\":\"bad1\",\"x\":%s}", others[i]);
        call.arguments_len = strlen(call.arguments);
        ck_assert_msg(ik_permission_rules_match(rules, &call, NULL) == IK_PERMISSION_DENY, "%s",
                      others[i]);
        ck_assert_ptr_null(ik_permission_rules_unchecked(rules, &call));
    }
}
END_TEST

START_TEST(a_pattern_is_not_compared_with_half_a_text)
{
    static const char *const tools[][3] = {
        {"bash", "command", "ls"}, {"file_write", "file_path", "a"}, {"fetch", "url", "good"}};
    ik_permission_rules_t *rules;
    ik_permission_call_t call;
    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
        const char *tool = tools[i][0];
        const char *value = tools[i][2];
        call = call_of(tool, "");
        call.arguments = ik_sprintf(ctx, "{\"%s\":\"%s\\u0000x\"}", tools[i][1], value);
        call.arguments_len = strlen(call.arguments);
        rules = load(ik_sprintf(ctx, "{\"allow\":[\"%s(%s)\"]}", tool, value));
        ck_assert_int_eq(ik_permission_rules_match(rules, &call, NULL), IK_PERMISSION_NO_RULE);
        ck_assert_ptr_null(ik_permission_rules_unchecked(rules, &call));
        rules = load(ik_sprintf(ctx, "{\"deny\":[\"network\",\"%s\"]}", tool));
        ck_assert_int_eq(ik_permission_rules_match(rules, &call, NULL), IK_PERMISSION_DENY);
        ck_assert_ptr_null(ik_permission_rules_unchecked(rules, &call));
        rules = load(ik_sprintf(ctx, "{\"ask\":[\"%s(other)\"]}", tool));
        ck_assert_str_eq(ik_permission_rules_unchecked(rules, &call), tools[i][1]);
    }
    call = call_of("bash", "");
    call.arguments = "{\"command\":\"ls\\u0000\"}";
    call.arguments_len = strlen(call.arguments);
    ck_assert_ptr_null(ik_permission_rules_suggest(ctx, &call));
}
END_TEST

/* Of the file itself, of one in a folder behind a link, of one that does not exist yet, and of one
 * above the folder to which a link leads. */
START_TEST(links_lead_around_no_rule)
{
    static const char *const names[] = {"link",     "behind/secret", "behind/new",
                                        "dangling", "chain",         "deep/../secret"};
    ck_assert_int_eq(chdir(paths.cwd), 0);
    ck_assert_int_eq(mkdir("keys", 0700), 0);
    ck_assert_int_eq(mkdir("keys/deep", 0700), 0);
    ck_assert_int_eq(symlink("keys/deep", "deep"), 0);
    ck_assert_int_eq(symlink("keys/gone", "dangling"), 0);
    ck_assert_int_eq(symlink("dangling", "chain"), 0);
    ck_assert_int_eq(close(open("keys/secret", O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
    ck_assert_int_eq(symlink("keys/secret", "link"), 0);
    ck_assert_int_eq(symlink("keys", "behind"), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *const rule = "file_write(keys/**)";
        ck_assert(matches("deny", rule, "file_write", names[i], IK_PERMISSION_NOTHING));
        ck_assert(matches("ask", rule, "file_write", names[i], IK_PERMISSION_NOTHING));
        ck_assert(!matches("allow", rule, "file_write", names[i], IK_PERMISSION_NOTHING));
    }
    ck_assert(
        !matches("deny", "file_write(keys/**)", "file_write", "gone/new", IK_PERMISSION_NOTHING));
}
END_TEST

START_TEST(deny_beats_ask_beats_allow)
{
    const char *rule;
    ik_permission_call_t call = call_of("bash", "npm test");
    ik_permission_rules_t *rules =
        load("{\"allow\":[\"bash\"],\"ask\":[\"bash(npm *)\"],\"deny\":[\"bash(npm test)\"]}");
    ck_assert_int_eq(ik_permission_rules_match(rules, &call, &rule), IK_PERMISSION_DENY);
    ck_assert_str_eq(rule, "bash(npm test)");
    rules = load("{\"allow\":[\"bash\"],\"ask\":[\"bash(npm *)\"]}");
    ck_assert_int_eq(ik_permission_rules_match(rules, &call, &rule), IK_PERMISSION_ASK);
}
END_TEST

START_TEST(what_always_adds_matches_the_call_and_no_other)
{
    static const char *const cases[][2] = {
        {"npm test", "bash(npm test)"},
        {"echo \"it's\" *", "bash(echo 'it'\\''s' '*')"},
        {"git commit -m 'a  b'", "bash(git commit -m 'a  b')"},
        {"echo ''", "bash(echo '')"},
        {"ls \x01", "bash(ls \x01)"},
        {"a; b", NULL},
        {"a > b", NULL},
        {"a $b", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ik_permission_rules_t *rules = load("{}");
        ik_permission_call_t call = call_of("bash", cases[i][0]);
        char *rule = ik_permission_rules_suggest(ctx, &call);
        if (cases[i][1] == NULL) {
            ck_assert_ptr_null(rule);
            continue;
        }
        ck_assert_str_eq(rule, cases[i][1]);
        ck_assert(ik_permission_rules_add(rules, rule).code == IK_ERR_NONE);
        ck_assert(ik_permission_rules_add(rules, rule).code == IK_ERR_NONE);
        ck_assert_int_eq(ik_permission_rules_match(rules, &call, NULL), IK_PERMISSION_ALLOW);
        ik_permission_call_t other = call_of("bash", ik_sprintf(ctx, "%s x", cases[i][0]));
        ck_assert_int_eq(ik_permission_rules_match(rules, &other, NULL), IK_PERMISSION_NO_RULE);
        other = call_of("bash", "ls /etc/passwd");
        ck_assert_int_eq(ik_permission_rules_match(rules, &other, NULL), IK_PERMISSION_NO_RULE);
        ik_permission_rules_t *again;
        ck_assert(ik_permission_rules_load(ctx, &paths, NULL, &again).code == IK_ERR_NONE);
        ck_assert_int_eq(ik_permission_rules_match(again, &call, NULL), IK_PERMISSION_ALLOW);
        ik_permission_rule_t at;
        ck_assert(ik_permission_rules_at(again, 0, &at) && at.removable);
        ck_assert(!ik_permission_rules_at(again, 1, &at));
        ck_assert(ik_permission_rules_remove(again, 0).code == IK_ERR_NONE);
        ck_assert(ik_permission_rules_load(ctx, &paths, NULL, &again).code == IK_ERR_NONE);
        ck_assert_int_eq(ik_permission_rules_match(again, &call, NULL), IK_PERMISSION_NO_RULE);
    }
    ik_permission_call_t call = call_of("file_write", "a.md");
    ck_assert_str_eq(ik_permission_rules_suggest(ctx, &call), "file_write");
}
END_TEST

/* A folder whose name JSON cannot hold, and a file that was changed meanwhile. */
START_TEST(a_rule_that_cannot_be_kept_is_in_force)
{
    static const struct {
        const char *folder;
        const char *file; /* as it is when the rule is added */
    } cases[] = {
        {"caf\xe9", "{}"},
        {"project", "{\"projects\":[]}"},
        {"project", "{\"projects\":{\"%s\":3}}"},
        {"project", "{\"projects\":{\"%s\":{\"allow\":{}}}}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        paths.cwd = ik_sprintf(ctx, "%s/%s", scratch_folder, cases[i].folder);
        ck_assert(ik_file_make_private_folder(paths.cwd).code == IK_ERR_NONE);
        ik_permission_rules_t *rules = load("{}");
        ik_permission_call_t call = call_of("bash", "ls");
        char *file = ik_sprintf(ctx, cases[i].file, paths.cwd);
        ck_assert(ik_file_write_private(paths.permissions, file, strlen(file)).code == IK_ERR_NONE);
        ck_assert_int_eq(ik_permission_rules_add(rules, "bash(ls)").code, IK_ERR_INVALID);
        ck_assert_int_eq(ik_permission_rules_match(rules, &call, NULL), IK_PERMISSION_ALLOW);
        char *after;
        size_t len;
        ck_assert(ik_file_read(ctx, paths.permissions, 1000, &after, &len).code == IK_ERR_NONE);
        ck_assert_str_eq(after, file);
    }
}
END_TEST

/* The file may be a link into a folder of configuration files, and its text written by hand. */
START_TEST(changes_leave_the_rest_of_the_file_alone)
{
    static const char text[] = "{\n  \"deny\":[ \"bash(rm *)\" ],\n  \"hosts\": {}\n}\n";
    char *target = ik_sprintf(ctx, "%s.target", paths.permissions);
    ck_assert(ik_file_write_private(target, text, strlen(text)).code == IK_ERR_NONE);
    unlink(paths.permissions);
    ck_assert_int_eq(symlink(target, paths.permissions), 0);
    ik_permission_rules_t *rules;
    char *now;
    size_t len;
    struct stat status;
    ck_assert(ik_permission_rules_load(ctx, &paths, NULL, &rules).code == IK_ERR_NONE);
    ck_assert(ik_permission_rules_add(rules, "file_write").code == IK_ERR_NONE);
    ck_assert_int_eq(lstat(paths.permissions, &status), 0);
    ck_assert(S_ISLNK(status.st_mode));
    ck_assert(ik_file_read(ctx, target, 4096, &now, &len).code == IK_ERR_NONE);
    ck_assert(strncmp(now, text, strlen(text) - 3) == 0); /* without "\n}\n" */
    ck_assert_ptr_nonnull(strstr(now, "\"allow\": [\"file_write\"]"));
    ck_assert(ik_permission_rules_load(ctx, &paths, NULL, &rules).code == IK_ERR_NONE);
    ck_assert(ik_permission_rules_remove(rules, 0).code == IK_ERR_NONE); /* the deny rule */
    ck_assert(ik_file_read(ctx, target, 4096, &now, &len).code == IK_ERR_NONE);
    ck_assert_ptr_nonnull(strstr(now, "\n  \"deny\":[],\n  \"hosts\": {}"));
    ck_assert_ptr_nonnull(strstr(now, "\"allow\": [\"file_write\"]"));
    unlink(paths.permissions);
}
END_TEST

START_TEST(malformed_rules)
{
    static const char *const bad[] = {"", "bash(", "bash()", "bash(x", "(x)", "a b", "bash)"};
    static const char *const good[] = {"bash", "bash(x)", "network", "my_tool(a (b) c)"};
    char *fault;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_msg(!ik_permission_rules_check(ctx, bad[i], &fault), "%s", bad[i]);
    }
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        ck_assert_msg(ik_permission_rules_check(ctx, good[i], &fault), "%s", good[i]);
    }
}
END_TEST

/* --- the gate ----------------------------------------------------------------------------- */

/* How a call was decided: where it runs, or what was asked or said. */
typedef struct {
    char *text;
    bool over;
} verdict_t;

static ik_mode_t mode;
static ik_loop_t *loop;
static ik_permission_question_t asked;
static bool was_asked;

static ik_mode_t mode_of(void *data, int64_t agent)
{
    (void)data;
    (void)agent;
    return mode;
}

static void *note_question(void *data, const void *parent, const ik_permission_question_t *question,
                           ik_permission_answer_fn on_answer, void *answer_data)
{
    (void)data;
    (void)parent;
    asked = *question;
    was_asked = true;
    on_answer(answer_data, IK_PERMISSION_NO, "later");
    return NULL;
}

static void on_verdict(void *data, const ik_call_verdict_t *verdict)
{
    verdict_t *out = data;
    out->over = true;
    out->text = was_asked                 ? ik_sprintf(ctx, "ask %s", asked.wants)
                : verdict->denied != NULL ? ik_strdup(ctx, "deny")
                : verdict->room == NULL   ? ik_strdup(ctx, "free")
                                          : ik_strdup(ctx, verdict->confined);
}

/* Decides a call of a shipped tool with these effects ("": none declared) and this extra. */
static char *decide(ik_confinement_t *confinement, int setting, const char *rules_json,
                    const char *effects, const char *extra)
{
    char *schema_text = ik_sprintf(
        ctx,
        "{\"name\":\"it\",\"description\":\"d\",\"parameters\":{\"type\":\"object\","
        "\"properties\":{\"p\":{\"type\":\"string\"}}},%s\"escalation\":{\"parameter\":\"p\"}}",
        effects);
    ik_tool_schema_t *schema;
    res_t parsed = ik_tool_schema_parse(ctx, schema_text, strlen(schema_text), &schema);
    ck_assert_msg(is_ok(&parsed), "%s", parsed.message);
    ik_tool_registry_t *tools = ik_tool_registry_create(ctx);
    ik_tool_registry_add(tools, "it", "it", IK_TOOL_SYSTEM, false, schema);
    ik_config_t config = {.confinement = setting};
    const ik_call_gate_t *gate =
        ik_permission_gate_create(ctx, &(ik_permission_gate_options_t){.confinement = confinement,
                                                                       .rules = load(rules_json),
                                                                       .config = &config,
                                                                       .mode_of = mode_of,
                                                                       .ask = note_question});
    char *arguments = ik_sprintf(ctx, "{\"p\":\"%s\"}", extra);
    ik_call_t call = {.agent = 1,
                      .id = "1",
                      .name = "it",
                      .arguments = arguments,
                      .arguments_len = strlen(arguments),
                      .entry = ik_tool_registry_lookup(tools, "it")};
    verdict_t verdict = {0};
    was_asked = false;
    void *decision = gate->decide(gate->gate, ctx, &call, on_verdict, &verdict);
    if (decision != NULL) {
        ck_assert(ik_loop_run_until(loop, &verdict.over));
    }
    return verdict.text;
}

START_TEST(mode_rule_level_and_extra_decide)
{
    static const char none[] = "\"effects\":{\"write\":\"none\",\"network\":false},";
    static const char project[] = "\"effects\":{\"write\":\"project\",\"network\":false},";
    static const char allow[] = "{\"allow\":[\"it\"]}";
    static const char ask_rule[] = "{\"ask\":[\"it\"]}";
    static const char deny_rule[] = "{\"deny\":[\"it\"]}";
    static const struct {
        ik_mode_t mode;
        const char *rules, *effects, *extra, *at_full, *at_none;
    } cases[] = {
        {IK_MODE_AUTO, "{}", none, "", "no writes", "free"},
        {IK_MODE_AUTO, "{}", project, "", "writes only", "ask write"},
        {IK_MODE_AUTO, "{}", "", "", "free", "ask write"},
        {IK_MODE_AUTO, "{}", project, "network", "ask network", "ask network"},
        {IK_MODE_AUTO, "{}", project, "all", "ask no confinement", "ask no confinement"},
        {IK_MODE_AUTO, allow, project, "", "writes only", "free"},
        {IK_MODE_AUTO, allow, project, "all", "free", "free"},
        {IK_MODE_AUTO, ask_rule, none, "", "ask run", "ask run"},
        {IK_MODE_AUTO, ask_rule, project, "", "ask write", "ask write"},
        {IK_MODE_AUTO, deny_rule, none, "", "deny", "deny"},
        {IK_MODE_ASK, "{}", none, "", "no writes", "free"},
        {IK_MODE_ASK, "{}", project, "", "ask write", "ask write"},
        {IK_MODE_ASK, "{}", "", "", "ask write", "ask write"},
        {IK_MODE_ASK, allow, project, "", "writes only", "free"},
        {IK_MODE_PLAN, "{}", none, "", "plan mode: no writes", "free"},
        {IK_MODE_PLAN, "{}", project, "all", "plan mode: no writes", "deny"},
        {IK_MODE_PLAN, allow, project, "all", "plan mode: no writes", "deny"},
        {IK_MODE_PLAN, ask_rule, none, "", "plan mode: no writes", "free"},
        {IK_MODE_PLAN, deny_rule, none, "", "deny", "deny"},
        {IK_MODE_FULL, "{}", project, "all", "free", "free"},
        {IK_MODE_FULL, ask_rule, project, "", "free", "free"},
        {IK_MODE_FULL, deny_rule, project, "", "deny", "deny"},
        {IK_MODE_AUTO, "{}", project, "wild", "deny", "deny"},
    };
    const char *out = getenv("IKIGAI_OUT");
    ik_config_t config = {.confinement = IK_CONFIG_CONFINEMENT_PREFERRED};
    ik_paths_t real = paths;
    ik_paths_t broken = paths;
    ck_assert(ik_loop_create(ctx, &loop).code == IK_ERR_NONE);
    real.keeper = ik_sprintf(ctx, "%s/lib/ikigai/keeper", out == NULL ? "." : out);
    broken.keeper = "/nonexistent"; /* so that nothing can be confined */
    ik_confinement_options_t options = {.loop = loop, .paths = &real, .config = &config};
    ik_confinement_t *full = ik_confinement_create(ctx, &options);
    options.paths = &broken;
    ik_confinement_t *no_level = ik_confinement_create(ctx, &options);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mode = cases[i].mode;
        char *at_none = decide(no_level, IK_CONFIG_CONFINEMENT_PREFERRED, cases[i].rules,
                               cases[i].effects, cases[i].extra);
        ck_assert_msg(strcmp(at_none, cases[i].at_none) == 0, "case %zu, none: %s", i, at_none);
        char *at_full = decide(full, IK_CONFIG_CONFINEMENT_PREFERRED, cases[i].rules,
                               cases[i].effects, cases[i].extra);
        const ik_confinement_facts_t *facts = ik_confinement_facts(full);
        if (facts != NULL && facts->level == IK_CONFINEMENT_NONE) {
            continue; /* this machine cannot confine */
        }
        ck_assert_msg(strncmp(at_full, cases[i].at_full, strlen(cases[i].at_full)) == 0,
                      "case %zu, full: %s", i, at_full);
    }
    mode = IK_MODE_AUTO;
    ck_assert_str_eq(decide(no_level, IK_CONFIG_CONFINEMENT_OFF, "{}", project, ""), "free");
    ck_assert_str_eq(decide(no_level, IK_CONFIG_CONFINEMENT_OFF, "{}", project, "all"), "free");
    mode = IK_MODE_ASK;
    ck_assert_str_eq(decide(no_level, IK_CONFIG_CONFINEMENT_OFF, "{}", project, ""), "ask write");
    mode = IK_MODE_PLAN;
    ck_assert_str_eq(decide(no_level, IK_CONFIG_CONFINEMENT_OFF, "{}", project, ""), "deny");
    mode = IK_MODE_AUTO; /* the level was full when the program started */
    ck_assert_str_eq(decide(no_level, IK_CONFIG_CONFINEMENT_REQUIRED, allow, project, ""), "deny");
    ck_assert_str_eq(decide(no_level, IK_CONFIG_CONFINEMENT_REQUIRED, "{}", none, ""), "deny");
    ck_assert_str_eq(decide(no_level, IK_CONFIG_CONFINEMENT_REQUIRED, allow, project, "all"),
                     "free");
    talloc_free(full);
    talloc_free(no_level);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("permission");
    TCase *cases = tcase_create("rules");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, words_of_commands);
    tcase_add_test(cases, what_a_rule_matches);
    tcase_add_test(cases, substitutions_within_each_other_end);
    tcase_add_test(cases, what_only_some_parsers_read_is_judged);
    tcase_add_test(cases, a_pattern_is_not_compared_with_half_a_text);
    tcase_add_test(cases, links_lead_around_no_rule);
    tcase_add_test(cases, deny_beats_ask_beats_allow);
    tcase_add_test(cases, what_always_adds_matches_the_call_and_no_other);
    tcase_add_test(cases, a_rule_that_cannot_be_kept_is_in_force);
    tcase_add_test(cases, changes_leave_the_rest_of_the_file_alone);
    tcase_add_test(cases, malformed_rules);
    tcase_add_test(cases, mode_rule_level_and_extra_decide);
    tcase_set_timeout(cases, 60);
    suite_add_tcase(suite, cases);
    return scratch_run(suite);
}
