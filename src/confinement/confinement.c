#include "confinement/confinement.h"

#include <errno.h>
#include <linux/landlock.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "confinement/room_plan.h"
#include "confinement/room_store.h"

enum { KINDS = 6 }; /* of effects: three ways to write, with and without network */

/* Waits for the level, or for a room. */
typedef struct waiter {
    ik_confinement_t *confinement;
    ik_confinement_known_fn on_known; /* NULL: waits for a room */
    ik_confinement_ready_fn on_ready;
    ik_effects_t effects;
    void *data;
    struct waiter *next;
} waiter_t;

/* What the running trial is to find out. */
typedef enum {
    NO_TRIAL,
    TRIAL_OF_NAMESPACES,
    TRIAL_OF_LANDLOCK,
    TRIAL_OF_COPIES, /* makes the copies that all rooms share */
} trial_t;

struct ik_confinement {
    ik_confinement_options_t options;
    ik_room_places_t places;
    ik_confinement_facts_t facts;
    bool known;
    trial_t trial;
    ik_process_host_t *trial_host;
    ik_timer_t *advance; /* a host cannot be freed from its own callback */
    int trial_error;
    ik_room_part_t trial_part;
    waiter_t *waiters;
    ik_process_host_t *rooms[KINDS]; /* NULL: not made yet */
    ik_room_store_t *store;          /* NULL: no copies yet */
    /* Mounts of the copies, in sets: each start of a room uses one up. */
    int mounts[IK_KEEPER_MAX_MOUNTS];
    size_t mount_count;
    size_t copy_count; /* in a set */
    bool copies_made;
};

const char *ik_confinement_level_name(ik_confinement_level_t level)
{
    static const char *const names[] = {"none", "partial", "full"};
    return names[level];
}

static const ik_effects_t no_effects = {.write = IK_WRITE_NONE};

/* --- what is missing --------------------------------------------------------------------- */

static const char *describe_failure(const void *ctx, ik_room_part_t part, int error)
{
    static const char *const parts[] = {
        [IK_ROOM_PART_NONE] = "The keeper could not be started",
        [IK_ROOM_PART_USER_NAMESPACE] = "The kernel does not allow user namespaces",
        [IK_ROOM_PART_NAMESPACES] = "The kernel does not allow mount, PID, IPC or network "
                                    "namespaces",
        [IK_ROOM_PART_MOUNTS] = "The kernel does not allow mounts in a user namespace",
        [IK_ROOM_PART_PROC] = "The kernel does not allow a /proc of its own",
        [IK_ROOM_PART_OVERLAY] = "The kernel does not allow overlays in a user namespace",
        [IK_ROOM_PART_LOOPBACK] = "The loopback device cannot be set up",
        [IK_ROOM_PART_LANDLOCK] = "The kernel has no Landlock",
        [IK_ROOM_PART_SECCOMP] = "The kernel does not allow seccomp filters",
    };
    return ik_sprintf(ctx, "%s (%s)", parts[part], strerror(error));
}

/* --- waiting ----------------------------------------------------------------------------- */

static int unlink_waiter(waiter_t *waiter)
{
    waiter_t **link = &waiter->confinement->waiters;
    while (*link != NULL && *link != waiter) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = waiter->next;
    }
    return 0;
}

static waiter_t *add_waiter(const void *ctx, ik_confinement_t *confinement)
{
    waiter_t *waiter = ik_new(ctx, waiter_t);
    waiter->confinement = confinement;
    waiter_t **end = &confinement->waiters;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = waiter;
    talloc_set_destructor(waiter, unlink_waiter);
    return waiter;
}

static size_t kind_of(ik_effects_t effects)
{
    return 2 * (size_t)effects.write + (effects.network ? 1 : 0);
}

static ik_process_host_t *obtain_room(ik_confinement_t *confinement, ik_effects_t effects);

