/*
 * Finds the objects of git repositories that states refer to, and keeps them: they are linked into
 * BLOBS/git/KEY, packs under their names and single objects as theirs in hexadecimal, so that they
 * stay when the repository is repacked or removed. Where no link can be made (another file system),
 * small files are copied and others are lost with the repository.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

typedef struct ik_git_objects ik_git_objects_t;

/* A repository's objects; path is that of its folder of objects. */
typedef struct {
    const char *path;
    const char *key; /* see ik_git_objects_name */
    size_t object_size;
} ik_git_source_t;

ik_git_objects_t *ik_git_objects_create(const void *ctx, const char *blobs);
/* The key of a folder of objects. */
void ik_git_objects_name(const char *path, char key[33]);

/* Whether there is a blob of that name. With size, it must have that size; NULL: any. An object
 * that is found is kept: a pack as a whole, a single object while *singles is not 0, which counts
 * down. With guess, a single object is taken to be there when its folder is: git writes objects
 * before it writes the index that names them. A wrong guess is noticed when the object is read. */
bool ik_git_objects_find(ik_git_objects_t *objects, const ik_git_source_t *source,
                         const unsigned char *name, const uint64_t *size, size_t *singles,
                         bool guess);
/* Appends a blob of this size, checked against its name. */
bool ik_git_objects_read(ik_git_objects_t *objects, const ik_git_source_t *source,
                         const unsigned char *name, uint64_t size, ik_buffer_t *out);

/* The bytes that links take which nothing else has, and removing what is kept of repositories for
 * which keep returns false. */
typedef bool (*ik_git_objects_keep_fn)(void *data, const char *key);
uint64_t ik_git_objects_total(ik_git_objects_t *objects);
uint64_t ik_git_objects_sweep(ik_git_objects_t *objects, ik_git_objects_keep_fn keep, void *data);
