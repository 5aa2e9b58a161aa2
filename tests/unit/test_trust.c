#include <fcntl.h>
#include <time.h>

#include "base/alloc.h"
#include "base/file.h"
#include "scratch.h"
#include "trust/trust.h"
#include "trust/trust_copy.h"

static void *ctx;
static ik_paths_t paths;

static void set_up(void)
{
    scratch_empty();
    ctx = talloc_new(NULL);
    paths = (ik_paths_t){
        .home = scratch_path("home"),
        .trusted = scratch_path("home/trusted"),
        .trust_file = scratch_path("home/trust.json"),
        .project_tools = scratch_path("tools"),
    };
    scratch_make_folder("tools");
}

/* Revoking removes the read-only copies, which scratch_empty can only do as root. */
static void tear_down(void)
{
    bool known;
    ik_trust_revoke(&paths, paths.project_tools, &known);
    talloc_free(ctx);
}

static void write_tool(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof(path), "tools/%s", name);
    ck_assert_int_eq(chmod(scratch_write(path, text), 0755), 0);
}

static const ik_trust_status_t *check(void)
{
    return ik_trust_check(ctx, &paths, paths.project_tools);
}

static const ik_trust_status_t *check_is(ik_trust_state_t state)
{
    const ik_trust_status_t *status = check();
    ck_assert_msg(status->state == state, "state %d, reason %s, changed %s", status->state,
                  status->reason == NULL ? "-" : status->reason,
                  status->changed == NULL ? "-" : status->changed);
    return status;
}

static void grant(void)
{
    res_t granted = ik_trust_grant(&paths, check()->snapshot);
    ck_assert_msg(is_ok(&granted), "%s", granted.message);
}

START_TEST(absent)
{
    ck_assert_int_eq(ik_trust_check(ctx, &paths, NULL)->state, IK_TRUST_ABSENT);
    ck_assert_int_eq(ik_trust_check(ctx, &paths, "/no/such/folder")->state, IK_TRUST_ABSENT);
    check_is(IK_TRUST_ABSENT);
    scratch_write("tools/data", "not executable");
    check_is(IK_TRUST_ABSENT);
}
END_TEST