/* Answers the waiters that can be answered now. A callback may add or remove waiters. */
static void answer_waiters(ik_confinement_t *confinement)
{
    for (;;) {
        waiter_t *waiter = confinement->waiters;
        bool rooms_possible =
            confinement->known &&
            (confinement->copies_made || confinement->facts.level != IK_CONFINEMENT_FULL);
        while (waiter != NULL && !rooms_possible &&
               (waiter->on_known == NULL || !confinement->known)) {
            waiter = waiter->next;
        }
        if (waiter == NULL) {
            return;
        }
        waiter_t answered = *waiter;
        talloc_free(waiter);
        if (answered.on_known != NULL) {
            answered.on_known(answered.data, &confinement->facts);
        } else {
            ik_process_host_t *host = obtain_room(confinement, answered.effects);
            if (answered.on_ready != NULL) {
                answered.on_ready(answered.data, host);
            }
        }
    }
}

/* --- trials ------------------------------------------------------------------------------ */

static void begin_trial(ik_confinement_t *confinement, trial_t trial);

static void take_mounts(ik_confinement_t *confinement, const int *mounts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (confinement->trial == TRIAL_OF_COPIES && confinement->mount_count == i) {
            confinement->mounts[confinement->mount_count++] = mounts[i];
        } else {
            close(mounts[i]);
        }
    }
}

static void on_trial_made(void *data, int error, ik_room_part_t part, const int *mounts,
                          size_t count)
{
    ik_confinement_t *confinement = data;
    confinement->trial_error = error;
    confinement->trial_part = part;
    take_mounts(confinement, mounts, count);
    ik_timer_start(confinement->advance, 0);
}

static void set_cause(ik_confinement_t *confinement)
{
    confinement->facts.cause =
        describe_failure(confinement, confinement->trial_part, confinement->trial_error);
}

/* The copies could not be made although the trial of namespaces succeeded: the disk is full, or a
 * cache folder is special. The level falls, and the rooms know no copies. */
static void end_copies(ik_confinement_t *confinement)
{
    confinement->copies_made = confinement->trial_error == 0;
    if (confinement->copies_made) {
        return;
    }
    confinement->facts.level = IK_CONFINEMENT_PARTIAL;
    set_cause(confinement);
    if (confinement->options.on_fall != NULL) {
        confinement->options.on_fall(confinement->options.data, &confinement->facts);
    }
}

static void on_advance(void *data)
{
    ik_confinement_t *confinement = data;
    trial_t ended = confinement->trial;
    TALLOC_FREE(confinement->trial_host);
    confinement->trial = NO_TRIAL;
    bool worked = confinement->trial_error == 0;
    ik_confinement_facts_t *facts = &confinement->facts;
    switch (ended) {
    case TRIAL_OF_NAMESPACES:
        facts->user_namespaces = worked || confinement->trial_part > IK_ROOM_PART_USER_NAMESPACE;
        if (!worked) {
            set_cause(confinement);
            begin_trial(confinement, TRIAL_OF_LANDLOCK);
            return;
        }
        facts->level = IK_CONFINEMENT_FULL;
        facts->cause = "";
        facts->seccomp = true;
        confinement->known = true;
        break;
    case TRIAL_OF_LANDLOCK:
        facts->level = worked ? IK_CONFINEMENT_PARTIAL : IK_CONFINEMENT_NONE;
        facts->seccomp = worked || confinement->trial_part != IK_ROOM_PART_SECCOMP;
        if (!worked) {
            set_cause(confinement);
        }
        confinement->known = true;
        break;
    case TRIAL_OF_COPIES:
        end_copies(confinement);
        break;
    case NO_TRIAL:
        break;
    }
    answer_waiters(confinement);
    for (waiter_t *waiter = confinement->waiters; waiter != NULL; waiter = waiter->next) {
        if (confinement->trial == NO_TRIAL && waiter->on_known == NULL) {
            begin_trial(confinement, TRIAL_OF_COPIES);
        }
    }
}

