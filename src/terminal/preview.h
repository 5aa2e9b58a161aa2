/*
 * Small pictures between the finished rows, in the kitty graphics protocol. A preview takes exactly
 * its number of rows, which are empty but for the last one: that row moves up to the first, places
 * the picture there without moving the cursor, and moves back. All bytes are made here; those of
 * the picture reach the terminal as Base64 only.
 */
#pragma once

#include "base/buffer.h"

enum { IK_PREVIEW_BYTES_MAX = 512 * 1024 }; /* of a picture that is sent to the terminal */

/* Asks whether the terminal supports the protocol (IK_KEY_GRAPHICS, with the id), then for DA1,
 * which every terminal answers. */
#define IK_PREVIEW_ID 31
#define IK_PREVIEW_QUESTION "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c"

/* Rows of a preview of so many pixels on a screen of this size; 0: it cannot be shown well. */
int ik_preview_rows(uint32_t width, uint32_t height, int columns, int rows);
/* Appends the last row of a preview. */
void ik_preview_append(ik_buffer_t *out, const char *png, size_t len, int rows);
