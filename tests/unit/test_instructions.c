#include <check.h>

#include "agent/instructions.h"
#include "base/alloc.h"
#include "base/utf8.h"
#include "repeat.h"
#include "scratch.h"

static void *ctx;
static ik_instructions_t *found;

static void set_up(void)
{
    scratch_empty();
    ctx = talloc_new(NULL);
    found = NULL;
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static void find_with(const char *user, const char *folder)
{
    char *own = user == NULL ? NULL : ik_strdup(ctx, scratch_path(user));
    res_t result = ik_instructions_find(ctx, own, scratch_path(folder), &found);
    ck_assert_msg(is_ok(&result), "%s", result.message);
}

static void find(const char *folder)
{
    find_with(NULL, folder);
}

/* A repository with folders a and a/b. */
static void make_repository(void)
{
    scratch_make_folder("repo");
    scratch_make_folder("repo/.git");
    scratch_make_folder("repo/a");
    scratch_make_folder("repo/a/b");
}

static void write_bytes(const char *name, const char *bytes, size_t len)
{
    FILE *file = fopen(scratch_path(name), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, len, file), len);
    ck_assert_int_eq(fclose(file), 0);
}

static size_t total_text(void)
{
    size_t total = 0;
    for (size_t i = 0; i < found->count; i++) {
        total += strlen(found->files[i].text);
    }
    return total;
}

static void assert_problem(const char *name, const char *words)
{
    ck_assert_uint_eq(found->problem_count, 1);
    ck_assert_msg(strstr(found->problems[0].text, scratch_path(name)) != NULL, "%s",
                  found->problems[0].text);
    ck_assert_msg(strstr(found->problems[0].text, words) != NULL, "%s", found->problems[0].text);
}

START_TEST(from_the_root_of_the_repository_to_the_folder)
{
    make_repository();
    scratch_write("AGENTS.md", "outside\n");
    scratch_write("repo/AGENTS.md", "root\n");
    scratch_write("repo/a/b/AGENTS.md", "inner\n");
    find("repo/a/b");
    ck_assert_uint_eq(found->count, 2);
    ck_assert_str_eq(found->files[0].path, scratch_path("repo/AGENTS.md"));
    ck_assert_str_eq(found->files[0].text, "root\n");
    ck_assert_uint_eq(found->files[0].size, 5);
    ck_assert(!found->files[0].cut);
    ck_assert_str_eq(found->files[1].path, scratch_path("repo/a/b/AGENTS.md"));
    ck_assert_str_eq(found->files[1].text, "inner\n");
    ck_assert_uint_eq(found->problem_count, 0);
    find("repo");
    ck_assert_uint_eq(found->count, 1);
}
END_TEST

START_TEST(a_worktree_has_a_file_for_its_repository)
{
    scratch_make_folder("repo");
    scratch_make_folder("repo/a");
    scratch_write("repo/.git", "gitdir: elsewhere\n");
    scratch_write("AGENTS.md", "outside\n");
    scratch_write("repo/AGENTS.md", "root\n");
    find("repo/a");
    ck_assert_uint_eq(found->count, 1);
    ck_assert_str_eq(found->files[0].text, "root\n");
}
END_TEST

START_TEST(without_a_repository_only_the_folder)
{
    scratch_make_folder("a");
    scratch_make_folder("a/b");
    scratch_write("a/AGENTS.md", "parent\n");
    scratch_write("a/b/AGENTS.md", "own\n");
    find("a/b");
    ck_assert_uint_eq(found->count, 1);
    ck_assert_str_eq(found->files[0].text, "own\n");
}
END_TEST

START_TEST(the_users_own_come_first)
{
    make_repository();
    scratch_make_folder("home");
    scratch_write("home/AGENTS.md", "mine\n");
    scratch_write("repo/AGENTS.md", "root\n");
    scratch_write("repo/a/AGENTS.md", "inner\n");
    find_with("home/AGENTS.md", "repo/a");
    ck_assert_uint_eq(found->count, 3);
    ck_assert_str_eq(found->files[0].path, scratch_path("home/AGENTS.md"));
    ck_assert_str_eq(found->files[0].text, "mine\n");
    ck_assert_str_eq(found->files[1].text, "root\n");
    ck_assert_str_eq(found->files[2].text, "inner\n");
    /* It may be a link, as files under version control elsewhere are. */
    scratch_write("dotfile", "linked\n");
    unlink(scratch_path("home/AGENTS.md"));
    ck_assert_int_eq(symlink("../dotfile", scratch_path("home/AGENTS.md")), 0);
    find_with("home/AGENTS.md", "repo/a");
    ck_assert_str_eq(found->files[0].text, "linked\n");
    find_with("home/none", "repo/a");
    ck_assert_uint_eq(found->count, 2);
    ck_assert_uint_eq(found->problem_count, 0);
}
END_TEST

