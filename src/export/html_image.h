/* The images of a message in a page. */
#pragma once

#include "base/buffer.h"
#include "store/transcript.h"

/* Appends a figure per image, with the picture as a data: URL. folder has the blobs; with NULL, and
 * for a picture that is missing there, the figure has only the caption. */
void ik_html_image_append(ik_buffer_t *out, const ik_transcript_entry_t *entry, const char *folder);