/* A room like the real ones, with copies kept in memory. */
static ik_room_plan_t *plan_trial(const void *ctx, ik_confinement_t *confinement, trial_t trial)
{
    static const char *const steps[] = {"o/usr", "c/tmp", "", "W/tmp"};
    ik_room_plan_t *plan = NULL;
    if (trial == TRIAL_OF_LANDLOCK) {
        return ik_room_plan_create_partial(ctx, &confinement->places, no_effects);
    }
    if (trial == TRIAL_OF_COPIES) {
        const char **copies = ik_room_plan_copies(ctx, &confinement->places);
        confinement->copy_count = 0;
        while (copies[confinement->copy_count] != NULL) {
            confinement->copy_count++;
        }
        confinement->store = ik_room_store_create(confinement, confinement->places.ikigai_home,
                                                  confinement->places.project, copies);
        return ik_room_plan_create(ctx, &confinement->places, no_effects,
                                   ik_room_store_folders(confinement->store));
    }
    plan = ik_new(ctx, ik_room_plan_t);
    plan->count = sizeof(steps) / sizeof(steps[0]);
    plan->steps = (const char **)talloc_memdup(plan, steps, sizeof(steps));
    return plan;
}

static void begin_trial(ik_confinement_t *confinement, trial_t trial)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    confinement->facts.landlock_abi = abi > 0 ? (int)abi : 0;
    ik_room_plan_t *plan = plan_trial(confinement, confinement, trial);
    ik_process_room_t room = {
        .flags = IK_ROOM_TRIAL | (trial == TRIAL_OF_LANDLOCK ? 0 : IK_ROOM_NAMESPACES) |
                 (trial == TRIAL_OF_COPIES ? IK_ROOM_SHARE : 0),
        .steps = plan->steps,
        .step_count = plan->count,
        .on_made = on_trial_made,
        .data = confinement,
    };
    confinement->trial = trial;
    confinement->trial_error = ENOEXEC;
    confinement->trial_part = IK_ROOM_PART_NONE;
    confinement->trial_host = ik_process_host_create_room(
        confinement, confinement->options.loop, confinement->options.paths->keeper, &room);
    res_t opened = ik_process_host_open(confinement->trial_host);
    if (is_err(&opened)) {
        ik_timer_start(confinement->advance, 0);
    }
    talloc_free(plan);
}

/* --- rooms ------------------------------------------------------------------------------- */

static size_t take_set(void *data, int mounts[IK_KEEPER_MAX_MOUNTS])
{
    ik_confinement_t *confinement = data;
    size_t count = confinement->copy_count;
    if (confinement->mount_count < count) {
        return 0;
    }
    confinement->mount_count -= count;
    memcpy(mounts, confinement->mounts + confinement->mount_count, count * sizeof(*mounts));
    return count;
}

static ik_process_host_t *obtain_room(ik_confinement_t *confinement, ik_effects_t effects)
{
    ik_process_host_t **host = &confinement->rooms[kind_of(effects)];
    ik_confinement_level_t level = confinement->facts.level;
    if (*host != NULL || level == IK_CONFINEMENT_NONE) {
        return *host;
    }
    bool full = level == IK_CONFINEMENT_FULL;
    ik_room_plan_t *plan =
        full ? ik_room_plan_create(confinement, &confinement->places, effects, NULL)
             : ik_room_plan_create_partial(confinement, &confinement->places, effects);
    ik_process_room_t room = {
        .flags = (full ? IK_ROOM_NAMESPACES : 0) | (effects.network ? IK_ROOM_NETWORK : 0) |
                 (effects.write == IK_WRITE_NONE ? IK_ROOM_FIXED : 0),
        .steps = plan->steps,
        .step_count = plan->count,
        .take_mounts = full ? take_set : NULL,
        .data = confinement,
    };
    *host = ik_process_host_create_room(confinement, confinement->options.loop,
                                        confinement->options.paths->keeper, &room);
    talloc_free(plan);
    ik_process_host_open(*host); /* a failure is reported by the first process, too */
    return *host;
}

void ik_confinement_prepare(const void *ctx, ik_confinement_t *confinement, ik_effects_t effects,
                            ik_confinement_ready_fn on_ready, void *data)
{
    waiter_t *waiter = add_waiter(ctx, confinement);
    waiter->on_ready = on_ready;
    waiter->effects = effects;
    waiter->data = data;
    answer_waiters(confinement);
    if (confinement->waiters != NULL && confinement->trial == NO_TRIAL) {
        begin_trial(confinement, confinement->known ? TRIAL_OF_COPIES : TRIAL_OF_NAMESPACES);
    }
}