/* A project that takes all the room does not displace the user's own words, and they displace none
 * of the project's. */
START_TEST(the_users_own_have_their_own_room)
{
    make_repository();
    scratch_make_folder("home");
    scratch_write("home/AGENTS.md", repeat(ctx, "0123456789abcde\n", 4096));
    scratch_write("repo/AGENTS.md", repeat(ctx, "0123456789abcde\n", IK_INSTRUCTIONS_MAX / 16));
    find_with("home/AGENTS.md", "repo");
    ck_assert_uint_eq(found->count, 2);
    ck_assert(found->files[0].cut);
    ck_assert(!found->files[1].cut);
    ck_assert_uint_le(strlen(found->files[0].text), IK_INSTRUCTIONS_MAX);
}
END_TEST

START_TEST(claude_md_counts_where_there_is_no_agents_md)
{
    make_repository();
    scratch_make_folder("home");
    scratch_write("home/CLAUDE.md", "not mine\n");
    scratch_write("repo/AGENTS.md", "root\n");
    scratch_write("repo/CLAUDE.md", "shadowed\n");
    scratch_write("repo/a/CLAUDE.md", "inner\n");
    find_with("home/AGENTS.md", "repo/a");
    ck_assert_uint_eq(found->count, 2);
    ck_assert_str_eq(found->files[0].text, "root\n");
    ck_assert_str_eq(found->files[1].path, scratch_path("repo/a/CLAUDE.md"));
    ck_assert_str_eq(found->files[1].text, "inner\n");
    ck_assert_str_eq(ik_instructions_format(ctx, &found->files[1]),
                     ik_sprintf(ctx, "CLAUDE.md: %s (6 bytes)", scratch_path("repo/a/CLAUDE.md")));
    /* An empty file is there. A folder and a link to nothing are not. */
    scratch_write("repo/AGENTS.md", "");
    scratch_make_folder("repo/a/AGENTS.md");
    find("repo/a");
    ck_assert_uint_eq(found->count, 1);
    ck_assert_str_eq(found->files[0].text, "inner\n");
    assert_problem("repo/a/AGENTS.md", "not a regular file");
    unlink(scratch_path("repo/AGENTS.md"));
    ck_assert_int_eq(symlink("nowhere", scratch_path("repo/AGENTS.md")), 0);
    find("repo");
    ck_assert_str_eq(found->files[0].text, "shadowed\n");
}
END_TEST

START_TEST(claude_md_does_not_replace_what_cannot_be_read)
{
    make_repository();
    scratch_write("secret", "SECRET\n");
    ck_assert_int_eq(symlink("../secret", scratch_path("repo/AGENTS.md")), 0);
    scratch_write("repo/CLAUDE.md", "other\n");
    find("repo");
    ck_assert_uint_eq(found->count, 0);
    assert_problem("repo/AGENTS.md", "outside");
    unlink(scratch_path("repo/AGENTS.md"));
    unlink(scratch_path("repo/CLAUDE.md"));
    ck_assert_int_eq(symlink("../secret", scratch_path("repo/CLAUDE.md")), 0);
    find("repo");
    ck_assert_uint_eq(found->count, 0);
    assert_problem("repo/CLAUDE.md", "outside");
}
END_TEST

