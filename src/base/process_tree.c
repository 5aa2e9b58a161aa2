#include "base/process_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/keeper_protocol.h"

enum {
    LOOKS_MAX = 8,     /* searches in one round of killing */
    LOOKS_QUIET = 4,   /* searches in a row without a new process, while other calls go on */
    CONFINE_MAX = 256, /* processes confined at a time */
    CROWD = 32,        /* more children than that may be a fork bomb */
};

/* Reads a /proc file of any length; NULL when it cannot be read. */
static char *read_proc(const void *ctx, const char *path, size_t *len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    size_t capacity = 4096;
    char *text = ik_new_array(ctx, char, capacity + 1);
    *len = 0;
    ssize_t got;
    while ((got = read(fd, text + *len, capacity - *len)) > 0) {
        *len += (size_t)got;
        if (*len == capacity) {
            capacity *= 2;
            text = ik_resize_array(ctx, text, char, capacity + 1);
        }
    }
    close(fd);
    text[*len] = '\0';
    return text;
}

static void add_pid(const void *ctx, ik_process_list_t *list, pid_t pid)
{
    if ((list->count & (list->count + 1)) == 0) {
        list->pids = ik_resize_array(ctx, list->pids, pid_t, 2 * list->count + 2);
    }
    list->pids[list->count++] = pid;
}

static void add_children_of_thread(const void *ctx, ik_process_list_t *list, pid_t pid,
                                   const char *tid)
{
    char path[96];
    snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int)pid, tid);
    size_t len;
    char *text = read_proc(ctx, path, &len);
    char *end = NULL;
    for (char *at = text; at != NULL; at = end) {
        long child = strtol(at, &end, 10);
        if (end == at) {
            break;
        }
        add_pid(ctx, list, (pid_t)child);
    }
    talloc_free(text);
}

/* The children of the first thread, the newest last. */
static void add_children_of_main(const void *ctx, ik_process_list_t *list, pid_t pid)
{
    char tid[24];
    snprintf(tid, sizeof(tid), "%d", (int)pid);
    add_children_of_thread(ctx, list, pid, tid);
}

static void add_children_of_all(const void *ctx, ik_process_list_t *list, pid_t pid,
                                const char *folder)
{
    DIR *tasks = opendir(folder);
    struct dirent *entry;
    while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
        if (isdigit((unsigned char)entry->d_name[0])) {
            add_children_of_thread(ctx, list, pid, entry->d_name);
        }
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
}

/* /proc lists children per thread, and a process can fork from any of its threads. Most have a
 * single one, which the number of links of the folder says; reading the folder would take longer
 * than all the rest. */
static void add_children(const void *ctx, ik_process_list_t *list, pid_t pid)
{
    char folder[64];
    struct stat status;
    snprintf(folder, sizeof(folder), "/proc/%d/task", (int)pid);
    if (stat(folder, &status) == 0 && status.st_nlink == 3) {
        add_children_of_main(ctx, list, pid);
    } else {
        add_children_of_all(ctx, list, pid, folder);
    }
}

/* Ours all belong to our first thread. */
static void add_own_children(const void *ctx, ik_process_list_t *list)
{
    add_children_of_main(ctx, list, getpid());
}

enum { SPARED_MAX = 16 };
static pid_t spared[SPARED_MAX];

void ik_process_tree_spare(pid_t child, bool is_spared)
{
    pid_t before = is_spared ? 0 : child;
    for (size_t i = 0; i < SPARED_MAX; i++) {
        if (spared[i] == before) {
            spared[i] = is_spared ? child : 0;
            return;
        }
    }
}

/* Every tool starts in a session of its own, and no process can join an existing session. So a
 * child in our own session (the user's editor) does not come from a tool. */
static bool is_of_tool(pid_t child)
{
    for (size_t i = 0; i < SPARED_MAX; i++) {
        if (spared[i] == child) {
            return false;
        }
    }
    return getsid(child) != getsid(0);
}

/* The tag in the process's environment, or NULL. */
static const char *read_tag(const void *ctx, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    size_t len = 0;
    char *environment = read_proc(ctx, path, &len);
    for (size_t at = 0; environment != NULL && at < len; at += strlen(environment + at) + 1) {
        if (strncmp(environment + at, IK_KEEPER_TAG "=", sizeof(IK_KEEPER_TAG)) == 0) {
            return environment + at;
        }
    }
    return NULL;
}

