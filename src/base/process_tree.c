#include "base/process_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/keeper_protocol.h"

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

static void parse_pids(const void *ctx, ik_process_list_t *list, const char *text)
{
    char *end;
    for (long pid = strtol(text, &end, 10); end != text; pid = strtol(text, &end, 10)) {
        add_pid(ctx, list, (pid_t)pid);
        text = end;
    }
}

static void add_children_of_thread(const void *ctx, ik_process_list_t *list, pid_t pid,
                                   const char *tid)
{
    char path[96];
    snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int)pid, tid);
    size_t len;
    char *text = read_proc(ctx, path, &len);
    if (text != NULL) {
        parse_pids(ctx, list, text);
        talloc_free(text);
    }
}

/* Children are listed per thread: a process forks from any of its threads. */
static void add_children(const void *ctx, ik_process_list_t *list, pid_t pid)
{
    char folder[64];
    snprintf(folder, sizeof(folder), "/proc/%d/task", (int)pid);
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

/* We have one thread, and are asked after every call. */
static void add_own_children(const void *ctx, ik_process_list_t *list)
{
    char tid[24];
    snprintf(tid, sizeof(tid), "%d", (int)getpid());
    add_children_of_thread(ctx, list, getpid(), tid);
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

/* The tree an orphan belongs to; NULL for a stray. */
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

static void add_orphans(const void *ctx, ik_process_tree_t *const *trees, size_t count)
{
    ik_process_list_t children = {0};
    add_own_children(ctx, &children);
    for (size_t i = 0; i < children.count; i++) {
        pid_t pid = children.pids[i];
        if (is_root(trees, count, pid)) {
            continue;
        }
        ik_process_tree_t *owner = find_owner(ctx, trees, count, pid);
        if (owner == NULL) {
            owner = first_wanted(trees, count);
        }
        if (owner != NULL && owner->wanted) {
            add_pid(ctx, &owner->found, pid);
        }
    }
}

/* The list holds the tops of the trees; appends everything below them. */
static void add_descendants(const void *ctx, ik_process_list_t *list)
{
    for (size_t i = 0; i < list->count; i++) {
        add_children(ctx, list, list->pids[i]);
    }
}

void ik_process_tree_find(const void *ctx, ik_process_tree_t *const *trees, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        trees[i]->found = (ik_process_list_t){0};
        if (trees[i]->wanted && trees[i]->root_alive) {
            add_pid(ctx, &trees[i]->found, trees[i]->root);
        }
    }
    add_orphans(ctx, trees, count);
    for (size_t i = 0; i < count; i++) {
        add_descendants(ctx, &trees[i]->found);
    }
}

static size_t signal_list(const ik_process_list_t *list, int first_signal, int second_signal)
{
    size_t ours = 0;
    for (size_t i = 0; i < list->count; i++) {
        ours += kill(list->pids[i], first_signal) == 0 || errno != EPERM;
        if (second_signal != 0) {
            kill(list->pids[i], second_signal);
        }
    }
    return ours;
}

size_t ik_process_tree_signal(const ik_process_tree_t *tree, int first_signal, int second_signal)
{
    return signal_list(&tree->found, first_signal, second_signal);
}

size_t ik_process_tree_signal_all(int first_signal, int second_signal)
{
    void *ctx = talloc_new(NULL);
    ik_process_list_t found = {0};
    add_own_children(ctx, &found);
    add_descendants(ctx, &found);
    size_t ours = signal_list(&found, first_signal, second_signal);
    talloc_free(ctx);
    return ours;
}