/* The whole home is under version control. A project in it must not reach the user's files. */
START_TEST(a_home_folder_as_repository)
{
    make_repository();
    scratch_make_folder("repo/.ikigai");
    scratch_write("repo/.ikigai/AGENTS.md", "mine\n");
    scratch_write("repo/secret", "SECRET\n");
    scratch_write("repo/AGENTS.md", "home\n");
    ck_assert_int_eq(symlink("../secret", scratch_path("repo/a/AGENTS.md")), 0);
    find_with("repo/.ikigai/AGENTS.md", "repo/a/b");
    ck_assert_uint_eq(found->count, 2);
    ck_assert_str_eq(found->files[0].text, "mine\n");
    ck_assert_str_eq(found->files[1].text, "home\n");
    assert_problem("repo/a/AGENTS.md", "outside");
    /* No file is there twice. */
    find_with("repo/.ikigai/AGENTS.md", "repo/.ikigai");
    ck_assert_uint_eq(found->count, 2);
    ck_assert_str_eq(found->files[0].text, "mine\n");
    ck_assert_str_eq(found->files[1].text, "home\n");
}
END_TEST

START_TEST(a_byte_order_mark_is_dropped)
{
    make_repository();
    scratch_write("repo/AGENTS.md", "\xef\xbb\xbfText\n");
    find("repo");
    ck_assert_str_eq(found->files[0].text, "Text\n");
    scratch_write("repo/AGENTS.md", "\xef\xbb\xbf");
    find("repo");
    ck_assert_uint_eq(found->count, 0);
}
END_TEST

START_TEST(an_unreadable_file_is_a_problem)
{
    make_repository();
    scratch_write("repo/a/AGENTS.md", "fine\n");
    scratch_write("repo/AGENTS.md", "private\n");
    ck_assert_int_eq(chmod(scratch_path("repo/AGENTS.md"), 0), 0);
    if (access(scratch_path("repo/AGENTS.md"), R_OK) == 0) {
        return; /* root reads everything */
    }
    find("repo/a");
    ck_assert_uint_eq(found->count, 1);
    assert_problem("repo/AGENTS.md", "cannot read");
}
END_TEST

START_TEST(nothing_to_find)
{
    make_repository();
    scratch_write("repo/AGENTS.md", "");
    find("repo/a");
    ck_assert_uint_eq(found->count, 0);
    ck_assert_uint_eq(found->problem_count, 0);
    res_t root = ik_instructions_find(ctx, NULL, "/", &found);
    ck_assert(is_ok(&root));
    res_t relative = ik_instructions_find(ctx, NULL, "a/b", &found);
    ck_assert_int_eq(relative.code, IK_ERR_INVALID);
    ck_assert_uint_eq(found->count, 0);
}
END_TEST

START_TEST(a_long_guide_is_cut_at_a_line)
{
    make_repository();
    scratch_write("repo/AGENTS.md", repeat(ctx, "0123456789abcde\n", 4096));
    find("repo");
    const ik_instruction_t *file = &found->files[0];
    ck_assert(file->cut);
    ck_assert_uint_eq(file->size, 65536);
    ck_assert_uint_le(strlen(file->text), IK_INSTRUCTIONS_MAX);
    ck_assert_uint_gt(strlen(file->text), IK_INSTRUCTIONS_MAX - 100);
    const char *note = strstr(file->text, "abcde\n[cut here: 32704 of 65536 bytes]\n");
    ck_assert_ptr_nonnull(note);
    ck_assert_ptr_null(strchr(strstr(note, "bytes]\n"), '0'));
}
END_TEST

START_TEST(a_long_line_is_cut_between_characters)
{
    make_repository();
    scratch_write("repo/AGENTS.md", repeat(ctx, "\xe2\x82\xac", 20000));
    find("repo");
    const char *text = found->files[0].text;
    ck_assert(ik_utf8_valid(text, strlen(text)));
    ck_assert_ptr_null(strstr(text, "\xef\xbf\xbd"));
    ck_assert_ptr_nonnull(strstr(text, "\xe2\x82\xac\n[cut here: "));
    ck_assert_uint_le(strlen(text), IK_INSTRUCTIONS_MAX);
}
END_TEST

START_TEST(just_fitting_is_not_cut)
{
    make_repository();
    scratch_write("repo/AGENTS.md", repeat(ctx, "0123456789abcde\n", IK_INSTRUCTIONS_MAX / 16));
    find("repo");
    ck_assert(!found->files[0].cut);
    ck_assert_uint_eq(strlen(found->files[0].text), IK_INSTRUCTIONS_MAX);
}
END_TEST