/* The tree that an orphan belongs to; NULL for a stray. */
static ik_process_tree_t *find_owner(const void *ctx, ik_process_tree_t *const *trees, size_t count,
                                     pid_t orphan)
{
    pid_t session = getsid(orphan);
    for (size_t i = 0; i < count; i++) {
        if (trees[i]->root == session) {
            return trees[i];
        }
    }
    const char *tag = read_tag(ctx, orphan);
    for (size_t i = 0; tag != NULL && i < count; i++) {
        if (strcmp(trees[i]->tag, tag) == 0) {
            return trees[i];
        }
    }
    return NULL;
}

/* Whether a child has ended but was not reaped. Its own children have become ours, so they need not
 * be searched for; there may be thousands of zombies, and this check is much cheaper. */
static bool is_zombie(pid_t child)
{
    siginfo_t info = {0};
    int options = WEXITED | WNOHANG | WNOWAIT;
    return waitid(P_PID, (id_t)child, &info, options) == 0 && info.si_pid == child;
}

static bool is_root(ik_process_tree_t *const *trees, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++) {
        if (trees[i]->root_alive && trees[i]->root == pid) {
            return true;
        }
    }
    return false;
}

static ik_process_tree_t *first_wanted(ik_process_tree_t *const *trees, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (trees[i]->wanted) {
            return trees[i];
        }
    }
    return NULL;
}

/* --- searching --------------------------------------------------------------------------- */

/* One or more searches for the processes of the same trees. */
typedef struct {
    const void *ctx;
    ik_process_tree_t *const *trees;
    size_t count;
    int signal;                /* sent to each process as soon as it is found; 0: none */
    size_t *recent;            /* per tree: index of the first process of the last search */
    ik_process_list_t zombies; /* children of ours that have ended but were not reaped */
    ik_process_list_t known;   /* found by earlier searches, zombies included; sorted */
} hunt_t;

static int compare_pids(const void *a, const void *b)
{
    pid_t left = *(const pid_t *)a;
    pid_t right = *(const pid_t *)b;
    return left < right ? -1 : left > right;
}

static bool is_known(const hunt_t *hunt, pid_t pid)
{
    return hunt->known.count > 0 &&
           bsearch(&pid, hunt->known.pids, hunt->known.count, sizeof(pid), compare_pids) != NULL;
}

static void learn(hunt_t *hunt, const ik_process_list_t *list)
{
    for (size_t i = 0; i < list->count; i++) {
        add_pid(hunt->ctx, &hunt->known, list->pids[i]);
    }
}

/* Adds everything found so far to known. */
static void learn_all(hunt_t *hunt)
{
    hunt->known.count = 0;
    learn(hunt, &hunt->zombies);
    for (size_t i = 0; i < hunt->count; i++) {
        learn(hunt, &hunt->trees[i]->found);
    }
    if (hunt->known.count > 1) {
        qsort(hunt->known.pids, hunt->known.count, sizeof(pid_t), compare_pids);
    }
}

static void add_found(const hunt_t *hunt, ik_process_tree_t *tree, pid_t pid)
{
    if (is_known(hunt, pid)) {
        return;
    }
    if (hunt->signal != 0) {
        kill(pid, hunt->signal);
    }
    add_pid(hunt->ctx, &tree->found, pid);
}

/* Newest first: those are alive and may be gone a moment later, while thousands of the older ones
 * may be zombies. */
static void add_orphans(hunt_t *hunt)
{
    ik_process_tree_t *only = hunt->count == 1 && hunt->trees[0]->wanted ? hunt->trees[0] : NULL;
    ik_process_list_t children = {0};
    add_own_children(hunt->ctx, &children);
    for (size_t i = children.count; i > 0; i--) {
        pid_t pid = children.pids[i - 1];
        if (is_known(hunt, pid) || is_root(hunt->trees, hunt->count, pid)) {
            continue;
        }
        /* Asked first: a search has to end before as many new zombies are there as it has seen. */
        if (is_zombie(pid)) {
            add_pid(hunt->ctx, &hunt->zombies, pid);
            continue;
        }
        if (!is_of_tool(pid)) {
            continue;
        }
        ik_process_tree_t *owner = only != NULL
                                       ? only /* all are its own */
                                       : find_owner(hunt->ctx, hunt->trees, hunt->count, pid);
        if (owner == NULL) {
            owner = first_wanted(hunt->trees, hunt->count);
        }
        if (owner != NULL && owner->wanted) {
            add_found(hunt, owner, pid);
        }
    }
}

