/* Where rooms keep what calls change in /tmp and in caches. */
#include <check.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "confinement/room_store.h"
#include "scratch.h"
#include "suite.h"

enum { PROCESSES = 4, STORES = 300 };

static const char *const copies[] = {"/tmp/copy", NULL};

/* The folder of a store is there as long as the store. */
static bool is_kept(const char *rooms)
{
    void *ctx = talloc_new(NULL);
    const ik_room_store_t *store = ik_room_store_create(ctx, rooms, "/project", copies);
    const char *folder = ik_room_store_folders(store)[0];
    bool kept = folder[0] != '\0' && access(ik_sprintf(ctx, "%s/upper", folder), F_OK) == 0 &&
                access(ik_sprintf(ctx, "%s/work", folder), F_OK) == 0;
    talloc_free(ctx);
    return kept;
}

/* Each sweeps away what dead ones left, while others are about to lock their folders. */
START_TEST(no_store_is_swept_away_before_it_is_locked)
{
    pid_t children[PROCESSES];
    scratch_empty();
    char *rooms = ik_sprintf(NULL, "%s/rooms", scratch_folder);
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            int kept = 0;
            while (kept < STORES && is_kept(rooms)) {
                kept++;
            }
            _exit(kept == STORES ? 0 : 1);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert_int_eq(status, 0);
    }
    talloc_free(rooms);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("room_store");
    TCase *cases = tcase_create("stores");
    tcase_add_test(cases, no_store_is_swept_away_before_it_is_locked);
    suite_add_tcase(suite, cases);
    return scratch_run(suite);
}
