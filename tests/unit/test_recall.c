#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/file.h"
#include "scratch.h"
#include "terminal/recall.h"

static void *ctx;

static void set_up(void)
{
    scratch_empty();
    ctx = talloc_new(NULL);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static ik_recall_t *open_file(void)
{
    return ik_recall_create(ctx, scratch_path("history"));
}

/* All entries, newest first, with commas. */
static const char *entries(ik_recall_t *recall)
{
    char *all = ik_strdup(ctx, "");
    for (size_t i = 0; i < ik_recall_count(recall); i++) {
        all = ik_sprintf(ctx, "%s%s%s", all, i == 0 ? "" : ",", ik_recall_entry(recall, i));
    }
    return all;
}

static const char *file_text(void)
{
    char *bytes;
    size_t len;
    res_t result = ik_file_read(ctx, scratch_path("history"), 1 << 30, &bytes, &len);
    ck_assert_msg(is_ok(&result), "%s", result.message);
    return bytes;
}

static size_t count_lines(void)
{
    size_t count = 0;
    for (const char *text = file_text(); *text != '\0'; text++) {
        count += *text == '\n';
    }
    return count;
}

START_TEST(entries_come_back_newest_first)
{
    ik_recall_t *recall = open_file();
    ck_assert_int_ne(access(scratch_path("history"), F_OK), 0);
    ik_recall_add(recall, "one");
    ik_recall_add(recall, "two\nlines \"ä\"\t\\");
    ck_assert_str_eq(entries(recall), "two\nlines \"ä\"\t\\,one");
    ck_assert_str_eq(entries(open_file()), "two\nlines \"ä\"\t\\,one");
    ck_assert_uint_eq(count_lines(), 2);
    ck_assert_uint_eq(scratch_mode("history"), 0600);
}
END_TEST

START_TEST(each_text_once)
{
    ik_recall_t *recall = open_file();
    ik_recall_add(recall, "one");
    ik_recall_add(recall, "two");
    ik_recall_add(recall, "one");
    ck_assert_str_eq(entries(recall), "one,two");
    ik_recall_add(recall, "two");
    ck_assert_str_eq(entries(recall), "two,one");
    ck_assert_str_eq(entries(open_file()), "two,one");
}
END_TEST

START_TEST(what_is_not_kept)
{
    ik_recall_t *recall = open_file();
    ik_recall_add(recall, "");
    ik_recall_add(recall, " \n\t ");
    char *text = ik_new_array(ctx, char, IK_RECALL_ENTRY_MAX + 2);
    memset(text, 'x', IK_RECALL_ENTRY_MAX + 1);
    ik_recall_add(recall, text);
    ck_assert_uint_eq(ik_recall_count(recall), 0);
    text[IK_RECALL_ENTRY_MAX] = '\0';
    ik_recall_add(recall, text);
    ck_assert_uint_eq(ik_recall_count(recall), 1);
    ck_assert_uint_eq(ik_recall_count(open_file()), 1);
}
END_TEST

START_TEST(without_a_file)
{
    ik_recall_t *recall = ik_recall_create(ctx, NULL);
    ck_assert_uint_eq(ik_recall_count(recall), 0);
    ik_recall_add(recall, "one");
    ik_recall_add(recall, "two");
    ck_assert_str_eq(entries(recall), "two,one");
}
END_TEST

/* The file is read on first use, so that entries other instances added meanwhile are seen. */
START_TEST(it_is_read_when_it_is_needed)
{
    ik_recall_t *recall = open_file();
    ik_recall_add(recall, "mine");
    ik_recall_add(open_file(), "other");
    ik_recall_add(recall, "mine, too");
    ck_assert_str_eq(entries(recall), "mine, too,other,mine");
}
END_TEST

START_TEST(garbage_is_passed_over)
{
    scratch_write("history", "\"one\"\nrubbish\n\n{\"a\":1}\n17\n\"unfinished\n\"nul\\u0000\"\n"
                             "\"  \"\n \"two\" \n\"\xff\"\n\"partial");
    ik_recall_t *recall = open_file();
    ck_assert_uint_eq(ik_recall_count(recall), 3);
    ck_assert_str_eq(ik_recall_entry(recall, 1), "two");
    ck_assert_str_eq(ik_recall_entry(recall, 2), "one");
}
END_TEST

/* A line cut short by a crash does not spoil the next entry. */
START_TEST(a_line_cut_off_is_ended)
{
    scratch_write("history", "\"one\"\n\"cut of");
    ik_recall_add(open_file(), "two");
    ck_assert_str_eq(entries(open_file()), "two,one");
    ck_assert_str_eq(file_text(), "\"one\"\n\"cut of\n\"two\"\n");
}
END_TEST

START_TEST(the_file_is_private)
{
    scratch_write("history", "\"one\"\n");
    ik_recall_add(open_file(), "two");
    ck_assert_uint_eq(scratch_mode("history"), 0600);
}
END_TEST

START_TEST(missing_folders_are_made)
{
    ik_recall_t *recall = ik_recall_create(ctx, scratch_path("a/b/history"));
    ck_assert_uint_eq(ik_recall_count(recall), 0);
    ik_recall_add(recall, "one");
    ck_assert_uint_eq(scratch_mode("a/b"), 0700);
    ck_assert_str_eq(entries(ik_recall_create(ctx, scratch_path("a/b/history"))), "one");
}
END_TEST

/* It works without the file: a folder or a FIFO instead of it, or a path that cannot exist. */
START_TEST(what_is_no_file)
{
    scratch_make_folder("history");
    ck_assert_int_eq(mkfifo(scratch_path("fifo"), 0644), 0);
    const char *files[] = {scratch_path("history"), scratch_path("fifo"), "/proc/nothing/here"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        ik_recall_t *recall = ik_recall_create(ctx, files[i]);
        ik_recall_add(recall, "one");
        ck_assert_str_eq(entries(recall), "one");
        ik_recall_add(recall, "two");
        ck_assert_str_eq(entries(recall), "two,one");
    }
    ck_assert_uint_eq(scratch_mode("fifo"), 0644);
}
END_TEST

/* /dev/full is not a regular file, so a file size limit plays the full disk. */
START_TEST(what_cannot_be_written_is_kept_in_memory)
{
    struct rlimit before;
    scratch_write("history", "\"old\"\n");
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, before.rlim_max}), 0);
    ik_recall_t *recall = open_file();
    ik_recall_add(recall, "one");
    ik_recall_add(recall, "two");
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    ck_assert_str_eq(entries(recall), "two,one,old");
    ck_assert_str_eq(file_text(), "\"old\"\n");
}
END_TEST