START_TEST(the_inner_ones_come_first_when_room_is_short)
{
    make_repository();
    scratch_write("repo/AGENTS.md", repeat(ctx, "outermost line.\n", 1024));
    scratch_write("repo/a/AGENTS.md", repeat(ctx, "middle line....\n", 1024));
    scratch_write("repo/a/b/AGENTS.md", repeat(ctx, "innermost line.\n", 1000));
    find("repo/a/b");
    ck_assert_uint_eq(found->count, 3);
    ck_assert(found->files[0].cut);
    ck_assert(!found->files[1].cut);
    ck_assert(!found->files[2].cut);
    ck_assert_uint_le(total_text(), IK_INSTRUCTIONS_MAX);
    scratch_write("repo/a/AGENTS.md", repeat(ctx, "middle line....\n", 1046));
    find("repo/a/b");
    ck_assert_uint_eq(found->count, 3);
    ck_assert_str_eq(found->files[0].path, scratch_path("repo/AGENTS.md"));
    ck_assert(found->files[0].left_out);
    ck_assert_str_eq(found->files[0].text, "[left out: nearer files take all of 32 KB]\n");
    ck_assert(!found->files[1].cut && !found->files[1].left_out);
    ck_assert_uint_eq(found->problem_count, 0);
}
END_TEST

START_TEST(what_is_not_utf8_becomes_so)
{
    make_repository();
    write_bytes("repo/AGENTS.md", "a\xff\xc3z", 4);
    find("repo");
    ck_assert_str_eq(found->files[0].text, "a\xef\xbf\xbd\xef\xbf\xbdz");
    char *bad = repeat(ctx, "\xff", IK_INSTRUCTIONS_MAX);
    write_bytes("repo/AGENTS.md", bad, strlen(bad)); /* grows threefold */
    find("repo");
    ck_assert(found->files[0].cut);
    ck_assert_uint_le(total_text(), IK_INSTRUCTIONS_MAX);
}
END_TEST

START_TEST(a_file_with_nul_is_not_text)
{
    make_repository();
    write_bytes("repo/AGENTS.md", "a\0b", 3);
    find("repo");
    ck_assert_uint_eq(found->count, 0);
    assert_problem("repo/AGENTS.md", "not text");
}
END_TEST

/* Would hang if it were opened like a file. */
START_TEST(a_fifo_is_a_problem)
{
    make_repository();
    scratch_write("repo/a/AGENTS.md", "fine\n");
    ck_assert_int_eq(mkfifo(scratch_path("repo/AGENTS.md"), 0644), 0);
    find("repo/a");
    ck_assert_uint_eq(found->count, 1);
    assert_problem("repo/AGENTS.md", "not a regular file");
}
END_TEST

START_TEST(a_folder_of_that_name_is_a_problem)
{
    make_repository();
    scratch_make_folder("repo/AGENTS.md");
    find("repo");
    ck_assert_uint_eq(found->count, 0);
    assert_problem("repo/AGENTS.md", "not a regular file");
}
END_TEST

START_TEST(links)
{
    make_repository();
    scratch_write("repo/file", "linked\n");
    ck_assert_int_eq(symlink("../file", scratch_path("repo/a/AGENTS.md")), 0);
    ck_assert_int_eq(symlink("nowhere", scratch_path("repo/a/b/AGENTS.md")), 0);
    ck_assert_int_eq(symlink("AGENTS.md", scratch_path("repo/AGENTS.md")), 0); /* to itself */
    find("repo/a/b");
    ck_assert_uint_eq(found->count, 1);
    ck_assert_str_eq(found->files[0].text, "linked\n");
    assert_problem("repo/AGENTS.md", "cannot read");
}
END_TEST

/* A private file of the user must not reach the provider because a project links to it. */
START_TEST(links_out_of_the_repository_are_refused)
{
    make_repository();
    scratch_make_folder("repository");
    scratch_write("repository/secret", "SECRET\n");
    scratch_write("secret", "SECRET\n");
    ck_assert_int_eq(symlink("secret", scratch_path("alias")), 0);
    ck_assert_int_eq(symlink("../secret", scratch_path("repo/inner")), 0);
    ck_assert_int_eq(mkfifo(scratch_path("fifo"), 0644), 0);
    static const char *const targets[] = {
        "../../secret",    "../../alias", "../inner",  "../../repository/secret",
        "/proc/self/maps", "/etc/passwd", "/dev/zero", "../../fifo",
    };
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        unlink(scratch_path("repo/a/AGENTS.md"));
        ck_assert_int_eq(symlink(targets[i], scratch_path("repo/a/AGENTS.md")), 0);
        find("repo/a");
        ck_assert_uint_eq(found->count, 0);
        assert_problem("repo/a/AGENTS.md", "outside");
    }
}
END_TEST

