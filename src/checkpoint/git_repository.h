/*
 * A git repository as far as states need it: its index, its rules about ignored files, where its
 * objects are, and whether git converts files when it reads or writes them. Nothing of the
 * repository is executed and nothing in it is changed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ignore.h"
#include "checkpoint/git_index.h"

typedef struct {
    const char *root;      /* of the working tree, without a slash at its end ("" for /) */
    const char *objects;   /* absolute path of the folder of objects */
    size_t object_size;    /* 20: SHA-1, 32: SHA-256 */
    ik_git_index_t *index; /* never NULL, may be empty */
    int64_t index_mtime_ns;
    ik_ignore_t *excludes; /* core.excludesFile and info/exclude; NULL: none */
    /* The settings and attributes that make git convert files: conversion applies to all files, or
     * to those that conversions excludes, as if it were a file of ignore rules. Files that changed
     * before these times may have been written under other settings. */
    bool converts_all;
    ik_ignore_t *conversions;
    int64_t settings_ctime_ns;
    int64_t attributes_ctime_ns;
} ik_git_repository_t;

/* The repository whose working tree has its root in this folder (absolute, without symbolic links);
 * NULL when there is none. */
ik_git_repository_t *ik_git_repository_open(const void *ctx, const char *root);
/* The root of the working tree that the folder is in; NULL when it is in none. */
char *ik_git_repository_find_root(const void *ctx, const char *folder);

/* Turns the text of an attributes file into rules that match the files git may convert, in front of
 * outer; NULL and outer NULL when there are none. base_len as in ik_ignore_parse. */
ik_ignore_t *ik_git_repository_add_attributes(const void *ctx, const char *text, size_t len,
                                              size_t base_len, ik_ignore_t *outer);
