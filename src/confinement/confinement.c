#include "confinement/confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "confinement/room_plan.h"
#include "confinement/room_store.h"

enum {
    KINDS = 6, /* of effects: three ways to write, with and without network */
    REPEATED_MAX = 3,
};

/* Waits for the level, or for a room. */
typedef struct waiter {
    ik_confinement_t *confinement;
    ik_confinement_known_fn on_known; /* NULL: waits for a room */
    ik_confinement_ready_fn on_ready;
    ik_effects_t effects;
    void *data;
    struct waiter *next;
} waiter_t;

/* What the running trial finds out. */
typedef enum {
    NO_TRIAL,
    TRIAL_OF_NAMESPACES,
    TRIAL_OF_LANDLOCK,
    TRIAL_OF_COPIES, /* makes the copies that all rooms share */
} trial_t;

/* A room that exists or is being made. Another one replaces it when it could not be made. */
typedef struct {
    ik_confinement_t *confinement;
    ik_process_host_t *host;
    ik_confinement_level_t level;
    bool ready;
    int error; /* errno; 0: none */
    ik_room_part_t part;
    int handles[IK_ROOM_HANDLES]; /* of a room with namespaces; -1: none */
    ik_process_host_t *guard;     /* protects places in it; NULL: that is not necessary */
} room_t;

struct ik_confinement {
    ik_confinement_options_t options;
    ik_room_places_t places;
    ik_confinement_facts_t facts;
    bool known;
    trial_t trial;
    ik_process_host_t *trial_host;
    ik_timer_t *advance; /* a host cannot be freed from its own callback */
    ik_timer_t *settle;  /* rooms were made, or could not be */
    int trial_error;
    ik_room_part_t trial_part;
    waiter_t *waiters;
    room_t *rooms[KINDS];   /* NULL: not begun yet */
    ik_room_store_t *store; /* NULL: no copies yet */
    /* Mounts of the copies, in sets: each start of a room uses one up. */
    int mounts[IK_KEEPER_MAX_MOUNTS];
    size_t mount_count;
    size_t copy_count; /* in a set */
    bool copies_made;
    int repeated; /* rooms that were begun again */
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
        [IK_ROOM_PART_NAMESPACES] = "The kernel does not allow new namespaces",
        [IK_ROOM_PART_MOUNTS] = "The kernel does not allow mounts in a user namespace",
        [IK_ROOM_PART_PROC] = "The kernel does not allow a /proc of its own",
        [IK_ROOM_PART_OVERLAY] = "The kernel does not allow overlays in a user namespace",
        [IK_ROOM_PART_LOOPBACK] = "The loopback device cannot be set up",
        [IK_ROOM_PART_LANDLOCK] = "The kernel has no Landlock",
        [IK_ROOM_PART_SECCOMP] = "The kernel does not allow seccomp filters",
    };
    if (error == EMFILE) {
        return "Too few files may be open at a time (ulimit -n)";
    }
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

/* Whether calls can be confined as well as the user wants. */
static bool may_confine(const ik_confinement_t *confinement)
{
    ik_confinement_level_t level = confinement->facts.level;
    bool required = confinement->options.config->confinement == IK_CONFIG_CONFINEMENT_REQUIRED;
    return level == IK_CONFINEMENT_FULL || (level == IK_CONFINEMENT_PARTIAL && !required);
}

static bool can_answer(const ik_confinement_t *confinement, const waiter_t *waiter)
{
    const room_t *room = confinement->rooms[kind_of(waiter->effects)];
    return confinement->known &&
           (waiter->on_known != NULL || !may_confine(confinement) || (room != NULL && room->ready));
}

/* Answers the waiters that can be answered now. A callback may add or remove waiters. */
static void answer_waiters(ik_confinement_t *confinement)
{
    for (;;) {
        waiter_t *waiter = confinement->waiters;
        while (waiter != NULL && !can_answer(confinement, waiter)) {
            waiter = waiter->next;
        }
        if (waiter == NULL) {
            return;
        }
        waiter_t answered = *waiter;
        talloc_free(waiter);
        if (answered.on_known != NULL) {
            answered.on_known(answered.data, &confinement->facts);
        } else if (answered.on_ready != NULL) {
            const room_t *room = confinement->rooms[kind_of(answered.effects)];
            answered.on_ready(answered.data, may_confine(confinement) ? room->host : NULL);
        }
    }
}