START_TEST(a_snapshot)
{
    scratch_make_folder("tools/sub");
    scratch_make_folder("tools/__pycache__");
    write_tool("b", "bee");
    write_tool("sub/inner", "inner");
    write_tool(".hidden", "");
    write_tool("__pycache__/x", "");
    scratch_write("tools/a", "");
    ck_assert_int_eq(symlink("b", scratch_path("tools/link")), 0);
    const ik_trust_snapshot_t *snapshot = check_is(IK_TRUST_NEVER)->snapshot;
    static const struct {
        const char *path;
        const char *hash; /* of the content, or NULL for a link */
        unsigned mode;
    } files[] = {
        {".hidden", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", 0755},
        {"a", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", 0644},
        {"b", "62cb81b5904a262ffaeed02abef36bfc540b09f964b8b0b636662f77ffce6714", 0755},
        {"link", NULL, 0777},
        {"sub/inner", "33bf6fbd7cd8379785a21e233d8e09f824e7bab459168a96312c1c882c1d7e1f", 0755},
    };
    ck_assert_uint_eq(snapshot->count, 5);
    for (size_t i = 0; i < 5; i++) {
        const ik_trust_snapshot_file_t *file = &snapshot->files[i];
        ck_assert_str_eq(file->path, files[i].path);
        ck_assert_pstr_eq(file->hash, files[i].hash);
        ck_assert_pstr_eq(file->target, files[i].hash == NULL ? "b" : NULL);
        ck_assert_uint_eq(file->mode, files[i].mode);
    }
    ck_assert_int_eq(snapshot->bytes, 8);
    ck_assert_uint_eq(snapshot->tool_count, 2); /* b and link */
    ck_assert_str_eq(snapshot->tools[0], "b");
    ck_assert_str_eq(snapshot->tools[1], "link");
    ck_assert_uint_eq(strlen(snapshot->hash), IK_TRUST_SNAPSHOT_HASH_LENGTH);
}
END_TEST

/* Moving bytes between a name, a content and a link target changes the hash. */
START_TEST(different_folders_have_different_hashes)
{
    static const struct {
        const char *name, *text, *link;
    } cases[] = {
        {"a", "", NULL},   {"b", "", NULL}, {"a", "b", NULL}, {"ab", "", NULL},
        {"a", "ab", NULL}, {"a", "", "a"},  {"a", "", "t"},   {"aa", "", NULL},
    };
    enum { COUNT = sizeof(cases) / sizeof(cases[0]) };
    char hashes[COUNT][IK_TRUST_SNAPSHOT_HASH_LENGTH + 1];
    for (size_t i = 0; i < COUNT; i++) {
        scratch_empty();
        scratch_make_folder("tools");
        write_tool("t", "");
        write_tool(cases[i].name, cases[i].text);
        if (cases[i].link != NULL) {
            ck_assert_int_eq(symlink(cases[i].link, scratch_path("tools/link")), 0);
        }
        memcpy(hashes[i], check_is(IK_TRUST_NEVER)->snapshot->hash, sizeof(hashes[i]));
        for (size_t j = 0; j < i; j++) {
            ck_assert_msg(strcmp(hashes[i], hashes[j]) != 0, "%zu and %zu are alike", i, j);
        }
    }
}
END_TEST

START_TEST(given_changed_given_again)
{
    write_tool("t", "one");
    grant();
    check_is(IK_TRUST_GIVEN);
    write_tool("t", "two");
    ck_assert_str_eq(check_is(IK_TRUST_CHANGED)->changed, "t changed");
    write_tool("t", "one");
    check_is(IK_TRUST_GIVEN);
    ck_assert_int_eq(chmod(scratch_path("tools/t"), 0700), 0);
    ck_assert_str_eq(check_is(IK_TRUST_CHANGED)->changed, "the permissions of t changed");
    grant();
    check_is(IK_TRUST_GIVEN);
}
END_TEST

START_TEST(taken_back)
{
    bool known = false;
    write_tool("t", "one");
    grant();
    res_t revoked = ik_trust_revoke(&paths, paths.project_tools, &known);
    ck_assert(is_ok(&revoked) && known);
    check_is(IK_TRUST_NEVER);
    revoked = ik_trust_revoke(&paths, paths.project_tools, &known);
    ck_assert(is_ok(&revoked) && !known);
    ck_assert_int_eq(rmdir(paths.trusted), 0); /* it is empty */
}
END_TEST

START_TEST(the_copy_holds_the_reviewed_bytes)
{
    char *copy;
    char *text;
    size_t len;
    write_tool("t", "one");
    const ik_trust_snapshot_t *reviewed = check()->snapshot;
    res_t copied = ik_trust_copy_create(ctx, paths.trusted, reviewed, &copy);
    ck_assert(is_ok(&copied));
    write_tool("t", "two");
    res_t again = ik_trust_copy_create(ctx, paths.trusted, reviewed, &copy);
    ck_assert(is_ok(&again));
    res_t read = ik_file_read(ctx, ik_sprintf(ctx, "%s/t", copy), 100, &text, &len);
    ck_assert(is_ok(&read));
    ck_assert_str_eq(text, "one");
    check_is(IK_TRUST_NEVER); /* a copy alone is not a decision */
    /* A folder that changed since the review is not trusted, even if a copy of it exists. */
    ck_assert_int_eq(ik_trust_grant(&paths, reviewed).code, IK_ERR_CONFLICT);
    check_is(IK_TRUST_NEVER);
}
END_TEST

START_TEST(what_changed_since_the_review_is_not_copied)
{
    char *copy;
    write_tool("t", "one");
    const ik_trust_snapshot_t *reviewed = check()->snapshot;
    write_tool("t", "two");
    res_t copied = ik_trust_copy_create(ctx, paths.trusted, reviewed, &copy);
    ck_assert_int_eq(copied.code, IK_ERR_CONFLICT);
    ck_assert_str_eq(copied.message, "t changed in the meantime; review again");
    ck_assert_int_eq(rmdir(paths.trusted), 0);
}
END_TEST

/* The path of the copy of the tool folder in its present state. */
static char *copy_of_now(void)
{
    char *copy;
    res_t copied = ik_trust_copy_create(ctx, paths.trusted, check()->snapshot, &copy);
    ck_assert_msg(is_ok(&copied), "%s", copied.message);
    return copy;
}

static void make_old(const char *path)
{
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

START_TEST(copies_of_former_days_go)
{
    write_tool("t", "old and unused");
    char *unused = copy_of_now();
    write_tool("t", "young and unused");
    char *young = copy_of_now();
    char *stranger = ik_sprintf(ctx, "%s/notes", paths.trusted);
    ck_assert_int_eq(mkdir(stranger, 0700), 0);
    write_tool("t", "old and used");
    char *used = copy_of_now();
    make_old(unused);
    make_old(used);
    make_old(stranger);
    grant();
    ck_assert_int_ne(access(unused, F_OK), 0);
    ck_assert_int_eq(access(young, F_OK), 0);
    ck_assert_int_eq(access(used, F_OK), 0);
    ck_assert_int_eq(access(stranger, F_OK), 0);
}
END_TEST

START_TEST(refused)
{
    write_tool("t", "one");
    ck_assert_int_eq(symlink("/etc/passwd", scratch_path("tools/abs")), 0);
    const ik_trust_status_t *status = check_is(IK_TRUST_REFUSED);
    ck_assert_str_eq(status->reason,
                     "the symlink abs leads outside the folder; replace it with a copy");
    ck_assert_ptr_null(status->snapshot);
    ck_assert_int_eq(unlink(scratch_path("tools/abs")), 0);
    ck_assert_int_eq(mkfifo(scratch_path("tools/fifo"), 0600), 0);
    ck_assert_str_eq(check_is(IK_TRUST_REFUSED)->reason,
                     "fifo is neither a file nor a folder; remove it");
}
END_TEST

/* A sibling folder whose name begins with the folder's name is outside. */
START_TEST(a_link_to_a_namesake_leaves)
{
    write_tool("t", "one");
    scratch_make_folder("tools2");
    scratch_write("tools2/x", "");
    ck_assert_int_eq(symlink("../tools2/x", scratch_path("tools/x")), 0);
    check_is(IK_TRUST_REFUSED);
}
END_TEST

/* What was allowed beyond the project ends with the bytes that it was allowed to. */
START_TEST(extras_belong_to_the_bytes)
{
    static const ik_effects_t network = {.write = IK_WRITE_PROJECT, .network = true};
    static const ik_effects_t less = {.write = IK_WRITE_NONE, .network = true};
    static const ik_effects_t more = {.write = IK_WRITE_ANYWHERE, .network = true};
    ik_trust_extra_t extra = {.tool = "a", .effects = network};
    write_tool("a", "one");
    ck_assert_int_eq(ik_trust_grant_extras(&paths, check()->snapshot, &extra, 1).code,
                     IK_ERR_CONFLICT);
    grant();
    ck_assert(!ik_trust_allows(check_is(IK_TRUST_GIVEN), "a", network));
    ck_assert_int_eq(ik_trust_grant_extras(&paths, check()->snapshot, &extra, 1).code, IK_ERR_NONE);
    const ik_trust_status_t *status = check_is(IK_TRUST_GIVEN);
    ck_assert(ik_trust_allows(status, "a", network));
    ck_assert(ik_trust_allows(status, "a", less));
    ck_assert(!ik_trust_allows(status, "a", more));
    ck_assert(!ik_trust_allows(status, "b", network));
    /* the same bytes in a new file: identities are recorded again, the decision stays */
    ck_assert_int_eq(unlink(scratch_path("tools/a")), 0);
    write_tool("a", "one");
    ck_assert(ik_trust_allows(check_is(IK_TRUST_GIVEN), "a", network));
    ck_assert(ik_trust_allows(check_is(IK_TRUST_GIVEN), "a", network));
    write_tool("a", "two");
    ck_assert(!ik_trust_allows(check_is(IK_TRUST_CHANGED), "a", less));
    grant();
    ck_assert(!ik_trust_allows(check_is(IK_TRUST_GIVEN), "a", less));
}
END_TEST

START_TEST(a_damaged_record_is_no_trust)
{
    write_tool("t", "one");
    grant();
    scratch_write("home/trust.json", "{\"format\":1,");
    const ik_trust_status_t *status = check_is(IK_TRUST_REFUSED);
    ck_assert_ptr_nonnull(strstr(status->reason, "is damaged"));
    bool known;
    ck_assert_int_eq(ik_trust_revoke(&paths, paths.project_tools, &known).code, IK_ERR_INVALID);
    ck_assert_int_eq(unlink(paths.trust_file), 0);
    grant();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tool_trust");
    TCase *tests = tcase_create("tool_trust");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, absent);
    tcase_add_test(tests, a_snapshot);
    tcase_add_test(tests, different_folders_have_different_hashes);
    tcase_add_test(tests, given_changed_given_again);
    tcase_add_test(tests, taken_back);
    tcase_add_test(tests, the_copy_holds_the_reviewed_bytes);
    tcase_add_test(tests, what_changed_since_the_review_is_not_copied);
    tcase_add_test(tests, copies_of_former_days_go);
    tcase_add_test(tests, refused);
    tcase_add_test(tests, a_link_to_a_namesake_leaves);
    tcase_add_test(tests, extras_belong_to_the_bytes);
    tcase_add_test(tests, a_damaged_record_is_no_trust);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}