void ik_confinement_detect(const void *ctx, ik_confinement_t *confinement,
                           ik_confinement_known_fn on_known, void *data)
{
    waiter_t *waiter = add_waiter(ctx, confinement);
    waiter->on_known = on_known;
    waiter->data = data;
    answer_waiters(confinement);
    if (!confinement->known && confinement->trial == NO_TRIAL) {
        begin_trial(confinement, TRIAL_OF_NAMESPACES);
    }
}

const ik_confinement_facts_t *ik_confinement_facts(const ik_confinement_t *confinement)
{
    return confinement->known ? &confinement->facts : NULL;
}

char *ik_confinement_describe(const void *ctx, const ik_confinement_t *confinement,
                              ik_effects_t effects)
{
    bool without_tmp = confinement->facts.level == IK_CONFINEMENT_PARTIAL;
    char *text = NULL;
    if (effects.write == IK_WRITE_PROJECT) {
        text = ik_sprintf(ctx, "writes only in %s and /tmp", confinement->places.project);
    } else if (effects.write == IK_WRITE_NONE) {
        text = ik_sprintf(ctx, "no writes%s", without_tmp ? "" : " except in /tmp");
    }
    if (effects.network) {
        return text == NULL ? ik_strdup(ctx, "") : text;
    }
    return text == NULL ? ik_strdup(ctx, "no network") : ik_sprintf(ctx, "%s, no network", text);
}

/* --- watching ---------------------------------------------------------------------------- */

struct ik_confinement_watch {
    const char **places;
    struct stat *before; /* st_nlink 0: it does not exist */
    size_t folder_len;   /* of the project, with the slash */
};

static struct stat look(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 ? status : (struct stat){0};
}

ik_confinement_watch_t *ik_confinement_watch(const void *ctx, const char *project)
{
    ik_confinement_watch_t *watch = ik_new(ctx, ik_confinement_watch_t);
    size_t count = 0;
    watch->places = ik_room_plan_protected(watch, project);
    watch->folder_len = strlen(project) + 1;
    while (watch->places[count] != NULL) {
        count++;
    }
    watch->before = ik_new_array(watch, struct stat, count);
    for (size_t i = 0; i < count; i++) {
        watch->before[i] = look(watch->places[i]);
    }
    return watch;
}

char *ik_confinement_changes(const void *ctx, const ik_confinement_watch_t *watch)
{
    char *text = NULL;
    for (size_t i = 0; watch->places[i] != NULL; i++) {
        struct stat now = look(watch->places[i]);
        const struct stat *before = &watch->before[i];
        if (now.st_nlink == 0 ||
            (now.st_ino == before->st_ino && now.st_nlink == before->st_nlink &&
             memcmp(&now.st_ctim, &before->st_ctim, sizeof(now.st_ctim)) == 0)) {
            continue;
        }
        const char *name = watch->places[i] + watch->folder_len;
        text = text == NULL ? ik_sprintf(ctx, "Protected places appeared or changed: %s", name)
                            : ik_sprintf(ctx, "%s, %s", text, name);
    }
    return text;
}

/* --- life -------------------------------------------------------------------------------- */

static int close_confinement(ik_confinement_t *confinement)
{
    TALLOC_FREE(confinement->trial_host);
    for (size_t i = 0; i < KINDS; i++) {
        TALLOC_FREE(confinement->rooms[i]); /* before the store that they write to */
    }
    for (size_t i = 0; i < confinement->mount_count; i++) {
        close(confinement->mounts[i]);
    }
    for (waiter_t *waiter = confinement->waiters; waiter != NULL; waiter = waiter->next) {
        talloc_set_destructor(waiter, (int (*)(waiter_t *))NULL);
    }
    return 0;
}

ik_confinement_t *ik_confinement_create(const void *ctx, const ik_confinement_options_t *options)
{
    ik_confinement_t *confinement = ik_new(ctx, ik_confinement_t);
    confinement->options = *options;
    confinement->places = (ik_room_places_t){
        .project = options->paths->cwd,
        .user_home = getenv("HOME"),
        .ikigai_home = options->paths->home,
        .user_tools = options->paths->user_tools,
        .trusted = options->paths->trusted,
    };
    confinement->advance = ik_timer_create(confinement, options->loop, on_advance, confinement);
    talloc_set_destructor(confinement, close_confinement);
    return confinement;
}