/* --- trials ------------------------------------------------------------------------------ */

static void begin_trial(ik_confinement_t *confinement, trial_t trial);
static void begin_rooms(ik_confinement_t *confinement);

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
    /* The kernel drops descriptors that are too many for this process. */
    size_t copies = confinement->copy_count;
    while (copies > 0 && confinement->mount_count % copies != 0) {
        close(confinement->mounts[--confinement->mount_count]);
    }
    if (error == 0 && copies <= IK_KEEPER_MAX_MOUNTS && confinement->mount_count < copies) {
        confinement->trial_error = EMFILE;
    }
    ik_timer_start(confinement->advance, 0);
}

/* A room failed although the trial succeeded: the disk is full, a cache folder is special, or the
 * limits of the machine are reached. */
static void fall(ik_confinement_t *confinement, ik_confinement_level_t level, ik_room_part_t part,
                 int error)
{
    confinement->facts.level = level;
    confinement->facts.cause = describe_failure(confinement, part, error);
    if (confinement->options.on_fall != NULL) {
        confinement->options.on_fall(confinement->options.data, &confinement->facts);
    }
}

static void set_cause(ik_confinement_t *confinement)
{
    confinement->facts.cause =
        describe_failure(confinement, confinement->trial_part, confinement->trial_error);
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
        confinement->copies_made = worked;
        if (!worked) {
            fall(confinement, IK_CONFINEMENT_PARTIAL, confinement->trial_part,
                 confinement->trial_error);
        }
        break;
    case NO_TRIAL:
        break;
    }
    answer_waiters(confinement);
    begin_rooms(confinement);
}

/* A room that has only the copies, for others to share. */
static ik_room_plan_t *plan_copies(const void *ctx, ik_confinement_t *confinement)
{
    ik_room_plan_t *plan = ik_new(ctx, ik_room_plan_t);
    const char **copies = ik_room_plan_copies(plan, &confinement->places);
    size_t count = 0;
    while (copies[count] != NULL) {
        count++;
    }
    confinement->copy_count = count;
    confinement->store = ik_room_store_create(confinement, confinement->options.paths->rooms,
                                              confinement->places.project, copies);
    plan->count = 3 * count;
    plan->steps = ik_new_array(plan, const char *, plan->count + 1);
    for (size_t i = 0; i < count; i++) {
        const char **steps = plan->steps + 3 * i;
        /* A cache folder below /tmp may be missing, and its parents may have an owner that the copy
         * of /tmp cannot give to a copied folder: so it is not created there. */
        steps[0] = ik_sprintf(plan, "%c%s", IK_ROOM_STUB, copies[i]);
        steps[1] = ik_sprintf(plan, "%c%s", IK_ROOM_COPY, copies[i]);
        steps[2] = ik_room_store_folders(confinement->store)[i];
    }
    return plan;
}

static ik_room_plan_t *plan_trial(const void *ctx, ik_confinement_t *confinement, trial_t trial)
{
    /* A room like the real ones, with copies kept in memory. */
    static const char *const steps[] = {"o/usr", "c/tmp", "", "W/tmp"};
    if (trial == TRIAL_OF_LANDLOCK) {
        return ik_room_plan_create_partial(ctx, &confinement->places, no_effects);
    }
    if (trial == TRIAL_OF_COPIES) {
        return plan_copies(ctx, confinement);
    }
    ik_room_plan_t *plan = ik_new(ctx, ik_room_plan_t);
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
    ik_confinement_t *confinement = ((const room_t *)data)->confinement;
    size_t count = confinement->copy_count;
    if (confinement->mount_count < count) {
        return 0;
    }
    confinement->mount_count -= count;
    memcpy(mounts, confinement->mounts + confinement->mount_count, count * sizeof(*mounts));
    return count;
}

static void settle_room(room_t *room, int error, ik_room_part_t part)
{
    room->ready = error == 0;
    room->error = error;
    room->part = part;
    ik_timer_start(room->confinement->settle, 0);
}

static void close_handles(room_t *room)
{
    for (size_t i = 0; i < IK_ROOM_HANDLES; i++) {
        if (room->handles[i] >= 0) {
            close(room->handles[i]);
        }
        room->handles[i] = -1;
    }
}

