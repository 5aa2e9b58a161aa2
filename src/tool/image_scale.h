/*
 * Makes an image smaller that exceeds the limits (base/image.h), with the first program for it that
 * is installed: magick, convert, vips or ffmpeg. It runs as a bounded process and gets the image on
 * stdin. What it prints is checked as any other image.
 *
 * Images come from anywhere, and decoders have had faults that a crafted image exploits. So the
 * program runs in a room that can write nothing and has no network, where there are rooms.
 */
#pragma once

#include "confinement/confinement.h"
#include "io/process.h"

typedef struct ik_image_scale ik_image_scale_t;

/* bytes is NULL when the image could not be made small enough, or no program is installed. It is
 * valid inside the callback only. */
typedef void (*ik_image_scale_fn)(void *data, const char *bytes, size_t len);

/* Whether a program for it is installed. */
bool ik_image_scale_is_possible(void);
/* Starts; bytes must live until on_end, which is called exactly once, from the loop, never before
 * this returns. host runs the program where confinement is NULL or cannot make a room. Freeing the
 * object cancels it without on_end; it is the caller's to free, in on_end or later. */
ik_image_scale_t *ik_image_scale_start(const void *ctx, ik_process_host_t *host,
                                       ik_confinement_t *confinement, const char *bytes, size_t len,
                                       ik_image_scale_fn on_end, void *data);