/* Processes from the previous search are visited once more: one that was stopped in the middle of a
 * fork has a child that did not exist at the first visit. */
static void add_descendants(hunt_t *hunt, size_t index, size_t begin)
{
    ik_process_tree_t *tree = hunt->trees[index];
    for (size_t i = hunt->recent[index]; i < tree->found.count; i++) {
        ik_process_list_t children = {0};
        add_children(hunt->ctx, &children, tree->found.pids[i]);
        for (size_t j = 0; j < children.count; j++) {
            add_found(hunt, tree, children.pids[j]);
        }
        talloc_free(children.pids);
    }
    hunt->recent[index] = begin;
}

/* Searches once; true when it found no new process. */
static bool look(hunt_t *hunt)
{
    learn_all(hunt);
    size_t *begin = ik_new_array(hunt->ctx, size_t, hunt->count);
    for (size_t i = 0; i < hunt->count; i++) {
        ik_process_tree_t *tree = hunt->trees[i];
        begin[i] = tree->found.count;
        if (tree->wanted && tree->root_alive) {
            add_found(hunt, tree, tree->root);
        }
    }
    add_orphans(hunt);
    bool nothing_new = true;
    for (size_t i = 0; i < hunt->count; i++) {
        add_descendants(hunt, i, begin[i]);
        nothing_new = nothing_new && hunt->trees[i]->found.count == begin[i];
    }
    return nothing_new;
}

static hunt_t begin_hunt(const void *ctx, ik_process_tree_t *const *trees, size_t count, int signal)
{
    for (size_t i = 0; i < count; i++) {
        trees[i]->found = (ik_process_list_t){0};
    }
    return (hunt_t){.ctx = ctx,
                    .trees = trees,
                    .count = count,
                    .signal = signal,
                    .recent = ik_new_array(ctx, size_t, count)};
}

bool ik_process_tree_find(const void *ctx, ik_process_tree_t *const *trees, size_t count)
{
    hunt_t hunt = begin_hunt(ctx, trees, count, 0);
    look(&hunt);
    return hunt.zombies.count == 0;
}

/* --- ending ------------------------------------------------------------------------------ */

size_t ik_process_tree_signal(const ik_process_tree_t *tree, int first_signal, int second_signal)
{
    const ik_process_list_t *list = &tree->found;
    size_t ours = 0;
    for (size_t i = 0; i < list->count; i++) {
        ours += kill(list->pids[i], first_signal) == 0 || errno != EPERM;
        if (second_signal != 0) {
            kill(list->pids[i], second_signal);
        }
    }
    return ours;
}

/* While a fork bomb is confined: the processor it has, and those we could use before. */
static int bomb_processor = -1;
static cpu_set_t usable;

/* Divides the processors between us and a fork bomb: it gets one, we keep the others. We have to
 * leave its processor, too. There we would wait for each of its processes in turn, each of them
 * having as large a share as we do once it has a session of its own (sched(7), autogroup). */
static void divide_processors(void)
{
    int own = sched_getcpu();
    if (bomb_processor >= 0 || own < 0 || sched_getaffinity(0, sizeof(usable), &usable) < 0) {
        return;
    }
    for (int i = 0; i < CPU_SETSIZE && bomb_processor < 0; i++) {
        bomb_processor = i != own && CPU_ISSET(i, &usable) ? i : -1;
    }
    if (bomb_processor >= 0) {
        cpu_set_t others = usable;
        CPU_CLR(bomb_processor, &others);
        sched_setaffinity(0, sizeof(others), &others);
    }
}