static void on_room_made(void *data, int error, ik_room_part_t part, const int *mounts,
                         size_t count)
{
    room_t *room = data;
    size_t expected = error == 0 && room->level == IK_CONFINEMENT_FULL ? IK_ROOM_HANDLES : 0;
    close_handles(room); /* of one whose keeper died */
    for (size_t i = 0; i < count; i++) {
        if (i < expected) {
            room->handles[i] = mounts[i];
        } else {
            close(mounts[i]);
        }
    }
    settle_room(room, count < expected ? EMFILE : error, part);
}

static room_t *make_room(ik_confinement_t *confinement, ik_effects_t effects)
{
    room_t *room = ik_new(confinement, room_t);
    bool full = confinement->facts.level == IK_CONFINEMENT_FULL;
    room->confinement = confinement;
    room->level = confinement->facts.level;
    memset(room->handles, -1, sizeof(room->handles));
    ik_room_plan_t *plan = full ? ik_room_plan_create(room, &confinement->places, effects, NULL)
                                : ik_room_plan_create_partial(room, &confinement->places, effects);
    ik_process_room_t wanted = {
        .flags = (full ? IK_ROOM_NAMESPACES : 0) | (effects.network ? IK_ROOM_NETWORK : 0) |
                 (effects.write == IK_WRITE_NONE ? IK_ROOM_FIXED : 0),
        .steps = plan->steps,
        .step_count = plan->count,
        .take_mounts = full ? take_set : NULL,
        .on_made = on_room_made,
        .data = room,
    };
    room->host = ik_process_host_create_room(confinement, confinement->options.loop,
                                             confinement->options.paths->keeper, &wanted);
    talloc_free(plan);
    res_t opened = ik_process_host_open(room->host);
    if (is_err(&opened)) {
        settle_room(room, EAGAIN, IK_ROOM_PART_NONE);
    }
    return room;
}

/* --- protecting what appears later -------------------------------------------------------- */

/* Whether something stands there in the room that is not mounted. The kernel drops the mount of a
 * place that is removed or replaced outside of the room: git does so with .git/config. */
