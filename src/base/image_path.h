/*
 * Paths of images in what a user enters: "@FILE" in a message, and a paste that is the path of a
 * file, as terminals insert a file that is dropped on them. Pure text functions; whether a file
 * exists and is an image is for the caller to find out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { IK_IMAGE_PATH_CANDIDATES = 16 };

/* What a word of a message may name, most likely first. "@shot.png," may name "shot.png," or
 * "shot.png"; "@my shot.png" may name "my shot.png"; a quoted name is the only candidate. */
typedef struct {
    char *paths[IK_IMAGE_PATH_CANDIDATES];
    size_t ends[IK_IMAGE_PATH_CANDIDATES]; /* offset after each of them */
    size_t count;
} ik_image_path_word_t;

/* Finds the next "@FILE" in text from *at on and moves *at behind its first word. False: there is
 * none. Paths are on ctx. */
bool ik_image_path_next(const void *ctx, const char *text, size_t len, size_t *at,
                        ik_image_path_word_t *out);
/* Whether the name ends like that of an image of any kind: .png, .jpg, .heic … */
bool ik_image_path_is_named_image(const char *path);

/* Parses a paste that consists of paths and blanks only: plain, quoted, with backslashes, or as
 * file:// URLs. With whole, a path may contain blanks, and the paste is one path. Returns a
 * NULL-terminated list on ctx, or NULL if the text cannot be paths. */
char **ik_image_path_parse_paste(const void *ctx, const char *text, size_t len, bool whole);

/* The absolute path that a path of the user means: relative to folder, or with "~/" to home, which
 * may be NULL. On ctx. */
char *ik_image_path_resolve(const void *ctx, const char *path, const char *folder,
                            const char *home);
/* "@PATH" as ik_image_path_next reads it, on ctx, quoted if necessary. NULL: the path contains
 * control characters or is not UTF-8. */
char *ik_image_path_format(const void *ctx, const char *path);