START_TEST(prefixes)
{
    ik_recall_t *recall = ik_recall_create(ctx, NULL);
    ik_recall_add(recall, "git log");
    ik_recall_add(recall, "make");
    ik_recall_add(recall, "git diff");
    ik_recall_add(recall, "ls");
    ck_assert_uint_eq(ik_recall_find_prefix(recall, 0, true, "git", ""), 1);
    ck_assert_uint_eq(ik_recall_find_prefix(recall, 2, true, "git", ""), 3);
    ck_assert_uint_eq(ik_recall_find_prefix(recall, 0, true, "git", "git diff"), 3);
    ck_assert_uint_eq(ik_recall_find_prefix(recall, 4, true, "git", ""), SIZE_MAX);
    ck_assert_uint_eq(ik_recall_find_prefix(recall, 2, false, "git", ""), 1);
    ck_assert_uint_eq(ik_recall_find_prefix(recall, 0, false, "git", ""), SIZE_MAX);
    ck_assert_uint_eq(ik_recall_find_prefix(recall, SIZE_MAX, false, "", ""), SIZE_MAX);
    ck_assert_uint_eq(ik_recall_find_prefix(recall, 0, true, "", "ls"), 1);
    ck_assert_uint_eq(ik_recall_find_prefix(recall, 0, true, "x", ""), SIZE_MAX);
}
END_TEST