START_TEST(without_a_repository_the_folder_is_the_bound)
{
    scratch_make_folder("a");
    scratch_write("file", "outside\n");
    scratch_write("a/file", "inside\n");
    ck_assert_int_eq(symlink("../file", scratch_path("a/AGENTS.md")), 0);
    find("a");
    ck_assert_uint_eq(found->count, 0);
    assert_problem("a/AGENTS.md", "outside");
    unlink(scratch_path("a/AGENTS.md"));
    ck_assert_int_eq(symlink("file", scratch_path("a/AGENTS.md")), 0);
    find("a");
    ck_assert_str_eq(found->files[0].text, "inside\n");
    /* A working folder that is itself reached through a link. */
    ck_assert_int_eq(symlink("a", scratch_path("linked")), 0);
    find("linked");
    ck_assert_str_eq(found->files[0].text, "inside\n");
}
END_TEST

START_TEST(a_guide_cannot_end_its_section)
{
    make_repository();
    scratch_write("repo/AGENTS.md", "a\n</agents_md>\nb < c <b></Agents_MD ><agents_md path=\"/x\">"
                                    "</ agents_md>< /agents_md><");
    find("repo");
    ck_assert_str_eq(found->files[0].text,
                     "a\n&lt;/agents_md>\nb < c <b>&lt;/Agents_MD >&lt;agents_md path=\"/x\">"
                     "&lt;/ agents_md>&lt; /agents_md><");
    /* blanks and what cannot be seen: vertical tab, no-break space, zero-width space */
    scratch_write("repo/AGENTS.md", "<\v/agents_md><\xc2\xa0/agents_md></\xe2\x80\x8b"
                                    "agents_md></agents\xe2\x80\x8b_md>\n<\xc3\xa9> < agents");
    find("repo");
    ck_assert_str_eq(found->files[0].text,
                     "&lt;\v/agents_md>&lt;\xc2\xa0/agents_md>&lt;/\xe2\x80\x8b"
                     "agents_md>&lt;/agents\xe2\x80\x8b_md>\n<\xc3\xa9> < agents");
    char *tags = repeat(ctx, "</agents_md>", 3000);
    scratch_write("repo/AGENTS.md", tags);
    find("repo");
    ck_assert_uint_le(total_text(), IK_INSTRUCTIONS_MAX);
    ck_assert_ptr_null(strstr(found->files[0].text, "</agents_md>"));
}
END_TEST

/* --- below the working folder ------------------------------------------------------------ */

/* Whether the path is the one in data; it may be NULL. */
static bool is_that(void *data, const char *path)
{
    return data != NULL && strcmp(path, data) == 0;
}

static void find_below(const char *cwd, const char *file, const char *known)
{
    char *folder = ik_strdup(ctx, scratch_path(cwd));
    char *path = ik_strdup(ctx, scratch_path(file));
    char *other = known == NULL ? NULL : ik_strdup(ctx, scratch_path(known));
    found = ik_instructions_find_below(ctx, folder, path, is_that, other);
}