void ik_process_tree_confine(ik_process_tree_t *const *trees, size_t count)
{
    divide_processors();
    if (bomb_processor < 0) {
        return;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(bomb_processor, &one);
    void *ctx = talloc_new(NULL);
    ik_process_list_t children = {0};
    add_own_children(ctx, &children);
    size_t confined = 0;
    for (size_t i = children.count; i > 0 && confined < CONFINE_MAX; i--) {
        pid_t pid = children.pids[i - 1];
        if (!is_zombie(pid) && is_of_tool(pid) && !is_root(trees, count, pid)) {
            sched_setaffinity(pid, sizeof(one), &one);
            confined++;
        }
    }
    talloc_free(ctx);
}

void ik_process_tree_share_processors(void)
{
    if (bomb_processor >= 0) {
        sched_setaffinity(0, sizeof(usable), &usable);
        bomb_processor = -1;
    }
}

/* Whether no process was missed. A process that became a zombie during the search may have left a
 * child that the search missed. While other trees go on, new zombies may be theirs and prove
 * nothing, so several searches in a row must find nothing new. */
static bool is_settled(const hunt_t *hunt, bool new_zombies, int quiet_looks)
{
    bool all_wanted = true;
    for (size_t i = 0; i < hunt->count; i++) {
        all_wanted = all_wanted && hunt->trees[i]->wanted;
    }
    return all_wanted ? quiet_looks > 0 && !new_zombies : quiet_looks >= LOOKS_QUIET;
}

bool ik_process_tree_kill(const void *ctx, ik_process_tree_t *const *trees, size_t count)
{
    hunt_t hunt = begin_hunt(ctx, trees, count, SIGSTOP);
    bool settled = false;
    int quiet_looks = 0;
    for (int looks = 0; looks < LOOKS_MAX && !settled; looks++) {
        size_t zombies = hunt.zombies.count;
        quiet_looks = look(&hunt) ? quiet_looks + 1 : 0;
        settled = is_settled(&hunt, hunt.zombies.count > zombies, quiet_looks);
    }
    for (size_t i = 0; i < count; i++) {
        ik_process_tree_signal(trees[i], SIGKILL, 0);
    }
    return settled;
}

/* --- every descendant -------------------------------------------------------------------- */

/* A tree without a root, to which all orphans belong, that is, every child of ours. */
static ik_process_tree_t everything(void)
{
    return (ik_process_tree_t){.tag = "", .wanted = true};
}

size_t ik_process_tree_signal_all(int first_signal, int second_signal)
{
    void *ctx = talloc_new(NULL);
    ik_process_tree_t tree = everything();
    ik_process_tree_find(ctx, (ik_process_tree_t *[]){&tree}, 1);
    size_t ours = ik_process_tree_signal(&tree, first_signal, second_signal);
    talloc_free(ctx);
    return ours;
}

/* Reaps the children that have ended, and returns how many there were, alive or not. A process that
 * forks and exits stays in the list until it is reaped, and its child appears there before that. */
static size_t reap_children(const void *ctx)
{
    ik_process_list_t children = {0};
    size_t count = 0;
    add_own_children(ctx, &children);
    for (size_t i = 0; i < children.count; i++) {
        if (is_of_tool(children.pids[i])) {
            count++;
            waitpid(children.pids[i], NULL, WNOHANG);
        }
    }
    return count;
}

bool ik_process_tree_kill_all(int64_t limit_ms, int64_t unkillable_ms)
{
    int64_t begin = ik_clock_now_ms();
    int64_t now = begin;
    int64_t changed = begin; /* when other processes were found than in the round before */
    pid_t newest = 0;
    void *ctx = talloc_new(NULL);
    size_t left = 1;
    bool hopeless = false; /* all that are left belong to other users */
    while (left > 0 && !hopeless && now < begin + limit_ms && now < changed + unkillable_ms) {
        ik_process_tree_t tree = everything();
        ik_process_tree_t *trees[] = {&tree};
        /* Before reaping, which takes longer the more have ended, while a fork bomb grows. */
        bool settled = ik_process_tree_kill(ctx, trees, 1);
        hopeless = settled && tree.found.count > 0 && ik_process_tree_signal(&tree, 0, 0) == 0;
        pid_t before = newest;
        newest = tree.found.count > 0 ? tree.found.pids[0] : 0;
        left = reap_children(ctx);
        talloc_free_children(ctx);
        if (left > CROWD && !settled) {
            ik_process_tree_confine(trees, 1);
        }
        poll(NULL, 0, settled && left > 0 ? 1 : 0);
        now = ik_clock_now_ms();
        changed = settled && newest == before ? changed : now;
    }
    ik_process_tree_share_processors();
    talloc_free(ctx);
    return left == 0 || hopeless;
}