static void write_lines(size_t count, const char *format)
{
    FILE *file = fopen(scratch_path("history"), "w");
    for (size_t i = 0; i < count; i++) {
        fprintf(file, format, i);
    }
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(the_newest_are_kept)
{
    write_lines(IK_RECALL_MAX + 10, "\"entry %zu\"\n");
    ik_recall_t *recall = open_file();
    ck_assert_uint_eq(ik_recall_count(recall), IK_RECALL_MAX);
    ck_assert_str_eq(ik_recall_entry(recall, IK_RECALL_MAX - 1), "entry 10");
    ik_recall_add(recall, "new");
    ck_assert_uint_eq(ik_recall_count(recall), IK_RECALL_MAX);
    ck_assert_str_eq(ik_recall_entry(recall, IK_RECALL_MAX - 1), "entry 11");
    ck_assert_uint_eq(count_lines(), IK_RECALL_MAX + 11);
}
END_TEST

START_TEST(a_long_file_is_written_anew)
{
    write_lines(2 * IK_RECALL_MAX, "\"entry %zu\"\n");
    ik_recall_t *recall = open_file();
    ck_assert_uint_eq(ik_recall_count(recall), IK_RECALL_MAX);
    ck_assert_uint_eq(count_lines(), IK_RECALL_MAX);
    ck_assert_uint_eq(scratch_mode("history"), 0600);
    ck_assert_uint_eq(ik_recall_count(open_file()), IK_RECALL_MAX);
    ck_assert_str_eq(ik_recall_entry(open_file(), 0), "entry 19999");
}
END_TEST

/* Also while it is in use, without losing what other instances added. */
START_TEST(it_is_written_anew_when_it_becomes_long)
{
    write_lines(2 * IK_RECALL_MAX - 2, "\"a\"\n");
    ik_recall_t *recall = open_file();
    ck_assert_str_eq(entries(recall), "a");
    ik_recall_add(open_file(), "other");
    ik_recall_add(recall, "b");
    ik_recall_add(recall, "c");
    ck_assert_str_eq(file_text(), "\"a\"\n\"other\"\n\"b\"\n\"c\"\n");
    ck_assert_str_eq(entries(recall), "c,b,other,a");
}
END_TEST

/* Also by its size, and also if entries are only added and never read. */
START_TEST(a_large_file_is_written_anew)
{
    char *text = ik_new_array(ctx, char, 60001);
    memset(text, 'x', 60000);
    write_lines(150, ik_sprintf(ctx, "\"%s\"\n", text));
    ik_recall_add(open_file(), "small");
    ck_assert_uint_eq(count_lines(), 2);
}
END_TEST

static void write_entries(int writer, int count)
{
    for (int i = 0; i < count; i++) {
        ik_recall_add(ik_recall_create(ctx, scratch_path("history")),
                      ik_sprintf(ctx, "%d-%d", writer, i));
        usleep(50);
    }
}

/* Fills the file and reads it. */
static void provoke_writing_anew(void)
{
    enum { LINES = 2 * IK_RECALL_MAX };
    static char lines[LINES * 6 + 1];
    for (int i = 0; lines[0] == '\0' && i < LINES; i++) {
        memcpy(lines + LINES * 6 - 6 * (i + 1), "\"old\"\n", 6);
    }
    int fd = open(scratch_path("history"), O_WRONLY | O_APPEND);
    ck_assert_int_eq(write(fd, lines, LINES * 6), LINES * 6);
    close(fd);
    ck_assert_uint_ge(ik_recall_count(open_file()), 1);
}

/* Several processes append while another keeps rewriting the file: nothing is lost. */
START_TEST(instances_do_not_lose_each_others_entries)
{
    enum { WRITERS = 3, EACH = 3000 };
    pid_t writers[WRITERS];
    write_lines(1, "\"old\"\n");
    for (int w = 0; w < WRITERS; w++) {
        writers[w] = fork();
        if (writers[w] == 0) {
            write_entries(w, EACH);
            talloc_free(ctx);
            _exit(0);
        }
    }
    for (int w = 0; w < WRITERS; w++) {
        int status;
        while (waitpid(writers[w], &status, WNOHANG) == 0) {
            provoke_writing_anew();
        }
        ck_assert_int_eq(status, 0);
    }
    ck_assert_uint_eq(ik_recall_count(open_file()), 1 + WRITERS * EACH);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recall");
    TCase *tests = tcase_create("recall");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, entries_come_back_newest_first);
    tcase_add_test(tests, each_text_once);
    tcase_add_test(tests, what_is_not_kept);
    tcase_add_test(tests, without_a_file);
    tcase_add_test(tests, it_is_read_when_it_is_needed);
    tcase_add_test(tests, garbage_is_passed_over);
    tcase_add_test(tests, a_line_cut_off_is_ended);
    tcase_add_test(tests, the_file_is_private);
    tcase_add_test(tests, missing_folders_are_made);
    tcase_add_test(tests, what_is_no_file);
    tcase_add_test(tests, what_cannot_be_written_is_kept_in_memory);
    tcase_add_test(tests, prefixes);
    tcase_add_test(tests, the_newest_are_kept);
    tcase_add_test(tests, a_long_file_is_written_anew);
    tcase_add_test(tests, it_is_written_anew_when_it_becomes_long);
    tcase_add_test(tests, a_large_file_is_written_anew);
    tcase_add_test(tests, instances_do_not_lose_each_others_entries);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}