START_TEST(folders_between_the_working_folder_and_a_file)
{
    make_repository();
    scratch_write("repo/AGENTS.md", "root\n");
    scratch_write("repo/a/AGENTS.md", "middle </agents_md>\n");
    scratch_write("repo/a/b/CLAUDE.md", "leaf\n");
    scratch_write("repo/a/b/x.c", "");
    find_below("repo", "repo/a/b/x.c", NULL);
    ck_assert_uint_eq(found->count, 2);
    ck_assert_str_eq(found->files[0].path, scratch_path("repo/a/AGENTS.md"));
    ck_assert_str_eq(found->files[0].text, "middle </agents_md>\n"); /* JSON needs no escapes */
    ck_assert_str_eq(found->files[1].text, "leaf\n");
    find_below("repo", "repo/a/b/x.c", "repo/a/AGENTS.md");
    ck_assert_uint_eq(found->count, 1);
    ck_assert_str_eq(found->files[0].text, "leaf\n");
    find_below("repo/a", "repo/a/b/x.c", NULL);
    ck_assert_uint_eq(found->count, 1);
    find_below("repo", "repo/a/b/CLAUDE.md", NULL); /* it is read itself */
    ck_assert_uint_eq(found->count, 1);
    ck_assert_str_eq(found->files[0].text, "middle </agents_md>\n");
    /* not below */
    find_below("repo/a/b", "repo/a/b/x.c", NULL);
    ck_assert_ptr_null(found);
    find_below("repo/a/b", "repo/a/x.c", NULL);
    ck_assert_ptr_null(found);
    find_below("repo/a", "repo/ab/x.c", NULL);
    ck_assert_ptr_null(found);
}
END_TEST

START_TEST(below_as_above_no_link_leads_out)
{
    make_repository();
    scratch_write("secret", "SECRET\n");
    scratch_write("repo/rules", "linked\n");
    ck_assert_int_eq(symlink("../../secret", scratch_path("repo/a/AGENTS.md")), 0);
    ck_assert_int_eq(symlink("../../rules", scratch_path("repo/a/b/AGENTS.md")), 0);
    find_below("repo", "repo/a/b/x.c", NULL);
    ck_assert_uint_eq(found->count, 1);
    ck_assert_str_eq(found->files[0].text, "linked\n");
    assert_problem("repo/a/AGENTS.md", "outside");
}
END_TEST

START_TEST(files_are_announced)
{
    ik_instruction_t file = {.path = "/p/AGENTS.md", .size = 1229};
    ck_assert_str_eq(ik_instructions_format(ctx, &file), "AGENTS.md: /p/AGENTS.md (1 KB)");
    file.size = 10;
    ck_assert_str_eq(ik_instructions_format(ctx, &file), "AGENTS.md: /p/AGENTS.md (10 bytes)");
    file.size = 65536;
    file.cut = true;
    ck_assert_str_eq(ik_instructions_format(ctx, &file), "AGENTS.md: /p/AGENTS.md (66 KB, cut)");
    file.left_out = true;
    ck_assert_str_eq(ik_instructions_format(ctx, &file),
                     "AGENTS.md: /p/AGENTS.md (66 KB, left out: nearer files take all the room)");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("instructions");
    TCase *tests = tcase_create("instructions");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, from_the_root_of_the_repository_to_the_folder);
    tcase_add_test(tests, a_worktree_has_a_file_for_its_repository);
    tcase_add_test(tests, without_a_repository_only_the_folder);
    tcase_add_test(tests, the_users_own_come_first);
    tcase_add_test(tests, the_users_own_have_their_own_room);
    tcase_add_test(tests, claude_md_counts_where_there_is_no_agents_md);
    tcase_add_test(tests, claude_md_does_not_replace_what_cannot_be_read);
    tcase_add_test(tests, a_home_folder_as_repository);
    tcase_add_test(tests, a_byte_order_mark_is_dropped);
    tcase_add_test(tests, an_unreadable_file_is_a_problem);
    tcase_add_test(tests, nothing_to_find);
    tcase_add_test(tests, a_long_guide_is_cut_at_a_line);
    tcase_add_test(tests, a_long_line_is_cut_between_characters);
    tcase_add_test(tests, just_fitting_is_not_cut);
    tcase_add_test(tests, the_inner_ones_come_first_when_room_is_short);
    tcase_add_test(tests, what_is_not_utf8_becomes_so);
    tcase_add_test(tests, a_file_with_nul_is_not_text);
    tcase_add_test(tests, a_fifo_is_a_problem);
    tcase_add_test(tests, a_folder_of_that_name_is_a_problem);
    tcase_add_test(tests, links);
    tcase_add_test(tests, links_out_of_the_repository_are_refused);
    tcase_add_test(tests, without_a_repository_the_folder_is_the_bound);
    tcase_add_test(tests, a_guide_cannot_end_its_section);
    tcase_add_test(tests, folders_between_the_working_folder_and_a_file);
    tcase_add_test(tests, below_as_above_no_link_leads_out);
    tcase_add_test(tests, files_are_announced);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}