static bool is_open(const room_t *room, const char *path)
{
    struct statx status;
    return statx(room->handles[IK_ROOM_HANDLE_ROOT], path + 1, AT_SYMLINK_NOFOLLOW, STATX_TYPE,
                 &status) == 0 &&
           (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0;
}

static size_t take_namespace(void *data, int mounts[IK_KEEPER_MAX_MOUNTS])
{
    const room_t *room = data;
    mounts[0] = fcntl(room->handles[IK_ROOM_HANDLE_NAMESPACE], F_DUPFD_CLOEXEC, 0);
    return mounts[0] < 0 ? 0 : 1;
}

static void on_guarded(void *data, int error, ik_room_part_t part, const int *mounts, size_t count)
{
    (void)mounts;
    (void)count;
    settle_room(data, error, part);
}

/* No call starts in the room meanwhile. Those that run there are held by the new mounts, too. */
static void start_guard(room_t *room, const ik_room_plan_t *plan)
{
    ik_confinement_t *confinement = room->confinement;
    ik_process_room_t wanted = {
        .flags = IK_ROOM_NAMESPACES | IK_ROOM_JOIN,
        .steps = plan->steps,
        .step_count = plan->count,
        .take_mounts = take_namespace,
        .on_made = on_guarded,
        .data = room,
    };
    room->ready = false;
    room->guard = ik_process_host_create_room(confinement, confinement->options.loop,
                                              confinement->options.paths->keeper, &wanted);
    res_t opened = ik_process_host_open(room->guard);
    if (is_err(&opened)) {
        settle_room(room, EAGAIN, IK_ROOM_PART_NONE);
    }
}

/* Protects what has come into being at protected places since the rooms were made. */
static void guard_rooms(ik_confinement_t *confinement)
{
    ik_room_plan_t *plan = NULL;
    for (size_t i = kind_of((ik_effects_t){.write = IK_WRITE_PROJECT}); i < KINDS; i++) {
        room_t *room = confinement->rooms[i];
        if (room == NULL || !room->ready || room->guard != NULL ||
            room->level != IK_CONFINEMENT_FULL) {
            continue;
        }
        if (plan == NULL) {
            plan = ik_room_plan_create_guard(confinement, &confinement->places);
        }
        size_t closed = 0;
        while (closed < plan->count && !is_open(room, plan->steps[closed] + 1)) {
            closed++;
        }
        if (closed < plan->count) {
            start_guard(room, plan);
        }
    }
    talloc_free(plan);
}

/* Makes the rooms that are waited for, as far as that is possible now. */
static void begin_rooms(ik_confinement_t *confinement)
{
    if (!confinement->known || !may_confine(confinement)) {
        return;
    }
    for (waiter_t *waiter = confinement->waiters; waiter != NULL; waiter = waiter->next) {
        room_t **room = &confinement->rooms[kind_of(waiter->effects)];
        if (waiter->on_known != NULL || *room != NULL) {
            continue;
        }
        if (confinement->copies_made || confinement->facts.level != IK_CONFINEMENT_FULL) {
            *room = make_room(confinement, waiter->effects);
        } else if (confinement->trial == NO_TRIAL) {
            begin_trial(confinement, TRIAL_OF_COPIES);
        }
    }
}

/* Whether the reason may be gone with the next plan: what a room is to show can be removed,
 * replaced or mounted while it is being made. */
static bool may_repeat(const ik_confinement_t *confinement, const room_t *room)
{
    bool made = room->handles[IK_ROOM_HANDLE_ROOT] >= 0;
    return !made && room->level == IK_CONFINEMENT_FULL && confinement->repeated < REPEATED_MAX &&
           (room->part == IK_ROOM_PART_MOUNTS || room->part == IK_ROOM_PART_OVERLAY);
}

/* A room that could not be made is given up. Its host stays, for processes that were to start
 * there: they end with an error. */
static void on_settle(void *data)
{
    ik_confinement_t *confinement = data;
    for (size_t i = 0; i < KINDS; i++) {
        room_t *room = confinement->rooms[i];
        if (room != NULL && (room->ready || room->error != 0)) {
            TALLOC_FREE(room->guard);
        }
        if (room == NULL || room->error == 0) {
            continue;
        }
        bool repeat = may_repeat(confinement, room);
        close_handles(room);
        confinement->rooms[i] = NULL;
        if (repeat) {
            confinement->repeated++;
        } else if (room->level <= confinement->facts.level) {
            fall(confinement,
                 room->level == IK_CONFINEMENT_FULL ? IK_CONFINEMENT_PARTIAL : IK_CONFINEMENT_NONE,
                 room->part, room->error);
        }
    }
    answer_waiters(confinement);
    begin_rooms(confinement);
}

void ik_confinement_prepare(const void *ctx, ik_confinement_t *confinement, ik_effects_t effects,
                            ik_confinement_ready_fn on_ready, void *data)
{
    waiter_t *waiter = add_waiter(ctx, confinement);
    waiter->on_ready = on_ready;
    waiter->effects = effects;
    waiter->data = data;
    guard_rooms(confinement);
    answer_waiters(confinement);
    begin_rooms(confinement);
    if (!confinement->known && confinement->trial == NO_TRIAL) {
        begin_trial(confinement, TRIAL_OF_NAMESPACES);
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

static void on_required(void *data, const ik_confinement_facts_t *facts)
{
    (void)facts;
    *(bool *)data = true;
}

res_t ik_confinement_require(ik_confinement_t *confinement)
{
    const ik_confinement_facts_t *facts = &confinement->facts;
    if (confinement->options.config->confinement != IK_CONFIG_CONFINEMENT_REQUIRED) {
        return OK;
    }
    bool known = false;
    ik_confinement_detect(confinement, confinement, on_required, &known);
    ik_loop_run_until(confinement->options.loop, &known);
    if (facts->level == IK_CONFINEMENT_FULL) {
        return OK;
    }
    return ERR(
        INVALID,
        "The configuration requires confinement, and its level is %s here: %s; ikigai doctor "
        "says what is missing",
        ik_confinement_level_name(facts->level), facts->cause);
}

const ik_confinement_facts_t *ik_confinement_facts(const ik_confinement_t *confinement)
{
    return confinement->known ? &confinement->facts : NULL;
}

char *ik_confinement_describe_level(const void *ctx, const ik_confinement_facts_t *facts)
{
    return ik_sprintf(ctx, "Confinement of tools: %s. %s. ikigai doctor says what to do.",
                      ik_confinement_level_name(facts->level), facts->cause);
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

/* What stands at a place. st_nlink 0: nothing. */
typedef struct {
    struct stat own;
    struct stat target; /* what a link leads to; of other files, the same as own */
} sight_t;

struct ik_confinement_watch {
    const char *project;
    const char **places;
    sight_t *before;
    bool changes; /* tell of changed contents, too */
};

static sight_t look(const char *path)
{
    sight_t sight = {0};
    if (lstat(path, &sight.own) == 0 && stat(path, &sight.target) != 0) {
        sight.target = (struct stat){0};
    }
    return sight;
}

static bool is_same(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino &&
           (one->st_mode & S_IFMT) == (other->st_mode & S_IFMT) &&
           (one->st_nlink == 0) == (other->st_nlink == 0);
}

static bool is_unchanged(const struct stat *one, const struct stat *other)
{
    return is_same(one, other) && one->st_nlink == other->st_nlink &&
           memcmp(&one->st_ctim, &other->st_ctim, sizeof(one->st_ctim)) == 0;
}

ik_confinement_watch_t *ik_confinement_watch(const void *ctx, const char *project, bool changes)
{
    ik_confinement_watch_t *watch = ik_new(ctx, ik_confinement_watch_t);
    size_t count = 0;
    char resolved[PATH_MAX];
    watch->project = ik_strdup(watch, realpath(project, resolved) != NULL ? resolved : project);
    watch->places = ik_room_plan_protected(watch, watch->project);
    watch->changes = changes;
    while (watch->places[count] != NULL) {
        count++;
    }
    watch->before = ik_new_array(watch, sight_t, count);
    for (size_t i = 0; i < count; i++) {
        watch->before[i] = look(watch->places[i]);
    }
    return watch;
}

/* A place in a git folder that did not exist was not looked at: there was nothing. */
static const sight_t *find_before(const ik_confinement_watch_t *watch, const char *place)
{
    static const sight_t nothing = {0};
    size_t i = 0;
    while (watch->places[i] != NULL && strcmp(watch->places[i], place) != 0) {
        i++;
    }
    return watch->places[i] == NULL ? &nothing : &watch->before[i];
}

char *ik_confinement_changes(const void *ctx, const ik_confinement_watch_t *watch)
{
    const char **places = ik_room_plan_protected(ctx, watch->project);
    size_t folder_len = strlen(watch->project) + 1;
    char *names = NULL;
    bool changed = watch->changes;
    for (size_t i = 0; places[i] != NULL; i++) {
        sight_t now = look(places[i]);
        const sight_t *before = find_before(watch, places[i]);
        bool same = is_same(&now.own, &before->own) && is_same(&now.target, &before->target);
        if (now.own.st_nlink == 0 ||
            (same && (!watch->changes || is_unchanged(&now.target, &before->target)))) {
            continue;
        }
        bool inside = ik_file_is_within(places[i], watch->project);
        const char *name = inside ? places[i] + folder_len : places[i];
        names = names == NULL ? ik_strdup(ctx, name) : ik_sprintf(ctx, "%s, %s", names, name);
        changed = changed || before->own.st_nlink != 0;
    }
    return names == NULL ? NULL
                         : ik_sprintf(ctx, "Protected places appeared%s: %s",
                                      changed ? " or changed" : "", names);
}

/* --- life -------------------------------------------------------------------------------- */

static int close_confinement(ik_confinement_t *confinement)
{
    TALLOC_FREE(confinement->trial_host);
    for (size_t i = 0; i < KINDS; i++) {
        room_t *room = confinement->rooms[i];
        if (room != NULL) { /* before the store that they write to */
            talloc_free(room->guard);
            talloc_free(room->host);
            close_handles(room);
        }
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
        .system_tools = options->paths->system_tools,
        .program = options->paths->program,
        .user_tools = options->paths->user_tools,
        .trusted = options->paths->trusted,
        .writable = (const char *const *)options->config->writable,
        .hidden = (const char *const *)options->config->hidden,
        .caches = (const char *const *)options->config->caches,
    };
    confinement->advance = ik_timer_create(confinement, options->loop, on_advance, confinement);
    confinement->settle = ik_timer_create(confinement, options->loop, on_settle, confinement);
    talloc_set_destructor(confinement, close_confinement);
    return confinement;
}
